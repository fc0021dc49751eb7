//! `sumout map`: marginal MAP, the most probable values of some variables, the others summed out.

use std::io::Write;
use std::path::PathBuf;

use sumout::{Error, ErrorKind, MarginalMap, Network};

use crate::args::{Computing, Reading};
use crate::causal::Intervening;
use crate::commands::query::targets;
use crate::evidence::{Given, talk_of_impossible};
use crate::json;
use crate::output::{Outcome, Result, talk};
use crate::patience::Limiting;
use crate::text::{Align, counted, probability, significant, table};

const EXAMPLES: &str = "\
Examples:
  sumout map asia lung tub --given xray=yes           the values that are most probable together
  sumout map asia lung tub -k 3 --given xray=yes      the three best
  sumout map model.uai 'ok_*' --time-limit 60         the best so far after a minute, and a bound

The other variables are summed out; in the most probable explanation (`sumout mpe`) they are maximised, too.";

/// The most probable values of some variables together, the others summed out (marginal MAP).
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The network: a file, `-` for standard input, or `asia`.
    model: PathBuf,

    /// The variables, by name or by pattern such as `ok_*`.
    #[arg(value_name = "VAR", required = true)]
    variables: Vec<String>,

    /// Print this many assignments, the most probable first.
    #[arg(short = 'k', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    count: u32,

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
    let texts = args.variables.iter().map(String::as_str);
    let net = args
        .intervening
        .network(net, texts.chain(args.given.texts()))?;
    let asked = targets(&net, &args.variables)?;
    let evidence = args.given.evidence(&net)?;
    let map = args.limiting.watch(|control| {
        let options = args.computing.options().with_control(control);
        net.map(&asked, args.count as usize, &evidence, &options)
    })?;
    if as_json {
        writeln!(out, "{}", json::marginal_map(&net, &map))?;
    } else if map.is_impossible() {
        talk_of_impossible(&net, &evidence, &args.computing.options());
    } else if map.assignments().is_empty() {
        let message = format!(
            "nothing was found in time; ln P is at most {:.6}",
            map.bound()
        );
        let error = Error::new(ErrorKind::Interrupted, message);
        return Err(error.hint("raise `--time-limit`").into());
    } else if args.count == 1 {
        one(&net, &map, out)?;
    } else {
        several(&net, &map, out)?;
    }
    Ok(if map.is_impossible() {
        Outcome::Impossible
    } else {
        Outcome::Done
    })
}

/// A line for each variable, and the probability of all of them.
fn one(net: &Network, map: &MarginalMap, out: &mut dyn Write) -> Result<()> {
    let (values, log) = &map.assignments()[0];
    let row = |(v, value): (&sumout::VarId, &usize)| {
        let variable = net.variable(*v);
        [variable.name.clone(), variable.values[*value].clone()]
    };
    let rows: Vec<[String; 2]> = map.variables().iter().zip(values).map(row).collect();
    table(out, [Align::Left; 2], &rows)?;
    let posterior = probability(map.posterior(0).unwrap_or(0.0));
    writeln!(out, "P(… | evidence) = {posterior}")?;
    writeln!(out, "{} = {}", measure(net), significant(*log, 7))?;
    remark(map, out)
}

/// A line for each assignment.
fn several(net: &Network, map: &MarginalMap, out: &mut dyn Write) -> Result<()> {
    let mut rows = vec![["P(… | evidence)", measure(net), ""].map(str::to_owned)];
    for (place, (values, log)) in map.assignments().iter().enumerate() {
        let named = map.variables().iter().zip(values).map(|(v, &value)| {
            let variable = net.variable(*v);
            format!("{}={}", variable.name, variable.values[value])
        });
        rows.push([
            probability(map.posterior(place).unwrap_or(0.0)),
            significant(*log, 7),
            named.collect::<Vec<_>>().join(" "),
        ]);
    }
    table(out, [Align::Right, Align::Right, Align::Left], &rows)?;
    remark(map, out)
}

/// Whether it is proved; how much better another assignment could be if not.
fn remark(map: &MarginalMap, out: &mut dyn Write) -> Result<()> {
    let nodes = counted(map.nodes() as usize, "node");
    if map.is_proved() {
        talk(&format!("proved after {nodes}"));
    } else {
        let bound = significant(map.bound(), 7);
        writeln!(out, "not proved: no assignment has more than {bound}")?;
        talk(&format!("stopped after {nodes}"));
    }
    Ok(())
}

/// Without the constant Z, a Markov network has no probability.
fn measure(net: &Network) -> &'static str {
    if net.is_markov() {
        "ln(P · Z)"
    } else {
        "ln P"
    }
}
