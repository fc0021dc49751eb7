//! Circuits of testing networks: a circuit for each test, and one for the answer.
//!
//! A test is a *stage*. Its circuit has the posterior of the tested variable's parents as output, given the evidence that
//! the test sees; what the test makes of that posterior is the likelihood of an input of the circuits after it (see
//! `model::testing`). So each stage is pruned and planned for its own question, on any level, and has its own guard against
//! numbers that are too small; selections stand between circuits, and nowhere inside of one.

mod before;
mod derive;
mod select;
mod single;

use std::collections::{BTreeMap, BTreeSet};

use super::Circuit;
use super::compiled::nothing_possible;
use super::evaluate::loaded;
use crate::compile::report::Tests;
use crate::compile::{self, Question, Search};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Expanded, Network, Test, Testing};
use crate::tensor::Graph;
use crate::vars::VarId;

use before::Before;
pub use derive::TestDerivatives;
pub(super) use derive::{TunedStage, Tuning};
pub(super) use select::Selecting;

/// A test of a circuit.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    /// The variable whose CPT is selected, and the one whose CPT says by how much.
    pub tested: VarId,
    pub selector: VarId,
    /// As whose likelihood later circuits are given what was selected.
    pub input: VarId,
    /// The number of entries of the CPT that says by how much.
    pub entries: usize,
    pub test: Test,
    pub by: By,
}

/// What a test is of.
#[derive(Clone, Debug)]
pub(super) enum By {
    /// The posterior that a circuit computes.
    Posterior(Box<Circuit>),
    /// The evidence on some variables, with their numbers of values.
    Evidence(Vec<(VarId, usize)>),
}

impl Stage {
    /// The circuit that computes what is tested.
    pub fn circuit(&self) -> Option<&Circuit> {
        if let By::Posterior(circuit) = &self.by { Some(circuit) } else { None }
    }

    /// The joint states of the parents, whose posterior is tested.
    pub fn family(&self) -> Option<VarId> {
        self.circuit()?.target
    }

    pub fn circuit_mut(&mut self) -> Option<&mut Circuit> {
        if let By::Posterior(circuit) = &mut self.by { Some(circuit) } else { None }
    }
}

/// The tests whose posteriors are inputs of the circuits of later ones.
fn sums(stages: &[Stage]) -> BTreeSet<VarId> {
    let read: BTreeSet<VarId> = stages.iter().filter_map(Stage::circuit).flat_map(|c| loaded(&c.graph)).collect();
    stages.iter().filter_map(Stage::family).filter(|family| read.contains(family)).collect()
}

/// Compiles a question, with circuits for the tests that it depends on.
pub(super) fn compile(net: &Network, question: Question, search: &Search) -> Result<Circuit> {
    let Some(expanded) = net.expanded() else {
        let compiled = compile::compile(net, &question, search).ok_or_else(|| nothing_possible(net))?;
        return Ok(Circuit::new(net, question, compiled));
    };
    let question = expanded.question(&question)?;
    let compiled = compile::compile(&expanded.net, &question, search).ok_or_else(|| nothing_possible(net))?;
    let (tests, _) = expanded.stages(&question, search, &compiled.graph)?;
    let circuit = Circuit::new(&expanded.net, question, compiled);
    Ok(Circuit { tests, visible: net.variables().len(), ..circuit })
}

impl Expanded {
    /// A question to the network, put to the expanded one.
    pub(super) fn question(&self, question: &Question) -> Result<Question> {
        let refused = [
            (question.explain, "explanations"),
            (question.families, "marginals of families"),
            (question.near > 0.0, "approximations"),
        ];
        if let Some((_, what)) = refused.iter().find(|(is_asked, _)| *is_asked) {
            let error = Error::new(ErrorKind::Model, format!("a testing network is not compiled for {what}"));
            return Err(error.hint("ask for posteriors; `sumout mpe` explains single cases"));
        }
        Ok(Question { selected: self.selected(), ..question.clone() })
    }

    fn selected(&self) -> BTreeMap<VarId, VarId> {
        self.tests.iter().map(|test| (test.selector, test.input)).collect()
    }

    /// The tests that a graph depends on, each behind those that it depends on itself, and what they cost.
    pub(super) fn stages(&self, question: &Question, search: &Search, graph: &Graph) -> Result<(Vec<Stage>, Tests)> {
        let before = Before::new(self, question).ok_or_else(|| nothing_possible(&self.net))?;
        let mut needed: BTreeSet<VarId> = loaded(graph).collect();
        let (mut stages, mut tests) = (vec![], Tests::default());
        for (index, testing) in self.tests.iter().enumerate().rev() {
            if needed.contains(&testing.input) || needed.contains(&testing.family) {
                let stage = self.stage(index, &before, search, &mut tests)?;
                needed.extend(stage.circuit().into_iter().flat_map(|circuit| loaded(&circuit.graph)));
                stages.push(stage);
            }
        }
        stages.reverse();
        Ok((stages, tests))
    }

    fn stage(&self, index: usize, before: &Before<'_>, search: &Search, cost: &mut Tests) -> Result<Stage> {
        let Testing { tested, selector, input, ref test, .. } = self.tests[index];
        let by = match self.tests[index].by_evidence() {
            Some(of) => By::Evidence(of.iter().map(|&v| (v, self.net.card(v))).collect()),
            None => By::Posterior(Box::new(posterior(index, before, search, cost)?)),
        };
        cost.count += 1;
        Ok(Stage { tested, selector, input, entries: self.net.card(input), test: test.clone(), by })
    }
}

/// The circuit for what is tested.
fn posterior(index: usize, before: &Before<'_>, search: &Search, cost: &mut Tests) -> Result<Circuit> {
    let (net, question) = before.question(index).expect("a test of a posterior has a question");
    let compiled = compile::compile(&net, &question, search).ok_or_else(|| nothing_possible(&net))?;
    cost.add(&compiled.cost);
    Ok(Circuit { variables: before.variables.clone(), ..Circuit::new(&net, question, compiled) })
}
