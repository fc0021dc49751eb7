//! The cost of the selections of a testing network.

use serde::Serialize;

use crate::compile::report::{Count, Extent, Report};
use crate::vars::VarSet;

/// The part of a circuit that selects.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SelectionCost {
    /// How many selections there are.
    pub(crate) count: usize,
    /// The numbers that are stored for them, for each example, without the weights that they
    /// select.
    pub(crate) entries: Count,
    /// The products that are formed for them.
    pub(crate) multiply_adds: Count,
}

impl Report {
    /// Adds the selections that the answer depends on; those by posteriors have a report.
    pub(crate) fn add_selections(&mut self, count: usize, reports: &[Report]) {
        let mut cost = SelectionCost {
            count,
            entries: Count(0.0),
            multiply_adds: Count(0.0),
        };
        for report in reports {
            cost.entries.0 += report.entries.0;
            cost.multiply_adds.0 += report.multiply_adds.0;
            self.add(report);
        }
        self.selections = Some(cost);
    }

    /// Counts the first variables alone, and those of them that matter: the others were added for
    /// selections.
    pub(crate) fn show_only(&mut self, visible: usize, matters: &VarSet) {
        self.replicated_nodes -= self.network_nodes - visible;
        self.network_nodes = visible;
        self.steps.nodes_left = matters.iter().filter(|v| v.index() < visible).count();
    }

    fn add(&mut self, part: &Report) {
        self.level = self.level.or_more(part.level);
        self.entries.0 += part.entries.0;
        self.constant_entries.0 += part.constant_entries.0;
        self.multiply_adds.0 += part.multiply_adds.0;
        self.max_cluster_rank = self.max_cluster_rank.max(part.max_cluster_rank);
        self.max_cluster_binary_rank = self
            .max_cluster_binary_rank
            .max(part.max_cluster_binary_rank);
        self.bytes.0 += part.bytes.0;
        self.predicted_seconds += part.predicted_seconds;
        self.classical.add(&part.classical);
        self.classical_best.add(&part.classical_best);
        self.compile_seconds += part.compile_seconds;
        self.leaves += part.leaves;
        self.steps.copies += part.steps.copies;
        self.plan_dependent |= part.plan_dependent;
        let fresh = part
            .promised_functions
            .iter()
            .filter(|name| !self.promised_functions.contains(name));
        self.promised_functions
            .extend(fresh.cloned().collect::<Vec<_>>());
    }
}

impl Extent {
    fn add(&mut self, part: &Extent) {
        self.entries.0 += part.entries.0;
        self.max_cluster_rank = self.max_cluster_rank.max(part.max_cluster_rank);
        self.max_cluster_binary_rank = self
            .max_cluster_binary_rank
            .max(part.max_cluster_binary_rank);
        self.multiply_adds.0 += part.multiply_adds.0;
    }
}
