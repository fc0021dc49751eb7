//! Differentiates losses of the posterior: with respect to the tables of a circuit, and to
//! evidence.
//!
//! A loss L of an example is a function of its posterior p, or of ln P(e). All that the backward
//! pass needs to know of it is g(k) = ∂L / ∂ln out(k), where out(k) = P(k, e) is the circuit's
//! output and p(k) its share of P(e):
//!
//! ```text
//! L = -ln P(e)            g(k) = -p(k)
//! L = -Σ y(k) ln p(k)     g(k) = p(k) Σ y - y(k)
//! ```

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use crate::circuit::Circuit;
use crate::circuit::batch::Batch;
use crate::circuit::evaluate::{
    Engines, EvalOptions, FEW, Precision, Room, check_hard, load, loaded, precision, sums,
    weigh_closed,
};
use crate::error::Result;
use crate::tensor::fast::{Number, Worker};
use crate::tensor::schedule::{Schedule, Want};
use crate::tensor::{Graph, Op, TableId};
use crate::vars::VarId;

/// Writes, for an example with this number and this posterior, g(k) for each value k of the target
/// that is left.
///
/// The posterior of a circuit without a target is a single one.
pub type LossGradient<'l> = dyn Fn(usize, &[f64], &mut [f64]) + Sync + 'l;

/// The derivatives of the sum of all losses of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Derivatives {
    /// For each example, P(k | e) for each value k of the target that is left; a single one if
    /// there is no target.
    pub posteriors: Vec<f64>,
    /// For each example, ln P(e).
    pub log_evidence: Vec<f64>,
    /// For each table that was asked for, the derivatives with respect to its numbers.
    pub tables: Vec<Vec<f64>>,
    /// For each input that was asked for and that the circuit depends on, the derivatives with
    /// respect to the likelihoods of the values that are left, example after example.
    pub evidence: Vec<(VarId, Vec<f64>)>,
}

/// A circuit that is ready to be differentiated. Its tables can be changed.
///
/// A step of gradient descent on the table of `lung`, so that an abnormal X-ray speaks for it:
///
/// ```
/// use sumout::{Batch, Column, Network, Options, Query, EvalOptions};
///
/// let asia = Network::read("asia")?;
/// let query = Query::of("lung").given(["xray", "dysp"]).trainable(["lung"]);
/// let circuit = asia.compile(&query, &Options::default())?;
/// let tables: Vec<_> = circuit.graph().origins().keys().copied().collect();
/// let mut learner = circuit.differentiator(&tables, &[], &EvalOptions::default())?;
///
/// let batch = Batch::new(1).with(&circuit, "xray", Column::Values(vec![0]))?;
/// let cross_entropy = |_row: usize, posterior: &[f64], to: &mut [f64]| {
///     to.copy_from_slice(posterior);
///     to[0] -= 1.0; // the label is the first value
/// };
/// let before = learner.run(&batch, &cross_entropy)?;
/// let step: Vec<f64> = before.tables[0].iter().map(|d| -0.01 * d).collect();
/// let moved: Vec<f64> = learner.graph().tables()[tables[0].index()].values.iter().zip(&step).map(|(x, s)| x + s).collect();
/// learner.set_table(tables[0], &moved);
/// learner.refresh();
/// assert!(learner.run(&batch, &cross_entropy)?.posteriors[0] > before.posteriors[0]);
/// # Ok::<(), sumout::Error>(())
/// ```
#[derive(Debug)]
pub struct Differentiator<'c> {
    circuit: &'c Circuit,
    graph: Graph,
    tables: Vec<TableId>,
    inputs: Vec<VarId>,
    loaded: Vec<VarId>,
    precision: Precision,
    short: Engines<f32>,
    long: Engines<f64>,
    schedule: Schedule,
    /// Whether few examples are evaluated together, too.
    shares_much: bool,
    pool: Arc<rayon::ThreadPool>,
}

