//! `sumout eval --metric`: answers compared with labels, against sums that are made here.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::common::{empty_folder, output, refused, sumout};

fn metrics(folder: &Path, line: &str) -> Value {
    let report: Value = serde_json::from_str(&sumout(folder, &format!("{line} --json"))).unwrap();
    report["metrics"].clone()
}

fn close(found: &Value, expected: f64) {
    assert!(
        (found.as_f64().unwrap() - expected).abs() < 1e-12,
        "{found}, not {expected}"
    );
}

/// Accuracy, cross entropy and calibration error of posteriors with labels, none of them a tie or
/// impossible.
fn by_hand(rows: &[(Vec<f64>, usize)]) -> [f64; 3] {
    let n = rows.len() as f64;
    let best = |p: &[f64]| (0..p.len()).max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap();
    let right = |(p, label): &(Vec<f64>, usize)| f64::from(u8::from(best(p) == *label));
    let mut calibration = 0.0;
    for bin in 0..10 {
        let is_in =
            |(p, _): &&(Vec<f64>, usize)| ((p[best(p)] * 10.0).floor() as usize).min(9) == bin;
        let (mut confident, mut hits) = (0.0, 0.0);
        rows.iter().filter(is_in).for_each(|row| {
            confident += row.0[best(&row.0)];
            hits += right(row);
        });
        calibration += f64::abs(confident - hits) / n;
    }
    let entropy: f64 = rows.iter().map(|(p, label)| -p[*label].ln()).sum();
    [
        rows.iter().map(right).sum::<f64>() / n,
        entropy / n,
        calibration,
    ]
}

#[test]
fn metrics_are_the_sums_over_all_rows_in_all_kinds_of_files() {
    let folder = empty_folder("metric-files");
    sumout(
        &folder,
        "compile rect:6 label --given pixel_* --effort 0.1 -o rect.sumout",
    );
    for name in ["test.csv", "test.npy", "test.parquet"] {
        sumout(
            &folder,
            &format!("data rect:6 -n 1500 --test --seed 2 -o {name}"),
        );
    }
    let file = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    for name in ["test.csv", "test.npy", "test.parquet"] {
        let found = metrics(
            &folder,
            &format!("eval rect.sumout {name} --metric --precision f64 -o rows.csv"),
        );
        let labels = file("test.csv");
        let labels = labels
            .lines()
            .skip(1)
            .map(|row| usize::from(row.ends_with("wide")));
        let posterior = |row: &str| row.split(',').take(2).map(|x| x.parse().unwrap()).collect();
        let rows: Vec<(Vec<f64>, usize)> = file("rows.csv")
            .lines()
            .skip(1)
            .map(posterior)
            .zip(labels)
            .collect();
        let [accuracy, cross_entropy, calibration] = by_hand(&rows);
        assert!(accuracy > 0.9 && accuracy < 1.0);
        close(&found["accuracy"], accuracy);
        close(&found["cross_entropy"], cross_entropy);
        close(&found["calibration"]["expected_error"], calibration);
        let count = |label: usize, tall: bool| {
            Value::from(
                rows.iter()
                    .filter(|(p, l)| *l == label && (p[0] > p[1]) == tall)
                    .count(),
            )
        };
        let counts = &found["confusion"]["counts"];
        assert_eq!(
            [&counts[0][0], &counts[0][1]],
            [&count(0, true), &count(0, false)]
        );
        assert_eq!(
            [&counts[1][0], &counts[1][1]],
            [&count(1, true), &count(1, false)]
        );
        assert_eq!(
            (&found["rows"], &found["unlabelled"]),
            (&Value::from(1500), &Value::from(0))
        );
    }
}

/// A coin, of which `a` says nothing, `b` is impossible, `c` says a little, and `d` all.
const COIN: &str = "network coin {}

variable coin { type discrete [ 2 ] { heads, tails }; }
variable seen { type discrete [ 5 ] { a, b, c, d, e }; }
probability ( coin ) { table 0.5, 0.5; }
probability ( seen | coin ) {
  (heads) 0.25, 0.0, 0.5, 0.25, 0.0;
  (tails) 0.25, 0.0, 0.25, 0.0, 0.5;
}
";

/// A tie, one that is impossible, right and wrong, a label of probability zero, and one without a
/// label.
const SEEN: &str = "seen,coin\na,heads\nb,tails\nc,heads\nc,tails\nd,tails\ne,\n";

