//! The form of a CSV file: its compression, its encoding, its delimiter, and the words for what is
//! missing.
//!
//! All of them are found, as people have such files from other programs: gzip and UTF-16 by their
//! first bytes, Latin-1 cell by cell because it is not UTF-8, the delimiter because it makes titles
//! of variables.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{self, Cursor, Read};

use clap::Args;
use flate2::read::MultiGzDecoder;
use sumout::files::latin;

/// A word for a missing cell, whatever its case, unless it is the name of a value.
const MISSING: [&str; 4] = ["NA", "NaN", "null", "?"];

/// The delimiters that are tried, the usual one first.
const DELIMITERS: [u8; 4] = *b",;\t|";

/// How a file of rows is read.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Reading the data")]
pub struct Form {
    /// Words for missing cells, which may also be empty; by default `NA`, `NaN`, `null` and `?`, unless
    /// they are names of values.
    #[arg(long, value_name = "WORD", num_args = 1.., value_delimiter = ',', allow_hyphen_values = true)]
    missing: Vec<String>,

    /// The character between the cells of a CSV file, or `tab`; found in its first line by default.
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !b"\"\r\n".contains(byte) => Ok(*byte),
        _ => Err("give one character, such as `;`, or `tab`".into()),
    }
}

impl Form {
    /// Whether the caller named this word for missing cells: then it is no value, either.
    pub fn is_named_missing(&self, cell: &[u8]) -> bool {
        self.missing.iter().any(|word| word.as_bytes() == cell)
    }

    /// Whether a cell that is not a value is missing.
    pub fn is_missing(&self, cell: &[u8]) -> bool {
        let is_usual = |word: &&str| word.as_bytes().eq_ignore_ascii_case(cell);
        cell.is_empty()
            || self.is_named_missing(cell)
            || self.missing.is_empty() && MISSING.iter().any(is_usual)
    }

    /// The delimiter that makes most titles of a line known.
    pub fn delimiter(&self, line: &[u8], is_known: &dyn Fn(&str) -> bool) -> u8 {
        let known = |delimiter: u8| {
            let titles = line
                .split(|&byte| byte == delimiter)
                .map(<[u8]>::trim_ascii);
            titles
                .filter(|title| is_known(&text(unquoted(title))))
                .count()
        };
        let best = || DELIMITERS.into_iter().rev().max_by_key(|&d| known(d));
        self.delimiter.or_else(best).unwrap_or(b',')
    }
}

fn unquoted(title: &[u8]) -> &[u8] {
    let inside = title
        .strip_prefix(b"\"")
        .and_then(|t| t.strip_suffix(b"\""));
    inside.unwrap_or(title)
}

/// A cell as text: UTF-8, or else Latin-1.
pub fn text(cell: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(cell) {
        Ok(text) => text.into(),
        Err(_) => latin(cell).into(),
    }
}

/// The content of a file, decompressed, and as UTF-8 if it is UTF-16; and whether these are the
/// bytes of the file.
pub fn opened(reader: Box<dyn Read + Send>) -> io::Result<(Box<dyn Read + Send>, bool)> {
    let (head, reader) = peeked(reader)?;
    if head != [0x1f, 0x8b] {
        return decoded(head, reader);
    }
    let (head, reader) = peeked(Box::new(MultiGzDecoder::new(reader)))?;
    Ok((decoded(head, reader)?.0, false))
}

fn decoded(
    head: [u8; 2],
    reader: Box<dyn Read + Send>,
) -> io::Result<(Box<dyn Read + Send>, bool)> {
    let unit = match head {
        [0xff, 0xfe] => u16::from_le_bytes,
        [0xfe, 0xff] => u16::from_be_bytes,
        _ => return Ok((reader, true)),
    };
    let utf16 = Utf16 {
        reader,
        unit,
        kept: vec![],
        text: VecDeque::new(),
    };
    Ok((Box::new(utf16), false))
}

