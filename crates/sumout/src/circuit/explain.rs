//! Explains batches: the most probable values of all variables together, for each example.
//!
//! Blocks of examples are maximised side by side, in numbers of 64 bits, and then traced one by
//! one. A product is the same in a block as for an example alone, up to a power of two: so are the
//! explanations, also where several are equally probable. Few examples, and those whose numbers are
//! too far apart for a block, are explained alone.

use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use crate::circuit::Circuit;
use crate::circuit::batch::Batch;
use crate::circuit::evaluate::{
    EvalOptions, FEW, Room, check_hard, likelihood, load, loaded, sums, weigh_closed,
};
use crate::compile::Completion;
use crate::error::{Error, ErrorKind, Remedy, Result};
use crate::tensor::careful::{Maxima, Run};
use crate::tensor::fast::{Engine, Worker};
use crate::tensor::layout::Program;
use crate::tensor::schedule::{Schedule, Want};
use crate::vars::VarId;

/// A most probable explanation of each example of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanations {
    /// The variables that have a value in every explanation: all but those whose values were
    /// promised.
    pub variables: Vec<VarId>,
    /// For each example, the position of the value of each variable; -1 where the evidence is
    /// impossible.
    pub values: Vec<i32>,
    /// For each example, the logarithm of the probability of all values together (with soft
    /// evidence: times its likelihood); negative infinity where the evidence is impossible.
    pub log_probability: Vec<f64>,
}

impl Explanations {
    /// The values of one example.
    pub fn row(&self, row: usize) -> &[i32] {
        &self.values[row * self.variables.len()..][..self.variables.len()]
    }

    /// Whether the evidence of an example has probability zero.
    pub fn is_impossible(&self, row: usize) -> bool {
        self.log_probability[row] == f64::NEG_INFINITY
    }
}

/// A circuit that is ready to explain batches.
///
/// ```
/// use sumout::{Batch, Column, Network, Options, Query};
///
/// let asia = Network::read("asia")?;
/// let circuit = asia.compile(&Query::explain().given(["xray", "dysp"]), &Options::default())?;
/// let batch = Batch::new(2).with(&circuit, "xray", Column::Values(vec![0, -1]))?;
/// let explanations = circuit.explain(&batch)?;
/// let lung = explanations.variables.iter().position(|&v| circuit.variable(v).name == "lung").unwrap();
/// assert_eq!([0, 1].map(|row| explanations.row(row)[lung]), [0, 1]); // "yes" if the x-ray is positive
/// # Ok::<(), sumout::Error>(())
/// ```
#[derive(Debug)]
pub struct Explainer<'c> {
    circuit: &'c Circuit,
    completion: &'c Completion,
    maxima: Maxima<'c>,
    schedule: Schedule,
    /// For blocks of examples, if they fit in memory.
    blocks: OnceLock<Engine<f64>>,
    blocks_fit: bool,
    /// The variables whose likelihoods the graph reads.
    loaded: Vec<VarId>,
    variables: Vec<VarId>,
    pool: Arc<rayon::ThreadPool>,
}

impl<'c> Explainer<'c> {
    pub(crate) fn new(circuit: &'c Circuit, options: &EvalOptions) -> Result<Self> {
        let completion = circuit.completion.as_ref().ok_or_else(no_explanations)?;
        let schedule = Schedule::new(&circuit.graph, &Want::Everything);
        let room = Room::for_running(&circuit.graph, &schedule, options)?;
        Ok(Explainer {
            circuit,
            completion,
            maxima: Maxima::new(&circuit.graph, Program::new(&circuit.graph, &schedule)),
            schedule,
            blocks: OnceLock::new(),
            blocks_fit: room.fits_blocks::<f64>(),
            loaded: loaded(&circuit.graph).collect(),
            variables: circuit.targets(),
            pool: room.pool,
        })
    }

    /// Explains each example of a batch.
    pub fn run(&self, batch: &Batch) -> Result<Explanations> {
        check_hard(self.circuit, batch)?;
        let (rows, width) = (batch.len(), self.variables.len());
        let (mut values, mut logs) = (vec![-1; rows * width], vec![0.0; rows]);
        let weights = weigh_closed(self.circuit, batch);
        let weight = |row: usize| weights.get(row).copied().unwrap_or(0.0);
        match self.engine(rows) {
            Some(engine) => self.run_blocks(engine, batch, &weight, (&mut values, &mut logs)),
            None => {
                let found = (0..rows)
                    .into_par_iter()
                    .map_init(Alone::default, |alone, row| {
                        let mut values = vec![-1; width];
                        let log = self.explain(alone, batch, row, weight(row), &mut values);
                        (values, log)
                    });
                let found: Vec<(Vec<i32>, f64)> = self.pool.install(|| found.collect());
                let (all, each): (Vec<Vec<i32>>, Vec<f64>) = found.into_iter().unzip();
                (values, logs) = (all.concat(), each);
            }
        }
        Ok(Explanations {
            variables: self.variables.clone(),
            values,
            log_probability: logs,
        })
    }

