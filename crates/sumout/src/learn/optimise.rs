//! Steps down a gradient, and how their length changes with time.

use serde::{Deserialize, Serialize};

/// How a step follows from a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Rule {
    /// Steps of about the same length for every weight, whatever the length of its gradient.
    Adam,
    /// Steps along the gradient, with this share of the step before.
    Sgd {
        /// The share of the step before, from 0 to less than 1.
        momentum: f64,
    },
}

/// How steps become shorter: the rate of an epoch, from `first` to `last`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decay {
    /// The rate of the first epoch.
    pub first: f64,
    /// The rate that it ends with.
    pub last: f64,
    /// Epochs at the first rate, after the one that begins.
    pub hold: usize,
    /// Epochs from the first rate to the last.
    pub over: usize,
    /// 0 keeps the first rate, 1 goes straight down, 3 as the paper does.
    pub power: i32,
}

impl Decay {
    /// A rate that stays what it is.
    pub fn constant(rate: f64) -> Self {
        Decay {
            first: rate,
            last: rate,
            hold: 0,
            over: 1,
            power: 0,
        }
    }

    /// The paper's: from 0.05 to 0.005 in 100 epochs, cubic, after three epochs at the first rate.
    pub fn paper() -> Self {
        Decay {
            first: 0.05,
            last: 0.005,
            hold: 2,
            over: 100,
            power: 3,
        }
    }

    /// The rate of an epoch, counted from zero.
    pub fn rate(&self, epoch: usize) -> f64 {
        let gone = epoch.saturating_sub(self.hold).min(self.over) as f64 / self.over.max(1) as f64;
        (self.first - self.last) * (1.0 - gone).powi(self.power) + self.last
    }
}

/// What a rule remembers of the steps before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    steps: i32,
    first: Vec<f64>,
    second: Vec<f64>,
}

/// Adam's: how long gradients and their squares are remembered, and what keeps quotients finite.
const BETA: (f64, f64) = (0.9, 0.999);
const EPSILON: f64 = 1e-7;

impl Rule {
    /// Moves weights a step down their gradient.
    pub fn step(&self, weights: &mut [f64], gradient: &[f64], rate: f64, memory: &mut Memory) {
        memory.first.resize(weights.len(), 0.0);
        memory.second.resize(weights.len(), 0.0);
        memory.steps += 1;
        let moments = memory.first.iter_mut().zip(&mut memory.second);
        let all = weights.iter_mut().zip(gradient).zip(moments);
        match *self {
            Rule::Sgd { momentum } => all.for_each(|((weight, g), (m, _))| {
                *m = momentum * *m - rate * g;
                *weight += *m;
            }),
            Rule::Adam => {
                let rate = rate * (1.0 - BETA.1.powi(memory.steps)).sqrt()
                    / (1.0 - BETA.0.powi(memory.steps));
                all.for_each(|((weight, g), (m, v))| {
                    *m += (1.0 - BETA.0) * (g - *m);
                    *v += (1.0 - BETA.1) * (g * g - *v);
                    *weight -= rate * *m / (v.sqrt() + EPSILON);
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_rules_find_the_bottom_of_a_bowl() {
        for (rule, rate) in [
            (Rule::Adam, 0.1),
            (Rule::Sgd { momentum: 0.5 }, 0.1),
            (Rule::Sgd { momentum: 0.0 }, 0.1),
        ] {
            let (mut weights, mut memory) = (vec![3.0, -2.0], Memory::default());
            for _ in 0..500 {
                let gradient = [2.0 * (weights[0] - 1.0), 4.0 * (weights[1] + 1.0)];
                rule.step(&mut weights, &gradient, rate, &mut memory);
            }
            assert!(
                (weights[0] - 1.0).abs() < 1e-3 && (weights[1] + 1.0).abs() < 1e-3,
                "{rule:?} {weights:?}"
            );
        }
    }

    #[test]
    fn the_first_step_of_adam_is_the_rate() {
        let (mut weights, mut memory) = (vec![0.0, 0.0], Memory::default());
        Rule::Adam.step(&mut weights, &[1e3, -1e-3], 0.05, &mut memory);
        assert!(
            (weights[0] + 0.05).abs() < 1e-5 && (weights[1] - 0.05).abs() < 1e-3,
            "{weights:?}"
        );
    }

    #[test]
    fn the_papers_rates() {
        let rates = [0, 2, 3, 52, 102, 400].map(|epoch| Decay::paper().rate(epoch));
        let expected = [
            0.05,
            0.05,
            0.045 * 0.99f64.powi(3) + 0.005,
            0.045 * 0.125 + 0.005,
            0.005,
            0.005,
        ];
        assert!(
            rates
                .iter()
                .zip(expected)
                .all(|(rate, e)| (rate - e).abs() < 1e-12),
            "{rates:?}"
        );
        assert_eq!(Decay::constant(0.1).rate(7), 0.1);
    }
}
