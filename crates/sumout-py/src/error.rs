//! Errors become `sumout.Error`, with the same fields.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use sumout::{Error, Remedy};

/// The result of what Python calls.
pub type Result<T> = std::result::Result<T, Raised>;

/// An exception to raise: an error of ours, or one of Python's.
#[derive(Debug)]
pub enum Raised {
    /// Becomes `sumout.Error`.
    Ours(Error),
    /// An exception of Python, raised unchanged.
    Theirs(PyErr),
}

impl From<Error> for Raised {
    fn from(error: Error) -> Self {
        Raised::Ours(error)
    }
}

impl From<PyErr> for Raised {
    fn from(error: PyErr) -> Self {
        Raised::Theirs(error)
    }
}

impl From<Raised> for PyErr {
    fn from(raised: Raised) -> Self {
        match raised {
            Raised::Theirs(error) => error,
            Raised::Ours(error) => {
                Python::attach(|py| exception(py, &error).unwrap_or_else(|error| error))
            }
        }
    }
}

/// The class is Python's own, so that it can be pickled and has fields.
fn exception(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    static RAISE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = RAISE.import(py, "sumout._errors", "make")?;
    let error = error.clone().reworded(keyword);
    let place = error
        .place()
        .map(|place| (place.file(), place.line(), place.column()));
    let value = make.call1((
        error.kind().name(),
        error.message(),
        error.to_string(),
        place,
        error.advice(),
    ))?;
    Ok(PyErr::from_value(value))
}

/// A remedy in Python, where options are keywords.
fn keyword(remedy: &Remedy) -> String {
    match remedy {
        Remedy::ListVariables => "`net.variables` lists the variables".into(),
        Remedy::MoreEffort(None) => "compile again with more `effort`".into(),
        Remedy::MoreEffort(Some(effort)) => format!("search longer with `effort={effort}`"),
        Remedy::RaiseMemory => "raise the limit with `memory=…`".into(),
        Remedy::TurnOn {
            option: "complete",
            purpose,
        } => format!("use `net.completed()` {purpose}"),
        Remedy::TurnOn { option, purpose } => format!("pass `{option}=True` {purpose}"),
        Remedy::Set { option, value } => format!("pass `{option}={value:?}`"),
        Remedy::UseInstead { option, instead_of } => {
            format!("compile with `{option}=…` instead of `{instead_of}=…`")
        }
        Remedy::CompileToExplain => "compile it with `mpe=True`".into(),
        Remedy::CompileForFamilies => "compile it with `families=True`".into(),
        other => other.to_string(),
    }
}
