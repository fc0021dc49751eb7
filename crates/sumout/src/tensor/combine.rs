//! How the products of a step are combined: summed, or maximised; as they are, or as logarithms.

use crate::tensor::number::Number;

/// A semiring: a commutative sum with a zero, a product with a one that distributes over it, and
/// zero times anything is zero.
pub(crate) trait Combine: Copy {
    /// Whether numbers are kept as logarithms.
    const IS_LOG: bool = false;

    /// Adds a number to a sum.
    fn plus<T: Number>(x: T, sum: T) -> T;

    /// Adds a product to a sum.
    #[inline(always)]
    fn add<T: Number>(x: T, y: T, sum: T) -> T {
        Self::plus(Self::multiply(x, y), sum)
    }

    /// Multiplies.
    #[inline(always)]
    fn multiply<T: Number>(x: T, y: T) -> T {
        if Self::IS_LOG { x + y } else { x * y }
    }

    /// A probability as it is kept.
    #[inline(always)]
    fn of(x: f64) -> f64 {
        if Self::IS_LOG { x.ln() } else { x }
    }

    /// The empty sum.
    #[inline(always)]
    fn zero<T: Number>() -> T {
        if Self::IS_LOG {
            T::of(f64::NEG_INFINITY)
        } else {
            T::ZERO
        }
    }

    /// The empty product.
    #[inline(always)]
    fn one<T: Number>() -> T {
        if Self::IS_LOG { T::ZERO } else { T::ONE }
    }
}

/// Sums of products, multiplied and added in two roundings.
#[derive(Clone, Copy)]
pub(crate) struct Sum;

/// Sums of products, multiplied and added in one rounding, where the machine can.
#[derive(Clone, Copy)]
pub(crate) struct FusedSum;

/// Maxima of products; all numbers are at least zero.
#[derive(Clone, Copy)]
pub(crate) struct Max;

/// Sums of products of numbers that are kept as logarithms: slow, but nothing is too small.
#[derive(Clone, Copy)]
pub(crate) struct LogSum;

/// Maxima of products of numbers that are kept as logarithms.
#[derive(Clone, Copy)]
pub(crate) struct LogMax;

impl Combine for Sum {
    #[inline(always)]
    fn plus<T: Number>(x: T, sum: T) -> T {
        sum + x
    }
}

impl Combine for FusedSum {
    #[inline(always)]
    fn plus<T: Number>(x: T, sum: T) -> T {
        sum + x
    }

    #[inline(always)]
    fn add<T: Number>(x: T, y: T, sum: T) -> T {
        x.mul_add(y, sum)
    }
}

impl Combine for Max {
    #[inline(always)]
    fn plus<T: Number>(x: T, sum: T) -> T {
        sum.larger(x)
    }
}

impl Combine for LogSum {
    const IS_LOG: bool = true;

    fn plus<T: Number>(x: T, sum: T) -> T {
        let (high, low) = if sum > x { (sum, x) } else { (x, sum) };
        if low == Self::zero() {
            return high;
        }
        let (high, low) = (high.to_f64(), low.to_f64());
        T::of(high + (low - high).exp().ln_1p())
    }
}

impl Combine for LogMax {
    const IS_LOG: bool = true;

    fn plus<T: Number>(x: T, sum: T) -> T {
        sum.larger(x)
    }
}
