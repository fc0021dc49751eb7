//! Pages of a Parquet column, read straight into positions of values.
//!
//! A column has few distinct cells, and so its writer has put them, as _words_, into a dictionary,
//! and into data pages only numbers of words. The dictionary is translated once, from words to
//! positions of values; then each cell costs only a look into that small table, and no word is ever
//! copied:
//!
//! ```text
//! dictionary   yes no maybe    ──once──▶    0 1 mark
//! data page    0 0 1 0 1 1 2   ──look up──▶ 0 0 1 0 1 1 mark
//! ```
//!
//! An unknown word is an error only in the rows that use it. It is translated to a _mark_, a
//! number that tells where the word stands, and so what is to be said of these rows. A writer that
//! gives up its dictionary in the middle of a column writes words into data pages, which are
//! translated one by one. Columns that are written in other ways are left to the `parquet` crate.

use std::ops::Range;

use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;

use super::input::{Cell, Input};
use super::runs::Runs;

/// The cells of a column in a row group that have not been read.
pub struct Pages {
    reader: Box<dyn PageReader>,
    words: Words,
    /// The definition level of cells that are not null.
    there: u32,
    dictionary: Option<Dictionary>,
    page: Option<DataPage>,
    /// The definition levels of the cells that are being read.
    levels: Vec<i32>,
}

/// How words are written.
#[derive(Clone, Copy, Debug)]
enum Words {
    Text,
    Int32,
    Int64,
    Float,
    Double,
}

struct Dictionary {
    page: Page,
    /// The position of each word, or its mark.
    positions: Vec<i32>,
}

/// A data page from which something has been read.
struct DataPage {
    page: Page,
    /// The number of remaining cells.
    left: usize,
    /// Their definition levels, if any can be null.
    levels: Option<Runs>,
    values: Values,
}

/// The encoding of the non-null cells of a data page.
enum Values {
    /// Numbers of words.
    Numbers(Runs),
    /// Words, from here on.
    Words(usize),
}

/// Marks out-of-range word numbers; larger than any position in a page.
const OUTSIDE: i32 = i32::MIN;

/// The mark for a word that is not a value, from its position in its page.
fn mark(at: usize) -> i32 {
    -2 - at as i32
}

impl Pages {
    /// Whether a column is written in a way that is read here.
    pub fn can_read(column: &ColumnChunkMetaData) -> bool {
        let is_known = |encoding| {
            let words = matches!(
                encoding,
                Encoding::PLAIN | Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY
            );
            #[expect(
                deprecated,
                reason = "old writers name it for levels that they do not write"
            )]
            let levels = matches!(encoding, Encoding::RLE | Encoding::BIT_PACKED);
            words || levels
        };
        Words::of(column.column_type()).is_some() && column.encodings().all(is_known)
    }

    pub fn new(reader: Box<dyn PageReader>, column: &ColumnChunkMetaData) -> Result<Self> {
        let words =
            Words::of(column.column_type()).ok_or_else(|| damaged("a column of another kind"))?;
        let there = column.column_descr().max_def_level().max(0) as u32;
        Ok(Pages {
            reader,
            words,
            there,
            dictionary: None,
            page: None,
            levels: vec![],
        })
    }

    /// Appends the positions of some cells, negative if missing, and what is wrong with those that
    /// are no values.
    pub fn read(
        &mut self,
        input: &Input,
        count: usize,
        to: &mut Vec<i32>,
        bad: &mut Vec<(usize, String)>,
    ) -> Result<()> {
        let mut left = count;
        while left > 0 {
            let Some(page) = self.page.as_mut().filter(|page| page.left > 0) else {
                self.turn(input)?;
                continue;
            };
            let (start, some) = (to.len(), page.left.min(left));
            let values = page.count_values(self.there, some, &mut self.levels)?;
            let positions = self
                .dictionary
                .as_ref()
                .map_or(&[][..], |dictionary| &dictionary.positions);
            page.read_values(values, (self.words, positions, input), to)?;
            if values < some {
                to.resize(start + some, -1);
                spread(&mut to[start..], &self.levels, self.there as i32, values);
            }
            page.left -= some;
            left -= some;
            self.complain(input, start, to, bad)?;
        }
        Ok(())
    }

    /// Goes to the next page.
    fn turn(&mut self, input: &Input) -> Result<()> {
        let page = self.reader.get_next_page()?;
        let page = page
            .ok_or_else(|| ParquetError::EOF("a column has fewer rows than the others".into()))?;
        if !page.is_dictionary_page() {
            self.page = Some(DataPage::new(page, self.there)?);
        } else if self.dictionary.is_some() {
            return Err(damaged("a column with two dictionaries"));
        } else {
            self.dictionary = Some(Dictionary::new(page, self.words, input)?);
        }
        Ok(())
    }

    /// Replaces marks by missing cells, and says what is wrong with them.
    fn complain(
        &self,
        input: &Input,
        start: usize,
        to: &mut [i32],
        bad: &mut Vec<(usize, String)>,
    ) -> Result<()> {
        if to[start..].iter().fold(-1, |least, cell| least.min(*cell)) == -1 {
            return Ok(());
        }
        let page = match (&self.page, &self.dictionary) {
            (
                Some(DataPage {
                    page,
                    values: Values::Words(_),
                    ..
                }),
                _,
            ) => page,
            (_, Some(dictionary)) => &dictionary.page,
            _ => return Err(damaged("a column without its dictionary")),
        };
        for (row, cell) in to
            .iter_mut()
            .enumerate()
            .skip(start)
            .filter(|(_, cell)| **cell < -1)
        {
            if *cell == OUTSIDE {
                return Err(damaged("a cell that is not in the dictionary"));
            }
            let (word, _) = self.words.at(page.buffer(), (-2 - *cell) as usize)?;
            bad.push((row, input.complaint(word)));
            *cell = -1;
        }
        Ok(())
    }
}

