//! Parquet: columns are found by name. Text has names of values, numbers are positions of values;
//! null is missing.
//!
//! All columns are read side by side, a page at a time, so that row groups may be of any size.

use std::fs::File;
use std::iter::repeat;

use parquet::basic::{ConvertedType, Type as Kind};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use sumout::{Error, ErrorKind, Result};

use super::columns::{Columns, Schema, wanted};
use super::form::Form;
use super::input::{Cell, Input};
use super::pages::Pages;
use super::values::Values;
use super::{Chunk, Source};

pub struct Parquet {
    name: String,
    file: SerializedFileReader<File>,
    columns: Columns,
    inputs: Vec<Input>,
    /// The row group that comes next.
    next: usize,
    /// A reader for each input in the row group before that, and how many rows are left there.
    readers: Vec<Reader>,
    left: usize,
    /// The cells of a column that are being read.
    cells: Vec<i32>,
}

/// The reader of a column of a row group.
enum Reader {
    Pages(Pages),
    /// With the definition level of cells that are not null.
    Values(ColumnReader, i16),
}

impl Parquet {
    pub fn new(name: String, file: File, schema: &dyn Schema, form: &Form) -> Result<Self> {
        let file = SerializedFileReader::new(file).map_err(|e| damaged(&name, &e))?;
        let written = file.metadata().file_metadata().schema_descr_ptr();
        let titles: Vec<String> = written
            .columns()
            .iter()
            .map(|column| column.path().string())
            .collect();
        let columns = Columns::find(&name, titles.iter().map(|title| &**title), schema)?;
        columns.refuse_none(&name, schema, || wanted(schema))?;
        let inputs: Vec<Input> = columns
            .found
            .iter()
            .map(|&(_, var)| Input::new(var, schema, form))
            .collect();
        for (input, &(column, _)) in inputs.iter().zip(&columns.found) {
            check(&name, input, &written.column(column))?;
        }
        Ok(Parquet {
            name,
            file,
            columns,
            inputs,
            next: 0,
            readers: vec![],
            left: 0,
            cells: vec![],
        })
    }

    /// Goes to the next row group that has rows; false at the end.
    fn advance(&mut self) -> Result<bool> {
        while self.left == 0 {
            if self.next >= self.file.num_row_groups() {
                return Ok(false);
            }
            let damaged = |e: ParquetError| damaged(&self.name, &e);
            let group = self.file.get_row_group(self.next).map_err(damaged)?;
            self.left = group.metadata().num_rows() as usize;
            let readers = self
                .columns
                .found
                .iter()
                .map(|&(column, _)| Reader::new(&*group, column));
            self.readers = readers
                .collect::<std::result::Result<_, _>>()
                .map_err(damaged)?;
            self.next += 1;
        }
        Ok(true)
    }
}

/// Refuses columns of other kinds than text and numbers, and numbers that can be understood in two
/// ways.
fn check(name: &str, input: &Input, column: &ColumnDescriptor) -> Result<()> {
    let values = input.values.join(", ");
    let is_number = matches!(
        column.physical_type(),
        Kind::INT32 | Kind::INT64 | Kind::FLOAT | Kind::DOUBLE
    );
    if is_number && input.is_named_otherwise() {
        let what = format!(
            "`{name}`: column `{}` has numbers, and values are called {values}",
            input.name
        );
        let error = Error::new(
            ErrorKind::Format,
            format!("{what}: are they names or positions?"),
        );
        return Err(error.hint("give names as text"));
    }
    if is_readable(input, column) {
        return Ok(());
    }
    let kind = match column.converted_type() {
        ConvertedType::NONE => format!("{:?}", column.physical_type()),
        converted => format!("{converted:?}"),
    };
    let what = format!("`{name}`: column `{}` has cells of kind {kind}", input.name);
    let hint = format!("give names of values ({values}) as text, or their positions as integers");
    Err(Error::new(ErrorKind::Format, what).hint(hint))
}

/// Whether cells of a column can be understood.
fn is_readable(input: &Input, column: &ColumnDescriptor) -> bool {
    use ConvertedType as T;
    let integers = [
        T::NONE,
        T::INT_8,
        T::INT_16,
        T::INT_32,
        T::INT_64,
        T::UINT_8,
        T::UINT_16,
        T::UINT_32,
        T::UINT_64,
    ];
    let is_known = match column.physical_type() {
        Kind::BYTE_ARRAY | Kind::FLOAT | Kind::DOUBLE => true,
        Kind::INT32 | Kind::INT64 => integers.contains(&column.converted_type()),
        Kind::BOOLEAN => ["true", "false"]
            .iter()
            .all(|value| input.named(value.as_bytes()).is_some()),
        _ => false,
    };
    is_known && column.max_rep_level() == 0
}

