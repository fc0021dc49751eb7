//! Evaluates batches: blocks of examples on all processors.

mod block;

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use crate::circuit::batch::{Answers, Batch};
use crate::circuit::{Circuit, memory_limit, too_large};
use crate::error::{Error, ErrorKind, Remedy, Result};
use crate::tensor::fast::{Engine, Number, Worker};
use crate::tensor::layout::Program;
use crate::tensor::schedule::{Schedule, Want};
use crate::tensor::{Graph, Op, TableId};
use crate::vars::{VarId, VarSet};
use block::Block;
pub(crate) use block::{joint, likelihood, load, loaded, sums};

/// The numbers that are computed with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// 32 bits: about seven digits, twice as fast.
    #[default]
    F32,
    /// 64 bits: about sixteen digits.
    F64,
}

impl Precision {
    /// Both.
    pub const ALL: [Precision; 2] = [Precision::F32, Precision::F64];

    /// A name for reports and options.
    pub const fn name(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::F64 => "f64",
        }
    }

    /// The number of bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Precision::F32 => 4,
            Precision::F64 => 8,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Precision {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Precision::ALL.into_iter().find(|p| p.name() == name);
        found.ok_or_else(|| {
            Error::new(ErrorKind::Options, format!("unknown precision `{name}`"))
                .hint("use f32 or f64")
        })
    }
}

/// How to evaluate.
#[derive(Clone, Copy, Debug, Default)]
pub struct EvalOptions {
    /// The numbers that are computed with; those of testing circuits have 64 bits all the same.
    pub precision: Precision,
    /// The number of threads; one for each processor if zero.
    pub threads: usize,
    /// The number of bytes that may be used; three quarters of the free memory if none is given.
    pub memory: Option<u64>,
    /// Whether to answer with the posteriors of the inputs, which takes a backward pass, instead of
    /// the target's.
    pub of_inputs: bool,
}

/// A circuit that is ready to evaluate batches.
#[derive(Debug)]
pub struct Evaluator<'c> {
    circuit: &'c Circuit,
    precision: Precision,
    short: Engines<f32>,
    /// Also for examples whose numbers are too far apart for the short ones.
    long: Engines<f64>,
    schedule: Schedule,
    /// For examples whose numbers are too far apart for any engine.
    careful: OnceLock<Program>,
    targets: Vec<VarId>,
    /// Whether the posterior is read from the output, and not from derivatives.
    by_output: bool,
    /// The variables whose likelihoods the graph reads.
    loaded: Vec<VarId>,
    pool: Arc<rayon::ThreadPool>,
}

/// Tests compare numbers: what has tests is computed in double precision.
pub(crate) fn precision(circuit: &Circuit, options: &EvalOptions) -> Precision {
    if circuit.graph.rules().is_empty() {
        options.precision
    } else {
        Precision::F64
    }
}

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
    pub fn for_running(graph: &Graph, schedule: &Schedule, options: &EvalOptions) -> Result<Self> {
        let (needed, terms) = (schedule.peak_bytes(graph), schedule.term_bytes(graph));
        let limit = memory_limit(options.memory);
        let largest = graph
            .ops()
            .map(|(node, _)| graph.size(node))
            .fold(1.0, f64::max);
        if needed + terms > limit || largest > f64::from(u32::MAX) {
            let why = if largest > f64::from(u32::MAX) {
                " and 2^32 numbers for a table"
            } else {
                ""
            };
            let error = too_large(needed + terms, limit, why);
            return Err(error.hint(Remedy::MoreEffort(None)).or(Remedy::RaiseMemory));
        }
        let limit = limit - terms; // which all threads share
        let threads = if options.threads == 0 {
            rayon::current_num_threads()
        } else {
            options.threads
        };
        let threads = threads.min((limit / needed.max(1.0)) as usize).max(1); // each needs memory of its own
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|e| Error::io("cannot start threads", std::io::Error::other(e)))?;
        Ok(Room {
            needed,
            limit,
            largest,
            pool: Arc::new(pool),
        })
    }
}

impl Room {
    /// Whether there is memory for blocks of examples; places in the largest tensor of a block must
    /// be numbers of 32 bits.
    pub fn fits_blocks<T: Number>(&self) -> bool {
        let needed = self.needed * size_of::<T>() as f64 / size_of::<f64>() as f64;
        let examples = (T::LANES * self.pool.current_num_threads()) as f64;
        needed * examples <= self.limit
            && self.largest * (8 * T::LANES) as f64 <= f64::from(u32::MAX)
    }
}

