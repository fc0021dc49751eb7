//! `sumout query`: posterior probabilities given evidence, and the probability of the evidence.

use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::Value;
use sumout::{Answer, Evidence, Network, VarId};

mod ranking;
mod selections;
use ranking::Ranking;
use selections::selections;

use crate::args::{Approximating, Computing, Reading, names};
use crate::causal::Intervening;
use crate::evidence::{Given, talk_of_impossible};
use crate::json;
use crate::output::{Outcome, Result, talk};
use crate::patience::Limiting;
use crate::text::{Align, probability, significant, table, width};

const EXAMPLES: &str = "\
Examples:
  sumout query asia lung --given xray=yes dysp=no  P(lung | xray=yes, dysp=no)
  sumout query asia --given xray=yes               every variable
  sumout query asia 'b*' --soft xray=0.7,0.1       a pattern; uncertain evidence
  sumout query asia --joint lung,tub --given xray=yes
  sumout query faults.json 'ok_*' --value broken --top 5 --given alarm=on
  sumout query model.uai --evidence model.uai.evid --json
  sumout query asia lung --do smoke=no             if nobody smoked
  sumout query tested.json --given x=a --tests     and what tests select

Variables to ask for come before `--given`.";

/// Posterior probabilities given evidence, and the probability of the evidence.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The network: a file, `-` for standard input, or `asia`.
    model: PathBuf,

    /// The target variables, by name or by pattern such as `pixel_*`; all variables if none is
    /// named.
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,

    /// Compute the joint posterior of several variables, such as `lung,tub`: one table with all of
    /// their joint values.
    #[arg(long, value_name = "A,B,…", conflicts_with_all = ["targets", "sort", "top", "value"])]
    joint: Vec<String>,

    #[command(flatten)]
    ranking: Ranking,

    #[command(flatten)]
    given: Given,

    #[command(flatten)]
    intervening: Intervening,

    #[command(flatten)]
    computing: Computing,

    #[command(flatten)]
    limiting: Limiting,

    /// Also print the posteriors that each test used, and the weights of the copies it selects.
    #[arg(long)]
    tests: bool,

    #[command(flatten)]
    approximating: Approximating,

    #[command(flatten)]
    reading: Reading,
}

pub fn run(args: &Args, as_json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let net = args.reading.network(&args.model)?;
    let asked: Vec<&str> = args.asked().collect();
    let texts = asked.iter().copied().chain(args.given.texts());
    let net = args.intervening.network(net, texts)?;
    let targets = targets(&net, &asked)?;
    args.check_value(&net, &targets)?;
    let evidence = args.given.evidence(&net)?;
    let options = args.computing.options().with_near(args.approximating.near);
    let answer = args.limiting.watch(|control| {
        let options = options.clone().with_control(control);
        match args.joint.is_empty() {
            true => net.query(&targets, &evidence, &options),
            false => net.query_joint(&targets, &evidence, &options),
        }
    })?;
    let outcome = if answer.is_impossible() {
        Outcome::Impossible
    } else {
        Outcome::Done
    };
    if let Some(near) = answer.near().as_ref().filter(|_| !as_json) {
        talk(&format!("near: {near}"));
    }
    let selections = if args.tests {
        selections(&net, &evidence, &options)?
    } else {
        vec![]
    };
    match (as_json, outcome) {
        (true, _) => {
            let mut found = args.json(&net, &targets, &answer);
            if args.tests {
                found["tests"] = selections.iter().map(|one| one.to_json(&net)).collect();
            }
            writeln!(out, "{found}")?;
        }
        (false, Outcome::Done) => {
            args.print(&net, &targets, &answer, out)?;
            print_evidence(&net, &evidence, &answer, out)?;
            selections.iter().try_for_each(|one| one.print(&net, out))?;
        }
        (false, Outcome::Impossible) => {
            talk_of_impossible(&net, &evidence, &args.computing.options())
        }
    }
    Ok(outcome)
}

/// The target variables, each once, in the order given.
pub fn targets(net: &Network, patterns: &[impl AsRef<str>]) -> sumout::Result<Vec<VarId>> {
    let mut targets = vec![];
    for pattern in patterns {
        for var in net.matching(pattern.as_ref())? {
            if !targets.contains(&var) {
                targets.push(var);
            }
        }
    }
    Ok(targets)
}

impl Args {
    /// The targets, as they are typed.
    fn asked(&self) -> impl Iterator<Item = &str> {
        let targets = self.targets.iter().map(String::as_str);
        targets.chain(names(&self.joint))
    }

