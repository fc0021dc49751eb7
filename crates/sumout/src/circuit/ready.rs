//! A compiled question with a program for it, to be answered for one example after the other.

use crate::circuit::posteriors::Posteriors;
use crate::circuit::refuse::Refusal;
use crate::circuit::{Answer, Circuit, Options, admit};
use crate::compile::{Compiled, Question};
use crate::control::Control;
use crate::error::Result;
use crate::model::{Evidence, FactorModel, Finding};
use crate::tensor::layout::Program;
use crate::tensor::schedule::Want;
use crate::vars::{VarId, VarSet};

/// A compiled question that fits in memory.
pub(crate) struct Ready {
    circuit: Circuit,
    program: Program,
    posteriors: Posteriors,
    control: Control,
}

impl Ready {
    /// Prepares a question whose targets are answered in the order in which they were asked.
    pub fn new(
        net: &FactorModel,
        question: &Question,
        asked: Vec<VarId>,
        compiled: Compiled,
        options: &Options,
    ) -> Result<Self> {
        let want = if !question.goal.output().is_empty() {
            Want::Output
        } else {
            Want::Gradients(open(&compiled, &question.goal.targets()), vec![])
        };
        let refusal = Refusal {
            model: net,
            question,
            options,
        };
        let program = admit(&compiled, &want, &refusal)?;
        let circuit = Circuit::new(net, question.clone(), compiled);
        Ok(Ready {
            program,
            posteriors: Posteriors::new(&circuit, asked_of(&circuit, asked)),
            circuit,
            control: options.control.clone(),
        })
    }

    /// The answer given some evidence on the inputs.
    pub fn answer(&self, evidence: &Evidence) -> Result<Answer> {
        let evidence = |v| likelihood(evidence, v, self.circuit.possible(v));
        self.posteriors
            .answer_carefully(&self.control, &self.program, evidence)
    }
}

/// The targets in the order in which they were asked for; the output if they are asked for together.
fn asked_of(circuit: &Circuit, asked: Vec<VarId>) -> Vec<VarId> {
    if asked.is_empty() {
        circuit.target().into_iter().collect()
    } else {
        asked
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
