//! `seeds TARGET FOLDER FILE…`: writes what a target starts from.
//!
//! These are small networks in the target's format, or circuits, and those of the given files that
//! have the format.

use std::fs;
use std::path::{Path, PathBuf};

use sumout::model::format::{Loss, to_string};
use sumout::model::random::{Shape, network};
use sumout::{Format, Level, Network, Options, Query};

/// Longer files would be cut to this length.
const MAX_LENGTH: usize = 4096;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(target), Some(folder)) = (arguments.next(), arguments.next()) else {
        panic!("usage: seeds TARGET FOLDER FILE…")
    };
    let files: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    let folder = Path::new(&folder);
    fs::create_dir_all(folder).expect("a writable folder");
    for (number, seed) in seeds(&target, &files).into_iter().enumerate() {
        fs::write(folder.join(format!("seed-{number}")), seed).expect("a writable folder");
    }
}

fn seeds(target: &str, files: &[PathBuf]) -> Vec<Vec<u8>> {
    let read = files.iter().filter(|file| is_for(target, file)).map(|file| fs::read(file).expect("a readable file"));
    read.filter(|bytes| bytes.len() <= MAX_LENGTH).chain(written(target)).collect()
}

fn is_for(target: &str, file: &Path) -> bool {
    let extension = file.extension().unwrap_or_default();
    match target {
        "evid" => extension == "evid",
        "gzip" => extension == "gz",
        "circuit" => false,
        _ => extension != "gz" && Format::of_path(file).is_some_and(|format| format.extensions()[0] == target),
    }
}

fn written(target: &str) -> Vec<Vec<u8>> {
    match target {
        "evid" => vec![b"2 0 1 3 0".to_vec(), b"1\n1 4 1\n".to_vec()],
        "circuit" => circuits(),
        "gzip" => networks("bif").iter().map(|text| sumout_fuzz::pack(text)).collect(),
        _ => networks(target),
    }
}

fn networks(extension: &str) -> Vec<Vec<u8>> {
    let format =
        Format::ALL.into_iter().find(|format| format.extensions()[0] == extension).expect("a format's extension");
    let shape = Shape { nodes: 3, max_values: 3, max_parents: 2, functional: 0.4 };
    let networks = [network(&shape, 1), network(&shape, 2), Network::read("asia")].into_iter().flatten();
    networks.flat_map(|net| to_string(&net, format, Loss::Accept)).map(String::into_bytes).collect()
}

/// Circuits with every kind of operation: products, lists, maps, selections, and explanations.
fn circuits() -> Vec<Vec<u8>> {
    let queries = [
        ("asia", Query::of("lung").given(["xray", "dysp"])),
        ("asia", Query::all().given(["xray", "dysp"])),
        ("asia", Query::explain().given(["xray", "dysp"])),
        ("rect:3", Query::of("label").given(["pixel_*"])),
        ("models/kidney.json", Query::all()),
    ];
    let levels = [Level::Classical, Level::Tables, Level::Support];
    let circuit = |(model, query): &(&str, Query), level: Level| {
        let options = Options::default().with_level(level).with_effort(0.0);
        Network::read(*model)?.compile(query, &options)?.to_bytes()
    };
    queries.iter().flat_map(|query| levels.map(|level| circuit(query, level))).flatten().collect()
}
