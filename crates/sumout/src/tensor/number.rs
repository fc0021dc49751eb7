//! The numbers that executors compute with: `f32` or `f64`.

use std::fmt::Debug;
use std::ops::{Add, Mul};

/// A floating-point number, and how many of them make a cache line.
pub trait Number:
    Copy
    + Send
    + Sync
    + Debug
    + Default
    + PartialOrd
    + Add<Output = Self>
    + Mul<Output = Self>
    + 'static
{
    /// How many make a cache line.
    const LANES: usize;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// The largest number of a tensor is brought to one when it has left the range from 2^-`SAFE_EXPONENT`
    /// to 2^(2 `SAFE_EXPONENT`). The product of four does not overflow.
    const SAFE_EXPONENT: i32;
    /// Numbers below 2^`MIN_EXPONENT` become zero.
    const MIN_EXPONENT: i32;
    /// A loss counts if it is more than 2^`TOLERANCE` of the answer.
    const TOLERANCE: i32;

    /// The nearest number.
    fn of(x: f64) -> Self;
    /// The same number.
    fn to_f64(self) -> f64;
    /// self · x + y, rounded once.
    fn mul_add(self, x: Self, y: Self) -> Self;
    /// The larger of two numbers, neither of them NaN.
    fn larger(self, other: Self) -> Self;
    /// The smaller of two numbers, neither of them NaN.
    fn smaller(self, other: Self) -> Self;
    /// The e for which a number is in [2^e, 2^(e+1)); small for zero.
    fn exponent(self) -> i32;
    /// 2^e, for an e that the number can have.
    fn power_of_two(e: i32) -> Self;
    /// Adds the product of an m × k and a k × n matrix to `out`, whose rows and columns are
    /// `strides` apart.
    fn add_product(
        mkn: [usize; 3],
        a: Matrix<'_, Self>,
        b: Matrix<'_, Self>,
        out: &mut [Self],
        strides: [usize; 2],
    );
    /// Whether it is neither infinite nor NaN.
    fn is_finite(self) -> bool;
}

/// Numbers with the distances of rows, and of columns.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T> {
    /// The numbers, the first of them at row and column zero.
    pub data: &'a [T],
    /// How far apart rows are, and columns.
    pub strides: [usize; 2],
}

impl<T> Matrix<'_, T> {
    /// Whether a matrix of this size is within the numbers.
    fn holds(&self, rows: usize, columns: usize) -> bool {
        last([rows, columns], self.strides) < self.data.len()
    }
}

/// The position of the last entry of a matrix.
fn last([rows, columns]: [usize; 2], strides: [usize; 2]) -> usize {
    (rows - 1) * strides[0] + (columns - 1) * strides[1]
}

macro_rules! number {
    ($type:ty, $bits:ty, product $product:path, lanes $lanes:literal, mantissa $mantissa:literal,
     bias $bias:literal, safe $safe:literal, tolerance $tolerance:literal) => {
        impl Number for $type {
            const LANES: usize = $lanes;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const SAFE_EXPONENT: i32 = $safe;
            const MIN_EXPONENT: i32 = 1 - $bias;
            const TOLERANCE: i32 = $tolerance;

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
            fn smaller(self, other: Self) -> Self {
                if self < other { self } else { other }
            }

            #[inline(always)]
            fn exponent(self) -> i32 {
                ((self.to_bits() << 1) >> ($mantissa + 1)) as i32 - $bias
            }

            #[inline(always)]
            fn power_of_two(e: i32) -> Self {
                <$type>::from_bits(((e.clamp(1 - $bias, $bias) + $bias) as $bits) << $mantissa)
            }

            #[allow(unsafe_code)]
            fn add_product(
                [m, k, n]: [usize; 3],
                a: Matrix<'_, Self>,
                b: Matrix<'_, Self>,
                out: &mut [Self],
                strides: [usize; 2],
            ) {
                let is_within = last([m, n], strides) < out.len();
                assert!(
                    a.holds(m, k) && b.holds(k, n) && is_within,
                    "a layout stays within its tensors"
                );
                let [a_rows, a_columns] = a.strides.map(|stride| stride as isize);
                let [b_rows, b_columns] = b.strides.map(|stride| stride as isize);
                let [rows, columns] = strides.map(|stride| stride as isize);
                let (a, b, out) = (a.data.as_ptr(), b.data.as_ptr(), out.as_mut_ptr());
                // SAFETY: the last entry of each matrix is within its slice, and no two entries of
                // `out` are one.
                unsafe {
                    $product(
                        m, k, n, 1.0, a, a_rows, a_columns, b, b_rows, b_columns, 1.0, out, rows,
                        columns,
                    )
                }
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                <$type>::is_finite(self)
            }
        }
    };
}

number!(f32, u32, product matrixmultiply::sgemm, lanes 16, mantissa 23, bias 127, safe 13, tolerance -22);
number!(f64, u64, product matrixmultiply::dgemm, lanes 8, mantissa 52, bias 1023, safe 100, tolerance -44);

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
