//! One block of examples, forward and backward.

use std::ops::Range;

use crate::control::Control;
use crate::tensor::careful::Numbers;
use crate::tensor::fast::Engine;
use crate::tensor::fast::flush::flushed;
use crate::tensor::fast::memory::BlockMemory;
use crate::tensor::fast::program::{Loops, Place};
use crate::tensor::fast::simd;
use crate::tensor::fast::simd::Isa;
use crate::tensor::fast::step::Kernel;
use crate::tensor::graph::TableId;
use crate::tensor::number::Number;
use crate::tensor::schedule::Slot;
use crate::vars::VarId;

/// Runs blocks, one at a time. Its memory goes back to the engine for the next worker.
pub(crate) struct Worker<'e, T: Number> {
    pub(super) engine: &'e Engine<T>,
    pub(super) isa: Isa,
    pub(super) memory: BlockMemory<T>,
    /// Set when nobody wants the answer any more.
    stop: Option<&'e Control>,
}

impl<T: Number> Drop for Worker<'_, T> {
    fn drop(&mut self) {
        self.engine.give(std::mem::take(&mut self.memory));
    }
}

impl<'e, T: Number> Worker<'e, T> {
    pub(super) fn new(engine: &'e Engine<T>, idle: Option<BlockMemory<T>>) -> Self {
        let memory = idle.unwrap_or_else(|| BlockMemory::new(engine));
        Worker {
            engine,
            isa: Isa::detect(),
            memory,
            stop: None,
        }
    }

    /// Lets others stop it between two steps; what it has computed is then of no use.
    pub fn stopped_by(mut self, control: &'e Control) -> Self {
        self.stop = Some(control);
        self
    }

    /// Whether it was told to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_some_and(Control::is_stopped)
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
        flushed(|| self.run_forward(kernel));
    }

    fn run_forward(&mut self, kernel: Kernel<T>) {
        let engine = self.engine;
        (0..self.memory.measured.len()).for_each(|i| self.bound_input(self.memory.measured[i]));
        for step in &engine.program.steps[..engine.program.forward] {
            if self.is_stopped() {
                return;
            }
            match step.loops {
                Loops::Select(node, _) => self.select(step, node),
                Loops::Collect(ref parts) => self.collect(step, parts),
                _ => self.step_forward(step, kernel),
            }
        }
        self.judge(engine.ends.output, false);
    }

    /// Computes derivatives, those with respect to the output being given as they are to its data.
    pub fn backward(&mut self, seed: impl FnOnce(&mut [T])) {
        let Some(place) = self.engine.ends.seed else {
            return;
        };
        seed(self.block_mut(place));
        flushed(|| self.run_backward());
    }

    fn run_backward(&mut self) {
        let engine = self.engine;
        for sum in &mut self.memory.sums {
            sum.fill(T::ZERO);
        }
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
                Loops::Spread(_, values) => self.spread(step, values),
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

    pub(super) fn exponent_of(&self, place: Place, lane: usize) -> i32 {
        match place {
            Place::Shared(slot) | Place::Sum(slot) => self.engine.exponents[slot],
            Place::Block { slot, .. } => self.memory.exponents[slot * self.lanes() + lane],
        }
    }
}

impl Worker<'_, f64> {
    /// Computes the largest products instead of their sums. The error bound of a sum also bounds
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
