//! Counts that may be larger than any integer.

use std::fmt;

use serde::{Serialize, Serializer};

/// How many there are of something: exact up to 2^53, and any number of times larger.
///
/// Below 2^64 it is a whole number in text and in JSON; from there on text has `2^70.3`, and JSON
/// has a number with an exponent, or null if there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Count(pub f64);

const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&match self.0 {
            n if n < TWO_TO_64 => grouped(n as u64),
            n if n.is_finite() => format!("2^{:.1}", n.log2()),
            _ => "over 2^1024".into(),
        })
    }
}

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 < TWO_TO_64 {
            serializer.serialize_u64(self.0 as u64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

/// A number with commas between thousands.
fn grouped(n: u64) -> String {
    match n.checked_div(1000) {
        Some(thousands) if thousands > 0 => format!("{},{:03}", grouped(thousands), n % 1000),
        _ => n.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_whole_numbers_as_long_as_there_is_an_integer_for_them() {
        let shown = [0.0, 999.0, 1000.0, 1_020_003.0, 1e19, 1e21, f64::INFINITY]
            .map(|n| Count(n).to_string());
        let largest = "10,000,000,000,000,000,000";
        assert_eq!(
            shown,
            [
                "0",
                "999",
                "1,000",
                "1,020,003",
                largest,
                "2^69.8",
                "over 2^1024"
            ]
        );
        let json = |n: f64| serde_json::to_string(&Count(n)).unwrap();
        assert_eq!(
            [json(12.0), json(1e19), json(1e21)],
            ["12", "10000000000000000000", "1e+21"]
        );
    }
}
