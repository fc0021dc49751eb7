//! From a network and a question to a graph.
//!
//! ```text
//! ask ◀── prune ◀── simplify ◀── plan ◀── support ◀── logic ◀── choose ◀── lower ◀── report
//! ```
//!
//! A stage uses those to its left and never one to its right. Each keeps the answers: a pruned
//! network has the same posteriors and the same P(e), and any plan for it is right. Only costs
//! differ, and they are known before a number is allocated.

pub mod ask;
mod choose;
pub mod factor;
pub(crate) mod logic;
pub mod lower;
pub mod plan;
pub mod prune;
pub mod report;
pub(crate) mod simplify;
pub mod support;

use crate::compile::plan::Plan;
use crate::compile::plan::saved::PlanStart;
use crate::compile::prune::Pruned;
use crate::compile::simplify::{Needs, Simplified};
use crate::control::Stage;
use crate::error::Result;
use crate::model::{FactorModel, Network};
use crate::vars::VarSet;

pub use ask::{Goal, Level, Objective, Query, Question, Runs, Search};
pub use choose::Planned;
pub use lower::Compiled;
pub use lower::completion::Completion;
pub use plan::paper;
pub use plan::tables::Function;
pub use report::Report;
pub use report::width::{Width, width};

/// Compiles a question; none if its known values are impossible together.
pub fn compile(model: &FactorModel, question: &Question, search: &Search) -> Option<Compiled> {
    plan(model, question, search).map(Planned::lower)
}

/// Prunes and plans; none if the known values are impossible together.
pub fn plan(model: &FactorModel, question: &Question, search: &Search) -> Option<Planned> {
    let planned = cheapest(model, question, search, None);
    planned.expect("only a start can be refused")
}

/// Prunes, and plans from a start: the plan found is never worse, and with no effort the same.
///
/// None if the known values are impossible together. A start that does not fit the question is an
/// error.
pub fn plan_from(
    net: &Network,
    question: &Question,
    search: &Search,
    start: &PlanStart,
) -> Result<Option<Planned>> {
    cheapest(net.model(), question, search, Some((net, start)))
}

/// The variables that each target of a question would need by itself; none if the known values are
/// impossible together.
pub(crate) fn needs(model: &FactorModel, question: &Question) -> Option<Needs> {
    let question = Question {
        goal: Goal::Evidence,
        ..question.clone()
    };
    let pruned = prune::prune(model, &question)?;
    if model.is_markov() {
        simplify::needs(&pruned)
    } else {
        let parents = model.ids().map(|v| Some(model.parents(v).to_vec()));
        Some(Needs::new(&pruned.factors, parents.collect()))
    }
}

/// A plan to start from, and the network whose names it uses.
type Start<'a> = (&'a Network, &'a PlanStart);

/// The whole pipeline but for the last step, which is [`Planned::lower`].
///
/// The planner is shown a question in several ways, and plans each densely or on reachable states
/// only. Of plans that cost the same, the first is taken.
fn cheapest(
    model: &FactorModel,
    question: &Question,
    search: &Search,
    start: Option<Start<'_>>,
) -> Result<Option<Planned>> {
    let mut best = None;
    search.control.forget();
    for question in &with_and_without_promises(question, search, start) {
        let Some(pruned) = prune::prune(model, question) else {
            return Ok(None);
        };
        if start.is_none()
            && let Some(found) = choose::by_diagrams(&pruned, search)
        {
            return Ok(Some(found));
        }
        search.control.begin(Stage::Simplifying, 0);
        let pruned = match simplified(&pruned, search, start) {
            Simplified::Impossible => return Ok(None),
            Simplified::Same => pruned,
            Simplified::Smaller(smaller) => *smaller,
        };
        search.control.begin(Stage::Searching, 0);
        for (pruned, given) in plain_and_implied(pruned, search, start)? {
            let next = choose::choose(pruned, search, given);
            let is_enough = is_enough(&next, search);
            best = Some(cheaper(best, next));
            if is_enough {
                break;
            }
        }
    }
    Ok(best)
}

/// Whether the functions that factors imply need not be tried: logic knows them anyway.
fn is_enough(found: &Planned, search: &Search) -> bool {
    let is_asked_for = search.level == Level::Compiled || !search.is_for_many();
    found.level == Level::Compiled && is_asked_for
}

/// Simplifies a question that is run once, if the planner may know tables.
fn simplified(pruned: &Pruned, search: &Search, start: Option<Start<'_>>) -> Simplified {
    let is_simplified = match start {
        Some((_, start)) => start.is_simplified(),
        None => search.level.knows_tables() && !search.is_for_many(),
    };
    if is_simplified {
        simplify::simplify(pruned)
    } else {
        Simplified::Same
    }
}

/// Inputs that have a value in every example make tensors smaller, but supports cannot select a
/// value. Where supports may be used, such inputs are planned as ordinary ones, too.
fn with_and_without_promises(
    question: &Question,
    search: &Search,
    start: Option<Start<'_>>,
) -> Vec<Question> {
    let mut questions = vec![question.clone()];
    if !question.hard.is_empty() && search.level.knows_zeros() && start.is_none() {
        questions.push(Question {
            hard: VarSet::default(),
            ..question.clone()
        });
    }
    questions
}

/// The factors, and the same with the functions that they imply; each with the plan to start from,
/// if it is one for these factors.
fn plain_and_implied(
    pruned: Pruned,
    search: &Search,
    start: Option<Start<'_>>,
) -> Result<Vec<(Pruned, Option<Plan>)>> {
    let implied = pruned.with_implied();
    if let Some((net, start)) = start {
        return start.begin(net, (pruned, implied), search);
    }
    let implied = implied.filter(|_| search.level.knows_implied_functions());
    let both = [Some(pruned), implied].into_iter().flatten();
    Ok(both.map(|pruned| (pruned, None)).collect())
}

fn cheaper(best: Option<Planned>, next: Planned) -> Planned {
    match best {
        Some(best) if next.total() < best.total() => next,
        Some(best) => best,
        None => next,
    }
}
