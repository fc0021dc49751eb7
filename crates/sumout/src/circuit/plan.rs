//! Plans a query without running it.

use std::time::Instant;

use super::Options;
use super::compiled::{Circuit, nothing_possible};
use crate::compile::draw::{self, Jointree};
use crate::compile::{self, Planned, Query, Question, Report, Search};
use crate::error::Result;
use crate::model::Network;

/// A query with a plan for it: what it costs, and how it looks.
#[derive(Clone, Debug)]
pub struct Compilation<'a> {
    net: &'a Network,
    question: Question,
    planned: Planned,
    report: Report,
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
        let question = query.question(self)?;
        let search = Search { thorough: true, ..options.search() };
        let start = Instant::now();
        let planned = compile::plan(self, &question, &search).ok_or_else(|| nothing_possible(self))?;
        let report = Report::new(self, &question, &planned, &search, start.elapsed());
        Ok(Compilation { net: self, question, planned, report })
    }
}

impl Compilation<'_> {
    /// What the plan costs.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The circuit of the plan.
    pub fn circuit(&self) -> Circuit {
        Circuit::new(self.net, self.question.clone(), self.planned.clone().lower())
    }

    /// The plan's tree, to be drawn.
    pub fn jointree(&self) -> Jointree {
        Jointree::new(self.net, &self.planned)
    }

    /// The network with the inputs and targets of the query, in the language of Graphviz.
    pub fn network_dot(&self) -> String {
        draw::network_dot(self.net, &self.question)
    }
}