/// Two programs of the same circuit, compiled when they are first used.
#[derive(Debug, Default)]
pub(crate) struct Engines<T> {
    /// None if blocks of examples do not fit in memory.
    blocks: OnceLock<Engine<T>>,
    one: OnceLock<Engine<T>>,
    blocks_fit: bool,
    /// The tables whose derivatives are wanted for each example.
    each: Vec<TableId>,
}

/// So few examples are evaluated one by one.
pub(crate) const FEW: usize = 4;

impl<T: Number> Engines<T> {
    pub fn new(room: &Room, each: &[TableId]) -> Self {
        let blocks_fit = room.fits_blocks::<T>();
        Engines {
            blocks: OnceLock::new(),
            one: OnceLock::new(),
            blocks_fit,
            each: each.to_vec(),
        }
    }

    /// Takes over the numbers of the graph's tables.
    pub fn update(&mut self, graph: &Graph) {
        self.blocks
            .get_mut()
            .into_iter()
            .chain(self.one.get_mut())
            .for_each(|engine| engine.update(graph));
    }

    pub fn engine(&self, rows: usize, graph: &Graph, schedule: &Schedule) -> &Engine<T> {
        match self.blocks_fit && rows > FEW {
            true => self
                .blocks
                .get_or_init(|| Engine::for_blocks(graph, schedule, &self.each)),
            false => self
                .one
                .get_or_init(|| Engine::for_one(graph, schedule, &self.each)),
        }
    }
}

impl<'c> Evaluator<'c> {
    pub(crate) fn new(circuit: &'c Circuit, options: &EvalOptions) -> Result<Self> {
        let by_output = circuit.target.is_some() && !options.of_inputs;
        let targets = if options.of_inputs {
            (&circuit.inputs - &circuit.hard).iter().collect()
        } else {
            circuit.targets()
        };
        let open: VarSet = targets
            .iter()
            .copied()
            .filter(|v| circuit.domains[v.index()].len() > 1)
            .collect();
        let want = if by_output {
            Want::Output
        } else {
            Want::Marginals(open)
        };
        let schedule = Schedule::new(&circuit.graph, &want);
        let room = Room::for_running(&circuit.graph, &schedule, options)?;
        Ok(Evaluator {
            circuit,
            precision: precision(circuit, options),
            short: Engines::new(&room, &[]),
            long: Engines::new(&room, &[]),
            schedule,
            careful: OnceLock::new(),
            targets,
            by_output,
            loaded: loaded(&circuit.graph).collect(),
            pool: room.pool,
        })
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
        match self.precision {
            Precision::F32 => self
                .short
                .engine(rows, &self.circuit.graph, &self.schedule)
                .lanes(),
            Precision::F64 => self
                .long
                .engine(rows, &self.circuit.graph, &self.schedule)
                .lanes(),
        }
    }

    /// The posteriors of a batch.
    pub fn run(&self, batch: &Batch) -> Result<Answers> {
        self.run_with(batch, None)
    }

    /// The same, unless it is told to stop while it runs: then there are no answers.
    pub fn run_unless(&self, batch: &Batch, stop: &AtomicBool) -> Result<Option<Answers>> {
        let answers = self.run_with(batch, Some(stop))?;
        Ok((!stop.load(Ordering::Relaxed)).then_some(answers))
    }

