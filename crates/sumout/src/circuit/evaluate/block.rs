//! A block of examples: evidence in, answers out.

use std::ops::Range;

use crate::circuit::Circuit;
use crate::circuit::batch::{Batch, Known};
use crate::circuit::evaluate::Evaluator;
use crate::tensor::careful::Run;
use crate::tensor::fast::{Number, Worker};
use crate::tensor::{Graph, Op};
use crate::vars::VarId;

/// What the examples of a block are taken from.
pub(crate) struct Block<'a> {
    pub circuit: &'a Circuit,
    pub evaluator: &'a Evaluator<'a>,
    pub batch: &'a Batch,
}

impl Block<'_> {
    pub fn run<T: Number>(
        &self,
        worker: &mut Worker<'_, T>,
        first: usize,
        posteriors: &mut [f64],
        logs: &mut [f64],
    ) {
        worker.begin();
        for &var in &self.evaluator.loaded {
            load(
                self.circuit,
                self.batch,
                worker,
                var,
                first..first + logs.len(),
            );
        }
        worker.forward();
        if worker.is_stopped() {
            return;
        }
        if worker.output().is_none() {
            return self.run_constant(first, posteriors, logs);
        }
        let sums = sums(worker, logs);
        match self.evaluator.by_output {
            true => self.read_output(worker, self.evaluator.targets[0], &sums, posteriors),
            false => {
                let seeds: Vec<T> = sums
                    .iter()
                    .map(|&s| if s > 0.0 { T::of(1.0 / s) } else { T::ZERO })
                    .collect();
                let lanes = worker.lanes();
                worker.backward(|seed| {
                    seed.chunks_exact_mut(lanes)
                        .for_each(|s| s[..seeds.len()].copy_from_slice(&seeds));
                });
                if worker.is_stopped() {
                    return;
                }
                self.read_adjoints(worker, &sums, posteriors, logs);
            }
        }
        let width = posteriors.len() / logs.len();
        for (lane, (row, log)) in posteriors.chunks_exact_mut(width).zip(logs).enumerate() {
            if sums[lane] == 0.0 {
                row.fill(0.0);
            }
            if worker.is_lost(lane) {
                *log = f64::NAN;
            }
        }
    }

    /// All rows are alike if no evidence reaches the output.
    fn run_constant(&self, first: usize, posteriors: &mut [f64], logs: &mut [f64]) {
        let width = posteriors.len() / logs.len();
        self.run_carefully(first, &mut posteriors[..width], &mut logs[0]);
        (1..logs.len()).for_each(|row| posteriors.copy_within(..width, row * width));
        logs.fill(logs[0]);
    }

    /// The posterior of the one target is the output, divided by its sum.
    fn read_output<T: Number>(
        &self,
        worker: &Worker<'_, T>,
        target: VarId,
        sums: &[f64],
        posteriors: &mut [f64],
    ) {
        let card = self.circuit.variables[target.index()].values.len();
        let domain = &self.circuit.domains[target.index()];
        if let [only] = domain[..] {
            posteriors
                .chunks_exact_mut(card)
                .for_each(|row| row[only] = 1.0);
            return;
        }
        let Some(output) = worker.output() else {
            return;
        };
        let lanes = output.len() / domain.len();
        for (&value, numbers) in domain.iter().zip(output.chunks_exact(lanes)) {
            let rows = posteriors.chunks_exact_mut(card).zip(numbers).zip(sums);
            rows.filter(|(_, sum)| **sum > 0.0)
                .for_each(|((row, x), sum)| row[value] = x.to_f64() / sum);
        }
    }

    /// The posteriors of all targets are derivatives: P(x | e) = λ_x · ∂ ln P(e) / ∂λ_x.
    fn read_adjoints<T: Number>(
        &self,
        worker: &mut Worker<'_, T>,
        sums: &[f64],
        posteriors: &mut [f64],
        logs: &mut [f64],
    ) {
        let width = posteriors.len() / sums.len();
        let mut start = 0;
        for &var in &self.evaluator.targets {
            let card = self.circuit.variables[var.index()].values.len();
            let domain = &self.circuit.domains[var.index()];
            match (worker.adjoint(var), worker.evidence_of(var)) {
                (Some(adjoint), Some(evidence)) => {
                    let lanes = adjoint.len() / domain.len();
                    for (lane, row) in posteriors.chunks_exact_mut(width).enumerate() {
                        let product = |k: usize| {
                            adjoint[k * lanes + lane].to_f64() * evidence[k * lanes + lane].to_f64()
                        };
                        let total: f64 = (0..domain.len()).map(product).sum();
                        if !is_close_to_one(total) && sums[lane] > 0.0 {
                            logs[lane] = f64::NAN;
                        }
                        domain
                            .iter()
                            .enumerate()
                            .for_each(|(k, &value)| row[start + value] = product(k) / total);
                    }
                }
                _ => posteriors
                    .chunks_exact_mut(width)
                    .for_each(|row| row[start + domain[0]] = 1.0),
            }
            start += card;
        }
    }

    /// Repeats an example with exact exponents, and logarithms if it needs them.
    pub fn run_carefully(&self, row: usize, posteriors: &mut [f64], log_evidence: &mut f64) {
        let graph = &self.circuit.graph;
        let run = Run::sum(graph, self.evaluator.careful(), |v| {
            likelihood(self.circuit, self.batch, v, row)
        });
        *log_evidence = run.log_sum();
        posteriors.fill(0.0);
        if *log_evidence == f64::NEG_INFINITY {
            return;
        }
        let mut rest = posteriors;
        for &var in &self.evaluator.targets {
            let (own, others) = rest.split_at_mut(self.circuit.variables[var.index()].values.len());
            rest = others;
            let domain = &self.circuit.domains[var.index()];
            let weights = match domain.len() {
                1 => vec![1.0],
                _ if self.evaluator.by_output => run.output(),
                _ => joint(graph, &run, var),
            };
            let total: f64 = weights.iter().sum();
            domain
                .iter()
                .zip(&weights)
                .for_each(|(&value, w)| own[value] = w / total);
        }
    }
}

