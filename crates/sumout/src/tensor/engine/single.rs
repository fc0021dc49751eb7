//! Kernels for one example: one step of a program, vectorised over the axes of its tensors.
//!
//! The innermost loop is one that steps through memory; which one depends on the contraction:
//!
//! * a matrix product whose three loops are long goes to a library for matrix products;
//! * rows of the output that are sums of scaled rows of one input add up four terms at a time;
//! * dot products, sums and products of rows are plain loops.

use super::lanes::{Form, Fused, Move, Operands, Store, Terms, advance};
use super::number::Number;

/// A contraction as loops, outermost first: loops over matrices, then the three of a matrix product.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matrices {
    /// Loops around the matrix products.
    pub outer: Vec<Move>,
    /// The loop just outside the innermost one, and the innermost: whichever tensors they move, or sum.
    pub middle: Move,
    pub inner: Move,
    /// The product's loops, if it is large: over the rows of `a`, the columns of `b`, and the sum.
    pub product: Option<[Move; 3]>,
}

/// A matrix product with at least this many multiply-adds goes to the library.
const LARGE: usize = 20 * 20 * 20;

impl Matrices {
    /// Orders the loops of a contraction.
    pub fn new(loops: &[Move]) -> Self {
        let mut loops = loops.to_vec();
        if let Some(product) = large_product(&mut loops) {
            let still = Move { extent: 1, ..Move::default() };
            return Matrices { outer: loops, middle: still, inner: still, product: Some(product) };
        }
        let is_unit = |m: &Move| m.a <= 1 && m.b <= 1 && m.out <= 1;
        let inner = take(&mut loops, |m| if is_unit(m) { m.extent } else { 0 });
        let middle = take(&mut loops, |m| if m.out == 0 { m.extent } else { 0 });
        Matrices { outer: loops, middle, inner, product: None }
    }
}

/// Takes the loop with the highest score; one round of nothing if all are zero.
fn take(loops: &mut Vec<Move>, score: impl Fn(&Move) -> usize) -> Move {
    let best = (0..loops.len()).max_by_key(|&i| score(&loops[i])).filter(|&i| score(&loops[i]) > 0);
    best.map_or(Move { extent: 1, ..Move::default() }, |i| loops.remove(i))
}

/// Takes the three loops of a matrix product, if there is a large one.
fn large_product(loops: &mut Vec<Move>) -> Option<[Move; 3]> {
    let kinds: [fn(&Move) -> bool; 3] = [
        |m| m.a > 0 && m.b == 0 && m.out > 0,
        |m| m.a == 0 && m.b > 0 && m.out > 0,
        |m| m.a > 0 && m.b > 0 && m.out == 0,
    ];
    let longest = |kind: fn(&Move) -> bool| loops.iter().copied().filter(kind).max_by_key(|m| m.extent);
    let product = [longest(kinds[0])?, longest(kinds[1])?, longest(kinds[2])?];
    let is_large =
        product.iter().all(|m| m.extent >= 8) && product.iter().map(|m| m.extent).product::<usize>() >= LARGE;
    is_large.then(|| {
        loops.retain(|m| !product.contains(m));
        product
    })
}

/// A contraction.
#[inline(always)]
pub(super) fn contract<F: Fused, T: Number>(matrices: &Matrices, form: &Form, on: &mut Operands<'_, T>) {
    if form.store == Store::Set {
        on.out.fill(T::ZERO);
    }
    outer::<F, T>(&matrices.outer, matrices, on.a, on.b, on.out);
    on.peaks[0] = peak(on.out);
}

#[inline(always)]
fn outer<F: Fused, T: Number>(loops: &[Move], on: &Matrices, a: &[T], b: &[T], out: &mut [T]) {
    let mut counters = vec![0; loops.len()];
    let mut at = [0; 3];
    loop {
        let (a, b, out) = (&a[at[0]..], &b[at[1]..], &mut out[at[2]..]);
        match &on.product {
            Some(product) => multiply(product, a, b, out),
            None => rows::<F, T>(on, a, b, out),
        }
        if !advance(loops, &mut counters, &mut at) {
            return;
        }
    }
}

