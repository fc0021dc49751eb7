//! Trains on examples, an epoch at a time.
//!
//! If there are several starts, each gets some trial epochs, and the best is trained further. What
//! an epoch does is in `epoch`; all that it has reached is in the [`State`].

mod epoch;
mod scorer;
mod state;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::error::{Error, ErrorKind, Result};
use crate::learn::optimise::Moments;
use crate::learn::{Examples, Params, Start, Training};
use crate::model::FactorModel;

pub use state::{Epoch, State};

use scorer::Scorer;
use state::Chosen;

/// Trains the circuits of a [`Training`].
#[derive(Debug)]
pub struct Trainer<'t> {
    training: &'t Training,
    heads: Vec<Scorer<'t>>,
    params: Params,
    examples: &'t Examples,
    /// The rows to train on, and those held out for validation.
    train_rows: Vec<usize>,
    validation_rows: Vec<usize>,
    /// The weight of all examples to train on.
    total: f64,
    seed: u64,
    state: State,
}

impl Training {
    /// Prepares to train on examples.
    pub fn trainer<'t>(&'t self, examples: &'t Examples) -> Result<Trainer<'t>> {
        self.trainer_with(examples, self.options.seed)
    }

    /// Prepares to train on examples, with a seed of its own.
    pub fn trainer_with<'t>(&'t self, examples: &'t Examples, seed: u64) -> Result<Trainer<'t>> {
        examples.check(&self.net, &self.heads)?;
        let heads: Vec<Scorer<'t>> = self
            .heads
            .iter()
            .enumerate()
            .map(|(index, head)| Scorer::new(self, head, examples, index == 0))
            .collect::<Result<_>>()?;
        let (train_rows, validation_rows) = split(examples, self.options.validation, seed);
        refuse_unlabelled(&heads, &validation_rows)?;
        let total = train_rows.iter().map(|&row| examples.weight(row)).sum();
        let mut trainer = Trainer {
            training: self,
            heads,
            params: self.params.clone(),
            examples,
            train_rows,
            validation_rows,
            total,
            seed,
            state: State::new(),
        };
        trainer.begin();
        Ok(trainer)
    }
}

/// The rows to train on and those for validation, in random order; rows of weight zero are neither.
fn split(examples: &Examples, validation: f64, seed: u64) -> (Vec<usize>, Vec<usize>) {
    let mut rows: Vec<usize> = (0..examples.len())
        .filter(|&row| examples.weight(row) > 0.0)
        .collect();
    rows.shuffle(&mut random(seed, 0));
    let held_out = (rows.len() as f64 * validation).round() as usize;
    let train_rows = rows.split_off(held_out.min(rows.len() - 1));
    (train_rows, rows)
}

fn refuse_unlabelled(heads: &[Scorer<'_>], validation_rows: &[usize]) -> Result<()> {
    let is_bad = |head: &Scorer<'_>| head.has_no_label(validation_rows);
    if validation_rows.is_empty() || !heads.iter().any(is_bad) {
        return Ok(());
    }
    let error = Error::new(
        ErrorKind::Options,
        "no example of the validation set has a label",
    );
    Err(error.hint("give more labels, or hold out no examples (a validation of 0)"))
}

/// Random numbers that depend on nothing but the seed and the purpose.
fn random(seed: u64, purpose: u64) -> impl Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(purpose);
    rng
}

