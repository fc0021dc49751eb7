//! The careful executor: one example at a time, with exact exponents, and logarithms as a last
//! resort.
//!
//! It runs
//! * single queries of a network, where compiling takes longer than running;
//! * examples whose numbers the [fast executor](crate::tensor::fast) could not bound well enough;
//! * once for each circuit, everything that does not depend on evidence, which the fast executor
//!   then shares among all examples.
//!
//! A tensor is numbers and an exponent that they share: its value is `data` · 2^`exponent`.
//! Rescaling moves a power of two from one to the other, which is exact, so ln P(e) is exact as
//! well, however small P(e) is.
//!
//! Numbers of one tensor may differ so much that the small ones would be lost, and may be the ones
//! that count in the end. A run in which that could happen is repeated with logarithms.

mod collect;
mod kernel;
mod maxima;
mod mixed;
mod pieces;
mod select;
mod shared;
mod step;
mod tensor;
mod trace;

use std::collections::BTreeSet;
use std::mem::take;

use crate::control::{Control, Stage};
use crate::error::Result;
use crate::tensor::careful::tensor::relative;
use crate::tensor::combine::{Combine, LogMax, LogSum, Max, Sum};
use crate::tensor::graph::{Graph, NodeId, Op, TableId};
use crate::tensor::layout::{Program, Step};
use crate::tensor::schedule::{Schedule, Slot};
use crate::vars::VarId;

pub(crate) use crate::tensor::careful::maxima::Maxima;
pub(crate) use crate::tensor::careful::mixed::{Mixed, Replaced, Room, Values};
pub(crate) use crate::tensor::careful::shared::{Spare, differentiate_shared, shared};
pub(crate) use crate::tensor::careful::tensor::Tensor;
pub(crate) use crate::tensor::careful::trace::Numbers;

/// The tensors of one run of a program.
pub(crate) struct Run<'a> {
    graph: &'a Graph,
    program: &'a Program,
    slots: Vec<Tensor>,
    /// Tensors that were computed before, and are not slots of this run; empty if there are none.
    shared: &'a [Tensor],
    /// Whether the numbers are logarithms.
    is_log: bool,
    control: Control,
}

impl<'a> Run<'a> {
    /// Computes sums of products; `evidence` gives the likelihood of each input.
    #[cfg(test)]
    pub fn sum(
        graph: &'a Graph,
        program: &'a Program,
        evidence: impl Fn(VarId) -> Vec<f64>,
    ) -> Self {
        Run::sum_under(&Control::NONE, graph, program, evidence).expect("nothing stops it")
    }

    /// Computes maxima of products.
    #[cfg(test)]
    pub fn max(
        graph: &'a Graph,
        program: &'a Program,
        evidence: impl Fn(VarId) -> Vec<f64>,
    ) -> Self {
        Run::max_under(&Control::NONE, graph, program, evidence).expect("nothing stops it")
    }

    /// Computes sums of products, unless it is stopped; `evidence` gives the likelihood of each
    /// input.
    pub fn sum_under(
        control: &Control,
        graph: &'a Graph,
        program: &'a Program,
        evidence: impl Fn(VarId) -> Vec<f64>,
    ) -> Result<Self> {
        Run::with::<Sum, LogSum>(control, graph, program, evidence)
    }

    /// Computes maxima of products, unless it is stopped.
    pub fn max_under(
        control: &Control,
        graph: &'a Graph,
        program: &'a Program,
        evidence: impl Fn(VarId) -> Vec<f64>,
    ) -> Result<Self> {
        Run::with::<Max, LogMax>(control, graph, program, evidence)
    }

    fn with<C: Combine, L: Combine>(
        control: &Control,
        graph: &'a Graph,
        program: &'a Program,
        evidence: impl Fn(VarId) -> Vec<f64>,
    ) -> Result<Self> {
        let mut run = Run::load::<C>(graph, program, &evidence).under(control);
        if run.run::<C>().is_none() {
            control.check()?;
            run = Run::load::<L>(graph, program, &evidence).under(control);
            run.run::<L>().ok_or_else(|| control.interrupted())?;
        }
        Ok(run)
    }

    /// Runs it under a control.
    fn under(self, control: &Control) -> Self {
        control.begin(Stage::Running, pieces::products(self.graph, self.program));
        Run {
            control: control.clone(),
            ..self
        }
    }

    fn load<C: Combine>(
        graph: &'a Graph,
        program: &'a Program,
        evidence: impl Fn(VarId) -> Vec<f64>,
    ) -> Self {
        let mut slots: Vec<Tensor> = vec![Tensor::default(); program.sizes.len()];
        let of_rules: BTreeSet<TableId> = graph.rule_tables().collect();
        for (node, op) in graph.ops() {
            slots[node.index()] = match op {
                Op::Evidence(x) => Tensor::input::<C>(evidence(*x)),
                Op::Table(t) if !of_rules.contains(t) => {
                    Tensor::input::<C>(graph.tables()[t.index()].values.clone())
                }
                _ => continue,
            };
        }
        Run {
            graph,
            program,
            slots,
            shared: &[],
            is_log: C::IS_LOG,
            control: Control::NONE,
        }
    }

