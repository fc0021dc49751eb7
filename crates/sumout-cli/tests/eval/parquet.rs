//! `sumout eval` and `sumout sample` with Parquet files, written and read by the `parquet` crate
//! itself.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{BoolType, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::parser::parse_message_type;

use crate::common::{output, sumout};
use crate::folder;

/// A folder with a circuit for P(lung | xray, dysp), and four cases in `cases.csv`.
fn cases(name: &str) -> PathBuf {
    folder(name, "xray,dysp\nyes,no\nyes,\n,yes\nno,no\n")
}

/// A column of two row groups: cells by their number, null if missing.
enum Cells {
    Text(Vec<Option<&'static str>>),
    Int32(Vec<Option<i32>>),
    Int64(Vec<Option<i64>>),
    Double(Vec<Option<f64>>),
    Bool(Vec<Option<bool>>),
}

impl Cells {
    fn field(&self) -> &'static str {
        match self {
            Cells::Text(_) => "OPTIONAL BYTE_ARRAY NAME (UTF8)",
            Cells::Int32(_) => "OPTIONAL INT32 NAME",
            Cells::Int64(_) => "OPTIONAL INT64 NAME",
            Cells::Double(_) => "OPTIONAL DOUBLE NAME",
            Cells::Bool(_) => "OPTIONAL BOOLEAN NAME",
        }
    }
}

fn write(path: &Path, compression: Compression, columns: &[(&str, Cells)]) {
    write_as(
        path,
        WriterProperties::builder().set_compression(compression),
        columns,
    );
}

