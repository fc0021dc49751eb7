//! Thins separators: for each functional variable in turn, the best places to sum it out.
//!
//! The edges of a tree that carry X fall into connected parts, and every part needs a leaf with f_X
//! (see `certificate`). With all other variables fixed, the cheapest valid choice for X is found by
//! one pass up the tree. An edge has three states: X is absent; X is present, and f_X is below in
//! the same part; X is present, and f_X is still missing. Sweeps over all variables repeat until
//! nothing improves.
//!
//! A copy of f_X that keeps its X to itself sums to one, and is removed.

use crate::compile::plan::Plan;
use crate::compile::plan::problem::{Leaf, Problem};
use crate::compile::plan::tree::Tree;
use crate::vars::{VarId, VarSet};

const ABSENT: usize = 0;
const DEFINED: usize = 1;
const OPEN: usize = 2;

/// The cost of a subtree for each state of the edge above it, and how its children reach it.
#[derive(Clone, Copy)]
struct Choice {
    cost: [f64; 3],
    from: [(u8, u8); 3],
}

impl Choice {
    const NONE: Choice = Choice {
        cost: [0.0, f64::INFINITY, f64::INFINITY],
        from: [(0, 0); 3],
    };

    fn offer(&mut self, state: usize, cost: f64, from: (usize, usize)) {
        if cost < self.cost[state] {
            self.cost[state] = cost;
            self.from[state] = (from.0 as u8, from.1 as u8);
        }
    }
}

/// A plan whose separators are at least as small, in total, as those given.
pub(crate) fn thin(
    problem: &Problem,
    leaves: Vec<Leaf>,
    tree: Tree,
    separators: Vec<VarSet>,
) -> Plan {
    let mut thinner = Thinner::new(problem, leaves, tree, separators);
    for _ in 0..4 {
        let changed = thinner.sweep();
        let removed = thinner.remove_dead();
        if !changed && !removed {
            break;
        }
    }
    Plan::new(problem, thinner.leaves, thinner.tree, thinner.separators)
}

struct Thinner<'a> {
    problem: &'a Problem,
    leaves: Vec<Leaf>,
    tree: Tree,
    separators: Vec<VarSet>,
    parent: Vec<usize>,
    prices: Vec<f64>,
    /// Work space of a pass: what each node above a mention of X may choose.
    choices: Vec<Choice>,
}

impl<'a> Thinner<'a> {
    fn new(problem: &'a Problem, leaves: Vec<Leaf>, tree: Tree, separators: Vec<VarSet>) -> Self {
        let varies = tree.varies(&problem.leaves(&leaves));
        let prices = varies.iter().map(|&v| problem.prices.of(v)).collect();
        let mut parent = vec![usize::MAX; separators.len()];
        for (k, &(l, r)) in tree.joins.iter().enumerate() {
            parent[l] = tree.leaves + k;
            parent[r] = tree.leaves + k;
        }
        let choices = vec![Choice::NONE; separators.len()];
        Thinner {
            problem,
            leaves,
            tree,
            separators,
            parent,
            prices,
            choices,
        }
    }

    /// Thins every functional variable of which there are copies; returns whether anything changed.
    fn sweep(&mut self) -> bool {
        let mut mentions: Vec<Vec<usize>> = vec![vec![]; self.problem.cards.len()];
        let mut definers = vec![0; self.problem.cards.len()];
        for (node, leaf) in self.leaves.iter().enumerate() {
            for v in self.problem.factors[leaf.factor].iter() {
                mentions[v.index()].push(node);
                definers[v.index()] +=
                    usize::from(self.problem.definer[v.index()] == Some(leaf.factor));
            }
        }
        let mut changed = false;
        for v in (0..definers.len()).filter(|&v| definers[v] > 1) {
            changed |= self.place(VarId::new(v), &mentions[v]);
        }
        changed
    }

