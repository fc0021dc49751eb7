//! Damaged files: whatever is done to a file, reading it ends soon, with a network or with a
//! message.
//!
//! The files in `tests/good-models/` are those in `tests/bad-models/` before the mistake. Circuits
//! are damaged with care: the checksum fits, and one that is read must answer.
//!
//! ```text
//! cargo test -p sumout --test mutations                                  a few hundred of each
//! SUMOUT_SEED=7 cargo test -p sumout --test mutations damaged_net        a single one: a failure, again
//! SUMOUT_SWEEP=1000 cargo test -p sumout --test mutations -- --nocapture   a thousand times as many
//! ```

mod forge;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use sumout::internals::{contained, keep_panics};
use sumout::model::format::{ReadOptions, WriteOptions, parse, read_evidence};
use sumout::{
    Batch, Circuit, Column, Error, ErrorKind, EvalOptions, Format, Language, Level, Network,
    Options, Query, SavedPlan,
};

/// How often each file is damaged.
const TIMES: u64 = 300;

/// How long reading may take: far more than it needs, far less than a hang.
const MOMENT: Duration = Duration::from_secs(2);

/// Bytes that mean something in one format or another.
const SPECIAL: &[u8] = b"\0\t\n \"'\\{}[]()<>/&;:,|=%*#-+.0129eEnxy\x7f\xc3\xff";

/// Every eleventh seed; in a sweep, as many times all of them as it asks for; or a single one.
fn seeds() -> impl Iterator<Item = u64> {
    let setting = |name: &str| std::env::var(name).ok()?.parse().ok();
    if let Some(seed) = setting("SUMOUT_SEED") {
        return (seed..seed + 1).step_by(1);
    }
    let times: Option<u64> = setting("SUMOUT_SWEEP");
    let step = if times.is_some() { 1 } else { 11 };
    (0..TIMES * times.unwrap_or(1).max(1)).step_by(step)
}

/// The results of reading many damaged files.
#[derive(Default)]
struct Tally {
    tried: usize,
    read: usize,
    slowest: (Duration, u64),
    /// Each panic, with the first seed that leads to it.
    panics: BTreeMap<String, u64>,
}

impl Tally {
    /// Notes what one file led to.
    fn note(&mut self, seed: u64, work: impl FnOnce() -> Result<(), Error>) {
        let start = Instant::now();
        let result = contained("mutation", work).and_then(|result| result);
        self.tried += 1;
        self.slowest = self.slowest.max((start.elapsed(), seed));
        match result {
            Ok(()) => self.read += 1,
            Err(error) if error.kind() == ErrorKind::Defect => {
                self.panics.entry(error.to_string()).or_insert(seed);
            }
            Err(error) => check_message(&error),
        }
    }

    /// Fails if there was a panic or a hang.
    fn check(self, name: &str) -> usize {
        let Tally {
            tried,
            read,
            slowest,
            panics,
        } = self;
        println!("{name}: {tried} damaged, {read} read, the slowest {slowest:?}");
        assert!(panics.is_empty(), "{name}: {panics:#?}");
        assert!(slowest.0 < MOMENT, "{name}: {slowest:?}");
        read
    }
}

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
    keep_panics();
    read(bytes).unwrap();
    let mut tally = Tally::default();
    for seed in seeds() {
        let bytes = damaged(bytes, seed);
        tally.note(seed, || read(&bytes));
    }
    tally.check(name);
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
        let own = ReadOptions::default().with_format(Format::of_path(Path::new(name)).unwrap());
        for normalize in [true, false] {
            let net = parse(name, bytes, &own.clone().with_normalize(normalize))?;
            for format in Format::ALL {
                let written = WriteOptions::default().with_format(format).with_lossy(true);
                if let Ok(text) = net.to_text(&written) {
                    let options = ReadOptions::default().with_format(format);
                    let back = parse("written", text.as_bytes(), &options);
                    back.unwrap_or_else(|e| panic!("{} reads back: {e}", format.name()));
                }
            }
        }
        Ok(())
    });
}