    pub(crate) fn run_with(&self, batch: &Batch, stop: Option<&AtomicBool>) -> Result<Answers> {
        check_hard(self.circuit, batch)?;
        let mut answers = self.blank(batch.len());
        if answers.width() == 0 {
            answers.log_evidence.fill(f64::NAN);
        } else if self.precision == Precision::F32 {
            self.run_on(&self.short, (batch, stop), batch.len(), &mut answers);
            self.repeat(batch, stop, &mut answers);
        } else {
            self.run_on(&self.long, (batch, stop), batch.len(), &mut answers);
        }
        if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Ok(answers);
        }
        self.repeat_carefully(batch, &mut answers);
        for (row, weight) in weigh_closed(self.circuit, batch).into_iter().enumerate() {
            answers.log_evidence[row] += weight;
            if weight == f64::NEG_INFINITY {
                answers.refuse(row);
            }
        }
        Ok(answers)
    }

    fn blank(&self, rows: usize) -> Answers {
        let cards = self
            .targets
            .iter()
            .map(|&v| (v, self.circuit.variable(v).values.len()))
            .collect();
        let mut answers = Answers {
            targets: cards,
            posteriors: vec![],
            log_evidence: vec![0.0; rows],
        };
        answers.posteriors = vec![0.0; rows * answers.width()];
        answers
    }

    /// Runs all blocks, as those of a batch of `like` examples. The logarithms of examples that
    /// were lost are NaN.
    fn run_on<T: Number>(
        &self,
        engines: &Engines<T>,
        (batch, stop): (&Batch, Option<&AtomicBool>),
        like: usize,
        answers: &mut Answers,
    ) {
        let engine = engines.engine(like, &self.circuit.graph, &self.schedule);
        let (lanes, width) = (engine.lanes(), answers.width());
        let Answers {
            posteriors,
            log_evidence,
            ..
        } = answers;
        let block = Block {
            circuit: self.circuit,
            evaluator: self,
            batch,
        };
        let run =
            |worker: &mut Worker<'_, T>,
             (index, (posteriors, logs)): (usize, (&mut [f64], &mut [f64]))| {
                block.run(worker, index * lanes, posteriors, logs);
            };
        let worker = || engine.worker().stopped_by(stop);
        if batch.is_empty() {
            return;
        }
        if batch.len() <= lanes && !engine.is_large() {
            return run(&mut worker(), (0, (posteriors, log_evidence))); // waking threads takes time
        }
        let blocks = posteriors
            .par_chunks_mut(lanes * width)
            .zip(log_evidence.par_chunks_mut(lanes))
            .enumerate();
        self.pool.install(|| blocks.for_each_init(worker, run));
    }

    /// Repeats examples that were lost with numbers that reach further, in the same way however
    /// many they are.
    fn repeat(&self, batch: &Batch, stop: Option<&AtomicBool>, answers: &mut Answers) {
        let rows = lost(answers);
        if rows.is_empty() {
            return;
        }
        let mut again = self.blank(rows.len());
        self.run_on(
            &self.long,
            (&batch.select(self.circuit, &rows), stop),
            batch.len(),
            &mut again,
        );
        let width = answers.width();
        for (from, &to) in rows.iter().enumerate() {
            answers.posteriors[to * width..][..width].copy_from_slice(again.row(from));
            answers.log_evidence[to] = again.log_evidence[from];
        }
    }

    /// Repeats examples that were lost with exact exponents, and logarithms if they need them.
    fn repeat_carefully(&self, batch: &Batch, answers: &mut Answers) {
        let (rows, width) = (lost(answers), answers.width());
        if rows.is_empty() {
            return;
        }
        let block = Block {
            circuit: self.circuit,
            evaluator: self,
            batch,
        };
        let run = |&row: &usize| {
            let (mut posteriors, mut log) = (vec![0.0; width], 0.0);
            block.run_carefully(row, &mut posteriors, &mut log);
            (row, posteriors, log)
        };
        let found: Vec<_> = self.pool.install(|| rows.par_iter().map(run).collect());
        for (row, posteriors, log) in found {
            answers.posteriors[row * width..][..width].copy_from_slice(&posteriors);
            answers.log_evidence[row] = log;
        }
    }

    fn careful(&self) -> &Program {
        self.careful
            .get_or_init(|| Program::new(&self.circuit.graph, &self.schedule))
    }
}

/// Evidence on a variable of which one value is left is no input of the graph, but multiplies into
/// P(e): for each example, the logarithm of its likelihood. Empty if there is none.
pub(crate) fn weigh_closed(circuit: &Circuit, batch: &Batch) -> Vec<f64> {
    let is_closed = |v: &VarId| circuit.graph.find(&Op::Evidence(*v)).is_none();
    let mut weights = vec![];
    for var in circuit
        .inputs()
        .filter(|v| circuit.domains[v.index()].len() == 1)
        .filter(is_closed)
    {
        let Some(column) = batch.get(var) else {
            continue;
        };
        weights.resize(batch.len(), 0.0);
        let (card, only) = (
            circuit.variable(var).values.len(),
            circuit.domains[var.index()][0],
        );
        for (row, weight) in weights.iter_mut().enumerate() {
            let likelihood = column.likelihood(row, only, card);
            if likelihood != 1.0 {
                *weight += likelihood.ln();
            }
        }
    }
    weights
}

/// The examples that have no answer yet.
fn lost(answers: &Answers) -> Vec<usize> {
    answers
        .log_evidence
        .iter()
        .enumerate()
        .filter(|(_, log)| log.is_nan())
        .map(|(row, _)| row)
        .collect()
}

