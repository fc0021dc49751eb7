//! JSON of which every value knows where it is.
//!
//! A [`Value`] is a range of the text. Only its quotes and brackets have been checked; the rest is
//! looked at when it is asked for. So fields may come in any order, numbers are not copied, nesting
//! takes no stack, and a mistake has a place however deep it is.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::error::{Error, Remedy, Result, did_you_mean, shown};
use crate::model::format::source::{Source, Span};
use crate::model::format::variables::Word;

/// A value in a text.
#[derive(Clone)]
pub(super) struct Value<'a> {
    source: &'a Source,
    pub span: Span,
}

/// The fields of an object, by name.
pub(super) struct Object<'a> {
    value: Value<'a>,
    fields: BTreeMap<Cow<'a, str>, Field<'a>>,
}

struct Field<'a> {
    key: Span,
    value: Value<'a>,
}

/// The items of a list.
pub(super) struct Items<'a> {
    scanner: Scanner<'a>,
    is_first: bool,
}

impl<'a> Value<'a> {
    /// The one value of a file.
    pub fn of_file(source: &'a Source) -> Result<Self> {
        let mut scanner = Scanner { source, at: 0 };
        let value = scanner.value()?;
        let token = scanner.token()?;
        match token.first {
            None => Ok(value),
            Some(_) => Err(token.expected(source, "the end of the file")),
        }
    }

    fn text(&self) -> &'a str {
        &self.source.text[self.span.clone()]
    }

    pub fn is_list(&self) -> bool {
        self.text().starts_with('[')
    }

    pub fn is_null(&self) -> bool {
        self.text() == "null"
    }

    pub fn is_string(&self) -> bool {
        self.text().starts_with('"')
    }

    /// A mistake in this value.
    pub fn error(&self, message: impl Into<String>) -> Error {
        self.source.error(self.span.clone(), message)
    }

    fn expected(&self, what: &str) -> Error {
        let first = self.text().bytes().next();
        Token {
            first,
            span: self.span.clone(),
        }
        .expected(self.source, what)
    }

    /// The fields of an object. `what` names it in messages.
    pub fn object(&self, what: &str) -> Result<Object<'a>> {
        if !self.text().starts_with('{') {
            return Err(self.expected(what));
        }
        let mut scanner = Scanner {
            source: self.source,
            at: self.span.start + 1,
        };
        let mut fields = BTreeMap::new();
        while scanner.another(b'}', fields.is_empty())? {
            let (name, field) = scanner.field()?;
            let key = field.key.clone();
            if let Some(first) = fields.insert(name, field) {
                let error = self.source.error(key, "this field is given twice");
                return Err(error.hint(self.source.other(&first.key)));
            }
        }
        Ok(Object {
            value: self.clone(),
            fields,
        })
    }

    /// The items of a list.
    pub fn items(&self, what: &str) -> Result<Items<'a>> {
        if !self.is_list() {
            return Err(self.expected(what));
        }
        Ok(Items {
            scanner: Scanner {
                source: self.source,
                at: self.span.start + 1,
            },
            is_first: true,
        })
    }

    pub fn string(&self, what: &str) -> Result<Cow<'a, str>> {
        if !self.is_string() {
            return Err(self.expected(what));
        }
        if !self.text().contains('\\') {
            return Ok(Cow::Borrowed(&self.text()[1..self.text().len() - 1]));
        }
        serde_json::from_str(self.text())
            .map(Cow::Owned)
            .map_err(|e| {
                let at = self.span.start + e.column().saturating_sub(1);
                let error = self.source.error(at..at + 1, "this is not a JSON escape");
                error.hint("escapes are \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four digits")
            })
    }

    /// A string as a name.
    pub fn word(&self, what: &str) -> Result<Word<'a>> {
        Ok(Word {
            text: self.string(what)?,
            span: self.span.clone(),
        })
    }

    pub fn number(&self, what: &str) -> Result<f64> {
        serde_json::from_str(self.text()).map_err(|_| match self.text().parse::<f64>() {
            Ok(number)
                if number.is_infinite() && self.text().ends_with(|c: char| c.is_ascii_digit()) =>
            {
                self.error(format!("the number `{}` is too large", shown(self.text())))
            }
            Ok(number) if number.is_finite() => self
                .expected(what)
                .hint(format!("JSON writes it as `{number}`")),
            _ if self.is_string() => self
                .expected(what)
                .hint("numbers have no quotes around them"),
            _ => self.expected(what),
        })
    }

    /// A whole number that is not negative.
    pub fn count(&self, what: &str) -> Result<u32> {
        serde_json::from_str(self.text()).map_err(|_| self.expected(what))
    }

    pub fn flag(&self, what: &str) -> Result<bool> {
        serde_json::from_str(self.text()).map_err(|_| self.expected(what))
    }
}

