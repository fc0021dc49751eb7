//! The question: what is asked for, which variables are inputs, and how to search for a plan.

mod goal;
mod level;
mod objective;
mod query;

use std::collections::BTreeMap;

use crate::control::Control;
use crate::vars::{VarId, VarSet};

pub use goal::Goal;
pub use level::Level;
pub use objective::Objective;
pub use query::Query;

/// A question about a network.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The kind of answer.
    pub goal: Goal,
    /// The variables whose likelihood is given when the circuit is evaluated; see
    /// `Question::evidence`.
    pub inputs: VarSet,
    /// Inputs in the order in which they were named; others follow in the order of the network.
    pub order: Vec<VarId>,
    /// Of the inputs, those that have a value in every example, and never a mere likelihood.
    pub hard: VarSet,
    /// The variables whose values are known when the circuit is compiled.
    pub known: Vec<(VarId, usize)>,
    /// The variables whose CPTs are yet to be learned: of their numbers only what their roles
    /// promise is known.
    pub trainable: VarSet,
    /// The variables whose CPTs are given when the circuit is evaluated, each as the likelihood of
    /// another variable that has a value for each entry.
    pub selected: BTreeMap<VarId, VarId>,
    /// Whether the marginals of all families are asked for, too: all CPTs stay visible in the
    /// circuit.
    pub families: bool,
    /// Tables whose rows each have an entry of at least one less this count as functions: an
    /// approximation, unless it is zero.
    pub near: f64,
}

impl Question {
    /// The variables that there may be evidence on: the inputs. If none are named, and marginals
    /// are asked for, these variables are inputs, too.
    pub(crate) fn evidence(&self) -> &VarSet {
        match &self.goal {
            Goal::Marginals(targets) if self.inputs.is_empty() => targets,
            _ => &self.inputs,
        }
    }

    /// The variables whose likelihoods the circuit reads: marginals are derivatives with respect
    /// to them.
    pub(crate) fn likelihoods(&self) -> VarSet {
        match &self.goal {
            Goal::Marginals(targets) => &self.inputs | targets,
            _ => self.inputs.clone(),
        }
    }
}

/// How to search for a plan.
#[derive(Clone, Debug)]
pub struct Search {
    /// The structure that the planner may use.
    pub level: Level,
    /// The quantity that the planner minimises.
    pub objective: Objective,
    /// The same seed gives the same plan.
    pub seed: u64,
    /// Scales the number of steps.
    pub effort: f64,
    /// How often the plan will be run.
    pub runs: Runs,
    /// Through which the search is watched and stopped.
    pub control: Control,
}

impl Search {
    /// Whether the search may take longer than one run of the plan.
    pub(crate) fn is_for_many(&self) -> bool {
        self.runs == Runs::Many
    }
}

/// How often a plan will be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// Once: the search should not take longer than the run.
    Once,
    /// Many times, so that the search may take longer than one run.
    Many,
}
