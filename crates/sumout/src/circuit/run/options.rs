//! How circuits are run.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Result};

/// The numbers that are computed with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Precision {
    /// 32 bits: about seven digits, twice as fast.
    #[default]
    F32,
    /// 64 bits: about sixteen digits.
    F64,
}

impl Precision {
    /// Both.
    pub const ALL: [Precision; 2] = [Precision::F32, Precision::F64];

    /// A name for reports and options.
    pub const fn name(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::F64 => "f64",
        }
    }

    /// The number of bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Precision::F32 => 4,
            Precision::F64 => 8,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Precision {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Precision::ALL.into_iter().find(|p| p.name() == name);
        found.ok_or_else(|| {
            Error::new(ErrorKind::Options, format!("unknown precision `{name}`"))
                .hint("use f32 or f64")
        })
    }
}

/// How to evaluate: in 32 bits, with a thread for each processor, and the target's posteriors,
/// unless something else is set.
///
/// ```
/// use sumout::{EvalOptions, Precision};
///
/// let options = EvalOptions::default().with_precision(Precision::F64).with_threads(4);
/// assert_eq!(options.memory(), None);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct EvalOptions {
    pub(crate) precision: Precision,
    pub(crate) threads: usize,
    pub(crate) memory: Option<u64>,
    pub(crate) of_inputs: bool,
}

impl EvalOptions {
    /// Double precision, on all processors.
    pub(crate) fn precise() -> Self {
        EvalOptions::default().with_precision(Precision::F64)
    }

    /// With the numbers that are computed with, [`Precision::F32`] by default; those of testing
    /// circuits have 64 bits all the same.
    pub fn with_precision(self, precision: Precision) -> Self {
        EvalOptions { precision, ..self }
    }

    /// With a number of threads; zero, the default, is one for each processor.
    pub fn with_threads(self, threads: usize) -> Self {
        EvalOptions { threads, ..self }
    }

    /// With the number of bytes that may be used; three quarters of the free memory by default.
    pub fn with_memory(self, memory: impl Into<Option<u64>>) -> Self {
        EvalOptions {
            memory: memory.into(),
            ..self
        }
    }

    /// With the posteriors of the inputs, which takes a backward pass, instead of the target's.
    pub fn with_of_inputs(self, of_inputs: bool) -> Self {
        EvalOptions { of_inputs, ..self }
    }

    /// The numbers that are computed with.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The number of threads; one for each processor if zero.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The limit of memory, in bytes.
    pub fn memory(&self) -> Option<u64> {
        self.memory
    }

    /// Whether the answers are posteriors of the inputs.
    pub fn of_inputs(&self) -> bool {
        self.of_inputs
    }
}
