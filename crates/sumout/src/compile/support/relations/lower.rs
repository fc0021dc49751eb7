//! Turns the relations of a plan into a graph: a join by a list for each node.

use std::collections::BTreeMap;

use crate::compile::plan::Plan;
use crate::compile::prune::Pruned;
use crate::compile::support::relations::{Relation, states_at};
use crate::compile::support::{Decoder, join};
use crate::tensor::{AxisId, Graph, NodeId, Op, Table};
use crate::vars::{VarId, VarSet};

/// The graph so far.
pub(super) struct RelationLowering<'a> {
    pub pruned: &'a Pruned,
    pub plan: &'a Plan,
    pub graph: Graph,
    pub nodes: Vec<NodeId>,
    pub decoders: Vec<Decoder>,
    /// The variables that are maximised where others are summed out.
    pub maximised: &'a VarSet,
    /// The nodes that are maxima.
    pub maxima: Vec<NodeId>,
}

impl RelationLowering<'_> {
    pub fn add(&mut self, at: usize, relations: &[Relation]) {
        let relation = &relations[at];
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
            Some((l, r)) => {
                let key = |[_, i, j]: [u32; 3]| {
                    let mut key =
                        self.gone(relation, &relations[l].vars, relations[l].row(i as usize));
                    key.extend(self.gone(
                        relation,
                        &relations[r].vars,
                        relations[r].row(j as usize),
                    ));
                    key
                };
                let keys = relation.triples.iter().map(|&t| key(t)).collect();
                self.reduce(
                    [self.nodes[l], self.nodes[r]],
                    axis,
                    &relation.triples,
                    keys,
                )
            }
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
                let one = self.one();
                let keys = self.keys(at, relation, &states);
                self.reduce([node, one], axis, &relation.triples, keys)
            }
            hosted => {
                let keys = self.keys(at, relation, &states);
                self.times_evidence(node, hosted, relation, (&states, keys), (entries, axis))
            }
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
        (states, keys): (&[Vec<u16>], Vec<Vec<u16>>),
        (entries, axis): (AxisId, Option<AxisId>),
    ) -> NodeId {
        for (i, &(place, v)) in hosted.iter().enumerate() {
            let evidence = self.graph.add(Op::Evidence(v));
            let state = |entry: u32| u32::from(states[entry as usize][place]);
            node = if i + 1 < hosted.len() {
                let all = (0..states.len() as u32).map(|entry| [entry, entry, state(entry)]);
                join(&mut self.graph, [node, evidence], Some(entries), all)
            } else {
                let triples = relation.triples.iter();
                let triples = triples.map(|&[o, entry, _]| [o, entry, state(entry)]);
                let triples: Vec<[u32; 3]> = triples.collect();
                self.reduce([node, evidence], axis, &triples, keys.clone())
            }
        }
        node
    }

    /// A number that is one.
    fn one(&mut self) -> NodeId {
        self.graph.table(Table {
            axes: vec![],
            values: vec![1.0],
        })
    }

    /// For each triple of a leaf, the states of the variables that are maximised there.
    fn keys(&self, at: usize, relation: &Relation, states: &[Vec<u16>]) -> Vec<Vec<u16>> {
        let scope = &self.pruned.factors[self.plan.leaves[at].factor].scope;
        let key = |&[_, entry, _]: &[u32; 3]| self.gone(relation, scope, &states[entry as usize]);
        relation.triples.iter().map(key).collect()
    }

    /// The states of the variables that are maximised and not kept.
    fn gone(&self, relation: &Relation, vars: &[VarId], states: &[u16]) -> Vec<u16> {
        let is_gone = |v: &VarId| self.maximised.contains(*v) && !relation.vars.contains(v);
        let some = vars.iter().zip(states).filter(|(v, _)| is_gone(v));
        some.map(|(_, state)| *state).collect()
    }

    /// The product of two tensors: sums of the triples that agree in what is maximised, and then
    /// maxima of these.
    fn reduce(
        &mut self,
        tensors: [NodeId; 2],
        axis: Option<AxisId>,
        triples: &[[u32; 3]],
        keys: Vec<Vec<u16>>,
    ) -> NodeId {
        if keys.iter().all(Vec::is_empty) {
            return join(&mut self.graph, tensors, axis, triples.iter().copied());
        }
        let mut sums: BTreeMap<(u32, &[u16]), Vec<[u32; 2]>> = BTreeMap::new();
        for (&[out, i, j], key) in triples.iter().zip(&keys) {
            sums.entry((out, key)).or_default().push([i, j]);
        }
        let middle = self.graph.axis(sums.len());
        let outs: Vec<[u32; 3]> = (0..)
            .zip(sums.keys())
            .map(|(at, (out, _))| [*out, at, 0])
            .collect();
        let terms = (0..).zip(sums.into_values());
        let terms = terms.flat_map(|(at, terms)| terms.into_iter().map(move |[i, j]| [at, i, j]));
        let sum = join(&mut self.graph, tensors, Some(middle), terms);
        let one = self.one();
        let product = join(&mut self.graph, [sum, one], axis, outs.into_iter());
        let is_rescaled = self.graph.op(product).inputs().next();
        self.maxima.extend(is_rescaled);
        product
    }
}
