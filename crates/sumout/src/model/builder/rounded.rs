//! Rows whose numbers were rounded when they were printed.

use crate::error::many;

/// A row whose sum is this close to one is left alone, so that what was written is read unchanged:
/// half a unit of the sixth decimal, and the noise of adding.
const EXACT: f64 = 5.01e-7;

/// A row this close to one is rescaled, whatever its digits; with the noise of adding.
const ROUNDED: f64 = 1.000001e-3;

/// The rows that were rescaled because their numbers are rounded.
#[derive(Debug, Default)]
pub(super) struct Rescaled {
    rows: usize,
    /// The largest difference of a sum from one.
    most: f64,
}

impl Rescaled {
    /// The note for whoever reads the network.
    pub fn note(&self) -> Option<String> {
        let most = format!("{:.0e}", self.most);
        (self.rows > 0).then(|| {
            let rows = many(self.rows, "row");
            format!("rescaled {rows} of rounded numbers: sums were off by at most {most}")
        })
    }

    /// Whether a row sums to one, if need be after rescaling it: if its numbers are rounded, or if
    /// all rows may be rescaled.
    pub fn settle(
        &mut self,
        row: &mut [f64],
        normalize: bool,
        rounding: impl FnOnce() -> f64,
    ) -> bool {
        let sum: f64 = row.iter().sum();
        let off = (sum - 1.0).abs();
        if off <= EXACT {
            return true;
        }
        let is_rounded = off <= ROUNDED || off < 0.5 && off <= rounding() + EXACT;
        let is_settled = (is_rounded || normalize) && sum > 0.0 && sum.is_finite();
        if is_settled {
            row.iter_mut().for_each(|p| *p /= sum);
        }
        if is_rounded && !normalize {
            self.rows += 1;
            self.most = self.most.max(off);
        }
        is_settled
    }
}
