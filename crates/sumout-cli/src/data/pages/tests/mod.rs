//! The `parquet` crate writes, and what is read here is compared with what was written.

mod damage;

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type,
};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use sumout::{Network, Options, Query};

use super::*;
use crate::data::Form;

/// The values of the input.
const VALUES: usize = 20;

/// Words that are written; behind the values follow some that are none.
const WORDS: usize = VALUES + 5;

fn input() -> Input {
    let mut net = Network::builder("one");
    let x = net.variable("x", (0..VALUES).map(|value| format!("value {value}")));
    net.table(x, [], [1.0 / VALUES as f64; VALUES]);
    let net = net.build().unwrap();
    Input::new(
        net.find("x").unwrap(),
        &net.compile(&Query::all(), &Options::default()).unwrap(),
        &Form::default(),
    )
}

/// A kind of column, and its words by their numbers.
trait Kind: DataType {
    const NAME: &str;
    fn word(number: usize) -> Self::T;
    fn cell(word: &Self::T) -> Cell<'_>;
}

impl Kind for ByteArrayType {
    const NAME: &str = "BYTE_ARRAY";
    fn word(number: usize) -> ByteArray {
        if number == VALUES {
            ByteArray::from("")
        } else {
            format!("value {number}").as_str().into()
        }
    }
    fn cell(word: &ByteArray) -> Cell<'_> {
        Cell::Text(word.data())
    }
}

macro_rules! numbers {
    ($($kind:ty, $name:literal, $cell:ident, $least:expr;)*) => {$(
        impl Kind for $kind {
            const NAME: &str = $name;
            fn word(number: usize) -> Self::T {
                if number == VALUES { $least } else { number as Self::T }
            }
            fn cell(word: &Self::T) -> Cell<'_> {
                Cell::$cell((*word).into())
            }
        }
    )*};
}

numbers! {
    Int32Type, "INT32", Integer, -7;
    Int64Type, "INT64", Integer, i64::MIN;
    FloatType, "FLOAT", Real, 0.5;
    DoubleType, "DOUBLE", Real, f64::NAN;
}

/// A generator of numbers that look random.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

/// Cells in runs of all lengths, some of them null; rare words come late, when a dictionary may be
/// full.
fn cells(count: usize, can_be_null: bool, dice: &mut Dice) -> Vec<Option<usize>> {
    let mut cells = vec![];
    while cells.len() < count {
        let length = if dice.roll(2) == 0 { 1 } else { dice.roll(60) };
        let known = (2 + cells.len() * WORDS / count).min(WORDS);
        let cell = if can_be_null && dice.roll(3) == 0 {
            None
        } else {
            Some(dice.roll(known))
        };
        cells.extend(vec![cell; length]);
    }
    cells.truncate(count);
    cells
}

/// How a column is written.
#[derive(Clone, Debug)]
struct Way {
    version: WriterVersion,
    compression: Compression,
    /// The size of a dictionary beyond which there is none.
    dictionary: Option<usize>,
    page: usize,
    nesting: &'static str,
}

impl Way {
    fn all() -> Vec<Way> {
        let mut ways = vec![];
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
                for dictionary in [None, Some(50), Some(1 << 20)] {
                    for (page, nesting) in [
                        (100, "required K x;"),
                        (1 << 20, "optional K x;"),
                        (100, "optional K x;"),
                    ] {
                        ways.push(Way {
                            version,
                            compression,
                            dictionary,
                            page,
                            nesting,
                        });
                    }
                    ways.push(Way {
                        nesting: "optional group y { optional K x; }",
                        ..ways[ways.len() - 1].clone()
                    });
                }
            }
        }
        ways
    }

    fn level(&self) -> i16 {
        self.nesting.matches("optional").count() as i16
    }

    /// A file of two row groups.
    fn write<K: Kind>(&self, cells: &[Option<usize>], dice: &mut Dice) -> Bytes {
        let schema = format!("message m {{ {} }}", self.nesting.replace('K', K::NAME));
        let properties = WriterProperties::builder()
            .set_writer_version(self.version)
            .set_compression(self.compression);
        let properties = properties
            .set_dictionary_enabled(self.dictionary.is_some())
            .set_encoding(Encoding::PLAIN);
        let properties = properties.set_dictionary_page_size_limit(self.dictionary.unwrap_or(1));
        let properties = properties
            .set_data_page_row_count_limit(self.page)
            .set_write_batch_size(10)
            .build();
        let schema = Arc::new(parse_message_type(&schema).unwrap());
        let mut writer = SerializedFileWriter::new(vec![], schema, Arc::new(properties)).unwrap();
        for cells in cells.chunks(cells.len() / 2 + 1) {
            let mut group = writer.next_row_group().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            let values: Vec<K::T> = cells
                .iter()
                .flatten()
                .map(|&number| K::word(number))
                .collect();
            let null = |dice: &mut Dice| dice.roll(self.level().max(1) as usize) as i16;
            let levels = cells.iter().map(|cell| {
                if cell.is_some() {
                    self.level()
                } else {
                    null(dice)
                }
            });
            column
                .typed::<K>()
                .write_batch(&values, Some(&levels.collect::<Vec<_>>()), None)
                .unwrap();
            column.close().unwrap();
            group.close().unwrap();
        }
        writer.into_inner().unwrap().into()
    }
}

