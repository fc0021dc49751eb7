//! The variables to observe next: the information that each is expected to give on a target.
//!
//! I(T; X | e) is the entropy of T given e, less the entropy of T that is expected once X is known.
//! A backward pass for a value t gives P(x | t, e) of all variables X at once: so a batch has as many
//! examples as the target has values, and that many for each joint value of those that will be
//! observed before.

use crate::circuit::batch::{Answers, Batch, Column};
use crate::circuit::once::question;
use crate::circuit::run::EvalOptions;
use crate::circuit::{Circuit, Options};
use crate::compile::{self, Goal, Planned, Question, Runs};
use crate::error::{Error, ErrorKind, Result, shortlist};
use crate::model::{Evidence, Finding, Network};
use crate::vars::VarId;

/// The most examples: the values of the target, times the joint values of what is observed before.
const MAX_EXAMPLES: usize = 1 << 14;

/// The uncertainty about a target, and by how much each of some variables is expected to reduce it.
/// See [`Network::information`].
#[derive(Clone, Debug, PartialEq)]
pub struct Information {
    entropy: f64,
    gains: Vec<(VarId, f64)>,
}

impl Information {
    /// The entropy of the target, in bits; expected, if something is observed before.
    pub fn entropy(&self) -> f64 {
        self.entropy
    }

    /// The mutual information of the target and each variable, in bits: the largest first.
    pub fn gains(&self) -> &[(VarId, f64)] {
        &self.gains
    }
}

impl Network {
    /// The expected reduction of a target's entropy by observing each of some variables, given some
    /// evidence and what will be observed `before`, whatever it turns out to be. If no variables are
    /// named, all that are not observed. None if the evidence is impossible.
    ///
    /// ```
    /// use sumout::{Evidence, Network, Options};
    ///
    /// let asia = Network::read("asia")?;
    /// let evidence = Evidence::new().observe(&asia, "dysp", "yes")?;
    /// let found = asia.information(asia.find("lung")?, &[], &[], &evidence, &Options::default())?.unwrap();
    /// let (best, bits) = found.gains()[0];
    /// assert_eq!(asia.variable(best).name, "either");
    /// assert!(bits < found.entropy());
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn information(
        &self,
        target: VarId,
        among: &[VarId],
        before: &[VarId],
        evidence: &Evidence,
        options: &Options,
    ) -> Result<Option<Information>> {
        let members = [before, &[target]].concat();
        self.check_ids(members.iter().chain(among).copied())?;
        let candidates = self.candidates(&members, among, evidence)?;
        let asked = Asked {
            net: self,
            members: &members,
            evidence,
        };
        let rows = asked.rows()?;
        let goal = Goal::posteriors(candidates.iter().copied().collect());
        let mut question = question(goal, evidence);
        question.inputs = &question.inputs | &members.iter().copied().collect();
        let Some(circuit) = asked.circuit(question, options)? else {
            return Ok(None);
        };
        let running = EvalOptions::precise().with_memory(options.memory);
        let batch = asked.batch(&circuit, rows)?;
        let answers = circuit.evaluator(&running)?.run(&batch)?;
        Ok(information(&answers, self.card(target)))
    }

    /// The variables that could be observed next.
    fn candidates(
        &self,
        members: &[VarId],
        among: &[VarId],
        evidence: &Evidence,
    ) -> Result<Vec<VarId>> {
        if self.has_selections() {
            let message = "information is not computed in testing networks";
            let error = Error::new(ErrorKind::Unsupported, message);
            return Err(error.hint("ask the network that is selected: `Network::selected`"));
        }
        let is_known = |v: &VarId| matches!(evidence.get(*v), Some(Finding::Hard(_)));
        let is_taken = |v: &VarId| members.contains(v) || is_known(v);
        let observed = members.iter().copied().filter(is_known);
        let twice = among.iter().copied().filter(is_taken).chain(observed);
        let wrong: Vec<&str> = twice.map(|v| &*self.variable(v).name).collect();
        if !wrong.is_empty() {
            let message = format!(
                "{} cannot be observed again, or asked for",
                shortlist(wrong)
            );
            let error = Error::new(ErrorKind::Options, message);
            return Err(error.hint("name variables that are neither given nor the target"));
        }
        let open: Vec<VarId> = self.ids().filter(|v| !is_taken(v)).collect();
        if open.is_empty() {
            let error = Error::new(ErrorKind::Options, "nothing is left to observe");
            return Err(error.hint("give less evidence"));
        }
        Ok(if among.is_empty() {
            open
        } else {
            among.to_vec()
        })
    }
}

