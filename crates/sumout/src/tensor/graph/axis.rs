//! The axes of tensors.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::vars::{IdSet, VarId, VarSet};

/// An axis of the tensors of a [`Graph`](crate::tensor::Graph).
///
/// The variables of a network are a graph's first axes, in their order. Behind them come those that
/// are [added](crate::tensor::Graph::axis) and stand for no variable:
/// [`Graph::variable`](crate::tensor::Graph::variable) tells which one an axis is, if any.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AxisId(u32);

/// A set of axes, kept sorted.
pub type AxisSet = IdSet<AxisId>;

impl AxisId {
    pub(crate) fn new(index: usize) -> Self {
        AxisId(u32::try_from(index).expect("a graph has fewer than 2^32 axes"))
    }

    /// The position, to index a slice with.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for AxisId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "x{}", self.0)
    }
}

/// A variable is the axis at its position.
impl From<VarId> for AxisId {
    fn from(var: VarId) -> Self {
        AxisId::new(var.index())
    }
}

impl From<&VarSet> for AxisSet {
    fn from(vars: &VarSet) -> Self {
        vars.iter().map(AxisId::from).collect()
    }
}
