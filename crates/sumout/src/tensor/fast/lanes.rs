//! Kernels over lanes: one step of a program for a block of examples at once.
//!
//! The examples of a block are the innermost axis, so that whatever the shape of a tensor is, the
//! numbers that are computed together lie side by side. A tensor that is the same for all examples
//! has no such axis; its numbers are broadcast.
//!
//! A contraction's loops are sorted by what they move. Loops that move one input and the output
//! span a *tile* of sums that is kept in registers while the loops that move both inputs, and not
//! the output, run inside it: every number that is loaded is used as often as the tile is wide.

// The loops of a kernel run over constants, and index several arrays at once.
#![allow(clippy::needless_range_loop)]

use crate::tensor::combine::Combine;
use crate::tensor::fast::operands::{Form, Operands, Store, Terms, Tiles};
use crate::tensor::loops::Loop;
use crate::tensor::number::Number;

/// A number for each example and value of a domain: one if the example has that value, or if
/// it is missing (a negative position); otherwise zero. Examples that are not there
/// have ones.
#[inline(always)]
pub(super) fn indicate<T: Number>(domain: &[usize], values: &[i8], to: &mut [T], lanes: usize) {
    for (&value, to) in domain.iter().zip(to.chunks_exact_mut(lanes)) {
        let (here, rest) = to.split_at_mut(values.len());
        let value = value as i8;
        for (to, &v) in here.iter_mut().zip(values) {
            *to = if (v < 0) | (v == value) {
                T::ONE
            } else {
                T::ZERO
            };
        }
        rest.fill(T::ONE);
    }
}

/// The numbers of a line of examples at a place, or one number for all of them.
#[allow(unsafe_code)]
#[inline(always)]
fn read<T: Number, const V: usize, const VARIES: bool>(
    data: &[T],
    at: usize,
    chunk: usize,
) -> [T; V] {
    debug_assert!(if VARIES {
        at + chunk + V <= data.len()
    } else {
        at < data.len()
    });
    // SAFETY: a step checks that the last place, and the line behind it, are within the data before
    // it begins.
    if VARIES {
        unsafe { *data.as_ptr().add(at + chunk).cast::<[T; V]>() }
    } else {
        [unsafe { *data.get_unchecked(at) }; V]
    }
}

/// Whether a line of every example up to the last place is within the data.
fn reaches<T>(data: &[T], last: usize, varies: bool, lanes: usize) -> bool {
    last + if varies { lanes } else { 1 } <= data.len()
}

/// A line of examples of a block: where it begins, and the largest number and the sum of each of
/// its examples.
struct Line<T, const V: usize> {
    chunk: usize,
    peaks: [T; V],
    totals: [T; V],
}

impl<T: Number, const V: usize> Line<T, V> {
    #[inline(always)]
    fn at(chunk: usize) -> Self {
        Line {
            chunk,
            peaks: [T::ZERO; V],
            totals: [T::ZERO; V],
        }
    }

    #[inline(always)]
    fn end(self, on: &mut Operands<'_, T>) {
        on.peaks[self.chunk..self.chunk + V].copy_from_slice(&self.peaks);
        on.totals[self.chunk..self.chunk + V].copy_from_slice(&self.totals);
    }
}

/// Writes a sum where the step wants it.
#[inline(always)]
fn store<T: Number, const V: usize>(
    sum: [T; V],
    at: usize,
    store: Store,
    line: &mut Line<T, V>,
    on: &mut Operands<'_, T>,
) {
    if store == Store::Reduce {
        for x in sum {
            on.out[at] = on.out[at] + x;
        }
        return;
    }
    debug_assert!(at + line.chunk + V <= on.out.len());
    // SAFETY: a step checks that the last place is within the output before it begins.
    #[allow(unsafe_code)]
    let out: &mut [T; V] = unsafe { &mut *on.out.as_mut_ptr().add(at + line.chunk).cast() };
    let mut sum = sum;
    if store == Store::Add {
        for l in 0..V {
            sum[l] = out[l] + sum[l];
        }
    }
    *out = sum;
    for l in 0..V {
        line.peaks[l] = line.peaks[l].larger(sum[l]);
        line.totals[l] = line.totals[l] + sum[l];
    }
}