impl Circuit {
    /// Prepares to differentiate losses with respect to some tables of the [graph](Circuit::graph),
    /// and the likelihoods of some inputs. All of them go through the tests of a testing circuit.
    pub fn differentiator(
        &self,
        tables: &[TableId],
        inputs: &[VarId],
        options: &EvalOptions,
    ) -> Result<Differentiator<'_>> {
        self.check_posteriors()?;
        Differentiator::new(self, tables, inputs, options)
    }

    /// Prepares to differentiate losses with respect to all tables that can be trained.
    pub(crate) fn learner(&self, options: &EvalOptions) -> Result<Differentiator<'_>> {
        let tables: Vec<TableId> = self.graph.origins().keys().copied().collect();
        Differentiator::new(self, &tables, &[], options)
    }
}

/// What the examples of one batch, or of a part of it, add up to.
struct Part {
    width: usize,
    posteriors: Vec<f64>,
    log_evidence: Vec<f64>,
    evidence: Vec<Vec<f64>>,
}

/// Where the examples of a block add what all of them add up to; nowhere, if nothing is
/// differentiated.
struct Sums<'s> {
    numbers: &'s mut [f64],
    /// Those of the output, if it is the same for all examples.
    seed: Option<Range<usize>>,
}

impl<'c> Differentiator<'c> {
    fn new(
        circuit: &'c Circuit,
        tables: &[TableId],
        inputs: &[VarId],
        options: &EvalOptions,
    ) -> Result<Self> {
        let graph = circuit.graph.clone();
        let loaded: Vec<VarId> = loaded(&graph).collect();
        let mut inputs: Vec<VarId> = inputs
            .iter()
            .copied()
            .filter(|input| loaded.contains(input))
            .collect();
        inputs.extend(
            circuit
                .aliases
                .iter()
                .filter(|(_, of)| inputs.contains(of))
                .map(|(alias, _)| *alias)
                .collect::<Vec<_>>(),
        );
        let want = Want::Gradients(inputs.iter().copied().collect(), tables.to_vec());
        let schedule = Schedule::new(&graph, &want);
        let room = Room::for_running(&graph, &schedule, options)?;
        Ok(Differentiator {
            circuit,
            tables: tables.to_vec(),
            inputs,
            loaded,
            precision: precision(circuit, options),
            short: Engines::new(&room, &[]),
            long: Engines::new(&room, &[]),
            schedule,
            shares_much: shares_much(&graph),
            graph,
            pool: room.pool,
        })
    }

    /// Changes the numbers of a table. What they were stays in use until
    /// [`Differentiator::refresh`].
    ///
    /// # Panics
    /// If the table has another number of entries.
    pub fn set_table(&mut self, table: TableId, values: &[f64]) {
        self.graph.table_mut(table).copy_from_slice(values);
    }

    /// Computes again what does not depend on evidence, from the numbers of the tables.
    pub fn refresh(&mut self) {
        self.short.update(&self.graph);
        self.long.update(&self.graph);
    }

    /// The graph with the numbers that its tables have now.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The derivatives of the sum of the losses of all examples.
    ///
    /// An example that is impossible, or whose numbers or derivatives are further apart than 64
    /// bits reach, adds nothing; its `log_evidence` is negative infinity, or NaN.
    pub fn run(&self, batch: &Batch, loss: &LossGradient<'_>) -> Result<Derivatives> {
        self.run_both(batch, Some(loss))
    }

    /// The posteriors of all examples, and no derivatives.
    pub fn evaluate(&self, batch: &Batch) -> Result<Derivatives> {
        self.run_both(batch, None)
    }

