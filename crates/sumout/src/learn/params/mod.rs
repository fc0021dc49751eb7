//! The parameters of a network: real weights, of which each row of a CPT is the softmax.
//!
//! A CPT has rows for the states of its parents that can occur, with numbers for the values that
//! the child can have. Zeros that are kept have no weight at all, and a row with one number left is
//! a one. CPTs with the same tie share their weights, if they have the same shape, and keep the
//! same zeros, once impossible values are gone: otherwise the tie is split. The copies of a selected
//! CPT are like CPTs of their own. So are the thresholds of a test, as the gaps between them, which
//! are positive and sum to one; a slope, or the weights of a softmax, may be any numbers
//! (`selection`).

mod forms;
mod selection;
mod start;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::error::Result;
use crate::model::FactorModel;
use crate::tensor::{Graph, Origin, TableId};
use crate::vars::VarId;

pub use start::Start;

use forms::{Form, forms, refuse_split};

/// CPTs that share their weights; often just one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The tie, or the variable that it is the CPT of.
    pub name: String,
    /// The variables whose CPTs they are.
    pub members: Vec<VarId>,
    /// The number of values that are left of each parent with more than one, and of the child.
    pub shape: Vec<usize>,
    /// Where its weights are.
    pub weights: Range<usize>,
}

/// The weights of some CPTs of a network.
#[derive(Clone, Debug)]
pub struct Params {
    groups: Vec<Group>,
    /// Where the weights of each row are; and whether it was declared functional.
    rows: Vec<(Range<usize>, bool)>,
    children: BTreeMap<VarId, Child>,
    weights: Vec<f64>,
    numbers: Vec<f64>,
    /// Weights of rows that were declared functional are divided by this.
    temperature: f64,
    /// Numbers that are their own weights.
    free: Vec<selection::Free>,
    /// Of each group, the copy of a selected CPT that it began with, counted from one; zero if it is
    /// of none.
    copies: Vec<usize>,
    /// The inputs of sigmoids whose slope is not learned, with its logarithm; and their slope, if
    /// it is another than theirs.
    annealed: BTreeMap<VarId, f64>,
    slope: Option<f64>,
}

/// A CPT: its numbers, and where those with weights have them.
#[derive(Clone, Debug)]
struct Child {
    table: Vec<f64>,
    at: Vec<u32>,
}

/// Marks numbers without a weight.
const NO_WEIGHT: u32 = u32::MAX;

/// Smaller numbers become zero: no data tells such an event from an impossible one, and products of
/// such numbers could underflow.
const MIN_PROBABILITY: f64 = 1e-30;

/// The weight of a number that is zero, so that weights are finite.
const LOG_OF_ZERO: f64 = -700.0;

impl Params {
    /// The parameters of the CPTs of some variables, which have the values in `domains` left. A tie
    /// of CPTs that have different shapes is split, or, if that is `strict`ly forbidden, an error.
    /// CPTs of `others` that are tied to one of them, and alike, follow it.
    pub fn new(
        net: &FactorModel,
        children: &[VarId],
        others: &[VarId],
        domains: &[Vec<usize>],
        strict: bool,
    ) -> Result<Self> {
        let mut params = Params {
            groups: vec![],
            rows: vec![],
            children: BTreeMap::new(),
            weights: vec![],
            numbers: vec![],
            temperature: 1.0,
            free: vec![],
            copies: vec![],
            annealed: BTreeMap::new(),
            slope: None,
        };
        let mut known: BTreeMap<Form, usize> = BTreeMap::new();
        for &var in children {
            params.child(net, var);
            for (form, places) in forms(net, &net.cpts()[var.index()], domains) {
                let group = known
                    .get(&form)
                    .copied()
                    .unwrap_or_else(|| params.add_group(&form));
                params.note_copy(group, net, var, &places);
                params.add_member(net, group, var, &places, &form.free);
                known.insert(form, group);
            }
        }
        for &var in others {
            for (form, places) in forms(net, &net.cpts()[var.index()], domains) {
                if let Some(&group) = known.get(&form).filter(|_| form.is_tied) {
                    params.add_member(net, group, var, &places, &form.free);
                }
            }
        }
        if strict {
            refuse_split(known.keys())?;
        }
        params.start(net, Start::Network);
        Ok(params)
    }

