//! Questions to a small network, each with the command line that asks it.

use std::io::Write;

use clap::Parser;
use serde_json::{Value, json};

use crate::commands::{Cli, run as run_command};
use crate::output::{Outcome, Result};

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

/// Asks all of them.
pub fn tell(out: &mut dyn Write) -> Result<()> {
    for (words, line) in QUESTIONS {
        writeln!(out, "\n{words}\n$ {line}")?;
        ask(line, out)?;
    }
    Ok(())
}

pub fn to_json() -> Result<Vec<Value>> {
    QUESTIONS
        .into_iter()
        .map(|(words, line)| answer(words, line))
        .collect()
}

fn answer(words: &str, line: &str) -> Result<Value> {
    let mut text = vec![];
    ask(&format!("{line} --json"), &mut text)?;
    let answer: Value = serde_json::from_slice(&text).unwrap_or_default();
    Ok(json!({"question": words, "command": line, "answer": answer}))
}

fn ask(line: &str, out: &mut dyn Write) -> Result<Outcome> {
    let cli =
        Cli::try_parse_from(line.split_whitespace()).expect("the demo's command lines are right");
    run_command(&cli, out)
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
}
