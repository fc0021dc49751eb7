//! A compiled question with a program for it, to be answered for one example after the other.

use crate::circuit::evaluate::joint;
use crate::circuit::{Answer, Options, admit};
use crate::compile::{Compiled, Question};
use crate::error::Result;
use crate::model::{Evidence, FactorModel, Finding};
use crate::tensor::careful::Run;
use crate::tensor::layout::Program;
use crate::tensor::schedule::Want;
use crate::vars::{VarId, VarSet};

/// A compiled question that fits in memory.
pub(crate) struct Ready<'a> {
    net: &'a FactorModel,
    compiled: Compiled,
    program: Program,
    /// The targets, in the order of the answer.
    asked: Vec<VarId>,
    is_single: bool,
}

impl<'a> Ready<'a> {
    pub fn new(
        net: &'a FactorModel,
        question: &Question,
        asked: Vec<VarId>,
        compiled: Compiled,
        options: &Options,
    ) -> Result<Self> {
        let is_single = question.goal.target().is_some();
        let want = if is_single {
            Want::Output
        } else {
            Want::Gradients(open(&compiled, &question.goal.targets()), vec![])
        };
        let program = admit(&compiled, &want, options)?;
        Ok(Ready {
            net,
            compiled,
            program,
            asked,
            is_single,
        })
    }

    /// The answer given some evidence on the inputs.
    pub fn answer(&self, evidence: &Evidence) -> Answer {
        let Compiled { graph, pruned, .. } = &self.compiled;
        let run = Run::sum(graph, &self.program, |v| {
            likelihood(evidence, v, &pruned.domains[v.index()])
        });
        let log_evidence = run.log_sum();
        if log_evidence == f64::NEG_INFINITY {
            return Answer::impossible();
        }
        let posterior = |&v: &VarId| {
            let domain = &pruned.domains[v.index()];
            let joint = match domain.len() {
                1 => vec![1.0],
                _ if self.is_single => run.output(),
                _ => joint(graph, &run, v),
            };
            (v, normalized(&joint, domain, self.net.card(v)))
        };
        Answer {
            posteriors: self.asked.iter().map(posterior).collect(),
            log_evidence,
            near: None,
        }
    }
}

/// The targets with more than one value left.
fn open(compiled: &Compiled, targets: &VarSet) -> VarSet {
    targets
        .iter()
        .filter(|v| compiled.pruned.domains[v.index()].len() > 1)
        .collect()
}

/// The likelihood of the values that are left.
pub(crate) fn likelihood(evidence: &Evidence, var: VarId, domain: &[usize]) -> Vec<f64> {
    match evidence.get(var) {
        Some(Finding::Soft(likelihood)) => domain.iter().map(|&value| likelihood[value]).collect(),
        Some(Finding::Hard(given)) => domain
            .iter()
            .map(|value| f64::from(u8::from(value == given)))
            .collect(),
        None => vec![1.0; domain.len()],
    }
}

/// Probabilities of all values from weights of those that are left.
fn normalized(weights: &[f64], domain: &[usize], card: usize) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    let mut probabilities = vec![0.0; card];
    domain
        .iter()
        .zip(weights)
        .for_each(|(&value, w)| probabilities[value] = w / total);
    probabilities
}
