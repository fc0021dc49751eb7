//! `sumout eval`: posteriors or explanations for every row of a file, in constant memory.

mod pipeline;
mod scores;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use sumout::{Circuit, Control, Error, ErrorKind, Network};

use self::pipeline::{Pipeline, Seen};
use self::scores::{Metric, Scores};
use crate::args::{Using, size};
use crate::data::{self, Fingerprint, Form, Ignored, Manifest, Output, Source, Titles};
use crate::output::{Outcome, Result, talk};
use crate::patience::Limiting;
use crate::text::{counted, grouped};

const EXAMPLES: &str = "\
Examples:
  sumout compile asia lung --given xray dysp -o lung.sumout
  sumout sample asia -n 1000 -o cases.csv
  sumout eval lung.sumout cases.csv -o posteriors.csv
  sumout eval lung.sumout cases.parquet -o posteriors.parquet --resume
  sumout eval faults.sumout cases.csv --value broken
  sumout eval lung.sumout cases.csv --metric       accuracy and more, by the column `lung`

Columns of CSV and Parquet files are found by their names; empty cells are missing. A .npy file has a column of value
positions for each input, in the order of the circuit, negative where missing; with `--metric`, a last one of labels.";

/// Posteriors, or most probable explanations, for every row of a CSV, Parquet or npy file.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The circuit: a file written by `sumout compile -o`.
    circuit: PathBuf,

    /// The rows: a .csv, .parquet or .npy file, or `-` for CSV from standard input.
    data: PathBuf,

    /// The file to write, .csv, .parquet or .npy; without it, CSV to standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Compare the answers with labels, the values in the target's column, by these metrics or by
    /// all; answers are then only written to a file.
    #[arg(long, value_name = "NAME", num_args = 0.., value_delimiter = ',', conflicts_with = "resume")]
    metric: Option<Vec<Metric>>,

    /// Write only the probabilities of this value, a column for each target that has it.
    #[arg(long, value_name = "VALUE", conflicts_with_all = ["metric", "predict"])]
    value: Option<String>,

    /// Continue after the rows that an interrupted run has written.
    #[arg(long, requires = "output")]
    resume: bool,

    /// Write this many explanations in each row, the most probable first, with a circuit that
    /// was compiled with `--mpe`: the columns of the second are `VAR.2` and `log_probability.2`.
    #[arg(short = 'k', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    explanations: Option<u32>,

    /// Leave rows that cannot be read without an answer, instead of stopping at the first.
    #[arg(long)]
    skip_bad_rows: bool,

    /// Carry these columns of a CSV file through, before the answers.
    #[arg(long, value_name = "COLUMN", num_args = 1..)]
    keep: Vec<String>,

    /// Also write the most probable value of each target; none where several are.
    #[arg(long)]
    predict: bool,

    #[command(flatten)]
    form: Form,

    #[command(flatten)]
    using: Using,

    #[command(flatten)]
    limiting: Limiting,

    /// Refuse circuits that need more memory, such as 8GiB; without it, three quarters of what is
    /// free.
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Computing")]
    memory: Option<u64>,
}

pub fn run(args: &Args, json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let circuit = load(&args.circuit)?;
    args.refuse_overwriting()?;
    args.refuse_explanations(&circuit)?;
    let mut scores = args
        .metric
        .as_ref()
        .map(|metrics| Scores::new(&circuit, metrics))
        .transpose()?;
    let mut source = match &scores {
        Some(scores) => scores.open(&args.data, &args.form)?,
        None => data::open(&args.data, &circuit, &args.form)?,
    };
    source.keep(&args.keep)?;
    args.refuse_columns(&circuit, json)?;
    let columns = source.columns();
    if !columns.missing.is_empty() {
        talk(&format!(
            "inputs without a column are missing in all rows: {}",
            columns.missing.join(", ")
        ));
    }
    if !columns.ignored.is_empty() {
        let ignored: Vec<String> = columns.ignored.iter().map(Ignored::to_string).collect();
        talk(&format!(
            "ignoring columns that are not inputs: {}",
            ignored.join(", ")
        ));
    }
    let start = Instant::now();
    let path = args
        .output
        .as_deref()
        .filter(|path| *path != Path::new("-"));
    let seen = args.limiting.resumable(|control| {
        let scores = scores.as_mut();
        match path {
            Some(path) => args.fill_file(path, &circuit, source, control, scores),
            None => args.fill_stdout(&circuit, source, control, scores, json, out),
        }
    })?;
    scores.iter().try_for_each(Scores::check)?;
    let json = json && (scores.is_some() || path.is_some());
    report(&seen, start.elapsed(), scores.as_ref(), json, out)?;
    Ok(Outcome::Done)
}

