//! Circuits in files: what is written is read, and damage is an error.

use crate::forge::forged;
use serde_json::{Value, json};
use sumout::{Batch, Circuit, Column, Level, Network, Options, Query};

fn circuit(level: Level) -> Circuit {
    let net = Network::read("rect:4").unwrap();
    let options = Options::default().with_level(level).with_effort(0.1);
    net.compile(&Query::of("label").given(["pixel_*"]), &options)
        .unwrap()
}

fn answers(circuit: &Circuit) -> (Vec<f64>, Vec<f64>) {
    let mut batch = Batch::new(20);
    for (i, input) in circuit.inputs().enumerate().collect::<Vec<_>>() {
        let values = (0..20)
            .map(|row| (row * 5 + i as i32 * 3) % 7 % 3 - 1)
            .collect();
        batch
            .insert(circuit, input, Column::Values(values))
            .unwrap();
    }
    let answers = circuit.evaluate(&batch).unwrap();
    (answers.posteriors, answers.log_evidence)
}

#[test]
fn a_circuit_that_is_read_answers_as_the_one_that_was_written() {
    for level in [
        Level::Classical,
        Level::Functional,
        Level::Tables,
        Level::Support,
        Level::Compiled,
    ] {
        let circuit = circuit(level);
        let bytes = circuit.to_bytes().unwrap();
        let read = Circuit::from_bytes(&bytes).unwrap();
        assert_eq!(answers(&circuit), answers(&read), "{level:?}");
        assert_eq!(bytes, read.to_bytes().unwrap(), "{level:?}");
        assert_eq!(
            circuit.graph().origins(),
            read.graph().origins(),
            "{level:?}"
        );
        assert!(
            !read.graph().origins().is_empty(),
            "{level:?}: it can be trained"
        );
    }
}

#[test]
fn a_damaged_file_is_an_error_wherever_the_damage_is() {
    let bytes = circuit(Level::Support).to_bytes().unwrap();
    for at in (0..bytes.len()).step_by(bytes.len() / 500 + 1) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        let error = Circuit::from_bytes(&damaged).err();
        let error = error.unwrap_or_else(|| {
            panic!(
                "byte {at} of {} was damaged, and nobody noticed",
                bytes.len()
            )
        });
        assert!(error.advice().is_some());
        assert!(
            Circuit::from_bytes(&bytes[..at]).is_err(),
            "cut off at {at}"
        );
    }
}

#[test]
fn a_newer_file_says_so() {
    let bytes = circuit(Level::Classical).to_bytes().unwrap();
    let version = br#"\"version\":1"#;
    let text = bytes
        .windows(version.len())
        .position(|window| window == version)
        .unwrap();
    let mut newer = bytes.clone();
    newer[text + r#"\"version\":"#.len()] = b'9';
    let error = Circuit::from_bytes(&newer).unwrap_err();
    assert_eq!(
        error.message(),
        "the circuit has version 9, and this program reads up to version 6"
    );
}

/// The message about a forged file.
fn refusal(bytes: &[u8], change: impl FnOnce(&mut Value)) -> String {
    let error = Circuit::from_bytes(&forged(bytes, |header, _| change(header))).unwrap_err();
    error.message().to_owned()
}

#[test]
fn a_forged_file_that_changes_nothing_is_read() {
    for level in [Level::Functional, Level::Support] {
        let bytes = circuit(level).to_bytes().unwrap();
        Circuit::from_bytes(&forged(&bytes, |_, _| ())).unwrap();
    }
}

/// The posterior of an input is read where its evidence is.
#[test]
fn a_forged_file_cannot_name_an_input_that_no_operation_reads() {
    let bytes = circuit(Level::Functional).to_bytes().unwrap();
    let unread = |header: &mut Value| {
        let inputs: Vec<u64> = serde_json::from_value(header["inputs"].clone()).unwrap();
        let is_other = |v: &u64| {
            let is_open = header["domains"][*v as usize].as_array().unwrap().len() > 1;
            is_open && !inputs.contains(v) && header["target"] != *v
        };
        let other = (0..header["variables"].as_array().unwrap().len() as u64).find(is_other);
        let mut inputs = inputs.clone();
        inputs.push(other.unwrap());
        inputs.sort_unstable();
        header["inputs"] = inputs.into();
    };
    let message = refusal(&bytes, unread);
    assert!(
        message.ends_with("a variable that is asked for is not there"),
        "{message}"
    );
}

#[test]
fn a_forged_graph_is_checked_like_any_other() {
    let bytes = circuit(Level::Support).to_bytes().unwrap();
    type Change = fn(&mut Value);
    let last = |header: &Value| header["operations"].as_array().unwrap().len() - 1;
    let cases: [(Change, &str); 7] = [
        (
            |h| h["output"] = 1_000_000.into(),
            "an operation reads what is not there",
        ),
        (
            |h| h["operations"][0] = json!({"rescale": 0}),
            "an operation reads what is not there",
        ),
        (
            |h| h["operations"][0] = json!({"evidence": 4_000_000}),
            "evidence on no variable",
        ),
        (
            |h| h["operations"][0] = json!({"table": 4_000_000}),
            "a table is not there",
        ),
        (
            |h| h["operations"][0] = json!({"evidence": 1u64 << 40}),
            "expected u32",
        ),
        (
            |h| h["lists"][0] = json!(null),
            "a list does not fit its tensors",
        ),
        (
            |h| h["tables"][0] = json!([0, 0]),
            "a table does not fit its axes",
        ),
    ];
    for (change, expected) in cases {
        let message = refusal(&bytes, change);
        assert!(message.contains(expected), "{message}");
    }
    let again = |header: &mut Value| {
        let at = last(header);
        header["operations"][at] = header["operations"][0].clone();
        header["output"] = 0.into();
    };
    let message = refusal(&bytes, again);
    assert!(
        message.ends_with("an operation is there twice"),
        "{message}"
    );
}
