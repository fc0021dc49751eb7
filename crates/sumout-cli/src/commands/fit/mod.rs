//! `sumout fit`: learns the numbers of a network from data.

mod checkpoint;
mod curve;
mod outputs;
mod reading;
mod report;

use std::io::{IsTerminal, Write, stderr};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use sumout::learn::{Decay, Loss, Params, Rule, Start};
use sumout::{
    Circuit, Epoch, Error, ErrorKind, Examples, FitOptions, Method, Network, Query, Subject,
    Trainer, Training, VarId, VarSet, Watch,
};

use self::checkpoint::Checkpoint;
use self::outputs::{is_circuit, write_network};
use self::report::{Promised, Report};
use crate::args::{Computing, Reading, Using};
use crate::output::{Outcome, Result, patiently, talk};
use crate::text::counted;

const EXAMPLES: &str = "\
Examples:
  sumout data rect:10 -n 250 -o train.csv
  sumout fit rect:10 train.csv --target label -o learned.json -o label.sumout
  sumout eval label.sumout test.csv --metric
  sumout fit asia cases.csv --method em -o asia.bif          maximum likelihood, cells may be missing
  sumout fit rect:10 train.csv --target label -o learned.json --resume
  sumout fit rect:10 train.csv --target label --preset paper --curve curve.svg -o learned.json

Columns are found by their names; those that are no variables are ignored, and all others are inputs unless `--given`
names some. In CSV and Parquet files, columns `NAME=VALUE`, as `eval` writes them, are soft labels. A .npy file has a column for each input that
`--given` names, in the order of the network, and then one for each target. All CPTs are learned
that the model does not fix; in models that say nothing about that, all that are not functions.";

/// Learn the tables of a network from examples.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The network: a file, `-` for standard input, `asia`, or a model such as `rect:8`.
    model: PathBuf,

    /// The examples: a .csv, .parquet or .npy file.
    data: PathBuf,

    /// The variables to be predicted; none for the likelihood of all that the examples say.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    target: Vec<String>,

    /// The variables to predict from, by name or by pattern; all others that the examples have if
    /// not given.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    given: Vec<String>,

    /// The files to write: networks (.json keeps all that is known of tables) and a circuit
    /// (.sumout).
    #[arg(short, long, value_name = "FILE", required = true)]
    output: Vec<PathBuf>,

    /// Go on from where an interrupted run was.
    #[arg(long)]
    resume: bool,

    /// Draw how loss and accuracy went.
    #[arg(long, value_name = "FILE.svg")]
    curve: Option<PathBuf>,

    /// The column, of a CSV or Parquet file, that says how much each example counts.
    #[arg(long, value_name = "COLUMN")]
    weights: Option<String>,

    /// Leave out rows that cannot be read, instead of stopping at the first.
    #[arg(long)]
    skip_bad_rows: bool,

    #[command(flatten)]
    learning: LearningArgs,

    #[command(flatten)]
    tables: Tables,

    #[command(flatten)]
    computing: Computing,

    #[command(flatten)]
    using: Using,

    #[command(flatten)]
    reading: Reading,
}

/// Which tables are learned.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Tables")]
struct Tables {
    /// Learn the CPTs of these variables, by name or by pattern, whatever the model says.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    train: Vec<String>,

    /// Do not learn the CPTs of these.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    freeze: Vec<String>,

    /// Refuse ties of CPTs that have different shapes, instead of splitting them.
    #[arg(long)]
    strict_ties: bool,

    /// In the end, make CPTs that are declared functional the functions that they are nearest to.
    #[arg(long)]
    snap: bool,
}

/// How it is learned; what is not given is as in the preset.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Learning")]
struct LearningArgs {
    /// Where the other options of this group come from.
    #[arg(long, value_enum, default_value_t = Preset::Default)]
    preset: Preset,

    /// How the tables become better.
    #[arg(long, value_enum)]
    method: Option<MethodName>,

    /// What should become small: weights of `cross_entropy`, `squared_error` and `likelihood`, such
    /// as `cross_entropy=1,likelihood=0.1`.
    #[arg(long, value_name = "WEIGHTS", value_parser = loss)]
    loss: Option<Loss>,

    /// Where to start: `network` at its numbers, `uniform` or `random`.
    #[arg(long, value_enum)]
    start: Option<StartName>,

    /// The number of random starts, of which the best goes on.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    starts: Option<u64>,

    /// The most epochs.
    #[arg(long, value_name = "N")]
    epochs: Option<usize>,

    /// Stop after so many epochs without a better one.
    #[arg(long, value_name = "N")]
    patience: Option<usize>,

    /// The number of examples of a step.
    #[arg(long, value_name = "N")]
    batch: Option<usize>,