    /// Chooses the edges that carry `x`; returns whether that changed.
    fn place(&mut self, x: VarId, mentions: &[usize]) -> bool {
        let above = self.above(mentions);
        for &leaf in mentions {
            self.choices[leaf] = self.leaf_choice(x, leaf);
        }
        for &node in &above {
            self.choices[node] = self.join_choice(x, node);
        }
        let top = *above.last().unwrap_or(&mentions[0]);
        let state = if self.problem.output.contains(x) {
            DEFINED
        } else {
            ABSENT
        };
        debug_assert!(
            self.choices[top].cost[state].is_finite(),
            "some valid choice exists"
        );
        let mut changed = false;
        let mut stack = vec![(top, state)];
        while let Some((node, state)) = stack.pop() {
            changed |= self.carry(node, x, state != ABSENT);
            if node >= self.tree.leaves && self.is_above(node, &above) {
                let (l, r) = self.tree.joins[node - self.tree.leaves];
                let (a, b) = self.choices[node].from[state];
                stack.extend([(l, a as usize), (r, b as usize)]);
            }
        }
        mentions
            .iter()
            .chain(&above)
            .for_each(|&node| self.choices[node] = Choice::NONE);
        changed
    }

    fn is_above(&self, node: usize, above: &[usize]) -> bool {
        above.binary_search(&node).is_ok()
    }

    /// The inner nodes above some leaves, children first.
    fn above(&self, leaves: &[usize]) -> Vec<usize> {
        let mut above = vec![];
        let mut seen = std::collections::BTreeSet::new();
        for &leaf in leaves {
            let mut node = self.parent[leaf];
            while node != usize::MAX && seen.insert(node) {
                above.push(node);
                node = self.parent[node];
            }
        }
        above.sort_unstable();
        above
    }

    fn leaf_choice(&self, x: VarId, leaf: usize) -> Choice {
        let mut choice = Choice {
            cost: [f64::INFINITY; 3],
            ..Choice::NONE
        };
        let carried = self.edge_cost(x, leaf);
        if self.problem.definer[x.index()] == Some(self.leaves[leaf].factor) {
            choice.cost[ABSENT] = 0.0;
            choice.cost[DEFINED] = carried;
        } else {
            choice.cost[OPEN] = carried;
        }
        choice
    }

    fn join_choice(&self, x: VarId, node: usize) -> Choice {
        let (l, r) = self.tree.joins[node - self.tree.leaves];
        let (left, right) = (self.choices[l], self.choices[r]);
        let mut choice = Choice {
            cost: [f64::INFINITY; 3],
            ..Choice::NONE
        };
        choice.offer(
            ABSENT,
            left.cost[ABSENT] + right.cost[ABSENT],
            (ABSENT, ABSENT),
        );
        let (carried, cluster) = (self.edge_cost(x, node), self.cluster_cost(x, node));
        for a in [ABSENT, DEFINED, OPEN] {
            for b in [ABSENT, DEFINED, OPEN] {
                let cost = left.cost[a] + right.cost[b] + cluster;
                if (a, b) == (ABSENT, ABSENT) || !cost.is_finite() {
                    continue;
                }
                let is_defined = a == DEFINED || b == DEFINED;
                if is_defined {
                    choice.offer(ABSENT, cost, (a, b));
                }
                choice.offer(
                    if is_defined { DEFINED } else { OPEN },
                    cost + carried,
                    (a, b),
                );
            }
        }
        choice
    }

    /// The cost of `x` on the edge above a node.
    fn edge_cost(&self, x: VarId, node: usize) -> f64 {
        self.prices[node]
            * self
                .problem
                .prices
                .step(0.0, self.extra(x, self.separators[node].iter()))
    }

    /// The cost of `x` in the cluster of a node.
    fn cluster_cost(&self, x: VarId, node: usize) -> f64 {
        let (l, r) = self.tree.joins[node - self.tree.leaves];
        let left = &self.separators[l];
        let right = self.separators[r].iter().filter(|v| !left.contains(*v));
        self.prices[node]
            * self
                .problem
                .prices
                .step(self.extra(x, left.iter().chain(right)), 0.0)
    }

    /// How much larger some variables are together with `x`.
    fn extra(&self, x: VarId, vars: impl Iterator<Item = VarId>) -> f64 {
        let others: f64 = vars
            .filter(|&v| v != x)
            .map(|v| self.problem.cards[v.index()] as f64)
            .product();
        others * (self.problem.cards[x.index()] - 1) as f64
    }

