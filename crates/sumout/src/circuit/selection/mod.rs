//! Selection as a pass on the way from a question to a circuit.
//!
//! A *stage* is a selection that the answer depends on. Its part of the graph computes the joint
//! probability of the selected variable's parents and the evidence that the test sees; the weights
//! that this makes of the copies are the CPT of its selector in all parts behind it (see
//! `model::selection`). So each part is pruned and planned for its own question, on any level; then
//! they are put together (`merge`). All of it runs block by block, and is differentiated, like any
//! other graph.
//!
//! An ordinary network has no stages, and a single part: the pass leaves it as it is.

mod before;
mod merge;
mod single;

use std::collections::{BTreeMap, BTreeSet};

use crate::circuit::Circuit;
use crate::circuit::compiled::nothing_possible;
use crate::circuit::plan::Part;
use crate::circuit::run::loaded;
use crate::compile::{Question, Report, Search};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Comparison, Expanded, SelectionKind, SelectionNode, Variable};
use crate::tensor::{Graph, Weighing};
use crate::vars::{VarId, VarSet};

use before::Before;
use merge::{Merge, Merged};

pub use single::Selected;
pub(crate) use single::select;

/// The selections that a question depends on, each behind those that it depends on itself.
#[derive(Clone, Debug)]
pub(crate) struct Stages {
    stages: Vec<Stage>,
    /// The values that each variable can have, in all parts that mention it.
    domains: Vec<Vec<usize>>,
}

/// A selection, and the computation of the posterior that is tested; none, if evidence selects.
#[derive(Clone, Debug)]
struct Stage {
    node: SelectionNode,
    posterior: Option<Posterior>,
}

/// A posterior that is tested: its part of the circuit, and the graph of that part.
#[derive(Clone, Debug)]
struct Posterior {
    part: Part,
    graph: Graph,
}

impl Expanded {
    /// A question to the network, put to the expanded one.
    pub(crate) fn question(&self, question: Question) -> Result<Question> {
        if let Some((what, hint)) = refused(&question).filter(|_| !self.nodes.is_empty()) {
            let message = format!("a testing network is not compiled for {what}");
            return Err(Error::new(ErrorKind::Unsupported, message).hint(hint));
        }
        Ok(Question {
            selected: self.selected(),
            ..question
        })
    }

    /// Refuses to start from a plan, which is one of a single part.
    pub(crate) fn refuse_start(&self) -> Result<()> {
        if self.nodes.is_empty() {
            return Ok(());
        }
        let message = "a saved plan cannot be used with a testing network";
        let error = Error::new(ErrorKind::Unsupported, message);
        Err(error.hint("leave out the plan or the order"))
    }

    /// How to search for each of the plans, so that all of them together take no longer than one.
    pub(crate) fn share(&self, search: Search) -> Search {
        Search {
            effort: search.effort / (1 + self.nodes.len()) as f64,
            ..search
        }
    }

    fn selected(&self) -> BTreeMap<VarId, VarId> {
        self.nodes
            .iter()
            .map(|node| (node.selector, node.input))
            .collect()
    }

    /// The variables whose evidence selects as it is.
    fn seen(&self) -> VarSet {
        self.nodes
            .iter()
            .filter_map(SelectionNode::by_evidence)
            .flatten()
            .copied()
            .collect()
    }

    /// The part of the network before each selection, and before the answer.
    pub(crate) fn before<'e>(&'e self, question: &'e Question) -> Result<Before<'e>> {
        Before::new(self, question).ok_or_else(|| nothing_possible(&self.model))
    }

    /// A circuit that answers, with all stages before it.
    pub(crate) fn merged(&self, circuit: Circuit, stages: &Stages, trainable: &VarSet) -> Circuit {
        let Some(first) = self.nodes.first() else {
            return circuit;
        };
        let Merged {
            graph,
            domains,
            aliases,
        } = Merge::new(self, &circuit, stages, trainable).run();
        let named = aliases.values().map(|&of| self.model.variable(of).clone());
        let own = circuit.variables.iter().cloned();
        let variables: Vec<Variable> = own.chain(named).collect();
        Circuit {
            graph: graph.into(),
            domains: domains.into(),
            aliases,
            variables: variables.into(),
            visible: first.selector.index(),
            ..circuit
        }
    }
}

