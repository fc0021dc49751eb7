//! `sumout sample`: draws cases from a network, one row each, in constant memory.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use sumout::files::save;
use sumout::model::Sampler;
use sumout::{Network, VarId};

use crate::args::Reading;
use crate::data::{npy_header, tables};
use crate::output::{Outcome, Result, talk};
use crate::text::counted;

const EXAMPLES: &str = "\
Examples:
  sumout sample asia -n 1000 > cases.csv           a header, then a case in each line
  sumout sample asia -n 1000 -o cases.csv          complete, or not there at all
  sumout sample rect:10 -n 1000000 --columns 'pixel_*' -o pixels.npy
  sumout sample asia -n 3 --json                   one JSON object in each line";

/// Draw complete cases at random.
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

    /// The variables to write, by name or by pattern such as `pixel_*`; all of them if not given.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    columns: Vec<String>,

    /// The file to write, .csv, .parquet or .npy; without it, CSV to standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    reading: Reading,
}

pub fn run(args: &Args, json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let net = args.reading.network(&args.model)?;
    let cases = Cases { net: &net, columns: args.columns(&net)?, rows: args.rows };
    let mut sampler = net.sampler(args.seed)?;
    let Some(path) = args.output.as_deref().filter(|path| *path != Path::new("-")) else {
        match json {
            true => cases.write_json(&mut sampler, out)?,
            false => cases.write_csv(&mut sampler, out)?,
        }
        return Ok(Outcome::Done);
    };
    save(path, |file| match path.extension().and_then(|e| e.to_str()) {
        _ if json => cases.write_json(&mut sampler, file),
        Some("npy") => cases.write_npy(&mut sampler, file),
        Some("parquet" | "pq") => tables::write_cases(file, &net, &cases.columns, &mut sampler, args.rows),
        _ => cases.write_csv(&mut sampler, file),
    })?;
    talk(&format!("wrote {} to {}", counted(args.rows as usize, "case"), path.display()));
    Ok(Outcome::Done)
}

impl Args {
    /// The variables that are written, in the order of the network.
    fn columns(&self, net: &Network) -> sumout::Result<Vec<VarId>> {
        if self.columns.is_empty() {
            return Ok(net.ids().collect());
        }
        let found: sumout::Result<Vec<_>> = self.columns.iter().map(|pattern| net.matching(pattern)).collect();
        Ok(found?.into_iter().flatten().collect::<BTreeSet<_>>().into_iter().collect())
    }
}

/// What is written of a network.
struct Cases<'a> {
    net: &'a Network,
    columns: Vec<VarId>,
    rows: u64,
}

impl Cases<'_> {
    fn write_csv(&self, sampler: &mut Sampler<'_>, out: &mut dyn Write) -> io::Result<()> {
        let mut csv = csv::Writer::from_writer(out);
        csv.write_record(self.columns.iter().map(|&v| &self.net.variable(v).name)).map_err(cause)?;
        for _ in 0..self.rows {
            let case = sampler.draw();
            let value = |v: &VarId| &self.net.variable(*v).values[case[v.index()] as usize];
            csv.write_record(self.columns.iter().map(value)).map_err(cause)?;
        }
        csv.flush()
    }

    /// Positions of values, as few bytes each as are enough.
    fn write_npy(&self, sampler: &mut Sampler<'_>, out: &mut dyn Write) -> io::Result<()> {
        let most = self.columns.iter().map(|&v| self.net.card(v)).max().unwrap_or(0);
        let (kind, bytes) = if most <= 128 { ("|i1", 1) } else { ("<i4", 4) };
        out.write_all(&npy_header(kind, self.rows, self.columns.len()))?;
        for _ in 0..self.rows {
            let case = sampler.draw();
            let cells: Vec<u8> =
                self.columns.iter().flat_map(|v| case[v.index()].to_le_bytes().into_iter().take(bytes)).collect();
            out.write_all(&cells)?;
        }
        Ok(())
    }

    fn write_json(&self, sampler: &mut Sampler<'_>, out: &mut dyn Write) -> io::Result<()> {
        let quoted = |text: &String| Value::from(text.as_str()).to_string();
        let variables = self.columns.iter().map(|&v| self.net.variable(v));
        let members: Vec<Vec<String>> = variables
            .map(|v| v.values.iter().map(|value| format!("{}:{}", quoted(&v.name), quoted(value))).collect())
            .collect();
        for _ in 0..self.rows {
            let case = sampler.draw();
            let member = |(m, v): (&Vec<String>, &VarId)| m[case[v.index()] as usize].clone();
            let object: Vec<String> = members.iter().zip(&self.columns).map(member).collect();
            writeln!(out, "{{{}}}", object.join(","))?;
        }
        Ok(())
    }
}

/// What is behind an error of the CSV writer; its own conversion hides that a pipe was closed.
fn cause(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
