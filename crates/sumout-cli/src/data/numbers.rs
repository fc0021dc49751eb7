//! Columns of numbers, such as weights and probabilities, of CSV and Parquet files.

use std::fs::File;
use std::io;
use std::path::Path;
use std::result::Result as Outcome;
use std::sync::Arc;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::Type;
use sumout::{Error, ErrorKind, Result};

use super::form::{self, Form};
use super::records::Records;

/// A cell: a number that is finite and not negative, or else the text of the cell.
pub type Number = Outcome<f64, String>;

/// The cells of a column, one for each row.
pub type Numbers = Vec<Number>;

/// The columns of these titles, in one pass over the file; empty cells are zero. None where there
/// is no such column.
pub fn numbers(path: &Path, titles: &[&str], form: &Form) -> Result<Vec<Option<Numbers>>> {
    let is_parquet = path
        .extension()
        .is_some_and(|e| e == "parquet" || e == "pq");
    if is_parquet {
        in_parquet(path, titles).map_err(|e| wrong(path, &e))
    } else {
        in_csv(path, titles, form).map_err(|e| wrong(path, &e))
    }
}

fn wrong(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Format, format!("`{}`: {error}", path.display()))
}

fn in_csv(path: &Path, titles: &[&str], form: &Form) -> io::Result<Vec<Option<Numbers>>> {
    let (reader, _) = form::opened(Box::new(File::open(path)?))?;
    let mut records = Records::new(reader)?;
    records.find_delimiter(form, &|title| titles.contains(&title))?;
    while records.advance()? && records.is_blank() {}
    let headers: Vec<String> = (0..records.len())
        .map(|column| form::text(records.cell(column)).into_owned())
        .collect();
    let place = |title: &&str| headers.iter().position(|header| header == title);
    let places: Vec<Option<usize>> = titles.iter().map(place).collect();
    let mut columns: Vec<Option<Numbers>> = places.iter().map(|at| at.map(|_| vec![])).collect();
    while records.advance()? {
        if records.is_blank() {
            continue;
        }
        for (column, place) in columns.iter_mut().zip(&places) {
            if let (Some(column), Some(place)) = (column, place) {
                let is_there = *place < records.len();
                let cell = if is_there { records.cell(*place) } else { b"" };
                column.push(number(&form::text(cell)));
            }
        }
    }
    Ok(columns)
}

fn in_parquet(path: &Path, titles: &[&str]) -> Outcome<Vec<Option<Numbers>>, ParquetError> {
    let file = SerializedFileReader::new(File::open(path)?)?;
    let all = file.metadata().file_metadata().schema();
    let fields: Vec<Arc<Type>> = all
        .get_fields()
        .iter()
        .filter(|field| titles.contains(&field.name()))
        .cloned()
        .collect();
    let is_there = |title: &str| fields.iter().any(|field| field.name() == title);
    let mut columns: Vec<Option<Numbers>> = titles
        .iter()
        .map(|title| is_there(title).then(Vec::new))
        .collect();
    let wanted = Type::group_type_builder(all.name())
        .with_fields(fields)
        .build()?;
    for row in file.get_row_iter(Some(wanted))? {
        for (name, cell) in row?.get_column_iter() {
            let place = titles.iter().position(|title| title == name);
            if let Some(column) = place.and_then(|place| columns[place].as_mut()) {
                column.push(number_of(cell));
            }
        }
    }
    Ok(columns)
}

fn number_of(cell: &Field) -> Number {
    match cell {
        Field::Null => Ok(0.0),
        Field::Str(text) => number(text.trim()),
        other => number(&other.to_string()),
    }
}

fn number(cell: &str) -> Number {
    let number = if cell.is_empty() {
        Some(0.0)
    } else {
        cell.parse::<f64>().ok()
    };
    number
        .filter(|x| x.is_finite() && *x >= 0.0)
        .ok_or_else(|| cell.to_owned())
}
