//! Chooses what is worth knowing: a plan, and whether its tensors are stored on reachable states
//! only.
//!
//! Plans that know tables include those that know less, so that the search itself finds what pays.
//! Supports are another thing, and take time to try. If the circuit is run many times they are
//! always tried, first: where they win by far, as they do where most is a function, the plan that
//! they compete with need not be the best. If it is run once they are tried only where running the
//! best plan takes longer.

use crate::compile::ask::{Level, Search};
use crate::compile::logic;
use crate::compile::plan;
use crate::compile::plan::Plan;
use crate::compile::plan::problem::Problem;
use crate::compile::plan::saved::SavedPlan;
use crate::compile::plan::tables;
use crate::compile::plan::tables::Way;
use crate::compile::plan::tree::Cost;
use crate::compile::prune::Pruned;
use crate::compile::support;
use crate::compile::support::Supported;
use crate::control::Stage;
use crate::model::FactorModel;
use crate::vars::VarId;

/// A question with a plan for it.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The pruned network.
    pub pruned: Pruned,
    /// The planning problem for it.
    pub problem: Problem,
    /// The plan.
    pub plan: Plan,
    /// The same on reachable states only, where that is asked for and cheaper.
    pub supported: Option<Supported>,
    /// The level of the plan; with `auto`, the level that was chosen.
    pub level: Level,
}

impl Planned {
    /// The cost of one evaluation of the plan, or of the supports if they are cheaper.
    pub fn cost(&self) -> Cost {
        self.supported.as_ref().map_or(self.plan.cost, |s| s.cost)
    }

    /// The cost as one number, to compare plans by.
    pub(crate) fn total(&self) -> f64 {
        self.problem.prices.total(&self.cost())
    }

    /// The variables whose definers the plan copies, once for each copy.
    pub fn copies(&self) -> impl Iterator<Item = VarId> + '_ {
        let copies = self.plan.leaves.iter().filter(|leaf| leaf.is_copy);
        copies.filter_map(|leaf| self.problem.defines(leaf.factor))
    }

    /// The plan by names, to start from another time.
    pub(crate) fn saved(&self, net: &FactorModel) -> SavedPlan {
        SavedPlan::new(net, &self.pruned, &self.plan)
    }
}

/// Supports are chosen where they cost less than this share of a plan: following lists takes longer
/// than loops do.
const MAX_SHARE_OF_PLAN: f64 = 0.5;

/// A question that is run once is worth enumerating its states, if they are few, from this many
/// products on.
const MIN_PRODUCTS_TO_ENUMERATE: f64 = 2e7;

/// The share of the search for plans that comes before supports are tried.
const EFFORT_BEFORE_SUPPORTS: f64 = 0.2;

/// A plan of this cost is hopeless, and logic is tried before there is a better one.
const MIN_HOPELESS_COST: f64 = 1e10;

/// A question that is run once, or many times, may be worth logic if its plan costs more.
const MIN_COST_FOR_LOGIC: f64 = 1e8;
const MIN_COST_FOR_LOGIC_OF_MANY: f64 = 3e6;

/// A question that is run many times is worth a search that takes as long as this many runs.
const RUNS_OF_MANY: f64 = 200.0;

/// The circuit of logic must cost less than this share of a plan: its numbers lie far apart.
const MAX_LOGIC_SHARE_OF_PLAN: f64 = 0.2;

/// A step of the search for logic takes about as long as this much of a plan's cost.
const COST_OF_WORK: f64 = 50.0;

/// The steps of that search before there is a good plan: the more hopeless plans are, the more. Some
/// twenty millions take a second.
const MIN_WORK_AT_FIRST: f64 = 1e7;
const MAX_WORK_AT_FIRST: f64 = 6e7;
const COST_OF_WORK_AT_FIRST: f64 = 1e5;

/// The most steps of that search.
const WORK_FOR_LOGIC: f64 = 4e8;

