//! Runs programs.
//!
//! A tensor is numbers and an exponent that they share: its value is `data` · 2^`exponent`.
//! Rescaling moves a power of two from one to the other, which is exact, so ln P(e) is exact as
//! well, however small P(e) is.
//!
//! Numbers of one tensor may differ so much that the small ones would be lost, and may be the ones
//! that count in the end. A run in which that could happen is repeated with logarithms.

pub(crate) mod gather;
pub(crate) mod kernel;
mod maxima;
mod select;
mod trace;

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;

use crate::tensor::careful::kernel::{
    LogMaxProduct, LogSumProduct, MaxProduct, Semiring, SumProduct, join,
};
use crate::tensor::graph::{Graph, NodeId, Op, TableId};
use crate::tensor::layout::{Program, Step};
use crate::tensor::schedule::{Guide, Planned, Schedule, Slot};
use crate::vars::VarId;

pub(crate) use crate::tensor::careful::maxima::Maxima;
pub(crate) use crate::tensor::careful::trace::Numbers;

/// Numbers, in the order of a slot's axes, times a power of two.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tensor {
    pub data: Vec<f64>,
    pub exponent: i64,
}

/// Numbers whose largest is within 2^±100 are not rescaled: a product of two is far from underflow.
const CALM: i64 = 100;

/// Numbers that are not small beside one, see `is_at_risk`, are numbers when they are divided by 2
/// to this power.
const FAR: i64 = 500;

impl Tensor {
    /// Moves a power of two to the exponent, unless the largest number is near one.
    fn rescale(&mut self) {
        let largest = largest(&self.data);
        let shift = exponent_of(largest);
        if largest == 0.0 || (-CALM..=CALM).contains(&shift) {
            return;
        }
        // In two halves: 2^-shift itself may not be a number.
        let (half, rest) = (power_of_two(-shift / 2), power_of_two(-shift - -shift / 2));
        self.data.iter_mut().for_each(|x| *x = *x * half * rest);
        self.exponent += shift;
    }

    /// Numbers that are given.
    fn input<S: Semiring>(data: Vec<f64>) -> Self {
        let mut tensor = Tensor {
            data: data.into_iter().map(S::of).collect(),
            exponent: 0,
        };
        if !S::IS_LOG {
            tensor.rescale();
        }
        tensor
    }

    /// Whether a product of two such numbers could be too small to be told from zero.
    fn is_at_risk(&self) -> bool {
        const SMALL: f64 = 1e-150;
        self.data.iter().any(|&x| x > 0.0 && x < SMALL)
    }

    /// Adds a tensor of the same shape; whether no number of either could have been lost beside
    /// those of the other.
    fn add(&mut self, other: &Tensor) -> bool {
        if other.is_zero() {
            return true; // whatever its exponent is
        }
        if self.is_zero() {
            self.data.copy_from_slice(&other.data);
            self.exponent = other.exponent;
            return true;
        }
        let distance = self.exponent - other.exponent;
        let factor = power_of_two(-distance.abs());
        let numbers = self.data.iter_mut().zip(&other.data);
        match distance >= 0 {
            true => numbers.for_each(|(x, y)| *x += y * factor),
            false => numbers.for_each(|(x, y)| *x = y + *x * factor),
        }
        self.exponent = self.exponent.max(other.exponent);
        distance.abs() <= FAR
    }

    fn is_zero(&self) -> bool {
        self.data.iter().all(|&x| x == 0.0)
    }

    /// The smallest positive number, infinite if there is none, and the largest, zero if there is
    /// none.
    pub fn range(&self) -> (f64, f64) {
        let (mut lows, mut highs) = ([f64::INFINITY; LANES], [0.0; LANES]);
        in_lanes(&self.data, |lane, x| {
            lows[lane] = if x > 0.0 && x < lows[lane] {
                x
            } else {
                lows[lane]
            };
            highs[lane] = if x > highs[lane] { x } else { highs[lane] };
        });
        (
            lows.into_iter().fold(f64::INFINITY, f64::min),
            highs.into_iter().fold(0.0, f64::max),
        )
    }
}

/// So many numbers are compared at once.
const LANES: usize = 8;

