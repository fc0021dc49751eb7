//! An input, and what the cells of its column mean.

use sumout::VarId;
use sumout::files::latin;

use super::columns::Schema;
use super::form::{self, Form};

/// An input, and how its cells are understood.
#[derive(Debug)]
pub struct Input {
    /// The variable.
    pub var: VarId,
    /// Its name.
    pub name: String,
    /// The names of its values.
    pub values: Vec<String>,
    /// The positions of the values, by the order of their names.
    sorted: Vec<i32>,
    form: Form,
}

/// The content of a cell that is not null.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'a> {
    /// The name of a value.
    Text(&'a [u8]),
    /// The position of a value.
    Integer(i64),
    /// The same; missing if it is not a number.
    Real(f64),
}

/// Up to this many names are compared one by one.
const MAX_NAMES_TO_SCAN: usize = 8;

impl Input {
    /// A variable that there may be a column for.
    pub fn new(var: VarId, schema: &dyn Schema, form: &Form) -> Self {
        let variable = schema.variable(var);
        let mut sorted: Vec<i32> = (0..variable.values.len() as i32).collect();
        sorted.sort_by_key(|&position| &variable.values[position as usize]);
        Input {
            var,
            name: variable.name.clone(),
            values: variable.values.clone(),
            sorted,
            form: form.clone(),
        }
    }

    /// The position of a value by its name; negative if the cell is missing, none if there is no
    /// such value.
    pub fn named(&self, cell: &[u8]) -> Option<i32> {
        if cell.is_empty() || self.form.is_named_missing(cell) {
            return Some(-1);
        }
        self.value(cell)
            .or_else(|| match std::str::from_utf8(cell) {
                Ok(_) => self.form.is_missing(cell).then_some(-1),
                Err(_) => self.value(latin(cell).as_bytes()),
            })
    }

    fn value(&self, cell: &[u8]) -> Option<i32> {
        if self.values.len() <= MAX_NAMES_TO_SCAN {
            return self
                .values
                .iter()
                .position(|value| is_same(value.as_bytes(), cell))
                .map(|position| position as i32);
        }
        let name = |position: &i32| self.values[*position as usize].as_bytes();
        self.sorted
            .binary_search_by(|position| name(position).cmp(cell))
            .ok()
            .map(|at| self.sorted[at])
    }

    /// A value by its position; negative if the number is, none if there are not as many values.
    pub fn placed(&self, position: i64) -> Option<i32> {
        (position < self.values.len() as i64).then(|| position.max(-1) as i32)
    }

    /// The position in a cell, negative if the cell is missing; none if it is not a value.
    pub fn position(&self, cell: Cell<'_>) -> Option<i32> {
        match cell {
            Cell::Text(text) => self.named(text),
            Cell::Integer(x) => self.placed(x),
            Cell::Real(x) if x.is_nan() => Some(-1),
            Cell::Real(x) if x.fract() == 0.0 => self.placed(x as i64),
            Cell::Real(_) => None,
        }
    }

    /// The error for a cell that is not a value.
    pub fn complaint(&self, cell: Cell<'_>) -> String {
        match cell {
            Cell::Text(text) => self.no_name(text),
            Cell::Integer(x) => self.no_place(x),
            Cell::Real(x) => self.no_place(x),
        }
    }

    /// Whether values have numbers for names, but others than their positions.
    pub fn is_named_otherwise(&self) -> bool {
        let names: Option<Vec<usize>> = self.values.iter().map(|name| name.parse().ok()).collect();
        names.is_some_and(|names| !names.into_iter().eq(0..self.values.len()))
    }

    /// The error for a cell.
    pub fn no_name(&self, cell: &[u8]) -> String {
        let cell = form::text(cell);
        let is_meant = |value: &&String| value.to_lowercase() == cell.to_lowercase();
        let end = match self.values.iter().find(is_meant) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("its values are {}", self.values.join(", ")),
        };
        format!("`{}` has no value `{cell}`; {end}", self.name)
    }

    /// The error for a number.
    pub fn no_place(&self, number: impl std::fmt::Display) -> String {
        format!(
            "`{}` has no value {number}, only {} values",
            self.name,
            self.values.len()
        )
    }
}

/// Whether names are the same, byte by byte: most are so short that it would take longer to call
/// what compares memory.
fn is_same(name: &[u8], cell: &[u8]) -> bool {
    name.len() == cell.len() && name.iter().zip(cell).all(|(x, y)| x == y)
}
