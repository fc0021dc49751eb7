//! Graphs that sum over some axes and maximise over others.

use crate::tensor::graph::{AxisId, AxisSet, Graph, NodeId, Op};

impl Graph {
    /// The same graph, in which no operation both sums over some axes and maximises over others:
    /// sums come first. And for each of its nodes, whether it is a maximum.
    ///
    /// Joins and collections stay sums.
    pub(crate) fn maximising(&self, is_max: impl Fn(AxisId) -> bool) -> (Graph, Vec<bool>) {
        let mut graph = Graph {
            ops: vec![],
            axes: vec![],
            known: Default::default(),
            output: None,
            ..self.clone()
        };
        let mut nodes: Vec<NodeId> = vec![];
        for (_, op) in self.ops() {
            let at = |node: &NodeId| nodes[node.index()];
            let added = match op {
                Op::Contract(a, b, keep) => {
                    let (a, b) = (at(a), at(b));
                    let all = graph.axes(a) | graph.axes(b);
                    match first(&all, keep, &is_max) {
                        None => graph.add(Op::Contract(a, b, keep.clone())),
                        Some(some) => {
                            let sums = graph.add(Op::Contract(a, b, some));
                            graph.add(Op::Project(sums, keep.clone()))
                        }
                    }
                }
                Op::Project(a, keep) => {
                    let a = at(a);
                    let some = first(graph.axes(a), keep, &is_max);
                    let sums = some.map_or(a, |some| graph.add(Op::Project(a, some)));
                    graph.add(Op::Project(sums, keep.clone()))
                }
                Op::Evidence(_) | Op::Table(_) => graph.add(op.clone()),
                Op::Gather(a, map) => graph.add(Op::Gather(at(a), *map)),
                Op::Rescale(a) => graph.add(Op::Rescale(at(a))),
                Op::Join(a, b, list) => graph.add(Op::Join(at(a), at(b), *list)),
                Op::Collect(inputs, pick) => {
                    graph.add(Op::Collect(inputs.iter().map(at).collect(), *pick))
                }
                Op::Select(inputs, rule) => {
                    graph.add(Op::Select(inputs.iter().map(at).collect(), *rule))
                }
            };
            nodes.push(added);
        }
        graph.set_output(nodes[self.output().index()]);
        let maxima = graph.ops().map(|(node, op)| {
            let gone = graph.gone(node, op);
            gone.iter().any(&is_max)
        });
        let maxima = maxima.collect();
        (graph, maxima)
    }

    /// The axes that a contraction or a projection sums over.
    fn gone(&self, node: NodeId, op: &Op) -> AxisSet {
        match op {
            Op::Contract(a, b, _) => &(self.axes(*a) | self.axes(*b)) - self.axes(node),
            Op::Project(a, _) => self.axes(*a) - self.axes(node),
            _ => AxisSet::default(),
        }
    }
}

/// The axes to keep at first, if both sums and maxima are to be taken.
fn first(all: &AxisSet, keep: &AxisSet, is_max: impl Fn(AxisId) -> bool) -> Option<AxisSet> {
    let gone = all - keep;
    let is_mixed = gone.iter().any(&is_max) && !gone.iter().all(&is_max);
    let maximised = gone.iter().filter(|&axis| is_max(axis));
    is_mixed.then(|| keep | &maximised.collect())
}
