//! One block of examples, forward and backward.

use super::Engine;
use super::lanes::Operands;
use super::number::Number;
use super::program::{BlockStep, Place};
use super::simd::{self, Isa};
use crate::vars::VarId;

/// Runs blocks, one at a time. Its memory goes back to the engine for the next worker.
pub(crate) struct Worker<'e, T: Number> {
    engine: &'e Engine<T>,
    isa: Isa,
    memory: Memory<T>,
}

/// The tensors of a block.
#[derive(Debug, Default)]
pub(super) struct Memory<T> {
    arena: Vec<T>,
    /// Where the arena's first cache line begins.
    start: usize,
    /// The exponent of each tensor for each example.
    exponents: Vec<i32>,
    /// By how much each tensor's last step was rescaled, for each example.
    shifts: Vec<i32>,
    peaks: Vec<T>,
    lost: Vec<bool>,
}

impl<T: Number> Memory<T> {
    fn new(engine: &Engine<T>) -> Self {
        let lanes = engine.lanes();
        let arena = vec![T::ZERO; engine.program.arena * lanes + T::LANES];
        let start = arena.as_ptr().align_offset(T::LANES * size_of::<T>()).min(T::LANES);
        let exponents = vec![0; engine.program.tensors * lanes];
        let shifts = exponents.clone();
        Memory { arena, start, exponents, shifts, peaks: vec![T::ZERO; lanes], lost: vec![false; lanes] }
    }
}

impl<T: Number> Drop for Worker<'_, T> {
    fn drop(&mut self) {
        self.engine.give(std::mem::take(&mut self.memory));
    }
}

impl<'e, T: Number> Worker<'e, T> {
    pub(super) fn new(engine: &'e Engine<T>, idle: Option<Memory<T>>) -> Self {
        Worker { engine, isa: Isa::detect(), memory: idle.unwrap_or_else(|| Memory::new(engine)) }
    }

    /// The number of examples.
    pub fn lanes(&self) -> usize {
        self.engine.lanes()
    }

    /// The likelihood of a variable, to be filled in: value by value, for all examples of the block.
    pub fn evidence(&mut self, var: VarId) -> Option<&mut [T]> {
        let (place, _) = *self.engine.inputs.get(&var)?;
        Some(self.block_mut(place))
    }

    /// The likelihood of a variable.
    pub fn evidence_of(&self, var: VarId) -> Option<&[T]> {
        self.engine.inputs.get(&var).map(|(place, _)| self.block(*place))
    }

    /// Begins a block: nothing is lost yet.
    pub fn begin(&mut self) {
        self.memory.lost.fill(self.engine.is_fragile);
    }

    /// Says that a number of an example could not be represented.
    pub fn lose(&mut self, lane: usize) {
        self.memory.lost[lane] = true;
    }

    /// Computes the output.
    pub fn forward(&mut self) {
        let engine = self.engine;
        engine.program.steps[..engine.program.forward].iter().for_each(|step| self.step(step));
    }

    /// Computes derivatives, those with respect to the output being given as they are to its data.
    pub fn backward(&mut self, seed: impl Fn(&mut [T])) {
        let engine = self.engine;
        let Some(place) = engine.ends.seed else { return };
        seed(self.block_mut(place));
        engine.program.steps[engine.program.forward..].iter().for_each(|step| self.step(step));
    }

