//! Builds a tree by joining, again and again, the two tensors whose product saves most.
//!
//! The score of a pair is the size of its product less a share of the sizes of the two, which it
//! replaces. Noise in the scores makes every run different.

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::compile::plan::tree::{Forest, Leaves, Tree};

/// How a run scores pairs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taste {
    /// The share of the two sizes that is taken off.
    pub saving: f64,
    /// How much noise is added, on the scale of logarithms.
    pub noise: f64,
}

/// With more tensors than this around a variable, only neighbours by size are paired.
const MAX_TREES_TO_PAIR: usize = 32;

pub(crate) fn greedy(leaves: &Leaves, taste: Taste, rng: &mut ChaCha8Rng) -> Tree {
    let mut search = Greedy {
        forest: Forest::new(leaves),
        holders: vec![],
        heap: BinaryHeap::new(),
        taste,
        rng,
    };
    search.start(leaves);
    while let Some(pair) = search.heap.pop() {
        search.consider(pair);
    }
    search.forest.finish()
}

struct Greedy<'a> {
    forest: Forest<'a>,
    /// The trees whose separator has each variable.
    holders: Vec<BTreeSet<usize>>,
    heap: BinaryHeap<Pair>,
    taste: Taste,
    rng: &'a mut ChaCha8Rng,
}

/// Two trees, the cheaper the greater.
#[derive(Clone, Copy, Debug)]
struct Pair {
    score: f64,
    noise: f64,
    trees: (usize, usize),
}

impl Greedy<'_> {
    fn start(&mut self, leaves: &Leaves) {
        self.holders = vec![BTreeSet::new(); leaves.cards.len()];
        let count = self.forest.axes.len();
        for tree in 0..count {
            self.hold(tree);
        }
        let pairs: BTreeSet<(usize, usize)> =
            self.holders.iter().flat_map(|h| self.pairs_of(h)).collect();
        pairs.into_iter().for_each(|pair| self.push(pair));
    }

    fn hold(&mut self, tree: usize) {
        let axes = self.forest.axes[tree].iter().flatten();
        axes.for_each(|v| {
            self.holders[v.index()].insert(tree);
        });
    }

    /// All pairs of these trees; in a crowd, only those next to each other by size.
    fn pairs_of(&self, trees: &BTreeSet<usize>) -> Vec<(usize, usize)> {
        let mut trees: Vec<usize> = trees.iter().copied().collect();
        if trees.len() > MAX_TREES_TO_PAIR {
            trees.sort_by(|&a, &b| self.forest.size(a).total_cmp(&self.forest.size(b)));
            return trees
                .windows(2)
                .map(|w| (w[0].min(w[1]), w[0].max(w[1])))
                .collect();
        }
        let later = |i: usize| trees[i + 1..].iter().copied();
        (0..trees.len())
            .flat_map(|i| later(i).map(move |b| (i, b)))
            .map(|(i, b)| (trees[i], b))
            .collect()
    }

    fn push(&mut self, trees: (usize, usize)) {
        let u: f64 = self.rng.random::<f64>().max(1e-300);
        let noise = if self.taste.noise > 0.0 {
            self.taste.noise * -(-u.ln()).ln()
        } else {
            0.0
        };
        let score = self.score(trees) - noise;
        self.heap.push(Pair {
            score,
            noise,
            trees,
        });
    }

    /// On a scale of logarithms, with the sign kept.
    fn score(&self, (a, b): (usize, usize)) -> f64 {
        let (_, product) = self.forest.joined(a, b);
        let score = product - self.taste.saving * (self.forest.size(a) + self.forest.size(b));
        score.signum() * (1.0 + score.abs()).ln()
    }

    /// Joins a pair, unless its trees are gone or it has become more expensive.
    fn consider(&mut self, pair: Pair) {
        let (a, b) = pair.trees;
        if self.forest.axes[a].is_none() || self.forest.axes[b].is_none() {
            return;
        }
        let score = self.score(pair.trees) - pair.noise;
        if score > pair.score + 1e-9 {
            self.heap.push(Pair { score, ..pair });
            return;
        }
        for tree in [a, b] {
            let axes: Vec<_> = self.forest.axes[tree].iter().flatten().copied().collect();
            axes.iter().for_each(|v| {
                self.holders[v.index()].remove(&tree);
            });
        }
        let joined = self.forest.join(a, b);
        let axes: Vec<_> = self.forest.axes[joined].iter().flatten().copied().collect();
        let mut others: BTreeSet<usize> = BTreeSet::new();
        for v in &axes {
            others.extend(self.holders[v.index()].iter().rev().take(MAX_TREES_TO_PAIR));
        }
        self.hold(joined);
        others
            .into_iter()
            .for_each(|other| self.push((other, joined)));
    }
}

impl Ord for Pair {
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .score
            .total_cmp(&self.score)
            .then(other.trees.cmp(&self.trees))
    }
}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pair {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Pair {}
