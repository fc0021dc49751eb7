//! Learning from data: [`Network::fit`](crate::Network::fit) and its parts.
//!
//! ```text
//! Task, Examples, FitOptions ─┬─▶ count ─────────────────────────────┬─▶ Fitted
//!                             └─▶ compile ─▶ train ─▶ snap ─▶ check ─┘
//! ```
//!
//! A [`Task`] names the targets, the inputs and the CPTs to train, [`Examples`] are the data, and
//! [`FitOptions`] begin with a [`Preset`]. Complete data are counted if the likelihood is maximised;
//! otherwise a circuit is trained for each target, with a [`FitEvent`] for each epoch, and a
//! [`Checkpoint`] to continue from. [`Fitted`] holds the network, with its history and warnings.

// `fit` is the whole procedure; `training` and `trainer` are circuits compiled for training and
// their epochs; `count` and `check` are maximum likelihood of complete data, and whether circuit and
// network agree; `params`, `loss`, `optimise` and `metric` are arithmetic on lists of numbers.

mod check;
mod checkpoint;
mod count;
mod examples;
mod fit;
mod loss;
#[doc(hidden)]
pub mod metric;
#[doc(hidden)]
pub mod optimise;
mod options;
#[doc(hidden)]
pub mod params;
mod task;
mod trainer;
mod training;

pub use check::Difference;
pub use checkpoint::Checkpoint;
pub use examples::Examples;
pub use fit::names::{Algorithm, DecayCurve, InitialWeights, Preset};
pub use fit::{FitEvent, FitOptions, Fitted};
pub use loss::Loss;
pub use task::Task;
pub use trainer::Epoch;

// The parts of a fit, for the crates of this repository alone.
#[doc(hidden)]
pub use fit::Declared;
#[doc(hidden)]
pub use loss::ZERO;
#[doc(hidden)]
pub use optimise::{LearningRate, Optimizer};
#[doc(hidden)]
pub use options::{Method, Monitor, TrainingOptions};
#[doc(hidden)]
pub use params::{Group, Params, Start};
#[doc(hidden)]
pub use trainer::{State, Trainer};
#[doc(hidden)]
pub use training::{Trained, Training};
