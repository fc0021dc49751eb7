//! One block of examples, forward and backward.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::tensor::careful::Numbers;
use crate::tensor::fast::Engine;
use crate::tensor::fast::bounds;
use crate::tensor::fast::bounds::{BOUNDS, Known};
use crate::tensor::fast::lanes::{Form, MOST, Move, Operands};
use crate::tensor::fast::number::Number;
use crate::tensor::fast::program::{BlockStep, Loops, Place};
use crate::tensor::fast::select::Unselected;
use crate::tensor::fast::simd;
use crate::tensor::fast::simd::Isa;
use crate::tensor::graph::TableId;
use crate::tensor::schedule::Slot;
use crate::vars::VarId;

/// What runs the loops of a step.
type Kernel<T> = fn(Isa, &Loops, &Form, &mut Operands<'_, T>);

/// Runs blocks, one at a time. Its memory goes back to the engine for the next worker.
pub(crate) struct Worker<'e, T: Number> {
    pub(super) engine: &'e Engine<T>,
    isa: Isa,
    pub(super) memory: Memory<T>,
    /// Set when nobody wants the answer any more.
    stop: Option<&'e AtomicBool>,
}

/// The tensors of a block.
#[derive(Debug, Default)]
pub(super) struct Memory<T> {
    arena: Vec<T>,
    /// Where the arena's first cache line begins.
    start: usize,
    /// The exponent of each tensor for each example.
    pub(super) exponents: Vec<i32>,
    /// By how much each tensor's last step was rescaled, for each example.
    pub(super) shifts: Vec<i32>,
    /// The bounds of each tensor; the last row is that of the step that runs.
    bounds: Vec<T>,
    /// A number for each example.
    factors: Vec<T>,
    /// What examples add up to.
    pub(super) sums: Vec<Vec<T>>,
    lost: Vec<bool>,
    /// The derivatives of the selection that was last gone through.
    pub(super) unselected: Option<Unselected>,
    /// Inputs with numbers other than zero and one.
    measured: Vec<Place>,
}

impl<T: Number> Memory<T> {
    fn new(engine: &Engine<T>) -> Self {
        let (lanes, tensors) = (engine.lanes(), engine.program.tensors);
        let arena = vec![T::ZERO; engine.program.arena * lanes + T::LANES];
        let start = arena
            .as_ptr()
            .align_offset(T::LANES * size_of::<T>())
            .min(T::LANES);
        let mut memory = Memory {
            arena,
            start,
            exponents: vec![0; tensors * lanes],
            shifts: vec![0; tensors * lanes],
            bounds: vec![T::ZERO; (tensors + 1) * BOUNDS * lanes],
            factors: vec![T::ZERO; lanes],
            sums: engine
                .program
                .sums
                .iter()
                .map(|(_, entries)| vec![T::ZERO; *entries])
                .collect(),
            lost: vec![false; lanes],
            unselected: None,
            measured: vec![],
        };
        engine
            .inputs
            .iter()
            .flatten()
            .for_each(|(place, _)| memory.expect(*place, lanes));
        memory
    }

    /// An input has zeros and ones, unless it is measured.
    fn expect(&mut self, place: Place, lanes: usize) {
        let Place::Block { slot, entries, .. } = place else {
            return;
        };
        self.exponents[slot * lanes..][..lanes].fill(0);
        let row = self.bounds[slot * BOUNDS * lanes..][..BOUNDS * lanes].chunks_exact_mut(lanes);
        row.zip(bounds::indicators(entries))
            .for_each(|(row, x)| row.fill(x));
    }
}

impl<T: Number> Drop for Worker<'_, T> {
    fn drop(&mut self) {
        self.engine.give(std::mem::take(&mut self.memory));
    }
}

impl<'e, T: Number> Worker<'e, T> {
    pub(super) fn new(engine: &'e Engine<T>, idle: Option<Memory<T>>) -> Self {
        let memory = idle.unwrap_or_else(|| Memory::new(engine));
        Worker {
            engine,
            isa: Isa::detect(),
            memory,
            stop: None,
        }
    }

    /// Lets others stop it between two steps; what it has computed is then of no use.
    pub fn stopped_by(mut self, stop: Option<&'e AtomicBool>) -> Self {
        self.stop = stop;
        self
    }

    /// Whether it was told to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// The number of examples.
    pub fn lanes(&self) -> usize {
        self.engine.lanes()
    }

