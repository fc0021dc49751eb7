//! Defects, hostile names and damaged files: what reaches a user.

#[path = "../common/mod.rs"]
mod common;
mod files;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use common::empty_folder;

fn run(folder: &Path, line: &str, panic: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sumout"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .env("SUMOUT_TEST_PANIC", panic)
        .env("RUST_BACKTRACE", "0")
        .output()
        .unwrap()
}

#[test]
fn a_panic_is_reported_as_a_defect() {
    let folder = empty_folder("defect");
    let found = run(&folder, "query asia lung --json", "command");
    assert_eq!(found.status.code(), Some(70));
    let text = String::from_utf8(found.stderr).unwrap();
    assert!(text.starts_with("error: a defect in sumout"), "{text}");
    assert!(text.contains("\nhint: please report it"), "{text}");
    assert!(text.contains("defect.rs:"), "the place is missing: {text}");
    assert_eq!(text.lines().count(), 2, "{text}");
    let json: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(json["error"]["kind"], "defect");
    let usual = run(&folder, "query asia lung", "");
    assert_eq!(usual.status.code(), Some(0));
}

/// Names come from files, and files from anywhere.
#[test]
fn names_never_command_the_terminal() {
    let folder = empty_folder("escapes");
    assert!(run(&folder, "convert asia plain.json", "").status.success());
    let plain = fs::read_to_string(folder.join("plain.json")).unwrap();
    let hostile = "lu\\u001b[2J\\u0007\\u009b31m\\u007f\\rng";
    let text = plain.replace("\"lung\"", &format!("\"{hostile}\""));
    let text = text.replace("\"yes\"", "\"y\\u001b]0;es\\u0007\"");
    assert_ne!(plain, text);
    fs::write(folder.join("hostile.json"), text).unwrap();
    for line in [
        "show hostile.json",
        "query hostile.json",
        "query hostile.json lu* --given xray=no",
        "query hostile.json nobody",
        "query hostile.json xray --given tub=maybe",
        "query hostile.json xray --given lu*=maybe",
        "mpe hostile.json",
        "compile hostile.json lu* --given xray",
        "compile hostile.json --given lu* -o hostile.sumout",
        "show hostile.sumout",
        "bench hostile.json --rows 8",
        "convert hostile.json hostile.bif",
        "convert hostile.json hostile.uai",
        "fit hostile.json nothing.csv",
    ] {
        let found = run(&folder, line, "");
        for bytes in [&found.stdout, &found.stderr] {
            let text = String::from_utf8_lossy(bytes);
            let obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
            assert!(!text.contains(obeyed), "{line}: {text:?}");
            assert!(!text.contains("defect"), "{line}: {text}");
        }
    }
    let shown = run(&folder, "query hostile.json", "").stdout;
    assert!(String::from_utf8(shown).unwrap().contains("lu\\u{1b}[2J"));
}
