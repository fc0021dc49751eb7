//! The report of `fit`, as text and as JSON.

use std::io::{self, Write};

use serde_json::{Value, json};
use sumout::learn::{Declared, Group};
use sumout::{Difference, Epoch, Fitted, Network, VarId};

use crate::output::{Outcome, Result};
use crate::text::{counted, grouped, significant};

pub struct Report<'a> {
    pub net: &'a Network,
    pub fitted: &'a Fitted,
    pub examples: usize,
    pub seconds: f64,
}

/// The maximum number of groups that are listed for people.
const MAX_LISTED: usize = 12;

/// Differences up to this are rounding errors.
const MAX_ROUNDING: f64 = 1e-6;

fn declared_json(declared: &Declared) -> Value {
    let snapped = declared
        .snapped
        .map(|(loss, accuracy)| json!({"loss": loss, "accuracy": accuracy}));
    let difference = declared.difference.map(|found| {
        json!({
            "largest": found.largest(), "examples": found.examples(), "unthinned": found.unthinned(),
        })
    });
    json!({"snapped": snapped, "difference": difference})
}

fn write_declared(declared: &Declared, what: &str, out: &mut dyn Write) -> io::Result<()> {
    if let Some((loss, accuracy)) = declared.snapped {
        let accuracy = accuracy.map_or(String::new(), |a| format!(", accuracy {:.2} %", 100.0 * a));
        let loss = signed(loss);
        writeln!(out, "snapped      loss {loss}{accuracy} of all examples")?;
    }
    declared
        .difference
        .map_or(Ok(()), |found| write_difference(&found, what, out))
}

fn write_difference(found: &Difference, what: &str, out: &mut dyn Write) -> io::Result<()> {
    let by = if found.unthinned() {
        "uses no functions"
    } else {
        "uses only what is a function"
    };
    let examples = counted(found.examples(), "example");
    let checked = format!("on {examples}, by a circuit that {by}");
    if found.largest() <= MAX_ROUNDING {
        return writeln!(
            out,
            "functions    {what} of the network are those of the circuit: checked {checked}"
        );
    }
    let largest = significant(found.largest(), 3);
    writeln!(
        out,
        "functions    not snapped: {what} of the network differ from the circuit's by up to {largest}"
    )?;
    writeln!(
        out,
        "             ({checked}); its plan is part of what was learned; `--snap` makes functions"
    )
}

impl Report<'_> {
    pub fn write(&self, json: bool, out: &mut dyn Write) -> Result<Outcome> {
        if json {
            writeln!(out, "{}", self.to_json())?;
        } else {
            self.write_text(out)?;
        }
        Ok(Outcome::Done)
    }

    fn to_json(&self) -> Value {
        let name = |v: &VarId| self.net.variable(*v).name.clone();
        let group = |g: &Group| {
            let tables: Vec<String> = g.members.iter().map(name).collect();
            json!({"name": g.name, "tables": tables, "shape": g.shape, "parameters": g.weights.len()})
        };
        let groups: Vec<Value> = self.fitted.params().groups().iter().map(group).collect();
        json!({
            "parameters": self.fitted.params().len(),
            "groups": groups,
            "epochs": self.fitted.history(),
            "promised": self.fitted.declared().as_ref().map(declared_json),
            "warnings": self.fitted.warnings(),
            "seconds": self.seconds,
        })
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.fitted.is_counted() {
            let examples = counted(self.examples, "example");
            writeln!(out, "counted      {examples}, which are complete")?;
        }
        let groups = self.fitted.params().groups();
        writeln!(
            out,
            "parameters   {} in {}",
            grouped(self.fitted.params().len()),
            counted(groups.len(), "group")
        )?;
        let width = groups
            .iter()
            .take(MAX_LISTED)
            .map(|group| group.name.chars().count())
            .fold(10, usize::max);
        for group in groups.iter().take(MAX_LISTED) {
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
        if groups.len() > MAX_LISTED {
            writeln!(
                out,
                "  … and {} more; `--json` lists all",
                groups.len() - MAX_LISTED
            )?;
        }
        let Some(best) = self.fitted.best_epoch() else {
            return Ok(());
        };
        self.write_end(best, out)?;
        let what = if best.accuracy.is_some() {
            "posteriors"
        } else {
            "logarithms of P"
        };
        self.fitted
            .declared()
            .as_ref()
            .map_or(Ok(()), |declared| write_declared(declared, what, out))
    }

    fn write_end(&self, best: &Epoch, out: &mut dyn Write) -> io::Result<()> {
        let epochs = counted(self.fitted.history().len(), "epoch");
        writeln!(
            out,
            "learned      {epochs} in {} s",
            significant(self.seconds, 3)
        )?;
        let has_validation = best.loss != best.validation_loss;
        let of = if has_validation {
            "the validation set"
        } else {
            "all examples"
        };
        writeln!(out, "loss         {} of {of}", signed(best.validation_loss))?;
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