    fn run_both(&self, batch: &Batch, loss: Option<&LossGradient<'_>>) -> Result<Derivatives> {
        check_hard(self.circuit, batch)?;
        let closed = weigh_closed(self.circuit, batch);
        let derive = |row: usize, posterior: &[f64], to: &mut [f64]| {
            if let Some(loss) = loss.filter(|_| closed.get(row) != Some(&f64::NEG_INFINITY)) {
                loss(row, posterior, to);
            }
        };
        let possible = loss.map(|_| &derive as &LossGradient<'_>);
        let like = if self.shares_much {
            batch.len().max(FEW + 1)
        } else {
            batch.len()
        };
        let mut found = match self.precision {
            Precision::F32 => self.run_on(&self.short, batch, like, possible),
            Precision::F64 => self.run_on(&self.long, batch, like, possible),
        };
        let lost: Vec<usize> = (0..batch.len())
            .filter(|&row| found.1.log_evidence[row].is_nan())
            .collect();
        if self.precision == Precision::F32 && !lost.is_empty() {
            let again =
                |row: usize, posterior: &[f64], to: &mut [f64]| derive(lost[row], posterior, to);
            let again = loss.map(|_| &again as &LossGradient<'_>);
            let again = self.run_on(&self.long, &batch.select(self.circuit, &lost), like, again);
            found
                .0
                .iter_mut()
                .zip(again.0)
                .for_each(|(to, from)| to.iter_mut().zip(from).for_each(|(x, y)| *x += y));
            found.1.replace(&lost, &again.1);
        }
        found
            .1
            .log_evidence
            .iter_mut()
            .zip(&closed)
            .for_each(|(log, weight)| *log += weight);
        let (
            tables,
            Part {
                posteriors,
                log_evidence,
                evidence,
                ..
            },
        ) = found;
        let evidence = self.without_aliases(self.inputs.iter().copied().zip(evidence));
        Ok(Derivatives {
            posteriors,
            log_evidence,
            tables,
            evidence,
        })
    }

    /// Adds derivatives with respect to aliases to those with respect to the variables that they
    /// stand for.
    fn without_aliases(
        &self,
        evidence: impl Iterator<Item = (VarId, Vec<f64>)>,
    ) -> Vec<(VarId, Vec<f64>)> {
        let (aliases, mut own): (Vec<_>, Vec<_>) =
            evidence.partition(|(var, _)| self.circuit.source(*var) != *var);
        for (alias, numbers) in aliases {
            let of = self.circuit.source(alias);
            let (all, left) = (
                self.circuit.possible(alias).len(),
                self.circuit.possible(of),
            );
            let to = own
                .iter_mut()
                .find(|(var, _)| *var == of)
                .map_or(&mut [][..], |(_, to)| to);
            for (to, from) in to
                .chunks_exact_mut(left.len())
                .zip(numbers.chunks_exact(all))
            {
                to.iter_mut()
                    .zip(left)
                    .for_each(|(to, &value)| *to += from[value]);
            }
        }
        own
    }

    /// Runs all blocks, as those of a batch of `like` examples.
    fn run_on<T: Number>(
        &self,
        engines: &Engines<T>,
        batch: &Batch,
        like: usize,
        loss: Option<&LossGradient<'_>>,
    ) -> (Vec<Vec<f64>>, Part) {
        let engine = engines.engine(like, &self.graph, &self.schedule);
        let mut whole = Part::new(self, 0);
        let zeros = || {
            if loss.is_some() {
                engine.zeros()
            } else {
                vec![]
            }
        };
        let mut sums = zeros();
        let blocks = batch.len().div_ceil(engine.lanes());
        let run = |worker: &mut Worker<'_, T>, block: usize, numbers: &mut [f64]| {
            let first = block * engine.lanes();
            let rows = first..batch.len().min(first + engine.lanes());
            let seed = engine.seed_sum().filter(|_| loss.is_some());
            self.run_block(worker, batch, rows, loss, Sums { numbers, seed })
        };
        // In rounds, so that what blocks add up to is never in memory for all of them; in order, so
        // that the number of threads changes nothing.
        let length = (ROUND / (1 + sums.len())).clamp(1, 64);
        if blocks == 1 {
            whole.append(run(&mut engine.worker(), 0, &mut sums));
        } else if length == 1 || self.pool.current_num_threads() == 1 {
            self.pool.install(|| {
                let mut worker = engine.worker();
                (0..blocks).for_each(|block| whole.append(run(&mut worker, block, &mut sums)));
            });
        } else {
            let apart = |worker: &mut Worker<'_, T>, block: usize| {
                let mut sums = zeros();
                (run(worker, block, &mut sums), sums)
            };
            for start in (0..blocks).step_by(length) {
                let round = (start..blocks.min(start + length)).into_par_iter();
                let parts: Vec<(Part, Vec<f64>)> = self
                    .pool
                    .install(|| round.map_init(|| engine.worker(), apart).collect());
                for (part, more) in parts {
                    whole.append(part);
                    sums.iter_mut().zip(&more).for_each(|(sum, x)| *sum += x);
                    engine.give_zeros(more);
                }
            }
        }
        let tables = loss.map(|_| engine.differentiate(&self.graph, sums, &self.tables));
        (tables.unwrap_or_default(), whole)
    }

