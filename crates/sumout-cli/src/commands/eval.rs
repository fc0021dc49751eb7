//! `sumout eval`: posteriors for every row of a file, in constant memory.

use std::io::{IsTerminal, Write, stderr};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use sumout::{Answers, Circuit, Error, ErrorKind};

use crate::args::{Using, size};
use crate::data::{self, Chunk, Output, Source};
use crate::output::{Outcome, Result, talk};
use crate::text::{counted, grouped};

const EXAMPLES: &str = "\
Examples:
  sumout compile asia lung --given xray dysp -o lung.sumout
  sumout sample asia -n 1000 -o cases.csv
  sumout eval lung.sumout cases.csv -o posteriors.csv
  sumout eval lung.sumout cases.npy -o posteriors.npy --resume

Columns of a CSV file are found by their names; empty cells are missing. A .npy file has a column of value
positions for each input, in the order of the network, negative where missing.";

/// Posteriors for every row of a CSV or npy file.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The circuit: a file that `sumout compile -o` has written.
    circuit: PathBuf,

    /// The rows: a .csv or .npy file, or `-` for CSV from standard input.
    data: PathBuf,

    /// The file to write, .csv or .npy; without it, CSV to standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Go on after the rows that an interrupted run has written.
    #[arg(long, requires = "output")]
    resume: bool,

    /// Leave rows that cannot be read without an answer, instead of stopping at the first.
    #[arg(long)]
    skip_bad_rows: bool,

    #[command(flatten)]
    using: Using,

    /// Refuse circuits that need more memory, such as 8GiB; without it, three quarters of what is free.
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Computing")]
    memory: Option<u64>,
}

/// So many rows are read, computed and written at a time.
const ROWS: usize = 8192;

pub fn run(args: &Args, json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let circuit = Circuit::load(&args.circuit)?;
    args.refuse_overwriting()?;
    let source = data::open(&args.data, &circuit)?;
    if !source.missing().is_empty() {
        talk(&format!("inputs without a column are missing in all rows: {}", source.missing().join(", ")));
    }
    if !source.ignored().is_empty() {
        talk(&format!("columns that are no inputs are ignored: {}", source.ignored().join(", ")));
    }
    let mut evaluation = Evaluation { args, circuit: &circuit, seen: Seen::default() };
    let start = Instant::now();
    match args.output.as_deref().filter(|path| *path != Path::new("-")) {
        Some(path) => evaluation.fill_file(path, source)?,
        None => evaluation.fill_stdout(source, if json { None } else { Some(out) })?,
    }
    evaluation.seen.report(start.elapsed(), json, out)?;
    Ok(Outcome::Done)
}

impl Args {
    /// Answers must not take the place of what they are computed from.
    fn refuse_overwriting(&self) -> Result<()> {
        let real = |path: &Path| path.canonicalize().ok();
        let output = self.output.as_deref().and_then(real);
        match [&self.circuit, &self.data].into_iter().find(|path| output.is_some() && real(path) == output) {
            None => Ok(()),
            Some(path) => {
                let error =
                    Error::new(ErrorKind::Io, format!("`{}` would be overwritten by the answers", path.display()));
                Err(error.hint("give `-o` another name").into())
            }
        }
    }
}

/// What a run has come across.
#[derive(Default)]
struct Seen {
    rows: u64,
    impossible: u64,
    bad: u64,
    resumed: u64,
}

impl Seen {
    fn report(&self, time: Duration, json: bool, out: &mut dyn Write) -> Result<()> {
        let rate = self.rows as f64 / time.as_secs_f64().max(1e-9);
        if json {
            let Seen { rows, impossible, bad, resumed } = self;
            let report = json!({
                "rows": rows, "impossible": impossible, "bad": bad, "resumed_after": resumed,
                "seconds": time.as_secs_f64(), "rows_per_second": rate,
            });
            writeln!(out, "{report}")?;
            return Ok(());
        }
        let mut text = format!("{} in {:.2} s", counted(self.rows as usize, "row"), time.as_secs_f64());
        text += &format!(" ({} rows a second)", grouped(rate as usize));
        if self.impossible > 0 {
            text += &format!(", {} impossible", grouped(self.impossible as usize));
        }
        if self.bad > 0 {
            text += &format!(", {} bad and left empty", grouped(self.bad as usize));
        }
        talk(&text);
        Ok(())
    }
}

struct Evaluation<'a> {
    args: &'a Args,
    circuit: &'a Circuit,
    seen: Seen,
}

