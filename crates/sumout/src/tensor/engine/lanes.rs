//! Kernels over lanes: one step of a program for a block of examples at once.
//!
//! The examples of a block are the innermost axis, so that whatever the shape of a tensor is, the numbers that are
//! computed together lie side by side. A tensor that is the same for all examples has no such axis; its numbers are
//! broadcast.
//!
//! A contraction's loops are sorted by what they move. Loops that move one input and the output span a *tile* of
//! sums that is kept in registers while the loops that move both inputs, and not the output, run inside it: every
//! number that is loaded is used as often as the tile is wide.

// The loops of a kernel run over constants, and index several arrays at once.
#![allow(clippy::needless_range_loop)]

use super::number::Number;

/// How far a loop moves each tensor, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Move {
    pub extent: usize,
    pub a: usize,
    pub b: usize,
    pub out: usize,
}

/// A contraction as outer loops over tiles.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tiles {
    /// Loops around the tiles, outermost first.
    pub outer: Vec<Move>,
    /// The innermost loop that moves all three tensors, or any two.
    pub along: Move,
    /// Moves the first input and the output.
    pub across: Move,
    /// Moves the second input and the output.
    pub down: Move,
    /// The places in both inputs of the terms of a sum.
    pub sums: Vec<(u32, u32)>,
}

/// A step by lists: the terms of `out[o]` are `terms[starts[o]..starts[o + 1]]`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terms {
    pub starts: Vec<u32>,
    pub terms: Vec<(u32, u32)>,
    /// Whether every entry has one term.
    pub is_plain: bool,
}

/// What a step does with a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    /// Writes it.
    Set,
    /// Adds it to what is there.
    Add,
    /// Adds the sum over all examples to a number that they share.
    Reduce,
}

/// The tensors of a step.
pub(crate) struct Operands<'a, T> {
    pub a: &'a [T],
    pub b: &'a [T],
    pub out: &'a mut [T],
    /// The largest number of each example so far.
    pub peaks: &'a mut [T],
}

/// What is known of a step when it is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub a_varies: bool,
    pub b_varies: bool,
    pub store: Store,
    /// The number of examples in a block.
    pub lanes: usize,
}

/// How products are summed.
pub(crate) trait Fused: Copy {
    fn add<T: Number>(x: T, y: T, sum: T) -> T;
}

/// In two roundings, on any machine.
#[derive(Clone, Copy)]
pub(crate) struct Twice;

/// In one rounding, where the machine can.
#[derive(Clone, Copy)]
pub(crate) struct Once;

impl Fused for Twice {
    #[inline(always)]
    fn add<T: Number>(x: T, y: T, sum: T) -> T {
        x * y + sum
    }
}

impl Fused for Once {
    #[inline(always)]
    fn add<T: Number>(x: T, y: T, sum: T) -> T {
        x.mul_add(y, sum)
    }
}

#[inline(always)]
fn load<T: Number, const V: usize, const VARIES: bool>(data: &[T], at: usize, chunk: usize) -> [T; V] {
    match VARIES {
        true => *data[at + chunk..].first_chunk().expect("a block is whole lanes"),
        false => [data[at]; V],
    }
}

/// A line of examples of a block: where it begins, and the largest numbers of its examples.
struct Line<T, const V: usize> {
    chunk: usize,
    peaks: [T; V],
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
    let out: &mut [T; V] = on.out[at + line.chunk..].first_chunk_mut().expect("a block is whole lines");
    let mut sum = sum;
    if store == Store::Add {
        for l in 0..V {
            sum[l] = out[l] + sum[l];
        }
    }
    *out = sum;
    for l in 0..V {
        line.peaks[l] = line.peaks[l].larger(sum[l]);
    }
}

/// One tile of sums: `X` places of the first input by `Y` of the second.
#[inline(always)]
fn tile<F: Fused, T: Number, const V: usize, const A: bool, const B: bool, const X: usize, const Y: usize>(
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
            left[x] = load::<T, V, A>(on.a, a + s as usize + x * tiles.across.a, line.chunk);
        }
        for y in 0..Y {
            let right = load::<T, V, B>(on.b, b + t as usize + y * tiles.down.b, line.chunk);
            for x in 0..X {
                for l in 0..V {
                    sums[x][y][l] = F::add(left[x][l], right[l], sums[x][y][l]);
                }
            }
        }
    }
    for x in 0..X {
        for y in 0..Y {
            store(sums[x][y], out + x * tiles.across.out + y * tiles.down.out, form.store, line, on);
        }
    }
}