    fn run_block<T: Number>(
        &self,
        worker: &mut Worker<'_, T>,
        batch: &Batch,
        rows: Range<usize>,
        loss: Option<&LossGradient<'_>>,
        sums_to: Sums<'_>,
    ) -> Part {
        let mut part = Part::new(self, rows.len());
        worker.begin();
        self.loaded
            .iter()
            .for_each(|&var| load(self.circuit, batch, worker, var, rows.clone()));
        worker.forward();
        let Some(output) = worker.output() else {
            if let Some((output, exponent)) = worker.constant() {
                part.run_constant(
                    output,
                    exponent,
                    rows.start,
                    loss.unwrap_or(&|_, _, _| {}),
                    sums_to,
                );
            }
            return part;
        };
        let totals = sums(worker, &mut part.log_evidence);
        let (lanes, width) = (worker.lanes(), part.width);
        let mut seeds = vec![T::ZERO; output.len()];
        let mut derivatives = vec![0.0; width];
        for (lane, posterior) in part.posteriors.chunks_exact_mut(width).enumerate() {
            if worker.is_lost(lane) {
                part.log_evidence[lane] = f64::NAN;
            } else if totals[lane] > 0.0 {
                let joint = |k: usize| output[k * lanes + lane].to_f64();
                posterior
                    .iter_mut()
                    .enumerate()
                    .for_each(|(k, p)| *p = joint(k) / totals[lane]);
                let Some(loss) = loss else { continue };
                derivatives.fill(0.0);
                loss(rows.start + lane, posterior, &mut derivatives);
                for (k, g) in derivatives.iter().enumerate() {
                    seeds[k * lanes + lane] = T::of(seed(*g, joint(k)));
                }
            }
        }
        if loss.is_none() {
            return part;
        }
        worker.backward(|seed| seed.copy_from_slice(&seeds));
        if !worker.has_numbers() {
            part.drop_overflowing(worker, &mut seeds);
        }
        if worker.has_numbers() {
            worker.add_sums(sums_to.numbers);
        }
        for (to, &var) in part.evidence.iter_mut().zip(&self.inputs) {
            worker.read_adjoint(var, rows.len(), to);
        }
        part
    }
}

/// The derivative with respect to a number of the output, from that of a loss with respect to its
/// logarithm.
fn seed(g: f64, joint: f64) -> f64 {
    if joint == 0.0 { 0.0 } else { g / joint }
}

/// From so many numbers on that are the same for all examples, one block that is partly empty takes
/// less time than one for each example: every block adds to the derivatives of all of them.
const MUCH: f64 = 1e6;

fn shares_much(graph: &Graph) -> bool {
    let mut varies = vec![false; graph.len()];
    let mut shared = 0.0;
    for (node, op) in graph.ops() {
        varies[node.index()] =
            matches!(op, Op::Evidence(_)) || op.inputs().any(|input| varies[input.index()]);
        shared += if varies[node.index()] {
            0.0
        } else {
            graph.size(node)
        };
    }
    shared > MUCH
}

