//! Networks, evidence and data; and the files that they come in.

mod builder;
mod cpt;
mod data;
mod evidence;
pub mod format;
mod network;
pub mod paper;
pub mod random;
mod sample;
mod selection;

pub use crate::model::selection::{Comparison, Selection, Sight, Test, Tested};
pub use builder::{Builder, CptDraft, Node};
pub use cpt::{Body, Cpt, Role};
pub use data::Dataset;
pub use evidence::{Evidence, Finding};
pub use format::Format;
pub use network::{Network, Variable};
pub use sample::Sampler;

pub(crate) use crate::model::selection::{Expanded, LARGEST_WEIGHT, STEEPEST, Testing};
pub(crate) use builder::{Site, miscount};
