//! `sumout paper`: the paper's tables, computed again, with the paper's numbers beside ours.
//!
//! The tables come from the crate `sumout-paper`, and are shown as text, JSON, CSV, Markdown or a
//! page.

mod text;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use sumout::{Error, ErrorKind, Objective};
use sumout_paper::printed::EXAMPLES as EXAMPLE_COUNTS;
use sumout_paper::{NUMBERS, Settings, Store, TAC, Table, csv, markdown, page, refuse_unknown};

use crate::args::effort;
use crate::output::{Outcome, Result, talk};
use crate::patience::Lines;

const EXAMPLES: &str = "\
Examples:
  sumout paper                                     all tables, in an hour or two
  sumout paper --quick                             a part of each, in a minute each
  sumout paper 1 --row rect:20                     some rows
  sumout paper --store results                     results are kept; the same again goes on
  sumout paper --store results --html page.html    and shown in a browser
  sumout paper 2 4 --trainable --store results     also what takes many hours
  sumout paper 5 --objective largest-cluster       random networks, for small clusters
  sumout paper tac                                 testing circuits, beside the numbers of the literature
  sumout paper --json > tables.json";

/// Recompute the paper's tables, with its numbers beside ours.
#[derive(clap::Args, Debug, Default)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The tables: 1 sizes and 2 accuracies for rectangles, 3 and 4 the same for digits, 5 random
    /// networks, 6 tensors against single numbers; all of these if none is named. And `tac`:
    /// testing circuits.
    #[arg(value_name = "TABLE", value_parser = table_number)]
    tables: Vec<u32>,

    /// Only rows whose names start with NAME: `rect:20`, `rect:10/paper`, `75/4/25`, `5-10M`.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    row: Vec<String>,

    /// Fewer rows, networks and runs, and a shorter search: a minute for each table at most.
    #[arg(long)]
    quick: bool,

    /// The runs of Tables 2 and 4 for each number of examples; 25 if not given, 4 with `--quick`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=10_000))]
    runs: Option<u64>,

    /// Also the rows of Tables 2 and 4 with trainable functions, which take long.
    #[arg(long)]
    trainable: bool,

    /// Only these numbers of examples in Tables 2 and 4, such as `25,100`.
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = number_of_examples)]
    examples: Vec<usize>,

    /// Use the noise for rectangles of the paper's text, not of its author's program.
    #[arg(long)]
    as_printed: bool,

    /// Seed the search for plans, in Tables 2 and 4 the examples and runs, and in Tables 5 and 6
    /// the networks.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Search longer (2 = twice as long) or shorter (0.1) for good plans; 1 if not given, 0.1 with
    /// `--quick`.
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = effort)]
    effort: Option<f64>,

    /// The quantity that the planner minimises for the random networks of Table 5.
    #[arg(long, default_value_t = Objective::Entries, value_parser = objective_parser())]
    objective: Objective,

    #[command(flatten)]
    keeping: Keeping,
}

/// Where results are kept, and shown.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Results")]
struct Keeping {
    /// Store results in this folder as they are computed, and reuse those that are there.
    #[arg(long, value_name = "FOLDER")]
    store: Option<PathBuf>,

    /// Compute nothing: show the stored results of all runs and networks that are there.
    #[arg(long, requires = "store")]
    stored: bool,

    /// Write a page with tables, plots and sample images.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write a line for each number, ours and the paper's: to a file, or to standard output if it
    /// is `-`.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Write the tables as Markdown.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

impl Args {
    fn settings(&self) -> Settings {
        Settings {
            rows: self.row.clone(),
            quick: self.quick,
            runs: self.runs.map(|runs| runs as usize),
            trainable: self.trainable,
            examples: self.examples.clone(),
            as_printed: self.as_printed,
            seed: self.seed,
            effort: self.effort,
            objective: self.objective,
        }
    }

    /// The tables that are asked for, each once.
    fn tables(&self) -> sumout::Result<Vec<u32>> {
        let mut chosen = vec![];
        for &number in &self.tables {
            refuse_unknown(number)?;
            if !chosen.contains(&number) {
                chosen.push(number);
            }
        }
        if chosen.is_empty() {
            chosen.extend(NUMBERS);
        }
        Ok(chosen)
    }

