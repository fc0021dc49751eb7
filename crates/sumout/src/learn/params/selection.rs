//! The parameters of selections: thresholds as the gaps between them, slopes and weights as they are.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::error::{Error, ErrorKind, Result};
use crate::learn::params::start::draw;
use crate::learn::params::{Child, Group, NO_WEIGHT, Params, Start};
use crate::model::{
    FactorModel, LARGEST_WEIGHT, STEEPEST, Selection, SelectionKind, SelectionNode,
};
use crate::vars::VarId;

/// Numbers that are their own weights.
#[derive(Clone, Debug)]
pub(crate) struct Free {
    range: Range<usize>,
    /// Where they start, unless they start at random.
    first: Vec<f64>,
    is_random: bool,
    /// Their absolute values are at most this.
    most: f64,
}

/// Scales random weights of a softmax, so that their sum does not decide at once.
const SOFTMAX_SCALE: f64 = 0.3;

impl Params {
    /// Adds the parameters of selections that are not fixed: thresholds of sigmoids, slopes and weights
    /// that are learned.
    pub(crate) fn add_selections<'t>(
        &mut self,
        net: &FactorModel,
        nodes: impl IntoIterator<Item = &'t SelectionNode>,
        strict: bool,
    ) -> Result<()> {
        let mut tied: BTreeMap<(&str, usize, usize), usize> = BTreeMap::new();
        for node in nodes {
            let size = net.card(node.input);
            if let SelectionKind::Sigmoid { is_learned, .. } = node.selection.kind {
                let key = node
                    .tie
                    .as_deref()
                    .map(|tie| (tie, size, node.selection.copies));
                if let Some(key) = key.filter(|key| {
                    strict && tied.keys().any(|other| other.0 == key.0 && other != key)
                }) {
                    let message = format!(
                        "tests tied as `{}` have thresholds of different shapes",
                        key.0
                    );
                    let error = Error::new(ErrorKind::Options, message);
                    return Err(
                        error.hint("tie only tests that are alike, or allow ties to be split")
                    );
                }
                let known = key.and_then(|key| tied.get(&key).copied());
                let group = known.unwrap_or_else(|| self.add_thresholds(net, node, size));
                tied.extend(key.map(|key| (key, group)));
                self.share(group, node, net);
                if !is_learned {
                    self.add_slope(node);
                    continue;
                }
            }
            self.add_free(net, node);
        }
        self.start(net, Start::Network);
        Ok(())
    }

    fn add_thresholds(&mut self, net: &FactorModel, node: &SelectionNode, size: usize) -> usize {
        let copies = node.selection.copies;
        let first = self.weights.len();
        self.rows.extend(
            (0..size / copies).map(|row| (first + row * copies..first + (row + 1) * copies, false)),
        );
        let own = || format!("{}, thresholds", net.variable(node.selected).name);
        let name = node.tie.clone().unwrap_or_else(own);
        self.add_weights(name, vec![size / copies, copies], size)
    }

    fn add_weights(&mut self, name: String, shape: Vec<usize>, size: usize) -> usize {
        let first = self.weights.len();
        self.weights.resize(first + size, 0.0);
        self.numbers.resize(first + size, 0.0);
        self.groups.push(Group {
            name,
            members: vec![],
            shape,
            weights: first..first + size,
        });
        self.groups.len() - 1
    }

    fn share(&mut self, group: usize, node: &SelectionNode, net: &FactorModel) {
        let Range { start, end } = self.groups[group].weights;
        let table = net.cpts()[node.selector.index()].table(&net.cards());
        self.groups[group].members.push(node.selected);
        self.children.insert(
            node.selector,
            Child {
                table,
                at: (start as u32..end as u32).collect(),
            },
        );
    }

    /// A slope that is not learned, but may be set.
    fn add_slope(&mut self, node: &SelectionNode) {
        self.children.insert(
            node.input,
            Child {
                table: node.selection.free(),
                at: vec![NO_WEIGHT],
            },
        );
        self.annealed.insert(node.input, node.selection.free()[0]);
    }

    fn add_free(&mut self, net: &FactorModel, node: &SelectionNode) {
        let first = node.selection.free();
        if first.is_empty() {
            return;
        }
        let is_random = matches!(node.selection.kind, SelectionKind::Softmax { .. });
        let what = if is_random { "weights" } else { "slope" };
        let name = format!("{}, {what}", net.variable(node.selected).name);
        let group = self.add_weights(name, vec![first.len()], first.len());
        let range = self.groups[group].weights.clone();
        self.groups[group].members.push(node.selected);
        let at = (range.start as u32..range.end as u32).collect();
        self.children.insert(
            node.input,
            Child {
                table: first.clone(),
                at,
            },
        );
        let most = if is_random { LARGEST_WEIGHT } else { STEEPEST };
        self.free.push(Free {
            range,
            first,
            is_random,
            most,
        });
    }

    /// Remembers of which copy of a selected CPT a group is, if it is new: by where its first number
    /// is.
    pub(crate) fn note_copy(
        &mut self,
        group: usize,
        net: &FactorModel,
        var: VarId,
        places: &[usize],
    ) {
        if self.copies.len() <= group {
            let cpt = &net.cpts()[var.index()];
            let parts = cpt.parts().len();
            let size = cpt.size(&net.cards());
            let of = |place: &usize| place * parts / size + 1;
            self.copies.resize(group, 0);
            self.copies.push(if parts == 0 {
                0
            } else {
                places.first().map_or(0, of)
            });
        }
    }

    /// The copy that a group is of, counted from one; zero if it is of none.
    pub(crate) fn copy(&self, group: usize) -> usize {
        self.copies.get(group).copied().unwrap_or(0)
    }

    /// Makes copies a little different: of equal ones, no test could tell which is better.
    pub(crate) fn part_copies(&mut self) {
        for (g, group) in self
            .groups
            .iter()
            .enumerate()
            .filter(|(g, _)| self.copies.get(*g).is_some_and(|c| *c > 0))
        {
            let weights = &mut self.weights[group.weights.clone()];
            draw(weights, [0, self.copies[g] as u64, 0, weights.len() as u64]);
            weights.iter_mut().for_each(|w| *w *= SOFTMAX_SCALE);
        }
    }

    pub(crate) fn start_free(&mut self, start: Start) {
        for Free {
            range,
            first,
            is_random,
            ..
        } in &self.free
        {
            let weights = &mut self.weights[range.clone()];
            weights.copy_from_slice(first);
            if let (true, Start::Random(seed) | Start::Alike(seed)) = (is_random, start) {
                draw(weights, [seed, range.start as u64, 0, range.len() as u64]);
                weights.iter_mut().for_each(|w| *w *= SOFTMAX_SCALE);
            }
        }
    }

    pub(crate) fn renew_free(&mut self) {
        for Free { range, most, .. } in &self.free {
            let numbers = self.numbers[range.clone()]
                .iter_mut()
                .zip(&self.weights[range.clone()]);
            numbers.for_each(|(to, x)| *to = x.clamp(-most, *most));
        }
    }

    /// Whether there are sigmoids whose slope can be set.
    pub fn has_annealed(&self) -> bool {
        !self.annealed.is_empty()
    }

    /// Sets the slope of all sigmoids that are trained, and whose slope is not learned.
    pub fn set_slope(&mut self, slope: Option<f64>) {
        self.slope = slope;
        for (input, own) in &self.annealed {
            if let Some(child) = self.children.get_mut(input) {
                child.table = vec![slope.map_or(*own, f64::ln)];
            }
        }
    }

    /// A selection with these parameters.
    pub(crate) fn tuned(&self, node: &SelectionNode) -> Selection {
        let mut selection = node.selection.clone();
        if let Some(gaps) = self.table(node.selector) {
            selection.set_gaps(gaps);
        }
        if let Some(free) = self.table(node.input) {
            selection.set_free(free);
        }
        if let (SelectionKind::Sigmoid { slope, .. }, Some(given)) =
            (&mut selection.kind, self.slope)
            && self.annealed.contains_key(&node.input)
        {
            *slope = given;
        }
        selection
    }
}
