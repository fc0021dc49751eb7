//! Splits the text formats into words, quoted names and punctuation.
//!
//! One pass, no copies. BIF, Hugin NET and UAI differ in what is punctuation and what starts a
//! comment; a [`Dialect`] says which.

use std::borrow::Cow;

use crate::error::{Error, Result, did_you_mean, shown};
use crate::model::format::source::{Source, Span};
use crate::model::format::variables::Word;

/// Punctuation and comments of a format.
pub(super) struct Dialect {
    pub punctuation: &'static str,
    /// Each begins a comment up to the end of the line, when it begins a word; `//` also where it
    /// ends one.
    pub line_comments: &'static [&'static str],
    /// Whether `/* … */` is a comment, when it begins a word.
    pub block_comments: bool,
}

impl Dialect {
    /// Whether a character ends a word.
    fn ends(&self, c: char) -> bool {
        c.is_whitespace() || c == '"' || self.punctuation.contains(c)
    }
}

/// A piece of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub kind: Kind,
    /// The text; of a quoted name, what is between the quotes.
    pub text: &'a str,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Quoted,
    Punctuation,
    End,
}

impl Token<'_> {
    pub fn is(&self, punctuation: &str) -> bool {
        self.kind == Kind::Punctuation && self.text == punctuation
    }

    pub fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text == word
    }

    /// How messages name it.
    pub fn shown(&self) -> String {
        match self.kind {
            Kind::End => "the end of the file".to_owned(),
            _ => format!("`{}`", shown(self.text)),
        }
    }
}

impl<'a> Token<'a> {
    /// The token as a name.
    pub fn word(self) -> Word<'a> {
        Word {
            text: Cow::Borrowed(self.text),
            span: self.span,
        }
    }

    /// The text with `\"` and `\\` made quotes and backslashes, for lexers with escapes.
    pub fn unescaped(&self) -> Cow<'a, str> {
        if !self.text.contains('\\') {
            return Cow::Borrowed(self.text);
        }
        let mut text = String::with_capacity(self.text.len());
        let mut chars = self.text.chars().peekable();
        while let Some(c) = chars.next() {
            let escaped = chars.next_if(|&next| c == '\\' && (next == '"' || next == '\\'));
            text.push(escaped.unwrap_or(c));
        }
        Cow::Owned(text)
    }
}

pub(super) struct Lexer<'a> {
    pub source: &'a Source,
    dialect: &'static Dialect,
    /// Which bytes end a word, of those that are ASCII.
    ends: [bool; 128],
    escapes: bool,
    at: usize,
    peeked: Option<Token<'a>>,
    /// Where the last token that was taken ends.
    last: usize,
    /// The first quoted name that goes over the end of a line: perhaps a quote is missing.
    long_quote: Option<Span>,
}

impl<'a> Lexer<'a> {
    pub fn new(source: &'a Source, dialect: &'static Dialect) -> Self {
        let ends = std::array::from_fn(|byte| dialect.ends(char::from(byte as u8)));
        Lexer {
            source,
            dialect,
            ends,
            escapes: false,
            at: 0,
            peeked: None,
            last: 0,
            long_quote: None,
        }
    }

    /// Lets a backslash in a quoted name keep a quote from closing it; see [`Token::unescaped`].
    pub fn with_escapes(self) -> Self {
        Lexer {
            escapes: true,
            ..self
        }
    }

