//! The goals of questions.

use crate::vars::{VarId, VarSet};

/// The kind of answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Goal {
    /// The probability of the evidence, and nothing else.
    #[default]
    Evidence,
    /// The posterior of one variable: the circuit's output is P(x, e).
    Posterior(VarId),
    /// The posteriors of several variables: the circuit's output is P(e), and a backward pass gives
    /// all of them.
    Marginals(VarSet),
    /// The posterior of several variables together, in this order: the circuit's output is
    /// P(x, y, e).
    Joint(Vec<VarId>),
    /// The most probable values of all variables together: maxima, and not sums.
    Explanation,
}

impl Goal {
    /// The posteriors of some variables. A single one needs no backward pass.
    pub fn posteriors(targets: VarSet) -> Self {
        match targets.as_slice() {
            [] => Goal::Evidence,
            [target] => Goal::Posterior(*target),
            _ => Goal::Marginals(targets),
        }
    }

    /// The variable whose posterior is asked for, if it is a single one.
    pub fn target(&self) -> Option<VarId> {
        match self {
            Goal::Posterior(target) => Some(*target),
            _ => None,
        }
    }

    /// The variables whose posteriors are asked for.
    pub fn targets(&self) -> VarSet {
        match self {
            Goal::Posterior(target) => VarSet::from_iter([*target]),
            Goal::Marginals(targets) => targets.clone(),
            Goal::Joint(targets) => targets.iter().copied().collect(),
            Goal::Evidence | Goal::Explanation => VarSet::default(),
        }
    }

    /// The variables that the circuit's output keeps.
    pub fn output(&self) -> VarSet {
        match self {
            Goal::Posterior(_) | Goal::Joint(_) => self.targets(),
            Goal::Evidence | Goal::Marginals(_) | Goal::Explanation => VarSet::default(),
        }
    }

    /// Whether maxima are asked for, and not sums.
    pub fn is_explanation(&self) -> bool {
        matches!(self, Goal::Explanation)
    }
}
