//! The joins and expansions that could be made next, the cheapest first.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use rand::RngExt;

use crate::compile::plan::expand::Expander;
use crate::vars::VarId;

/// With more tensors than this around a variable, only some of them are paired.
const MAX_NEIGHBOURS: usize = 24;

/// A possible move on the tensors of a partial plan.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// Multiplies two tensors.
    Join(usize, usize),
    /// Replaces an axis of a tensor by what it is a function of.
    Expand(usize, VarId),
}

/// An action with its score when it was looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub score: f64,
    pub noise: f64,
    pub order: usize,
    pub action: Action,
}

impl Expander<'_> {
    pub(super) fn push_actions(&mut self, id: usize, is_start: bool) {
        let Some(tensor) = self.tensors[id].clone() else {
            return;
        };
        let mut others: BTreeSet<usize> = BTreeSet::new();
        for v in tensor.axes.iter() {
            let holders = &self.holders[v.index()];
            others.extend(
                holders
                    .iter()
                    .rev()
                    .take(MAX_NEIGHBOURS)
                    .chain(holders.range(id..).take(MAX_NEIGHBOURS)),
            );
        }
        for other in others
            .into_iter()
            .filter(|&o| o != id && (!is_start || o > id))
        {
            self.push(Action::Join(other.min(id), other.max(id)));
        }
        let functional = tensor.axes.iter().filter(|&x| self.can_expand(&tensor, x));
        functional
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|x| self.push(Action::Expand(id, x)));
    }

    fn push(&mut self, action: Action) {
        let u: f64 = self.rng.random::<f64>().max(1e-300);
        let noise = self.taste.noise * -(-u.ln()).ln();
        let Some(score) = self.score(&action) else {
            return;
        };
        self.pushed += 1;
        self.heap.push(Candidate {
            score: score - noise,
            noise,
            order: self.pushed,
            action,
        });
    }

    /// The price of an action on a scale of logarithms, with its sign; none if it is not possible.
    pub(super) fn score(&self, action: &Action) -> Option<f64> {
        let (cluster, kept, old, varies, wide) = match *action {
            Action::Join(a, b) => {
                let (cluster, kept) = self.joined_axes(a, b)?;
                let (x, y) = (self.tensors[a].as_ref()?, self.tensors[b].as_ref()?);
                let free = |v: &VarId| {
                    self.problem.definer[v.index()].is_some()
                        && !x.defined.contains(*v)
                        && !y.defined.contains(*v)
                };
                let wide = kept.iter().filter(free).count() > self.taste.width;
                let old = self.size(&x.axes) + self.size(&y.axes);
                (cluster, kept, old, x.varies || y.varies, wide)
            }
            Action::Expand(a, x) => {
                let tensor = self.tensors[a].as_ref()?;
                let expansion = self.expansion(a, x)?;
                let cluster = &tensor.axes | &expansion.kept;
                (
                    cluster,
                    expansion.kept,
                    self.size(&tensor.axes),
                    tensor.varies,
                    false,
                )
            }
        };
        let price = self.problem.prices.of(varies);
        let score =
            self.size(&kept) + self.taste.cluster * self.size(&cluster) - self.taste.saving * old;
        let scaled = price
            * if wide && score > 0.0 {
                1e3 * score
            } else if wide {
                1e3 * self.size(&kept)
            } else {
                score
            };
        Some(scaled.signum() * (1.0 + scaled.abs()).ln())
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .score
            .total_cmp(&self.score)
            .then(other.order.cmp(&self.order))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}
