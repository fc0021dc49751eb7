//! Plans a query without running it.

use std::borrow::Cow;
use std::time::Instant;

use crate::circuit::compiled::{Circuit, no_posteriors, nothing_possible};
use crate::circuit::selection::Stages;
use crate::circuit::{Answer, Options, Ready, asked, check_ids, near};
use crate::compile::plan::saved::{PlanStart, SavedPlan};
use crate::compile::{self, Planned, Query, Question, Report, Search};
use crate::draw;
use crate::draw::Jointree;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Evidence, Expanded, Finding, Network};
use crate::vars::{VarId, VarSet};

/// A query with a plan for it: what it costs, and how it looks.
#[derive(Clone, Debug)]
pub struct Compilation<'a> {
    /// The network that was asked, and what was planned for: the same with explicit selectors, if
    /// it has tests.
    asked: &'a Network,
    net: Cow<'a, Network>,
    question: Question,
    planned: Planned,
    report: Report,
    options: Options,
    /// The tests of a testing network.
    tests: Option<(Expanded, Stages)>,
}

impl Network {
    /// Looks for a good plan for a query. Whatever it costs, it is not refused: nothing of its size
    /// is allocated.
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

    /// The same, from a plan that was saved, or from an elimination order: the plan found is never
    /// worse than that one, and without any [effort](Options::effort) it is that one.
    pub fn plan_from(
        &self,
        query: &Query,
        options: &Options,
        start: &PlanStart,
    ) -> Result<Compilation<'_>> {
        self.plan_with(query, options, Some(start))
    }

    fn plan_with(
        &self,
        query: &Query,
        options: &Options,
        start: Option<&PlanStart>,
    ) -> Result<Compilation<'_>> {
        let question = asked(self, query, options)?;
        let search = Search {
            thorough: true,
            ..options.search()
        };
        let begun = Instant::now();
        if let Some(expanded) = self.expanded() {
            return self.plan_tested(expanded, &question, &search, (options, start));
        }
        let planned = match start {
            None => compile::plan(self, &question, &search),
            Some(start) => compile::plan_from(self, &question, &search, start)?,
        };
        let planned = planned.ok_or_else(|| nothing_possible(self))?;
        let time = begun.elapsed();
        let near = (question.near > 0.0).then(|| near::report(self, &question, &planned, options));
        let report = Report {
            near,
            ..Report::new(self, &question, &planned, &search, time)
        };
        let (net, options) = (Cow::Borrowed(self), options.clone());
        Ok(Compilation {
            asked: self,
            net,
            question,
            planned,
            report,
            options,
            tests: None,
        })
    }

    /// Plans the tests of a testing network, and what is behind them.
    fn plan_tested(
        &self,
        expanded: Expanded,
        question: &Question,
        search: &Search,
        (options, start): (&Options, Option<&PlanStart>),
    ) -> Result<Compilation<'_>> {
        if start.is_some() {
            let error = Error::new(
                ErrorKind::Unsupported,
                "a saved plan cannot be used with a testing network",
            );
            return Err(error.hint("leave out the plan or the order"));
        }
        let begun = Instant::now();
        let (question, search) = (expanded.question(question)?, &expanded.share(search));
        let before = expanded.before(&question)?;
        let plan = |net: &Network, question: &Question| {
            let planned =
                compile::plan(net, question, search).ok_or_else(|| nothing_possible(self))?;
            let report = Report::new(net, question, &planned, search, begun.elapsed());
            Ok((planned, report))
        };
        let (net, left) = before.answer();
        let (planned, mut report) = plan(&net, &left)?;
        let (mut reports, mut matters) = (vec![], axes(&planned));
        let stages = before.stages(&planned.clone().lower().graph, |net, question| {
            let (planned, report) = plan(net, question)?;
            matters = &matters | &axes(&planned);
            reports.push(report);
            Ok(planned.lower().graph)
        })?;
        report.add_tests(stages.len(), &reports);
        report.compile_seconds = begun.elapsed().as_secs_f64();
        report.show_only(self.variables().len(), &matters);
        let (net, options) = (Cow::Owned(net), options.clone());
        Ok(Compilation {
            asked: self,
            net,
            question,
            planned,
            report,
            options,
            tests: Some((expanded, stages)),
        })
    }
}

/// The variables that a plan has to do with.
fn axes(planned: &Planned) -> VarSet {
    planned
        .pruned
        .factors
        .iter()
        .flat_map(|factor| factor.axes.iter().copied())
        .collect()
}

impl Compilation<'_> {
    /// What the plan costs.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The circuit of the plan.
    pub fn circuit(&self) -> Circuit {
        let (question, compiled) = (self.question.clone(), self.planned.clone().lower());
        match &self.tests {
            None => Circuit::new(&self.net, question, compiled),
            Some((expanded, stages)) => expanded.circuit(question, compiled, stages),
        }
    }

    /// The answer for one example: what the plan computes from evidence on the inputs.
    ///
    /// Inputs that were promised to have a value in every example must have one.
    pub fn answer(&self, evidence: &Evidence) -> Result<Answer> {
        let Compilation {
            net,
            question,
            planned,
            options,
            ..
        } = self;
        check_ids(net, evidence.iter().map(|(v, _)| v))?;
        if question.explain {
            return Err(no_posteriors());
        }
        if self.tests.is_some() {
            let error = Error::new(
                ErrorKind::Unsupported,
                "a plan answers only questions without tests",
            );
            return Err(error.hint("evaluate its circuit instead"));
        }
        let is_input = |v: VarId| {
            question.inputs.contains(v)
                || (question.targets.len() > 1 && question.targets.contains(v))
        };
        if let Some(stranger) = evidence.iter().map(|(v, _)| v).find(|&v| !is_input(v)) {
            let message = format!(
                "`{}` is not an input of this query",
                net.variable(stranger).name
            );
            return Err(Error::new(ErrorKind::Evidence, message)
                .hint("name it among the inputs when you plan"));
        }
        let has_value = |v: &VarId| matches!(evidence.get(*v), Some(Finding::Hard(_)));
        if let Some(promised) = question.hard.iter().find(|v| !has_value(v)) {
            let message = format!(
                "`{}` has no value, but was promised to have one",
                net.variable(promised).name
            );
            return Err(Error::new(ErrorKind::Evidence, message)
                .hint("give it a value, or plan it as an ordinary input"));
        }
        let asked = question.targets.iter().collect();
        Ok(Ready::new(net, question, asked, planned.clone().lower(), options)?.answer(evidence))
    }

    /// The plan by names, to start from another time.
    pub fn saved(&self) -> SavedPlan {
        self.planned.saved(&self.net)
    }

    /// The plan's tree, to be drawn.
    pub fn jointree(&self) -> Jointree {
        Jointree::new(&self.net, &self.planned)
    }

    /// The tensors of the circuit as a picture.
    pub fn graph_svg(&self) -> String {
        draw::graph_svg(&self.net, &self.circuit().graph)
    }

    /// The network with the inputs and targets of the query, in the language of Graphviz.
    pub fn network_dot(&self) -> String {
        draw::network_dot(self.asked, &self.question)
    }
}
