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
//! | [`params`], [`loss`], [`optimise`], [`metric`] | arithmetic on lists of numbers |

mod check;
mod checkpoint;
mod count;
mod examples;
mod fit;
pub mod loss;
pub mod metric;
pub mod optimise;
mod options;
pub mod params;
mod task;
mod trainer;
mod training;

pub use check::Difference;
pub use checkpoint::Checkpoint;
pub use examples::Examples;
pub use fit::names::{Algorithm, DecayCurve, InitialWeights, Preset};
pub use fit::{Declared, FitEvent, FitOptions, Fitted, Progress};
pub use loss::Loss;
pub use optimise::{LearningRate, Optimizer};
pub use options::{Method, Monitor, TrainingOptions};
pub use params::{Group, Params, Start};
pub use task::Task;
pub use trainer::{Epoch, State, Trainer};
pub use training::{Trained, Training};
