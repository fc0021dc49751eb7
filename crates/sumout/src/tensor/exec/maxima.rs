//! Maxima, and where they came from.
//!
//! For many examples, what does not depend on evidence is computed once, and the memory of an example is used again for
//! the next. An example whose numbers are too far apart is repeated with logarithms, like any other run.

use std::sync::OnceLock;

use super::{Run, Tensor, shared};
use crate::tensor::graph::{Graph, List, Map, NodeId, Op};
use crate::tensor::kernel::{LogMaxProduct, MaxProduct, Semiring};
use crate::tensor::layout::{Program, Step};
use crate::tensor::schedule::{Guide, Planned, Slot};
use crate::vars::{VarId, VarSet};

/// A program that keeps all tensors, ready to maximise for one example after the other.
#[derive(Debug)]
pub(crate) struct Maxima<'g> {
    graph: &'g Graph,
    program: Program,
    varies: Vec<bool>,
    inputs: Vec<(NodeId, VarId)>,
    /// What does not depend on evidence; none if small numbers could be lost of it.
    shared: Option<Vec<Tensor>>,
    logarithms: OnceLock<Vec<Tensor>>,
}

impl<'g> Maxima<'g> {
    pub fn new(graph: &'g Graph, program: Program) -> Self {
        let evidence = |(node, op): (NodeId, &Op)| if let Op::Evidence(v) = op { Some((node, *v)) } else { None };
        let inputs: Vec<(NodeId, VarId)> = graph.ops().filter_map(evidence).collect();
        let mut varies = vec![false; program.sizes.len()];
        inputs.iter().for_each(|(node, _)| varies[node.index()] = true);
        for Planned { a, b, out, .. } in program.steps.iter().map(|step| &step.planned) {
            varies[*out] = varies[*a] || b.is_some_and(|b| varies[b]);
        }
        let shared = Some(shared::<MaxProduct>(graph, &program, &varies, vec![]));
        let shared = shared.filter(|shared| !shared.iter().any(Tensor::is_at_risk));
        Maxima { graph, program, varies, inputs, shared, logarithms: OnceLock::new() }
    }

    /// A run that was not begun.
    pub fn idle(&self) -> Run<'_> {
        self.shared.as_ref().map_or_else(|| self.by_logarithms(), |shared| self.over::<MaxProduct>(shared))
    }

    fn by_logarithms(&self) -> Run<'_> {
        let logarithms = || shared::<LogMaxProduct>(self.graph, &self.program, &self.varies, vec![]);
        self.over::<LogMaxProduct>(self.logarithms.get_or_init(logarithms))
    }

    fn over<'m, S: Semiring>(&'m self, shared: &'m [Tensor]) -> Run<'m> {
        let slots = vec![Tensor::default(); self.program.sizes.len()];
        Run { graph: self.graph, program: &self.program, slots, shared, is_log: S::IS_LOG }
    }

    /// Runs an example, in the memory of another one.
    pub fn run<'m>(&'m self, run: &mut Run<'m>, evidence: impl Fn(VarId) -> Vec<f64>) {
        if run.is_log {
            *run = self.idle();
        }
        if run.is_log || self.begin::<MaxProduct>(run, &evidence).is_none() {
            *run = self.by_logarithms();
            self.begin::<LogMaxProduct>(run, &evidence);
        }
    }

    fn begin<S: Semiring>(&self, run: &mut Run<'_>, evidence: impl Fn(VarId) -> Vec<f64>) -> Option<()> {
        self.inputs.iter().for_each(|&(node, v)| run.slots[node.index()] = Tensor::input::<S>(evidence(v)));
        run.run::<S>()
    }
}

impl Run<'_> {
    /// Where the maximum came from: a position for every variable that is an axis somewhere.
    ///
    /// Going back from the output, a step whose kept axes are decided decides its summed axes. A functional
    /// variable that is summed out in several places gets the same state in all of them.
    pub fn trace(&self) -> Vec<Option<usize>> {
        let mut states: Vec<Option<usize>> = vec![None; self.graph.cards().len()];
        for step in self.program.steps.iter().rev() {
            self.trace_step(step, &mut states);
        }
        states
    }

    fn trace_step(&self, step: &Step, states: &mut [Option<usize>]) {
        let unit = [if self.is_log { 0.0 } else { 1.0 }];
        let (a, b) = (step.planned.a, step.planned.b);
        let (a_data, b_data) = (&self.tensor(a).data, b.map_or(&unit[..], |b| &self.tensor(b).data));
        let mut best = (f64::NEG_INFINITY, (0, 0));
        self.visit_summed(step, states, &mut |x, y| {
            let product = if self.is_log { a_data[x] + b_data[y] } else { a_data[x] * b_data[y] };
            if product > best.0 {
                best = (product, (x, y));
            }
        });
        self.decide(a, best.1.0, states);
        b.into_iter().for_each(|b| self.decide(b, best.1.1, states));
    }

    /// Visits the positions in a step's inputs whose product is part of the decided entry of its output.
    fn visit_summed(&self, step: &Step, states: &[Option<usize>], visit: &mut impl FnMut(usize, usize)) {
        let Planned { a, b, out, guide, .. } = step.planned;
        let axes = self.graph.axes(NodeId::new(out));
        match guide {
            Guide::Axes => {
                let start = (self.offset(a, axes, states), b.map_or(0, |b| self.offset(b, axes, states)));
                step.nest.visit_summed(start, visit);
            }
            Guide::List(list, _) => {
                let List { outs, a, b, .. } = &self.graph.lists()[list.index()];
                let at = self.offset(out, axes, states) as u32;
                let (from, to) = (outs.partition_point(|&o| o < at), outs.partition_point(|&o| o <= at));
                (from..to).for_each(|k| visit(a[k] as usize, b[k] as usize));
            }
            Guide::Gather(map) | Guide::Scatter(map) => {
                let Map { over, index, .. } = &self.graph.maps()[map.index()];
                let state = |at: usize, v: &VarId| at * self.graph.cards()[v.index()] + states[v.index()].unwrap_or(0);
                let from = step.walk.from(index[over.iter().fold(0, state)]);
                from.into_iter().for_each(|from| visit(self.offset(a, axes, states) + from, 0));
            }
        }
    }

    /// The position in a slot that the states of some variables give, with all others at zero.
    fn offset(&self, slot: Slot, of: &VarSet, states: &[Option<usize>]) -> usize {
        let kept = self.program.strides(NodeId::new(slot)).filter(|(v, _)| of.contains(*v));
        kept.map(|(v, stride)| states[v.index()].unwrap_or(0) * stride).sum()
    }

    /// Decides the states that a position in a slot stands for.
    fn decide(&self, slot: Slot, mut position: usize, states: &mut [Option<usize>]) {
        for (v, stride) in self.program.strides(NodeId::new(slot)) {
            states[v.index()] = Some(position / stride);
            position %= stride;
        }
    }
}
