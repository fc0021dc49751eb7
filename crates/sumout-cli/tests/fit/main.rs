//! `sumout fit`: files of examples in, networks and circuits out.

#[path = "../common/mod.rs"]
mod common;
mod labels;
mod mistakes;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use sumout::Network;

use common::{empty_folder, output, refused, sumout};

/// A folder with training and test images of small rectangles.
fn folder(name: &str) -> PathBuf {
    let folder = empty_folder(name);
    sumout(&folder, "data rect:6 -n 120 -o train.csv");
    sumout(&folder, "data rect:6 -n 200 --test --seed 1 -o test.csv");
    folder
}

#[test]
fn what_is_learned_classifies_what_was_not_seen() {
    let folder = folder("fit-rect");
    let line = "fit rect:6 train.csv --target label -o learned.json -o label.sumout --curve curve.svg --json";
    let report: Value = serde_json::from_str(&sumout(&folder, line)).unwrap();
    assert_eq!(report["parameters"], 60);
    let metrics = |circuit: &str| -> Value {
        let text = sumout(&folder, &format!("eval {circuit} test.csv --metric --json"));
        serde_json::from_str::<Value>(&text).unwrap()["metrics"].clone()
    };
    assert!(metrics("label.sumout")["accuracy"].as_f64().unwrap() > 0.9);
    // The network that was written is what the circuit was trained for.
    sumout(
        &folder,
        "compile learned.json label --given pixel_* -o again.sumout",
    );
    let [a, b] =
        ["label.sumout", "again.sumout"].map(|c| metrics(c)["cross_entropy"].as_f64().unwrap());
    assert!((a - b).abs() < 1e-4, "{a} {b}");
    let curve = fs::read_to_string(folder.join("curve.svg")).unwrap();
    // Two curves, each with those of the eight starts, and a dot.
    assert!(curve.contains("accuracy") && curve.matches("<polyline").count() == 2 * 9);
    assert_eq!(curve.matches("<circle").count(), 2);
    assert!(!folder.join("learned.json.checkpoint").exists());
}

/// The number of epochs in a checkpoint, which is complete whenever a run is killed.
fn epochs(checkpoint: &Path) -> usize {
    let Ok(text) = fs::read_to_string(checkpoint) else {
        return 0;
    };
    serde_json::from_str::<Value>(&text).unwrap()["state"]["history"]
        .as_array()
        .unwrap()
        .len()
}

/// A run that is killed at any moment, and goes on, loses no epoch but the one it was in, and ends
/// with the same bytes as one that is not killed.
#[test]
fn a_killed_run_goes_on_to_the_same_end() {
    let folder = folder("fit-killed");
    let line =
        "fit rect:6 train.csv --target label --seed 3 --starts 2 --epochs 400 --patience 400";
    sumout(&folder, &format!("{line} -o whole.json"));
    let killed = format!("{line} -o killed.json --resume");
    let checkpoint = folder.join("killed.json.checkpoint");
    for delay in [0, 3, 11, 29, 53, 0, 17] {
        let before = epochs(&checkpoint);
        let mut run = Command::new(env!("CARGO_BIN_EXE_sumout"))
            .args(killed.split(' '))
            .current_dir(&folder)
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while run.try_wait().unwrap().is_none() && epochs(&checkpoint) == before {
            sleep(Duration::from_millis(1));
        }
        sleep(Duration::from_millis(delay));
        let reached = epochs(&checkpoint);
        let _ = run.kill();
        if !run.wait().unwrap().success() {
            assert!(
                epochs(&checkpoint) >= reached && reached > before,
                "{before} {reached}"
            );
        }
    }
    assert!(
        (7..400).contains(&epochs(&checkpoint)),
        "the runs were not killed in the middle"
    );
    for other in ["--rate 0.01", "--freeze row", "--precision f64"] {
        let found = refused(&folder, &format!("{line} {other} -o killed.json --resume"));
        assert!(found.contains("belongs to another run"), "{other}: {found}");
    }
    let before = epochs(&checkpoint);
    fs::write(folder.join("killed.json.checkpoint.1-2.part"), "half of").unwrap();
    let Output { stderr, .. } = output(&folder, &killed);
    let stderr = String::from_utf8(stderr).unwrap();
    assert!(
        stderr.contains(&format!("resuming after {before} epochs")),
        "{stderr}"
    );
    assert_eq!(
        fs::read(folder.join("whole.json")).unwrap(),
        fs::read(folder.join("killed.json")).unwrap()
    );
    let left = fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap());
    assert!(
        !left.into_iter().any(|name| name.contains("checkpoint")),
        "nothing of it is left"
    );
}

