//! Exact answers from Bayesian networks, compiled once into a tensor circuit.

pub mod circuit;
pub mod compile;
pub mod error;
pub mod model;
pub mod tensor;
pub mod vars;

pub use circuit::{Answer, Compilation, Explanation, Options};
pub use compile::{Level, Query, Report};
pub use error::{Error, ErrorKind, Place, Result};
pub use model::{Builder, Cpt, Dataset, Evidence, Finding, Format, Network, Variable};
pub use vars::{VarId, VarSet};
