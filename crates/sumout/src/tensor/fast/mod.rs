//! The fast executor: blocks of examples, side by side in vector lanes, with error bounds.
//!
//! It runs whatever is compiled once and evaluated often: batches, streams, training, and single
//! examples of a compiled circuit, which are blocks of one (`single`). Its numbers are `f32` or
//! `f64`. The bounds say of each example whether its answer can be trusted; one that cannot is
//! repeated in 64 bits, and then by the [careful executor](crate::tensor::careful).
//!
//! * A *block* is as many examples as keep its tensors within the second cache, in whole cache
//!   lines; the examples are the innermost axis of every tensor (`lanes`). A row's answer does not
//!   depend on the rows beside it.
//! * A tensor that does not depend on the example is computed once and shared by all blocks (`program`).
//! * Numbers of an example are data times a power of two. When the largest number of a tensor
//!   leaves the range in which products are safe, its power of two moves to the exponent: exactly,
//!   and for each example by itself.
//! * Small numbers of a tensor may become zero all the same. Bounds go forward with the numbers and
//!   say what that can have cost (`bounds`): an example for which it may be too much is marked. The
//!   caller repeats it with more care.
//! * Tests select for each example by itself, from numbers that were judged like those of an
//!   answer.
//! * A product that is only read once, by another product, is never stored (`fuse`).
//! * The largest of some products takes the place of their sum when examples are explained. All
//!   tensors are then kept, to find where the largest came from.

mod arena;
mod bounds;
mod build;
mod collect;
mod flush;
mod fuse;
mod lanes;
mod memory;
mod operands;
mod program;
mod select;
mod simd;
mod single;
mod step;
mod worker;

pub(crate) use crate::tensor::fast::simd::Isa;
pub(crate) use crate::tensor::fast::worker::Worker;
pub(crate) use crate::tensor::number::{Matrix, Number};

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::tensor::careful;
use crate::tensor::careful::{Spare, Tensor};
use crate::tensor::combine::{Max, Sum};
use crate::tensor::fast::bounds::BOUNDS;
use crate::tensor::fast::memory::BlockMemory;
use crate::tensor::fast::program::{BlockProgram, Ends, Place};
use crate::tensor::graph::{Graph, NodeId, Op, TableId};
use crate::tensor::layout;
use crate::tensor::schedule::Schedule;
use crate::tensor::select::Selector;
use crate::vars::VarId;

/// A circuit with its tables, ready to run blocks of examples.
#[derive(Debug)]
pub(crate) struct Engine<T> {
    program: BlockProgram,
    /// The places of the likelihoods, and of their adjoints, by variable.
    inputs: Vec<Option<(Place, Option<Place>)>>,
    ends: Ends,
    /// The places of derivatives with respect to tables, for each example.
    each: BTreeMap<TableId, Place>,
    /// The numbers of each shared tensor that blocks read; empty for all others.
    shared: Vec<Vec<T>>,
    exponents: Vec<i32>,
    bounds: Vec<[T; BOUNDS]>,
    /// The shared tensors in 64 bits, if they are differentiated.
    before: Vec<Tensor>,
    /// The memory that their derivatives took the last time.
    spare: Mutex<Spare>,
    layout: layout::Program,
    /// The selections, with the numbers of their tables.
    selectors: BTreeMap<NodeId, Selector>,
    /// Whether shared numbers are so far apart that small ones may be lost.
    is_fragile: bool,
    /// Whether maxima are computed, and all tensors kept to find where they came from; not sums.
    is_for_maxima: bool,
    /// The memory of workers that are done.
    idle: Mutex<Vec<BlockMemory<T>>>,
}

/// A block has at most this many cache lines of examples.
const MAX_BLOCK_LINES: usize = 8;

/// A block's tensors should take no more bytes than this: half of the second cache. Its size is
/// known on Linux alone; elsewhere it is taken to be 512 KiB.
fn cache() -> usize {
    static FOUND: OnceLock<usize> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let size = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index2/size").ok();
        let kibibytes = size.and_then(|size| size.trim().strip_suffix('K')?.parse().ok());
        kibibytes.unwrap_or(512usize).clamp(256, 4096) << 9
    })
}

