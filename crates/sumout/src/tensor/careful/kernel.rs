//! The loops of one contraction.
//!
//! A contraction out[o] = Σ_s a[·] b[·] is a nest of loops, one for each axis; every loop moves
//! each of the three tensors by a fixed stride, zero where the tensor lacks the axis. A tensor may
//! lack any axis: what is in `out` alone is broadcast, what is in one input alone is summed.
//!
//! Neighbouring loops that step through all three tensors as one are merged. The innermost loop is
//! the longest one that moves every tensor by zero or one, for which the compiler emits vector
//! code; the loops that sum come just outside of it, so that the row of `out` that is being summed
//! stays in the first cache.

/// Numbers that are added or maximised, and multiplied.
pub(crate) trait Semiring {
    /// Whether numbers are kept as logarithms.
    const IS_LOG: bool;
    /// The empty sum.
    const ZERO: f64;
    /// The empty product.
    const ONE: f64;
    /// Adds `x` to `sum`.
    fn add(sum: &mut f64, x: f64);
    /// Multiplies.
    fn multiply(x: f64, y: f64) -> f64;
    /// A number as the semiring has it.
    fn of(x: f64) -> f64;
}

/// Sums of products.
pub(crate) struct SumProduct;

/// Maxima of products; all numbers are at least zero.
pub(crate) struct MaxProduct;

/// Sums of products of numbers that are kept as logarithms: slow, but nothing is too small.
pub(crate) struct LogSumProduct;

/// Maxima of products of numbers that are kept as logarithms.
pub(crate) struct LogMaxProduct;

impl Semiring for SumProduct {
    const IS_LOG: bool = false;
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;

    #[inline(always)]
    fn multiply(x: f64, y: f64) -> f64 {
        x * y
    }

    #[inline(always)]
    fn of(x: f64) -> f64 {
        x
    }

    #[inline(always)]
    fn add(sum: &mut f64, x: f64) {
        *sum += x;
    }
}

impl Semiring for LogSumProduct {
    const IS_LOG: bool = true;
    const ZERO: f64 = f64::NEG_INFINITY;
    const ONE: f64 = 0.0;

    fn multiply(x: f64, y: f64) -> f64 {
        x + y
    }

    fn of(x: f64) -> f64 {
        x.ln()
    }

    fn add(sum: &mut f64, x: f64) {
        let (high, low) = if *sum > x { (*sum, x) } else { (x, *sum) };
        *sum = if low == f64::NEG_INFINITY {
            high
        } else {
            high + (low - high).exp().ln_1p()
        };
    }
}

impl Semiring for LogMaxProduct {
    const IS_LOG: bool = true;
    const ZERO: f64 = f64::NEG_INFINITY;
    const ONE: f64 = 0.0;

    fn multiply(x: f64, y: f64) -> f64 {
        x + y
    }

    fn of(x: f64) -> f64 {
        x.ln()
    }

    fn add(sum: &mut f64, x: f64) {
        *sum = sum.max(x);
    }
}

impl Semiring for MaxProduct {
    const IS_LOG: bool = false;
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;

    #[inline(always)]
    fn multiply(x: f64, y: f64) -> f64 {
        x * y
    }

    #[inline(always)]
    fn of(x: f64) -> f64 {
        x
    }

    #[inline(always)]
    fn add(sum: &mut f64, x: f64) {
        *sum = if x > *sum { x } else { *sum };
    }
}

/// One loop: how often, and by how much it moves each tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    pub extent: usize,
    pub a: usize,
    pub b: usize,
    pub out: usize,
}

/// The loop nest of a contraction, outermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Nest {
    loops: Vec<Loop>,
}

impl Nest {
    /// Orders and merges the loops, given with those of `out` in its axis order, then the summed
    /// ones.
    pub fn new(loops: impl IntoIterator<Item = Loop>) -> Self {
        let (kept, summed): (Vec<Loop>, Vec<Loop>) =
            merged(loops).into_iter().partition(|l| l.out > 0);
        let mut loops: Vec<Loop> = kept.into_iter().chain(summed).collect();
        let is_unit = |l: &Loop| l.a <= 1 && l.b <= 1 && l.out <= 1;
        let inner = (0..loops.len())
            .filter(|&i| is_unit(&loops[i]))
            .max_by_key(|&i| loops[i].extent);
        if let Some(inner) = inner {
            let last = loops.remove(inner);
            loops.push(last);
        }
        Nest { loops }
    }

    /// The loops, outermost first.
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// Adds all products to `out`.
    pub fn run<S: Semiring>(&self, a: &[f64], b: &[f64], out: &mut [f64]) {
        match &self.loops[..] {
            [] => S::add(&mut out[0], S::multiply(a[0], b[0])),
            [outer @ .., inner] => nest::<S>(outer, inner, a, b, out),
        }
    }

    /// The sums with `out` fixed at `at`: visits every pair of positions in `a` and `b` that add to
    /// it.
    ///
    /// `at` are the positions of the tensors that the kept axes give.
    pub fn visit_summed(&self, (a, b): (usize, usize), visit: &mut impl FnMut(usize, usize)) {
        fn walk(loops: &[Loop], a: usize, b: usize, visit: &mut impl FnMut(usize, usize)) {
            match loops {
                [] => visit(a, b),
                [first, rest @ ..] if first.out == 0 => {
                    (0..first.extent)
                        .for_each(|i| walk(rest, a + i * first.a, b + i * first.b, visit));
                }
                [_, rest @ ..] => walk(rest, a, b, visit),
            }
        }
        walk(&self.loops, a, b, visit);
    }
}

