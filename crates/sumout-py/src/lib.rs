//! The extension under the Python package: networks, circuits and batches by numbers.
//!
//! Names, arrays of every kind and whatever else makes it pleasant is in `python/sumout`. Here
//! variables and values are positions, numbers are arrays of one kind, and every method that takes
//! long releases the interpreter's lock and lets Ctrl-C through: see [`work`].

mod arguments;
mod arrow;
mod batch;
mod circuit;
mod differentiate;
mod error;
mod fit;
mod network;
mod options;
mod query;
mod questions;
mod ready;
mod work;

#[pyo3::pymodule]
mod _sumout {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::arrow::arrow_columns;
    #[pymodule_export]
    use crate::batch::Batch;
    #[pymodule_export]
    use crate::circuit::Circuit;
    #[pymodule_export]
    use crate::fit::{FitOptions, Learned, Task, fit};
    #[pymodule_export]
    use crate::network::Network;
    #[pymodule_export]
    use crate::options::{EvalOptions, Options};
    #[pymodule_export]
    use crate::query::{Plan, Query};

    #[pymodule_export]
    #[allow(non_upper_case_globals, missing_docs)]
    pub const version: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        sumout::internals::keep_panics();
        Ok(())
    }
}
