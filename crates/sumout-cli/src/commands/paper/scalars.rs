//! Table 6: how much slower graphs of single numbers are than tensor graphs.
//!
//! The networks are random, with 100 variables, half of them functions. A circuit asks for a leaf
//! given all roots, or for a root given all leaves, with random likelihoods, and is the paper's
//! plan. It counts if it has as many entries as a band says. The same circuit is evaluated in three
//! ways, each on one thread and in 64 bits, whose answers are compared.

use std::collections::BTreeSet;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sumout::compile::paper::printed::{Evaluation, Mean, TABLE_6};
use sumout::compile::{self, Goal, Question, Runs, Search};
use sumout::model::random::{Shape, network};
use sumout::tensor::ScalarGraph;
use sumout::{
    Batch, Circuit, Column, Error, ErrorKind, EvalOptions, Level, Network, Objective, Options,
    Precision, Query, VarId,
};

use super::Work;
use super::grid::{Grid, Table, key, ours, paper};
use super::mean::{self, mean};

/// How many networks there are in each band, and how many bands; with `--quick`, one in two.
const NETWORKS: usize = 10;
const QUICK: (usize, usize) = (1, 2);

const SHAPE: Shape = Shape {
    nodes: 100,
    max_values: 3,
    max_parents: 5,
    functional: 0.5,
};

/// So many bytes a scalar graph may need.
const MEMORY: u64 = 12 << 30;

const BATCHES: [usize; 3] = [1, 10, 20];

