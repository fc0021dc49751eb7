//! A column of a chunk: the positions of values, in a byte each if the variable has few.
//!
//! Most variables have few values, and reading is mostly moving cells about. All formats agree on
//! what is narrow, so that fingerprints of the same cells are the same.

use sumout::{Batch, Circuit, Column, Result, VarId};

use super::journal::Fingerprint;

/// A variable with more values is wide: 127 is more than any position of those that are not.
const MAX_NARROW_CARD: usize = i8::MAX as usize;

/// Positions of values, -1 where a cell is missing; or likelihoods, one for each value.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    Narrow(Vec<i8>),
    Wide(Vec<i32>),
    Soft(Vec<f64>),
}

/// Whether positions of a variable with this many values fit a byte.
pub fn is_narrow(card: usize) -> bool {
    card <= MAX_NARROW_CARD
}

impl Values {
    /// An empty column for a variable with this many values, with capacity.
    pub fn empty(card: usize, room: usize) -> Self {
        if is_narrow(card) {
            Values::Narrow(Vec::with_capacity(room))
        } else {
            Values::Wide(Vec::with_capacity(room))
        }
    }

    /// Appends positions of the variable's values.
    pub fn extend(&mut self, positions: &[i32]) {
        match self {
            Values::Narrow(values) => {
                values.extend(positions.iter().map(|&position| position as i8))
            }
            Values::Wide(values) => values.extend(positions),
            Values::Soft(_) => {} // likelihoods come all at once
        }
    }

    /// The rows whose cells are missing.
    pub fn missing(&self) -> Vec<usize> {
        match self {
            Values::Narrow(values) => rows(values, |value| value < 0),
            Values::Wide(values) => rows(values, |value| value < 0),
            Values::Soft(_) => vec![],
        }
    }

    /// The rows whose positions are out of range.
    pub fn beyond(&self, card: usize) -> Vec<usize> {
        match self {
            Values::Narrow(values)
                if values.iter().fold(-1, |most, &x| most.max(x)) < card as i8 =>
            {
                vec![]
            }
            Values::Narrow(values) => rows(values, |value| value >= card as i8),
            Values::Wide(values) => rows(values, |value| value >= card as i32),
            Values::Soft(_) => vec![],
        }
    }

    /// Puts a position into a row.
    pub fn set(&mut self, row: usize, position: i8) {
        match self {
            Values::Narrow(values) => values[row] = position,
            Values::Wide(values) => values[row] = position.into(),
            Values::Soft(_) => {}
        }
    }

    /// All positions.
    pub fn positions(self) -> Vec<i32> {
        match self {
            Values::Narrow(values) => values.into_iter().map(i32::from).collect(),
            Values::Wide(values) => values,
            Values::Soft(_) => vec![],
        }
    }

    /// A fingerprint of these cells, eight bytes at a time.
    pub fn fingerprint(&self, before: Fingerprint) -> Fingerprint {
        match self {
            Values::Narrow(values) => {
                let (words, rest) = values.as_chunks::<8>();
                let word = |bytes: &[i8; 8]| u64::from_le_bytes(bytes.map(|byte| byte as u8));
                let print = words
                    .iter()
                    .fold(before, |print, bytes| print.with(word(bytes)));
                rest.iter()
                    .fold(print, |print, &value| print.with(value as u64))
            }
            Values::Wide(values) => {
                let (pairs, rest) = values.as_chunks::<2>();
                let pair = |[a, b]: [i32; 2]| u64::from(a as u32) << 32 | u64::from(b as u32);
                let print = pairs.iter().fold(before, |print, &ab| print.with(pair(ab)));
                rest.iter()
                    .fold(print, |print, &value| print.with(u64::from(value as u32)))
            }
            Values::Soft(numbers) => numbers
                .iter()
                .fold(before, |print, x| print.with(x.to_bits())),
        }
    }

