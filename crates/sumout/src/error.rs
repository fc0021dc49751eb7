//! What went wrong, where, and what to do about it.
//!
//! There is one [`Error`] type. Programs look at its [`kind`](Error::kind); people read its text,
//! which shows the offending line with a caret when the mistake is in a file, and ends with a hint
//! when there is something to be done.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// The result of anything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A mistake in a file, a model or a question.
#[derive(Clone)]
pub struct Error(Box<Detail>);

#[derive(Clone)]
struct Detail {
    kind: ErrorKind,
    message: String,
    place: Option<Place>,
    hint: Option<String>,
}

/// What kind of mistake it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file could not be read or written.
    Io,
    /// A file does not follow its format.
    Syntax,
    /// A network is not well formed: a cycle, a row that does not sum to one, …
    Model,
    /// No variable or value has that name.
    Name,
    /// A format cannot carry what a network holds, or is not known.
    Format,
    /// The evidence cannot be used: wrong length, negative, given twice, …
    Evidence,
    /// The answer would need more memory than allowed.
    Memory,
}

impl Error {
    /// An error with a message: lower case, no full stop, names in backticks.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Detail {
            kind,
            message: message.into(),
            place: None,
            hint: None,
        }))
    }

    /// Adds what the user can do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds where the mistake is.
    pub fn at(mut self, place: impl Into<Option<Place>>) -> Self {
        self.0.place = place.into();
        self
    }

    /// What kind of mistake it was.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What went wrong, in one line.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where in a file the mistake is, if it is in a file.
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// What to do about it, if there is something to be done.
    pub fn advice(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The whole text, beginning with `error:`; in colour for a terminal.
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        let title = Level::ERROR.primary_title(&self.0.message);
        let mut text = match &self.0.place {
            None => renderer.render(&[annotate_snippets::Group::with_title(title)]),
            Some(place) => place.correct(renderer.render(&[title.element(place.snippet())])),
        };
        if let Some(hint) = &self.0.hint {
            text.push_str(&if colour {
                format!("\n\x1b[1mhint:\x1b[0m {hint}")
            } else {
                format!("\nhint: {hint}")
            });
        }
        text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.render(false);
        f.write_str(text.strip_prefix("error: ").unwrap_or(&text))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {}

/// A place in a file: one line of it, and which part of the line is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as the user named it.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column, counted in characters from 1.
    pub column: usize,
    excerpt: String,
    span: Range<usize>,
}

/// A line is shown up to this many characters before and after the caret.
const WINDOW: usize = 60;

impl Place {
    /// The place of `span` in `text`; of a span over several lines, its first.
    pub fn new(file: &str, text: &str, span: Range<usize>) -> Self {
        let start = floor_boundary(text, span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        let end = floor_boundary(text, span.end.clamp(start, line_end));
        let before = text[line_start..start]
            .char_indices()
            .rev()
            .nth(WINDOW)
            .map_or(line_start, |(i, _)| line_start + i);
        let after = text[start..line_end]
            .char_indices()
            .nth(WINDOW)
            .map_or(line_end, |(i, _)| start + i);
        let clean = |part: &str| part.replace(|c: char| c.is_control(), " ");
        let cut = |is_cut: bool| if is_cut { "…" } else { "" };
        let lead = cut(before > line_start).to_owned() + &clean(&text[before..start]);
        let marked = clean(&text[start..end.min(after)]);
        let rest = clean(&text[end.min(after)..after]) + cut(after < line_end);
        Place {
            file: file.to_owned(),
            line: text[..start].bytes().filter(|&b| b == b'\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            span: lead.len()..lead.len() + marked.len(),
            excerpt: lead + &marked + rest.trim_end(),
        }
    }

    fn snippet(&self) -> Snippet<'_, annotate_snippets::Annotation<'_>> {
        Snippet::source(self.excerpt.as_str())
            .line_start(self.line)
            .path(self.file.as_str())
            .annotation(AnnotationKind::Primary.span(self.span.clone()))
    }

    /// Puts the column in the line for the column in the excerpt, which is shorter if the line is
    /// long.
    fn correct(&self, text: String) -> String {
        let Place {
            file,
            line,
            column,
            excerpt,
            span,
        } = self;
        let shown = excerpt[..span.start].chars().count() + 1;
        text.replacen(
            &format!("{file}:{line}:{shown}"),
            &format!("{file}:{line}:{column}"),
            1,
        )
    }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// `hint: did you mean …`, when one of the known names is close to what was written.
pub(crate) fn did_you_mean<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let is_short = |name: &str| name.len() <= 100; // comparing takes quadratic time
    let lower = Some(written).filter(|name| is_short(name))?.to_lowercase();
    let score = |name: &str| strsim::jaro_winkler(&lower, &name.to_lowercase());
    let best = known
        .into_iter()
        .filter(|name| is_short(name))
        .map(|name| (score(name), name))
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.8).then(|| format!("did you mean `{}`?", best.1))
}

/// Names in backticks with commas, the first dozen of them.
pub(crate) fn shortlist<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names = names.into_iter();
    let quoted: Vec<String> = names
        .by_ref()
        .take(12)
        .map(|name| format!("`{}`", shown(name)))
        .collect();
    let more = if names.next().is_some() { ", …" } else { "" };
    quoted.join(", ") + more
}

/// As much of a name as a message can show, on one line.
pub(crate) fn shown(name: &str) -> String {
    let visible = |c: char| {
        if c.is_control() {
            c.escape_debug().to_string()
        } else {
            c.to_string()
        }
    };
    let rest = if name.chars().nth(40).is_some() {
        "…"
    } else {
        ""
    };
    name.chars().take(40).map(visible).collect::<String>() + rest
}

/// A number of things, in words.
pub(crate) fn many(count: usize, thing: &str) -> String {
    if count == 1 {
        format!("1 {thing}")
    } else {
        format!("{count} {thing}s")
    }
}