/// The cases that diagrams may decide, for each binary digit of the cost of a hopeless plan.
const CASES_PER_DIGIT: f64 = 15_000.0;

/// A question that is run once, to a network of gates for which plans are hopeless: by decision
/// diagrams, if they are small.
///
/// Their order is that of the gates as they are written, so this comes before simplification.
pub(crate) fn by_diagrams(pruned: &Pruned, search: &Search) -> Option<Planned> {
    let is_tried = search.level.knows_logic() && !search.is_for_many() && search.effort > 0.0;
    if !is_tried || !logic::are_gates(pruned) {
        return None;
    }
    let problem = Problem::new(pruned, search.objective).with_tables(pruned);
    let hasty = Search {
        effort: 0.0,
        ..search.clone()
    };
    let plan = plan::plan_from(&problem, &hasty, None);
    let total = problem.prices.total(&plan.cost);
    if total < MIN_HOPELESS_COST {
        return None;
    }
    let supported = logic::by_diagrams(pruned, search, CASES_PER_DIGIT * total.log2())?;
    Some(Planned {
        pruned: pruned.clone(),
        problem,
        plan,
        supported: Some(supported),
        level: Level::Compiled,
    })
}

/// Plans at the level that is asked for, or at the one that costs least.
///
/// The plan is not worse than the one that is given, and with no effort the same.
pub(crate) fn choose(pruned: Pruned, search: &Search, given: Option<Plan>) -> Planned {
    let problem = Problem::new(&pruned, search.objective);
    let problem = if search.level.knows_tables() {
        problem.with_tables(&pruned)
    } else {
        problem
    };
    let chooser = Chooser {
        pruned: &pruned,
        problem: &problem,
        search,
        given,
    };
    let (plan, supported) = match search.level {
        _ if chooser.given.is_some() && search.effort == 0.0 => (chooser.plan(search), None),
        Level::Support => chooser.supports_first(1.0),
        Level::Compiled => chooser.logic_first(),
        Level::Auto => chooser.logic_or_plan(),
        _ => (chooser.plan(search), None),
    };
    let level = match (search.level, &supported) {
        (Level::Auto | Level::Compiled, Some(supported)) => supported.level,
        (Level::Auto | Level::Compiled, None) => known(&problem, &plan),
        (level, _) => level,
    };
    Planned {
        pruned,
        problem,
        plan,
        supported,
        level,
    }
}

/// The lowest level at which a plan could have been found.
fn known(problem: &Problem, plan: &Plan) -> Level {
    let ways = tables::ways(&plan.tree, &problem.leaves(&plan.leaves), &plan.separators);
    if ways.iter().any(|way| matches!(way, Way::Gather(_))) {
        Level::Tables
    } else if plan.leaves.iter().any(|leaf| leaf.is_copy) {
        Level::Functional
    } else {
        Level::Classical
    }
}

type Chosen = (Plan, Option<Supported>);

struct Chooser<'a> {
    pruned: &'a Pruned,
    problem: &'a Problem,
    search: &'a Search,
    given: Option<Plan>,
}