/// A hard input has a value in every row.
pub(crate) fn check_hard(circuit: &Circuit, batch: &Batch) -> Result<()> {
    for var in circuit.hard.iter() {
        let name = &circuit.variable(var).name;
        let missing = match batch.get(var) {
            Some(known) => known.missing(),
            None => (!batch.is_empty()).then_some(0),
        };
        if let Some(row) = missing {
            let row = row + 1;
            let message = format!(
                "`{name}` has no value in row {row}, but the circuit was compiled for hard evidence on it"
            );
            let error = Error::new(ErrorKind::Evidence, message);
            let error = error.hint("give it a value in every row");
            return Err(error.or(Remedy::UseInstead {
                option: "given",
                instead_of: "hard",
            }));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Network;
    use crate::{Column, Level, Options, Query};

    fn images(model: &str, target: &str, inputs: &str, options: &Options) -> (Circuit, Batch) {
        let net = Network::read(model).unwrap();
        let circuit = net
            .compile(&Query::of(target).given([inputs]), options)
            .unwrap();
        let data = net.sample(64, 1).unwrap();
        let mut batch = Batch::new(64);
        for (k, &var) in data
            .columns()
            .iter()
            .enumerate()
            .filter(|(_, v)| circuit.inputs.contains(**v))
        {
            let values = data
                .rows()
                .map(|row| row[k].map_or(-1, |value| value as i32))
                .collect();
            batch.insert(&circuit, var, Column::Values(values)).unwrap();
        }
        (circuit, batch)
    }

    /// Posteriors of noisy images are as extreme as they come; yet short numbers reach far enough
    /// for nearly all.
    #[test]
    fn few_examples_are_repeated() {
        for (model, target, inputs) in [("rect:20", "label", "pixel_*"), ("digits:10", "d", "p_*")]
        {
            let options = Options {
                effort: 0.1,
                ..Options::default()
            };
            let (circuit, batch) = images(model, target, inputs, &options);
            let evaluator = circuit.evaluator(&EvalOptions::default()).unwrap();
            let mut answers = evaluator.blank(64);
            evaluator.run_on(&evaluator.short, (&batch, None), 64, &mut answers);
            assert!(
                lost(&answers).len() <= 3,
                "{model}: {} of 64",
                lost(&answers).len()
            );
        }
    }

    /// Who stops a run gets nothing, and the next run is not the worse for it.
    #[test]
    fn a_run_can_be_stopped() {
        let asia = Network::read("asia").unwrap();
        let circuit = asia.compile(&Query::all(), &Options::default()).unwrap();
        for precision in Precision::ALL {
            let evaluator = circuit
                .evaluator(&EvalOptions {
                    precision,
                    ..EvalOptions::default()
                })
                .unwrap();
            for rows in [1, 100] {
                let batch = Batch::new(rows)
                    .with(&circuit, "xray", Column::Values(vec![0; rows]))
                    .unwrap();
                let stop = AtomicBool::new(true);
                assert_eq!(evaluator.run_unless(&batch, &stop).unwrap(), None);
                stop.store(false, Ordering::Relaxed);
                assert_eq!(
                    evaluator.run_unless(&batch, &stop).unwrap(),
                    Some(evaluator.run(&batch).unwrap())
                );
            }
        }
    }

    /// The steps of a single large example are split among threads, which changes nothing.
    #[test]
    fn large_steps_run_on_several_threads() {
        let options = Options {
            level: Level::Classical,
            effort: 0.01,
            ..Options::default()
        };
        let (circuit, batch) = images("rect:12", "label", "pixel_*", &options);
        let one = batch.select(&circuit, &[5]);
        let run = |threads: usize, batch: &Batch| {
            let running = EvalOptions {
                precision: Precision::F64,
                threads,
                ..EvalOptions::default()
            };
            let evaluator = circuit.evaluator(&running).unwrap();
            assert!(
                evaluator
                    .long
                    .engine(1, &circuit.graph, &evaluator.schedule)
                    .is_large()
            );
            evaluator.run(batch).unwrap()
        };
        let (alone, together) = (run(1, &one), run(3, &one));
        assert_eq!(alone, together);
        let blocks = run(1, &batch.select(&circuit, &[1, 2, 3, 4, 5]));
        assert!((alone.row(0)[0] - blocks.row(4)[0]).abs() < 1e-12);
    }
}
