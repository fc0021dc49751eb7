//! Answers as rows: of CSV, or of a NumPy matrix.

use std::collections::HashSet;
use std::io::{self, Write};

use sumout::{
    Batch, Circuit, Error, ErrorKind, EvalOptions, Evaluator, Explainer, Explanations, Precision,
    Result,
};

/// The names of the columns, and the meaning of their numbers.
#[derive(Clone, Debug)]
pub struct Titles {
    /// Columns that are carried through, those of the answers, and those of predicted values.
    pub names: Vec<String>,
    pub cells: Cells,
    /// How many columns are carried through.
    pub(super) kept: usize,
    /// How many columns have the numbers of answers.
    pub(super) width: usize,
    /// The variables that are asked for, with their values.
    pub(super) targets: Vec<(String, Vec<String>)>,
    /// Whether there is a column for the predicted value of each.
    pub(super) predicts: bool,
}

/// The meaning of the columns before the last two.
#[derive(Clone, Debug)]
pub enum Cells {
    /// Probabilities of this precision.
    Probabilities(Precision),
    /// For each column the names of values, of which the numbers are positions; a column without
    /// names has logarithms. Negative numbers are missing.
    Values(Vec<Vec<String>>),
}

impl Titles {
    /// The columns of a circuit's answers, with this many explanations in each row.
    pub fn new(circuit: &Circuit, precision: Precision, count: usize) -> Self {
        if circuit.explains() {
            return Titles::explanations(circuit, count);
        }
        let targets = circuit.targets();
        let targets = targets.iter().map(|&v| circuit.variable(v));
        let named = targets
            .clone()
            .map(|v| (v.name.clone(), v.values.clone()))
            .collect();
        let names =
            targets.flat_map(|v| v.values.iter().map(|value| format!("{}={value}", v.name)));
        let names = names.chain(["log_evidence", "impossible"].map(str::to_string));
        Titles::of(names.collect(), Cells::Probabilities(precision), named)
    }

    fn of(names: Vec<String>, cells: Cells, targets: Vec<(String, Vec<String>)>) -> Self {
        Titles {
            width: names.len() - 2,
            names,
            cells,
            kept: 0,
            targets,
            predicts: false,
        }
    }

    /// The columns of the best explanation, and then of the next ones: those have numbers in their names.
    fn explanations(circuit: &Circuit, count: usize) -> Self {
        let targets = circuit.targets();
        let targets = || targets.iter().map(|&v| circuit.variable(v));
        let (mut names, mut cells) = (vec![], vec![]);
        for place in 1..=count {
            let end = if place > 1 {
                format!(".{place}")
            } else {
                String::new()
            };
            names.extend(targets().map(|variable| format!("{}{end}", variable.name)));
            cells.extend(targets().map(|variable| variable.values.clone()));
            if place > 1 {
                names.push(format!("log_probability{end}"));
                cells.push(vec![]);
            }
        }
        names.extend(["log_probability", "impossible"].map(str::to_string));
        let named = targets().map(|v| (v.name.clone(), v.values.clone()));
        Titles::of(names, Cells::Values(cells), named.collect())
    }

    /// Only the columns of a value, such as `ok_g1=broken` and `ok_g2=broken`; and where they are.
    pub fn of_value(mut self, circuit: &Circuit, value: &str) -> Result<(Titles, Vec<usize>)> {
        let values = self.targets.iter().flat_map(|(_, values)| values);
        let columns: Vec<usize> = values
            .enumerate()
            .filter(|(_, name)| *name == value)
            .map(|(at, _)| at)
            .collect();
        if columns.is_empty() || circuit.explains() {
            let message =
                format!("none of the circuit's columns is the probability of a value `{value}`");
            let error = Error::new(ErrorKind::Name, message);
            return Err(error.hint("leave out `--value` to see all columns"));
        }
        let ends = self.width..self.width + 2;
        let names = columns.iter().copied().chain(ends);
        self.names = names.map(|at| self.names[at].clone()).collect();
        self.width = columns.len();
        self.targets
            .retain(|(_, values)| values.iter().any(|name| name == value));
        for (_, values) in &mut self.targets {
            values.retain(|name| name == value);
        }
        Ok((self, columns))
    }

    /// With columns that are carried through before the answers, and with the predicted values
    /// behind them.
    pub fn with(mut self, kept: &[String], predicts: bool) -> Self {
        self.predicts = predicts && matches!(self.cells, Cells::Probabilities(_));
        if self.predicts {
            let predicted = self
                .targets
                .iter()
                .map(|(name, _)| format!("predicted {name}"));
            self.names.splice(self.width..self.width, predicted);
        }
        self.names.splice(0..0, kept.iter().cloned());
        self.kept = kept.len();
        self
    }

