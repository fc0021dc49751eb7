//! Losses of one example: functions of the posterior p of a target, of its label y, and of ln P(e).
//!
//! The circuit computes out(k) = P(k, e), and all that its backward pass needs to know of a loss is
//! g(k) = ∂L / ∂ln out(k):
//!
//! ```text
//! cross entropy   L = -Σ y(k) ln p(k)      g(j) = p(j) Σ y - y(j)
//! squared error   L = Σ (p(k) - y(k))²     g(j) = 2 p(j) (d(j) - Σ p(k) d(k)),  d = p - y
//! likelihood      L = -ln P(e)             g(j) = -p(j)
//! ```

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// A weighted sum of losses.
///
/// Cross entropy and likelihood with equal weights are the likelihood of evidence and label
/// together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// The weight of the cross entropy of posterior and label.
    pub cross_entropy: f64,
    /// The weight of the squared distance of posterior and label.
    pub squared_error: f64,
    /// The weight of -ln P(e).
    pub likelihood: f64,
}

/// A probability of zero counts as this in the cross entropy, and is not improved.
pub const ZERO: f64 = f32::EPSILON as f64;

impl Default for Loss {
    fn default() -> Self {
        Loss {
            cross_entropy: 1.0,
            squared_error: 0.0,
            likelihood: 0.0,
        }
    }
}

impl Loss {
    /// The negative log-likelihood alone.
    pub fn likelihood() -> Self {
        Loss {
            cross_entropy: 0.0,
            squared_error: 0.0,
            likelihood: 1.0,
        }
    }

    /// A sum of losses by their names, each with a weight; the others have weight zero.
    pub fn weighted<'n>(weights: impl IntoIterator<Item = (&'n str, f64)>) -> Result<Self> {
        let mut loss = Loss {
            likelihood: 0.0,
            ..Loss::likelihood()
        };
        for (name, weight) in weights {
            let to = match name {
                "cross_entropy" => &mut loss.cross_entropy,
                "squared_error" => &mut loss.squared_error,
                "likelihood" => &mut loss.likelihood,
                _ => {
                    let error = Error::new(ErrorKind::Name, format!("there is no loss `{name}`"));
                    return Err(error.hint("use cross_entropy, squared_error or likelihood"));
                }
            };
            if !(weight.is_finite() && weight >= 0.0) {
                let what = format!("the weight of the loss `{name}` is {weight}");
                let error = Error::new(ErrorKind::Options, what);
                return Err(error.hint("weights are finite and not negative"));
            }
            *to = weight;
        }
        Ok(loss)
    }

    /// Whether labels count.
    pub fn needs_labels(&self) -> bool {
        self.cross_entropy != 0.0 || self.squared_error != 0.0
    }

    /// The loss of an example; without a label, only the likelihood counts.
    pub fn value(&self, posterior: &[f64], log_evidence: f64, label: Option<&[f64]>) -> f64 {
        let mut value = if self.likelihood == 0.0 {
            0.0
        } else {
            -self.likelihood * log_evidence
        };
        if let Some(label) = label {
            let terms = || posterior.iter().zip(label);
            let entropy = terms()
                .filter(|(_, y)| **y > 0.0)
                .map(|(p, y)| -y * if *p > 0.0 { *p } else { ZERO }.ln());
            value += self.cross_entropy * entropy.sum::<f64>();
            value += self.squared_error * terms().map(|(p, y)| (p - y).powi(2)).sum::<f64>();
        }
        value
    }

    /// Adds g(k), times a weight, for each value k.
    pub fn derive(&self, posterior: &[f64], label: Option<&[f64]>, weight: f64, to: &mut [f64]) {
        to.iter_mut()
            .zip(posterior)
            .for_each(|(to, p)| *to -= weight * self.likelihood * p);
        let Some(label) = label else { return };
        let counted = |p: f64, y: f64| if p > 0.0 { y } else { 0.0 };
        let total: f64 = posterior
            .iter()
            .zip(label)
            .map(|(&p, &y)| counted(p, y))
            .sum();
        let mean: f64 = posterior
            .iter()
            .zip(label)
            .map(|(p, y)| 2.0 * p * (p - y))
            .sum();
        for ((to, &p), &y) in to.iter_mut().zip(posterior).zip(label) {
            let entropy = p * total - counted(p, y);
            let squares = p * (2.0 * (p - y) - mean);
            *to += weight * (self.cross_entropy * entropy + self.squared_error * squares);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_are_those_of_the_value() {
        let loss = Loss {
            cross_entropy: 0.7,
            squared_error: 1.3,
            likelihood: 0.2,
        };
        let (out, label) = ([0.3f64, 0.02, 0.5], [0.25, 0.5, 0.25]);
        let value = |out: &[f64]| {
            let total: f64 = out.iter().sum();
            let posterior: Vec<f64> = out.iter().map(|x| x / total).collect();
            loss.value(&posterior, total.ln(), Some(&label))
        };
        let total: f64 = out.iter().sum();
        let mut found = [0.0; 3];
        loss.derive(&out.map(|x| x / total), Some(&label), 1.0, &mut found);
        for k in 0..3 {
            let moved = |h: f64| {
                let mut out = out;
                out[k] *= h.exp();
                value(&out)
            };
            let expected = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!(
                (found[k] - expected).abs() < 1e-9,
                "{k}: {} {expected}",
                found[k]
            );
        }
    }

    #[test]
    fn a_label_of_probability_zero_costs_much_and_moves_nothing() {
        let loss = Loss::default();
        let mut found = [0.0; 2];
        loss.derive(&[1.0, 0.0], Some(&[0.0, 1.0]), 1.0, &mut found);
        assert_eq!(found, [0.0; 2]);
        assert_eq!(loss.value(&[1.0, 0.0], 0.0, Some(&[0.0, 1.0])), -ZERO.ln());
    }
}
