//! Circuits in files: what is written is read, and damage is an error.

use sumout::{Batch, Circuit, Column, Level, Network, Options, Query};

fn circuit(level: Level) -> Circuit {
    let net = Network::read("rect:4").unwrap();
    let options = Options {
        level,
        effort: 0.1,
        ..Options::default()
    };
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
        "the circuit has version 9, and this program reads up to version 4"
    );
}
