//! The options of a fit, as people set them: a preset, and single options that override it.

use crate::circuit::{EvalOptions, Options};
use crate::error::Result;
use crate::learn::fit::names::{Algorithm, DecayCurve, InitialWeights, Preset};
use crate::learn::{
    Checkpoint, LearningRate, Loss, Method, Monitor, Optimizer, Start, TrainingOptions,
};

/// How to fit: a preset, and what differs from it.
///
/// Each method takes a value, or `None` to keep the preset's.
///
/// ```
/// use sumout::learn::FitOptions;
///
/// let options = FitOptions::preset("paper")?.epochs(20).batch_size(16).patience(None);
/// # Ok::<(), sumout::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FitOptions {
    preset: Preset,
    method: Option<Algorithm>,
    loss: Option<Loss>,
    start: Option<InitialWeights>,
    starts: Option<u64>,
    epochs: Option<usize>,
    patience: Option<usize>,
    batch_size: Option<usize>,
    learning_rate: Option<f64>,
    final_learning_rate: Option<f64>,
    schedule: Option<DecayCurve>,
    decay_epochs: Option<usize>,
    momentum: Option<f64>,
    validation: Option<f64>,
    prior: Option<f64>,
    temperature: Option<(f64, f64)>,
    slope: Option<(f64, f64)>,
    snap: bool,
    seed: u64,
    pub(crate) compile: Options,
    pub(crate) eval: EvalOptions,
    pub(crate) checkpoint: Option<Checkpoint>,
}

impl Default for FitOptions {
    fn default() -> Self {
        FitOptions::from(Preset::Default)
    }
}

impl From<Preset> for FitOptions {
    fn from(preset: Preset) -> Self {
        FitOptions {
            preset,
            method: None,
            loss: None,
            start: None,
            starts: None,
            epochs: None,
            patience: None,
            batch_size: None,
            learning_rate: None,
            final_learning_rate: None,
            schedule: None,
            decay_epochs: None,
            momentum: None,
            validation: None,
            prior: None,
            temperature: None,
            slope: None,
            snap: false,
            seed: 0,
            compile: Options::default(),
            eval: EvalOptions::default(),
            checkpoint: None,
        }
    }
}