    /// Whether CSV goes to standard output.
    fn prints_csv(&self) -> bool {
        self.keeping.csv.as_deref() == Some(Path::new("-"))
    }
}

/// The number of a table; testing circuits are called `tac`.
fn table_number(text: &str) -> std::result::Result<u32, String> {
    match text {
        "tac" => Ok(TAC),
        _ => text
            .parse()
            .map_err(|_| "tables are 1 to 6, and tac".to_owned()),
    }
}

/// A number of examples that the paper has, too.
fn number_of_examples(text: &str) -> std::result::Result<usize, String> {
    let known = text.parse().ok().filter(|n| EXAMPLE_COUNTS.contains(n));
    known.ok_or_else(|| {
        let counts = EXAMPLE_COUNTS.map(|n| n.to_string());
        format!("the paper has {}", counts.join(", "))
    })
}

fn objective_parser() -> impl TypedValueParser<Value = Objective> {
    PossibleValuesParser::new(Objective::names()).try_map(|name| name.parse::<Objective>())
}

pub fn run(args: &Args, json: bool, out: &mut dyn Write) -> Result<Outcome> {
    if json && args.prints_csv() {
        let error = Error::new(
            ErrorKind::Options,
            "`--json` and `--csv -` both print to standard output",
        );
        return Err(error.hint("write the CSV to a file").into());
    }
    let (chosen, settings) = (args.tables()?, args.settings());
    let store = Store::new(args.keeping.store.as_deref(), args.keeping.stored)?;
    let mut tables: Vec<Table> = vec![];
    for number in chosen {
        let table = compute(number, &settings, &store)?;
        if table.rows.is_empty() && !args.row.is_empty() {
            continue;
        }
        if !json && !args.prints_csv() {
            let gap = if tables.is_empty() { "" } else { "\n" };
            write!(out, "{gap}{}", text::of(&table))?;
            out.flush()?;
        }
        tables.push(table);
    }
    refuse_nothing(args, &tables)?;
    write_files(args, &settings, &tables)?;
    if json {
        writeln!(out, "{}", to_json(&settings, &tables))?;
    }
    if args.prints_csv() {
        csv::write(&tables, out)?;
    }
    Ok(Outcome::Done)
}

/// Computes a table, and shows on a terminal how much of it is done.
fn compute(number: u32, settings: &Settings, store: &Store) -> sumout::Result<Table> {
    let bar = progress_bar(number);
    let lines = Mutex::new(Lines::default());
    let progress = |done: usize, all: usize| {
        let text = || format!("table {}, {done} of {all}", sumout_paper::label(number));
        lines.lock().iter_mut().for_each(|lines| lines.tell(text));
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    };
    let table = sumout_paper::table(number, settings, store, &progress);
    bar.finish_and_clear();
    table
}

/// Refuses rows that are in no table.
fn refuse_nothing(args: &Args, tables: &[Table]) -> sumout::Result<()> {
    if !tables.is_empty() {
        return Ok(());
    }
    let error = Error::new(
        ErrorKind::Name,
        format!("no row's name begins with `{}`", args.row.join("` or `")),
    );
    Err(error.hint("rows are called such as `rect:20`, `digits:10/default`, `75/4/25` or `5-10M`; those with `trainable` need `--trainable`"))
}

fn to_json(settings: &Settings, tables: &[Table]) -> Value {
    json!({
        "tables": tables.iter().map(Table::to_json).collect::<Vec<_>>(),
        "version": env!("CARGO_PKG_VERSION"),
        "seed": settings.seed,
        "effort": settings.effort(),
        "quick": settings.quick,
        "as_printed": settings.as_printed,
        "machine": sumout_paper::machine(),
    })
}

fn write_files(args: &Args, settings: &Settings, tables: &[Table]) -> Result<()> {
    let Keeping {
        html,
        csv,
        markdown,
        ..
    } = &args.keeping;
    if let Some(path) = csv.as_deref().filter(|_| !args.prints_csv()) {
        sumout::files::save(path, |file| csv::write(tables, file))?;
        talk(&format!("wrote {}", path.display()));
    }
    if let Some(path) = markdown {
        sumout::files::save(path, |file| {
            file.write_all(markdown::document(settings, tables).as_bytes())
        })?;
        talk(&format!("wrote {}", path.display()));
    }
    if let Some(path) = html {
        let page = page::page(settings, tables)?;
        sumout::files::save(path, |file| file.write_all(page.as_bytes()))?;
        talk(&format!("wrote {}", path.display()));
    }
    Ok(())
}

fn progress_bar(table: u32) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len}, {elapsed}, about {eta} to go");
    ProgressBar::new(0)
        .with_prefix(format!("table {}", sumout_paper::label(table)))
        .with_style(style.expect("the template is well formed"))
}
