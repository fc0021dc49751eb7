//! Places in one stretch of memory for tensors that are needed for a while.
//!
//! Places are given out and taken back when a program is compiled, not when it runs: the size of
//! the stretch is known before it is allocated, and a run allocates nothing.

use std::collections::BTreeMap;

/// The free parts of a stretch that grows at its end.
#[derive(Debug, Default)]
pub(super) struct Arena {
    /// Start and length of each free part; no two of them touch.
    free: BTreeMap<usize, usize>,
    end: usize,
}

impl Arena {
    /// A place of this length: the tightest free part that holds it, or the end.
    pub fn take(&mut self, length: usize) -> usize {
        let fits = self.free.iter().filter(|(_, free)| **free >= length);
        let Some((&start, &free)) = fits.min_by_key(|(_, free)| **free) else {
            return self.grow(length);
        };
        self.free.remove(&start);
        if free > length {
            self.free.insert(start + length, free - length);
        }
        start
    }

    /// A place at the end, which may begin with a free part there.
    fn grow(&mut self, length: usize) -> usize {
        let last = self
            .free
            .last_key_value()
            .map(|(&start, &free)| (start, free));
        let start = last
            .filter(|(start, free)| start + free == self.end)
            .map_or(self.end, |(start, _)| start);
        self.free.remove(&start);
        self.end = start + length;
        start
    }

    /// Takes a place back.
    pub fn give(&mut self, mut start: usize, mut length: usize) {
        if let Some(after) = self.free.remove(&(start + length)) {
            length += after;
        }
        if let Some((&before, &free)) = self.free.range(..start).next_back()
            && before + free == start
        {
            start = before;
            length += free;
        }
        self.free.insert(start, length);
    }

    /// How long the stretch must be.
    pub fn len(&self) -> usize {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_is_taken_again() {
        let mut arena = Arena::default();
        let [a, b, c] = [4, 2, 3].map(|length| arena.take(length));
        assert_eq!((a, b, c, arena.len()), (0, 4, 6, 9));
        arena.give(a, 4);
        arena.give(b, 2);
        assert_eq!((arena.take(5), arena.take(1)), (0, 5));
        arena.give(c, 3);
        assert_eq!((arena.take(7), arena.len()), (6, 13));
    }
}
