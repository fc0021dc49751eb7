//! The numbers of a report, one by one.

use crate::compile::ask::Level;
use crate::compile::report::{Extent, Near, Report};

impl Report {
    /// The structure that the planner used, or the part of it that paid.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Whether the level was left to the planner.
    pub fn is_level_automatic(&self) -> bool {
        self.level_is_automatic
    }

    /// The size of the plan.
    pub fn chosen(&self) -> Extent {
        Extent {
            entries: self.entries,
            max_cluster_rank: self.max_cluster_rank,
            max_cluster_binary_rank: self.max_cluster_binary_rank,
            multiply_adds: self.multiply_adds,
            leaves: self.leaves,
        }
    }

    /// The size of classical variable elimination: one min-fill run on the network, of which only
    /// values are pruned.
    pub fn classical(&self) -> Extent {
        self.classical
    }

    /// The size of the best plan found that knows of no functions.
    pub fn best_classical(&self) -> Extent {
        self.classical_best
    }

    /// The numbers stored once for all examples.
    pub fn constant_entries(&self) -> f64 {
        self.constant_entries.0
    }

    /// The most memory that an example needs at a time, in bytes, with eight for each number.
    pub fn bytes(&self) -> f64 {
        self.bytes.0
    }

    /// An estimate of the seconds that an example takes in a large batch, on one thread.
    pub fn predicted_seconds(&self) -> f64 {
        self.predicted_seconds
    }

    /// The seconds that it took to prune and to plan.
    pub fn compile_seconds(&self) -> f64 {
        self.compile_seconds
    }

    /// The number of variables of the network.
    pub fn network_nodes(&self) -> usize {
        self.network_nodes
    }

    /// The number of variables when each function has a replica for each replica of each of its
    /// children; a lower bound if there are [too many](Self::replicas_capped).
    pub fn replicated_nodes(&self) -> usize {
        self.replicated_nodes
    }

    /// Whether there would have been more replicas than are made at most.
    pub fn replicas_capped(&self) -> bool {
        self.replicas_capped
    }

    /// The variables that are left when barren ones, and those with a single value, are pruned.
    pub fn nodes_left(&self) -> usize {
        self.steps.nodes_left
    }

    /// The values that turned out to be impossible.
    pub fn values_pruned(&self) -> usize {
        self.steps.values_pruned
    }

    /// The variables left that are known to be functions of others.
    pub fn functional_variables(&self) -> usize {
        self.steps.functional_variables
    }

    /// The copies of functions in the plan.
    pub fn copies(&self) -> usize {
        self.steps.copies
    }

    /// Whether the answers depend on the plan: it copies functions that are only promised.
    pub fn plan_dependent(&self) -> bool {
        self.plan_dependent
    }

    /// The names of the promised functions that the plan copies.
    pub fn promised_functions(&self) -> &[String] {
        &self.promised_functions
    }

    /// The error that is estimated, if nearly functional tables count as functions.
    pub fn near(&self) -> Option<&Near> {
        self.near.as_ref()
    }

    /// The number of selections of a testing network, each with a plan of its own, and of the
    /// entries and multiply-adds that are theirs; none in other networks.
    pub fn selections(&self) -> Option<(usize, f64, f64)> {
        let cost = self.selections.as_ref()?;
        Some((cost.count, cost.entries.0, cost.multiply_adds.0))
    }
}

impl Extent {
    /// The numbers stored for each example.
    pub fn entries(&self) -> f64 {
        self.entries.0
    }

    /// The products formed for each example.
    pub fn multiply_adds(&self) -> f64 {
        self.multiply_adds.0
    }

    /// The largest number of variables in a cluster.
    pub fn max_cluster_rank(&self) -> usize {
        self.max_cluster_rank
    }

    /// The base-2 logarithm of the largest number of joint states of a cluster.
    pub fn max_cluster_binary_rank(&self) -> f64 {
        self.max_cluster_binary_rank
    }

    /// The leaves of the plan's tree: factors, and copies of functions.
    pub fn leaves(&self) -> usize {
        self.leaves
    }
}
