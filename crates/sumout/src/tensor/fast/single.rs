//! Kernels for one example: one step of a program, vectorised over the axes of its tensors.
//!
//! The innermost loop is one that steps through memory; which one depends on the contraction:
//!
//! * a matrix product whose three loops are long goes to a library for matrix products;
//! * rows of the output that are sums of scaled rows of one input add up four terms at a time;
//! * dot products, sums and products of rows are plain loops.
//!
//! The library is `matrixmultiply`. With `gemm` in its place, an example of rect:20 and of
//! digits:16 at level `functional` took as long as before by the median of 15 turns, and 1 to 13 %
//! less by the best of them, on a busy AVX-512 machine.

use crate::tensor::combine::Combine;
use crate::tensor::fast::lanes::advance;
use crate::tensor::fast::operands::{Form, MAX_INPUTS, Operands, Store, Terms};
use crate::tensor::loops::Loop;
use crate::tensor::number::{Matrix, Number};

/// A contraction as loops, outermost first: loops over matrices, then the three of a matrix
/// product.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matrices {
    /// Loops around the matrix products.
    pub outer: Vec<Loop>,
    /// The loop just outside the innermost one, and the innermost: whichever tensors they move, or
    /// sum.
    pub middle: Loop,
    pub inner: Loop,
    /// The product's loops, if it is large: over the rows of `a`, the columns of `b`, and the sum.
    pub product: Option<[Loop; 3]>,
}

/// A matrix product with at least this many multiply-adds goes to the library.
const MIN_LIBRARY_PRODUCT: usize = 20 * 20 * 20;

impl Matrices {
    /// Orders the loops of a contraction.
    pub fn new(loops: &[Loop]) -> Self {
        let mut loops = loops.to_vec();
        if let Some(product) = large_product(&mut loops) {
            return Matrices {
                outer: loops,
                middle: Loop::ONCE,
                inner: Loop::ONCE,
                product: Some(product),
            };
        }
        let inner = take(&mut loops, |m| if m.is_unit() { m.extent } else { 0 });
        let middle = take(&mut loops, |m| if m.out == 0 { m.extent } else { 0 });
        Matrices {
            outer: loops,
            middle,
            inner,
            product: None,
        }
    }

    /// All loops.
    pub fn loops(&self) -> impl Iterator<Item = &Loop> {
        self.outer
            .iter()
            .chain([&self.middle, &self.inner])
            .chain(self.product.iter().flatten())
    }
}

/// Takes the loop with the highest score; one round of nothing if all are zero.
fn take(loops: &mut Vec<Loop>, score: impl Fn(&Loop) -> usize) -> Loop {
    let best = (0..loops.len())
        .max_by_key(|&i| score(&loops[i]))
        .filter(|&i| score(&loops[i]) > 0);
    best.map_or(Loop::ONCE, |i| loops.remove(i))
}

/// Takes the three loops of a matrix product, if there is a large one.
fn large_product(loops: &mut Vec<Loop>) -> Option<[Loop; 3]> {
    let kinds: [fn(&Loop) -> bool; 3] = [
        |m| m.a > 0 && m.b == 0 && m.out > 0,
        |m| m.a == 0 && m.b > 0 && m.out > 0,
        |m| m.a > 0 && m.b > 0 && m.out == 0,
    ];
    let longest =
        |kind: fn(&Loop) -> bool| loops.iter().copied().filter(kind).max_by_key(|m| m.extent);
    let product = [longest(kinds[0])?, longest(kinds[1])?, longest(kinds[2])?];
    let is_large = product.iter().all(|m| m.extent >= 8)
        && product.iter().map(|m| m.extent).product::<usize>() >= MIN_LIBRARY_PRODUCT;
    is_large.then(|| {
        loops.retain(|m| !product.contains(m));
        product
    })
}

/// A contraction.
#[inline(always)]
pub(super) fn contract<C: Combine, T: Number>(
    matrices: &Matrices,
    form: &Form,
    on: &mut Operands<'_, T>,
) {
    if form.store == Store::Set {
        on.out.fill(T::ZERO);
    }
    outer::<C, T>(
        &matrices.outer,
        matrices,
        on.inputs[0],
        on.inputs[1],
        on.out,
    );
    (on.peaks[0], on.totals[0]) = (peak(on.out), sum(on.out));
}

#[inline(always)]
fn outer<C: Combine, T: Number>(loops: &[Loop], on: &Matrices, a: &[T], b: &[T], out: &mut [T]) {
    let (mut few, mut many) = ([0; 8], vec![]);
    let counters = match few.get_mut(..loops.len()) {
        Some(few) => few, // small steps are too quick for an allocation
        None => {
            many.resize(loops.len(), 0);
            &mut many[..]
        }
    };
    let mut at = [0; 3];
    loop {
        let (a, b, out) = (&a[at[0]..], &b[at[1]..], &mut out[at[2]..]);
        match &on.product {
            Some(product) => multiply(product, a, b, out),
            None => rows::<C, T>(on, a, b, out),
        }
        if !advance(loops, counters, &mut at) {
            return;
        }
    }
}

