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
                "circuit", "compile", "control", "error", "files", "model", "tensor", "vars",
            ],
        ),
    ],
    stages: &[(
        "compile",
        &[
            "factor", "ask", "prune", "simplify", "plan", "support", "logic", "choose", "lower",
            "report",
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
        ("args", &["output"]),
        ("evidence", &["output"]),
        ("causal", &["evidence", "output", "text"]),
        ("data", &["output"]),
        ("errors", &[]),
        ("explore", &["args", "errors", "evidence", "json", "output"]),
        (
            "commands",
            &[
                "args", "causal", "data", "evidence", "explore", "json", "output", "patience",
                "text",
            ],
        ),
    ],
    stages: &[],
    never_execute: &[],
};

/// Over this many lines a file is two files.
const MAX_LINES: usize = 450;

/// Over this many lines a function is two functions.
const MAX_FUNCTION_LINES: usize = 65;

/// Nine of ten functions have at most this many lines.
const MOST_FUNCTION_LINES: usize = 28;

/// The mean length of a line of code, without its indentation: a page needs air.
const MAX_MEAN_CHARACTERS: usize = 30;

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

/// The code of all crates, without comments and tests.
fn all_code() -> Vec<(PathBuf, String)> {
    let parts = ["sumout", "sumout-cli", "sumout-paper", "sumout-py"];
    let folders = parts.map(|part| crates().join(part).join("src"));
    let files = folders.iter().flat_map(|folder| source::files(folder));
    let is_test = |file: &PathBuf| {
        let mut parts = file.iter().filter_map(|part| part.to_str());
        parts.any(|part| part == "tests" || part == "tests.rs")
    };
    files
        .filter(|file| !is_test(file))
        .map(|file| {
            let text = fs::read_to_string(&file).unwrap();
            (file, source::code(&text))
        })
        .collect()
}

#[test]
fn functions_are_short() {
    let mut lengths: Vec<(usize, String)> = vec![];
    for (file, code) in all_code() {
        let found = source::functions(&code).into_iter();
        lengths.extend(found.map(|(name, lines)| (lines, format!("{name}, {}", file.display()))));
    }
    lengths.sort();
    assert!(lengths.len() > 2000, "only {} functions", lengths.len());
    let longest = &lengths[lengths.len() - 1];
    assert!(longest.0 <= MAX_FUNCTION_LINES, "{longest:?}");
    let most = &lengths[lengths.len() * 9 / 10];
    assert!(most.0 <= MOST_FUNCTION_LINES, "{most:?}");
}

#[test]
fn lines_have_air() {
    let code = all_code();
    let lines = code.iter().flat_map(|(_, code)| code.lines());
    let lengths: Vec<usize> = lines
        .map(|line| line.trim().chars().count())
        .filter(|&characters| characters > 0)
        .collect();
    let mean = lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
    assert!(mean <= MAX_MEAN_CHARACTERS as f64, "{mean} characters");
}

#[test]
fn nothing_is_unwrapped() {
    let has_unwrap = |(_, code): &(PathBuf, String)| code.contains(".unwrap()");
    let found: Vec<PathBuf> = all_code()
        .into_iter()
        .filter(has_unwrap)
        .map(|(file, _)| file)
        .collect();
    assert!(found.is_empty(), "{found:?}");
}
