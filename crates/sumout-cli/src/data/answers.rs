//! Answers as rows: of CSV, or of a NumPy matrix.

use std::io::{self, Write};

use sumout::{Answers, Circuit, Precision};

/// The titles of the columns.
pub fn columns(circuit: &Circuit) -> Vec<String> {
    let names = |v| {
        let variable = circuit.variable(v);
        variable.values.iter().map(move |value| format!("{}={value}", variable.name))
    };
    let posteriors = circuit.targets().into_iter().flat_map(names);
    posteriors.chain(["log_evidence".to_string(), "impossible".to_string()]).collect()
}

/// Titles as a line of CSV.
pub fn csv_header(columns: &[String]) -> io::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(vec![]);
    csv.write_record(columns)?;
    csv.into_inner().map_err(|e| io::Error::other(e.to_string()))
}

/// The length of the header of a NumPy file.
pub const NPY_HEADER: usize = 128;

/// The header of a NumPy matrix of 64-bit floats, or of small integers.
pub fn npy_header(kind: &str, rows: u64, columns: usize) -> Vec<u8> {
    let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let mut header = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    header.extend(format!("{text:<117}\n").bytes());
    header
}

/// The answers to a chunk.
#[derive(Debug)]
pub struct Rows {
    pub answers: Answers,
    pub precision: Precision,
    /// The number of rows; there may be more answers.
    pub count: usize,
    /// So many rows have been written by an earlier run.
    pub skip: usize,
    /// The rows that have no answer, in order.
    pub bad: Vec<usize>,
}

impl Rows {
    fn is_bad(&self, row: usize) -> bool {
        self.bad.binary_search(&row).is_ok()
    }

    /// The rows whose evidence has probability zero.
    pub fn impossible(&self) -> usize {
        (self.skip..self.count).filter(|&row| self.answers.is_impossible(row) && !self.is_bad(row)).count()
    }

    /// How many of the rows that are new have no answer.
    pub fn new_bad(&self) -> usize {
        self.bad.iter().filter(|row| **row >= self.skip).count()
    }

    /// Lines of CSV, with as many digits as tell numbers of that precision apart.
    pub fn csv(&self) -> Vec<u8> {
        let (mut text, width) = (vec![], self.answers.width());
        let mut buffer = zmij::Buffer::new();
        for row in self.skip..self.count {
            if self.is_bad(row) || self.answers.is_impossible(row) {
                text.resize(text.len() + width + 1, b',');
                text.extend(if self.is_bad(row) { &b"\n"[..] } else { b"true\n" });
                continue;
            }
            for &p in self.answers.row(row) {
                let number = match self.precision {
                    Precision::F32 => buffer.format(p as f32),
                    Precision::F64 => buffer.format(p),
                };
                text.extend(number.as_bytes());
                text.push(b',');
            }
            text.extend(buffer.format(self.answers.log_evidence[row]).as_bytes());
            text.extend(b",false\n");
        }
        text
    }

    /// Rows of 64-bit floats.
    pub fn floats(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity((self.count - self.skip) * (self.answers.width() + 2) * 8);
        for row in self.skip..self.count {
            let is_bad = self.is_bad(row);
            let ends = [self.answers.log_evidence[row], f64::from(self.answers.is_impossible(row))];
            for x in self.answers.row(row).iter().chain(&ends) {
                bytes.extend(if is_bad { f64::NAN } else { *x }.to_le_bytes());
            }
        }
        bytes
    }

    /// Writes lines of CSV.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.csv())?;
        out.flush()
    }
}
