//! `sumout sample`: draws cases from a network, one row each, in constant memory.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use sumout::{Network, VarId};

use crate::args::Reading;
use crate::data::Cases;
use crate::output::{Outcome, Result, talk};
use crate::patience::patiently;
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

    /// The number of cases.
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
    let columns = args.columns(&net)?;
    let mut sampler = net.sampler(args.seed)?;
    let wanted = columns.clone();
    let next = Box::new(move |to: &mut Vec<u32>| {
        let case = sampler.draw();
        to.extend(wanted.iter().map(|v| case[v.index()]));
    });
    let path = args
        .output
        .as_deref()
        .filter(|path| *path != Path::new("-"));
    let mut cases = Cases {
        net: &net,
        columns,
        rows: args.rows,
        next,
    };
    match path {
        None => cases.write(path, json, out)?,
        Some(_) => patiently("sampling", || cases.write(path, json, out))?,
    }
    if let Some(path) = path {
        talk(&format!(
            "wrote {} to {}",
            counted(args.rows as usize, "case"),
            path.display()
        ));
    }
    Ok(Outcome::Done)
}

impl Args {
    /// The variables that are written, in the order of the network.
    fn columns(&self, net: &Network) -> sumout::Result<Vec<VarId>> {
        if self.columns.is_empty() {
            return Ok(net.ids().collect());
        }
        let found: sumout::Result<Vec<_>> = self
            .columns
            .iter()
            .map(|pattern| net.matching(pattern))
            .collect();
        Ok(found?
            .into_iter()
            .flatten()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect())
    }
}