impl Trainer<'_> {
    /// Continues from the state of another trainer of the same training and examples.
    pub fn restore(&mut self, state: State) -> Result<()> {
        let wanted = self.params.len();
        if state.weights.len() != wanted || state.best.weights.len() > wanted {
            let found = state.weights.len();
            let error = Error::new(
                ErrorKind::Options,
                format!("the saved state has {found} weights, not {wanted}"),
            );
            return Err(error.hint("resume with the same model and options"));
        }
        self.state = state;
        self.load();
        Ok(())
    }

    /// The state that training has reached.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Whether training has ended.
    pub fn is_done(&self) -> bool {
        self.state.is_done
    }

    /// The number of epochs until now, and the maximum.
    pub fn progress(&self) -> (usize, usize) {
        let options = &self.training.options;
        let trials = match options.starts.len() {
            1 => 0,
            starts => starts * options.trial_epochs,
        };
        (self.state.history.len(), trials + options.epochs)
    }

    /// The mean loss of some examples, and its derivatives with respect to the weights: for
    /// optimizers of your own.
    pub fn gradient(&self, rows: &[usize]) -> Result<(f64, Vec<f64>)> {
        let (sums, gradient) = self.differentiate(rows)?;
        Ok((sums.loss / sums.weight, gradient))
    }

    /// Changes the weights.
    ///
    /// # Panics
    /// If their number differs from that of the parameters.
    pub fn set_weights(&mut self, weights: &[f64]) {
        self.state.weights.copy_from_slice(weights);
        self.load();
    }

    /// The mean loss of all examples under the current weights, and the accuracy; none without
    /// labels.
    pub fn measure(&self) -> Result<(f64, Option<f64>)> {
        let rows: Vec<usize> = (0..self.examples.len()).collect();
        let sums = self.evaluate(&rows)?;
        Ok((sums.loss / sums.weight, sums.accuracy()))
    }

    /// The parameters of the best epoch.
    pub fn learned(&self) -> Params {
        let best = &self.state.best;
        let mut params = self.params.clone();
        params.set_weights(&best.weights);
        params.set_temperature(best.temperature);
        params.set_slope(best.slope);
        params
    }

    /// Takes parameters over, with their temperature.
    pub(crate) fn adopt(&mut self, params: &Params) {
        self.params.clone_from(params);
        self.update_circuits();
    }

    /// Whether several starts are still being compared.
    fn is_trial(&self) -> bool {
        self.state.start < self.training.options.starts.len()
    }

    /// Begins the trial of a start, or continues with the best of them.
    fn begin(&mut self) {
        let training = self.training;
        let starts = &training.options.starts;
        self.state.epoch = 0;
        self.state.moments = Moments::default();
        if starts.len() > 1 && self.state.start < starts.len() {
            self.start_at(training.parametrised(), starts[self.state.start]);
            return;
        }
        self.state.start = starts.len();
        match self.state.chosen.take() {
            Some(chosen) => self.choose(chosen),
            None => self.start_at(training.parametrised(), starts[0]),
        }
        self.state.best.weights.clone_from(&self.state.weights);
        self.load();
    }

    /// Continues with a start. A score on the validation set is comparable with later ones, and to
    /// be surpassed.
    fn choose(&mut self, chosen: Chosen) {
        self.state.weights = chosen.weights;
        if !self.validation_rows.is_empty() {
            self.state.best.score = Some(chosen.score);
            self.state.best.epoch = Some(chosen.epoch);
        }
    }

    fn start_at(&mut self, net: &FactorModel, start: Start) {
        let base = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let start = match start {
            Start::Random(k) => Start::Random(base.wrapping_add(k)),
            Start::Alike(k) => Start::Alike(base.wrapping_add(k)),
            Start::Network | Start::Uniform => start,
        };
        self.params.start(net, start);
        self.state.weights = self.params.weights().to_vec();
        self.load();
    }

    /// Brings the weights of the state into the circuits.
    fn load(&mut self) {
        self.params.set_weights(&self.state.weights);
        self.params.set_temperature(self.temperature());
        self.params.set_slope(self.slope());
        self.update_circuits();
    }

    fn update_circuits(&mut self) {
        for head in &mut self.heads {
            head.set(&self.params);
        }
    }

    fn temperature(&self) -> f64 {
        self.annealed(self.training.options.temperatures())
            .unwrap_or(1.0)
    }

    fn slope(&self) -> Option<f64> {
        self.annealed(self.training.options.slope)
    }

    /// Where an annealed number is, between its first value and its last.
    fn annealed(&self, range: Option<(f64, f64)>) -> Option<f64> {
        let (from, to) = range?;
        let gone = if self.is_trial() {
            0.0
        } else {
            self.state.epoch as f64 / self.training.options.epochs.max(1) as f64
        };
        Some(from * (to / from).powf(gone.min(1.0)))
    }
}
