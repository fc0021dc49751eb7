//! The text of a file, and where in it things are.

use std::ops::Range;
use std::path::Path;

use crate::error::{Error, ErrorKind, Place, Result};
use crate::model::Site;

/// A range of bytes in a source.
pub(crate) type Span = Range<usize>;

/// The text of a file with the name that messages give it.
pub(crate) struct Source {
    pub name: String,
    pub text: String,
}

impl Source {
    /// Takes the bytes of a file: UTF-8, or the encoding of an XML declaration.
    pub fn new(name: &str, bytes: Vec<u8>) -> Result<Self> {
        let name = name.to_owned();
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(e) if is_latin(e.as_bytes()) => e.as_bytes().iter().map(|&b| b as char).collect(),
            Err(e) => return Err(not_text(&name, e.as_bytes(), e.utf8_error().valid_up_to())),
        };
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        };
        Ok(Source { name, text })
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

/// The error for bytes that are not UTF-8 from `at` on.
fn not_text(name: &str, bytes: &[u8], at: usize) -> Error {
    let error = |message: String| Error::new(ErrorKind::Syntax, message);
    let convert =
        |from: &str| format!("convert the file, for example with `iconv -f {from} -t utf-8`");
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return error(format!("`{name}` is UTF-16 text, not UTF-8")).hint(convert("utf-16"));
    }
    if bytes.contains(&0) {
        return error(format!("`{name}` is not a text file"));
    }
    let place = Place::new(name, &String::from_utf8_lossy(bytes), at..at + 1);
    error(format!("the byte {:#04x} is not UTF-8 text", bytes[at]))
        .at(place)
        .hint(convert("latin1"))
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

impl Marks {
    /// The place of a builder's finding.
    pub fn place(&self, source: &Source, site: Site) -> Option<Place> {
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
