//! The rules of tests, in files.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::circuit::file::{Reader, damaged};
use crate::error::Result;
use crate::model::LARGEST_WEIGHT;
use crate::tensor::{Graph, NodeId, Op, Rule, TableId, Weighing};
use crate::vars::VarId;

/// How the copies of a CPT are weighed.
#[derive(Serialize, Deserialize)]
pub(crate) struct Ruled {
    /// The variable whose CPT is selected.
    tested: usize,
    /// The axis of the result.
    axis: usize,
    copies: usize,
    by: By,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum By {
    Step { larger: bool, equal: bool },
    Sigmoid,
    Linear,
    Softmax,
}

pub(crate) fn rules(graph: &Graph) -> Vec<Ruled> {
    let ruled = |rule: &Rule| Ruled {
        tested: rule.tested.index(),
        axis: rule.axis.index(),
        copies: rule.copies,
        by: match rule.weighing {
            Weighing::Step { larger, equal } => By::Step { larger, equal },
            Weighing::Sigmoid => By::Sigmoid,
            Weighing::Linear => By::Linear,
            Weighing::Softmax => By::Softmax,
        },
    };
    graph.rules().iter().map(ruled).collect()
}

impl Reader<'_> {
    /// Adds a selection, all of whose inputs must fit its rule.
    pub(crate) fn select(
        &self,
        graph: &mut Graph,
        inputs: &[usize],
        rule: usize,
    ) -> Result<NodeId> {
        let inputs = inputs
            .iter()
            .map(|&input| self.node(graph, input))
            .collect::<Result<Vec<_>>>()?;
        let rule = self.header.rules.get(rule).ok_or_else(misfit)?;
        let weighing = match rule.by {
            By::Step { larger, equal } => Weighing::Step { larger, equal },
            By::Sigmoid => Weighing::Sigmoid,
            By::Linear => Weighing::Linear,
            By::Softmax => Weighing::Softmax,
        };
        let visible = self
            .header
            .visible
            .unwrap_or(usize::MAX)
            .min(self.header.variables.len());
        let tested = (rule.tested < visible)
            .then(|| VarId::new(rule.tested))
            .ok_or_else(misfit)?;
        let rule = Rule {
            tested,
            axis: self.axis(rule.axis)?,
            copies: rule.copies,
            weighing,
        };
        if fits(graph, &inputs, &rule) {
            Ok(graph.select(inputs, rule))
        } else {
            Err(misfit())
        }
    }

    /// Numbers of rules are no tensors, and may be negative; those of all other tables are not.
    pub(crate) fn check_tables(&self, graph: &Graph) -> Result<()> {
        let of_rules: BTreeSet<TableId> = graph.rule_tables().collect();
        let is_of_rule = |node: &NodeId| {
            graph
                .op(*node)
                .table()
                .is_some_and(|table| of_rules.contains(&table))
        };
        let as_tensors = |op: &Op| match op {
            Op::Select(inputs, rule) => graph.tested(inputs, *rule).0.to_vec(),
            _ => op.inputs().collect(),
        };
        let is_tensor = graph
            .ops()
            .any(|(_, op)| as_tensors(op).iter().any(is_of_rule))
            || is_of_rule(&graph.output());
        let is_negative = |(index, values): (usize, &Vec<f64>)| {
            values.iter().any(|x| *x < 0.0) && !of_rules.iter().any(|table| table.index() == index)
        };
        let has_negative = graph
            .tables()
            .iter()
            .map(|table| &table.values)
            .enumerate()
            .any(is_negative);
        let is_used = graph.rules().len() == self.header.rules.len();
        let is_explained = !graph.rules().is_empty() && self.header.completion.is_some();
        match is_tensor || has_negative || !is_used || is_explained {
            true => Err(misfit()),
            false => Ok(()),
        }
    }
}

fn fits(graph: &Graph, inputs: &[NodeId], rule: &Rule) -> bool {
    let Rule {
        axis,
        copies,
        weighing,
        ..
    } = *rule;
    let weights = graph.cards()[axis.index()];
    if copies < 2 || !weights.is_multiple_of(copies) || inputs.len() <= weighing.tables() {
        return false;
    }
    let rows = weights / copies;
    let (of, tables) = inputs.split_at(inputs.len() - weighing.tables());
    let numbers = |node: &NodeId| {
        graph
            .op(*node)
            .table()
            .map(|table| &graph.tables()[table.index()].values)
    };
    let Some(tables) = tables.iter().map(numbers).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let is_flat = of.iter().all(|node| graph.axes(*node).len() == 1);
    let seen: f64 = of.iter().map(|node| graph.size(*node)).sum();
    let is_posterior = of.len() == 1 && seen == rows as f64;
    let are_gaps = |gaps: &[f64]| {
        gaps.len() == weights && gaps.iter().all(|gap| (0.0..=1.0 + 1e-9).contains(gap))
    };
    is_flat
        && match weighing {
            Weighing::Step { .. } => is_posterior && are_gaps(tables[0]),
            Weighing::Sigmoid => {
                let is_slope = |log: &f64| log.exp().is_finite() && log.exp() > 0.0;
                is_posterior
                    && are_gaps(tables[0])
                    && tables[1].len() == 1
                    && tables[1].iter().all(is_slope)
            }
            Weighing::Linear => is_posterior && copies == 2,
            Weighing::Softmax => {
                let logits = tables[0].len() as f64 / (seen + 1.0);
                (logits == copies as f64 || logits == weights as f64)
                    && tables[0].iter().all(|x| x.abs() <= LARGEST_WEIGHT)
            }
        }
}

fn misfit() -> crate::error::Error {
    damaged("a test does not fit the circuit")
}
