//! The numbers that an engine computes with: `f32` or `f64`.

use std::fmt::Debug;
use std::ops::{Add, Mul};

/// A floating-point number, and how many of them make a cache line.
pub trait Number:
    Copy + Send + Sync + Debug + Default + PartialOrd + Add<Output = Self> + Mul<Output = Self> + 'static
{
    /// How many make a cache line.
    const LANES: usize;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// A tensor whose largest number is within 2^±`CALM` is left alone: products of two are far from underflow.
    const CALM: i32;
    /// A product whose largest number is below 2^`LOST` may have lost others that count.
    const LOST: i32;

    /// The nearest number.
    fn of(x: f64) -> Self;
    /// The same number.
    fn to_f64(self) -> f64;
    /// self · x + y, rounded once.
    fn mul_add(self, x: Self, y: Self) -> Self;
    /// The larger of two numbers, neither of them NaN.
    fn larger(self, other: Self) -> Self;
    /// The e for which a number is in [2^e, 2^(e+1)); small for zero.
    fn exponent(self) -> i32;
    /// 2^e, for an e that the number can have.
    fn power_of_two(e: i32) -> Self;
    /// Whether it is neither infinite nor NaN.
    fn is_finite(self) -> bool;
}

macro_rules! number {
    ($type:ty, $bits:ty, lanes $lanes:literal, mantissa $mantissa:literal, bias $bias:literal, calm $calm:literal, lost $lost:literal) => {
        impl Number for $type {
            const LANES: usize = $lanes;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const CALM: i32 = $calm;
            const LOST: i32 = $lost;

            #[inline(always)]
            fn of(x: f64) -> Self {
                x as $type
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }

            #[inline(always)]
            fn mul_add(self, x: Self, y: Self) -> Self {
                <$type>::mul_add(self, x, y)
            }

            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                if self > other { self } else { other }
            }

            #[inline(always)]
            fn exponent(self) -> i32 {
                ((self.to_bits() << 1) >> ($mantissa + 1)) as i32 - $bias
            }

            #[inline(always)]
            fn power_of_two(e: i32) -> Self {
                <$type>::from_bits(((e.clamp(1 - $bias, $bias) + $bias) as $bits) << $mantissa)
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                <$type>::is_finite(self)
            }
        }
    };
}

number!(f32, u32, lanes 16, mantissa 23, bias 127, calm 30, lost -80);
number!(f64, u64, lanes 8, mantissa 52, bias 1023, calm 200, lost -700);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_those_of_powers_of_two() {
        for e in [-126, -30, 0, 1, 127] {
            assert_eq!(f32::power_of_two(e).exponent(), e);
            assert_eq!(<f64 as Number>::power_of_two(e), 2f64.powi(e));
            assert_eq!((1.75 * 2f64.powi(e)).exponent(), e);
        }
        assert!(0f32.exponent() < -126 && 0f64.exponent() < -1022);
    }
}
