//! Runs the tests of a circuit on a batch.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::ThreadPool;

use super::{By, Stage, sums};
use crate::circuit::batch::Batch;
use crate::circuit::evaluate::{Far, Precision, Running};
use crate::circuit::{Circuit, Evaluator};
use crate::error::Result;
use crate::model::Test;
use crate::vars::VarId;

/// The tests of a circuit, ready to be run.
#[derive(Debug)]
pub(in crate::circuit) struct Selecting<'c> {
    stages: Vec<(&'c Stage, Source<'c>)>,
    /// The families whose posteriors later tests read.
    sums: BTreeSet<VarId>,
}

/// What a test is computed from.
#[derive(Debug)]
enum Source<'c> {
    Posterior(Box<Evaluator<'c>>),
    Evidence(&'c [(VarId, usize)]),
}

/// A batch with what tests have selected.
#[derive(Debug)]
pub(in crate::circuit) struct Selected<'b> {
    pub batch: Cow<'b, Batch>,
    /// For each example zero; negative infinity if a test had impossible evidence, NaN if its numbers were lost. Empty if there
    /// are no tests.
    pub refused: Vec<f64>,
}

impl<'c> Selecting<'c> {
    /// Tests compare numbers, and so are computed in double precision; by the threads of the circuit.
    pub fn new(circuit: &'c Circuit, options: &Running, pool: &Arc<ThreadPool>) -> Result<Self> {
        let options = Running { of_inputs: false, precision: Precision::F64, ..*options };
        let sums = sums(&circuit.tests);
        let ready = |stage: &'c Stage| {
            let source = match &stage.by {
                By::Posterior(circuit) => {
                    let is_read = circuit.target.is_some_and(|family| sums.contains(&family));
                    let evaluator = Evaluator::sharing(circuit, &options, Some(pool))?;
                    Source::Posterior(Box::new(evaluator.exacting(is_read)))
                }
                By::Evidence(of) => Source::Evidence(of),
            };
            Ok((stage, source))
        };
        let stages = circuit.tests.iter().map(ready).collect::<Result<_>>()?;
        Ok(Selecting { stages, sums })
    }

    /// The batch with what is selected for each example.
    pub fn select<'b>(&self, batch: &'b Batch, stop: Option<&AtomicBool>) -> Selected<'b> {
        let mut selected = Selected::new(batch, !self.stages.is_empty());
        for (stage, source) in &self.stages {
            let (seen, far) = match source {
                Source::Evidence(of) => (indicators(&selected.batch, of), vec![]),
                Source::Posterior(evaluator) => {
                    let (answers, far) = evaluator.run_main(&selected.batch, stop);
                    selected.mark(&answers.log_evidence);
                    (answers.posteriors, far)
                }
            };
            selected.give(stage, &stage.test, &seen);
            selected.sum_up(stage, &self.sums, seen, far);
        }
        selected
    }
}

impl<'b> Selected<'b> {
    pub fn new(batch: &'b Batch, has_tests: bool) -> Self {
        let refused = if has_tests { vec![0.0; batch.len()] } else { vec![] };
        Selected { batch: Cow::Borrowed(batch), refused }
    }

    /// Notes examples that are impossible for a test, or lost.
    pub fn mark(&mut self, log_evidence: &[f64]) {
        let has_answer = |log: f64| log > f64::NEG_INFINITY;
        let fresh =
            self.refused.iter_mut().zip(log_evidence).filter(|(refused, log)| **refused == 0.0 && !has_answer(**log));
        fresh.for_each(|(refused, log)| *refused = *log);
    }

    /// Adds what a test selects from what it sees of each example.
    pub fn give(&mut self, stage: &Stage, test: &Test, seen: &[f64]) {
        let rows = self.batch.len();
        if rows == 0 {
            return;
        }
        let (width, entries) = (seen.len() / rows, stage.entries);
        let mut weights = vec![0.0; rows * entries];
        for (row, (to, seen)) in weights.chunks_exact_mut(entries).zip(seen.chunks_exact(width)).enumerate() {
            match self.is_refused(row) {
                true => to.fill(1.0 / test.copies as f64), // whatever it is, there is no answer
                false => test.weigh(seen, to),
            }
        }
        self.batch.to_mut().put_selected(stage.input, weights);
    }

    /// Adds the posterior that a test has seen, if later ones read it.
    pub fn sum_up(&mut self, stage: &Stage, sums: &BTreeSet<VarId>, seen: Vec<f64>, far: Far) {
        if let Some(family) = stage.family().filter(|family| sums.contains(family)) {
            let batch = self.batch.to_mut();
            batch.put_selected(family, seen);
            far.into_iter().for_each(|(row, logs)| batch.put_far(family, row, logs));
        }
    }

    /// Whether a test of an example had impossible evidence, or lost it.
    pub fn is_refused(&self, row: usize) -> bool {
        self.refused.get(row).is_some_and(|&refused| refused != 0.0)
    }
}

/// For each example the likelihoods of some variables, each scaled to sum to one; uniform without evidence.
pub(super) fn indicators(batch: &Batch, of: &[(VarId, usize)]) -> Vec<f64> {
    let mut out = vec![];
    for row in 0..batch.len() {
        for &(var, card) in of {
            let of = |value| batch.get(var).map_or(1.0, |column| column.likelihood(row, value, card));
            let total: f64 = (0..card).map(of).sum();
            out.extend((0..card).map(|value| if total > 0.0 { of(value) / total } else { 1.0 / card as f64 }));
        }
    }
    out
}
