//! Circuits of testing networks: one graph, with a selection for each test.
//!
//! A test is a *part* of the graph. It computes the joint probability of the tested variable's
//! parents and the evidence that the test sees; what the test selects by that is the CPT of its
//! selector in all parts behind it (see `model::testing`). So each part is pruned and planned for
//! its own question, on any level; then they are put together (`merge`). All of it runs block by
//! block, and is differentiated, like any other graph.

mod before;
mod merge;
mod single;

use std::collections::{BTreeMap, BTreeSet};

use crate::circuit::Circuit;
use crate::circuit::compiled::nothing_possible;
use crate::circuit::run::loaded;
use crate::compile;
use crate::compile::{Compiled, Question, Search};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Comparison, Expanded, Network, Selection, Testing, Variable};
use crate::tensor::{Graph, Weighing};
use crate::vars::{VarId, VarSet};

use crate::circuit::selection::before::Before;
use crate::circuit::selection::merge::{Merge, Merged};
pub use crate::circuit::selection::single::Selected;

/// The tests that a question depends on, each behind those that it depends on itself.
#[derive(Clone, Debug)]
pub(crate) struct Stages {
    stages: Vec<Stage>,
    /// The values that each variable can have, in all parts that mention it.
    domains: Vec<Vec<usize>>,
}

/// A test, and what computes the posterior that it is of; nothing, if it is of evidence.
#[derive(Clone, Debug)]
struct Stage {
    testing: Testing,
    posterior: Option<Graph>,
}

/// Compiles a question, with the tests that it depends on.
pub(crate) fn compile(net: &Network, question: Question, search: &Search) -> Result<Circuit> {
    let Some(expanded) = net.expanded() else {
        let compiled =
            compile::compile(net, &question, search).ok_or_else(|| nothing_possible(net))?;
        return Ok(Circuit::new(net, question, compiled));
    };
    let (question, search) = (expanded.question(&question)?, &expanded.share(search));
    let before = expanded.before(&question)?;
    let (left, asked) = before.answer();
    let compiled = compile::compile(&left, &asked, search).ok_or_else(|| nothing_possible(net))?;
    let stages = before.stages(&compiled.graph, |net, question| {
        Ok(compile::compile(net, question, search)
            .ok_or_else(|| nothing_possible(net))?
            .graph)
    })?;
    Ok(expanded.circuit(question, compiled, &stages))
}

impl Expanded {
    /// A question to the network, put to the expanded one.
    pub(crate) fn question(&self, question: &Question) -> Result<Question> {
        let refused = [
            (
                question.explain,
                "explanations",
                "ask for posteriors; `sumout mpe` explains single cases",
            ),
            (
                question.families,
                "marginals of families",
                "ask for posteriors",
            ),
            (
                question.near > 0.0,
                "approximations",
                "leave out `near`; `sumout query` approximates for single cases",
            ),
        ];
        if let Some((_, what, hint)) = refused.iter().find(|(is_asked, ..)| *is_asked) {
            let error = Error::new(
                ErrorKind::Model,
                format!("a testing network is not compiled for {what}"),
            );
            return Err(error.hint(*hint));
        }
        Ok(Question {
            selected: self.selected(),
            ..question.clone()
        })
    }

    /// What each of the plans may take, so that all of them together take no longer than one.
    pub(crate) fn share(&self, search: &Search) -> Search {
        Search {
            effort: search.effort / (1 + self.tests.len()) as f64,
            ..*search
        }
    }

    fn selected(&self) -> BTreeMap<VarId, VarId> {
        self.tests
            .iter()
            .map(|test| (test.selector, test.input))
            .collect()
    }

    /// The variables whose evidence tests see as it is.
    fn seen(&self) -> VarSet {
        self.tests
            .iter()
            .filter_map(Testing::by_evidence)
            .flatten()
            .copied()
            .collect()
    }

    /// What is before each test, and before the answer to a question.
    pub(crate) fn before<'e>(&'e self, question: &'e Question) -> Result<Before<'e>> {
        Before::new(self, question).ok_or_else(|| nothing_possible(&self.net))
    }

    /// The circuit for a question and its tests.
    pub(crate) fn circuit(
        &self,
        question: Question,
        compiled: Compiled,
        stages: &Stages,
    ) -> Circuit {
        let visible = self
            .tests
            .first()
            .map_or(self.net.variables().len(), |test| test.selector.index());
        let trainable = question.trainable.clone();
        let circuit = Circuit::new(&self.net, question, compiled);
        let Merged {
            graph,
            domains,
            aliases,
        } = Merge::new(self, &circuit, stages, &trainable).run();
        let named = aliases.values().map(|&of| self.net.variable(of).clone());
        let own = circuit.variables.iter().cloned();
        let variables: Vec<Variable> = own.chain(named).collect();
        Circuit {
            graph: graph.into(),
            domains: domains.into(),
            aliases,
            variables: variables.into(),
            visible,
            ..circuit
        }
    }
}

impl Before<'_> {
    /// The tests that a graph depends on, each compiled for its question.
    pub(crate) fn stages(
        &self,
        graph: &Graph,
        mut compile: impl FnMut(&Network, &Question) -> Result<Graph>,
    ) -> Result<Stages> {
        let mut needed: BTreeSet<VarId> = loaded(graph).collect();
        let mut stages = Stages {
            stages: vec![],
            domains: self.domains.clone(),
        };
        for (index, testing) in self.tests().iter().enumerate().rev() {
            if needed.contains(&testing.input) || needed.contains(&testing.family) {
                let asked = self.test(index);
                let posterior = asked
                    .map(|(net, question)| compile(&net, &question))
                    .transpose()?;
                needed.extend(posterior.iter().flat_map(loaded));
                stages.stages.push(Stage {
                    testing: testing.clone(),
                    posterior,
                });
            }
        }
        stages.stages.reverse();
        Ok(stages)
    }
}

impl Stages {
    /// The number of tests.
    pub(crate) fn len(&self) -> usize {
        self.stages.len()
    }
}

fn weighing(selection: &Selection) -> Weighing {
    match selection {
        Selection::Step(Comparison::AtLeast) => Weighing::Step {
            larger: true,
            equal: true,
        },
        Selection::Step(Comparison::Above) => Weighing::Step {
            larger: true,
            equal: false,
        },
        Selection::Step(Comparison::AtMost) => Weighing::Step {
            larger: false,
            equal: true,
        },
        Selection::Step(Comparison::Below) => Weighing::Step {
            larger: false,
            equal: false,
        },
        Selection::Sigmoid { .. } => Weighing::Sigmoid,
        Selection::Linear => Weighing::Linear,
        Selection::Softmax { .. } => Weighing::Softmax,
    }
}