/// The first two bytes, zeros if there are none, and a reader that still begins with them.
fn peeked(mut reader: Box<dyn Read + Send>) -> io::Result<([u8; 2], Box<dyn Read + Send>)> {
    let mut head = Vec::with_capacity(2);
    reader.by_ref().take(2).read_to_end(&mut head)?;
    let first = [0, 1].map(|at| head.get(at).copied().unwrap_or(0));
    Ok((first, Box::new(Cursor::new(head).chain(reader))))
}

/// UTF-16 as UTF-8.
struct Utf16 {
    reader: Box<dyn Read + Send>,
    unit: fn([u8; 2]) -> u16,
    /// Bytes of a character that is not yet complete.
    kept: Vec<u8>,
    text: VecDeque<u8>,
}

/// Bytes of UTF-16 read at a time.
const BLOCK: u64 = 1 << 16;

impl Read for Utf16 {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.text.is_empty() {
            let read = self
                .reader
                .by_ref()
                .take(BLOCK)
                .read_to_end(&mut self.kept)?;
            let pairs = self.kept.as_chunks::<2>().0;
            let units: Vec<u16> = pairs.iter().map(|pair| (self.unit)(*pair)).collect();
            let is_split = read > 0 && units.last().is_some_and(|u| (0xd800..0xdc00).contains(u));
            let whole = units.len() - usize::from(is_split);
            self.text
                .extend(String::from_utf16_lossy(&units[..whole]).bytes());
            self.kept.drain(..2 * whole);
            if read == 0 {
                break;
            }
        }
        self.text.read(to)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(bytes: Vec<u8>) -> String {
        let (mut reader, _) = opened(Box::new(Cursor::new(bytes))).unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn utf_16_of_both_orders_is_read_also_across_blocks() {
        let text = "name,größe\n😀,€\n".repeat(20_000);
        let units = |text: &str| {
            "\u{feff}"
                .encode_utf16()
                .chain(text.encode_utf16())
                .collect::<Vec<_>>()
        };
        let little = units(&text)
            .into_iter()
            .flat_map(u16::to_le_bytes)
            .collect();
        let big = units(&format!("x{text}"))
            .into_iter()
            .flat_map(u16::to_be_bytes)
            .collect();
        assert_eq!(read(little), format!("\u{feff}{text}"));
        assert_eq!(read(big), format!("\u{feff}x{text}"));
    }

    #[test]
    fn gzip_is_found_by_the_content_and_short_files_are_themselves() {
        let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
        gzip.write_all(b"a,b\n").unwrap();
        assert_eq!(read(gzip.finish().unwrap()), "a,b\n");
        assert_eq!(
            ["", "a", "a,b"].map(|text| read(text.into())),
            ["", "a", "a,b"]
        );
    }

    #[test]
    fn the_delimiter_is_the_one_that_makes_known_titles() {
        let is_known = |title: &str| ["a", "b", "a;b"].contains(&title);
        let found = |line: &str| Form::default().delimiter(line.as_bytes(), &is_known);
        assert_eq!(found("id;a;b"), b';');
        assert_eq!(found("a\t\"b\""), b'\t');
        assert_eq!(found("a, b ,a;b"), b',');
        assert_eq!(found("x;y"), b',');
        assert_eq!(
            [";", "tab", ";;", "\""].map(|d| delimiter(d).ok()),
            [Some(b';'), Some(b'\t'), None, None]
        );
    }

    #[test]
    fn words_for_missing_cells_are_the_usual_ones_or_those_given() {
        let missing = |words: &[&str], cell: &str| {
            let missing = words.iter().map(|word| word.to_string()).collect();
            Form {
                missing,
                delimiter: None,
            }
            .is_missing(cell.as_bytes())
        };
        for cell in ["", "NA", "na", "NaN", "?", "NULL"] {
            assert!(missing(&[], cell), "{cell}");
        }
        assert!(!missing(&[], "-9") && missing(&["-9"], "-9") && missing(&["-9"], ""));
        assert!(!missing(&["-9"], "NA"));
    }
}