impl Evaluation<'_> {
    fn fill_file(&mut self, path: &Path, source: Box<dyn Source>) -> Result<()> {
        let fail = |e: std::io::Error| Error::new(ErrorKind::Io, format!("cannot write `{}`: {e}", path.display()));
        let mut output = Output::open(path, self.circuit, self.args.resume).map_err(fail)?;
        self.seen.resumed = output.rows();
        self.each(source, output.rows(), |answers, bad| Ok(output.write(answers, bad).map_err(fail)?))?;
        output.finish().map_err(fail)?;
        Ok(())
    }

    /// Writes rows to standard output, unless only a report is wanted there.
    fn fill_stdout(&mut self, source: Box<dyn Source>, mut out: Option<&mut dyn Write>) -> Result<()> {
        if let Some(out) = &mut out {
            data::write_header(out, &data::columns(self.circuit))?;
        }
        self.each(source, 0, |answers, bad| {
            let Some(out) = &mut out else { return Ok(()) };
            for row in 0..answers.log_evidence.len() {
                data::write_row(out, answers, row, bad.binary_search(&row).is_ok())?;
            }
            Ok(out.flush()?)
        })
    }

    /// Evaluates chunk after chunk; while one is computed, another thread reads the next.
    fn each(
        &mut self,
        source: Box<dyn Source>,
        skipped: u64,
        mut write: impl FnMut(&Answers, &[usize]) -> Result<()>,
    ) -> Result<()> {
        let evaluator = self.circuit.evaluator(&self.args.using.running(self.args.memory))?;
        let bar = progress(source.len());
        bar.inc(skipped);
        let (send, receive) = sync_channel(2);
        thread::scope(|scope| {
            scope.spawn(move || read_all(source, skipped, |chunk| send.send(chunk).is_ok()));
            let receive: Receiver<sumout::Result<Chunk>> = receive;
            for chunk in receive {
                let mut chunk = chunk?;
                chunk.check_hard(self.circuit)?;
                self.refuse_bad(&chunk, skipped)?;
                let answers = evaluator.run(&chunk.batch(self.circuit)?)?;
                let bad: Vec<usize> = chunk.bad.iter().map(|(row, _)| *row).collect();
                write(&answers, &bad)?;
                let is_impossible = |row: &usize| answers.is_impossible(*row) && bad.binary_search(row).is_err();
                self.seen.impossible += (0..chunk.rows).filter(is_impossible).count() as u64;
                self.seen.bad += bad.len() as u64;
                self.seen.rows += chunk.rows as u64;
                bar.inc(chunk.rows as u64);
            }
            bar.finish_and_clear();
            Ok(())
        })
    }

    /// Says which rows cannot be read; stops unless they are to be skipped.
    fn refuse_bad(&self, chunk: &Chunk, skipped: u64) -> Result<()> {
        for (said, (row, what)) in chunk.bad.iter().enumerate() {
            let number = skipped + self.seen.rows + *row as u64 + 1;
            if !self.args.skip_bad_rows {
                let error = Error::new(ErrorKind::Evidence, format!("row {number}: {what}"));
                return Err(error.hint("correct it, or leave such rows empty with `--skip-bad-rows`").into());
            }
            if self.seen.bad + (said as u64) < 10 {
                talk(&format!("row {number} is left empty: {what}"));
            }
        }
        Ok(())
    }
}

/// Reads all chunks but the rows that are there already; until an error, or until nobody takes them.
fn read_all(mut source: Box<dyn Source>, mut skip: u64, mut take: impl FnMut(sumout::Result<Chunk>) -> bool) {
    loop {
        let rows = if skip > 0 { skip.min(ROWS as u64) as usize } else { ROWS };
        match source.next(rows) {
            Ok(None) => {
                if skip > 0 {
                    let error =
                        Error::new(ErrorKind::Io, format!("the unfinished file has {skip} rows more than the data"));
                    take(Err(error.hint("remove it, or run without --resume")));
                }
                return;
            }
            Ok(Some(chunk)) if skip > 0 => skip -= chunk.rows as u64,
            Ok(Some(chunk)) => {
                if !take(Ok(chunk)) {
                    return;
                }
            }
            Err(error) => {
                take(Err(error));
                return;
            }
        }
    }
}

/// A bar on a terminal: rows, how many a second, and how long it will take if that is known.
fn progress(rows: Option<u64>) -> ProgressBar {
    if !stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, style) = match rows {
        Some(rows) => (ProgressBar::new(rows), "{bar:30} {human_pos} of {human_len} rows, {per_sec}, {eta} left"),
        None => (ProgressBar::no_length(), "{spinner} {human_pos} rows, {per_sec}"),
    };
    bar.with_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()))
}
