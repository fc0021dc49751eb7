//! Pages that no writer makes.

use parquet::column::page::PageMetadata;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::*;

/// Pages that no file has.
struct Given(Vec<Page>);

impl Iterator for Given {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Given {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        Ok(if self.0.is_empty() {
            None
        } else {
            Some(self.0.remove(0))
        })
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        Ok(None)
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.get_next_page().map(drop)
    }
}

/// All pages of a small column, and what is known of it.
fn pages(way: &Way) -> (Vec<Page>, ColumnChunkMetaData) {
    let mut dice = Dice(3);
    let cells = cells(160, way.level() > 0, &mut dice);
    let file = SerializedFileReader::new(way.write::<ByteArrayType>(&cells, &mut dice)).unwrap();
    let group = file.get_row_group(0).unwrap();
    let pages = group
        .get_column_page_reader(0)
        .unwrap()
        .collect::<Result<_>>()
        .unwrap();
    (pages, group.metadata().column(0).clone())
}

fn with_bytes(page: &Page, bytes: Vec<u8>) -> Page {
    let mut page = page.clone();
    match &mut page {
        Page::DataPage { buf, .. }
        | Page::DataPageV2 { buf, .. }
        | Page::DictionaryPage { buf, .. } => *buf = bytes.into(),
    }
    page
}

fn with_count(page: &Page, count: u32) -> Page {
    let mut page = page.clone();
    match &mut page {
        Page::DataPage { num_values, .. }
        | Page::DataPageV2 { num_values, .. }
        | Page::DictionaryPage { num_values, .. } => *num_values = count,
    }
    page
}

/// Reads more rows than there are: in the end there is always an error.
fn outcome(pages: Vec<Page>, column: &ColumnChunkMetaData, input: &Input) -> (usize, String) {
    let mut pages = Pages::new(Box::new(Given(pages)), column).unwrap();
    let (mut to, mut bad) = (vec![], vec![]);
    for _ in 0..20 {
        if let Err(error) = pages.read(input, 7, &mut to, &mut bad) {
            assert!(
                to.iter().all(|cell| *cell < VALUES as i32)
                    && bad.iter().all(|(row, _)| *row < to.len())
            );
            return (to.len(), error.to_string());
        }
    }
    (to.len(), "there were more rows".into())
}

#[test]
fn damaged_pages_are_refused_or_understood_otherwise() {
    let input = input();
    for way in Way::all()
        .into_iter()
        .filter(|way| way.compression == Compression::UNCOMPRESSED)
    {
        let (pages, column) = pages(&way);
        for (at, page) in pages.iter().enumerate() {
            let replaced = |page| {
                let mut pages = pages.clone();
                pages[at] = page;
                outcome(pages, &column, &input)
            };
            for byte in 0..page.buffer().len() {
                replaced(with_bytes(page, page.buffer()[..byte].to_vec()));
                for change in [1, 2, 4, 16, 128, 255] {
                    let mut bytes = page.buffer().to_vec();
                    bytes[byte] ^= change;
                    replaced(with_bytes(page, bytes));
                }
            }
            let (read, error) = replaced(with_count(page, u32::MAX));
            assert!(
                read < 100 && error.contains("too early"),
                "{way:?}: {error}"
            );
        }
    }
}

#[test]
fn damage_is_told() {
    let input = input();
    let way = Way {
        dictionary: Some(1 << 20),
        ..Way::all()[1].clone()
    };
    let (pages, column) = pages(&way);
    let [dictionary, data] = &pages[..] else {
        panic!("{pages:?}")
    };
    let told = |pages: Vec<Page>| outcome(pages, &column, &input).1;
    let start = 4 + u32::from_le_bytes(*data.buffer().first_chunk().unwrap()) as usize;
    let with_width = |width| {
        let mut bytes = data.buffer().to_vec();
        bytes[start] = width;
        with_bytes(data, bytes)
    };
    let encoded = |encoding| Page::DataPage {
        buf: data.buffer().clone(),
        num_values: 40,
        encoding,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    };
    let cases = [
        (vec![data.clone()], "a column without its dictionary"),
        (
            vec![with_count(dictionary, 1), data.clone()],
            "a cell that is not in the dictionary",
        ),
        (
            vec![dictionary.clone(), dictionary.clone()],
            "two dictionaries",
        ),
        (
            vec![dictionary.clone(), with_width(33)],
            "a number of 33 bits",
        ),
        (
            vec![
                dictionary.clone(),
                with_bytes(data, data.buffer()[..start + 1].to_vec()),
            ],
            "a run that ends too early",
        ),
        (
            vec![dictionary.clone(), with_bytes(data, vec![255, 0, 0, 0])],
            "a page that ends before its values",
        ),
        (
            vec![dictionary.clone(), with_bytes(data, vec![])],
            "a page that ends before its values",
        ),
        (
            vec![dictionary.clone(), encoded(Encoding::DELTA_BYTE_ARRAY)],
            "a page in the encoding DELTA_BYTE_ARRAY",
        ),
        (
            vec![dictionary.clone(), encoded(Encoding::RLE_DICTIONARY)],
            "a column has fewer rows",
        ),
        (vec![dictionary.clone()], "a column has fewer rows"),
    ];
    for (pages, expected) in cases {
        let told = told(pages);
        assert!(told.contains(expected), "{expected}: {told}");
    }
}