fn write_as(path: &Path, properties: WriterPropertiesBuilder, columns: &[(&str, Cells)]) {
    let fields: String = columns
        .iter()
        .map(|(name, cells)| cells.field().replace("NAME", name) + ";")
        .collect();
    let schema = Arc::new(parse_message_type(&format!("message schema {{ {fields} }}")).unwrap());
    let mut writer = SerializedFileWriter::new(
        File::create(path).unwrap(),
        schema,
        Arc::new(properties.build()),
    )
    .unwrap();
    for part in [0..3, 3..4] {
        let mut group = writer.next_row_group().unwrap();
        for (_, cells) in columns {
            let mut column = group.next_column().unwrap().unwrap();
            match cells {
                Cells::Text(cells) => put::<ByteArrayType>(
                    &mut column,
                    cells[part.clone()].iter().map(|c| c.map(Into::into)),
                ),
                Cells::Int32(cells) => {
                    put::<Int32Type>(&mut column, cells[part.clone()].iter().copied())
                }
                Cells::Int64(cells) => {
                    put::<Int64Type>(&mut column, cells[part.clone()].iter().copied())
                }
                Cells::Double(cells) => {
                    put::<DoubleType>(&mut column, cells[part.clone()].iter().copied())
                }
                Cells::Bool(cells) => {
                    put::<BoolType>(&mut column, cells[part.clone()].iter().copied())
                }
            }
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

fn put<T: DataType>(
    column: &mut parquet::file::writer::SerializedColumnWriter<'_>,
    cells: impl Iterator<Item = Option<T::T>> + Clone,
) {
    let levels: Vec<i16> = cells.clone().map(|cell| cell.is_some().into()).collect();
    let values: Vec<T::T> = cells.flatten().collect();
    column
        .typed::<T>()
        .write_batch(&values, Some(&levels), None)
        .unwrap();
}

const XRAY: [Option<&str>; 4] = [Some("yes"), Some("yes"), None, Some("no")];

#[test]
fn text_and_numbers_say_what_the_cells_of_csv_say() {
    let folder = cases("parquet-kinds");
    let expected = sumout(&folder, "eval lung.sumout cases.csv");
    let kinds = || {
        [
            Cells::Text(vec![Some("no"), None, Some("yes"), Some("no")]),
            Cells::Int32(vec![Some(1), Some(-1), Some(0), Some(1)]),
            Cells::Int64(vec![Some(1), None, Some(0), Some(1)]),
            Cells::Double(vec![Some(1.0), Some(f64::NAN), Some(0.0), Some(1.0)]),
        ]
    };
    let zstd = Compression::ZSTD(ZstdLevel::default());
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        zstd,
        Compression::LZ4_RAW,
    ] {
        for dysp in kinds() {
            let note = Cells::Bool(vec![Some(true), None, None, None]);
            let columns = [
                ("dysp", dysp),
                ("note", note),
                ("xray", Cells::Text(XRAY.to_vec())),
            ];
            write(&folder.join("cases.parquet"), compression, &columns);
            assert_eq!(sumout(&folder, "eval lung.sumout cases.parquet"), expected);
        }
    }
}

/// Ways to write text and integers: with a dictionary, without, and with one that is soon full.
fn ways() -> Vec<WriterPropertiesBuilder> {
    let mut ways = vec![];
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let way = || {
            WriterProperties::builder()
                .set_writer_version(version)
                .set_write_batch_size(1)
        };
        ways.push(way());
        ways.push(
            way()
                .set_dictionary_enabled(false)
                .set_encoding(Encoding::PLAIN),
        );
        ways.push(way().set_dictionary_enabled(false)); // the second version has differences
        ways.push(
            way()
                .set_dictionary_page_size_limit(1)
                .set_encoding(Encoding::PLAIN),
        );
        ways.push(way().set_dictionary_page_size_limit(1));
        ways.push(way().set_data_page_row_count_limit(1));
    }
    ways
}

#[test]
fn columns_say_the_same_however_they_are_written() {
    let folder = cases("parquet-ways");
    let (path, line) = (
        folder.join("cases.parquet"),
        "eval lung.sumout cases.parquet --skip-bad-rows",
    );
    fs::write(
        folder.join("cases.csv"),
        "xray,dysp\nyes,no\nyes,\nmaybe,yes\nno,no\n",
    )
    .unwrap();
    let expected = output(&folder, "eval lung.sumout cases.csv --skip-bad-rows");
    for way in ways() {
        let xray = Cells::Text(vec![Some("yes"), Some("yes"), Some("maybe"), Some("no")]);
        let dysp = Cells::Int64(vec![Some(1), None, Some(0), Some(1)]);
        write_as(&path, way.clone(), &[("dysp", dysp), ("xray", xray)]);
        let found = output(&folder, line);
        let told = String::from_utf8_lossy(&found.stderr);
        assert_eq!(found.stdout, expected.stdout, "{way:?}: {told}");
        assert!(
            told.contains(
                "row 3 is left empty: `xray` has no value `maybe`; its values are yes, no"
            ),
            "{told}"
        );
    }
}

#[test]
fn damaged_files_are_refused_or_understood_otherwise() {
    let folder = cases("parquet-damage");
    let path = folder.join("cases.parquet");
    let dysp = Cells::Int64(vec![Some(1), None, Some(0), Some(1)]);
    write(
        &path,
        Compression::UNCOMPRESSED,
        &[("dysp", dysp), ("xray", Cells::Text(XRAY.to_vec()))],
    );
    let bytes = fs::read(&path).unwrap();
    for at in (4..bytes.len()).step_by(3) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::write(&path, damaged).unwrap();
        let Output { status, stderr, .. } = output(&folder, "eval lung.sumout cases.parquet");
        let told = String::from_utf8_lossy(&stderr);
        assert!(
            matches!(status.code(), Some(0 | 2)),
            "byte {at}: {status}, {told}"
        );
    }
}

#[test]
fn cells_that_are_no_values_are_bad_rows_and_columns_of_other_kinds_are_refused() {
    let folder = cases("parquet-bad");
    let path = folder.join("cases.parquet");
    let cases = [
        (
            Cells::Text(vec![Some("no"), Some("maybe"), None, None]),
            "row 2: `dysp` has no value `maybe`",
        ),
        (
            Cells::Int32(vec![None, None, None, Some(2)]),
            "row 4: `dysp` has no value 2, only 2 values",
        ),
        (
            Cells::Double(vec![None, None, Some(0.5), None]),
            "row 3: `dysp` has no value 0.5",
        ),
        (
            Cells::Bool(vec![None; 4]),
            "column `dysp` has cells of kind BOOLEAN",
        ),
    ];
    for (dysp, complaint) in cases {
        write(
            &path,
            Compression::SNAPPY,
            &[("dysp", dysp), ("xray", Cells::Text(XRAY.to_vec()))],
        );
        let refused = output(&folder, "eval lung.sumout cases.parquet");
        let stderr = String::from_utf8_lossy(&refused.stderr);
        assert!(
            refused.status.code() == Some(2) && stderr.contains(complaint),
            "{stderr}"
        );
    }
    sumout(&folder, "convert asia counted.json");
    let counted = fs::read_to_string(folder.join("counted.json")).unwrap();
    fs::write(
        folder.join("counted.json"),
        counted
            .replace("\"yes\"", "\"1\"")
            .replace("\"no\"", "\"2\""),
    )
    .unwrap();
    sumout(
        &folder,
        "compile counted.json lung --given xray -o counted.sumout",
    );
    write(
        &path,
        Compression::SNAPPY,
        &[("xray", Cells::Int32(vec![Some(1); 4]))],
    );
    let refused = output(&folder, "eval counted.sumout cases.parquet");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("are they names or positions?"));
    fs::write(&path, "no columns at all").unwrap();
    let refused = output(&folder, "eval lung.sumout cases.parquet");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is damaged, or not a Parquet file"));
}

