//! Shared by the two XML formats: a pull reader that knows where everything is, and how text is
//! written.
//!
//! Elements are taken one by one. [`Xml::child`] opens the next element inside the open one; the
//! caller then takes what is in it, by [`Xml::content`], by [`Xml::skip`], or by `child` again
//! until there is none. Nothing recurses, so deep nesting cannot overflow the stack.
//!
//! Of entities, the five that XML predefines and numeric ones are known. Those that a file defines
//! are never expanded, and nothing is ever fetched. Blanks around text do not count, comments
//! neither.

mod text;

use quick_xml::Reader;
use quick_xml::errors::{Error as XmlError, IllFormedError, SyntaxError};
use quick_xml::events::Event;
use quick_xml::events::attributes::Attributes;

use crate::error::{Error, Result, shown};
use crate::model::format::source::{Numbers, Span};
use crate::model::format::variables::Word;
use crate::model::format::xml::text::{BLANK, predefined};
use crate::model::format::{Format, Source};

pub(super) use text::{Content, digits, escaped, is_legal, is_padded};

/// Reads XML from the start to the end.
pub(super) struct Xml<'a> {
    pub source: &'a Source,
    reader: Reader<&'a [u8]>,
    /// Where the reader's text begins: after byte order marks, which it does not count.
    base: usize,
    /// Where the names of the elements are that are open.
    open: Vec<Span>,
}

/// The tag that begins an element.
pub(super) struct Tag<'a> {
    pub name: &'a str,
    pub span: Span,
    /// The name and the attributes.
    raw: &'a str,
}

impl Tag<'_> {
    /// The name in lower case, as the formats are matched.
    pub fn kind(&self) -> String {
        self.name.to_ascii_lowercase()
    }
}

impl<'a> Xml<'a> {
    pub fn new(source: &'a Source) -> Self {
        let text = source.text.trim_start_matches('\u{feff}');
        let mut reader = Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        Xml {
            source,
            reader,
            base: source.text.len() - text.len(),
            open: vec![],
        }
    }

