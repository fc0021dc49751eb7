//! Evidence on the way into a run.

use std::ops::Range;

use crate::circuit::Circuit;
use crate::circuit::batch::{Batch, Known};
use crate::error::{Error, ErrorKind, Remedy, Result};
use crate::tensor::fast::{Number, Worker};
use crate::tensor::{Graph, Op};
use crate::vars::VarId;

/// Fills in the likelihood of an input for the examples of a block; rows that are not there get
/// ones.
pub(super) fn load<T: Number>(
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

/// Fills in the values of a variable with many.
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

/// Loads likelihoods, `card` for each example, each row divided by a power of two.
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

/// The evidence on a variable in an example, for the values that are left.
pub(crate) fn likelihood(circuit: &Circuit, batch: &Batch, var: VarId, row: usize) -> Vec<f64> {
    let card = circuit.variables[var.index()].values.len();
    let of = |&value: &usize| {
        batch
            .get(circuit.source(var))
            .map_or(1.0, |column| column.likelihood(row, value, card))
    };
    circuit.domains[var.index()].iter().map(of).collect()
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

/// The inputs of which one value is left, and that the graph does not read: evidence on them
/// multiplies into P(e).
pub(super) fn closed(circuit: &Circuit) -> Vec<VarId> {
    let is_closed = |v: &VarId| {
        circuit.possible(*v).len() == 1 && circuit.graph.find(&Op::Evidence(*v)).is_none()
    };
    circuit.inputs().filter(is_closed).collect()
}

/// For each example, the logarithm of the likelihood of such inputs. Empty if nothing is known of
/// them.
pub(super) fn weigh(circuit: &Circuit, closed: &[VarId], batch: &Batch) -> Vec<f64> {
    let mut weights = vec![];
    for &var in closed {
        let Some(column) = batch.get(var) else {
            continue;
        };
        weights.resize(batch.len(), 0.0);
        let (card, only) = (circuit.variable(var).values.len(), circuit.possible(var)[0]);
        for (row, weight) in weights.iter_mut().enumerate() {
            let likelihood = column.likelihood(row, only, card);
            if likelihood != 1.0 {
                *weight += likelihood.ln();
            }
        }
    }
    weights
}

/// A hard input has a value in every row.
pub(super) fn check_hard(circuit: &Circuit, batch: &Batch) -> Result<()> {
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