#[test]
fn damaged_networks_of_all_formats() {
    for format in Format::ALL {
        damage_network(&format!("sprinkler.{}", format.extensions()[0]));
    }
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

fn circuit(model: &str, query: &Query, level: Level) -> Vec<u8> {
    let options = Options::default().with_level(level).with_effort(0.1);
    let circuit = Network::read(model).unwrap().compile(query, &options);
    circuit.unwrap().to_bytes().unwrap()
}

/// All numbers of a description.
fn numbers(value: &mut Value) -> Vec<&mut Value> {
    match value {
        Value::Number(_) => vec![value],
        Value::Array(items) => items.iter_mut().flat_map(numbers).collect(),
        Value::Object(items) => items
            .iter_mut()
            .flat_map(|(_, item)| numbers(item))
            .collect(),
        _ => vec![],
    }
}

/// Changes a few numbers of a description, or a few bytes of tensors.
fn change(header: &mut Value, tensors: &mut forge::Tensors, rng: &mut ChaCha8Rng) {
    for _ in 0..rng.random_range(1..=2) {
        if rng.random_bool(0.7) {
            let mut all = numbers(header);
            let at = rng.random_range(0..all.len());
            let other = all[rng.random_range(0..all.len())].clone();
            *all[at] = match rng.random_range(0..4) {
                0 => other,
                1 => rng.random_range(0..1u64 << 34).into(),
                _ => rng.random_range(0..12u64).into(),
            };
        } else {
            let at = rng.random_range(0..tensors.len());
            let bytes = tensors.values_mut().nth(at).unwrap();
            if let Some(last) = bytes.len().checked_sub(1) {
                let byte = rng.random_range(0..=last);
                bytes[byte] = [0, 1, 2, 3, 0x7f, 0xff][rng.random_range(0..6)];
            }
        }
    }
}

/// Examples of which each input has some value.
fn examples(circuit: &Circuit) -> Batch {
    let mut batch = Batch::new(6);
    for (i, input) in circuit.inputs().enumerate() {
        let values = circuit.variable(input).values.len();
        let column = (0..6).map(|row| ((row + i) % values) as i32).collect();
        let inserted = batch.insert(circuit, input, Column::Values(column));
        inserted.unwrap();
    }
    batch
}

/// Answers all that a circuit can be asked; errors are answers, too.
fn answer(circuit: &Circuit) {
    let batch = examples(circuit);
    for of_inputs in [false, true] {
        let options = EvalOptions::default()
            .with_threads(1)
            .with_memory(64 << 20)
            .with_of_inputs(of_inputs);
        let _ = circuit
            .evaluator(&options)
            .map(|evaluator| evaluator.run(&batch));
        let _ = circuit
            .explainer(&options)
            .map(|explainer| explainer.run(&batch));
        let _ = circuit
            .family_evaluator(&options)
            .map(|evaluator| evaluator.run(&batch));
    }
    for language in [Language::Torch, Language::Onnx] {
        let _ = circuit.export(language);
    }
    let written = circuit.to_bytes().unwrap();
    Circuit::from_bytes(&written).unwrap();
}

/// Removes, repeats or swaps members of a list somewhere in a description.
fn rearrange(value: &mut Value, rng: &mut ChaCha8Rng) {
    let mut lists = lists(value);
    let at = rng.random_range(0..lists.len().max(1));
    let Some(list) = lists.get_mut(at).filter(|list| !list.is_empty()) else {
        return;
    };
    let (a, b) = (
        rng.random_range(0..list.len()),
        rng.random_range(0..list.len()),
    );
    match rng.random_range(0..3) {
        0 => drop(list.remove(a)),
        1 => list.insert(b, list[a].clone()),
        _ => list.swap(a, b),
    }
}

/// All lists of a description that are in no other one.
fn lists(value: &mut Value) -> Vec<&mut Vec<Value>> {
    match value {
        Value::Array(items) => vec![items],
        Value::Object(items) => items.iter_mut().flat_map(|(_, item)| lists(item)).collect(),
        _ => vec![],
    }
}

/// Forges a file again and again; the number of files that were read.
fn forge_all(name: &str, bytes: &[u8]) -> usize {
    keep_panics();
    let mut tally = Tally::default();
    for seed in seeds() {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let forged = forge::forged(bytes, |header, tensors| {
            if rng.random_bool(0.3) {
                rearrange(header, rng);
            }
            change(header, tensors, rng);
        });
        tally.note(seed, || {
            let circuit = Circuit::from_bytes(&forged)?;
            answer(&circuit);
            Ok(())
        });
    }
    tally.check(name)
}

#[test]
fn forged_circuits() {
    let asia = || ["xray", "dysp"];
    let pixels = Query::of("label").given(["pixel_*"]);
    let kidney = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/kidney.json");
    let mut read = 0;
    for level in [
        Level::Classical,
        Level::Tables,
        Level::Support,
        Level::Compiled,
    ] {
        for (name, query) in [
            ("asia", Query::of("lung").given(asia())),
            ("asia", Query::all().given(asia())),
            ("asia", Query::all().families()),
            ("asia", Query::all().trainable(["*"]).hard(["xray"])),
            ("asia", Query::explain().given(asia())),
            ("rect:3", pixels.clone()),
            (kidney, Query::all()),
        ] {
            read += forge_all(name, &circuit(name, &query, level));
        }
    }
    assert!(read > 100, "only {read} forged circuits were read");
}

#[test]
fn damaged_plans() {
    let (asia, query) = (Network::read("asia").unwrap(), Query::all());
    let options = Options::default().with_effort(0.0);
    let plan = asia.plan(&query, &options).unwrap().saved().to_json();
    damage("plan.json", plan.as_bytes(), |bytes| {
        let plan = SavedPlan::parse("plan.json", &String::from_utf8_lossy(bytes))?;
        asia.plan_from(&query, &options, &plan).map(drop)
    });
}
