//! Networks, evidence and data; and the files that they come in.

mod builder;
mod causal;
mod cpt;
mod data;
mod evidence;
mod factors;
pub mod format;
mod network;
#[doc(hidden)]
pub mod paper;
#[doc(hidden)]
pub mod random;
mod sample;
mod selection;

pub use builder::{Builder, CptDraft, Node};
pub use cpt::{Body, Cpt, Role};
pub use data::Dataset;
pub use evidence::{Evidence, Finding};
#[doc(hidden)]
pub use factors::FactorModel;
pub use factors::Variable;
pub use format::Format;
pub use network::Network;
pub use sample::Sampler;
pub use selection::{Comparison, SelectedCpt, Selection, SelectionKind, Sight};

pub(crate) use builder::{Site, miscount};
pub(crate) use selection::{Expanded, LARGEST_WEIGHT, STEEPEST, SelectionNode};
