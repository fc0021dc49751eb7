//! Nearly functional CPTs as functions: an approximation, with an estimate of its error.
//!
//! The error of a plan is found by comparing it with an exact one, on evidence that is sampled from
//! the network. That takes an exact plan that can be run. Where it can, a single question is better
//! answered by it at once.

use crate::circuit::ready::Ready;
use crate::circuit::{Answer, Options};
use crate::compile::report::Near;
use crate::compile::{self, Planned, Question, Runs};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Evidence, FactorModel, Finding, Network};
use crate::vars::VarId;

/// How many examples an estimate is made from.
const SAMPLES: usize = 100;

/// No estimate takes more products than this, which is some seconds.
const MOST_FOR_ESTIMATE: f64 = 1e10;

/// No exact answer that takes more products than this is preferred to an approximation.
const MOST_FOR_EXACT: f64 = 1e11;

/// Refuses anything but a small probability.
pub(crate) fn check(eps: f64) -> Result<()> {
    if (0.0..0.5).contains(&eps) {
        return Ok(());
    }
    let error = Error::new(
        ErrorKind::Options,
        format!("tables cannot count as functions up to an error of {eps}"),
    );
    Err(error.hint("give a small probability below 0.5, such as 0.01"))
}

/// The exact answer where it fits, or else an approximate one.
pub(crate) fn query(
    net: &FactorModel,
    question: &Question,
    asked: Vec<VarId>,
    evidence: &Evidence,
    options: &Options,
) -> Result<Answer> {
    let Some(exact) = compile::plan(net, question, &options.search(Runs::Once)) else {
        return Ok(Answer::impossible(net.shared_variables()));
    };
    options.control.check()?;
    let why = match within(&exact, 1, MOST_FOR_EXACT) {
        Err(why) => why,
        Ok(()) => match Ready::new(net, question, asked.clone(), exact.lower(), options) {
            Ok(ready) => {
                let near = Near {
                    estimated_error: Some(0.0),
                    estimated_log_error: Some(0.0),
                    ..nothing(options)
                };
                let note = Some("the exact answer fits, and is given".to_owned());
                return Ok(ready.answer(evidence)?.with_near(Near { note, ..near }));
            }
            Err(refusal) => refusal.message().to_owned(),
        },
    };
    let question = Question {
        near: options.near,
        ..question.clone()
    };
    let search = options.search(Runs::Many);
    let Some(planned) = compile::plan(net, &question, &search) else {
        return Ok(Answer::impossible(net.shared_variables()));
    };
    let near = Near {
        functional: names(net, &planned),
        note: Some(format!("exactly, {why}")),
        ..nothing(options)
    };
    let ready = Ready::new(net, &question, asked, planned.lower(), options)?;
    Ok(ready.answer(evidence)?.with_near(near))
}

/// The note on a plan that treats nearly functional tables as functions.
pub(crate) fn report(
    net: &Network,
    question: &Question,
    planned: &Planned,
    options: &Options,
) -> Near {
    let near = Near {
        functional: names(net.model(), planned),
        ..nothing(options)
    };
    let exact = Near {
        estimated_error: Some(0.0),
        estimated_log_error: Some(0.0),
        ..near.clone()
    };
    if near.functional.is_empty() {
        return Near {
            note: Some("there are none, so that the plan is exact".into()),
            ..exact
        };
    }
    if !planned.copies().any(|v| planned.pruned.near.contains(v)) {
        return Near {
            note: Some("the plan copies none of them, and is exact".into()),
            ..exact
        };
    }
    match estimate(net, question, planned, options) {
        Ok((posterior, log, samples)) => Near {
            estimated_error: Some(posterior),
            estimated_log_error: Some(log),
            samples,
            ..near
        },
        Err(why) => Near {
            note: Some(why),
            ..near
        },
    }
}

