//! Errors belong to the library: every front end words what to do about them in its own way.

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use sumout::{ErrorKind, Network, Options, Query, Remedy};

/// The files of a folder and of those in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// Whether a line has code with a flag of a command line in backticks.
fn has_flag(line: &str) -> bool {
    !line.trim_start().starts_with("//") && line.contains("`--")
}

#[test]
fn the_library_does_not_speak_of_flags() {
    assert!(has_flag("error.hint(\"pass `--effort 2`\")"));
    let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(files.len() > 50);
    for file in files {
        if file.ends_with("error/tests.rs") {
            continue; // words remedies as a command line does
        }
        let text = fs::read_to_string(&file).unwrap();
        let found: Vec<&str> = text.lines().filter(|line| has_flag(line)).collect();
        assert!(found.is_empty(), "{}: {found:?}", file.display());
    }
}

#[test]
fn a_file_that_is_not_there_is_an_error_of_the_system() {
    let error = Network::read("nowhere/at-all.bif").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    let source = error.source().and_then(|e| e.downcast_ref::<io::Error>());
    assert_eq!(source.map(io::Error::kind), Some(io::ErrorKind::NotFound));
}

#[test]
fn what_does_not_fit_has_typed_remedies() {
    let asia = Network::read("asia").unwrap();
    let refused = |effort: f64| {
        let options = Options::default().with_memory(Some(100));
        let answer = asia.query(&[], &Default::default(), &options.with_effort(effort));
        answer.unwrap_err()
    };
    let hasty = refused(0.0);
    assert!(hasty.remedies().contains(&Remedy::MoreEffort(Some(1.0))));
    assert!(hasty.remedies().contains(&Remedy::RaiseMemory));
    // Eight factors are searched to the end: a longer search would find nothing better.
    let thorough = refused(1.0);
    let is_effort = |remedy: &Remedy| matches!(remedy, Remedy::MoreEffort(_));
    assert!(!thorough.remedies().iter().any(is_effort));
    assert!(thorough.remedies().contains(&Remedy::RaiseMemory));
    let wrong = asia.compile(&Query::of("lnug"), &Options::default());
    let meant = Remedy::DidYouMean("lung".into());
    assert_eq!(wrong.map(drop).unwrap_err().remedies(), [meant]);
}

#[test]
fn kinds_have_names_for_programs() {
    let level = "best".parse::<sumout::Level>().unwrap_err();
    assert_eq!(level.kind().name(), "options");
    let circuit = Network::read("asia").unwrap();
    let circuit = circuit.compile(&Query::of("lung"), &Options::default());
    let explained = circuit.unwrap().explain(&sumout::Batch::new(1));
    assert_eq!(explained.unwrap_err().kind().name(), "unsupported");
}