    /// The output's numbers, entry by entry for all examples; none if it is the same for all of them.
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
        self.engine.inputs.get(&var)?.1.map(|place| self.block(place))
    }

    /// Whether numbers of an example may have been lost.
    pub fn is_lost(&self, lane: usize) -> bool {
        self.memory.lost[lane]
    }

    fn block(&self, place: Place) -> &[T] {
        match place {
            Place::Shared(slot) => &self.engine.shared[slot],
            Place::Block { start, entries, .. } => {
                &self.memory.arena[self.memory.start + start * self.lanes()..][..entries * self.lanes()]
            }
        }
    }

    fn block_mut(&mut self, place: Place) -> &mut [T] {
        let lanes = self.lanes();
        match place {
            Place::Shared(_) => &mut [],
            Place::Block { start, entries, .. } => {
                &mut self.memory.arena[self.memory.start + start * lanes..][..entries * lanes]
            }
        }
    }

    fn step(&mut self, step: &BlockStep) {
        if let Some(slot) = step.unscale {
            self.unscale(slot, step.a);
        }
        self.memory.peaks.fill(T::ZERO);
        self.run(step);
        if let (Place::Block { slot, .. }, false) = (step.out, step.is_backward) {
            self.rescale(slot, step);
        }
    }

    /// Runs the loops of a step.
    fn run(&mut self, step: &BlockStep) {
        let lanes = self.engine.lanes();
        let Place::Block { start, entries, .. } = step.out else { return };
        let (before, rest) = self.memory.arena[self.memory.start..].split_at_mut(start * lanes);
        let (out, after) = rest.split_at_mut(entries * lanes);
        let end = (start + entries) * lanes;
        let input = |place: Place| match place {
            Place::Shared(slot) => &self.engine.shared[slot][..],
            Place::Block { start: at, entries, .. } if at < start => &before[at * lanes..][..entries * lanes],
            Place::Block { start: at, entries, .. } => &after[at * lanes - end..][..entries * lanes],
        };
        let one = [T::ONE];
        let (a, b) = (input(step.a), step.b.map_or(&one[..], input));
        let mut on = Operands { a, b, out, peaks: &mut self.memory.peaks };
        simd::run(self.isa, &step.loops, &step.form, &mut on);
    }

    /// Brings the largest number of each example near one, if it is far from it.
    fn rescale(&mut self, slot: usize, step: &BlockStep) {
        let lanes = self.lanes();
        let mut is_calm = true;
        for lane in 0..lanes {
            let peak = self.memory.peaks[lane];
            let exponent = peak.exponent();
            self.memory.lost[lane] |= exponent < T::LOST || !peak.is_finite();
            let shift = if exponent.abs() <= T::CALM || self.memory.lost[lane] { 0 } else { exponent };
            is_calm &= shift == 0;
            self.memory.shifts[slot * lanes + lane] = shift;
            self.memory.exponents[slot * lanes + lane] =
                shift + self.exponent_of(step.a, lane) + step.b.map_or(0, |b| self.exponent_of(b, lane));
        }
        if !is_calm {
            self.shift(slot, step.out);
        }
    }

    fn exponent_of(&self, place: Place, lane: usize) -> i32 {
        match place {
            Place::Shared(slot) => self.engine.exponents[slot],
            Place::Block { slot, .. } => self.memory.exponents[slot * self.lanes() + lane],
        }
    }

    /// The shift of a tensor changes what its data mean, and so the derivative with respect to them.
    fn unscale(&mut self, slot: usize, adjoint: Place) {
        let lanes = self.lanes();
        self.certify(slot, adjoint);
        if self.memory.shifts[slot * lanes..][..lanes].iter().any(|&shift| shift != 0) {
            self.shift(slot, adjoint);
        }
    }

    /// Marks the examples for which numbers of a tensor that were too small would have counted.
    ///
    /// What rounding to zero loses of ln P(e) is the sum, over all entries, of an error below the smallest number times
    /// the derivative with respect to the entry.
    fn certify(&mut self, slot: usize, adjoint: Place) {
        const ENOUGH: i32 = 44; // of the bits, 20 are for the answer and 24 for the number of entries
        let lanes = self.lanes();
        let Place::Block { start, entries, .. } = adjoint else { return };
        let Memory { arena, start: first, peaks, shifts, lost, .. } = &mut self.memory;
        peaks.fill(T::ZERO);
        for row in arena[*first + start * lanes..][..entries * lanes].chunks_exact(lanes) {
            peaks.iter_mut().zip(row).for_each(|(peak, x)| *peak = peak.larger(*x));
        }
        for lane in 0..lanes {
            let exponent = peaks[lane].exponent() - shifts[slot * lanes + lane];
            lost[lane] |= exponent + T::TINY + ENOUGH > 0 || !peaks[lane].is_finite();
        }
    }

    /// Multiplies each example's numbers by two to the power of minus its shift.
    fn shift(&mut self, slot: usize, place: Place) {
        let lanes = self.lanes();
        for lane in 0..lanes {
            self.memory.peaks[lane] = T::power_of_two(-self.memory.shifts[slot * lanes + lane]);
        }
        let Place::Block { start, entries, .. } = place else { return };
        let data = &mut self.memory.arena[self.memory.start + start * lanes..][..entries * lanes];
        for row in data.chunks_exact_mut(lanes) {
            row.iter_mut().zip(&self.memory.peaks).for_each(|(x, factor)| *x = *x * *factor);
        }
    }
}
