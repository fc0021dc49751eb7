//! Parquet files: answers in columns, and cases that were drawn.

use std::io::{self, Read, Write};
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Kind};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use sumout::{Precision, Variable};

use super::answers::{Cells, Titles};
use super::cases::Cases;
use super::journal::Manifest;

/// The cells of a row group, which are in memory at a time.
const CELLS_PER_GROUP: usize = 1 << 20;

/// Puts rows of floats into columns: probabilities or names of values, a logarithm, and whether it
/// is impossible.
pub fn write_answers(
    out: impl Write + Send,
    floats: &mut dyn Read,
    manifest: &Manifest,
    rows: u64,
) -> io::Result<()> {
    let Titles {
        names: columns,
        cells,
    } = &manifest.titles;
    let (width, last) = (columns.len(), columns.len() - 1);
    let kind = |column: usize| match cells {
        _ if column == last => Kind::BOOLEAN,
        Cells::Values(names) if column + 1 < last && !names[column].is_empty() => Kind::BYTE_ARRAY,
        Cells::Probabilities(Precision::F32) if column + 1 < last => Kind::FLOAT,
        _ => Kind::DOUBLE,
    };
    let values = |column: usize| match cells {
        Cells::Values(names) if column + 1 < last => byte_arrays(&names[column]),
        _ => vec![],
    };
    let fields = columns
        .iter()
        .enumerate()
        .map(|(at, name)| field(name, kind(at), Repetition::OPTIONAL));
    let mut writer = writer(
        out,
        fields.collect::<Result<_>>().map_err(io::Error::from)?,
        matches!(cells, Cells::Values(_)),
    )?;
    let (mut left, mut bytes, mut answers) = (rows, vec![], Answers::new(width));
    while left > 0 {
        let count = left.min((CELLS_PER_GROUP / width).max(1) as u64);
        bytes.resize(count as usize * width * 8, 0);
        floats.read_exact(&mut bytes)?;
        answers.fill(bytes.as_chunks().0);
        let mut group = writer.next_row_group()?;
        for column in 0..width {
            answers.write(&mut group, column, (kind(column), &values(column)))?;
        }
        group.close()?;
        left -= count;
    }
    writer.close()?;
    Ok(())
}

/// The columns of a row group.
struct Answers {
    /// The numbers that are there; of the last column whether rows are impossible.
    columns: Vec<Vec<f64>>,
    /// Which rows have an answer, or are impossible.
    flags: Vec<i16>,
    /// Which rows have an answer.
    levels: Vec<i16>,
}

impl Answers {
    fn new(width: usize) -> Self {
        Answers {
            columns: vec![vec![]; width],
            flags: vec![],
            levels: vec![],
        }
    }

    /// Puts rows into columns; those without an answer are null, and of impossible ones all but the
    /// flag.
    fn fill(&mut self, floats: &[[u8; 8]]) {
        let width = self.columns.len();
        self.columns.iter_mut().for_each(Vec::clear);
        self.flags.clear();
        self.levels.clear();
        for row in floats.chunks_exact(width) {
            let number = |column: usize| f64::from_le_bytes(row[column]);
            let flag = number(width - 1);
            self.flags.push((!flag.is_nan()).into());
            self.levels.push((flag == 0.0).into());
            let first = if flag == 0.0 { 0 } else { width - 1 };
            let there = if flag.is_nan() {
                width..width
            } else {
                first..width
            };
            there.for_each(|column| self.columns[column].push(number(column)));
        }
    }