impl Words {
    fn of(kind: Type) -> Option<Self> {
        match kind {
            Type::BYTE_ARRAY => Some(Words::Text),
            Type::INT32 => Some(Words::Int32),
            Type::INT64 => Some(Words::Int64),
            Type::FLOAT => Some(Words::Float),
            Type::DOUBLE => Some(Words::Double),
            _ => None,
        }
    }

    /// The word that stands somewhere, and where the next one does.
    fn at(self, bytes: &[u8], at: usize) -> Result<(Cell<'_>, usize)> {
        let rest = bytes.get(at..).unwrap_or_default();
        let number = |cell: Option<Cell<'static>>, size| cell.map(|cell| (cell, at + size));
        let found = match self {
            Words::Int32 => number(
                rest.first_chunk()
                    .map(|x| Cell::Integer(i32::from_le_bytes(*x).into())),
                4,
            ),
            Words::Int64 => number(
                rest.first_chunk()
                    .map(|x| Cell::Integer(i64::from_le_bytes(*x))),
                8,
            ),
            Words::Float => number(
                rest.first_chunk()
                    .map(|x| Cell::Real(f32::from_le_bytes(*x).into())),
                4,
            ),
            Words::Double => number(
                rest.first_chunk()
                    .map(|x| Cell::Real(f64::from_le_bytes(*x))),
                8,
            ),
            Words::Text => rest.split_first_chunk().and_then(|(length, rest)| {
                let length = u32::from_le_bytes(*length) as usize;
                Some((Cell::Text(rest.get(..length)?), at + 4 + length))
            }),
        };
        found.ok_or_else(|| damaged("a page that ends too early"))
    }

    /// Translates some words, and tells where they end.
    fn translate(
        self,
        bytes: &[u8],
        mut at: usize,
        count: usize,
        input: &Input,
        to: &mut Vec<i32>,
    ) -> Result<usize> {
        for _ in 0..count {
            let (word, next) = self.at(bytes, at)?;
            to.push(input.position(word).unwrap_or_else(|| mark(at)));
            at = next;
        }
        Ok(at)
    }
}

