//! `sumout demo`: what this is, on a small network, in a few seconds.
//!
//! Each question is asked by the very command line that is shown.

use std::io::Write;

use clap::Parser;
use serde_json::{Value, json};
use sumout::{Network, VarId};

use super::run as run_command;
use crate::args::Cli;
use crate::output::{Outcome, Result};
use crate::text::{Align, table};

/// Show what this is, on a small network, in a few seconds.
#[derive(clap::Args, Debug)]
pub struct Args {}

const QUESTIONS: [(&str, &str); 3] = [
    (
        "A patient's X-ray is abnormal, but breathing is easy. How probable is lung cancer?",
        "sumout query asia lung --given xray=yes dysp=no",
    ),
    (
        "The X-ray is blurred: four times as likely if it is abnormal as if not. What now?",
        "sumout query asia lung tub --soft xray=0.8,0.2 --given dysp=yes",
    ),
    (
        "A smoker's X-ray is abnormal. What is the most probable explanation?",
        "sumout mpe asia --given smoke=yes xray=yes",
    ),
];

const NEXT: &str = "\
Where to go next
  sumout show asia                   the network's tables in numbers
  sumout query asia                  every variable, nothing observed
  sumout query YOUR.bif --given …    a network of your own: .bif, .xmlbif, .uai, .net, .xdsl, .json
  sumout help query                  all options of a command";

pub fn run(json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let net = Network::read("asia")?;
    if json {
        let questions = QUESTIONS.map(|(words, line)| answer(words, line)).into_iter().collect::<Result<Vec<_>>>()?;
        writeln!(out, "{}", json!({"model": "asia", "questions": questions}))?;
        return Ok(Outcome::Done);
    }
    introduce(&net, out)?;
    for (words, line) in QUESTIONS {
        writeln!(out, "\n{words}\n$ {line}")?;
        ask(line, out)?;
    }
    writeln!(out, "\n{NEXT}")?;
    Ok(Outcome::Done)
}

fn answer(words: &str, line: &str) -> Result<Value> {
    let mut text = vec![];
    ask(&format!("{line} --json"), &mut text)?;
    let answer: Value = serde_json::from_slice(&text).unwrap_or_default();
    Ok(json!({"question": words, "command": line, "answer": answer}))
}

fn ask(line: &str, out: &mut dyn Write) -> Result<Outcome> {
    let cli = Cli::try_parse_from(line.split_whitespace()).expect("the demo's command lines are right");
    run_command(&cli, out)
}

/// The network: what each variable means, and what it depends on.
fn introduce(net: &Network, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "asia: the patients of a chest clinic, in {} yes/no variables\n", net.ids().len())?;
    let rows: Vec<[String; 3]> = net.ids().map(|var| introduction(net, var)).collect();
    table(out, [Align::Left; 3], &rows)?;
    Ok(writeln!(out, "\n← depends on, by a table of probabilities;  = is a function of")?)
}

fn introduction(net: &Network, var: VarId) -> [String; 3] {
    let name = |v: VarId| net.variable(v).name.as_str();
    let parents = net.parents(var).iter().map(|&p| name(p)).collect::<Vec<_>>().join(", ");
    let depends = match net.cpts()[var.index()].is_functional() {
        _ if parents.is_empty() => String::new(),
        true => format!("= f({parents})"),
        false => format!("← {parents}"),
    };
    [format!("  {}", name(var)), meaning(name(var)).to_owned(), depends]
}

fn meaning(name: &str) -> &'static str {
    match name {
        "asia" => "a visit to Asia",
        "tub" => "tuberculosis",
        "smoke" => "smoking",
        "lung" => "lung cancer",
        "bronc" => "bronchitis",
        "either" => "tuberculosis or lung cancer",
        "xray" => "an abnormal X-ray",
        "dysp" => "shortness of breath",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_lines_can_be_typed() {
        for (_, line) in QUESTIONS {
            Cli::try_parse_from(line.split_whitespace()).unwrap();
        }
    }

    #[test]
    fn every_variable_is_explained() {
        let asia = Network::read("asia").unwrap();
        assert!(asia.variables().iter().all(|v| !meaning(&v.name).is_empty()));
    }
}