    /// The next token, without taking it.
    pub fn peek(&mut self) -> Result<&Token<'a>> {
        if self.peeked.is_none() {
            self.peeked = Some(self.scan()?);
        }
        Ok(self.peeked.as_ref().expect("just filled"))
    }

    /// Takes the next token.
    pub fn next(&mut self) -> Result<Token<'a>> {
        let token = match self.peeked.take() {
            Some(token) => token,
            None => self.scan()?,
        };
        self.last = token.span.end;
        Ok(token)
    }

    /// Takes the next token if it is this punctuation.
    pub fn accept(&mut self, punctuation: &str) -> Result<bool> {
        let found = self.peek()?.is(punctuation);
        if found {
            self.next()?;
        }
        Ok(found)
    }

    /// Takes this punctuation.
    pub fn expect(&mut self, punctuation: &str, context: &str) -> Result<Token<'a>> {
        let before = self.last;
        let token = self.next()?;
        if token.is(punctuation) {
            return Ok(token);
        }
        Err(self.missing(before, &token, &format!("`{punctuation}`"), context))
    }

    /// Takes a name, quoted or not.
    pub fn name(&mut self, context: &str) -> Result<Token<'a>> {
        let token = self.next()?;
        match token.kind {
            Kind::Word | Kind::Quoted => Ok(token),
            _ => Err(self.expected(&token, "a name", context)),
        }
    }

    /// Takes a number.
    pub fn number(&mut self, context: &str) -> Result<(f64, Token<'a>)> {
        let before = self.last;
        let token = self.next()?;
        match token.text.parse() {
            Ok(number) if token.kind == Kind::Word => Ok((number, token)),
            _ if token.kind != Kind::Word => Err(self.missing(before, &token, "a number", context)),
            _ => Err(self.no_number(&token, context)),
        }
    }

    pub fn no_number(&self, token: &Token<'_>, context: &str) -> Error {
        let error = self.expected(token, "a number", context);
        let is_list = token.text.contains([',', '/']);
        if is_list {
            error.hint("numbers have a decimal point, and blanks between them")
        } else {
            error
        }
    }

    /// Takes a whole number that is not negative.
    pub fn count(&mut self, context: &str) -> Result<(usize, Token<'a>)> {
        let token = self.next()?;
        match token.text.parse() {
            Ok(number) if token.kind == Kind::Word => Ok((number, token)),
            _ if !token.text.is_empty() && token.text.bytes().all(|b| b.is_ascii_digit()) => {
                Err(self.error(&token, format!("the number {} is too large", token.shown())))
            }
            _ => Err(self.expected(&token, "a whole number", context)),
        }
    }

    /// Skips everything up to a semicolon. Braces may only stand behind a `=`.
    pub fn skip_statement(&mut self, context: &str) -> Result<()> {
        let (mut is_value, mut is_set) = (false, false);
        loop {
            let token = self.peek()?.clone();
            let is_brace = token.is("{") && !is_value || token.is("}") && !is_set;
            if is_brace || token.kind == Kind::End || token.is(";") && !is_set {
                return self.expect(";", context).map(drop);
            }
            is_set = token.is("{") || is_set && !token.is("}");
            is_value = token.text == "=";
            self.next()?;
        }
    }

    pub fn error(&self, token: &Token<'_>, message: impl Into<String>) -> Error {
        self.source.error(token.span.clone(), message)
    }

    /// The error for an unexpected token.
    pub fn expected(&self, found: &Token<'_>, what: &str, context: &str) -> Error {
        let error = self.error(
            found,
            format!("expected {what} {context}, found {}", found.shown()),
        );
        let error = if found.kind == Kind::End {
            error.hint("the file may be truncated")
        } else {
            error
        };
        self.suspect_quote(error)
    }

    fn suspect_quote(&self, error: Error) -> Error {
        let Some(quote) = &self.long_quote else {
            return error;
        };
        let line = |at: usize| self.source.place(at..at).line();
        let (opens, closes) = (line(quote.start), line(quote.end));
        error.hint(format!(
            "the quote in line {opens} ends only in line {closes}; perhaps one is missing"
        ))
    }

    /// The same for what is missing at the end of a line: there is the place, not in the line
    /// after.
    fn missing(&self, before: usize, found: &Token<'_>, what: &str, context: &str) -> Error {
        let error = self.expected(found, what, context);
        let is_later = self
            .source
            .text
            .get(before..found.span.start)
            .is_some_and(|gap| gap.contains('\n'));
        if is_later {
            error.at(self.source.place(before..before))
        } else {
            error
        }
    }

    /// The same for one of some words, which may be misspelled.
    pub fn expected_word(
        &self,
        found: &Token<'_>,
        words: &[&str],
        what: &str,
        context: &str,
    ) -> Error {
        let error = self.expected(found, what, context);
        let hint = Some(found).filter(|found| found.kind == Kind::Word);
        let hint = hint.and_then(|found| did_you_mean(found.text, words.iter().copied()));
        hint.into_iter().fold(error, Error::hint)
    }

    /// The error for a block that is still open where another begins.
    pub fn unclosed(&self, opening: usize) -> String {
        format!(
            "the block that begins in line {} is not closed",
            self.source.place(opening..opening).line()
        )
    }

    fn scan(&mut self) -> Result<Token<'a>> {
        self.skip_blank()?;
        let text = &self.source.text;
        let rest = &text[self.at..];
        let Some(first) = rest.chars().next() else {
            let end = text.trim_end().len();
            return Ok(Token {
                kind: Kind::End,
                text: "",
                span: end..end,
            });
        };
        if first == '"' {
            return self.scan_quoted();
        }
        let (kind, length) = if self.dialect.punctuation.contains(first) {
            (Kind::Punctuation, first.len_utf8())
        } else {
            (Kind::Word, self.word(rest))
        };
        let length = self.without_comment(&rest[..length]);
        let span = self.at..self.at + length;
        self.at = span.end;
        Ok(Token {
            kind,
            text: &text[span.clone()],
            span,
        })
    }

    /// The length of a word without a `//` at its end, which begins a comment there, too.
    fn without_comment(&self, word: &str) -> usize {
        let is_comment = self.dialect.line_comments.contains(&"//");
        let bare = word
            .strip_suffix("//")
            .filter(|bare| is_comment && !bare.is_empty());
        bare.unwrap_or(word).len()
    }

    /// The length of the word that a text begins with. Bytes tell, up to the first that is not
    /// ASCII.
    fn word(&self, rest: &str) -> usize {
        let length = rest
            .bytes()
            .position(|byte| self.ends.get(usize::from(byte)).is_none_or(|ends| *ends));
        match length {
            Some(length) if rest.as_bytes()[length].is_ascii() => length,
            Some(_) => rest.find(|c| self.dialect.ends(c)).unwrap_or(rest.len()),
            None => rest.len(),
        }
    }

    fn scan_quoted(&mut self) -> Result<Token<'a>> {
        let start = self.at;
        let inside = &self.source.text[start + 1..];
        let Some(length) = self.closing_quote(inside) else {
            return Err(self.suspect_quote(
                self.source
                    .error(start..start + 1, "this quote is never closed"),
            ));
        };
        self.at = start + length + 2;
        if self.long_quote.is_none() && inside[..length].contains('\n') {
            self.long_quote = Some(start..self.at);
        }
        Ok(Token {
            kind: Kind::Quoted,
            text: &inside[..length],
            span: start..self.at,
        })
    }

    fn closing_quote(&self, inside: &str) -> Option<usize> {
        let mut is_escaped = false;
        inside.bytes().position(|byte| {
            let closes = byte == b'"' && !is_escaped;
            is_escaped = self.escapes && byte == b'\\' && !is_escaped;
            closes
        })
    }

    fn skip_blank(&mut self) -> Result<()> {
        loop {
            let rest = &self.source.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if self
                .dialect
                .line_comments
                .iter()
                .any(|c| trimmed.starts_with(c))
            {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if self.dialect.block_comments && trimmed.starts_with("/*") {
                let Some(length) = trimmed[2..].find("*/") else {
                    return Err(self
                        .source
                        .error(self.at..self.at + 2, "this comment is never closed"));
                };
                self.at += length + 4;
            } else {
                return Ok(());
            }
        }
    }
}
