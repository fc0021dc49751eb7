//! Files: compressed ones, and writes that fail.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use sumout::model::format::{Loss, ReadOptions, WriteOptions, parse, to_string};
use sumout::{ErrorKind, Format, Network, Result};

use super::{as_markov, random_network, same, same_numbers};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    encoder
        .write_all(bytes)
        .and_then(|()| encoder.finish())
        .expect("memory does not fail")
}

#[test]
fn gzip_is_told_from_the_content() -> Result<()> {
    let net = random_network(13)?;
    let folder = folder("gzip");
    for format in Format::ALL {
        let text = to_string(&net, format, Loss::Accept)?;
        let extension = format.extensions()[0];
        let (misnamed, plain) = (
            folder.join(format!("a.{extension}")),
            folder.join(format!("b.{extension}.gz")),
        );
        fs::write(&misnamed, gzip(text.as_bytes())).expect("a writable folder");
        fs::write(&plain, &text).expect("a writable folder");
        assert!(same_numbers(&Network::read(&misnamed)?, &net), "{format:?}");
        assert!(same_numbers(&Network::read(&plain)?, &net), "{format:?}");
    }
    Ok(())
}

#[test]
fn what_is_called_gz_is_compressed() -> Result<()> {
    let (net, folder) = (random_network(7)?, folder("gz"));
    for format in Format::ALL {
        let path = folder.join(format!("net.{}.gz", format.extensions()[0]));
        net.write_with(&path, &WriteOptions::default().with_lossy(true))?;
        assert!(
            fs::read(&path)
                .expect("just written")
                .starts_with(&[0x1f, 0x8b])
        );
        assert!(same_numbers(&Network::read(&path)?, &net), "{format:?}");
    }
    Ok(())
}

#[test]
fn truncated_gzip_is_an_error() -> Result<()> {
    let packed = gzip(to_string(&random_network(7)?, Format::Bif, Loss::Accept)?.as_bytes());
    for length in 2..packed.len() {
        let error =
            parse("net.bif", &packed[..length], &ReadOptions::default()).expect_err("truncated");
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert!(error.message().contains("net.bif"), "{error}");
    }
    Ok(())
}

/// An empty folder for one test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("formats")
        .join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a writable folder");
    folder
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .map(|e| {
            e.expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

#[test]
fn a_missing_folder_is_a_clear_error() -> Result<()> {
    let folder = folder("missing");
    let error = random_network(3)?
        .write(folder.join("nowhere/net.json"))
        .expect_err("no such folder");
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.message().contains("nowhere"), "{error}");
    assert_eq!(names_in(&folder), [""; 0]);
    Ok(())
}

#[test]
fn a_failed_write_leaves_the_old_file() -> Result<()> {
    let (folder, net) = (folder("old"), random_network(3)?);
    let path = folder.join("net.bif");
    net.write(&path)?;
    let error = as_markov(&net)?
        .write(&path)
        .expect_err("BIF has no Markov networks");
    assert_eq!(error.kind(), ErrorKind::Format);
    assert!(same(Format::Bif, &Network::read(&path)?, &net));
    assert_eq!(names_in(&folder), ["net.bif"]);
    Ok(())
}

/// A folder cannot be replaced by a file: this fails at the very end, when all is written.
#[test]
fn a_write_that_fails_late_leaves_nothing_behind() -> Result<()> {
    let folder = folder("late");
    fs::create_dir_all(folder.join("net.bif/inside")).expect("a writable folder");
    let error = random_network(3)?
        .write(folder.join("net.bif"))
        .expect_err("a folder is in the way");
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(names_in(&folder), ["net.bif"]);
    assert_eq!(names_in(&folder.join("net.bif")), ["inside"]);
    Ok(())
}
