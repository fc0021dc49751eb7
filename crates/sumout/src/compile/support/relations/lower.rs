//! Turns the relations of a plan into a graph: a join by a list for each node.

use crate::compile::plan::Plan;
use crate::compile::prune::Pruned;
use crate::compile::support::relations::{Relation, states_at};
use crate::compile::support::{Decoder, join};
use crate::tensor::{AxisId, Graph, NodeId, Op, Table};
use crate::vars::VarId;

/// The graph so far.
pub(super) struct RelationLowering<'a> {
    pub pruned: &'a Pruned,
    pub plan: &'a Plan,
    pub graph: Graph,
    pub nodes: Vec<NodeId>,
    pub decoders: Vec<Decoder>,
}

impl RelationLowering<'_> {
    pub fn add(&mut self, at: usize, relation: &Relation) {
        let is_root = at + 1 == self.plan.separators.len();
        let axis = if is_root {
            self.pruned.output.iter().next().map(AxisId::from)
        } else {
            Some(self.graph.axis(relation.rows))
        };
        let node = match at
            .checked_sub(self.plan.tree.leaves)
            .map(|k| self.plan.tree.joins[k])
        {
            None => self.leaf(at, relation, axis),
            Some((l, r)) => join(
                &mut self.graph,
                [self.nodes[l], self.nodes[r]],
                axis,
                relation.triples.iter().copied(),
            ),
        };
        self.nodes.push(node);
    }

    /// The entries of a factor, times the evidence that it hosts, summed to its separator.
    fn leaf(&mut self, at: usize, relation: &Relation, axis: Option<AxisId>) -> NodeId {
        let table = &self.pruned.factors[self.plan.leaves[at].factor];
        let entries = self.graph.axis(relation.places.len());
        let values = relation
            .places
            .iter()
            .map(|&place| table.values[place])
            .collect();
        let origin = self.pruned.origins[self.plan.leaves[at].factor].as_ref();
        let origin = origin.map(|origin| origin.at(relation.places.iter().copied()));
        let node = self.graph.table_from(
            Table {
                axes: vec![entries],
                values,
            },
            origin,
        );
        let cards = self.pruned.cards();
        let states: Vec<Vec<u16>> = relation
            .places
            .iter()
            .map(|&place| states_at(table, &cards, place))
            .collect();
        let node = match &self.hosted(at)[..] {
            [] if at + 1 < self.plan.separators.len() && relation.is_whole() => node,
            [] => {
                let one = self.graph.table(Table {
                    axes: vec![],
                    values: vec![1.0],
                });
                join(
                    &mut self.graph,
                    [node, one],
                    axis,
                    relation.triples.iter().copied(),
                )
            }
            hosted => self.times_evidence(node, hosted, relation, &states, (entries, axis)),
        };
        if self.pruned.explain {
            let states = states.into_iter().flatten().collect();
            self.decoders.push(Decoder {
                axis: entries,
                vars: table.scope.clone(),
                states,
            });
        }
        node
    }

    /// The evidence that a leaf hosts: each variable's place among the factor's axes, and the
    /// variable.
    fn hosted(&self, at: usize) -> Vec<(usize, VarId)> {
        let leaf = self.plan.leaves[at];
        let axes = &self.pruned.factors[leaf.factor].scope;
        let hosted = self
            .pruned
            .hosts
            .iter()
            .filter(|(_, host)| *host == leaf.factor && !leaf.is_copy);
        hosted
            .filter_map(|(v, _)| Some((axes.iter().position(|x| x == v)?, *v)))
            .collect()
    }

    /// Multiplies the entries of a leaf by evidence; the last product is summed to the separator.
    fn times_evidence(
        &mut self,
        mut node: NodeId,
        hosted: &[(usize, VarId)],
        relation: &Relation,
        states: &[Vec<u16>],
        (entries, axis): (AxisId, Option<AxisId>),
    ) -> NodeId {
        for (i, &(place, v)) in hosted.iter().enumerate() {
            let evidence = self.graph.add(Op::Evidence(v));
            let state = |entry: u32| u32::from(states[entry as usize][place]);
            node = if i + 1 < hosted.len() {
                let all = (0..states.len() as u32).map(|entry| [entry, entry, state(entry)]);
                join(&mut self.graph, [node, evidence], Some(entries), all)
            } else {
                let triples = relation
                    .triples
                    .iter()
                    .map(|&[o, entry, _]| [o, entry, state(entry)]);
                join(&mut self.graph, [node, evidence], axis, triples)
            };
        }
        node
    }
}