/// The target, behind those that will be observed before.
struct Asked<'a> {
    net: &'a Network,
    members: &'a [VarId],
    evidence: &'a Evidence,
}

impl Asked<'_> {
    /// The number of joint values.
    fn rows(&self) -> Result<usize> {
        let cards = self.members.iter().map(|&v| self.net.card(v));
        let rows = cards.fold(1usize, |rows, card| rows.saturating_mul(card));
        if rows <= MAX_EXAMPLES {
            return Ok(rows);
        }
        let message = format!(
            "the target and what is observed before have more than {MAX_EXAMPLES} joint values"
        );
        let error = Error::new(ErrorKind::Memory, message);
        Err(error.hint("look fewer steps ahead"))
    }

    /// None if the evidence is impossible.
    fn circuit(&self, question: Question, options: &Options) -> Result<Option<Circuit>> {
        let model = self.net.model();
        let planned = compile::plan(model, &question, &options.search(Runs::Once));
        options.control.check()?;
        let compiled = planned.map(Planned::lower);
        Ok(compiled.map(|compiled| Circuit::new(model, question, compiled)))
    }

    /// An example for each joint value, the target's value fastest.
    fn batch(&self, circuit: &Circuit, rows: usize) -> Result<Batch> {
        let mut batch = Batch::new(rows);
        let mut stride = 1;
        for &v in self.members.iter().rev() {
            let card = self.net.card(v);
            let weight = |value: usize| match self.evidence.get(v) {
                Some(Finding::Soft(likelihood)) => likelihood[value],
                _ => 1.0,
            };
            let numbers = (0..rows).flat_map(|row| {
                let value = row / stride % card;
                (0..card).map(move |x| if x == value { 1.0 } else { 0.0 })
            });
            let numbers = numbers.enumerate().map(|(at, x)| x * weight(at % card));
            batch.insert(circuit, v, Column::Likelihoods(numbers.collect()))?;
            stride *= card;
        }
        for (v, finding) in self
            .evidence
            .iter()
            .filter(|(v, _)| !self.members.contains(v))
        {
            if let Finding::Soft(likelihood) = finding {
                let numbers = likelihood.repeat(rows);
                batch.insert(circuit, v, Column::Likelihoods(numbers))?;
            }
        }
        Ok(batch)
    }
}

/// From P(x | t, c, e) and P(t, c, e); none if nothing is possible.
fn information(answers: &Answers, card: usize) -> Option<Information> {
    let logs = answers.log_evidence.iter().copied();
    let most = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return None;
    }
    let weights: Vec<f64> = logs.map(|log| (log - most).exp()).collect();
    let total: f64 = weights.iter().sum();
    let bits = |nats: f64| nats / total / std::f64::consts::LN_2;
    let entropy = weights.chunks_exact(card).map(spread).sum::<f64>();
    let mut gains = vec![];
    let mut start = 0;
    for &(v, values) in &answers.targets {
        let of_value = |x: usize| {
            let joint = weights.iter().enumerate();
            let joint: Vec<f64> = joint
                .map(|(row, w)| w * answers.row(row)[start + x])
                .collect();
            joint.chunks_exact(card).map(spread).sum::<f64>()
        };
        let left: f64 = (0..values).map(of_value).sum();
        gains.push((v, bits((entropy - left).max(0.0))));
        start += values;
    }
    gains.sort_by(|a, b| b.1.total_cmp(&a.1));
    Some(Information {
        entropy: bits(entropy),
        gains,
    })
}

/// The entropy of some weights, times their sum, in nats.
fn spread(weights: &[f64]) -> f64 {
    let total: f64 = weights.iter().sum();
    let positive = weights.iter().filter(|w| **w > 0.0);
    positive.map(|w| -w * (w / total).ln()).sum()
}
