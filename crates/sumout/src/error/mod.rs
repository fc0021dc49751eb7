//! Errors: the cause, the place and a remedy.
//!
//! There is one [`Error`] type. Programs look at its [`kind`](Error::kind); people read its text,
//! which shows the offending line with a caret when the mistake is in a file, and ends with a hint
//! when there is something to be done.
//!
//! A hint is a list of typed remedies. The library names options as its fields are named; a front
//! end that calls them otherwise, as a command line does, words each [`Remedy`] itself
//! ([`Error::reworded`]).

pub(crate) mod defect;
mod names;
mod place;
mod remedy;

use std::error::Error as Cause;
use std::fmt;
use std::io;
use std::sync::Arc;

use annotate_snippets::{Group, Level, Renderer};

pub(crate) use names::{did_you_mean, many, shortlist, shown};
pub use place::Place;
pub use remedy::Remedy;

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
    remedies: Vec<Remedy>,
    source: Option<Arc<dyn Cause + Send + Sync>>,
}

/// The kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file could not be read or written, or the system refused something else.
    Io,
    /// A file does not follow its format.
    Syntax,
    /// A network is not well formed: a cycle, a row that does not sum to one, …
    Model,
    /// No variable or value has that name.
    Name,
    /// A format cannot carry what a network holds, or is not known.
    Format,
    /// The evidence or an example cannot be used: wrong length, negative, given twice, …
    Evidence,
    /// The answer would need more memory than allowed.
    Memory,
    /// An option has a wrong value, or does not go with another one.
    Options,
    /// A network or a circuit cannot do what is asked of it.
    Unsupported,
    /// A defect of the library: it panicked, and the front end contained the panic.
    Defect,
    /// The work was stopped through its [`Control`](crate::Control), before there was an answer.
    Interrupted,
}

impl ErrorKind {
    /// The name for programs, in lower case: it stands in JSON and in Python.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Io => "io",
            ErrorKind::Syntax => "syntax",
            ErrorKind::Model => "model",
            ErrorKind::Name => "name",
            ErrorKind::Format => "format",
            ErrorKind::Evidence => "evidence",
            ErrorKind::Memory => "memory",
            ErrorKind::Options => "options",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::Defect => "defect",
            ErrorKind::Interrupted => "interrupted",
        }
    }
}

impl Error {
    /// An error with a message: lower case, no full stop, names in backticks.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Detail {
            kind,
            message: message.into(),
            place: None,
            remedies: vec![],
            source: None,
        }))
    }

    /// An error of the system. The message gives the attempted action, then the cause.
    pub fn io(tried: impl fmt::Display, cause: io::Error) -> Self {
        Error::new(ErrorKind::Io, format!("{tried}: {cause}")).caused_by(cause)
    }

    /// Sets the remedy, replacing earlier ones.
    pub fn hint(mut self, remedy: impl Into<Remedy>) -> Self {
        self.0.remedies = vec![remedy.into()];
        self
    }

    /// Adds what the user can do instead.
    pub fn or(mut self, remedy: impl Into<Remedy>) -> Self {
        self.0.remedies.push(remedy.into());
        self
    }

    /// Prefixes the message with a context: a file, a row, …
    pub(crate) fn within(mut self, context: impl fmt::Display) -> Self {
        self.0.message = format!("{context}: {}", self.0.message);
        self
    }

    /// Adds where the mistake is.
    pub fn at(mut self, place: impl Into<Option<Place>>) -> Self {
        self.0.place = place.into();
        self
    }

    /// Keeps the error that caused this one. Its text belongs into the message, too.
    pub(crate) fn caused_by(mut self, source: impl Cause + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message, in one line.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where in a file the mistake is, if it is in a file.
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// Each thing that can be done about it; any one of them may be enough.
    pub fn remedies(&self) -> &[Remedy] {
        &self.0.remedies
    }

    /// The remedies in one sentence, if there is something to be done.
    pub fn advice(&self) -> Option<String> {
        let words: Vec<String> = self.0.remedies.iter().map(Remedy::to_string).collect();
        let (last, others) = words.split_last()?;
        Some(if others.is_empty() {
            last.clone()
        } else {
            format!("{}, or {last}", others.join(", "))
        })
    }

    /// The same error with its remedies in other words.
    pub fn reworded(mut self, word: impl Fn(&Remedy) -> String) -> Self {
        for remedy in &mut self.0.remedies {
            *remedy = Remedy::Text(word(remedy));
        }
        self
    }

    /// The whole text, beginning with `error:`; in colour for a terminal.
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        let message = names::visible(&self.0.message);
        let title = Level::ERROR.primary_title(&message);
        let mut text = match &self.0.place {
            None => renderer.render(&[Group::with_title(title)]),
            Some(place) => place.render(title, &renderer),
        };
        if let Some(hint) = self.advice().map(|hint| names::visible(&hint)) {
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

impl Cause for Error {
    /// The error of the system or of another library, such as an [`std::io::Error`].
    fn source(&self) -> Option<&(dyn Cause + 'static)> {
        let source: &dyn Cause = self.0.source.as_deref()?;
        Some(source)
    }
}

#[cfg(test)]
mod tests;