    /// The likelihood of a variable, to be filled in: value by value, for all examples of the
    /// block.
    pub fn evidence(&mut self, var: VarId) -> Option<&mut [T]> {
        let (place, _) = self.engine.input(var)?;
        Some(self.block_mut(place))
    }

    /// Fills in the likelihood of a variable by the values that examples have, negative where
    /// nothing is known. Examples that are not there get ones.
    pub fn indicate(&mut self, var: VarId, domain: &[usize], values: &[i8]) {
        let (isa, lanes) = (self.isa, self.lanes());
        if let Some(to) = self.evidence(var) {
            simd::indicate(isa, domain, values, to, lanes);
        }
    }

    /// The likelihood of a variable.
    pub fn evidence_of(&self, var: VarId) -> Option<&[T]> {
        self.engine.input(var).map(|(place, _)| self.block(place))
    }

    /// Begins a block: nothing is lost yet.
    pub fn begin(&mut self) {
        self.memory.lost.fill(self.engine.is_fragile);
        std::mem::take(&mut self.memory.measured)
            .into_iter()
            .for_each(|place| self.memory.expect(place, self.lanes()));
    }

    /// Says that a variable has likelihoods other than zero and one.
    pub fn measure_evidence(&mut self, var: VarId) {
        self.memory
            .measured
            .extend(self.engine.input(var).map(|(place, _)| place));
    }

    /// Says by which power of two an example's likelihood of a variable was divided.
    pub fn scale_evidence(&mut self, var: VarId, lane: usize, exponent: i32) {
        let lanes = self.lanes();
        if let Some((Place::Block { slot, .. }, _)) = self.engine.input(var) {
            self.memory.exponents[slot * lanes + lane] = exponent;
        }
    }

    /// Says that a number of an example could not be represented.
    pub fn lose(&mut self, lane: usize) {
        self.memory.lost[lane] = true;
    }

    /// Computes the output. An example is lost if small numbers that became zero may count.
    pub fn forward(&mut self) {
        self.forward_by(simd::run);
    }

    fn forward_by(&mut self, kernel: Kernel<T>) {
        let _flushing = simd::Flushing::begin();
        let engine = self.engine;
        (0..self.memory.measured.len()).for_each(|i| self.bound_input(self.memory.measured[i]));
        for step in &engine.program.steps[..engine.program.forward] {
            if self.is_stopped() {
                return;
            }
            match step.loops {
                Loops::Select(node, _) => self.select(step, node),
                _ => self.step_forward(step, kernel),
            }
        }
        self.judge(engine.ends.output, false);
    }

    /// Computes derivatives, those with respect to the output being given as they are to its data.
    pub fn backward(&mut self, seed: impl FnOnce(&mut [T])) {
        let _flushing = simd::Flushing::begin();
        let engine = self.engine;
        let Some(place) = engine.ends.seed else {
            return;
        };
        seed(self.block_mut(place));
        self.memory
            .sums
            .iter_mut()
            .for_each(|sum| sum.fill(T::ZERO));
        self.memory.unselected = None;
        for step in &engine.program.steps[engine.program.forward..] {
            if self.is_stopped() {
                return;
            }
            if let Some(slot) = step.unscale {
                self.unscale(slot, step.inputs[0]);
            }
            match step.loops {
                Loops::Select(node, Some(to)) => self.unselect(step, node, to),
                _ => self.run(step, simd::run),
            }
        }
    }

    /// Whether all that the examples of the block have added up to are numbers.
    pub fn has_numbers(&self) -> bool {
        let are_numbers = |sum: &Vec<T>| sum.iter().fold(true, |are, x| are & x.is_finite());
        self.memory.sums.iter().all(are_numbers)
    }

    /// The output's numbers and their exponent, if they are the same for all examples.
    pub fn constant(&self) -> Option<(&[T], i32)> {
        match self.engine.ends.output {
            Place::Shared(slot) => Some((&self.engine.shared[slot], self.engine.exponents[slot])),
            _ => None,
        }
    }

    /// Where examples add derivatives with respect to the output, if it is the same for all of
    /// them.
    pub fn seed_sum(&self) -> Option<Range<usize>> {
        self.engine.seed_sum()
    }

    /// Adds what the examples of the block have added up to.
    pub fn add_sums(&self, to: &mut [f64]) {
        let mut rest = to;
        for sum in &self.memory.sums {
            let (to, others) = rest.split_at_mut(sum.len());
            to.iter_mut().zip(sum).for_each(|(to, x)| *to += x.to_f64());
            rest = others;
        }
    }

