//! What must hold for every input, however broken.
//!
//! Reading never panics. What was read is written back without loss or refused, and what is written
//! reads back equal. The own format carries everything that any other can say.

use std::path::PathBuf;
use std::sync::LazyLock;

use sumout::model::format::{Loss, ReadOptions, parse, read_evidence, to_string};
use sumout::{Format, Network};

/// Networks over this many numbers are read but not written: it would only be slow.
const MAX_WRITTEN: usize = 1 << 16;

/// A network in a given format.
pub fn network(format: Format, bytes: &[u8]) {
    for normalize in [false, true] {
        let read = parse("input", bytes, &ReadOptions { format: Some(format), normalize });
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
    std::fs::write(&*PATH, bytes).expect("a writable folder");
    match read_evidence(&PATH, &ASIA) {
        Ok(evidence) => assert!(evidence.len() <= ASIA.variables().len()),
        Err(error) => drop(error.render(true)),
    }
    std::fs::remove_file(&*PATH).expect("just written");
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

fn round_trip(net: &Network, format: Format) {
    let cards = net.cards();
    if net.cpts().iter().map(|cpt| cpt.size(&cards)).sum::<usize>() > MAX_WRITTEN {
        return;
    }
    let is_carried = equal_again(net, Format::Json);
    assert!(is_carried, "the own format carries everything");
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
    let options = ReadOptions { format: Some(format), normalize: false };
    parse("written", text.as_bytes(), &options).unwrap_or_else(|e| panic!("{e}\n{text}"))
}