/// Adds a product of matrices.
fn multiply<T: Number>([m, n, k]: &[Loop; 3], a: &[T], b: &[T], out: &mut [T]) {
    let a = Matrix {
        data: a,
        strides: [m.a, k.a],
    };
    let b = Matrix {
        data: b,
        strides: [k.b, n.b],
    };
    T::add_product([m.extent, k.extent, n.extent], a, b, out, [m.out, n.out]);
}

/// The two innermost loops.
#[inline(always)]
fn rows<C: Combine, T: Number>(on: &Matrices, a: &[T], b: &[T], out: &mut [T]) {
    let Matrices { middle, inner, .. } = on;
    let n = inner.extent;
    let mut k = 0;
    if middle.out == 0 && inner.out == 1 {
        while k + 4 <= middle.extent {
            four::<C, T>(
                inner,
                middle,
                &a[k * middle.a..],
                &b[k * middle.b..],
                &mut out[..n],
            );
            k += 4;
        }
    }
    for k in k..middle.extent {
        row::<C, T>(
            inner,
            &a[k * middle.a..],
            &b[k * middle.b..],
            &mut out[k * middle.out..],
        );
    }
}

/// Four terms of each sum of a row.
#[inline(always)]
fn four<C: Combine, T: Number>(inner: &Loop, middle: &Loop, a: &[T], b: &[T], out: &mut [T]) {
    match (inner.a, inner.b) {
        (0, 1) => add_scaled::<C, T>(a, middle.a, b, middle.b, out),
        (1, 0) => add_scaled::<C, T>(b, middle.b, a, middle.a, out),
        _ => {
            for k in 0..4 {
                row::<C, T>(inner, &a[k * middle.a..], &b[k * middle.b..], out);
            }
        }
    }
}

/// Adds four rows, each times a number.
#[inline(always)]
fn add_scaled<C: Combine, T: Number>(
    by: &[T],
    by_step: usize,
    rows: &[T],
    step: usize,
    out: &mut [T],
) {
    let n = out.len();
    let (p, q) = (&rows[..n], &rows[step..][..n]);
    let (r, s) = (&rows[2 * step..][..n], &rows[3 * step..][..n]);
    let by = [by[0], by[by_step], by[2 * by_step], by[3 * by_step]];
    for i in 0..n {
        out[i] = C::add(
            by[0],
            p[i],
            C::add(
                by[1],
                q[i],
                C::add(by[2], r[i], C::add(by[3], s[i], out[i])),
            ),
        );
    }
}

/// The innermost loop, in the forms for which the compiler finds vector code.
#[inline(always)]
fn row<C: Combine, T: Number>(inner: &Loop, a: &[T], b: &[T], out: &mut [T]) {
    let n = inner.extent;
    match (inner.a, inner.b, inner.out) {
        (1, 1, 1) => products::<C, T>(&a[..n], &b[..n], &mut out[..n]),
        (0, 1, 1) => scaled::<C, T>(a[0], &b[..n], &mut out[..n]),
        (1, 0, 1) => scaled::<C, T>(b[0], &a[..n], &mut out[..n]),
        (1, 1, 0) => out[0] = out[0] + dot::<C, T>(&a[..n], &b[..n]),
        (1, 0, 0) => out[0] = C::add(sum(&a[..n]), b[0], out[0]),
        (0, 1, 0) => out[0] = C::add(a[0], sum(&b[..n]), out[0]),
        (x, y, z) => {
            for i in 0..n {
                out[i * z] = C::add(a[i * x], b[i * y], out[i * z]);
            }
        }
    }
}

#[inline(always)]
fn products<C: Combine, T: Number>(a: &[T], b: &[T], out: &mut [T]) {
    let n = out.len();
    let (a, b) = (&a[..n], &b[..n]);
    for i in 0..n {
        out[i] = C::add(a[i], b[i], out[i]);
    }
}

#[inline(always)]
fn scaled<C: Combine, T: Number>(by: T, row: &[T], out: &mut [T]) {
    let n = out.len();
    let row = &row[..n];
    for i in 0..n {
        out[i] = C::add(by, row[i], out[i]);
    }
}

/// The number of sums that run side by side.
const PARALLEL_SUMS: usize = 16;

