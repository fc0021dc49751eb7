//! The integration tests of the library, linked to it once. `cargo test -p sumout --test main oracle` runs one file.

mod batch;
mod batch_bits;
mod best;
#[path = "causal/main.rs"]
mod causal;
mod circuit_file;
mod common;
mod control;
mod errors;
mod evidence;
mod explain;
mod families;
mod forge;
#[path = "formats/main.rs"]
mod formats;
mod functional;
mod gradients;
mod independence;
mod information;
mod joint;
#[path = "learning/main.rs"]
mod learning;
mod logic;
mod map;
mod near;
mod networks;
mod oracle;
mod runners;
mod samples;
#[path = "selection/main.rs"]
mod selection;
mod sensitivity;
mod simplified;
mod start;
mod theorems;
mod trainable;

/// A file that nobody names would never run.
#[test]
fn every_file_here_is_a_module_or_a_test_of_its_own() {
    let crate_folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(crate_folder.join("Cargo.toml")).unwrap();
    for entry in std::fs::read_dir(crate_folder.join("tests")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let is_module = include_str!("main.rs").contains(&format!("\nmod {name};"));
        let is_target = manifest.contains(&format!("name = \"{name}\""));
        assert!(is_module || is_target || name == "snapshots", "{name}");
    }
}