    /// Opens the root, which must have this name.
    pub fn root(&mut self, name: &str, format: Format) -> Result<Tag<'a>> {
        let Some(tag) = self.child()? else {
            return Err(self
                .source
                .error(0..0, format!("expected `<{name}>`, found an empty file")));
        };
        if tag.name.eq_ignore_ascii_case(name) {
            return Ok(tag);
        }
        let error = self.source.error(
            tag.span,
            format!("expected `<{name}>`, found `<{}>`", shown(tag.name)),
        );
        Err(error.hint(format!(
            "the file is read as {}; is the extension right?",
            format.name()
        )))
    }

    /// Makes sure that nothing follows the root.
    pub fn end(&mut self) -> Result<()> {
        match self.child()? {
            None => Ok(()),
            Some(tag) => {
                let error = self
                    .source
                    .error(tag.span, format!("a second root, `<{}>`", shown(tag.name)));
                Err(error.hint("a file is one network; make a file of each"))
            }
        }
    }

    /// Opens the next element inside the open one; none if that one ends here, and is closed.
    pub fn child(&mut self) -> Result<Option<Tag<'a>>> {
        loop {
            let (event, at) = self.event()?;
            let text = match event {
                Event::Start(start) => {
                    return Ok(Some(self.tag(at + 1, start.len(), start.name().0.len())));
                }
                Event::End(_) | Event::Eof => return Ok(None),
                Event::Text(text) => text.into_inner(),
                Event::CData(text) => text.into_inner(),
                Event::GeneralRef(name) => name.into_inner(),
                _ => continue,
            };
            let inner = text.trim_matches(BLANK);
            if !inner.is_empty() {
                let start = at + text.len() - text.trim_start_matches(BLANK).len();
                return Err(self.source.error(
                    start..start + inner.len(),
                    "expected an element, found text",
                ));
            }
        }
    }

    /// Closes the open element without looking at what is in it.
    pub fn skip(&mut self) -> Result<()> {
        let depth = self.open.len();
        while self.open.len() >= depth && depth > 0 {
            self.event()?;
        }
        Ok(())
    }

    /// The text of the open element, which is closed.
    pub fn content(&mut self, tag: &Tag<'a>) -> Result<Content> {
        let mut content = Content {
            span: tag.span.clone(),
            text: String::new(),
            pieces: vec![],
        };
        loop {
            let (event, at) = self.event()?;
            match event {
                Event::Text(text) => content.push(&text, at),
                Event::CData(text) => content.push(&text, at + "<![CDATA[".len()),
                Event::GeneralRef(name) => {
                    let character = self.character(&name, at..at + name.len() + 2)?;
                    content.push(character.encode_utf8(&mut [0; 4]), at);
                }
                Event::Start(child) => {
                    let message = format!(
                        "expected text or `</{}>`, found `<{}>`",
                        tag.name,
                        shown(child.name().0)
                    );
                    let error = self.source.error(at..at + child.len() + 1, message);
                    return Err(error.hint(self.still_open(tag.name, &tag.span)));
                }
                Event::End(_) | Event::Eof => return Ok(content),
                _ => {}
            }
        }
    }

    /// The text of the open element as a name.
    pub fn name(&mut self, tag: &Tag<'a>) -> Result<Word<'a>> {
        let content = self.content(tag)?;
        let (text, span) = (content.text.trim_matches(BLANK), content.inner());
        Ok(Word {
            text: text.to_owned().into(),
            span,
        })
    }

    /// The text of the open element as names with blanks between them.
    pub fn names(&mut self, tag: &Tag<'a>) -> Result<Vec<Word<'a>>> {
        let content = self.content(tag)?;
        Ok(content
            .words()
            .map(|(text, span)| Word {
                text: text.to_owned().into(),
                span,
            })
            .collect())
    }

    /// The text of the open element as numbers with blanks between them.
    pub fn numbers(&mut self, tag: &Tag<'a>) -> Result<Numbers> {
        let content = self.content(tag)?;
        let mut numbers = Numbers {
            span: tag.span.clone(),
            ..Numbers::default()
        };
        for (word, span) in content.words() {
            let Ok(value) = word.parse() else {
                let message = format!(
                    "expected a number in `<{}>`, found `{}`",
                    tag.name,
                    shown(word)
                );
                let error = self.source.error(span, message);
                return Err(error.hint("numbers have a decimal point, and blanks between them"));
            };
            numbers.push(value, span);
        }
        Ok(numbers)
    }

    /// The value of an attribute, if the tag has it.
    pub fn attribute(&self, tag: &Tag<'a>, key: &str) -> Result<Option<Word<'a>>> {
        for attribute in Attributes::new(tag.raw, tag.name.len()).with_checks(false) {
            let attribute = attribute.map_err(|_| {
                let error = self.source.error(
                    tag.span.start..tag.span.start + tag.raw.len(),
                    "this tag has malformed attributes",
                );
                error.hint("attributes are written as in `id=\"rain\"`")
            })?;
            if attribute.key.0.eq_ignore_ascii_case(key) {
                let before = attribute.value.as_ptr() as usize - tag.raw.as_ptr() as usize; // a part of it
                let start = tag.span.start + before;
                let text = self.unescape(&attribute.value, start)?;
                return Ok(Some(Word {
                    text: text.into(),
                    span: start..start + attribute.value.len(),
                }));
            }
        }
        Ok(None)
    }

    /// The next event and where it begins.
    fn event(&mut self) -> Result<(Event<'a>, usize)> {
        let at = self.position(self.reader.buffer_position());
        let event = self.reader.read_event().map_err(|e| self.ill_formed(&e))?;
        match &event {
            Event::Start(tag) if tag.contains('<') => return Err(self.unclosed_tag(at)),
            Event::Start(tag) => self.open.push(at + 1..at + 1 + tag.name().0.len()),
            Event::End(_) => drop(self.open.pop()),
            Event::Eof => {
                if let Some(span) = self.open.pop() {
                    let message = format!("`<{}>` is never closed", shown(self.text(span.clone())));
                    return Err(self
                        .source
                        .error(span, message)
                        .hint("the file may be truncated"));
                }
            }
            _ => {}
        }
        Ok((event, at))
    }

    fn tag(&self, at: usize, length: usize, name: usize) -> Tag<'a> {
        Tag {
            name: self.text(at..at + name),
            span: at..at + name,
            raw: self.text(at..at + length),
        }
    }

    fn position(&self, of_reader: u64) -> usize {
        self.base + of_reader as usize
    }

    fn text(&self, span: Span) -> &'a str {
        self.source.text.get(span).unwrap_or_default()
    }

    fn ill_formed(&self, error: &XmlError) -> Error {
        let start = self.position(self.reader.error_position());
        let rest = self.source.text.get(start..).unwrap_or_default();
        let end = start + rest.find(['>', '\n']).map_or(1, |length| length + 1);
        match error {
            XmlError::IllFormed(IllFormedError::UnclosedReference) => self.bare_ampersand(start),
            XmlError::IllFormed(IllFormedError::UnmatchedEndTag(name)) => self
                .source
                .error(start..end, format!("`</{}>` closes nothing", shown(name))),
            XmlError::IllFormed(IllFormedError::MismatchedEndTag { found, .. })
                if found.contains('<') =>
            {
                self.unclosed_tag(start)
            }
            XmlError::IllFormed(IllFormedError::MismatchedEndTag { expected, found }) => {
                let message = format!(
                    "expected `</{}>`, found `</{}>`",
                    shown(expected),
                    shown(found)
                );
                let hint = self.open.last().map(|span| self.still_open(expected, span));
                hint.into_iter()
                    .fold(self.source.error(start..end, message), Error::hint)
            }
            XmlError::Syntax(SyntaxError::UnclosedComment) => self
                .source
                .error(start..start + 4, "this comment is never closed"),
            XmlError::Syntax(_) => self.unclosed_tag(start),
            e => self
                .source
                .error(start..end, format!("not well-formed XML: {e}")),
        }
    }

    fn still_open(&self, name: &str, span: &Span) -> String {
        format!(
            "`<{}>` of line {} is still open",
            shown(name),
            self.source.place(span.clone()).line()
        )
    }

    /// The error for a tag that begins at `start` and is not closed before the next one or the end.
    fn unclosed_tag(&self, start: usize) -> Error {
        let rest = self.source.text.get(start + 1..).unwrap_or_default();
        let end = start
            + 1
            + rest
                .find(|c: char| c.is_whitespace() || "<>".contains(c))
                .unwrap_or(rest.len());
        let message = format!("the tag `{}` is never closed", shown(self.text(start..end)));
        let hint = if rest.contains('<') {
            "a `>` or a quote is missing"
        } else {
            "the file may be truncated"
        };
        self.source.error(start..end, message).hint(hint)
    }

    fn bare_ampersand(&self, at: usize) -> Error {
        self.source
            .error(at..at + 1, "this `&` begins no entity")
            .hint("write it as `&amp;`")
    }

    /// Decodes an attribute's value.
    fn unescape(&self, raw: &str, start: usize) -> Result<String> {
        let mut text = String::new();
        let mut at = 0;
        while let Some(ampersand) = raw[at..].find('&').map(|i| at + i) {
            let ends = |c: char| !c.is_alphanumeric() && c != '#';
            let end = raw[ampersand + 1..]
                .find(ends)
                .map_or(raw.len(), |i| ampersand + 1 + i);
            if !raw[end..].starts_with(';') {
                return Err(self.bare_ampersand(start + ampersand));
            }
            text.push_str(&raw[at..ampersand]);
            text.push(
                self.character(&raw[ampersand + 1..end], start + ampersand..start + end + 1)?,
            );
            at = end + 1;
        }
        text.push_str(&raw[at..]);
        Ok(text)
    }

    /// Decodes `&name;`.
    fn character(&self, name: &str, span: Span) -> Result<char> {
        let code = |digits: &str, radix| {
            u32::from_str_radix(digits, radix)
                .ok()
                .and_then(char::from_u32)
        };
        let character = match name.strip_prefix('#') {
            Some(number) => match number.strip_prefix('x') {
                Some(digits) => code(digits, 16),
                None => code(number, 10),
            },
            None => predefined(name),
        };
        character.filter(|&c| is_legal(c)).ok_or_else(|| {
            let error = self
                .source
                .error(span, format!("unknown entity `&{};`", shown(name)));
            error.hint(
                "`&lt;` `&gt;` `&amp;` `&quot;` `&apos;` and numbers such as `&#955;` are known",
            )
        })
    }
}
