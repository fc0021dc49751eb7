//! The loops of one step, whoever runs them.
//!
//! A contraction out[o] = Σ_s a[·] b[·] is a nest of loops, one for each axis; every loop moves
//! each of the three tensors by a fixed stride, zero where the tensor lacks the axis. A tensor may
//! lack any axis: what is in `out` alone is broadcast, what is in one input alone is summed.
//!
//! Neighbouring loops that step through all three tensors as one are merged. The innermost loop is
//! the longest one that moves every tensor by zero or one, for which the compiler emits vector
//! code; the loops that sum come just outside of it, so that the row of `out` that is being summed
//! stays in the first cache.
//!
//! A gather copies, for each joint state of a map's arguments, the entries of one tensor at the
//! function's value; its backward pass adds them to where they were read. A [`Walk`] visits these
//! places.

use crate::tensor::graph::Map;

/// One loop: how often it runs, and by how many numbers each round moves the tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Loop {
    pub extent: usize,
    pub a: usize,
    pub b: usize,
    pub out: usize,
}

impl Loop {
    /// One round that moves nothing.
    pub const ONCE: Loop = Loop {
        extent: 1,
        a: 0,
        b: 0,
        out: 0,
    };

    /// Whether it steps through every tensor that it moves, number by number.
    pub fn is_unit(&self) -> bool {
        self.a <= 1 && self.b <= 1 && self.out <= 1
    }
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
        let inner = (0..loops.len())
            .filter(|&i| loops[i].is_unit())
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

    /// The positions in both inputs of all terms of a sum, from where the kept axes are.
    pub fn summed(&self) -> Vec<(usize, usize)> {
        let mut terms = vec![(0, 0)];
        for l in self.loops.iter().filter(|l| l.out == 0) {
            let each =
                |(a, b): (usize, usize)| (0..l.extent).map(move |i| (a + i * l.a, b + i * l.b));
            terms = terms.into_iter().flat_map(each).collect();
        }
        terms
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

/// How the axes of a map move through the tensors of a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walk {
    /// The arguments of the function.
    pub over: Vec<Loop>,
    /// Its values.
    pub from: Vec<Loop>,
    /// Whether the step writes to where the map points.
    pub backward: bool,
}

impl Walk {
    /// Visits the positions of each joint state of the arguments: in the tensor that is read, and
    /// in the one written.
    pub fn each(&self, index: &[u32], mut visit: impl FnMut(usize, usize)) {
        let values = offsets(&self.from, |l| if self.backward { l.out } else { l.a });
        let (read, written) = (offsets(&self.over, |l| l.a), offsets(&self.over, |l| l.out));
        for (state, &value) in index
            .iter()
            .enumerate()
            .filter(|(_, value)| **value != Map::NOWHERE)
        {
            let value = values[value as usize];
            if self.backward {
                visit(read[state], written[state] + value);
            } else {
                visit(read[state] + value, written[state]);
            }
        }
    }

    /// The position of a value in the tensor that a gather reads; none if it is nowhere.
    pub fn from(&self, value: u32) -> Option<usize> {
        let step =
            |(rest, at): (usize, usize), l: &Loop| (rest / l.extent, at + rest % l.extent * l.a);
        (value != Map::NOWHERE).then(|| self.from.iter().rev().fold((value as usize, 0), step).1)
    }
}

/// The position of each joint state of some axes, the last fastest.
fn offsets(loops: &[Loop], stride: impl Fn(&Loop) -> usize) -> Vec<usize> {
    let mut offsets = vec![0];
    for l in loops {
        offsets = offsets
            .into_iter()
            .flat_map(|at| (0..l.extent).map(move |i| (at, i)))
            .map(|(at, i)| at + i * stride(l))
            .collect();
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;

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