impl Chooser<'_> {
    fn total(&self, cost: &Cost) -> f64 {
        self.problem.prices.total(cost)
    }

    fn plan(&self, search: &Search) -> Plan {
        plan::plan_from(self.problem, search, self.given.clone())
    }

    fn supports_first(&self, share: f64) -> Chosen {
        let hasty = Search {
            effort: EFFORT_BEFORE_SUPPORTS * self.search.effort,
            ..self.search.clone()
        };
        self.with_supports(self.plan(&hasty), share)
    }

    /// The circuit that logic leads to; all that is left if that would be too large.
    fn logic_first(&self) -> Chosen {
        let work = WORK_FOR_LOGIC * self.search.effort.max(1.0);
        let is_possible = logic::is_possible(self.pruned);
        match is_possible.then(|| self.logic(work)).flatten() {
            Some(logic) => (self.sketch(), Some(logic)),
            None => self.supports_first(1.0),
        }
    }

    /// Where a plan is hopeless logic comes first, and where it is expensive last.
    fn logic_or_plan(&self) -> Chosen {
        if !logic::may_pay(self.pruned) || self.search.effort == 0.0 {
            return self.supports_or_plan();
        }
        let sketch = self.sketch();
        if self.total(&sketch.cost) > MIN_HOPELESS_COST {
            let total = self.total(&sketch.cost);
            let work = total / COST_OF_WORK_AT_FIRST;
            let work = work.clamp(MIN_WORK_AT_FIRST, MAX_WORK_AT_FIRST);
            if let Some(logic) = self.cheap_logic(work, total) {
                return (sketch, Some(logic));
            }
        }
        let (plan, supported) = self.supports_or_plan();
        let cost = supported.as_ref().map_or(plan.cost, |s| s.cost);
        let logic = self.logic_instead(self.total(&cost));
        (plan, logic.or(supported))
    }

    /// The circuit that logic leads to, if a plan of this cost is expensive, and it is not.
    fn logic_instead(&self, total: f64) -> Option<Supported> {
        let (least, runs) = if self.search.is_for_many() {
            (MIN_COST_FOR_LOGIC_OF_MANY, RUNS_OF_MANY)
        } else {
            (MIN_COST_FOR_LOGIC, 1.0)
        };
        let work = (runs * total / COST_OF_WORK).min(WORK_FOR_LOGIC) * self.search.effort;
        let is_worth = total > least && logic::may_pay(self.pruned);
        is_worth.then(|| self.cheap_logic(work, total))?
    }

    /// The circuit that logic leads to, if it costs less than a share of a plan.
    fn cheap_logic(&self, work: f64, total: f64) -> Option<Supported> {
        let logic = self.logic(work)?;
        (self.total(&logic.cost) < MAX_LOGIC_SHARE_OF_PLAN * total).then_some(logic)
    }

    fn logic(&self, work: f64) -> Option<Supported> {
        let logic = logic::compile(self.pruned, self.search, work);
        self.search.control.begin(Stage::Searching, 0);
        logic
    }

    /// The first plan that comes along.
    fn sketch(&self) -> Plan {
        self.plan(&Search {
            effort: 0.0,
            ..self.search.clone()
        })
    }

    fn supports_or_plan(&self) -> Chosen {
        if self.search.is_for_many() {
            self.supports_first_or_plan()
        } else {
            self.supports_last()
        }
    }

    fn supports_first_or_plan(&self) -> Chosen {
        let chosen = self
            .may_have_supports()
            .then(|| self.supports_first(MAX_SHARE_OF_PLAN));
        chosen
            .filter(|(_, s)| s.is_some())
            .unwrap_or_else(|| (self.plan(self.search), None))
    }

    fn supports_last(&self) -> Chosen {
        let plan = self.plan(self.search);
        let total = self.total(&plan.cost);
        let is_worth = plan::is_worth_knowing(self.search, total)
            || (total > MIN_PRODUCTS_TO_ENUMERATE && support::has_few_states(self.pruned));
        if is_worth && self.may_have_supports() {
            self.with_supports(plan, MAX_SHARE_OF_PLAN)
        } else {
            (plan, None)
        }
    }

    /// Whether some states can never be reached; values that are selected later could be any.
    fn may_have_supports(&self) -> bool {
        support::is_possible(self.pruned)
            && self.pruned.factors.iter().any(|f| f.values.contains(&0.0))
    }

    /// A plan, with the supports that cost less than a share of it.
    fn with_supports(&self, plan: Plan, share: f64) -> Chosen {
        let supported = support::is_possible(self.pruned)
            .then(|| support::support(self.pruned, self.problem, &plan, self.search))
            .flatten();
        let supported = supported.filter(|s| self.total(&s.cost) < share * self.total(&plan.cost));
        (plan, supported)
    }
}
