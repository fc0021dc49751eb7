//! Goes through examples, an epoch at a time.

mod ready;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::learn::trainer::ready::{Ready, Sums};

use crate::error::{Error, ErrorKind, Result};
use crate::learn::optimise::Memory;
use crate::learn::training::{Examples, Method, Training, Watch};
use crate::learn::{Params, Start};
use crate::model::FactorModel;

/// What came out of an epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Which start it belongs to, counted from zero; none once one of them goes on.
    pub start: Option<usize>,
    /// The length of its steps; zero where there are none.
    pub rate: f64,
    /// The mean loss of the examples that were learned from, while they were.
    pub loss: f64,
    /// The mean loss of the examples that are watched, after the epoch; of all, if none are.
    pub watched_loss: f64,
    /// The share of them whose label was found; none without labels.
    pub accuracy: Option<f64>,
    /// The number of examples that were impossible, or whose numbers were too far apart, while they
    /// were learned from.
    pub impossible: usize,
    /// The number of examples whose label had probability zero, given their inputs.
    pub contradicted: usize,
}

/// What a start came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Chosen {
    score: f64,
    weights: Vec<f64>,
    /// Its last epoch.
    epoch: usize,
}

/// All that training has reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The start that is tried; if there are no more, the best goes on.
    start: usize,
    /// The epochs of this start, or since one goes on.
    epoch: usize,
    weights: Vec<f64>,
    memory: Memory,
    /// The best start.
    chosen: Option<Chosen>,
    /// The best score since one start goes on, its weights, and the epochs since then.
    best: Option<f64>,
    saved: Vec<f64>,
    saved_temperature: f64,
    #[serde(default)]
    saved_slope: Option<f64>,
    saved_epoch: Option<usize>,
    waited: usize,
    is_done: bool,
    /// All epochs so far.
    pub history: Vec<Epoch>,
}

/// Learns: see [`Training`].
#[derive(Debug)]
pub struct Trainer<'c> {
    course: &'c Training,
    heads: Vec<Ready<'c>>,
    params: Params,
    examples: &'c Examples,
    learned: Vec<usize>,
    watched: Vec<usize>,
    /// The weight of all examples that are learned from.
    total: f64,
    seed: u64,
    state: State,
}

impl Training {
    /// Prepares to learn from examples.
    pub fn trainer<'c>(&'c self, examples: &'c Examples) -> Result<Trainer<'c>> {
        self.trainer_with(examples, self.learning.seed)
    }

    /// The same with another seed.
    pub fn trainer_with<'c>(&'c self, examples: &'c Examples, seed: u64) -> Result<Trainer<'c>> {
        examples.check(&self.net, &self.heads)?;
        let ready = |(index, head)| Ready::new(self, head, examples, index == 0);
        let heads = self
            .heads
            .iter()
            .enumerate()
            .map(ready)
            .collect::<Result<Vec<_>>>()?;
        let mut rows: Vec<usize> = (0..examples.len())
            .filter(|&row| examples.weight(row) > 0.0)
            .collect();
        rows.shuffle(&mut random(seed, 0));
        let watched = (rows.len() as f64 * self.learning.validation).round() as usize;
        let learned = rows.split_off(watched.min(rows.len() - 1));
        if !rows.is_empty() && heads.iter().any(|head| head.has_no_label(&rows)) {
            let error = Error::new(
                ErrorKind::Evidence,
                "no example that is watched has a label",
            );
            return Err(error.hint("give more labels, or watch no examples (a validation of 0)"));
        }
        let total = learned.iter().map(|&row| examples.weight(row)).sum();
        let mut trainer = Trainer {
            course: self,
            heads,
            params: self.params.clone(),
            examples,
            learned,
            watched: rows,
            total,
            seed,
            state: State::new(),
        };
        trainer.begin();
        Ok(trainer)
    }
}

/// Random numbers that depend on nothing but the seed and the purpose.
fn random(seed: u64, purpose: u64) -> impl Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(purpose);
    rng
}