/// The kinds of questions that testing networks are not compiled for, each with a hint.
fn refused(question: &Question) -> Option<(&'static str, &'static str)> {
    if question.goal.is_explanation() {
        let hint = "ask for posteriors; `sumout mpe` explains single cases";
        return Some(("explanations", hint));
    }
    if question.families {
        return Some(("marginals of families", "ask for posteriors"));
    }
    let hint = "leave out `near`; `sumout query` approximates for single cases";
    (question.near > 0.0).then_some(("approximations", hint))
}

impl Before<'_> {
    /// The selections that the answer depends on, each planned for its question.
    pub(crate) fn stages(&self, answer: &Part, search: &Search) -> Result<Stages> {
        let mut stages = vec![];
        let mut needed = self.needed(answer);
        for (index, node) in self.nodes().iter().enumerate().rev() {
            if needed.contains(&node.input) || needed.contains(&node.family) {
                let posterior = self.posterior(index, search)?;
                needed.extend(posterior.iter().flat_map(|it| loaded(&it.graph)));
                let node = node.clone();
                stages.push(Stage { node, posterior });
            }
        }
        stages.reverse();
        let domains = self.domains.clone();
        Ok(Stages { stages, domains })
    }

    /// The variables whose likelihoods the answer reads; nobody asks where nothing is selected.
    fn needed(&self, answer: &Part) -> BTreeSet<VarId> {
        if self.nodes().is_empty() {
            return BTreeSet::new();
        }
        loaded(&answer.planned.clone().lower().graph).collect()
    }

    fn posterior(&self, index: usize, search: &Search) -> Result<Option<Posterior>> {
        let Some((model, question)) = self.selection(index) else {
            return Ok(None);
        };
        let part = Part::new(model, question, search)?;
        let graph = part.planned.clone().lower().graph;
        Ok(Some(Posterior { part, graph }))
    }
}

impl Stages {
    /// A report on the part that answers, with all stages added.
    pub(crate) fn reported(
        &self,
        mut report: Report,
        expanded: &Expanded,
        answer: &Part,
        search: &Search,
    ) -> Report {
        let Some(first) = expanded.nodes.first() else {
            return report;
        };
        let parts = || self.stages.iter().filter_map(|stage| stage.part());
        let reports: Vec<Report> = parts().map(|part| part.report(search)).collect();
        report.add_selections(self.stages.len(), &reports);
        let matters = parts().fold(answer.variables(), |all, part| &all | &part.variables());
        report.show_only(first.selector.index(), &matters);
        report
    }
}

impl Stage {
    fn part(&self) -> Option<&Part> {
        self.posterior.as_ref().map(|posterior| &posterior.part)
    }

    fn graph(&self) -> Option<&Graph> {
        self.posterior.as_ref().map(|posterior| &posterior.graph)
    }
}

fn weighing(kind: &SelectionKind) -> Weighing {
    match kind {
        SelectionKind::Step(Comparison::AtLeast) => Weighing::Step {
            larger: true,
            equal: true,
        },
        SelectionKind::Step(Comparison::Above) => Weighing::Step {
            larger: true,
            equal: false,
        },
        SelectionKind::Step(Comparison::AtMost) => Weighing::Step {
            larger: false,
            equal: true,
        },
        SelectionKind::Step(Comparison::Below) => Weighing::Step {
            larger: false,
            equal: false,
        },
        SelectionKind::Sigmoid { .. } => Weighing::Sigmoid,
        SelectionKind::Linear => Weighing::Linear,
        SelectionKind::Softmax { .. } => Weighing::Softmax,
    }
}
