//! Rows and columns that are wrong.

use std::fs;
use std::process::Output;

use serde_json::Value;

use crate::common::{output, sumout};
use crate::{CASES, folder};

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
        stderr("eval lung.sumout cases.csv").contains("not inputs: xry (did you mean `xray`?)")
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
fn the_best_explanations_of_rows_are_those_of_single_cases() {
    let folder = folder("eval-best", CASES);
    sumout(&folder, "compile asia --mpe -o best.sumout");
    let rows = sumout(&folder, "eval best.sumout cases.csv -k 3");
    let header: Vec<&str> = rows.lines().next().unwrap().split(',').collect();
    let places = ["log_probability", "log_probability.2", "log_probability.3"];
    let columns = places.map(|name| header.iter().position(|title| *title == name).unwrap());
    assert_eq!(
        (header[8], header[17], header.len()),
        ("asia.2", "asia.3", 28)
    );
    let given = [
        "xray=yes dysp=no",
        "xray=yes",
        "dysp=yes",
        "xray=no dysp=no",
    ];
    for (row, given) in rows.lines().skip(1).zip(given) {
        let answer = sumout(&folder, &format!("mpe asia -k 3 --json --given {given}"));
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let cells: Vec<&str> = row.split(',').collect();
        for (place, &column) in columns.iter().enumerate() {
            let expected = &answer["explanations"][place]["log_probability"];
            let found: f64 = cells[column].parse().unwrap();
            assert!(
                (found - expected.as_f64().unwrap()).abs() < 1e-9,
                "{row} {answer}"
            );
        }
    }
    sumout(&folder, "eval best.sumout cases.csv -k 200 -o best.parquet");
    let few = sumout(&folder, "eval best.sumout cases.csv -k 200");
    assert!(few.contains(",,"), "fewer are possible: {few}");
}
