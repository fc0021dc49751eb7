//! `sumout eval` and `sumout bench`: files of rows in, posteriors out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A folder with a circuit for P(lung | xray, dysp), and cases in `cases.csv`.
fn folder(name: &str, cases: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("cases.csv"), cases).unwrap();
    sumout(
        &folder,
        "compile asia lung --given xray dysp -o lung.sumout",
    );
    folder
}

fn output(folder: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sumout"))
        .args(line.split(' '))
        .current_dir(folder)
        .output()
        .unwrap()
}

fn sumout(folder: &Path, line: &str) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = output(folder, line);
    assert!(
        status.success(),
        "sumout {line}: {}",
        String::from_utf8_lossy(&stderr)
    );
    String::from_utf8(stdout).unwrap()
}

const CASES: &str = "dysp,name,xray\nno,first,yes\n,second,yes\nyes,third,\nno,fourth,no\n";

#[test]
fn every_row_is_answered_as_a_query_is() {
    let folder = folder("eval-rows", CASES);
    let rows = sumout(&folder, "eval lung.sumout cases.csv --precision f64");
    let given = [
        "xray=yes dysp=no",
        "xray=yes",
        "dysp=yes",
        "xray=no dysp=no",
    ];
    assert_eq!(
        rows.lines().next(),
        Some("lung=yes,lung=no,log_evidence,impossible")
    );
    for (row, given) in rows.lines().skip(1).zip(given) {
        let answer: Value = serde_json::from_str(&sumout(
            &folder,
            &format!("query asia lung --json --given {given}"),
        ))
        .unwrap();
        let numbers: Vec<f64> = row.split(',').take(3).map(|x| x.parse().unwrap()).collect();
        let expected = [
            &answer["posteriors"]["lung"]["yes"],
            &answer["posteriors"]["lung"]["no"],
            &answer["log_evidence"],
        ];
        for (x, expected) in numbers.iter().zip(expected) {
            assert!(
                (x - expected.as_f64().unwrap()).abs() < 1e-12,
                "{given}: {row}"
            );
        }
        assert!(row.ends_with(",false"));
    }
    assert_eq!(rows.lines().count(), 5);
}

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

#[test]
fn numpy_files_are_read_and_written() {
    let folder = folder("eval-npy", CASES);
    let header = |kind: &str, rows: usize| {
        let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({rows}, 2), }}");
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        bytes.extend(format!("{text:<117}\n").bytes());
        bytes
    };
    // In the order of the network: xray, dysp.
    let cells: [i8; 8] = [0, 1, 0, -1, -1, 0, 1, 1];
    fs::write(
        folder.join("cases.npy"),
        [header("|i1", 4), cells.iter().map(|&x| x as u8).collect()].concat(),
    )
    .unwrap();
    sumout(&folder, "eval lung.sumout cases.npy -o posteriors.npy");
    let text = sumout(&folder, "eval lung.sumout cases.csv");
    let first = text.lines().nth(1).unwrap();
    assert!(
        first.split(',').take(2).all(|x| x.len() <= 12),
        "more digits than 32 bits have: {first}"
    );
    let expected: Vec<f64> = text
        .lines()
        .skip(1)
        .flat_map(|row| row.split(',').take(3))
        .map(|x| x.parse().unwrap())
        .collect();
    let bytes = fs::read(folder.join("posteriors.npy")).unwrap();
    assert!(bytes[..128].windows(6).any(|w| w == b"(4, 4)"));
    let numbers: Vec<f64> = bytes[128..]
        .chunks_exact(8)
        .map(|x| f64::from_le_bytes(x.try_into().unwrap()))
        .collect();
    let without_flags: Vec<f64> = numbers
        .chunks_exact(4)
        .flat_map(|row| row[..3].to_vec())
        .collect();
    assert!(
        without_flags
            .iter()
            .zip(&expected)
            .all(|(a, b)| (a - b).abs() < 1e-7),
        "{without_flags:?} {expected:?}"
    );

    let floats = [header("<f8", 4), vec![0; 64]].concat();
    for (bytes, complaint) in [
        (floats, "numbers of kind <f8"),
        (b"nothing".to_vec(), "ends too early"),
    ] {
        fs::write(folder.join("wrong.npy"), bytes).unwrap();
        let refused = output(&folder, "eval lung.sumout wrong.npy");
        assert_eq!(refused.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&refused.stderr).contains(complaint));
    }
}

