//! Columns of numbers, such as weights and probabilities, of CSV and Parquet files.

use std::fs::File;
use std::path::Path;
use std::result::Result as Outcome;
use std::sync::Arc;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::Type;
use sumout::{Error, ErrorKind, Result};

/// A cell: a number that is finite and not negative, or else what stands there.
pub type Number = Outcome<f64, String>;

/// The cells of a column, a row each; empty ones are zero. None if there is no such column.
pub fn numbers(path: &Path, title: &str) -> Result<Option<Vec<Number>>> {
    let is_parquet = path
        .extension()
        .is_some_and(|e| e == "parquet" || e == "pq");
    if is_parquet {
        in_parquet(path, title).map_err(|e| wrong(path, &e))
    } else {
        in_csv(path, title).map_err(|e| wrong(path, &e))
    }
}

fn wrong(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Format, format!("`{}`: {error}", path.display()))
}

fn in_csv(path: &Path, title: &str) -> csv::Result<Option<Vec<Number>>> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_path(path)?;
    let Some(column) = reader.headers()?.iter().position(|t| t.trim() == title) else {
        return Ok(None);
    };
    let records: Vec<csv::StringRecord> = reader.records().collect::<csv::Result<_>>()?;
    let is_blank = |record: &csv::StringRecord| {
        record.len() <= 1 && record.iter().all(|cell| cell.trim().is_empty())
    };
    let cells = records
        .iter()
        .filter(|record| !is_blank(record))
        .map(|record| record.get(column).unwrap_or(""));
    Ok(Some(cells.map(|cell| number(cell.trim())).collect()))
}

fn in_parquet(path: &Path, title: &str) -> Outcome<Option<Vec<Number>>, ParquetError> {
    let file = SerializedFileReader::new(File::open(path)?)?;
    let all = file.metadata().file_metadata().schema();
    let Some(field) = all.get_fields().iter().find(|field| field.name() == title) else {
        return Ok(None);
    };
    let column = Type::group_type_builder(all.name())
        .with_fields(vec![Arc::clone(field)])
        .build()?;
    let mut cells = vec![];
    for row in file.get_row_iter(Some(column))? {
        cells.extend(row?.get_column_iter().map(|(_, cell)| number_of(cell)));
    }
    Ok(Some(cells))
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
