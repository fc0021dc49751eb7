//! `sumout sample`: draws cases from a network, one row each, in constant memory.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use sumout::Network;
use sumout::model::Sampler;

use crate::args::Reading;
use crate::output::{Outcome, Result, save, talk};
use crate::text::counted;

const EXAMPLES: &str = "\
Examples:
  sumout sample asia -n 1000 > cases.csv           a header, then a case in each line
  sumout sample asia -n 1000 -o cases.csv          complete, or not there at all
  sumout sample asia -n 3 --json                   one JSON object in each line";

/// Draw complete cases at random, as CSV.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The network: a file, `-` for standard input, or `asia`.
    model: PathBuf,

    /// How many cases.
    #[arg(short = 'n', long, value_name = "N")]
    rows: u64,

    /// The same seed gives the same cases.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// The file to write; without it, standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    reading: Reading,
}

pub fn run(args: &Args, json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let net = args.reading.network(&args.model)?;
    let sampler = net.sampler(args.seed)?;
    let write = if json { write_json } else { write_csv };
    match args.output.as_deref().filter(|path| *path != Path::new("-")) {
        None => write(&net, sampler, args.rows, out)?,
        Some(path) => {
            save(path, |file| write(&net, sampler, args.rows, file))?;
            talk(&format!("wrote {} to {}", counted(args.rows as usize, "case"), path.display()));
        }
    }
    Ok(Outcome::Done)
}

fn write_csv(net: &Network, mut sampler: Sampler, rows: u64, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(net.variables().iter().map(|v| &v.name)).map_err(cause)?;
    for _ in 0..rows {
        let case = sampler.draw();
        let values = net.variables().iter().zip(case).map(|(v, &value)| &v.values[value as usize]);
        csv.write_record(values).map_err(cause)?;
    }
    csv.flush()
}

/// What is behind an error of the CSV writer; its own conversion hides that a pipe was closed.
fn cause(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn write_json(net: &Network, mut sampler: Sampler, rows: u64, out: &mut dyn Write) -> io::Result<()> {
    let quoted = |text: &String| Value::from(text.as_str()).to_string();
    let members: Vec<Vec<String>> = net
        .variables()
        .iter()
        .map(|v| v.values.iter().map(|value| format!("{}:{}", quoted(&v.name), quoted(value))).collect())
        .collect();
    for _ in 0..rows {
        let case = sampler.draw();
        let object: Vec<&str> = members.iter().zip(case).map(|(m, &value)| m[value as usize].as_str()).collect();
        writeln!(out, "{{{}}}", object.join(","))?;
    }
    Ok(())
}
