//! Broken files: what is said about each of them, to the letter.
//!
//! Every file in `tests/bad-models/` has one mistake and is named for it. The messages that users
//! read about them is in `snapshots/`, a page for each format. After a change, read the new pages,
//! then take them over with `INSTA_UPDATE=always cargo test -p sumout --test bad_models`.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use sumout::model::format::read_evidence;
use sumout::{Error, Format, Network};

const FOLDER: &str = "tests/bad-models";

/// All files by name. Messages have their paths from the root of the repository.
fn files() -> Vec<String> {
    std::env::set_current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
    let entries = fs::read_dir(FOLDER).unwrap();
    let mut names: Vec<String> = entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The page that a file is on: its extension.
fn page(name: &str) -> &str {
    let extension = name.rsplit_once('.').expect("an extension").1;
    if ["txt", "xml"].contains(&extension) {
        "other"
    } else {
        extension
    }
}

/// The error for a file, found within two seconds.
fn mistake(name: &str) -> Error {
    println!("{name}");
    let start = Instant::now();
    let path = Path::new(FOLDER).join(name);
    let error = if name.contains(".evid") {
        let asia = Network::read("asia").unwrap();
        read_evidence(&path, &asia).map(drop).expect_err(name)
    } else {
        Network::read(&path).map(drop).expect_err(name)
    };
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "{name} takes {:?}",
        start.elapsed()
    );
    error
}

/// The messages about all files of a page, as a terminal without colours shows them.
fn check(name: &str) {
    let files = files();
    let messages = files
        .iter()
        .filter(|file| page(file) == name)
        .map(|file| mistake(file).render(false));
    let text = messages.collect::<Vec<_>>().join("\n\n");
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(name, text) });
}

/// The pages: one for each format, and others.
fn pages() -> impl Iterator<Item = &'static str> {
    let formats = Format::ALL.iter().map(|format| format.extensions()[0]);
    formats.chain(["evid", "gz", "other"])
}

#[test]
fn messages_are_as_they_are_written() {
    pages().for_each(check);
}

#[test]
fn every_file_is_on_a_page() {
    let files = files();
    assert!(files.len() >= 40, "only {} files in {FOLDER}", files.len());
    for file in files {
        assert!(pages().any(|name| name == page(&file)), "{file}");
    }
}
