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

use crate::circuit::Circuit;
use crate::circuit::batch::Batch;
use crate::circuit::run::{
    Block, EvalOptions, Fast, Few, Pass, RowState, Rows, Runner, Setup, loaded, settle,
};
use crate::error::Result;
use crate::tensor::fast::{Number, Worker};
use crate::tensor::schedule::Want;
use crate::tensor::{Graph, TableId};
use crate::vars::VarId;

/// Writes, for an example with this number and this posterior, g(k) for each value k of the target
/// that is left.
///
/// The posterior of a circuit without a target is a single one.
pub(crate) type LossGradient<'l> = dyn Fn(usize, &[f64], &mut [f64]) + Sync + 'l;

/// The derivatives of the sum of all losses of a batch.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Derivatives {
    /// For each example, P(k | e) for each value k of the target that is left; a single one if
    /// there is no target.
    pub posteriors: Vec<f64>,
    /// For each example, ln P(e): negative infinity if it is impossible, none if its numbers or its
    /// derivatives are further apart than 64 bits reach. Neither adds to any derivative.
    pub log_evidence: Vec<Option<f64>>,
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
pub struct Differentiator {
    runner: Runner,
    tables: Vec<TableId>,
    /// The inputs, and those that stand for one of them.
    inputs: Vec<VarId>,
}

impl Circuit {
    /// Prepares to differentiate losses with respect to some tables of the [graph](Circuit::graph),
    /// and the likelihoods of some inputs. All of them go through the tests of a testing circuit.
    pub fn differentiator(
        &self,
        tables: &[TableId],
        inputs: &[VarId],
        options: &EvalOptions,
    ) -> Result<Differentiator> {
        self.check_posteriors()?;
        Differentiator::new(self, tables, inputs, options)
    }

    /// Prepares to differentiate losses with respect to all tables that can be trained.
    pub(crate) fn learner(&self, options: &EvalOptions) -> Result<Differentiator> {
        let tables: Vec<TableId> = self.graph.origins().keys().copied().collect();
        Differentiator::new(self, &tables, &[], options)
    }
}

impl Differentiator {
    fn new(
        circuit: &Circuit,
        tables: &[TableId],
        inputs: &[VarId],
        options: &EvalOptions,
    ) -> Result<Self> {
        let inputs = read_by(circuit, inputs);
        let few = if shares_much(&circuit.graph) {
            Few::Together
        } else {
            Few::Alone
        };
        let setup = Setup {
            want: Want::Gradients(inputs.iter().copied().collect(), tables.to_vec()),
            each: &[],
            few,
            options,
        };
        Ok(Differentiator {
            runner: Runner::new(circuit, setup)?,
            tables: tables.to_vec(),
            inputs,
        })
    }

    /// Changes the numbers of a table. Those before stay in use until
    /// [`Differentiator::refresh`].
    ///
    /// # Panics
    /// If the table has another number of entries.
    pub fn set_table(&mut self, table: TableId, values: &[f64]) {
        self.runner.set_table(table, values);
    }

    /// Computes again what does not depend on evidence, from the numbers of the tables.
    pub fn refresh(&mut self) {
        self.runner.refresh();
    }

    /// The graph with the numbers that its tables have now.
    pub fn graph(&self) -> &Graph {
        self.circuit().graph()
    }

    /// The circuit with the numbers that its tables have now.
    pub fn circuit(&self) -> &Circuit {
        self.runner.circuit()
    }

    /// The derivatives of the sum of the losses of all examples.
    ///
    /// `loss` is called with an example's number and its posterior p, and writes the derivative of
    /// its loss by ln P(k, e) for each value k of the target that is left, such as -p(k) for the
    /// loss -ln P(e). Without a target there is a single value.
    pub fn run(&self, batch: &Batch, loss: &LossGradient<'_>) -> Result<Derivatives> {
        self.run_both(batch, Some(loss))
    }

    /// The posteriors of all examples, and no derivatives.
    pub fn evaluate(&self, batch: &Batch) -> Result<Derivatives> {
        self.run_both(batch, None)
    }

    fn run_both(&self, batch: &Batch, loss: Option<&LossGradient<'_>>) -> Result<Derivatives> {
        let pass = LossPass::new(self, loss);
        let rows = self.runner.run_fast(&pass, batch)?;
        let evidence = self.inputs.iter().copied().zip(pass.columns(&rows));
        Ok(Derivatives {
            evidence: self.without_aliases(evidence),
            posteriors: pass.posteriors(rows.items),
            log_evidence: rows.states.iter().map(|state| state.log()).collect(),
            tables: rows.tables,
        })
    }

