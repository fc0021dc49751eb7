//! Runs programs.
//!
//! A tensor is numbers and an exponent that they share: its value is `data` · 2^`exponent`. Rescaling moves
//! a power of two from one to the other, which is exact, so ln P(e) is exact as well, however small P(e) is.
//!
//! Numbers of one tensor may differ so much that the small ones would be lost, and may be the ones that count in
//! the end. A run in which that could happen is repeated with logarithms.

use super::graph::{Graph, List, Map, NodeId, Op};
use super::kernel::{LogMaxProduct, LogSumProduct, MaxProduct, Semiring, SumProduct, join};
use super::layout::{Program, Step};
use super::schedule::{Guide, Planned, Schedule, Slot};
use crate::vars::{VarId, VarSet};

/// Numbers, in the order of a slot's axes, times a power of two.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tensor {
    pub data: Vec<f64>,
    pub exponent: i64,
}

/// Numbers whose largest is within 2^±100 are not rescaled: a product of two is far from underflow.
const CALM: i64 = 100;

impl Tensor {
    /// Moves a power of two to the exponent, unless the largest number is near one.
    fn rescale(&mut self) {
        let largest = self.data.iter().copied().map(f64::abs).fold(0.0, f64::max);
        let shift = exponent_of(largest);
        if largest == 0.0 || (-CALM..=CALM).contains(&shift) {
            return;
        }
        // In two halves: 2^-shift itself may not be a number.
        let (half, rest) = (power_of_two(-shift / 2), power_of_two(-shift - -shift / 2));
        self.data.iter_mut().for_each(|x| *x = *x * half * rest);
        self.exponent += shift;
    }

    /// Whether a product of two such numbers could be too small to be told from zero.
    fn is_at_risk(&self) -> bool {
        const SMALL: f64 = 1e-150;
        self.data.iter().any(|&x| x > 0.0 && x < SMALL)
    }

    /// Adds a tensor of the same shape.
    fn add(&mut self, other: Tensor) {
        let (high, low) = if self.exponent >= other.exponent { (&*self, &other) } else { (&other, &*self) };
        let factor = power_of_two((low.exponent - high.exponent).max(-2000));
        let data = high.data.iter().zip(&low.data).map(|(x, y)| x + y * factor).collect();
        *self = Tensor { data, exponent: high.exponent };
    }
}

/// The e for which x is in [2^e, 2^(e+1)); of a subnormal number, close to it.
fn exponent_of(x: f64) -> i64 {
    if x < f64::MIN_POSITIVE {
        return -1022 - (x.to_bits() << 12).leading_zeros() as i64 - 1;
    }
    (x.to_bits() >> 52) as i64 - 1023
}

/// 2^e, zero if that is too small for a number.
fn power_of_two(e: i64) -> f64 {
    2f64.powi(e.clamp(-2000, 1023) as i32)
}

/// The tensors of one run of a program.
pub(crate) struct Run<'a> {
    graph: &'a Graph,
    program: &'a Program,
    slots: Vec<Tensor>,
    /// Whether the numbers are logarithms.
    is_log: bool,
}

/// The tensors that do not depend on evidence; all others are empty.
pub(crate) fn shared(graph: &Graph, program: &Program, varies: &[bool]) -> Vec<Tensor> {
    let mut run = Run::load::<SumProduct>(graph, program, |_| vec![], false);
    for step in &program.steps[..program.forward] {
        if !varies[step.planned.out] {
            let mut out = run.contract::<SumProduct>(step);
            out.rescale();
            run.slots[step.planned.out] = out;
        }
    }
    run.slots
}

