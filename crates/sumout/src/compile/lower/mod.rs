//! Turns a plan into a graph, literally.
//!
//! A leaf is a factor times the evidence that it hosts, summed to its separator (Equation 2 of the
//! paper); an inner node is the product of its children, summed to its own. Every product is
//! followed by a rescaling. Where one of the children is a known function, the other is read where
//! it leads (see `tables`).
//!
//! The value of a clamped variable enters at every leaf and every copy that mentions it, and
//! selects a part of it.

pub(crate) mod completion;

use crate::compile::choose::Planned;
use crate::compile::plan::Plan;
use crate::compile::plan::problem::{Leaf, Problem};
use crate::compile::plan::tables;
use crate::compile::plan::tables::{Gather, Mapper, Way};
use crate::compile::plan::tree::Cost;
use crate::compile::prune::Pruned;
use crate::compile::support::{Decoder, Supported};
use crate::tensor::{AxisSet, Graph, NodeId, Op};
use crate::vars::{VarId, VarSet};

/// A compiled question.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The computation.
    pub graph: Graph,
    /// The pruned network, with the values that each variable may still have.
    pub pruned: Pruned,
    /// How it is computed, unless supports are cheaper.
    pub plan: Plan,
    /// The cost of one evaluation of the graph.
    pub cost: Cost,
    /// The meaning of the added axes of the graph.
    pub decoders: Vec<Decoder>,
}

impl Planned {
    /// The graph of the plan, or of the supports that are cheaper.
    pub fn lower(self) -> Compiled {
        let Planned {
            pruned,
            problem,
            plan,
            supported,
            ..
        } = self;
        let (graph, cost, decoders) = match supported {
            Some(Supported {
                graph,
                cost,
                decoders,
                ..
            }) => (graph, cost, decoders),
            None => (lower(&pruned, &problem, &plan), plan.cost, vec![]),
        };
        Compiled {
            graph,
            pruned,
            plan,
            cost,
            decoders,
        }
    }
}

/// The graph of a plan for what is left of a network.
pub fn lower(pruned: &Pruned, problem: &Problem, plan: &Plan) -> Graph {
    let mut lowering = Lowering::new(pruned, problem, plan);
    for (node, way) in tables::ways(&plan.tree, &problem.leaves(&plan.leaves), &plan.separators)
        .iter()
        .enumerate()
    {
        let lowered = match (
            way,
            node.checked_sub(plan.tree.leaves)
                .map(|k| plan.tree.joins[k]),
        ) {
            (Way::Mapped, _) => None,
            (Way::Gather(gather), _) => Some(lowering.gather(gather, &plan.separators[node])),
            (Way::Dense, None) => Some(lowering.leaf(&plan.leaves[node], &plan.separators[node])),
            (Way::Dense, Some((l, r))) => Some(lowering.join(l, r, &plan.separators[node])),
        };
        lowering.nodes.push(lowered);
    }
    let root = lowering.node(plan.separators.len() - 1);
    lowering.graph.set_output(root);
    lowering.graph
}

struct Lowering<'a> {
    pruned: &'a Pruned,
    graph: Graph,
    mapper: Mapper<'a>,
    /// The tensor of each node of the plan so far; none if it is part of a function.
    nodes: Vec<Option<NodeId>>,
    /// The table of each factor that has been used so far.
    tables: Vec<Option<NodeId>>,
    /// The evidence that each factor hosts.
    hosted: Vec<Vec<VarId>>,
}

impl<'a> Lowering<'a> {
    fn new(pruned: &'a Pruned, problem: &'a Problem, plan: &'a Plan) -> Self {
        let mut hosted = vec![vec![]; pruned.factors.len()];
        pruned
            .hosts
            .iter()
            .for_each(|&(v, factor)| hosted[factor].push(v));
        Lowering {
            pruned,
            graph: Graph::with_selected(pruned.cards(), &pruned.selected),
            mapper: Mapper::new(pruned, problem, plan),
            nodes: vec![],
            tables: vec![None; pruned.factors.len()],
            hosted,
        }
    }

    fn node(&self, node: usize) -> NodeId {
        self.nodes[node].expect("a tensor is computed before it is read")
    }

    fn leaf(&mut self, leaf: &Leaf, keep: &VarSet) -> NodeId {
        let (factor, clamped) = (&self.pruned.factors[leaf.factor], &self.pruned.clamped);
        let graph = &mut self.graph;
        let origin = &self.pruned.origins[leaf.factor];
        let mut node = *self.tables[leaf.factor]
            .get_or_insert_with(|| graph.table_from(factor.table(), origin.clone()));
        let mut evidence: Vec<VarId> = factor
            .scope
            .iter()
            .copied()
            .filter(|&v| clamped.contains(v))
            .collect();
        let keep = AxisSet::from(keep);
        let free = graph.axes(node) - &clamped.into();
        if !leaf.is_copy {
            evidence.extend(&self.hosted[leaf.factor]);
        }
        for (i, &v) in evidence.iter().enumerate() {
            let likelihood = graph.add(Op::Evidence(v));
            let later: AxisSet = evidence[i + 1..].iter().map(|&v| v.into()).collect();
            let keep = if later.is_empty() {
                keep.clone()
            } else {
                &free | &later
            };
            node = multiply(graph, node, likelihood, keep);
        }
        project(graph, node, keep)
    }

    fn join(&mut self, l: usize, r: usize, keep: &VarSet) -> NodeId {
        let (l, r) = (self.node(l), self.node(r));
        multiply(&mut self.graph, l, r, keep.into())
    }

    fn gather(&mut self, gather: &Gather, keep: &VarSet) -> NodeId {
        let map = self.mapper.map(gather);
        let tensor = self.node(gather.tensor);
        let read = self.graph.gather(tensor, map);
        project(&mut self.graph, read, keep.into())
    }
}

fn project(graph: &mut Graph, node: NodeId, keep: AxisSet) -> NodeId {
    if *graph.axes(node) == keep {
        node
    } else {
        graph.add(Op::Project(node, keep))
    }
}

fn multiply(graph: &mut Graph, a: NodeId, b: NodeId, keep: AxisSet) -> NodeId {
    let product = graph.add(Op::Contract(a, b, keep));
    graph.add(Op::Rescale(product))
}

#[cfg(test)]
pub(crate) mod tests;
