//! Runs a batch through a circuit, for any kind of answer.
//!
//! 1. Blocks of examples run in parallel, in the numbers that were asked for (`blocks`).
//! 2. Examples whose numbers were too far apart for 32 bits are repeated in 64, in the same way
//!    however many they are.
//! 3. Those that are lost even so are answered one by one by the careful executor, with exact
//!    exponents, and logarithms if they need them.
//! 4. Evidence on variables of which one value is left reaches no block: it is weighed.
//!
//! The computation is a [`Pass`]: posteriors, derivatives, explanations, marginals of families. The
//! answer to an example depends neither on those beside it nor on the number of threads.

mod blocks;
mod engines;
mod load;
mod options;

use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use crate::circuit::Circuit;
use crate::circuit::batch::Batch;
use crate::control::Control;
use crate::error::Result;
use crate::tensor::TableId;
use crate::tensor::fast::{Number, Worker};
use crate::tensor::layout::Program;
use crate::tensor::schedule::{Schedule, Want};
use crate::vars::VarId;

pub(crate) use blocks::{Block, seed_shares, settle};
pub(crate) use engines::Few;
use engines::{Engines, Room};
use load::{check_hard, closed, weigh};
pub(crate) use load::{likelihood, loaded};
pub use options::{EvalOptions, Precision};

/// The outcome for an example.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RowState {
    /// It is answered; with the logarithm of its probability, or of its explanation's.
    Done(f64),
    /// Its numbers are too far apart for those that were computed with.
    Lost,
}

impl RowState {
    /// The logarithm of its probability, if it is known.
    pub fn log(self) -> Option<f64> {
        match self {
            RowState::Done(log) => Some(log),
            RowState::Lost => None,
        }
    }
}

/// The computation for each example: some items side by side.
pub(crate) trait Pass: Sync {
    type Item: Copy + Send + Sync;

    /// The items of an example that is impossible.
    const BLANK: Self::Item;

    /// The number of items of an example.
    fn width(&self) -> usize;

    /// The tables that all examples together are differentiated by; none if they are not.
    fn tables(&self) -> Option<&[TableId]> {
        None
    }
}

/// A pass by the fast executor.
pub(crate) trait Fast<T: Number>: Pass {
    /// Answers the examples of a block, whose evidence is loaded. All of them are lost unless it marks them done
    /// otherwise.
    fn block(&self, worker: &mut Worker<'_, T>, block: Block<'_, Self::Item>);
}

/// A pass by the careful executor.
pub(crate) trait Careful: Pass {
    /// Answers one example after the other: writes the items of a row, which are blank, and gives
    /// the logarithm of its probability; an error if it is stopped.
    fn careful<'a>(
        &'a self,
        runner: &'a Runner,
        job: &'a Job<'a>,
    ) -> impl FnMut(usize, &mut [Self::Item]) -> Result<f64> + 'a;
}

/// A batch that is being run.
pub(crate) struct Job<'b> {
    pub batch: &'b Batch,
    /// Which examples of the batch that was given these are; all of them if none.
    repeated: Option<&'b [usize]>,
    /// The number of examples of the batch that was given.
    whole: usize,
    /// For each example that was given, the logarithm of what no block reads; empty if nothing.
    closed: &'b [f64],
    pub control: &'b Control,
}

impl Job<'_> {
    fn is_stopped(&self) -> bool {
        self.control.is_stopped()
    }
}

/// The results for the examples of a batch.
pub(crate) struct Rows<I> {
    width: usize,
    /// The items of all examples, one after the other.
    pub items: Vec<I>,
    pub states: Vec<RowState>,
    /// The derivatives with respect to the tables of the pass.
    pub tables: Vec<Vec<f64>>,
}

impl<I: Copy> Rows<I> {
    fn blank<P: Pass<Item = I>>(pass: &P, rows: usize) -> Self {
        Rows {
            width: pass.width(),
            items: vec![P::BLANK; rows * pass.width()],
            states: vec![RowState::Lost; rows],
            tables: vec![],
        }
    }

    fn lost(&self) -> Vec<usize> {
        let rows = self.states.iter().enumerate();
        rows.filter(|(_, state)| **state == RowState::Lost)
            .map(|(row, _)| row)
            .collect()
    }