#[test]
fn ties_and_impossible_rows_are_wrong_and_rows_without_a_label_do_not_count() {
    let folder = empty_folder("metric-coin");
    fs::write(folder.join("coin.bif"), COIN).unwrap();
    fs::write(folder.join("seen.csv"), SEEN).unwrap();
    sumout(&folder, "compile coin.bif coin --given seen -o coin.sumout");
    let found = metrics(
        &folder,
        "eval coin.sumout seen.csv --metric --precision f64",
    );
    assert_eq!(
        [&found["rows"], &found["unlabelled"], &found["impossible"]],
        [5, 1, 1].map(Value::from).each_ref()
    );
    close(&found["accuracy"], 0.2);
    let epsilon = f64::from(f32::EPSILON);
    let product: f64 = 0.5 * epsilon * (2.0 / 3.0) * (1.0 / 3.0) * epsilon;
    close(&found["cross_entropy"], -product.ln() / 5.0);
    close(
        &found["calibration"]["expected_error"],
        (0.5 + (4.0f64 / 3.0 - 1.0) + 1.0) / 4.0,
    );
    let counts: Value = serde_json::from_str("[[1,0],[2,0]]").unwrap();
    assert_eq!(
        (
            &found["confusion"]["counts"],
            found["confusion"]["undecided"].to_string()
        ),
        (&counts, "[1,1]".into())
    );
    let bins = found["calibration"]["bins"].as_array().unwrap();
    let rows: Vec<u64> = bins
        .iter()
        .map(|bin| bin["rows"].as_u64().unwrap())
        .collect();
    assert_eq!(rows, [0, 0, 0, 0, 0, 1, 2, 0, 0, 1]);
    assert_eq!(
        (bins[3]["accuracy"].clone(), bins[3]["from"].clone()),
        (Value::Null, Value::from(0.3))
    );

    let Output { stdout, stderr, .. } = output(
        &folder,
        "eval coin.sumout seen.csv --metric accuracy,confusion",
    );
    let expected = "accuracy  0.2000  (1 of 5)

label / answer  heads  tails  undecided
heads               1      0          1
tails               2      0          1
";

    assert_eq!(String::from_utf8(stdout).unwrap(), expected);
    let stderr = String::from_utf8(stderr).unwrap();
    assert!(
        stderr.contains("not counted, because they have no label: 1 row\n"),
        "{stderr}"
    );
    assert!(
        stderr.contains("impossible, and counted as wrong: 1 row\n"),
        "{stderr}"
    );
    let only = metrics(&folder, "eval coin.sumout seen.csv --metric cross_entropy");
    assert!(
        only["cross_entropy"].is_number()
            && only.get("accuracy").is_none()
            && only.get("confusion").is_none()
    );
}

#[test]
fn answers_are_written_as_without_metrics_but_only_to_a_file() {
    let folder = empty_folder("metric-rows");
    fs::write(folder.join("coin.bif"), COIN).unwrap();
    fs::write(folder.join("seen.csv"), SEEN).unwrap();
    sumout(&folder, "compile coin.bif coin --given seen -o coin.sumout");
    let rows = sumout(&folder, "eval coin.sumout seen.csv");
    let text = sumout(
        &folder,
        "eval coin.sumout seen.csv --metric accuracy -o rows.csv",
    );
    assert_eq!(text, "accuracy  0.2000  (1 of 5)\n");
    assert_eq!(fs::read_to_string(folder.join("rows.csv")).unwrap(), rows);
    assert_eq!(
        sumout(&folder, "eval coin.sumout seen.csv --metric accuracy"),
        text
    );
}

#[test]
fn mistakes_say_what_is_missing() {
    let folder = empty_folder("metric-mistakes");
    fs::write(folder.join("coin.bif"), COIN).unwrap();
    sumout(&folder, "compile coin.bif coin --given seen -o coin.sumout");
    sumout(&folder, "compile coin.bif --given seen -o all.sumout");
    sumout(&folder, "compile coin.bif --mpe --given seen -o mpe.sumout");
    sumout(&folder, "sample coin.bif -n 9 --columns seen -o seen.npy");
    sumout(&folder, "sample coin.bif -n 9 -o both.npy");
    let metric = |circuit: &str, cases: &str| {
        fs::write(folder.join("cases.csv"), cases).unwrap();
        refused(&folder, &format!("eval {circuit} cases.csv --metric"))
    };
    let told = |text: &str, parts: [&str; 2]| {
        assert!(parts.iter().all(|part| text.contains(part)), "{text}")
    };
    told(
        &metric("coin.sumout", "seen\na\n"),
        [
            "`cases.csv`: there is no column `coin` for labels",
            "true values of `coin`",
        ],
    );
    told(
        &metric("coin.sumout", "coin\nheads\n"),
        [
            "no column is an input of the circuit",
            "like variables: seen",
        ],
    );
    told(
        &metric("coin.sumout", "seen,coin\na,edge\n"),
        ["row 1: `coin` has no value `edge`", "are heads, tails"],
    );
    told(
        &metric("coin.sumout", "seen,coin\na,\n"),
        ["no row has a label", "values of `coin`"],
    );
    told(
        &metric("coin.sumout", "seen,coin\n"),
        ["no row has a label", "values of `coin`"],
    );
    told(
        &metric("coin.sumout", "seen,coin,coin\na,heads,heads\n"),
        ["two columns are called `coin`", "one column"],
    );
    told(
        &metric("all.sumout", SEEN),
        [
            "metrics are of one target, but the circuit has 2",
            "compile it with a target",
        ],
    );
    told(
        &metric("mpe.sumout", SEEN),
        ["the circuit is for explanations", "without `--mpe`"],
    );
    let matrix = refused(&folder, "eval coin.sumout seen.npy --metric");
    told(
        &matrix,
        [
            "its shape is [9, 1], but there are 2 variables",
            "and a last one of labels",
        ],
    );
    told(
        &refused(&folder, "eval coin.sumout both.npy"),
        ["its shape is [9, 2]", "only with `--metric`"],
    );
    told(
        &refused(&folder, "eval coin.sumout cases.csv --metric speed"),
        ["'speed'", "cross_entropy"],
    );
    refused(
        &folder,
        "eval coin.sumout cases.csv -o rows.csv --resume --metric",
    );
    fs::write(folder.join("cases.csv"), "seen,coin\na,edge\nd,heads\n").unwrap();
    assert_eq!(
        metrics(
            &folder,
            "eval coin.sumout cases.csv --skip-bad-rows --metric"
        )["accuracy"],
        Value::from(1.0)
    );
}
