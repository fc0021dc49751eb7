//! Answers to single questions, read by the names of variables and values.

use std::fmt;
use std::sync::Arc;

use crate::compile::report::Near;
use crate::error::{Error, ErrorKind, Result, did_you_mean};
use crate::model::Variable;
use crate::vars::VarId;

/// Posterior probabilities, and the probability of the evidence.
///
/// ```
/// use sumout::{Evidence, Network, Options};
///
/// let asia = Network::read("asia")?;
/// let evidence = Evidence::new().observe(&asia, "xray", "yes")?.observe(&asia, "dysp", "no")?;
/// let answer = asia.query(&[asia.find("lung")?], &evidence, &Options::default())?;
/// assert!((answer.probability("lung", "yes")? - 0.2523).abs() < 1e-4);
/// assert_eq!(answer.to_string(), "lung  yes  0.2523\n      no   0.7477\nln P(evidence) = -3.2284\n");
/// # Ok::<(), sumout::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Answer {
    /// Those of the network.
    variables: Arc<Vec<Variable>>,
    posteriors: Vec<(VarId, Vec<f64>)>,
    log_evidence: f64,
    near: Option<Near>,
}

impl Answer {
    pub(crate) fn new(
        variables: Arc<Vec<Variable>>,
        posteriors: Vec<(VarId, Vec<f64>)>,
        log_evidence: f64,
    ) -> Self {
        Answer {
            variables,
            posteriors,
            log_evidence,
            near: None,
        }
    }

    /// The answer to evidence of probability zero.
    pub(crate) fn impossible(variables: Arc<Vec<Variable>>) -> Self {
        Answer::new(variables, vec![], f64::NEG_INFINITY)
    }

    pub(crate) fn with_near(self, near: Near) -> Self {
        Answer {
            near: Some(near),
            ..self
        }
    }

    /// The answer without the posteriors of other variables than these.
    pub fn only(mut self, targets: &[VarId]) -> Self {
        self.posteriors.retain(|(v, _)| targets.contains(v));
        self
    }

    /// For each target, in the order asked, the probability of each of its values. Nothing if the
    /// evidence is impossible.
    pub fn posteriors(&self) -> &[(VarId, Vec<f64>)] {
        &self.posteriors
    }

    /// The probability of each value of a target.
    pub fn of(&self, target: &str) -> Result<&[f64]> {
        let var = find(&self.variables, target)?;
        if self.is_impossible() {
            return Err(impossible());
        }
        let found = self.posteriors.iter().find(|(v, _)| *v == var);
        let found = found.ok_or_else(|| {
            let error = Error::new(ErrorKind::Name, format!("`{target}` was not asked for"));
            error.hint("name it among the targets of the query")
        });
        found.map(|(_, posterior)| &posterior[..])
    }

    /// The probability of a value of a target.
    pub fn probability(&self, target: &str, value: &str) -> Result<f64> {
        let posterior = self.of(target)?;
        let variable = &self.variables[find(&self.variables, target)?.index()];
        Ok(posterior[variable.position(value)?])
    }

    /// ln P(e), in a Markov network ln Z(e); negative infinity if the evidence is impossible.
    pub fn log_evidence(&self) -> f64 {
        self.log_evidence
    }

    /// The error estimate, if an approximation was allowed.
    pub fn near(&self) -> Option<&Near> {
        self.near.as_ref()
    }

    /// Whether the evidence has probability zero.
    pub fn is_impossible(&self) -> bool {
        self.log_evidence == f64::NEG_INFINITY
    }
}

/// A line for each value, and one for the evidence; probabilities have four digits behind the
/// point, or as many as are asked for (`{answer:.6}`).
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_impossible() {
            return writeln!(f, "the evidence is impossible");
        }
        let digits = f.precision().unwrap_or(4);
        let asked = || {
            self.posteriors
                .iter()
                .map(|(v, _)| &self.variables[v.index()])
        };
        let names = width(asked().map(|variable| &variable.name));
        let values = width(asked().flat_map(|variable| &variable.values));
        for (variable, (_, posterior)) in asked().zip(&self.posteriors) {
            let mut name = variable.name.as_str();
            for (value, p) in variable.values.iter().zip(posterior) {
                writeln!(f, "{name:names$}  {value:values$}  {p:.digits$}")?;
                name = "";
            }
        }
        writeln!(f, "ln P(evidence) = {:.digits$}", self.log_evidence)
    }
}

