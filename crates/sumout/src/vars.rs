//! Variables by number, and sets of them.

use std::fmt;
use std::ops::{BitAnd, BitOr, Sub};

use serde::{Deserialize, Serialize};

/// A variable of a network: its position in topological order. Parents have smaller ids than their
/// children.
///
/// A [`FactorModel`](crate::model::FactorModel) keeps the ids of the network that it was made from,
/// and may have more variables behind them, in any order. A graph of tensors keeps them as its
/// first axes. An axis that stands for no variable comes behind them, and only
/// [`Graph::axis`](crate::tensor::Graph::axis) makes one: nothing else may take a number for an id
/// that is not a position of a variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VarId(u32);

impl VarId {
    /// The variable at this position.
    pub fn new(index: usize) -> Self {
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

/// A set of variables, kept sorted.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<VarId>")]
pub struct VarSet(Vec<VarId>);

impl VarSet {
    /// The members, in increasing order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = VarId> + ExactSizeIterator + '_ {
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

    /// Whether `var` is a member.
    pub fn contains(&self, var: VarId) -> bool {
        self.0.binary_search(&var).is_ok()
    }

    /// Whether every member is one of `other`.
    pub fn is_subset(&self, other: &VarSet) -> bool {
        self.iter().all(|v| other.contains(v))
    }

    /// Adds `var`, and returns whether it was new.
    pub fn insert(&mut self, var: VarId) -> bool {
        match self.0.binary_search(&var) {
            Ok(_) => false,
            Err(at) => {
                self.0.insert(at, var);
                true
            }
        }
    }

    /// Keeps the members for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(VarId) -> bool) {
        self.0.retain(|&v| keep(v));
    }

    /// The members as a sorted slice.
    pub fn as_slice(&self) -> &[VarId] {
        &self.0
    }
}

impl FromIterator<VarId> for VarSet {
    fn from_iter<I: IntoIterator<Item = VarId>>(vars: I) -> Self {
        let mut vars: Vec<VarId> = vars.into_iter().collect();
        vars.sort_unstable();
        vars.dedup();
        VarSet(vars)
    }
}

impl From<Vec<VarId>> for VarSet {
    fn from(vars: Vec<VarId>) -> Self {
        vars.into_iter().collect()
    }
}

impl fmt::Debug for VarSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(&self.0).finish()
    }
}

impl BitOr for &VarSet {
    type Output = VarSet;
    fn bitor(self, other: &VarSet) -> VarSet {
        self.iter().chain(other.iter()).collect()
    }
}

impl BitAnd for &VarSet {
    type Output = VarSet;
    fn bitand(self, other: &VarSet) -> VarSet {
        VarSet(self.iter().filter(|&v| other.contains(v)).collect())
    }
}

impl Sub for &VarSet {
    type Output = VarSet;
    fn sub(self, other: &VarSet) -> VarSet {
        VarSet(self.iter().filter(|&v| !other.contains(v)).collect())
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
