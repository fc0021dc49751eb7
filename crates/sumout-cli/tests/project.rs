//! Pages and files around the code agree with each other and with what the program prints: the
//! README with continuous integration and with the sizes of plans, copies with their originals,
//! versions with the manifests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The line of the README that runs all tests, without its comment.
fn command_of_readme() -> String {
    let readme = text("README.md");
    let line = readme.lines().find(|line| line.starts_with("./test"));
    let command = line.expect("a line with ./test").split('#').next();
    command.expect("a command").trim().to_owned()
}

/// The words between the brackets of the first `NAME=(…)` of `./test` that are not empty.
fn words(name: &str) -> Vec<String> {
    let script = text("test");
    let start = format!("{name}=(");
    let lists = script.split(&start).skip(1);
    let mut lists = lists.map(|rest| rest.split(')').next().unwrap_or_default());
    let list = lists.find(|list| !list.is_empty()).expect("a list");
    list.split(' ').map(str::to_owned).collect()
}

#[test]
fn continuous_integration_runs_the_command_of_the_readme_first() {
    let script = text(".ci/run");
    let commands: Vec<&str> = script
        .lines()
        .filter(|line| line.starts_with("./"))
        .collect();
    assert_eq!(commands[0], command_of_readme());
    let mut run = words("parts");
    run.extend(commands[1].split(' ').map(str::to_owned));
    for part in words("all") {
        assert!(run.contains(&part), ".ci/run leaves out {part}");
    }
}

#[test]
fn the_embedded_network_is_that_of_the_models() {
    assert!(text("crates/sumout/assets/asia.bif") == text("models/asia.bif"));
}

#[test]
fn every_crate_has_the_licences_and_a_readme() {
    for entry in fs::read_dir(root().join("crates")).expect("a folder") {
        let folder = entry.expect("an entry").file_name();
        let folder = folder.to_str().expect("a name");
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(text(&format!("crates/{folder}/{name}")) == text(name));
        }
        assert!(!text(&format!("crates/{folder}/README.md")).is_empty());
    }
}

#[test]
fn the_version_is_the_same_everywhere() {
    assert!(text("CITATION.cff").contains(&format!("\nversion: {VERSION}\n")));
    assert!(text("CHANGELOG.md").contains(&format!("\n## {VERSION} - ")));
    assert!(text("CHANGELOG.md").contains("\n## Unreleased\n"));
}

/// The numbers that a plan of this level stores for each example.
fn entries(model: &str, level: &str) -> u64 {
    let (target, given) = if model.starts_with("rect") {
        ("label", "pixel_*")
    } else {
        ("d", "p_*")
    };
    let output = Command::new(env!("CARGO_BIN_EXE_sumout"))
        .args(["compile", model, target, "--given", given])
        .args(["--level", level, "--json"])
        .output()
        .expect("the command runs");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    report["report"]["entries"].as_u64().expect("a number")
}

fn cells(row: &str) -> Vec<String> {
    let cells = row.trim_matches('|').split('|');
    cells
        .map(|cell| cell.replace(['`', ','], ""))
        .map(|cell| cell.trim().to_owned())
        .collect()
}

/// All rows if `SUMOUT_SWEEP` is set, otherwise the smaller half.
#[test]
fn the_readme_has_the_sizes_that_plans_have() {
    let readme = text("README.md");
    let rows: Vec<Vec<String>> = readme
        .lines()
        .filter(|line| line.starts_with('|'))
        .map(cells)
        .collect();
    let levels = &rows[0][2..];
    let sweep = std::env::var_os("SUMOUT_SWEEP").is_some();
    let mut compared = 0;
    for row in rows[2..]
        .iter()
        .filter(|row| sweep || row[0].ends_with(":10"))
    {
        for (level, printed) in levels.iter().zip(&row[2..]) {
            let level = level.trim_start_matches("--level ");
            assert_eq!(
                entries(&row[0], level).to_string(),
                *printed,
                "{} {level}",
                row[0]
            );
            compared += 1;
        }
    }
    assert!(compared >= 6);
}
