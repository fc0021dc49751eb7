//! The numbers of factors as symbols.
//!
//! A number is one symbol wherever it stands, so that tables with the same numbers are equal. Numbers
//! that must stay visible, or that are given for each example, are a symbol for each place, whatever
//! they are.

use rustc_hash::FxHashMap;

/// A symbol by its number.
pub(super) type SymbolId = u32;

/// The number zero.
pub(super) const ZERO: SymbolId = 0;

/// The number one.
#[cfg(test)]
pub(super) const ONE: SymbolId = 1;

/// The meaning of a symbol.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Symbol {
    /// A number that is known.
    Number(f64),
    /// A number of a factor that stays visible.
    Entry { factor: u32, place: u32 },
}

/// All symbols.
#[derive(Debug)]
pub(super) struct Symbols {
    all: Vec<Symbol>,
    numbers: FxHashMap<u64, SymbolId>,
}

impl Symbols {
    pub fn new() -> Self {
        let mut symbols = Symbols {
            all: vec![],
            numbers: FxHashMap::default(),
        };
        symbols.number(0.0);
        symbols.number(1.0);
        symbols
    }

    /// The symbol of a number.
    pub fn number(&mut self, number: f64) -> SymbolId {
        let next = self.all.len() as SymbolId;
        let id = *self.numbers.entry(number.to_bits()).or_insert(next);
        if id == next {
            self.all.push(Symbol::Number(number));
        }
        id
    }

    /// A symbol for a place of a factor.
    pub fn entry(&mut self, factor: usize, place: usize) -> SymbolId {
        self.all.push(Symbol::Entry {
            factor: factor as u32,
            place: place as u32,
        });
        self.all.len() as SymbolId - 1
    }

    /// The meaning of a symbol.
    pub fn get(&self, id: SymbolId) -> Symbol {
        self.all[id as usize]
    }

    /// The sum of some symbols, if all of them are numbers.
    ///
    /// Rows of probabilities add up to one but for rounding, and then to one.
    pub fn sum(&mut self, ids: impl Iterator<Item = SymbolId>) -> Option<SymbolId> {
        let (mut sum, mut terms) = (0.0, 0.0);
        for id in ids {
            let Symbol::Number(number) = self.get(id) else {
                return None;
            };
            sum += number;
            terms += 1.0;
        }
        let is_one = (sum - 1.0).abs() <= terms * f64::EPSILON;
        Some(self.number(if is_one { 1.0 } else { sum }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_are_one_symbol_and_places_are_not() {
        let mut symbols = Symbols::new();
        assert_eq!([symbols.number(0.0), symbols.number(1.0)], [ZERO, ONE]);
        assert_eq!(symbols.number(0.3), symbols.number(0.3));
        assert_ne!(symbols.entry(0, 1), symbols.entry(0, 1));
    }

    #[test]
    fn rows_add_up_to_one_and_places_have_no_sum() {
        let mut symbols = Symbols::new();
        let row = [0.7, 0.2, 0.1].map(|p| symbols.number(p));
        assert_ne!(0.7 + 0.2 + 0.1, 1.0);
        assert_eq!(symbols.sum(row.into_iter()), Some(ONE));
        let place = symbols.entry(0, 0);
        assert_eq!(symbols.sum([ZERO, place].into_iter()), None);
    }
}
