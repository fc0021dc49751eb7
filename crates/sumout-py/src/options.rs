//! How to compile, and how to run.

use pyo3::prelude::*;

use crate::error::Result;

/// How to compile.
#[pyclass(frozen, skip_from_py_object, module = "sumout._sumout")]
#[derive(Clone, Debug)]
pub struct Options(pub sumout::Options);

#[pymethods]
impl Options {
    #[new]
    #[pyo3(signature = (level, effort, seed, memory, near))]
    fn new(level: &str, effort: f64, seed: u64, memory: Option<u64>, near: f64) -> Result<Self> {
        let options = sumout::Options::default()
            .with_level(level.parse()?)
            .with_effort(effort)
            .with_seed(seed)
            .with_memory(memory)
            .with_near(near);
        Ok(Options(options))
    }
}

/// How to run.
#[pyclass(frozen, skip_from_py_object, module = "sumout._sumout")]
#[derive(Clone, Copy, Debug)]
pub struct EvalOptions(pub sumout::EvalOptions);

#[pymethods]
impl EvalOptions {
    #[new]
    #[pyo3(signature = (precision, threads, memory))]
    fn new(precision: &str, threads: usize, memory: Option<u64>) -> Result<Self> {
        let precision = precision.parse()?;
        Ok(EvalOptions(
            sumout::EvalOptions::default()
                .with_precision(precision)
                .with_threads(threads)
                .with_memory(memory)
                .with_of_inputs(false),
        ))
    }
}
