//! How tests weigh the copies of a CPT.
//!
//! A test of X looks at numbers p(u), one for each joint state u of the parents of X, and says for
//! each u how much of each copy the row of u is made of. It looks at tensors up to a common factor,
//! and divides by their sum. It compares them with, or multiplies them by, the numbers of
//! tables: parameters like any others, but not tensors.

use serde::{Deserialize, Serialize};

use crate::tensor::graph::{AxisId, Graph, NodeId, Op, TableId};
use crate::vars::VarId;

/// A rule of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RuleId(u32);

impl RuleId {
    fn new(index: usize) -> Self {
        RuleId(u32::try_from(index).expect("a graph has fewer than 2^32 rules"))
    }

    /// The position, to index a slice with.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// How the copies of a CPT are weighed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The variable whose CPT is selected.
    pub tested: VarId,
    /// The axis of the result: for each row of the CPT, a weight for each copy.
    pub axis: AxisId,
    /// The number of copies.
    pub copies: usize,
    /// By what.
    #[serde(rename = "by")]
    pub weighing: Weighing,
}

/// How weights depend on the numbers that are tested.
///
/// The thresholds of a row are the sums of its first gaps, of which it has as many as there are
/// copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weighing {
    /// All of the copy k, if k thresholds are passed: by what is larger, or else smaller; and by
    /// what is equal, or not. A table of gaps.
    Step {
        /// Whether what is larger passes.
        larger: bool,
        /// Whether what is equal passes.
        equal: bool,
    },
    /// Of the copy k, s(p - T_k) - s(p - T_k+1), with s(x) = 1 / (1 + exp(-slope · x)). A table of
    /// gaps, and one with the logarithm of the slope.
    Sigmoid,
    /// Of the second of two copies as much as p. No tables.
    Linear,
    /// The softmax of W·e + b, with all that is tested as e, each divided by its sum. A table of W
    /// and b, one after the other.
    Softmax,
}

impl Weighing {
    /// Whether its derivatives are zero, wherever there are any.
    pub fn is_flat(self) -> bool {
        matches!(self, Weighing::Step { .. })
    }

    /// The number of tables that it needs.
    pub fn tables(self) -> usize {
        match self {
            Weighing::Step { .. } | Weighing::Softmax => 1,
            Weighing::Sigmoid => 2,
            Weighing::Linear => 0,
        }
    }
}

impl Graph {
    /// Adds the weights that a rule makes of some tensors of one axis each, with its tables behind
    /// them. Equal ones are shared.
    pub fn select(&mut self, inputs: Vec<NodeId>, rule: Rule) -> NodeId {
        let rules = &mut self.parts.rules;
        let at = rules.iter().position(|r| *r == rule).unwrap_or(rules.len());
        if at == rules.len() {
            rules.push(rule);
        }
        let id = RuleId::new(at);
        self.add(Op::Select(inputs, id))
    }

    /// The rules, in the order in which they were added.
    pub fn rules(&self) -> &[Rule] {
        &self.parts.rules
    }

    /// The nodes that a selection tests, and its tables.
    pub fn tested<'g>(&self, inputs: &'g [NodeId], rule: RuleId) -> (&'g [NodeId], &'g [NodeId]) {
        inputs.split_at(inputs.len() - self.rules()[rule.index()].weighing.tables())
    }

    /// The nodes that an operation reads as tensors: the tables of a rule are not among them.
    pub(crate) fn tensors<'g>(&'g self, op: &'g Op) -> impl Iterator<Item = NodeId> + 'g {
        let tables = match op {
            Op::Select(inputs, rule) => self.tested(inputs, *rule).1.len(),
            _ => 0,
        };
        let inputs: Vec<NodeId> = op.inputs().collect();
        let tensors = inputs.len() - tables;
        inputs.into_iter().take(tensors)
    }

    /// The tables whose numbers are those of rules, and not tensors.
    pub fn rule_tables(&self) -> impl Iterator<Item = TableId> + '_ {
        self.ops().flat_map(|(_, op)| match op {
            Op::Select(inputs, rule) => self
                .tested(inputs, *rule)
                .1
                .iter()
                .filter_map(|table| self.op(*table).table())
                .collect(),
            _ => vec![],
        })
    }
}
