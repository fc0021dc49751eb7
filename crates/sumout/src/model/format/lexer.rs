//! Splits the text formats into words, quoted names and punctuation.
//!
//! One pass, no copies. BIF, Hugin NET and UAI differ in what is punctuation and what starts a comment; a
//! [`Dialect`] says which.

use super::source::{Source, Span};
use crate::error::{Error, Result};

/// What is punctuation and what is a comment.
pub(super) struct Dialect {
    pub punctuation: &'static str,
    /// Each begins a comment up to the end of the line, when it begins a word.
    pub line_comments: &'static [&'static str],
    /// Whether `/* … */` is a comment, when it begins a word.
    pub block_comments: bool,
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

    /// The text with `\"` and `\\` made quotes and backslashes, for lexers with escapes.
    pub fn unescaped(&self) -> String {
        let mut text = String::with_capacity(self.text.len());
        let mut chars = self.text.chars().peekable();
        while let Some(c) = chars.next() {
            let escaped = chars.next_if(|&next| c == '\\' && (next == '"' || next == '\\'));
            text.push(escaped.unwrap_or(c));
        }
        text
    }

    /// How messages name it.
    pub fn shown(&self) -> String {
        match self.kind {
            Kind::End => "the end of the file".to_owned(),
            _ if self.text.chars().count() > 40 => format!("`{}…`", self.text.chars().take(40).collect::<String>()),
            _ => format!("`{}`", self.text),
        }
    }
}

pub(super) struct Lexer<'a> {
    pub source: &'a Source,
    dialect: &'static Dialect,
    escapes: bool,
    at: usize,
    peeked: Option<Token<'a>>,
}

impl<'a> Lexer<'a> {
    pub fn new(source: &'a Source, dialect: &'static Dialect) -> Self {
        Lexer { source, dialect, escapes: false, at: 0, peeked: None }
    }

    /// Lets a backslash in a quoted name keep a quote from closing it; see [`Token::unescaped`].
    pub fn with_escapes(self) -> Self {
        Lexer { escapes: true, ..self }
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
        match self.peeked.take() {
            Some(token) => Ok(token),
            None => self.scan(),
        }
    }

    /// Takes the next token if it is this punctuation.
    pub fn accept(&mut self, punctuation: &str) -> Result<bool> {
        let found = self.peek()?.is(punctuation);
        if found {
            self.peeked = None;
        }
        Ok(found)
    }

    /// Takes this punctuation.
    pub fn expect(&mut self, punctuation: &str, context: &str) -> Result<Token<'a>> {
        let token = self.next()?;
        if token.is(punctuation) { Ok(token) } else { Err(self.expected(&token, &format!("`{punctuation}`"), context)) }
    }

    /// Takes this word.
    pub fn keyword(&mut self, word: &str, context: &str) -> Result<Token<'a>> {
        let token = self.next()?;
        if token.is_word(word) { Ok(token) } else { Err(self.expected(&token, &format!("`{word}`"), context)) }
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
        let token = self.next()?;
        match token.text.parse() {
            Ok(number) if token.kind == Kind::Word => Ok((number, token)),
            _ => Err(self.expected(&token, "a number", context)),
        }
    }

    /// Takes a whole number that is not negative.
    pub fn count(&mut self, context: &str) -> Result<(usize, Token<'a>)> {
        let token = self.next()?;
        match token.text.parse() {
            Ok(number) if token.kind == Kind::Word => Ok((number, token)),
            _ => Err(self.expected(&token, "a whole number", context)),
        }
    }

    pub fn error(&self, token: &Token<'_>, message: impl Into<String>) -> Error {
        self.source.error(token.span.clone(), message)
    }

    pub fn expected(&self, found: &Token<'_>, what: &str, context: &str) -> Error {
        self.error(found, format!("expected {what} {context}, found {}", found.shown()))
    }

    fn scan(&mut self) -> Result<Token<'a>> {
        self.skip_blank()?;
        let text = &self.source.text;
        let rest = &text[self.at..];
        let Some(first) = rest.chars().next() else {
            return Ok(Token { kind: Kind::End, text: "", span: text.len()..text.len() });
        };
        if first == '"' {
            return self.scan_quoted();
        }
        let (kind, length) = if self.dialect.punctuation.contains(first) {
            (Kind::Punctuation, first.len_utf8())
        } else {
            let ends = |c: char| c.is_whitespace() || c == '"' || self.dialect.punctuation.contains(c);
            (Kind::Word, rest.find(ends).unwrap_or(rest.len()))
        };
        let span = self.at..self.at + length;
        self.at = span.end;
        Ok(Token { kind, text: &text[span.clone()], span })
    }

    fn scan_quoted(&mut self) -> Result<Token<'a>> {
        let start = self.at;
        let inside = &self.source.text[start + 1..];
        let Some(length) = self.closing_quote(inside) else {
            return Err(self.source.error(start..start + 1, "this quote is never closed"));
        };
        self.at = start + length + 2;
        Ok(Token { kind: Kind::Quoted, text: &inside[..length], span: start..self.at })
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
            if self.dialect.line_comments.iter().any(|c| trimmed.starts_with(c)) {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if self.dialect.block_comments && trimmed.starts_with("/*") {
                let Some(length) = trimmed[2..].find("*/") else {
                    return Err(self.source.error(self.at..self.at + 2, "this comment is never closed"));
                };
                self.at += length + 4;
            } else {
                return Ok(());
            }
        }
    }
}
