//! The command line, tested as text: every command in `tests/cmd` and in every console block of the
//! documentation is run, and must print what stands there. `? 2` after a command is its exit code.
//!
//! `TRYCMD=overwrite cargo test -p sumout-cli --test cli` writes what is printed today into the
//! files.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::root;

const SUMOUT: &str = env!("CARGO_BIN_EXE_sumout");

/// Commands run in a folder of their own that looks like the root of the repository, so that they
/// may write.
#[test]
fn commands_print_what_is_written() {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("root");
    let _ = fs::remove_dir_all(&place);
    copy(&root().join("models"), &place.join("models"));
    copy(&root().join("docs/theory"), &place.join("docs/theory"));
    std::env::set_current_dir(&place).unwrap();
    trycmd::TestCases::new()
        .register_bin("sumout", Path::new(SUMOUT))
        .env("COLUMNS", "100")
        .case(root().join("crates/sumout-cli/tests/cmd/*.md"))
        .case(root().join("crates/sumout-cli/tests/cmd/*.toml"))
        .case(root().join("README.md"))
        .case(root().join("docs/*.md"));
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to)
        } else {
            fs::copy(entry.path(), to).map(drop).unwrap()
        }
    }
}

#[test]
fn a_reader_may_stop_reading() {
    for arguments in [
        &["sample", "asia", "-n", "1000000"][..],
        &["sample", "asia", "-n", "1000000", "--json"],
    ] {
        let mut child = Command::new(SUMOUT)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        assert!(line.contains("asia"));
        assert_eq!(
            (status.code(), String::from_utf8_lossy(&stderr).as_ref()),
            (Some(0), "")
        );
    }
}

/// Stdout is JSON whatever happens, and stderr is for people.
#[test]
fn with_json_errors_are_json() {
    let file = root().join("tests/bad-models/cycle.bif");
    let file = file.to_str().unwrap();
    let refused = |arguments: &[&str]| {
        let run = Command::new(SUMOUT).args(arguments).output().unwrap();
        assert_eq!(run.status.code(), Some(2), "{arguments:?}");
        let said = String::from_utf8(run.stderr).unwrap();
        assert!(said.starts_with("error: "), "{said}");
        run.stdout
    };
    let error = |arguments: &[&str]| {
        let mut json: serde_json::Value = serde_json::from_slice(&refused(arguments)).unwrap();
        json["error"].take()
    };
    let found = error(&["show", file, "--json"]);
    assert_eq!(
        (&found["kind"], &found["place"]["file"]),
        (&"model".into(), &file.into())
    );
    assert!(found["place"]["line"].is_u64() && found["place"]["column"].is_u64());
    let misuse = error(&["--json", "query", "asia", "--gievn", "xray=yes"]);
    assert_eq!(misuse["kind"], "options");
    assert_eq!(misuse["message"], "unexpected argument '--gievn' found");
    assert!(misuse["hint"].as_str().unwrap().contains("'--given'"));
    assert_eq!(refused(&["show", file]), b"");
    assert_eq!(refused(&["query", "asia", "--gievn", "--", "--json"]), b"");
}

