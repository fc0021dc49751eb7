//! How to train: the loss and how it is minimised, initial weights, and when to stop.
//!
//! These are all numbers that training depends on. People rather set a few of them, on top of a
//! preset: see [`FitOptions`](crate::learn::FitOptions).

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::learn::{LearningRate, Loss, Optimizer, Start};

/// How the loss is minimised.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Method {
    /// Gradient descent in batches.
    Gradient {
        /// How a step follows from a gradient.
        optimizer: Optimizer,
        /// The schedule of the learning rate.
        learning_rate: LearningRate,
        /// The number of examples of a step.
        batch_size: usize,
        /// The minimum number of steps of an epoch: of few examples, batches are smaller.
        min_steps: usize,
    },
    /// Expectation–maximisation: the likelihood of the evidence, labels included, never decreases.
    Em,
}

/// The quantity that tells which of two epochs is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Monitor {
    /// The fraction of examples whose most probable value is their label.
    Accuracy,
    /// The mean loss.
    Loss,
}

/// Everything that training depends on, besides the network and the examples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingOptions {
    /// The loss to minimise.
    pub loss: Loss,
    /// How it is minimised.
    pub method: Method,
    /// Initial weights; of several, the best after some trial epochs are trained further.
    pub starts: Vec<Start>,
    /// The number of trial epochs of each start, if there are several.
    pub trial_epochs: usize,
    /// The maximum number of examples of a trial epoch.
    pub trial_examples: usize,
    /// The maximum number of epochs after the trials.
    pub epochs: usize,
    /// Early stopping: the number of epochs without improvement after which training ends.
    pub patience: usize,
    /// The minimum improvement that resets patience.
    pub min_improvement: f64,
    /// The accuracy at which training ends.
    pub target_accuracy: Option<f64>,
    /// The fraction of examples held out for validation.
    pub validation: f64,
    /// The quantity that is compared from epoch to epoch.
    pub monitor: Monitor,
    /// Pseudo-counts that are added to each number of a CPT.
    pub prior: f64,
    /// The temperature of rows of CPTs that are declared functional, in the first epoch and in the
    /// last: a low one makes them nearly one-hot.
    pub temperature: Option<(f64, f64)>,
    /// The slope of sigmoids of tests whose slope is not learned, in the first epoch and in the
    /// last: a high one makes them nearly steps.
    pub slope: Option<(f64, f64)>,
    /// Whether CPTs that are declared functional become the nearest functions in the end.
    pub snap: bool,
    /// Seeds random starts, the validation split and the order of examples.
    pub seed: u64,
}

/// The temperatures before [snapping](TrainingOptions::snap), unless others are given.
const COOLING: (f64, f64) = (1.0, 0.1);

impl TrainingOptions {
    /// As in the paper: Adam with a cubic decay from the best of five starts, and 20 % of the
    /// examples for validation.
    ///
    /// The released program of the paper's authors takes 32 examples at a time. Of 25 examples, 20
    /// are learned from, which makes an epoch a single step, and patience ends before much is
    /// learned: the paper's accuracies are not reached with less than 250 examples. With at least
    /// five steps an epoch they are.
    pub fn paper() -> Self {
        let starts = [Start::Uniform].into_iter().chain((1..5).map(Start::Alike));
        TrainingOptions {
            loss: Loss::default(),
            method: Method::Gradient {
                optimizer: Optimizer::Adam,
                learning_rate: LearningRate::paper(),
                batch_size: 32,
                min_steps: 5,
            },
            starts: starts.collect(),
            trial_epochs: 2,
            trial_examples: usize::MAX,
            epochs: 500,
            patience: 20,
            min_improvement: 1e-4,
            target_accuracy: Some(0.9999),
            validation: 0.2,
            monitor: Monitor::Accuracy,
            prior: 0.0,
            temperature: None,
            slope: None,
            snap: false,
            seed: 0,
        }
    }

    /// Maximum likelihood by expectation–maximisation, from the numbers of the network.
    pub fn em() -> Self {
        TrainingOptions {
            loss: Loss::likelihood(),
            method: Method::Em,
            starts: vec![Start::Network],
            trial_epochs: 5,
            epochs: 200,
            patience: 1,
            min_improvement: 1e-6,
            target_accuracy: None,
            validation: 0.0,
            monitor: Monitor::Loss,
            ..TrainingOptions::paper()
        }
    }