/// Methods that override an option of the preset.
macro_rules! overrides {
    ($($(#[$doc:meta])* $name:ident: $kind:ty,)*) => {
        impl FitOptions {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name(mut self, value: impl Into<Option<$kind>>) -> Self {
                    self.$name = value.into().or(self.$name);
                    self
                }
            )*
        }
    };
}

overrides! {
    /// How the loss is minimised.
    method: Algorithm,
    /// The loss to minimise.
    loss: Loss,
    /// Where training starts.
    start: InitialWeights,
    /// The number of random starts, the best of which is trained further.
    starts: u64,
    /// The maximum number of epochs.
    epochs: usize,
    /// Early stopping: the number of epochs without improvement after which training ends.
    patience: usize,
    /// The number of examples of a step.
    batch_size: usize,
    /// The initial learning rate.
    learning_rate: f64,
    /// The final learning rate; a tenth of the initial one, if only that is given.
    final_learning_rate: f64,
    /// How the learning rate decays.
    schedule: DecayCurve,
    /// The number of epochs over which the learning rate decays.
    decay_epochs: usize,
    /// The momentum of `sgd`; 0.9 by default.
    momentum: f64,
    /// The fraction of examples held out for validation.
    validation: f64,
    /// Pseudo-counts that are added to each number of a CPT.
    prior: f64,
    /// The temperature of CPTs that are declared functional, in the first epoch and in the last.
    temperature: (f64, f64),
    /// The slope of sigmoids of tests, in the first epoch and in the last.
    slope: (f64, f64),
}

/// The momentum of stochastic gradient descent, unless it is given.
const MOMENTUM: f64 = 0.9;

/// The initial learning rate of stochastic gradient descent, and the final one.
const SGD_RATES: (f64, f64) = (0.5, 0.05);

impl FitOptions {
    /// A preset, by its name: `default`, `paper` or `em`.
    pub fn preset(name: &str) -> Result<Self> {
        Ok(FitOptions::from(name.parse::<Preset>()?))
    }

    /// Whether CPTs that are declared functional become the nearest functions in the end. Unless
    /// temperatures are given, they are cooled from 1 to 0.1 before.
    #[must_use]
    pub fn snap(mut self, snap: bool) -> Self {
        self.snap = snap;
        self
    }

    /// Seeds random starts, the validation split and the order of examples.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How circuits are compiled.
    #[must_use]
    pub fn compile(mut self, options: Options) -> Self {
        self.compile = options;
        self
    }

    /// How circuits are evaluated.
    #[must_use]
    pub fn eval(mut self, options: EvalOptions) -> Self {
        self.eval = options;
        self
    }

    /// Saves the state after each epoch, and perhaps resumes from it.
    #[must_use]
    pub fn checkpoint(mut self, checkpoint: impl Into<Option<Checkpoint>>) -> Self {
        self.checkpoint = checkpoint.into();
        self
    }

    /// The preset with all that overrides it. Without a target only the likelihood can be learned.
    pub fn training(&self, has_target: bool) -> TrainingOptions {
        let mut options = self.base();
        if !has_target {
            options.loss = Loss::likelihood();
            options.monitor = Monitor::Loss;
        }
        TrainingOptions {
            method: self.descent(options.method),
            starts: self.initial_weights().unwrap_or(options.starts),
            loss: self.loss.unwrap_or(options.loss),
            epochs: self.epochs.unwrap_or(options.epochs),
            patience: self.patience.unwrap_or(options.patience),
            validation: self.validation.unwrap_or(options.validation),
            prior: self.prior.unwrap_or(options.prior),
            temperature: self.temperature.or(options.temperature),
            slope: self.slope.or(options.slope),
            snap: self.snap,
            seed: self.seed,
            ..options
        }
    }

    /// The prior of counting, if complete data are to be counted.
    pub(crate) fn counting_prior(&self, how: &TrainingOptions, has_target: bool) -> Option<f64> {
        if how.method == Method::Em {
            return Some(how.prior);
        }
        let is_plain =
            !has_target && matches!(self.preset, Preset::Default) && !self.is_about_training();
        is_plain.then(|| self.prior.unwrap_or(TrainingOptions::em().prior))
    }

    /// Whether an option is given that only training has.
    fn is_about_training(&self) -> bool {
        let counts = [
            self.epochs,
            self.patience,
            self.batch_size,
            self.decay_epochs,
        ];
        let numbers = [self.learning_rate, self.momentum, self.validation];
        self.method.is_some()
            || self.loss.is_some()
            || self.start.is_some()
            || self.starts.is_some()
            || self.schedule.is_some()
            || counts.iter().any(Option::is_some)
            || numbers.iter().any(Option::is_some)
            || self.temperature.or(self.slope).is_some()
            || self.snap
            || self.checkpoint.is_some()
    }

    fn base(&self) -> TrainingOptions {
        if self.method == Some(Algorithm::Em) {
            return TrainingOptions::em();
        }
        let mut options = match self.preset {
            Preset::Default => TrainingOptions::default(),
            Preset::Paper => TrainingOptions::paper(),
            Preset::Em => TrainingOptions::em(),
        };
        if self.method.is_some() && options.method == Method::Em {
            options.method = TrainingOptions::default().method;
        }
        options
    }

    fn descent(&self, preset: Method) -> Method {
        let Method::Gradient {
            mut optimizer,
            mut learning_rate,
            batch_size,
            min_steps,
        } = preset
        else {
            return preset;
        };
        if self.method == Some(Algorithm::Sgd) {
            let momentum = self.momentum.unwrap_or(MOMENTUM);
            optimizer = Optimizer::Sgd { momentum };
            (learning_rate.first, learning_rate.last) = SGD_RATES;
        }
        Method::Gradient {
            optimizer,
            learning_rate: self.rates(learning_rate),
            batch_size: self.batch_size.unwrap_or(batch_size),
            // A batch size that is given is not made smaller.
            min_steps: self.batch_size.map_or(min_steps, |_| 1),
        }
    }

    fn rates(&self, preset: LearningRate) -> LearningRate {
        let tenth = self.learning_rate.map(|rate| rate / 10.0);
        LearningRate {
            first: self.learning_rate.unwrap_or(preset.first),
            last: self.final_learning_rate.or(tenth).unwrap_or(preset.last),
            over: self.decay_epochs.unwrap_or(preset.over),
            power: self.schedule.map_or(preset.power, DecayCurve::power),
            ..preset
        }
    }

    fn initial_weights(&self) -> Option<Vec<Start>> {
        match (self.start, self.starts) {
            (None, None) => None,
            (Some(InitialWeights::Network), _) => Some(vec![Start::Network]),
            (Some(InitialWeights::Uniform), _) => Some(vec![Start::Uniform]),
            (_, n) => Some((1..=n.unwrap_or(1)).map(Start::Random).collect()),
        }
    }
}