    fn add_group(&mut self, form: &Form) -> usize {
        let first = self.weights.len();
        let card = form.shape.last().copied().unwrap_or(1);
        for row in form.free.chunks_exact(card) {
            let free = row.iter().filter(|free| **free).count();
            if free > 1 {
                let start = self.weights.len();
                self.weights.resize(start + free, 0.0);
                self.rows.push((start..start + free, form.is_promised));
            }
        }
        self.numbers.resize(self.weights.len(), 0.0);
        let weights = first..self.weights.len();
        self.groups.push(Group {
            name: form.name.clone(),
            members: vec![],
            shape: form.shape.clone(),
            weights,
        });
        self.groups.len() - 1
    }

    fn add_member(
        &mut self,
        net: &FactorModel,
        group: usize,
        var: VarId,
        places: &[usize],
        free: &[bool],
    ) {
        let card = self.groups[group].shape.last().copied().unwrap_or(1);
        let first = self.groups[group].weights.start as u32;
        self.groups[group].members.push(var);
        let Child { table, at } = self.child(net, var);
        let mut next = first;
        for (row, free) in places.chunks_exact(card).zip(free.chunks_exact(card)) {
            let is_open = free.iter().filter(|free| **free).count() > 1;
            for (&place, _) in row.iter().zip(free).filter(|(_, free)| **free) {
                if is_open {
                    at[place] = next;
                    next += 1;
                } else {
                    table[place] = 1.0;
                }
            }
        }
    }

    /// A CPT, none of whose numbers has a weight if it is new.
    fn child(&mut self, net: &FactorModel, var: VarId) -> &mut Child {
        self.children.entry(var).or_insert_with(|| {
            let table = net.cpts()[var.index()].table(&net.cards());
            Child {
                at: vec![NO_WEIGHT; table.len()],
                table,
            }
        })
    }

    /// The CPTs that share weights.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The number of weights.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Whether there is nothing to learn.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// The weights.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Changes the weights, and the numbers with them.
    ///
    /// # Panics
    /// If their number is another.
    pub fn set_weights(&mut self, weights: &[f64]) {
        self.weights.copy_from_slice(weights);
        self.renew();
    }

    /// Divides the weights of rows that were declared functional by this, so that a low one makes
    /// them nearly one-hot.
    pub fn set_temperature(&mut self, temperature: f64) {
        self.temperature = temperature;
        self.renew();
    }

    /// Computes the numbers of all CPTs.
    fn renew(&mut self) {
        for (row, is_promised) in &self.rows {
            let temperature = if *is_promised { self.temperature } else { 1.0 };
            softmax(
                &self.weights[row.clone()],
                temperature,
                &mut self.numbers[row.clone()],
            );
        }
        self.renew_free();
        for child in self.children.values_mut() {
            let numbers = child
                .table
                .iter_mut()
                .zip(&child.at)
                .filter(|(_, at)| **at != NO_WEIGHT);
            numbers.for_each(|(p, at)| *p = self.numbers[*at as usize]);
        }
    }

    /// The CPT of a variable as it is now; none if it has no parameters.
    pub fn table(&self, var: VarId) -> Option<&[f64]> {
        self.children.get(&var).map(|child| &child.table[..])
    }

    /// The CPTs as they are now.
    pub fn tables(&self) -> impl Iterator<Item = (VarId, &[f64])> {
        self.children
            .iter()
            .map(|(&var, child)| (var, &child.table[..]))
    }

    /// The numbers of each trainable table of a circuit.
    pub(crate) fn tables_of(&self, graph: &Graph) -> Vec<(TableId, Vec<f64>)> {
        graph
            .origins()
            .iter()
            .map(|(table, origin)| (*table, self.numbers_of(origin)))
            .collect()
    }

    /// The numbers of a table of a circuit.
    pub fn numbers_of(&self, origin: &Origin) -> Vec<f64> {
        origin
            .entries
            .iter()
            .map(|&entry| self.children[&origin.child].table[entry as usize])
            .collect()
    }

    /// Adds the derivatives with respect to the numbers of a circuit's table, to those with respect
    /// to ours.
    pub fn collect(&self, origin: &Origin, derivatives: &[f64], to: &mut [f64]) {
        let child = &self.children[&origin.child];
        for (&entry, d) in origin.entries.iter().zip(derivatives) {
            if child.at[entry as usize] != NO_WEIGHT {
                to[child.at[entry as usize] as usize] += d;
            }
        }
    }