/// Fills in the likelihood of an input for the examples of a block; rows that are not there get
/// ones.
pub(crate) fn load<T: Number>(
    circuit: &Circuit,
    batch: &Batch,
    worker: &mut Worker<'_, T>,
    var: VarId,
    range: Range<usize>,
) {
    let domain = &circuit.domains[var.index()];
    let card = circuit.variables[var.index()].values.len();
    match batch.get(circuit.source(var)) {
        None => worker
            .evidence(var)
            .into_iter()
            .for_each(|to| to.fill(T::ONE)),
        Some(Known::Bytes(values)) => worker.indicate(var, domain, &values[range]),
        Some(Known::Values(values)) => load_values(worker, var, domain, &values[range]),
        Some(Known::Likelihoods(numbers)) => {
            load_likelihoods(
                worker,
                var,
                domain,
                (&numbers[range.start * card..range.end * card], card),
            );
        }
    }
}

/// The same for the values of a variable that has many.
fn load_values<T: Number>(
    worker: &mut Worker<'_, T>,
    var: VarId,
    domain: &[usize],
    values: &[i32],
) {
    let lanes = worker.lanes();
    let Some(to) = worker.evidence(var) else {
        return;
    };
    for (&value, to) in domain.iter().zip(to.chunks_exact_mut(lanes)) {
        let (here, rest) = to.split_at_mut(values.len());
        let is = |v: i32| {
            if (v < 0) | (v == value as i32) {
                T::ONE
            } else {
                T::ZERO
            }
        };
        here.iter_mut().zip(values).for_each(|(to, &v)| *to = is(v));
        rest.fill(T::ONE);
    }
}

/// The same for likelihoods, so many for each example, each divided by a power of two.
fn load_likelihoods<T: Number>(
    worker: &mut Worker<'_, T>,
    var: VarId,
    domain: &[usize],
    (numbers, card): (&[f64], usize),
) {
    let lanes = worker.lanes();
    let Some(to) = worker.evidence(var) else {
        return;
    };
    let exponents: Vec<i32> = numbers.chunks_exact(card).map(exponent).collect();
    for (&value, to) in domain.iter().zip(to.chunks_exact_mut(lanes)) {
        let scaled = numbers.chunks_exact(card).zip(&exponents);
        let scaled = scaled.map(|(row, e)| T::of(row[value] * f64::power_of_two(-e)));
        to.iter_mut().zip(scaled).for_each(|(to, x)| *to = x);
        to[exponents.len()..].fill(T::ONE);
    }
    worker.measure_evidence(var);
    for (lane, (row, &exponent)) in numbers.chunks_exact(card).zip(&exponents).enumerate() {
        worker.scale_evidence(var, lane, exponent);
        if row
            .iter()
            .any(|&x| x > 0.0 && x.exponent() - exponent < T::MIN_EXPONENT / 2)
        {
            worker.lose(lane);
        }
    }
}

/// The variables whose likelihoods a graph reads.
pub(crate) fn loaded(graph: &Graph) -> impl Iterator<Item = VarId> + '_ {
    graph.ops().filter_map(|(_, op)| {
        if let Op::Evidence(v) = op {
            Some(*v)
        } else {
            None
        }
    })
}

/// P(x, e) for each value x that is left, up to a common factor.
pub(crate) fn joint(graph: &Graph, run: &Run<'_>, var: VarId) -> Vec<f64> {
    let evidence = graph
        .find(&Op::Evidence(var))
        .expect("every target is an input");
    run.weighted(evidence)
}

/// What is known of a variable in an example, for the values that are left.
pub(crate) fn likelihood(circuit: &Circuit, batch: &Batch, var: VarId, row: usize) -> Vec<f64> {
    let card = circuit.variables[var.index()].values.len();
    let of = |&value: &usize| {
        batch
            .get(circuit.source(var))
            .map_or(1.0, |column| column.likelihood(row, value, card))
    };
    circuit.domains[var.index()].iter().map(of).collect()
}

/// The sum of the output's data for each example; its logarithm, with the exponent, goes to `logs`.
pub(crate) fn sums<T: Number>(worker: &Worker<'_, T>, logs: &mut [f64]) -> Vec<f64> {
    let mut sums = vec![0.0; logs.len()];
    if let Some(output) = worker.output() {
        let lanes = worker.lanes();
        for numbers in output.chunks_exact(lanes) {
            sums.iter_mut()
                .zip(numbers)
                .for_each(|(sum, x)| *sum += x.to_f64());
        }
    }
    for (lane, (log, sum)) in logs.iter_mut().zip(&sums).enumerate() {
        *log = sum.ln() + f64::from(worker.exponent(lane)) * std::f64::consts::LN_2;
    }
    sums
}

/// The exponent of the largest of some likelihoods; zero if all of them are.
fn exponent(row: &[f64]) -> i32 {
    match row.iter().copied().fold(0.0, f64::max) {
        0.0 => 0,
        largest => largest
            .exponent()
            .clamp(f64::MIN_EXPONENT, -f64::MIN_EXPONENT),
    }
}

/// What the probabilities of a variable's values must add up to, but for rounding.
fn is_close_to_one(total: f64) -> bool {
    (total - 1.0).abs() < 1e-3
}
