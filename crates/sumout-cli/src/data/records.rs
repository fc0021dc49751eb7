//! The records of a CSV file, one after the other, as cells of bytes.
//!
//! A record is a line, unless a quoted cell goes on in the next one. Nothing is copied: cells are
//! parts of the buffer.

use std::io::{self, Read};
use std::ops::Range;

use memchr::{memchr, memchr2};

use super::form::Form;

pub struct Records {
    reader: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// Bytes that were read and not yet consumed.
    unread: Range<usize>,
    cells: Vec<Range<usize>>,
    consumed: u64,
    delimiter: u8,
}

/// Bytes read at a time.
const BLOCK_BYTES: usize = 1 << 18;

/// No record is longer.
const MAX_RECORD_BYTES: usize = 1 << 26;

/// Where the record at the start of some text ends; none if more text is needed.
type End = Option<usize>;

/// Where in a cell a byte is.
#[derive(Clone, Copy)]
enum State {
    Start,
    Plain,
    Quoted,
    /// Behind a quote in quotes: another one goes on with the cell.
    Closed,
}

impl Records {
    pub fn new(reader: Box<dyn Read + Send>) -> io::Result<Self> {
        let mut records = Records {
            reader,
            buffer: vec![],
            unread: 0..0,
            cells: vec![],
            consumed: 0,
            delimiter: b',',
        };
        while records.unread.len() < 3 && records.fill()? {}
        if records.buffer.starts_with(b"\xEF\xBB\xBF") {
            records.unread.start = 3;
        }
        Ok(records)
    }

    /// Takes the delimiter of the first line that is not blank, from which titles are known.
    pub fn find_delimiter(
        &mut self,
        form: &Form,
        is_known: &dyn Fn(&str) -> bool,
    ) -> io::Result<()> {
        loop {
            let text = &self.buffer[self.unread.clone()];
            let start = text.iter().position(|byte| !byte.is_ascii_whitespace());
            let line = &text[start.unwrap_or(text.len())..];
            let end = memchr(b'\n', line);
            if end.is_some() || text.len() > MAX_RECORD_BYTES || !self.fill()? {
                let text = &self.buffer[self.unread.clone()];
                let line = &text[start.unwrap_or(text.len())..];
                self.delimiter = form.delimiter(&line[..end.unwrap_or(line.len())], is_known);
                return Ok(());
            }
        }
    }

    /// Goes to the next record; false at the end.
    pub fn advance(&mut self) -> io::Result<bool> {
        loop {
            if let Some(length) = self.split() {
                self.unread.start += length;
                self.consumed += length as u64;
                return Ok(true);
            }
            if self.unread.len() > MAX_RECORD_BYTES {
                return Err(endless());
            }
            if !self.fill()? {
                return self.split_rest();
            }
        }
    }

    /// The number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// A cell without the blanks around it.
    pub fn cell(&self, column: usize) -> &[u8] {
        self.buffer[self.cells[column].clone()].trim_ascii()
    }

    /// Whether the record is a line without anything.
    pub fn is_blank(&self) -> bool {
        self.cells.len() == 1 && self.cell(0).is_empty()
    }

    /// How many bytes the records took so far.
    pub fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Reads more; false at the end of the file.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        let room = self.unread.end + BLOCK_BYTES.max(self.unread.len());
        self.buffer.resize(room, 0);
        let read = loop {
            match self.reader.read(&mut self.buffer[self.unread.end..]) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.unread.end += read;
        Ok(read > 0)
    }

    /// The last record may end without an end of line.
    fn split_rest(&mut self) -> io::Result<bool> {
        if self.unread.is_empty() {
            return Ok(false);
        }
        self.buffer.truncate(self.unread.end);
        self.buffer.push(b'\n');
        self.unread.end += 1;
        let length = self.split().ok_or_else(endless)?;
        self.unread.start += length;
        self.consumed += length as u64;
        Ok(true)
    }

