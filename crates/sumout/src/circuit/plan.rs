//! From a question to a circuit.
//!
//! A question is put to the network with explicit selectors (`selection`), which is the network's
//! own model if nothing is selected. That makes one part that answers, and a stage for each
//! selection that the answer depends on: none in an ordinary network. Each part is planned by
//! itself; the graphs of all of them are merged into one circuit.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::circuit::compiled::{Circuit, nothing_possible};
use crate::circuit::selection::Stages;
use crate::circuit::{Options, near};
use crate::compile::plan::saved::{PlanStart, SavedPlan};
use crate::compile::{self, Planned, Question, Report, Runs, Search};
use crate::draw;
use crate::draw::Jointree;
use crate::error::Result;
use crate::model::{Expanded, FactorModel, Network};
use crate::vars::VarSet;

/// A query with a plan for it: what it costs, and how it looks.
#[derive(Clone, Debug)]
pub struct Compilation<'a> {
    net: &'a Network,
    options: Options,
    search: Search,
    expanded: Expanded,
    question: Question,
    /// The part that answers.
    answer: Part,
    stages: Stages,
    report: OnceLock<Report>,
}

/// A part of a circuit: a question to a model, and a plan for it.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub model: Arc<FactorModel>,
    pub question: Question,
    pub planned: Planned,
    /// How long it took to plan.
    time: Duration,
}

impl<'a> Compilation<'a> {
    /// Plans a question, from nothing or from a start.
    pub(crate) fn new(
        net: &'a Network,
        question: Question,
        options: &Options,
        start: Option<&PlanStart>,
    ) -> Result<Self> {
        let expanded = net.expanded();
        let question = expanded.question(question)?;
        let search = expanded.share(options.search(Runs::Many));
        let before = expanded.before(&question)?;
        let (model, asked) = before.answer();
        let answer = match start {
            None => Part::new(model, asked, &search)?,
            Some(start) => {
                expanded.refuse_start()?;
                Part::starting_from(net, asked, &search, start)?
            }
        };
        let stages = before.stages(&answer, &search)?;
        Ok(Compilation {
            net,
            options: options.clone(),
            search,
            question,
            answer,
            stages,
            expanded,
            report: OnceLock::new(),
        })
    }

    /// The cost of the plan.
    pub fn report(&self) -> &Report {
        self.report.get_or_init(|| self.new_report())
    }

    fn new_report(&self) -> Report {
        let Compilation {
            net,
            question,
            options,
            answer,
            ..
        } = self;
        let is_near = question.near > 0.0;
        let report = Report {
            near: is_near.then(|| near::report(net, question, &answer.planned, options)),
            ..answer.report(&self.search)
        };
        self.stages
            .reported(report, &self.expanded, answer, &self.search)
    }

    /// The circuit of the plan.
    pub fn circuit(&self) -> Circuit {
        self.clone().into_circuit()
    }

    /// The circuit of the plan, consuming it.
    pub(crate) fn into_circuit(self) -> Circuit {
        let compiled = self.answer.planned.lower();
        let circuit = Circuit::new(&self.expanded.model, self.question.clone(), compiled);
        self.expanded
            .merged(circuit, &self.stages, &self.question.trainable)
    }

    /// The plan by names, to start from another time.
    pub fn saved(&self) -> SavedPlan {
        self.answer.planned.saved(&self.answer.model)
    }

    /// The plan's tree, to be drawn.
    pub fn jointree(&self) -> Jointree {
        Jointree::new(&self.answer.model, &self.answer.planned)
    }

    /// The tensors of the circuit as a picture.
    pub fn graph_svg(&self) -> String {
        draw::graph_svg(&self.answer.model, &self.circuit().graph)
    }

    /// The network with the inputs and targets of the query, in the language of Graphviz.
    pub fn network_dot(&self) -> String {
        draw::network_dot(self.net, &self.question)
    }
}

impl Part {
    /// Plans from nothing.
    pub fn new(model: Arc<FactorModel>, question: Question, search: &Search) -> Result<Self> {
        let begun = Instant::now();
        let planned = compile::plan(&model, &question, search);
        Part::planned(model, question, planned, begun)
    }

    /// Plans from a start.
    fn starting_from(
        net: &Network,
        question: Question,
        search: &Search,
        start: &PlanStart,
    ) -> Result<Self> {
        let begun = Instant::now();
        let planned = compile::plan_from(net, &question, search, start)?;
        Part::planned(Arc::clone(net.model()), question, planned, begun)
    }

    fn planned(
        model: Arc<FactorModel>,
        question: Question,
        planned: Option<Planned>,
        begun: Instant,
    ) -> Result<Self> {
        let planned = planned.ok_or_else(|| nothing_possible(&model))?;
        Ok(Part {
            model,
            question,
            planned,
            time: begun.elapsed(),
        })
    }

    /// Its cost.
    pub fn report(&self, search: &Search) -> Report {
        Report::new(
            &self.model,
            &self.question,
            &self.planned,
            search,
            self.time,
        )
    }

    /// The variables that its plan has to do with.
    pub fn variables(&self) -> VarSet {
        let factors = self.planned.pruned.factors.iter();
        factors
            .flat_map(|factor| factor.scope.iter().copied())
            .collect()
    }
}
