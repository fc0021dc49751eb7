//! Searches for a cheap plan.
//!
//! A plan is a contraction tree whose leaves are factors and copies of functions, with thinned
//! separators. Any plan gives the right answer; only its cost differs. The search is seeded and
//! counts steps, not seconds, so that a seed gives the same plan on every machine. It stops early
//! on easy questions: the budget grows with the cost of the best plan so far, so that searching
//! never takes much longer than evaluating.

mod anneal;
pub mod certificate;
mod clones;
mod expand;
mod greedy;
pub mod order;
pub mod paper;
mod pool;
pub mod problem;
pub mod saved;
mod skeleton;
pub(crate) mod tables;
mod thin;
pub mod tree;
mod tuning;

use crate::compile::ask::{Level, Search};
use crate::compile::plan::pool::Pool;
use crate::compile::plan::problem::{Leaf, Problem};
use crate::compile::plan::tree::{Cost, Tree};
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
    /// The cost of one evaluation.
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

/// Finds a plan for a problem.
pub fn plan(problem: &Problem, search: &Search) -> Plan {
    plan_from(problem, search, None)
}

/// Finds a plan that is not worse than the one given; with no effort it is that one.
pub fn plan_from(problem: &Problem, search: &Search, given: Option<Plan>) -> Plan {
    match given {
        Some(given) if search.effort == 0.0 => given,
        _ if search.level == Level::Paper => paper::plan(problem, tuning::MAX_LEAVES).plan,
        given => Pool::new(problem, search).search(given),
    }
}

/// Whether it may take time to make use of functions: not if running a plan of this cost takes no
/// longer than that, unless much effort is asked for.
pub(crate) fn is_worth_knowing(search: &Search, total: f64) -> bool {
    search.is_for_many()
        || search.effort >= tuning::MIN_EFFORT_TO_COPY
        || total > tuning::MIN_PRODUCTS_TO_COPY
}
