//! What was learned, for people and for programs.

use std::io::{self, Write};

use serde_json::{Value, json};
use sumout::learn::{Group, Params};
use sumout::{Difference, Epoch, Network};

use crate::output::{Outcome, Result};
use crate::text::{counted, grouped, significant};

pub struct Report<'a> {
    pub net: &'a Network,
    pub params: &'a Params,
    pub history: &'a [Epoch],
    /// The epoch that the parameters are of.
    pub best: Option<&'a Epoch>,
    /// Where CPTs were declared functional, and learned.
    pub promised: Option<Promised>,
    pub seconds: f64,
}

/// What became of CPTs that were declared functional.
pub struct Promised {
    /// Loss and accuracy of all examples after they were made functions, if they were.
    pub snapped: Option<(f64, Option<f64>)>,
    /// How far the circuit is from the network, if that could be found out.
    pub difference: Option<Difference>,
}

/// So many groups are listed for people.
const LISTED: usize = 12;

/// Differences up to this are rounding.
const ROUNDING: f64 = 1e-6;

impl Promised {
    fn to_json(&self) -> Value {
        let snapped = self
            .snapped
            .map(|(loss, accuracy)| json!({"loss": loss, "accuracy": accuracy}));
        let difference = self
            .difference
            .map(|found| json!({"largest": found.largest, "examples": found.examples, "unthinned": found.unthinned}));
        json!({"snapped": snapped, "difference": difference})
    }

    fn write(&self, what: &str, out: &mut dyn Write) -> io::Result<()> {
        if let Some((loss, accuracy)) = self.snapped {
            let accuracy =
                accuracy.map_or(String::new(), |a| format!(", accuracy {:.2} %", 100.0 * a));
            writeln!(
                out,
                "snapped      loss {}{accuracy} of all examples",
                signed(loss)
            )?;
        }
        let Some(Difference {
            largest,
            examples,
            unthinned,
        }) = self.difference
        else {
            return Ok(());
        };
        let by = if unthinned {
            "uses no functions"
        } else {
            "uses only what is a function"
        };
        let checked = format!(
            "on {}, by a circuit that {by}",
            counted(examples, "example")
        );
        if largest <= ROUNDING {
            return writeln!(
                out,
                "functions    {what} of the network are those of the circuit: checked {checked}"
            );
        }
        let largest = significant(largest, 3);
        writeln!(
            out,
            "functions    not yet: {what} of the network differ from the circuit's by up to {largest}"
        )?;
        writeln!(
            out,
            "             ({checked}); its plan is part of what was learned; `--snap` makes functions"
        )
    }
}

impl Report<'_> {
    pub fn write(&self, json: bool, out: &mut dyn Write) -> Result<Outcome> {
        match json {
            true => writeln!(out, "{}", self.to_json())?,
            false => self.write_text(out)?,
        }
        Ok(Outcome::Done)
    }

    fn to_json(&self) -> Value {
        let name = |v: &sumout::VarId| self.net.variable(*v).name.clone();
        let group = |g: &Group| {
            let tables: Vec<String> = g.members.iter().map(name).collect();
            json!({"name": g.name, "tables": tables, "shape": g.shape, "parameters": g.weights.len()})
        };
        let groups: Vec<Value> = self.params.groups().iter().map(group).collect();
        json!({
            "parameters": self.params.len(),
            "groups": groups,
            "epochs": self.history,
            "promised": self.promised.as_ref().map(Promised::to_json),
            "seconds": self.seconds,
        })
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let groups = self.params.groups();
        writeln!(
            out,
            "parameters   {} in {}",
            grouped(self.params.len()),
            counted(groups.len(), "group")
        )?;
        let width = groups
            .iter()
            .take(LISTED)
            .map(|group| group.name.chars().count())
            .fold(10, usize::max);
        for group in groups.iter().take(LISTED) {
            let (tables, parameters) = (
                counted(group.members.len(), "table"),
                counted(group.weights.len(), "parameter"),
            );
            writeln!(
                out,
                "  {:<width$} {tables} of shape {:?}, {parameters}",
                group.name, group.shape
            )?;
        }
        if groups.len() > LISTED {
            writeln!(
                out,
                "  … and {} more; `--json` lists all",
                groups.len() - LISTED
            )?;
        }
        let Some(best) = self.best else { return Ok(()) };
        self.write_end(best, out)?;
        let what = if best.accuracy.is_some() {
            "posteriors"
        } else {
            "logarithms of P"
        };
        self.promised
            .as_ref()
            .map_or(Ok(()), |promised| promised.write(what, out))
    }

    fn write_end(&self, best: &Epoch, out: &mut dyn Write) -> io::Result<()> {
        let epochs = counted(self.history.len(), "epoch");
        writeln!(
            out,
            "learned      {epochs} in {} s",
            significant(self.seconds, 3)
        )?;
        let is_watched = best.loss != best.watched_loss;
        let of = if is_watched {
            "the examples that were watched"
        } else {
            "all examples"
        };
        writeln!(out, "loss         {} of {of}", signed(best.watched_loss))?;
        if best.impossible > 0 {
            writeln!(
                out,
                "impossible   {} under the network",
                counted(best.impossible, "example")
            )?;
        }
        if best.contradicted > 0 {
            writeln!(
                out,
                "contradicted {}: their labels have probability 0",
                counted(best.contradicted, "example")
            )?;
        }
        match best.accuracy {
            Some(accuracy) => writeln!(out, "accuracy     {:.2} % of {of}", 100.0 * accuracy),
            None => Ok(()),
        }
    }
}

/// A loss may be negative: densities of likelihoods can be larger than one.
fn signed(x: f64) -> String {
    format!("{}{}", if x < 0.0 { "-" } else { "" }, significant(x, 4))
}
