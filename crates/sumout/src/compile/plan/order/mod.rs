//! Elimination orders, and the trees that follow them.
//!
//! An order is found greedily on the graph in which two variables are neighbours if a factor has
//! both: eliminate the cheapest variable, connect its neighbours, repeat. Ties go to whoever has
//! waited longest since its cost last changed (those that change together wait in the order of
//! their numbers), or in a randomised run to whoever drew the smallest number.

mod elimination;

use std::collections::BTreeSet;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::compile::plan::order::elimination::{EliminationGraph, LOG_UNIT};
use crate::compile::plan::tree::{Forest, Leaves, Tree};
use crate::vars::VarId;

/// The cost that a greedy order minimises.
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
    pub const ALL: [Heuristic; 3] = [
        Heuristic::MinFill,
        Heuristic::MinSize,
        Heuristic::WeightedFill,
    ];
}

/// Above this many variables no order is looked for.
pub const MAX_VARIABLES: usize = 1 << 17;

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
    let mut order = Order {
        vars: vec![],
        rank: 0,
        binary_rank: 0.0,
    };
    while let Some((_, _, _, v)) = search.queue.pop_first() {
        order.rank = order.rank.max(1 + search.graph.degrees[v]);
        order.binary_rank = order
            .binary_rank
            .max(search.graph.sizes[v] as f64 / LOG_UNIT);
        order.vars.push(VarId::new(v));
        search.eliminate(v);
    }
    order
}

struct Eliminate<'a> {
    heuristic: Heuristic,
    rng: Option<&'a mut ChaCha8Rng>,
    graph: EliminationGraph,
    keys: Vec<Option<Key>>,
    queue: BTreeSet<Key>,
    stamp: u64,
}

/// Cost, cluster size, waiting number; then the variable.
type Key = (u64, u64, u64, usize);

impl<'a> Eliminate<'a> {
    fn new(leaves: &'a Leaves, heuristic: Heuristic, rng: Option<&'a mut ChaCha8Rng>) -> Self {
        let n = leaves.cards.len();
        let mut occurs = vec![false; n];
        leaves
            .axes
            .iter()
            .flat_map(|axes| axes.iter())
            .for_each(|v| occurs[v.index()] = true);
        leaves.output.iter().for_each(|v| occurs[v.index()] = false);
        let graph = EliminationGraph::new(leaves, heuristic);
        let mut search = Eliminate {
            heuristic,
            rng,
            graph,
            keys: vec![None; n],
            queue: BTreeSet::new(),
            stamp: 0,
        };
        (0..n)
            .filter(|&v| occurs[v])
            .for_each(|v| search.enqueue(v));
        search
    }

    fn enqueue(&mut self, v: usize) {
        let cost = match self.heuristic {
            Heuristic::MinSize => 0,
            Heuristic::MinFill | Heuristic::WeightedFill => self.graph.fills[v],
        };
        let size = self.graph.sizes[v];
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

    fn eliminate(&mut self, v: usize) {
        self.keys[v] = None;
        let mut changed = self.graph.eliminate(v);
        changed.sort_unstable();
        for w in changed {
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
        let Some(joined) = forest.join_all(live.collect::<BTreeSet<_>>()) else {
            continue;
        };
        forest.axes[joined]
            .iter()
            .flatten()
            .for_each(|w| holders[w.index()].push(joined));
    }
    forest.finish()
}