/// Visits all numbers, in lanes that do not wait for each other.
#[inline(always)]
fn in_lanes(numbers: &[f64], mut visit: impl FnMut(usize, f64)) {
    let blocks = numbers.chunks_exact(LANES);
    let rest = blocks.remainder();
    blocks.for_each(|block| (0..LANES).for_each(|lane| visit(lane, block[lane])));
    rest.iter()
        .enumerate()
        .for_each(|(lane, &x)| visit(lane, x));
}

/// The largest of some numbers, whatever their signs.
fn largest(numbers: &[f64]) -> f64 {
    let mut largest = [0.0; LANES];
    in_lanes(numbers, |lane, x| {
        largest[lane] = if x.abs() > largest[lane] {
            x.abs()
        } else {
            largest[lane]
        }
    });
    largest.into_iter().fold(0.0, f64::max)
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
    /// Tensors that were computed before, and are no slots of this run; empty if there are none.
    shared: &'a [Tensor],
    /// Whether the numbers are logarithms.
    is_log: bool,
}

/// The tensors that do not depend on evidence, in the memory of those of another run; all others
/// are empty.
pub(crate) fn shared<S: Semiring>(
    graph: &Graph,
    program: &Program,
    varies: &[bool],
    mut before: Vec<Tensor>,
) -> Vec<Tensor> {
    let mut run = Run::load::<S>(graph, program, |_| vec![]);
    before.resize_with(program.sizes.len(), Tensor::default);
    for step in &program.steps[..program.forward] {
        if !varies[step.planned.out] {
            let mut out = run.contract::<S>(step, take(&mut before[step.planned.out].data));
            if !S::IS_LOG {
                out.rescale();
            }
            run.slots[step.planned.out] = out;
        }
    }
    run.slots
}

/// The derivatives with respect to tensors that do not depend on evidence, from those with respect
/// to the ones that examples read.
pub(crate) fn differentiate_shared(
    graph: &Graph,
    program: &Program,
    varies: &[bool],
    shared: &[Tensor],
    read: impl Iterator<Item = (Slot, Tensor)>,
    spare: &mut Spare,
) -> Vec<Tensor> {
    let mut run = Run {
        graph,
        program,
        slots: vec![Tensor::default(); shared.len()],
        shared,
        is_log: false,
    };
    read.for_each(|(slot, adjoint)| run.slots[slot] = adjoint);
    for step in &program.steps[program.forward..] {
        let Planned {
            a, b, out, free, ..
        } = &step.planned;
        if varies[a - graph.len()] || b.is_some_and(|b| varies[b]) || run.slots[*a].data.is_empty()
        {
            continue;
        }
        let mut found = run.contract::<SumProduct>(step, spare.take(program.sizes[*out]));
        found.rescale();
        match run.slots[*out].data.is_empty() {
            true => run.slots[*out] = found,
            false => {
                run.slots[*out].add(&found);
                spare.give(found.data);
            }
        }
        free.iter()
            .for_each(|&slot| spare.give(take(&mut run.slots[slot].data)));
    }
    run.slots
}

/// Memory that is used again: asking for new pages takes longer than filling them.
#[derive(Debug, Default)]
pub(crate) struct Spare {
    /// Whatever was in them, by how much they can hold.
    rooms: BTreeMap<usize, Vec<Vec<f64>>>,
}

impl Spare {
    /// Room for so many numbers.
    pub fn take(&mut self, numbers: usize) -> Vec<f64> {
        let fitting = self
            .rooms
            .range_mut(numbers..=numbers.saturating_mul(2))
            .find(|(_, rooms)| !rooms.is_empty());
        fitting
            .and_then(|(_, rooms)| rooms.pop())
            .unwrap_or_else(|| Vec::with_capacity(numbers))
    }

    /// So many zeros.
    pub fn zeros(&mut self, numbers: usize) -> Vec<f64> {
        let mut zeros = self.take(numbers);
        zeros.clear();
        zeros.resize(numbers, 0.0);
        zeros
    }

    pub fn give(&mut self, room: Vec<f64>) {
        if room.capacity() > 0 {
            self.rooms.entry(room.capacity()).or_default().push(room);
        }
    }
}

