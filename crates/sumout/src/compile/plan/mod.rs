//! Searches for a cheap plan.
//!
//! A plan is a contraction tree whose leaves are factors and copies of functions, with thinned
//! separators. Any plan gives the right answer; only its cost differs. The search is seeded and
//! counts steps, not seconds, so that a seed gives the same plan on every machine. It stops early
//! on easy questions: the budget grows with the cost of the best plan so far, so that searching
//! never takes much longer than evaluating.

mod anneal;
pub mod certificate;
pub(crate) mod choose;
mod clones;
mod expand;
mod greedy;
pub mod order;
pub mod problem;
pub mod saved;
mod skeleton;
pub(crate) mod tables;
mod thin;
pub mod tree;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::compile::plan::anneal::Annealer;
use crate::compile::plan::order::Heuristic;
use crate::compile::plan::problem::{Leaf, Problem};
use crate::compile::plan::tree::{Cost, Leaves, Tree};
use crate::compile::{Level, Search, paper};
use crate::vars::{VarId, VarSet};

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

impl Plan {
    /// A plan with its cost.
    pub fn new(problem: &Problem, leaves: Vec<Leaf>, tree: Tree, separators: Vec<VarSet>) -> Self {
        let cost = tree.cost(&problem.leaves(&leaves), &separators);
        let plan = Plan {
            leaves,
            tree,
            separators,
            cost,
        };
        debug_assert_eq!(certificate::check(problem, &plan), Ok(()));
        plan
    }
}

/// At effort 1 no search takes more steps than this, which is about a second.
const MOST_STEPS: f64 = 4e6;

/// A step of the search takes about as long as this many products.
const PRODUCTS_PER_STEP: f64 = 150.0;

/// With more variables than this, sets of them are so large that a move takes longer than a step.
const WIDE: f64 = 3000.0;

/// After this many steps for each leaf, more of them find nothing better.
const ENOUGH_PER_LEAF: f64 = 2e4;

/// Making a plan takes about as long as this many steps for each of its leaves.
const STEPS_PER_LEAF: f64 = 50.0;

/// A question that is run once is worth plans with copies if it takes more products than this.
const WORTH_COPYING: f64 = 1e10;

/// From this effort on, plans with copies are always looked for.
const MUCH_EFFORT: f64 = 100.0;

/// A leaf of a plan that is run once takes about as long to plan as this many products to run.
const PRODUCTS_PER_LEAF: f64 = 1e5;

/// So many numbers may be stored once in any case.
const FEW_NUMBERS: f64 = 1e6;

/// How many times dearer constants become, step by step, while too many numbers are stored once.
const DEARER: [f64; 8] = [2.0, 2.0, 2.0, 2.0, 2.0, 4.0, 10.0, 50.0];

/// Temperatures at which nothing is accepted that makes a tree worse.
const COLD: (f64, f64) = (1e-9, 1e-10);

/// No plan has more leaves than this.
const MAX_LEAVES: usize = 100_000;

/// Finds a plan for a problem.
pub fn plan(problem: &Problem, search: &Search) -> Plan {
    plan_from(problem, search, None)
}

/// Finds a plan that is not worse than the one given; with no effort it is that one.
pub fn plan_from(problem: &Problem, search: &Search, given: Option<Plan>) -> Plan {
    let given = match given {
        Some(given) if search.effort == 0.0 => return given,
        given => given,
    };
    if search.level == Level::Paper {
        return paper::plan(problem, MAX_LEAVES).plan;
    }
    let rng = ChaCha8Rng::seed_from_u64(search.seed);
    let mut pool = Pool {
        problem,
        search,
        plans: vec![],
        classical: None,
        rng,
        spent: 0.0,
        constant_limit: f64::INFINITY,
        expansions_lose: false,
    };
    pool.start();
    given.into_iter().for_each(|given| pool.offer(given));
    if pool.knows_functions() && pool.is_worth_copying() {
        pool.start_functional();
    }
    pool.restart();
    pool.anneal();
    pool.trade_constants();
    let best = pool.plans.swap_remove(0);
    if !pool.is_close_to_classical(&best) {
        return best;
    }
    let classical = plan(
        problem,
        &Search {
            level: Level::Classical,
            ..*search
        },
    );
    if pool.total(&classical) < pool.total(&best) {
        classical
    } else {
        best
    }
}

/// Whether it may take time to make use of functions: not if running a plan of this cost takes no
/// longer than that, unless much effort is asked for.
pub(crate) fn is_worth_knowing(search: &Search, total: f64) -> bool {
    search.is_for_many() || search.effort >= MUCH_EFFORT || total > WORTH_COPYING
}

struct Pool<'a> {
    problem: &'a Problem,
    search: &'a Search,
    /// The best plans so far, the cheapest first.
    plans: Vec<Plan>,
    /// The best plan without copies.
    classical: Option<Plan>,
    rng: ChaCha8Rng,
    spent: f64,
    /// How many numbers may be stored once: as many as the paper's own plan stores for each
    /// example, or a few.
    constant_limit: f64,
    /// Whether the last plan that joins and expands was hopeless.
    expansions_lose: bool,
}

