//! The method of the paper, literally, as its own implementation has it.
//!
//! 1. Impossible values are pruned in one pass from parents to children ([`values`]). This is the network that
//!    the paper's tables describe; one deterministic min-fill run on it gives their ✗ rows.
//! 2. Each functional variable is replaced by one replica for each replica of each of its children
//!    ([`replicate`]). The same min-fill run on the replicated network gives the ✓ rows.

mod replicate;
mod values;

use super::order::{self, Heuristic, Order};
use super::problem::Problem;
use super::tree::Leaves;
use crate::model::Network;

pub use replicate::{Replicated, replicate};
pub(super) use values::pruned;

/// The number of leaves at which replication stops, unless told otherwise.
pub const MAX_LEAVES: usize = 100_000;

/// What the paper's Tables 1 and 3 say about the structure of a network.
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
    let problem = values::pruned(net);
    let replicated = replicate(&problem, max_leaves);
    let size = |leaves: &Leaves, extra: usize| {
        let Order { rank, binary_rank, .. } = order::order(leaves, Heuristic::MinFill, None);
        Size { nodes: net.variables().len() + extra, rank, binary_rank }
    };
    Structure {
        classical: size(&problem.leaves(&problem.originals()), 0),
        functional: size(&replicated.network, replicated.leaves.len() - problem.factors.len()),
        is_capped: replicated.is_capped,
    }
}
