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

use crate::tensor::fast::lanes::{Form, Fused, MOST, Move, Operands, Store, Terms, advance};
use crate::tensor::fast::number::{Matrix, Number};

/// A contraction as loops, outermost first: loops over matrices, then the three of a matrix
/// product.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matrices {
    /// Loops around the matrix products.
    pub outer: Vec<Move>,
    /// The loop just outside the innermost one, and the innermost: whichever tensors they move, or
    /// sum.
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
            let still = Move {
                extent: 1,
                ..Move::default()
            };
            return Matrices {
                outer: loops,
                middle: still,
                inner: still,
                product: Some(product),
            };
        }
        let is_unit = |m: &Move| m.a <= 1 && m.b <= 1 && m.out <= 1;
        let inner = take(&mut loops, |m| if is_unit(m) { m.extent } else { 0 });
        let middle = take(&mut loops, |m| if m.out == 0 { m.extent } else { 0 });
        Matrices {
            outer: loops,
            middle,
            inner,
            product: None,
        }
    }

    /// All loops.
    pub fn loops(&self) -> impl Iterator<Item = &Move> {
        self.outer
            .iter()
            .chain([&self.middle, &self.inner])
            .chain(self.product.iter().flatten())
    }
}

/// Takes the loop with the highest score; one round of nothing if all are zero.
fn take(loops: &mut Vec<Move>, score: impl Fn(&Move) -> usize) -> Move {
    let best = (0..loops.len())
        .max_by_key(|&i| score(&loops[i]))
        .filter(|&i| score(&loops[i]) > 0);
    best.map_or(
        Move {
            extent: 1,
            ..Move::default()
        },
        |i| loops.remove(i),
    )
}

/// Takes the three loops of a matrix product, if there is a large one.
fn large_product(loops: &mut Vec<Move>) -> Option<[Move; 3]> {
    let kinds: [fn(&Move) -> bool; 3] = [
        |m| m.a > 0 && m.b == 0 && m.out > 0,
        |m| m.a == 0 && m.b > 0 && m.out > 0,
        |m| m.a > 0 && m.b > 0 && m.out == 0,
    ];
    let longest =
        |kind: fn(&Move) -> bool| loops.iter().copied().filter(kind).max_by_key(|m| m.extent);
    let product = [longest(kinds[0])?, longest(kinds[1])?, longest(kinds[2])?];
    let is_large = product.iter().all(|m| m.extent >= 8)
        && product.iter().map(|m| m.extent).product::<usize>() >= LARGE;
    is_large.then(|| {
        loops.retain(|m| !product.contains(m));
        product
    })
}

/// A contraction.
#[inline(always)]
pub(super) fn contract<F: Fused, T: Number>(
    matrices: &Matrices,
    form: &Form,
    on: &mut Operands<'_, T>,
) {
    if form.store == Store::Set {
        on.out.fill(T::ZERO);
    }
    outer::<F, T>(
        &matrices.outer,
        matrices,
        on.inputs[0],
        on.inputs[1],
        on.out,
    );
    (on.peaks[0], on.totals[0]) = (peak(on.out), sum(on.out));
}

#[inline(always)]
fn outer<F: Fused, T: Number>(loops: &[Move], on: &Matrices, a: &[T], b: &[T], out: &mut [T]) {
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
            None => rows::<F, T>(on, a, b, out),
        }
        if !advance(loops, counters, &mut at) {
            return;
        }
    }
}

