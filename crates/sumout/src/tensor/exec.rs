//! Runs programs.
//!
//! A tensor is numbers and an exponent that they share: its value is `data` · 2^`exponent`. Rescaling moves
//! a power of two from one to the other, which is exact, so ln P(e) is exact as well, however small P(e) is.

use super::graph::{Graph, NodeId, Op};
use super::kernel::{MaxProduct, Semiring, SumProduct};
use super::layout::{Program, Step};
use super::schedule::{Schedule, Slot};
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
        let largest = self.data.iter().copied().fold(0.0, f64::max);
        let shift = exponent_of(largest);
        if largest == 0.0 || (-CALM..=CALM).contains(&shift) {
            return;
        }
        // In two halves: 2^-shift itself may not be a number.
        let (half, rest) = (power_of_two(-shift / 2), power_of_two(-shift - -shift / 2));
        self.data.iter_mut().for_each(|x| *x = *x * half * rest);
        self.exponent += shift;
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
}

impl<'a> Run<'a> {
    /// Computes sums of products; `evidence` gives the likelihood of each input.
    pub fn sum(graph: &'a Graph, program: &'a Program, evidence: impl Fn(VarId) -> Vec<f64>) -> Self {
        let mut run = Run::load(graph, program, evidence);
        run.run::<SumProduct>();
        run
    }

    /// Computes maxima of products.
    pub fn max(graph: &'a Graph, program: &'a Program, evidence: impl Fn(VarId) -> Vec<f64>) -> Self {
        let mut run = Run::load(graph, program, evidence);
        run.run::<MaxProduct>();
        run
    }

    fn load(graph: &'a Graph, program: &'a Program, evidence: impl Fn(VarId) -> Vec<f64>) -> Self {
        let mut slots: Vec<Tensor> = vec![Tensor::default(); program.sizes.len()];
        for (node, op) in graph.ops() {
            let data = match op {
                Op::Evidence(x) => evidence(*x),
                Op::Table(t) => graph.tables()[t.index()].values.clone(),
                Op::Contract(..) | Op::Project(..) | Op::Rescale(_) => continue,
            };
            slots[node.index()] = Tensor { data, exponent: 0 };
            slots[node.index()].rescale();
        }
        Run { graph, program, slots }
    }

    fn run<S: Semiring>(&mut self) {
        if self.program.forward < self.program.steps.len() {
            let seed = Schedule::adjoint(self.graph, self.graph.output());
            self.slots[seed] = Tensor { data: vec![1.0; self.program.sizes[seed]], exponent: 0 };
        }
        for step in &self.program.steps {
            let mut out = self.contract::<S>(step);
            if step.planned.rescale {
                out.rescale();
            }
            if step.planned.accumulate {
                self.slots[step.planned.out].add(out);
            } else {
                self.slots[step.planned.out] = out;
            }
            step.planned.free.iter().for_each(|&slot| self.slots[slot] = Tensor::default());
        }
    }

    fn contract<S: Semiring>(&self, step: &Step) -> Tensor {
        let unit = Tensor { data: vec![1.0], exponent: 0 };
        let a = &self.slots[step.planned.a];
        let b = step.planned.b.map_or(&unit, |b| &self.slots[b]);
        let mut data = vec![0.0; self.program.sizes[step.planned.out]];
        step.nest.run::<S>(&a.data, &b.data, &mut data);
        Tensor { data, exponent: a.exponent + b.exponent }
    }

    /// The value of a node.
    pub fn value(&self, node: NodeId) -> &Tensor {
        &self.slots[Schedule::value(self.graph, node)]
    }

    /// The derivative of the output with respect to a node; empty if the output does not depend on it.
    pub fn adjoint(&self, node: NodeId) -> &Tensor {
        &self.slots[Schedule::adjoint(self.graph, node)]
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
        let unit = [1.0];
        let (a, b) = (step.planned.a, step.planned.b);
        let (a_data, b_data) = (&self.slots[a].data, b.map_or(&unit[..], |b| &self.slots[b].data));
        let out = self.graph.axes(NodeId::new(step.planned.out));
        let start = (self.offset(a, out, states), b.map_or(0, |b| self.offset(b, out, states)));
        let mut best = (-1.0, start);
        step.nest.visit_summed(start, &mut |x, y| {
            let product = a_data[x] * b_data[y];
            if product > best.0 {
                best = (product, (x, y));
            }
        });
        self.decide(a, best.1.0, states);
        b.into_iter().for_each(|b| self.decide(b, best.1.1, states));
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
}
