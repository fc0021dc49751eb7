//! `sumout fit`: files of examples in, networks and circuits out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use sumout::Network;

/// A folder with training and test images of small rectangles.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    sumout(&folder, "data rect:6 -n 120 -o train.csv");
    sumout(&folder, "data rect:6 -n 200 --test --seed 1 -o test.csv");
    folder
}

fn output(folder: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sumout")).args(line.split(' ')).current_dir(folder).output().unwrap()
}

fn sumout(folder: &Path, line: &str) -> String {
    let Output { status, stdout, stderr } = output(folder, line);
    assert!(status.success(), "sumout {line}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

fn complaint(folder: &Path, line: &str) -> String {
    let Output { status, stderr, .. } = output(folder, line);
    assert_eq!(status.code(), Some(2), "sumout {line}");
    String::from_utf8(stderr).unwrap()
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
    sumout(&folder, "compile learned.json label --given pixel_* -o again.sumout");
    let [a, b] = ["label.sumout", "again.sumout"].map(|c| metrics(c)["cross_entropy"].as_f64().unwrap());
    assert!((a - b).abs() < 1e-4, "{a} {b}");
    let curve = fs::read_to_string(folder.join("curve.svg")).unwrap();
    assert!(curve.contains("accuracy") && curve.matches("<polyline").count() == 2);
    assert!(!folder.join("learned.json.checkpoint").exists());
}

/// A run that is killed, and goes on, ends with the same bytes as one that is not.
#[test]
fn a_killed_run_goes_on_to_the_same_end() {
    let folder = folder("fit-killed");
    let line = "fit rect:6 train.csv --target label --seed 3 --starts 2";
    sumout(&folder, &format!("{line} -o whole.json"));
    let killed = format!("{line} -o killed.json");
    let checkpoint = folder.join("killed.json.checkpoint");
    for _ in 0..3 {
        let before = fs::metadata(&checkpoint).ok().map(|m| m.modified().unwrap());
        let mut run = Command::new(env!("CARGO_BIN_EXE_sumout"))
            .args(killed.split(' '))
            .arg("--resume")
            .current_dir(&folder)
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while run.try_wait().unwrap().is_none()
            && fs::metadata(&checkpoint).ok().map(|m| m.modified().unwrap()) == before
        {
            sleep(Duration::from_millis(1));
        }
        let _ = run.kill();
        run.wait().unwrap();
    }
    for other in ["--rate 0.01", "--freeze row", "--precision f64"] {
        if checkpoint.exists() {
            let found = complaint(&folder, &format!("{line} {other} -o killed.json --resume"));
            assert!(found.contains("is of another run"), "{other}: {found}");
        }
    }
    sumout(&folder, &format!("{killed} --resume"));
    assert_eq!(fs::read(folder.join("whole.json")).unwrap(), fs::read(folder.join("killed.json")).unwrap());
}

#[test]
fn missing_cells_are_learned_from_and_complete_ones_counted() {
    let folder = folder("fit-asia");
    sumout(&folder, "sample asia -n 400 -o cases.csv");
    assert!(sumout(&folder, "fit asia cases.csv --method em -o counted.bif").starts_with("counted      400 examples"));
    let text = fs::read_to_string(folder.join("cases.csv")).unwrap();
    let hide = |(i, line): (usize, &str)| {
        let cell = |(k, cell): (usize, &str)| if i > 0 && (i * 7 + k * 3) % 5 == 0 { "" } else { cell }.to_owned();
        line.split(',').enumerate().map(cell).collect::<Vec<_>>().join(",")
    };
    let hidden: Vec<String> = text.lines().enumerate().map(hide).collect();
    fs::write(folder.join("hidden.csv"), hidden.join("\n")).unwrap();
    let report = sumout(&folder, "fit asia hidden.csv --method em -o em.bif --json");
    let report: Value = serde_json::from_str(&report).unwrap();
    let losses: Vec<f64> = report["epochs"].as_array().unwrap().iter().map(|e| e["loss"].as_f64().unwrap()).collect();
    assert!(losses.len() > 1 && losses.windows(2).all(|pair| pair[1] <= pair[0] + 1e-6), "{losses:?}");
    let (counted, em) = (folder.join("counted.bif"), folder.join("em.bif"));
    let [counted, em] = [counted, em].map(|path| Network::read(path).unwrap());
    let smoke = counted.find("smoke").unwrap().index();
    let [a, b] = [&counted, &em].map(|net| net.cpts()[smoke].table(&net.cards())[0]);
    assert!((a - b).abs() < 0.05 && a != b, "{a} {b}");
}

/// A circuit for a target can be written whatever it was learned by; a checkpoint of another target is refused.
#[test]
fn counting_writes_a_circuit_of_the_target() {
    let folder = folder("fit-em-circuit");
    sumout(&folder, "sample asia -n 400 -o cases.csv");
    sumout(&folder, "fit asia cases.csv --method em --target lung -o lung.bif -o lung.sumout");
    let metrics: Value = serde_json::from_str(&sumout(&folder, "eval lung.sumout cases.csv --metric --json")).unwrap();
    assert!(metrics["metrics"]["accuracy"].as_f64().unwrap() > 0.9);
    let found =
        complaint(&folder, "fit asia cases.csv --method em --loss cross_entropy --target lung --freeze smoke -o x.bif");
    assert!(found.contains("for the likelihood alone"), "{found}");
}

/// Columns `label=…` are probabilities, as `eval` writes them, and a column can say how much an example counts.
#[test]
fn soft_labels_and_weights_count() {
    let folder = folder("fit-soft");
    let cases = "xray,lung=yes,lung=no,count\nyes,1,0,3\nyes,0,1,1\nno,0.2,0.8,2\nno,,,5\n";
    fs::write(folder.join("soft.csv"), cases).unwrap();
    let line = "fit asia soft.csv --target lung --train lung smoke --weights count --loss cross_entropy --epochs 400 \
                --patience 400 --prior 0 -o soft.json";
    sumout(&folder, &line.replace("                ", ""));
    let answer = |given: &str| -> f64 {
        let text = sumout(&folder, &format!("query soft.json lung --given xray={given} --json"));
        serde_json::from_str::<Value>(&text).unwrap()["posteriors"]["lung"]["yes"].as_f64().unwrap()
    };
    // Two numbers cannot be learned apart by one rate: the likelihood ratio of `xray` stays what it is.
    assert!(answer("yes") > 0.3 && answer("no") < 0.2, "{} {}", answer("yes"), answer("no"));
    assert!(complaint(&folder, "fit asia soft.csv --target lung --weights n -o x.json").contains("no column `n`"));
}

/// Of all formats the same is learned.
#[test]
fn formats_agree() {
    let folder = folder("fit-formats");
    for kind in ["npy", "parquet"] {
        sumout(&folder, &format!("data rect:6 -n 120 -o train.{kind}"));
    }
    for kind in ["csv", "npy", "parquet"] {
        sumout(&folder, &format!("fit rect:6 train.{kind} --target label --given pixel_* --epochs 3 -o {kind}.json"));
    }
    let [csv, npy, parquet] =
        ["csv", "npy", "parquet"].map(|kind| fs::read(folder.join(format!("{kind}.json"))).unwrap());
    assert!(csv == npy && csv == parquet);
    assert!(complaint(&folder, "fit rect:6 train.npy --target label -o x.json").contains("name the inputs"));
}

#[test]
fn mistakes_are_explained() {
    let folder = folder("fit-mistakes");
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write("unknown.csv", "xray,lung\nyes,maybe\nno,no\n");
    write("empty.csv", "xray,lung\n");
    write("constant.csv", "xray,lung\nyes,no\nno,no\n");
    write("other.csv", "a,b\n1,2\n");
    write("nan.csv", "xray,lung\nyes,NaN\nno,no\n");
    let cases = [
        ("unknown.csv", "row 1"),
        ("nan.csv", "row 1"),
        ("empty.csv", "there are no examples to learn from"),
        ("constant.csv", "all labels are `no`"),
        ("other.csv", "no column is a variable of the network"),
        ("nowhere.csv", "cannot read `nowhere.csv`"),
    ];
    for (file, expected) in cases {
        let found = complaint(&folder, &format!("fit asia {file} --target lung -o x.json"));
        assert!(found.contains(expected) && found.contains("error: "), "{file}: {found}");
        assert!(!folder.join("x.json").exists());
    }
    let found = complaint(&folder, "fit asia constant.csv --target lung -o x.txt");
    assert!(found.contains("`x.txt` names no format"), "{found}");
    let found = complaint(&folder, "fit asia constant.csv --method em -o x.sumout");
    assert!(found.contains("a circuit is written for one target"), "{found}");
}