/// Numbers with these logarithms, the largest of them one.
fn relative(logs: Vec<f64>) -> Vec<f64> {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logs.into_iter().map(|x| (x - largest).exp()).collect()
}

impl<'a> Run<'a> {
    /// Computes sums of products; `evidence` gives the likelihood of each input.
    pub fn sum(
        graph: &'a Graph,
        program: &'a Program,
        evidence: impl Fn(VarId) -> Vec<f64>,
    ) -> Self {
        Run::with::<SumProduct, LogSumProduct>(graph, program, evidence)
    }

    /// Computes maxima of products.
    pub fn max(
        graph: &'a Graph,
        program: &'a Program,
        evidence: impl Fn(VarId) -> Vec<f64>,
    ) -> Self {
        Run::with::<MaxProduct, LogMaxProduct>(graph, program, evidence)
    }

    fn with<S: Semiring, L: Semiring>(
        graph: &'a Graph,
        program: &'a Program,
        evidence: impl Fn(VarId) -> Vec<f64>,
    ) -> Self {
        let mut run = Run::load::<S>(graph, program, &evidence);
        if run.run::<S>().is_none() {
            run = Run::load::<L>(graph, program, &evidence);
            run.run::<L>();
        }
        run
    }

    fn load<S: Semiring>(
        graph: &'a Graph,
        program: &'a Program,
        evidence: impl Fn(VarId) -> Vec<f64>,
    ) -> Self {
        let mut slots: Vec<Tensor> = vec![Tensor::default(); program.sizes.len()];
        let of_rules: BTreeSet<TableId> = graph.rule_tables().collect();
        for (node, op) in graph.ops() {
            slots[node.index()] = match op {
                Op::Evidence(x) => Tensor::input::<S>(evidence(*x)),
                Op::Table(t) if !of_rules.contains(t) => {
                    Tensor::input::<S>(graph.tables()[t.index()].values.clone())
                }
                _ => continue,
            };
        }
        Run {
            graph,
            program,
            slots,
            shared: &[],
            is_log: S::IS_LOG,
        }
    }

