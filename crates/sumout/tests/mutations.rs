//! Damaged files: whatever is done to a file, reading it ends soon, with a network or with a
//! message.
//!
//! The files in `tests/good-models/` are what those in `tests/bad-models/` were before the mistake.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::model::format::{ReadOptions, parse, read_evidence};
use sumout::{Error, Network};

/// How often each file is damaged.
const TIMES: u64 = 300;

/// How long reading may take: far more than it needs, far less than a hang.
const MOMENT: Duration = Duration::from_secs(2);

/// Bytes that mean something in one format or another.
const SPECIAL: &[u8] = b"\0\t\n \"'\\{}[]()<>/&;:,|=%*#-+.0129eEnxy\x7f\xc3\xff";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/good-models")
}

fn file(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).unwrap()
}

/// A few random changes, one after the other.
fn damaged(bytes: &[u8], seed: u64) -> Vec<u8> {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let mut bytes = bytes.to_vec();
    for _ in 0..rng.random_range(1..=3) {
        match rng.random_range(0..5) {
            0 => drop(bytes.drain(part(&bytes, rng))),
            1 => repeat(&mut bytes, rng),
            2 => replace(&mut bytes, rng),
            3 => swap_words(&mut bytes, rng),
            _ => bytes.truncate(rng.random_range(0..=bytes.len())),
        }
    }
    bytes
}

/// A short range, or sometimes a long one.
fn part(bytes: &[u8], rng: &mut ChaCha8Rng) -> std::ops::Range<usize> {
    let start = rng.random_range(0..=bytes.len());
    let longest = if rng.random_bool(0.8) {
        12
    } else {
        bytes.len()
    };
    start..bytes.len().min(start + rng.random_range(0..=longest))
}

fn repeat(bytes: &mut Vec<u8>, rng: &mut ChaCha8Rng) {
    let part = bytes[part(bytes, rng)].to_vec();
    let times = if rng.random_bool(0.9) { 1 } else { 1000 };
    let at = rng.random_range(0..=bytes.len());
    bytes.splice(at..at, part.repeat(times));
}

fn replace(bytes: &mut Vec<u8>, rng: &mut ChaCha8Rng) {
    let part = part(bytes, rng);
    let with: Vec<u8> = part
        .clone()
        .map(|_| SPECIAL[rng.random_range(0..SPECIAL.len())])
        .collect();
    bytes.splice(part, with);
}

fn swap_words(bytes: &mut Vec<u8>, rng: &mut ChaCha8Rng) {
    let mut words: Vec<Vec<u8>> = bytes.split(|&b| b == b' ').map(<[u8]>::to_vec).collect();
    let (a, b) = (
        rng.random_range(0..words.len()),
        rng.random_range(0..words.len()),
    );
    words.swap(a, b);
    *bytes = words.join(&b' ');
}

/// Reads a file again and again, each time damaged in another way.
fn damage(name: &str, bytes: &[u8], read: impl Fn(&[u8]) -> Result<(), Error>) {
    read(bytes).unwrap();
    for seed in 0..TIMES {
        println!("{name}, seed {seed}"); // shown if reading panics
        let bytes = damaged(bytes, seed);
        let start = Instant::now();
        let result = read(&bytes);
        assert!(
            start.elapsed() < MOMENT,
            "{name}, seed {seed}: {:?}",
            start.elapsed()
        );
        result.map_or_else(|error| check_message(&error), |()| ());
    }
}

/// A message is one line, and all of it fits on a screen.
fn check_message(error: &Error) {
    let (message, whole) = (error.message(), error.render(false));
    assert!(!message.is_empty() && !message.contains('\n'), "{error}");
    assert!(
        whole.starts_with("error: ") && whole.len() < 2000 && whole.lines().count() < 10,
        "{error}"
    );
}

fn damage_network(name: &str) {
    damage(name, &file(name), |bytes| {
        parse(name, bytes, &ReadOptions::default()).map(drop)
    });
}

#[test]
fn damaged_bif() {
    damage_network("sprinkler.bif");
}

#[test]
fn damaged_xmlbif() {
    damage_network("sprinkler.xmlbif");
}

#[test]
fn damaged_uai() {
    damage_network("sprinkler.uai");
}

#[test]
fn damaged_net() {
    damage_network("sprinkler.net");
}

#[test]
fn damaged_xdsl() {
    damage_network("sprinkler.xdsl");
}

#[test]
fn damaged_json() {
    damage_network("sprinkler.json");
}

#[test]
fn damaged_gzip() {
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
    encoder.write_all(&file("sprinkler.bif")).unwrap();
    let bytes = encoder.finish().unwrap();
    damage("sprinkler.bif.gz", &bytes, |bytes| {
        parse("sprinkler.bif.gz", bytes, &ReadOptions::default()).map(drop)
    });
}

#[test]
fn damaged_evidence() {
    let asia = Network::read("asia").unwrap();
    let path = std::env::temp_dir().join(format!("sumout-{}.evid", std::process::id()));
    damage("asia.evid", &file("asia.evid"), |bytes| {
        fs::write(&path, bytes).unwrap();
        read_evidence(&path, &asia).map(drop)
    });
    fs::remove_file(path).unwrap();
}