    /// What maximises blocks of examples; none if that is not worth it for so many, or there is
    /// nothing to explain.
    fn engine(&self, rows: usize) -> Option<&Engine<f64>> {
        let is_worth_it = self.blocks_fit && rows > FEW && !self.variables.is_empty();
        is_worth_it.then(|| {
            self.blocks
                .get_or_init(|| Engine::for_blocks(&self.circuit.graph, &self.schedule, &[]))
        })
    }

    fn run_blocks(
        &self,
        engine: &Engine<f64>,
        batch: &Batch,
        weight: &(impl Fn(usize) -> f64 + Sync),
        (values, logs): (&mut [i32], &mut [f64]),
    ) {
        let (lanes, width) = (engine.lanes(), self.variables.len());
        let blocks = values
            .par_chunks_mut(lanes * width)
            .zip(logs.par_chunks_mut(lanes))
            .enumerate();
        let run = blocks.map_init(
            || (engine.worker(), Alone::default(), vec![]),
            |(worker, alone, traced), (block, (values, logs))| {
                self.maximise(worker, batch, block * lanes, logs);
                traced.resize(logs.len(), vec![]);
                self.maxima
                    .trace()
                    .run(|slot| worker.numbers(slot), false, traced);
                for (lane, (values, log)) in values.chunks_exact_mut(width).zip(logs).enumerate() {
                    let (row, states) = (block * lanes + lane, &mut traced[lane]);
                    *log += weight(row);
                    if log.is_nan() {
                        *log = self.explain(alone, batch, row, weight(row), values);
                    } else if *log > f64::NEG_INFINITY {
                        self.read(states, values);
                    }
                }
            },
        );
        self.pool.install(|| run.collect::<()>());
    }

    /// Maximises a block; the logarithms of examples that are to be explained alone are NaN.
    fn maximise(
        &self,
        worker: &mut Worker<'_, f64>,
        batch: &Batch,
        first: usize,
        logs: &mut [f64],
    ) {
        worker.begin();
        for &var in &self.loaded {
            load(self.circuit, batch, worker, var, first..first + logs.len());
        }
        worker.maximise();
        if worker.output().is_none() {
            return logs.fill(f64::NAN); // no evidence reaches the output
        }
        sums(worker, logs);
        let lost = logs
            .iter_mut()
            .enumerate()
            .filter(|(lane, _)| worker.is_lost(*lane));
        lost.for_each(|(_, log)| *log = f64::NAN);
    }

    /// Finds the values of an example by itself, and the logarithm of their probability.
    fn explain<'m>(
        &'m self,
        alone: &mut Alone<'m>,
        batch: &Batch,
        row: usize,
        weight: f64,
        values: &mut [i32],
    ) -> f64 {
        let run = alone.run.get_or_insert_with(|| self.maxima.idle());
        self.maxima
            .run(run, |v| likelihood(self.circuit, batch, v, row));
        let log = run.log_sum() + weight;
        if log > f64::NEG_INFINITY {
            run.trace_by(self.maxima.trace(), &mut alone.states);
            self.read(&mut alone.states, values);
        }
        log
    }

    /// Reads the values of an example from the states that were traced.
    fn read(&self, states: &mut [Option<usize>], values: &mut [i32]) {
        self.completion.complete(self.circuit.graph.cards(), states);
        for (to, v) in values.iter_mut().zip(&self.variables) {
            *to = self.circuit.domains[v.index()][states[v.index()].unwrap_or(0)] as i32;
        }
    }
}

/// What a thread explains a single example with.
#[derive(Default)]
struct Alone<'m> {
    /// None if no example had to be explained alone.
    run: Option<Run<'m>>,
    states: Vec<Option<usize>>,
}

/// A circuit for posteriors takes sums, and has no maxima.
fn no_explanations() -> Error {
    let error = Error::new(
        ErrorKind::Unsupported,
        "the circuit is for posteriors, and cannot explain",
    );
    error.hint(Remedy::CompileToExplain)
}
