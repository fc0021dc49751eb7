//! The order in which the operations of a graph are computed.

use crate::tensor::graph::{Graph, NodeId};

/// The nodes that the output depends on, inputs before uses, in an order in which few tensors are
/// live at a time.
///
/// Of two inputs, the one first that needs more memory beyond its result.
pub(super) fn order(graph: &Graph) -> Vec<NodeId> {
    let needs = needs(graph);
    let mut order = vec![];
    let mut is_done = vec![false; graph.len()];
    let mut stack = vec![(graph.output(), false)];
    while let Some((node, inputs_done)) = stack.pop() {
        if is_done[node.index()] {
            continue;
        }
        if inputs_done {
            is_done[node.index()] = true;
            order.push(node);
            continue;
        }
        stack.push((node, true));
        let mut inputs: Vec<NodeId> = graph.op(node).inputs().collect();
        let beyond = |n: &NodeId| needs[n.index()] - graph.size(*n);
        inputs.sort_by(|a, b| beyond(a).total_cmp(&beyond(b)));
        stack.extend(inputs.into_iter().map(|input| (input, false)));
    }
    order
}

/// The memory that each node needs if nothing is shared.
fn needs(graph: &Graph) -> Vec<f64> {
    let mut needs = vec![0.0f64; graph.len()];
    for (node, op) in graph.ops() {
        let mut inputs: Vec<NodeId> = op.inputs().collect();
        let size = |n: &NodeId| graph.size(*n);
        inputs
            .sort_by(|a, b| (needs[b.index()] - size(b)).total_cmp(&(needs[a.index()] - size(a))));
        let (mut held, mut most) = (0.0, 0.0f64);
        for input in &inputs {
            most = most.max(held + needs[input.index()]);
            held += size(input);
        }
        needs[node.index()] = most.max(held + graph.size(node));
    }
    needs
}
