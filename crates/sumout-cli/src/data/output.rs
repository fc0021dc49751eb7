//! Answers to a file, row by row: complete rows survive an interruption, and the next run can go on after them.
//!
//! Rows are written to `FILE.partial`, which gets its name when all rows are there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sumout::{Answers, Circuit};

/// What the rows look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Text, a row in each line.
    Csv,
    /// A NumPy matrix of 64-bit floats.
    Npy,
}

/// The length of the header of a NumPy file.
const HEADER: u64 = 128;

/// A file of answers that is being written.
pub struct Output {
    shape: Shape,
    file: BufWriter<File>,
    path: PathBuf,
    columns: Vec<String>,
    rows: u64,
}

impl Output {
    /// Opens a file; with `resume`, after the rows that an earlier run has written.
    pub fn open(path: &Path, circuit: &Circuit, resume: bool) -> io::Result<Self> {
        let shape = if path.extension().is_some_and(|e| e == "npy") { Shape::Npy } else { Shape::Csv };
        let columns = columns(circuit);
        let part = partial(path);
        let earlier = if resume && part.exists() { Some(kept(&part, shape, &columns)?) } else { None };
        let mut file = OpenOptions::new().create(true).write(true).truncate(earlier.is_none()).open(&part)?;
        let mut rows = 0;
        if let Some((length, kept)) = earlier {
            file.set_len(length)?;
            file.seek(SeekFrom::End(0))?;
            rows = kept;
        }
        let mut output =
            Output { shape, file: BufWriter::with_capacity(1 << 20, file), path: path.to_owned(), columns, rows };
        if earlier.is_none() {
            output.begin()?;
        }
        Ok(output)
    }

    /// How many rows are there.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    fn begin(&mut self) -> io::Result<()> {
        match self.shape {
            Shape::Csv => write_header(&mut self.file, &self.columns),
            Shape::Npy => self.file.write_all(&npy_header(0, self.columns.len())),
        }
    }

    /// Writes the answers to a chunk; rows that are bad have no numbers.
    pub fn write(&mut self, answers: &Answers, bad: &[usize]) -> io::Result<()> {
        for row in 0..answers.log_evidence.len() {
            let is_bad = bad.binary_search(&row).is_ok();
            match self.shape {
                Shape::Csv => write_row(&mut self.file, answers, row, is_bad)?,
                Shape::Npy => {
                    let impossible = f64::from(answers.is_impossible(row));
                    let ends = [answers.log_evidence[row], impossible];
                    for x in answers.row(row).iter().chain(&ends) {
                        self.file.write_all(&if is_bad { f64::NAN } else { *x }.to_le_bytes())?;
                    }
                }
            }
        }
        self.rows += answers.log_evidence.len() as u64;
        self.file.flush()
    }

    /// All rows are there: the file gets its name.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.flush()?;
        let file = self.file.get_mut();
        if self.shape == Shape::Npy {
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&npy_header(self.rows, self.columns.len()))?;
        }
        file.sync_all()?;
        fs::rename(partial(&self.path), &self.path)
    }
}

/// The titles of the columns.
pub fn columns(circuit: &Circuit) -> Vec<String> {
    let names = |v| {
        let variable = circuit.variable(v);
        variable.values.iter().map(move |value| format!("{}={value}", variable.name))
    };
    let posteriors = circuit.targets().into_iter().flat_map(names);
    posteriors.chain(["log_evidence".to_string(), "impossible".to_string()]).collect()
}

/// Writes titles as a line of CSV.
pub fn write_header(out: &mut dyn Write, columns: &[String]) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(columns)?;
    csv.flush()
}

/// Writes the answer to a row as a line of CSV.
pub fn write_row(out: &mut dyn Write, answers: &Answers, row: usize, is_bad: bool) -> io::Result<()> {
    if is_bad {
        return writeln!(out, "{}", ",".repeat(answers.width() + 1));
    }
    if answers.is_impossible(row) {
        return writeln!(out, "{},true", ",".repeat(answers.width()));
    }
    for p in answers.row(row) {
        write!(out, "{p},")?;
    }
    writeln!(out, "{},false", answers.log_evidence[row])
}

fn partial(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    path.with_file_name(name)
}

/// How many bytes of an unfinished file are complete rows, and how many rows they are.
fn kept(path: &Path, shape: Shape, columns: &[String]) -> io::Result<(u64, u64)> {
    let mut file = BufReader::new(File::open(path)?);
    let other = || io::Error::other("the unfinished file has other columns; remove it, or run without --resume");
    if shape == Shape::Npy {
        let mut start = vec![0; HEADER as usize];
        let whole = file.read_exact(&mut start).is_ok() && start == npy_header(0, columns.len());
        let width = 8 * columns.len() as u64;
        let rows = path.metadata()?.len().saturating_sub(HEADER) / width;
        return if whole { Ok((HEADER + rows * width, rows)) } else { Err(other()) };
    }
    let mut expected = vec![];
    write_header(&mut expected, columns)?;
    let mut text = vec![];
    file.read_to_end(&mut text)?;
    let end = text.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
    let rows = text[..end].iter().filter(|&&b| b == b'\n').count() as u64;
    if text.starts_with(&expected) { Ok((end as u64, rows - 1)) } else { Err(other()) }
}

fn npy_header(rows: u64, columns: usize) -> Vec<u8> {
    let text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let mut header = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    header.extend(format!("{text:<117}\n").bytes());
    header
}