type Read = (Vec<i32>, Vec<(usize, String)>);

/// Reads a file, some rows at a time.
fn read(file: Bytes, input: &Input, dice: &mut Dice) -> Read {
    let file = SerializedFileReader::new(file).unwrap();
    let mut read: Read = (vec![], vec![]);
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group).unwrap();
        let column = group.metadata().column(0);
        assert!(Pages::can_read(column));
        let mut pages = Pages::new(group.get_column_page_reader(0).unwrap(), column).unwrap();
        let mut left = column.num_values() as usize;
        while left > 0 {
            let some = left.min(1 + dice.roll(300));
            pages.read(input, some, &mut read.0, &mut read.1).unwrap();
            left -= some;
        }
        assert!(pages.read(input, 1, &mut vec![], &mut vec![]).is_err());
    }
    read
}

/// What should be read.
fn expected<K: Kind>(cells: &[Option<usize>], input: &Input) -> Read {
    let mut read: Read = (vec![], vec![]);
    for (row, cell) in cells.iter().enumerate() {
        let word = cell.map(K::word);
        let cell = word.as_ref().map(K::cell);
        let position = cell.map_or(Some(-1), |cell| input.position(cell));
        if let (None, Some(cell)) = (position, cell) {
            read.1.push((row, input.complaint(cell)));
        }
        read.0.push(position.unwrap_or(-1));
    }
    read
}

fn is_read_as_written<K: Kind>() {
    let (input, mut dice, mut bad) = (input(), Dice(7), 0);
    for way in Way::all() {
        let cells = cells(1500, way.level() > 0, &mut dice);
        let file = way.write::<K>(&cells, &mut dice);
        let (found, expected) = (read(file, &input, &mut dice), expected::<K>(&cells, &input));
        assert!(found == expected, "{} {way:?}", K::NAME);
        bad += expected.1.len();
    }
    assert!(bad > 100);
}

#[test]
fn columns_are_read_as_they_were_written() {
    is_read_as_written::<ByteArrayType>();
    is_read_as_written::<Int32Type>();
    is_read_as_written::<Int64Type>();
    is_read_as_written::<FloatType>();
    is_read_as_written::<DoubleType>();
}

#[test]
fn words_that_are_no_values_are_only_wrong_where_they_are_used() {
    let (input, mut dice) = (input(), Dice(1));
    let way = Way {
        dictionary: Some(1 << 20),
        ..Way::all()[1].clone()
    };
    let file = way.write::<Int32Type>(&[Some(3), None, Some(VALUES + 1), Some(3), None], &mut dice);
    let group = SerializedFileReader::new(file).unwrap();
    let group = group.get_row_group(0).unwrap();
    let mut pages = Pages::new(
        group.get_column_page_reader(0).unwrap(),
        group.metadata().column(0),
    )
    .unwrap();
    let (mut to, mut bad) = (vec![5], vec![]);
    pages.read(&input, 2, &mut to, &mut bad).unwrap();
    assert_eq!((&to[..], bad.len()), (&[5, 3, -1][..], 0));
    pages.read(&input, 1, &mut to, &mut bad).unwrap();
    assert_eq!(
        (&to[..], bad),
        (
            &[5, 3, -1, -1][..],
            vec![(3, "`x` has no value 21, only 20 values".to_string())]
        )
    );
}

#[test]
fn columns_in_other_encodings_are_left_to_others() {
    let schema = Arc::new(parse_message_type("message m { required INT32 x; }").unwrap());
    let properties = WriterProperties::builder().set_dictionary_enabled(false);
    let properties = Arc::new(
        properties
            .set_encoding(Encoding::DELTA_BINARY_PACKED)
            .build(),
    );
    let mut writer = SerializedFileWriter::new(vec![], schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<Int32Type>()
        .write_batch(&[0, 1, 2], None, None)
        .unwrap();
    column.close().unwrap();
    assert!(!Pages::can_read(group.close().unwrap().column(0)));
}
