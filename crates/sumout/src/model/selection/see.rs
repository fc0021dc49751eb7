//! Which evidence a selection sees.

use crate::model::Network;
use crate::model::selection::Sight;
use crate::vars::{VarId, VarSet};

impl Network {
    /// The variables whose evidence may count when the CPT of a variable is selected.
    pub(crate) fn seen_by(&self, selected: VarId) -> VarSet {
        let ancestors = self.ancestors(selected);
        if self.sight() == Sight::Ancestral {
            return ancestors;
        }
        let is_settled = |other: VarId| match self.sight() {
            Sight::Predecessor => other < selected,
            _ => ancestors.contains(other),
        };
        // Parents come before children, so what is below an unsettled variable is found in one
        // pass.
        let mut is_hidden = vec![false; self.variables().len()];
        for v in self.ids() {
            let is_below = self.parents(v).iter().any(|p| is_hidden[p.index()]);
            is_hidden[v.index()] =
                is_below || (self.cpts()[v.index()].selected().is_some() && !is_settled(v));
        }
        self.ids().filter(|v| !is_hidden[v.index()]).collect()
    }

    fn ancestors(&self, of: VarId) -> VarSet {
        let mut found = VarSet::default();
        let mut waiting = self.parents(of).to_vec();
        while let Some(v) = waiting.pop() {
            if !found.contains(v) {
                found.insert(v);
                waiting.extend(self.parents(v));
            }
        }
        found
    }
}
