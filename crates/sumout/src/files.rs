//! Writes files that are complete, or not there at all; and decodes text that is not UTF-8.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Result};

/// Writes a file under a temporary name beside `path` and renames it when complete, so that a
/// failure leaves an earlier file as it was.
///
/// A link to a file stays a link, and the file keeps its permissions. Devices and pipes are written
/// directly: a new file must not take their place.
///
/// ```
/// let path = std::env::temp_dir().join("sumout-example.txt");
/// sumout::files::save(&path, |file| writeln!(file, "hello"))?;
/// assert_eq!(std::fs::read_to_string(&path).unwrap(), "hello\n");
/// # std::fs::remove_file(path).unwrap();
/// # Ok::<(), sumout::Error>(())
/// ```
pub fn save(
    path: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let saved = match target.metadata() {
        Ok(found) if !found.is_file() => fill(&target, write),
        found => replace(&target, found.ok().map(|f| f.permissions()), write),
    };
    saved.map_err(|e| Error::io(format_args!("cannot write `{}`", path.display()), e))
}

fn replace(
    path: &Path,
    permissions: Option<fs::Permissions>,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<()> {
    let part = path.with_file_name(part_name(path));
    let filled = fill(&part, write)
        .and_then(|()| permissions.map_or(Ok(()), |p| fs::set_permissions(&part, p)));
    filled
        .and_then(|()| fs::rename(&part, path))
        .inspect_err(|_| drop(fs::remove_file(&part)))
}

/// The bytes from 128 to 159 in Windows' Latin-1, which has letters where Latin-1 has control
/// characters.
const WINDOWS: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}',
    '\u{2c6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}',
    '\u{90}', '\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}',
    '\u{2dc}', '\u{2122}', '\u{161}', '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

/// Text in Latin-1 or its Windows variant.
pub fn latin(bytes: &[u8]) -> String {
    let letter = |&byte: &u8| match byte {
        0x80..=0x9f => WINDOWS[usize::from(byte) - 0x80],
        _ => char::from(byte),
    };
    bytes.iter().map(letter).collect()
}

/// A name that no other process and no other thread uses at this moment.
fn part_name(path: &Path) -> OsString {
    static SAVED: AtomicUsize = AtomicUsize::new(0);
    let count = SAVED.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}-{count}.part", std::process::id()));
    name
}

fn fill(
    path: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    write(&mut file)?;
    file.flush()?;
    match file.get_ref().sync_all() {
        Err(e) if e.kind() == io::ErrorKind::InvalidInput => Ok(()), // a pipe has nothing to keep
        synced => synced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own for a test.
    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("sumout-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_failed_save_keeps_the_earlier_file_and_leaves_nothing_else() {
        let folder = folder("failed");
        let path = folder.join("kept.txt");
        save(&path, |file| file.write_all(b"first")).unwrap();
        let failed = save(&path, |file| {
            file.write_all(b"second")
                .and(Err(io::Error::other("disk on fire")))
        });
        assert!(
            failed
                .unwrap_err()
                .message()
                .ends_with("kept.txt`: disk on fire")
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay_as_they_are() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = folder("links");
        let (path, link) = (folder.join("file"), folder.join("link"));
        save(&path, |file| file.write_all(b"first")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&path, &link).unwrap();
        save(&link, |file| file.write_all(b"second")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        assert!(link.is_symlink());
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_written_and_not_replaced() {
        use std::os::unix::fs::FileTypeExt;
        let folder = folder("pipes");
        let pipe = folder.join("pipe");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        save(&pipe, |file| file.write_all(b"through")).unwrap();
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
        assert_eq!(reader.join().unwrap(), "through");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_is_no_file() {
        assert!(
            save(&std::env::temp_dir(), |_| Ok(()))
                .unwrap_err()
                .message()
                .starts_with("cannot write")
        );
    }
}
