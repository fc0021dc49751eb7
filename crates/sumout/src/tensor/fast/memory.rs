//! The memory of one block of examples.

use crate::tensor::fast::Engine;
use crate::tensor::fast::bounds;
use crate::tensor::fast::bounds::BOUNDS;
use crate::tensor::fast::program::Place;
use crate::tensor::fast::select::Unselected;
use crate::tensor::number::Number;

/// The tensors of a block.
#[derive(Debug, Default)]
pub(super) struct BlockMemory<T> {
    pub(super) arena: Vec<T>,
    /// Where the arena's first cache line begins.
    pub(super) start: usize,
    /// The exponent of each tensor for each example.
    pub(super) exponents: Vec<i32>,
    /// By how much each tensor's last step was rescaled, for each example.
    pub(super) shifts: Vec<i32>,
    /// The bounds of each tensor; the last row is that of the step that runs.
    pub(super) bounds: Vec<T>,
    /// Scratch: a number for each example.
    pub(super) factors: Vec<T>,
    /// Sums over examples.
    pub(super) sums: Vec<Vec<T>>,
    /// The examples that may have lost numbers that count.
    pub(super) lost: Vec<bool>,
    /// The derivatives of the selection that was last gone through.
    pub(super) unselected: Option<Unselected>,
    /// Inputs with numbers other than zero and one.
    pub(super) measured: Vec<Place>,
}

impl<T: Number> BlockMemory<T> {
    pub fn new(engine: &Engine<T>) -> Self {
        let (lanes, tensors) = (engine.lanes(), engine.program.tensors);
        let arena = vec![T::ZERO; engine.program.arena * lanes + T::LANES];
        let start = arena
            .as_ptr()
            .align_offset(T::LANES * size_of::<T>())
            .min(T::LANES);
        let mut memory = BlockMemory {
            arena,
            start,
            exponents: vec![0; tensors * lanes],
            shifts: vec![0; tensors * lanes],
            bounds: vec![T::ZERO; (tensors + 1) * BOUNDS * lanes],
            factors: vec![T::ZERO; lanes],
            sums: engine
                .program
                .sums
                .iter()
                .map(|(_, entries)| vec![T::ZERO; *entries])
                .collect(),
            lost: vec![false; lanes],
            unselected: None,
            measured: vec![],
        };
        engine
            .inputs
            .iter()
            .flatten()
            .for_each(|(place, _)| memory.expect(*place, lanes));
        memory
    }

    /// An input has zeros and ones, unless it is measured.
    pub fn expect(&mut self, place: Place, lanes: usize) {
        let Place::Block { slot, entries, .. } = place else {
            return;
        };
        self.exponents[slot * lanes..][..lanes].fill(0);
        let row = self.bounds[slot * BOUNDS * lanes..][..BOUNDS * lanes].chunks_exact_mut(lanes);
        row.zip(bounds::indicators(entries))
            .for_each(|(row, x)| row.fill(x));
    }
}
