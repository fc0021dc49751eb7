//! Selections, and their derivatives, with exact exponents or logarithms.

use crate::tensor::careful::tensor::relative;
use crate::tensor::careful::{Run, Tensor};
use crate::tensor::combine::Combine;
use crate::tensor::graph::NodeId;
use crate::tensor::schedule::{ScheduledStep, Slot};
use crate::tensor::select::Selector;

impl Run<'_> {
    /// The weights that a test gives to copies. The tested tensor is divided by its sum, so that
    /// exponents do not matter.
    pub(super) fn select<C: Combine>(&self, step: &ScheduledStep) -> Tensor {
        let selector = Selector::of(self.graph, NodeId::new(step.out));
        let mut seen = self.tested::<C>(step.reads());
        let mut weights = vec![0.0; self.program.sizes[step.out]];
        selector.normalise(&mut seen);
        selector.weigh(&seen, &mut weights);
        Tensor {
            data: weights.into_iter().map(C::of).collect(),
            exponent: 0,
        }
    }

    fn tested<C: Combine>(&self, slots: impl Iterator<Item = Slot>) -> Vec<f64> {
        let numbers = |slot: Slot| {
            let data = self.tensor(slot).data.clone();
            if C::IS_LOG { relative(data) } else { data }
        };
        slots.flat_map(numbers).collect()
    }

    /// The derivative with respect to one of the inputs of a test.
    pub(super) fn unselect(&self, step: &ScheduledStep, k: usize) -> Tensor {
        let selector = Selector::of(self.graph, NodeId::new(step.a - self.graph.len()));
        let before: Vec<f64> = step
            .more
            .iter()
            .flat_map(|&slot| self.tensor(slot).data.clone())
            .collect();
        let (mut seen, mut slopes) = (before.clone(), selector.slopes());
        selector.normalise(&mut seen);
        let given = self.tensor(step.a);
        selector.differentiate(&seen, &given.data, &mut slopes);
        match step.more.get(k) {
            None => Tensor {
                data: slopes.tables.swap_remove(k - step.more.len()),
                exponent: given.exponent,
            },
            Some(&slot) => {
                selector.pull(&before, &seen, &mut slopes.seen);
                let start: usize = selector.parts[..k].iter().sum();
                let data = slopes.seen[start..][..selector.parts[k]].to_vec();
                Tensor {
                    data,
                    exponent: given.exponent - self.tensor(slot).exponent,
                }
            }
        }
    }
}