    /// Adds derivatives with respect to aliases to those with respect to the variables that they
    /// stand for.
    fn without_aliases(
        &self,
        evidence: impl Iterator<Item = (VarId, Vec<f64>)>,
    ) -> Vec<(VarId, Vec<f64>)> {
        let circuit = self.circuit();
        let (aliases, mut own): (Vec<_>, Vec<_>) =
            evidence.partition(|(var, _)| circuit.source(*var) != *var);
        for (alias, numbers) in aliases {
            let of = circuit.source(alias);
            let (all, left) = (circuit.possible(alias).len(), circuit.possible(of));
            let to = own.iter_mut().find(|(var, _)| *var == of);
            let to = to.map_or(&mut [][..], |(_, to)| to);
            let rows = to
                .chunks_exact_mut(left.len())
                .zip(numbers.chunks_exact(all));
            for (to, from) in rows {
                let values = to.iter_mut().zip(left);
                values.for_each(|(to, &value)| *to += from[value]);
            }
        }
        own
    }
}

/// The variables that a graph reads some inputs by: themselves, and those that stand for them.
fn read_by(circuit: &Circuit, inputs: &[VarId]) -> Vec<VarId> {
    let loaded: Vec<VarId> = loaded(&circuit.graph).collect();
    let own = inputs.iter().copied().filter(|v| loaded.contains(v));
    let mut all: Vec<VarId> = own.collect();
    let aliases = circuit.aliases.iter().filter(|(_, of)| all.contains(of));
    let aliases: Vec<VarId> = aliases.map(|(alias, _)| *alias).collect();
    all.extend(aliases);
    all
}

/// From this many numbers on that are the same for all examples, one block that is partly empty
/// takes less time than one for each example: every block adds to the derivatives of all of them.
const MIN_SHARED_FOR_BLOCKS: f64 = 1e6;

fn shares_much(graph: &Graph) -> bool {
    let nodes = graph.ops().zip(graph.varies());
    let shared = nodes.filter(|(_, varies)| !varies);
    let shared: f64 = shared.map(|((node, _), _)| graph.size(node)).sum();
    shared > MIN_SHARED_FOR_BLOCKS
}

/// The derivatives of a loss; the posteriors alone without one. The items of an example are its
/// posterior, and then the derivatives with respect to its evidence.
struct LossPass<'d> {
    of: &'d Differentiator,
    loss: Option<&'d LossGradient<'d>>,
    /// The number of values of the target that are left.
    values: usize,
    /// For each input, the number of its values that are left.
    cards: Vec<usize>,
    width: usize,
}

impl<'d> LossPass<'d> {
    fn new(of: &'d Differentiator, loss: Option<&'d LossGradient<'d>>) -> Self {
        let circuit = of.circuit();
        let values = circuit.graph.size(circuit.graph.output()) as usize;
        let cards = of.inputs.iter().map(|&v| circuit.possible(v).len());
        let cards: Vec<usize> = cards.collect();
        LossPass {
            of,
            loss,
            values,
            width: values + cards.iter().sum::<usize>(),
            cards,
        }
    }

    /// The posteriors of all examples.
    fn posteriors(&self, items: Vec<f64>) -> Vec<f64> {
        if self.cards.is_empty() {
            return items;
        }
        let rows = items.chunks_exact(self.width);
        rows.flat_map(|row| &row[..self.values]).copied().collect()
    }

    /// For each input, the derivatives of all examples.
    fn columns(&self, rows: &Rows<f64>) -> Vec<Vec<f64>> {
        let mut start = self.values;
        let column = |card: &usize| {
            let range = start..start + card;
            start = range.end;
            let rows = rows.items.chunks_exact(self.width);
            rows.flat_map(|row| &row[range.clone()]).copied().collect()
        };
        self.cards.iter().map(column).collect()
    }

    /// Writes g(k) of an example with this posterior; zeros if it counts for nothing.
    fn derive(&self, block: &Block<'_, f64>, lane: usize, posterior: &[f64], to: &mut [f64]) {
        to.fill(0.0);
        if let (Some(loss), Some(example)) = (self.loss, block.example(lane)) {
            loss(example, posterior, to);
        }
    }

