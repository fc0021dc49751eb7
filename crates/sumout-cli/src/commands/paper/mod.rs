//! `sumout paper`: the paper's tables, computed again, with the paper's numbers beside ours.

mod images;
mod learning;
mod random;

use std::io::Write;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use sumout::{Error, ErrorKind, Objective};

use crate::args::effort;
use crate::output::{Outcome, Result};

const EXAMPLES: &str = "\
Examples:
  sumout paper                                     all tables, in some minutes
  sumout paper 1 3 --quick                         some of them, in a minute each
  sumout paper 5 --objective largest-cluster       random networks, for small clusters
  sumout paper --json > tables.json";

/// Compute the paper's tables again, and show its numbers beside ours.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The tables: 1 sizes and 2 accuracies for rectangles, 3 and 4 the same for digits, 5 random networks; all of them if
    /// none is named.
    #[arg(value_name = "TABLE")]
    tables: Vec<u32>,

    /// Fewer rows or networks, and a shorter search: a minute for each table at most.
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

    /// Seed the search for plans, in Tables 2 and 4 the examples and runs, and in Table 5 the networks.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Search longer (2 = twice as long) or shorter (0.1) for good plans; 1 if not given, 0.1 with `--quick`.
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = effort)]
    effort: Option<f64>,

    /// What plans for the random networks of Table 5 should have little of.
    #[arg(long, default_value_t = Objective::Entries, value_parser = objective_parser())]
    objective: Objective,
}

impl Args {
    fn effort(&self) -> f64 {
        self.effort.unwrap_or(if self.quick { 0.1 } else { 1.0 })
    }

    /// The tables that are asked for, each once.
    fn tables(&self) -> sumout::Result<Vec<(u32, Compute)>> {
        let mut chosen: Vec<(u32, Compute)> = if self.tables.is_empty() { TABLES.to_vec() } else { vec![] };
        for &number in &self.tables {
            if !chosen.iter().any(|(n, _)| *n == number) {
                chosen.push(find(number)?);
            }
        }
        Ok(chosen)
    }
}

/// A table as it came out.
struct Table {
    /// The rows, each with the paper's numbers.
    rows: Vec<Value>,
    /// The same for people.
    text: String,
}

/// Computes a table, and moves a progress bar.
type Compute = fn(&Args, &ProgressBar) -> sumout::Result<Table>;

const TABLES: [(u32, Compute); 5] = [
    (1, images::rectangles),
    (2, learning::rectangles),
    (3, images::digits),
    (4, learning::digits),
    (5, random::networks),
];

fn find(number: u32) -> sumout::Result<(u32, Compute)> {
    TABLES.into_iter().find(|(n, _)| *n == number).ok_or_else(|| {
        let numbers = TABLES.map(|(n, _)| n.to_string()).join(", ");
        let error = Error::new(ErrorKind::Name, format!("table {number} cannot be computed"));
        error.hint(format!("these can: {numbers}"))
    })
}

fn objective_parser() -> impl TypedValueParser<Value = Objective> {
    PossibleValuesParser::new(Objective::names()).try_map(|name| name.parse::<Objective>())
}

pub fn run(args: &Args, json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let mut all = vec![];
    for (number, compute) in args.tables()? {
        let bar = progress_bar(number);
        let Table { rows, text } = compute(args, &bar)?;
        bar.finish_and_clear();
        if !json {
            write!(out, "{}Table {number}: {text}", if all.is_empty() { "" } else { "\n" })?;
            out.flush()?;
        }
        all.push(json!({"table": number, "rows": rows}));
    }
    if json {
        writeln!(out, "{}", json!({"tables": all}))?;
    }
    Ok(Outcome::Done)
}

/// Shows on a terminal how much of a table is done.
fn progress_bar(table: u32) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len}, {elapsed}, about {eta} to go");
    ProgressBar::new(0).with_prefix(format!("table {table}")).with_style(style.expect("the template is well formed"))
}
