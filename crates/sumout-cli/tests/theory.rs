//! The pictures in docs/theory.md are what the commands above them draw.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use common::root;

/// The command lines of the document, and the picture that each draws.
fn commands(text: &str) -> Vec<(Vec<String>, String)> {
    let lines = text
        .lines()
        .filter(|line| line.starts_with("sumout compile "));
    let words = |line: &str| {
        line.split_whitespace()
            .skip(1)
            .map(|word| word.trim_matches('\'').to_owned())
            .collect()
    };
    lines
        .map(words)
        .map(|words: Vec<String>| (words.clone(), words.last().unwrap().clone()))
        .collect()
}

/// The report on a plan that a command prints.
fn report(arguments: &[String]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sumout"));
    let output = command
        .args(arguments)
        .arg("--json")
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["report"].take()
}

/// The pictures, and the numbers in the first table.
#[test]
fn pictures_are_drawn_by_the_commands_above_them() {
    let text = fs::read_to_string(root().join("docs/theory.md")).unwrap();
    let commands = commands(&text);
    assert_eq!(commands.len(), 7);
    let drawn = Path::new(env!("CARGO_TARGET_TMPDIR")).join("theory.svg");
    for (mut arguments, picture) in commands {
        *arguments.last_mut().unwrap() = drawn.display().to_string();
        let report = report(&arguments);
        let counted = if picture.ends_with("tensors.svg") {
            "multiply_adds"
        } else {
            "entries"
        };
        let is_other = picture.ends_with("fork.svg") || picture.ends_with("compiled.svg");
        let is_said = |words: &str| text.contains(&format!("| {} {words}", report[counted]));
        assert!(
            is_other || is_said("entries") || is_said("products"),
            "{picture}: {report}"
        );
        let is_same = fs::read(&drawn).unwrap() == fs::read(root().join(&picture)).unwrap();
        assert!(
            is_same,
            "{picture} is another picture; if that is right, draw it again by the command in docs/theory.md"
        );
        assert!(
            text.contains(&format!("]({})", picture.trim_start_matches("docs/"))),
            "{picture} is not shown"
        );
    }
}

/// Files that the document names are there.
#[test]
fn links_lead_somewhere() {
    for page in ["theory.md", "reproduction.md"] {
        let text = fs::read_to_string(root().join("docs").join(page)).unwrap();
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let path = link.split('#').next().unwrap();
            assert!(
                path.is_empty() || root().join("docs").join(path).exists(),
                "{page}: {link}"
            );
        }
    }
}
