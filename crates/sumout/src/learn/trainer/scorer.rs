//! The loss of examples under one circuit, and its derivatives.

use crate::circuit::batch::Batch;
use crate::circuit::{Derivatives, Differentiator};
use crate::error::Result;
use crate::learn::ZERO;
use crate::learn::trainer::Trainer;
use crate::learn::training::Head;
use crate::learn::{Examples, Loss, Params, Training};

/// A circuit with examples.
#[derive(Debug)]
pub(super) struct Scorer<'t> {
    head: &'t Head,
    circuit: Differentiator,
    batch: Batch,
    labels: Vec<f64>,
    /// Whether -ln P(e) counts here: once for any number of targets.
    is_first: bool,
}

/// Sums over some examples.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) weight: f64,
    pub(super) loss: f64,
    pub(super) labelled: f64,
    pub(super) right: f64,
    /// Examples that are impossible, and examples that underflowed.
    pub(super) impossible: usize,
    pub(super) lost: usize,
    /// Examples whose label has probability zero.
    pub(super) contradicted: usize,
}

impl<'t> Scorer<'t> {
    pub(super) fn new(
        training: &'t Training,
        head: &'t Head,
        examples: &Examples,
        is_first: bool,
    ) -> Result<Self> {
        let circuit = head.circuit.learner(&training.eval)?;
        Ok(Scorer {
            head,
            circuit,
            batch: examples.batch_for(&head.circuit)?,
            labels: examples.labels(head),
            is_first,
        })
    }

    pub(super) fn set(&mut self, params: &Params) {
        for (table, numbers) in params.tables_of(self.circuit.graph()) {
            self.circuit.set_table(table, &numbers);
        }
        self.circuit.refresh();
    }

    pub(super) fn has_no_label(&self, rows: &[usize]) -> bool {
        let width = self.labels.len() / self.batch.len().max(1);
        self.head.target.is_some() && rows.iter().all(|&row| self.label(row, width).is_none())
    }

    fn label(&self, row: usize, width: usize) -> Option<&[f64]> {
        let label = self.labels.get(row * width..(row + 1) * width)?;
        (!label[0].is_nan()).then_some(label)
    }

    /// Adds the derivatives of the losses of some examples, with respect to the numbers of the
    /// parameters.
    pub(super) fn differentiate(
        &self,
        trainer: &Trainer<'_>,
        rows: &[usize],
        to: &mut [f64],
    ) -> Result<Sums> {
        let loss = self.loss(trainer);
        let derive = |row: usize, posterior: &[f64], g: &mut [f64]| {
            let label = self.label(rows[row], posterior.len());
            loss.derive(posterior, label, trainer.examples.weight(rows[row]), g);
        };
        let circuit = &self.head.circuit;
        let found = self
            .circuit
            .run(&self.batch.select(circuit, rows), &derive)?;
        for (origin, derivatives) in circuit.graph.origins().values().zip(&found.tables) {
            trainer.params.collect(origin, derivatives, to);
        }
        Ok(self.sum(trainer, rows, &found))
    }

    /// Sums over some examples, without derivatives.
    pub(super) fn evaluate(&self, trainer: &Trainer<'_>, rows: &[usize]) -> Result<Sums> {
        let batch = self.batch.select(&self.head.circuit, rows);
        let found = self.circuit.evaluate(&batch)?;
        Ok(self.sum(trainer, rows, &found))
    }

    fn loss(&self, trainer: &Trainer<'_>) -> Loss {
        let mut loss = trainer.training.options.loss;
        if !self.is_first {
            loss.likelihood = 0.0;
        }
        loss
    }

    fn sum(&self, trainer: &Trainer<'_>, rows: &[usize], found: &Derivatives) -> Sums {
        let loss = self.loss(trainer);
        let width = (found.posteriors.len() / rows.len().max(1)).max(1);
        let mut sums = Sums::default();
        for ((&row, posterior), log) in rows
            .iter()
            .zip(found.posteriors.chunks_exact(width))
            .zip(&found.log_evidence)
        {
            let (weight, label) = (trainer.examples.weight(row), self.label(row, width));
            let Some(log) = log.filter(|log| log.is_finite()) else {
                sums.impossible += usize::from(log.is_some());
                sums.lost += usize::from(log.is_none());
                if label.is_some() {
                    // As if the label had probability zero.
                    sums.weight += weight;
                    sums.labelled += weight;
                    sums.loss -= weight * loss.cross_entropy * ZERO.ln();
                }
                continue;
            };
            sums.weight += weight;
            sums.loss += weight * loss.value(posterior, log, label);
            if let Some(label) = label {
                sums.labelled += weight;
                sums.right += weight * f64::from(is_right(posterior, label));
                let is_denied = |(p, y): (&f64, &f64)| *p == 0.0 && *y > 0.0;
                sums.contradicted += usize::from(posterior.iter().zip(label).any(is_denied));
            }
        }
        sums
    }
}

/// Whether the most probable value is the label, and no other is as probable.
fn is_right(posterior: &[f64], label: &[f64]) -> bool {
    let largest = |numbers: &[f64]| {
        let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (
            numbers.iter().position(|&x| x == most),
            numbers.iter().filter(|&&x| x == most).count(),
        )
    };
    let (found, ties) = largest(posterior);
    ties == 1 && found == largest(label).0
}

impl Sums {
    /// The mean loss; the largest number, if no example counts.
    pub(super) fn mean_loss(&self) -> f64 {
        if self.weight > 0.0 {
            self.loss / self.weight
        } else {
            f64::MAX
        }
    }

    /// The fraction of labels that were found; none without labels.
    pub(super) fn accuracy(&self) -> Option<f64> {
        (self.labelled > 0.0).then(|| self.right / self.labelled)
    }

    pub(super) fn add(&mut self, other: Sums) {
        self.weight += other.weight;
        self.loss += other.loss;
        self.labelled += other.labelled;
        self.right += other.right;
        self.impossible += other.impossible;
        self.lost += other.lost;
        self.contradicted += other.contradicted;
    }
}
