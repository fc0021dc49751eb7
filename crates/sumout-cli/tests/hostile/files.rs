//! Damaged files of every kind that a command reads: an answer or a message, and never a panic.
//!
//! `SUMOUT_SWEEP=100 cargo test -p sumout-cli --test hostile -- --nocapture` tries a thousand times as many.

use std::fs;
use std::path::Path;

use crate::common::damage::{Random, damaged, sweep};
use crate::common::{empty_folder, output, sumout};

/// A file, and a command that reads it.
const READERS: [(&str, &str); 9] = [
    ("cases.csv", "eval lung.sumout cases.csv"),
    ("cases.npy", "eval lung.sumout cases.npy"),
    (
        "cases.parquet",
        "eval lung.sumout cases.parquet --skip-bad-rows",
    ),
    (
        "train.csv",
        "fit asia train.csv --method em --epochs 2 -o learned.json",
    ),
    (
        "plan.json",
        "compile asia lung --given xray --plan plan.json --effort 0",
    ),
    ("lung.sumout", "eval lung.sumout whole.csv"),
    ("lung.sumout", "export lung.sumout -o model.py"),
    ("asia.evid", "query asia --evidence asia.evid"),
    ("asia.json", "mpe asia.json --effort 0"),
];

fn prepare(folder: &Path) {
    let good = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/good-models/asia.evid"
    );
    fs::copy(good, folder.join("asia.evid")).unwrap();
    sumout(folder, "convert asia asia.json");
    sumout(folder, "compile asia lung --given xray dysp -o lung.sumout");
    sumout(
        folder,
        "compile asia lung --given xray --effort 0 --save-plan plan.json",
    );
    fs::write(folder.join("whole.csv"), "xray,dysp\nyes,no\n,yes\n").unwrap();
    fs::write(
        folder.join("cases.csv"),
        "xray,dysp\nyes,no\n\"no\",\n,yes\n",
    )
    .unwrap();
    sumout(folder, "sample asia --rows 20 --seed 1 -o train.csv");
    sumout(
        folder,
        "sample asia --rows 20 --columns xray dysp -o cases.parquet",
    );
    sumout(
        folder,
        "sample asia --rows 20 --columns xray dysp -o cases.npy",
    );
}

#[test]
fn damaged_files_are_read_or_refused() {
    let folder = empty_folder("damaged-files");
    prepare(&folder);
    let most = if sweep() > 0 { 40 * sweep() } else { 4 };
    let mut ends = [0; 3];
    for (file, line) in READERS {
        let whole = fs::read(folder.join(file)).unwrap();
        for seed in 0..most {
            let bytes = damaged(&whole, &mut Random::new(seed));
            fs::write(folder.join(file), &bytes).unwrap();
            let found = output(&folder, line);
            let (code, text) = (found.status.code(), String::from_utf8_lossy(&found.stderr));
            let is_told = code != Some(2) || text.lines().any(|line| line.starts_with("error: "));
            assert!(
                matches!(code, Some(0..=2)) && is_told,
                "{line}, seed {seed}: {code:?} {text}"
            );
            ends[code.unwrap() as usize] += 1;
        }
        fs::write(folder.join(file), &whole).unwrap();
    }
    println!(
        "of damaged files {} were read, {} are impossible, {} refused",
        ends[0], ends[1], ends[2]
    );
    assert!(ends[0] > 0 && ends[2] > 0);
}
