//! Brute force.

use crate::model::{Known, Model};
use crate::wide::Wide;

/// All that can be asked about a network and what is known of it.
pub struct Truth {
    /// P(e), or Z.
    pub evidence: Wide,
    /// The largest product.
    pub best: Wide,
    joints: Vec<Vec<Wide>>,
    families: Vec<Vec<Wide>>,
}

impl Truth {
    pub fn new(model: &Model, known: &Known) -> Self {
        let zeros = |count: usize| vec![Wide::ZERO; count];
        let mut truth = Truth {
            evidence: Wide::ZERO,
            best: Wide::ZERO,
            joints: model.cards.iter().map(|&card| zeros(card)).collect(),
            families: model
                .factors
                .iter()
                .map(|f| zeros(f.values.len()))
                .collect(),
        };
        model.each_state(known, |states, weight| {
            truth.evidence = truth.evidence + weight;
            truth.best = truth.best.max(weight);
            for (joint, &state) in truth.joints.iter_mut().zip(states) {
                joint[state] = joint[state] + weight;
            }
            for (factor, family) in model.factors.iter().zip(&mut truth.families) {
                let place = model.place(factor, states);
                family[place] = family[place] + weight;
            }
        });
        truth
    }

    pub fn is_impossible(&self) -> bool {
        self.evidence.is_zero()
    }

    /// P(v | e) for each value.
    pub fn posterior(&self, v: usize) -> Vec<f64> {
        self.share(&self.joints[v])
    }

    /// The marginal of each entry of a factor.
    pub fn family(&self, factor: usize) -> Vec<f64> {
        self.share(&self.families[factor])
    }

    fn share(&self, weights: &[Wide]) -> Vec<f64> {
        weights.iter().map(|w| w.over(self.evidence)).collect()
    }
}