#[test]
fn answers_are_columns_and_null_where_there_is_none() {
    let folder = cases("parquet-answers");
    fs::write(
        folder.join("cases.csv"),
        "either,tub,dysp\nyes,no,no\nno,yes,no\nmaybe,no,no\n",
    )
    .unwrap();
    sumout(
        &folder,
        "compile asia lung --given either tub -o lung.sumout",
    );
    for precision in ["f32", "f64"] {
        let rows = sumout(
            &folder,
            &format!("eval lung.sumout cases.csv --skip-bad-rows --precision {precision}"),
        );
        let line = "eval lung.sumout cases.csv --skip-bad-rows -o answers.parquet --precision";
        sumout(&folder, &format!("{line} {precision}"));
        let file =
            SerializedFileReader::new(File::open(folder.join("answers.parquet")).unwrap()).unwrap();
        let names: Vec<&str> = rows.lines().next().unwrap().split(',').collect();
        let mut count = 0;
        for (row, line) in file.get_row_iter(None).unwrap().zip(rows.lines().skip(1)) {
            let row = row.unwrap();
            for (((name, field), expected), cell) in
                row.get_column_iter().zip(&names).zip(line.split(','))
            {
                let text = match field {
                    Field::Null => String::new(),
                    Field::Bool(flag) => flag.to_string(),
                    Field::Float(x) if precision == "f32" => return_shortest(x.to_string(), cell),
                    Field::Double(x) => return_shortest(x.to_string(), cell),
                    other => panic!("{other:?}"),
                };
                assert_eq!((name.as_str(), text.as_str()), (*expected, cell), "{line}");
            }
            count += 1;
        }
        assert_eq!(
            (count, rows.lines().nth(2), rows.lines().nth(3)),
            (3, Some(",,,true"), Some(",,,"))
        );
    }
}

#[test]
fn explanations_are_columns_of_names() {
    let folder = cases("parquet-mpe");
    fs::write(
        folder.join("cases.csv"),
        "either,tub\nyes,no\nno,yes\nmaybe,no\n",
    )
    .unwrap();
    sumout(
        &folder,
        "compile asia --mpe --given either tub -o case.sumout",
    );
    let rows = sumout(&folder, "eval case.sumout cases.csv --skip-bad-rows");
    sumout(
        &folder,
        "eval case.sumout cases.csv --skip-bad-rows -o cases.parquet",
    );
    let file =
        SerializedFileReader::new(File::open(folder.join("cases.parquet")).unwrap()).unwrap();
    let said = |field: &Field| match field {
        Field::Null => String::new(),
        Field::Str(name) => name.clone(),
        Field::Double(x) => x.to_string(),
        Field::Bool(flag) => flag.to_string(),
        other => panic!("{other:?}"),
    };
    let found: Vec<String> = file
        .get_row_iter(None)
        .unwrap()
        .map(|row| {
            row.unwrap()
                .get_column_iter()
                .map(|(_, field)| said(field))
                .collect::<Vec<_>>()
                .join(",")
        })
        .collect();
    assert_eq!(found, rows.lines().skip(1).collect::<Vec<_>>());
}

/// Numbers are the same, however they are written.
fn return_shortest(number: String, cell: &str) -> String {
    if number.parse::<f64>() == cell.parse::<f64>() {
        cell.to_owned()
    } else {
        number
    }
}

#[test]
fn cases_are_drawn_alike_in_all_formats() {
    let folder = cases("parquet-sample");
    for name in ["drawn.csv", "drawn.parquet", "drawn.npy"] {
        sumout(
            &folder,
            &format!("sample asia -n 1000 --seed 7 -o {name} --columns xray dysp"),
        );
    }
    let expected = sumout(&folder, "eval lung.sumout drawn.csv");
    assert_eq!(expected.lines().count(), 1001);
    assert!(sumout(&folder, "eval lung.sumout drawn.parquet") == expected);
    assert!(sumout(&folder, "eval lung.sumout drawn.npy") == expected);
}
