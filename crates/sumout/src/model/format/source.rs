//! The text of a file, and where in it things are.

use std::ops::Range;
use std::path::Path;

use crate::error::{Error, ErrorKind, Place, Result};
use crate::files::latin;
use crate::model::{Origin, Site};

/// A range of bytes in a source.
pub(crate) type Span = Range<usize>;

/// The text of a file with the name that messages give it.
pub(crate) struct Source {
    pub name: String,
    pub text: String,
    /// A note on its encoding.
    pub note: Option<String>,
}

impl Source {
    /// Takes the bytes of a file: UTF-8, UTF-16, or else Latin-1.
    pub fn new(name: &str, bytes: Vec<u8>) -> Result<Self> {
        let mut note = None;
        let text = match utf16(&bytes) {
            Some(text) => text,
            None => String::from_utf8(bytes).or_else(|e| {
                let bytes = e.as_bytes();
                if !is_latin(bytes) {
                    note = Some(assumed(bytes, e.utf8_error().valid_up_to()));
                }
                if bytes.contains(&0) {
                    let message = format!("`{name}` is not a text file");
                    return Err(Error::new(ErrorKind::Syntax, message));
                }
                Ok(latin(bytes))
            })?,
        };
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        };
        let name = name.to_owned();
        Ok(Source { name, text, note })
    }

    /// The name of the file, without its folder and extension: the name of a network that has none.
    pub fn stem(&self) -> String {
        if self.name.starts_with('<') {
            return "network".to_owned(); // text that is in no file
        }
        let path = Path::new(self.name.strip_suffix(".gz").unwrap_or(&self.name));
        path.file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
    }

    /// The place of a span.
    pub fn place(&self, span: Span) -> Place {
        Place::new(&self.name, &self.text, span)
    }

    /// Where the number is that begins at `start`.
    pub fn word(&self, start: usize) -> Span {
        let ends = |c: char| c.is_whitespace() || ",;(){}[]<>|%".contains(c);
        start
            ..self.text[start..]
                .find(ends)
                .map_or(self.text.len(), |length| start + length)
    }

    /// The note for the first of two duplicates.
    pub fn other(&self, span: &Span) -> String {
        format!(
            "the other one is in line {}",
            self.place(span.clone()).line()
        )
    }

    /// A mistake in what the format demands.
    pub fn error(&self, span: Span, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Syntax, message).at(self.place(span))
    }
}

/// The text of bytes that begin with the mark of UTF-16.
fn utf16(bytes: &[u8]) -> Option<String> {
    let unit = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return None,
    };
    let units: Vec<u16> = bytes.as_chunks().0.iter().map(|pair| unit(*pair)).collect();
    Some(String::from_utf16_lossy(&units))
}

/// The note for bytes that are not UTF-8 from `at` on.
fn assumed(bytes: &[u8], at: usize) -> String {
    let line = bytes[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
    format!("read as Latin-1, because line {line} is not UTF-8")
}

/// Whether an XML declaration names Latin-1.
fn is_latin(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).to_lowercase();
    head.starts_with("<?xml")
        && ["iso-8859-1", "latin1", "windows-1252"]
            .iter()
            .any(|e| head.contains(e))
}

/// Where a reader found each variable and CPT, in the order in which it told the builder.
#[derive(Default)]
pub(super) struct Marks {
    pub variables: Vec<Span>,
    pub cpts: Vec<CptMarks>,
}

/// Where a CPT is, and where each of its numbers begins.
#[derive(Default)]
pub(super) struct CptMarks {
    /// Where its variable is named; of a potential, where its scope is.
    pub child: Span,
    pub parents: Vec<Span>,
    /// Where the numbers are.
    pub list: Span,
    /// Where the numbers begin, in the order of the table; may be empty.
    pub entries: Vec<usize>,
    /// How many numbers a row has.
    pub width: usize,
    /// Where the parts of its test are, by their names.
    pub test: Vec<(&'static str, Span)>,
}

/// Numbers with the places where they begin, and where all of them are.
#[derive(Default)]
pub(super) struct Numbers {
    pub values: Vec<f64>,
    pub starts: Vec<usize>,
    pub span: Span,
}

impl Numbers {
    pub fn push(&mut self, value: f64, at: Span) {
        self.span.start = if self.values.is_empty() {
            at.start
        } else {
            self.span.start
        };
        self.span.end = at.end;
        self.values.push(value);
        self.starts.push(at.start);
    }
}

/// A source with the marks that were made in it.
pub(super) struct Marked<'m> {
    source: &'m Source,
    marks: &'m Marks,
}

impl Origin for Marked<'_> {
    fn place(&self, site: Site) -> Option<Place> {
        self.marks.place(self.source, site)
    }

    fn rounding(&self, cpt: usize, row: usize) -> f64 {
        let marks = self.marks.cpts.get(cpt);
        let range = |marks: &CptMarks| row * marks.width..(row + 1) * marks.width;
        let starts = marks.and_then(|marks| marks.entries.get(range(marks)));
        let number = |start: &usize| &self.source.text[self.source.word(*start)];
        starts.map_or(0.0, |starts| starts.iter().map(number).map(rounding).sum())
    }
}

/// By how much a number can have been rounded to be printed like this: half a unit of the last
/// digit. One with fewer than two decimals is taken to be exact.
fn rounding(number: &str) -> f64 {
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let decimals = digits
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    let exponent = exponent.parse::<i32>().unwrap_or(0);
    let last = exponent.saturating_sub(decimals as i32);
    if last > -2 {
        0.0
    } else {
        0.5 * 10f64.powi(last)
    }
}

impl Marks {
    /// The marks with their source.
    pub fn of<'m>(&'m self, source: &'m Source) -> Marked<'m> {
        Marked {
            source,
            marks: self,
        }
    }

    /// The place of a builder's finding.
    fn place(&self, source: &Source, site: Site) -> Option<Place> {
        let span = match site {
            Site::Variable(v) => self.variables.get(v)?.clone(),
            Site::Cpt(c) => self.cpts.get(c)?.child.clone(),
            Site::Scope(c, position) => self.cpts.get(c)?.member(position),
            Site::Numbers(c) => self.cpts.get(c)?.list.clone(),
            Site::Row(c, row) => self.cpts.get(c)?.row(source, row),
            Site::Entry(c, entry) => self.cpts.get(c)?.entry(source, entry),
            Site::Selection(c, part) => self.cpts.get(c)?.test(part),
        };
        Some(source.place(span))
    }
}

impl CptMarks {
    fn member(&self, position: usize) -> Span {
        self.parents.get(position).unwrap_or(&self.child).clone()
    }

    fn entry(&self, source: &Source, entry: usize) -> Span {
        self.entries
            .get(entry)
            .map_or(self.list.clone(), |&start| source.word(start))
    }

    fn test(&self, part: &str) -> Span {
        self.test
            .iter()
            .find(|(name, _)| *name == part)
            .map_or(&self.child, |(_, span)| span)
            .clone()
    }

    /// The numbers of a row if they stand together, or else the first of them.
    fn row(&self, source: &Source, row: usize) -> Span {
        let range = row * self.width..(row + 1) * self.width;
        let Some(starts) = self
            .entries
            .get(range.clone())
            .filter(|starts| !starts.is_empty())
        else {
            return self.entry(source, range.start);
        };
        let (first, last) = (starts[0], starts[starts.len() - 1]);
        let between = self
            .entries
            .iter()
            .filter(|&&start| first <= start && start <= last)
            .count();
        let last = if between == starts.len() { last } else { first };
        first..source.word(last).end
    }
}