/// Positions are kept in bytes, whatever they are written in; a number that is none is named as it
/// stands.
#[test]
fn numbers_of_all_kinds_are_read_and_those_that_are_no_positions_are_named() {
    let folder = folder("eval-kinds", CASES);
    let expected = sumout(&folder, "eval lung.sumout cases.csv");
    let kinds = [
        ("|i1", 1, 100i64),
        ("|u1", 1, 200),
        ("<i2", 2, 300),
        ("<i4", 4, 70_000),
        ("<i8", 8, 5_000_000_000),
    ];
    for (kind, bytes, large) in kinds {
        let missing = if kind == "|u1" { large } else { -7 };
        let cells = [0, 1, 0, missing, missing, 0, 1, 1, 0, large];
        let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': (5, 2), }}");
        let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        file.extend(format!("{text:<117}\n").bytes());
        file.extend(
            cells
                .iter()
                .flat_map(|cell| cell.to_le_bytes().into_iter().take(bytes)),
        );
        fs::write(folder.join("cases.npy"), file).unwrap();
        let found = output(&folder, "eval lung.sumout cases.npy --skip-bad-rows");
        let (rows, talk) = (
            String::from_utf8(found.stdout).unwrap(),
            String::from_utf8(found.stderr).unwrap(),
        );
        assert!(
            talk.contains(&format!(
                "row 5 is left empty: `dysp` has no value {large}, only 2 values"
            )),
            "{talk}"
        );
        let same = |row: &usize| rows.lines().nth(*row) == expected.lines().nth(*row);
        assert!(
            [1, 4].iter().all(same) && (missing == large || [2, 3].iter().all(same)),
            "{kind}: {rows}"
        );
    }
}

/// A variable with so many values that a byte is not enough, and one with few, in all formats.
#[test]
fn variables_with_many_values_are_read_as_others_are() {
    let folder = folder("eval-wide", CASES);
    let values: Vec<String> = (0..200).map(|i| format!("v{i}")).collect();
    let row = |i: usize| {
        format!(
            "  (v{i}) {}, {};\n",
            i as f64 / 256.0,
            1.0 - i as f64 / 256.0
        )
    };
    let flat = vec!["0.005"; 200].join(", ");
    let text = format!(
        "network wide {{ }}\nvariable a {{ type discrete [200] {{ {} }}; }}\n\
         variable b {{ type discrete [2] {{ t, f }}; }}\nvariable c {{ type discrete [2] {{ t, f }}; }}\n\
         probability (a) {{ table {flat}; }}\nprobability (b | a) {{\n{}}}\n\
         probability (c | a) {{\n{}}}\n",
        values.join(", "),
        (0..200).map(row).collect::<String>(),
        (0..200).rev().map(row).collect::<String>(),
    );
    fs::write(folder.join("wide.bif"), text).unwrap();
    sumout(&folder, "compile wide.bif b --given a c -o wide.sumout");
    for kind in ["csv", "npy", "parquet"] {
        sumout(
            &folder,
            &format!("sample wide.bif -n 700 --columns a c -o cases.{kind}"),
        );
        sumout(
            &folder,
            &format!("eval wide.sumout cases.{kind} -o from-{kind}.csv"),
        );
    }
    let read = |kind: &str| fs::read_to_string(folder.join(format!("from-{kind}.csv"))).unwrap();
    assert_eq!(read("csv").lines().count(), 701);
    let first = fs::read_to_string(folder.join("cases.csv"))
        .unwrap()
        .lines()
        .nth(1)
        .unwrap()
        .to_owned();
    let a: f64 = first[1..first.find(',').unwrap()].parse().unwrap();
    let b: f64 = read("csv")
        .lines()
        .nth(1)
        .unwrap()
        .split(',')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!((b - a / 256.0).abs() < 1e-6, "{first}: {b}");
    assert!(read("csv") == read("npy") && read("csv") == read("parquet"));
}

#[test]
fn bad_rows_are_named_and_stop_the_run_unless_they_are_skipped() {
    let folder = folder("eval-bad", "xray,dysp\nyes,no\nmaybe,no\nno,no\n");
    let refused = output(&folder, "eval lung.sumout cases.csv -o posteriors.csv");
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("row 2: `xray` has no value `maybe`")
    );
    let Output { stdout, stderr, .. } =
        output(&folder, "eval lung.sumout cases.csv --skip-bad-rows");
    let rows = String::from_utf8(stdout).unwrap();
    assert_eq!(rows.lines().nth(2), Some(",,,"));
    assert!(String::from_utf8_lossy(&stderr).contains("row 2 is left empty"));
    fs::write(folder.join("cases.csv"), "id,label\n1,2\n").unwrap();
    let refused = output(&folder, "eval lung.sumout cases.csv");
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("no column is an input of the circuit")
    );
}

