//! Table 6: how much slower graphs of single numbers are than tensor graphs.
//!
//! The networks are random, with 100 variables, half of them functions. A circuit asks for a leaf
//! given all roots, or for a root given all leaves, with random likelihoods, and is the paper's
//! plan. It counts if it has as many entries as a band says. The same circuit is evaluated in three
//! ways, each on one thread and in 64 bits, whose answers are compared.

mod compared;
mod search;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::grid::{Grid, Table, key, ours, paper};
use crate::printed::{Evaluation, Mean, TABLE_6};
use crate::tables::Work;
use crate::tables::mean::{self, mean};
use compared::{Compared, Times};
use search::Searching;

/// How many networks there are in each band, and how many bands; with `--quick`, one in two.
const NETWORKS: usize = 10;
const QUICK: (usize, usize) = (1, 2);

const BATCHES: [usize; 3] = [1, 10, 20];

pub fn networks(work: &Work<'_>) -> sumout::Result<Table> {
    let (each, bands) = if work.settings.quick {
        QUICK
    } else {
        (NETWORKS, TABLE_6.len() / BATCHES.len())
    };
    let bands = TABLE_6[..bands]
        .iter()
        .map(|row| (name(row), row.millions))
        .collect();
    let bands = work.rows(bands);
    work.expect(bands.len() * each);
    let (mut rows, mut machines) = (vec![], BTreeSet::new());
    for (name, (least, most)) in &bands {
        let mut searching = Searching::new(
            [*least, *most].map(|m| f64::from(m) * 1e6),
            work.settings.seed,
        );
        let mut found: Vec<Compared> = vec![];
        for at in 0..each {
            let cell = work.cell(name, json!({"network": at}), || {
                Compared::new(&searching.nth(at)?, &BATCHES)
            })?;
            machines.extend(cell.iter().map(|cell| cell.machine.clone()));
            found.extend(cell.map(|cell| cell.result));
        }
        let of_band = TABLE_6.iter().filter(|row| row.millions == (*least, *most));
        rows.extend(of_band.filter_map(|printed| Row::new(printed, &found)));
    }
    rows.sort_by_key(|row| (row.printed.batch, row.printed.millions));
    let mut table = work.table(
        "random networks; tensor graphs against graphs of single numbers",
        vec![],
        machines,
    );
    table.rows = rows.iter().map(Row::to_json).collect();
    table.grids = vec![grid(&rows)];
    table.notes = notes(&rows);
    Ok(table)
}

/// `5-10M`.
fn name(row: &Evaluation) -> String {
    format!("{}-{}M", row.millions.0, row.millions.1)
}

/// A batch, evaluated by the circuits of a band.
struct Row {
    printed: &'static Evaluation,
    networks: usize,
    entries: Mean,
    binary_rank: Mean,
    milliseconds: Mean,
    scalar: Mean,
    scalar_batch: Mean,
    scalars: f64,
    difference: f64,
}

impl Row {
    /// None if there are no circuits.
    fn new(printed: &'static Evaluation, found: &[Compared]) -> Option<Self> {
        let of_batch = |c: &'_ Compared| {
            c.times
                .iter()
                .position(|times| times.batch == printed.batch)
        };
        let cases: Vec<(&Compared, &Times)> = found
            .iter()
            .filter_map(|c| Some((c, &c.times[of_batch(c)?])))
            .collect();
        let over = |number: &dyn Fn(&Compared, &Times) -> f64| {
            mean(cases.iter().map(|(c, times)| number(c, times)))
        };
        (!cases.is_empty()).then(|| Row {
            printed,
            networks: cases.len(),
            entries: over(&|c, _| c.entries),
            binary_rank: over(&|c, _| c.binary_rank),
            milliseconds: over(&|c, t| 1e3 * t.tensor / t.batch as f64 / (c.entries / 1e6)),
            scalar: over(&|_, t| t.scalar / t.tensor),
            scalar_batch: over(&|_, t| t.scalar_batch / t.tensor),
            scalars: over(&|c, _| c.scalars as f64).mean,
            difference: cases
                .iter()
                .map(|(_, times)| times.difference)
                .fold(0.0, f64::max),
        })
    }

    /// The representations from the fastest to the slowest.
    fn order(scalar: &Mean, scalar_batch: &Mean) -> [&'static str; 3] {
        let mut order = [
            (1.0, "tensor"),
            (scalar.mean, "scalar"),
            (scalar_batch.mean, "scalar-batch"),
        ];
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        order.map(|(_, name)| name)
    }

    fn is_ordered_as_printed(&self) -> bool {
        let Evaluation {
            scalar,
            scalar_batch,
            ..
        } = self.printed;
        Self::order(&self.scalar, &self.scalar_batch) == Self::order(scalar, scalar_batch)
    }

    fn to_json(&self) -> Value {
        let Evaluation {
            batch,
            entries,
            binary_rank,
            milliseconds,
            scalar,
            scalar_batch,
            ..
        } = self.printed;
        let mean = mean::to_json;
        json!({
            "row": name(self.printed),
            "batch": batch,
            "networks": self.networks,
            "entries": mean(&self.entries),
            "scalars": self.scalars,
            "max_binary_rank": mean(&self.binary_rank),
            "milliseconds": mean(&self.milliseconds),
            "scalar": mean(&self.scalar),
            "scalar_batch": mean(&self.scalar_batch),
            "order": Self::order(&self.scalar, &self.scalar_batch),
            "difference": self.difference,
            "paper": {
                "entries": mean(entries),
                "max_binary_rank": mean(binary_rank),
                "milliseconds": mean(milliseconds),
                "scalar": mean(scalar),
                "scalar_batch": mean(scalar_batch),
                "order": Self::order(scalar, scalar_batch),
            },
        })
    }
}

