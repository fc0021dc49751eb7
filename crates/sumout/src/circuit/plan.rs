//! Plans a query without running it.

use std::borrow::Cow;
use std::time::Instant;

use super::compiled::{Circuit, no_posteriors, nothing_possible};
use super::testing::Stage;
use super::{Answer, Options, Ready, asked, check_ids, near};
use crate::compile::draw::{self, Jointree};
use crate::compile::start::{SavedPlan, Start};
use crate::compile::{self, Planned, Query, Question, Report, Search};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Evidence, Expanded, Finding, Network};
use crate::vars::{VarId, VarSet};

/// A query with a plan for it: what it costs, and how it looks.
#[derive(Clone, Debug)]
pub struct Compilation<'a> {
    /// The network that was asked, and what was planned for: the same with explicit selectors, if it has tests.
    asked: &'a Network,
    net: Cow<'a, Network>,
    question: Question,
    planned: Planned,
    report: Report,
    options: Options,
    /// The tests of a testing network, and how many variables are its own.
    tests: Vec<Stage>,
    visible: usize,
}

impl Network {
    /// Looks for a good plan for a query. Whatever it costs, it is not refused: nothing of its size is allocated.
    ///
    /// ```
    /// use sumout::{Network, Options, Query};
    ///
    /// let asia = Network::read("asia")?;
    /// let query = Query::of("lung").given(["xray", "dysp"]);
    /// let plan = asia.plan(&query, &Options::default())?;
    /// println!("{}", plan.report());
    /// assert_eq!(plan.report().max_cluster_rank, 3);
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn plan(&self, query: &Query, options: &Options) -> Result<Compilation<'_>> {
        self.plan_with(query, options, None)
    }

    /// The same, from a plan that was saved, or from an elimination order: the plan found is never worse than that
    /// one, and without any [effort](Options::effort) it is that one.
    pub fn plan_from(&self, query: &Query, options: &Options, start: &Start) -> Result<Compilation<'_>> {
        self.plan_with(query, options, Some(start))
    }

    fn plan_with(&self, query: &Query, options: &Options, start: Option<&Start>) -> Result<Compilation<'_>> {
        let question = asked(self, query, options)?;
        let search = Search { thorough: true, ..options.search() };
        let begun = Instant::now();
        let expanded = self.expanded();
        if start.is_some() && expanded.is_some() {
            let error = Error::new(ErrorKind::Model, "plans for testing networks start from nothing");
            return Err(error.hint("leave out the saved plan, or the order"));
        }
        let question = expanded.as_ref().map_or(Ok(question.clone()), |expanded| expanded.question(&question))?;
        let net = expanded.as_ref().map_or(Cow::Borrowed(self), |expanded| Cow::Owned(expanded.net.clone()));
        let planned = match start {
            None => compile::plan(&net, &question, &search),
            Some(start) => compile::plan_from(&net, &question, &search, start)?,
        };
        let planned = planned.ok_or_else(|| nothing_possible(self))?;
        let stages = |expanded: &Expanded| expanded.stages(&question, &search, &planned.clone().lower().graph);
        let stages = expanded.as_ref().map(stages).transpose()?;
        let time = begun.elapsed();
        let near = (question.near > 0.0).then(|| near::report(self, &question, &planned, options));
        let visible = self.variables().len();
        let hidden = VarSet::from_iter(planned.pruned.factors.iter().flat_map(|f| f.axes.iter().copied()));
        let hidden = hidden.iter().filter(|v| v.index() >= visible).count();
        let mut report = Report {
            near,
            tests: stages.as_ref().map(|(_, tests)| *tests),
            network_nodes: visible,
            ..Report::new(&net, &question, &planned, &search, time)
        };
        report.steps.nodes_left -= hidden.min(report.steps.nodes_left);
        let tests = stages.map(|(stages, _)| stages).unwrap_or_default();
        Ok(Compilation { asked: self, net, question, planned, report, options: options.clone(), tests, visible })
    }
}

impl Compilation<'_> {
    /// What the plan costs.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The circuit of the plan.
    pub fn circuit(&self) -> Circuit {
        let circuit = Circuit::new(&self.net, self.question.clone(), self.planned.clone().lower());
        Circuit { tests: self.tests.clone(), visible: self.visible, ..circuit }
    }

    /// The answer for one example: what the plan computes from evidence on the inputs.
    ///
    /// Inputs that were promised to have a value in every example must have one.
    pub fn answer(&self, evidence: &Evidence) -> Result<Answer> {
        let Compilation { net, question, planned, options, .. } = self;
        check_ids(net, evidence.iter().map(|(v, _)| v))?;
        if question.explain {
            return Err(no_posteriors());
        }
        if !self.tests.is_empty() {
            let error = Error::new(ErrorKind::Model, "a plan answers only questions without tests");
            return Err(error.hint("evaluate its circuit instead"));
        }
        let is_input =
            |v: VarId| question.inputs.contains(v) || (question.targets.len() > 1 && question.targets.contains(v));
        if let Some(stranger) = evidence.iter().map(|(v, _)| v).find(|&v| !is_input(v)) {
            let message = format!("`{}` is no input of this query", net.variable(stranger).name);
            return Err(Error::new(ErrorKind::Evidence, message).hint("name it among the inputs when you plan"));
        }
        let has_value = |v: &VarId| matches!(evidence.get(*v), Some(Finding::Hard(_)));
        if let Some(promised) = question.hard.iter().find(|v| !has_value(v)) {
            let message = format!("`{}` has no value, but was promised to have one", net.variable(promised).name);
            return Err(
                Error::new(ErrorKind::Evidence, message).hint("give it a value, or plan it as an ordinary input")
            );
        }
        let asked = question.targets.iter().collect();
        Ok(Ready::new(net, question, asked, planned.clone().lower(), options)?.answer(evidence))
    }

    /// The plan by names, to start from another time.
    pub fn saved(&self) -> SavedPlan {
        SavedPlan::new(&self.net, &self.planned)
    }

    /// The plan's tree, to be drawn.
    pub fn jointree(&self) -> Jointree {
        Jointree::new(&self.net, &self.planned)
    }

    /// The tensors of the circuit as a picture.
    pub fn graph_svg(&self) -> String {
        draw::graph_svg(&self.net, &self.planned.clone().lower().graph)
    }

    /// The network with the inputs and targets of the query, in the language of Graphviz.
    pub fn network_dot(&self) -> String {
        draw::network_dot(self.asked, &self.question)
    }
}