#[test]
fn rows_of_other_lengths_and_promises_that_are_not_kept_are_bad_rows() {
    let folder = folder("eval-ragged", "xray,dysp\nyes\nyes,no,no\nyes,no\n,no\n");
    sumout(
        &folder,
        "compile asia lung --given dysp --hard xray -o hard.sumout",
    );
    let stderr = |line: &str| String::from_utf8(output(&folder, line).stderr).unwrap();
    assert!(
        stderr("eval lung.sumout cases.csv")
            .contains("row 1: it has 1 cells, but the header has 2")
    );
    let skipped = stderr("eval hard.sumout cases.csv --skip-bad-rows");
    assert!(
        skipped.contains("row 4 is left empty: `xray` is missing") && skipped.contains("3 bad"),
        "{skipped}"
    );
    fs::write(folder.join("cases.csv"), "dysp\nno\n").unwrap();
    assert!(stderr("eval hard.sumout cases.csv").contains("there is no column `xray`"));
    assert!(
        stderr("eval lung.sumout cases.csv")
            .contains("inputs without a column are missing in all rows: xray")
    );
}

#[test]
fn answers_never_take_the_place_of_what_they_are_computed_from() {
    let folder = folder("eval-overwrite", CASES);
    for victim in ["cases.csv", "lung.sumout"] {
        let before = fs::read(folder.join(victim)).unwrap();
        let refused = output(
            &folder,
            &format!("eval lung.sumout cases.csv -o ./{victim}"),
        );
        assert!(String::from_utf8_lossy(&refused.stderr).contains("would be overwritten"));
        assert_eq!(fs::read(folder.join(victim)).unwrap(), before);
    }
}

#[test]
fn what_is_no_value_is_a_bad_row_whatever_its_bytes_and_blank_lines_of_one_column_are_rows() {
    let folder = folder("eval-bytes", CASES);
    fs::write(
        folder.join("cases.csv"),
        b"dysp,note,xray\nno,\xff\xfe,yes\nno,a,\xff\n\nno,\"b\n,c\",no\n",
    )
    .unwrap();
    let Output { stdout, stderr, .. } =
        output(&folder, "eval lung.sumout cases.csv --skip-bad-rows");
    let rows = String::from_utf8(stdout).unwrap();
    assert_eq!(
        rows.lines().map(|row| row == ",,,").collect::<Vec<_>>(),
        [false, false, true, false]
    );
    assert!(
        String::from_utf8_lossy(&stderr)
            .contains("row 2 is left empty: `xray` has no value `\u{fffd}`")
    );
    fs::write(
        folder.join("cases.csv"),
        "\u{feff}xray\r\nyes\r\n\r\nno\r\n",
    )
    .unwrap();
    let rows = sumout(&folder, "eval lung.sumout cases.csv");
    assert_eq!(rows.lines().count(), 4);
    assert!(rows.lines().nth(2).unwrap().starts_with("0.055"), "{rows}");
}

#[test]
fn mistakes_come_with_what_was_meant() {
    let folder = folder("eval-meant", "xry,dysp\nyes,no\n");
    let stderr = |line: &str| String::from_utf8(output(&folder, line).stderr).unwrap();
    assert!(
        stderr("eval lung.sumout cases.csv").contains("are ignored: xry (did you mean `xray`?)")
    );
    sumout(&folder, "convert asia asia.bif");
    for network in ["asia.bif", "asia"] {
        let told = stderr(&format!("eval {network} cases.csv"));
        assert!(
            told.contains(&format!("`{network}` is a network")) && told.contains("sumout compile"),
            "{told}"
        );
    }
    assert!(stderr("compile asia lung --order nofile.txt").contains("cannot read `nofile.txt`"));
}

#[test]
fn without_a_target_the_inputs_are_those_that_are_given() {
    let folder = folder("eval-all", "xray,dysp,lung\nyes,no,yes\n");
    sumout(&folder, "compile asia --given xray dysp -o all.sumout");
    let rows = sumout(&folder, "eval all.sumout cases.csv --precision f64");
    let lung: f64 = rows
        .lines()
        .nth(1)
        .unwrap()
        .split(',')
        .nth(6)
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(
        rows.lines().next().unwrap().split(',').nth(6),
        Some("lung=yes")
    );
    assert!((lung - 0.2523).abs() < 1e-4, "{rows}");
}

