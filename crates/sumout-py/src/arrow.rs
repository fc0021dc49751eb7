//! Columns of Arrow tables, read where they lie: Polars, pyarrow, DuckDB and all others that speak
//! its C interface.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader};
use arrow_pyarrow::PyArrowType;
use arrow_schema::DataType;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyString;
use sumout::{Error, ErrorKind};

use crate::error::Result;
use crate::work;

/// The cells of a column.
enum Cells {
    /// Positions of the values that texts name, -1 where one is missing.
    Positions(Vec<i32>),
    /// Numbers, NaN where one is missing.
    Numbers(Vec<f64>),
    /// 1 for true, 0 for false, -1 where it is missing.
    Truths(Vec<i32>),
    /// There is a text that names no value.
    Unknown(String),
}

/// A column for Python: its name, what its cells are, and an array of them; or the text that names
/// no value.
type Column<'py> = (String, &'static str, Bound<'py, PyAny>);

/// The number of rows of a table, and the columns that variables with these names and values have.
#[pyfunction]
pub fn arrow_columns<'py>(
    py: Python<'py>,
    table: PyArrowType<RecordBatchStreamReader>,
    variables: Vec<(String, Vec<String>)>,
) -> Result<(usize, Vec<Column<'py>>)> {
    let reader = table.0;
    let schema = reader.schema();
    let batches: std::result::Result<Vec<RecordBatch>, _> = reader.collect();
    let batches = batches.map_err(|e| {
        Error::new(
            ErrorKind::Evidence,
            format!("the table cannot be read: {e}"),
        )
    })?;
    let found = work::short(py, || {
        let wanted = variables
            .iter()
            .filter_map(|variable| Some((variable, schema.index_of(&variable.0).ok()?)));
        let read = |((name, values), at): (&(String, Vec<String>), usize)| {
            let parts: Vec<ArrayRef> = batches
                .iter()
                .map(|batch| batch.column(at).clone())
                .collect();
            Ok((
                name.clone(),
                cells(name, values, &parts, schema.field(at).data_type())?,
            ))
        };
        wanted
            .map(read)
            .collect::<sumout::Result<Vec<(String, Cells)>>>()
    })?;
    let rows = batches.iter().map(RecordBatch::num_rows).sum();
    Ok((
        rows,
        found
            .into_iter()
            .map(|(name, cells)| column(py, name, cells))
            .collect(),
    ))
}

