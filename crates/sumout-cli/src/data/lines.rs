//! Answers as JSON lines: an object for each row, with the fields of `query --json` or `mpe --json`.

use std::io::{self, Write};

use serde_json::{Map, Value, json};
use sumout::Precision;

use super::answers::{Cells, Rows};

impl Rows<'_> {
    /// Writes a line for each row.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        for row in self.skip..self.count {
            writeln!(out, "{}", self.json(row))?;
        }
        out.flush()
    }

    fn json(&self, row: usize) -> Value {
        let mut line = if self.is_bad(row) {
            json!({"bad": true})
        } else if self.is_impossible(row) {
            json!({"impossible": true})
        } else {
            self.answer(row)
        };
        if !self.kept.is_empty() {
            let kept = self.titles.names.iter().zip(&self.kept);
            let kept = kept.map(|(title, cells)| (title.clone(), json!(cells[row])));
            line["kept"] = Value::Object(kept.collect());
        }
        line
    }

    fn answer(&self, row: usize) -> Value {
        let (titles, numbers, log) = (self.titles, self.row(row), self.logs[row] + 0.0);
        let Cells::Probabilities(precision) = titles.cells else {
            return self.explanations(numbers, log);
        };
        let mut left = numbers.iter();
        let posterior = |(name, values): &(String, Vec<String>)| {
            let cells = values.iter().zip(left.by_ref());
            let cells = cells.map(|(value, &p)| (value.clone(), number(p, precision)));
            (name.clone(), Value::Object(cells.collect()))
        };
        let posteriors: Map<String, Value> = titles.targets.iter().map(posterior).collect();
        let mut line = json!({"posteriors": posteriors, "log_evidence": log, "impossible": false});
        if titles.predicts {
            let names = titles.targets.iter().map(|(name, _)| name.clone());
            let values = titles.predicted(numbers).into_iter().map(Value::from);
            line["predicted"] = Value::Object(names.zip(values).collect());
        }
        line
    }

    /// The best explanation, and the next ones if they were asked for.
    fn explanations(&self, numbers: &[f64], log: f64) -> Value {
        let targets = &self.titles.targets;
        let (best, next) = numbers.split_at(targets.len());
        let mut line = json!({"assignment": self.assignment(best), "log_probability": log, "impossible": false});
        let next = next.chunks_exact(targets.len() + 1);
        let found = next.filter(|one| one[targets.len()] > f64::NEG_INFINITY);
        let others: Vec<Value> = found
            .map(|one| json!({"assignment": self.assignment(one), "log_probability": one[targets.len()] + 0.0}))
            .collect();
        if self.titles.width() > targets.len() {
            line["next"] = others.into();
        }
        line
    }

    fn assignment(&self, numbers: &[f64]) -> Map<String, Value> {
        let value = |((name, values), &at): (&(String, Vec<String>), &f64)| {
            (name.clone(), json!(values[at as usize]))
        };
        self.titles.targets.iter().zip(numbers).map(value).collect()
    }
}

/// With as many digits as tell numbers of that precision apart.
fn number(p: f64, precision: Precision) -> Value {
    match precision {
        Precision::F32 => {
            let text = zmij::Buffer::new().format(p as f32).to_owned();
            serde_json::from_str(&text).unwrap_or(json!(p))
        }
        _ => json!(p),
    }
}