    /// The derivatives with respect to the numbers of a table, entry by entry for all examples;
    /// none if the output does not depend on it.
    pub fn table_adjoint(&self, table: TableId) -> Option<&[T]> {
        self.engine.each.get(&table).map(|place| self.block(*place))
    }

    /// Writes the derivatives with respect to the likelihood of a variable, to a place for each
    /// example.
    pub fn read_adjoint<'t>(&self, var: VarId, to: impl Iterator<Item = &'t mut [f64]>) {
        let Some((Place::Block { slot, .. }, Some(adjoint))) = self.engine.input(var) else {
            return;
        };
        let (lanes, adjoint) = (self.lanes(), self.block(adjoint));
        for (lane, to) in to.enumerate() {
            let unit = 2f64.powi(-self.memory.exponents[slot * lanes + lane]);
            let numbers = adjoint[lane..].iter().step_by(lanes);
            to.iter_mut()
                .zip(numbers)
                .for_each(|(to, x)| *to = x.to_f64() * unit);
        }
    }

    /// The output's numbers, entry by entry for all examples; none if it is the same for all of
    /// them.
    pub fn output(&self) -> Option<&[T]> {
        let place = self.engine.ends.output;
        matches!(place, Place::Block { .. }).then(|| self.block(place))
    }

    /// The exponent of the output's numbers for an example.
    pub fn exponent(&self, lane: usize) -> i32 {
        self.exponent_of(self.engine.ends.output, lane)
    }

    /// The derivative with respect to the likelihood of a variable.
    pub fn adjoint(&self, var: VarId) -> Option<&[T]> {
        self.engine.input(var)?.1.map(|place| self.block(place))
    }

    /// Whether numbers of an example may have been lost.
    pub fn is_lost(&self, lane: usize) -> bool {
        self.memory.lost[lane]
    }

    pub(super) fn block(&self, place: Place) -> &[T] {
        match place {
            Place::Shared(slot) => &self.engine.shared[slot],
            Place::Sum(sum) => &self.memory.sums[sum],
            Place::Block { start, entries, .. } => {
                &self.memory.arena[self.memory.start + start * self.lanes()..]
                    [..entries * self.lanes()]
            }
        }
    }

    pub(super) fn block_mut(&mut self, place: Place) -> &mut [T] {
        let lanes = self.lanes();
        match place {
            Place::Shared(_) | Place::Sum(_) => &mut [],
            Place::Block { start, entries, .. } => {
                &mut self.memory.arena[self.memory.start + start * lanes..][..entries * lanes]
            }
        }
    }

    /// Runs the loops of a step. The last row of bounds gets the peaks and totals.
    fn run(&mut self, step: &BlockStep, kernel: Kernel<T>) {
        let lanes = self.engine.lanes();
        let Memory {
            arena,
            start: first,
            bounds,
            sums,
            ..
        } = &mut self.memory;
        let (start, entries) = if let Place::Block { start, entries, .. } = step.out {
            (start, entries)
        } else {
            (0, 0)
        };
        let (before, rest) = arena[*first..].split_at_mut(start * lanes);
        let (out, after) = rest.split_at_mut(entries * lanes);
        let end = (start + entries) * lanes;
        let out = if let Place::Sum(sum) = step.out {
            &mut sums[sum][..]
        } else {
            out
        };
        let input = |place: Place| match place {
            Place::Shared(slot) => &self.engine.shared[slot][..],
            Place::Sum(_) => unreachable!("sums are read when all examples are done"),
            Place::Block {
                start: at, entries, ..
            } if at < start => &before[at * lanes..][..entries * lanes],
            Place::Block {
                start: at, entries, ..
            } => &after[at * lanes - end..][..entries * lanes],
        };
        let one = [T::ONE];
        let mut inputs = [&one[..]; MOST];
        step.inputs
            .iter()
            .zip(&mut inputs)
            .for_each(|(place, data)| *data = input(*place));
        let row = bounds.len() - BOUNDS * lanes;
        let (peaks, totals) = bounds[row..][..2 * lanes].split_at_mut(lanes);
        match step.split {
            None => kernel(
                self.isa,
                &step.loops,
                &step.form,
                &mut Operands {
                    inputs,
                    out,
                    peaks,
                    totals,
                },
            ),
            Some(split) => (peaks[0], totals[0]) = run_split(self.isa, step, split, inputs, out),
        }
    }

    fn step_forward(&mut self, step: &BlockStep, kernel: Kernel<T>) {
        self.run(step, kernel);
        let Place::Block { slot, .. } = step.out else {
            return;
        };
        let lanes = self.lanes();
        let (known, row) = self
            .memory
            .bounds
            .split_at_mut(self.engine.program.tensors * BOUNDS * lanes);
        let of = |place: Place| match place {
            Place::Shared(slot) | Place::Sum(slot) => Known::of(&self.engine.bounds[slot]),
            Place::Block { slot, .. } => {
                Known::of(&known[slot * BOUNDS * lanes..][..BOUNDS * lanes])
            }
        };
        let mut inputs = [of(step.inputs[0]); MOST];
        step.inputs
            .iter()
            .zip(&mut inputs)
            .for_each(|(place, known)| *known = of(*place));
        simd::bound(self.isa, &step.growth, &inputs[..step.inputs.len()], row);
        self.add_exponents(slot, step);
        self.rescale(slot, step.out);
        let row = self.memory.bounds.len() - BOUNDS * lanes;
        self.memory.bounds.copy_within(row.., slot * BOUNDS * lanes);
    }

    fn add_exponents(&mut self, slot: usize, step: &BlockStep) {
        let lanes = self.lanes();
        let Memory {
            exponents, shifts, ..
        } = &mut self.memory;
        let sums = &mut shifts[slot * lanes..][..lanes];
        sums.fill(0);
        for place in &step.inputs {
            match *place {
                Place::Shared(slot) | Place::Sum(slot) => {
                    sums.iter_mut()
                        .for_each(|sum| *sum += self.engine.exponents[slot]);
                }
                Place::Block { slot, .. } => {
                    sums.iter_mut()
                        .zip(&exponents[slot * lanes..][..lanes])
                        .for_each(|(sum, e)| *sum += e);
                }
            }
        }
        exponents[slot * lanes..][..lanes].copy_from_slice(sums);
    }

    /// Brings the largest number of each example into its range, if it has left it.
    fn rescale(&mut self, slot: usize, place: Place) {
        let lanes = self.lanes();
        let row = self.memory.bounds.len() - BOUNDS * lanes;
        let (floor, ceiling) = (T::power_of_two(-T::CALM), T::power_of_two(2 * T::CALM));
        let is_calm = |peak: &T| ((*peak >= floor) & (*peak < ceiling)) | (*peak == T::ZERO);
        let calm: usize = self.memory.bounds[row..][..lanes]
            .iter()
            .map(|peak| usize::from(is_calm(peak)))
            .sum();
        let Memory {
            bounds,
            shifts,
            exponents,
            ..
        } = &mut self.memory;
        let shifts = &mut shifts[slot * lanes..][..lanes];
        shifts.fill(0);
        if calm == lanes {
            return;
        }
        for (lane, shift) in shifts.iter_mut().enumerate() {
            let peak = bounds[row + lane];
            *shift = if is_calm(&peak) || !peak.is_finite() {
                0
            } else {
                peak.exponent().clamp(T::TINY, -T::TINY)
            };
            exponents[slot * lanes + lane] += *shift;
        }
        self.shift(slot, place);
        let Memory {
            bounds, factors, ..
        } = &mut self.memory;
        for values in bounds[row..].chunks_exact_mut(lanes) {
            values
                .iter_mut()
                .zip(&*factors)
                .for_each(|(x, factor)| *x = *x * *factor);
        }
        let (errors, lows) = bounds[row + 2 * lanes..].split_at_mut(lanes);
        let tiny = T::power_of_two(T::TINY);
        for ((error, low), factor) in errors.iter_mut().zip(lows).zip(&*factors) {
            if *factor < T::ONE && *low < tiny {
                *error = *error + T::ONE; // scaling may have made a number zero
            }
        }
    }

    /// An input is what it is.
    pub(super) fn bound_input(&mut self, place: Place) {
        let Place::Block {
            slot,
            start,
            entries,
        } = place
        else {
            return;
        };
        let lanes = self.lanes();
        let Memory {
            arena,
            start: first,
            bounds,
            ..
        } = &mut self.memory;
        let numbers = &arena[*first + start * lanes..][..entries * lanes];
        bounds::bound_exact(
            numbers,
            &mut bounds[slot * BOUNDS * lanes..][..BOUNDS * lanes],
        );
    }

    /// Marks the examples for which what became zero may count beside the sum of a tensor, or
    /// beside each of its numbers: the output's, or those of what a test compares.
    pub(super) fn judge(&mut self, place: Place, beside_each: bool) {
        let Place::Block {
            slot,
            start,
            entries,
        } = place
        else {
            return;
        };
        let lanes = self.lanes();
        let Memory {
            arena,
            start: first,
            bounds,
            factors,
            lost,
            ..
        } = &mut self.memory;
        factors.fill(if beside_each { T::ONE } else { T::ZERO });
        for numbers in arena[*first + start * lanes..][..entries * lanes].chunks_exact(lanes) {
            match beside_each {
                true => factors
                    .iter_mut()
                    .zip(numbers)
                    .for_each(|(least, x)| *least = least.smaller(*x)),
                false => factors
                    .iter_mut()
                    .zip(numbers)
                    .for_each(|(sum, x)| *sum = *sum + *x),
            }
        }
        let unit = T::of(entries as f64) * T::power_of_two(T::TINY - T::TOLERANCE);
        let Known { errors, .. } = Known::of(&bounds[slot * BOUNDS * lanes..][..BOUNDS * lanes]);
        for ((lost, error), sum) in lost.iter_mut().zip(errors).zip(factors) {
            *lost |= !(*error * unit <= *sum && sum.is_finite());
        }
    }

    fn exponent_of(&self, place: Place, lane: usize) -> i32 {
        match place {
            Place::Shared(slot) | Place::Sum(slot) => self.engine.exponents[slot],
            Place::Block { slot, .. } => self.memory.exponents[slot * self.lanes() + lane],
        }
    }

    /// The shift of a tensor changes what its data mean, and so the derivative with respect to
    /// them.
    fn unscale(&mut self, slot: usize, adjoint: Place) {
        let lanes = self.lanes();
        if self.memory.shifts[slot * lanes..][..lanes]
            .iter()
            .any(|&shift| shift != 0)
        {
            self.shift(slot, adjoint);
        }
    }

    /// Multiplies each example's numbers by two to the power of minus its shift.
    fn shift(&mut self, slot: usize, place: Place) {
        let lanes = self.lanes();
        let Place::Block { start, entries, .. } = place else {
            return;
        };
        let Memory {
            arena,
            start: first,
            factors,
            shifts,
            ..
        } = &mut self.memory;
        let shifts = &shifts[slot * lanes..][..lanes];
        factors
            .iter_mut()
            .zip(shifts)
            .for_each(|(factor, shift)| *factor = T::power_of_two(-shift));
        let numbers = &mut arena[*first + start * lanes..][..entries * lanes];
        if let [factor] = factors[..] {
            return numbers.iter_mut().for_each(|x| *x = *x * factor); // in vectors, as the rows of a block are
        }
        for row in numbers.chunks_exact_mut(lanes) {
            row.iter_mut()
                .zip(&*factors)
                .for_each(|(x, factor)| *x = *x * *factor);
        }
    }
}