/// Reads a circuit; a network gets a hint.
fn load(path: &Path) -> Result<Circuit> {
    Circuit::load(path).map_err(|error| {
        if Network::read(path).is_err() {
            return error.into();
        }
        let name = path.display();
        let error = Error::new(
            ErrorKind::Format,
            format!("`{name}` is a network, not a circuit"),
        );
        error
            .hint(format!(
                "compile it first: `sumout compile {name} TARGET --given INPUT … -o FILE.sumout`"
            ))
            .into()
    })
}

impl Args {
    /// The number of explanations in each row.
    fn count(&self) -> usize {
        self.explanations.unwrap_or(1) as usize
    }

    /// Posteriors are not ranked, and explanations are values already.
    fn refuse_explanations(&self, circuit: &Circuit) -> Result<()> {
        if self.predict && circuit.explains() {
            let message = "`--predict` is for posteriors, and the circuit explains";
            let error = Error::new(ErrorKind::Unsupported, message);
            return Err(error
                .hint("leave out `--predict`: explanations consist of values")
                .into());
        }
        if self.explanations.is_none() || circuit.explains() {
            return Ok(());
        }
        let error = Error::new(
            ErrorKind::Unsupported,
            "`-k` needs a circuit for explanations, and this one is for posteriors",
        );
        Err(error.hint("compile one with `--mpe`").into())
    }

    /// Answers must not overwrite their inputs.
    fn refuse_overwriting(&self) -> Result<()> {
        let real = |path: &Path| path.canonicalize().ok();
        let output = self.output.as_deref().and_then(real);
        match [&self.circuit, &self.data]
            .into_iter()
            .find(|path| output.is_some() && real(path) == output)
        {
            None => Ok(()),
            Some(path) => {
                let error = Error::new(
                    ErrorKind::Options,
                    format!("`{}` would be overwritten by the answers", path.display()),
                );
                Err(error.hint("give `-o` another name").into())
            }
        }
    }