    /// Runs all steps; none if small numbers could have been lost on the way.
    fn run<S: Semiring>(&mut self) -> Option<()> {
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
                data: vec![S::ONE; self.program.sizes[seed]],
                exponent: 0,
            };
        }
        for step in &self.program.steps {
            if self
                .shared
                .get(step.planned.out)
                .is_some_and(|shared| !shared.data.is_empty())
            {
                continue;
            }
            let room = if step.planned.accumulate {
                vec![]
            } else {
                take(&mut self.slots[step.planned.out].data)
            };
            let mut out = self.contract::<S>(step, room);
            if step.planned.rescale && !self.is_log {
                out.rescale();
            }
            if !self.is_log && out.is_at_risk() {
                return None;
            }
            match step.planned.accumulate {
                true if self.is_log => {
                    let sums = &mut self.slots[step.planned.out].data;
                    sums.iter_mut()
                        .zip(out.data)
                        .for_each(|(sum, x)| S::add(sum, x));
                }
                true => {
                    if !self.slots[step.planned.out].add(&out) {
                        return None;
                    }
                }
                false => self.slots[step.planned.out] = out,
            }
            step.planned
                .free
                .iter()
                .for_each(|&slot| self.slots[slot] = Tensor::default());
        }
        Some(())
    }

    /// What a step computes, in memory that may have been used before.
    fn contract<S: Semiring>(&self, step: &Step, mut data: Vec<f64>) -> Tensor {
        match step.planned.guide {
            Guide::Select => return self.select::<S>(&step.planned),
            Guide::Unselect(k) => return self.unselect(&step.planned, k),
            _ => {}
        }
        let a = self.tensor(step.planned.a);
        let (b, b_exponent) = step.planned.b.map_or((&[S::ONE][..], 0), |b| {
            let b = self.tensor(b);
            (&b.data, b.exponent)
        });
        data.clear();
        data.resize(self.program.sizes[step.planned.out], S::ZERO);
        match step.planned.guide {
            Guide::Axes => step.nest.run::<S>(&a.data, b, &mut data),
            Guide::List(list, to) => {
                join::<S>(
                    to.roles(&self.graph.lists()[list.index()]),
                    &a.data,
                    b,
                    &mut data,
                );
            }
            Guide::Gather(map) | Guide::Scatter(map) => {
                let index = &self.graph.maps()[map.index()].index;
                step.walk.each(index, |from, to| {
                    step.nest.run::<S>(&a.data[from..], b, &mut data[to..])
                });
            }
            Guide::Select | Guide::Unselect(_) => {
                unreachable!("selections are no sums of products")
            }
        }
        Tensor {
            data,
            exponent: a.exponent + b_exponent,
        }
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
        let mut sum = f64::NEG_INFINITY;
        output
            .data
            .iter()
            .for_each(|&x| LogSumProduct::add(&mut sum, x));
        sum
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

    #[test]
    fn rescaling_keeps_the_value_and_brings_the_largest_number_near_one() {
        for largest in [1e-300, 5e-324, 1e300, 3e-310] {
            let mut t = Tensor {
                data: vec![largest, largest / 4.0, 0.0],
                exponent: 7,
            };
            t.rescale();
            assert!(
                (0.5..4.0).contains(&t.data[0]),
                "{largest} became {}",
                t.data[0]
            );
            let back = t.data[0].ln() + (t.exponent - 7) as f64 * 2f64.ln();
            assert!((back - largest.ln()).abs() < 1e-12 * largest.ln().abs());
        }
    }

    #[test]
    fn tensors_with_different_exponents_add_up() {
        let mut t = Tensor {
            data: vec![1.0],
            exponent: -3,
        };
        t.add(&Tensor {
            data: vec![1.0],
            exponent: 2,
        });
        assert_eq!(t.data[0] * 2f64.powi(t.exponent as i32), 4.125);
    }

    #[test]
    fn ranges_are_of_positive_numbers() {
        for n in [1, 7, 8, 9, 30] {
            let t = Tensor {
                data: (0..n).map(|i| f64::from(i - 2) / 4.0).collect(),
                exponent: 0,
            };
            let positive = || t.data.iter().copied().filter(|&x| x > 0.0);
            assert_eq!(
                t.range(),
                (
                    positive().fold(f64::INFINITY, f64::min),
                    positive().fold(0.0, f64::max)
                ),
                "{n}"
            );
        }
    }

    #[test]
    fn memory_is_used_again_where_it_fits() {
        let mut spare = Spare::default();
        spare.give(vec![1.0; 100]);
        assert_eq!(
            spare.zeros(10).capacity(),
            10,
            "a hundred is too much for ten"
        );
        let zeros = spare.zeros(60);
        assert_eq!((zeros.capacity(), zeros), (100, vec![0.0; 60]));
        assert_eq!(spare.take(60).capacity(), 60, "it is in use");
    }

    /// The exponent of zeros means nothing; numbers that are too far apart are noticed.
    #[test]
    fn small_numbers_are_not_lost_beside_zeros_with_a_large_exponent() {
        let tensor = |x: f64, exponent: i64| Tensor {
            data: vec![x, 0.0],
            exponent,
        };
        for (mut t, other) in [
            (tensor(0.0, 7), tensor(1.0, -3000)),
            (tensor(1.0, -3000), tensor(0.0, 7)),
        ] {
            assert!(t.add(&other));
            assert_eq!((t.data[0], t.exponent), (1.0, -3000));
        }
        assert!(tensor(1.0, 0).add(&tensor(1.0, -FAR)));
        assert!(!tensor(1.0, 0).add(&tensor(1.0, -3000)));
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
            let search = Search {
                level,
                objective: Objective::Time,
                seed: 0,
                effort: 0.0,
                runs: Runs::Many,
            };
            let graph = compile(net.model(), &question, &search).unwrap().graph;
            let program = Program::new(&graph, &Schedule::new(&graph, &Want::Output));
            let run = Run::sum(&graph, &program, |_| vec![1.0, 0.0]);
            assert!(!run.is_log, "{level}");
            assert!(
                (run.log_sum() - expected).abs() < 1e-9,
                "{level}: {}",
                run.log_sum()
            );
        }
    }
}
