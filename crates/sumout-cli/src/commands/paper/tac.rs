//! Testing circuits: what tests add to networks, beside what the literature says of them.
//!
//! Choi and Darwiche (PGM 2018) approximate functions; Shen, Huang, Choi and Darwiche (ICML 2019)
//! learn what a model without an edge, or a hidden Markov model of the first order, cannot
//! represent.

use std::collections::BTreeSet;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sumout::learn::{LearningRate, Loss, Optimizer, Start};
use sumout::model::paper::testing::{hidden_markov, kidney, kidney_cases, staircase, third_order};
use sumout::{
    Batch, Column, EvalOptions, Examples, Method, Monitor, Network, Options, Precision, Query,
    Task, Training, TrainingOptions,
};

use super::Work;
use super::grid::{Grid, Table, key, ours, paper};

/// The number that stands for this table, which no table of the paper has.
pub const TAC: u32 = u32::MAX;

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

/// A function is compared at so many places.
const PLACES: usize = 1001;

/// The length of sequences, as in the literature.
const LENGTH: usize = 8;

pub fn circuits(work: &Work<'_>) -> sumout::Result<Table> {
    let models = if work.args.quick { 4 } else { 256 }; // as in the literature
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
    work.bar
        .set_length((functions.len() + stones.len() + markov.len()) as u64);
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
        let cell = work.cell(name, json!({"version": 1}), || Stones::new(work.args.seed))?;
        rows.stones
            .extend(cell.map(|cell| keep(cell, &mut machines)));
    }
    let records = if work.args.quick { 1024 } else { RECORDS };
    let model = |(name, model): &(String, u64)| {
        let key = json!({"records": records, "folds": FOLDS});
        work.cell(name, key, || Markov::new(work.args.seed + model, records))
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

fn keep<T>(cell: super::Cell<T>, machines: &mut BTreeSet<String>) -> T {
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

/// What came out.
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

/// The largest errors in points, and the rates of all cases: true, and by the two models.
#[derive(Debug, Serialize, Deserialize)]
struct Stones {
    without: f64,
    with: f64,
    rates: Vec<[f64; 3]>,
}

impl Stones {
    fn new(seed: u64) -> sumout::Result<Self> {
        let truth: Vec<f64> = kidney_cases().into_iter().map(|(_, rate)| rate).collect();
        let [without, with] = [kidney(false)?, kidney(true)?];
        let (without, with) = (rates(&without, seed)?, rates(&with, seed)?);
        let error = |found: &[f64]| {
            100.0
                * found
                    .iter()
                    .zip(&truth)
                    .map(|(x, y)| (x - y).abs())
                    .fold(0.0, f64::max)
        };
        let rates = (0..truth.len())
            .map(|i| [truth[i], without[i], with[i]])
            .collect();
        Ok(Stones {
            without: error(&without),
            with: error(&with),
            rates,
        })
    }
}

/// What a model of kidney stones learns of the nine cases: rates of recovery.
fn rates(net: &Network, seed: u64) -> sumout::Result<Vec<f64>> {
    let cases = kidney_cases();
    let mut examples = Examples::new(cases.len());
    for (k, name) in ["size", "treatment"].into_iter().enumerate() {
        let values = cases
            .iter()
            .map(|(known, _)| known[k].map_or(-1, |value| value as i32))
            .collect();
        examples.insert(net.find(name)?, Column::Values(values));
    }
    let target = net.find("recovery")?;
    examples.insert(
        target,
        Column::Likelihoods(
            cases
                .iter()
                .flat_map(|(_, rate)| [*rate, 1.0 - rate])
                .collect(),
        ),
    );
    let task = Task::of(&[target], &examples);
    let learning = TrainingOptions {
        starts: (1..=5).map(Start::Random).collect(),
        epochs: 1500,
        ..thorough(seed)
    };
    let running = EvalOptions {
        precision: Precision::F64,
        threads: 1,
        ..EvalOptions::default()
    };
    let training = Training::new(net, &task, learning, &Options::default(), &running)?;
    let trained = training.train(&examples, seed, &mut |_| Ok(()))?;
    let (circuit, _) = &training.trained(&trained.params)[0];
    let answers = circuit.evaluate(&examples.batch_for(circuit)?)?;
    Ok((0..cases.len()).map(|row| answers.row(row)[0]).collect())
}

/// Cross entropy alone, all examples at a time, for as long as it becomes less.
fn thorough(seed: u64) -> TrainingOptions {
    let learning_rate = LearningRate {
        first: 0.1,
        last: 0.005,
        over: 800,
        ..LearningRate::paper()
    };
    TrainingOptions {
        loss: Loss::default(),
        method: Method::Gradient {
            optimizer: Optimizer::Adam,
            learning_rate,
            batch_size: usize::MAX,
            min_steps: 1,
        },
        trial_epochs: 60,
        patience: 200,
        min_improvement: 1e-7,
        monitor: Monitor::Loss,
        validation: 0.0,
        prior: 0.0,
        seed,
        ..TrainingOptions::default()
    }
}

/// The sequences of each model, and the parts of them of which each is predicted by what is learned
/// from the others: as in the literature.
const RECORDS: usize = 16_384;
const FOLDS: usize = 5;

/// So many steps are taken from each start, and so many from the best of them.
const TRIAL: usize = 400;
const STEPS: usize = 3000;

/// The examples of a step.
const BATCH: usize = 64;

/// For each fold the mean cross entropies of what is predicted: without tests, with them, and by
/// the model that generates.
#[derive(Debug, Serialize, Deserialize)]
struct Markov {
    folds: Vec<[f64; 3]>,
}

impl Markov {
    fn new(seed: u64, records: usize) -> sumout::Result<Self> {
        let source = third_order(LENGTH, seed)?;
        let data = source.sample(records, seed)?;
        let all = Examples::from(&data);
        let running = EvalOptions {
            threads: 1,
            ..EvalOptions::default()
        };
        let truth = Training::new(
            &source,
            &task(&source)?,
            thorough(seed),
            &Options::default(),
            &running,
        )?;
        let models = [hidden_markov(LENGTH, false)?, hidden_markov(LENGTH, true)?];
        let fold = |fold: usize| {
            let held = fold * records / FOLDS..(fold + 1) * records / FOLDS;
            let (training, test) = (
                rows(&all, |row| !held.contains(&row)),
                rows(&all, |row| held.contains(&row)),
            );
            let [without, with] =
                [0, 1].map(|model| predicted(&models[model], seed, &training, &test));
            Ok([without?, with?, truth.measure(truth.params(), &test)?.0])
        };
        Ok(Markov {
            folds: (0..FOLDS).map(fold).collect::<sumout::Result<_>>()?,
        })
    }

    fn mean(&self, of: usize) -> f64 {
        self.folds.iter().map(|fold| fold[of]).sum::<f64>() / self.folds.len() as f64
    }

    fn is_better(&self) -> bool {
        self.mean(1) < self.mean(0)
    }

    /// Whether it is better with a confidence of 95 %, by a t test of the differences of all folds.
    fn is_surely_better(&self) -> bool {
        const QUANTILE: f64 = 2.132; // of the t distribution with four degrees of freedom
        let gain = |fold: &[f64; 3]| fold[0] - fold[1];
        let (mean, n) = (self.mean(0) - self.mean(1), self.folds.len() as f64);
        let variance = self
            .folds
            .iter()
            .map(|fold| (gain(fold) - mean).powi(2))
            .sum::<f64>()
            / (n - 1.0);
        mean > QUANTILE * (variance / n).sqrt()
    }
}

/// The mean cross entropy of some sequences, of a model that learns from others.
fn predicted(
    net: &Network,
    seed: u64,
    training: &Examples,
    test: &Examples,
) -> sumout::Result<f64> {
    let epochs = |steps: usize| (steps * BATCH).div_ceil(training.len());
    let learning_rate = LearningRate {
        over: epochs(STEPS),
        ..LearningRate::paper()
    };
    let method = Method::Gradient {
        optimizer: Optimizer::Adam,
        learning_rate,
        batch_size: BATCH,
        min_steps: 1,
    };
    let starts = (1..=3).map(Start::Random).collect();
    let (trial_epochs, epochs) = (epochs(TRIAL), epochs(STEPS));
    let learning = TrainingOptions {
        method,
        starts,
        epochs,
        trial_epochs,
        patience: epochs,
        min_improvement: 0.0,
        ..thorough(seed)
    };
    let running = EvalOptions {
        threads: 1,
        ..EvalOptions::default()
    };
    let compiled = Training::new(net, &task(net)?, learning, &Options::default(), &running)?;
    let trained = compiled.train(training, seed, &mut |_| Ok(()))?;
    Ok(compiled.measure(&trained.params, test)?.0)
}

/// The last state, given all that is seen.
fn task(net: &Network) -> sumout::Result<Task> {
    let given = net.matching("e_*")?.into_iter().collect();
    Ok(Task::new(&[net.find(&format!("h_{}", LENGTH - 1))?], given))
}

/// Some of the examples.
fn rows(examples: &Examples, is_one: impl Fn(usize) -> bool) -> Examples {
    let rows: Vec<usize> = (0..examples.len()).filter(|&row| is_one(row)).collect();
    let mut some = Examples::new(rows.len());
    for var in examples.variables().collect::<Vec<_>>() {
        if let Some(Column::Values(values)) = examples.get(var) {
            some.insert(
                var,
                Column::Values(rows.iter().map(|&row| values[row]).collect()),
            );
        }
    }
    some
}

/// What ICML 2019 prints: the largest errors in points; of how many models the tested one is
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
