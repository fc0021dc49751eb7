//! Bounds of the numbers that an example may have lost, which go forward with its numbers.
//!
//! A number below η = 2^`MIN_EXPONENT` becomes zero. That may count in the end, if what was large beside it
//! turns out to be impossible. So every tensor of every example has four numbers: its *peak* (the
//! largest entry), its *total* (the sum), a bound for the *error* of any entry, in units of η, and
//! a bound for its *low* (the smallest positive entry). For out = Σ a·b with at most n terms, of
//! which at most r have the same number of a, and s that of b:
//!
//! ```text
//! error ≤ error_a · min(n·peak_b, s·total_b) + error_b · min(n·peak_a, r·total_a)
//!         + n·(1 + error_a·error_b·η), if there are errors in both
//!         + n, unless low_a · low_b ≥ η
//! low   ≥ low_a · low_b
//! ```
//!
//! Of a product of more than two, a is the product of all but the last: its peak and total are at
//! most the products of theirs. If the error of the output is small beside the output, nothing that
//! counts was lost. If not, it may still be so: the bounds take the worst.

// The loops run over the examples of a block, and index several arrays at once.
#![allow(clippy::needless_range_loop)]

use crate::tensor::fast::operands::{Terms, Tiles};
use crate::tensor::fast::single::Matrices;
use crate::tensor::number::Number;

/// How many numbers bound a tensor.
pub(super) const BOUNDS: usize = 4;

/// The bounds of a tensor: each for all examples of a block, or once if it is the same for all.
#[derive(Clone, Copy)]
pub(super) struct Known<'a, T> {
    peaks: &'a [T],
    pub totals: &'a [T],
    pub errors: &'a [T],
    lows: &'a [T],
}

impl<'a, T: Number> Known<'a, T> {
    /// The bounds in a row of memory.
    pub fn of(row: &'a [T]) -> Self {
        let (first, last) = row.split_at(row.len() / 2);
        let ((peaks, totals), (errors, lows)) = (
            first.split_at(first.len() / 2),
            last.split_at(last.len() / 2),
        );
        Known {
            peaks,
            totals,
            errors,
            lows,
        }
    }

    fn of_lane(numbers: &[T], lane: usize) -> T {
        numbers[if numbers.len() == 1 { 0 } else { lane }]
    }

    /// The largest entry of an example.
    pub fn peak(&self, lane: usize) -> T {
        Self::of_lane(self.peaks, lane)
    }

    /// The bound of an example's errors.
    pub fn error(&self, lane: usize) -> T {
        Self::of_lane(self.errors, lane)
    }

    /// The bound of an example's smallest positive entry.
    pub fn low(&self, lane: usize) -> T {
        Self::of_lane(self.lows, lane)
    }

    fn varies(&self, lanes: usize) -> bool {
        self.peaks.len() == lanes
    }

    /// The same, of a length that the compiler sees.
    #[inline(always)]
    fn cut<const VARIES: bool>(self, lanes: usize) -> Self {
        let n = if VARIES { lanes } else { 1 };
        Known {
            peaks: &self.peaks[..n],
            totals: &self.totals[..n],
            errors: &self.errors[..n],
            lows: &self.lows[..n],
        }
    }

    #[inline(always)]
    fn at<const VARIES: bool>(&self, lane: usize) -> Bound<T> {
        let l = if VARIES { lane } else { 0 };
        Bound {
            peak: self.peaks[l],
            total: self.totals[l],
            error: self.errors[l],
            low: self.lows[l],
        }
    }
}

/// The bounds of a tensor of an example.
#[derive(Clone, Copy)]
struct Bound<T> {
    peak: T,
    total: T,
    error: T,
    low: T,
}

impl<T: Number> Bound<T> {
    /// A bound of the product of two errors. It is far below η, but not zero: that would hide that
    /// both factors were lost.
    #[inline(always)]
    fn both(self, b: Self) -> T {
        if self.error > T::ZERO && b.error > T::ZERO {
            T::ONE + self.error * (b.error * T::power_of_two(T::MIN_EXPONENT))
        } else {
            T::ZERO
        }
    }

