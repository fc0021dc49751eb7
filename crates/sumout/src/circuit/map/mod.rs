//! Marginal MAP: the most probable values of some variables together, the others summed out.
//!
//! A maximum that is taken before a sum is at least as large as one that is taken after it. So the
//! circuit of any plan, with maxima wherever the plan sums asked variables out, is an upper bound. It is
//! exact once the asked variables have values, and where the plan happens to sum all others first.
//! A search over partial assignments (`search`) finds the best one, with such bounds of all next values side
//! by side.

mod answer;
mod search;

use std::sync::Arc;

use crate::circuit::map::search::Search;
use crate::circuit::once::question;
use crate::circuit::ready::likelihood;
use crate::circuit::refuse::Refusal;
use crate::circuit::{Options, admit};
use crate::compile::plan::tree::Cost;
use crate::compile::{self, Goal, Level, Planned, Question, Runs, support};
use crate::control::Stage;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Evidence, FactorModel, Finding};
use crate::tensor::Graph;
use crate::tensor::careful::Mixed;
use crate::tensor::layout::Program;
use crate::tensor::schedule::{Schedule, Want};
use crate::vars::VarId;

pub use answer::MarginalMap;

/// More products over reachable states take too long to find.
const MAX_TRIPLES: f64 = 1e6;

/// The best values of some variables, at most `count` assignments.
pub(crate) fn map(
    model: &FactorModel,
    asked: &[VarId],
    count: usize,
    evidence: &Evidence,
    options: &Options,
) -> Result<MarginalMap> {
    check(model, asked, evidence)?;
    let mut question = question(Goal::Evidence, evidence);
    question.inputs = &question.inputs | &asked.iter().copied().collect();
    let asking = Asking {
        model,
        question: &question,
        asked,
    };
    let Some(plan) = asking.bounding(options)? else {
        let all = model.shared_variables();
        return Ok(MarginalMap::impossible(all, asked.to_vec()));
    };
    let (domains, open) = (&plan.domains, &plan.open);
    let given = |v: VarId| likelihood(evidence, v, &domains[v.index()]);
    let control = &options.control;
    let search = Search::new(
        (&plan.bounds, &plan.sums),
        open.clone(),
        &given,
        count,
        control,
    );
    let found = search.run().ok_or_else(|| control.interrupted())?;
    let value = |states: &[usize], v: &VarId| {
        let place = open.iter().position(|open| open == v);
        domains[v.index()][place.map_or(0, |place| states[place])]
    };
    let best = found.best.iter().map(|(log, states)| {
        let values = asked.iter().map(|v| value(states, v)).collect();
        (values, *log)
    });
    let best = best.collect();
    Ok(MarginalMap::new(
        model.shared_variables(),
        asked.to_vec(),
        best,
        &found,
    ))
}

/// A question, and the variables that are maximised.
struct Asking<'a> {
    model: &'a FactorModel,
    question: &'a Question,
    asked: &'a [VarId],
}

/// A plan, as upper bounds and as exact sums.
struct Bounding {
    domains: Vec<Vec<usize>>,
    /// The asked variables with several values.
    open: Vec<VarId>,
    bounds: Mixed,
    sums: Mixed,
}

impl Asking<'_> {
    /// The bounds of a plan; none if the evidence is impossible.
    fn bounding(&self, options: &Options) -> Result<Option<Bounding>> {
        let Some(planned) = cheapest(self.model, self.question, options)? else {
            return Ok(None);
        };
        options.control.begin(Stage::Compiling, 0);
        let domains = planned.pruned.domains.clone();
        let is_open = |v: &VarId| domains[v.index()].len() > 1;
        let open: Vec<VarId> = self.asked.iter().copied().filter(is_open).collect();
        let (graph, maxima) = match sparse(&planned, &open, options) {
            Some(sparse) => sparse,
            None => dense(&planned, &open, self.model, self.question, options)?,
        };
        let bounds = mixed(&graph, maxima);
        let sums = mixed(&graph, vec![false; graph.len()]);
        Ok(Some(Bounding {
            open,
            bounds,
            sums,
            domains,
        }))
    }
}

/// A plan whose tensors have variables for axes, so that it is known which of them are maximised.
fn cheapest(
    model: &FactorModel,
    question: &Question,
    options: &Options,
) -> Result<Option<Planned>> {
    let mut search = options.search(Runs::Once);
    if search.level.knows_zeros() {
        search.level = Level::Tables;
    }
    let planned = compile::plan(model, question, &search);
    options.control.check()?;
    Ok(planned)
}

/// A graph and, for each of its nodes, whether it is a maximum.
type Maximising = (Graph, Vec<bool>);

/// The graph over states that can occur, if that is smaller than the plan.
fn sparse(planned: &Planned, open: &[VarId], options: &Options) -> Option<Maximising> {
    let pruned = &planned.pruned;
    let has_zeros = pruned.factors.iter().any(|f| f.values.contains(&0.0));
    if !options.level.knows_zeros() || !has_zeros {
        return None;
    }
    let maximised = open.iter().copied().collect();
    let products = |cost: &Cost| planned.problem.prices.total(cost);
    let most = products(&planned.cost()).min(MAX_TRIPLES) as usize;
    let (graph, nodes) = support::maximising(pruned, &planned.plan, most, &maximised)?;
    let is_smaller = products(&support::cost(&graph)) < products(&planned.cost());
    let mut maxima = vec![false; graph.len()];
    nodes.iter().for_each(|node| maxima[node.index()] = true);
    is_smaller.then_some((graph, maxima))
}

/// The graph of the plan, if it fits in memory.
fn dense(
    planned: &Planned,
    open: &[VarId],
    model: &FactorModel,
    question: &Question,
    options: &Options,
) -> Result<Maximising> {
    let compiled = planned.clone().lower();
    let refusal = Refusal {
        model,
        question,
        options,
    };
    admit(&compiled, &Want::Everything, &refusal)?;
    let is_open = |v: VarId| open.contains(&v);
    let graph = &compiled.graph;
    Ok(graph.maximising(|axis| graph.variable(axis).is_some_and(is_open)))
}

fn mixed(graph: &Graph, maxima: Vec<bool>) -> Mixed {
    let program = Program::new(graph, &Schedule::new(graph, &Want::Everything));
    Mixed::new(Arc::new(graph.clone()), program, maxima)
}

/// Refuses questions that ask for nothing, or twice for the same.
fn check(model: &FactorModel, asked: &[VarId], evidence: &Evidence) -> Result<()> {
    let name = |v: VarId| &model.variable(v).name;
    if asked.is_empty() {
        let error = Error::new(ErrorKind::Options, "no variables are named to maximise");
        return Err(
            error.hint("name some; all variables together are the most probable explanation")
        );
    }
    let twice = asked
        .iter()
        .enumerate()
        .find(|(at, v)| asked[..*at].contains(v));
    if let Some((_, v)) = twice {
        let message = format!("`{}` is asked for twice", name(*v));
        return Err(Error::new(ErrorKind::Options, message));
    }
    let given = asked
        .iter()
        .find(|v| matches!(evidence.get(**v), Some(Finding::Hard(_))));
    given.map_or(Ok(()), |v| {
        let message = format!("`{}` is asked for and given", name(*v));
        Err(Error::new(ErrorKind::Evidence, message)
            .hint("ask for variables whose values are not known"))
    })
}