    /// Adds the column to a batch of at least as many rows: the last one is repeated.
    pub fn insert(self, batch: &mut Batch, circuit: &Circuit, var: VarId) -> Result<()> {
        match self {
            Values::Narrow(values) => {
                batch.insert_bytes(circuit, var, repeated(values, batch.len()))
            }
            Values::Wide(values) => {
                batch.insert(circuit, var, Column::Values(repeated(values, batch.len())))
            }
            Values::Soft(mut numbers) => {
                let card = circuit.variable(var).values.len();
                let last = numbers.len().saturating_sub(card);
                while numbers.len() < batch.len() * card && last < numbers.len() {
                    numbers.extend_from_within(last..last + card);
                }
                batch.insert(circuit, var, Column::Likelihoods(numbers))
            }
        }
    }
}

/// The rows of a matrix that stay in the cache while they are put into columns.
const ROWS_IN_CACHE: usize = 64;

/// The columns of a matrix of cells, each of which stands for a number, of variables with so many
/// values. Invalid positions remain too large or negative.
pub fn columns<C: Copy>(cells: &[C], cards: &[usize], number: impl Fn(C) -> i64) -> Vec<Values> {
    if cards.iter().all(|&card| is_narrow(card)) {
        let narrow = |cell: C| number(cell).clamp(-1, i8::MAX.into()) as i8;
        return transposed(cells, cards.len(), narrow)
            .into_iter()
            .map(Values::Narrow)
            .collect();
    }
    let wide = |cell: C| number(cell).clamp(-1, i32::MAX.into()) as i32;
    let columns = transposed(cells, cards.len(), wide).into_iter();
    columns
        .zip(cards)
        .map(|(column, &card)| fitting(column, card))
        .collect()
}

/// The positions of a variable in as few bytes as its values need.
fn fitting(column: Vec<i32>, card: usize) -> Values {
    if !is_narrow(card) {
        return Values::Wide(column);
    }
    let narrow = |x: i32| x.min(i8::MAX.into()) as i8;
    Values::Narrow(column.into_iter().map(narrow).collect())
}

fn transposed<C: Copy, T: Copy + Default>(
    cells: &[C],
    width: usize,
    number: impl Fn(C) -> T,
) -> Vec<Vec<T>> {
    let mut columns = vec![vec![T::default(); cells.len() / width.max(1)]; width];
    for (block, rows) in cells.chunks(ROWS_IN_CACHE * width.max(1)).enumerate() {
        for (at, column) in columns.iter_mut().enumerate() {
            let to = &mut column[block * ROWS_IN_CACHE..][..rows.len() / width];
            to.iter_mut()
                .zip(rows[at..].iter().step_by(width))
                .for_each(|(to, cell)| *to = number(*cell));
        }
    }
    columns
}

fn rows<T: Copy>(values: &[T], is: impl Fn(T) -> bool) -> Vec<usize> {
    values
        .iter()
        .enumerate()
        .filter(|(_, value)| is(**value))
        .map(|(row, _)| row)
        .collect()
}

fn repeated<T: Copy + From<i8>>(mut values: Vec<T>, rows: usize) -> Vec<T> {
    values.resize(rows, values.last().copied().unwrap_or_else(|| T::from(-1)));
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers beyond all positions stay so, whether a byte is enough for the positions or not.
    #[test]
    fn rows_become_columns() {
        for (cards, limit) in [([2, 127], 127), ([2, 300], i32::MAX)] {
            for rows in [0, 1, 63, 64, 65, 200] {
                let cell =
                    |row: usize, column: usize| [-9, 1 << 40, 126, 0, 1][(3 * row + column) % 5];
                let cells: Vec<i64> = (0..2 * rows).map(|at| cell(at / 2, at % 2)).collect();
                for (column, found) in columns(&cells, &cards, |x| x).into_iter().enumerate() {
                    let limit = if column == 0 { 127 } else { i64::from(limit) };
                    let expected: Vec<i32> = (0..rows)
                        .map(|row| cell(row, column).clamp(-1, limit) as i32)
                        .collect();
                    assert_eq!(matches!(found, Values::Narrow(_)), is_narrow(cards[column]));
                    let beyond = |row: &usize| expected[*row] >= cards[column] as i32;
                    assert_eq!(
                        found.beyond(cards[column]),
                        (0..rows).filter(beyond).collect::<Vec<_>>()
                    );
                    assert_eq!(found.positions(), expected);
                }
            }
        }
    }
}