fn nothing(options: &Options) -> Near {
    Near {
        eps: options.near,
        functional: vec![],
        estimated_error: None,
        estimated_log_error: None,
        samples: 0,
        note: None,
    }
}

fn names(net: &FactorModel, planned: &Planned) -> Vec<String> {
    planned
        .pruned
        .near
        .iter()
        .map(|v| net.variable(v).name.clone())
        .collect()
}

/// Whether a plan can be run so often; if not, why.
fn within(planned: &Planned, times: usize, most: f64) -> Result<(), String> {
    let cost = planned.cost();
    let products = times as f64 * cost.multiply_adds + cost.constant_multiply_adds;
    if products <= most {
        Ok(())
    } else {
        Err(format!("it takes 2^{:.1} products", products.log2()))
    }
}

/// The largest differences of posteriors and of ln P(e) from an exact plan, and on how many
/// samples; or why not.
fn estimate(
    net: &Network,
    question: &Question,
    planned: &Planned,
    options: &Options,
) -> Result<(f64, f64, usize), String> {
    let samples = if question.evidence().is_empty() {
        1
    } else {
        SAMPLES
    };
    let exact = Question {
        near: 0.0,
        trainable: Default::default(),
        ..question.clone()
    };
    let exact_plan = compile::plan(net.model(), &exact, &options.search(Runs::Many))
        .ok_or("no state of the network is possible")?;
    within(planned, samples, MOST_FOR_ESTIMATE).map_err(|why| format!("to run the plan, {why}"))?;
    within(&exact_plan, samples, MOST_FOR_ESTIMATE)
        .map_err(|why| format!("to run an exact plan, {why}"))?;
    let asked = || question.goal.targets().iter().collect();
    let [ours, truth] = [(question, planned.clone()), (&exact, exact_plan)]
        .map(|(question, planned)| {
            Ready::new(net.model(), question, asked(), planned.lower(), options)
        })
        .map(|ready| ready.map_err(words));
    let (ours, truth) = (ours?, truth?);
    let mut sampler = net.sampler(options.seed).map_err(words)?;
    let mut largest = (0.0f64, 0.0f64);
    for sample in 0..samples {
        let evidence = observed(net, question, sample, sampler.draw())?;
        let [ours, truth] = [&ours, &truth].map(|ready| ready.answer(&evidence));
        let (ours, truth) = (ours.map_err(words)?, truth.map_err(words)?);
        let (posterior, log) = difference(&ours, &truth);
        largest = (largest.0.max(posterior), largest.1.max(log));
    }
    Ok((largest.0, largest.1, samples))
}

fn words(error: Error) -> String {
    error.message().to_owned()
}

/// The inputs of a case; if none are named, some of the variables, all of which may be observed.
fn observed(
    net: &Network,
    question: &Question,
    sample: usize,
    case: &[u32],
) -> Result<Evidence, String> {
    let mut evidence = Evidence::new();
    let is_named = !question.inputs.is_empty();
    let is_observed = |v: &VarId| is_named || (v.index() + sample).is_multiple_of(4);
    for v in question.evidence().iter().filter(is_observed) {
        let finding = Finding::Hard(case[v.index()] as usize);
        evidence.insert(net, v, finding).map_err(words)?;
    }
    Ok(evidence)
}

/// How much two answers differ: the posteriors, and ln P(e).
fn difference(ours: &Answer, truth: &Answer) -> (f64, f64) {
    if ours.is_impossible() || truth.is_impossible() {
        return if ours.is_impossible() == truth.is_impossible() {
            (0.0, 0.0)
        } else {
            (1.0, f64::INFINITY)
        };
    }
    let pairs = ours
        .posteriors()
        .iter()
        .zip(truth.posteriors())
        .flat_map(|(a, b)| a.1.iter().zip(&b.1));
    let posterior = pairs.map(|(p, q)| (p - q).abs()).fold(0.0, f64::max);
    (
        posterior,
        (ours.log_evidence() - truth.log_evidence()).abs(),
    )
}