/// So many numbers may wait to be added up.
const ROUND: usize = 1 << 24;

impl Part {
    fn new(of: &Differentiator<'_>, rows: usize) -> Self {
        let width = of.graph.size(of.graph.output()) as usize;
        let numbers = |var: &VarId| vec![0.0; rows * of.circuit.domains[var.index()].len()];
        Part {
            width,
            posteriors: vec![0.0; rows * width],
            log_evidence: vec![0.0; rows],
            evidence: of.inputs.iter().map(numbers).collect(),
        }
    }

    /// No evidence reaches the output: it is the same for all examples.
    fn run_constant<T: Number>(
        &mut self,
        output: &[T],
        exponent: i32,
        first: usize,
        loss: &LossGradient<'_>,
        sums: Sums<'_>,
    ) {
        let joint: Vec<f64> = output.iter().map(|x| x.to_f64()).collect();
        let total: f64 = joint.iter().sum();
        self.log_evidence
            .fill(total.ln() + f64::from(exponent) * std::f64::consts::LN_2);
        if total == 0.0 {
            return;
        }
        let (mut derivatives, mut added) = (vec![0.0; self.width], vec![0.0; self.width]);
        for (row, posterior) in self.posteriors.chunks_exact_mut(self.width).enumerate() {
            posterior
                .iter_mut()
                .zip(&joint)
                .for_each(|(p, x)| *p = x / total);
            derivatives.fill(0.0);
            loss(first + row, posterior, &mut derivatives);
            added
                .iter_mut()
                .zip(&derivatives)
                .zip(&joint)
                .for_each(|((to, g), x)| *to += seed(*g, *x));
        }
        // At once, so that sums are the same whether blocks add to one or to one each.
        let to = sums.seed.map_or(&mut [][..], |at| &mut sums.numbers[at]);
        to.iter_mut().zip(added).for_each(|(to, x)| *to += x);
    }

    /// Derivatives of some examples are too large for numbers: drops these, and runs the others
    /// again.
    fn drop_overflowing<T: Number>(&mut self, worker: &mut Worker<'_, T>, seeds: &mut [T]) {
        let lanes = worker.lanes();
        for (lane, log) in self.log_evidence.iter_mut().enumerate() {
            let mut alone = vec![T::ZERO; seeds.len()];
            (lane..seeds.len())
                .step_by(lanes)
                .for_each(|at| alone[at] = seeds[at]);
            worker.backward(|seed| seed.copy_from_slice(&alone));
            if !worker.has_numbers() {
                *log = f64::NAN;
                (lane..seeds.len())
                    .step_by(lanes)
                    .for_each(|at| seeds[at] = T::ZERO);
            }
        }
        worker.backward(|seed| seed.copy_from_slice(seeds));
        if !worker.has_numbers() {
            // Each is a number, and their sum is none.
            self.log_evidence.fill(f64::NAN);
        }
    }

    /// Adds the examples that follow.
    fn append(&mut self, other: Part) {
        self.posteriors.extend(other.posteriors);
        self.log_evidence.extend(other.log_evidence);
        self.evidence
            .iter_mut()
            .zip(other.evidence)
            .for_each(|(to, from)| to.extend(from));
    }

    /// Takes some examples from another run.
    fn replace(&mut self, rows: &[usize], other: &Part) {
        let take = |to: &mut [f64], from: &[f64]| {
            let (width, all) = (
                from.len() / rows.len(),
                from.chunks_exact((from.len() / rows.len()).max(1)),
            );
            rows.iter()
                .zip(all)
                .for_each(|(row, from)| to[row * width..][..width].copy_from_slice(from));
        };
        take(&mut self.posteriors, &other.posteriors);
        take(&mut self.log_evidence, &other.log_evidence);
        self.evidence
            .iter_mut()
            .zip(&other.evidence)
            .for_each(|(to, from)| take(to, from));
    }
}
