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
    /// Takes the bytes of a file: UTF-8, or what an XML declaration says.
    pub fn new(name: &str, bytes: Vec<u8>) -> Result<Self> {
        let name = name.to_owned();
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(e) if is_latin(e.as_bytes()) => e.as_bytes().iter().map(|&b| b as char).collect(),
            Err(e) => {
                let at = e.utf8_error().valid_up_to();
                let error = Error::new(ErrorKind::Syntax, format!("`{name}` is not UTF-8 text (byte {at})"));
                return Err(error.hint("convert it, for example with `iconv -f latin1 -t utf-8`"));
            }
        };
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        };
        Ok(Source { name, text })
    }

    /// The name of the file, without its folder and extension: the name of a network that has none.
    pub fn stem(&self) -> String {
        let path = Path::new(self.name.strip_suffix(".gz").unwrap_or(&self.name));
        path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
    }

    /// The place of a span.
    pub fn place(&self, span: Span) -> Place {
        Place::new(&self.name, &self.text, span)
    }

    /// A mistake in what the format demands.
    pub fn error(&self, span: Span, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Syntax, message).at(self.place(span))
    }
}

/// Whether an XML declaration says that the bytes are Latin-1.
fn is_latin(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).to_lowercase();
    head.starts_with("<?xml") && ["iso-8859-1", "latin1", "windows-1252"].iter().any(|e| head.contains(e))
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
    pub whole: Span,
    /// Where the numbers begin, in the order of the table; may be empty.
    pub entries: Vec<usize>,
    /// How many numbers a row has.
    pub width: usize,
}

impl Marks {
    /// The place of a builder's finding.
    pub fn place(&self, source: &Source, site: Site) -> Option<Place> {
        let span = match site {
            Site::Variable(v) => self.variables.get(v)?.clone(),
            Site::Cpt(c) => self.cpts.get(c)?.whole.clone(),
            Site::Row(c, row) => {
                let marks = self.cpts.get(c)?;
                let first = marks.entries.get(row * marks.width);
                let last = marks.entries.get(((row + 1) * marks.width).saturating_sub(1));
                match (first, last) {
                    (Some(&a), Some(&b)) if a <= b => a..word_end(&source.text, b),
                    (Some(&a), _) => a..word_end(&source.text, a),
                    _ => marks.whole.clone(),
                }
            }
            Site::Entry(c, entry) => {
                let marks = self.cpts.get(c)?;
                marks.entries.get(entry).map_or(marks.whole.clone(), |&a| a..word_end(&source.text, a))
            }
        };
        Some(source.place(span))
    }
}

/// Where the number that begins at `at` ends.
fn word_end(text: &str, at: usize) -> usize {
    let ends = |c: char| c.is_whitespace() || ",;(){}[]<>|".contains(c);
    text[at..].find(ends).map_or(text.len(), |i| at + i)
}
