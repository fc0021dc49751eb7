//! What the tests of a testing network cost.

use serde::Serialize;

use super::Count;
use crate::compile::tree::Cost;

/// The circuits of all tests together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tests {
    /// How many tests there are.
    pub count: usize,
    /// The numbers that their circuits store for each example.
    pub entries: Count,
    /// The products that they form for it.
    pub multiply_adds: Count,
}

impl Default for Tests {
    fn default() -> Self {
        Tests { count: 0, entries: Count(0.0), multiply_adds: Count(0.0) }
    }
}

impl Tests {
    pub(crate) fn add(&mut self, cost: &Cost) {
        self.entries.0 += cost.entries;
        self.multiply_adds.0 += cost.multiply_adds;
    }
}