/// y is a function of x, nobody knows which.
const PROMISE: &str = r#"{"sumout": 1, "kind": "bayes", "name": "promise", "variables": [
  {"name": "u", "values": ["0", "1", "2"]}, {"name": "x", "values": ["t", "f"]},
  {"name": "a", "values": ["t", "f"]}, {"name": "b", "values": ["t", "f"]}], "cpts": [
  {"child": "u", "parents": [], "table": [0.2, 0.3, 0.5], "fixed": true},
  {"child": "x", "parents": ["u"], "table": [[0.6, 0.4], [0.5, 0.5], [0.4, 0.6]], "functional": true},
  {"child": "a", "parents": ["u", "x"], "table": [[0.9, 0.1], [0.3, 0.7], [0.8, 0.2], [0.5, 0.5], [0.4, 0.6], [0.1, 0.9]], "fixed": true},
  {"child": "b", "parents": ["u", "x"], "table": [[0.7, 0.3], [0.2, 0.8], [0.6, 0.4], [0.1, 0.9], [0.9, 0.1], [0.3, 0.7]], "fixed": true}]}"#;

/// A CPT that is declared functional and learned: the report gives the distance of the circuit from the network, until
/// both are the same.
#[test]
fn unknown_functions_are_checked_and_snapped() {
    let folder = folder("fit-promise");
    fs::write(folder.join("promise.json"), PROMISE).unwrap();
    sumout(
        &folder,
        "sample promise.json -n 200 --columns u a b -o cases.csv",
    );
    let line = "fit promise.json cases.csv --level paper --epochs 5 --json -o learned.json";
    let report = |line: &str| -> Value { serde_json::from_str(&sumout(&folder, line)).unwrap() };
    for target in ["--target u -o u.sumout", ""] {
        let plain = report(format!("{line} {target}").trim_end());
        assert!(
            plain["promised"]["difference"]["largest"].as_f64().unwrap() > 1e-3,
            "{plain}"
        );
        assert!(plain["promised"]["snapped"].is_null());
        let snapped = report(format!("{line} --snap {target}").trim_end());
        assert!(
            snapped["promised"]["difference"]["largest"]
                .as_f64()
                .unwrap()
                < 1e-9,
            "{snapped}"
        );
        assert_eq!(snapped["promised"]["difference"]["unthinned"], true);
        assert!(snapped["promised"]["snapped"]["loss"].as_f64().unwrap() > 0.0);
    }
    let learned = Network::read(folder.join("learned.json")).unwrap();
    assert!(learned.cpts()[learned.find("x").unwrap().index()].is_functional());
    let text = sumout(
        &folder,
        "fit promise.json cases.csv --level paper --epochs 5 -o x.json --target u",
    );
    assert!(
        text.contains("functions    not snapped: posteriors of the network differ"),
        "{text}"
    );
}

/// Several targets are learned together, and each gets a circuit.
#[test]
fn each_target_has_its_circuit() {
    let folder = folder("fit-targets");
    sumout(&folder, "sample asia -n 300 -o cases.csv");
    sumout(
        &folder,
        "fit asia cases.csv --target lung bronc --given smoke xray dysp -o both.json -o lung.sumout -o bronc.sumout",
    );
    for target in ["lung", "bronc"] {
        let metrics = sumout(
            &folder,
            &format!("eval {target}.sumout cases.csv --metric --json"),
        );
        let metrics: Value = serde_json::from_str(&metrics).unwrap();
        assert_eq!(metrics["metrics"]["target"], target);
        assert!(metrics["metrics"]["accuracy"].as_f64().unwrap() > 0.75);
    }
    let found = refused(
        &folder,
        "fit asia cases.csv --target lung -o a.sumout -o b.sumout",
    );
    assert!(found.contains("2 circuits for 1 target"), "{found}");
}

