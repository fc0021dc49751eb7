//! NumPy files: a matrix of value positions, a row for each example and a column for each input,
//! negative where missing.

use std::io::Read;

use sumout::{Error, ErrorKind, Result};

use super::columns::{Columns, Schema};
use super::form::Form;
use super::input::Input;
use super::values::{Values, columns};
use super::{Chunk, Source};

pub struct Npy {
    name: String,
    reader: Box<dyn Read + Send>,
    columns: Columns,
    inputs: Vec<Input>,
    kind: Kind,
    rows: u64,
    read: u64,
    bytes: Vec<u8>,
}

/// The integers of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    I8,
    U8,
    I16,
    I32,
    I64,
}

impl Kind {
    fn of(name: &str) -> Option<Kind> {
        let kinds = [
            ("|i1", Kind::I8),
            ("|u1", Kind::U8),
            ("|b1", Kind::U8),
            ("<i2", Kind::I16),
            ("<i4", Kind::I32),
        ];
        let found = kinds
            .into_iter()
            .chain([("<i8", Kind::I64)])
            .find(|(kind, _)| *kind == name);
        found.map(|(_, kind)| kind)
    }

    fn size(self) -> usize {
        match self {
            Kind::I8 | Kind::U8 => 1,
            Kind::I16 => 2,
            Kind::I32 => 4,
            Kind::I64 => 8,
        }
    }

    /// The columns of a matrix, given the number of values of each variable.
    fn columns(self, bytes: &[u8], cards: &[usize]) -> Vec<Values> {
        match self {
            Kind::U8 => columns(bytes, cards, i64::from),
            Kind::I8 => columns(bytes, cards, |x| i64::from(x as i8)),
            Kind::I16 => columns(bytes.as_chunks().0, cards, |x| i16::from_le_bytes(x).into()),
            Kind::I32 => columns(bytes.as_chunks().0, cards, |x| i32::from_le_bytes(x).into()),
            Kind::I64 => columns(bytes.as_chunks().0, cards, i64::from_le_bytes),
        }
    }

    /// The number that begins with the first of some bytes.
    fn number(self, bytes: &[u8]) -> i64 {
        let mut all = [if self != Kind::U8 && bytes[self.size() - 1] > 127 {
            255
        } else {
            0
        }; 8];
        all[..self.size()].copy_from_slice(&bytes[..self.size()]);
        i64::from_le_bytes(all)
    }
}

impl Npy {
    pub fn new(
        name: String,
        mut reader: Box<dyn Read + Send>,
        schema: &dyn Schema,
        form: &Form,
    ) -> Result<Self> {
        let inputs: Vec<Input> = schema
            .variables()
            .into_iter()
            .map(|v| Input::new(v, schema, form))
            .collect();
        let header = header(&name, &mut reader)?;
        let wrong = |what: String, hint: &str| {
            Error::new(ErrorKind::Format, format!("`{name}`: {what}")).hint(hint)
        };
        let text = |key: &str| field(&header, key).ok_or_else(|| damaged(&name));
        let kind = text("descr")?.trim_matches(['\'', '"']);
        let kind = Kind::of(kind).ok_or_else(|| {
            wrong(
                format!("numbers of kind {kind}"),
                "save positions of values as integers: numpy.save(FILE, array.astype('int8'))",
            )
        })?;
        if text("fortran_order")? != "False" {
            return Err(wrong(
                "the array is in Fortran order".into(),
                "save numpy.ascontiguousarray(array)",
            ));
        }
        let shape = text("shape")?.trim_matches(['(', ')', ' ']);
        let shape: Vec<u64> = shape
            .split(',')
            .filter_map(|n| n.trim().parse().ok())
            .collect();
        match shape[..] {
            [rows, columns] if columns == inputs.len() as u64 => Ok(Npy {
                name,
                reader,
                columns: Columns::all(schema),
                inputs,
                kind,
                rows,
                read: 0,
                bytes: vec![],
            }),
            _ => {
                let what = format!(
                    "its shape is {shape:?}, but there are {} variables to read",
                    inputs.len()
                );
                let hint = format!(
                    "give a matrix with a row for each example, and {}",
                    schema.order()
                );
                Err(wrong(what, &hint))
            }
        }
    }
}

/// The text between the magic number and the array.
fn header(name: &str, reader: &mut dyn Read) -> Result<String> {
    let mut start = [0; 8];
    read(name, reader, &mut start)?;
    if start[..6] != *b"\x93NUMPY" {
        return Err(damaged(name));
    }
    let mut size = [0; 4];
    let length = if start[6] == 1 { 2 } else { 4 };
    read(name, reader, &mut size[..length])?;
    let size = u32::from_le_bytes(size) as usize;
    if size > 1 << 16 {
        return Err(damaged(name));
    }
    let mut text = vec![0; size];
    read(name, reader, &mut text)?;
    String::from_utf8(text).map_err(|_| damaged(name))
}

/// The text after a key of the header, up to the next key.
fn field<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let rest = header
        .split_once(&format!("'{key}'"))?
        .1
        .trim_start()
        .strip_prefix(':')?
        .trim_start();
    let end = if rest.starts_with('(') {
        rest.find(')')? + 1
    } else {
        rest.find([',', '}'])?
    };
    Some(rest[..end].trim())
}

fn read(name: &str, reader: &mut dyn Read, to: &mut [u8]) -> Result<()> {
    reader
        .read_exact(to)
        .map_err(|e| Error::io(format_args!("`{name}` ends too early"), e))
}

fn damaged(name: &str) -> Error {
    Error::new(ErrorKind::Format, format!("`{name}` is not a NumPy array"))
        .hint("write it with numpy.save")
}

impl Source for Npy {
    fn next(&mut self, rows: usize) -> Result<Option<Chunk>> {
        let rows = (self.rows - self.read).min(rows as u64) as usize;
        let (width, size) = (self.inputs.len(), self.kind.size());
        self.bytes.resize(rows * width * size, 0);
        read(&self.name, &mut *self.reader, &mut self.bytes)?;
        self.read += rows as u64;
        let mut chunk = Chunk {
            rows,
            ..Chunk::default()
        };
        let cards: Vec<usize> = self.inputs.iter().map(|input| input.values.len()).collect();
        for (column, (input, mut values)) in self
            .inputs
            .iter()
            .zip(self.kind.columns(&self.bytes, &cards))
            .enumerate()
        {
            for row in values.beyond(cards[column]) {
                let number = self
                    .kind
                    .number(&self.bytes[(row * width + column) * size..]);
                chunk.bad.push((row, input.no_place(number)));
                values.set(row, -1);
            }
            chunk.columns.push((input.var, values));
        }
        chunk.settle();
        Ok((rows > 0).then_some(chunk))
    }

    fn columns(&self) -> &Columns {
        &self.columns
    }

    fn len(&self) -> Option<u64> {
        Some(self.rows)
    }
}
