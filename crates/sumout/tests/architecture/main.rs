//! Keeps the crates in order: dependencies point one way, and files stay short.
//!
//! ```text
//! cli ──▶ learn ──▶ circuit ──▶ draw ──▶ compile ──▶ model, tensor::graph (never an executor)
//!                      └──────────────────────────▶ tensor ──▶ vars
//! ```
//!
//! The sources are read as text: every path that begins with `crate` or `super` is followed to
//! where it leads, through re-exports too. Comments may mention anything, and tests may use
//! anything.

mod checks;
mod rules;
mod source;

use std::fs;
use std::path::{Path, PathBuf};

use rules::Rules;

/// The library.
const LIBRARY: Rules = Rules {
    parts: &[
        ("vars", &[]),
        ("error", &[]),
        ("control", &["error"]),
        ("files", &["error"]),
        ("model", &["error", "files", "vars"]),
        ("tensor", &["control", "error", "vars"]),
        ("compile", &["control", "error", "model", "tensor", "vars"]),
        ("draw", &["compile", "model", "tensor", "vars"]),
        (
            "circuit",
            &[
                "compile", "control", "draw", "error", "files", "model", "tensor", "vars",
            ],
        ),
        (
            "learn",
            &[
                "circuit", "compile", "error", "files", "model", "tensor", "vars",
            ],
        ),
    ],
    stages: &[(
        "compile",
        &[
            "ask", "prune", "simplify", "plan", "support", "choose", "lower", "report",
        ],
    )],
    never_execute: &["compile", "draw", "tensor::graph"],
};

/// The command.
const COMMAND: Rules = Rules {
    parts: &[
        ("text", &[]),
        ("output", &[]),
        ("patience", &["output"]),
        ("json", &[]),
        ("args", &[]),
        ("evidence", &["output"]),
        ("data", &["output"]),
        ("errors", &[]),
        ("explore", &["args", "errors", "json"]),
        (
            "commands",
            &[
                "args", "data", "evidence", "explore", "json", "output", "patience", "text",
            ],
        ),
    ],
    stages: &[],
    never_execute: &[],
};

/// Over this many lines a file is two files.
const MAX_LINES: usize = 450;

/// The folder of all crates.
fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn dependencies_point_one_way() {
    let mut broken = LIBRARY.broken_in(&crates().join("sumout/src"));
    broken.extend(COMMAND.broken_in(&crates().join("sumout-cli/src")));
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn files_are_short() {
    let mut files = vec![];
    for entry in fs::read_dir(crates()).unwrap() {
        let folder = entry.unwrap().path();
        for part in ["src", "tests", "examples"].map(|part| folder.join(part)) {
            if part.is_dir() {
                files.extend(source::files(&part));
            }
        }
    }
    assert!(files.len() > 40, "only {} files", files.len());
    let lines = |file: &PathBuf| fs::read_to_string(file).unwrap().lines().count();
    let long: Vec<String> = files
        .iter()
        .filter(|file| lines(file) > MAX_LINES)
        .map(|file| format!("{} has {} lines", file.display(), lines(file)))
        .collect();
    assert!(long.is_empty(), "\n{}\n", long.join("\n"));
}
