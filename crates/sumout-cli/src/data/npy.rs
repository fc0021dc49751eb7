//! NumPy files: a matrix of value positions, a row for each example and a column for each input, negative where
//! missing.

use std::io::Read;

use sumout::{Circuit, Error, ErrorKind, Result, VarId};

use super::{Chunk, Source};

pub struct Npy {
    name: String,
    reader: Box<dyn Read + Send>,
    inputs: Vec<(VarId, String, usize)>,
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
        let kinds = [("|i1", Kind::I8), ("|u1", Kind::U8), ("|b1", Kind::U8), ("<i2", Kind::I16), ("<i4", Kind::I32)];
        let found = kinds.into_iter().chain([("<i8", Kind::I64)]).find(|(kind, _)| *kind == name);
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

    fn value(self, bytes: &[u8]) -> i64 {
        match (self, bytes) {
            (Kind::U8, &[a, ..]) => a.into(),
            (Kind::I8, &[a, ..]) => (a as i8).into(),
            (Kind::I16, &[a, b, ..]) => i16::from_le_bytes([a, b]).into(),
            (Kind::I32, &[a, b, c, d, ..]) => i32::from_le_bytes([a, b, c, d]).into(),
            (Kind::I64, &[a, b, c, d, e, f, g, h]) => i64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => -1,
        }
    }
}

impl Npy {
    pub fn new(name: String, mut reader: Box<dyn Read + Send>, circuit: &Circuit) -> Result<Self> {
        let input = |v: VarId| (v, circuit.variable(v).name.clone(), circuit.variable(v).values.len());
        let inputs: Vec<_> = circuit.inputs().map(input).collect();
        let header = header(&name, &mut reader)?;
        let wrong = |what: String, hint: &str| Error::new(ErrorKind::Format, format!("`{name}`: {what}")).hint(hint);
        let text = |key: &str| field(&header, key).ok_or_else(|| damaged(&name));
        let kind = text("descr")?.trim_matches(['\'', '"']);
        let kind = Kind::of(kind).ok_or_else(|| {
            wrong(
                format!("numbers of kind {kind}"),
                "save positions of values as integers: numpy.save(FILE, array.astype('int8'))",
            )
        })?;
        if text("fortran_order")? != "False" {
            return Err(wrong("the array is in Fortran order".into(), "save numpy.ascontiguousarray(array)"));
        }
        let shape = text("shape")?.trim_matches(['(', ')', ' ']);
        let shape: Vec<u64> = shape.split(',').filter_map(|n| n.trim().parse().ok()).collect();
        match shape[..] {
            [rows, columns] if columns == inputs.len() as u64 => {
                Ok(Npy { name, reader, inputs, kind, rows, read: 0, bytes: vec![] })
            }
            _ => {
                let what = format!("its shape is {shape:?}, but the circuit has {} inputs", inputs.len());
                Err(wrong(
                    what,
                    "give a matrix with a row for each example and a column for each input, in the order of the network",
                ))
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

/// What follows a key of the header, up to the next key.
fn field<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let rest = header.split_once(&format!("'{key}'"))?.1.trim_start().strip_prefix(':')?.trim_start();
    let end = if rest.starts_with('(') { rest.find(')')? + 1 } else { rest.find([',', '}'])? };
    Some(rest[..end].trim())
}

fn read(name: &str, reader: &mut dyn Read, to: &mut [u8]) -> Result<()> {
    reader.read_exact(to).map_err(|e| Error::new(ErrorKind::Io, format!("`{name}` ends too early: {e}")))
}

fn damaged(name: &str) -> Error {
    Error::new(ErrorKind::Format, format!("`{name}` is no array of NumPy")).hint("write it with numpy.save")
}

impl Source for Npy {
    fn next(&mut self, rows: usize) -> Result<Option<Chunk>> {
        let rows = (self.rows - self.read).min(rows as u64) as usize;
        let (width, size) = (self.inputs.len(), self.kind.size());
        self.bytes.resize(rows * width * size, 0);
        read(&self.name, &mut *self.reader, &mut self.bytes)?;
        self.read += rows as u64;
        let mut chunk = Chunk { rows, ..Chunk::default() };
        for (column, (var, name, card)) in self.inputs.iter().enumerate() {
            let mut values = Vec::with_capacity(rows);
            for (row, cells) in self.bytes.chunks_exact(width * size).enumerate() {
                let value = self.kind.value(&cells[column * size..][..size]);
                let is_known = value < *card as i64;
                if !is_known {
                    chunk.bad.push((row, format!("`{name}` has no value {value}, only {card} values")));
                }
                values.push(if is_known { value.max(-1) as i32 } else { -1 });
            }
            chunk.columns.push((*var, values));
        }
        chunk.bad.sort();
        chunk.bad.dedup_by_key(|(row, _)| *row);
        Ok((rows > 0).then_some(chunk))
    }

    fn missing(&self) -> &[String] {
        &[]
    }

    fn ignored(&self) -> &[String] {
        &[]
    }

    fn len(&self) -> Option<u64> {
        Some(self.rows)
    }
}