    fn write<W: Write + Send>(
        &self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        column: usize,
        (kind, names): (Kind, &[ByteArray]),
    ) -> Result<()> {
        let (values, levels) = (self.columns[column].iter(), Some(&self.levels[..]));
        match kind {
            Kind::BOOLEAN => {
                let values: Vec<bool> = values.map(|x| *x != 0.0).collect();
                write_column::<BoolType, W>(group, &values, Some(&self.flags))
            }
            Kind::BYTE_ARRAY => {
                let is_there = |x: &&f64| **x >= 0.0;
                let cells: Vec<ByteArray> = values
                    .clone()
                    .filter(is_there)
                    .map(|x| names[*x as usize].clone())
                    .collect();
                let levels = self.levels_where(values.map(|x| is_there(&x)));
                write_column::<ByteArrayType, W>(group, &cells, Some(&levels))
            }
            Kind::FLOAT => write_column::<FloatType, W>(
                group,
                &values.map(|x| *x as f32).collect::<Vec<_>>(),
                levels,
            ),
            _ => {
                let numbers: Vec<f64> = values.clone().copied().filter(|x| x.is_finite()).collect();
                let levels = self.levels_where(values.map(|x| x.is_finite()));
                write_column::<DoubleType, W>(group, &numbers, Some(&levels))
            }
        }
    }

    /// Which rows have something in a column: of those with an answer, a cell may be missing.
    fn levels_where(&self, mut is_there: impl Iterator<Item = bool>) -> Vec<i16> {
        let level = |&level: &i16| i16::from(level > 0 && is_there.next().unwrap_or(false));
        self.levels.iter().map(level).collect()
    }
}

fn write_column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<()> {
    let column = group.next_column()?;
    let mut column =
        column.ok_or_else(|| ParquetError::General("there are more columns than fields".into()))?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

/// Writes cases in columns of names of values.
pub fn write_cases(out: impl Write + Send, cases: &mut Cases<'_>) -> io::Result<()> {
    let variables: Vec<&Variable> = cases
        .columns
        .iter()
        .map(|&v| cases.net.variable(v))
        .collect();
    let fields = variables
        .iter()
        .map(|v| field(&v.name, Kind::BYTE_ARRAY, Repetition::REQUIRED));
    let mut writer = writer(
        out,
        fields.collect::<Result<_>>().map_err(io::Error::from)?,
        true,
    )?;
    let (mut left, mut case) = (cases.rows, vec![]);
    while left > 0 {
        let count = left.min((8 * CELLS_PER_GROUP / variables.len().max(1)).max(1) as u64);
        let mut cells: Vec<Vec<u32>> = variables
            .iter()
            .map(|_| Vec::with_capacity(count as usize))
            .collect();
        for _ in 0..count {
            cases.draw(&mut case);
            cells
                .iter_mut()
                .zip(&case)
                .for_each(|(to, &value)| to.push(value));
        }
        let mut group = writer.next_row_group()?;
        for (cells, variable) in cells.iter().zip(&variables) {
            let names = byte_arrays(&variable.values);
            let cells: Vec<ByteArray> = cells
                .iter()
                .map(|&value| names[value as usize].clone())
                .collect();
            write_column::<ByteArrayType, _>(&mut group, &cells, None)?;
        }
        group.close()?;
        left -= count;
    }
    writer.close()?;
    Ok(())
}

fn byte_arrays(names: &[String]) -> Vec<ByteArray> {
    names.iter().map(|name| name.as_str().into()).collect()
}

fn field(name: &str, kind: Kind, repetition: Repetition) -> Result<TypePtr> {
    let field = Type::primitive_type_builder(name, kind).with_repetition(repetition);
    let text = (kind == Kind::BYTE_ARRAY).then_some(LogicalType::String);
    let converted = if text.is_some() {
        ConvertedType::UTF8
    } else {
        ConvertedType::NONE
    };
    Ok(Arc::new(
        field
            .with_logical_type(text)
            .with_converted_type(converted)
            .build()?,
    ))
}

fn writer<W: Write + Send>(
    out: W,
    fields: Vec<TypePtr>,
    are_repeated: bool,
) -> Result<SerializedFileWriter<W>> {
    let schema = Type::group_type_builder("schema")
        .with_fields(fields)
        .build()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(are_repeated);
    SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties.build()))
}