    /// Refuses two columns of the same name, which readers of the file would take for one.
    pub fn refuse_duplicates(&self) -> Result<()> {
        let mut seen = HashSet::new();
        let Some(name) = self.names.iter().find(|name| !seen.insert(*name)) else {
            return Ok(());
        };
        let message = format!("two columns of the answers would be called `{name}`");
        let error = Error::new(ErrorKind::Format, message);
        Err(match self.names[..self.kept].contains(name) {
            true => error.hint("keep each column once, and rename one that is called as an answer"),
            false => error.hint("rename the variable"),
        })
    }

    /// Whether there are columns of text beside the answers.
    pub fn has_text(&self) -> bool {
        self.kept > 0 || self.predicts
    }

    /// The number of columns with the numbers of answers.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The most probable value of each target; none where several are.
    pub(super) fn predicted<'t>(&'t self, mut row: &'t [f64]) -> Vec<Option<&'t str>> {
        let best = |(_, values): &'t (String, Vec<String>)| {
            let numbers;
            (numbers, row) = row.split_at(values.len());
            let most = numbers.iter().copied().fold(0.0, f64::max);
            let mut best = numbers.iter().zip(values).filter(|(p, _)| **p == most);
            best.next()
                .filter(|_| best.next().is_none())
                .map(|(_, value)| value.as_str())
        };
        let targets = if self.predicts {
            &self.targets[..]
        } else {
            &[]
        };
        targets.iter().map(best).collect()
    }
}

/// A circuit that is ready to answer.
pub enum Answering {
    Posteriors(Box<Evaluator>),
    /// The best ones, in this number.
    Explanations(Box<Explainer>, usize),
}

impl Answering {
    pub fn new(circuit: &Circuit, running: &EvalOptions, count: usize) -> Result<Self> {
        Ok(if circuit.explains() {
            Answering::Explanations(circuit.explainer(running)?.into(), count)
        } else {
            Answering::Posteriors(circuit.evaluator(running)?.into())
        })
    }

    /// The numbers of all rows, and their logarithms.
    pub fn run(&self, batch: &Batch) -> Result<(Vec<f64>, Vec<f64>)> {
        match self {
            Answering::Posteriors(evaluator) => evaluator
                .run(batch)
                .map(|answers| (answers.posteriors, answers.log_evidence)),
            Answering::Explanations(explainer, 1) => {
                let found = explainer.run(batch)?;
                Ok((
                    found.values.into_iter().map(f64::from).collect(),
                    found.log_probability,
                ))
            }
            Answering::Explanations(explainer, count) => {
                Ok(side_by_side(&explainer.run_best(batch, *count)?))
            }
        }
    }
}

/// The explanations of each row, with the logarithms of all but the best one.
fn side_by_side(best: &[Explanations]) -> (Vec<f64>, Vec<f64>) {
    let (mut numbers, logs) = (vec![], best[0].log_probability.clone());
    for row in 0..logs.len() {
        for (place, best) in best.iter().enumerate() {
            numbers.extend(best.row(row).iter().map(|&value| f64::from(value)));
            if place > 0 {
                numbers.push(best.log_probability[row]);
            }
        }
    }
    (numbers, logs)
}

impl Cells {
    /// The names of values as they stand in CSV; nothing if the numbers are probabilities.
    fn quoted(&self) -> io::Result<Vec<Vec<Vec<u8>>>> {
        let Cells::Values(columns) = self else {
            return Ok(vec![]);
        };
        let quoted = |name: &String| {
            let mut line = csv_header(std::slice::from_ref(name))?;
            line.pop();
            Ok(line)
        };
        columns
            .iter()
            .map(|names| names.iter().map(quoted).collect())
            .collect()
    }
}

/// A cell as it stands in CSV. A line is a row, so that ends of lines become blanks.
fn cell(text: &str) -> io::Result<Vec<u8>> {
    if text.is_empty() {
        return Ok(vec![]);
    }
    let mut line = csv_header(&[text.replace(['\r', '\n'], " ")])?;
    line.pop();
    Ok(line)
}

/// Titles as a line of CSV.
pub fn csv_header(columns: &[String]) -> io::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(vec![]);
    csv.write_record(columns)?;
    csv.into_inner()
        .map_err(|e| io::Error::other(e.to_string()))
}

