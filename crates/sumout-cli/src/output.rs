//! Where answers go, and how a command can end.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use sumout::{Error, ErrorKind};

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

/// An error while writing to stdout; files are written by [`save`], which names them.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Failure::Error(Error::new(ErrorKind::Io, format!("cannot write to standard output: {error}"))),
        }
    }
}

/// Says something on stderr; if nobody can hear it, that is no reason to fail.
pub fn talk(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Writes a file under a temporary name beside `path` and renames it when complete, so that a failure leaves
/// an earlier file as it was.
pub fn save(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> std::result::Result<(), Error> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    fill(&part, write)
        .and_then(|()| fs::rename(&part, path))
        .inspect_err(|_| drop(fs::remove_file(&part)))
        .map_err(|e| Error::new(ErrorKind::Io, format!("cannot write `{}`: {e}", path.display())))
}

fn fill(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    write(&mut file)?;
    file.flush()?;
    file.get_ref().sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_save_keeps_the_earlier_file_and_leaves_nothing_else() {
        let folder = std::env::temp_dir().join(format!("sumout-save-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("kept.txt");
        save(&path, |file| file.write_all(b"first")).unwrap();
        let failed = save(&path, |file| file.write_all(b"second").and(Err(io::Error::other("disk on fire"))));
        assert!(failed.unwrap_err().message().ends_with("kept.txt`: disk on fire"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