impl State {
    /// The epoch whose parameters are the best so far; none before the starts are compared.
    pub fn best(&self) -> Option<&Epoch> {
        self.history.get(self.saved_epoch?)
    }

    /// Its place in the history.
    pub fn best_epoch(&self) -> Option<usize> {
        self.saved_epoch
    }

    fn new() -> Self {
        State {
            start: 0,
            epoch: 0,
            weights: vec![],
            memory: Memory::default(),
            chosen: None,
            best: None,
            saved: vec![],
            saved_temperature: 1.0,
            saved_slope: None,
            saved_epoch: None,
            waited: 0,
            is_done: false,
            history: vec![],
        }
    }
}

impl<'c> Trainer<'c> {
    /// Goes on from where another trainer of the same course and examples was.
    pub fn restore(&mut self, state: State) -> Result<()> {
        if state.weights.len() != self.params.len() || state.saved.len() > self.params.len() {
            let (found, wanted) = (state.weights.len(), self.params.len());
            let error = Error::new(
                ErrorKind::Evidence,
                format!("what was saved has {found} weights, not {wanted}"),
            );
            return Err(error.hint("go on with the model and the options that it was begun with"));
        }
        self.state = state;
        self.load();
        Ok(())
    }

    /// What has been reached.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Whether there is nothing left to do.
    pub fn is_done(&self) -> bool {
        self.state.is_done
    }

    /// The number of epochs until now, and the most there can be.
    pub fn progress(&self) -> (usize, usize) {
        let learning = &self.course.learning;
        let starts = if learning.starts.len() > 1 {
            learning.starts.len() * learning.look_ahead
        } else {
            0
        };
        (self.state.history.len(), starts + learning.epochs)
    }

    /// Begins a start, or lets the best of them go on.
    fn begin(&mut self) {
        let (learning, net) = (&self.course.learning, self.course.parametrised());
        self.state.epoch = 0;
        self.state.memory = Memory::default();
        let starts = &learning.starts;
        if starts.len() > 1 && self.state.start < starts.len() {
            self.start_at(net, starts[self.state.start]);
            return;
        }
        self.state.start = starts.len();
        match self.state.chosen.take() {
            Some(chosen) => self.go_on(chosen),
            None => self.start_at(net, starts[0]),
        }
        self.state.saved.clone_from(&self.state.weights);
        self.load();
    }

    /// What watched examples say of a start is comparable with what they say later, and to be
    /// surpassed.
    fn go_on(&mut self, chosen: Chosen) {
        self.state.weights = chosen.weights;
        if !self.watched.is_empty() {
            self.state.best = Some(chosen.score);
            self.state.saved_epoch = Some(chosen.epoch);
        }
    }

    fn start_at(&mut self, net: &FactorModel, start: Start) {
        let seed = |k: u64| {
            self.seed
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .wrapping_add(k)
        };
        let start = match start {
            Start::Random(k) => Start::Random(seed(k)),
            Start::Alike(k) => Start::Alike(seed(k)),
            other => other,
        };
        self.params.start(net, start);
        self.state.weights = self.params.weights().to_vec();
        self.load();
    }

    /// Brings the weights of the state into the circuits.
    fn load(&mut self) {
        self.params.set_weights(&self.state.weights);
        self.params.set_temperature(self.temperature());
        self.params
            .set_slope(self.annealed(self.course.learning.slope));
        self.spread();
    }

    fn spread(&mut self) {
        self.heads
            .iter_mut()
            .for_each(|head| head.set(&self.params));
    }

    fn temperature(&self) -> f64 {
        self.annealed(self.course.learning.temperature)
            .unwrap_or(1.0)
    }

    /// What goes from one number to another as epochs go by.
    fn annealed(&self, range: Option<(f64, f64)>) -> Option<f64> {
        let learning = &self.course.learning;
        let (from, to) = range?;
        let is_chosen = self.state.start >= learning.starts.len();
        let gone = if is_chosen {
            self.state.epoch as f64 / learning.epochs.max(1) as f64
        } else {
            0.0
        };
        Some(from * (to / from).powf(gone.min(1.0)))
    }

