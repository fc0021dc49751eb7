//! `sumout mpe`: the most probable explanation of evidence.

use std::io::Write;
use std::path::PathBuf;

use sumout::{Evidence, Finding, Network, VarId};

use crate::args::{Computing, Reading};
use crate::causal::Intervening;
use crate::evidence::{Given, talk_of_impossible};
use crate::json;
use crate::output::{Outcome, Result};
use crate::patience::Limiting;
use crate::text::{Align, significant, table};

const EXAMPLES: &str = "\
Examples:
  sumout mpe asia                                  the most probable case of all
  sumout mpe asia --given xray=yes dysp=no         the one that agrees with this
  sumout mpe asia --given xray=yes --json";

/// The most probable values of all variables together, given evidence.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The network: a file, `-` for standard input, or `asia`.
    model: PathBuf,

    #[command(flatten)]
    given: Given,

    #[command(flatten)]
    intervening: Intervening,

    #[command(flatten)]
    computing: Computing,

    #[command(flatten)]
    limiting: Limiting,

    #[command(flatten)]
    reading: Reading,
}

pub fn run(args: &Args, as_json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let net = args.reading.network(&args.model)?;
    let net = args.intervening.network(net, args.given.texts())?;
    let evidence = args.given.evidence(&net)?;
    let explanation = args
        .limiting
        .watch(|control| net.mpe(&evidence, &args.computing.options().with_control(control)))?;
    match (explanation.assignment(), as_json) {
        (_, true) => writeln!(out, "{}", json::explanation(&net, &explanation))?,
        (None, false) => talk_of_impossible(&net, &evidence, &args.computing.options()),
        (Some(values), false) => {
            table(out, [Align::Left; 3], &rows(&net, &evidence, values))?;
            writeln!(
                out,
                "{} = {}",
                measure(&net),
                significant(explanation.log_probability(), 7)
            )?;
        }
    }
    Ok(if explanation.assignment().is_some() {
        Outcome::Done
    } else {
        Outcome::Impossible
    })
}

/// Each variable with its value, and whether that was given.
fn rows(net: &Network, evidence: &Evidence, values: &[usize]) -> Vec<[String; 3]> {
    let row = |(var, &value): (VarId, &usize)| {
        let mark = match evidence.get(var) {
            Some(Finding::Hard(_)) => "(given)",
            Some(Finding::Soft(_)) => "(soft)",
            None => "",
        };
        [
            net.variable(var).name.clone(),
            net.variable(var).values[value].clone(),
            mark.to_owned(),
        ]
    };
    net.ids().zip(values).map(row).collect()
}

/// The label of the number after the assignment: without the constant Z, a Markov network has no
/// probability.
fn measure(net: &Network) -> &'static str {
    if net.is_markov() {
        "ln(P · Z)"
    } else {
        "ln P"
    }
}
