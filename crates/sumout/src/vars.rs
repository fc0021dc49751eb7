//! Variables by number, and sets of ids.

use std::fmt;
use std::ops::{BitAnd, BitOr, Sub};

use serde::{Deserialize, Serialize};

/// A variable of a network: its position in topological order. Parents have smaller ids than their
/// children.
///
/// A [`FactorModel`](crate::model::FactorModel) keeps the ids of the network that it was made from,
/// and may have more variables behind them, in any order. The axes of tensors have ids of their
/// own: a variable is an [axis](crate::tensor::AxisId), but not every axis is a variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VarId(u32);

impl VarId {
    /// The variable at this position.
    pub(crate) fn new(index: usize) -> Self {
        VarId(u32::try_from(index).expect("a network has fewer than 2^32 variables"))
    }

    /// The position, to index a slice with.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for VarId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

/// A set of ids of one kind, kept sorted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(
    from = "Vec<I>",
    bound(deserialize = "I: Copy + Ord + Deserialize<'de>")
)]
pub struct IdSet<I>(Vec<I>);

/// A set of variables, kept sorted.
pub type VarSet = IdSet<VarId>;

impl<I: Copy + Ord> IdSet<I> {
    /// The members, in increasing order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + '_ {
        self.0.iter().copied()
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `id` is a member.
    pub fn contains(&self, id: I) -> bool {
        self.0.binary_search(&id).is_ok()
    }

    /// Whether every member is one of `other`.
    pub fn is_subset(&self, other: &IdSet<I>) -> bool {
        self.iter().all(|v| other.contains(v))
    }

    /// Adds `id`, and returns whether it was new.
    pub fn insert(&mut self, id: I) -> bool {
        match self.0.binary_search(&id) {
            Ok(_) => false,
            Err(at) => {
                self.0.insert(at, id);
                true
            }
        }
    }

    /// Keeps the members for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(I) -> bool) {
        self.0.retain(|&v| keep(v));
    }

    /// The members as a sorted slice.
    pub fn as_slice(&self) -> &[I] {
        &self.0
    }
}

impl<I: Copy + Ord> FromIterator<I> for IdSet<I> {
    fn from_iter<T: IntoIterator<Item = I>>(ids: T) -> Self {
        let mut ids: Vec<I> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        IdSet(ids)
    }
}

impl<I: Copy + Ord> From<Vec<I>> for IdSet<I> {
    fn from(ids: Vec<I>) -> Self {
        ids.into_iter().collect()
    }
}

impl<I> Default for IdSet<I> {
    fn default() -> Self {
        IdSet(vec![])
    }
}

impl<I: fmt::Debug> fmt::Debug for IdSet<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(&self.0).finish()
    }
}

impl<I: Copy + Ord> BitOr for &IdSet<I> {
    type Output = IdSet<I>;
    fn bitor(self, other: &IdSet<I>) -> IdSet<I> {
        self.iter().chain(other.iter()).collect()
    }
}

impl<I: Copy + Ord> BitAnd for &IdSet<I> {
    type Output = IdSet<I>;
    fn bitand(self, other: &IdSet<I>) -> IdSet<I> {
        IdSet(self.iter().filter(|&v| other.contains(v)).collect())
    }
}

impl<I: Copy + Ord> Sub for &IdSet<I> {
    type Output = IdSet<I>;
    fn sub(self, other: &IdSet<I>) -> IdSet<I> {
        IdSet(self.iter().filter(|&v| !other.contains(v)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ids: &[usize]) -> VarSet {
        ids.iter().map(|&i| VarId::new(i)).collect()
    }

    #[test]
    fn sets_are_sorted_and_without_repeats() {
        assert_eq!(set(&[3, 1, 3, 2]).as_slice(), set(&[1, 2, 3]).as_slice());
    }

    #[test]
    fn union_intersection_and_difference() {
        let (a, b) = (set(&[1, 2, 5]), set(&[2, 3]));
        assert_eq!(&a | &b, set(&[1, 2, 3, 5]));
        assert_eq!(&a & &b, set(&[2]));
        assert_eq!(&a - &b, set(&[1, 5]));
        assert!((&a & &b).is_subset(&a) && !a.is_subset(&b));
    }
}
