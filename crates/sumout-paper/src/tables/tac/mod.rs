//! Testing circuits: the gains by tests, compared with the literature.
//!
//! Choi and Darwiche (PGM 2018) approximate functions; Shen, Huang, Choi and Darwiche (ICML 2019)
//! learn what a model without an edge, or a hidden Markov model of the first order, cannot
//! represent.

mod learned;

use std::collections::BTreeSet;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sumout::{Batch, Column, Options, Query};

use crate::grid::{Grid, Table, key, ours, paper};
use crate::store::Cell;
use crate::tables::Work;
use crate::testing::staircase;
use learned::{FOLDS, Markov, RECORDS, Stones};

/// A monotone function, and its inverse.
type Monotone = (&'static str, fn(f64) -> f64, fn(f64) -> f64);

const FUNCTIONS: [Monotone; 3] = [
    ("square", |x| x * x, f64::sqrt),
    ("root", f64::sqrt, |y| y * y),
    (
        "sigmoid",
        |x| 1.0 / (1.0 + (-10.0 * (x - 0.5)).exp()),
        |y| 0.5 + (y / (1.0 - y)).ln() / 10.0,
    ),
];

/// How near functions are to be approximated.
const NEAR: [f64; 3] = [0.1, 0.05, 0.02];

/// The number of points at which a function is compared.
const PLACES: usize = 1001;

pub fn circuits(work: &Work<'_>) -> sumout::Result<Table> {
    let models = if work.settings.quick { 4 } else { 256 }; // as in the literature
    let mut functions = vec![];
    for function in FUNCTIONS {
        functions.extend(NEAR.map(|near| (format!("{}/{near}", function.0), (function, near))));
    }
    let functions = work.rows(functions);
    let stones = work.rows(vec![("kidney".to_owned(), ())]);
    let markov = work.rows(
        (0..models)
            .map(|model| (format!("hmm/{model}"), model))
            .collect(),
    );
    work.expect(functions.len() + stones.len() + markov.len());
    let mut machines = BTreeSet::new();
    let mut rows = Rows::default();
    for (name, (function, near)) in &functions {
        let cell = work.cell(name, json!({"near": near}), || {
            Approximation::new(function, *near)
        })?;
        rows.functions
            .extend(cell.map(|cell| (name.clone(), keep(cell, &mut machines))));
    }
    for (name, ()) in &stones {
        let cell = work.cell(name, json!({"version": 1}), || {
            Stones::new(work.settings.seed)
        })?;
        rows.stones
            .extend(cell.map(|cell| keep(cell, &mut machines)));
    }
    let records = if work.settings.quick { 1024 } else { RECORDS };
    let model = |(name, model): &(String, u64)| {
        let key = json!({"records": records, "folds": FOLDS});
        work.cell(name, key, || {
            Markov::new(work.settings.seed + model, records)
        })
    };
    let cells: Vec<_> = markov
        .par_iter()
        .map(model)
        .collect::<sumout::Result<_>>()?;
    rows.markov.extend(
        cells
            .into_iter()
            .flatten()
            .map(|cell| keep(cell, &mut machines)),
    );
    let mut table = work.table("what tests add to networks", rows.to_json(), machines);
    table.grids = rows.grids();
    table.notes = NOTES.map(str::to_owned).to_vec();
    Ok(table)
}

fn keep<T>(cell: Cell<T>, machines: &mut BTreeSet<String>) -> T {
    machines.insert(cell.machine);
    cell.result
}

const NOTES: [&str; 4] = [
    "Functions: a monotone function of a probability, by so many tests; the largest error at 1,001 places. \
     The literature says that with ⌈1/ε⌉ tests it is at most the ε that is printed (PGM 2018).",
    "Kidney stones: Simpson's paradox in a model without the edge from size to treatment, learned from the nine rates of recovery \
     given what may be known. The largest error in points; printed: ICML 2019.",
    "Hidden Markov models: the last state, given all that is seen of 16,384 sequences (with `--quick` 1,024) of eight that a random third-order model generates; each fifth of them is \
     predicted by what is learned from the others. Better: the models of which the tested one predicts with less cross entropy; surely: with a confidence of \
     95 %, by a t test of the five differences. Printed, of ICML 2019: 178 of 256 models, 82 of them above 95 %.",
    "The last two are reconstructions, made without the articles' programs: which edge is missing was chosen by the size of the printed error, and what is predicted, \
     how it is learned and how models are compared are our choices. The printed numbers are not of the same computation.",
];

/// The results.
#[derive(Default)]
struct Rows {
    functions: Vec<(String, Approximation)>,
    stones: Vec<Stones>,
    markov: Vec<Markov>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Approximation {
    tests: usize,
    near: f64,
    error: f64,
    /// The approximation at some places, for a plot.
    points: Vec<(f64, f64, f64)>,
}

impl Approximation {
    fn new((_, f, inverse): &Monotone, near: f64) -> sumout::Result<Self> {
        let tests = (1.0 / near).ceil() as usize;
        let (low, high) = (f(0.0), f(1.0));
        let steps =
            (1..=tests).map(|i| inverse(low + (high - low) * (i as f64 - 0.5) / tests as f64));
        let net = staircase(&steps.collect::<Vec<f64>>())?;
        let circuit = net.compile(&Query::of("mean").given(["x"]), &Options::default())?;
        let xs: Vec<f64> = (0..PLACES)
            .map(|i| i as f64 / (PLACES - 1) as f64)
            .collect();
        let column = Column::Likelihoods(xs.iter().flat_map(|x| [*x, 1.0 - x]).collect());
        let answers = circuit.evaluate(&Batch::new(PLACES).with(&circuit, "x", column)?)?;
        let found = |row: usize| low + (high - low) * answers.row(row)[0];
        let error = (0..PLACES)
            .map(|row| (found(row) - f(xs[row])).abs())
            .fold(0.0, f64::max);
        let points = (0..PLACES)
            .step_by(10)
            .map(|row| (xs[row], f(xs[row]), found(row)))
            .collect();
        Ok(Approximation {
            tests,
            near,
            error,
            points,
        })
    }
}

/// The numbers printed at ICML 2019: the largest errors in points; of how many models the tested one is
/// better, and surely so.
const STONES: [f64; 2] = [3.0, 0.2];
const BETTER: [usize; 2] = [178, 82];
const MODELS: usize = 256;

impl Rows {
    /// The models that are better with tests, and surely so.
    fn better(&self) -> [usize; 2] {
        let count = |is: fn(&Markov) -> bool| self.markov.iter().filter(|model| is(model)).count();
        [count(Markov::is_better), count(Markov::is_surely_better)]
    }

    fn to_json(&self) -> Vec<Value> {
        let functions = self.functions.iter().map(|(name, it)| {
            json!({"row": name, "tests": it.tests, "error": it.error, "points": it.points, "paper": {"error": it.near}})
        });
        let stones = self.stones.iter().map(|it| {
            let printed = json!({"error_without_tests": STONES[0], "error_with_tests": STONES[1]});
            json!({
                "row": "kidney", "error_without_tests": it.without, "error_with_tests": it.with, "rates": it.rates,
                "paper": printed,
            })
        });
        let mean = |of: usize| {
            self.markov.iter().map(|m| m.mean(of)).sum::<f64>() / self.markov.len() as f64
        };
        let markov = (!self.markov.is_empty()).then(|| {
            let [better, surely] = self.better();
            json!({
                "row": "hmm", "models": self.markov.len(), "better": better, "surely_better": surely,
                "cross_entropy_without_tests": mean(0), "cross_entropy_with_tests": mean(1),
                "cross_entropy_of_the_source": mean(2),
                "pairs": self.markov.iter().map(|m| [m.mean(0), m.mean(1)]).collect::<Vec<_>>(),
                "paper": {"models": MODELS, "better": BETTER[0], "surely_better": BETTER[1]},
            })
        });
        functions.chain(stones).chain(markov).collect()
    }

    fn grids(&self) -> Vec<Grid> {
        let mut functions = Grid::new([
            key("function"),
            ours("tests"),
            ours("error"),
            paper("error"),
        ]);
        for (name, it) in &self.functions {
            let function = name.split('/').next().unwrap_or_default().to_owned();
            functions.push([
                function,
                it.tests.to_string(),
                format!("{:.4}", it.error),
                format!("{}", it.near),
            ]);
        }
        let mut stones = Grid::new([
            key("kidney stones"),
            ours("largest error"),
            paper("largest error"),
        ]);
        for it in &self.stones {
            for (name, found, printed) in [
                ("without tests", it.without, STONES[0]),
                ("with tests", it.with, STONES[1]),
            ] {
                stones.push([name.to_owned(), format!("{found:.2}"), format!("{printed}")]);
            }
        }
        let mut markov = Grid::new([
            key("hidden Markov models"),
            ours("better"),
            paper("better"),
            ours("surely"),
            paper("surely"),
            ours("without tests"),
            ours("with tests"),
            ours("the source"),
        ]);
        if let [row] = &self.to_json()[self.functions.len() + self.stones.len()..] {
            let number = |name: &str| format!("{:.4}", row[name].as_f64().unwrap_or(f64::NAN));
            markov.push([
                format!("{} of the third order", self.markov.len()),
                format!("{} of {}", self.better()[0], self.markov.len()),
                format!("{} of {MODELS}", BETTER[0]),
                format!("{} of {}", self.better()[1], self.markov.len()),
                format!("{} of {MODELS}", BETTER[1]),
                number("cross_entropy_without_tests"),
                number("cross_entropy_with_tests"),
                number("cross_entropy_of_the_source"),
            ]);
        }
        [functions, stones, markov]
            .into_iter()
            .filter(|grid| !grid.rows.is_empty())
            .collect()
    }
}
