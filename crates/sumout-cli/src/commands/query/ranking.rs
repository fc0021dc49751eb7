//! Posteriors as a ranking: values of variables, the most probable first.

use std::io::{self, Write};

use clap::Args;
use serde_json::{Value, json};
use sumout::{Answer, Error, ErrorKind, Network};

use crate::text::{Align, probability, table};

/// How to rank.
#[derive(Args, Debug)]
#[command(next_help_heading = "Ranking")]
pub struct Ranking {
    /// Print a line for each value, the most probable first.
    #[arg(long)]
    sort: bool,

    /// Print only the N most probable values.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,

    /// Print only the probabilities of this value, one line for each variable that has it.
    #[arg(long, value_name = "VALUE")]
    value: Option<String>,
}

/// A value of a variable, and its probability.
struct Ranked<'n> {
    name: &'n str,
    value: &'n str,
    probability: f64,
}

impl Ranking {
    /// Whether a ranking is asked for.
    pub fn is_asked(&self) -> bool {
        self.sort || self.top.is_some() || self.value.is_some()
    }

    /// Refuses a value that no target has.
    pub fn check<'n>(&self, mut targets: impl Iterator<Item = &'n [String]>) -> sumout::Result<()> {
        let Some(value) = &self.value else {
            return Ok(());
        };
        if targets.any(|values| values.contains(value)) {
            return Ok(());
        }
        let message = format!("none of the targets has a value `{value}`");
        let error = Error::new(ErrorKind::Name, message);
        Err(error.hint("`sumout show` lists the values of each variable"))
    }

    /// The values that are printed, in order; those of equal probability in the order of the
    /// targets.
    fn ranked<'n>(&self, net: &'n Network, answer: &Answer) -> Vec<Ranked<'n>> {
        let mut all: Vec<Ranked<'n>> = vec![];
        for (var, posterior) in answer.posteriors() {
            let variable = net.variable(*var);
            let values = variable.values.iter().zip(posterior);
            let wanted =
                values.filter(|(value, _)| self.value.as_ref().is_none_or(|v| v == *value));
            all.extend(wanted.map(|(value, &probability)| Ranked {
                name: &variable.name,
                value,
                probability,
            }));
        }
        if self.sort || self.top.is_some() {
            all.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        }
        all.truncate(self.top.map_or(usize::MAX, |top| top as usize));
        all
    }

    pub fn print(&self, net: &Network, answer: &Answer, out: &mut dyn Write) -> io::Result<()> {
        let line = |it: Ranked<'_>| {
            let words = [it.name, it.value].map(str::to_owned);
            [&words[..], &[probability(it.probability)]].concat()
        };
        let lines: Vec<Vec<String>> = self.ranked(net, answer).into_iter().map(line).collect();
        table(out, [Align::Left, Align::Left, Align::Right], &lines)
    }

    pub fn json(&self, net: &Network, answer: &Answer) -> Value {
        let one = |it: Ranked<'_>| json!({"variable": it.name, "value": it.value, "probability": it.probability});
        self.ranked(net, answer).into_iter().map(one).collect()
    }
}