impl<T: Number> Engine<T> {
    /// Compiles a graph for blocks of examples, as many as keep a block's tensors in the cache.
    /// Derivatives with respect to the tables of `each` are kept for each example, others are
    /// summed. A schedule that keeps all tensors is one for maxima.
    pub fn for_blocks(graph: &Graph, schedule: &Schedule, each: &[TableId]) -> Self {
        let layout = layout::Program::new(graph, schedule);
        let one = BlockProgram::new(graph, schedule, &layout, each, T::LANES);
        let bytes = one.arena * T::LANES * size_of::<T>();
        let lines = (1..=MAX_BLOCK_LINES)
            .rev()
            .find(|n| n.is_power_of_two() && n * bytes <= cache())
            .unwrap_or(1);
        let program = if lines == 1 {
            one
        } else {
            BlockProgram::new(graph, schedule, &layout, each, lines * T::LANES)
        };
        Engine::with(graph, schedule, layout, program, each)
    }

    /// Compiles a graph for one example at a time.
    pub fn for_one(graph: &Graph, schedule: &Schedule, each: &[TableId]) -> Self {
        let layout = layout::Program::new(graph, schedule);
        let program = BlockProgram::new(graph, schedule, &layout, each, 1);
        Engine::with(graph, schedule, layout, program, each)
    }

    fn with(
        graph: &Graph,
        schedule: &Schedule,
        layout: layout::Program,
        program: BlockProgram,
        each: &[TableId],
    ) -> Self {
        let mut engine = Engine {
            inputs: program.inputs(graph),
            ends: program.ends(graph),
            each: each
                .iter()
                .filter_map(|&table| Some((table, program.adjoint_of(graph, table)?)))
                .collect(),
            program,
            layout,
            shared: vec![],
            exponents: vec![],
            bounds: vec![],
            before: vec![],
            spare: Mutex::default(),
            selectors: BTreeMap::new(),
            is_fragile: false,
            is_for_maxima: schedule.keeps_all,
            idle: Mutex::default(),
        };
        engine.update(graph);
        engine
    }

    /// Takes over the numbers of the graph's tables.
    pub fn update(&mut self, graph: &Graph) {
        let selections = graph.ops().filter(|(_, op)| matches!(op, Op::Select(..)));
        self.selectors = selections
            .map(|(node, _)| (node, Selector::of(graph, node)))
            .collect();
        let before = std::mem::take(&mut self.before);
        let (layout, varies) = (&self.layout, &self.program.varies);
        let shared = if self.is_for_maxima {
            careful::shared::<Max>(graph, layout, varies, before)
        } else {
            careful::shared::<Sum>(graph, layout, varies, before)
        };
        self.shared.resize_with(shared.len(), Vec::new);
        self.exponents.resize(shared.len(), 0);
        self.bounds.resize(shared.len(), [T::ZERO; BOUNDS]);
        self.is_fragile = false;
        for (slot, is_read) in self
            .program
            .read(shared.len(), self.ends.output)
            .into_iter()
            .enumerate()
        {
            let range = shared[slot].range();
            self.is_fragile |= is_fragile::<f64>(range); // products of them may have been lost already
            if is_read || self.is_for_maxima {
                self.is_fragile |= is_fragile::<T>(range);
                self.exponents[slot] = convert(&shared[slot], range, &mut self.shared[slot]);
                self.bounds[slot] = bounds::exact(&self.shared[slot]);
            }
        }
        if !self.program.sums.is_empty() {
            self.before = shared;
        }
    }

    /// BlockMemory that was used before.
    fn spare(&self) -> MutexGuard<'_, Spare> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Zeros for examples to add to.
    pub fn zeros(&self) -> Vec<f64> {
        self.spare().zeros(self.sums())
    }

    /// Takes back what examples have added to.
    pub fn give_zeros(&self, sums: Vec<f64>) {
        self.spare().give(sums);
    }

