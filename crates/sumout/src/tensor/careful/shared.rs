//! Tensors that do not depend on evidence, computed once for all examples, and derivatives with
//! respect to them.

use std::collections::BTreeMap;
use std::mem::take;

use crate::control::Control;
use crate::tensor::careful::{Run, Tensor};
use crate::tensor::combine::{Combine, Sum};
use crate::tensor::graph::Graph;
use crate::tensor::layout::Program;
use crate::tensor::schedule::{ScheduledStep, Slot};

/// The tensors that do not depend on evidence, in the memory of those of another run; all others
/// are empty.
pub(crate) fn shared<C: Combine>(
    graph: &Graph,
    program: &Program,
    varies: &[bool],
    mut before: Vec<Tensor>,
) -> Vec<Tensor> {
    let mut run = Run::load::<C>(graph, program, |_| vec![]);
    before.resize_with(program.sizes.len(), Tensor::default);
    for step in &program.steps[..program.forward] {
        if !varies[step.planned.out] {
            let mut out = run.step::<C>(step, take(&mut before[step.planned.out].data));
            if !C::IS_LOG {
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
        control: Control::NONE,
    };
    read.for_each(|(slot, adjoint)| run.slots[slot] = adjoint);
    for step in &program.steps[program.forward..] {
        let ScheduledStep {
            a, b, out, free, ..
        } = &step.planned;
        if varies[a - graph.len()] || b.is_some_and(|b| varies[b]) || run.slots[*a].data.is_empty()
        {
            continue;
        }
        let mut found = run.step::<Sum>(step, spare.take(program.sizes[*out]));
        found.rescale();
        if run.slots[*out].data.is_empty() {
            run.slots[*out] = found;
        } else {
            run.slots[*out].add(&found);
            spare.give(found.data);
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
    /// Room for this many numbers.
    pub fn take(&mut self, numbers: usize) -> Vec<f64> {
        let fitting = self
            .rooms
            .range_mut(numbers..=numbers.saturating_mul(2))
            .find(|(_, rooms)| !rooms.is_empty());
        fitting
            .and_then(|(_, rooms)| rooms.pop())
            .unwrap_or_else(|| Vec::with_capacity(numbers))
    }

    /// This many zeros.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
