//! The graph in which variables are eliminated.
//!
//! Costs are kept up to date edge by edge, not counted anew: most eliminations add no edge at all,
//! and then only the neighbours change. Neighbours are lists, so that a replicated network may have
//! very many variables; only *hubs*, those with very many neighbours, have a set of them as well.

use fixedbitset::FixedBitSet;

use crate::compile::plan::order::Heuristic;
use crate::compile::plan::tree::Leaves;
use crate::vars::VarId;

/// A variable with more neighbours than this is a hub, unless there are many more variables.
const MAX_PLAIN_DEGREE: usize = 64;

/// Logarithms are whole multiples of 1 / LOG_UNIT, so that equal products have equal logarithms.
pub const LOG_UNIT: f64 = (1u64 << 40) as f64;

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

/// The graph of the variables that are left.
///
/// Of the edges that are missing between the neighbours of v, each counts as the sum of the weights
/// of its ends.
pub struct EliminationGraph {
    /// The weight of each variable as the end of a missing edge.
    weights: Vec<u64>,
    logs: Vec<u64>,
    is_left: Vec<bool>,
    /// The neighbours; some may be left no more.
    lists: Vec<Vec<usize>>,
    /// The neighbours of hubs once more, to look them up.
    rows: Vec<Option<FixedBitSet>>,
    /// The number of neighbours.
    pub degrees: Vec<usize>,
    /// The weights of all neighbours together.
    around: Vec<u64>,
    /// The edges missing between the neighbours.
    pub fills: Vec<u64>,
    /// The logarithm of the size of the cluster: the variable and its neighbours.
    pub sizes: Vec<u64>,
    common: Vec<usize>,
    marks: Marks,
    changed: Marks,
}

impl EliminationGraph {
    /// The graph of some leaves and their output.
    pub fn new(leaves: &Leaves, heuristic: Heuristic) -> Self {
        let n = leaves.cards.len();
        let weight = |&card: &usize| match heuristic {
            Heuristic::WeightedFill => card as u64,
            Heuristic::MinFill | Heuristic::MinSize => 1,
        };
        let logs: Vec<u64> = leaves.cards.iter().map(|&card| log2(card)).collect();
        let mut graph = EliminationGraph {
            weights: leaves.cards.iter().map(weight).collect(),
            sizes: logs.clone(),
            logs,
            is_left: vec![true; n],
            lists: vec![vec![]; n],
            rows: vec![None; n],
            degrees: vec![0; n],
            around: vec![0; n],
            fills: vec![0; n],
            common: vec![],
            marks: Marks::new(n),
            changed: Marks::new(n),
        };
        for axes in leaves.axes.iter().chain([&leaves.output]) {
            axes.iter()
                .for_each(|v| graph.lists[v.index()].extend(axes.iter().map(VarId::index)));
        }
        (0..n).for_each(|v| graph.settle(v));
        graph.count_fills();
        graph
    }

    /// Completes what is known about the neighbours of a variable, given their list with
    /// repetitions.
    fn settle(&mut self, v: usize) {
        let list = &mut self.lists[v];
        list.sort_unstable();
        list.dedup();
        list.retain(|&w| w != v);
        self.degrees[v] = list.len();
        self.around[v] = list.iter().map(|&w| self.weights[w]).sum();
        self.sizes[v] += list.iter().map(|&w| self.logs[w]).sum::<u64>();
        self.rows[v] = self.row(v);
    }

