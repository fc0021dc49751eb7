//! Files of examples: formats, soft labels and weights.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Repetition, Type as Kind};
use parquet::data_type::DoubleType;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use serde_json::Value;

use crate::{complaint, folder, sumout};

/// Columns `label=…` are probabilities, as `eval` writes them, and a column can say how much an
/// example counts.
#[test]
fn soft_labels_and_weights_count() {
    let folder = folder("fit-soft");
    let cases = "xray,lung=yes,lung=no,count\nyes,1,0,3\nyes,0,1,1\nno,0.2,0.8,2\nno,,,5\n";
    fs::write(folder.join("soft.csv"), cases).unwrap();
    let line = "fit asia soft.csv --target lung --train lung smoke --weights count --loss cross_entropy --epochs 400 \
                --patience 400 --prior 0 -o soft.json";
    sumout(&folder, &line.replace("                ", ""));
    let answer = |given: &str| -> f64 {
        let text = sumout(
            &folder,
            &format!("query soft.json lung --given xray={given} --json"),
        );
        serde_json::from_str::<Value>(&text).unwrap()["posteriors"]["lung"]["yes"]
            .as_f64()
            .unwrap()
    };
    // Two numbers cannot be learned apart by one rate: the likelihood ratio of `xray` stays what it
    // is.
    assert!(
        answer("yes") > 0.3 && answer("no") < 0.2,
        "{} {}",
        answer("yes"),
        answer("no")
    );
    assert!(
        complaint(
            &folder,
            "fit asia soft.csv --target lung --weights n -o x.json"
        )
        .contains("no column `n`")
    );
}

/// A Parquet file of numbers, `None` being null.
fn write_parquet(path: &Path, columns: &[(&str, [Option<f64>; 4])]) {
    let field = |name| {
        Type::primitive_type_builder(name, Kind::DOUBLE)
            .with_repetition(Repetition::OPTIONAL)
            .build()
    };
    let fields = columns
        .iter()
        .map(|(name, _)| Arc::new(field(name).unwrap()))
        .collect();
    let schema = Arc::new(
        Type::group_type_builder("cases")
            .with_fields(fields)
            .build()
            .unwrap(),
    );
    let mut writer =
        SerializedFileWriter::new(fs::File::create(path).unwrap(), schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for (_, cells) in columns {
        let mut column = group.next_column().unwrap().unwrap();
        let levels = cells.map(|cell| i16::from(cell.is_some()));
        let numbers: Vec<f64> = cells.iter().flatten().copied().collect();
        column
            .typed::<DoubleType>()
            .write_batch(&numbers, Some(&levels), None)
            .unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

/// Probabilities and weights of a Parquet file are those of a CSV file.
#[test]
fn soft_labels_and_weights_are_read_from_parquet() {
    let folder = folder("fit-soft-parquet");
    let cases = "xray,lung=yes,lung=no,count\nyes,1,0,3\nyes,0.25,0.75,1\nno,,,2\nno,0.5,0.5,2\n";
    fs::write(folder.join("soft.csv"), cases).unwrap();
    let of = |numbers: [f64; 4]| numbers.map(|x| (x >= 0.0).then_some(x));
    let (yes, no) = ([1.0, 0.25, -1.0, 0.5], [0.0, 0.75, -1.0, 0.5]);
    let xray = ("xray", of([0.0, 0.0, 1.0, 1.0]));
    let count = ("count", of([3.0, 1.0, 2.0, 2.0]));
    write_parquet(
        &folder.join("soft.parquet"),
        &[xray, ("lung=yes", of(yes)), ("lung=no", of(no)), count],
    );
    write_parquet(
        &folder.join("one.parquet"),
        &[xray, ("lung=yes", of(yes)), count],
    );
    let nan = [Some(f64::NAN), None, None, None];
    write_parquet(
        &folder.join("nan.parquet"),
        &[xray, ("lung=yes", nan), ("lung=no", of(no))],
    );
    let fit = |kind: &str| {
        format!("fit asia soft.{kind} --target lung --weights count --epochs 3 -o {kind}.json")
    };
    for kind in ["csv", "parquet"] {
        sumout(&folder, &fit(kind));
    }
    assert_eq!(
        fs::read(folder.join("csv.json")).unwrap(),
        fs::read(folder.join("parquet.json")).unwrap()
    );
    let complaint =
        |file: &str| complaint(&folder, &format!("fit asia {file} --target lung -o x.json"));
    assert!(complaint("one.parquet").contains("there is no column `lung=no`"));
    assert!(
        complaint("nan.parquet").contains("row 1: `NaN` in column `lung=yes`"),
        "{}",
        complaint("nan.parquet")
    );
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
        complaint(&folder, "fit rect:6 train.npy --target label -o x.json")
            .contains("name the inputs")
    );
}

/// Several columns of numbers are read together, whatever their order; those of other variables do
/// not matter.
#[test]
fn columns_of_numbers_are_found_in_any_order() {
    let folder = folder("fit-soft-order");
    let ordered = "xray,lung=yes,lung=no,bronc=yes,bronc=no,count\nyes,1,0,0.5,0.5,3\nyes,0.25,0.75,1,0,1\nno,0,1,0.1,0.9,2\n";
    let mixed = "bronc=no,count,lung=no,xray,bronc=yes,lung=yes\n0.5,3,0,yes,0.5,1\n0,1,0.75,yes,1,0.25\n0.9,2,1,no,0.1,0\n";
    for (name, text) in [("ordered", ordered), ("mixed", mixed)] {
        fs::write(folder.join(format!("{name}.csv")), text).unwrap();
        sumout(
            &folder,
            &format!("fit asia {name}.csv --target lung --weights count --epochs 2 -o {name}.json"),
        );
    }
    let [a, b] = ["ordered.json", "mixed.json"].map(|name| fs::read(folder.join(name)).unwrap());
    assert!(a == b);
}