/// One tile of sums: `X` places of the first input by `Y` of the second.
#[inline(always)]
fn tile<
    C: Combine,
    T: Number,
    const V: usize,
    const A: bool,
    const B: bool,
    const X: usize,
    const Y: usize,
>(
    tiles: &Tiles,
    form: &Form,
    [a, b, out]: [usize; 3],
    line: &mut Line<T, V>,
    on: &mut Operands<'_, T>,
) {
    let mut sums = [[[T::ZERO; V]; Y]; X];
    for &(s, t) in &tiles.sums {
        let mut left = [[T::ZERO; V]; X];
        for x in 0..X {
            left[x] = read::<T, V, A>(
                on.inputs[0],
                a + s as usize + x * tiles.across.a,
                line.chunk,
            );
        }
        for y in 0..Y {
            let right =
                read::<T, V, B>(on.inputs[1], b + t as usize + y * tiles.down.b, line.chunk);
            for x in 0..X {
                for l in 0..V {
                    sums[x][y][l] = C::add(left[x][l], right[l], sums[x][y][l]);
                }
            }
        }
    }
    for x in 0..X {
        for y in 0..Y {
            store(
                sums[x][y],
                out + x * tiles.across.out + y * tiles.down.out,
                form.store,
                line,
                on,
            );
        }
    }
}

/// All tiles at one place of the outer loops.
#[inline(always)]
fn tile_all<C: Combine, T: Number, const V: usize, const A: bool, const B: bool>(
    tiles: &Tiles,
    form: &Form,
    [a, b, out]: [usize; 3],
    line: &mut Line<T, V>,
    on: &mut Operands<'_, T>,
) {
    let Tiles {
        along,
        across,
        down,
        ..
    } = tiles;
    for i in 0..along.extent {
        let [a, b, out] = [a + i * along.a, b + i * along.b, out + i * along.out];
        for x in (0..across.extent).step_by(2) {
            let is_wide = x + 2 <= across.extent;
            for y in (0..down.extent).step_by(2) {
                let at = [
                    a + x * across.a,
                    b + y * down.b,
                    out + x * across.out + y * down.out,
                ];
                match (is_wide, y + 2 <= down.extent) {
                    (true, true) => tile::<C, T, V, A, B, 2, 2>(tiles, form, at, line, on),
                    (true, false) => tile::<C, T, V, A, B, 2, 1>(tiles, form, at, line, on),
                    (false, true) => tile::<C, T, V, A, B, 1, 2>(tiles, form, at, line, on),
                    (false, false) => tile::<C, T, V, A, B, 1, 1>(tiles, form, at, line, on),
                }
            }
        }
    }
}

#[inline(always)]
fn tiled<C: Combine, T: Number, const V: usize, const A: bool, const B: bool>(
    tiles: &Tiles,
    form: &Form,
    on: &mut Operands<'_, T>,
) {
    let mut counters = vec![0; tiles.outer.len()];
    for chunk in (0..form.lanes).step_by(V) {
        let mut line = Line::at(chunk);
        let mut at = [0; 3];
        loop {
            tile_all::<C, T, V, A, B>(tiles, form, at, &mut line, on);
            if !advance(&tiles.outer, &mut counters, &mut at) {
                break;
            }
        }
        line.end(on);
    }
}

/// Moves on to the next round of a nest of loops; whether there is one.
#[inline(always)]
pub(super) fn advance(loops: &[Loop], counters: &mut [usize], at: &mut [usize; 3]) -> bool {
    for i in (0..loops.len()).rev() {
        let Loop { extent, a, b, out } = loops[i];
        counters[i] += 1;
        if counters[i] < extent {
            *at = [at[0] + a, at[1] + b, at[2] + out];
            return true;
        }
        counters[i] = 0;
        *at = [
            at[0] - (extent - 1) * a,
            at[1] - (extent - 1) * b,
            at[2] - (extent - 1) * out,
        ];
    }
    false
}

