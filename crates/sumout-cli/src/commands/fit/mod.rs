//! `sumout fit`: learns the tables of a network from data.
//!
//! Reads examples, calls [`Network::fit`], and writes what was learned.

mod curve;
mod options;
mod outputs;
mod progress;
mod reading;
mod report;

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use sumout::learn::Checkpoint;
use sumout::{FitOptions, Fitted, Network, VarId};

use self::options::{Learning, Tables};
use self::progress::Bar;
use self::report::Report;
use crate::args::{Computing, Reading, Using};
use crate::data::Form;
use crate::output::{Outcome, Result, talk};
use crate::patience::Limiting;

const EXAMPLES: &str = "\
Examples:
  sumout data rect:10 -n 250 -o train.csv
  sumout fit rect:10 train.csv --target label -o learned.json -o label.sumout
  sumout eval label.sumout test.csv --metric
  sumout fit asia cases.csv --method em -o asia.bif          maximum likelihood, cells may be missing
  sumout fit rect:10 train.csv --target label -o learned.json --resume
  sumout fit rect:10 train.csv --target label --preset paper --curve curve.svg -o learned.json

Columns are found by their names; columns that are not variables are ignored, and all others are
inputs unless `--given` names some. In CSV and Parquet files, columns `NAME=VALUE`, as `eval` writes
them, are soft labels. A .npy file has a column for each input that `--given` names, in their order,
and then one for each target. All CPTs are learned that the model does not fix; in
models without roles, all that are not functions.";

/// Learn the tables of a network from examples.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The network: a file, `-` for standard input, `asia`, or a model such as `rect:8`.
    model: PathBuf,

    /// The examples: a .csv, .parquet or .npy file.
    data: PathBuf,

    /// Variables to predict; without any, the likelihood of the examples is maximised.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    target: Vec<String>,

    /// Variables to predict from, by name or by pattern; by default all others that the examples
    /// have.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    given: Vec<String>,

    /// Files to write: networks (.json keeps roles of tables) and a circuit (.sumout) for each
    /// target.
    #[arg(short, long, value_name = "FILE", required = true)]
    output: Vec<PathBuf>,

    /// Resume an interrupted run from its checkpoint.
    #[arg(long)]
    resume: bool,

    /// Draw the learning curve: loss and accuracy by epoch.
    #[arg(long, value_name = "FILE.svg")]
    curve: Option<PathBuf>,

    /// Column of a CSV or Parquet file with the weight of each example.
    #[arg(long, value_name = "COLUMN")]
    weights: Option<String>,

    /// Leave out rows that cannot be read, instead of stopping at the first.
    #[arg(long)]
    skip_bad_rows: bool,

    #[command(flatten)]
    form: Form,

    #[command(flatten)]
    learning: Learning,

    #[command(flatten)]
    tables: Tables,

    #[command(flatten)]
    computing: Computing,

    #[command(flatten)]
    using: Using,

    #[command(flatten)]
    limiting: Limiting,

    #[command(flatten)]
    reading: Reading,
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
    let task = args.tables.task(&net, &targets, &args.given, &examples)?;
    let checkpoint = args.checkpoint();
    let options = args.options().checkpoint(checkpoint.clone());
    let mut bar = Bar::new(checkpoint.path(), args.resume);
    let start = Instant::now();
    let fitted = args.limiting.resumable(|control| {
        let compile = args.computing.options().with_control(control.clone());
        let fitted = net.fit(&task, &examples, &options.compile(compile), &mut |event| {
            bar.show(event);
            control.check()
        });
        Ok(fitted?)
    });
    bar.finish();
    let fitted = fitted?;
    let seconds = start.elapsed().as_secs_f64();
    for warning in fitted.warnings() {
        talk(warning);
    }
    args.write(&net, &fitted)?;
    checkpoint.remove();
    Report {
        net: &net,
        fitted: &fitted,
        examples: examples.len(),
        seconds,
    }
    .write(json, out)
}

impl Args {
    fn options(&self) -> FitOptions {
        let compile = self.computing.options();
        self.learning
            .options(&self.tables, compile.seed())
            .eval(self.using.running(compile.memory()))
            .compile(compile)
    }

    /// The file beside the first output.
    fn checkpoint(&self) -> Checkpoint {
        let mut name = self.output[0].as_os_str().to_owned();
        name.push(".checkpoint");
        Checkpoint::new(name).resume(self.resume)
    }

    /// Writes networks and circuits, each circuit of the next target, and the curve.
    fn write(&self, net: &Network, fitted: &Fitted) -> Result<()> {
        let mut targets = self.target.iter();
        for path in &self.output {
            match outputs::is_circuit(path).then(|| targets.next()).flatten() {
                Some(target) => fitted.circuit(net.find(target)?)?.save(path)?,
                None => outputs::write_network(fitted.network(), path)?,
            }
            talk(&format!("wrote {}", path.display()));
        }
        match &self.curve {
            Some(_) if fitted.is_counted() => {
                talk("there is no curve to draw: complete examples are counted at once");
            }
            Some(path) => {
                let svg = curve::draw(fitted.history(), fitted.best());
                sumout::files::save(path, |file| file.write_all(svg.as_bytes()))?;
            }
            None => {}
        }
        Ok(())
    }
}