    fn carry(&mut self, node: usize, x: VarId, on: bool) -> bool {
        let separator = &mut self.separators[node];
        match (on, separator.contains(x)) {
            (true, false) => separator.insert(x),
            (false, true) => {
                *separator = separator.iter().filter(|&v| v != x).collect();
                true
            }
            _ => false,
        }
    }

    /// Removes copies that keep what they define to themselves; returns whether there were any.
    fn remove_dead(&mut self) -> bool {
        self.keep_live_originals();
        let defined = |leaf: &Leaf| self.problem.defines(leaf.factor);
        let is_dead = |node: usize| {
            let leaf = &self.leaves[node];
            leaf.is_copy && defined(leaf).is_some_and(|x| !self.separators[node].contains(x))
        };
        let dead: Vec<bool> = (0..self.tree.leaves).map(is_dead).collect();
        if !dead.contains(&true) {
            return false;
        }
        self.remove(&dead);
        self.tighten();
        true
    }

    /// Where an original without evidence is dead and a copy is not, they change places.
    fn keep_live_originals(&mut self) {
        let mut live_copy = vec![None; self.problem.factors.len()];
        let carries = |node: usize, leaf: &Leaf| {
            self.problem
                .defines(leaf.factor)
                .is_some_and(|x| self.separators[node].contains(x))
        };
        for (node, leaf) in self
            .leaves
            .iter()
            .enumerate()
            .filter(|(_, leaf)| leaf.is_copy)
        {
            if carries(node, leaf) {
                live_copy[leaf.factor].get_or_insert(node);
            }
        }
        let is_dead = |node: usize, leaf: &Leaf| {
            !leaf.is_copy && !self.problem.varies[leaf.factor] && !carries(node, leaf)
        };
        let dead = self
            .leaves
            .iter()
            .enumerate()
            .filter(|(node, leaf)| is_dead(*node, leaf));
        let swaps: Vec<(usize, usize)> = dead
            .filter_map(|(node, leaf)| Some((node, live_copy[leaf.factor]?)))
            .collect();
        for (original, copy) in swaps {
            self.leaves[original].is_copy = true;
            self.leaves[copy].is_copy = false;
        }
    }

    /// Takes leaves out of the tree.
    fn remove(&mut self, dead: &[bool]) {
        let mut place: Vec<Option<usize>> = vec![None; self.separators.len()];
        let (mut leaves, mut joins, mut separators) = (vec![], vec![], vec![]);
        for node in (0..self.tree.leaves).filter(|&n| !dead[n]) {
            place[node] = Some(leaves.len());
            leaves.push(self.leaves[node]);
            separators.push(self.separators[node].clone());
        }
        for (k, &(l, r)) in self.tree.joins.iter().enumerate() {
            let node = self.tree.leaves + k;
            place[node] = match (place[l], place[r]) {
                (Some(a), Some(b)) => {
                    joins.push((a, b));
                    separators.push(self.separators[node].clone());
                    Some(separators.len() - 1)
                }
                (Some(only), None) | (None, Some(only)) => {
                    separators[only] = &separators[only] & &self.separators[node];
                    Some(only)
                }
                (None, None) => None,
            };
        }
        let tree = Tree {
            leaves: leaves.len(),
            joins,
        };
        *self = Thinner::new(self.problem, leaves, tree, separators);
    }

    /// Drops variables from edges that no longer lead to a mention: upward, then downward.
    fn tighten(&mut self) {
        for k in 0..self.tree.joins.len() {
            let (l, r) = self.tree.joins[k];
            let node = self.tree.leaves + k;
            self.separators[node] =
                &self.separators[node] & &(&self.separators[l] | &self.separators[r]);
        }
        for k in (0..self.tree.joins.len()).rev() {
            let (l, r) = self.tree.joins[k];
            let above = &self.separators[self.tree.leaves + k];
            let left = &self.separators[l] & &(&self.separators[r] | above);
            let right = &self.separators[r] & &(&self.separators[l] | above);
            (self.separators[l], self.separators[r]) = (left, right);
        }
    }
}
