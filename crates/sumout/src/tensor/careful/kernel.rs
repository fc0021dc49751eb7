//! The kernels of the careful executor: plain loops over one example's numbers.

use crate::tensor::combine::Combine;
use crate::tensor::loops::{Loop, Nest};

/// Adds all products of a nest of loops to `out`.
pub(crate) fn run<C: Combine>(nest: &Nest, a: &[f64], b: &[f64], out: &mut [f64]) {
    walk_loops::<C>(nest.loops(), a, b, out);
}

/// Adds all products of some loops, outermost first, to `out`.
pub(crate) fn walk_loops<C: Combine>(loops: &[Loop], a: &[f64], b: &[f64], out: &mut [f64]) {
    match loops {
        [] => out[0] = C::add(a[0], b[0], out[0]),
        [outer @ .., inner] => walk::<C>(outer, inner, a, b, out),
    }
}

/// Adds the products that a list pairs: out[o] += a[i] · b[j], for each of its columns' (i, j, o).
pub(crate) fn join<C: Combine>([i, j, o]: [&[u32]; 3], a: &[f64], b: &[f64], out: &mut [f64]) {
    for ((&i, &j), &o) in i.iter().zip(j).zip(o) {
        let out = &mut out[o as usize];
        *out = C::add(a[i as usize], b[j as usize], *out);
    }
}

fn walk<C: Combine>(outer: &[Loop], inner: &Loop, a: &[f64], b: &[f64], out: &mut [f64]) {
    match outer {
        [] => row::<C>(inner, a, b, out),
        [last] => {
            // Rows are often short: a call for each of them would take as long as the row.
            for i in 0..last.extent {
                row::<C>(
                    inner,
                    &a[i * last.a..],
                    &b[i * last.b..],
                    &mut out[i * last.out..],
                );
            }
        }
        [first, rest @ ..] => {
            for i in 0..first.extent {
                walk::<C>(
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
fn row<C: Combine>(l: &Loop, a: &[f64], b: &[f64], out: &mut [f64]) {
    let n = l.extent;
    match (l.a, l.b, l.out) {
        (1, 1, 1) => out[..n]
            .iter_mut()
            .zip(&a[..n])
            .zip(&b[..n])
            .for_each(|((o, x), y)| *o = C::add(*x, *y, *o)),
        (0, 1, 1) => scaled::<C>(a[0], &b[..n], &mut out[..n]),
        (1, 0, 1) => scaled::<C>(b[0], &a[..n], &mut out[..n]),
        (0, 0, 1) => out[..n]
            .iter_mut()
            .for_each(|o| *o = C::add(a[0], b[0], *o)),
        (1, 1, 0) => out[0] = C::plus(dot::<C>(&a[..n], &b[..n]), out[0]),
        (x, y, z) => (0..n).for_each(|i| out[i * z] = C::add(a[i * x], b[i * y], out[i * z])),
    }
}

/// The sum of products in eight partial sums, which vector code can add in parallel.
#[inline(always)]
fn dot<C: Combine>(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [C::zero(); 8];
    let (a_blocks, b_blocks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = a_blocks.remainder().iter().zip(b_blocks.remainder());
    rest.zip(&mut sums)
        .for_each(|((x, y), sum)| *sum = C::add(*x, *y, *sum));
    for (x, y) in a_blocks.zip(b_blocks) {
        (0..8).for_each(|i| sums[i] = C::add(x[i], y[i], sums[i]));
    }
    sums.into_iter()
        .fold(C::zero(), |total, sum| C::plus(sum, total))
}

#[inline(always)]
fn scaled<C: Combine>(factor: f64, row: &[f64], out: &mut [f64]) {
    out.iter_mut()
        .zip(row)
        .for_each(|(o, x)| *o = C::add(factor, *x, *o));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::combine::Sum;

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
        run::<Sum>(&nest, &a, &b, &mut out);
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let expected: f64 = (0..k).map(|s| a[i * k + s] * b[s * n + j]).sum();
            assert_eq!(out[i * n + j], expected);
        }
    }
}