    /// Finds the cells of the first record that is unread.
    fn split(&mut self) -> End {
        let text = &self.buffer[self.unread.clone()];
        let end = memchr2(b'\n', b'"', text)?;
        if text[end] == b'"' {
            return self.split_quoted();
        }
        self.cells.clear();
        let mut start = self.unread.start;
        for at in text[..end]
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == self.delimiter)
            .map(|(at, _)| at)
        {
            self.cells.push(start..self.unread.start + at);
            start = self.unread.start + at + 1;
        }
        self.cells.push(start..self.unread.start + end);
        Some(end + 1)
    }

    /// The same where there are quotes: cells in quotes lose them, and quotes in them are single
    /// afterwards.
    fn split_quoted(&mut self) -> End {
        let end = self.quoted_end()?;
        self.cells.clear();
        let mut at = self.unread.start;
        loop {
            let cell = self.unquote(at, end);
            let next = cell.1;
            self.cells.push(cell.0);
            if next >= end {
                return Some(end + 1 - self.unread.start);
            }
            at = next + 1;
        }
    }

    /// Where the record ends, counted in the buffer: the first end of line that is not in quotes.
    fn quoted_end(&self) -> End {
        let mut state = State::Start;
        for at in self.unread.clone() {
            state = match (state, self.buffer[at]) {
                (State::Quoted, b'"') => State::Closed,
                (State::Quoted, _) | (State::Start | State::Closed, b'"') => State::Quoted,
                (_, b'\n') => return Some(at),
                (_, byte) if byte == self.delimiter => State::Start,
                _ => State::Plain,
            };
        }
        None
    }

    /// The cell that begins somewhere, and where it ends: at a delimiter, or at the end of the record.
    fn unquote(&mut self, start: usize, end: usize) -> (Range<usize>, usize) {
        if self.buffer[start] != b'"' {
            let stop =
                memchr(self.delimiter, &self.buffer[start..end]).map_or(end, |at| start + at);
            return (start..stop, stop);
        }
        let first = start + 1;
        let (mut from, mut to) = (first, first);
        let mut is_quoted = true;
        while from < end && (is_quoted || self.buffer[from] != self.delimiter) {
            let byte = self.buffer[from];
            let is_double =
                byte == b'"' && is_quoted && from + 1 < end && self.buffer[from + 1] == b'"';
            from += if is_double { 2 } else { 1 };
            if byte == b'"' && is_quoted && !is_double {
                is_quoted = false;
                continue;
            }
            self.buffer[to] = byte;
            to += 1;
        }
        (first..to, from)
    }
}

fn endless() -> io::Error {
    io::Error::other("a quoted cell does not end")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time.
    struct Slowly(Vec<u8>, usize);

    impl Read for Slowly {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(self.1).min(to.len());
            to[..n].copy_from_slice(&self.0[..n]);
            self.0.drain(..n);
            Ok(n)
        }
    }

    fn cells(text: &str, step: usize) -> Vec<Vec<String>> {
        let mut records = Records::new(Box::new(Slowly(text.into(), step))).unwrap();
        let mut all = vec![];
        while records.advance().unwrap() {
            all.push(
                (0..records.len())
                    .map(|c| String::from_utf8_lossy(records.cell(c)).into_owned())
                    .collect(),
            );
        }
        all
    }

    #[test]
    fn records_are_split_alike_however_they_arrive() {
        let text = "\u{feff}a,b\r\n1, 2 \n\n\"x,\"\"y\"\"\n\",\"z\"\n5\" disk,\"q\"r\n,\n\"\",e";
        let expected = [
            vec!["a", "b"],
            vec!["1", "2"],
            vec![""],
            vec!["x,\"y\"", "z"],
            vec!["5\" disk", "qr"],
            vec!["", ""],
            vec!["", "e"],
        ];
        for step in [1, 2, 3, 7, 1000] {
            assert_eq!(cells(text, step), expected, "{step} bytes at a time");
        }
    }

    #[test]
    fn a_quote_without_end_is_an_error() {
        let mut records = Records::new(Box::new(Slowly(b"a,\"b\nc".to_vec(), 100))).unwrap();
        assert!(
            records
                .advance()
                .unwrap_err()
                .to_string()
                .contains("does not end")
        );
    }

    #[test]
    fn the_records_are_those_of_the_usual_reader() {
        let parts = ["a", "\"", "\"\"", ",", "\n", " ", "b\r\n", "\"c\""];
        for seed in 0..3000usize {
            let text: String = (0..8)
                .map(|i| parts[(seed * 7919 + i * i * 104729 + seed * i * 31) / 8 % 8])
                .collect();
            let mut usual = csv::ReaderBuilder::new()
                .flexible(true)
                .has_headers(false)
                .from_reader(text.as_bytes());
            let expected: Vec<Vec<String>> = usual
                .records()
                .map(|r| {
                    r.unwrap()
                        .iter()
                        .map(|cell| cell.trim().to_owned())
                        .collect()
                })
                .collect();
            let Ok(mut records) = Records::new(Box::new(Slowly(text.clone().into(), 3))) else {
                panic!()
            };
            let (mut found, mut is_whole) = (vec![], true);
            loop {
                match records.advance() {
                    Ok(true) if records.is_blank() => {}
                    Ok(true) => found.push(
                        (0..records.len())
                            .map(|c| String::from_utf8_lossy(records.cell(c)).into_owned())
                            .collect::<Vec<_>>(),
                    ),
                    Ok(false) => break,
                    Err(_) => {
                        is_whole = false;
                        break;
                    }
                }
            }
            let expected: Vec<Vec<String>> = expected
                .into_iter()
                .filter(|r| r.len() > 1 || !r[0].is_empty())
                .collect();
            assert!(
                !is_whole || found == expected,
                "{text:?}: {found:?} {expected:?}"
            );
        }
    }
}