/// A plan that costs this many times as much as the best is given up while it is being built.
const HOPELESS: f64 = 30.0;

/// Where copies bring the cost down to less than this share, plans without them are given up.
const MUCH_GAIN: f64 = 0.1;

/// How many plans are kept to be improved.
const KEEP: usize = 3;

impl Pool<'_> {
    /// The price of a plan; numbers that are stored once cost in full beyond the limit.
    fn total(&self, plan: &Plan) -> f64 {
        let excess = (plan.cost.constant_entries - self.constant_limit).max(0.0);
        self.problem.prices.total(&plan.cost) + self.problem.prices.step(0.0, excess)
    }

    fn exceeds_limit(&self) -> bool {
        self.plans
            .first()
            .is_some_and(|plan| plan.cost.constant_entries > self.constant_limit)
    }

    fn offer(&mut self, plan: Plan) {
        self.spent += STEPS_PER_LEAF * plan.leaves.len() as f64;
        let total = self.total(&plan);
        let is_classical = plan.leaves.iter().all(|leaf| !leaf.is_copy);
        if is_classical
            && self
                .classical
                .as_ref()
                .is_none_or(|c| total < self.total(c))
        {
            self.classical = Some(plan.clone());
        }
        let at = self.plans.partition_point(|p| self.total(p) <= total);
        self.plans.insert(at, plan);
        self.plans.truncate(KEEP);
    }

    /// Offers a tree over clones.
    fn offer_clones(&mut self, leaves: Vec<Leaf>, clones: &Leaves, tree: Tree) {
        let separators = tree
            .separators(clones)
            .iter()
            .map(|s| clones.originals(s))
            .collect();
        let plan = thin::thin(self.problem, leaves, tree, separators);
        self.offer(plan);
    }

    /// One run of each method that knows of no functions, without noise.
    fn start(&mut self) {
        self.offer_greedy(greedy::Taste {
            saving: 1.0,
            noise: 0.0,
        });
        self.offer_order(Heuristic::MinFill, false, |_| false);
    }

    /// One run of each method that copies functions.
    fn start_functional(&mut self) {
        let max_leaves = self.max_leaves();
        let paper = paper::plan(self.problem, max_leaves).plan;
        if self.problem.varies.contains(&true) {
            self.constant_limit = paper.cost.entries.max(FEW_NUMBERS); // otherwise all that is stored is stored once
        }
        let thinned = thin::thin(
            self.problem,
            paper.leaves.clone(),
            paper.tree.clone(),
            paper.separators.clone(),
        );
        self.offer(paper);
        self.offer(thinned);
        self.offer_order(Heuristic::MinFill, false, |_| true);
        for (run, width) in [6, 7, 5, 8, 4, 10, 3, 2, usize::MAX]
            .into_iter()
            .enumerate()
        {
            for saving in [1.0, 0.5] {
                let deep = run % 2 == 0;
                self.offer_expanded(expand::Taste {
                    saving,
                    cluster: 0.1,
                    width,
                    noise: 0.0,
                    deep,
                });
            }
            if self.expansions_lose || !self.search.is_for_many() {
                break;
            }
        }
    }

    fn offer_greedy(&mut self, taste: greedy::Taste) {
        let leaves = self.problem.originals();
        let plain = self.problem.leaves(&leaves);
        let tree = greedy::greedy(&plain, taste, &mut self.rng);
        let separators = tree.separators(&plain);
        let plan = Plan::new(self.problem, leaves, tree, separators);
        self.offer(plan);
    }

    fn offer_order(
        &mut self,
        heuristic: Heuristic,
        with_noise: bool,
        chosen: impl Fn(VarId) -> bool,
    ) {
        let (leaves, clones) = clones::replicate(self.problem, chosen, self.max_leaves());
        if clones.cards.len() <= order::MAX_VARIABLES {
            let order = order::order(&clones, heuristic, with_noise.then_some(&mut self.rng));
            let tree = order::tree(&clones, &order.vars);
            self.offer_clones(leaves, &clones, tree);
        }
    }

    /// Offers a plan that joins and expands, unless it is hopeless.
    fn offer_expanded(&mut self, taste: expand::Taste) {
        let best = self
            .plans
            .first()
            .map_or(f64::INFINITY, |plan| self.total(plan));
        let built = expand::expand(self.problem, taste, HOPELESS * best, &mut self.rng);
        self.expansions_lose = built.is_none();
        if let Some((leaves, tree, separators)) = built {
            let plan = thin::thin(self.problem, leaves, tree, separators);
            self.offer(plan);
        }
    }

    /// The steps that may be taken in all, given what the best plan costs now.
    fn budget(&self) -> f64 {
        let cost = self.plans.first().map_or(0.0, |plan| self.total(plan));
        let leaves = self.plans.first().map_or(0, |plan| plan.leaves.len()) as f64;
        let worth = if self.search.is_for_many() {
            ENOUGH_PER_LEAF * leaves
        } else {
            cost / PRODUCTS_PER_STEP
        };
        self.search.effort * worth.min(MOST_STEPS)
    }

    /// Runs with noise, for a fifth of the budget.
    fn restart(&mut self) {
        let is_functional = self.knows_functions() && self.is_worth_copying();
        while self.spent < 0.2 * self.budget() {
            match self.rng.random::<f64>() {
                dice if is_functional && dice < 0.5 => self.restart_functional(),
                dice if dice < 0.9 || self.problem.cards.len() > order::MAX_VARIABLES => {
                    let saving = self.rng.random_range(0.2..2.0);
                    let noise = self.rng.random_range(0.01..1.0);
                    self.offer_greedy(greedy::Taste { saving, noise });
                }
                _ => self.offer_random_order(0.0),
            }
        }
    }

    fn restart_functional(&mut self) {
        if self.expansions_lose || self.rng.random::<bool>() {
            let share = [1.0, 1.0, 0.8, 0.5][self.rng.random_range(0..4)];
            return self.offer_random_order(share);
        }
        let taste = expand::Taste {
            saving: self.rng.random_range(0.3..1.5),
            cluster: 0.1,
            width: self.rng.random_range(3..9),
            noise: self.rng.random_range(0.001..0.3),
            deep: self.rng.random::<bool>(),
        };
        self.offer_expanded(taste);
    }

    /// A random order, with copies of a share of the functions.
    fn offer_random_order(&mut self, share: f64) {
        let heuristic = Heuristic::ALL[self.rng.random_range(0..Heuristic::ALL.len())];
        let chosen: Vec<bool> = self
            .problem
            .cards
            .iter()
            .map(|_| self.rng.random::<f64>() < share)
            .collect();
        self.offer_order(heuristic, true, |v| chosen[v.index()]);
    }

    /// Whether plans with copies may be looked for.
    fn is_worth_copying(&self) -> bool {
        is_worth_knowing(self.search, self.total(&self.plans[0]))
    }

    /// How many leaves a plan may have: the more, the more its search may cost.
    fn max_leaves(&self) -> usize {
        let worth = self.total(&self.plans[0]) / PRODUCTS_PER_LEAF;
        if self.search.is_for_many() {
            MAX_LEAVES
        } else {
            worth.clamp(1000.0, MAX_LEAVES as f64) as usize
        }
    }

    /// Whether copies gained so little that a search without them could have found a better plan.
    fn is_close_to_classical(&self, best: &Plan) -> bool {
        let is_close = |classical: &Plan| self.total(best) > MUCH_GAIN * self.total(classical);
        let has_tried = self.knows_functions() && is_worth_knowing(self.search, self.total(best));
        has_tried && self.classical.as_ref().is_none_or(is_close)
    }

    fn knows_functions(&self) -> bool {
        self.search.level.knows_functions() && self.problem.definer.iter().any(Option::is_some)
    }

    /// Where too many numbers are stored once, looks nearby for a plan that computes more for each
    /// example instead.
    ///
    /// What is multiplied into a constant can as well be multiplied, one after the other, into what
    /// varies: that is a rotation. The dearer constants are, the more rotations pay.
    fn trade_constants(&mut self) {
        for dearer in DEARER {
            if !self.exceeds_limit() || self.search.effort == 0.0 {
                return;
            }
            let plan = self.plans[0].clone();
            let mut clones =
                clones::of_plan(self.problem, &plan.leaves, &plan.tree, &plan.separators);
            clones.prices.constant *= dearer;
            let mut annealer = Annealer::new(&plan.tree, &clones);
            annealer.run(plan.separators.len() as u64, COLD, &mut self.rng); // few steps: no more trades than needed
            self.offer_clones(plan.leaves, &clones, annealer.tree());
        }
    }

    /// Anneals the best plans with what is left of the budget.
    fn anneal(&mut self) {
        const ROUNDS: usize = 4;
        for round in 0..ROUNDS {
            let steps = (self.budget() - self.spent) / (ROUNDS - round) as f64;
            if steps < 100.0 {
                return;
            }
            let classical = self
                .classical
                .clone()
                .filter(|_| round == 1 && self.knows_functions());
            let plan = classical.unwrap_or_else(|| self.plans[0].clone());
            let clones = clones::of_plan(self.problem, &plan.leaves, &plan.tree, &plan.separators);
            let mut annealer = Annealer::new(&plan.tree, &clones);
            let moves = steps / (clones.cards.len() as f64 / WIDE).max(1.0);
            let heat = 1.0 / plan.separators.len() as f64;
            annealer.run(
                (0.9 * moves) as u64,
                (heat / (1 + round) as f64, heat / 100.0),
                &mut self.rng,
            );
            annealer.run((0.1 * moves) as u64, COLD, &mut self.rng);
            self.spent += steps;
            self.offer_clones(plan.leaves, &clones, annealer.tree());
        }
    }
}
