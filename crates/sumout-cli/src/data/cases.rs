//! Complete cases to files, one row each, in constant memory: as CSV, JSON, a NumPy matrix or
//! Parquet.

use std::io::{self, Write};
use std::path::Path;

use serde_json::Value;
use sumout::files::save;
use sumout::{Network, VarId};

use super::answers::npy_header;
use super::tables;
use crate::output::Result;

/// Appends the positions of the values that the columns have in the next case.
pub type Next<'a> = dyn FnMut(&mut Vec<u32>) -> io::Result<()> + 'a;

/// Cases that are yet to be written.
pub struct Cases<'a> {
    pub net: &'a Network,
    pub columns: Vec<VarId>,
    pub rows: u64,
    pub next: Box<Next<'a>>,
}

impl Cases<'_> {
    /// Writes all of them to a file whose name tells the format, or to standard output; as JSON, if
    /// that is wanted.
    pub fn write(&mut self, path: Option<&Path>, json: bool, out: &mut dyn Write) -> Result<()> {
        let Some(path) = path else {
            return Ok(if json {
                self.write_json(out)
            } else {
                self.write_csv(out)
            }?);
        };
        Ok(save(path, |file| {
            match path.extension().and_then(|e| e.to_str()) {
                _ if json => self.write_json(file),
                Some("npy") => self.write_npy(file),
                Some("parquet" | "pq") => tables::write_cases(file, self),
                _ => self.write_csv(file),
            }
        })?)
    }

    fn write_csv(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let mut csv = csv::Writer::from_writer(out);
        csv.write_record(self.columns.iter().map(|&v| &self.net.variable(v).name))
            .map_err(cause)?;
        let mut case = vec![];
        for _ in 0..self.rows {
            self.draw(&mut case)?;
            let values = case
                .iter()
                .zip(&self.columns)
                .map(|(&at, &v)| &self.net.variable(v).values[at as usize]);
            csv.write_record(values).map_err(cause)?;
        }
        csv.flush()
    }

    /// Positions of values, as few bytes each as are enough.
    fn write_npy(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let most = self
            .columns
            .iter()
            .map(|&v| self.net.card(v))
            .max()
            .unwrap_or(0);
        let (kind, bytes) = if most <= 128 { ("|i1", 1) } else { ("<i4", 4) };
        out.write_all(&npy_header(kind, self.rows, self.columns.len()))?;
        let mut case = vec![];
        for _ in 0..self.rows {
            self.draw(&mut case)?;
            let cells: Vec<u8> = case
                .iter()
                .flat_map(|at| at.to_le_bytes().into_iter().take(bytes))
                .collect();
            out.write_all(&cells)?;
        }
        Ok(())
    }

    fn write_json(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let quoted = |text: &String| Value::from(text.as_str()).to_string();
        let variables = self.columns.iter().map(|&v| self.net.variable(v));
        let members: Vec<Vec<String>> = variables
            .map(|v| {
                v.values
                    .iter()
                    .map(|value| format!("{}:{}", quoted(&v.name), quoted(value)))
                    .collect()
            })
            .collect();
        let mut case = vec![];
        for _ in 0..self.rows {
            self.draw(&mut case)?;
            let object: Vec<&str> = members
                .iter()
                .zip(&case)
                .map(|(names, &at)| &*names[at as usize])
                .collect();
            writeln!(out, "{{{}}}", object.join(","))?;
        }
        Ok(())
    }

    /// The next case, in place of the last.
    pub fn draw(&mut self, case: &mut Vec<u32>) -> io::Result<()> {
        case.clear();
        (self.next)(case)
    }
}

/// The cause of an error of the CSV writer; its own conversion hides that a pipe was closed.
fn cause(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
