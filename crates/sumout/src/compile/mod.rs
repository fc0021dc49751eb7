//! From a network and a question to a graph: prune, plan, lower.

pub mod lower;
pub mod order;
pub mod plan;
pub mod prune;
pub mod tree;

mod anneal;
mod greedy;
mod width;

pub use width::{Width, width};

use crate::model::Network;
use crate::tensor::Graph;
use crate::vars::{VarId, VarSet};

use plan::Plan;
use prune::Pruned;

/// What is asked of a network.
#[derive(Clone, Debug)]
pub struct Question {
    /// The variables whose posteriors are asked for.
    pub targets: VarSet,
    /// The variables whose likelihood is given when the circuit is evaluated.
    pub inputs: VarSet,
    /// The variables whose values are known when the circuit is compiled.
    pub known: Vec<(VarId, usize)>,
    /// Whether the most probable explanation is asked for, and not sums.
    pub explain: bool,
}

/// How to search for a plan.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// The same seed gives the same plan.
    pub seed: u64,
    /// Scales the number of steps.
    pub effort: f64,
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

/// Compiles a question; none if its known values are impossible together.
pub fn compile(net: &Network, question: &Question, search: &Search) -> Option<Compiled> {
    let pruned = prune::prune(net, question)?;
    let plan = plan::plan(&pruned, search);
    let graph = lower::lower(&pruned, &plan);
    Some(Compiled { graph, pruned, plan })
}
