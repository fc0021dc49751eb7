//! Completes an explanation: variables whose values the run does not determine.
//!
//! Going back from a maximum decides the variables that tensors have for axes. Two kinds are left:
//! variables behind axes that were added to the graph, whose values stand for joint states, and
//! functions that were looked up, which no tensor has for an axis. The first are decoded, and then
//! the second are computed, each after what it is a function of.

use crate::compile::lower::Compiled;
use crate::compile::plan::tables::Function;
use crate::compile::support::Decoder;
use crate::tensor::{Graph, NodeId};
use crate::vars::VarId;

/// How the variables that a run does not decide are decided by those that it does.
#[derive(Clone, Debug, Default)]
pub struct Completion {
    /// The meaning of added axes.
    pub decoders: Vec<Decoder>,
    /// The functions that are computed, in order.
    pub functions: Vec<Function>,
}

impl Completion {
    /// The completion of a compiled question.
    pub fn new(
        Compiled {
            graph,
            pruned,
            decoders,
            ..
        }: &Compiled,
    ) -> Self {
        let mut completion = Completion {
            decoders: decoders.clone(),
            functions: vec![],
        };
        let mut decided = completion.decided(graph);
        let cards = pruned.cards();
        let is_open = |v: &VarId| cards[v.index()] > 1 && !decided[v.index()];
        let mut waiting: Vec<VarId> = (0..cards.len()).map(VarId::new).filter(is_open).collect();
        loop {
            let before = waiting.len();
            waiting.retain(|&v| {
                let table = pruned.definers[v.index()].map(|factor| &pruned.factors[factor]);
                let is_ready = |u: &VarId| *u == v || decided[u.index()];
                let Some(table) = table.filter(|table| table.scope.iter().all(is_ready)) else {
                    return true;
                };
                completion.functions.push(Function::new(table, v, &cards));
                decided[v.index()] = true;
                false
            });
            if waiting.len() == before {
                return completion;
            }
        }
    }

    /// Which variables and axes are decided in the end, if a run decides all that tensors of the
    /// graph have.
    pub fn decided(&self, graph: &Graph) -> Vec<bool> {
        let mut is_read = vec![false; graph.len()];
        is_read[graph.output().index()] = true;
        let mut decided = vec![false; graph.cards().len()];
        for node in (0..graph.len()).rev().map(NodeId::new) {
            if is_read[node.index()] {
                graph
                    .op(node)
                    .inputs()
                    .for_each(|input| is_read[input.index()] = true);
                graph
                    .axes(node)
                    .iter()
                    .for_each(|v| decided[v.index()] = true);
            }
        }
        for Decoder { axis, vars, .. } in &self.decoders {
            vars.iter()
                .for_each(|v| decided[v.index()] |= decided[axis.index()]);
        }
        for Function { inputs, output, .. } in &self.functions {
            decided[output.index()] |= inputs.iter().all(|v| decided[v.index()]);
        }
        decided
    }

    /// Decides the states that a run left open.
    pub fn complete(&self, cards: &[usize], states: &mut [Option<usize>]) {
        self.decoders
            .iter()
            .for_each(|decoder| decoder.decode(states));
        for Function {
            inputs,
            output,
            values,
        } in &self.functions
        {
            let place = inputs.iter().fold(0, |at, v| {
                at * cards[v.index()] + states[v.index()].unwrap_or(0)
            });
            states[output.index()] = values[place].map(|value| value as usize);
        }
    }
}
