//! Answers one question to a model of ordinary factors, and forgets the plan.

use crate::circuit::answer::Ranked;
use crate::circuit::batch::{Batch, Column};
use crate::circuit::best::{Best, Ranking, TIE};
use crate::circuit::groups::{Group, groups};
use crate::circuit::ready::{Ready, likelihood};
use crate::circuit::refuse::Refusal;
use crate::circuit::run::EvalOptions;
use crate::circuit::{Answer, Circuit, Explanation, Options, admit, near};
use crate::compile::{self, Completion, Goal, Planned, Question, Runs};
use crate::control::Stage;
use crate::error::Result;
use crate::model::{Evidence, FactorModel, Finding};
use crate::tensor::careful::Run;
use crate::tensor::schedule::Want;
use crate::vars::VarId;

/// The posterior of each target given the evidence; of all variables if there are no targets.
pub(crate) fn posteriors(
    model: &FactorModel,
    targets: &[VarId],
    evidence: &Evidence,
    options: &Options,
) -> Result<Answer> {
    let asked: Vec<VarId> = if targets.is_empty() {
        model.ids().collect()
    } else {
        targets.to_vec()
    };
    let goal = Goal::posteriors(asked.iter().copied().collect());
    let question = question(goal, evidence);
    if options.near != 0.0 {
        near::check(options.near)?;
        return near::query(model, &question, asked, evidence, options);
    }
    match groups(model, &question, &options.search(Runs::Once)) {
        None => together(model, &question, asked, evidence, options),
        Some(groups) => in_groups(model, groups, &asked, evidence, options),
    }
}

/// The joint posterior of several targets.
pub(crate) fn joint(
    model: &FactorModel,
    targets: &[VarId],
    evidence: &Evidence,
    options: &Options,
) -> Result<Answer> {
    let question = question(Goal::Joint(targets.to_vec()), evidence);
    if options.near == 0.0 {
        return together(model, &question, vec![], evidence, options);
    }
    near::check(options.near)?;
    near::query(model, &question, vec![], evidence, options)
}

/// Answers all targets at once.
fn together(
    model: &FactorModel,
    question: &Question,
    asked: Vec<VarId>,
    evidence: &Evidence,
    options: &Options,
) -> Result<Answer> {
    let planned = compile::plan(model, question, &options.search(Runs::Once));
    run(model, question, planned, asked, evidence, options)
}

/// Runs a plan; without one, the evidence is impossible.
fn run(
    model: &FactorModel,
    question: &Question,
    planned: Option<Planned>,
    asked: Vec<VarId>,
    evidence: &Evidence,
    options: &Options,
) -> Result<Answer> {
    options.control.check()?;
    options.control.begin(Stage::Compiling, 0);
    match planned.map(Planned::lower) {
        None => Ok(Answer::impossible(model.shared_variables())),
        Some(compiled) => Ready::new(model, question, asked, compiled, options)?.answer(evidence),
    }
}

/// Answers one group of targets after the other.
fn in_groups(
    model: &FactorModel,
    groups: Vec<Group>,
    asked: &[VarId],
    evidence: &Evidence,
    options: &Options,
) -> Result<Answer> {
    let mut found: Vec<Option<Vec<f64>>> = vec![None; model.variables().len()];
    let mut log_evidence = f64::NEG_INFINITY;
    for group in groups {
        let targets = group.question.goal.targets().iter().collect();
        let answer = if group.is_cheap() {
            let Group { question, planned } = group;
            run(model, &question, planned, targets, evidence, options)?
        } else {
            together(model, &group.question, targets, evidence, options)?
        };
        log_evidence = answer.log_evidence();
        for (v, posterior) in answer.posteriors() {
            found[v.index()] = Some(posterior.clone());
        }
    }
    let posteriors = asked
        .iter()
        .filter_map(|v| Some((*v, found[v.index()].clone()?)));
    Ok(Answer::new(
        model.shared_variables(),
        posteriors.collect(),
        log_evidence,
    ))
}