#[test]
fn explanations_of_rows_are_those_of_single_questions() {
    let folder = folder(
        "eval-mpe",
        "dysp,name,xray,tub,either\nno,first,yes,,\n,second,yes,,\nyes,third,,,\n,,,yes,no\n,,,,odd\n",
    );
    sumout(
        &folder,
        "compile asia --mpe --given xray dysp tub either -o case.sumout",
    );
    let rows = sumout(&folder, "eval case.sumout cases.csv --skip-bad-rows");
    let titles: Vec<&str> = rows.lines().next().unwrap().split(',').collect();
    assert_eq!(
        titles,
        [
            "asia",
            "tub",
            "smoke",
            "lung",
            "bronc",
            "either",
            "xray",
            "dysp",
            "log_probability",
            "impossible"
        ]
    );
    for (row, given) in rows
        .lines()
        .skip(1)
        .zip(["xray=yes dysp=no", "xray=yes", "dysp=yes"])
    {
        let single: Value = serde_json::from_str(&sumout(
            &folder,
            &format!("mpe asia --json --given {given}"),
        ))
        .unwrap();
        let cells: Vec<&str> = row.split(',').collect();
        for (name, cell) in titles.iter().zip(&cells[..8]) {
            assert_eq!(
                single["assignment"][name].as_str(),
                Some(*cell),
                "{given}: {row}"
            );
        }
        let log: f64 = cells[8].parse().unwrap();
        assert!(
            (log - single["log_probability"].as_f64().unwrap()).abs() < 1e-12,
            "{given}: {row}"
        );
        assert_eq!(cells[9], "false");
    }
    assert_eq!(
        rows.lines().skip(4).collect::<Vec<_>>(),
        [",,,,,,,,,true", ",,,,,,,,,"]
    );

    sumout(
        &folder,
        "eval case.sumout cases.csv --skip-bad-rows -o case.npy",
    );
    let bytes = fs::read(folder.join("case.npy")).unwrap();
    assert!(bytes[..128].windows(7).any(|w| w == b"(5, 10)"));
    let numbers: Vec<f64> = bytes[128..]
        .chunks_exact(8)
        .map(|x| f64::from_le_bytes(x.try_into().unwrap()))
        .collect();
    let first: Vec<&str> = numbers[..8]
        .iter()
        .map(|&x| ["yes", "no"][x as usize])
        .collect();
    assert_eq!(
        rows.lines()
            .nth(1)
            .unwrap()
            .split(',')
            .take(8)
            .collect::<Vec<_>>(),
        first
    );
    assert!(
        numbers[30..38].iter().all(|&x| x == -1.0)
            && numbers[39] == 1.0
            && numbers[40..].iter().all(|x| x.is_nan())
    );

    let refused = output(&folder, "export case.sumout -o case.py");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("the circuit is for explanations"));
    assert_eq!(
        output(&folder, "compile asia lung --mpe --given xray")
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn exported_models_are_one_file_and_programs_two() {
    let folder = folder("export", CASES);
    sumout(
        &folder,
        "compile asia lung --given xray dysp -o lung.sumout",
    );
    let said = sumout(&folder, "export lung.sumout -o lung.onnx --json");
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        (&said["program"], &said["numbers"]),
        (&Value::from("lung.onnx"), &Value::Null)
    );
    assert!(
        fs::read(folder.join("lung.onnx"))
            .unwrap()
            .windows(6)
            .any(|bytes| bytes == b"Einsum")
    );
    assert!(!folder.join("lung.safetensors").exists());
    for (options, said) in [
        (
            "-o lung.py --precision f64",
            "`--precision` is for ONNX models",
        ),
        (
            "-o lung.onnx --to jax --likelihoods",
            "`--likelihoods` is for ONNX models",
        ),
    ] {
        let refused = output(&folder, &format!("export lung.sumout {options}"));
        assert!(
            String::from_utf8_lossy(&refused.stderr).contains(said),
            "{options}"
        );
        assert_eq!(refused.status.code(), Some(2));
    }
    sumout(&folder, "compile asia lung --hard xray -o hard.sumout");
    let refused = output(&folder, "export hard.sumout -o hard.onnx --likelihoods");
    assert!(
        String::from_utf8_lossy(&refused.stderr)
            .contains("`xray` needs values and takes no likelihoods")
    );
}

#[test]
fn bench_has_the_fields_that_scripts_read() {
    let folder = folder("bench", CASES);
    let found = sumout(
        &folder,
        "bench asia lung --given xray dysp --batch 32 --threads 1 --json",
    );
    let found: Value = serde_json::from_str(&found).unwrap();
    for field in [
        "seconds_per_example",
        "backward_seconds_per_example",
        "flops",
        "peak_flops",
        "peak_bytes_per_second",
    ] {
        assert!(found[field].as_f64().unwrap() >= 0.0, "{field}");
    }
    assert_eq!(
        (&found["batch"], &found["threads"]),
        (&Value::from(32), &Value::from(1))
    );
    assert!(found["entries"].as_u64().unwrap() > 0 && found["level"].is_string());
}