    /// The number of numbers that examples add to.
    pub fn sums(&self) -> usize {
        self.program.sums.iter().map(|(_, entries)| entries).sum()
    }

    /// Where examples add derivatives with respect to the output, if it is the same for all of
    /// them.
    fn seed_sum(&self) -> Option<Range<usize>> {
        let Some(Place::Sum(seed)) = self.ends.seed else {
            return None;
        };
        let start = self.program.sums[..seed]
            .iter()
            .map(|(_, entries)| entries)
            .sum();
        Some(start..start + self.program.sums[seed].1)
    }

    /// The derivatives with respect to some tables, from the sums that examples have added to.
    pub fn differentiate(
        &self,
        graph: &Graph,
        sums: Vec<f64>,
        tables: &[TableId],
    ) -> Vec<Vec<f64>> {
        let mut spare = std::mem::take(&mut *self.spare());
        let mut rest = &sums[..];
        let mut read = vec![];
        for &(slot, entries) in &self.program.sums {
            let (numbers, others) = rest.split_at(entries);
            rest = others;
            let mut data = spare.take(entries);
            data.clear();
            data.extend_from_slice(numbers);
            read.push((
                slot,
                Tensor {
                    data,
                    exponent: -i64::from(self.exponents[slot - graph.len()]),
                },
            ));
        }
        spare.give(sums);
        let (layout, varies, read) = (&self.layout, &self.program.varies, read.into_iter());
        let found =
            careful::differentiate_shared(graph, layout, varies, &self.before, read, &mut spare);
        let numbers = |table: &TableId| {
            let node = graph.find(&Op::Table(*table)).expect("the table is there");
            let size = graph.tables()[table.index()].values.len();
            match found
                .get(Schedule::adjoint(graph, node))
                .filter(|adjoint| !adjoint.data.is_empty())
            {
                None => vec![0.0; size], // the output does not depend on it
                Some(Tensor { data, exponent }) => data
                    .iter()
                    .map(|x| x * 2f64.powi(*exponent as i32))
                    .collect(),
            }
        };
        let numbers = tables.iter().map(numbers).collect();
        found.into_iter().for_each(|tensor| spare.give(tensor.data));
        *self.spare() = spare;
        numbers
    }

    /// Where the likelihood of a variable is, and its adjoint; none if the circuit does not depend
    /// on it.
    fn input(&self, var: VarId) -> Option<(Place, Option<Place>)> {
        *self.inputs.get(var.index())?
    }

    /// The number of examples in a block.
    pub fn lanes(&self) -> usize {
        self.program.lanes
    }

    /// Whether a single example is worth several threads.
    pub fn is_large(&self) -> bool {
        self.program.is_large()
    }

    /// A worker that runs blocks, one at a time.
    pub fn worker(&self) -> Worker<'_, T> {
        let idle = self.idle.lock().ok().and_then(|mut idle| idle.pop());
        Worker::new(self, idle)
    }

    /// Takes the memory of a worker back.
    fn give(&self, memory: BlockMemory<T>) {
        if let Ok(mut idle) = self.idle.lock() {
            idle.push(memory);
        }
    }
}

/// Whether the smallest positive number of a tensor is too small beside the largest.
fn is_fragile<T: Number>((low, high): (f64, f64)) -> bool {
    high > 0.0 && low.exponent() - high.exponent() < T::MIN_EXPONENT / 2
}

/// Writes the numbers of a tensor, the largest of them at least one and less than two; the exponent
/// that they share.
fn convert<T: Number>(tensor: &Tensor, (_, high): (f64, f64), to: &mut Vec<T>) -> i32 {
    to.clear();
    if high == 0.0 {
        to.resize(tensor.data.len(), T::ZERO);
        return 0;
    }
    let shift = high.exponent();
    let factor = f64::power_of_two(-shift);
    to.extend(tensor.data.iter().map(|&x| T::of(x * factor)));
    shift + tensor.exponent as i32
}

#[cfg(test)]
mod tests;
