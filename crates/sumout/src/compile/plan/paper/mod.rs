//! The method of the paper, literally, as its own implementation has it.
//!
//! 1. Impossible values are pruned in one pass from parents to children. This is the network that
//!    the paper's tables describe; one deterministic min-fill run on it gives their ✗ rows.
//! 2. Each functional variable is replaced by one replica for each replica of each of its children
//!    ([`replicate()`]). The same min-fill run on the replicated network gives the ✓ rows.
//! 3. The order becomes a jointree, which is viewed from the host of the query. Replicas get the
//!    names of their originals again, and separators are shrunk.
//!
//! A plan starts from a `Problem`, whose network is pruned further than the one that the tables
//! describe.

mod dtree;
mod replicate;
mod shrink;
#[cfg(test)]
mod tests;
mod values;

use crate::compile::plan::Plan;
use crate::compile::plan::order;
use crate::compile::plan::order::{Heuristic, Order};
use crate::compile::plan::problem::{Leaf, Problem};
use crate::compile::plan::tree::Leaves;
use crate::model::Network;
use crate::vars::VarId;

pub use dtree::View;
pub use replicate::{Replicated, replicate};
pub use shrink::shrink_sep;
pub use values::pruned;

/// The number of leaves at which replication stops, unless told otherwise.
pub const MAX_LEAVES: usize = 100_000;

/// The structure of a network as in the paper's Tables 1 and 3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Structure {
    /// The network as it is: the ✗ row.
    pub classical: Size,
    /// The network with functional variables replicated: the ✓ row.
    pub functional: Size,
    /// Whether replication stopped at its cap.
    pub is_capped: bool,
}

/// How large a network is, and the largest cluster of its min-fill order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// The number of variables, those with a single value included.
    pub nodes: usize,
    /// The largest number of variables in a cluster.
    pub rank: usize,
    /// The base-2 logarithm of the largest number of joint states of a cluster.
    pub binary_rank: f64,
}

/// Measures a network as the paper does. The question does not matter: nodes are pruned later.
pub fn structure(net: &Network, max_leaves: usize) -> Structure {
    let problem = values::pruned(net.model());
    let replicated = replicate(&problem, max_leaves);
    let size = |leaves: &Leaves, extra: usize| {
        let Order {
            rank, binary_rank, ..
        } = order::order(leaves, Heuristic::MinFill, None);
        Size {
            nodes: net.variables().len() + extra,
            rank,
            binary_rank,
        }
    };
    Structure {
        classical: size(&problem.leaves(&problem.originals()), 0),
        functional: size(
            &replicated.network,
            replicated.leaves.len() - problem.factors.len(),
        ),
        is_capped: replicated.is_capped,
    }
}

/// A plan, and whether it is all that the method can do.
#[derive(Clone, Debug)]
pub struct PaperPlan {
    /// The plan.
    pub plan: Plan,
    /// The number of leaves before dead ones were removed.
    pub replicated: usize,
    /// Whether replication stopped at its cap.
    pub is_capped: bool,
}

/// The paper's plan for a problem, with at most `max_leaves` leaves.
pub fn plan(problem: &Problem, max_leaves: usize) -> PaperPlan {
    let replicated = replicate(problem, max_leaves);
    let order = order::order(&replicated.network, Heuristic::MinFill, None).vars;
    let places = dtree::leaf_order(&replicated, &order);
    let dtree = dtree::dtree(&replicated, &places, &order);
    let mut leaves: Vec<Leaf> = places
        .into_iter()
        .map(|leaf| replicated.leaves[leaf])
        .collect();
    let view = dtree::view(&dtree, host(problem, &leaves));
    let mut separators = view.tree.separators(&problem.leaves(&leaves));
    shrink_sep(problem, &leaves, &view, &mut separators);
    let mut tree = view.tree;
    shrink::remove_dead(problem, &mut leaves, &mut tree, &mut separators);
    let plan = Plan::new(problem, leaves, tree, separators);
    PaperPlan {
        plan,
        replicated: replicated.leaves.len(),
        is_capped: replicated.is_capped,
    }
}

/// The leaf that hosts the query: the CPT of the output's only variable.
fn host(problem: &Problem, leaves: &[Leaf]) -> Option<usize> {
    let [query] = *problem.output.as_slice() else {
        return None;
    };
    let factor = problem.definer[query.index()].or_else(|| cpt(problem, query))?;
    leaves
        .iter()
        .position(|leaf| !leaf.is_copy && leaf.factor == factor)
}

/// The factor that is most like the CPT of a variable: one whose last axis it is, or else any axis.
fn cpt(problem: &Problem, v: VarId) -> Option<usize> {
    let is_last = problem
        .factors
        .iter()
        .position(|axes| axes.iter().next_back() == Some(v));
    is_last.or_else(|| problem.factors.iter().position(|axes| axes.contains(v)))
}
