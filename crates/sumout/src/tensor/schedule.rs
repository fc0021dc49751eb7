//! The order of a program's steps, when each tensor's memory is needed, and how much that is at
//! most.
//!
//! A schedule is made from the graph alone. It knows its peak memory before anything of that size
//! is allocated, so an answer that does not fit is refused in time.
//!
//! The backward pass is more steps over the same slots. For out = Σ a·b it adds, to the adjoint of
//! a, the adjoint of `out` times b, summed to the axes of a. The same holds for joins, with the
//! list's columns in other roles, and for gathers, where entries are added to where they were read.
//! Rescaling only changes how a tensor is represented, not its value; a rescaled node shares the
//! slot of its input, in both passes.
//!
//! Marginals are those of the network that tests have selected: their backward pass stops at
//! selections. So does any at a step, whose derivatives are zero.

use crate::tensor::graph::{Graph, List, ListId, MapId, NodeId, Op, Pick, PickId, TableId};
use crate::tensor::order::order;
use crate::vars::VarSet;

/// The results that a run must leave behind.
#[derive(Clone, Debug)]
pub(crate) enum Want {
    /// The output.
    Output,
    /// The output, and its derivative with respect to the evidence on these variables, for what was
    /// selected.
    Marginals(VarSet),
    /// The output, and its derivative with respect to the evidence on these variables, and to these
    /// tables.
    Gradients(VarSet, Vec<TableId>),
    /// The output and all tensors on the way to it, to find where its maximum came from.
    Everything,
}

/// Where a tensor is kept: the value of node i at i, the adjoint of node i at n + i.
pub(crate) type Slot = usize;

/// How a step finds the entries that it multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guide {
    /// The axes of its tensors.
    Axes,
    /// A list, and the column of it that says where the products go.
    List(ListId, Column),
    /// A map, from where it points to.
    Gather(MapId),
    /// A map, to where it points to.
    Scatter(MapId),
    /// A pick.
    Collect(PickId),
    /// The same backward, to one of its tensors, by its place among them.
    Spread(PickId, usize),
    /// The rule of a selection.
    Select,
    /// The same backward, to one of the inputs of the selection, by its place among them.
    Unselect(usize),
}

impl Guide {
    /// The map that it goes by, and whether to where that points.
    pub fn map(self) -> Option<(MapId, bool)> {
        match self {
            Guide::Gather(map) => Some((map, false)),
            Guide::Scatter(map) => Some((map, true)),
            _ => None,
        }
    }
}

/// A column of a list: forward the products go to the output, backward to one of the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    Out,
    A,
    B,
}

impl Column {
    /// The places of each product in the step's two inputs, and in what the step computes.
    pub fn roles(self, list: &List) -> [&[u32]; 3] {
        match self {
            Column::Out => [&list.a, &list.b, &list.outs],
            Column::A => [&list.outs, &list.b, &list.a],
            Column::B => [&list.outs, &list.a, &list.b],
        }
    }
}

/// One contraction, join, gather, collection or selection. Without `b` it is none of the first two,
/// but for the projection of `a`.
#[derive(Clone, Debug)]
pub(crate) struct ScheduledStep {
    pub a: Slot,
    pub b: Option<Slot>,
    /// Of a selection, the other tensors that are tested; backward all of them. Of a collection, its
    /// other tensors.
    pub more: Vec<Slot>,
    pub out: Slot,
    pub guide: Guide,
    /// Whether `out` holds something already, to which this adds.
    pub accumulate: bool,
    pub rescale: bool,
    /// The slots that nobody reads after this step.
    pub free: Vec<Slot>,
}

impl ScheduledStep {
    /// The slots that it reads.
    pub fn reads(&self) -> impl Iterator<Item = Slot> + '_ {
        std::iter::once(self.a)
            .chain(self.b)
            .chain(self.more.iter().copied())
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    pub steps: Vec<ScheduledStep>,
    /// How many of the steps are the forward pass.
    pub forward: usize,
    /// Whether no tensor is given up.
    pub keeps_all: bool,
    nodes: usize,
}

impl Schedule {
    pub fn new(graph: &Graph, want: &Want) -> Self {
        let keeps_all = matches!(want, Want::Everything);
        let mut schedule = Schedule {
            steps: vec![],
            forward: 0,
            keeps_all,
            nodes: graph.len(),
        };
        let order = order(graph);
        schedule.add_forward(graph, &order);
        schedule.forward = schedule.steps.len();
        match want {
            Want::Output | Want::Everything => {}
            Want::Marginals(vars) => {
                schedule.add_backward(graph, &leads_to(graph, vars, &[], false), &order)
            }
            Want::Gradients(vars, tables) => {
                schedule.add_backward(graph, &leads_to(graph, vars, tables, true), &order);
            }
        }
        if !keeps_all {
            schedule.add_frees(graph);
        }
        schedule
    }