/// A most probable explanation.
///
/// ```
/// use sumout::{Evidence, Network, Options};
///
/// let asia = Network::read("asia")?;
/// let evidence = Evidence::new().observe(&asia, "xray", "yes")?;
/// let explanation = asia.mpe(&evidence, &Options::default())?;
/// assert_eq!(explanation.value("lung")?, "yes");
/// assert!(explanation.to_string().starts_with("asia    no\ntub     no\n"));
/// # Ok::<(), sumout::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Explanation {
    /// Those of the network.
    variables: Arc<Vec<Variable>>,
    assignment: Option<Vec<usize>>,
    log_probability: f64,
    ranked: Option<Ranked>,
}

/// The place of an explanation among others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ranked {
    pub rank: usize,
    /// Whether an equally probable one was left out.
    pub is_cut: bool,
    pub log_evidence: f64,
}

impl Explanation {
    pub(crate) fn new(
        variables: Arc<Vec<Variable>>,
        assignment: Vec<usize>,
        log_probability: f64,
    ) -> Self {
        Explanation {
            variables,
            assignment: Some(assignment),
            log_probability,
            ranked: None,
        }
    }

    /// The explanation of evidence of probability zero.
    pub(crate) fn impossible(variables: Arc<Vec<Variable>>) -> Self {
        Explanation {
            variables,
            assignment: None,
            log_probability: f64::NEG_INFINITY,
            ranked: None,
        }
    }

    pub(crate) fn ranked(self, ranked: Ranked) -> Self {
        Explanation {
            ranked: Some(ranked),
            ..self
        }
    }

    /// The rank among the [best explanations](crate::Network::explanations), from 1; those that are
    /// equally probable share a rank. None if only one was asked for.
    pub fn rank(&self) -> Option<usize> {
        self.ranked.map(|ranked| ranked.rank)
    }

    /// Whether an equally probable explanation was left out, because no more were asked for.
    pub fn is_tied_beyond(&self) -> bool {
        self.ranked.is_some_and(|ranked| ranked.is_cut)
    }

    /// P(assignment | evidence). None if only one explanation was asked for.
    pub fn posterior(&self) -> Option<f64> {
        let ranked = self.ranked?;
        Some((self.log_probability - ranked.log_evidence).exp().min(1.0))
    }

    /// The position of the value of each variable; none if the evidence is impossible.
    pub fn assignment(&self) -> Option<&[usize]> {
        self.assignment.as_deref()
    }

    /// The value of a variable.
    pub fn value(&self, variable: &str) -> Result<&str> {
        let index = find(&self.variables, variable)?.index();
        let assignment = self.assignment().ok_or_else(impossible)?;
        Ok(&self.variables[index].values[assignment[index]])
    }

    /// The logarithm of the assignment's probability (with soft evidence: times its likelihood).
    pub fn log_probability(&self) -> f64 {
        self.log_probability
    }

    /// Whether the evidence has probability zero.
    pub fn is_impossible(&self) -> bool {
        self.assignment.is_none()
    }
}

/// A line for each variable, and one for the probability.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(assignment) = &self.assignment else {
            return writeln!(f, "the evidence is impossible");
        };
        let digits = f.precision().unwrap_or(4);
        let names = width(self.variables.iter().map(|variable| &variable.name));
        for (Variable { name, values }, &value) in self.variables.iter().zip(assignment) {
            writeln!(f, "{name:names$}  {}", values[value])?;
        }
        writeln!(f, "ln P = {:.digits$}", self.log_probability)
    }
}

fn find(variables: &[Variable], name: &str) -> Result<VarId> {
    let found = variables.iter().position(|variable| variable.name == name);
    found.map(VarId::new).ok_or_else(|| {
        let message = format!("the network has no variable `{name}`");
        let error = Error::new(ErrorKind::Name, message);
        match did_you_mean(name, variables.iter().map(|v| v.name.as_str())) {
            Some(meant) => error.hint(meant),
            None => error,
        }
    })
}

fn impossible() -> Error {
    Error::new(
        ErrorKind::Evidence,
        "the evidence is impossible: nothing follows from it",
    )
}

/// The length of the longest of some names.
fn width<'n>(names: impl Iterator<Item = &'n String>) -> usize {
    let lengths = names.map(|name| name.chars().count());
    lengths.max().unwrap_or(0)
}
