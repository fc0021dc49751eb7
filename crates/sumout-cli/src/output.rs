//! Where answers go, and how a command can end.

use std::io::{self, Write};

use sumout::Error;

/// The result of a command or a part of one.
pub type Result<T> = std::result::Result<T, Failure>;

/// How a command ends when nothing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did what was asked.
    Done,
    /// The evidence has probability zero, so there is no answer.
    Impossible,
}

/// Why a command stops early.
#[derive(Debug)]
pub enum Failure {
    /// Wrong use or input.
    Error(Error),
    /// Nobody reads the output any more.
    BrokenPipe,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Error(error)
    }
}

/// An error while writing to stdout; files are written by `sumout::files::save`, which names them.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Failure::Error(Error::io("cannot write to standard output", error)),
        }
    }
}

/// Prints a line on stderr; a closed stderr is ignored.
pub fn talk(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
