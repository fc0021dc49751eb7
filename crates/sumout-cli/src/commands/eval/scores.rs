//! `--metric`: answers compared with labels, which are in the column of the target.

use std::io::{self, Write};
use std::path::Path;

use clap::ValueEnum;
use serde_json::{Value, json};
use sumout::learn::metric::{BINS, Bin, Tally};
use sumout::{Circuit, Error, ErrorKind, Result, VarId, Variable};

use crate::data::{self, Form, Rows, Schema, Source};
use crate::text::{Align, counted, grouped, table};

/// A way to compare answers with labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Metric {
    Accuracy,
    CrossEntropy,
    Calibration,
    Confusion,
}

/// The inputs of a circuit, and then its target, whose cells are labels.
struct Labelled<'a> {
    circuit: &'a Circuit,
    target: VarId,
}

impl Schema for Labelled<'_> {
    fn variables(&self) -> Vec<VarId> {
        self.circuit.inputs().chain([self.target]).collect()
    }

    fn variable(&self, var: VarId) -> &Variable {
        self.circuit.variable(var)
    }

    fn meant(&self, name: &str) -> Option<String> {
        Schema::meant(self.circuit, name)
    }

    fn wanted(&self) -> &'static str {
        Schema::wanted(self.circuit)
    }

    fn takes_likelihoods(&self, var: VarId) -> bool {
        var != self.target
    }

    fn order(&self) -> &'static str {
        "a column for each input, in the order of the circuit, and a last one of labels"
    }
}

/// How well answers agree with labels so far.
pub struct Scores<'a> {
    circuit: &'a Circuit,
    target: VarId,
    metrics: Vec<Metric>,
    tally: Tally,
    unlabelled: u64,
}

impl<'a> Scores<'a> {
    /// No rows yet; without names, all metrics are meant.
    pub fn new(circuit: &'a Circuit, metrics: &[Metric]) -> Result<Self> {
        if circuit.explains() {
            let error = Error::new(
                ErrorKind::Unsupported,
                "the circuit is for explanations, and metrics are of posteriors",
            );
            return Err(error.hint("compile it with a target, and without `--mpe`"));
        }
        let [target] = circuit.targets()[..] else {
            let message = format!(
                "metrics are of one target, but the circuit has {}",
                circuit.targets().len()
            );
            return Err(
                Error::new(ErrorKind::Unsupported, message).hint("compile it with a target")
            );
        };
        let metrics = if metrics.is_empty() {
            Metric::value_variants()
        } else {
            metrics
        }
        .to_vec();
        let tally = Tally::new(circuit.variable(target).values.len());
        Ok(Scores {
            circuit,
            target,
            metrics,
            tally,
            unlabelled: 0,
        })
    }

    /// The variable whose values are labels.
    pub fn target(&self) -> VarId {
        self.target
    }

    fn variable(&self) -> &Variable {
        self.circuit.variable(self.target)
    }

    /// Opens a file of rows with labels.
    pub fn open(&self, path: &Path, form: &Form) -> Result<Box<dyn Source>> {
        let source = data::open(
            path,
            &Labelled {
                circuit: self.circuit,
                target: self.target,
            },
            form,
        )?;
        let (name, label) = (path.display(), &self.variable().name);
        let found = &source.columns().found;
        if !found.iter().any(|(_, var)| *var == self.target) {
            let error = Error::new(
                ErrorKind::Format,
                format!("`{name}`: there is no column `{label}` for labels"),
            );
            return Err(error.hint(format!(
                "`--metric` compares answers with the true values of `{label}`: add them"
            )));
        }
        if found.len() == 1 && self.circuit.inputs().next().is_some() {
            let error = Error::new(
                ErrorKind::Format,
                format!("`{name}`: no column is an input of the circuit"),
            );
            return Err(error.hint(data::wanted(self.circuit)));
        }
        Ok(source)
    }

    /// Adds the answers to a chunk.
    pub fn add(&mut self, rows: &Rows<'_>) {
        for (posterior, label) in rows.labelled() {
            match (posterior, usize::try_from(label)) {
                (_, Err(_)) => self.unlabelled += 1,
                (Some(posterior), Ok(label)) => self.tally.add(posterior, label),
                (None, Ok(label)) => self.tally.add_impossible(label),
            }
        }
    }

    /// Refuses to score without labels.
    pub fn check(&self) -> Result<()> {
        if self.tally.examples() > 0 {
            return Ok(());
        }
        let error = Error::new(ErrorKind::Evidence, "no row has a label to compare with");
        Err(error.hint(format!(
            "labels are values of `{}` in its column",
            self.variable().name
        )))
    }

    fn wants(&self, metric: Metric) -> bool {
        self.metrics.contains(&metric)
    }