    /// Of products, each with a number of both.
    #[inline(always)]
    fn times(self, b: Self, tiny: T) -> Self {
        let low = self.low * b.low;
        let new = if low >= tiny { T::ZERO } else { T::ONE };
        Bound {
            peak: self.peak * b.peak,
            total: self.total * b.total,
            error: self.error * b.peak + b.error * self.peak + self.both(b) + new,
            low,
        }
    }
}

/// The bounds of this many numbers, each of them zero or one.
pub(super) fn indicators<T: Number>(entries: usize) -> [T; BOUNDS] {
    [T::ONE, T::of(entries as f64), T::ZERO, T::ONE]
}

/// The bounds of exact numbers that are the same for all examples.
pub(super) fn exact<T: Number>(numbers: &[T]) -> [T; BOUNDS] {
    const LANES: usize = 16; // which do not wait for each other
    let (mut peaks, mut totals, mut lows) = ([T::ZERO; LANES], [T::ZERO; LANES], [T::ONE; LANES]);
    let mut see = |l: usize, x: T| {
        peaks[l] = peaks[l].larger(x);
        totals[l] = totals[l] + x;
        lows[l] = if x > T::ZERO {
            lows[l].smaller(x)
        } else {
            lows[l]
        };
    };
    let blocks = numbers.chunks_exact(LANES);
    blocks
        .remainder()
        .iter()
        .enumerate()
        .for_each(|(l, &x)| see(l, x));
    blocks.for_each(|block| (0..LANES).for_each(|l| see(l, block[l])));
    let total = totals.into_iter().fold(T::ZERO, |sum, x| sum + x);
    [
        peaks.into_iter().fold(T::ZERO, T::larger),
        total,
        T::ZERO,
        lows.into_iter().fold(T::ONE, T::smaller),
    ]
}

/// The bounds of exact numbers, for the examples of a block.
#[inline(always)]
pub(super) fn bound_exact<T: Number>(numbers: &[T], row: &mut [T]) {
    let lanes = row.len() / BOUNDS;
    let (first, last) = row.split_at_mut(2 * lanes);
    let ((peaks, totals), (errors, lows)) = (first.split_at_mut(lanes), last.split_at_mut(lanes));
    errors.fill(T::ZERO);
    match (lanes % 16, lanes % 8) {
        (0, _) => measure::<T, 16>(numbers, peaks, totals, lows),
        (_, 0) => measure::<T, 8>(numbers, peaks, totals, lows),
        _ => measure::<T, 1>(numbers, peaks, totals, lows),
    }
}

/// Measures `V` examples at a time, in registers.
#[inline(always)]
fn measure<T: Number, const V: usize>(
    numbers: &[T],
    peaks: &mut [T],
    totals: &mut [T],
    lows: &mut [T],
) {
    let lanes = peaks.len();
    for chunk in (0..lanes).step_by(V) {
        let (mut peak, mut total, mut low) = ([T::ZERO; V], [T::ZERO; V], [T::ONE; V]);
        for entry in numbers.chunks_exact(lanes) {
            let entry = &entry[chunk..chunk + V];
            for l in 0..V {
                let x = entry[l];
                let positive = if x > T::ZERO { x } else { T::ONE };
                peak[l] = peak[l].larger(x);
                total[l] = total[l] + x;
                low[l] = low[l].smaller(positive);
            }
        }
        peaks[chunk..chunk + V].copy_from_slice(&peak);
        totals[chunk..chunk + V].copy_from_slice(&total);
        lows[chunk..chunk + V].copy_from_slice(&low);
    }
}

/// How a step lets errors grow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Growth {
    /// The most terms of a sum.
    terms: f64,
    /// The most of them that have the same numbers before the last, and the same last number.
    same_first: f64,
    same_last: f64,
}

impl Growth {
    pub fn of_tiles(tiles: &Tiles) -> Self {
        let sums = &tiles.sums;
        Growth {
            terms: sums.len() as f64,
            same_first: most_equal(sums.iter().map(|term| term.0).collect()),
            same_last: most_equal(sums.iter().map(|term| term.1).collect()),
        }
    }

    pub fn of_matrices(matrices: &Matrices) -> Self {
        let summed = || matrices.loops().filter(|m| m.out == 0);
        let product =
            |extents: &mut dyn Iterator<Item = usize>| extents.map(|x| x as f64).product();
        Growth {
            terms: product(&mut summed().map(|m| m.extent)),
            same_first: product(&mut summed().filter(|m| m.a == 0).map(|m| m.extent)),
            same_last: product(&mut summed().filter(|m| m.b == 0).map(|m| m.extent)),
        }
    }

