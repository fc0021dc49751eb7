//! Rows of evidence from files, a chunk at a time, so that a file may be larger than the memory.

mod csv;
mod npy;
mod output;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use sumout::{Batch, Circuit, Column, Error, ErrorKind, Result, VarId};

pub use output::{Output, columns, write_header, write_row};

/// Some rows: for each column the positions of values, negative where a cell is missing.
#[derive(Debug, Default)]
pub struct Chunk {
    pub rows: usize,
    pub columns: Vec<(VarId, Vec<i32>)>,
    /// Rows that cannot be read, by their position in the chunk, with what is wrong; their cells are missing.
    pub bad: Vec<(usize, String)>,
}

impl Chunk {
    /// Rows without a value for an input that was promised to have one are bad.
    pub fn check_hard(&mut self, circuit: &Circuit) -> Result<()> {
        for var in circuit.inputs().filter(|&v| circuit.is_hard(v)) {
            let name = &circuit.variable(var).name;
            let Some((_, values)) = self.columns.iter_mut().find(|(v, _)| *v == var) else {
                let message = format!("there is no column `{name}`, but the circuit was compiled with `--hard {name}`");
                let error = Error::new(ErrorKind::Evidence, message);
                return Err(error.hint("add the column, or compile with `--given` instead of `--hard`"));
            };
            for (row, value) in values.iter_mut().enumerate().filter(|(_, value)| **value < 0) {
                if !self.bad.iter().any(|(bad, _)| *bad == row) {
                    self.bad
                        .push((row, format!("`{name}` is missing, but the circuit was compiled with `--hard {name}`")));
                }
                *value = 0; // any: the row gets no answer
            }
        }
        self.bad.sort();
        Ok(())
    }

    /// The same as a batch for a circuit.
    pub fn batch(&mut self, circuit: &Circuit) -> Result<Batch> {
        let mut batch = Batch::new(self.rows);
        for (var, values) in self.columns.drain(..) {
            batch.insert(circuit, var, Column::Values(values))?;
        }
        Ok(batch)
    }
}

/// A file of rows.
pub trait Source: Send {
    /// The next rows, at most so many; none at the end.
    fn next(&mut self, rows: usize) -> Result<Option<Chunk>>;

    /// The inputs that the file does not have.
    fn missing(&self) -> &[String];

    /// What is in the file that the circuit does not use.
    fn ignored(&self) -> &[String];

    /// The number of rows, if the file says so.
    fn len(&self) -> Option<u64>;
}

/// Opens a file of rows; `-` is CSV from standard input.
pub fn open(path: &Path, circuit: &Circuit) -> Result<Box<dyn Source>> {
    if path == Path::new("-") {
        return Ok(Box::new(csv::Csv::new("<stdin>".into(), Box::new(io::stdin()), circuit)?));
    }
    let name = path.display().to_string();
    let file = File::open(path).map_err(|e| Error::new(ErrorKind::Io, format!("cannot read `{name}`: {e}")))?;
    let reader: Box<dyn Read + Send> = Box::new(BufReader::with_capacity(1 << 20, file));
    match path.extension().and_then(|e| e.to_str()) {
        Some("npy") => Ok(Box::new(npy::Npy::new(name, reader, circuit)?)),
        Some("csv" | "txt") | None => Ok(Box::new(csv::Csv::new(name, reader, circuit)?)),
        Some(other) => {
            let error = Error::new(ErrorKind::Format, format!("`{name}`: files of kind `{other}` are not read"));
            Err(error.hint("give a .csv file with variables in its header, or an .npy file of value positions"))
        }
    }
}
