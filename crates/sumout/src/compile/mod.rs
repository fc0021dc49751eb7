//! From a network and a question to a graph: prune, plan, lower.

pub mod certificate;
pub mod draw;
pub mod lower;
pub mod order;
pub mod paper;
pub mod plan;
pub mod problem;
pub mod prune;
pub mod report;
pub mod start;
pub mod support;
pub mod tree;

mod anneal;
mod choose;
mod classical;
mod clones;
mod completion;
mod expand;
mod greedy;
mod implied;
mod level;
mod objective;
mod query;
mod skeleton;
mod tables;
mod thin;
mod width;

pub use width::{Width, width};

use std::collections::BTreeMap;

use crate::error::{Error, ErrorKind, Result};
use crate::model::Network;
use crate::tensor::Graph;
use crate::vars::{VarId, VarSet};

use plan::Plan;
use problem::Problem;
use prune::Pruned;
use start::Start;
use support::{Decoder, Supported};
use tree::Cost;

pub use completion::Completion;
pub use query::Query;
pub use report::Report;
pub use tables::Function;
pub use tree::Objective;

/// What is asked of a network.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The variables whose posteriors are asked for.
    pub targets: VarSet,
    /// The variables whose likelihood is given when the circuit is evaluated.
    pub inputs: VarSet,
    /// Of the inputs, those that have a value in every example, and never a mere likelihood.
    pub hard: VarSet,
    /// The variables whose values are known when the circuit is compiled.
    pub known: Vec<(VarId, usize)>,
    /// Whether the most probable explanation is asked for, and not sums.
    pub explain: bool,
    /// The variables whose CPTs are yet to be learned: of their numbers only what their roles
    /// promise is known.
    pub trainable: VarSet,
    /// The variables whose CPTs are given when the circuit is evaluated, each as the likelihood of
    /// another variable that has a value for each entry.
    pub selected: BTreeMap<VarId, VarId>,
    /// Whether the marginals of all families are asked for: all CPTs stay visible in the circuit.
    pub families: bool,
    /// Tables whose rows each have an entry of at least one less this count as functions: an
    /// approximation, unless it is zero.
    pub near: f64,
}

/// What a planner may know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing but the factors (Theorems 1 and 2).
    Classical,
    /// What the paper's own procedure knows, and no search: reproduces its tables.
    Paper,
    /// That some variables are functions of others (Theorems 3 and 4), but not which functions.
    Functional,
    /// Which functions they are: a known function is looked up, and never a table of zeros and
    /// ones.
    Tables,
    /// Also where all factors are zero: tensors have entries only for states that can occur.
    Support,
    /// All of this but the paper's procedure, as far as it pays by predicted cost.
    #[default]
    Auto,
}

/// How to search for a plan.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// What the planner may know.
    pub level: Level,
    /// What the plan should have little of.
    pub objective: Objective,
    /// The same seed gives the same plan.
    pub seed: u64,
    /// Scales the number of steps.
    pub effort: f64,
    /// Whether the plan will be run many times, so that the search may take longer than one run.
    pub thorough: bool,
}

/// A compiled question.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// What is to be computed.
    pub graph: Graph,
    /// What is left of the network, with the values that each variable may still have.
    pub pruned: Pruned,
    /// How it is computed, unless supports are cheaper.
    pub plan: Plan,
    /// What it costs to evaluate the graph once.
    pub cost: Cost,
    /// What the added axes of the graph stand for.
    pub decoders: Vec<Decoder>,
}

/// A question with a plan for it.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What is left of the network.
    pub pruned: Pruned,
    /// What the planner saw of it.
    pub problem: Problem,
    /// The plan.
    pub plan: Plan,
    /// Whether it uses functions that factors imply.
    pub implied: bool,
    /// The same on reachable states only, where that is asked for and cheaper.
    pub supported: Option<Supported>,
    /// What the planner was allowed to know; if that was left to it, what paid.
    pub level: Level,
}