    /// Reads the posteriors, and what the backward pass begins with.
    fn seeds<T: Number>(
        &self,
        worker: &Worker<'_, T>,
        output: &[T],
        totals: &[f64],
        block: &mut Block<'_, f64>,
    ) -> Vec<T> {
        let lanes = worker.lanes();
        let mut seeds = vec![T::ZERO; output.len()];
        let (mut posterior, mut derivatives) = (vec![0.0; self.values], vec![0.0; self.values]);
        for (lane, &total) in totals.iter().enumerate() {
            if block.states[lane] == RowState::Lost || total <= 0.0 {
                continue;
            }
            let joint = |k: usize| output[k * lanes + lane].to_f64();
            let shares = posterior.iter_mut().enumerate();
            shares.for_each(|(k, p)| *p = joint(k) / total);
            block.items[lane * self.width..][..self.values].copy_from_slice(&posterior);
            self.derive(block, lane, &posterior, &mut derivatives);
            for (k, g) in derivatives.iter().enumerate() {
                seeds[k * lanes + lane] = T::of(seed(*g, joint(k)));
            }
        }
        seeds
    }

    /// No evidence reaches the output: it is the same for all examples.
    fn run_constant<T: Number>(&self, worker: &Worker<'_, T>, block: Block<'_, f64>) {
        let Some((output, exponent)) = worker.constant() else {
            return;
        };
        let joint: Vec<f64> = output.iter().map(|x| x.to_f64()).collect();
        let total: f64 = joint.iter().sum();
        let log = total.ln() + f64::from(exponent) * std::f64::consts::LN_2;
        block.states.fill(RowState::Done(log));
        if total == 0.0 {
            return;
        }
        let posterior: Vec<f64> = joint.iter().map(|x| x / total).collect();
        let (mut derivatives, mut added) = (vec![0.0; self.values], vec![0.0; self.values]);
        for lane in 0..block.states.len() {
            block.items[lane * self.width..][..self.values].copy_from_slice(&posterior);
            self.derive(&block, lane, &posterior, &mut derivatives);
            let seeds = derivatives.iter().zip(&joint).map(|(g, x)| seed(*g, *x));
            added.iter_mut().zip(seeds).for_each(|(to, x)| *to += x);
        }
        // At once, so that sums are the same whether blocks add to one or to one each.
        if let Some(at) = worker.seed_sum().filter(|_| self.loss.is_some()) {
            let to = block.sums[at].iter_mut();
            to.zip(added).for_each(|(to, x)| *to += x);
        }
    }
}

impl Pass for LossPass<'_> {
    type Item = f64;

    const BLANK: f64 = 0.0;

    fn width(&self) -> usize {
        self.width
    }

    fn tables(&self) -> Option<&[TableId]> {
        self.loss.map(|_| &self.of.tables[..])
    }
}

impl<T: Number> Fast<T> for LossPass<'_> {
    fn block(&self, worker: &mut Worker<'_, T>, mut block: Block<'_, f64>) {
        worker.forward();
        let (Some(totals), Some(output)) = (settle(worker, block.states), worker.output()) else {
            return self.run_constant(worker, block);
        };
        let mut seeds = self.seeds(worker, output, &totals, &mut block);
        if self.loss.is_none() {
            return;
        }
        worker.backward(|seed| seed.copy_from_slice(&seeds));
        if !worker.has_numbers() {
            drop_overflowing(worker, &mut seeds, block.states);
        }
        if worker.has_numbers() {
            worker.add_sums(block.sums);
        }
        let mut start = self.values;
        for (&var, card) in self.of.inputs.iter().zip(&self.cards) {
            let rows = block.items.chunks_exact_mut(self.width);
            worker.read_adjoint(var, rows.map(|row| &mut row[start..start + card]));
            start += card;
        }
    }
}

/// The derivative with respect to a number of the output, from that of a loss with respect to its
/// logarithm.
fn seed(g: f64, joint: f64) -> f64 {
    if joint == 0.0 { 0.0 } else { g / joint }
}

/// Derivatives of some examples are too large for numbers: drops these, and runs the others again.
fn drop_overflowing<T: Number>(
    worker: &mut Worker<'_, T>,
    seeds: &mut [T],
    states: &mut [RowState],
) {
    let lanes = worker.lanes();
    for (lane, state) in states.iter_mut().enumerate() {
        let own = (lane..seeds.len()).step_by(lanes);
        let mut alone = vec![T::ZERO; seeds.len()];
        own.clone().for_each(|at| alone[at] = seeds[at]);
        worker.backward(|seed| seed.copy_from_slice(&alone));
        if !worker.has_numbers() {
            *state = RowState::Lost;
            own.for_each(|at| seeds[at] = T::ZERO);
        }
    }
    worker.backward(|seed| seed.copy_from_slice(seeds));
    if !worker.has_numbers() {
        states.fill(RowState::Lost); // each is a number, and their sum is none
    }
}