/// Adds a product of matrices.
fn multiply<T: Number>([m, n, k]: &[Move; 3], a: &[T], b: &[T], out: &mut [T]) {
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
fn rows<F: Fused, T: Number>(on: &Matrices, a: &[T], b: &[T], out: &mut [T]) {
    let Matrices { middle, inner, .. } = on;
    let n = inner.extent;
    let mut k = 0;
    if middle.out == 0 && inner.out == 1 {
        while k + 4 <= middle.extent {
            four::<F, T>(
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
        row::<F, T>(
            inner,
            &a[k * middle.a..],
            &b[k * middle.b..],
            &mut out[k * middle.out..],
        );
    }
}

/// Four terms of each sum of a row.
#[inline(always)]
fn four<F: Fused, T: Number>(inner: &Move, middle: &Move, a: &[T], b: &[T], out: &mut [T]) {
    match (inner.a, inner.b) {
        (0, 1) => add_scaled::<F, T>(a, middle.a, b, middle.b, out),
        (1, 0) => add_scaled::<F, T>(b, middle.b, a, middle.a, out),
        _ => {
            for k in 0..4 {
                row::<F, T>(inner, &a[k * middle.a..], &b[k * middle.b..], out);
            }
        }
    }
}

/// Adds four rows, each times a number.
#[inline(always)]
fn add_scaled<F: Fused, T: Number>(
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
        out[i] = F::add(
            by[0],
            p[i],
            F::add(
                by[1],
                q[i],
                F::add(by[2], r[i], F::add(by[3], s[i], out[i])),
            ),
        );
    }
}

/// The innermost loop, in the forms for which the compiler finds vector code.
#[inline(always)]
fn row<F: Fused, T: Number>(inner: &Move, a: &[T], b: &[T], out: &mut [T]) {
    let n = inner.extent;
    match (inner.a, inner.b, inner.out) {
        (1, 1, 1) => products::<F, T>(&a[..n], &b[..n], &mut out[..n]),
        (0, 1, 1) => scaled::<F, T>(a[0], &b[..n], &mut out[..n]),
        (1, 0, 1) => scaled::<F, T>(b[0], &a[..n], &mut out[..n]),
        (1, 1, 0) => out[0] = out[0] + dot::<F, T>(&a[..n], &b[..n]),
        (1, 0, 0) => out[0] = F::add(sum(&a[..n]), b[0], out[0]),
        (0, 1, 0) => out[0] = F::add(a[0], sum(&b[..n]), out[0]),
        (x, y, z) => {
            for i in 0..n {
                out[i * z] = F::add(a[i * x], b[i * y], out[i * z]);
            }
        }
    }
}

#[inline(always)]
fn products<F: Fused, T: Number>(a: &[T], b: &[T], out: &mut [T]) {
    let n = out.len();
    let (a, b) = (&a[..n], &b[..n]);
    for i in 0..n {
        out[i] = F::add(a[i], b[i], out[i]);
    }
}

#[inline(always)]
fn scaled<F: Fused, T: Number>(by: T, row: &[T], out: &mut [T]) {
    let n = out.len();
    let row = &row[..n];
    for i in 0..n {
        out[i] = F::add(by, row[i], out[i]);
    }
}

/// How many sums run side by side.
const SIDE: usize = 16;

#[inline(always)]
fn dot<F: Fused, T: Number>(a: &[T], b: &[T]) -> T {
    let n = a.len();
    let b = &b[..n];
    let mut sums = [T::ZERO; SIDE];
    let whole = n - n % SIDE;
    for start in (0..whole).step_by(SIDE) {
        let (x, y) = (&a[start..start + SIDE], &b[start..start + SIDE]);
        for l in 0..SIDE {
            sums[l] = F::add(x[l], y[l], sums[l]);
        }
    }
    let mut total = if whole > 0 {
        folded(sums, |x, y| x + y)
    } else {
        T::ZERO
    };
    for i in whole..n {
        total = F::add(a[i], b[i], total);
    }
    total
}

#[inline(always)]
fn sum<T: Number>(a: &[T]) -> T {
    let mut sums = [T::ZERO; SIDE];
    let whole = a.len() - a.len() % SIDE;
    for start in (0..whole).step_by(SIDE) {
        let x = &a[start..start + SIDE];
        for l in 0..SIDE {
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
    let mut peaks = [T::ZERO; SIDE];
    let whole = a.len() - a.len() % SIDE;
    for start in (0..whole).step_by(SIDE) {
        let x = &a[start..start + SIDE];
        for l in 0..SIDE {
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

/// What is computed side by side, in one: half by half, so that little waits for what comes before.
#[inline(always)]
fn folded<T: Number>(mut side: [T; SIDE], with: impl Fn(T, T) -> T) -> T {
    let mut half = SIDE / 2;
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
pub(super) fn by_list<F: Fused, T: Number>(terms: &Terms, form: &Form, on: &mut Operands<'_, T>) {
    assert!((0..terms.arity).all(|k| terms.reach[k] < on.inputs[k].len()));
    match terms.arity {
        1 => listed::<F, T, 1>(terms, form, on),
        2 => listed::<F, T, 2>(terms, form, on),
        3 => listed::<F, T, 3>(terms, form, on),
        _ => listed::<F, T, 4>(terms, form, on),
    }
    (on.peaks[0], on.totals[0]) = (peak(on.out), sum(on.out));
}

#[inline(always)]
fn listed<F: Fused, T: Number, const K: usize>(
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
fn product<T: Number, const K: usize>(term: &[u32; K], inputs: &[&[T]; MOST]) -> T {
    // SAFETY: a step checks that the last place is within each input before it begins.
    let at = |k: usize| unsafe { *inputs[k].get_unchecked(term[k] as usize) };
    let mut product = at(0);
    for k in 1..K {
        product = product * at(k);
    }
    product
}
