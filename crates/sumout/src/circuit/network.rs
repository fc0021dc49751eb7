//! The questions that a network answers: one at a time, or compiled for any number of examples.

use crate::circuit::compiled::Circuit;
use crate::circuit::plan::Compilation;
use crate::circuit::selection::{self, Selected};
use crate::circuit::{Answer, Explanation, MarginalMap, Options, joint, map, near, once};
use crate::compile::plan::saved::{PlanStart, SavedPlan};
use crate::compile::{Goal, Query, Question};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Evidence, Network};
use crate::vars::VarId;

impl Network {
    /// The posterior of each target given the evidence; of all variables if there are no targets.
    /// Of a testing network, in the network that the evidence selects.
    ///
    /// ```
    /// use sumout::{Evidence, Network, Options};
    ///
    /// let asia = Network::read("asia")?;
    /// let evidence = Evidence::new().observe(&asia, "xray", "yes")?.observe(&asia, "dysp", "no")?;
    /// let answer = asia.query(&[asia.find("lung")?], &evidence, &Options::default())?;
    /// assert!((answer.probability("lung", "yes")? - 0.2523).abs() < 1e-4);
    /// assert!((answer.log_evidence().exp() - 0.03962).abs() < 1e-5);
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn query(
        &self,
        targets: &[VarId],
        evidence: &Evidence,
        options: &Options,
    ) -> Result<Answer> {
        self.check_ids(targets.iter().copied())?;
        match self.selected(evidence, options)? {
            Some(net) => once::posteriors(net.model(), targets, evidence, options),
            None => Ok(Answer::impossible(self.model().shared_variables())),
        }
    }

    /// The joint posterior of several targets given the evidence, as that of one variable whose
    /// name is all of theirs.
    ///
    /// ```
    /// use sumout::{Evidence, Network, Options};
    ///
    /// let asia = Network::read("asia")?;
    /// let evidence = Evidence::new().observe(&asia, "xray", "yes")?;
    /// let targets = [asia.find("lung")?, asia.find("tub")?];
    /// let answer = asia.query_joint(&targets, &evidence, &Options::default())?;
    /// assert!((answer.probability("lung,tub", "yes,no")? - 0.4836).abs() < 1e-4);
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn query_joint(
        &self,
        targets: &[VarId],
        evidence: &Evidence,
        options: &Options,
    ) -> Result<Answer> {
        self.check_ids(targets.iter().copied())?;
        joint::check(self.model(), targets)?;
        match self.selected(evidence, options)? {
            Some(net) => once::joint(net.model(), targets, evidence, options),
            None => Ok(Answer::impossible(self.model().shared_variables())),
        }
    }

    /// The most probable assignment of values to all variables given the evidence.
    ///
    /// ```
    /// use sumout::{Evidence, Network, Options};
    ///
    /// let asia = Network::read("asia")?;
    /// let evidence = Evidence::new().observe(&asia, "xray", "yes")?;
    /// let explanation = asia.mpe(&evidence, &Options::default())?;
    /// assert_eq!(explanation.value("lung")?, "yes");
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn mpe(&self, evidence: &Evidence, options: &Options) -> Result<Explanation> {
        match self.selected(evidence, options)? {
            Some(net) => once::explanation(net.model(), evidence, options),
            None => Ok(Explanation::impossible(self.model().shared_variables())),
        }
    }

    /// The most probable assignments of values to all variables given the evidence, in order, at
    /// most `count`: each with its [probability](Explanation::posterior) given the evidence.
    /// Nothing if the evidence is impossible.
    ///
    /// ```
    /// use sumout::{Evidence, Network, Options};
    ///
    /// let asia = Network::read("asia")?;
    /// let evidence = Evidence::new().observe(&asia, "xray", "yes")?;
    /// let best = asia.explanations(3, &evidence, &Options::default())?;
    /// assert!(best[0].posterior() >= best[2].posterior());
    /// assert_eq!(best[0].rank(), Some(1));
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn explanations(
        &self,
        count: usize,
        evidence: &Evidence,
        options: &Options,
    ) -> Result<Vec<Explanation>> {
        match self.selected(evidence, options)? {
            Some(net) => once::explanations(net.model(), count, evidence, options),
            None => Ok(vec![]),
        }
    }