    fn row_mut(&mut self, row: usize) -> &mut [I] {
        &mut self.items[row * self.width..][..self.width]
    }

    /// Takes over some examples that were repeated, and adds their derivatives.
    fn replace(&mut self, rows: &[usize], again: Rows<I>) {
        for (from, &to) in rows.iter().enumerate() {
            let items = &again.items[from * self.width..][..self.width];
            self.row_mut(to).copy_from_slice(items);
            self.states[to] = again.states[from];
        }
        for (to, from) in self.tables.iter_mut().zip(again.tables) {
            to.iter_mut().zip(from).for_each(|(x, y)| *x += y);
        }
    }

    /// Counts evidence that no block reads.
    fn weigh(&mut self, weights: &[f64], blank: I) {
        for (row, &weight) in weights.iter().enumerate() {
            if let RowState::Done(log) = &mut self.states[row] {
                *log += weight;
            }
            if weight == f64::NEG_INFINITY {
                self.row_mut(row).fill(blank);
            }
        }
    }

    /// The logarithms of all examples; nothing if there are some without an answer.
    pub fn logs(&self) -> Option<Vec<f64>> {
        self.states.iter().map(|state| state.log()).collect()
    }
}

/// How a circuit is to be run.
pub(crate) struct Setup<'s> {
    pub want: Want,
    /// The tables whose derivatives are wanted for each example.
    pub each: &'s [TableId],
    pub few: Few,
    pub options: &'s EvalOptions,
}

/// A circuit that is ready to run batches.
#[derive(Debug)]
pub(crate) struct Runner {
    circuit: Circuit,
    schedule: Schedule,
    precision: Precision,
    short: Engines<f32>,
    /// Also for examples whose numbers are too far apart for the short ones.
    long: Engines<f64>,
    /// For examples whose numbers are too far apart for any engine.
    careful: OnceLock<Program>,
    /// The variables whose likelihoods the graph reads.
    loaded: Vec<VarId>,
    /// The inputs whose likelihoods are weighed instead.
    closed: Vec<VarId>,
    /// Whether no evidence reaches the output.
    is_constant: bool,
    pool: Arc<rayon::ThreadPool>,
}

impl Runner {
    pub fn new(circuit: &Circuit, setup: Setup<'_>) -> Result<Self> {
        let Setup { few, each, .. } = setup;
        let graph = circuit.graph();
        let schedule = Schedule::new(graph, &setup.want);
        let room = Room::new(graph, &schedule, setup.options)?;
        Ok(Runner {
            precision: precision(circuit, setup.options),
            short: Engines::new(&room, few, each),
            long: Engines::new(&room, few, each),
            schedule,
            careful: OnceLock::new(),
            loaded: loaded(graph).collect(),
            closed: closed(circuit),
            is_constant: !graph.varies()[graph.output().index()],
            circuit: circuit.clone(),
            pool: room.pool,
        })
    }

    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// The numbers that it computes with.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// How many examples of a batch are computed at once by a thread.
    pub fn block(&self, rows: usize) -> usize {
        let (graph, schedule) = (&self.circuit.graph, &self.schedule);
        let lanes = match self.precision {
            Precision::F32 => self.short.engine(rows, graph, schedule).map(|e| e.lanes()),
            Precision::F64 => self.long.engine(rows, graph, schedule).map(|e| e.lanes()),
        };
        lanes.unwrap_or(1)
    }

    /// The program of the careful executor.
    pub fn program(&self) -> &Program {
        self.careful.get_or_init(|| self.new_program())
    }

    /// A new program of the careful executor.
    pub fn new_program(&self) -> Program {
        Program::new(&self.circuit.graph, &self.schedule)
    }

    /// Changes the numbers of a table; those before stay in use until [`Runner::refresh`].
    pub fn set_table(&mut self, table: TableId, values: &[f64]) {
        self.circuit.set_table(table, values);
    }

    /// Computes again what does not depend on evidence.
    pub fn refresh(&mut self) {
        self.short.update(&self.circuit.graph);
        self.long.update(&self.circuit.graph);
    }

    /// Answers all examples, unless it is stopped.
    pub fn run<P>(&self, pass: &P, batch: &Batch, control: &Control) -> Result<Rows<P::Item>>
    where
        P: Fast<f32> + Fast<f64> + Careful,
    {
        self.with_job(P::BLANK, batch, control, |job| {
            let mut rows = self.fast(pass, job);
            self.repeat_carefully(pass, job, &mut rows);
            rows
        })
    }

