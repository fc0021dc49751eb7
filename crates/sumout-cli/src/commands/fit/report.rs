//! What was learned, for people and for programs.

use std::io::{self, Write};

use serde_json::{Value, json};
use sumout::learn::{Group, Params};
use sumout::{Epoch, Network};

use crate::output::{Outcome, Result};
use crate::text::{counted, grouped, significant};

pub struct Report<'a> {
    pub net: &'a Network,
    pub params: &'a Params,
    pub history: &'a [Epoch],
    /// The epoch that the parameters are of.
    pub best: Option<&'a Epoch>,
    pub seconds: f64,
}

/// So many groups are listed for people.
const LISTED: usize = 12;

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
            "seconds": self.seconds,
        })
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let groups = self.params.groups();
        writeln!(out, "parameters   {} in {}", grouped(self.params.len()), counted(groups.len(), "group"))?;
        for group in groups.iter().take(LISTED) {
            let (tables, parameters) =
                (counted(group.members.len(), "table"), counted(group.weights.len(), "parameter"));
            writeln!(out, "  {:<10} {tables} of shape {:?}, {parameters}", group.name, group.shape)?;
        }
        if groups.len() > LISTED {
            writeln!(out, "  … and {} more; `--json` lists all", groups.len() - LISTED)?;
        }
        self.best.map_or(Ok(()), |best| self.write_end(best, out))
    }

    fn write_end(&self, best: &Epoch, out: &mut dyn Write) -> io::Result<()> {
        let epochs = counted(self.history.len(), "epoch");
        writeln!(out, "learned      {epochs} in {} s", significant(self.seconds, 3))?;
        let is_watched = best.loss != best.watched_loss;
        let of = if is_watched { "the examples that were watched" } else { "all examples" };
        writeln!(out, "loss         {} of {of}", signed(best.watched_loss))?;
        if best.impossible > 0 {
            writeln!(out, "impossible   {} under the network", counted(best.impossible, "example"))?;
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
