//! Where answers go, and how a command can end.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

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

/// Show a timer after this many seconds.
const SECONDS_BEFORE_TIMER: u64 = 2;

/// Does what may take long. If it does, a terminal is told so, and how long it has been, until it
/// is done.
pub fn patiently<T>(what: &str, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    thread::scope(|scope| {
        let (working, finished) = mpsc::channel();
        scope.spawn(move || {
            count_seconds(what, &finished, Duration::from_secs(1), &mut io::stderr())
        });
        let result = work();
        drop(working); // a panic drops it too, so the counting always ends
        result
    })
}

/// Writes a line that counts the seconds until the other end of the channel is gone, and then
/// clears it.
fn count_seconds(what: &str, finished: &Receiver<()>, second: Duration, out: &mut dyn Write) {
    let mut seconds = 0;
    let mut width = 0;
    while finished.recv_timeout(second) == Err(RecvTimeoutError::Timeout) {
        seconds += 1;
        if seconds >= SECONDS_BEFORE_TIMER {
            let line = format!("{what} … {seconds} s");
            width = line.chars().count();
            let _ = write!(out, "\r{line}").and_then(|()| out.flush());
        }
    }
    if width > 0 {
        let _ = write!(out, "\r{:width$}\r", "").and_then(|()| out.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A terminal that ends the work as soon as it is told anything.
    struct Terminal {
        text: Vec<u8>,
        work: Option<mpsc::Sender<()>>,
    }

    impl Write for Terminal {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.work = None;
            self.text.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn who_waits_is_told_and_the_line_is_cleared_again() {
        let (work, finished) = mpsc::channel();
        let mut terminal = Terminal {
            text: vec![],
            work: Some(work),
        };
        count_seconds(
            "computing",
            &finished,
            Duration::from_millis(1),
            &mut terminal,
        );
        let line = "computing … 2 s";
        let cleared = " ".repeat(line.chars().count());
        assert_eq!(
            String::from_utf8(terminal.text).unwrap(),
            format!("\r{line}\r{cleared}\r")
        );
    }

    #[test]
    fn nobody_is_told_of_what_is_done_at_once() {
        let (work, finished) = mpsc::channel();
        drop(work);
        let mut text = vec![];
        count_seconds("computing", &finished, Duration::from_secs(1), &mut text);
        assert_eq!(text, b"");
        assert_eq!(patiently("computing", || 7), 7);
    }
}