/// Adds a product of matrices.
#[allow(unsafe_code)]
fn multiply<T: Number>([m, n, k]: &[Move; 3], a: &[T], b: &[T], out: &mut [T]) {
    let last = |x: &Move, y: &Move, of: fn(&Move) -> usize| (x.extent - 1) * of(x) + (y.extent - 1) * of(y);
    assert!(last(m, k, |l| l.a) < a.len() && last(n, k, |l| l.b) < b.len());
    assert!(last(m, n, |l| l.out) < out.len());
    // SAFETY: the last element of each matrix is within its slice, and strides are not negative.
    unsafe {
        gemm::gemm(
            m.extent,
            n.extent,
            k.extent,
            out.as_mut_ptr(),
            n.out as isize,
            m.out as isize,
            true,
            a.as_ptr(),
            k.a as isize,
            m.a as isize,
            b.as_ptr(),
            n.b as isize,
            k.b as isize,
            T::ONE,
            T::ONE,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// The two innermost loops.
#[inline(always)]
fn rows<F: Fused, T: Number>(on: &Matrices, a: &[T], b: &[T], out: &mut [T]) {
    let Matrices { middle, inner, .. } = on;
    let n = inner.extent;
    let mut k = 0;
    if middle.out == 0 && inner.out == 1 {
        while k + 4 <= middle.extent {
            four::<F, T>(inner, middle, &a[k * middle.a..], &b[k * middle.b..], &mut out[..n]);
            k += 4;
        }
    }
    for k in k..middle.extent {
        row::<F, T>(inner, &a[k * middle.a..], &b[k * middle.b..], &mut out[k * middle.out..]);
    }
}

/// Four terms of each sum of a row.
#[inline(always)]
fn four<F: Fused, T: Number>(inner: &Move, middle: &Move, a: &[T], b: &[T], out: &mut [T]) {
    let n = inner.extent;
    match (inner.a, inner.b) {
        (0, 1) => {
            let scale = [a[0], a[middle.a], a[2 * middle.a], a[3 * middle.a]];
            add_scaled::<F, T>(scale, [0, 1, 2, 3].map(|k| &b[k * middle.b..][..n]), out);
        }
        (1, 0) => {
            let scale = [b[0], b[middle.b], b[2 * middle.b], b[3 * middle.b]];
            add_scaled::<F, T>(scale, [0, 1, 2, 3].map(|k| &a[k * middle.a..][..n]), out);
        }
        _ => (0..4).for_each(|k| row::<F, T>(inner, &a[k * middle.a..], &b[k * middle.b..], out)),
    }
}

#[inline(always)]
fn add_scaled<F: Fused, T: Number>(scale: [T; 4], rows: [&[T]; 4], out: &mut [T]) {
    let [p, q, r, s] = rows;
    for ((((o, &p), &q), &r), &s) in out.iter_mut().zip(p).zip(q).zip(r).zip(s) {
        *o = F::add(scale[0], p, F::add(scale[1], q, F::add(scale[2], r, F::add(scale[3], s, *o))));
    }
}

/// The innermost loop, in the forms for which the compiler finds vector code.
#[inline(always)]
fn row<F: Fused, T: Number>(inner: &Move, a: &[T], b: &[T], out: &mut [T]) {
    let n = inner.extent;
    match (inner.a, inner.b, inner.out) {
        (1, 1, 1) => out[..n].iter_mut().zip(&a[..n]).zip(&b[..n]).for_each(|((o, &x), &y)| *o = F::add(x, y, *o)),
        (0, 1, 1) => out[..n].iter_mut().zip(&b[..n]).for_each(|(o, &y)| *o = F::add(a[0], y, *o)),
        (1, 0, 1) => out[..n].iter_mut().zip(&a[..n]).for_each(|(o, &x)| *o = F::add(x, b[0], *o)),
        (1, 1, 0) => out[0] = out[0] + dot::<F, T>(&a[..n], &b[..n]),
        (1, 0, 0) => out[0] = F::add(sum(&a[..n]), b[0], out[0]),
        (0, 1, 0) => out[0] = F::add(a[0], sum(&b[..n]), out[0]),
        (x, y, z) => (0..n).for_each(|i| out[i * z] = F::add(a[i * x], b[i * y], out[i * z])),
    }
}

/// How many sums run side by side.
const SIDE: usize = 16;

#[inline(always)]
fn dot<F: Fused, T: Number>(a: &[T], b: &[T]) -> T {
    let mut sums = [T::ZERO; SIDE];
    let (whole_a, whole_b) = (a.chunks_exact(SIDE), b.chunks_exact(SIDE));
    let rest = whole_a.remainder().iter().zip(whole_b.remainder());
    let rest = rest.fold(T::ZERO, |total, (&x, &y)| F::add(x, y, total));
    for (x, y) in whole_a.zip(whole_b) {
        for l in 0..SIDE {
            sums[l] = F::add(x[l], y[l], sums[l]);
        }
    }
    sums.into_iter().fold(rest, |total, x| total + x)
}

#[inline(always)]
fn sum<T: Number>(a: &[T]) -> T {
    let mut sums = [T::ZERO; SIDE];
    let whole = a.chunks_exact(SIDE);
    let rest = whole.remainder().iter().fold(T::ZERO, |total, &x| total + x);
    for x in whole {
        for l in 0..SIDE {
            sums[l] = sums[l] + x[l];
        }
    }
    sums.into_iter().fold(rest, |total, x| total + x)
}

#[inline(always)]
fn peak<T: Number>(numbers: &[T]) -> T {
    let mut peaks = [T::ZERO; SIDE];
    let whole = numbers.chunks_exact(SIDE);
    let rest = whole.remainder().iter().fold(T::ZERO, |peak, &x| peak.larger(x));
    for x in whole {
        for l in 0..SIDE {
            peaks[l] = peaks[l].larger(x[l]);
        }
    }
    peaks.into_iter().fold(rest, T::larger)
}

/// A step by lists.
#[inline(always)]
pub(super) fn by_list<F: Fused, T: Number>(terms: &Terms, form: &Form, on: &mut Operands<'_, T>) {
    let Terms { starts, terms, is_plain } = terms;
    let product = |&(i, j): &(u32, u32)| (on.a[i as usize], on.b[j as usize]);
    if *is_plain && form.store == Store::Set {
        on.out.iter_mut().zip(terms).for_each(|(o, term)| *o = product(term).0 * product(term).1);
    } else {
        for (o, range) in on.out.iter_mut().zip(starts.windows(2)) {
            let start = if form.store == Store::Set { T::ZERO } else { *o };
            let terms = &terms[range[0] as usize..range[1] as usize];
            *o = terms.iter().map(product).fold(start, |sum, (x, y)| F::add(x, y, sum));
        }
    }
    on.peaks[0] = peak(on.out);
}
