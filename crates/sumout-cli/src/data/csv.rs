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
    missing: Vec<String>,
    width: usize,
    record: StringRecord,
}

struct Input {
    column: usize,
    var: VarId,
    name: String,
    positions: HashMap<String, i32>,
    values: String,
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
            return Err(error.hint(wanted(circuit, &header)));
        }
        let width = header.len();
        let is_missing = |v: &VarId| columns.iter().all(|input| input.var != *v);
        let missing = circuit.inputs().filter(is_missing).map(|v| circuit.variable(v).name.clone()).collect();
        Ok(Csv { name, reader, columns, ignored, missing, width, record: StringRecord::new() })
    }

    /// The positions of the values in a row; what is wrong if it cannot be read.
    fn row(&self) -> std::result::Result<Vec<i32>, String> {
        match self.record.len() {
            n if n == self.width => self.columns.iter().map(|input| input.position(&self.record)).collect(),
            n => Err(format!("it has {n} cells, but the header has {}", self.width)),
        }
    }
}

impl Input {
    fn new(column: usize, var: VarId, circuit: &Circuit) -> Self {
        let variable = circuit.variable(var);
        let positions = variable.values.iter().enumerate().map(|(i, value)| (value.clone(), i as i32)).collect();
        Input { column, var, name: variable.name.clone(), positions, values: variable.values.join(", ") }
    }

    /// The position of the value in a row; what is wrong if there is none.
    fn position(&self, record: &StringRecord) -> std::result::Result<i32, String> {
        match record.get(self.column).unwrap_or_default() {
            "" => Ok(-1),
            cell => self
                .positions
                .get(cell)
                .copied()
                .ok_or_else(|| format!("`{}` has no value `{cell}`; its values are {}", self.name, self.values)),
        }
    }
}

impl Source for Csv {
    fn next(&mut self, rows: usize) -> Result<Option<Chunk>> {
        let mut chunk = Chunk::default();
        let mut cells: Vec<Vec<i32>> = self.columns.iter().map(|_| Vec::with_capacity(rows)).collect();
        while chunk.rows < rows && self.reader.read_record(&mut self.record).map_err(|e| unreadable(&self.name, &e))? {
            let row = self.row();
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

    fn missing(&self) -> &[String] {
        &self.missing
    }

    fn ignored(&self) -> &[String] {
        &self.ignored
    }

    fn len(&self) -> Option<u64> {
        None
    }
}

/// What the first line should have been.
fn wanted(circuit: &Circuit, header: &StringRecord) -> String {
    let names: Vec<&str> = circuit.inputs().take(6).map(|v| &*circuit.variable(v).name).collect();
    match names[..] {
        [] => "the circuit has no inputs, and so the same answer for all rows: `sumout query` gives it".into(),
        _ if header.len() == 1 && header[0].contains([';', '\t']) => "separate the cells by commas".into(),
        [.., _] if names.len() > 5 => {
            format!("the first line names the columns; inputs are {}, …", names[..5].join(", "))
        }
        _ => format!("the first line names the columns; inputs are {}", names.join(", ")),
    }
}

fn unreadable(name: &str, error: &csv::Error) -> Error {
    let line = error.position().map_or(String::new(), |p| format!(", line {}", p.line()));
    Error::new(ErrorKind::Format, format!("`{name}`{line}: {error}"))
}