/// Adds the products that a list pairs: out[o] += a[i] · b[j], for each of its columns' (i, j, o).
pub(crate) fn join<S: Semiring>([i, j, o]: [&[u32]; 3], a: &[f64], b: &[f64], out: &mut [f64]) {
    for ((&i, &j), &o) in i.iter().zip(j).zip(o) {
        S::add(
            &mut out[o as usize],
            S::multiply(a[i as usize], b[j as usize]),
        );
    }
}

/// Merges each loop with the one before it where both step through all tensors as one.
fn merged(loops: impl IntoIterator<Item = Loop>) -> Vec<Loop> {
    let mut merged: Vec<Loop> = vec![];
    for next in loops.into_iter().filter(|l| l.extent > 1) {
        let continues = |outer: usize, inner: usize| outer == inner * next.extent;
        match merged.last_mut() {
            Some(last)
                if continues(last.a, next.a)
                    && continues(last.b, next.b)
                    && continues(last.out, next.out) =>
            {
                *last = Loop {
                    extent: last.extent * next.extent,
                    ..next
                };
            }
            _ => merged.push(next),
        }
    }
    merged
}

fn nest<S: Semiring>(outer: &[Loop], inner: &Loop, a: &[f64], b: &[f64], out: &mut [f64]) {
    match outer {
        [] => row::<S>(inner, a, b, out),
        [last] => {
            // Rows are often short: a call for each of them would take as long as the row.
            for i in 0..last.extent {
                row::<S>(
                    inner,
                    &a[i * last.a..],
                    &b[i * last.b..],
                    &mut out[i * last.out..],
                );
            }
        }
        [first, rest @ ..] => {
            for i in 0..first.extent {
                nest::<S>(
                    rest,
                    inner,
                    &a[i * first.a..],
                    &b[i * first.b..],
                    &mut out[i * first.out..],
                );
            }
        }
    }
}

/// The innermost loop, in the forms for which the compiler finds vector code.
#[inline(always)]
fn row<S: Semiring>(l: &Loop, a: &[f64], b: &[f64], out: &mut [f64]) {
    let n = l.extent;
    match (l.a, l.b, l.out) {
        (1, 1, 1) => out[..n]
            .iter_mut()
            .zip(&a[..n])
            .zip(&b[..n])
            .for_each(|((o, x), y)| S::add(o, S::multiply(*x, *y))),
        (0, 1, 1) => scaled::<S>(a[0], &b[..n], &mut out[..n]),
        (1, 0, 1) => scaled::<S>(b[0], &a[..n], &mut out[..n]),
        (0, 0, 1) => out[..n]
            .iter_mut()
            .for_each(|o| S::add(o, S::multiply(a[0], b[0]))),
        (1, 1, 0) => S::add(&mut out[0], dot::<S>(&a[..n], &b[..n])),
        (x, y, z) => (0..n).for_each(|i| S::add(&mut out[i * z], S::multiply(a[i * x], b[i * y]))),
    }
}

/// The sum of products in eight partial sums, which vector code can add in parallel.
#[inline(always)]
fn dot<S: Semiring>(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [S::ZERO; 8];
    let (a_blocks, b_blocks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = a_blocks.remainder().iter().zip(b_blocks.remainder());
    rest.zip(&mut sums)
        .for_each(|((x, y), sum)| S::add(sum, S::multiply(*x, *y)));
    for (x, y) in a_blocks.zip(b_blocks) {
        (0..8).for_each(|i| S::add(&mut sums[i], S::multiply(x[i], y[i])));
    }
    let mut total = S::ZERO;
    sums.into_iter().for_each(|sum| S::add(&mut total, sum));
    total
}

#[inline(always)]
fn scaled<S: Semiring>(factor: f64, row: &[f64], out: &mut [f64]) {
    out.iter_mut()
        .zip(row)
        .for_each(|(o, x)| S::add(o, S::multiply(factor, *x)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Matrix product by loops written out, and by a nest.
    #[test]
    fn a_nest_multiplies_matrices() {
        let (m, k, n) = (3, 4, 5);
        let a: Vec<f64> = (0..m * k).map(|i| (i * i % 7) as f64).collect();
        let b: Vec<f64> = (0..k * n).map(|i| (i * 3 % 11) as f64).collect();
        let nest = Nest::new([
            Loop {
                extent: m,
                a: k,
                b: 0,
                out: n,
            },
            Loop {
                extent: n,
                a: 0,
                b: 1,
                out: 1,
            },
            Loop {
                extent: k,
                a: 1,
                b: n,
                out: 0,
            },
        ]);
        let mut out = vec![0.0; m * n];
        nest.run::<SumProduct>(&a, &b, &mut out);
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let expected: f64 = (0..k).map(|s| a[i * k + s] * b[s * n + j]).sum();
            assert_eq!(out[i * n + j], expected);
        }
    }

    #[test]
    fn loops_that_step_as_one_are_merged() {
        let loops = [
            Loop {
                extent: 2,
                a: 6,
                b: 0,
                out: 6,
            },
            Loop {
                extent: 6,
                a: 1,
                b: 0,
                out: 1,
            },
        ];
        assert_eq!(
            Nest::new(loops).loops,
            [Loop {
                extent: 12,
                a: 1,
                b: 0,
                out: 1
            }]
        );
    }
}
