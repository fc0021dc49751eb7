//! The tests of the crate, linked to the library once.

mod paper;
mod scenes;
mod selection_uses;

/// A file that nobody names would never run.
#[test]
fn every_file_here_is_a_module() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let is_module = include_str!("main.rs").contains(&format!("\nmod {name};"));
        assert!(is_module || name == "main", "{name}");
    }
}
