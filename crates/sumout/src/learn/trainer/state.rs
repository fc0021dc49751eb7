//! Everything that training has reached: saved and restored, it continues as if never interrupted.

use serde::{Deserialize, Serialize};

use crate::learn::optimise::Moments;

/// The outcome of an epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Epoch {
    /// The start that it is a trial of, counted from zero; none once the best start is chosen.
    pub start: Option<usize>,
    /// The learning rate; zero for expectation–maximisation.
    pub rate: f64,
    /// The mean training loss, during the epoch.
    pub loss: f64,
    /// The mean validation loss, after the epoch; without validation, that of all examples.
    pub validation_loss: f64,
    /// The accuracy on the same examples; none without labels.
    pub accuracy: Option<f64>,
    /// The number of training examples that were impossible, or underflowed.
    pub impossible: usize,
    /// The number of examples whose label had probability zero, given their inputs.
    pub contradicted: usize,
}

/// The best start so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Chosen {
    pub(super) score: f64,
    pub(super) weights: Vec<f64>,
    /// The position of its last epoch.
    pub(super) epoch: usize,
}

/// The best epoch since a start was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Best {
    pub(super) score: Option<f64>,
    pub(super) weights: Vec<f64>,
    pub(super) temperature: f64,
    pub(super) slope: Option<f64>,
    /// Its position.
    pub(super) epoch: Option<usize>,
}

/// The state of training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The start on trial; the number of starts, once the best is chosen.
    pub(super) start: usize,
    /// The number of epochs of this start, or since one was chosen.
    pub(super) epoch: usize,
    pub(super) weights: Vec<f64>,
    pub(super) moments: Moments,
    pub(super) chosen: Option<Chosen>,
    pub(super) best: Best,
    /// The number of epochs without improvement.
    pub(super) waited: usize,
    pub(super) is_done: bool,
    /// All epochs so far.
    pub history: Vec<Epoch>,
}

impl State {
    /// Before the first epoch.
    pub(super) fn new() -> Self {
        State {
            start: 0,
            epoch: 0,
            weights: vec![],
            moments: Moments::default(),
            chosen: None,
            best: Best {
                score: None,
                weights: vec![],
                temperature: 1.0,
                slope: None,
                epoch: None,
            },
            waited: 0,
            is_done: false,
            history: vec![],
        }
    }

    /// The best epoch so far; none before a start is chosen.
    pub fn best(&self) -> Option<&Epoch> {
        self.history.get(self.best.epoch?)
    }

    /// Its position in the history.
    pub fn best_epoch(&self) -> Option<usize> {
        self.best.epoch
    }
}
