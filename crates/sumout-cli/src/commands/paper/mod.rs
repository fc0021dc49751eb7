//! `sumout paper`: the paper's tables, computed again, with the paper's numbers beside ours.
//!
//! A table is made of [cells](store), which are kept as they come. Its rows are means over cells,
//! and are shown as text, JSON, CSV, Markdown or a page.

mod csv;
mod differences;
mod grid;
mod images;
mod learning;
mod machine;
mod markdown;
mod mean;
mod page;
mod random;
mod scalars;
mod store;
mod tac;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sumout::model::paper::scenes::Noise;
use sumout::{Error, ErrorKind, Objective};

use crate::args::effort;
use crate::output::{Outcome, Result, talk};
use grid::Table;
use store::{Cell, Store};

const EXAMPLES: &str = "\
Examples:
  sumout paper                                     all tables, in an hour or two
  sumout paper --quick                             a part of each, in a minute each
  sumout paper 1 --row rect:20                     some rows
  sumout paper --store results                     results are kept; the same again goes on
  sumout paper --store results --html page.html    and shown in a browser
  sumout paper 2 4 --trainable --store results     also what takes many hours
  sumout paper 5 --objective largest-cluster       random networks, for small clusters
  sumout paper tac                                 testing circuits, beside what the literature says of them
  sumout paper --json > tables.json";

/// Compute the paper's tables again, and show its numbers beside ours.
#[derive(clap::Args, Debug, Default)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The tables: 1 sizes and 2 accuracies for rectangles, 3 and 4 the same for digits, 5 random
    /// networks, 6 tensors against single numbers; all of these if none is named. And `tac`:
    /// testing circuits.
    #[arg(value_name = "TABLE", value_parser = table_number)]
    tables: Vec<u32>,

    /// Only rows whose names begin so: `rect:20`, `rect:10/paper`, `75/4/25`, `5-10M`.
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
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = learning::size)]
    examples: Vec<usize>,

    /// Make rectangles noisy as the paper's text says, and not as its author's program does.
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

    /// What plans for the random networks of Table 5 should have little of.
    #[arg(long, default_value_t = Objective::Entries, value_parser = objective_parser())]
    objective: Objective,

    #[command(flatten)]
    keeping: Keeping,
}

/// Where results are kept, and shown.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Results")]
struct Keeping {
    /// Keep results in this folder as they come, and take from it what is there already.
    #[arg(long, value_name = "FOLDER")]
    store: Option<PathBuf>,

    /// Compute nothing: show what is in the store, of as many runs and networks as there are.
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
    fn effort(&self) -> f64 {
        self.effort.unwrap_or(if self.quick { 0.1 } else { 1.0 })
    }

    fn noise(&self) -> Noise {
        if self.as_printed {
            Noise::Printed
        } else {
            Noise::Released
        }
    }

    /// The tables that are asked for, each once.
    fn tables(&self) -> sumout::Result<Vec<(u32, Compute)>> {
        let mut chosen: Vec<(u32, Compute)> = if self.tables.is_empty() {
            TABLES[..6].to_vec()
        } else {
            vec![]
        };
        for &number in &self.tables {
            if !chosen.iter().any(|(n, _)| *n == number) {
                chosen.push(find(number)?);
            }
        }
        Ok(chosen)
    }

    /// Whether CSV goes to standard output.
    fn prints_csv(&self) -> bool {
        self.keeping.csv.as_deref() == Some(Path::new("-"))
    }
}

/// A table while it is computed.
struct Work<'a> {
    args: &'a Args,
    store: &'a Store,
    bar: ProgressBar,
    number: u32,
}

