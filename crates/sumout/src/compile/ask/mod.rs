//! The question: which variables are targets, which are inputs, and how to search for a plan.

mod level;
mod objective;
mod query;

use std::collections::BTreeMap;

use crate::vars::{VarId, VarSet};

pub use level::Level;
pub use objective::Objective;
pub use query::Query;

/// What is asked of a network.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The variables whose posteriors are asked for.
    pub targets: VarSet,
    /// The variables whose likelihood is given when the circuit is evaluated.
    pub inputs: VarSet,
    /// Of the inputs, those that have a value in every example, and never a mere likelihood.
    pub hard: VarSet,
    /// The variables whose values are known when the circuit is compiled.
    pub known: Vec<(VarId, usize)>,
    /// Whether the most probable explanation is asked for, and not sums.
    pub explain: bool,
    /// The variables whose CPTs are yet to be learned: of their numbers only what their roles
    /// promise is known.
    pub trainable: VarSet,
    /// The variables whose CPTs are given when the circuit is evaluated, each as the likelihood of
    /// another variable that has a value for each entry.
    pub selected: BTreeMap<VarId, VarId>,
    /// Whether the marginals of all families are asked for: all CPTs stay visible in the circuit.
    pub families: bool,
    /// Tables whose rows each have an entry of at least one less this count as functions: an
    /// approximation, unless it is zero.
    pub near: f64,
}

/// How to search for a plan.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// What the planner may know.
    pub level: Level,
    /// What the plan should have little of.
    pub objective: Objective,
    /// The same seed gives the same plan.
    pub seed: u64,
    /// Scales the number of steps.
    pub effort: f64,
    /// Whether the plan will be run many times, so that the search may take longer than one run.
    pub thorough: bool,
}
