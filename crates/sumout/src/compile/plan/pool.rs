//! The plans found so far, and the methods that find more.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::compile::ask::{Level, Search};
use crate::compile::plan;
use crate::compile::plan::anneal::Annealer;
use crate::compile::plan::order::Heuristic;
use crate::compile::plan::problem::{Leaf, Problem};
use crate::compile::plan::tree::{Leaves, Tree};
use crate::compile::plan::{Plan, clones, expand, greedy, is_worth_knowing, order, paper};
use crate::compile::plan::{thin, tuning};
use crate::vars::VarId;

/// The best plans of a search, and the state of the search.
pub(super) struct Pool<'a> {
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

impl<'a> Pool<'a> {
    pub fn new(problem: &'a Problem, search: &'a Search) -> Self {
        Pool {
            problem,
            search,
            plans: vec![],
            classical: None,
            rng: ChaCha8Rng::seed_from_u64(search.seed),
            spent: 0.0,
            constant_limit: f64::INFINITY,
            expansions_lose: false,
        }
    }

    /// The best plan that the search finds; not worse than the one given.
    pub fn search(mut self, given: Option<Plan>) -> Plan {
        self.start();
        given.into_iter().for_each(|given| self.offer(given));
        if self.knows_functions() && self.is_worth_copying() && !self.is_stopped() {
            self.start_functional();
        }
        self.restart();
        self.anneal();
        self.trade_constants();
        let best = self.plans.swap_remove(0);
        if self.is_stopped() || !self.is_close_to_classical(&best) {
            return best;
        }
        let classical = Search {
            level: Level::Classical,
            ..self.search.clone()
        };
        let classical = plan::plan(self.problem, &classical);
        if self.total(&classical) < self.total(&best) {
            classical
        } else {
            best
        }
    }

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
        self.spent += tuning::STEPS_TO_MAKE_LEAF * plan.leaves.len() as f64;
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
        self.plans.truncate(tuning::MAX_KEPT_PLANS);
        self.search.control.found(self.total(&self.plans[0]));
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
            self.constant_limit = paper.cost.entries.max(tuning::MIN_CONSTANT_LIMIT); // otherwise all that is stored is stored once
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
            if self.expansions_lose || !self.search.is_for_many() || self.is_stopped() {
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
        let built = expand::expand(
            self.problem,
            taste,
            tuning::MAX_COST_RATIO * best,
            &mut self.rng,
        );
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
            tuning::MAX_STEPS_PER_LEAF * leaves
        } else {
            cost / tuning::PRODUCTS_PER_STEP
        };
        self.search.effort * worth.min(tuning::MAX_STEPS)
    }

    /// Runs with noise, for a fifth of the budget.
    fn restart(&mut self) {
        let is_functional = self.knows_functions() && self.is_worth_copying();
        while self.spent < tuning::RESTART_SHARE * self.budget() && !self.is_stopped() {
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
        let worth = self.total(&self.plans[0]) / tuning::PRODUCTS_PER_LEAF;
        if self.search.is_for_many() {
            tuning::MAX_LEAVES
        } else {
            worth.clamp(1000.0, tuning::MAX_LEAVES as f64) as usize
        }
    }

    /// Whether copies gained so little that a search without them could have found a better plan.
    fn is_close_to_classical(&self, best: &Plan) -> bool {
        let is_close = |classical: &Plan| {
            self.total(best) > tuning::MAX_SHARE_WITHOUT_RIVAL * self.total(classical)
        };
        let has_tried = self.knows_functions() && is_worth_knowing(self.search, self.total(best));
        has_tried && self.classical.as_ref().is_none_or(is_close)
    }

    /// Whether the search has to end with the best plan so far.
    fn is_stopped(&self) -> bool {
        self.search.control.is_stopped()
    }

    fn knows_functions(&self) -> bool {
        self.search.level != Level::Classical && self.problem.definer.iter().any(Option::is_some)
    }

    /// Where too many numbers are stored once, looks nearby for a plan that computes more for each
    /// example instead.
    ///
    /// Factors of a constant can also be multiplied, one after the other, into what
    /// varies: that is a rotation. The dearer constants are, the more rotations pay.
    fn trade_constants(&mut self) {
        for dearer in tuning::CONSTANT_PRICE_FACTORS {
            if !self.exceeds_limit() || self.search.effort == 0.0 || self.is_stopped() {
                return;
            }
            let plan = self.plans[0].clone();
            let mut clones =
                clones::of_plan(self.problem, &plan.leaves, &plan.tree, &plan.separators);
            clones.prices.constant *= dearer;
            let mut annealer = Annealer::new(&plan.tree, &clones, &self.search.control);
            annealer.run(
                plan.separators.len() as u64,
                tuning::COLD_TEMPERATURES,
                &mut self.rng,
            ); // few steps: no more trades than needed
            self.offer_clones(plan.leaves, &clones, annealer.tree());
        }
    }

    /// Anneals the best plans with what is left of the budget.
    fn anneal(&mut self) {
        for round in 0..tuning::ANNEALING_ROUNDS {
            let steps = (self.budget() - self.spent) / (tuning::ANNEALING_ROUNDS - round) as f64;
            if steps < 100.0 || self.is_stopped() {
                return;
            }
            let classical = self
                .classical
                .clone()
                .filter(|_| round == 1 && self.knows_functions());
            let plan = classical.unwrap_or_else(|| self.plans[0].clone());
            let clones = clones::of_plan(self.problem, &plan.leaves, &plan.tree, &plan.separators);
            let mut annealer = Annealer::new(&plan.tree, &clones, &self.search.control);
            let moves = steps / (clones.cards.len() as f64 / tuning::VARIABLES_PER_STEP).max(1.0);
            let heat = 1.0 / plan.separators.len() as f64;
            annealer.run(
                (0.9 * moves) as u64,
                (heat / (1 + round) as f64, heat / 100.0),
                &mut self.rng,
            );
            annealer.run(
                (0.1 * moves) as u64,
                tuning::COLD_TEMPERATURES,
                &mut self.rng,
            );
            self.spent += steps;
            self.offer_clones(plan.leaves, &clones, annealer.tree());
        }
    }
}
