//! A step as kernels see it: its loops, its tensors, and where its sums go.

use crate::tensor::loops::Loop;

/// A contraction as outer loops over tiles.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tiles {
    /// Loops around the tiles, outermost first.
    pub outer: Vec<Loop>,
    /// The innermost loop that moves all three tensors, or any two.
    pub along: Loop,
    /// Moves the first input and the output.
    pub across: Loop,
    /// Moves the second input and the output.
    pub down: Loop,
    /// The places in both inputs of the terms of a sum.
    pub sums: Vec<(u32, u32)>,
    /// The last places that are read and written.
    pub reach: [usize; 3],
}

/// A step by lists: `out[o]` is the sum of its terms, each a product of a number of each of one to
/// four inputs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terms {
    /// The terms of `out[o]` are those from `starts[o]` to before `starts[o + 1]`.
    pub starts: Vec<u32>,
    /// For each term, a place in each input.
    pub terms: Vec<u32>,
    /// The number of inputs.
    pub arity: usize,
    /// Whether every entry has one term.
    pub is_plain: bool,
    /// The last place that is read in each input.
    pub reach: [usize; MAX_INPUTS],
}

/// A step has at most this many inputs.
pub(crate) const MAX_INPUTS: usize = 4;

impl Terms {
    /// The terms of each sum.
    pub fn sums(&self) -> impl Iterator<Item = &[u32]> {
        self.starts.windows(2).map(|range| {
            &self.terms[range[0] as usize * self.arity..range[1] as usize * self.arity]
        })
    }
}

/// Where a step puts a sum.
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
    /// The inputs; those that a step does not have are empty.
    pub inputs: [&'a [T]; MAX_INPUTS],
    pub out: &'a mut [T],
    /// The largest number of each example.
    pub peaks: &'a mut [T],
    /// The sum of the numbers of each example.
    pub totals: &'a mut [T],
}

/// The properties of a step that are known when it is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// Whether each input differs between examples.
    pub varies: [bool; MAX_INPUTS],
    pub store: Store,
    /// The number of examples in a block.
    pub lanes: usize,
}

impl Form {
    /// How many numbers of the output belong to an entry.
    pub fn width(&self) -> usize {
        if self.store == Store::Reduce {
            1
        } else {
            self.lanes
        }
    }
}
