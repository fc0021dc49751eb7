//! Which axes a join keeps, and what an expansion takes out of a tensor and puts in.

use std::collections::BTreeSet;

use crate::compile::plan::expand::{Expander, OpenTensor};
use crate::vars::{VarId, VarSet};

/// An axis is not expanded through more functions than this.
const MAX_SOURCES: usize = 64;

/// The effect of expanding an axis of a tensor.
pub(super) struct Expansion {
    /// The axes that are summed out.
    pub out: VarSet,
    /// The axes of the result.
    pub kept: VarSet,
    /// The variables whose definers are copied.
    pub copies: BTreeSet<VarId>,
}

impl Expander<'_> {
    /// The axes that a join of two tensors keeps.
    pub(super) fn joined_axes(&self, a: usize, b: usize) -> Option<(VarSet, VarSet)> {
        let (x, y) = (self.tensors[a].as_ref()?, self.tensors[b].as_ref()?);
        let cluster = &x.axes | &y.axes;
        let keeps = |v: &VarId| {
            if !self.is_needed(*v, &[a, b]) {
                return false;
            }
            let inside = usize::from(x.defined.contains(*v)) + usize::from(y.defined.contains(*v));
            inside == 0 || self.defined[v.index()] == inside
        };
        let kept = cluster.iter().filter(keeps).collect();
        Some((cluster, kept))
    }

    /// The axes that an expansion removes from a tensor and adds to it, and the factors it multiplies with.
    pub(super) fn expansion(&self, a: usize, x: VarId) -> Option<Expansion> {
        let tensor = self.tensors[a].as_ref()?;
        if !self.can_expand(tensor, x) {
            return None;
        }
        let mut sources: VarSet = self.sources(x)?;
        let others = tensor.axes.iter().filter(|&v| !self.can_expand(tensor, v));
        let known: VarSet = others.chain(sources.iter()).collect();
        let mut out = VarSet::from_iter([x]);
        let mut copies: BTreeSet<VarId> = self.between(x, &sources);
        for y in tensor
            .axes
            .iter()
            .filter(|&y| y != x && self.can_expand(tensor, y))
        {
            let Some(needs) = self.sources(y).filter(|needs| needs.is_subset(&known)) else {
                continue;
            };
            out.insert(y);
            copies.extend(self.between(y, &needs));
            sources = &sources | &needs;
        }
        Some(Expansion {
            kept: &(&tensor.axes - &out) | &sources,
            out,
            copies,
        })
    }

    pub(super) fn can_expand(&self, tensor: &OpenTensor, x: VarId) -> bool {
        self.problem.definer[x.index()].is_some()
            && tensor.axes.contains(x)
            && !tensor.defined.contains(x)
            && !self.problem.output.contains(x)
    }

    /// The variables that x is expanded to; none if one of them is gone.
    fn sources(&self, x: VarId) -> Option<VarSet> {
        let mut sources = VarSet::default();
        let mut seen = BTreeSet::new();
        let mut stack: Vec<VarId> = self.problem.parents(x).collect();
        while let Some(u) = stack.pop() {
            if self.gone[u.index()] || seen.len() > MAX_SOURCES {
                return None;
            }
            if !seen.insert(u) {
                continue;
            }
            if self.taste.deep && self.problem.definer[u.index()].is_some() {
                stack.extend(self.problem.parents(u));
            } else {
                sources.insert(u);
            }
        }
        Some(sources)
    }

    /// The variables from the sources down to x whose definers are copied.
    fn between(&self, x: VarId, sources: &VarSet) -> BTreeSet<VarId> {
        let mut between = BTreeSet::new();
        let mut stack = vec![x];
        while let Some(v) = stack.pop() {
            if between.insert(v) {
                stack.extend(self.problem.parents(v).filter(|u| !sources.contains(*u)));
            }
        }
        between
    }
}
