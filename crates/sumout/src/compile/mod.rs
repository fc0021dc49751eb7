//! From a network and a question to a graph: prune, plan, lower.

pub mod certificate;
pub mod draw;
pub mod lower;
pub mod order;
pub mod paper;
pub mod plan;
pub mod problem;
pub mod prune;
pub mod report;
pub mod tree;

mod anneal;
mod classical;
mod clones;
mod expand;
mod greedy;
mod implied;
mod level;
mod query;
mod thin;

use crate::model::Network;
use crate::tensor::Graph;
use crate::vars::{VarId, VarSet};

use plan::Plan;
use problem::Problem;
use prune::Pruned;
use tree::Objective;

pub use query::Query;
pub use report::Report;

/// What is asked of a network.
#[derive(Clone, Debug)]
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
}

/// What a planner may know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Nothing but the factors (Theorems 1 and 2).
    Classical,
    /// What the paper's own procedure knows, and no search: reproduces its tables.
    Paper,
    /// That some variables are functions of others (Theorems 3 and 4), but not which functions.
    #[default]
    Functional,
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

/// A compiled question.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// What is to be computed.
    pub graph: Graph,
    /// What is left of the network, with the values that each variable may still have.
    pub pruned: Pruned,
    /// How it is computed.
    pub plan: Plan,
}

/// A question with a plan for it.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What is left of the network.
    pub pruned: Pruned,
    /// What the planner saw of it.
    pub problem: Problem,
    /// The plan.
    pub plan: Plan,
}

/// Prunes and plans; none if the known values are impossible together.
pub fn plan(net: &Network, question: &Question, search: &Search) -> Option<Planned> {
    let pruned = prune::prune(net, question)?;
    let plain = planned(pruned.clone(), search);
    let implied = pruned.with_implied().filter(|_| search.level == Level::Functional).map(|p| planned(p, search));
    let total = |planned: &Planned| planned.problem.prices.total(&planned.plan.cost);
    match implied {
        Some(implied) if total(&implied) < total(&plain) => Some(implied),
        _ => Some(plain),
    }
}

fn planned(pruned: Pruned, search: &Search) -> Planned {
    let problem = Problem::new(&pruned, search.objective);
    let plan = plan::plan(&problem, search);
    Planned { pruned, problem, plan }
}

/// Compiles a question; none if its known values are impossible together.
///
/// Variables that have a value in every example can be planned for, but not compiled.
pub fn compile(net: &Network, question: &Question, search: &Search) -> Option<Compiled> {
    debug_assert!(question.hard.is_empty(), "no operation selects a value");
    let Planned { pruned, plan, .. } = plan(net, question, search)?;
    let graph = lower::lower(&pruned, &plan);
    Some(Compiled { graph, pruned, plan })
}