fn column(py: Python<'_>, name: String, cells: Cells) -> Column<'_> {
    let integers = |numbers: Vec<i32>| -> Bound<'_, PyArray1<i32>> { numbers.into_pyarray(py) };
    match cells {
        Cells::Positions(positions) => (name, "positions", integers(positions).into_any()),
        Cells::Truths(truths) => (name, "truths", integers(truths).into_any()),
        Cells::Numbers(numbers) => (name, "numbers", numbers.into_pyarray(py).into_any()),
        Cells::Unknown(text) => (name, "unknown", PyString::new(py, &text).into_any()),
    }
}

fn cells(
    name: &str,
    values: &[String],
    parts: &[ArrayRef],
    kind: &DataType,
) -> sumout::Result<Cells> {
    let known = Known::new(values);
    match kind {
        DataType::Boolean => {
            let truth = |part: &ArrayRef| {
                part.as_boolean()
                    .iter()
                    .map(|x| x.map_or(-1, i32::from))
                    .collect::<Vec<_>>()
            };
            Ok(Cells::Truths(parts.iter().flat_map(truth).collect()))
        }
        DataType::Dictionary(_, of) if is_text(of) => {
            Ok(positions(parts, |part| known.dictionary(part)))
        }
        _ if is_text(kind) => Ok(positions(parts, |part| known.texts(part))),
        _ => {
            let found: Option<Vec<Vec<f64>>> = parts.iter().map(numbers).collect();
            let wrong = || {
                Error::new(
                    ErrorKind::Evidence,
                    format!("column `{name}` has cells of type {kind}"),
                )
            };
            let advice = "give names of values, numbers or booleans";
            found
                .map(|all| Cells::Numbers(all.concat()))
                .ok_or_else(|| wrong().hint(advice))
        }
    }
}

fn positions(parts: &[ArrayRef], read: impl Fn(&ArrayRef) -> Positions) -> Cells {
    let found: std::result::Result<Vec<_>, _> = parts.iter().map(read).collect();
    found.map_or_else(Cells::Unknown, |parts| Cells::Positions(parts.concat()))
}

/// Text for a missing cell, whatever its case, unless it is the name of a value.
const MISSING: [&str; 5] = ["", "NA", "NaN", "null", "?"];

fn is_text(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

/// The positions of values, or the text that names none.
type Positions = std::result::Result<Vec<i32>, String>;

/// The values of a variable by name.
struct Known<'v>(HashMap<&'v str, i32>);

impl<'v> Known<'v> {
    fn new(values: &'v [String]) -> Self {
        let names = values.iter().map(String::as_str);
        Known(names.zip(0..).collect())
    }

    fn texts(&self, part: &ArrayRef) -> Positions {
        match part.data_type() {
            DataType::Utf8 => part
                .as_string::<i32>()
                .iter()
                .map(|cell| self.position(cell))
                .collect(),
            DataType::LargeUtf8 => part
                .as_string::<i64>()
                .iter()
                .map(|cell| self.position(cell))
                .collect(),
            _ => part
                .as_string_view()
                .iter()
                .map(|cell| self.position(cell))
                .collect(),
        }
    }

    /// Each text of a dictionary is looked up once.
    fn dictionary(&self, part: &ArrayRef) -> Positions {
        let dictionary = part.as_any_dictionary();
        let (keys, mut used) = (dictionary.keys(), vec![false; dictionary.values().len()]);
        let at = dictionary.normalized_keys();
        (0..keys.len())
            .filter(|&row| keys.is_valid(row))
            .for_each(|row| used[at[row]] = true);
        let texts = texts(dictionary.values());
        let find = |(text, used): (&Option<String>, bool)| {
            if used {
                self.position(text.as_deref())
            } else {
                Ok(-1)
            }
        };
        let positions = texts
            .iter()
            .zip(used)
            .map(find)
            .collect::<std::result::Result<Vec<i32>, _>>()?;
        Ok((0..keys.len())
            .map(|row| {
                if keys.is_valid(row) {
                    positions[at[row]]
                } else {
                    -1
                }
            })
            .collect())
    }

    fn position(&self, cell: Option<&str>) -> std::result::Result<i32, String> {
        let Some(text) = cell else { return Ok(-1) };
        let is_missing = || MISSING.iter().any(|word| word.eq_ignore_ascii_case(text));
        let missing = || is_missing().then_some(-1);
        let found = self.0.get(text).copied().or_else(missing);
        found.ok_or_else(|| text.to_owned())
    }
}

fn texts(array: &dyn Array) -> Vec<Option<String>> {
    let own = |text: Option<&str>| text.map(str::to_owned);
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().map(own).collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().map(own).collect(),
        _ => array.as_string_view().iter().map(own).collect(),
    }
}

/// The cells as numbers, if they are.
fn numbers(part: &ArrayRef) -> Option<Vec<f64>> {
    macro_rules! of {
        ($kind:ty) => {
            Some(
                part.as_primitive::<$kind>()
                    .iter()
                    .map(|x| x.map_or(f64::NAN, |x| x as f64))
                    .collect(),
            )
        };
    }
    match part.data_type() {
        DataType::Null => Some(vec![f64::NAN; part.len()]),
        DataType::Int8 => of!(Int8Type),
        DataType::Int16 => of!(Int16Type),
        DataType::Int32 => of!(Int32Type),
        DataType::Int64 => of!(Int64Type),
        DataType::UInt8 => of!(UInt8Type),
        DataType::UInt16 => of!(UInt16Type),
        DataType::UInt32 => of!(UInt32Type),
        DataType::UInt64 => of!(UInt64Type),
        DataType::Float32 => of!(Float32Type),
        DataType::Float64 => of!(Float64Type),
        _ => None,
    }
}