/// The length of the header of a NumPy file.
pub const NPY_HEADER: usize = 128;

/// The header of a NumPy matrix of 64-bit floats, or of small integers.
pub fn npy_header(kind: &str, rows: u64, columns: usize) -> Vec<u8> {
    let text =
        format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let mut header = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    header.extend(format!("{text:<117}\n").bytes());
    header
}

/// The answers to a chunk.
#[derive(Debug)]
pub struct Rows<'a> {
    pub titles: &'a Titles,
    /// The numbers of each row, before the last two columns.
    pub numbers: Vec<f64>,
    /// The logarithm of each row's probability.
    pub logs: Vec<f64>,
    /// The positions of the rows' labels, negative where there is none; empty if nobody asked for
    /// them.
    pub labels: Vec<i32>,
    /// The number of rows; there may be more answers.
    pub count: usize,
    /// The number of rows written by an earlier run.
    pub skip: usize,
    /// The rows that have no answer, in order.
    pub bad: Vec<usize>,
    /// Of each column that is carried through, the cells.
    pub kept: Vec<Vec<String>>,
}

impl Rows<'_> {
    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.numbers[row * self.titles.width()..][..self.titles.width()]
    }

    pub(super) fn is_impossible(&self, row: usize) -> bool {
        self.logs[row] == f64::NEG_INFINITY
    }

    pub(super) fn is_bad(&self, row: usize) -> bool {
        self.bad.binary_search(&row).is_ok()
    }

    /// The labels of all rows that could be read, each with the numbers of its row, or none if it
    /// is impossible.
    pub fn labelled(&self) -> impl Iterator<Item = (Option<&[f64]>, i32)> {
        let rows = (self.skip..self.count).filter(|&row| !self.is_bad(row));
        rows.map(|row| {
            (
                (!self.is_impossible(row)).then(|| self.row(row)),
                self.labels[row],
            )
        })
    }

    /// The rows whose evidence has probability zero.
    pub fn impossible(&self) -> usize {
        (self.skip..self.count)
            .filter(|&row| self.is_impossible(row) && !self.is_bad(row))
            .count()
    }

    /// How many of the rows that are new have no answer.
    pub fn new_bad(&self) -> usize {
        self.bad.iter().filter(|row| **row >= self.skip).count()
    }

    /// Lines of CSV, with as many digits as tell numbers of that precision apart.
    pub fn csv(&self) -> io::Result<Vec<u8>> {
        let names = self.titles.cells.quoted()?;
        let mut text = vec![];
        let mut buffer = zmij::Buffer::new();
        for row in self.skip..self.count {
            for column in &self.kept {
                text.extend(cell(&column[row])?);
                text.push(b',');
            }
            if self.is_bad(row) || self.is_impossible(row) {
                let empty = self.titles.names.len() - self.titles.kept - 1;
                text.resize(text.len() + empty, b',');
                text.extend(if self.is_bad(row) {
                    &b"\n"[..]
                } else {
                    b"true\n"
                });
                continue;
            }
            for (column, &x) in self.row(row).iter().enumerate() {
                match self.titles.cells {
                    Cells::Values(_)
                        if x == f64::NEG_INFINITY || x == -1.0 && !names[column].is_empty() => {}
                    Cells::Values(_) if names[column].is_empty() => {
                        text.extend(buffer.format(x + 0.0).as_bytes())
                    }
                    Cells::Values(_) => text.extend(&names[column][x as usize]),
                    Cells::Probabilities(Precision::F32) => {
                        text.extend(buffer.format(x as f32).as_bytes())
                    }
                    Cells::Probabilities(_) => text.extend(buffer.format(x).as_bytes()),
                }
                text.push(b',');
            }
            for value in self.titles.predicted(self.row(row)) {
                text.extend(cell(value.unwrap_or_default())?);
                text.push(b',');
            }
            text.extend(buffer.format(self.logs[row] + 0.0).as_bytes());
            text.extend(b",false\n");
        }
        Ok(text)
    }

    /// Rows of 64-bit floats.
    pub fn floats(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity((self.count - self.skip) * self.titles.names.len() * 8);
        for row in self.skip..self.count {
            let is_bad = self.is_bad(row);
            let ends = [self.logs[row], f64::from(self.is_impossible(row))];
            for x in self.row(row).iter().chain(&ends) {
                bytes.extend(if is_bad { f64::NAN } else { *x }.to_le_bytes());
            }
        }
        bytes
    }

    /// Writes lines of CSV.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.csv()?)?;
        out.flush()
    }
}