    /// For people: numbers, and below them tables.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let tally = &self.tally;
        let right = format!(
            "({} of {})",
            grouped(tally.right() as usize),
            grouped(tally.examples() as usize)
        );
        let lines = [
            (Metric::Accuracy, "accuracy", tally.accuracy(), &*right),
            (
                Metric::CrossEntropy,
                "cross entropy",
                tally.cross_entropy(),
                "",
            ),
            (
                Metric::Calibration,
                "calibration error",
                tally.calibration_error(),
                "",
            ),
        ];
        let lines = lines.into_iter().filter(|(metric, ..)| self.wants(*metric));
        let lines: Vec<[String; 3]> = lines
            .map(|(_, name, x, more)| [name.into(), shown(x), more.into()])
            .collect();
        table(out, [Align::Left; 3], &lines)?;
        let tables = [
            (Metric::Calibration, self.bins()),
            (Metric::Confusion, self.confusion()),
        ];
        let mut is_first = lines.is_empty();
        for (_, rows) in tables.into_iter().filter(|(metric, _)| self.wants(*metric)) {
            if !std::mem::take(&mut is_first) {
                writeln!(out)?;
            }
            let align: Vec<Align> = (0..rows[0].len())
                .map(|c| if c == 0 { Align::Left } else { Align::Right })
                .collect();
            table(out, align, &rows)?;
        }
        Ok(())
    }

    /// Notes, for people.
    pub fn remarks(&self) -> Vec<String> {
        let rows = |count: u64| counted(count as usize, "row");
        let remarks = [
            (
                self.unlabelled,
                format!(
                    "not counted, because they have no label: {}",
                    rows(self.unlabelled)
                ),
            ),
            (
                self.tally.impossible(),
                format!(
                    "impossible, and counted as wrong: {}",
                    rows(self.tally.impossible())
                ),
            ),
        ];
        remarks
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(_, text)| text)
            .collect()
    }

    /// Confidence and accuracy, where there are rows.
    fn bins(&self) -> Vec<Vec<String>> {
        let title = ["confidence", "rows", "mean confidence", "accuracy"]
            .map(String::from)
            .to_vec();
        let bins = self
            .tally
            .bins()
            .iter()
            .enumerate()
            .filter(|(_, bin)| bin.examples() > 0);
        let row = |(at, bin): (usize, &Bin)| {
            let [from, to] = ends(at);
            let count = grouped(bin.examples() as usize);
            vec![
                format!("{from:.1} to {to:.1}"),
                count,
                shown(bin.confidence()),
                shown(bin.accuracy()),
            ]
        };
        [title].into_iter().chain(bins.map(row)).collect()
    }

    /// Answers by labels.
    fn confusion(&self) -> Vec<Vec<String>> {
        let values = &self.variable().values;
        let answers = values.iter().map(String::as_str).chain(["undecided"]);
        let title = ["label / answer"]
            .into_iter()
            .chain(answers)
            .map(String::from)
            .collect();
        let row = |(label, value): (usize, &String)| {
            let counts = self
                .counts(label)
                .into_iter()
                .chain([self.tally.confusion(label, None)]);
            [value.clone()]
                .into_iter()
                .chain(counts.map(|count| grouped(count as usize)))
                .collect()
        };
        [title]
            .into_iter()
            .chain(values.iter().enumerate().map(row))
            .collect()
    }

    /// How often rows with a label got each value for an answer.
    fn counts(&self, label: usize) -> Vec<u64> {
        (0..self.variable().values.len())
            .map(|answer| self.tally.confusion(label, Some(answer)))
            .collect()
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let tally = &self.tally;
        let mut fields = json!({
            "target": self.variable().name, "rows": tally.examples(), "unlabelled": self.unlabelled,
            "impossible": tally.impossible(),
        });
        for metric in Metric::value_variants()
            .iter()
            .filter(|metric| self.wants(**metric))
        {
            let (name, value) = match metric {
                Metric::Accuracy => ("accuracy", json!(tally.accuracy())),
                Metric::CrossEntropy => ("cross_entropy", json!(tally.cross_entropy())),
                Metric::Calibration => ("calibration", self.calibration_json()),
                Metric::Confusion => ("confusion", self.confusion_json()),
            };
            fields[name] = value;
        }
        fields
    }

    fn calibration_json(&self) -> Value {
        let bin = |(at, bin): (usize, &Bin)| {
            let [from, to] = ends(at);
            let (accuracy, confidence) = (bin.accuracy(), bin.confidence());
            json!({"from": from, "to": to, "rows": bin.examples(), "confidence": confidence, "accuracy": accuracy})
        };
        let bins: Vec<Value> = self.tally.bins().iter().enumerate().map(bin).collect();
        json!({"expected_error": self.tally.calibration_error(), "bins": bins})
    }

    fn confusion_json(&self) -> Value {
        let values = &self.variable().values;
        let counts: Vec<Vec<u64>> = (0..values.len()).map(|label| self.counts(label)).collect();
        let undecided: Vec<u64> = (0..values.len())
            .map(|label| self.tally.confusion(label, None))
            .collect();
        json!({"values": values, "counts": counts, "undecided": undecided})
    }
}

/// Where a bin begins and ends.
fn ends(bin: usize) -> [f64; 2] {
    [bin, bin + 1].map(|at| at as f64 / BINS as f64)
}

fn shown(x: Option<f64>) -> String {
    x.map_or_else(|| "-".to_owned(), |x| format!("{x:.4}"))
}