/// The derivatives with respect to tensors that do not depend on evidence, from those with respect to the ones that
/// examples read.
pub(crate) fn differentiate_shared(
    graph: &Graph,
    program: &Program,
    varies: &[bool],
    shared: &[Tensor],
    read: impl Iterator<Item = (Slot, Tensor)>,
) -> Vec<Tensor> {
    let mut run = Run { graph, program, slots: shared.to_vec(), is_log: false };
    read.for_each(|(slot, adjoint)| run.slots[slot] = adjoint);
    for step in &program.steps[program.forward..] {
        let Planned { a, b, out, .. } = step.planned;
        if varies[a - graph.len()] || b.is_some_and(|b| varies[b]) || run.slots[a].data.is_empty() {
            continue;
        }
        let mut found = run.contract::<SumProduct>(step);
        found.rescale();
        match run.slots[out].data.is_empty() {
            true => run.slots[out] = found,
            false => run.slots[out].add(found),
        }
    }
    run.slots
}

/// Numbers with these logarithms, the largest of them one.
fn relative(logs: Vec<f64>) -> Vec<f64> {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logs.into_iter().map(|x| (x - largest).exp()).collect()
}

impl<'a> Run<'a> {
    /// Computes sums of products; `evidence` gives the likelihood of each input.
    pub fn sum(graph: &'a Graph, program: &'a Program, evidence: impl Fn(VarId) -> Vec<f64>) -> Self {
        Run::with::<SumProduct, LogSumProduct>(graph, program, evidence)
    }

    /// Computes maxima of products.
    pub fn max(graph: &'a Graph, program: &'a Program, evidence: impl Fn(VarId) -> Vec<f64>) -> Self {
        Run::with::<MaxProduct, LogMaxProduct>(graph, program, evidence)
    }

    fn with<S: Semiring, L: Semiring>(
        graph: &'a Graph,
        program: &'a Program,
        evidence: impl Fn(VarId) -> Vec<f64>,
    ) -> Self {
        let mut run = Run::load::<S>(graph, program, &evidence, false);
        if run.run::<S>().is_none() {
            run = Run::load::<L>(graph, program, &evidence, true);
            run.run::<L>();
        }
        run
    }

    fn load<S: Semiring>(
        graph: &'a Graph,
        program: &'a Program,
        evidence: impl Fn(VarId) -> Vec<f64>,
        is_log: bool,
    ) -> Self {
        let mut slots: Vec<Tensor> = vec![Tensor::default(); program.sizes.len()];
        for (node, op) in graph.ops() {
            let data = match op {
                Op::Evidence(x) => evidence(*x),
                Op::Table(t) => graph.tables()[t.index()].values.clone(),
                Op::Contract(..) | Op::Project(..) | Op::Join(..) | Op::Gather(..) | Op::Rescale(_) => continue,
            };
            slots[node.index()] = Tensor { data: data.into_iter().map(S::of).collect(), exponent: 0 };
            if !is_log {
                slots[node.index()].rescale();
            }
        }
        Run { graph, program, slots, is_log }
    }

    /// Runs all steps; none if small numbers could have been lost on the way.
    fn run<S: Semiring>(&mut self) -> Option<()> {
        if !self.is_log && self.slots.iter().any(Tensor::is_at_risk) {
            return None;
        }
        if self.program.forward < self.program.steps.len() {
            let seed = Schedule::adjoint(self.graph, self.graph.output());
            self.slots[seed] = Tensor { data: vec![S::ONE; self.program.sizes[seed]], exponent: 0 };
        }
        for step in &self.program.steps {
            let mut out = self.contract::<S>(step);
            if step.planned.rescale && !self.is_log {
                out.rescale();
            }
            if !self.is_log && out.is_at_risk() {
                return None;
            }
            match step.planned.accumulate {
                true if self.is_log => {
                    let sums = &mut self.slots[step.planned.out].data;
                    sums.iter_mut().zip(out.data).for_each(|(sum, x)| S::add(sum, x));
                }
                true => self.slots[step.planned.out].add(out),
                false => self.slots[step.planned.out] = out,
            }
            step.planned.free.iter().for_each(|&slot| self.slots[slot] = Tensor::default());
        }
        Some(())
    }

