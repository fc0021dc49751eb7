//! One circuit in three representations: how long each takes, and whether they agree.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use sumout::{Batch, Circuit, Column, EvalOptions, Precision, VarId};

use crate::scalar::ScalarGraph;
use crate::tables::scalars::search::Asked;

/// The bytes that a scalar graph may need.
const MAX_BYTES: u64 = 12 << 30;

/// The likelihood of a value in an example, anything between 0.1 and 1 that looks like chance.
fn likelihood(example: usize, var: VarId, value: usize) -> f64 {
    let mixed =
        (example * 1009 + var.index() * 131 + value * 17 + 7).wrapping_mul(0x9e37_79b9) >> 7;
    0.1 + 0.9 * (mixed % 1000) as f64 / 1000.0
}

/// A circuit in three representations.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Compared {
    pub entries: f64,
    /// The base-2 logarithm of the entries of the largest tensor.
    pub binary_rank: f64,
    /// The nodes of the scalar graph.
    pub scalars: usize,
    /// For each size of a batch.
    pub times: Vec<Times>,
}

/// Seconds for a batch.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Times {
    pub batch: usize,
    pub tensor: f64,
    pub scalar: f64,
    pub scalar_batch: f64,
    /// The largest relative difference of answers.
    pub difference: f64,
}

impl Compared {
    pub fn new(asked: &Asked, batches: &[usize]) -> sumout::Result<Self> {
        let circuit = asked.circuit()?;
        let graph = circuit.graph();
        let largest = graph
            .ops()
            .map(|(node, _)| graph.size(node))
            .fold(1.0, f64::max);
        let scalars = ScalarGraph::literal(graph, MAX_BYTES)?;
        let times = batches
            .iter()
            .map(|&batch| Times::new(asked, &circuit, &scalars, batch));
        Ok(Compared {
            entries: asked.entries,
            binary_rank: largest.log2(),
            scalars: scalars.len(),
            times: times.collect::<sumout::Result<_>>()?,
        })
    }
}

impl Times {
    fn new(
        asked: &Asked,
        circuit: &Circuit,
        scalars: &ScalarGraph,
        rows: usize,
    ) -> sumout::Result<Self> {
        let mut batch = Batch::new(rows);
        for &v in &asked.inputs {
            let of =
                |example| (0..asked.net.card(v)).map(move |value| likelihood(example, v, value));
            batch.insert(
                circuit,
                v,
                Column::Likelihoods((0..rows).flat_map(of).collect()),
            )?;
        }
        let running = EvalOptions::default()
            .with_precision(Precision::F64)
            .with_threads(1);
        let evaluator = circuit.evaluator(&running)?;
        let (tensor, answers) = timed(3, || evaluator.run(&batch))?;
        let first = circuit.possible(asked.target)[0];
        let expected: Vec<f64> = (0..rows).map(|row| answers.row(row)[first]).collect();
        drop(evaluator);

        let values =
            |&(v, _): &(VarId, usize)| circuit.possible(v).iter().map(move |&value| (v, value));
        let inputs: Vec<(VarId, usize)> = scalars.inputs().iter().flat_map(values).collect();
        let example = |row: usize| {
            inputs
                .iter()
                .map(|&(v, x)| likelihood(row, v, x))
                .collect::<Vec<f64>>()
        };
        let columns: Vec<f64> = inputs
            .iter()
            .flat_map(|&(v, x)| (0..rows).map(move |r| likelihood(r, v, x)))
            .collect();
        let mut memory = vec![];
        let (scalar_batch, together) = timed(2, || {
            Ok(scalars.evaluate_batch(&columns, rows, &mut memory))
        })?;
        let examples: Vec<Vec<f64>> = (0..rows).map(example).collect();
        let mut memory = vec![];
        let (scalar, alone) = timed(if rows == 1 { 3 } else { 1 }, || {
            Ok(examples
                .iter()
                .map(|example| scalars.evaluate(example, &mut memory))
                .collect::<Vec<_>>())
        })?;
        let joint: Vec<Vec<f64>> = (0..rows)
            .map(|row| together.iter().skip(row).step_by(rows).copied().collect())
            .collect();
        let difference = [&joint, &alone]
            .into_iter()
            .map(|found| difference(found, &expected))
            .fold(0.0, f64::max);
        Ok(Times {
            batch: rows,
            tensor,
            scalar,
            scalar_batch,
            difference,
        })
    }
}

/// The least of several times after a first one, and what came out.
fn timed<T>(times: usize, mut work: impl FnMut() -> sumout::Result<T>) -> sumout::Result<(f64, T)> {
    let mut result = work()?;
    let mut least = f64::INFINITY;
    for _ in 0..times {
        let start = Instant::now();
        result = work()?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok((least, result))
}

/// How far the posteriors of the first value are from what is expected.
fn difference(joint: &[Vec<f64>], expected: &[f64]) -> f64 {
    let posterior = |row: &Vec<f64>| row[0] / row.iter().sum::<f64>();
    joint
        .iter()
        .zip(expected)
        .map(|(row, x)| (posterior(row) - x).abs() / x.max(1e-300))
        .fold(0.0, f64::max)
}