    /// The slot of a node's value.
    pub fn value(graph: &Graph, node: NodeId) -> Slot {
        match graph.op(node) {
            Op::Rescale(a) => Schedule::value(graph, *a),
            _ => node.index(),
        }
    }

    /// The slot of a node's adjoint.
    pub fn adjoint(graph: &Graph, node: NodeId) -> Slot {
        Schedule::value(graph, node) + graph.len()
    }

    /// The number of slots.
    pub fn slots(&self) -> usize {
        2 * self.nodes
    }

    /// The node whose shape a slot has.
    pub fn node(&self, slot: Slot) -> NodeId {
        NodeId::new(slot % self.nodes)
    }

    fn add_forward(&mut self, graph: &Graph, order: &[NodeId]) {
        for &node in order {
            let slot = |node: NodeId| Schedule::value(graph, node);
            let (a, b, guide) = match graph.op(node) {
                Op::Evidence(_) | Op::Table(_) => continue,
                Op::Rescale(a) => {
                    // An input has no step: tables are scaled when they are loaded, evidence by its
                    // product.
                    if let Some(step) = self.steps.iter_mut().rev().find(|s| s.out == slot(*a)) {
                        step.rescale = true;
                    }
                    continue;
                }
                Op::Contract(a, b, _) => (slot(*a), Some(slot(*b)), Guide::Axes),
                Op::Project(a, _) => (slot(*a), None, Guide::Axes),
                Op::Join(a, b, list) => (slot(*a), Some(slot(*b)), Guide::List(*list, Column::Out)),
                Op::Gather(a, map) => (slot(*a), None, Guide::Gather(*map)),
                Op::Collect(inputs, pick) => {
                    self.push_all(
                        inputs.iter().copied().map(slot),
                        slot(node),
                        Guide::Collect(*pick),
                    );
                    continue;
                }
                Op::Select(inputs, rule) => {
                    let of = graph.tested(inputs, *rule).0.iter().copied();
                    self.push_all(of.map(slot), slot(node), Guide::Select);
                    continue;
                }
            };
            self.push(a, b, slot(node), guide);
        }
    }

    /// Adds a step that reads any number of tensors.
    fn push_all(&mut self, mut of: impl Iterator<Item = Slot>, out: Slot, guide: Guide) {
        let first = of.next().expect("a checked operation reads a tensor");
        self.push(first, None, out, guide);
        self.steps.last_mut().expect("just pushed").more = of.collect();
    }

    fn push(&mut self, a: Slot, b: Option<Slot>, out: Slot, guide: Guide) {
        let more = vec![];
        self.steps.push(ScheduledStep {
            a,
            b,
            more,
            out,
            guide,
            accumulate: false,
            rescale: false,
            free: vec![],
        });
    }

    fn add_backward(&mut self, graph: &Graph, leads_to: &[bool], order: &[NodeId]) {
        let mut has_adjoint = vec![false; self.slots()];
        let value = |node: NodeId| Schedule::value(graph, node);
        has_adjoint[Schedule::adjoint(graph, graph.output())] = true;
        // Nodes that only tests read have no derivative if it does not pass through tests.
        for &node in order.iter().rev() {
            if !has_adjoint[Schedule::adjoint(graph, node)] {
                continue;
            }
            let (a, b, guides) = match graph.op(node) {
                Op::Select(inputs, rule) => {
                    let of = graph
                        .tested(inputs, *rule)
                        .0
                        .iter()
                        .map(|input| value(*input))
                        .collect();
                    self.unselect(graph, node, (inputs, of), leads_to, &mut has_adjoint);
                    continue;
                }
                Op::Collect(inputs, pick) => {
                    self.spread(graph, node, (inputs, *pick), leads_to, &mut has_adjoint);
                    continue;
                }
                Op::Contract(a, b, _) => (*a, Some(*b), [Guide::Axes; 2]),
                Op::Project(a, _) => (*a, None, [Guide::Axes; 2]),
                Op::Join(a, b, list) => (
                    *a,
                    Some(*b),
                    [Column::A, Column::B].map(|to| Guide::List(*list, to)),
                ),
                Op::Gather(a, map) => (*a, None, [Guide::Scatter(*map); 2]),
                Op::Evidence(_) | Op::Table(_) | Op::Rescale(_) => continue,
            };
            let pairs = [(Some(a), b, guides[0]), (b, Some(a), guides[1])];
            for (to, other, guide) in pairs
                .into_iter()
                .filter_map(|(to, other, guide)| Some((to?, other, guide)))
            {
                if leads_to[value(to)] {
                    let out = Schedule::adjoint(graph, to);
                    self.push(Schedule::adjoint(graph, node), other.map(value), out, guide);
                    self.add_to(&mut has_adjoint);
                }
            }
        }
    }

