//! Asks a network, and gets answers.

use crate::error::Result;
use crate::model::{Evidence, Network};
use crate::vars::VarId;

/// How to compile.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seeds the search for a good plan; the same seed gives the same plan.
    pub seed: u64,
    /// Scales the steps that the search may take; 1 is about a second on a hard network.
    pub effort: f64,
    /// The number of bytes that an answer may need; three quarters of the free memory if none is given.
    pub memory: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Options { seed: 0, effort: 1.0, memory: None }
    }
}

/// Posterior probabilities, and the probability of the evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// For each target, in the order asked, the probability of each of its values. None if impossible.
    pub posteriors: Vec<(VarId, Vec<f64>)>,
    /// ln P(e), in a Markov network ln Z(e); negative infinity if the evidence is impossible.
    pub log_evidence: f64,
}

impl Answer {
    /// Whether the evidence has probability zero.
    pub fn is_impossible(&self) -> bool {
        self.log_evidence == f64::NEG_INFINITY
    }
}

/// A most probable explanation.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The position of the value of each variable; none if the evidence is impossible.
    pub assignment: Option<Vec<usize>>,
    /// The logarithm of the assignment's probability (with soft evidence: times its likelihood).
    pub log_probability: f64,
}

impl Network {
    /// The posterior of each target given the evidence; of all variables if there are no targets.
    pub fn query(&self, _targets: &[VarId], _evidence: &Evidence, _options: &Options) -> Result<Answer> {
        todo!()
    }

    /// The most probable assignment of values to all variables given the evidence.
    pub fn mpe(&self, _evidence: &Evidence, _options: &Options) -> Result<Explanation> {
        todo!()
    }
}