fn notes(rows: &[Row]) -> Vec<String> {
    let same = rows
        .iter()
        .filter(|row| row.is_ordered_as_printed())
        .count();
    let difference = rows.iter().map(|row| row.difference).fold(0.0, f64::max);
    vec![
        "Milliseconds: the tensor graph, an example and a million entries. Scalar, scalar-batch: how many times as long a graph \
         of single numbers takes for a batch; in the first a node has one number, in the second one for each example. All of \
         them on one thread, in 64 bits."
            .to_owned(),
        format!(
            "The three representations are ordered as in the paper in {same} of {} rows; their answers differ by at most \
             {difference:.0e}.",
            rows.len()
        ),
    ]
}

fn grid(rows: &[Row]) -> Grid {
    let mut grid = Grid::new([
        key("batch"),
        key("size"),
        ours("networks"),
        ours("entries"),
        paper("entries"),
        ours("rank"),
        paper("rank"),
        ours("milliseconds"),
        paper("milliseconds"),
        ours("scalar"),
        paper("scalar"),
        ours("scalar-batch"),
        paper("scalar-batch"),
    ]);
    for row in rows {
        let Evaluation {
            batch,
            entries,
            binary_rank,
            milliseconds,
            scalar,
            scalar_batch,
            ..
        } = row.printed;
        let millions = |mean: &Mean| format!("{:.1} M", mean.mean / 1e6);
        let text = |mean: &Mean| mean::text(mean, 1);
        let first = [
            batch.to_string(),
            name(row.printed),
            row.networks.to_string(),
        ];
        let sizes = [
            millions(&row.entries),
            millions(entries),
            text(&row.binary_rank),
            text(binary_rank),
        ];
        let times = [
            mean::text(&row.milliseconds, 1),
            text(milliseconds),
            text(&row.scalar),
            text(scalar),
        ];
        grid.push(
            [
                &first[..],
                &sizes,
                &times,
                &[text(&row.scalar_batch), text(scalar_batch)],
            ]
            .concat(),
        );
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small circuits, so that it takes no time; how long they take says nothing.
    #[test]
    fn three_representations_give_the_same_answers() {
        let mut searching = Searching::new([2e4, 2e5], 3);
        let found: Vec<Compared> = (0..3)
            .map(|at| Compared::new(&searching.nth(at).unwrap(), &[1, 10]).unwrap())
            .collect();
        for compared in &found {
            assert!(
                (2e4..=2e5).contains(&compared.entries)
                    && compared.scalars as f64 > compared.entries
            );
            for times in &compared.times {
                assert!(times.difference < 1e-9, "{compared:?}");
                assert!(times.tensor > 0.0 && times.scalar > 0.0 && times.scalar_batch > 0.0);
            }
        }
        let row = Row::new(&TABLE_6[0], &found).unwrap().to_json();
        assert_eq!(
            row["paper"]["order"],
            json!(["tensor", "scalar", "scalar-batch"])
        );
        assert_eq!((&row["networks"], &row["batch"]), (&json!(3), &json!(1)));
        assert!(
            Row::new(&TABLE_6[8], &found).is_none(),
            "no batches of 20 were measured"
        );
    }
}