impl Work<'_> {
    /// The rows that are asked for, of those that there are by their names.
    fn rows<T>(&self, all: Vec<(String, T)>) -> Vec<(String, T)> {
        let is_asked = |name: &str| {
            self.args.row.is_empty() || self.args.row.iter().any(|row| name.starts_with(row))
        };
        all.into_iter().filter(|(name, _)| is_asked(name)).collect()
    }

    /// A cell of a row, which depends on the seed and on what else is said.
    fn cell<T: Serialize + DeserializeOwned>(
        &self,
        row: &str,
        depends: Value,
        compute: impl FnOnce() -> sumout::Result<T>,
    ) -> sumout::Result<Option<Cell<T>>> {
        let key = json!({"table": grid::number(self.number), "row": row, "seed": self.args.seed, "depends": depends});
        self.store.cell(key, &self.bar, compute)
    }

    /// The table, once its rows are there.
    fn table(&self, title: &str, rows: Vec<Value>, machines: BTreeSet<String>) -> Table {
        let differences = differences::of(self.number);
        Table {
            number: self.number,
            title: title.into(),
            rows,
            grids: vec![],
            notes: vec![],
            differences,
            machines,
        }
    }
}

/// Computes a table, and moves a progress bar.
type Compute = fn(&Work<'_>) -> sumout::Result<Table>;

const TABLES: [(u32, Compute); 7] = [
    (1, images::rectangles),
    (2, learning::rectangles),
    (3, images::digits),
    (4, learning::digits),
    (5, random::networks),
    (6, scalars::networks),
    (tac::TAC, tac::circuits),
];

fn find(number: u32) -> sumout::Result<(u32, Compute)> {
    TABLES
        .into_iter()
        .find(|(n, _)| *n == number)
        .ok_or_else(|| {
            let numbers = TABLES.map(|(n, _)| grid::label(n)).join(", ");
            let error = Error::new(ErrorKind::Name, format!("the paper has no table {number}"));
            error.hint(format!("its tables are {numbers}"))
        })
}

/// The number of a table; testing circuits are called `tac`.
fn table_number(text: &str) -> std::result::Result<u32, String> {
    match text {
        "tac" => Ok(tac::TAC),
        _ => text
            .parse()
            .map_err(|_| "tables are 1 to 6, and tac".to_owned()),
    }
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
    let chosen = args.tables()?;
    let store = Store::new(args.keeping.store.as_deref(), args.keeping.stored)?;
    let mut tables: Vec<Table> = vec![];
    for (number, compute) in chosen {
        let work = Work {
            args,
            store: &store,
            bar: progress_bar(number),
            number,
        };
        let table = compute(&work)?;
        work.bar.finish_and_clear();
        if table.rows.is_empty() && !args.row.is_empty() {
            continue;
        }
        if !json && !args.prints_csv() {
            write!(
                out,
                "{}{}",
                if tables.is_empty() { "" } else { "\n" },
                table.text()
            )?;
            out.flush()?;
        }
        tables.push(table);
    }
    refuse_nothing(args, &tables)?;
    write_files(args, &tables)?;
    if json {
        writeln!(out, "{}", to_json(args, &tables))?;
    }
    if args.prints_csv() {
        csv::write(&tables, out)?;
    }
    Ok(Outcome::Done)
}

/// Rows that no table has are a mistake.
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

fn to_json(args: &Args, tables: &[Table]) -> Value {
    json!({
        "tables": tables.iter().map(Table::to_json).collect::<Vec<_>>(),
        "version": env!("CARGO_PKG_VERSION"),
        "seed": args.seed,
        "effort": args.effort(),
        "quick": args.quick,
        "as_printed": args.as_printed,
        "machine": machine::name(),
    })
}

fn write_files(args: &Args, tables: &[Table]) -> Result<()> {
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
            file.write_all(markdown::document(args, tables).as_bytes())
        })?;
        talk(&format!("wrote {}", path.display()));
    }
    if let Some(path) = html {
        let page = page::page(args, tables)?;
        sumout::files::save(path, |file| file.write_all(page.as_bytes()))?;
        talk(&format!("wrote {}", path.display()));
    }
    Ok(())
}

/// Shows on a terminal how much of a table is done.
fn progress_bar(table: u32) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len}, {elapsed}, about {eta} to go");
    ProgressBar::new(0)
        .with_prefix(format!("table {}", grid::label(table)))
        .with_style(style.expect("the template is well formed"))
}