impl<'a> Object<'a> {
    /// All fields: their names, where those are, and their values.
    pub fn entries(&self) -> impl Iterator<Item = (&str, Span, &Value<'a>)> {
        let fields = self.fields.iter();
        fields.map(|(name, field)| (&**name, field.key.clone(), &field.value))
    }

    /// A field, if it is there.
    pub fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.fields.get(name).map(|field| &field.value)
    }

    /// The name of a field, if it is there.
    pub fn key(&self, name: &str) -> Option<Value<'a>> {
        self.fields.get(name).map(|field| Value {
            source: self.value.source,
            span: field.key.clone(),
        })
    }

    /// A field that must be there. `what` names the object in messages.
    pub fn need(&self, name: &str, what: &str) -> Result<&Value<'a>> {
        self.get(name)
            .ok_or_else(|| self.error(format!("{what} has no `{name}`")))
    }

    /// Whether a field that is `true` or `false` is there and true.
    pub fn flag(&self, name: &str) -> Result<bool> {
        self.get(name).map_or(Ok(false), |value| {
            value.flag(&format!("`true` or `false` for `{name}`"))
        })
    }

    /// Refuses fields that are not known.
    pub fn only(&self, known: &[&str]) -> Result<()> {
        let unknown = self
            .fields
            .iter()
            .filter(|(name, _)| !known.contains(&name.as_ref()));
        let Some((name, field)) = unknown.min_by_key(|(_, field)| field.key.start) else {
            return Ok(());
        };
        let error = self.value.source.error(
            field.key.clone(),
            format!("unknown field `{}`", shown(name)),
        );
        let listed = || Remedy::Text(format!("the fields here are `{}`", known.join("`, `")));
        Err(error.hint(did_you_mean(name, known.iter().copied()).unwrap_or_else(listed)))
    }

    /// A mistake in the object as a whole.
    pub fn error(&self, message: impl Into<String>) -> Error {
        self.value.error(message)
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Result<Value<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let is_first = std::mem::replace(&mut self.is_first, false);
        match self.scanner.another(b']', is_first) {
            Ok(true) => Some(self.scanner.value()),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// Takes tokens from a text.
struct Scanner<'a> {
    source: &'a Source,
    at: usize,
}

/// Punctuation, a string, or a word: a number, `true`, `false`, `null`, or a mistake.
struct Token {
    /// The first byte, which tells the kind; none at the end of the file.
    first: Option<u8>,
    span: Span,
}

impl Token {
    fn expected(&self, source: &Source, what: &str) -> Error {
        let found = match self.first {
            None => "the end of the file".to_owned(),
            Some(b'{') => "an object".to_owned(),
            Some(b'[') => "a list".to_owned(),
            Some(_) => format!("`{}`", shown(&source.text[self.span.clone()])),
        };
        let error = source.error(self.span.clone(), format!("expected {what}, found {found}"));
        match self.first {
            Some(b'/' | b'#') => error.hint("JSON has no comments"),
            Some(b'\'') => error.hint("JSON has names in double quotes"),
            _ => error,
        }
    }
}

impl<'a> Scanner<'a> {
    fn token(&mut self) -> Result<Token> {
        let bytes = self.source.text.as_bytes();
        self.at += bytes[self.at..]
            .iter()
            .take_while(|b| is_blank(**b))
            .count();
        let start = self.at;
        let first = bytes.get(start).copied();
        self.at = match first {
            None => start,
            Some(b'"') => self.string_end(start)?,
            Some(b) if is_punctuation(b) => start + 1,
            Some(_) => {
                let ends = |b: &u8| is_blank(*b) || is_punctuation(*b) || *b == b'"';
                bytes[start..]
                    .iter()
                    .position(ends)
                    .map_or(bytes.len(), |length| start + length)
            }
        };
        Ok(Token {
            first,
            span: start..self.at,
        })
    }

    /// Where the string that begins at `start` ends.
    fn string_end(&self, start: usize) -> Result<usize> {
        let bytes = self.source.text.as_bytes();
        let mut at = start + 1;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'"' => return Ok(at + 1),
                b'\n' => break,
                0..0x20 => {
                    let error = self
                        .source
                        .error(at..at + 1, "a control character in a string");
                    return Err(error.hint(format!("write it as \\u{byte:04x}")));
                }
                b'\\' if bytes.get(at + 1).is_some_and(|&b| b != b'\n') => at += 2,
                _ => at += 1,
            }
        }
        Err(self
            .source
            .error(start..start + 1, "this quote is not closed on its line"))
    }

    /// Takes a value with all that is in it.
    fn value(&mut self) -> Result<Value<'a>> {
        let token = self.token()?;
        match token.first {
            Some(b'{' | b'[') => self.close(token.span.start)?,
            None | Some(b'}' | b']' | b',' | b':') => {
                return Err(token.expected(self.source, "a value"));
            }
            Some(_) => {}
        }
        Ok(Value {
            source: self.source,
            span: token.span.start..self.at,
        })
    }

    /// Goes behind the bracket that closes the one at `start`.
    fn close(&mut self, start: usize) -> Result<()> {
        let mut open = vec![start];
        while let Some(&innermost) = open.last() {
            let token = self.token()?;
            let bracket = self.source.text.as_bytes()[innermost];
            match (bracket, token.first) {
                (_, Some(b'{' | b'[')) => open.push(token.span.start),
                (b'{', Some(b'}')) | (b'[', Some(b']')) => drop(open.pop()),
                (b'{', Some(b']')) | (b'[', Some(b'}')) => {
                    let error =
                        token.expected(self.source, if bracket == b'{' { "`}`" } else { "`]`" });
                    let line = self.source.place(innermost..innermost).line();
                    return Err(error.hint(format!(
                        "the `{}` in line {line} is still open",
                        bracket as char
                    )));
                }
                (_, None) => {
                    let message = format!("this `{}` is never closed", bracket as char);
                    let error = self.source.error(innermost..innermost + 1, message);
                    return Err(error.hint("the file may be truncated"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether something follows in a list or an object. Takes the comma, or the bracket that
    /// closes it.
    fn another(&mut self, close: u8, is_first: bool) -> Result<bool> {
        let before = self.at;
        let token = self.token()?;
        match token.first {
            Some(byte) if byte == close => Ok(false),
            Some(b',') if !is_first => self.after_comma(token.span, close),
            _ if is_first => {
                self.at = before;
                Ok(true)
            }
            _ => Err(self.no_comma(&token, close, before)),
        }
    }

    /// An error at the end of a line points there, not into the next line.
    fn no_comma(&self, found: &Token, close: u8, before: usize) -> Error {
        let error = found.expected(self.source, &format!("`,` or `{}`", close as char));
        let is_later = self.source.text[before..found.span.start].contains('\n');
        if is_later {
            error.at(self.source.place(before..before))
        } else {
            error
        }
    }

    fn after_comma(&self, comma: Span, close: u8) -> Result<bool> {
        let rest = &self.source.text.as_bytes()[self.at..];
        if rest.iter().find(|b| !is_blank(**b)) == Some(&close) {
            let message = format!("a comma before the closing `{}`", close as char);
            return Err(self
                .source
                .error(comma, message)
                .hint("JSON has commas only between things; remove it"));
        }
        Ok(true)
    }

    /// Takes `"name": value`.
    fn field(&mut self) -> Result<(Cow<'a, str>, Field<'a>)> {
        let token = self.token()?;
        if token.first != Some(b'"') {
            return Err(token.expected(self.source, "a field's name in quotes"));
        }
        let key = Value {
            source: self.source,
            span: token.span.clone(),
        };
        let colon = self.token()?;
        if colon.first != Some(b':') {
            return Err(colon.expected(self.source, "`:` after the field's name"));
        }
        Ok((
            key.string("a field")?,
            Field {
                key: token.span,
                value: self.value()?,
            },
        ))
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_punctuation(byte: u8) -> bool {
    matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':')
}
