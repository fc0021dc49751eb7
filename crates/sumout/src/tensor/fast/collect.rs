//! The collections of a block of examples: entries of several tensors side by side.
//!
//! Tensors have exponents of their own, for each example. The collection takes the largest, and what
//! has a smaller one is divided by the difference. The backward pass divides what it hands to each
//! tensor in the same way.

use crate::tensor::fast::Worker;
use crate::tensor::fast::bounds::{BOUNDS, Known};
use crate::tensor::fast::program::{BlockStep, Place};
use crate::tensor::fast::simd;
use crate::tensor::number::Number;

/// A tensor of a collection.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Its place.
    pub from: Place,
    /// The entries that are read.
    pub places: Vec<u32>,
    /// Where they begin in the arena.
    pub to: usize,
}

impl<T: Number> Worker<'_, T> {
    /// Copies the entries of all tensors, with a common exponent.
    pub(super) fn collect(&mut self, step: &BlockStep, parts: &[Part]) {
        let Place::Block { slot, .. } = step.out else {
            return;
        };
        let lanes = self.lanes();
        parts.iter().for_each(|part| self.copy(part));
        let mut errors = vec![T::ZERO; lanes];
        if self.align(slot, &step.inputs) {
            parts
                .iter()
                .for_each(|part| self.scale_part(part, step.out, &mut errors));
        }
        self.bound_input(step.out);
        let row = &mut self.memory.bounds[slot * BOUNDS * lanes..][..BOUNDS * lanes];
        row[2 * lanes..3 * lanes].copy_from_slice(&errors);
        self.memory.shifts[slot * lanes..][..lanes].fill(0);
    }

    /// Copies the entries of a tensor.
    fn copy(&mut self, part: &Part) {
        let lanes = self.lanes();
        let memory = &mut self.memory;
        let arena = &mut memory.arena[memory.start..];
        let to = part.to * lanes;
        let rows = part.places.iter().enumerate();
        match part.from {
            Place::Block { start, .. } => rows.for_each(|(k, &place)| {
                let from = (start + place as usize) * lanes;
                arena.copy_within(from..from + lanes, to + k * lanes);
            }),
            Place::Shared(slot) => rows.for_each(|(k, &place)| {
                let number = self.engine.shared[slot][place as usize];
                arena[to + k * lanes..][..lanes].fill(number);
            }),
            Place::Sum(_) => unreachable!("sums are read when all examples are done"),
        }
    }

    /// Finds the largest exponent of the tensors that may count, for each example. Whether any of them
    /// has an exponent of its own, or an error.
    fn align(&mut self, slot: usize, inputs: &[Place]) -> bool {
        let is_plain = inputs.iter().all(|place| self.is_plain(*place));
        let lanes = self.lanes();
        if is_plain {
            self.memory.exponents[slot * lanes..][..lanes].fill(0);
            return false;
        }
        for lane in 0..lanes {
            let is_there = |place: &&Place| self.may_count(**place, lane);
            let exponents = inputs.iter().filter(is_there);
            let largest = exponents.map(|place| self.exponent_of(*place, lane)).max();
            self.memory.exponents[slot * lanes + lane] = largest.unwrap_or(0);
        }
        true
    }

    /// Whether a tensor of an example is not zero, or may be zero by mistake.
    fn may_count(&self, place: Place, lane: usize) -> bool {
        let known = self.known(place);
        known.peak(lane) > T::ZERO || known.error(lane) > T::ZERO
    }

    /// Whether a tensor has neither exponents nor errors.
    fn is_plain(&self, place: Place) -> bool {
        let lanes = self.lanes();
        let has_exponents = match place {
            Place::Shared(slot) | Place::Sum(slot) => self.engine.exponents[slot] != 0,
            Place::Block { slot, .. } => {
                let exponents = &self.memory.exponents[slot * lanes..][..lanes];
                exponents.iter().fold(0, |any, e| any | e) != 0
            }
        };
        let errors = self.known(place).errors.iter();
        let error = errors.fold(T::ZERO, |largest, x| largest.larger(*x));
        !has_exponents && error == T::ZERO
    }

    /// Brings the entries of a tensor to the exponent of the collection. Entries that this makes zero are an
    /// error.
    fn scale_part(&mut self, part: &Part, out: Place, errors: &mut [T]) {
        let tiny = T::power_of_two(T::MIN_EXPONENT);
        let is_scaled = self.set_factors(part.from, out);
        let known = self.known(part.from);
        for (lane, error) in errors.iter_mut().enumerate() {
            let factor = self.memory.factors[lane];
            let is_lost = factor < T::ONE && known.low(lane) * factor < tiny;
            let new = if is_lost {
                T::ONE + known.peak(lane)
            } else {
                T::ZERO
            };
            *error = error.larger(known.error(lane) * factor + new);
        }
        if is_scaled {
            self.multiply(part.to, part.places.len());
        }
    }

    /// Sets the factor of each example that brings a tensor to the exponent of another; whether
    /// there is one that is not one.
    fn set_factors(&mut self, from: Place, to: Place) -> bool {
        let mut is_scaled = false;
        for lane in 0..self.lanes() {
            let distance = self.exponent_of(from, lane) - self.exponent_of(to, lane);
            is_scaled |= distance != 0;
            self.memory.factors[lane] = if distance < T::MIN_EXPONENT {
                T::ZERO
            } else {
                T::power_of_two(distance.min(0))
            };
        }
        is_scaled
    }

    /// Multiplies the numbers of each example by its factor.
    fn multiply(&mut self, start: usize, entries: usize) {
        let lanes = self.lanes();
        let memory = &mut self.memory;
        let numbers = &mut memory.arena[memory.start + start * lanes..][..entries * lanes];
        for row in numbers.chunks_exact_mut(lanes) {
            let pairs = row.iter_mut().zip(&memory.factors);
            pairs.for_each(|(x, factor)| *x = *x * *factor);
        }
    }

    /// Hands derivatives with respect to a collection on to one of its tensors. Nobody else reads
    /// those that it takes.
    pub(super) fn spread(&mut self, step: &BlockStep, [tensor, collection]: [Place; 2]) {
        if let (true, Place::Block { start, entries, .. }) =
            (self.set_factors(tensor, collection), step.inputs[0])
        {
            self.multiply(start, entries);
        }
        self.run(step, simd::run);
    }

    /// The bounds of a tensor.
    fn known(&self, place: Place) -> Known<'_, T> {
        match place {
            Place::Shared(slot) | Place::Sum(slot) => Known::of(&self.engine.bounds[slot]),
            Place::Block { slot, .. } => {
                let lanes = self.lanes();
                Known::of(&self.memory.bounds[slot * BOUNDS * lanes..][..BOUNDS * lanes])
            }
        }
    }
}
