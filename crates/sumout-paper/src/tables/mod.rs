//! The tables: what is computed for each, and its rows.
//!
//! A table is made of cells, which are kept as they come (see `store`). Its rows are means over
//! cells.

mod differences;
mod images;
mod learning;
mod mean;
mod random;
mod scalars;
mod tac;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sumout::{Error, ErrorKind};

use crate::Settings;
use crate::grid::{self, TAC, Table, label};
use crate::store::{Cell, Store};

/// Computes a table.
type Compute = fn(&Work<'_>) -> sumout::Result<Table>;

const TABLES: [(u32, Compute); 7] = [
    (1, images::rectangles),
    (2, learning::rectangles),
    (3, images::digits),
    (4, learning::digits),
    (5, random::networks),
    (6, scalars::networks),
    (TAC, tac::circuits),
];

/// The tables of the paper, by number.
pub const NUMBERS: [u32; 6] = [1, 2, 3, 4, 5, 6];

/// Computes a table, as far as its cells are not in the store.
///
/// `progress` is called with the number of cells that are done, and of all, from any thread.
pub fn table(
    number: u32,
    settings: &Settings,
    store: &Store,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> sumout::Result<Table> {
    let work = Work {
        settings,
        store,
        number,
        progress,
        done: AtomicUsize::new(0),
        all: AtomicUsize::new(0),
    };
    find(number)?(&work)
}

/// An error if there is no such table.
pub fn refuse_unknown(number: u32) -> sumout::Result<()> {
    find(number).map(|_| ())
}

fn find(number: u32) -> sumout::Result<Compute> {
    let found = TABLES.into_iter().find(|(n, _)| *n == number);
    found.map(|(_, compute)| compute).ok_or_else(|| {
        let numbers = TABLES.map(|(n, _)| label(n)).join(", ");
        let error = Error::new(ErrorKind::Name, format!("the paper has no table {number}"));
        error.hint(format!("its tables are {numbers}"))
    })
}

/// A table while it is computed.
struct Work<'a> {
    settings: &'a Settings,
    store: &'a Store,
    number: u32,
    progress: &'a (dyn Fn(usize, usize) + Sync),
    /// The cells that are done, and all of them.
    done: AtomicUsize,
    all: AtomicUsize,
}

impl Work<'_> {
    /// Sets the number of cells.
    fn expect(&self, cells: usize) {
        self.all.store(cells, Ordering::Relaxed);
        (self.progress)(0, cells);
    }

    /// The rows that are asked for.
    fn rows<T>(&self, all: Vec<(String, T)>) -> Vec<(String, T)> {
        let is_asked = |(name, _): &(String, T)| self.settings.has_row(name);
        all.into_iter().filter(is_asked).collect()
    }

    /// A cell of a row, which depends on the seed and on `depends`; none if it is not in a store
    /// from which all cells are to come.
    fn cell<T: Serialize + DeserializeOwned>(
        &self,
        row: &str,
        depends: Value,
        compute: impl FnOnce() -> sumout::Result<T>,
    ) -> sumout::Result<Option<Cell<T>>> {
        let key = json!({
            "table": grid::number(self.number),
            "row": row,
            "seed": self.settings.seed,
            "depends": depends,
        });
        let cell = self.store.cell(key, compute)?;
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        (self.progress)(done, self.all.load(Ordering::Relaxed));
        Ok(cell)
    }

    /// The table, once its rows are there.
    fn table(&self, title: &str, rows: Vec<Value>, machines: BTreeSet<String>) -> Table {
        Table {
            number: self.number,
            title: title.into(),
            rows,
            grids: vec![],
            notes: vec![],
            differences: differences::of(self.number),
            machines,
        }
    }
}
