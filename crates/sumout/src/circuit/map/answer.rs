//! The answer to a marginal MAP question.

use std::fmt;
use std::sync::Arc;

use crate::circuit::map::search::Found;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Variable;
use crate::vars::VarId;

/// The most probable values of some variables together, the others summed out: marginal MAP.
///
/// ```
/// use sumout::{Evidence, Network, Options};
///
/// let asia = Network::read("asia")?;
/// let evidence = Evidence::new().observe(&asia, "xray", "yes")?;
/// let asked = [asia.find("lung")?, asia.find("tub")?];
/// let map = asia.map(&asked, 1, &evidence, &Options::default())?;
/// assert_eq!(map.assignments()[0].0, [0, 1]); // lung=yes, tub=no
/// assert!(map.is_proved());
/// # Ok::<(), sumout::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct MarginalMap {
    /// Those of the network.
    all: Arc<Vec<Variable>>,
    asked: Vec<VarId>,
    best: Vec<(Vec<usize>, f64)>,
    bound: f64,
    log_evidence: f64,
    nodes: u64,
    is_proved: bool,
}

impl MarginalMap {
    pub(super) fn new(
        all: Arc<Vec<Variable>>,
        asked: Vec<VarId>,
        best: Vec<(Vec<usize>, f64)>,
        found: &Found,
    ) -> Self {
        MarginalMap {
            all,
            asked,
            best,
            bound: found.bound,
            log_evidence: found.log_evidence,
            nodes: found.nodes,
            is_proved: found.is_proved,
        }
    }

    /// The answer to evidence of probability zero.
    pub(crate) fn impossible(all: Arc<Vec<Variable>>, asked: Vec<VarId>) -> Self {
        MarginalMap {
            all,
            asked,
            best: vec![],
            bound: f64::NEG_INFINITY,
            log_evidence: f64::NEG_INFINITY,
            nodes: 0,
            is_proved: true,
        }
    }

    /// The variables that were asked for.
    pub fn variables(&self) -> &[VarId] {
        &self.asked
    }

    /// The best assignments in order: the positions of the values of the variables, and the logarithm of
    /// P(values, evidence). Nothing if the evidence is impossible, or nothing was found in time.
    pub fn assignments(&self) -> &[(Vec<usize>, f64)] {
        &self.best
    }

    /// P(values | evidence) of an assignment of [`assignments`](MarginalMap::assignments).
    pub fn posterior(&self, place: usize) -> Option<f64> {
        let (_, log) = self.best.get(place)?;
        Some((log - self.log_evidence).exp().min(1.0))
    }

    /// The value of a variable in the best assignment.
    pub fn value(&self, variable: &str) -> Result<&str> {
        let named = |v: &VarId| self.all[v.index()].name == variable;
        let (Some(at), Some((values, _))) = (self.asked.iter().position(named), self.best.first())
        else {
            let message = format!("there is no value of `{variable}`");
            return Err(Error::new(ErrorKind::Name, message)
                .hint("ask for it, given evidence that is possible"));
        };
        Ok(&self.all[self.asked[at].index()].values[values[at]])
    }

    /// An upper bound of the logarithm of P(values, evidence) of any assignment: that of the best
    /// one, if it is proved.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// Whether these are the best assignments; not if the search was stopped before it knew.
    pub fn is_proved(&self) -> bool {
        self.is_proved
    }

    /// How many partial assignments the search looked at.
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// ln P(e), in a Markov network ln Z(e); negative infinity if the evidence is impossible.
    pub fn log_evidence(&self) -> f64 {
        self.log_evidence
    }

    /// Whether the evidence has probability zero.
    pub fn is_impossible(&self) -> bool {
        self.log_evidence == f64::NEG_INFINITY
    }
}

/// A line for each variable, and one for the probability.
impl fmt::Display for MarginalMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((values, log)) = self.best.first() else {
            return writeln!(
                f,
                "the evidence is impossible, or nothing was found in time"
            );
        };
        for (v, &value) in self.asked.iter().zip(values) {
            let Variable { name, values } = &self.all[v.index()];
            writeln!(f, "{name}  {}", values[value])?;
        }
        let sign = if self.is_proved { "=" } else { "≥" };
        writeln!(f, "ln P {sign} {log:.4}")
    }
}
