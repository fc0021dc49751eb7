//! The origin of an unfinished file, so that another run can tell whether it may go on
//! with it.
//!
//! `FILE.partial.journal` says in its first line with which circuit and how, and then, before rows
//! are written, how many there will be, and the fingerprint of the data up to there. Fingerprints
//! are of what cells say, and not of the file that they stand in: that may be moved, converted, or
//! get more rows at its end.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use serde_json::{Value, json};
use sumout::Precision;

use super::answers::Titles;

/// A number that is different for different things, but for one in very many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The earlier hash, then a number.
    pub fn with(self, number: u64) -> Self {
        Fingerprint((self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The earlier hash, then a text.
    pub fn with_text(self, text: &str) -> Self {
        self.with(Fingerprint::of(text.as_bytes()).0)
    }

    /// The fingerprint of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<8>();
        let print = words.iter().fold(Fingerprint::default(), |print, &word| {
            print.with(u64::from_le_bytes(word))
        });
        rest.iter()
            .fold(print.with(bytes.len() as u64), |print, &byte| {
                print.with(byte.into())
            })
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Up to some row, the data has a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    pub rows: u64,
    pub print: Fingerprint,
}

/// Everything but the data that answers depend on.
#[derive(Clone, Debug)]
pub struct Manifest {
    pub circuit: Fingerprint,
    pub precision: Precision,
    pub titles: Titles,
}

impl Manifest {
    fn lines(&self) -> [(&'static str, Value); 4] {
        [
            ("version of sumout", json!(env!("CARGO_PKG_VERSION"))),
            ("circuit", json!(self.circuit.0)),
            ("precision", json!(self.precision.name())),
            ("columns", json!(self.titles.names)),
        ]
    }

    fn json(&self) -> Value {
        Value::Object(
            self.lines()
                .map(|(key, value)| (key.to_owned(), value))
                .into_iter()
                .collect(),
        )
    }

    /// The first difference from a journal.
    fn difference(&self, journal: &Value) -> Option<&'static str> {
        self.lines()
            .into_iter()
            .find(|(key, value)| journal.get(key) != Some(value))
            .map(|(key, _)| key)
    }
}

/// The journal of a file that is being written.
pub struct Journal(File);

impl Journal {
    /// Begins a journal.
    pub fn create(path: &Path, manifest: &Manifest) -> io::Result<Self> {
        let mut file = File::create(path)?;
        writeln!(file, "{}", manifest.json())?;
        Ok(Journal(file))
    }

    /// Resumes a journal; returns its checks of the data if it belongs to the same circuit.
    pub fn resume(path: &Path, manifest: &Manifest) -> io::Result<(Self, Vec<Check>)> {
        let mut lines = BufReader::new(File::open(path)?).lines();
        let first: Option<Value> = lines
            .next()
            .transpose()?
            .and_then(|line| serde_json::from_str(&line).ok());
        let first = first.ok_or_else(|| io::Error::other("its journal is damaged"))?;
        if let Some(what) = manifest.difference(&first) {
            return Err(io::Error::other(format!(
                "it was computed with another {what}"
            )));
        }
        let mut checks: Vec<Check> = vec![];
        for line in lines {
            let Ok((rows, print)) = serde_json::from_str::<(u64, u64)>(&line?) else {
                continue;
            };
            checks.truncate(checks.partition_point(|check| check.rows < rows)); // a run that went on says it again
            checks.push(Check {
                rows,
                print: Fingerprint(print),
            });
        }
        let mut file = OpenOptions::new().append(true).open(path)?;
        writeln!(file)?; // the last line may have been cut
        Ok((Journal(file), checks))
    }

    /// Says that rows are going to be written.
    pub fn announce(&mut self, check: Check) -> io::Result<()> {
        self.0
            .write_all(format!("[{},{}]\n", check.rows, check.print.0).as_bytes())
    }
}
