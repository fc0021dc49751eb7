//! CSV: a header of variables, cells of values, empty where missing.

use std::io::Read;

use sumout::{Error, ErrorKind, Result};

use super::columns::{Columns, Input, Schema, wanted};
use super::records::Records;
use super::values::columns;
use super::{Chunk, Source};

pub struct Csv {
    name: String,
    records: Records,
    columns: Columns,
    inputs: Vec<Input>,
    width: usize,
    /// The number of bytes of the file, and of its header; none if that is not known.
    size: Option<(u64, u64)>,
    rows: u64,
}

impl Csv {
    pub fn new(
        name: String,
        reader: Box<dyn Read + Send>,
        size: Option<u64>,
        schema: &dyn Schema,
    ) -> Result<Self> {
        let mut records = Records::new(reader).map_err(|e| unreadable(&name, &e))?;
        while records.advance().map_err(|e| unreadable(&name, &e))? && records.is_blank() {}
        let width = records.len();
        let titles: Vec<_> = (0..width)
            .map(|column| String::from_utf8_lossy(records.cell(column)))
            .collect();
        let columns = Columns::find(&name, titles.iter().map(|title| &**title), schema)?;
        columns.refuse_none(&name, schema, || match &titles[..] {
            [only] if only.contains([';', '\t']) => "separate the cells by commas".into(),
            _ => wanted(schema),
        })?;
        let inputs = columns
            .found
            .iter()
            .map(|&(_, var)| Input::new(var, schema))
            .collect();
        let size = size.map(|size| (size, records.consumed()));
        Ok(Csv {
            name,
            records,
            columns,
            inputs,
            width,
            size,
            rows: 0,
        })
    }

    /// The next record that is a row. Only in a file of one column can a line without anything be
    /// one.
    fn advance(&mut self) -> Result<bool> {
        loop {
            let is_there = self
                .records
                .advance()
                .map_err(|e| unreadable(&self.name, &e))?;
            if !is_there || self.width == 1 || !self.records.is_blank() {
                return Ok(is_there);
            }
        }
    }

    /// Appends the positions of the values in a row; what is wrong if it cannot be read.
    fn push(&self, cells: &mut Vec<i32>) -> std::result::Result<(), String> {
        let count = self.records.len();
        if count != self.width {
            return Err(format!(
                "it has {count} cells, but the header has {}",
                self.width
            ));
        }
        for (&(column, _), input) in self.columns.found.iter().zip(&self.inputs) {
            let cell = self.records.cell(column);
            cells.push(input.named(cell).ok_or_else(|| input.no_name(cell))?);
        }
        Ok(())
    }
}

impl Source for Csv {
    fn next(&mut self, rows: usize) -> Result<Option<Chunk>> {
        let mut chunk = Chunk::default();
        let cards: Vec<usize> = self.inputs.iter().map(|input| input.values.len()).collect();
        let mut cells = Vec::with_capacity(rows * cards.len());
        while chunk.rows < rows && self.advance()? {
            if let Err(what) = self.push(&mut cells) {
                chunk.bad.push((chunk.rows, what));
                cells.truncate(chunk.rows * cards.len());
                cells.resize((chunk.rows + 1) * cards.len(), -1);
            }
            chunk.rows += 1;
        }
        self.rows += chunk.rows as u64;
        chunk.columns = self
            .inputs
            .iter()
            .map(|input| input.var)
            .zip(columns(&cells, &cards, i64::from))
            .collect();
        Ok((chunk.rows > 0).then_some(chunk))
    }

    fn columns(&self) -> &Columns {
        &self.columns
    }

    /// As many rows as there would be if all were as long as those so far.
    fn len(&self) -> Option<u64> {
        let (size, header) = self.size?;
        let consumed = self.records.consumed().saturating_sub(header);
        (consumed > 0).then(|| {
            (size.saturating_sub(header) as f64 / consumed as f64 * self.rows as f64) as u64
        })
    }
}

fn unreadable(name: &str, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Format, format!("`{name}`: {error}"))
}