impl Source for Parquet {
    fn next(&mut self, rows: usize) -> Result<Option<Chunk>> {
        let mut chunk = Chunk::default();
        let empty = |input: &Input| Values::empty(input.values.len(), rows);
        let mut columns: Vec<Values> = self.inputs.iter().map(empty).collect();
        while chunk.rows < rows && self.advance()? {
            let count = self.left.min(rows - chunk.rows);
            for (i, reader) in self.readers.iter_mut().enumerate() {
                let (input, first) = (&self.inputs[i], chunk.bad.len());
                self.cells.clear();
                let mut column = Cells {
                    input,
                    to: &mut self.cells,
                    bad: &mut chunk.bad,
                };
                column
                    .read(reader, count)
                    .map_err(|e| damaged(&self.name, &e))?;
                chunk.bad[first..]
                    .iter_mut()
                    .for_each(|(row, _)| *row += chunk.rows);
                columns[i].extend(&self.cells);
            }
            chunk.rows += count;
            self.left -= count;
        }
        chunk.columns = self
            .inputs
            .iter()
            .map(|input| input.var)
            .zip(columns)
            .collect();
        chunk.settle();
        Ok((chunk.rows > 0).then_some(chunk))
    }

    fn columns(&self) -> &Columns {
        &self.columns
    }

    fn len(&self) -> Option<u64> {
        u64::try_from(self.file.metadata().file_metadata().num_rows()).ok()
    }
}

impl Reader {
    fn new(group: &dyn RowGroupReader, column: usize) -> parquet::errors::Result<Self> {
        let found = group.metadata().column(column);
        let start = found
            .dictionary_page_offset()
            .unwrap_or(found.data_page_offset());
        if start < 0 || found.compressed_size() < 0 {
            return Err(ParquetError::General(
                "there is a column before the file begins".into(),
            ));
        }
        if Pages::can_read(found) {
            let pages = group.get_column_page_reader(column)?;
            return Ok(Reader::Pages(Pages::new(pages, found)?));
        }
        let levels = found.column_descr().max_def_level();
        Ok(Reader::Values(group.get_column_reader(column)?, levels))
    }
}

/// The cells of a column, and where they go.
struct Cells<'a> {
    input: &'a Input,
    to: &'a mut Vec<i32>,
    bad: &'a mut Vec<(usize, String)>,
}

impl Cells<'_> {
    fn read(&mut self, reader: &mut Reader, rows: usize) -> parquet::errors::Result<()> {
        match reader {
            Reader::Pages(pages) => pages.read(self.input, rows, self.to, self.bad),
            Reader::Values(reader, there) => self.read_values(reader, *there, rows),
        }
    }

    fn read_values(
        &mut self,
        reader: &mut ColumnReader,
        there: i16,
        rows: usize,
    ) -> parquet::errors::Result<()> {
        use ColumnReader as C;
        match reader {
            C::ByteArrayColumnReader(reader) => {
                self.read_as(reader, (there, rows), |text| Cell::Text(text.data()))
            }
            C::Int32ColumnReader(reader) => {
                self.read_as(reader, (there, rows), |x| Cell::Integer((*x).into()))
            }
            C::Int64ColumnReader(reader) => {
                self.read_as(reader, (there, rows), |x| Cell::Integer(*x))
            }
            C::FloatColumnReader(reader) => {
                self.read_as(reader, (there, rows), |x| Cell::Real((*x).into()))
            }
            C::DoubleColumnReader(reader) => {
                self.read_as(reader, (there, rows), |x| Cell::Real(*x))
            }
            C::BoolColumnReader(reader) => self.read_as(reader, (there, rows), |x| {
                Cell::Text(if *x { b"true" } else { b"false" })
            }),
            _ => Err(ParquetError::General(
                "a column of a different type than in the schema".into(),
            )),
        }
    }

    fn read_as<T: DataType>(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        (there, rows): (i16, usize),
        cell: impl Fn(&T::T) -> Cell<'_>,
    ) -> parquet::errors::Result<()> {
        let (mut levels, mut values, mut read) = (vec![], Vec::with_capacity(rows), 0);
        while read < rows {
            let (records, ..) =
                reader.read_records(rows - read, Some(&mut levels), None, &mut values)?;
            if records == 0 {
                return Err(ParquetError::EOF(
                    "a column has fewer rows than the others".into(),
                ));
            }
            read += records;
        }
        let mut values = values.iter().map(cell);
        let is_there = levels
            .iter()
            .map(|level| *level == there)
            .chain(repeat(true)); // no levels where nothing is null
        for is_there in is_there.take(rows) {
            let cell = if is_there { values.next() } else { None };
            let position = cell.map_or(Some(-1), |cell| self.input.position(cell));
            if let (None, Some(cell)) = (position, cell) {
                self.bad.push((self.to.len(), self.input.complaint(cell)));
            }
            self.to.push(position.unwrap_or(-1));
        }
        Ok(())
    }
}

fn damaged(name: &str, error: &ParquetError) -> Error {
    Error::new(
        ErrorKind::Format,
        format!("`{name}` is damaged, or not a Parquet file: {error}"),
    )
}
