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

    /// What an added edge costs for an end that has so many values; whole, so that sums are exact.
    fn weight(self, card: usize) -> f64 {
        if self == Heuristic::WeightedFill { card as f64 } else { 1.0 }
    }

    fn counts_fill(self) -> bool {
        self != Heuristic::MinSize
    }
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

/// The graph of what is left, with the price of eliminating each variable.
struct Eliminate<'a> {
    heuristic: Heuristic,
    rng: Option<&'a mut ChaCha8Rng>,
    logs: Vec<f64>,
    /// What an added edge costs for each of its ends.
    weights: Vec<f64>,
    adjacent: Vec<FixedBitSet>,
    /// What the edges that are missing between the neighbours of each variable cost, if that matters.
    fill: Vec<f64>,
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
        let weights = leaves.cards.iter().map(|&card| heuristic.weight(card)).collect();
        let (keys, queue) = (vec![None; n], BTreeSet::new());
        let mut search =
            Eliminate { heuristic, rng, logs, weights, adjacent, fill: vec![0.0; n], keys, queue, stamp: 0 };
        if heuristic.counts_fill() {
            search.fill = (0..n).map(|v| search.count_fill(v)).collect();
        }
        for v in (0..n).filter(|&v| occurs[v] && !leaves.output.contains(VarId::new(v))) {
            search.enqueue(v);
        }
        search
    }

    fn log_cluster(&self, v: usize) -> f64 {
        self.logs[v] + self.adjacent[v].ones().map(|w| self.logs[w]).sum::<f64>()
    }

    fn enqueue(&mut self, v: usize) {
        let (cost, size) = (self.fill[v].to_bits(), self.log_cluster(v).to_bits());
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
    fn count_fill(&self, v: usize) -> f64 {
        let around = &self.adjacent[v];
        let others = around.count_ones(..).saturating_sub(1);
        let missing = |w: usize| others - around.intersection_count(&self.adjacent[w]);
        around.ones().fold(0.0, |sum, w| sum + self.weights[w] * missing(w) as f64)
    }

    /// What it costs to connect `w` to those neighbours of `v` that are not its own.
    fn fill_between(&self, v: usize, w: usize) -> f64 {
        let mut sum = 0.0;
        let (of_v, of_w) = (self.adjacent[v].as_slice(), self.adjacent[w].as_slice());
        let strangers = of_v.iter().zip(of_w).map(|(a, b)| a & !b);
        for_each_one(strangers, |x| sum += if x == w { 0.0 } else { self.weights[x] + self.weights[w] });
        sum
    }

    fn eliminate(&mut self, v: usize) {
        self.keys[v] = None;
        let around: Vec<usize> = self.adjacent[v].ones().collect();
        let mut touched = self.adjacent[v].clone();
        for (i, &a) in around.iter().enumerate() {
            for &b in &around[..i] {
                if !self.adjacent[a].contains(b) {
                    self.connect(a, b, &mut touched);
                }
            }
        }
        for &w in &around {
            if self.heuristic.counts_fill() {
                self.fill[w] -= self.fill_between(w, v);
            }
            self.adjacent[w].remove(v);
        }
        for w in touched.ones() {
            if self.keys[w].is_some() {
                self.enqueue(w);
            }
        }
    }

    /// Adds an edge: the common neighbours of its ends miss one less, and each end has one neighbour more.
    fn connect(&mut self, a: usize, b: usize, touched: &mut FixedBitSet) {
        if self.heuristic.counts_fill() {
            let cost = self.weights[a] + self.weights[b];
            let (of_a, of_b) = (self.adjacent[a].as_slice(), self.adjacent[b].as_slice());
            let common = of_a.iter().zip(of_b).map(|(a, b)| a & b);
            for_each_one(common.clone(), |c| self.fill[c] -= cost);
            touched.as_mut_slice().iter_mut().zip(common).for_each(|(touched, common)| *touched |= common);
            self.fill[a] += self.fill_between(a, b);
            self.fill[b] += self.fill_between(b, a);
        }
        self.adjacent[a].insert(b);
        self.adjacent[b].insert(a);
    }
}

/// Calls `act` with the position of every bit that is set.
fn for_each_one(words: impl Iterator<Item = usize>, mut act: impl FnMut(usize)) {
    for (i, mut word) in words.enumerate() {
        while word != 0 {
            act(i * usize::BITS as usize + word.trailing_zeros() as usize);
            word &= word - 1;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::width::leaves;
    use crate::model::Network;
    use crate::model::random::{Shape, network};

    /// The price is updated, never counted again; whoever counts must find the same.
    #[test]
    fn the_price_of_every_variable_stays_what_counting_gives() {
        for seed in 0..40 {
            let shape = Shape { nodes: 5 + seed as usize, max_values: 4, max_parents: 4, functional: 0.0 };
            let mut leaves = leaves(&network(&shape, seed).unwrap());
            leaves.output = leaves.axes[2].clone();
            for heuristic in [Heuristic::MinFill, Heuristic::WeightedFill] {
                let mut search = Eliminate::new(&leaves, heuristic, None);
                while let Some((.., v)) = search.queue.pop_first() {
                    search.eliminate(v);
                    for &(cost, .., w) in &search.queue {
                        assert_eq!(f64::from_bits(cost), search.count_fill(w), "seed {seed}, {heuristic:?}: {w}");
                    }
                }
            }
        }
    }

    #[test]
    fn variables_without_neighbours_go_first() {
        let mut b = Network::markov("two");
        let [x, y, _] = ["x", "y", "alone"].map(|name| b.variable(name, ["t", "f"]));
        b.potential([x, y], [1.0; 4]);
        let leaves = leaves(&b.build().unwrap());
        for heuristic in Heuristic::ALL {
            assert_eq!(order(&leaves, heuristic, None).vars[0], VarId::new(2), "{heuristic:?}");
        }
    }
}
