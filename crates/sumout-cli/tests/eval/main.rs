//! `sumout eval`, `sumout export` and `sumout bench`: files of rows in, posteriors out.

#[path = "../common/mod.rs"]
mod common;
mod export;
mod metric;
mod parquet;
mod resume;
mod rows;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use common::{empty_folder, output, sumout};

/// A folder with a circuit for P(lung | xray, dysp), and cases in `cases.csv`.
fn folder(name: &str, cases: &str) -> PathBuf {
    let folder = empty_folder(name);
    fs::write(folder.join("cases.csv"), cases).unwrap();
    sumout(
        &folder,
        "compile asia lung --given xray dysp -o lung.sumout",
    );
    folder
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

/// A variable with too many values for a byte, and one with few, in all formats.
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
