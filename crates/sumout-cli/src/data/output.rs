//! Answers to a file: rows that are written survive an interruption, and the next run can go on
//! after them.
//!
//! Rows are written to `FILE.partial`, which gets its name when all rows are there. A Parquet file
//! cannot be read without its end, and so its rows are first written as floats, and put into
//! columns when all are there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::answers::{NPY_HEADER, Rows, csv_header, npy_header};
use super::journal::{Check, Journal, Manifest};
use super::tables;

/// The format of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Text, a row in each line.
    Csv,
    /// A NumPy matrix of 64-bit floats.
    Npy,
    /// Columns.
    Parquet,
}

/// A file of answers that is being written.
pub struct Output {
    shape: Shape,
    file: File,
    journal: Journal,
    path: PathBuf,
    manifest: Manifest,
    rows: u64,
}

/// A file to write, and what to know of the data if it has rows already.
type Opened = (Output, Vec<Check>);

impl Output {
    /// Opens a file, to be written from the beginning.
    pub fn create(path: &Path, manifest: &Manifest) -> io::Result<Self> {
        let journal = Journal::create(&beside(path, ".partial.journal"), manifest)?;
        let mut file = File::create(beside(path, ".partial"))?;
        let shape = shape(path);
        file.write_all(&header(shape, &manifest.titles.names)?)?;
        Ok(Output {
            shape,
            file,
            journal,
            path: path.to_owned(),
            manifest: manifest.clone(),
            rows: 0,
        })
    }

    /// Opens a file behind the rows that an earlier run has written, if there are any.
    pub fn resume(path: &Path, manifest: &Manifest) -> io::Result<Opened> {
        let part = beside(path, ".partial");
        let found = if part.exists() {
            kept(&part, shape(path), &manifest.titles.names)?
        } else {
            0
        };
        if found == 0 {
            return Ok((Output::create(path, manifest)?, vec![]));
        }
        let journal = Journal::resume(&beside(path, ".partial.journal"), manifest).map_err(|e| {
            match e.kind() {
                io::ErrorKind::NotFound => {
                    io::Error::other("it has no journal of what it was computed from")
                }
                _ => e,
            }
        });
        let (journal, mut checks) = journal?;
        let rows = found.min(checks.last().map_or(0, |check| check.rows));
        checks.truncate(checks.partition_point(|check| check.rows < rows) + 1);
        let mut file = OpenOptions::new().read(true).write(true).open(&part)?;
        cut(&mut file, shape(path), &manifest.titles.names, rows)?;
        let (shape, path, manifest) = (shape(path), path.to_owned(), manifest.clone());
        Ok((
            Output {
                shape,
                file,
                journal,
                path,
                manifest,
                rows,
            },
            checks,
        ))
    }

    /// How many rows are there.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes the answers to a chunk, after which the data has a fingerprint.
    pub fn write(&mut self, rows: &Rows<'_>, check: Check) -> io::Result<()> {
        self.journal.announce(check)?;
        self.file.write_all(&if self.shape == Shape::Csv {
            rows.csv()?
        } else {
            rows.floats()
        })?;
        self.rows = check.rows;
        Ok(())
    }

    /// All rows are there: the file gets its name.
    pub fn finish(mut self) -> io::Result<()> {
        let part = beside(&self.path, ".partial");
        let columns = self.manifest.titles.names.len();
        if self.shape != Shape::Csv {
            self.file.seek(SeekFrom::Start(0))?;
            self.file
                .write_all(&npy_header("<f8", self.rows, columns))?;
        }
        self.file.sync_all()?;
        if self.shape == Shape::Parquet {
            let mut floats = BufReader::with_capacity(1 << 20, File::open(&part)?);
            floats.seek(SeekFrom::Start(NPY_HEADER as u64))?;
            let whole = beside(&self.path, ".partial.parquet");
            tables::write_answers(
                File::create(&whole)?,
                &mut floats,
                &self.manifest,
                self.rows,
            )?;
            fs::rename(&whole, &self.path)?;
            fs::remove_file(&part)?;
        } else {
            fs::rename(&part, &self.path)?;
        }
        fs::remove_file(beside(&self.path, ".partial.journal"))
    }
}

fn shape(path: &Path) -> Shape {
    match path.extension().and_then(|e| e.to_str()) {
        Some("npy") => Shape::Npy,
        Some("parquet" | "pq") => Shape::Parquet,
        _ => Shape::Csv,
    }
}

/// The header of an unfinished file.
fn header(shape: Shape, columns: &[String]) -> io::Result<Vec<u8>> {
    if shape == Shape::Csv {
        csv_header(columns)
    } else {
        Ok(npy_header("<f8", 0, columns.len()))
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}

/// How many complete rows an unfinished file has.
fn kept(path: &Path, shape: Shape, columns: &[String]) -> io::Result<u64> {
    let mut file = BufReader::with_capacity(1 << 18, File::open(path)?);
    let expected = header(shape, columns)?;
    let mut start = vec![];
    file.by_ref()
        .take(expected.len() as u64)
        .read_to_end(&mut start)?;
    if !expected.starts_with(&start) {
        return Err(io::Error::other("it has other columns"));
    }
    if start.len() < expected.len() {
        return Ok(0);
    }
    match shape {
        Shape::Csv => lines(&mut file, u64::MAX).map(|(rows, _)| rows),
        Shape::Npy | Shape::Parquet => {
            Ok((path.metadata()?.len() - NPY_HEADER as u64) / (8 * columns.len() as u64))
        }
    }
}

/// How many complete lines there are, up to some number, and how many bytes they have.
fn lines(file: &mut dyn Read, most: u64) -> io::Result<(u64, u64)> {
    let (mut rows, mut end, mut read) = (0, 0, 0);
    let mut block = vec![0; 1 << 16];
    loop {
        let length = file.read(&mut block)?;
        for at in memchr::memchr_iter(b'\n', &block[..length]).take((most - rows) as usize) {
            rows += 1;
            end = read + at as u64 + 1;
        }
        read += length as u64;
        if length == 0 || rows == most {
            return Ok((rows, end));
        }
    }
}

/// Cuts an unfinished file behind some rows, and goes there.
fn cut(file: &mut File, shape: Shape, columns: &[String], rows: u64) -> io::Result<()> {
    let start = header(shape, columns)?.len() as u64;
    file.seek(SeekFrom::Start(start))?;
    let length = match shape {
        Shape::Csv => lines(file, rows)?.1,
        Shape::Npy | Shape::Parquet => rows * 8 * columns.len() as u64,
    };
    file.set_len(start + length)?;
    file.seek(SeekFrom::End(0))?;
    Ok(())
}
