//! `sumout next`: what to observe next, by the information that it is expected to give.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};
use sumout::{Information, Network, VarId};

use crate::args::{Computing, Reading};
use crate::commands::query::targets;
use crate::evidence::{Given, costs, talk_of_impossible};
use crate::output::{Outcome, Result};
use crate::patience::Limiting;
use crate::text::{Align, table};

const EXAMPLES: &str = "\
Examples:
  sumout next asia lung --given dysp=yes                    which observation tells most about lung?
  sumout next asia lung --among xray bronc                  of these two
  sumout next asia lung --cost xray=40 bronc=10             by bits per cost
  sumout next asia lung --after xray                        once xray will be known, whatever it is";

/// Rank variables by how much observing them is expected to tell about a target.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The network: a file, `-` for standard input, or `asia`.
    model: PathBuf,

    /// The variable that is to be known.
    #[arg(value_name = "TARGET")]
    target: String,

    /// The variables that could be observed, by name or by pattern such as `test_*`; all that are
    /// not given if none is named.
    #[arg(long, value_name = "VAR", num_args = 1..)]
    among: Vec<String>,

    /// Variables that will be observed before, whatever their values turn out to be.
    #[arg(long, value_name = "VAR", num_args = 1..)]
    after: Vec<String>,

    /// Costs of observations, such as `xray=40`; 1 where none is given. The ranking is by bits per
    /// cost.
    #[arg(long, value_name = "X=COST", num_args = 1..)]
    cost: Vec<String>,

    /// Print only the N best.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,

    #[command(flatten)]
    given: Given,

    #[command(flatten)]
    computing: Computing,

    #[command(flatten)]
    limiting: Limiting,

    #[command(flatten)]
    reading: Reading,
}

pub fn run(args: &Args, as_json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let net = args.reading.network(&args.model)?;
    let target = net.find(&args.target)?;
    let [among, before] = [&args.among, &args.after].map(|names| match names.is_empty() {
        true => Ok(vec![]),
        false => targets(&net, names),
    });
    let (among, before) = (among?, before?);
    let ranking = Ranking {
        costs: costs(&net, &args.cost)?,
        top: args.top.map_or(usize::MAX, |top| top as usize),
        net: &net,
    };
    let evidence = args.given.evidence(&net)?;
    let found = args.limiting.watch(|control| {
        let options = args.computing.options().with_control(control);
        net.information(target, &among, &before, &evidence, &options)
    })?;
    match &found {
        Some(found) if as_json => writeln!(out, "{}", ranking.json(&args.target, found))?,
        Some(found) => ranking.print(&args.target, found, out)?,
        None if as_json => writeln!(out, "{}", json!({"impossible": true}))?,
        None => talk_of_impossible(&net, &evidence, &args.computing.options()),
    }
    Ok(match found {
        Some(_) => Outcome::Done,
        None => Outcome::Impossible,
    })
}

/// How to rank, and with which costs.
struct Ranking<'n> {
    net: &'n Network,
    costs: Vec<(VarId, f64)>,
    top: usize,
}

/// A variable that could be observed.
struct Candidate {
    variable: VarId,
    bits: f64,
    cost: f64,
}

impl Ranking<'_> {
    /// The best by bits per cost; those that are equally good in the order of the network.
    fn ranked(&self, found: &Information) -> Vec<Candidate> {
        let cost = |v| self.costs.iter().find(|(of, _)| *of == v);
        let candidate = |&(variable, bits): &(VarId, f64)| Candidate {
            variable,
            bits,
            cost: cost(variable).map_or(1.0, |(_, cost)| *cost),
        };
        let mut all: Vec<Candidate> = found.gains().iter().map(candidate).collect();
        all.sort_by(|a, b| (b.bits / b.cost).total_cmp(&(a.bits / a.cost)));
        all.truncate(self.top);
        all
    }

    fn print(&self, target: &str, found: &Information, out: &mut dyn Write) -> Result<()> {
        writeln!(out, "entropy of {target}: {:.4} bits", found.entropy())?;
        let mut head = vec!["", "bits", "of the entropy"];
        if !self.costs.is_empty() {
            head.extend(["cost", "bits per cost"]);
        }
        let line = |it: Candidate| {
            let share = 100.0 * it.bits / found.entropy().max(f64::MIN_POSITIVE);
            let mut line = vec![self.net.variable(it.variable).name.clone()];
            line.extend([bits(it.bits), format!("{share:.1}%")]);
            if !self.costs.is_empty() {
                line.extend([it.cost.to_string(), bits(it.bits / it.cost)]);
            }
            line
        };
        let mut lines = vec![head.iter().map(|&word| word.to_owned()).collect()];
        lines.extend(self.ranked(found).into_iter().map(line));
        let mut align = vec![Align::Right; head.len()];
        align[0] = Align::Left;
        Ok(table(out, align, &lines)?)
    }

    fn json(&self, target: &str, found: &Information) -> Value {
        let one = |it: Candidate| {
            let name = &self.net.variable(it.variable).name;
            json!({"variable": name, "bits": it.bits, "cost": it.cost})
        };
        let ranked: Vec<Value> = self.ranked(found).into_iter().map(one).collect();
        json!({"target": target, "entropy": found.entropy(), "ranking": ranked, "impossible": false})
    }
}

/// Four decimals; fewer bits than that show with an exponent, rounding errors as zero.
fn bits(bits: f64) -> String {
    match bits {
        _ if bits < 1e-12 => "0.0000".into(),
        _ if bits < 1e-4 => format!("{bits:.1e}"),
        _ => format!("{bits:.4}"),
    }
}