    /// Adds numbers for all entries of a CPT, such as counts.
    pub fn collect_table(&self, var: VarId, numbers: &[f64], to: &mut [f64]) {
        let pairs = self.children[&var]
            .at
            .iter()
            .zip(numbers)
            .filter(|(at, _)| **at != NO_WEIGHT);
        pairs.for_each(|(&at, x)| to[at as usize] += x);
    }

    /// Turns derivatives with respect to the numbers into those with respect to the weights, in
    /// place.
    pub fn pull(&self, derivatives: &mut [f64]) {
        for (row, is_promised) in &self.rows {
            let (numbers, to) = (&self.numbers[row.clone()], &mut derivatives[row.clone()]);
            let mean: f64 = numbers.iter().zip(&*to).map(|(p, d)| p * d).sum();
            let temperature = if *is_promised { self.temperature } else { 1.0 };
            to.iter_mut()
                .zip(numbers)
                .for_each(|(d, p)| *d = p * (*d - mean) / temperature);
        }
    }

    /// Adds the derivative of -Σ ln p, times a number: the gradient of that many pseudo-counts for each entry
    /// ask for.
    pub fn add_prior(&self, count: f64, to: &mut [f64]) {
        for (row, is_promised) in &self.rows {
            let count = if *is_promised {
                count / self.temperature
            } else {
                count
            };
            let total = count * row.len() as f64;
            let numbers = &self.numbers[row.clone()];
            to[row.clone()]
                .iter_mut()
                .zip(numbers)
                .for_each(|(d, p)| *d += total * p - count);
        }
    }

    /// -Σ ln p over all numbers with weights.
    pub fn prior(&self) -> f64 {
        let numbers = self
            .rows
            .iter()
            .flat_map(|(row, _)| &self.numbers[row.clone()]);
        -numbers.map(|p| p.max(f64::MIN_POSITIVE).ln()).sum::<f64>()
    }

    /// How often each number was used, by derivatives of ln P with respect to it.
    pub fn shares(&self, derivatives: &[f64]) -> Vec<f64> {
        derivatives
            .iter()
            .zip(&self.numbers)
            .map(|(d, p)| d * p)
            .collect()
    }

    /// Makes the rows proportional to counts, and pseudo-counts for each entry; rows without any
    /// stay what they are.
    pub fn set_counts(&mut self, counts: &[f64], prior: f64) {
        for (row, _) in &self.rows {
            let counts = counts[row.clone()]
                .iter()
                .map(|count| count.max(0.0) + prior);
            let total: f64 = counts.clone().sum();
            if total > 0.0 {
                self.weights[row.clone()]
                    .iter_mut()
                    .zip(counts)
                    .for_each(|(w, count)| *w = (count / total).ln().max(LOG_OF_ZERO));
            }
        }
        self.renew();
    }

    /// Makes rows that were declared functional one-hot: the largest number of each becomes a one.
    pub fn snap(&mut self) {
        self.temperature = 1.0;
        for (row, _) in self.rows.iter().filter(|(_, is_promised)| *is_promised) {
            let weights = &mut self.weights[row.clone()];
            let largest =
                (0..weights.len()).fold(
                    0,
                    |best, k| if weights[k] > weights[best] { k } else { best },
                );
            weights
                .iter_mut()
                .enumerate()
                .for_each(|(k, w)| *w = if k == largest { 0.0 } else { LOG_OF_ZERO });
        }
        self.renew();
    }

    /// Whether some rows were declared functional.
    pub fn has_promised(&self) -> bool {
        self.rows.iter().any(|(_, is_promised)| *is_promised)
    }
}

fn softmax(weights: &[f64], temperature: f64, to: &mut [f64]) {
    let largest = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    to.iter_mut()
        .zip(weights)
        .for_each(|(p, w)| *p = ((w - largest) / temperature).exp());
    to.iter_mut()
        .filter(|p| **p < MIN_PROBABILITY)
        .for_each(|p| *p = 0.0);
    let total: f64 = to.iter().sum();
    to.iter_mut().for_each(|p| *p /= total);
}
