//! The error of a plan that treats nearly functional tables as functions.

use serde::Serialize;

use crate::error::{many, shortlist};

/// An approximation: tables that are nearly functions count as functions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Near {
    /// The largest entry of each row of such a table is at least one less this.
    pub(crate) eps: f64,
    /// The names of the variables with such tables.
    pub(crate) functional: Vec<String>,
    /// The largest difference of a posterior probability from the exact one; none if it could not
    /// be estimated.
    pub(crate) estimated_error: Option<f64>,
    /// The largest difference of ln P(e) from the exact one.
    pub(crate) estimated_log_error: Option<f64>,
    /// How many examples, sampled from the network, the estimates are made from.
    pub(crate) samples: usize,
    /// Why there is no estimate, or why none is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

impl Near {
    /// The largest entry of each row of such a table is at least one less this.
    pub fn eps(&self) -> f64 {
        self.eps
    }

    /// The names of the variables with such tables.
    pub fn functional(&self) -> &[String] {
        &self.functional
    }

    /// The largest difference of a posterior probability from the exact one; none if it could not
    /// be estimated.
    pub fn estimated_error(&self) -> Option<f64> {
        self.estimated_error
    }

    /// The largest difference of ln P(e) from the exact one; none if it could not be estimated.
    pub fn estimated_log_error(&self) -> Option<f64> {
        self.estimated_log_error
    }

    /// The number of examples, sampled from the network, that the estimates are made from.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// The reason why there is no estimate, or why none is needed.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }
}

impl std::fmt::Display for Near {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.functional.is_empty() {
            return f.write_str(
                self.note
                    .as_deref()
                    .unwrap_or("no table counts as a function"),
            );
        }
        let names = shortlist(self.functional.iter().map(String::as_str));
        let count = if self.functional.len() == 1 {
            "counts as a function"
        } else {
            "count as functions"
        };
        write!(f, "{names} {count}; ")?;
        match (self.estimated_error, self.estimated_log_error, &self.note) {
            (Some(_), _, Some(note)) => f.write_str(note),
            (Some(error), Some(log), None) => {
                let samples = many(self.samples, "sample");
                write!(
                    f,
                    "posteriors differ by up to {error:.2e}, ln P(e) by {log:.2e} (an estimate from {samples})"
                )
            }
            (_, _, why) => write!(
                f,
                "their error is not known: {}",
                why.as_deref().unwrap_or("it was not asked for")
            ),
        }
    }
}