    /// Answers all examples in 64 bits only.
    pub fn run_long<P>(&self, pass: &P, batch: &Batch) -> Result<Rows<P::Item>>
    where
        P: Fast<f64> + Careful,
    {
        self.with_job(P::BLANK, batch, &Control::NONE, |job| {
            let mut rows = self.run_blocks(&self.long, pass, job);
            self.repeat_carefully(pass, job, &mut rows);
            rows
        })
    }

    /// Answers all examples for which numbers of 64 bits reach far enough.
    pub fn run_fast<P>(&self, pass: &P, batch: &Batch) -> Result<Rows<P::Item>>
    where
        P: Fast<f32> + Fast<f64>,
    {
        self.with_job(P::BLANK, batch, &Control::NONE, |job| self.fast(pass, job))
    }

    /// Checks a batch, runs it, and counts the evidence that no block reads.
    fn with_job<I: Copy>(
        &self,
        blank: I,
        batch: &Batch,
        control: &Control,
        run: impl FnOnce(&Job<'_>) -> Rows<I>,
    ) -> Result<Rows<I>> {
        check_hard(&self.circuit, batch)?;
        let weights = weigh(&self.circuit, &self.closed, batch);
        let mut rows = run(&Job {
            batch,
            repeated: None,
            whole: batch.len(),
            closed: &weights,
            control,
        });
        rows.weigh(&weights, blank);
        Ok(rows)
    }

    /// Runs all examples in blocks, and those that were lost again in 64 bits.
    fn fast<P>(&self, pass: &P, job: &Job<'_>) -> Rows<P::Item>
    where
        P: Fast<f32> + Fast<f64>,
    {
        if self.precision == Precision::F64 {
            return self.run_blocks(&self.long, pass, job);
        }
        let mut rows = self.run_blocks(&self.short, pass, job);
        let lost = rows.lost();
        if !lost.is_empty() && !self.is_constant && !job.is_stopped() {
            let again = Job {
                batch: &job.batch.select(&self.circuit, &lost),
                repeated: Some(&lost),
                ..*job
            };
            rows.replace(&lost, self.run_blocks(&self.long, pass, &again));
        }
        rows
    }

    /// Answers the examples that were lost by the careful executor.
    fn repeat_carefully<P: Careful>(&self, pass: &P, job: &Job<'_>, rows: &mut Rows<P::Item>) {
        let lost = rows.lost();
        if lost.is_empty() || job.is_stopped() {
            return;
        }
        // One answer is that of all if no evidence reaches the output.
        let distinct = if self.is_constant { 1 } else { lost.len() };
        let answers = lost[..distinct].par_iter().map_init(
            || pass.careful(self, job),
            |answer, &row| {
                let mut items = vec![P::BLANK; pass.width()];
                let log = answer(row, &mut items);
                Some((items, log.ok()?))
            },
        );
        let found: Option<Vec<(Vec<P::Item>, f64)>> = self.pool.install(|| answers.collect());
        let Some(found) = found else { return }; // it is stopped
        for (&row, (items, log)) in lost.iter().zip(found.iter().cycle()) {
            rows.row_mut(row).copy_from_slice(items);
            rows.states[row] = RowState::Done(*log);
        }
    }
}

#[cfg(test)]
impl Runner {
    /// How many examples 32 bits do not reach far enough for.
    pub fn lost_in_32_bits<P: Fast<f32>>(&self, pass: &P, batch: &Batch) -> usize {
        let job = Job {
            batch,
            repeated: None,
            whole: batch.len(),
            closed: &[],
            control: &Control::NONE,
        };
        self.run_blocks(&self.short, pass, &job).lost().len()
    }

    /// Whether a single example is worth several threads.
    pub fn is_large(&self) -> bool {
        let engine = self.long.engine(1, &self.circuit.graph, &self.schedule);
        engine.is_some_and(|engine| engine.is_large())
    }
}

/// Tests compare numbers: what has tests is computed in double precision.
fn precision(circuit: &Circuit, options: &EvalOptions) -> Precision {
    if circuit.graph.rules().is_empty() {
        options.precision
    } else {
        Precision::F64
    }
}