/// Prunes and plans; none if the known values are impossible together.
///
/// Inputs that have a value in every example make tensors smaller, but supports cannot select a
/// value. Where supports may be used, such inputs are planned as ordinary ones, too, and the
/// cheaper plan is taken.
pub fn plan(net: &Network, question: &Question, search: &Search) -> Option<Planned> {
    let promised = plan_once(net, question, search)?;
    if question.hard.is_empty() || search.level < Level::Support {
        return Some(promised);
    }
    let other = Question {
        hard: VarSet::default(),
        ..question.clone()
    };
    Some(cheaper(promised, plan_once(net, &other, search)))
}

fn plan_once(net: &Network, question: &Question, search: &Search) -> Option<Planned> {
    let pruned = prune::prune(net, question)?;
    let plain = choose::choose(pruned.clone(), search, None);
    let implied = pruned
        .with_implied()
        .filter(|_| search.level > Level::Paper)
        .map(|p| choose::choose(p, search, None));
    Some(cheaper(
        plain,
        implied.map(|planned| Planned {
            implied: true,
            ..planned
        }),
    ))
}

/// Prunes, and plans from a start: the plan found is never worse, and with no effort the same.
///
/// None if the known values are impossible together. A start that does not fit the question is an
/// error.
pub fn plan_from(
    net: &Network,
    question: &Question,
    search: &Search,
    start: &Start,
) -> Result<Option<Planned>> {
    let Some(plain) = prune::prune(net, question) else {
        return Ok(None);
    };
    let implied = plain.with_implied();
    let (pruned, other) = match (start.is_implied(), implied) {
        (false, implied) => (plain, implied),
        (true, Some(implied)) => (implied, Some(plain)),
        (true, None) => {
            let error = Error::new(
                ErrorKind::Model,
                "the saved plan uses implied functions, and the query has none",
            );
            return Err(
                error.hint("a plan fits the network, target and inputs that it was saved for")
            );
        }
    };
    let given = start.plan(
        net,
        &pruned,
        &Problem::new(&pruned, search.objective),
        search,
    )?;
    let first = Planned {
        implied: start.is_implied(),
        ..choose::choose(pruned, search, Some(given))
    };
    let other = other
        .filter(|_| search.effort > 0.0)
        .map(|pruned| choose::choose(pruned, search, None));
    Ok(Some(cheaper(
        first,
        other.map(|planned| Planned {
            implied: !start.is_implied(),
            ..planned
        }),
    )))
}

fn cheaper(first: Planned, second: Option<Planned>) -> Planned {
    let total = |planned: &Planned| planned.problem.prices.total(&planned.cost());
    match second {
        Some(second) if total(&second) < total(&first) => second,
        _ => first,
    }
}

impl Planned {
    /// What it costs to evaluate the plan, or the supports that are cheaper, once.
    pub fn cost(&self) -> Cost {
        self.supported.as_ref().map_or(self.plan.cost, |s| s.cost)
    }

    /// The variables whose definers the plan copies, once for each copy.
    pub fn copies(&self) -> impl Iterator<Item = VarId> + '_ {
        let copies = self.plan.leaves.iter().filter(|leaf| leaf.is_copy);
        copies.filter_map(|leaf| self.problem.defines(leaf.factor))
    }

    /// The graph of the plan, or of the supports that are cheaper.
    pub fn lower(self) -> Compiled {
        let Planned {
            pruned,
            problem,
            plan,
            supported,
            ..
        } = self;
        let lowered = || Supported {
            graph: lower::lower(&pruned, &problem, &plan),
            cost: plan.cost,
            decoders: vec![],
        };
        let Supported {
            graph,
            cost,
            decoders,
        } = supported.unwrap_or_else(lowered);
        Compiled {
            graph,
            pruned,
            plan,
            cost,
            decoders,
        }
    }
}

/// Compiles a question; none if its known values are impossible together.
pub fn compile(net: &Network, question: &Question, search: &Search) -> Option<Compiled> {
    plan(net, question, search).map(Planned::lower)
}
