//! Contraction trees, and what they cost.
//!
//! A tree's leaves are factors. Every node stands for the product of the factors below it, summed
//! to its *separator*: the variables below that also occur outside, or that the output keeps
//! (Theorems 1 and 2). The *cluster* of an inner node is the union of its children's separators.
//! Separators are stored, clusters never are: a contraction sums while it multiplies.

use crate::compile::ask::Objective;
use crate::compile::plan::tables;
use crate::compile::plan::tables::{Gather, Way};
use crate::vars::{VarId, VarSet};

/// The domain of a tree: the axes of the leaves, and of the output.
///
/// A variable may be a clone of another. Clones of one variable have consecutive numbers; where two
/// of them meet they are one axis, since they are equal with probability one.
#[derive(Clone, Debug)]
pub struct Leaves {
    /// The axes of each leaf.
    pub axes: Vec<VarSet>,
    /// Whether each leaf differs between examples.
    pub varies: Vec<bool>,
    /// The axes of the output.
    pub output: VarSet,
    /// The number of values of each variable.
    pub cards: Vec<usize>,
    /// The original of each variable; most are their own.
    pub original: Vec<VarId>,
    /// The axis that each leaf is known to define as a function of its others, if any.
    pub known: Vec<Option<VarId>>,
    /// The prices that trees are compared by.
    pub prices: Prices,
}

impl Leaves {
    /// The number of joint states of some variables.
    pub fn size(&self, vars: &VarSet) -> f64 {
        let mut last = None;
        let is_new =
            |v: &VarId| last.replace(self.original[v.index()]) != Some(self.original[v.index()]);
        vars.iter()
            .filter(is_new)
            .map(|v| self.cards[v.index()] as f64)
            .product()
    }

    /// The variables that some variables are clones of.
    pub fn originals(&self, vars: &VarSet) -> VarSet {
        vars.iter().map(|v| self.original[v.index()]).collect()
    }

    /// How many leaves mention each variable; the output counts as one.
    pub fn mentions(&self) -> Vec<usize> {
        let mut mentions = vec![0; self.cards.len()];
        let all = self
            .axes
            .iter()
            .chain([&self.output])
            .flat_map(VarSet::iter);
        all.for_each(|v: VarId| mentions[v.index()] += 1);
        mentions
    }
}

/// A binary tree: nodes below `leaves` are leaves, node `leaves + k` joins the two nodes
/// `joins[k]`.
///
/// Children come before their parents, and the last node is the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The number of leaves.
    pub leaves: usize,
    /// The children of each inner node.
    pub joins: Vec<(usize, usize)>,
}

/// The cost of one evaluation of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// The numbers stored for each example: the sizes of all separators above evidence.
    pub entries: f64,
    /// The numbers stored once: the sizes of all other separators.
    pub constant_entries: f64,
    /// The products formed for each example: the sizes of all clusters above evidence.
    pub multiply_adds: f64,
    /// The products formed once.
    pub constant_multiply_adds: f64,
    /// The largest cluster, leaves included: its number of joint states.
    pub largest_cluster: f64,
    /// The number of variables of the cluster with most of them.
    pub rank: usize,
}

/// The relative prices of the steps of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// The price of storing a number: it is written, read, and read again on the way back.
    pub store: f64,
    /// The price of a product.
    pub multiply: f64,
    /// The price of a step that is the same for all examples, relative to one that is not.
    pub constant: f64,
    /// Whether the largest cluster decides between plans.
    pub by_cluster: bool,
}

impl Default for Prices {
    fn default() -> Self {
        Objective::Time.prices()
    }
}

/// The price of what does not matter, but decides between plans that are equal otherwise.
const TIE_BREAK: f64 = 1e-15;

impl Objective {
    /// The prices of a circuit that runs on many examples.
    pub fn prices(self) -> Prices {
        let (store, multiply) = match self {
            Objective::Time => (10.0, 1.0),
            Objective::Entries => (1.0, TIE_BREAK),
            Objective::MultiplyAdds => (TIE_BREAK, 1.0),
            Objective::LargestCluster => (1e-3, 1.0),
        };
        Prices {
            store,
            multiply,
            constant: 0.02,
            by_cluster: self == Objective::LargestCluster,
        }
    }

    /// The prices of a circuit whose functions are learned: what is the same for all examples is
    /// computed again, and differentiated, for each step of learning, of which many have few
    /// examples.
    pub fn prices_of_steps(self) -> Prices {
        Prices {
            constant: 0.2,
            ..self.prices()
        }
    }