    /// Marginal MAP: the most probable values of some variables together, the others summed out; at
    /// most `count` assignments in order. See [`MarginalMap`] for an example.
    ///
    /// If the search is [stopped](Options::with_control), the best so far and an upper bound are
    /// the answer.
    pub fn map(
        &self,
        variables: &[VarId],
        count: usize,
        evidence: &Evidence,
        options: &Options,
    ) -> Result<MarginalMap> {
        self.check_ids(variables.iter().copied())?;
        match self.selected(evidence, options)? {
            Some(net) => map::map(net.model(), variables, count, evidence, options),
            None => {
                let all = self.model().shared_variables();
                Ok(MarginalMap::impossible(all, variables.to_vec()))
            }
        }
    }

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
    /// assert_eq!(plan.report().chosen().max_cluster_rank(), 3);
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn plan(&self, query: &Query, options: &Options) -> Result<Compilation<'_>> {
        Compilation::new(self, self.question(query, options)?, options, None)
    }

    /// Plans from a saved plan: the plan found is never worse than that one, and without any
    /// [effort](Options::effort) it is that one.
    pub fn plan_from(
        &self,
        query: &Query,
        options: &Options,
        saved: &SavedPlan,
    ) -> Result<Compilation<'_>> {
        self.plan_starting(query, options, &PlanStart::Plan(saved.clone()))
    }

    /// Plans from the plan that sums variables out in this order, as [`Network::plan_from`] does
    /// from a saved one.
    pub fn plan_in_order(
        &self,
        query: &Query,
        options: &Options,
        order: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Compilation<'_>> {
        let order = order.into_iter().map(Into::into).collect();
        self.plan_starting(query, options, &PlanStart::Order(order))
    }

    fn plan_starting(
        &self,
        query: &Query,
        options: &Options,
        start: &PlanStart,
    ) -> Result<Compilation<'_>> {
        Compilation::new(self, self.question(query, options)?, options, Some(start))
    }

    /// Compiles a query into the circuit of its [plan](Network::plan), which also reports the error
    /// of an [approximation](Options::near).
    pub fn compile(&self, query: &Query, options: &Options) -> Result<Circuit> {
        Ok(self.plan(query, options)?.into_circuit())
    }

    /// The ordinary network that the tests of a testing network select for some evidence; none if
    /// the evidence that a test sees is impossible. A network without tests selects itself.
    ///
    /// See [`Builder::selected`](crate::Builder::selected) for an example of a testing network.
    pub fn selected(&self, evidence: &Evidence, options: &Options) -> Result<Option<Network>> {
        let Some(all) = self.selections(evidence, options)? else {
            return Ok(None);
        };
        let weights = all.iter().map(|one| (one.variable, &one.weights[..]));
        Ok(Some(self.with_selected(weights)))
    }

    /// The posterior that each test of a testing network sees, and its selection, in the order of
    /// the tests; none if the evidence that a test sees is impossible. A network without tests
    /// selects nothing.
    pub fn selections(
        &self,
        evidence: &Evidence,
        options: &Options,
    ) -> Result<Option<Vec<Selected>>> {
        self.check_ids(evidence.iter().map(|(v, _)| v))?;
        selection::select(self.expanded(), evidence, options)
    }

    /// A query as a question to this network. Explanations are exact.
    fn question(&self, query: &Query, options: &Options) -> Result<Question> {
        near::check(options.near)?;
        let question = query.question(self)?;
        if let Goal::Joint(targets) = &question.goal {
            joint::check(self.model(), targets)?;
        }
        let is_exact = question.goal.is_explanation();
        Ok(Question {
            near: if is_exact { 0.0 } else { options.near },
            ..question
        })
    }

    /// Refuses ids that another network gave.
    pub(crate) fn check_ids(&self, mut ids: impl Iterator<Item = VarId>) -> Result<()> {
        let Some(stranger) = ids.find(|v| v.index() >= self.variables().len()) else {
            return Ok(());
        };
        let message = format!(
            "{stranger:?} is not a variable of network `{}`",
            self.name()
        );
        Err(Error::new(ErrorKind::Name, message).hint("an id belongs to the network that gave it"))
    }
}
