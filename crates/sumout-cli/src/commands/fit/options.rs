//! The options of `sumout fit`, for the library.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use sumout::learn::{Algorithm, DecayCurve, InitialWeights, Loss, Preset};
use sumout::{Examples, FitOptions, Network, Task, VarId};

/// Which tables are learned.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Tables")]
pub struct Tables {
    /// Learn the CPTs of these variables, by name or by pattern, overriding their roles.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    train: Vec<String>,

    /// Do not learn the CPTs of these.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    freeze: Vec<String>,

    /// Refuse ties of CPTs that have different shapes, instead of splitting them.
    #[arg(long)]
    strict_ties: bool,

    /// After training, replace CPTs that are declared functional by the nearest functions.
    #[arg(long)]
    snap: bool,
}

/// How it is learned; options that are not given are those of the preset.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Learning")]
pub struct Learning {
    /// Defaults for the other options of this group.
    #[arg(long, default_value = "default", value_parser = presets())]
    preset: Preset,

    /// Training algorithm.
    #[arg(long, value_parser = algorithms())]
    method: Option<Algorithm>,

    /// Loss to minimise: weights for `cross_entropy`, `squared_error` and `likelihood`, such as
    /// `cross_entropy=1,likelihood=0.1`.
    #[arg(long, value_name = "WEIGHTS", value_parser = loss)]
    loss: Option<Loss>,

    /// Initial weights.
    #[arg(long, value_parser = initial_weights())]
    start: Option<InitialWeights>,

    /// Number of random starts; the best is trained further.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    starts: Option<u64>,

    /// Maximum number of epochs.
    #[arg(long, value_name = "N")]
    epochs: Option<usize>,

    /// Early stopping: stop after this many epochs without improvement.
    #[arg(long, value_name = "N")]
    patience: Option<usize>,

    /// Batch size.
    #[arg(long, value_name = "N")]
    batch: Option<usize>,

    /// Initial learning rate, and optionally the final one, such as `0.05,0.001`; by default it ends at
    /// a tenth.
    #[arg(long, value_name = "FROM[,TO]", value_parser = rates, allow_negative_numbers = true)]
    rate: Option<(f64, Option<f64>)>,

    /// Learning-rate schedule.
    #[arg(long, value_parser = schedules())]
    schedule: Option<DecayCurve>,

    /// Number of epochs over which the learning rate decays.
    #[arg(long, value_name = "N")]
    decay: Option<usize>,

    /// Momentum of `sgd`; 0.9 by default.
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    momentum: Option<f64>,

    /// Fraction of examples held out for validation.
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    validation: Option<f64>,

    /// Pseudo-counts added to each number of a table.
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    prior: Option<f64>,

    /// Softmax temperature of CPTs that are declared functional, in the first epoch and in the last,
    /// such as `1,0.1`.
    #[arg(long, value_name = "FROM,TO", value_parser = temperatures)]
    temperature: Option<(f64, f64)>,

    /// Slope of the sigmoids of tests, in the first epoch and in the last, such as `8,64`.
    #[arg(long, value_name = "FROM,TO", value_parser = slopes, allow_hyphen_values = true)]
    slope: Option<(f64, f64)>,
}

impl Tables {
    /// The targets, their inputs, and the tables to learn.
    pub fn task(
        &self,
        net: &Network,
        targets: &[VarId],
        given: &[String],
        examples: &Examples,
    ) -> sumout::Result<Task> {
        let named = |names| -> Option<&[String]> { Some(names).filter(|n: &&[_]| !n.is_empty()) };
        let task = Task::of(targets, examples)
            .given(net, named(given))?
            .train(net, named(&self.train))?
            .freeze(net, &self.freeze)?;
        Ok(task.strict_ties(self.strict_ties))
    }
}