/// All tiles at one place of the outer loops.
#[inline(always)]
fn tile_all<F: Fused, T: Number, const V: usize, const A: bool, const B: bool>(
    tiles: &Tiles,
    form: &Form,
    [a, b, out]: [usize; 3],
    line: &mut Line<T, V>,
    on: &mut Operands<'_, T>,
) {
    let Tiles { along, across, down, .. } = tiles;
    for i in 0..along.extent {
        let [a, b, out] = [a + i * along.a, b + i * along.b, out + i * along.out];
        for x in (0..across.extent).step_by(2) {
            let is_wide = x + 2 <= across.extent;
            for y in (0..down.extent).step_by(2) {
                let at = [a + x * across.a, b + y * down.b, out + x * across.out + y * down.out];
                match (is_wide, y + 2 <= down.extent) {
                    (true, true) => tile::<F, T, V, A, B, 2, 2>(tiles, form, at, line, on),
                    (true, false) => tile::<F, T, V, A, B, 2, 1>(tiles, form, at, line, on),
                    (false, true) => tile::<F, T, V, A, B, 1, 2>(tiles, form, at, line, on),
                    (false, false) => tile::<F, T, V, A, B, 1, 1>(tiles, form, at, line, on),
                }
            }
        }
    }
}

#[inline(always)]
fn tiled<F: Fused, T: Number, const V: usize, const A: bool, const B: bool>(
    tiles: &Tiles,
    form: &Form,
    on: &mut Operands<'_, T>,
) {
    let mut counters = vec![0; tiles.outer.len()];
    for chunk in (0..form.lanes).step_by(V) {
        let mut line = Line { chunk, peaks: [T::ZERO; V] };
        let mut at = [0; 3];
        loop {
            tile_all::<F, T, V, A, B>(tiles, form, at, &mut line, on);
            if !advance(&tiles.outer, &mut counters, &mut at) {
                break;
            }
        }
        on.peaks[chunk..chunk + V].copy_from_slice(&line.peaks);
    }
}

/// Moves on to the next round of a nest of loops; whether there is one.
#[inline(always)]
pub(super) fn advance(loops: &[Move], counters: &mut [usize], at: &mut [usize; 3]) -> bool {
    for i in (0..loops.len()).rev() {
        let Move { extent, a, b, out } = loops[i];
        counters[i] += 1;
        if counters[i] < extent {
            *at = [at[0] + a, at[1] + b, at[2] + out];
            return true;
        }
        counters[i] = 0;
        *at = [at[0] - (extent - 1) * a, at[1] - (extent - 1) * b, at[2] - (extent - 1) * out];
    }
    false
}

/// A contraction.
#[inline(always)]
pub(super) fn contract<F: Fused, T: Number, const V: usize>(tiles: &Tiles, form: &Form, on: &mut Operands<'_, T>) {
    match (form.a_varies, form.b_varies) {
        (true, true) => tiled::<F, T, V, true, true>(tiles, form, on),
        (true, false) => tiled::<F, T, V, true, false>(tiles, form, on),
        (false, true) => tiled::<F, T, V, false, true>(tiles, form, on),
        (false, false) => tiled::<F, T, V, false, false>(tiles, form, on),
    }
}

/// A step by lists.
#[inline(always)]
pub(super) fn by_list<F: Fused, T: Number, const V: usize>(terms: &Terms, form: &Form, on: &mut Operands<'_, T>) {
    match (form.a_varies, form.b_varies) {
        (true, true) => listed::<F, T, V, true, true>(terms, form, on),
        (true, false) => listed::<F, T, V, true, false>(terms, form, on),
        (false, true) => listed::<F, T, V, false, true>(terms, form, on),
        (false, false) => listed::<F, T, V, false, false>(terms, form, on),
    }
}

#[inline(always)]
fn listed<F: Fused, T: Number, const V: usize, const A: bool, const B: bool>(
    Terms { starts, terms, .. }: &Terms,
    form: &Form,
    on: &mut Operands<'_, T>,
) {
    let width = if form.store == Store::Reduce { 1 } else { form.lanes };
    for chunk in (0..form.lanes).step_by(V) {
        let mut line = Line { chunk, peaks: [T::ZERO; V] };
        for o in 0..starts.len() - 1 {
            let mut sum = [T::ZERO; V];
            for &(i, j) in &terms[starts[o] as usize..starts[o + 1] as usize] {
                let left = load::<T, V, A>(on.a, i as usize, chunk);
                let right = load::<T, V, B>(on.b, j as usize, chunk);
                for l in 0..V {
                    sum[l] = F::add(left[l], right[l], sum[l]);
                }
            }
            store(sum, o * width, form.store, &mut line, on);
        }
        on.peaks[chunk..chunk + V].copy_from_slice(&line.peaks);
    }
}