    fn pipeline<'a>(
        &'a self,
        circuit: &'a Circuit,
        control: Control,
        scores: Option<&Scores<'_>>,
    ) -> Result<Pipeline<'a>> {
        let (running, label) = (self.using.running(self.memory), scores.map(Scores::target));
        let (titles, columns) = self.titles(circuit)?;
        Ok(Pipeline {
            circuit,
            titles,
            columns,
            running,
            count: self.count(),
            label,
            skip_bad_rows: self.skip_bad_rows,
            control,
            earlier: 0,
            checks: vec![],
        })
    }

    /// The titles of the columns, and which they are if not all.
    fn titles(&self, circuit: &Circuit) -> sumout::Result<(Titles, Vec<usize>)> {
        let titles = Titles::new(circuit, self.using.precision, self.count());
        let (titles, columns) = match &self.value {
            None => (titles, vec![]),
            Some(value) => titles.of_value(circuit, value)?,
        };
        Ok((titles.with(&self.keep, self.predict), columns))
    }

    fn fill_file(
        &self,
        path: &Path,
        circuit: &Circuit,
        source: Box<dyn Source>,
        control: Control,
        mut scores: Option<&mut Scores<'_>>,
    ) -> Result<Seen> {
        let fail = |e: io::Error| Error::io(format_args!("cannot write `{}`", path.display()), e);
        let manifest = self.manifest(circuit)?;
        let (mut output, checks) = match self.resume {
            true => Output::resume(path, &manifest).map_err(|e| unfit(path, &e))?,
            false => (Output::create(path, &manifest).map_err(fail)?, vec![]),
        };
        let pipeline = Pipeline {
            earlier: output.rows(),
            checks,
            ..self.pipeline(circuit, control, scores.as_deref())?
        };
        let seen = pipeline.run(source, |rows, check| {
            scores.iter_mut().for_each(|scores| scores.add(rows));
            Ok(output.write(rows, check).map_err(fail)?)
        });
        if seen.is_err() && output.rows() > 0 {
            let rows = counted(output.rows() as usize, "row");
            talk(&format!(
                "{rows} are in {}.partial, and `--resume` continues after them",
                path.display()
            ));
        }
        let seen = seen?;
        output.finish().map_err(fail)?;
        Ok(seen)
    }

    fn manifest(&self, circuit: &Circuit) -> Result<Manifest> {
        let fail = |e| Error::io(format_args!("cannot read `{}`", self.circuit.display()), e);
        let bytes = fs::read(&self.circuit).map_err(fail)?;
        let precision = self.using.precision;
        Ok(Manifest {
            circuit: Fingerprint::of(&bytes),
            precision,
            titles: self.titles(circuit)?.0,
        })
    }

    /// Matrices have numbers alone, and tables have columns of different names.
    fn refuse_columns(&self, circuit: &Circuit, json: bool) -> Result<()> {
        let extension = self
            .output
            .as_ref()
            .and_then(|path| path.extension()?.to_str());
        let is_matrix = matches!(extension, Some("npy" | "parquet" | "pq"));
        let titles = self.titles(circuit)?.0;
        if !(is_matrix && titles.has_text()) {
            let has_names = extension != Some("npy") && (self.output.is_some() || !json);
            return match has_names {
                true => Ok(titles.refuse_duplicates()?),
                false => Ok(()),
            };
        }
        let message = "columns of text beside the answers are only written to CSV";
        let error = Error::new(ErrorKind::Format, message);
        Err(error
            .hint("write a .csv file, or leave out `--keep` and `--predict`")
            .into())
    }

    /// Writes rows to standard output, unless metrics are wanted there.
    fn fill_stdout(
        &self,
        circuit: &Circuit,
        source: Box<dyn Source>,
        control: Control,
        mut scores: Option<&mut Scores<'_>>,
        json: bool,
        out: &mut dyn Write,
    ) -> Result<Seen> {
        let mut out = Some(out).filter(|_| scores.is_none());
        if let Some(out) = out.as_mut().filter(|_| !json) {
            out.write_all(&data::csv_header(&self.titles(circuit)?.0.names)?)?;
        }
        self.pipeline(circuit, control, scores.as_deref())?
            .run(source, |rows, _| {
                scores.iter_mut().for_each(|scores| scores.add(rows));
                Ok(match &mut out {
                    Some(out) if json => rows.write_json(*out),
                    Some(out) => rows.write_csv(*out),
                    None => Ok(()),
                }?)
            })
    }
}

/// An unfinished file that cannot be resumed.
fn unfit(path: &Path, error: &std::io::Error) -> Error {
    let message = format!("cannot continue from `{}.partial`: {error}", path.display());
    Error::new(ErrorKind::Io, message).hint("run without `--resume` to start again")
}

fn report(
    seen: &Seen,
    time: Duration,
    scores: Option<&Scores<'_>>,
    json: bool,
    out: &mut dyn Write,
) -> Result<()> {
    let Seen {
        rows,
        impossible,
        bad,
        resumed,
    } = seen;
    let rate = *rows as f64 / time.as_secs_f64().max(1e-9);
    if json {
        let mut report = json!({
            "rows": rows, "impossible": impossible, "bad": bad, "resumed_after": resumed,
            "seconds": time.as_secs_f64(), "rows_per_second": rate,
        });
        if let Some(scores) = scores {
            report["metrics"] = scores.json();
        }
        writeln!(out, "{report}")?;
        return Ok(());
    }
    let mut text = format!(
        "{} in {:.2} s",
        counted(*rows as usize, "row"),
        time.as_secs_f64()
    );
    text += &format!(" ({} rows a second)", grouped(rate as usize));
    if *resumed > 0 {
        text += &format!(", after {} of an earlier run", grouped(*resumed as usize));
    }
    if *impossible > 0 {
        text += &format!(", {} impossible", grouped(*impossible as usize));
    }
    if *bad > 0 {
        text += &format!(", {} bad and left empty", grouped(*bad as usize));
    }
    talk(&text);
    if let Some(scores) = scores {
        scores.remarks().iter().for_each(|remark| talk(remark));
        scores.write(out)?;
    }
    Ok(())
}
