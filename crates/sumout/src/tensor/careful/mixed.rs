//! Sums over some axes and maxima over others, kept up to date while single likelihoods change.
//!
//! A change of one likelihood reaches the output through few tensors. They are computed anew, and
//! all others are read as they were: to try a change, or to make it until it is undone.

use std::collections::BTreeMap;
use std::mem::{replace, take};
use std::sync::Arc;

use crate::control::Control;
use crate::tensor::careful::{Run, Tensor};
use crate::tensor::combine::{Combine, LogMax, LogSum, Max, Sum};
use crate::tensor::graph::{Graph, NodeId, Op};
use crate::tensor::layout::{Program, Step};
use crate::tensor::schedule::Slot;
use crate::vars::VarId;

/// A program that keeps all tensors, some of which are maxima.
#[derive(Debug)]
pub(crate) struct Mixed {
    graph: Arc<Graph>,
    program: Program,
    /// Whether each slot is a maximum.
    maxima: Vec<bool>,
    /// For each input its node, and the steps that it reaches.
    inputs: BTreeMap<VarId, (NodeId, Vec<usize>)>,
}

/// All tensors for some evidence.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    slots: Vec<Tensor>,
    is_log: bool,
    /// The logarithm of the output.
    pub log: f64,
}

/// Memory to try changes in.
#[derive(Default)]
pub(crate) struct Room(Vec<Tensor>);

/// The tensors before a change.
pub(crate) struct Replaced {
    slots: Vec<(Slot, Tensor)>,
    log: f64,
}

impl Mixed {
    pub fn new(graph: Arc<Graph>, program: Program, maxima: Vec<bool>) -> Self {
        let mut inputs = BTreeMap::new();
        for (node, op) in graph.ops() {
            if let Op::Evidence(v) = op {
                let reached = graph.depends(|op| *op == Op::Evidence(*v));
                let is_reached = |at: &usize| reached[program.steps[*at].planned.out];
                let steps = (0..program.steps.len()).filter(is_reached).collect();
                inputs.insert(*v, (node, steps));
            }
        }
        Mixed {
            graph,
            program,
            maxima,
            inputs,
        }
    }

    /// All tensors, with logarithms or without; none if small numbers could be lost without, or if
    /// it is stopped.
    pub fn values(
        &self,
        is_log: bool,
        control: &Control,
        evidence: impl Fn(VarId) -> Vec<f64>,
    ) -> Option<Values> {
        let mut run = if is_log {
            Run::load::<LogSum>(&self.graph, &self.program, evidence)
        } else {
            Run::load::<Sum>(&self.graph, &self.program, evidence)
        };
        let is_lost = |tensor: &Tensor| !is_log && tensor.is_at_risk();
        if run.slots.iter().any(is_lost) {
            return None;
        }
        for step in &self.program.steps {
            if control.is_stopped() {
                return None;
            }
            self.compute(&mut run, step)?;
        }
        Some(Values {
            log: run.log_sum(),
            slots: run.slots,
            is_log,
        })
    }

    /// The logarithm of the output if a likelihood were another one; none if small numbers could
    /// be lost.
    pub fn try_out(
        &self,
        values: &Values,
        room: &mut Room,
        v: VarId,
        likelihood: &[f64],
    ) -> Option<f64> {
        let Some((_, steps)) = self.inputs.get(&v) else {
            return Some(values.log);
        };
        let mut run = self.over(values, take(&mut room.0));
        let found = self.change(&mut run, v, likelihood).map(|()| run.log_sum());
        room.0 = run.slots;
        for &at in steps {
            room.0[self.program.steps[at].planned.out].data.clear();
        }
        if let Some((node, _)) = self.inputs.get(&v) {
            room.0[node.index()].data.clear();
        }
        found
    }

    /// Changes a likelihood; none if small numbers could be lost: then nothing is changed.
    pub fn set(&self, values: &mut Values, v: VarId, likelihood: &[f64]) -> Option<Replaced> {
        let Some((node, steps)) = self.inputs.get(&v) else {
            return Some(Replaced {
                slots: vec![],
                log: values.log,
            });
        };
        let mut run = self.over(values, vec![]);
        self.change(&mut run, v, likelihood)?;
        let (log, mut new) = (run.log_sum(), run.slots);
        let outs = steps.iter().map(|&at| self.program.steps[at].planned.out);
        let mut slots = vec![];
        for slot in outs.chain([node.index()]) {
            slots.push((slot, replace(&mut values.slots[slot], take(&mut new[slot]))));
        }
        Some(Replaced {
            slots,
            log: replace(&mut values.log, log),
        })
    }

    /// Undoes the last change.
    pub fn undo(&self, values: &mut Values, replaced: Replaced) {
        values.log = replaced.log;
        for (slot, tensor) in replaced.slots {
            values.slots[slot] = tensor;
        }
    }

    /// A run that reads the tensors that it does not compute.
    fn over<'a>(&'a self, values: &'a Values, mut slots: Vec<Tensor>) -> Run<'a> {
        slots.resize_with(self.program.sizes.len(), Tensor::default);
        Run {
            graph: &self.graph,
            program: &self.program,
            slots,
            shared: &values.slots,
            is_log: values.is_log,
            control: Control::NONE,
        }
    }

    fn change(&self, run: &mut Run<'_>, v: VarId, likelihood: &[f64]) -> Option<()> {
        let (node, steps) = &self.inputs[&v];
        run.slots[node.index()] = if run.is_log {
            Tensor::input::<LogSum>(likelihood.to_vec())
        } else {
            Tensor::input::<Sum>(likelihood.to_vec())
        };
        if !run.is_log && run.slots[node.index()].is_at_risk() {
            return None;
        }
        let mut steps = steps.iter().map(|&at| &self.program.steps[at]);
        steps.try_for_each(|step| self.compute(run, step))
    }

    /// Computes the tensor of a step; none if small numbers could be lost.
    fn compute(&self, run: &mut Run<'_>, step: &Step) -> Option<()> {
        let slot = step.planned.out;
        let out = match (run.is_log, self.maxima[slot]) {
            (false, false) => run.fill::<Sum>(step),
            (false, true) => run.fill::<Max>(step),
            (true, false) => run.fill::<LogSum>(step),
            (true, true) => run.fill::<LogMax>(step),
        };
        if !run.is_log && out.is_at_risk() {
            return None;
        }
        run.slots[slot] = out;
        Some(())
    }
}

impl Run<'_> {
    /// The result of a step, in the memory of its slot.
    fn fill<C: Combine>(&mut self, step: &Step) -> Tensor {
        let room = take(&mut self.slots[step.planned.out].data);
        let mut out = self.step::<C>(step, room);
        if step.planned.rescale && !C::IS_LOG {
            out.rescale();
        }
        out
    }
}
