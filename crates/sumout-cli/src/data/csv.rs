//! CSV: a header of variables, and cells of values.

use std::io::Read;

use sumout::{Error, ErrorKind, Result};

use super::columns::{Columns, Schema, wanted};
use super::form::{self, Form};
use super::input::Input;
use super::records::Records;
use super::values::{Values, columns};
use super::{Chunk, Source};

pub struct Csv {
    name: String,
    records: Records,
    columns: Columns,
    inputs: Vec<Input>,
    form: Form,
    titles: Vec<String>,
    /// The columns that are carried through.
    kept: Vec<usize>,
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
        form: &Form,
    ) -> Result<Self> {
        let fail = |e| unreadable(&name, &e);
        let (reader, is_plain) = form::opened(reader).map_err(fail)?;
        let mut records = Records::new(reader).map_err(fail)?;
        let is_known = |title: &str| {
            let of = title.split_once('=').map_or(title, |(of, _)| of);
            let mut variables = schema
                .variables()
                .into_iter()
                .map(|v| &schema.variable(v).name);
            variables.any(|name| name == title || name == of)
        };
        records.find_delimiter(form, &is_known).map_err(fail)?;
        while records.advance().map_err(|e| unreadable(&name, &e))? && records.is_blank() {}
        let width = records.len();
        let titles: Vec<_> = (0..width)
            .map(|column| form::text(records.cell(column)))
            .collect();
        let columns = Columns::find_text(&name, &titles, schema)?;
        columns.refuse_none(&name, schema, || match &titles[..] {
            [only] if only.contains([';', '\t', ' ', ':']) => {
                "give the character between the cells with `--delimiter`".into()
            }
            _ => wanted(schema),
        })?;
        let inputs = columns
            .found
            .iter()
            .map(|&(_, var)| Input::new(var, schema, form))
            .collect();
        let titles = titles.iter().map(|title| title.to_string()).collect();
        let size = size
            .filter(|_| is_plain)
            .map(|size| (size, records.consumed()));
        Ok(Csv {
            name,
            records,
            columns,
            inputs,
            form: form.clone(),
            titles,
            kept: vec![],
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

    /// Appends the positions of the values in a row, and its likelihoods; what is wrong if it cannot
    /// be read.
    fn push(&self, cells: &mut Vec<i32>, soft: &mut [Vec<f64>]) -> std::result::Result<(), String> {
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
        for ((_, columns), numbers) in self.columns.soft.iter().zip(soft) {
            self.push_likelihoods(columns, numbers)?;
        }
        Ok(())
    }

    /// Appends the numbers in these columns; ones if all of them are missing.
    fn push_likelihoods(
        &self,
        columns: &[usize],
        numbers: &mut Vec<f64>,
    ) -> std::result::Result<(), String> {
        let cells = || columns.iter().map(|&column| self.records.cell(column));
        if cells().all(|cell| self.form.is_missing(cell)) {
            numbers.resize(numbers.len() + columns.len(), 1.0);
            return Ok(());
        }
        for cell in cells() {
            let text = form::text(cell);
            let number = text
                .parse()
                .ok()
                .filter(|x: &f64| x.is_finite() && *x >= 0.0);
            numbers.push(number.ok_or_else(|| format!("`{text}` is not a likelihood"))?);
        }
        Ok(())
    }
}

impl Source for Csv {
    fn next(&mut self, rows: usize) -> Result<Option<Chunk>> {
        let mut chunk = Chunk::default();
        let cards: Vec<usize> = self.inputs.iter().map(|input| input.values.len()).collect();
        let mut cells = Vec::with_capacity(rows * cards.len());
        let mut soft = vec![vec![]; self.columns.soft.len()];
        chunk.kept = vec![vec![]; self.kept.len()];
        while chunk.rows < rows && self.advance()? {
            if let Err(what) = self.push(&mut cells, &mut soft) {
                chunk.bad.push((chunk.rows, what));
                cells.truncate(chunk.rows * cards.len());
                cells.resize((chunk.rows + 1) * cards.len(), -1);
            }
            chunk.rows += 1;
            for (&column, cells) in self.kept.iter().zip(&mut chunk.kept) {
                let is_there = column < self.records.len();
                let cell = if is_there {
                    self.records.cell(column)
                } else {
                    b""
                };
                cells.push(form::text(cell).into_owned());
            }
            for ((_, columns), numbers) in self.columns.soft.iter().zip(&mut soft) {
                numbers.resize(chunk.rows * columns.len(), 1.0); // of bad rows, whatever they have
            }
        }
        self.rows += chunk.rows as u64;
        chunk.columns = self
            .inputs
            .iter()
            .map(|input| input.var)
            .zip(columns(&cells, &cards, i64::from))
            .collect();
        let soft = self.columns.soft.iter().map(|(var, _)| *var).zip(soft);
        chunk
            .columns
            .extend(soft.map(|(var, numbers)| (var, Values::Soft(numbers))));
        Ok((chunk.rows > 0).then_some(chunk))
    }

    fn columns(&self) -> &Columns {
        &self.columns
    }

    fn keep(&mut self, titles: &[String]) -> Result<()> {
        for title in titles {
            let Some(column) = self.titles.iter().position(|found| found == title) else {
                let message = format!("`{}`: there is no column `{title}` to keep", self.name);
                let hint = format!("its columns are {}", self.titles.join(", "));
                return Err(Error::new(ErrorKind::Format, message).hint(hint));
            };
            self.kept.push(column);
        }
        self.columns
            .ignored
            .retain(|column| !titles.contains(&column.title));
        Ok(())
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
