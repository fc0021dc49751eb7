//! Means over cells.

use serde_json::{Value, json};
use sumout::compile::paper::printed::Mean;

/// The mean and the standard deviation of a sample; of a single number that is zero.
pub fn mean(numbers: impl IntoIterator<Item = f64>) -> Mean {
    let numbers: Vec<f64> = numbers.into_iter().collect();
    let n = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    let squares: f64 = numbers.iter().map(|x| (x - mean).powi(2)).sum();
    Mean { mean, stdev: (squares / (n - 1.0).max(1.0)).sqrt() }
}

/// How many combined standard errors two means are apart, the first over so many numbers, the second over ten.
pub fn standard_errors(ours: &Mean, count: usize, paper: &Mean) -> f64 {
    let error = (ours.stdev.powi(2) / count as f64 + paper.stdev.powi(2) / 10.0).sqrt();
    (ours.mean - paper.mean).abs() / error
}

pub fn to_json(mean: &Mean) -> Value {
    json!({"mean": mean.mean, "stdev": mean.stdev})
}

/// `22.4 ± 2.8`, with so many decimals.
pub fn text(Mean { mean, stdev }: &Mean, decimals: usize) -> String {
    format!("{mean:.decimals$} ± {stdev:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_have_the_standard_deviation_of_a_sample() {
        assert_eq!(mean([1.0, 2.0, 6.0]), Mean { mean: 3.0, stdev: 7f64.sqrt() });
        assert_eq!(mean([4.0]), Mean { mean: 4.0, stdev: 0.0 });
    }

    #[test]
    fn distances_are_in_combined_standard_errors() {
        let paper = Mean { mean: 10.0, stdev: 3.0 };
        let distance = standard_errors(&Mean { mean: 15.0, stdev: 4.0 }, 10, &paper);
        assert!((distance - 5.0 / 2.5f64.sqrt()).abs() < 1e-12);
    }
}