impl Dictionary {
    fn new(page: Page, words: Words, input: &Input) -> Result<Self> {
        if !matches!(
            page.encoding(),
            Encoding::PLAIN | Encoding::PLAIN_DICTIONARY
        ) {
            return Err(damaged(&format!(
                "a dictionary in the encoding {}",
                page.encoding()
            )));
        }
        let mut positions = vec![];
        words.translate(
            page.buffer(),
            0,
            page.num_values() as usize,
            input,
            &mut positions,
        )?;
        Ok(Dictionary { page, positions })
    }
}

impl DataPage {
    fn new(page: Page, there: u32) -> Result<Self> {
        let bytes = page.buffer();
        let (levels, start) = sections(&page, there > 0)?;
        let levels = match there {
            0 => None,
            _ => Some(Runs::new(bytes, levels, u32::BITS - there.leading_zeros())?),
        };
        let values = match page.encoding() {
            Encoding::PLAIN => Values::Words(start),
            Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY => {
                let width = bytes.get(start).map_or(0, |width| u32::from(*width)); // none where all cells are null
                Values::Numbers(Runs::new(
                    bytes,
                    (start + 1).min(bytes.len())..bytes.len(),
                    width,
                )?)
            }
            other => {
                return Err(damaged(&format!(
                    "a page in the encoding {other}, which its column does not list"
                )));
            }
        };
        Ok(DataPage {
            left: page.num_values() as usize,
            levels,
            values,
            page,
        })
    }

    /// Reads the levels of some cells, and counts those that are not null.
    fn count_values(&mut self, there: u32, count: usize, levels: &mut Vec<i32>) -> Result<usize> {
        let Some(runs) = &mut self.levels else {
            return Ok(count);
        };
        levels.clear();
        runs.read(self.page.buffer(), count, levels, |level| level as i32)?;
        let there = there as i32;
        if levels.iter().fold(0, |most, level| most.max(*level)) > there {
            return Err(damaged("a cell with a level that its column does not have"));
        }
        Ok(levels.iter().filter(|level| **level == there).count())
    }

    /// Appends what some cells are translated to that are not null.
    fn read_values(
        &mut self,
        count: usize,
        (words, positions, input): (Words, &[i32], &Input),
        to: &mut Vec<i32>,
    ) -> Result<()> {
        let bytes = self.page.buffer();
        match &mut self.values {
            Values::Numbers(runs) => runs.read(bytes, count, to, |number| {
                positions.get(number as usize).copied().unwrap_or(OUTSIDE)
            }),
            Values::Words(at) => {
                *at = words.translate(bytes, *at, count, input, to)?;
                Ok(())
            }
        }
    }
}

/// Where the definition levels of a data page are, and where its values begin.
fn sections(page: &Page, has_levels: bool) -> Result<(Range<usize>, usize)> {
    let sections = match page {
        Page::DataPageV2 {
            rep_levels_byte_len,
            def_levels_byte_len,
            ..
        } => {
            let start = *rep_levels_byte_len as usize;
            start..start + *def_levels_byte_len as usize
        }
        _ if !has_levels => 0..0,
        Page::DataPage {
            def_level_encoding: Encoding::RLE,
            buf,
            ..
        } => {
            let length = buf
                .first_chunk()
                .map_or(0, |length| u32::from_le_bytes(*length));
            4..4 + length as usize
        }
        _ => {
            return Err(damaged(
                "levels in an encoding that is not written any more",
            ));
        }
    };
    match page.buffer().get(sections.clone()) {
        Some(_) => Ok((sections.clone(), sections.end)),
        None => Err(damaged("a page that ends before its values")),
    }
}

/// Cells are where their levels say, and not one behind the other.
fn spread(cells: &mut [i32], levels: &[i32], there: i32, mut count: usize) {
    for (at, level) in levels.iter().enumerate().rev() {
        let is_there = *level == there;
        count -= usize::from(is_there);
        let cell = cells[count]; // read in any case: there is nothing to be guessed by the processor
        cells[at] = if is_there { cell } else { -1 };
    }
}

pub fn damaged(what: &str) -> ParquetError {
    ParquetError::General(format!("there is {what}"))
}

#[cfg(test)]
mod tests;