    /// Goes through all examples once. What it came to is the last of the state's history.
    pub fn epoch(&mut self) -> Result<&Epoch> {
        let learning = &self.course.learning;
        let (rate, sums) = match learning.method {
            Method::Gradient {
                rule,
                decay,
                batch,
                steps,
            } => {
                let rate = decay.rate(self.state.epoch);
                let trial = if self.state.start < learning.starts.len() {
                    learning.trial
                } else {
                    usize::MAX
                };
                let mut order = self.learned[..trial.min(self.learned.len())].to_vec();
                order.shuffle(&mut random(self.seed, 1 + self.state.history.len() as u64));
                let mut sums = Sums::default();
                for rows in order.chunks(batch.min(order.len().div_ceil(steps.max(1)))) {
                    let (found, gradient) = self.differentiate(rows)?;
                    rule.step(
                        &mut self.state.weights,
                        &gradient,
                        rate,
                        &mut self.state.memory,
                    );
                    self.params.set_weights(&self.state.weights);
                    self.spread();
                    sums.add(found);
                }
                (rate, sums)
            }
            Method::Em => (0.0, self.expect_and_maximise()?),
        };
        self.state.epoch += 1;
        if learning.temperature.is_some() || learning.slope.is_some() {
            self.load();
        }
        self.refuse_nothing(&sums)?;
        self.close(rate, &sums)
    }

    fn refuse_nothing(&self, sums: &Sums) -> Result<()> {
        if sums.weight > 0.0 && sums.loss.is_finite() {
            return Ok(());
        }
        let what = match (sums.impossible, sums.lost) {
            (0, 0) => "the loss is no number any more".to_owned(),
            (0, _) => "the numbers of all examples are too far apart".to_owned(),
            _ => "no example is possible under the network".to_owned(),
        };
        let hint = "start from uniform rows, or keep fewer zeros, or take shorter steps";
        Err(Error::new(ErrorKind::Evidence, what).hint(hint))
    }

    /// Judges an epoch.
    fn close(&mut self, rate: f64, sums: &Sums) -> Result<&Epoch> {
        let learning = &self.course.learning;
        let is_trial = self.state.start < learning.starts.len();
        let watched = match (self.watched.is_empty(), learning.watch, is_trial) {
            (true, Watch::Loss, _) => *sums,
            (true, Watch::Accuracy, _) => self.look(&self.learned)?,
            _ => self.look(&self.watched)?,
        };
        let accuracy = (watched.labelled > 0.0).then(|| watched.right / watched.labelled);
        let watched_loss = if watched.weight > 0.0 {
            watched.loss / watched.weight
        } else {
            f64::MAX
        };
        let start = is_trial.then_some(self.state.start);
        self.state.history.push(Epoch {
            start,
            rate,
            loss: sums.loss / sums.weight,
            watched_loss,
            accuracy,
            impossible: sums.impossible + sums.lost,
            contradicted: sums.contradicted,
        });
        let score = match (learning.watch, accuracy) {
            (Watch::Accuracy, Some(accuracy)) => accuracy,
            _ => -watched_loss,
        };
        let is_there = learning
            .goal
            .zip(accuracy)
            .is_some_and(|(goal, accuracy)| accuracy >= goal);
        match is_trial {
            true => self.close_trial(score, is_there),
            false => self.close_epoch(score, is_there),
        }
        Ok(self.state.history.last().expect("an epoch was just added"))
    }

    fn close_trial(&mut self, score: f64, is_there: bool) {
        let learning = &self.course.learning;
        if self.state.epoch < learning.look_ahead {
            return;
        }
        if self
            .state
            .chosen
            .as_ref()
            .is_none_or(|best| score >= best.score)
        {
            let (weights, epoch) = (self.state.weights.clone(), self.state.history.len() - 1);
            self.state.chosen = Some(Chosen {
                score,
                weights,
                epoch,
            });
        }
        self.state.start = if is_there {
            learning.starts.len()
        } else {
            self.state.start + 1
        };
        self.begin();
    }