    /// The prices of a circuit that runs once, so that all steps count the same.
    pub fn prices_of_one_run(self) -> Prices {
        Prices {
            constant: 1.0,
            ..self.prices()
        }
    }
}

impl Prices {
    /// The price of a step, relative to one that varies between examples.
    pub fn of(&self, varies: bool) -> f64 {
        if varies { 1.0 } else { self.constant }
    }

    /// The price of a step that forms some products and stores some numbers.
    pub fn step(&self, products: f64, numbers: f64) -> f64 {
        self.multiply * products + self.store * numbers
    }

    /// The price of a plan.
    pub fn total(&self, cost: &Cost) -> f64 {
        if self.by_cluster {
            return cost.largest_cluster;
        }
        let constants = self.step(cost.constant_multiply_adds, cost.constant_entries);
        self.step(cost.multiply_adds, cost.entries) + self.constant * constants
    }
}

impl Tree {
    /// The separator of each node.
    pub fn separators(&self, leaves: &Leaves) -> Vec<VarSet> {
        // A variable leaves the separators where the last of its mentions is joined.
        let mentions = leaves.mentions();
        let mut below: Vec<Vec<(VarId, usize)>> =
            Vec::with_capacity(self.leaves + self.joins.len());
        let open = |counts: Vec<(VarId, usize)>| -> Vec<(VarId, usize)> {
            counts
                .into_iter()
                .filter(|(v, n)| *n < mentions[v.index()])
                .collect()
        };
        for axes in &leaves.axes {
            below.push(open(axes.iter().map(|v| (v, 1)).collect()));
        }
        for &(l, r) in &self.joins {
            let both = merge_counts(&below[l], &below[r]);
            below.push(open(both));
        }
        below
            .into_iter()
            .map(|counts| counts.into_iter().map(|(v, _)| v).collect())
            .collect()
    }

    /// The cost, given the separators.
    pub fn cost(&self, leaves: &Leaves, separators: &[VarSet]) -> Cost {
        let mut cost = Cost::default();
        let varies = self.varies(leaves);
        let ways = tables::ways(self, leaves, separators);
        for (node, separator) in separators.iter().enumerate() {
            match &ways[node] {
                Way::Dense => {}
                Way::Mapped => continue,
                Way::Gather(gather) => {
                    cost.add_gather(leaves, gather, varies[node], separator);
                    continue;
                }
            }
            let cluster = match node.checked_sub(self.leaves).map(|k| self.joins[k]) {
                Some((l, r)) => &separators[l] | &separators[r],
                None => leaves.axes[node].clone(),
            };
            let products = if node < self.leaves {
                0.0
            } else {
                leaves.size(&cluster)
            };
            cost.see_cluster(leaves, &cluster);
            cost.add(varies[node], leaves.size(separator), products);
        }
        cost
    }

    /// Whether each node differs between examples.
    pub fn varies(&self, leaves: &Leaves) -> Vec<bool> {
        let mut varies = leaves.varies.clone();
        for &(l, r) in &self.joins {
            varies.push(varies[l] || varies[r]);
        }
        varies
    }
}

impl Cost {
    fn see_cluster(&mut self, leaves: &Leaves, cluster: &VarSet) {
        self.largest_cluster = self.largest_cluster.max(leaves.size(cluster));
        self.rank = self.rank.max(leaves.originals(cluster).len());
    }

    /// A look-up stores what it reads; what is summed out besides is one more step.
    fn add_gather(&mut self, leaves: &Leaves, gather: &Gather, varies: bool, separator: &VarSet) {
        let all = leaves.size(&gather.all);
        self.see_cluster(leaves, &gather.all);
        self.add(varies, all, all);
        if gather.all != *separator {
            self.add(varies, leaves.size(separator), all);
        }
        self.constant_entries += leaves.size(&gather.over);
    }

    pub(crate) fn add(&mut self, varies: bool, entries: f64, products: f64) {
        if varies {
            self.entries += entries;
            self.multiply_adds += products;
        } else {
            self.constant_entries += entries;
            self.constant_multiply_adds += products;
        }
    }
}

