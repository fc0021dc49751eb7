//! The memory, the threads and the programs that a circuit is run with.

use std::sync::{Arc, OnceLock};

use crate::circuit::memory_limit;
use crate::circuit::refuse::{raise_memory, too_large};
use crate::circuit::run::EvalOptions;
use crate::error::{Error, Remedy, Result};
use crate::tensor::fast::{Engine, Number};
use crate::tensor::schedule::Schedule;
use crate::tensor::{Graph, TableId};

/// The memory and the threads that a schedule is run with.
#[derive(Debug)]
pub(crate) struct Room {
    /// The bytes that an example needs, and those that may be used.
    needed: f64,
    limit: f64,
    /// The number of entries of the largest tensor.
    largest: f64,
    pub pool: Arc<rayon::ThreadPool>,
}

impl Room {
    /// As much as there is; an error if that is too little for a single example.
    pub fn new(graph: &Graph, schedule: &Schedule, options: &EvalOptions) -> Result<Self> {
        let (needed, terms) = (schedule.peak_bytes(graph), schedule.term_bytes(graph));
        let limit = memory_limit(options.memory);
        let sizes = graph.ops().map(|(node, _)| graph.size(node));
        let largest = sizes.fold(1.0, f64::max);
        if needed + terms > limit || largest > f64::from(u32::MAX) {
            let why = if largest > f64::from(u32::MAX) {
                " and 2^32 numbers for a table"
            } else {
                ""
            };
            let error = too_large(needed + terms, limit, why);
            let error = error.hint(Remedy::MoreEffort(None));
            return Err(raise_memory(needed + terms, limit)
                .into_iter()
                .fold(error, Error::or));
        }
        let limit = limit - terms; // which all threads share
        Ok(Room {
            needed,
            limit,
            largest,
            pool: Arc::new(pool(options.threads, limit / needed.max(1.0))?),
        })
    }

    /// Whether there is memory for blocks of examples; places in the largest tensor of a block must
    /// be numbers of 32 bits.
    fn fits_blocks<T: Number>(&self) -> bool {
        let needed = self.needed * size_of::<T>() as f64 / size_of::<f64>() as f64;
        let examples = (T::LANES * self.pool.current_num_threads()) as f64;
        needed * examples <= self.limit
            && self.largest * (8 * T::LANES) as f64 <= f64::from(u32::MAX)
    }
}

/// As many threads as were asked for, and have memory of their own.
fn pool(threads: usize, most: f64) -> Result<rayon::ThreadPool> {
    let wanted = if threads == 0 {
        rayon::current_num_threads()
    } else {
        threads
    };
    let threads = wanted.min(most as usize).max(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|e| Error::io("cannot start threads", std::io::Error::other(e)))
}

/// How few examples are run, which would leave most of a block empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Few {
    /// One by one.
    Alone,
    /// In a block all the same.
    Together,
    /// By the careful executor at once.
    Carefully,
}

/// Up to this many examples are few.
const MAX_FEW: usize = 4;

/// Two programs of the same circuit, compiled when they are first used.
#[derive(Debug)]
pub(crate) struct Engines<T> {
    blocks: OnceLock<Engine<T>>,
    one: OnceLock<Engine<T>>,
    /// Whether there is memory for blocks of examples.
    blocks_fit: bool,
    few: Few,
    /// The tables whose derivatives are wanted for each example.
    each: Vec<TableId>,
}

impl<T: Number> Engines<T> {
    pub fn new(room: &Room, few: Few, each: &[TableId]) -> Self {
        Engines {
            blocks: OnceLock::new(),
            one: OnceLock::new(),
            blocks_fit: room.fits_blocks::<T>(),
            few,
            each: each.to_vec(),
        }
    }

    /// Takes over the numbers of the graph's tables.
    pub fn update(&mut self, graph: &Graph) {
        let compiled = [self.blocks.get_mut(), self.one.get_mut()];
        let compiled = compiled.into_iter().flatten();
        compiled.for_each(|engine| engine.update(graph));
    }

    /// The engine for a batch of this size; none if no engine should run it.
    pub fn engine(&self, rows: usize, graph: &Graph, schedule: &Schedule) -> Option<&Engine<T>> {
        if self.blocks_fit && (rows > MAX_FEW || self.few == Few::Together) {
            let compile = || Engine::for_blocks(graph, schedule, &self.each);
            return Some(self.blocks.get_or_init(compile));
        }
        let compile = || Engine::for_one(graph, schedule, &self.each);
        (self.few != Few::Carefully).then(|| self.one.get_or_init(compile))
    }
}
