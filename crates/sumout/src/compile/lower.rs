//! Turns a plan into a graph, literally.
//!
//! A leaf is a factor times the evidence that it hosts, summed to its separator (Equation 2 of the paper); an
//! inner node is the product of its children, summed to its own. Every product is followed by a rescaling.

use super::plan::Plan;
use super::prune::Pruned;
use crate::tensor::{Graph, NodeId, Op};
use crate::vars::{VarId, VarSet};

/// The graph of a plan for what is left of a network.
pub fn lower(pruned: &Pruned, plan: &Plan) -> Graph {
    let mut graph = Graph::new(pruned.cards());
    let mut nodes: Vec<NodeId> = vec![];
    let mut hosted: Vec<Vec<VarId>> = vec![vec![]; pruned.factors.len()];
    pruned.hosts.iter().for_each(|&(v, factor)| hosted[factor].push(v));
    for (leaf, hosted) in hosted.iter().enumerate() {
        nodes.push(lower_leaf(&mut graph, pruned, leaf, hosted, &plan.separators[leaf]));
    }
    for (k, &(l, r)) in plan.tree.joins.iter().enumerate() {
        let keep = plan.separators[plan.tree.leaves + k].clone();
        nodes.push(multiply(&mut graph, nodes[l], nodes[r], keep));
    }
    graph.set_output(*nodes.last().expect("a plan has at least one leaf"));
    graph
}

fn lower_leaf(graph: &mut Graph, pruned: &Pruned, leaf: usize, hosted: &[VarId], keep: &VarSet) -> NodeId {
    let mut node = graph.table(pruned.factors[leaf].clone());
    let all = graph.axes(node).clone();
    for (i, &v) in hosted.iter().enumerate() {
        let evidence = graph.add(Op::Evidence(v));
        let keep = if i + 1 == hosted.len() { keep.clone() } else { all.clone() };
        node = multiply(graph, node, evidence, keep);
    }
    if graph.axes(node) == keep { node } else { graph.add(Op::Project(node, keep.clone())) }
}

fn multiply(graph: &mut Graph, a: NodeId, b: NodeId, keep: VarSet) -> NodeId {
    let product = graph.add(Op::Contract(a, b, keep));
    graph.add(Op::Rescale(product))
}