fn merge_counts(a: &[(VarId, usize)], b: &[(VarId, usize)]) -> Vec<(VarId, usize)> {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut out = Vec::with_capacity(a.len() + b.len());
    loop {
        match (a.peek(), b.peek()) {
            (Some(x), Some(y)) if x.0 == y.0 => {
                out.push((x.0, x.1 + y.1));
                a.next();
                b.next();
            }
            (Some(x), Some(y)) if x.0 < y.0 => out.extend(a.next().copied()),
            (_, Some(_)) => out.extend(b.next().copied()),
            (Some(_), None) => out.extend(a.next().copied()),
            (None, None) => return out,
        }
    }
}

/// Joins whatever trees are left, the smallest first, until one is.
pub(crate) struct Forest<'a> {
    leaves: &'a Leaves,
    mentions: Vec<usize>,
    /// The separators of the trees so far; empty for a tree that has become part of another.
    pub axes: Vec<Option<Vec<VarId>>>,
    pub joins: Vec<(usize, usize)>,
}

impl<'a> Forest<'a> {
    pub fn new(leaves: &'a Leaves) -> Self {
        let mut forest = Forest {
            leaves,
            mentions: leaves.mentions(),
            axes: vec![],
            joins: vec![],
        };
        for axes in &leaves.axes {
            forest.axes.push(Some(
                axes.iter()
                    .filter(|v| forest.mentions[v.index()] > 1)
                    .collect(),
            ));
        }
        forest
    }

    /// The number of joint states of a tree's separator.
    pub fn size(&self, tree: usize) -> f64 {
        let mut last = None;
        let original = |v: &&VarId| self.leaves.original[v.index()];
        let axes = self.axes[tree]
            .iter()
            .flatten()
            .filter(|v| last.replace(original(v)) != Some(original(v)));
        axes.map(|v| self.leaves.cards[v.index()] as f64).product()
    }

    /// The separator of two trees joined, and its size.
    pub fn joined(&self, a: usize, b: usize) -> (Vec<VarId>, f64) {
        let empty = vec![];
        let (a, b) = (
            self.axes[a].as_ref().unwrap_or(&empty),
            self.axes[b].as_ref().unwrap_or(&empty),
        );
        let mut out = Vec::with_capacity(a.len() + b.len());
        let (mut size, mut last) = (1.0, None);
        let mut take = |v: VarId, inside: usize| {
            if self.mentions[v.index()] > inside {
                out.push(v);
                let original = self.leaves.original[v.index()];
                if last.replace(original) != Some(original) {
                    size *= self.leaves.cards[v.index()] as f64;
                }
            }
        };
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            match (a.get(i), b.get(j)) {
                (Some(&x), Some(&y)) if x == y => {
                    take(x, 2);
                    (i, j) = (i + 1, j + 1);
                }
                (Some(&x), y) if y.is_none_or(|&y| x < y) => {
                    take(x, 1);
                    i += 1;
                }
                (_, Some(&y)) => {
                    take(y, 1);
                    j += 1;
                }
                _ => unreachable!("one of them has a variable left"),
            }
        }
        (out, size)
    }

    /// Joins two trees; returns the new one.
    pub fn join(&mut self, a: usize, b: usize) -> usize {
        let (axes, _) = self.joined(a, b);
        let (old_a, old_b) = (
            self.axes[a].take().unwrap_or_default(),
            self.axes[b].take().unwrap_or_default(),
        );
        old_a
            .iter()
            .chain(&old_b)
            .for_each(|v| self.mentions[v.index()] -= 1);
        axes.iter().for_each(|v| self.mentions[v.index()] += 1);
        self.axes.push(Some(axes));
        self.joins.push((a, b));
        self.axes.len() - 1
    }

    /// Joins these trees, always the two smallest; returns what becomes of them.
    pub fn join_all(&mut self, trees: impl IntoIterator<Item = usize>) -> Option<usize> {
        let mut queue: std::collections::BTreeSet<(u64, usize)> = trees
            .into_iter()
            .map(|t| (self.size(t).to_bits(), t))
            .collect();
        while queue.len() > 1 {
            let (Some((_, a)), Some((_, b))) = (queue.pop_first(), queue.pop_first()) else {
                unreachable!("two are left")
            };
            let joined = self.join(a, b);
            queue.insert((self.size(joined).to_bits(), joined));
        }
        queue.pop_first().map(|(_, t)| t)
    }

    /// The tree, once everything is joined.
    pub fn finish(mut self) -> Tree {
        let left: Vec<usize> = (0..self.axes.len())
            .filter(|&t| self.axes[t].is_some())
            .collect();
        self.join_all(left);
        Tree {
            leaves: self.leaves.axes.len(),
            joins: self.joins,
        }
    }
}
