//! `sumout sample`: draws cases from a network, one row each, in constant memory.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sumout::{Evidence, Finding, Network, Options, VarId};

use crate::args::Reading;
use crate::data::{Cases, Next};
use crate::evidence::{Given, talk_of_impossible};
use crate::output::{Outcome, Result, talk};
use crate::patience::patiently;
use crate::text::counted;

const EXAMPLES: &str = "\
Examples:
  sumout sample asia -n 1000 > cases.csv           a header, then a case in each line
  sumout sample asia -n 1000 -o cases.csv          complete, or not there at all
  sumout sample asia -n 1000 --given xray=yes      from the posterior given evidence
  sumout sample rect:10 -n 1000000 --columns 'pixel_*' -o pixels.npy
  sumout sample asia -n 3 --json                   one JSON object in each line";

/// Draw complete cases at random, also given evidence.
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
    given: Given,

    #[command(flatten)]
    reading: Reading,
}

/// With evidence, this many cases are drawn at a time.
const CHUNK: u64 = 4096;

pub fn run(args: &Args, json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let net = args.reading.network(&args.model)?;
    let columns = args.columns(&net)?;
    let evidence = args.given.evidence(&net)?;
    let next: Box<Next<'_>> = if evidence.is_empty() && !net.is_markov() {
        let (mut sampler, wanted) = (net.sampler(args.seed)?, columns.clone());
        Box::new(move |to| {
            let case = sampler.draw();
            to.extend(wanted.iter().map(|v| case[v.index()]));
            Ok(())
        })
    } else {
        match args.posterior(&net, &evidence, &columns)? {
            Some(next) => next,
            None => {
                talk_of_impossible(&net, &evidence, &Options::default());
                return Ok(Outcome::Impossible);
            }
        }
    };
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
    /// Draws from the posterior, a chunk at a time; none if the evidence is impossible.
    fn posterior<'n>(
        &self,
        net: &'n Network,
        evidence: &Evidence,
        columns: &[VarId],
    ) -> sumout::Result<Option<Box<Next<'n>>>> {
        let compile = || net.posterior_circuit(evidence, &Options::default());
        let (circuit, batch) = patiently("compiling", compile)?;
        let targets = circuit.targets();
        let place = |v: &VarId| targets.iter().position(|target| target == v);
        let known = |v: &VarId| match evidence.get(*v) {
            Some(Finding::Hard(value)) => *value as u32,
            _ => 0,
        };
        let columns: Vec<(Option<usize>, u32)> =
            columns.iter().map(|v| (place(v), known(v))).collect();
        let seed = self.seed;
        let draw = move |from: u64, count: u64| circuit.sample(&batch, from..from + count, seed);
        if draw(0, 1)?.contains(&-1) {
            return Ok(None);
        }
        let (width, mut begun, mut at) = (targets.len(), 0, 0);
        let (mut drawn, rows) = (vec![], self.rows);
        Ok(Some(Box::new(move |to| {
            if at == drawn.len() {
                let count = CHUNK.min(rows - begun);
                drawn = draw(begun, count).map_err(io::Error::other)?;
                (begun, at) = (begun + count, 0);
            }
            let case = &drawn[at..at + width];
            to.extend(
                columns
                    .iter()
                    .map(|(place, known)| place.map_or(*known, |k| case[k] as u32)),
            );
            at += width;
            Ok(())
        })))
    }

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
