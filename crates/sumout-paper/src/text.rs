//! Numbers for people.

/// A number with a given number of significant digits, and an exponent only if it is very small or large.
pub fn significant(x: f64, digits: usize) -> String {
    if x == 0.0 || !x.is_finite() {
        return x.abs().to_string();
    }
    let scientific = format!("{x:.*e}", digits - 1);
    let exponent: i32 = scientific
        .rsplit('e')
        .next()
        .and_then(|e| e.parse().ok())
        .unwrap_or(0);
    match exponent {
        -4..9 => format!("{x:.*}", (digits as i32 - 1 - exponent).max(0) as usize),
        _ => scientific,
    }
}

/// A duration in the unit that fits.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", 1e9 * s),
        s if s < 1e-3 => format!("{:.2} µs", 1e6 * s),
        s if s < 1.0 => format!("{:.2} ms", 1e3 * s),
        s => format!("{s:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn significant_digits_are_counted_from_the_first_that_is_not_zero() {
        let shown =
            [0.0396172, 0.5, 1.0, 0.99999, 12.345, 1.2341e-5, 0.0].map(|x| significant(x, 4));
        assert_eq!(
            shown,
            [
                "0.03962", "0.5000", "1.000", "1.000", "12.35", "1.234e-5", "0"
            ]
        );
        assert_eq!(significant(-5000.1234, 7), "-5000.123");
        assert_eq!(significant(-0.1234567, 6), "-0.123457");
        assert_eq!(significant(1.5e12, 7), "1.500000e12");
    }
}
