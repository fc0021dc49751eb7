//! Non-negative numbers whose exponents do not end at 308.

use std::iter::{Product, Sum};
use std::ops::{Add, Mul};

/// `mantissa` · 2^`exponent`; the mantissa is zero or in [1, 2).
#[derive(Clone, Copy, Debug)]
pub struct Wide {
    mantissa: f64,
    exponent: i64,
}

/// Numbers this many times smaller change nothing.
const MAX_DISTANCE: i64 = 120;

impl Wide {
    pub const ZERO: Wide = Wide {
        mantissa: 0.0,
        exponent: 0,
    };

    fn new(mantissa: f64, exponent: i64) -> Self {
        if mantissa == 0.0 {
            return Wide::ZERO;
        }
        if mantissa.is_subnormal() {
            return Wide::new(mantissa * 2f64.powi(100), exponent - 100);
        }
        let bits = mantissa.to_bits();
        let own = (bits >> 52) as i64 - 1023;
        Wide {
            mantissa: f64::from_bits(bits & !(0x7ff << 52) | 1023 << 52),
            exponent: exponent + own,
        }
    }

    pub fn is_zero(self) -> bool {
        self.mantissa == 0.0
    }

    pub fn ln(self) -> f64 {
        self.mantissa.ln() + self.exponent as f64 * std::f64::consts::LN_2
    }

    /// The quotient, which is a number of usual size.
    pub fn over(self, other: Wide) -> f64 {
        let distance = (self.exponent - other.exponent).clamp(-1000, 1000);
        self.mantissa / other.mantissa * 2f64.powi(distance as i32)
    }

    pub fn max(self, other: Wide) -> Wide {
        let key = |x: Wide| (!x.is_zero(), x.exponent);
        match key(self).cmp(&key(other)) {
            std::cmp::Ordering::Less => other,
            std::cmp::Ordering::Equal if self.mantissa < other.mantissa => other,
            _ => self,
        }
    }
}

impl From<f64> for Wide {
    fn from(x: f64) -> Self {
        Wide::new(x, 0)
    }
}

impl Mul for Wide {
    type Output = Wide;

    fn mul(self, other: Wide) -> Wide {
        Wide::new(
            self.mantissa * other.mantissa,
            self.exponent + other.exponent,
        )
    }
}

impl Add for Wide {
    type Output = Wide;

    fn add(self, other: Wide) -> Wide {
        let large = self.max(other);
        if self.is_zero()
            || other.is_zero()
            || (self.exponent - other.exponent).abs() > MAX_DISTANCE
        {
            return large;
        }
        let unit = |x: Wide| x.mantissa * 2f64.powi((x.exponent - large.exponent) as i32);
        Wide::new(unit(self) + unit(other), large.exponent)
    }
}

impl Sum for Wide {
    fn sum<I: Iterator<Item = Wide>>(all: I) -> Wide {
        all.fold(Wide::ZERO, Add::add)
    }
}

impl Product for Wide {
    fn product<I: Iterator<Item = Wide>>(all: I) -> Wide {
        all.fold(Wide::from(1.0), Mul::mul)
    }
}

#[test]
fn numbers_far_beyond_the_usual_ones_are_right() {
    let [huge, tiny] = [1e300, 1e-310].map(Wide::from);
    let product: Wide = std::iter::repeat_n(huge, 10).product();
    assert!((product.ln() - 10.0 * 1e300f64.ln()).abs() < 1e-9);
    assert!(((huge * tiny).ln() - (1e300f64.ln() + 1e-310f64.ln())).abs() < 1e-9);
    assert!(((product + product).over(product) - 2.0).abs() < 1e-15);
    assert!((product + tiny).over(product) == 1.0 && (Wide::ZERO + tiny).over(tiny) == 1.0);
    assert!(Wide::ZERO.max(tiny).over(tiny) == 1.0 && product.max(huge).over(product) == 1.0);
}
