//! Runs that are interrupted go on where they were.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::{output, sumout};
use crate::{CASES, folder};

/// Leaves an output as a run leaves it that is interrupted after some bytes.
fn interrupt(folder: &Path, whole: &str, bytes: usize) {
    sumout(
        folder,
        &format!("eval lung.sumout bad.csv -o {whole} --skip-bad-rows"),
    );
    // The last row of bad.csv stops the run, and the chunk before it is written.
    let stopped = output(folder, &format!("eval lung.sumout bad.csv -o rest-{whole}"));
    assert_eq!(stopped.status.code(), Some(2));
    let part = folder.join(format!("rest-{whole}.partial"));
    let kept = fs::read(&part).unwrap();
    fs::write(&part, &kept[..bytes.min(kept.len())]).unwrap();
}

/// More rows than are in a chunk, the last of which is bad.
fn many_cases(folder: &Path) {
    let row = |i: usize| ["yes,no", "no,", ",yes", "no,no", "yes,yes"][i * i % 5];
    let rows: Vec<&str> = (0..5000).map(row).chain(["maybe,no"]).collect();
    fs::write(
        folder.join("bad.csv"),
        format!("xray,dysp\n{}\n", rows.join("\n")),
    )
    .unwrap();
}

#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    let folder = folder("eval-resume", CASES);
    many_cases(&folder);
    for (whole, cuts) in [
        ("a.csv", [0, 30, 41, 150, 9999]),
        ("a.npy", [0, 30, 128, 200, 9999]),
        ("a.parquet", [0, 30, 128, 200, 9999]),
    ] {
        for cut in cuts.into_iter().chain([usize::MAX]) {
            interrupt(&folder, whole, cut);
            let line =
                format!("eval lung.sumout bad.csv -o rest-{whole} --resume --skip-bad-rows --json");
            let seen: Value = serde_json::from_str(&sumout(&folder, &line)).unwrap();
            let rows = seen["resumed_after"].as_u64().unwrap();
            assert_eq!(rows > 0, cut >= 150, "{whole} cut at {cut}");
            assert_eq!(seen["rows"].as_u64().unwrap() + rows, 5001);
            let [found, expected] = [format!("rest-{whole}"), whole.into()]
                .map(|name| fs::read(folder.join(name)).unwrap());
            assert!(found == expected, "{whole} cut at {cut}");
        }
    }
    let left: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        left.iter()
            .all(|name| !name.to_string_lossy().contains("partial")),
        "{left:?}"
    );
}

#[test]
fn a_run_does_not_go_on_with_what_was_computed_from_something_else() {
    let folder = folder("eval-other", CASES);
    many_cases(&folder);
    sumout(
        &folder,
        "compile asia lung --given xray dysp --level classical --seed 3 -o other.sumout",
    );
    sumout(
        &folder,
        "compile asia bronc --given xray dysp -o bronc.sumout",
    );
    let text = fs::read_to_string(folder.join("bad.csv")).unwrap();
    fs::write(
        folder.join("changed.csv"),
        text.replacen("yes,no", "no,no", 1),
    )
    .unwrap();
    fs::write(folder.join("short.csv"), &text[..200]).unwrap();
    interrupt(&folder, "a.csv", usize::MAX);
    for (line, complaint) in [
        (
            "eval other.sumout bad.csv",
            "it was computed with another circuit",
        ),
        ("eval bronc.sumout bad.csv", "it has other columns"),
        (
            "eval lung.sumout bad.csv --precision f64",
            "it was computed with another precision",
        ),
        (
            "eval lung.sumout changed.csv",
            "was computed from other data",
        ),
        (
            "eval lung.sumout short.csv",
            "but the unfinished file was computed from",
        ),
    ] {
        let refused = output(
            &folder,
            &format!("{line} -o rest-a.csv --resume --skip-bad-rows"),
        );
        let stderr = String::from_utf8_lossy(&refused.stderr);
        assert!(
            refused.status.code() == Some(2) && stderr.contains(complaint),
            "{line}: {stderr}"
        );
    }
    fs::remove_file(folder.join("rest-a.csv.partial.journal")).unwrap();
    let refused = output(&folder, "eval lung.sumout bad.csv -o rest-a.csv --resume");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("it has no journal"));
}

#[test]
fn a_run_does_not_go_on_with_other_kept_cells() {
    let folder = folder("eval-kept", CASES);
    for (name, first, last) in [("bad", 0, "maybe"), ("good", 0, "no"), ("other", 7, "no")] {
        let row = |i: usize| format!("{},yes,no\n", i + first);
        let rows: String = (0..5000).map(row).collect();
        let text = format!("id,xray,dysp\n{rows}x,{last},no\n");
        fs::write(folder.join(format!("{name}.csv")), text).unwrap();
    }
    let line = |data| format!("eval lung.sumout {data}.csv --keep id -o a.csv");
    assert_eq!(output(&folder, &line("bad")).status.code(), Some(2));
    let refused = output(&folder, &format!("{} --resume", line("other")));
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(stderr.contains("was computed from other data"), "{stderr}");
    sumout(&folder, &format!("{} --resume", line("good")));
}

#[test]
fn a_run_that_is_killed_loses_nothing_that_was_written() {
    let folder = folder("eval-killed", CASES);
    sumout(
        &folder,
        "compile rect:6 label --given pixel_* -o rect.sumout",
    );
    sumout(
        &folder,
        "sample rect:6 -n 60000 --columns pixel_* -o pixels.npy",
    );
    sumout(&folder, "eval rect.sumout pixels.npy -o whole.csv");
    let line = "eval rect.sumout pixels.npy -o rest.csv --resume --threads 1 --json";
    for _ in 0..3 {
        let mut run = Command::new(env!("CARGO_BIN_EXE_sumout"));
        let run = run
            .args(line.split(' '))
            .current_dir(&folder)
            .stdout(std::process::Stdio::null());
        let mut run = run.spawn().unwrap();
        let size = |name: &str| fs::metadata(folder.join(name)).map_or(0, |found| found.len());
        let before = size("rest.csv.partial");
        while size("rest.csv.partial") <= before + 100_000 && run.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        run.kill().unwrap();
        run.wait().unwrap();
    }
    let rows = fs::read_to_string(folder.join("rest.csv.partial"))
        .map_or(0, |text| text.matches('\n').count());
    let seen: Value = serde_json::from_str(&sumout(&folder, line)).unwrap();
    assert_eq!(
        seen["resumed_after"].as_u64().unwrap(),
        rows.saturating_sub(1) as u64
    );
    assert!(
        fs::read(folder.join("rest.csv")).unwrap() == fs::read(folder.join("whole.csv")).unwrap()
    );
}
