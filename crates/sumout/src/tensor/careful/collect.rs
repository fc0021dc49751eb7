//! Collections, and their derivatives, with exact exponents or logarithms.

use crate::tensor::careful::{Run, Tensor};
use crate::tensor::combine::Combine;
use crate::tensor::graph::PickId;
use crate::tensor::number::Number;
use crate::tensor::schedule::ScheduledStep;

/// A number that is so small that a run with it is repeated with logarithms.
const AT_RISK: f64 = f64::MIN_POSITIVE;

/// Numbers are not divided by larger powers of two.
const MAX_DISTANCE: i64 = 1000;

/// A number divided by two to some power. Logarithms have no exponents.
fn divided(x: f64, exponent: i64) -> f64 {
    match exponent {
        0 => x,
        _ if x == 0.0 => 0.0,
        1..=MAX_DISTANCE => (x * f64::power_of_two(-exponent as i32)).max(AT_RISK),
        _ => AT_RISK,
    }
}

impl Run<'_> {
    /// The entries of several tensors side by side, with the largest of their exponents.
    pub(super) fn collect<C: Combine>(&self, step: &ScheduledStep, pick: PickId) -> Tensor {
        let places = &self.graph.picks()[pick.index()].places;
        let tensors = || step.reads().map(|slot| self.tensor(slot));
        let counts = tensors().filter(|tensor| !tensor.is_zero());
        let exponent = counts.map(|tensor| tensor.exponent).max().unwrap_or(0);
        let mut data = Vec::with_capacity(self.program.sizes[step.out]);
        for (tensor, places) in tensors().zip(places) {
            let distance = exponent - tensor.exponent;
            data.extend(
                places
                    .iter()
                    .map(|&i| divided(tensor.data[i as usize], distance)),
            );
        }
        Tensor { data, exponent }
    }

    /// The derivative with respect to one of the tensors of a collection.
    pub(super) fn spread<C: Combine>(
        &self,
        step: &ScheduledStep,
        (pick, k): (PickId, usize),
    ) -> Tensor {
        let pick = &self.graph.picks()[pick.index()];
        let given = self.tensor(step.a);
        let mut data = vec![C::zero(); self.program.sizes[step.out]];
        for (&to, &x) in pick.places[k].iter().zip(&given.data[pick.range(k)]) {
            data[to as usize] = C::plus(x, data[to as usize]);
        }
        Tensor {
            data,
            exponent: given.exponent,
        }
    }
}
