//! Learning from data: [`Network::fit`](crate::Network::fit) and its parts.
//!
//! ```text
//! Task, Examples, FitOptions ─▶ count                                         ┐
//!                             ─▶ Training ─▶ Trainer ─▶ snap, check ──────────┴─▶ Fitted
//! ```
//!
//! | module | |
//! |---|---|
//! | `task`, `examples` | what is predicted from what, and the data |
//! | `fit`, `options` | the whole procedure, with its presets and options |
//! | `training`, `trainer` | circuits compiled for training, and their epochs; `checkpoint` saves them |
//! | `count`, `check` | maximum likelihood of complete data; whether circuit and network agree |
//! | `params`, `loss`, `optimise`, `metric` | arithmetic on lists of numbers |

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
