//! The variables that a target needs: those behind its conditional distribution, and those of
//! factors that always count.

use crate::compile::factor::Factor;
use crate::vars::{VarId, VarSet};

/// The variables that each target needs.
pub(crate) struct Needs {
    /// Needed by every target.
    common: VarSet,
    /// The other variables of each variable's conditional distribution, if it has one.
    parents: Vec<Option<Vec<VarId>>>,
}

impl Needs {
    /// Given the factors that always count, and the parents of variables that may be barren.
    pub fn new(factors: &[Factor], parents: Vec<Option<Vec<VarId>>>) -> Self {
        let common = factors.iter().flat_map(|f| f.scope.iter().copied());
        Needs {
            common: common.collect(),
            parents,
        }
    }

    /// The variables that a target needs, itself included.
    pub fn of(&self, target: VarId) -> VarSet {
        let mut is_found = vec![false; self.parents.len()];
        let mut waiting = vec![target];
        while let Some(v) = waiting.pop() {
            if !std::mem::replace(&mut is_found[v.index()], true) {
                waiting.extend(self.parents[v.index()].iter().flatten().copied());
            }
        }
        let found = (0..is_found.len()).filter(|&v| is_found[v]);
        &found.map(VarId::new).collect::<VarSet>() | &self.common
    }
}