    /// A step for each tensor of a collection that leads to something.
    fn spread(
        &mut self,
        graph: &Graph,
        node: NodeId,
        (inputs, pick): (&[NodeId], PickId),
        leads_to: &[bool],
        has_adjoint: &mut [bool],
    ) {
        for (k, &to) in inputs.iter().enumerate() {
            let value = Schedule::value(graph, to);
            if leads_to[value] {
                let (from, out) = (Schedule::adjoint(graph, node), Schedule::adjoint(graph, to));
                self.push(from, None, out, Guide::Spread(pick, k));
                self.add_to(has_adjoint);
            }
        }
    }

    /// A step for each input of a selection that leads to something.
    fn unselect(
        &mut self,
        graph: &Graph,
        node: NodeId,
        (inputs, of): (&[NodeId], Vec<Slot>),
        leads_to: &[bool],
        has_adjoint: &mut [bool],
    ) {
        for (k, &to) in inputs
            .iter()
            .enumerate()
            .filter(|(_, to)| leads_to[Schedule::value(graph, **to)])
        {
            let (from, out) = (Schedule::adjoint(graph, node), Schedule::adjoint(graph, to));
            self.push(from, None, out, Guide::Unselect(k));
            self.steps
                .last_mut()
                .expect("just pushed")
                .more
                .clone_from(&of);
            self.add_to(has_adjoint);
        }
    }

    /// Lets the last step add to an adjoint.
    fn add_to(&mut self, has_adjoint: &mut [bool]) {
        let step = self.steps.last_mut().expect("just pushed");
        step.rescale = true;
        step.accumulate = std::mem::replace(&mut has_adjoint[step.out], true);
    }

    /// Frees every slot after the last step that reads it, except for what is wanted, and inputs.
    fn add_frees(&mut self, graph: &Graph) {
        let mut seen = vec![false; self.slots()];
        seen[Schedule::value(graph, graph.output())] = true;
        for (node, op) in graph.ops() {
            if matches!(op, Op::Evidence(_) | Op::Table(_)) {
                seen[node.index()] = true;
                seen[node.index() + graph.len()] = true;
            }
        }
        for step in self.steps.iter_mut().rev() {
            let slots: Vec<Slot> = std::iter::once(step.out).chain(step.reads()).collect();
            step.free = slots
                .into_iter()
                .filter(|&s| !std::mem::replace(&mut seen[s], true))
                .collect();
        }
    }

    /// The most bytes that are in use at any time, with the lists and maps; a float, as it can
    /// exceed all integers.
    pub fn peak_bytes(&self, graph: &Graph) -> f64 {
        let lists: usize = graph.lists().iter().map(|list| 3 * list.outs.len()).sum();
        let maps: usize = graph.maps().iter().map(|map| map.index.len()).sum();
        let picks: usize = graph.picks().iter().map(Pick::len).sum();
        (size_of::<u32>() * (lists + maps + picks)) as f64 + self.peak_tensors(graph)
    }

    /// The bytes of what an engine derives from lists and maps: each term's places, and where sums
    /// begin.
    pub fn term_bytes(&self, graph: &Graph) -> f64 {
        let terms = |step: &ScheduledStep| {
            let (from, to) = (
                graph.size(self.node(step.a)),
                graph.size(self.node(step.out)),
            );
            match step.guide {
                Guide::Axes | Guide::Select | Guide::Unselect(_) => 0.0,
                Guide::List(list, _) => 3.0 * graph.lists()[list.index()].outs.len() as f64 + to,
                Guide::Gather(_) | Guide::Scatter(_) => 3.0 * from.max(to) + to,
                Guide::Collect(_) => 2.0 * to,
                Guide::Spread(pick, k) => {
                    2.0 * graph.picks()[pick.index()].places[k].len() as f64 + to
                }
            }
        };
        size_of::<u32>() as f64 * self.steps.iter().map(terms).sum::<f64>()
    }

    fn peak_tensors(&self, graph: &Graph) -> f64 {
        let size = |slot: Slot| graph.size(self.node(slot)) * size_of::<f64>() as f64;
        let mut live = vec![false; self.slots()];
        let (mut now, mut peak) = (0.0f64, 0.0f64);
        for step in &self.steps {
            if step.accumulate || !std::mem::replace(&mut live[step.out], true) {
                now += size(step.out); // what is added to a tensor needs room of its own for a while
            }
            peak = peak.max(now);
            if step.accumulate {
                now -= size(step.out);
            }
            now -= step.free.iter().map(|&slot| size(slot)).sum::<f64>();
        }
        peak
    }
}

/// Which nodes depend on the evidence on some variables, or on some tables; maybe through
/// selections.
fn leads_to(graph: &Graph, vars: &VarSet, tables: &[TableId], through: bool) -> Vec<bool> {
    let mut leads = vec![false; graph.len()];
    for (node, op) in graph.ops() {
        leads[node.index()] = match op {
            Op::Evidence(x) => vars.contains(*x),
            Op::Table(table) => tables.contains(table),
            Op::Select(_, rule) if !through || graph.rules()[rule.index()].weighing.is_flat() => {
                false
            }
            _ => op.inputs().any(|input| leads[input.index()]),
        };
    }
    leads
}