impl Learning {
    /// Converts it to the options of the library.
    pub fn options(&self, tables: &Tables, seed: u64) -> FitOptions {
        FitOptions::from(self.preset)
            .method(self.method)
            .loss(self.loss)
            .start(self.start)
            .starts(self.starts)
            .epochs(self.epochs)
            .patience(self.patience)
            .batch_size(self.batch)
            .learning_rate(self.rate.map(|(first, _)| first))
            .final_learning_rate(self.rate.and_then(|(_, last)| last))
            .schedule(self.schedule)
            .decay_epochs(self.decay)
            .momentum(self.momentum)
            .validation(self.validation)
            .prior(self.prior)
            .temperature(self.temperature)
            .slope(self.slope)
            .snap(tables.snap)
            .seed(seed)
    }
}

fn presets() -> impl TypedValueParser<Value = Preset> {
    let help = |preset: Preset| match preset {
        Preset::Default => "Recommended",
        Preset::Paper => "As in the paper",
        _ => "Maximum likelihood, the same as `--method em`",
    };
    named(Preset::ALL, Preset::name, help).try_map(|name| name.parse::<Preset>())
}

fn algorithms() -> impl TypedValueParser<Value = Algorithm> {
    let help = |algorithm: Algorithm| match algorithm {
        Algorithm::Adam => "Gradient descent with Adam",
        Algorithm::Sgd => "Stochastic gradient descent with momentum",
        _ => "Expectation–maximisation: maximum likelihood; complete data are counted",
    };
    named(Algorithm::ALL, Algorithm::name, help).try_map(|name| name.parse::<Algorithm>())
}

fn initial_weights() -> impl TypedValueParser<Value = InitialWeights> {
    let help = |start: InitialWeights| match start {
        InitialWeights::Network => "The numbers of the network",
        InitialWeights::Uniform => "Uniform rows",
        _ => "Random rows",
    };
    named(InitialWeights::ALL, InitialWeights::name, help)
        .try_map(|name| name.parse::<InitialWeights>())
}

fn schedules() -> impl TypedValueParser<Value = DecayCurve> {
    let help = |curve: DecayCurve| match curve {
        DecayCurve::Constant => "No decay",
        DecayCurve::Linear => "By the same amount in each epoch",
        _ => "Fast, and then slowly, as in the paper",
    };
    named(DecayCurve::ALL, DecayCurve::name, help).try_map(|name| name.parse::<DecayCurve>())
}

fn named<T: Copy>(
    all: &[T],
    name: impl Fn(T) -> &'static str,
    help: impl Fn(T) -> &'static str,
) -> PossibleValuesParser {
    let value = |&of: &T| PossibleValue::new(name(of)).help(help(of));
    PossibleValuesParser::new(all.iter().map(value).collect::<Vec<_>>())
}

fn loss(text: &str) -> Result<Loss, String> {
    let mut weights = vec![];
    for part in text.split(',') {
        let (name, weight) = part.split_once('=').unwrap_or((part, "1"));
        let weight: f64 = weight
            .trim()
            .parse()
            .map_err(|_| format!("`{weight}` is not a number"))?;
        weights.push((name.trim(), weight));
    }
    Loss::weighted(weights).map_err(|error| error.to_string())
}

fn rates(text: &str) -> Result<(f64, Option<f64>), String> {
    let wrong = "give a positive number, or two, such as 0.05,0.001";
    let positive = |text: &str| match text.trim().parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        _ => Err(wrong.to_owned()),
    };
    match text.split_once(',') {
        Some((first, last)) => Ok((positive(first)?, Some(positive(last)?))),
        None => Ok((positive(text)?, None)),
    }
}

fn temperatures(text: &str) -> Result<(f64, f64), String> {
    positive_pair(text).ok_or("give two positive numbers, such as 1,0.1".into())
}

fn slopes(text: &str) -> Result<(f64, f64), String> {
    positive_pair(text).ok_or("give two positive numbers, such as 8,64".into())
}

fn positive_pair(text: &str) -> Option<(f64, f64)> {
    let (first, last) = text.split_once(',')?;
    let pair = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    Some(pair).filter(|&(a, b): &(f64, f64)| a > 0.0 && b > 0.0)
}
