//! What is learned from data: the [parameters](params) of a network, the [losses](loss) that say
//! how good they are, and the [steps](optimise) that make them better.
//!
//! All of it is arithmetic on lists of numbers. How a loss and its derivatives are computed from a
//! network and data is the business of [circuits](crate::circuit).

pub mod examples;
pub mod learned;
pub mod loss;
pub mod metric;
pub mod optimise;
pub mod params;
pub mod trainer;
pub mod training;

pub use loss::Loss;
pub use optimise::{Decay, Rule};
pub use params::{Group, Params, Start};
pub use training::{
    Difference, Epoch, Examples, FitOptions, Method, State, Subject, Trainer, Training, Watch,
};
