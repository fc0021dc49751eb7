//! Properties that hold for every input, however broken.
//!
//! Reading never panics. A network that was read is written back without loss or refused, and what
//! is written reads back equal; the JSON format carries everything that any other can. A circuit
//! that was read answers.

use std::path::PathBuf;
use std::sync::LazyLock;

use sumout::model::format::{Loss, ReadOptions, parse, read_evidence, to_string};
use sumout::{Batch, Circuit, Column, EvalOptions, Format, Network};

/// Networks over this many numbers are read but not written: it would only be slow.
const MAX_WRITTEN: usize = 1 << 16;

/// A network in a given format.
pub fn network(format: Format, bytes: &[u8]) {
    for normalize in [false, true] {
        let read = parse("input", bytes, &ReadOptions::default().with_format(format).with_normalize(normalize));
        match read {
            Ok(net) => round_trip(&net, format),
            Err(error) => drop(error.render(true)),
        }
    }
}

/// Evidence on the built-in network.
pub fn evid(bytes: &[u8]) {
    static ASIA: LazyLock<Network> = LazyLock::new(|| Network::read("asia").expect("built in"));
    static PATH: LazyLock<PathBuf> = LazyLock::new(scratch);
    for path in [PATH.clone(), PATH.with_extension("csv")] {
        std::fs::write(&path, bytes).expect("a writable folder");
        match read_evidence(&path, &ASIA) {
            Ok(evidence) => assert!(evidence.len() <= ASIA.variables().len()),
            Err(error) => drop(error.render(true)),
        }
        std::fs::remove_file(&path).expect("just written");
    }
}

/// A file in memory, where there is such a thing.
fn scratch() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    folder.join(format!("sumout-fuzz-{}.evid", std::process::id()))
}

/// Bytes as they are behind the mark of gzip; and compressed, which must change nothing.
pub fn gzip(bytes: &[u8]) {
    let marked = [&[0x1f, 0x8b], bytes.strip_prefix(&[0x1f, 0x8b]).unwrap_or(bytes)].concat();
    drop(parse("input", &marked, &ReadOptions::default()));
    let plain = parse("input", bytes, &ReadOptions::default());
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        let packed = parse("input", &pack(bytes), &ReadOptions::default());
        assert_eq!(packed.map_err(|e| e.to_string()), plain.map_err(|e| e.to_string()));
    }
}

/// The bytes, compressed.
pub fn pack(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory does not fail")
}

/// A circuit may need this many bytes; others are refused before anything is allocated.
const MAX_MEMORY: u64 = 64 << 20;

/// A circuit: what is read answers, and is written as it was read. Built for a fuzzer, the library
/// does not look at the checksum.
pub fn circuit(bytes: &[u8]) {
    match Circuit::from_bytes(bytes) {
        Ok(circuit) => answer(&circuit),
        Err(error) => drop(error.render(true)),
    }
}

fn answer(circuit: &Circuit) {
    let written = circuit.to_bytes().expect("what was read can be written");
    Circuit::from_bytes(&written).expect("what was written can be read");
    let batch = examples(circuit);
    for of_inputs in [false, true] {
        let options = EvalOptions::default().with_threads(1).with_memory(MAX_MEMORY).with_of_inputs(of_inputs);
        drop(circuit.evaluator(&options).map(|evaluator| evaluator.run(&batch)));
        drop(circuit.explainer(&options).map(|explainer| explainer.run(&batch)));
    }
}

/// Some examples: of the first nothing is known that need not be.
fn examples(circuit: &Circuit) -> Batch {
    const ROWS: i32 = 6;
    let mut batch = Batch::new(ROWS as usize);
    for (i, input) in circuit.inputs().enumerate() {
        let values = circuit.variable(input).values.len() as i32;
        let unknown = if circuit.is_hard(input) { 0 } else { -1 };
        let values = (0..ROWS).map(|row| if row == 0 { unknown } else { (row + i as i32) % values }).collect();
        batch.insert(circuit, input, Column::Values(values)).expect("an input with values that it has");
    }
    batch
}

fn round_trip(net: &Network, format: Format) {
    let cards = net.cards();
    if net.cpts().iter().map(|cpt| cpt.size(&cards)).sum::<usize>() > MAX_WRITTEN {
        return;
    }
    let is_carried = equal_again(net, Format::Json);
    assert!(is_carried, "the JSON format carries everything");
    equal_again(net, format);
    if let Ok(text) = to_string(net, format, Loss::Accept) {
        let back = reread(&text, format);
        assert_eq!(back.cards(), cards);
        assert!(net.cpts().iter().zip(back.cpts()).all(|(a, b)| a.scope() == b.scope() && a.body() == b.body()));
    }
}

/// Whether a network can be written without loss; if so it must come back.
fn equal_again(net: &Network, format: Format) -> bool {
    let Ok(text) = to_string(net, format, Loss::Refuse) else {
        return false;
    };
    let back = reread(&text, format);
    assert_eq!(back.variables(), net.variables());
    assert_eq!(back.cpts(), net.cpts());
    assert_eq!(back.is_markov(), net.is_markov());
    assert!(format == Format::Uai || back.name() == net.name(), "UAI does not name networks; others do");
    true
}

fn reread(text: &str, format: Format) -> Network {
    let options = ReadOptions::default().with_format(format);
    parse("written", text.as_bytes(), &options).unwrap_or_else(|e| panic!("{e}\n{text}"))
}