/// A contraction.
#[inline(always)]
pub(super) fn contract<C: Combine, T: Number, const V: usize>(
    tiles: &Tiles,
    form: &Form,
    on: &mut Operands<'_, T>,
) {
    let [a, b, out] = tiles.reach;
    assert!(
        reaches(on.inputs[0], a, form.varies[0], form.lanes)
            && reaches(on.inputs[1], b, form.varies[1], form.lanes),
        "a layout stays within the tensors that it reads"
    );
    assert!(
        reaches(on.out, out, form.store != Store::Reduce, form.lanes),
        "a layout stays within its output"
    );
    match form.varies[..2] {
        [true, true] => tiled::<C, T, V, true, true>(tiles, form, on),
        [true, false] => tiled::<C, T, V, true, false>(tiles, form, on),
        [false, true] => tiled::<C, T, V, false, true>(tiles, form, on),
        _ => tiled::<C, T, V, false, false>(tiles, form, on),
    }
}

/// A step by lists.
#[inline(always)]
pub(super) fn by_list<C: Combine, T: Number, const V: usize>(
    terms: &Terms,
    form: &Form,
    on: &mut Operands<'_, T>,
) {
    let entries = terms.starts.len() - 1;
    let reached = |k: usize| reaches(on.inputs[k], terms.reach[k], form.varies[k], form.lanes);
    assert!(
        (0..terms.arity).all(reached)
            && terms.starts[entries] as usize * terms.arity == terms.terms.len(),
        "a checked list stays within the tensors that it reads"
    );
    assert!(
        entries * form.width() <= on.out.len(),
        "a checked list stays within its output"
    );
    match (terms.arity, form.varies[0], form.varies[1]) {
        (1, true, _) => listed::<C, T, V, 1, true, true>(terms, form, on),
        (1, false, _) => listed::<C, T, V, 1, false, false>(terms, form, on),
        (2, true, true) => listed::<C, T, V, 2, true, true>(terms, form, on),
        (2, true, false) => listed::<C, T, V, 2, true, false>(terms, form, on),
        (2, false, true) => listed::<C, T, V, 2, false, true>(terms, form, on),
        (2, false, false) => listed::<C, T, V, 2, false, false>(terms, form, on),
        (3, _, _) if form.varies[2] => listed::<C, T, V, 3, true, true>(terms, form, on),
        (3, _, _) => listed::<C, T, V, 3, true, false>(terms, form, on),
        _ if form.varies[3] => listed::<C, T, V, 4, true, true>(terms, form, on),
        _ => listed::<C, T, V, 4, true, false>(terms, form, on),
    }
}

/// `A`: all inputs but the last vary; `B`: the last does.
#[inline(always)]
fn listed<C: Combine, T: Number, const V: usize, const K: usize, const A: bool, const B: bool>(
    list: &Terms,
    form: &Form,
    on: &mut Operands<'_, T>,
) {
    let width = form.width();
    let (terms, _) = list.terms.as_chunks::<K>();
    for chunk in (0..form.lanes).step_by(V) {
        let mut line = Line::at(chunk);
        if list.is_plain {
            for (o, term) in terms.iter().enumerate() {
                let sum = add_term::<C, T, V, K, A, B>(term, [T::ZERO; V], chunk, on);
                store(sum, o * width, form.store, &mut line, on);
            }
        } else {
            let mut first = 0;
            for (o, &end) in list.starts[1..].iter().enumerate() {
                let mut sum = [T::ZERO; V];
                for term in &terms[first..end as usize] {
                    sum = add_term::<C, T, V, K, A, B>(term, sum, chunk, on);
                }
                first = end as usize;
                store(sum, o * width, form.store, &mut line, on);
            }
        }
        line.end(on);
    }
}

/// Adds a product to a sum.
#[inline(always)]
fn add_term<C: Combine, T: Number, const V: usize, const K: usize, const A: bool, const B: bool>(
    term: &[u32; K],
    sum: [T; V],
    chunk: usize,
    on: &Operands<'_, T>,
) -> [T; V] {
    let mut sum = sum;
    let last = read::<T, V, B>(on.inputs[K - 1], term[K - 1] as usize, chunk);
    if K == 1 {
        for l in 0..V {
            sum[l] = C::plus(last[l], sum[l]);
        }
        return sum;
    }
    let mut product = read::<T, V, A>(on.inputs[0], term[0] as usize, chunk);
    for k in 1..K - 1 {
        let next = read::<T, V, A>(on.inputs[k], term[k] as usize, chunk);
        for l in 0..V {
            product[l] = product[l] * next[l];
        }
    }
    for l in 0..V {
        sum[l] = C::add(product[l], last[l], sum[l]);
    }
    sum
}