impl Worker<'_, f64> {
    /// Computes the largest products instead of their sums. What bounds the error of a sum bounds
    /// that of its largest product as well.
    pub fn maximise(&mut self) {
        self.forward_by(simd::maximise);
    }

    /// The numbers of a tensor for all examples.
    pub fn numbers(&self, slot: Slot) -> Numbers<'_> {
        match self.engine.program.place(slot) {
            Place::Shared(slot) => Numbers {
                data: &self.engine.shared[slot],
                strides: [1, 0],
            },
            place => Numbers {
                data: self.block(place),
                strides: [self.lanes(), 1],
            },
        }
    }
}

/// Runs the rounds of the outermost loop of a step for a single example, on all threads; the peak
/// and the total.
fn run_split<T: Number>(
    isa: Isa,
    step: &BlockStep,
    split: Move,
    inputs: [&[T]; MOST],
    out: &mut [T],
) -> (T, T) {
    let round = |(i, out): (usize, &mut [T])| {
        let _flushing = simd::Flushing::begin();
        let (mut peaks, mut totals) = ([T::ZERO], [T::ZERO]);
        let inputs = [
            &inputs[0][i * split.a..],
            &inputs[1][i * split.b..],
            inputs[2],
            inputs[3],
        ];
        let mut on = Operands {
            inputs,
            out,
            peaks: &mut peaks,
            totals: &mut totals,
        };
        simd::run(isa, &step.loops, &step.form, &mut on);
        (peaks[0], totals[0])
    };
    let found: Vec<(T, T)> = out
        .par_chunks_mut(split.out)
        .enumerate()
        .map(round)
        .collect();
    found
        .into_iter()
        .fold((T::ZERO, T::ZERO), |(peak, total), (p, t)| {
            (peak.larger(p), total + t)
        })
}