    fn close_epoch(&mut self, score: f64, is_there: bool) {
        let learning = &self.course.learning;
        self.state.waited += 1;
        // Scores at different temperatures are not of the same function: the last counts.
        let is_cooling = (learning.temperature.is_some() && self.params.has_promised())
            || learning.slope.is_some();
        let is_there = is_there && !is_cooling;
        if is_there
            || is_cooling
            || self
                .state
                .best
                .is_none_or(|best| score - learning.least >= best)
        {
            self.state.best = Some(score);
            self.state.saved.clone_from(&self.state.weights);
            self.state.saved_temperature = self.temperature();
            self.state.saved_slope = self.annealed(learning.slope);
            self.state.saved_epoch = Some(self.state.history.len() - 1);
            self.state.waited = 0;
        }
        self.state.is_done = is_there
            || self.state.waited >= learning.patience
            || self.state.epoch >= learning.epochs;
    }

    /// The mean loss of some examples, and its derivatives with respect to the weights: for rules
    /// of your own.
    pub fn gradient(&self, rows: &[usize]) -> Result<(f64, Vec<f64>)> {
        let (sums, gradient) = self.differentiate(rows)?;
        Ok((sums.loss / sums.weight, gradient))
    }

    /// Changes the weights.
    ///
    /// # Panics
    /// If their number is another than that of the parameters.
    pub fn set_weights(&mut self, weights: &[f64]) {
        self.state.weights.copy_from_slice(weights);
        self.load();
    }

    fn differentiate(&self, rows: &[usize]) -> Result<(Sums, Vec<f64>)> {
        let mut gradient = vec![0.0; self.params.len()];
        let mut sums = Sums::default();
        for head in &self.heads {
            let found = head.differentiate(self, rows, &mut gradient)?;
            sums.add(found);
        }
        self.params.pull(&mut gradient);
        let weight = sums.weight / self.heads.len() as f64;
        sums.weight = weight;
        let prior = self.course.learning.prior;
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

    /// Expected counts under the numbers as they are, then the numbers that make these most likely.
    fn expect_and_maximise(&mut self) -> Result<Sums> {
        let mut derivatives = vec![0.0; self.params.len()];
        let mut sums = Sums::default();
        for rows in self.learned.chunks(EXPECTED) {
            sums.add(self.heads[0].differentiate(self, rows, &mut derivatives)?);
        }
        derivatives.iter_mut().for_each(|d| *d = -*d);
        let prior = self.course.learning.prior;
        sums.loss += prior * self.params.prior();
        let counts = self.params.shares(&derivatives);
        self.params.set_counts(&counts, prior);
        self.state.weights = self.params.weights().to_vec();
        self.spread();
        Ok(sums)
    }

    /// The losses of some examples.
    fn look(&self, rows: &[usize]) -> Result<Sums> {
        let mut sums = Sums::default();
        for (head, rows) in self
            .heads
            .iter()
            .flat_map(|head| rows.chunks(EXPECTED).map(move |rows| (head, rows)))
        {
            let found = head
                .circuit
                .evaluate(&head.batch.select(&head.head.circuit, rows))?;
            sums.add(head.sum(self, rows, &found));
        }
        sums.weight /= self.heads.len() as f64;
        Ok(sums)
    }

    /// Takes parameters as they are, with their temperature.
    pub(crate) fn adopt(&mut self, params: &Params) {
        self.params.clone_from(params);
        self.spread();
    }

    /// The mean loss of all examples with the weights as they are, and the share of labels that are
    /// found; none without labels.
    pub fn measure(&self) -> Result<(f64, Option<f64>)> {
        let sums = self.look(&(0..self.examples.len()).collect::<Vec<_>>())?;
        Ok((
            sums.loss / sums.weight,
            (sums.labelled > 0.0).then(|| sums.right / sums.labelled),
        ))
    }

    /// The parameters of the best epoch.
    pub fn learned(&self) -> Params {
        let mut params = self.params.clone();
        params.set_weights(&self.state.saved);
        params.set_temperature(self.state.saved_temperature);
        params.set_slope(self.state.saved_slope);
        params
    }
}

/// So many examples are counted at once.
const EXPECTED: usize = 1 << 16;
