//! Selects the network for one example, literally: test by test, each on the network that is
//! selected so far.

use std::sync::Arc;

use crate::circuit::selection::weighing;
use crate::circuit::{Options, once};
use crate::error::Result;
use crate::model::{Evidence, Expanded, FactorModel, Finding, Selection, SelectionNode};
use crate::tensor::select::Selector;
use crate::vars::VarId;

/// The input and the selection of each test; none if the evidence that a test sees is impossible.
pub(crate) fn select(
    expanded: Expanded,
    evidence: &Evidence,
    options: &Options,
) -> Result<Option<Vec<Selected>>> {
    let Expanded { mut model, nodes } = expanded;
    let mut selected = vec![];
    for node in &nodes {
        let Some(seen) = node.seen(&model, evidence, options)? else {
            return Ok(None);
        };
        let mut weights = vec![0.0; model.card(node.input)];
        node.selector(seen.len(), weights.len())
            .weigh(&seen, &mut weights);
        Arc::make_mut(&mut model).set_table(node.selector, &weights);
        let posterior = node.by_evidence().is_none().then_some(seen);
        selected.push(Selected {
            variable: node.selected,
            posterior,
            weights,
        });
    }
    Ok(Some(selected))
}

/// The selection of a test.
#[derive(Clone, Debug, PartialEq)]
pub struct Selected {
    /// The variable whose CPT is selected.
    pub(crate) variable: VarId,
    /// The posterior of the joint states of its parents, the last one fastest; none if
    /// evidence selects.
    pub(crate) posterior: Option<Vec<f64>>,
    /// For each joint state of the parents, how much of each copy the row is made of.
    pub(crate) weights: Vec<f64>,
}

impl Selected {
    /// The variable whose CPT is selected.
    pub fn variable(&self) -> VarId {
        self.variable
    }

    /// The posterior of the joint states of its parents, the last one fastest; none if evidence
    /// selects.
    pub fn posterior(&self) -> Option<&[f64]> {
        self.posterior.as_deref()
    }

    /// For each joint state of the parents, how much of each copy the row is made of.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }
}

impl SelectionNode {
    /// Makes weights of what is seen, from and to this number of numbers.
    fn selector(&self, seen: usize, weights: usize) -> Selector {
        let Selection { copies, kind, .. } = &self.selection;
        let gaps = kind
            .has_thresholds()
            .then(|| self.selection.gaps(weights / copies));
        let tables = gaps.into_iter().chain([self.selection.free()]).collect();
        Selector::new(weighing(kind), *copies, vec![seen], tables)
    }

    /// The input of a test: the posterior of the parents, or indicators of evidence; none if the
    /// evidence is impossible.
    fn seen(
        &self,
        model: &FactorModel,
        evidence: &Evidence,
        options: &Options,
    ) -> Result<Option<Vec<f64>>> {
        if let Some(of) = self.by_evidence() {
            return Ok(Some(
                of.iter()
                    .flat_map(|&v| indicators(model, evidence, v))
                    .collect(),
            ));
        }
        let hidden = evidence
            .iter()
            .map(|(v, _)| v)
            .filter(|v| !self.sees.contains(*v));
        let seen = hidden.fold(evidence.clone(), |seen, v| seen.without(v));
        let answer = once::posteriors(model, &[self.family], &seen, options)?;
        let family = answer.posteriors().first();
        Ok(family.map(|(_, posterior)| posterior.clone()))
    }
}

fn indicators(model: &FactorModel, evidence: &Evidence, var: VarId) -> Vec<f64> {
    let card = model.card(var);
    let numbers = match evidence.get(var) {
        None => vec![1.0; card],
        Some(Finding::Hard(value)) => (0..card)
            .map(|v| f64::from(u8::from(v == *value)))
            .collect(),
        Some(Finding::Soft(likelihood)) => likelihood.clone(),
    };
    let largest = numbers.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let numbers: Vec<f64> = numbers.into_iter().map(|x| x / largest).collect(); // whose sum is a number
    let total: f64 = numbers.iter().sum();
    numbers
        .into_iter()
        .map(|x| {
            if total > 0.0 {
                x / total
            } else {
                1.0 / card as f64
            }
        })
        .collect()
}