    /// Counts the missing edges: all pairs of neighbours but those in a triangle.
    fn count_fills(&mut self) {
        for v in 0..self.lists.len() {
            self.fills[v] = self.around[v] * (self.degrees[v] as u64).saturating_sub(1);
        }
        // Each triangle is found once, from its variable of smallest degree.
        let rank = |v: usize| (self.degrees[v], v);
        let higher: Vec<Vec<usize>> = (0..self.lists.len())
            .map(|v| {
                self.lists[v]
                    .iter()
                    .copied()
                    .filter(|&w| rank(w) > rank(v))
                    .collect()
            })
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
    pub fn eliminate(&mut self, v: usize) -> Vec<usize> {
        let mut neighbours = std::mem::take(&mut self.lists[v]);
        neighbours.retain(|&w| self.is_left[w]);
        self.changed.clear();
        let mut changed: Vec<usize> = neighbours
            .iter()
            .copied()
            .filter(|&w| self.changed.add(w))
            .collect();
        if self.fills[v] > 0 {
            neighbours.sort_by_key(|&w| self.rows[w].is_some());
            for (i, &a) in neighbours.iter().enumerate() {
                self.connect(a, &neighbours[i + 1..], &mut changed);
            }
        }
        self.remove(v, &neighbours);
        changed
    }

    /// Connects a variable with those of the others that are not its neighbours yet.
    fn connect(&mut self, a: usize, others: &[usize], changed: &mut Vec<usize>) {
        if self.rows[a].is_none() {
            self.lists[a].retain(|&w| self.is_left[w]);
            self.marks.set(&self.lists[a]);
        }
        for &b in others {
            if !self.rows[a]
                .as_ref()
                .map_or(self.marks.has(b), |row| row.contains(b))
            {
                self.add_edge(a, b, changed);
                self.marks.add(b);
            }
        }
    }

    /// Adds an edge; the neighbours of `a` are marked unless it is a hub.
    fn add_edge(&mut self, a: usize, b: usize, changed: &mut Vec<usize>) {
        let mut common = std::mem::take(&mut self.common);
        common.clear();
        self.find_common(a, b, &mut common);
        for &c in &common {
            self.fills[c] -= self.weights[a] + self.weights[b];
            if self.changed.add(c) {
                changed.push(c);
            }
        }
        let common_weight: u64 = common.iter().map(|&c| self.weights[c]).sum();
        for (x, y) in [(a, b), (b, a)] {
            let far = (self.degrees[x] - common.len()) as u64;
            self.fills[x] += far * self.weights[y] + self.around[x] - common_weight;
            self.link(x, y);
        }
        self.common = common;
    }

    fn find_common(&self, a: usize, b: usize, common: &mut Vec<usize>) {
        let left = |v: usize| self.lists[v].iter().copied().filter(|&c| self.is_left[c]);
        match (&self.rows[a], &self.rows[b]) {
            (Some(a), Some(b)) => common.extend(a.intersection(b)),
            (Some(a), None) => common.extend(left(b).filter(|&c| a.contains(c))),
            (None, Some(b)) => common.extend(left(a).filter(|&c| b.contains(c))),
            (None, None) => common.extend(left(b).filter(|&c| self.marks.has(c))),
        }
    }

    /// Makes y a neighbour of x.
    fn link(&mut self, x: usize, y: usize) {
        self.lists[x].push(y);
        self.degrees[x] += 1;
        self.around[x] += self.weights[y];
        self.sizes[x] += self.logs[y];
        match &mut self.rows[x] {
            Some(row) => row.insert(y),
            None => self.rows[x] = self.row(x),
        }
    }

    /// The neighbours of a hub as a set; none if it is not a hub.
    fn row(&self, v: usize) -> Option<FixedBitSet> {
        let n = self.lists.len();
        let mut row = (self.degrees[v] > MAX_PLAIN_DEGREE.max(n / 128))
            .then(|| FixedBitSet::with_capacity(n))?;
        self.lists[v]
            .iter()
            .filter(|&&w| self.is_left[w])
            .for_each(|&w| row.insert(w));
        Some(row)
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
            self.rows[w].iter_mut().for_each(|row| row.remove(v));
        }
        self.rows[v] = None;
    }
}

/// A set that is emptied at no cost.
struct Marks {
    marked_at: Vec<u32>,
    now: u32,
}

impl Marks {
    fn new(n: usize) -> Self {
        Marks {
            marked_at: vec![0; n],
            now: 1,
        }
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

    /// Adds a member; returns whether it was new.
    fn add(&mut self, v: usize) -> bool {
        std::mem::replace(&mut self.marked_at[v], self.now) != self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vars::VarSet;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn random_leaves(rng: &mut ChaCha8Rng) -> Leaves {
        let n = if rng.random_range(0..20) == 0 {
            90
        } else {
            rng.random_range(1..20)
        };
        let axes = |rng: &mut ChaCha8Rng| {
            (0..n)
                .map(VarId::new)
                .filter(|_| rng.random_range(0..n) < 3)
                .collect()
        };
        let axes: Vec<VarSet> = (0..rng.random_range(1..3 * n)).map(|_| axes(rng)).collect();
        Leaves {
            varies: vec![true; axes.len()],
            axes,
            output: VarSet::default(),
            cards: (0..n).map(|_| rng.random_range(1..7)).collect(),
            original: (0..n).map(VarId::new).collect(),
            known: vec![],
            prices: Default::default(),
        }
    }

    /// The missing edges around v, counted pair by pair.
    fn missing(graph: &EliminationGraph, v: usize) -> u64 {
        let left = |v: usize| graph.lists[v].iter().copied().filter(|&w| graph.is_left[w]);
        let pairs = left(v).flat_map(|a| left(v).filter(move |&b| a != b).map(move |b| (a, b)));
        pairs
            .filter(|&(a, b)| !graph.lists[a].contains(&b))
            .map(|(a, _)| graph.weights[a])
            .sum()
    }

    #[test]
    fn costs_are_kept_up_to_date() {
        for seed in 0..200 {
            let rng = &mut ChaCha8Rng::seed_from_u64(seed);
            let leaves = random_leaves(rng);
            let mut graph = EliminationGraph::new(
                &leaves,
                Heuristic::ALL[seed as usize % Heuristic::ALL.len()],
            );
            for v in 0..leaves.cards.len() {
                let is_checked = v % (1 + leaves.cards.len() / 20) == 0;
                for w in (v..leaves.cards.len()).filter(|_| is_checked) {
                    let left: Vec<usize> = graph.lists[w]
                        .iter()
                        .copied()
                        .filter(|&x| graph.is_left[x])
                        .collect();
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
