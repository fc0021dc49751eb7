//! Text in XML: what it may contain, and where in the source it is.

use std::ops::Range;

use crate::model::format::source::Span;

/// White space in XML.
pub(super) const BLANK: [char; 4] = [' ', '\t', '\r', '\n'];

/// The entities that need no definition.
pub(super) fn predefined(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    }
}

/// The text of an element.
pub(in crate::model::format) struct Content {
    /// Where the element is.
    pub(super) span: Span,
    pub(super) text: String,
    /// Where pieces begin, in `text` and in the source. Comments and entities are between them.
    pub(super) pieces: Vec<(usize, usize)>,
}

impl Content {
    pub(super) fn push(&mut self, text: &str, at: usize) {
        self.pieces.push((self.text.len(), at));
        self.text.push_str(text);
    }

    /// Where the text is; if there is none, where the element is.
    pub fn inner(&self) -> Span {
        let start = self.text.len() - self.text.trim_start_matches(BLANK).len();
        let end = self.text.trim_end_matches(BLANK).len();
        if start < end {
            self.place(start..end)
        } else {
            self.span.clone()
        }
    }

    /// The words with blanks between them.
    pub fn words(&self) -> impl Iterator<Item = (&str, Span)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = at + self.text[at..].find(|c| !BLANK.contains(&c))?;
            at = self.text[start..]
                .find(BLANK)
                .map_or(self.text.len(), |length| start + length);
            Some((&self.text[start..at], self.place(start..at)))
        })
    }

    /// Where in the source a part of the text is, which must not be empty.
    fn place(&self, part: Range<usize>) -> Span {
        let origin = |at: usize| {
            let piece = self.pieces.partition_point(|&(begin, _)| begin <= at) - 1;
            self.pieces[piece].1 + at - self.pieces[piece].0
        };
        origin(part.start)..origin(part.end - 1) + 1
    }
}

/// Whether XML can carry the character.
pub(in crate::model::format) fn is_legal(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r') || (c >= ' ' && c != '\u{fffe}' && c != '\u{ffff}')
}

/// Whether reading would take blanks away from both ends.
pub(in crate::model::format) fn is_padded(name: &str) -> bool {
    name.trim_matches(BLANK).len() < name.len()
}

/// The text as XML writes it, in an element or in an attribute.
pub(in crate::model::format) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push_str(&format!("&#{};", c as u32)),
            _ => out.push(c),
        }
    }
    out
}

/// Numbers so that reading gives back the same bits.
pub(in crate::model::format) fn digits(numbers: &[f64]) -> String {
    numbers
        .iter()
        .map(|p| format!("{p:?}"))
        .collect::<Vec<_>>()
        .join(" ")
}
