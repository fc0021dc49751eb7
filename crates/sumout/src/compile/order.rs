//! Elimination orders, and the trees that follow them.
//!
//! An order is found greedily on the graph in which two variables are neighbours if a factor has both:
//! eliminate the cheapest variable, connect its neighbours, repeat. Ties go to whoever has waited longest, or
//! in a randomised run to whoever drew the smallest number.

use std::collections::BTreeSet;

use fixedbitset::FixedBitSet;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::tree::{Forest, Leaves, Tree};
use crate::vars::VarId;

/// What a greedy order minimises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heuristic {
    /// The number of edges that the elimination adds; then the size of the cluster.
    MinFill,
    /// The size of the cluster.
    MinSize,
    /// The edges that the elimination adds, weighted by the sizes of their ends.
    WeightedFill,
}

impl Heuristic {
    /// All heuristics.
    pub const ALL: [Heuristic; 3] = [Heuristic::MinFill, Heuristic::MinSize, Heuristic::WeightedFill];
}

/// Above this many variables the neighbour sets would take too much memory.
pub const MAX_VARIABLES: usize = 1 << 14;

/// An elimination order of all variables but the output's, with the largest clusters met.
#[derive(Clone, Debug)]
pub struct Order {
    /// The variables in the order of their elimination.
    pub vars: Vec<VarId>,
    /// The largest number of variables in a cluster.
    pub rank: usize,
    /// The base-2 logarithm of the largest number of joint states of a cluster.
    pub binary_rank: f64,
}

/// Finds an order. Without a generator of random numbers it is the same every time.
pub fn order(leaves: &Leaves, heuristic: Heuristic, rng: Option<&mut ChaCha8Rng>) -> Order {
    let mut search = Eliminate::new(leaves, heuristic, rng);
    let mut order = Order { vars: vec![], rank: 0, binary_rank: 0.0 };
    while let Some((_, _, _, v)) = search.queue.pop_first() {
        order.rank = order.rank.max(1 + search.adjacent[v].count_ones(..));
        order.binary_rank = order.binary_rank.max(search.log_cluster(v));
        order.vars.push(VarId::new(v));
        search.eliminate(v);
    }
    order
}

struct Eliminate<'a> {
    heuristic: Heuristic,
    rng: Option<&'a mut ChaCha8Rng>,
    logs: Vec<f64>,
    cards: &'a [usize],
    adjacent: Vec<FixedBitSet>,
    keys: Vec<Option<Key>>,
    queue: BTreeSet<Key>,
    stamp: u64,
}

/// Cost, cluster size and waiting number, compared as bits (all are at least zero); then the variable.
type Key = (u64, u64, u64, usize);

impl<'a> Eliminate<'a> {
    fn new(leaves: &'a Leaves, heuristic: Heuristic, rng: Option<&'a mut ChaCha8Rng>) -> Self {
        let n = leaves.cards.len();
        let mut adjacent = vec![FixedBitSet::with_capacity(n); n];
        let mut occurs = vec![false; n];
        for axes in leaves.axes.iter().chain([&leaves.output]) {
            for v in axes.iter() {
                occurs[v.index()] = true;
                axes.iter().filter(|&w| w != v).for_each(|w| adjacent[v.index()].insert(w.index()));
            }
        }
        let logs = leaves.cards.iter().map(|&c| (c as f64).log2()).collect();
        let (keys, queue) = (vec![None; n], BTreeSet::new());
        let mut search = Eliminate { heuristic, rng, logs, cards: &leaves.cards, adjacent, keys, queue, stamp: 0 };
        for v in (0..n).filter(|&v| occurs[v] && !leaves.output.contains(VarId::new(v))) {
            search.enqueue(v);
        }
        search
    }

    fn log_cluster(&self, v: usize) -> f64 {
        self.logs[v] + self.adjacent[v].ones().map(|w| self.logs[w]).sum::<f64>()
    }

    fn enqueue(&mut self, v: usize) {
        let cost = match self.heuristic {
            Heuristic::MinFill => self.fill(v, |_, missing| missing as f64),
            Heuristic::MinSize => 0.0,
            Heuristic::WeightedFill => self.fill(v, |w, missing| missing as f64 * self.cards[w] as f64),
        };
        let (cost, size) = (cost.to_bits(), self.log_cluster(v).to_bits());
        if let Some(old) = self.keys[v] {
            if (old.0, old.1) == (cost, size) {
                return;
            }
            self.queue.remove(&old);
        }
        self.stamp += 1;
        let ticket = self.rng.as_mut().map_or(self.stamp, |rng| rng.random());
        let key = (cost, size, ticket, v);
        self.keys[v] = Some(key);
        self.queue.insert(key);
    }

    /// Sums over the neighbours w of v how many of the others are no neighbours of w.
    fn fill(&self, v: usize, weigh: impl Fn(usize, usize) -> f64) -> f64 {
        let around = &self.adjacent[v];
        let degree = around.count_ones(..);
        around.ones().map(|w| weigh(w, degree - 1 - around.intersection_count(&self.adjacent[w]))).sum()
    }

    fn eliminate(&mut self, v: usize) {
        self.keys[v] = None;
        let around = std::mem::take(&mut self.adjacent[v]);
        let mut touched = around.clone();
        for w in around.ones() {
            self.adjacent[w].union_with(&around);
            self.adjacent[w].remove(v);
            self.adjacent[w].remove(w);
            touched.union_with(&self.adjacent[w]);
        }
        for w in touched.ones() {
            if self.keys[w].is_some() {
                self.enqueue(w);
            }
        }
    }
}

/// The tree of an order: whatever mentions the next variable is joined, the smallest first.
pub fn tree(leaves: &Leaves, order: &[VarId]) -> Tree {
    let mut forest = Forest::new(leaves);
    let mut holders: Vec<Vec<usize>> = vec![vec![]; leaves.cards.len()];
    for (leaf, axes) in leaves.axes.iter().enumerate() {
        axes.iter().for_each(|v| holders[v.index()].push(leaf));
    }
    for v in order {
        let trees = std::mem::take(&mut holders[v.index()]);
        let live = trees.into_iter().filter(|&t| forest.axes[t].is_some());
        let Some(joined) = forest.join_all(live.collect::<BTreeSet<_>>()) else { continue };
        forest.axes[joined].iter().flatten().for_each(|w| holders[w.index()].push(joined));
    }
    forest.finish()
}