    pub fn of_terms(terms: &Terms) -> Self {
        if terms.is_plain {
            return Growth {
                terms: 1.0,
                same_first: 1.0,
                same_last: 1.0,
            };
        }
        let most = |of: &dyn Fn(&[u32]) -> f64| terms.sums().map(of).fold(0.0, f64::max);
        let (arity, last) = (terms.arity, terms.arity - 1);
        Growth {
            terms: most(&|sum| (sum.len() / arity) as f64),
            same_first: most(&|sum| {
                most_equal(sum.chunks_exact(arity).map(|term| &term[..last]).collect())
            }),
            same_last: match last {
                0 => most(&|sum| sum.len() as f64), // what the numbers are multiplied by is always one
                _ => most(&|sum| {
                    most_equal(sum.chunks_exact(arity).map(|term| term[last]).collect())
                }),
            },
        }
    }

    /// Fills in the errors and lows of a row whose peaks and totals are known.
    #[inline(always)]
    pub fn bound<T: Number>(&self, inputs: &[Known<'_, T>], row: &mut [T]) {
        let lanes = row.len() / BOUNDS;
        let one = [T::ONE, T::ONE, T::ZERO, T::ONE];
        match *inputs {
            [a] if a.varies(lanes) => {
                self.bound_each::<T, 2, true, false>([a, Known::of(&one)], row)
            }
            [a] => self.bound_each::<T, 2, false, false>([a, Known::of(&one)], row),
            [a, b] => match (a.varies(lanes), b.varies(lanes)) {
                (true, true) => self.bound_each::<T, 2, true, true>([a, b], row),
                (true, false) => self.bound_each::<T, 2, true, false>([a, b], row),
                (false, true) => self.bound_each::<T, 2, false, true>([a, b], row),
                (false, false) => self.bound_each::<T, 2, false, false>([a, b], row),
            },
            [a, b, c] if c.varies(lanes) => self.bound_each::<T, 3, true, true>([a, b, c], row),
            [a, b, c] => self.bound_each::<T, 3, true, false>([a, b, c], row),
            [a, b, c, d] if d.varies(lanes) => {
                self.bound_each::<T, 4, true, true>([a, b, c, d], row)
            }
            [a, b, c, d] => self.bound_each::<T, 4, true, false>([a, b, c, d], row),
            _ => unreachable!("a step reads one to four tensors"),
        }
    }

    /// `A`: whether all inputs but the last vary, `B` whether the last does.
    #[inline(always)]
    fn bound_each<T: Number, const K: usize, const A: bool, const B: bool>(
        &self,
        inputs: [Known<'_, T>; K],
        row: &mut [T],
    ) {
        let lanes = row.len() / BOUNDS;
        let [n, same_first, same_last] = [self.terms, self.same_first, self.same_last].map(T::of);
        let tiny = T::power_of_two(T::MIN_EXPONENT);
        let (errors, lows) = row[2 * lanes..].split_at_mut(lanes);
        let cut = |k: usize| {
            if k + 1 < K {
                inputs[k].cut::<A>(lanes)
            } else {
                inputs[k].cut::<B>(lanes)
            }
        };
        let inputs: [_; K] = std::array::from_fn(cut);
        for l in 0..lanes {
            let mut a = inputs[0].at::<A>(l);
            for input in &inputs[1..K - 1] {
                a = a.times(input.at::<A>(l), tiny);
            }
            let b = inputs[K - 1].at::<B>(l);
            let from_a = (n * b.peak).smaller(same_last * b.total);
            let from_b = (n * a.peak).smaller(same_first * a.total);
            let low = a.low * b.low;
            let new = if low >= tiny { T::ZERO } else { n };
            errors[l] = a.error * from_a + b.error * from_b + n * a.both(b) + new;
            lows[l] = low;
        }
    }
}

/// How often the most frequent of some things occurs.
fn most_equal<X: Ord>(mut things: Vec<X>) -> f64 {
    things.sort_unstable();
    things
        .chunk_by(|x, y| x == y)
        .map(<[X]>::len)
        .max()
        .unwrap_or(0) as f64
}