#[test]
fn a_model_can_come_from_standard_input() {
    let model = fs::read(root().join("models/asia.bif")).unwrap();
    let show = |model: &[u8]| {
        let mut child = Command::new(SUMOUT)
            .args(["show", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(model).unwrap();
        child.wait_with_output().unwrap()
    };
    let from_file = Command::new(SUMOUT)
        .args(["show", "asia"])
        .output()
        .unwrap();
    let from_file = String::from_utf8(from_file.stdout).unwrap();
    let from_stdin = String::from_utf8(show(&model).stdout).unwrap();
    assert_eq!(from_stdin.replace("`network`", "`asia`"), from_file);
    let wrong = show(b"who knows what");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(wrong.stdout.is_empty());
    assert!(
        String::from_utf8_lossy(&wrong.stderr)
            .starts_with("error: cannot tell the format of `<stdin>`")
    );
}

/// The output of a command that ends with this exit code.
fn output(code: i32, arguments: &str) -> Output {
    let output = Command::new(SUMOUT)
        .args(arguments.split(' '))
        .current_dir(root())
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

#[test]
fn a_seed_gives_every_digit_again() {
    let answer = |seed: u64| {
        output(
            0,
            &format!("query models/hailfinder.bif.gz --json --seed {seed}"),
        )
        .stdout
    };
    assert_eq!(answer(3), answer(3));
    let query =
        |seed: u64| output(0, &format!("query models/hailfinder.bif.gz --seed {seed}")).stdout;
    assert_eq!(query(0), query(1), "the answer depends on the seed");
}

#[test]
fn more_effort_finds_smaller_clusters() {
    let largest = |effort: &str| -> f64 {
        let refused = output(
            2,
            &format!("mpe models/munin1.bif.gz --memory 1 --effort {effort}"),
        );
        let text = String::from_utf8(refused.stderr).unwrap();
        let rank = text
            .split("the largest cluster has 2^")
            .nth(1)
            .unwrap()
            .split(' ')
            .next()
            .unwrap();
        rank.parse().unwrap()
    };
    assert!(largest("0.5") < largest("0"));
}

/// Nodes and clusters of Tables 1 and 3 are those that the paper prints; a test of the library
/// compares all rows.
#[test]
fn the_papers_tables_have_its_numbers_beside_ours() {
    let printed = output(0, "paper 1 3 --quick --effort 0 --json").stdout;
    let tables: serde_json::Value = serde_json::from_slice(&printed).unwrap();
    let tables = tables["tables"].as_array().unwrap();
    assert_eq!(
        tables
            .iter()
            .map(|t| t["table"].as_u64().unwrap())
            .collect::<Vec<_>>(),
        [1, 3]
    );
    for row in tables.iter().flat_map(|t| t["rows"].as_array().unwrap()) {
        let paper = &row["paper"];
        assert_eq!(
            [&row["network_nodes"], &row["replicated_nodes"]],
            [&paper["network_nodes"], &paper["replicated_nodes"]]
        );
        for kind in ["classical", "functional"] {
            let rank =
                |row: &serde_json::Value| row[kind]["max_cluster_binary_rank"].as_f64().unwrap();
            assert_eq!(
                row[kind]["max_cluster_rank"],
                paper[kind]["max_cluster_rank"]
            );
            assert!((rank(row) - rank(paper)).abs() <= 0.05, "{row}");
        }
        let entries = |level: &str| row["entries"][level].as_u64().unwrap();
        assert!(
            entries("support") < entries("functional") && entries("functional") <= entries("paper"),
            "{row}"
        );
    }
}

#[test]
fn images_are_the_same_in_all_kinds_of_files() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [npy, parquet] = ["images.npy", "images.parquet"].map(|name| folder.join(name));
    let text = String::from_utf8(output(0, "data digits:8 -n 50 --test --seed 3").stdout).unwrap();
    output(
        0,
        &format!("data digits:8 -n 50 --test --seed 3 -o {}", npy.display()),
    );
    let position = |cell: &str| {
        if cell == "t" {
            0
        } else {
            cell.strip_prefix('v').map_or(1, |d| d.parse().unwrap())
        }
    };
    let cells: Vec<u8> = text
        .lines()
        .skip(1)
        .flat_map(|row| row.split(','))
        .map(position)
        .collect();
    assert_eq!(cells.len(), 50 * 65);
    assert!(fs::read(&npy).unwrap()[128..] == cells);
    output(
        0,
        &format!(
            "data digits:8 -n 50 --test --seed 3 -o {}",
            parquet.display()
        ),
    );
    let circuit = folder.join("digits.sumout");
    output(
        0,
        &format!(
            "compile digits:8 d --given p_* --effort 0.01 -o {}",
            circuit.display()
        ),
    );
    let csv = folder.join("images.csv");
    fs::write(&csv, text).unwrap();
    let answers =
        |data: &Path| output(0, &format!("eval {} {}", circuit.display(), data.display())).stdout;
    assert!(answers(&parquet) == answers(&csv));
}
