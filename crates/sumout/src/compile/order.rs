//! Elimination orders, and the trees that follow them.
//!
//! An order is found greedily on the graph in which two variables are neighbours if a factor has both:
//! eliminate the cheapest variable, connect its neighbours, repeat. Ties go to whoever has waited longest since
//! its cost last changed (those that change together wait in the order of their numbers), or in a randomised run
//! to whoever drew the smallest number.
//!
//! Costs are kept up to date edge by edge, not counted anew: most eliminations add no edge at all, and then only
//! the neighbours change. Neighbours are lists, so that a replicated network may have many variables.

use std::collections::BTreeSet;

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
    let mut order = Order { vars: vec![], rank: 0, binary_rank: 0.0 };
    while let Some((_, _, _, v)) = search.queue.pop_first() {
        order.rank = order.rank.max(1 + search.graph.degrees[v]);
        order.binary_rank = order.binary_rank.max(search.graph.sizes[v] as f64 / LOG_UNIT);
        order.vars.push(VarId::new(v));
        search.eliminate(v);
    }
    order
}

/// Logarithms are whole multiples of 1 / LOG_UNIT, so that equal products have equal logarithms.
const LOG_UNIT: f64 = (1u64 << 40) as f64;

/// The base-2 logarithm, as a sum over prime factors.
fn log2(mut number: usize) -> u64 {
    let (mut log, mut factor) = (0, 2);
    while number > 1 {
        if factor * factor > number {
            factor = number;
        }
        while number.is_multiple_of(factor) {
            number /= factor;
            log += ((factor as f64).log2() * LOG_UNIT).round() as u64;
        }
        factor += 1;
    }
    log
}