/// The most probable assignment of values to all variables given the evidence.
pub(crate) fn explanation(
    model: &FactorModel,
    evidence: &Evidence,
    options: &Options,
) -> Result<Explanation> {
    let question = question(Goal::Explanation, evidence);
    let planned = compile::plan(model, &question, &options.search(Runs::Once));
    options.control.check()?;
    options.control.begin(Stage::Compiling, 0);
    let Some(compiled) = planned.map(Planned::lower) else {
        return Ok(Explanation::impossible(model.shared_variables()));
    };
    let refusal = Refusal {
        model,
        question: &question,
        options,
    };
    let program = admit(&compiled, &Want::Everything, &refusal)?;
    let domains = &compiled.pruned.domains;
    let run = Run::max_under(&options.control, &compiled.graph, &program, |v| {
        likelihood(evidence, v, &domains[v.index()])
    })?;
    let log_probability = run.log_sum();
    if log_probability == f64::NEG_INFINITY {
        return Ok(Explanation::impossible(model.shared_variables()));
    }
    let mut states = run.trace();
    Completion::new(&compiled).complete(compiled.graph.cards(), &mut states);
    let value = |v: VarId| domains[v.index()][states[v.index()].unwrap_or(0)];
    let assignment = model.ids().map(value).collect();
    Ok(Explanation::new(
        model.shared_variables(),
        assignment,
        log_probability,
    ))
}

/// The most probable assignments of values to all variables given the evidence, in order: at most
/// `count`. Nothing if the evidence is impossible.
pub(crate) fn explanations(
    model: &FactorModel,
    count: usize,
    evidence: &Evidence,
    options: &Options,
) -> Result<Vec<Explanation>> {
    let mut question = question(Goal::Explanation, evidence);
    let known = |v: &VarId| question.known.iter().any(|(known, _)| known == v);
    question.inputs = model.ids().filter(|v| !known(v)).collect();
    let planned = compile::plan(model, &question, &options.search(Runs::Many));
    options.control.check()?;
    options.control.begin(Stage::Compiling, 0);
    let Some(compiled) = planned.map(Planned::lower) else {
        return Ok(vec![]);
    };
    let refusal = Refusal {
        model,
        question: &question,
        options,
    };
    let program = admit(&compiled, &Want::Output, &refusal)?;
    let circuit = Circuit::new(model, question, compiled);
    let total = Run::sum_under(&options.control, circuit.graph(), &program, |v| {
        likelihood(evidence, v, circuit.possible(v))
    })?;
    let running = EvalOptions::default().with_memory(options.memory);
    let explainer = circuit.explainer(&running)?;
    let mut batch = Batch::new(1);
    for v in circuit.inputs() {
        if let Some(Finding::Soft(likelihood)) = evidence.get(v) {
            batch.insert(&circuit, v, Column::Likelihoods(likelihood.clone()))?;
        }
    }
    let is_determined = |v: VarId| !model.is_markov() && model.cpts()[v.index()].is_functional();
    let ranking = Ranking::new(&explainer, &batch, is_determined, &options.control)?;
    let mut found = ranking.run(count.saturating_add(1))?.remove(0);
    Ok(ranked(model, &mut found, count, total.log_sum()))
}

/// Ranks the best explanations, of which one more was looked for than is wanted, to find ties.
fn ranked(
    model: &FactorModel,
    found: &mut Vec<Best>,
    count: usize,
    log_evidence: f64,
) -> Vec<Explanation> {
    let next = found.get(count).map(|best| best.log);
    found.truncate(count);
    let logs: Vec<f64> = found.iter().map(|best| best.log).collect();
    let named = found.drain(..).map(|best| {
        let values = best.values.iter().map(|&value| value as usize).collect();
        let rank = 1 + logs.partition_point(|log| *log > best.log + TIE);
        let is_cut = next.is_some_and(|next| next >= best.log - TIE);
        Explanation::new(model.shared_variables(), values, best.log).ranked(Ranked {
            rank,
            is_cut,
            log_evidence,
        })
    });
    named.collect()
}

/// Hard evidence is known when the question is compiled, soft evidence is an input.
pub(crate) fn question(goal: Goal, evidence: &Evidence) -> Question {
    let mut question = Question {
        goal,
        ..Question::default()
    };
    for (v, finding) in evidence.iter() {
        match finding {
            Finding::Hard(value) => question.known.push((v, *value)),
            Finding::Soft(_) => drop(question.inputs.insert(v)),
        }
    }
    question
}
