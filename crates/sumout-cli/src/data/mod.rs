//! Rows of evidence from files and answers to files, a chunk at a time, so that a file may be
//! larger than the memory.

mod answers;
mod cases;
mod columns;
mod csv;
mod form;
mod input;
mod journal;
mod lines;
mod npy;
mod numbers;
mod output;
mod pages;
mod parquet;
mod records;
mod runs;
mod tables;
mod values;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use sumout::{Batch, Circuit, Error, ErrorKind, Remedy, Result, VarId, Variable};

pub use answers::{Answering, Rows, Titles, csv_header};
pub use cases::{Cases, Next};
pub use columns::{Columns, Ignored, Schema, wanted};
pub use form::Form;
pub use journal::{Check, Fingerprint, Manifest};
pub use numbers::{Numbers, numbers};
pub use output::Output;
pub use values::Values;

/// Some rows: for each column the positions of values.
#[derive(Debug, Default)]
pub struct Chunk {
    pub rows: usize,
    pub columns: Vec<(VarId, Values)>,
    /// Rows that cannot be read, by their position in the chunk, with what is wrong; they get no
    /// answer.
    pub bad: Vec<(usize, String)>,
    /// Of each column that is carried through, the cells.
    pub kept: Vec<Vec<String>>,
}

impl Chunk {
    /// Rows without a value for an input that was promised to have one are bad.
    pub fn check_hard(&mut self, circuit: &Circuit) -> Result<()> {
        for var in circuit.inputs().filter(|&v| circuit.is_hard(v)) {
            let Some((_, values)) = self.columns.iter_mut().find(|(v, _)| *v == var) else {
                return Err(no_column(circuit.variable(var)));
            };
            for row in values.missing() {
                self.bad.push((row, missing(circuit.variable(var))));
                values.set(row, 0); // any: the row gets no answer
            }
        }
        self.settle();
        Ok(())
    }

    /// Puts the bad rows in order, each with the first thing that is wrong with it.
    pub fn settle(&mut self) {
        self.bad.sort_by_key(|(row, _)| *row);
        self.bad.dedup_by_key(|(row, _)| *row);
    }

    /// Takes a column out.
    pub fn take(&mut self, var: VarId) -> Option<Vec<i32>> {
        let at = self.columns.iter().position(|(v, _)| *v == var)?;
        Some(self.columns.remove(at).1.positions())
    }

    /// A fingerprint of this chunk.
    pub fn fingerprint(&self, before: Fingerprint) -> Fingerprint {
        let mut print = before.with(self.rows as u64);
        for (var, values) in &self.columns {
            print = values.fingerprint(print.with(var.index() as u64));
        }
        let cells = self.kept.iter().flatten();
        print = cells.fold(print, |print, cell| print.with_text(cell));
        self.bad
            .iter()
            .fold(print, |print, (row, _)| print.with(*row as u64))
    }

    /// The same as a batch for a circuit, padded to a minimum size by repeating the last example.
    pub fn batch(&mut self, circuit: &Circuit, least: usize) -> Result<Batch> {
        let rows = self.rows.max(least);
        let mut batch = Batch::new(rows);
        for (var, values) in self.columns.drain(..) {
            values.insert(&mut batch, circuit, var)?;
        }
        Ok(batch)
    }
}

/// The variable that an intervention sets, if this is an intervention as `compile --do` makes it.
fn intervention(variable: &Variable) -> Option<&str> {
    let name = variable.name.strip_prefix("do(")?.strip_suffix(')')?;
    let idle = variable.values.last()?.trim_end_matches('_');
    (idle == "idle").then_some(name)
}

/// An input that must have a value has no column.
fn no_column(variable: &Variable) -> Error {
    let name = &variable.name;
    let error = |why| {
        let message =
            format!("there is no column `{name}`, but the circuit was compiled with {why}");
        Error::new(ErrorKind::Evidence, message)
    };
    if let Some(set) = intervention(variable) {
        let idle = &variable.values[variable.values.len() - 1];
        return error(format!("`--do {set}`")).hint(format!(
            "add the column: a value of `{set}`, or `{idle}` in rows without an intervention"
        ));
    }
    error(format!("`--hard {name}`"))
        .hint("add the column")
        .or(Remedy::UseInstead {
            option: "given",
            instead_of: "hard",
        })
}

/// An input that must have a value has none in a row.
fn missing(variable: &Variable) -> String {
    let name = &variable.name;
    let Some(set) = intervention(variable) else {
        return format!("`{name}` is missing, but the circuit was compiled with `--hard {name}`");
    };
    let idle = &variable.values[variable.values.len() - 1];
    format!("`{name}` is missing: write a value of `{set}`, or `{idle}` for no intervention")
}

/// A file of rows.
pub trait Source: Send {
    /// The next rows: as many as asked for, unless the file ends; none at the end.
    fn next(&mut self, rows: usize) -> Result<Option<Chunk>>;

    /// The columns of the file.
    fn columns(&self) -> &Columns;

    /// Carries columns through, by their titles.
    fn keep(&mut self, titles: &[String]) -> Result<()> {
        if titles.is_empty() {
            return Ok(());
        }
        let error = Error::new(ErrorKind::Format, "only columns of CSV files can be kept");
        Err(error.hint("give the rows as a .csv file"))
    }

    /// The number of rows, if it is known or can be estimated.
    fn len(&self) -> Option<u64>;
}

/// The extension of a file; of a compressed one also that before it.
fn kind(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    let (stem, last) = name.rsplit_once('.')?;
    match stem.rsplit_once('.') {
        Some((before, _)) if last == "gz" => Some(&name[before.len() + 1..]),
        _ => Some(last),
    }
}

/// Opens a file of rows; `-` is CSV from standard input.
pub fn open(path: &Path, schema: &dyn Schema, form: &Form) -> Result<Box<dyn Source>> {
    if path == Path::new("-") {
        return Ok(Box::new(csv::Csv::new(
            "<stdin>".into(),
            Box::new(io::stdin()),
            None,
            schema,
            form,
        )?));
    }
    let name = path.display().to_string();
    let file = File::open(path).map_err(|e| Error::io(format_args!("cannot read `{name}`"), e))?;
    let size = file
        .metadata()
        .ok()
        .filter(|found| found.is_file())
        .map(|found| found.len());
    let buffered =
        |file| -> Box<dyn Read + Send> { Box::new(BufReader::with_capacity(1 << 20, file)) };
    match kind(path) {
        Some("npy") => Ok(Box::new(npy::Npy::new(name, buffered(file), schema, form)?)),
        Some("parquet" | "pq") => Ok(Box::new(parquet::Parquet::new(name, file, schema, form)?)),
        Some("csv" | "tsv" | "txt" | "csv.gz" | "tsv.gz" | "txt.gz" | "gz") | None => {
            let csv = csv::Csv::new(name, Box::new(file), size, schema, form)?;
            Ok(Box::new(csv))
        }
        Some(other) => {
            let error = Error::new(
                ErrorKind::Format,
                format!("`{name}`: cannot read files of type `{other}`"),
            );
            Err(error
                .hint("give a .csv or .parquet file with columns named like variables, or an .npy file of positions"))
        }
    }
}
