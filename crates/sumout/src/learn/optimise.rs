//! Optimizers, and schedules of the learning rate.

use serde::{Deserialize, Serialize};

/// How a step follows from a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Optimizer {
    /// Adam: the step of each weight is scaled by the size of its recent gradients.
    Adam,
    /// Stochastic gradient descent with momentum.
    Sgd {
        /// The fraction of the previous step that is added, from 0 to less than 1.
        momentum: f64,
    },
}

/// A schedule of the learning rate: held at `first`, then decayed to `last`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearningRate {
    /// The initial learning rate.
    pub first: f64,
    /// The final learning rate.
    pub last: f64,
    /// The number of epochs after the first that keep the initial rate.
    pub hold: usize,
    /// The number of epochs over which the rate decays.
    pub over: usize,
    /// The exponent of the decay: 0 is constant, 1 linear, 3 cubic as in the paper.
    pub power: i32,
}

impl LearningRate {
    /// A constant learning rate.
    pub fn constant(rate: f64) -> Self {
        LearningRate {
            first: rate,
            last: rate,
            hold: 0,
            over: 1,
            power: 0,
        }
    }

    /// The paper's: from 0.05 to 0.005 in 100 epochs, cubic, after three epochs at the first rate.
    pub fn paper() -> Self {
        LearningRate {
            first: 0.05,
            last: 0.005,
            hold: 2,
            over: 100,
            power: 3,
        }
    }

    /// The learning rate of an epoch, counted from zero.
    pub fn at(&self, epoch: usize) -> f64 {
        let gone = epoch.saturating_sub(self.hold).min(self.over) as f64 / self.over.max(1) as f64;
        (self.first - self.last) * (1.0 - gone).powi(self.power) + self.last
    }
}

/// Running means of gradients and of their squares.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    steps: i32,
    first: Vec<f64>,
    second: Vec<f64>,
}

/// The decay rates of Adam's running means, and the number that keeps quotients finite.
const BETA: (f64, f64) = (0.9, 0.999);
const EPSILON: f64 = 1e-7;

impl Optimizer {
    /// Moves weights a step down their gradient.
    pub fn step(&self, weights: &mut [f64], gradient: &[f64], rate: f64, moments: &mut Moments) {
        moments.first.resize(weights.len(), 0.0);
        moments.second.resize(weights.len(), 0.0);
        moments.steps += 1;
        let means = moments.first.iter_mut().zip(&mut moments.second);
        let all = weights.iter_mut().zip(gradient).zip(means);
        match *self {
            Optimizer::Sgd { momentum } => all.for_each(|((weight, g), (m, _))| {
                *m = momentum * *m - rate * g;
                *weight += *m;
            }),
            Optimizer::Adam => {
                let rate = rate * (1.0 - BETA.1.powi(moments.steps)).sqrt()
                    / (1.0 - BETA.0.powi(moments.steps));
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
    fn both_optimizers_find_the_bottom_of_a_bowl() {
        for (optimizer, rate) in [
            (Optimizer::Adam, 0.1),
            (Optimizer::Sgd { momentum: 0.5 }, 0.1),
            (Optimizer::Sgd { momentum: 0.0 }, 0.1),
        ] {
            let (mut weights, mut moments) = (vec![3.0, -2.0], Moments::default());
            for _ in 0..500 {
                let gradient = [2.0 * (weights[0] - 1.0), 4.0 * (weights[1] + 1.0)];
                optimizer.step(&mut weights, &gradient, rate, &mut moments);
            }
            assert!(
                (weights[0] - 1.0).abs() < 1e-3 && (weights[1] + 1.0).abs() < 1e-3,
                "{optimizer:?} {weights:?}"
            );
        }
    }

    #[test]
    fn the_first_step_of_adam_is_the_rate() {
        let (mut weights, mut moments) = (vec![0.0, 0.0], Moments::default());
        Optimizer::Adam.step(&mut weights, &[1e3, -1e-3], 0.05, &mut moments);
        assert!(
            (weights[0] + 0.05).abs() < 1e-5 && (weights[1] - 0.05).abs() < 1e-3,
            "{weights:?}"
        );
    }

    #[test]
    fn the_papers_rates() {
        let rates = [0, 2, 3, 52, 102, 400].map(|epoch| LearningRate::paper().at(epoch));
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
        assert_eq!(LearningRate::constant(0.1).at(7), 0.1);
    }
}
