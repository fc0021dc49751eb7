//! The selections of a block of examples: each for itself.

use crate::tensor::fast::Worker;
use crate::tensor::fast::operands::Store;
use crate::tensor::fast::program::{BlockStep, Place};
use crate::tensor::graph::{NodeId, Weighing};
use crate::tensor::number::Number;
use crate::tensor::select::{Selector, Slopes};

/// The derivatives of a selection: with respect to what it tests, example after example, and to its
/// tables, of all together. A step asks for those of one input, and the next one for those of
/// another.
#[derive(Debug)]
pub(super) struct Unselected {
    node: NodeId,
    seen: Vec<f64>,
    tables: Vec<Vec<f64>>,
}

impl<T: Number> Worker<'_, T> {
    /// Weighs copies by what is tested. Numbers that were lost on the way there must not count.
    pub(super) fn select(&mut self, step: &BlockStep, node: NodeId) {
        let (Place::Block { slot, .. }, lanes) = (step.out, self.lanes()) else {
            return;
        };
        let selector = &self.engine.selectors[&node];
        // A threshold is compared with a share of the whole; where weights are shares themselves,
        // each counts.
        let each = selector.weighing == Weighing::Linear;
        step.inputs
            .iter()
            .for_each(|place| self.judge(*place, each));
        let entries = self.block(step.out).len() / lanes;
        let (mut seen, mut weights) = (vec![], vec![0.0; entries]);
        for lane in 0..lanes {
            self.read(&step.inputs, lane, &mut seen);
            selector.normalise(&mut seen);
            selector.weigh(&seen, &mut weights);
            let to = self.block_mut(step.out);
            weights
                .iter()
                .enumerate()
                .for_each(|(k, w)| to[k * lanes + lane] = T::of(*w));
        }
        self.bound_input(step.out);
        let memory = &mut self.memory;
        memory.exponents[slot * lanes..][..lanes].fill(0);
        memory.shifts[slot * lanes..][..lanes].fill(0);
    }

    /// Reads the numbers of some tensors for an example, one after the other.
    fn read(&self, places: &[Place], lane: usize, to: &mut Vec<f64>) {
        let lanes = self.lanes();
        to.clear();
        for &place in places {
            match place {
                Place::Block { .. } => to.extend(
                    self.block(place)[lane..]
                        .iter()
                        .step_by(lanes)
                        .map(|x| x.to_f64()),
                ),
                Place::Shared(_) | Place::Sum(_) => {
                    to.extend(self.block(place).iter().map(|x| x.to_f64()))
                }
            }
        }
    }

    /// Derivatives with respect to an input of a selection: a tensor that is tested, or a table of
    /// the rule.
    pub(super) fn unselect(&mut self, step: &BlockStep, node: NodeId, input: usize) {
        let selector = &self.engine.selectors[&node];
        let known = self
            .memory
            .unselected
            .take()
            .filter(|known| known.node == node);
        let known = known.unwrap_or_else(|| self.differentiate(step, node, selector));
        match input.checked_sub(selector.parts.len()) {
            Some(table) => self.add_to_sum(step.out, &known.tables[table]),
            None => {
                let (start, width) = (
                    selector.parts[..input].iter().sum(),
                    selector.parts.iter().sum(),
                );
                self.put(step, &known.seen, start, width);
            }
        }
        self.memory.unselected = Some(known);
    }

    fn differentiate(&self, step: &BlockStep, node: NodeId, selector: &Selector) -> Unselected {
        let (mut given, mut before, mut seen, mut all) = (vec![], vec![], vec![], vec![]);
        let mut slopes = selector.slopes();
        for lane in 0..self.lanes() {
            self.read(&step.inputs[..1], lane, &mut given);
            slopes.seen.fill(0.0);
            if given.iter().any(|&g| g != 0.0) {
                self.read(&step.inputs[1..], lane, &mut before);
                seen.clone_from(&before);
                selector.normalise(&mut seen);
                selector.differentiate(&seen, &given, &mut slopes);
                selector.pull(&before, &seen, &mut slopes.seen);
            }
            all.extend_from_slice(&slopes.seen);
        }
        let Slopes { tables, .. } = slopes;
        Unselected {
            node,
            seen: all,
            tables,
        }
    }

    /// Writes, or adds, derivatives for all examples: of the `width` numbers of each, those from
    /// `start` on.
    fn put(&mut self, step: &BlockStep, all: &[f64], start: usize, width: usize) {
        let (lanes, adds) = (self.lanes(), step.form.store == Store::Add);
        if let Place::Sum(sum) = step.out {
            let sums = self.memory.sums[sum].iter_mut().enumerate();
            return sums.for_each(|(k, sum)| {
                all.chunks_exact(width)
                    .for_each(|x| *sum = *sum + T::of(x[start + k]))
            });
        }
        for (k, to) in self.block_mut(step.out).chunks_exact_mut(lanes).enumerate() {
            for (to, numbers) in to.iter_mut().zip(all.chunks_exact(width)) {
                let x = T::of(numbers[start + k]);
                *to = if adds { *to + x } else { x };
            }
        }
    }

    fn add_to_sum(&mut self, place: Place, numbers: &[f64]) {
        let Place::Sum(sum) = place else {
            unreachable!("tables are the same for all examples")
        };
        self.memory.sums[sum]
            .iter_mut()
            .zip(numbers)
            .for_each(|(sum, x)| *sum = *sum + T::of(*x));
    }
}
