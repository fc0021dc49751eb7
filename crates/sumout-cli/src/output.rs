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

/// Text for people: a character that a terminal obeys, and does not show, is written as an escape. Names
/// of variables come from files, and files from anywhere.
pub struct Visible<W>(pub W);

impl<W: Write> Write for Visible<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Ok(text) = std::str::from_utf8(bytes) else {
            self.0.write_all(bytes)?;
            return Ok(bytes.len());
        };
        let is_obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_obeyed(*c)) {
            write!(self.0, "{}{}", &rest[..at], c.escape_default())?;
            rest = &rest[at + c.len_utf8()..];
        }
        self.0.write_all(rest.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Prints a line on stderr; a closed stderr is ignored.
pub fn talk(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_written() {
        let mut out = vec![];
        write!(
            Visible(&mut out),
            "a\u{1b}[2J\tλ\r{}\n",
            "\u{9b}\u{7f}\u{7}"
        )
        .unwrap();
        let shown = String::from_utf8(out).unwrap();
        assert_eq!(shown, "a\\u{1b}[2J\tλ\\r\\u{9b}\\u{7f}\\u{7}\n");
    }
}
