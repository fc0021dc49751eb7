//! An epoch: its steps, and whether it was better than those before.

use rand::seq::SliceRandom;

use crate::error::{Error, ErrorKind, Result};
use crate::learn::trainer::scorer::Sums;
use crate::learn::trainer::state::Chosen;
use crate::learn::trainer::{Epoch, Trainer, random};
use crate::learn::{Method, Monitor, Optimizer};

/// The maximum number of examples that are evaluated together.
const MAX_ROWS: usize = 1 << 16;

impl Trainer<'_> {
    /// Trains on all examples once. The outcome is the last of the state's history.
    pub fn epoch(&mut self) -> Result<&Epoch> {
        let options = &self.training.options;
        let (rate, sums) = match options.method {
            Method::Gradient {
                optimizer,
                learning_rate,
                batch_size,
                min_steps,
            } => {
                let rate = learning_rate.at(self.state.epoch);
                let order = self.shuffled();
                let batch_size = batch_size.min(order.len().div_ceil(min_steps.max(1)));
                (
                    rate,
                    self.descend(optimizer, rate, order.chunks(batch_size))?,
                )
            }
            Method::Em => (0.0, self.expect_and_maximise()?),
        };
        self.state.epoch += 1;
        if options.temperatures().is_some() || options.slope.is_some() {
            self.load();
        }
        refuse_nothing(&sums)?;
        self.close(rate, &sums)
    }

    /// Steps down the gradient of each batch; sums over all batches.
    fn descend<'r>(
        &mut self,
        optimizer: Optimizer,
        rate: f64,
        batches: impl Iterator<Item = &'r [usize]>,
    ) -> Result<Sums> {
        let mut sums = Sums::default();
        for rows in batches {
            let (found, gradient) = self.differentiate(rows)?;
            let state = &mut self.state;
            optimizer.step(&mut state.weights, &gradient, rate, &mut state.moments);
            self.params.set_weights(&self.state.weights);
            self.update_circuits();
            sums.add(found);
        }
        Ok(sums)
    }

    /// The rows of an epoch in random order.
    fn shuffled(&self) -> Vec<usize> {
        let max_rows = if self.is_trial() {
            self.training.options.trial_examples
        } else {
            usize::MAX
        };
        let mut order = self.train_rows[..max_rows.min(self.train_rows.len())].to_vec();
        order.shuffle(&mut random(self.seed, 1 + self.state.history.len() as u64));
        order
    }

    /// Sums over some examples, and the derivatives of their mean loss with respect to the weights.
    pub(super) fn differentiate(&self, rows: &[usize]) -> Result<(Sums, Vec<f64>)> {
        let mut gradient = vec![0.0; self.params.len()];
        let mut sums = Sums::default();
        for head in &self.heads {
            sums.add(head.differentiate(self, rows, &mut gradient)?);
        }
        self.params.pull(&mut gradient);
        let weight = sums.weight / self.heads.len() as f64;
        sums.weight = weight;
        let prior = self.training.options.prior;
        if prior > 0.0 {
            self.params
                .add_prior(prior * weight / self.total, &mut gradient);
            sums.loss += prior * self.params.prior() * weight / self.total;
        }
        gradient
            .iter_mut()
            .for_each(|g| *g /= weight.max(f64::MIN_POSITIVE));
        Ok((sums, gradient))
    }

    /// Expected counts under the current parameters, then the parameters that these make most
    /// likely.
    fn expect_and_maximise(&mut self) -> Result<Sums> {
        let mut derivatives = vec![0.0; self.params.len()];
        let mut sums = Sums::default();
        for rows in self.train_rows.chunks(MAX_ROWS) {
            sums.add(self.heads[0].differentiate(self, rows, &mut derivatives)?);
        }
        derivatives.iter_mut().for_each(|d| *d = -*d);
        let prior = self.training.options.prior;
        sums.loss += prior * self.params.prior();
        let counts = self.params.shares(&derivatives);
        self.params.set_counts(&counts, prior);
        self.state.weights = self.params.weights().to_vec();
        self.update_circuits();
        Ok(sums)
    }

    /// Sums over some examples, without derivatives.
    pub(super) fn evaluate(&self, rows: &[usize]) -> Result<Sums> {
        let mut sums = Sums::default();
        for head in &self.heads {
            for rows in rows.chunks(MAX_ROWS) {
                sums.add(head.evaluate(self, rows)?);
            }
        }
        sums.weight /= self.heads.len() as f64;
        Ok(sums)
    }

    /// Adds an epoch to the history, and compares it with those before.
    fn close(&mut self, rate: f64, sums: &Sums) -> Result<&Epoch> {
        let options = &self.training.options;
        let watched = match (self.validation_rows.is_empty(), options.monitor) {
            (true, Monitor::Loss) => *sums,
            (true, Monitor::Accuracy) => self.evaluate(&self.train_rows)?,
            (false, _) => self.evaluate(&self.validation_rows)?,
        };
        let is_trial = self.is_trial();
        let epoch = Epoch {
            start: is_trial.then_some(self.state.start),
            rate,
            loss: sums.loss / sums.weight,
            validation_loss: watched.mean_loss(),
            accuracy: watched.accuracy(),
            impossible: sums.impossible + sums.lost,
            contradicted: sums.contradicted,
        };
        let score = match (options.monitor, epoch.accuracy) {
            (Monitor::Accuracy, Some(accuracy)) => accuracy,
            _ => -epoch.validation_loss,
        };
        let reached = options
            .target_accuracy
            .zip(epoch.accuracy)
            .is_some_and(|(target, accuracy)| accuracy >= target);
        self.state.history.push(epoch);
        if is_trial {
            self.close_trial(score, reached);
        } else {
            self.close_epoch(score, reached);
        }
        Ok(self.state.history.last().expect("an epoch was just added"))
    }

    /// Compares starts, each after its trial epochs.
    fn close_trial(&mut self, score: f64, reached: bool) {
        let options = &self.training.options;
        let state = &mut self.state;
        if state.epoch < options.trial_epochs {
            return;
        }
        let chosen = state.chosen.as_ref();
        if chosen.is_none_or(|best| score >= best.score) {
            state.chosen = Some(Chosen {
                score,
                weights: state.weights.clone(),
                epoch: state.history.len() - 1,
            });
        }
        state.start = if reached {
            options.starts.len()
        } else {
            state.start + 1
        };
        self.begin();
    }

    /// Keeps the best epoch, and stops early.
    fn close_epoch(&mut self, score: f64, reached: bool) {
        let options = &self.training.options;
        let (temperature, slope) = (self.temperature(), self.slope());
        // Scores at different temperatures are not of the same function: the last counts.
        let is_cooling = (options.temperatures().is_some() && self.params.has_promised())
            || options.slope.is_some();
        let reached = reached && !is_cooling;
        let state = &mut self.state;
        state.waited += 1;
        let best = state.best.score;
        let is_better = best.is_none_or(|best| score - options.min_improvement >= best);
        if reached || is_cooling || is_better {
            state.best.score = Some(score);
            state.best.weights.clone_from(&state.weights);
            state.best.temperature = temperature;
            state.best.slope = slope;
            state.best.epoch = Some(state.history.len() - 1);
            state.waited = 0;
        }
        state.is_done =
            reached || state.waited >= options.patience || state.epoch >= options.epochs;
    }
}

fn refuse_nothing(sums: &Sums) -> Result<()> {
    if sums.weight > 0.0 && sums.loss.is_finite() {
        return Ok(());
    }
    let what = match (sums.impossible, sums.lost) {
        (0, 0) => "the loss is not a number any more",
        (0, _) => "every example underflowed, even in 64 bits",
        _ => "no example is possible under the network",
    };
    let hint = "start from uniform rows, or keep fewer zeros, or lower the learning rate";
    Err(Error::new(ErrorKind::Evidence, what).hint(hint))
}
