//! CSV: a header of variables, cells of values, empty where missing.

use std::collections::HashMap;
use std::io::Read;

use csv::{Reader, ReaderBuilder, StringRecord};
use sumout::{Circuit, Error, ErrorKind, Result, VarId};

use super::{Chunk, Source};

pub struct Csv {
    name: String,
    reader: Reader<Box<dyn Read + Send>>,
    /// For each input that the file has: its column, and the position of each value by name.
    columns: Vec<Input>,
    ignored: Vec<String>,
    record: StringRecord,
}

struct Input {
    column: usize,
    var: VarId,
    name: String,
    positions: HashMap<String, i32>,
}

impl Csv {
    pub fn new(name: String, reader: Box<dyn Read + Send>, circuit: &Circuit) -> Result<Self> {
        let mut reader = ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(reader);
        let header = reader.headers().map_err(|e| unreadable(&name, &e))?.clone();
        let (mut columns, mut ignored): (Vec<Input>, Vec<String>) = (vec![], vec![]);
        for (column, title) in header.iter().enumerate() {
            match circuit.input(title) {
                Ok(var) if columns.iter().any(|input| input.var == var) => {
                    let error = Error::new(ErrorKind::Format, format!("`{name}`: two columns are called `{title}`"));
                    return Err(error.hint("give each variable one column"));
                }
                Ok(var) => columns.push(Input::new(column, var, circuit)),
                Err(_) => ignored.push(title.to_string()),
            }
        }
        if columns.is_empty() {
            let error = Error::new(ErrorKind::Format, format!("`{name}`: no column is an input of the circuit"));
            let wanted: Vec<&str> = circuit.inputs().take(5).map(|v| &*circuit.variable(v).name).collect();
            return Err(error.hint(format!("the first line names the columns; inputs are {}…", wanted.join(", "))));
        }
        Ok(Csv { name, reader, columns, ignored, record: StringRecord::new() })
    }
}

impl Input {
    fn new(column: usize, var: VarId, circuit: &Circuit) -> Self {
        let variable = circuit.variable(var);
        let positions = variable.values.iter().enumerate().map(|(i, value)| (value.clone(), i as i32)).collect();
        Input { column, var, name: variable.name.clone(), positions }
    }

    /// The position of the value in a row; what is wrong if there is none.
    fn position(&self, record: &StringRecord) -> std::result::Result<i32, String> {
        match record.get(self.column).unwrap_or_default() {
            "" => Ok(-1),
            cell => self.positions.get(cell).copied().ok_or_else(|| format!("`{}` has no value `{cell}`", self.name)),
        }
    }
}

impl Source for Csv {
    fn next(&mut self, rows: usize) -> Result<Option<Chunk>> {
        let mut chunk = Chunk::default();
        let mut cells: Vec<Vec<i32>> = self.columns.iter().map(|_| Vec::with_capacity(rows)).collect();
        while chunk.rows < rows && self.reader.read_record(&mut self.record).map_err(|e| unreadable(&self.name, &e))? {
            let row: std::result::Result<Vec<i32>, String> =
                self.columns.iter().map(|input| input.position(&self.record)).collect();
            let row = row.unwrap_or_else(|what| {
                chunk.bad.push((chunk.rows, what));
                vec![-1; self.columns.len()]
            });
            cells.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
            chunk.rows += 1;
        }
        chunk.columns = self.columns.iter().map(|input| input.var).zip(cells).collect();
        Ok((chunk.rows > 0).then_some(chunk))
    }

    fn ignored(&self) -> &[String] {
        &self.ignored
    }

    fn len(&self) -> Option<u64> {
        None
    }
}

fn unreadable(name: &str, error: &csv::Error) -> Error {
    let line = error.position().map_or(String::new(), |p| format!(", line {}", p.line()));
    Error::new(ErrorKind::Format, format!("`{name}`{line}: {error}"))
}
