//! Runs the command in a folder of its own.

#![allow(dead_code)] // each test file uses some of it

pub mod damage;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// An empty folder.
pub fn empty_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// How a command line ends in a folder.
pub fn output(folder: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sumout"))
        .args(line.split(' '))
        .current_dir(folder)
        .output()
        .unwrap()
}

/// The output of a command that must succeed.
pub fn sumout(folder: &Path, line: &str) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = output(folder, line);
    assert!(
        status.success(),
        "sumout {line}: {}",
        String::from_utf8_lossy(&stderr)
    );
    String::from_utf8(stdout).unwrap()
}

/// The error of a command line that is refused.
pub fn refused(folder: &Path, line: &str) -> String {
    let Output { status, stderr, .. } = output(folder, line);
    assert_eq!(status.code(), Some(2), "sumout {line}");
    String::from_utf8(stderr).unwrap()
}
