//! One step of a block: kernel, bounds, exponents.
//!
//! After each forward step the error bounds of its tensor are computed from those of its inputs,
//! and the numbers of each example are brought into their range by a power of two, which moves to
//! the exponent. The backward pass takes such shifts back.

use rayon::prelude::*;

use crate::tensor::fast::Worker;
use crate::tensor::fast::bounds::{BOUNDS, Known};
use crate::tensor::fast::flush::flushed;
use crate::tensor::fast::memory::BlockMemory;
use crate::tensor::fast::operands::{Form, MAX_INPUTS, Operands};
use crate::tensor::fast::program::{BlockStep, Loops, Place};
use crate::tensor::fast::simd;
use crate::tensor::fast::simd::Isa;
use crate::tensor::loops::Loop;
use crate::tensor::number::Number;

/// The kernel for one step.
pub(super) type Kernel<T> = fn(Isa, &Loops, &Form, &mut Operands<'_, T>);

impl<T: Number> Worker<'_, T> {
    /// Runs the loops of a step. The last row of bounds gets the peaks and totals.
    pub(super) fn run(&mut self, step: &BlockStep, kernel: Kernel<T>) {
        let lanes = self.engine.lanes();
        let BlockMemory {
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
        let mut inputs = [&one[..]; MAX_INPUTS];
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

    pub(super) fn step_forward(&mut self, step: &BlockStep, kernel: Kernel<T>) {
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
        let mut inputs = [of(step.inputs[0]); MAX_INPUTS];
        step.inputs
            .iter()
            .zip(&mut inputs)
            .for_each(|(place, known)| *known = of(*place));
        simd::bound(self.isa, &step.growth, &inputs[..step.inputs.len()], row);
        if matches!(step.inputs[..], [a, b] if a == b) {
            self.measure_low(step.out);
        }
        self.add_exponents(slot, step);
        self.rescale(slot, step.out);
        let row = self.memory.bounds.len() - BOUNDS * lanes;
        self.memory.bounds.copy_within(row.., slot * BOUNDS * lanes);
    }

    /// A tensor that is multiplied with itself, as in a circuit of many layers, would square the
    /// bound of its smallest number each time: it is measured instead.
    fn measure_low(&mut self, place: Place) {
        let Place::Block { start, entries, .. } = place else {
            return;
        };
        let lanes = self.engine.lanes();
        let BlockMemory {
            arena,
            start: first,
            bounds,
            ..
        } = &mut self.memory;
        let numbers = &arena[*first + start * lanes..][..entries * lanes];
        let row = bounds.len() - BOUNDS * lanes;
        let row = &mut bounds[row..];
        let errors = row[2 * lanes..3 * lanes].to_vec();
        simd::bound_exact(self.isa, numbers, row);
        row[2 * lanes..3 * lanes].copy_from_slice(&errors);
    }

    fn add_exponents(&mut self, slot: usize, step: &BlockStep) {
        let lanes = self.lanes();
        let BlockMemory {
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
        let (floor, ceiling) = (
            T::power_of_two(-T::SAFE_EXPONENT),
            T::power_of_two(2 * T::SAFE_EXPONENT),
        );
        let is_calm = |peak: &T| ((*peak >= floor) & (*peak < ceiling)) | (*peak == T::ZERO);
        let calm: usize = self.memory.bounds[row..][..lanes]
            .iter()
            .map(|peak| usize::from(is_calm(peak)))
            .sum();
        let BlockMemory {
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
                peak.exponent().clamp(T::MIN_EXPONENT, -T::MIN_EXPONENT)
            };
            exponents[slot * lanes + lane] += *shift;
        }
        self.shift(slot, place);
        let BlockMemory {
            bounds, factors, ..
        } = &mut self.memory;
        for values in bounds[row..].chunks_exact_mut(lanes) {
            values
                .iter_mut()
                .zip(&*factors)
                .for_each(|(x, factor)| *x = *x * *factor);
        }
        let (errors, lows) = bounds[row + 2 * lanes..].split_at_mut(lanes);
        let tiny = T::power_of_two(T::MIN_EXPONENT);
        for ((error, low), factor) in errors.iter_mut().zip(lows).zip(&*factors) {
            if *factor < T::ONE && *low < tiny {
                *error = *error + T::ONE; // scaling may have made a number zero
            }
        }
    }

    /// Bounds the numbers of an input, which are exact.
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
        let BlockMemory {
            arena,
            start: first,
            bounds,
            ..
        } = &mut self.memory;
        let numbers = &arena[*first + start * lanes..][..entries * lanes];
        simd::bound_exact(
            self.isa,
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
        let BlockMemory {
            arena,
            start: first,
            bounds,
            factors,
            lost,
            ..
        } = &mut self.memory;
        factors.fill(if beside_each { T::ONE } else { T::ZERO });
        for numbers in arena[*first + start * lanes..][..entries * lanes].chunks_exact(lanes) {
            let pairs = factors.iter_mut().zip(numbers);
            if beside_each {
                pairs.for_each(|(least, x)| *least = least.smaller(*x));
            } else {
                pairs.for_each(|(sum, x)| *sum = *sum + *x);
            }
        }
        let unit = T::of(entries as f64) * T::power_of_two(T::MIN_EXPONENT - T::TOLERANCE);
        let Known { errors, .. } = Known::of(&bounds[slot * BOUNDS * lanes..][..BOUNDS * lanes]);
        for ((lost, error), sum) in lost.iter_mut().zip(errors).zip(factors) {
            *lost |= !(*error * unit <= *sum && sum.is_finite());
        }
    }

    /// The shift of a tensor changes what its data mean, and so the derivative with respect to
    /// them.
    pub(super) fn unscale(&mut self, slot: usize, adjoint: Place) {
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
        let BlockMemory {
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

/// Runs the rounds of the outermost loop of a step for a single example, on all threads; the peak
/// and the total.
fn run_split<T: Number>(
    isa: Isa,
    step: &BlockStep,
    split: Loop,
    inputs: [&[T]; MAX_INPUTS],
    out: &mut [T],
) -> (T, T) {
    let round = |(i, out): (usize, &mut [T])| {
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
        flushed(|| simd::run(isa, &step.loops, &step.form, &mut on));
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