    fn check_value(&self, net: &Network, targets: &[VarId]) -> sumout::Result<()> {
        let all = || net.ids().collect::<Vec<_>>();
        let targets = if targets.is_empty() {
            all()
        } else {
            targets.to_vec()
        };
        let values = targets.iter().map(|&v| &net.variable(v).values[..]);
        self.ranking.check(values)
    }

    fn json(&self, net: &Network, targets: &[VarId], answer: &Answer) -> Value {
        if !self.joint.is_empty() {
            return json::joint(net, targets, answer);
        }
        let found = json::answer(net, answer);
        if !self.ranking.is_asked() {
            return found;
        }
        let ranking = self.ranking.json(net, answer);
        let mut ranked = serde_json::json!({"ranking": ranking, "log_evidence": found["log_evidence"], "impossible": found["impossible"]});
        if let Some(near) = found.get("near") {
            ranked["near"] = near.clone();
        }
        ranked
    }

    fn print(
        &self,
        net: &Network,
        targets: &[VarId],
        answer: &Answer,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if !self.joint.is_empty() {
            print_joint(net, targets, answer, out)
        } else if self.ranking.is_asked() {
            self.ranking.print(net, answer, out)
        } else {
            print(net, answer, out)
        }
    }
}

/// Prints posteriors.
pub fn print(net: &Network, answer: &Answer, out: &mut dyn Write) -> io::Result<()> {
    let variables: Vec<_> = answer
        .posteriors()
        .iter()
        .map(|(var, _)| net.variable(*var))
        .collect();
    let names = width(variables.iter().map(|v| v.name.as_str()));
    let values = width(
        variables
            .iter()
            .flat_map(|v| v.values.iter().map(String::as_str)),
    );
    for (variable, (_, numbers)) in variables.iter().zip(answer.posteriors()) {
        let mut name = variable.name.as_str();
        for (value, &p) in variable.values.iter().zip(numbers) {
            writeln!(out, "{name:names$}   {value:values$}  {}", probability(p))?;
            name = "";
        }
    }
    Ok(())
}

/// Prints the probability of the evidence, if there is any.
pub fn print_evidence(
    net: &Network,
    evidence: &Evidence,
    answer: &Answer,
    out: &mut dyn Write,
) -> io::Result<()> {
    if net.is_markov() || !evidence.is_empty() {
        let line = evidence_line(net, evidence, answer.log_evidence());
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// A column for each variable, and a row for each joint value.
fn print_joint(
    net: &Network,
    targets: &[VarId],
    answer: &Answer,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names = targets.iter().map(|&v| net.variable(v).name.clone());
    let title: Vec<String> = names.chain(["probability".to_owned()]).collect();
    let rows = json::joint_values(net, targets, answer).map(|(values, p)| {
        let values = values.into_iter().map(str::to_owned);
        values.chain([probability(p)]).collect()
    });
    let rows: Vec<Vec<String>> = [title].into_iter().chain(rows).collect();
    let align = [vec![Align::Left; targets.len()], vec![Align::Right]].concat();
    table(out, align, &rows)
}

/// `P(evidence) = 0.03962`, or its logarithm where the number itself would underflow.
fn evidence_line(net: &Network, evidence: &Evidence, log: f64) -> String {
    match (net.is_markov(), evidence.is_empty()) {
        (true, true) => format!("ln Z = {}", significant(log, 7)),
        (true, false) => format!("ln Z(evidence) = {}", significant(log, 7)),
        _ if log.abs() < 690.0 => format!("P(evidence) = {}", significant(log.exp(), 4)),
        _ => format!("ln P(evidence) = {}", significant(log, 7)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probability_of_evidence_is_shown_by_its_logarithm_only_where_it_underflows() {
        let asia = Network::read("asia").unwrap();
        let some = Evidence::new().observe(&asia, "xray", "yes").unwrap();
        let line = |log| evidence_line(&asia, &some, log);
        assert_eq!(line(0.0396172_f64.ln()), "P(evidence) = 0.03962");
        assert_eq!(line(-600.0), "P(evidence) = 2.650e-261");
        assert_eq!(line(-5000.1234), "ln P(evidence) = -5000.123");
    }

    #[test]
    fn a_markov_network_has_a_partition_function() {
        let mut b = Network::markov("one");
        let x = b.variable("x", ["t", "f"]);
        b.potential([x], [3.0, 4.0]);
        let net = b.build().unwrap();
        assert_eq!(
            evidence_line(&net, &Evidence::new(), 7_f64.ln()),
            "ln Z = 1.945910"
        );
        let some = Evidence::new().observe(&net, "x", "t").unwrap();
        assert_eq!(
            evidence_line(&net, &some, 3_f64.ln()),
            "ln Z(evidence) = 1.098612"
        );
    }
}
