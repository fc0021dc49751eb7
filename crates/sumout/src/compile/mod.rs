//! From a network and a question to a graph: prune, plan, lower.

pub mod ask;
pub mod lower;
pub mod paper;
pub mod plan;
pub mod prune;
pub mod report;
pub mod support;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{FactorModel, Network};
use crate::tensor::Graph;
use crate::vars::{VarId, VarSet};

use crate::compile::plan::problem::Problem;
use crate::compile::plan::saved::Start;
use crate::compile::plan::tree::Cost;
use plan::{Plan, choose};
use prune::Pruned;
use support::{Decoder, Supported};

pub use crate::compile::lower::completion::Completion;
pub use crate::compile::plan::tables::Function;
pub use ask::{Goal, Level, Objective, Query, Question, Runs, Search};
pub use report::Report;
pub use report::width::{Width, width};

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
pub fn plan(model: &FactorModel, question: &Question, search: &Search) -> Option<Planned> {
    let promised = plan_once(model, question, search)?;
    if question.hard.is_empty() || !search.level.knows_zeros() {
        return Some(promised);
    }
    let other = Question {
        hard: VarSet::default(),
        ..question.clone()
    };
    Some(cheaper(promised, plan_once(model, &other, search)))
}

fn plan_once(model: &FactorModel, question: &Question, search: &Search) -> Option<Planned> {
    let pruned = prune::prune(model, question)?;
    let plain = choose::choose(pruned.clone(), search, None);
    let implied = pruned
        .with_implied()
        .filter(|_| search.level.knows_implied_functions())
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
    let Some(plain) = prune::prune(net.model(), question) else {
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
pub fn compile(model: &FactorModel, question: &Question, search: &Search) -> Option<Compiled> {
    plan(model, question, search).map(Planned::lower)
}
