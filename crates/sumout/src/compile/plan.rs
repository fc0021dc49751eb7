//! Searches for a cheap contraction tree.
//!
//! Any tree gives the right answer; only its cost differs. The search is seeded and counts steps, not
//! seconds, so that a seed gives the same plan on every machine. It stops early on easy questions: the budget
//! grows with the cost of the best plan so far, so that searching never takes much longer than evaluating.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::Search;
use super::anneal::Annealer;
use super::certificate;
use super::greedy::{Taste, greedy};
use super::order::{self, Heuristic};
use super::problem::{Leaf, Problem};
use super::prune::Pruned;
use super::tree::{Cost, Leaves, Tree};
use crate::vars::VarSet;

/// A contraction tree with its separators and its cost.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The leaves of the tree.
    pub leaves: Vec<Leaf>,
    /// The tree.
    pub tree: Tree,
    /// The separator of each node of the tree.
    pub separators: Vec<VarSet>,
    /// What it costs to evaluate it once.
    pub cost: Cost,
}

/// At effort 1 no search takes more steps than this, which is about a second.
const MOST_STEPS: f64 = 4e6;

/// A step of the search takes about as long as this many products.
const PRODUCTS_PER_STEP: f64 = 150.0;

/// Finds a plan for what is left of a network.
pub fn plan(pruned: &Pruned, search: &Search) -> Plan {
    let problem = Problem::new(pruned);
    let originals = problem.originals();
    let leaves = problem.leaves(&originals);
    let mut pool = Pool { leaves: &leaves, best: None, rng: ChaCha8Rng::seed_from_u64(search.seed), spent: 0.0 };
    pool.start();
    pool.restart(search.effort);
    pool.anneal(search.effort);
    let (tree, _) = pool.best.expect("the pool was started");
    let separators = tree.separators(&leaves);
    let cost = tree.cost(&leaves, &separators);
    let plan = Plan { leaves: originals, tree, separators, cost };
    debug_assert_eq!(certificate::check(&problem, &plan), Ok(()));
    plan
}

struct Pool<'a> {
    leaves: &'a Leaves,
    best: Option<(Tree, f64)>,
    rng: ChaCha8Rng,
    spent: f64,
}

impl Pool<'_> {
    /// One run of each method, without noise.
    fn start(&mut self) {
        self.offer_greedy(Taste { saving: 1.0, noise: 0.0 });
        if self.leaves.cards.len() <= order::MAX_VARIABLES {
            let order = order::order(self.leaves, Heuristic::MinFill, None);
            self.offer(order::tree(self.leaves, &order.vars));
        }
    }

    fn offer(&mut self, tree: Tree) {
        let cost = tree.cost(self.leaves, &tree.separators(self.leaves)).total(self.leaves.constant_price);
        if self.best.as_ref().is_none_or(|(_, best)| cost < *best) {
            self.best = Some((tree, cost));
        }
        self.spent += 10.0 * self.leaves.axes.len() as f64;
    }

    fn offer_greedy(&mut self, taste: Taste) {
        let tree = greedy(self.leaves, taste, &mut self.rng);
        self.offer(tree);
    }

    /// The steps that may be taken in all, given what the best plan costs now.
    fn budget(&self, effort: f64) -> f64 {
        let cost = self.best.as_ref().map_or(0.0, |(_, cost)| *cost);
        effort * (cost / PRODUCTS_PER_STEP).min(MOST_STEPS)
    }

    /// Runs with noise, for a fifth of the budget.
    fn restart(&mut self, effort: f64) {
        while self.spent < 0.2 * self.budget(effort) {
            if self.rng.random::<f64>() < 0.7 || self.leaves.cards.len() > order::MAX_VARIABLES {
                let saving = self.rng.random_range(0.2..2.0);
                let noise = self.rng.random_range(0.01..1.0);
                self.offer_greedy(Taste { saving, noise });
            } else {
                let heuristic = Heuristic::ALL[self.rng.random_range(0..Heuristic::ALL.len())];
                let order = order::order(self.leaves, heuristic, Some(&mut self.rng));
                self.offer(order::tree(self.leaves, &order.vars));
            }
        }
    }

    /// Anneals the best plan with what is left of the budget.
    fn anneal(&mut self, effort: f64) {
        for round in 0..4 {
            let steps = (self.budget(effort) - self.spent) / f64::from(4 - round);
            let Some((tree, cost)) = self.best.clone().filter(|_| steps >= 100.0) else { return };
            let mut annealer = Annealer::new(&tree, self.leaves);
            annealer.run((0.8 * steps) as u64, (0.05 / f64::from(1 + round), 1e-4), &mut self.rng);
            annealer.run((0.2 * steps) as u64, (1e-9, 1e-10), &mut self.rng);
            self.spent += steps;
            if annealer.total() < cost {
                self.best = Some((annealer.tree(), annealer.total()));
            }
        }
    }
}