    /// The length of the first steps, and perhaps of the last, such as `0.05,0.001`; of the last a
    /// tenth if not given.
    #[arg(long, value_name = "FROM[,TO]", value_parser = rates, allow_negative_numbers = true)]
    rate: Option<(f64, f64)>,

    /// How steps become shorter.
    #[arg(long, value_enum)]
    schedule: Option<Schedule>,

    /// The epochs in which they do.
    #[arg(long, value_name = "N")]
    decay: Option<usize>,

    /// The share of the step before that each step of `sgd` keeps.
    #[arg(
        long,
        value_name = "X",
        default_value_t = 0.9,
        allow_negative_numbers = true
    )]
    momentum: f64,

    /// The share of the examples that is watched, and not learned from.
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    validation: Option<f64>,

    /// Pseudo-counts: each number of a table is as if it had been seen so often already.
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    prior: Option<f64>,

    /// Temperatures of CPTs that are declared functional, of the first epoch and of the last, such
    /// as `1,0.1`.
    #[arg(long, value_name = "FROM,TO", value_parser = temperatures)]
    temperature: Option<(f64, f64)>,

    /// Slopes of the sigmoids of tests, of the first epoch and of the last, such as `8,64`.
    #[arg(long, value_name = "FROM,TO", value_parser = slopes, allow_hyphen_values = true)]
    slope: Option<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Preset {
    /// What works best.
    Default,
    /// What the paper did.
    Paper,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MethodName {
    /// Gradients, with steps of about the same length for every weight.
    Adam,
    /// Gradients, with momentum.
    Sgd,
    /// Expectation and maximisation: maximum likelihood of all that the examples say; counting,
    /// where they are complete.
    Em,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Schedule {
    /// Not at all.
    Constant,
    /// By the same length in each epoch.
    Linear,
    /// Fast, and then slowly, as in the paper.
    Cubic,
}

impl Schedule {
    fn power(self) -> i32 {
        match self {
            Schedule::Constant => 0,
            Schedule::Linear => 1,
            Schedule::Cubic => 3,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StartName {
    Network,
    Uniform,
    Random,
}

fn loss(text: &str) -> std::result::Result<Loss, String> {
    let mut loss = Loss {
        cross_entropy: 0.0,
        ..Loss::default()
    };
    for part in text.split(',') {
        let (name, weight) = part.split_once('=').unwrap_or((part, "1"));
        let weight: f64 = weight
            .trim()
            .parse()
            .map_err(|_| format!("`{weight}` is not a number"))?;
        let to = match name.trim() {
            "cross_entropy" => &mut loss.cross_entropy,
            "squared_error" => &mut loss.squared_error,
            "likelihood" => &mut loss.likelihood,
            other => {
                return Err(format!(
                    "`{other}` is none of cross_entropy, squared_error, likelihood"
                ));
            }
        };
        if !(weight.is_finite() && weight >= 0.0) {
            return Err("weights are not negative".into());
        }
        *to = weight;
    }
    Ok(loss)
}

fn rates(text: &str) -> std::result::Result<(f64, f64), String> {
    let number = |text: &str| {
        text.trim()
            .parse::<f64>()
            .ok()
            .filter(|x| x.is_finite() && *x > 0.0)
    };
    let (from, to) = text
        .split_once(',')
        .map_or((text, None), |(from, to)| (from, Some(to)));
    let to = to.map_or_else(|| number(from).map(|rate| rate / 10.0), number);
    number(from)
        .zip(to)
        .ok_or("give a positive number, or two, such as 0.05,0.001".into())
}

fn temperatures(text: &str) -> std::result::Result<(f64, f64), String> {
    let parsed = text
        .split_once(',')
        .and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
    parsed
        .filter(|&(a, b): &(f64, f64)| a > 0.0 && b > 0.0)
        .ok_or("give two positive numbers, such as 1,0.1".into())
}

fn slopes(text: &str) -> std::result::Result<(f64, f64), String> {
    temperatures(text).map_err(|_| "give two positive numbers, such as 8,64".into())
}

/// What is to be snapped in the end is better nearly one-hot before.
const COOLING: (f64, f64) = (1.0, 0.1);

impl LearningArgs {
    fn learning(&self, has_target: bool, snap: bool, seed: u64) -> FitOptions {
        let is_em = self.method == Some(MethodName::Em);
        let mut learning = match self.preset {
            _ if is_em => FitOptions::em(),
            Preset::Default => FitOptions::default(),
            Preset::Paper => FitOptions::paper(),
        };
        if !has_target && !is_em {
            learning.loss = Loss {
                cross_entropy: 0.0,
                likelihood: 1.0,
                ..Loss::default()
            };
            learning.watch = Watch::Loss;
        }
        if let Method::Gradient {
            rule,
            decay,
            batch,
            steps,
        } = &mut learning.method
        {
            if self.method == Some(MethodName::Sgd) {
                *rule = Rule::Sgd {
                    momentum: self.momentum,
                };
                *decay = Decay {
                    first: 0.5,
                    last: 0.05,
                    ..*decay
                };
            }
            *decay = self.decay(*decay);
            (*batch, *steps) = self.batch.map_or((*batch, *steps), |batch| (batch, 1));
        }
        if let Some(starts) = self.starting() {
            learning.starts = starts;
        }
        learning.loss = self.loss.unwrap_or(learning.loss);
        learning.epochs = self.epochs.unwrap_or(learning.epochs);
        learning.patience = self.patience.unwrap_or(learning.patience);
        learning.validation = self.validation.unwrap_or(learning.validation);
        learning.prior = self.prior.unwrap_or(learning.prior);
        let cooled = snap.then_some(COOLING);
        FitOptions {
            temperature: self.temperature.or(cooled),
            slope: self.slope,
            seed,
            ..learning
        }
    }

    fn decay(&self, preset: Decay) -> Decay {
        let (first, last) = self.rate.unwrap_or((preset.first, preset.last));
        let power = self.schedule.map_or(preset.power, Schedule::power);
        Decay {
            first,
            last,
            power,
            over: self.decay.unwrap_or(preset.over),
            ..preset
        }
    }

    fn starting(&self) -> Option<Vec<Start>> {
        let random = |n: u64| (1..=n).map(Start::Random).collect();
        match (self.start, self.starts) {
            (None, None) => None,
            (Some(StartName::Network), _) => Some(vec![Start::Network]),
            (Some(StartName::Uniform), _) => Some(vec![Start::Uniform]),
            (_, n) => Some(random(n.unwrap_or(1))),
        }
    }
}

pub fn run(args: &Args, json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let net = args.reading.network(&args.model)?;
    args.refuse_outputs()?;
    let targets: Vec<VarId> = args
        .target
        .iter()
        .map(|name| net.find(name))
        .collect::<sumout::Result<_>>()?;
    let examples = reading::examples(args, &net, &targets)?;
    let subject = args.subject(&net, &targets, &examples)?;
    let learning = args.learning.learning(
        !targets.is_empty(),
        args.tables.snap,
        args.computing.options().seed,
    );
    learning.check()?;
    let start = Instant::now();
    if learning.method == Method::Em
        && let Some(params) = net.count(&subject, &examples, learning.prior)?
    {
        let seconds = start.elapsed().as_secs_f64();
        return args.counted(&net, &subject, (&params, seconds), &examples, json, out);
    }
    let running = args.using.running(args.computing.options().memory);
    let course = patiently("compiling", || {
        net.course(&subject, learning, &args.computing.options(), &running)
    })?;
    let mut trainer = course.trainer(&examples)?;
    let how = format!(
        "{subject:?} {:?} {:?}",
        args.computing.options(),
        running.precision
    );
    let checkpoint = Checkpoint::new(&args.output[0], &net, &course, &examples, &how);
    checkpoint.begin(&mut trainer, args.resume)?;
    train(&mut trainer, &checkpoint)?;
    let (params, promised) = args.finish(&course, &subject, &trainer, &examples)?;
    if let Some(path) = &args.curve {
        let svg = curve::draw(&trainer.state().history, trainer.state().best_epoch());
        sumout::files::save(path, |file| file.write_all(svg.as_bytes()))?;
    }
    checkpoint.remove();
    let (history, seconds) = (&trainer.state().history[..], start.elapsed().as_secs_f64());
    let best = trainer.state().best();
    Report {
        net: &net,
        params: &params,
        history,
        best,
        promised,
        seconds,
    }
    .write(json, out)
}

/// Learns, an epoch at a time; after each what is reached is saved.
fn train(trainer: &mut Trainer<'_>, checkpoint: &Checkpoint) -> Result<()> {
    let bar = progress(trainer.progress().1 as u64);
    while !trainer.is_done() {
        let Epoch {
            rate,
            loss,
            watched_loss,
            accuracy,
            ..
        } = trainer.epoch()?.clone();
        checkpoint.save(trainer.state())?;
        let accuracy = accuracy.map_or(String::new(), |a| format!(", {:.1} % right", 100.0 * a));
        let rate = if rate > 0.0 {
            format!(", rate {rate:.4}")
        } else {
            String::new()
        };
        bar.set_message(format!(
            "loss {loss:.4}, watched {watched_loss:.4}{accuracy}{rate}"
        ));
        bar.set_position(trainer.progress().0 as u64);
    }
    bar.finish_and_clear();
    Ok(())
}

/// A bar on a terminal: epochs, how they went, and how long it will take at most.
fn progress(epochs: u64) -> ProgressBar {
    if !stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style =
        ProgressStyle::with_template("{bar:20} epoch {pos} of {len} at most, {msg}, {eta} left");
    ProgressBar::new(epochs).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

impl Args {
    fn subject(&self, net: &Network, targets: &[VarId], examples: &Examples) -> Result<Subject> {
        let matching = |names: &[String]| -> sumout::Result<VarSet> {
            let found: sumout::Result<Vec<_>> =
                names.iter().map(|name| net.matching(name)).collect();
            Ok(found?.into_iter().flatten().collect())
        };
        let subject = Subject::of(targets, examples);
        let given = if self.given.is_empty() {
            subject.given
        } else {
            matching(&self.given)?
        };
        if !self.given.is_empty() && (&given - &targets.iter().copied().collect()).is_empty() {
            let error = Error::new(
                ErrorKind::Options,
                "a target cannot be predicted from itself",
            );
            return Err(error
                .hint("name other variables with `--given`, or leave it out")
                .into());
        }
        let train = if self.tables.train.is_empty() {
            None
        } else {
            Some(matching(&self.tables.train)?)
        };
        let frozen = matching(&self.tables.freeze)?;
        Ok(Subject {
            targets: targets.to_vec(),
            given,
            trainable: train,
            frozen,
            strict_ties: self.tables.strict_ties,
        })
    }

    /// Writes what was learned.
    fn finish(
        &self,
        course: &Training,
        subject: &Subject,
        trainer: &Trainer<'_>,
        examples: &Examples,
    ) -> Result<(Params, Option<Promised>)> {
        let mut params = trainer.learned();
        let mut promised = None;
        if params.has_promised() {
            let snapped = self
                .tables
                .snap
                .then(|| params.snap())
                .map(|()| course.measure(&params, examples))
                .transpose()?;
            let difference = course.difference(&params, examples, &self.computing.options());
            let difference = difference
                .inspect_err(|error| talk(&format!("{UNCHECKED}: {error}")))
                .ok();
            promised = Some(Promised {
                snapped,
                difference,
            });
        }
        let net = course.network(&params);
        let circuits = course.trained(&params);
        self.write(&net, |path, target| {
            match circuits.iter().find(|(_, of)| *of == Some(target)) {
                Some((circuit, _)) => circuit.save(path),
                None => self.compile(&net, subject, target)?.save(path),
            }
        })?;
        Ok((params, promised))
    }

    /// Writes networks, and circuits, each of the next target.
    fn write(
        &self,
        net: &Network,
        circuit: impl Fn(&Path, VarId) -> sumout::Result<()>,
    ) -> Result<()> {
        let mut targets = self.target.iter();
        for path in &self.output {
            match is_circuit(path).then(|| targets.next()).flatten() {
                Some(target) => circuit(path, net.find(target)?)?,
                None => write_network(net, path)?,
            }
            talk(&format!("wrote {}", path.display()));
        }
        Ok(())
    }

    /// The circuit for a target of a network that was learned without it.
    fn compile(&self, net: &Network, subject: &Subject, target: VarId) -> sumout::Result<Circuit> {
        let name = |v: VarId| net.variable(v).name.clone();
        let targets: VarSet = subject.targets.iter().copied().collect();
        let inputs = (&subject.given - &targets)
            .iter()
            .map(name)
            .collect::<Vec<_>>();
        let query = Query::of(name(target))
            .given(inputs)
            .trainable(Vec::<String>::new());
        net.compile(&query, &self.computing.options())
    }

    /// Complete examples are counted, without a circuit.
    fn counted(
        &self,
        net: &Network,
        subject: &Subject,
        (params, seconds): (&Params, f64),
        examples: &Examples,
        json: bool,
        out: &mut dyn Write,
    ) -> Result<Outcome> {
        let learned = net.with_tables(params.tables());
        self.write(&learned, |path, target| {
            self.compile(&learned, subject, target)?.save(path)
        })?;
        if self.curve.is_some() {
            talk("there is no curve to draw: complete examples are counted at once");
        }
        if !json {
            writeln!(
                out,
                "counted      {}, which are complete",
                counted(examples.len(), "example")
            )?;
        }
        Report {
            net,
            params,
            history: &[],
            best: None,
            promised: None,
            seconds,
        }
        .write(json, out)
    }
}

/// Why a circuit and its network may differ.
const UNCHECKED: &str = "whether the network answers as the circuit cannot be checked";