    fn contract<S: Semiring>(&self, step: &Step) -> Tensor {
        let unit = Tensor { data: vec![S::ONE], exponent: 0 };
        let a = &self.slots[step.planned.a];
        let b = step.planned.b.map_or(&unit, |b| &self.slots[b]);
        let mut data = vec![S::ZERO; self.program.sizes[step.planned.out]];
        match step.planned.guide {
            Guide::Axes => step.nest.run::<S>(&a.data, &b.data, &mut data),
            Guide::List(list, to) => {
                join::<S>(to.roles(&self.graph.lists()[list.index()]), &a.data, &b.data, &mut data);
            }
            Guide::Gather(map) | Guide::Scatter(map) => {
                let index = &self.graph.maps()[map.index()].index;
                step.walk.each(index, |from, to| step.nest.run::<S>(&a.data[from..], &b.data, &mut data[to..]));
            }
        }
        Tensor { data, exponent: a.exponent + b.exponent }
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
        let Tensor { data, exponent } = &self.slots[slot];
        let shift = *exponent as f64 * std::f64::consts::LN_2;
        if self.is_log { data.clone() } else { data.iter().map(|x| x.ln() + shift).collect() }
    }

    /// The logarithm of the sum of the output's numbers.
    pub fn log_sum(&self) -> f64 {
        let output = &self.slots[Schedule::value(self.graph, self.graph.output())];
        if !self.is_log {
            return output.data.iter().sum::<f64>().ln() + output.exponent as f64 * std::f64::consts::LN_2;
        }
        let mut sum = f64::NEG_INFINITY;
        output.data.iter().for_each(|&x| LogSumProduct::add(&mut sum, x));
        sum
    }

    /// The output's numbers, up to a common factor.
    pub fn output(&self) -> Vec<f64> {
        relative(self.logs(Schedule::value(self.graph, self.graph.output())))
    }

    /// The numbers of an input times the derivative with respect to them, up to a common factor.
    pub fn weighted(&self, input: NodeId) -> Vec<f64> {
        let value = self.logs(Schedule::value(self.graph, input));
        let adjoint = self.logs(Schedule::adjoint(self.graph, input));
        relative(value.into_iter().zip(adjoint).map(|(v, a)| v + a).collect())
    }

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
        let (a_data, b_data) = (&self.slots[a].data, b.map_or(&unit[..], |b| &self.slots[b].data));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::{Level, Objective, Query, Search, compile};
    use crate::model::Network;
    use crate::tensor::schedule::Want;

    #[test]
    fn rescaling_keeps_the_value_and_brings_the_largest_number_near_one() {
        for largest in [1e-300, 5e-324, 1e300, 3e-310] {
            let mut t = Tensor { data: vec![largest, largest / 4.0, 0.0], exponent: 7 };
            t.rescale();
            assert!((0.5..4.0).contains(&t.data[0]), "{largest} became {}", t.data[0]);
            let back = t.data[0].ln() + (t.exponent - 7) as f64 * 2f64.ln();
            assert!((back - largest.ln()).abs() < 1e-12 * largest.ln().abs());
        }
    }

    #[test]
    fn tensors_with_different_exponents_add_up() {
        let mut t = Tensor { data: vec![1.0], exponent: -3 };
        t.add(Tensor { data: vec![1.0], exponent: 2 });
        assert_eq!(t.data[0] * 2f64.powi(t.exponent as i32), 4.125);
    }

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
            let search = Search { level, objective: Objective::Time, seed: 0, effort: 0.0, thorough: true };
            let graph = compile(&net, &question, &search).unwrap().graph;
            let program = Program::new(&graph, &Schedule::new(&graph, &Want::Output));
            let run = Run::sum(&graph, &program, |_| vec![1.0, 0.0]);
            assert!(!run.is_log, "{level}");
            assert!((run.log_sum() - expected).abs() < 1e-9, "{level}: {}", run.log_sum());
        }
    }
}
