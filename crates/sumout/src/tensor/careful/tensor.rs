//! Numbers with an exponent that they share.

use std::ops::RangeInclusive;

use crate::tensor::combine::Combine;
use crate::tensor::number::Number;

/// Numbers, in the order of a slot's axes, times a power of two.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tensor {
    pub data: Vec<f64>,
    pub exponent: i64,
}

/// Numbers whose largest is within these powers of two are not rescaled: a product of two is far
/// from underflow.
const SAFE_EXPONENTS: RangeInclusive<i64> = -100..=100;

/// Numbers that are not at risk do not underflow when they are divided by two to this power.
const MAX_EXPONENT_DISTANCE: i64 = 500;

/// A product of two numbers that are not smaller can be told from zero.
const MIN_SAFE_NUMBER: f64 = 1e-150;

impl Tensor {
    /// Moves a power of two to the exponent, unless the largest number is near one. A number that is
    /// too small beside the largest does not become zero, but the smallest there is, which is [at
    /// risk](Tensor::is_at_risk).
    pub(super) fn rescale(&mut self) {
        let largest = largest(&self.data);
        let shift = exponent_of(largest);
        if largest == 0.0 || SAFE_EXPONENTS.contains(&i64::from(shift)) {
            return;
        }
        // In two halves: 2^-shift itself may not be a number.
        let half = f64::power_of_two(-shift / 2);
        let rest = f64::power_of_two(-shift - -shift / 2);
        let moved = |x: f64| match x * half * rest {
            y if x > 0.0 => y.max(f64::MIN_POSITIVE),
            y => y,
        };
        self.data.iter_mut().for_each(|x| *x = moved(*x));
        self.exponent += i64::from(shift);
    }

    /// Numbers that are given.
    pub(super) fn input<C: Combine>(data: Vec<f64>) -> Self {
        let mut tensor = Tensor {
            data: data.into_iter().map(C::of).collect(),
            exponent: 0,
        };
        if !C::IS_LOG {
            tensor.rescale();
        }
        tensor
    }

    /// Whether a product of two such numbers could be too small to be told from zero.
    pub(super) fn is_at_risk(&self) -> bool {
        self.data.iter().any(|&x| x > 0.0 && x < MIN_SAFE_NUMBER)
    }

    /// Adds a tensor of the same shape; whether no number of either could have been lost beside
    /// those of the other.
    pub(super) fn add(&mut self, other: &Tensor) -> bool {
        if other.is_zero() {
            return true; // whatever its exponent is
        }
        if self.is_zero() {
            self.data.copy_from_slice(&other.data);
            self.exponent = other.exponent;
            return true;
        }
        let distance = self.exponent - other.exponent;
        let factor = 2f64.powi(-distance.abs().min(2000) as i32); // zero where that is too small
        let numbers = self.data.iter_mut().zip(&other.data);
        if distance >= 0 {
            numbers.for_each(|(x, y)| *x += y * factor);
        } else {
            numbers.for_each(|(x, y)| *x = y + *x * factor);
        }
        self.exponent = self.exponent.max(other.exponent);
        distance.abs() <= MAX_EXPONENT_DISTANCE
    }

    pub(super) fn is_zero(&self) -> bool {
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

/// The number of comparisons that run side by side.
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

/// The largest absolute value.
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

/// The e for which x is in [2^e, 2^(e+1)), of subnormal numbers as well.
fn exponent_of(x: f64) -> i32 {
    if x < f64::MIN_POSITIVE {
        return (x * f64::power_of_two(54)).exponent() - 54;
    }
    x.exponent()
}

/// Numbers with these logarithms, the largest of them one.
pub(super) fn relative(logs: Vec<f64>) -> Vec<f64> {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logs.into_iter().map(|x| (x - largest).exp()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// The least positive number would be zero beside the largest.
    #[test]
    fn rescaling_loses_no_small_number_in_silence() {
        for (small, large) in [(1e-263, 1e247), (1e-300, 1e200), (5e-324, 1e308)] {
            let t = Tensor::input::<crate::tensor::combine::Sum>(vec![large, small, 0.0]);
            assert!(t.is_at_risk() && t.data[2] == 0.0, "{small} beside {large}");
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
        assert!(tensor(1.0, 0).add(&tensor(1.0, -MAX_EXPONENT_DISTANCE)));
        assert!(!tensor(1.0, 0).add(&tensor(1.0, -3000)));
    }
}
