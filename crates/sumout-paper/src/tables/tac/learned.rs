//! Models with tests that are learned, and the same models without.

use serde::{Deserialize, Serialize};
use sumout::learn::{LearningRate, Loss, Optimizer, Start};
use sumout::{
    Column, EvalOptions, Examples, Method, Monitor, Network, Options, Precision, Task, Training,
    TrainingOptions,
};

use crate::testing::{hidden_markov, kidney, kidney_cases, third_order};

/// The length of sequences, as in the literature.
const LENGTH: usize = 8;

/// The largest errors in points, and the rates of all cases: true, and by the two models.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Stones {
    pub without: f64,
    pub with: f64,
    pub rates: Vec<[f64; 3]>,
}

impl Stones {
    pub fn new(seed: u64) -> sumout::Result<Self> {
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

/// The recovery rates that a model of kidney stones learns for the nine cases.
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
    let running = EvalOptions::default()
        .with_precision(Precision::F64)
        .with_threads(1);
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
pub(super) const RECORDS: usize = 16_384;
pub(super) const FOLDS: usize = 5;

/// The number of steps from each start, and from the best of them.
const TRIAL: usize = 400;
const STEPS: usize = 3000;

/// The examples of a step.
const BATCH: usize = 64;

/// For each fold the mean cross entropies of what is predicted: without tests, with them, and by
/// the model that generates.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Markov {
    folds: Vec<[f64; 3]>,
}

impl Markov {
    pub fn new(seed: u64, records: usize) -> sumout::Result<Self> {
        let source = third_order(LENGTH, seed)?;
        let data = source.sample(records, seed)?;
        let all = Examples::from(&data);
        let running = EvalOptions::default().with_threads(1);
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

    pub fn mean(&self, of: usize) -> f64 {
        self.folds.iter().map(|fold| fold[of]).sum::<f64>() / self.folds.len() as f64
    }

    pub fn is_better(&self) -> bool {
        self.mean(1) < self.mean(0)
    }

    /// Whether it is better with a confidence of 95 %, by a t test of the differences of all folds.
    pub fn is_surely_better(&self) -> bool {
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
    let running = EvalOptions::default().with_threads(1);
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