    /// The temperatures of the first epoch and of the last, if there are any.
    pub(crate) fn temperatures(&self) -> Option<(f64, f64)> {
        self.temperature.or(self.snap.then_some(COOLING))
    }

    /// Refuses options that nothing can be learned with.
    pub fn check(&self) -> Result<()> {
        self.check_loss()?;
        self.check_method()?;
        self.check_course()?;
        refuse(
            is_not_positive(self.slope),
            "slopes are positive",
            "8 is gentle, 64 is nearly a step",
        )?;
        refuse(
            is_not_positive(self.temperature),
            "temperatures are positive",
            "1 changes nothing, 0.1 makes rows nearly one-hot",
        )
    }

    fn check_loss(&self) -> Result<()> {
        let Loss {
            cross_entropy,
            squared_error,
            likelihood,
        } = self.loss;
        let weights = [cross_entropy, squared_error, likelihood];
        refuse(
            weights == [0.0; 3],
            "all weights of the loss are zero",
            "`cross_entropy` is the loss of the paper",
        )?;
        refuse(
            self.method == Method::Em && weights != [0.0, 0.0, 1.0],
            "expectation–maximisation is for the likelihood alone",
            "choose another method for other losses",
        )
    }

    fn check_method(&self) -> Result<()> {
        let Method::Gradient {
            optimizer,
            learning_rate: LearningRate { first, last, .. },
            batch_size,
            ..
        } = self.method
        else {
            return Ok(());
        };
        refuse(
            !(first.is_finite() && first > 0.0 && last.is_finite() && last >= 0.0),
            "the learning rate is not positive",
            "0.05 is good for Adam",
        )?;
        refuse(
            matches!(optimizer, Optimizer::Sgd { momentum } if !(0.0..1.0).contains(&momentum)),
            "the momentum is not in 0 to less than 1",
            "0.9 is usual, 0 is without momentum",
        )?;
        refuse(
            batch_size == 0,
            "the batch size is zero",
            "32 is a good number",
        )
    }

    fn check_course(&self) -> Result<()> {
        refuse(
            !(0.0..1.0).contains(&self.validation),
            "the fraction for validation is not in 0 to less than 1",
            "0.2 holds out a fifth of the examples",
        )?;
        refuse(
            self.epochs == 0 || self.patience == 0,
            "there must be at least one epoch",
            "give at least one, and a patience of at least one",
        )?;
        refuse(
            self.starts.is_empty(),
            "there is nothing to start from",
            "give at least one start",
        )?;
        refuse(
            !(self.prior >= 0.0 && self.prior.is_finite()),
            "pseudo-counts are negative or not finite",
            "0 adds none, 1 adds one to each number",
        )
    }
}

fn refuse(is_wrong: bool, what: &str, hint: &str) -> Result<()> {
    if is_wrong {
        return Err(Error::new(ErrorKind::Options, what.to_owned()).hint(hint));
    }
    Ok(())
}

fn is_not_positive(range: Option<(f64, f64)>) -> bool {
    let is_positive = |x: f64| x > 0.0 && x.is_finite();
    range.is_some_and(|(from, to)| !(is_positive(from) && is_positive(to)))
}

impl Default for TrainingOptions {
    /// Adam on the cross entropy and a part of the likelihood, from the best of eight random
    /// starts, without validation.
    ///
    /// The likelihood of the evidence is informative where few labels are known, and tells good
    /// starts from bad ones. A tenth of a pseudo-count keeps numbers from becoming zero.
    fn default() -> Self {
        TrainingOptions {
            loss: Loss {
                likelihood: 0.3,
                ..Loss::default()
            },
            starts: (1..=8).map(Start::Random).collect(),
            method: Method::Gradient {
                optimizer: Optimizer::Adam,
                learning_rate: LearningRate {
                    over: 40,
                    ..LearningRate::paper()
                },
                batch_size: 32,
                min_steps: 1,
            },
            trial_epochs: 5,
            trial_examples: 256,
            epochs: 100,
            patience: 8,
            min_improvement: 1e-3,
            target_accuracy: None,
            validation: 0.0,
            monitor: Monitor::Loss,
            prior: 0.1,
            ..TrainingOptions::paper()
        }
    }
}
