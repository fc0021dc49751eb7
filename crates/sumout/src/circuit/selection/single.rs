//! Selects the network for one example, literally: test by test, each on the network that is
//! selected so far.

use crate::circuit::Options;
use crate::circuit::selection::weighing;
use crate::error::Result;
use crate::model::{Evidence, Expanded, Finding, Network, Test, Testing};
use crate::tensor::select::Selector;
use crate::vars::VarId;

impl Network {
    /// The ordinary network that the tests of a testing network select for some evidence; none if
    /// the evidence that a test sees is impossible. A network without tests is what it is.
    ///
    /// See [`Builder::tested`](crate::Builder::tested) for an example of a testing network.
    pub fn selected(&self, evidence: &Evidence, options: &Options) -> Result<Option<Network>> {
        let selections = self.selections(evidence, options)?;
        Ok(selections
            .map(|all| self.with_selected(all.iter().map(|one| (one.tested, &one.weights[..])))))
    }

    /// What each test of a testing network sees, and what it selects, in the order of the tests;
    /// none if the evidence that a test sees is impossible. No tests select nothing.
    pub fn selections(
        &self,
        evidence: &Evidence,
        options: &Options,
    ) -> Result<Option<Vec<Selected>>> {
        let Some(Expanded { mut net, tests }) = self.expanded() else {
            return Ok(Some(vec![]));
        };
        let mut selected = vec![];
        for testing in &tests {
            let Some(seen) = testing.seen(&net, evidence, options)? else {
                return Ok(None);
            };
            let mut weights = vec![0.0; net.card(testing.input)];
            testing
                .selector(seen.len(), weights.len())
                .weigh(&seen, &mut weights);
            net = net.with_tables([(testing.selector, &weights[..])]);
            let posterior = testing.by_evidence().is_none().then_some(seen);
            selected.push(Selected {
                tested: testing.tested,
                posterior,
                weights,
            });
        }
        Ok(Some(selected))
    }
}

/// What a test has selected.
#[derive(Clone, Debug, PartialEq)]
pub struct Selected {
    /// The variable whose CPT is selected.
    pub tested: VarId,
    /// The posterior of the joint states of its parents, the last one fastest; none if the test is
    /// of evidence.
    pub posterior: Option<Vec<f64>>,
    /// For each joint state of the parents, how much of each copy the row is made of.
    pub weights: Vec<f64>,
}

impl Testing {
    /// What a test does with so many numbers, to get so many weights.
    fn selector(&self, seen: usize, weights: usize) -> Selector {
        let Test {
            copies, selection, ..
        } = &self.test;
        let gaps = selection
            .has_thresholds()
            .then(|| self.test.gaps(weights / copies));
        let tables = gaps.into_iter().chain([self.test.free()]).collect();
        Selector::new(weighing(selection), *copies, vec![seen], tables)
    }

    /// What a test sees: the posterior of the parents, or indicators of evidence; none if the
    /// evidence is impossible.
    fn seen(
        &self,
        net: &Network,
        evidence: &Evidence,
        options: &Options,
    ) -> Result<Option<Vec<f64>>> {
        if let Some(of) = self.by_evidence() {
            return Ok(Some(
                of.iter()
                    .flat_map(|&v| indicators(net, evidence, v))
                    .collect(),
            ));
        }
        let hidden = evidence
            .iter()
            .map(|(v, _)| v)
            .filter(|v| !self.sees.contains(*v));
        let seen = hidden.fold(evidence.clone(), |seen, v| seen.without(v));
        let answer = net.query(&[self.family], &seen, options)?;
        let family = answer.posteriors().first();
        Ok(family.map(|(_, posterior)| posterior.clone()))
    }
}

fn indicators(net: &Network, evidence: &Evidence, var: VarId) -> Vec<f64> {
    let card = net.card(var);
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