struct Eliminate<'a> {
    heuristic: Heuristic,
    rng: Option<&'a mut ChaCha8Rng>,
    graph: Graph,
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
        leaves.axes.iter().flat_map(|axes| axes.iter()).for_each(|v| occurs[v.index()] = true);
        leaves.output.iter().for_each(|v| occurs[v.index()] = false);
        let graph = Graph::new(leaves, heuristic);
        let mut search = Eliminate { heuristic, rng, graph, keys: vec![None; n], queue: BTreeSet::new(), stamp: 0 };
        (0..n).filter(|&v| occurs[v]).for_each(|v| search.enqueue(v));
        search
    }

    fn enqueue(&mut self, v: usize) {
        let cost = if self.heuristic == Heuristic::MinSize { 0 } else { self.graph.fills[v] };
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

/// The graph of the variables that are left.
///
/// Of the edges that are missing between the neighbours of v, each counts as the sum of the weights of its ends.
struct Graph {
    /// What each variable counts as the end of a missing edge.
    weights: Vec<u64>,
    logs: Vec<u64>,
    is_left: Vec<bool>,
    /// The neighbours; some may be left no more.
    lists: Vec<Vec<usize>>,
    degrees: Vec<usize>,
    /// The weights of all neighbours together.
    around: Vec<u64>,
    /// The edges missing between the neighbours.
    fills: Vec<u64>,
    /// The logarithm of the size of the cluster: the variable and its neighbours.
    sizes: Vec<u64>,
    marks: Marks,
    changed: Marks,
}

impl Graph {
    fn new(leaves: &Leaves, heuristic: Heuristic) -> Self {
        let n = leaves.cards.len();
        let weight = |&card: &usize| if heuristic == Heuristic::WeightedFill { card as u64 } else { 1 };
        let logs: Vec<u64> = leaves.cards.iter().map(|&card| log2(card)).collect();
        let mut graph = Graph {
            weights: leaves.cards.iter().map(weight).collect(),
            sizes: logs.clone(),
            logs,
            is_left: vec![true; n],
            lists: vec![vec![]; n],
            degrees: vec![0; n],
            around: vec![0; n],
            fills: vec![0; n],
            marks: Marks::new(n),
            changed: Marks::new(n),
        };
        for axes in leaves.axes.iter().chain([&leaves.output]) {
            axes.iter().for_each(|v| graph.lists[v.index()].extend(axes.iter().map(VarId::index)));
        }
        (0..n).for_each(|v| graph.settle(v));
        graph.count_fills();
        graph
    }

    /// Completes what is known about the neighbours of a variable, given their list with repetitions.
    fn settle(&mut self, v: usize) {
        let list = &mut self.lists[v];
        list.sort_unstable();
        list.dedup();
        list.retain(|&w| w != v);
        self.degrees[v] = list.len();
        self.around[v] = list.iter().map(|&w| self.weights[w]).sum();
        self.sizes[v] += list.iter().map(|&w| self.logs[w]).sum::<u64>();
    }

    /// Counts the missing edges: all pairs of neighbours but those in a triangle.
    fn count_fills(&mut self) {
        for v in 0..self.lists.len() {
            self.fills[v] = self.around[v] * (self.degrees[v] as u64).saturating_sub(1);
        }
        // Each triangle is found once, from its variable of smallest degree.
        let rank = |v: usize| (self.degrees[v], v);
        let higher: Vec<Vec<usize>> = (0..self.lists.len())
            .map(|v| self.lists[v].iter().copied().filter(|&w| rank(w) > rank(v)).collect())
            .collect();
        for (a, above_a) in higher.iter().enumerate() {
            self.marks.set(above_a);
            for &b in above_a {
                for &c in higher[b].iter().filter(|&&c| self.marks.has(c)) {
                    let [x, y, z] = [a, b, c].map(|v| self.weights[v]);
                    self.fills[a] -= y + z;
                    self.fills[b] -= x + z;
                    self.fills[c] -= x + y;
                }
            }
        }
    }

    /// Connects the neighbours of a variable and removes it; returns whose cost may have changed.
    fn eliminate(&mut self, v: usize) -> Vec<usize> {
        let mut neighbours = std::mem::take(&mut self.lists[v]);
        neighbours.retain(|&w| self.is_left[w]);
        self.changed.clear();
        let mut changed: Vec<usize> = neighbours.iter().copied().filter(|&w| self.changed.add(w)).collect();
        if self.fills[v] > 0 {
            for (i, &a) in neighbours.iter().enumerate() {
                self.connect(a, &neighbours[i + 1..], &mut changed);
            }
        }
        self.remove(v, &neighbours);
        changed
    }

    /// Connects a variable with those of the others that are not its neighbours yet.
    fn connect(&mut self, a: usize, others: &[usize], changed: &mut Vec<usize>) {
        self.lists[a].retain(|&w| self.is_left[w]);
        self.marks.set(&self.lists[a]);
        for &b in others {
            if self.marks.add(b) {
                self.add_edge(a, b, changed);
            }
        }
    }

    /// Adds an edge; the neighbours of `a` are marked.
    fn add_edge(&mut self, a: usize, b: usize, changed: &mut Vec<usize>) {
        let (mut common, mut common_weight) = (0, 0);
        for &c in self.lists[b].iter().filter(|&&c| self.is_left[c] && self.marks.has(c)) {
            self.fills[c] -= self.weights[a] + self.weights[b];
            common += 1;
            common_weight += self.weights[c];
            if self.changed.add(c) {
                changed.push(c);
            }
        }
        for (x, y) in [(a, b), (b, a)] {
            self.fills[x] += (self.degrees[x] - common) as u64 * self.weights[y] + self.around[x] - common_weight;
            self.lists[x].push(y);
            self.degrees[x] += 1;
            self.around[x] += self.weights[y];
            self.sizes[x] += self.logs[y];
        }
    }

    /// Removes a variable whose neighbours are all connected.
    fn remove(&mut self, v: usize, neighbours: &[usize]) {
        self.is_left[v] = false;
        let weight: u64 = neighbours.iter().map(|&w| self.weights[w]).sum();
        for &w in neighbours {
            // Edges were missing between v and those neighbours of w that are none of v.
            self.degrees[w] -= 1;
            self.around[w] -= self.weights[v];
            self.sizes[w] -= self.logs[v];
            let far = (self.degrees[w] + 1 - neighbours.len()) as u64;
            self.fills[w] -= far * self.weights[v] + self.around[w] + self.weights[w] - weight;
        }
    }
}

/// A set that is emptied at no cost.
struct Marks {
    marked_at: Vec<u32>,
    now: u32,
}

impl Marks {
    fn new(n: usize) -> Self {
        Marks { marked_at: vec![0; n], now: 1 }
    }

    fn clear(&mut self) {
        self.now += 1;
    }

    fn set(&mut self, members: &[usize]) {
        self.clear();
        members.iter().for_each(|&v| self.marked_at[v] = self.now);
    }

    fn has(&self, v: usize) -> bool {
        self.marked_at[v] == self.now
    }

    /// Adds a member; says whether it was new.
    fn add(&mut self, v: usize) -> bool {
        std::mem::replace(&mut self.marked_at[v], self.now) != self.now
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
    use crate::vars::VarSet;
    use rand::SeedableRng;

    fn random_leaves(rng: &mut ChaCha8Rng) -> Leaves {
        let n = rng.random_range(1..20);
        let axes = |rng: &mut ChaCha8Rng| (0..n).map(VarId::new).filter(|_| rng.random_range(0..n) < 3).collect();
        let axes: Vec<VarSet> = (0..rng.random_range(1..30)).map(|_| axes(rng)).collect();
        Leaves {
            varies: vec![true; axes.len()],
            axes,
            output: VarSet::default(),
            cards: (0..n).map(|_| rng.random_range(1..7)).collect(),
            original: (0..n).map(VarId::new).collect(),
            prices: Default::default(),
        }
    }

    /// The missing edges around v, counted pair by pair.
    fn missing(graph: &Graph, v: usize) -> u64 {
        let left = |v: usize| graph.lists[v].iter().copied().filter(|&w| graph.is_left[w]);
        let pairs = left(v).flat_map(|a| left(v).filter(move |&b| a != b).map(move |b| (a, b)));
        pairs.filter(|&(a, b)| !graph.lists[a].contains(&b)).map(|(a, _)| graph.weights[a]).sum()
    }

    #[test]
    fn costs_are_kept_up_to_date() {
        for seed in 0..200 {
            let rng = &mut ChaCha8Rng::seed_from_u64(seed);
            let leaves = random_leaves(rng);
            let mut graph = Graph::new(&leaves, Heuristic::ALL[seed as usize % 3]);
            for v in 0..leaves.cards.len() {
                for w in v..leaves.cards.len() {
                    let left: Vec<usize> = graph.lists[w].iter().copied().filter(|&x| graph.is_left[x]).collect();
                    assert_eq!(graph.fills[w], missing(&graph, w), "seed {seed}");
                    assert_eq!(graph.degrees[w], left.len(), "seed {seed}");
                    let size: u64 = left.iter().chain([&w]).map(|&x| graph.logs[x]).sum();
                    assert_eq!(graph.sizes[w], size, "seed {seed}");
                }
                graph.eliminate(v);
            }
        }
    }

    #[test]
    fn equal_products_have_equal_logarithms() {
        assert_eq!(log2(6) + log2(35), log2(14) + log2(15));
        assert_eq!((log2(1), log2(8)), (0, 3 << 40));
        assert!((log2(97) as f64 / LOG_UNIT - 97f64.log2()).abs() < 1e-11);
    }
}