#[inline(always)]
fn dot<C: Combine, T: Number>(a: &[T], b: &[T]) -> T {
    let n = a.len();
    let b = &b[..n];
    let mut sums = [T::ZERO; PARALLEL_SUMS];
    let whole = n - n % PARALLEL_SUMS;
    for start in (0..whole).step_by(PARALLEL_SUMS) {
        let (x, y) = (
            &a[start..start + PARALLEL_SUMS],
            &b[start..start + PARALLEL_SUMS],
        );
        for l in 0..PARALLEL_SUMS {
            sums[l] = C::add(x[l], y[l], sums[l]);
        }
    }
    let mut total = if whole > 0 {
        folded(sums, |x, y| x + y)
    } else {
        T::ZERO
    };
    for i in whole..n {
        total = C::add(a[i], b[i], total);
    }
    total
}

#[inline(always)]
fn sum<T: Number>(a: &[T]) -> T {
    let mut sums = [T::ZERO; PARALLEL_SUMS];
    let whole = a.len() - a.len() % PARALLEL_SUMS;
    for start in (0..whole).step_by(PARALLEL_SUMS) {
        let x = &a[start..start + PARALLEL_SUMS];
        for l in 0..PARALLEL_SUMS {
            sums[l] = sums[l] + x[l];
        }
    }
    let total = if whole > 0 {
        folded(sums, |x, y| x + y)
    } else {
        T::ZERO
    };
    a[whole..].iter().fold(total, |total, x| total + *x)
}

#[inline(always)]
fn peak<T: Number>(a: &[T]) -> T {
    let mut peaks = [T::ZERO; PARALLEL_SUMS];
    let whole = a.len() - a.len() % PARALLEL_SUMS;
    for start in (0..whole).step_by(PARALLEL_SUMS) {
        let x = &a[start..start + PARALLEL_SUMS];
        for l in 0..PARALLEL_SUMS {
            peaks[l] = peaks[l].larger(x[l]);
        }
    }
    let peak = if whole > 0 {
        folded(peaks, T::larger)
    } else {
        T::ZERO
    };
    a[whole..].iter().fold(peak, |peak, x| peak.larger(*x))
}

/// Combines numbers that were computed side by side: half by half, which waits for little.
#[inline(always)]
fn folded<T: Number>(mut side: [T; PARALLEL_SUMS], with: impl Fn(T, T) -> T) -> T {
    let mut half = PARALLEL_SUMS / 2;
    while half > 0 {
        for l in 0..half {
            side[l] = with(side[l], side[l + half]);
        }
        half /= 2;
    }
    side[0]
}

/// A step by lists.
#[inline(always)]
pub(super) fn by_list<C: Combine, T: Number>(terms: &Terms, form: &Form, on: &mut Operands<'_, T>) {
    let is_within = |k: usize| terms.reach[k] < on.inputs[k].len();
    assert!(
        (0..terms.arity).all(is_within),
        "a checked list stays within the tensors that it reads"
    );
    match terms.arity {
        1 => listed::<C, T, 1>(terms, form, on),
        2 => listed::<C, T, 2>(terms, form, on),
        3 => listed::<C, T, 3>(terms, form, on),
        _ => listed::<C, T, 4>(terms, form, on),
    }
    (on.peaks[0], on.totals[0]) = (peak(on.out), sum(on.out));
}

#[inline(always)]
fn listed<C: Combine, T: Number, const K: usize>(
    list: &Terms,
    form: &Form,
    on: &mut Operands<'_, T>,
) {
    let (terms, _) = list.terms.as_chunks::<K>();
    if list.is_plain && form.store == Store::Set {
        for (out, term) in on.out.iter_mut().zip(terms) {
            *out = product(term, &on.inputs);
        }
        return;
    }
    let mut first = 0;
    for (out, &end) in on.out.iter_mut().zip(&list.starts[1..]) {
        let mut sum = if form.store == Store::Set {
            T::ZERO
        } else {
            *out
        };
        // In four sums, which do not wait for each other.
        let (fours, rest) = terms[first..end as usize].as_chunks::<4>();
        let mut parts = [T::ZERO; 4];
        for four in fours {
            parts = std::array::from_fn(|k| parts[k] + product(&four[k], &on.inputs));
        }
        sum = sum + ((parts[0] + parts[1]) + (parts[2] + parts[3]));
        for term in rest {
            sum = sum + product(term, &on.inputs);
        }
        first = end as usize;
        *out = sum;
    }
}

/// A product of a number of each input.
#[allow(unsafe_code)]
#[inline(always)]
fn product<T: Number, const K: usize>(term: &[u32; K], inputs: &[&[T]; MAX_INPUTS]) -> T {
    // SAFETY: a step checks that the last place is within each input before it begins.
    let at = |k: usize| unsafe { *inputs[k].get_unchecked(term[k] as usize) };
    let mut product = at(0);
    for k in 1..K {
        product = product * at(k);
    }
    product
}