/// Steps of other lengths, and other steps, lead to other numbers.
#[test]
fn rules_and_schedules_are_chosen() {
    let folder = folder("fit-rules");
    sumout(&folder, "sample asia -n 100 -o cases.csv");
    let line = "fit asia cases.csv --target lung --start uniform --epochs 12 --json -o x.json";
    let rates = |options: &str| -> Vec<f64> {
        let report: Value =
            serde_json::from_str(&sumout(&folder, &format!("{line} {options}"))).unwrap();
        report["epochs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|epoch| epoch["rate"].as_f64().unwrap())
            .collect()
    };
    assert!(
        rates("--rate 0.1 --schedule constant")
            .iter()
            .all(|rate| *rate == 0.1)
    );
    let linear = rates("--rate 0.1,0.02 --schedule linear --decay 8 --method sgd --momentum 0.5");
    assert!(
        (linear[6] - 0.06).abs() < 1e-12 && (linear[11] - 0.02).abs() < 1e-12,
        "{linear:?}"
    );
    let cubic = rates("--rate 0.1 --schedule cubic --decay 8");
    assert!(
        (cubic[6] - (0.09 * 0.125 + 0.01)).abs() < 1e-12,
        "{cubic:?}"
    );
    assert!(refused(&folder, &format!("{line} --method sgd --momentum 1")).contains("momentum"));
    assert!(refused(&folder, &format!("{line} --rate -1")).contains("positive"));
}

#[test]
fn missing_cells_are_learned_from_and_complete_ones_counted() {
    let folder = folder("fit-asia");
    sumout(&folder, "sample asia -n 400 -o cases.csv");
    assert!(
        sumout(&folder, "fit asia cases.csv --method em -o counted.bif")
            .starts_with("counted      400 examples")
    );
    let text = fs::read_to_string(folder.join("cases.csv")).unwrap();
    let hide = |(i, line): (usize, &str)| {
        let cell = |(k, cell): (usize, &str)| {
            if i > 0 && (i * 7 + k * 3) % 5 == 0 {
                ""
            } else {
                cell
            }
            .to_owned()
        };
        line.split(',')
            .enumerate()
            .map(cell)
            .collect::<Vec<_>>()
            .join(",")
    };
    let hidden: Vec<String> = text.lines().enumerate().map(hide).collect();
    fs::write(folder.join("hidden.csv"), hidden.join("\n")).unwrap();
    let report = sumout(&folder, "fit asia hidden.csv --method em -o em.bif --json");
    let report: Value = serde_json::from_str(&report).unwrap();
    let losses: Vec<f64> = report["epochs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["loss"].as_f64().unwrap())
        .collect();
    assert!(
        losses.len() > 1 && losses.windows(2).all(|pair| pair[1] <= pair[0] + 1e-6),
        "{losses:?}"
    );
    let (counted, em) = (folder.join("counted.bif"), folder.join("em.bif"));
    let [counted, em] = [counted, em].map(|path| Network::read(path).unwrap());
    let smoke = counted.find("smoke").unwrap().index();
    let [a, b] = [&counted, &em].map(|net| net.cpts()[smoke].table(&net.cards())[0]);
    assert!((a - b).abs() < 0.05 && a != b, "{a} {b}");
}

/// A circuit for a target can be written whatever it was learned by; a checkpoint of another target
/// is refused.
#[test]
fn counting_writes_a_circuit_of_the_target() {
    let folder = folder("fit-em-circuit");
    sumout(&folder, "sample asia -n 400 -o cases.csv");
    sumout(
        &folder,
        "fit asia cases.csv --method em --target lung -o lung.bif -o lung.sumout",
    );
    let metrics: Value = serde_json::from_str(&sumout(
        &folder,
        "eval lung.sumout cases.csv --metric --json",
    ))
    .unwrap();
    assert!(metrics["metrics"]["accuracy"].as_f64().unwrap() > 0.9);
    let found = refused(
        &folder,
        "fit asia cases.csv --method em --loss cross_entropy --target lung --freeze smoke -o x.bif",
    );
    assert!(found.contains("for the likelihood alone"), "{found}");
}

/// Of all formats the same is learned.
#[test]
fn formats_agree() {
    let folder = folder("fit-formats");
    for kind in ["npy", "parquet"] {
        sumout(&folder, &format!("data rect:6 -n 120 -o train.{kind}"));
    }
    for kind in ["csv", "npy", "parquet"] {
        sumout(
            &folder,
            &format!(
                "fit rect:6 train.{kind} --target label --given pixel_* --epochs 3 -o {kind}.json"
            ),
        );
    }
    let [csv, npy, parquet] = ["csv", "npy", "parquet"]
        .map(|kind| fs::read(folder.join(format!("{kind}.json"))).unwrap());
    assert!(csv == npy && csv == parquet);
    assert!(
        refused(&folder, "fit rect:6 train.npy --target label -o x.json")
            .contains("name the inputs")
    );
}