    /// Runs all steps; none if small numbers could have been lost on the way, or if it is stopped.
    fn run<C: Combine>(&mut self) -> Option<()> {
        let mut inputs = self
            .graph
            .ops()
            .filter(|(_, op)| matches!(op, Op::Evidence(_) | Op::Table(_)));
        if !self.is_log && inputs.any(|(node, _)| self.slots[node.index()].is_at_risk()) {
            return None;
        }
        if self.program.forward < self.program.steps.len() {
            let seed = Schedule::adjoint(self.graph, self.graph.output());
            self.slots[seed] = Tensor {
                data: vec![C::one(); self.program.sizes[seed]],
                exponent: 0,
            };
        }
        for step in &self.program.steps {
            if !self.is_shared(step.planned.out) {
                self.run_step::<C>(step)?;
            }
        }
        Some(())
    }

    /// Whether a tensor was computed before.
    fn is_shared(&self, slot: Slot) -> bool {
        let shared = self.shared.get(slot);
        shared.is_some_and(|shared| !shared.data.is_empty())
    }

    fn run_step<C: Combine>(&mut self, step: &Step) -> Option<()> {
        let slot = step.planned.out;
        let room = if step.planned.accumulate {
            vec![]
        } else {
            take(&mut self.slots[slot].data)
        };
        let mut out = self.step::<C>(step, room);
        if self.control.is_stopped() {
            return None;
        }
        if step.planned.rescale && !self.is_log {
            out.rescale();
        }
        if !self.is_log && out.is_at_risk() {
            return None;
        }
        if !step.planned.accumulate {
            self.slots[slot] = out;
        } else if self.is_log {
            let sums = self.slots[slot].data.iter_mut().zip(out.data);
            sums.for_each(|(sum, x)| *sum = C::plus(x, *sum));
        } else if !self.slots[slot].add(&out) {
            return None;
        }
        for &slot in &step.planned.free {
            self.slots[slot] = Tensor::default();
        }
        Some(())
    }

    /// The tensor of a slot.
    fn tensor(&self, slot: Slot) -> &Tensor {
        let own = &self.slots[slot];
        if own.data.is_empty() {
            self.shared.get(slot).unwrap_or(own)
        } else {
            own
        }
    }

    /// The value of a node.
    #[cfg(test)]
    pub fn value(&self, node: NodeId) -> &Tensor {
        &self.slots[Schedule::value(self.graph, node)]
    }

    /// The derivative of the output with respect to a node.
    #[cfg(test)]
    pub fn adjoint(&self, node: NodeId) -> &Tensor {
        &self.slots[Schedule::adjoint(self.graph, node)]
    }

    /// The logarithms of a tensor's numbers.
    fn logs(&self, slot: Slot) -> Vec<f64> {
        let Tensor { data, exponent } = self.tensor(slot);
        let shift = *exponent as f64 * std::f64::consts::LN_2;
        if self.is_log {
            data.clone()
        } else {
            data.iter().map(|x| x.ln() + shift).collect()
        }
    }

    /// The logarithm of the sum of the output's numbers.
    pub fn log_sum(&self) -> f64 {
        let output = self.tensor(Schedule::value(self.graph, self.graph.output()));
        if !self.is_log {
            return output.data.iter().sum::<f64>().ln()
                + output.exponent as f64 * std::f64::consts::LN_2;
        }
        let add = |sum: f64, x: &f64| LogSum::plus(*x, sum);
        output.data.iter().fold(f64::NEG_INFINITY, add)
    }

    /// The output's numbers, up to a common factor.
    pub fn output(&self) -> Vec<f64> {
        relative(self.output_logs())
    }

    /// The logarithms of the output's numbers.
    pub fn output_logs(&self) -> Vec<f64> {
        self.logs(Schedule::value(self.graph, self.graph.output()))
    }

    /// The numbers of an input times the derivative with respect to them, up to a common factor.
    pub fn weighted(&self, input: NodeId) -> Vec<f64> {
        let value = self.logs(Schedule::value(self.graph, input));
        let adjoint = self.logs(Schedule::adjoint(self.graph, input));
        relative(value.into_iter().zip(adjoint).map(|(v, a)| v + a).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::{Level, Objective, Query, Runs, Search, compile};
    use crate::model::Network;
    use crate::tensor::schedule::Want;

    /// 400 observations of probability 1e-6 each. Logarithms would be right, too, but are slow.
    #[test]
    fn circuits_rescale_so_that_many_small_numbers_need_no_logarithms() {
        let mut b = Network::builder("naive");
        let class = b.variable("class", ["a", "b"]);
        b.table(class, [], [0.5, 0.5]);
        for i in 0..400 {
            let x = b.variable(format!("x{i}"), ["on", "off"]);
            b.table(x, [class], [1e-6, 1.0 - 1e-6, 1.5e-6, 1.0 - 1.5e-6]);
        }
        let net = b.build().unwrap();
        let question = Query::of("class").given(["x*"]).question(&net).unwrap();
        let expected = 0.5f64.ln() + 400.0 * 1.5e-6f64.ln();
        for level in Level::names().map(|name| name.parse().unwrap()) {
            let search = Search {
                level,
                objective: Objective::Time,
                seed: 0,
                effort: 0.0,
                runs: Runs::Many,
                control: Default::default(),
            };
            let graph = compile(net.model(), &question, &search).unwrap().graph;
            let program = Program::new(&graph, &Schedule::new(&graph, &Want::Output));
            let run = Run::sum(&graph, &program, |_| vec![1.0, 0.0]);
            // The numbers of a layer share an exponent, however far apart they are.
            assert!(!run.is_log || level == Level::Compiled, "{level}");
            assert!(
                (run.log_sum() - expected).abs() < 1e-9,
                "{level}: {}",
                run.log_sum()
            );
        }
    }
}