pub fn networks(work: &Work<'_>) -> sumout::Result<Table> {
    let (each, bands) = if work.args.quick {
        QUICK
    } else {
        (NETWORKS, TABLE_6.len() / BATCHES.len())
    };
    let bands = TABLE_6[..bands]
        .iter()
        .map(|row| (name(row), row.millions))
        .collect();
    let bands = work.rows(bands);
    work.bar.set_length((bands.len() * each) as u64);
    let (mut rows, mut machines) = (vec![], BTreeSet::new());
    for (name, (least, most)) in &bands {
        let mut searching =
            Searching::new([*least, *most].map(|m| f64::from(m) * 1e6), work.args.seed);
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

/// A query on a random network, whose circuit has as many entries as it should.
struct Asked {
    net: Network,
    target: VarId,
    inputs: Vec<VarId>,
    entries: f64,
}

/// Looks for circuits of a size, network by network.
struct Searching {
    entries: [f64; 2],
    next: u64,
    last: u64,
    found: Vec<(u64, bool)>,
}

/// So many networks are looked at for the circuits of a band.
const PATIENCE: u64 = 5000;

impl Searching {
    fn new(entries: [f64; 2], seed: u64) -> Self {
        let first = seed.wrapping_mul(PATIENCE);
        Searching {
            entries,
            next: first,
            last: first.wrapping_add(PATIENCE),
            found: vec![],
        }
    }

    /// The circuit with this number, counted from zero.
    fn nth(&mut self, at: usize) -> sumout::Result<Asked> {
        while self.found.len() <= at && self.next != self.last {
            for by_roots in [true, false] {
                let asked = Asked::new(self.next, by_roots)?;
                let fits =
                    |asked: &Asked| (self.entries[0]..=self.entries[1]).contains(&asked.entries);
                self.found
                    .extend(asked.filter(fits).map(|_| (self.next, by_roots)));
            }
            self.next = self.next.wrapping_add(1);
        }
        let missing = || {
            Error::new(
                ErrorKind::Model,
                "too few random networks have circuits of this size",
            )
        };
        let (seed, by_roots) = *self.found.get(at).ok_or_else(missing)?;
        Asked::new(seed, by_roots)?.ok_or_else(missing)
    }
}

impl Asked {
    /// A leaf given the roots, or a root given the leaves; none if there is no such pair.
    fn new(seed: u64, by_roots: bool) -> sumout::Result<Option<Self>> {
        let net = network(&SHAPE, seed)?;
        let is_root = |v: &VarId| net.parents(*v).is_empty();
        let is_leaf = |v: &VarId| !net.ids().any(|child| net.parents(child).contains(v));
        let (inputs, targets): (Vec<VarId>, Vec<VarId>) = match by_roots {
            true => (
                net.ids().filter(is_root).collect(),
                net.ids().filter(|v| is_leaf(v) && !is_root(v)).collect(),
            ),
            false => (
                net.ids().filter(is_leaf).collect(),
                net.ids().filter(|v| is_root(v) && !is_leaf(v)).collect(),
            ),
        };
        let Some(&target) = targets.get(seed as usize % targets.len().max(1)) else {
            return Ok(None);
        };
        let question = Question {
            goal: Goal::Posterior(target),
            inputs: inputs.iter().copied().collect(),
            ..Question::default()
        };
        let search = Search {
            level: Level::Paper,
            objective: Objective::default(),
            seed: 0,
            effort: 0.0,
            runs: Runs::Many,
        };
        let Some(plan) = compile::plan(net.model(), &question, &search) else {
            return Ok(None);
        };
        let entries = plan.cost().entries + plan.cost().constant_entries;
        Ok(Some(Asked {
            net,
            target,
            inputs,
            entries,
        }))
    }

    fn circuit(&self) -> sumout::Result<Circuit> {
        let name = |v: VarId| self.net.variable(v).name.clone();
        let query = Query::of(name(self.target)).given(self.inputs.iter().map(|&v| name(v)));
        self.net.compile(
            &query,
            &Options {
                level: Level::Paper,
                effort: 0.0,
                ..Options::default()
            },
        )
    }
}

/// The likelihood of a value in an example, anything between 0.1 and 1 that looks like chance.
fn likelihood(example: usize, var: VarId, value: usize) -> f64 {
    let mixed =
        (example * 1009 + var.index() * 131 + value * 17 + 7).wrapping_mul(0x9e37_79b9) >> 7;
    0.1 + 0.9 * (mixed % 1000) as f64 / 1000.0
}

/// A circuit in three representations.
#[derive(Debug, Serialize, Deserialize)]
struct Compared {
    entries: f64,
    /// The base-2 logarithm of the entries of the largest tensor.
    binary_rank: f64,
    /// The nodes of the scalar graph.
    scalars: usize,
    /// For each size of a batch.
    times: Vec<Times>,
}

/// Seconds for a batch.
#[derive(Debug, Serialize, Deserialize)]
struct Times {
    batch: usize,
    tensor: f64,
    scalar: f64,
    scalar_batch: f64,
    /// The largest relative difference of answers.
    difference: f64,
}

impl Compared {
    fn new(asked: &Asked, batches: &[usize]) -> sumout::Result<Self> {
        let circuit = asked.circuit()?;
        let graph = circuit.graph();
        let largest = graph
            .ops()
            .map(|(node, _)| graph.size(node))
            .fold(1.0, f64::max);
        let scalars = ScalarGraph::literal(graph, MEMORY)?;
        let times = batches
            .iter()
            .map(|&batch| Times::new(asked, &circuit, &scalars, batch));
        Ok(Compared {
            entries: asked.entries,
            binary_rank: largest.log2(),
            scalars: scalars.len(),
            times: times.collect::<sumout::Result<_>>()?,
        })
    }
}

impl Times {
    fn new(
        asked: &Asked,
        circuit: &Circuit,
        scalars: &ScalarGraph,
        rows: usize,
    ) -> sumout::Result<Self> {
        let mut batch = Batch::new(rows);
        for &v in &asked.inputs {
            let of =
                |example| (0..asked.net.card(v)).map(move |value| likelihood(example, v, value));
            batch.insert(
                circuit,
                v,
                Column::Likelihoods((0..rows).flat_map(of).collect()),
            )?;
        }
        let running = EvalOptions {
            precision: Precision::F64,
            threads: 1,
            ..EvalOptions::default()
        };
        let evaluator = circuit.evaluator(&running)?;
        let (tensor, answers) = timed(3, || evaluator.run(&batch))?;
        let first = circuit.possible(asked.target)[0];
        let expected: Vec<f64> = (0..rows).map(|row| answers.row(row)[first]).collect();
        drop(evaluator);

        let values =
            |&(v, _): &(VarId, usize)| circuit.possible(v).iter().map(move |&value| (v, value));
        let inputs: Vec<(VarId, usize)> = scalars.inputs().iter().flat_map(values).collect();
        let example = |row: usize| {
            inputs
                .iter()
                .map(|&(v, x)| likelihood(row, v, x))
                .collect::<Vec<f64>>()
        };
        let columns: Vec<f64> = inputs
            .iter()
            .flat_map(|&(v, x)| (0..rows).map(move |r| likelihood(r, v, x)))
            .collect();
        let mut memory = vec![];
        let (scalar_batch, together) = timed(2, || {
            Ok(scalars.evaluate_batch(&columns, rows, &mut memory))
        })?;
        let examples: Vec<Vec<f64>> = (0..rows).map(example).collect();
        let mut memory = vec![];
        let (scalar, alone) = timed(if rows == 1 { 3 } else { 1 }, || {
            Ok(examples
                .iter()
                .map(|example| scalars.evaluate(example, &mut memory))
                .collect::<Vec<_>>())
        })?;
        let joint: Vec<Vec<f64>> = (0..rows)
            .map(|row| together.iter().skip(row).step_by(rows).copied().collect())
            .collect();
        let difference = [&joint, &alone]
            .into_iter()
            .map(|found| difference(found, &expected))
            .fold(0.0, f64::max);
        Ok(Times {
            batch: rows,
            tensor,
            scalar,
            scalar_batch,
            difference,
        })
    }
}

/// The least of several times after a first one, and what came out.
fn timed<T>(times: usize, mut work: impl FnMut() -> sumout::Result<T>) -> sumout::Result<(f64, T)> {
    let mut result = work()?;
    let mut least = f64::INFINITY;
    for _ in 0..times {
        let start = Instant::now();
        result = work()?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok((least, result))
}

/// How far the posteriors of the first value are from what is expected.
fn difference(joint: &[Vec<f64>], expected: &[f64]) -> f64 {
    let posterior = |row: &Vec<f64>| row[0] / row.iter().sum::<f64>();
    joint
        .iter()
        .zip(expected)
        .map(|(row, x)| (posterior(row) - x).abs() / x.max(1e-300))
        .fold(0.0, f64::max)
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
