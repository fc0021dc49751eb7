//! Means over cells.

use serde_json::{Value, json};

use crate::printed::Mean;

/// The mean and the standard deviation of a sample; a single number says nothing of the latter,
/// which is NaN then.
pub fn mean(numbers: impl IntoIterator<Item = f64>) -> Mean {
    let numbers: Vec<f64> = numbers.into_iter().collect();
    let n = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    let squares: f64 = numbers.iter().map(|x| (x - mean).powi(2)).sum();
    Mean {
        mean,
        stdev: (squares / (n - 1.0)).sqrt(),
    }
}

/// How many combined standard errors two means are apart, the first over so many numbers, the
/// second over ten.
pub fn standard_errors(ours: &Mean, count: usize, paper: &Mean) -> f64 {
    let error = (ours.stdev.powi(2) / count as f64 + paper.stdev.powi(2) / 10.0).sqrt();
    (ours.mean - paper.mean).abs() / error
}

pub fn to_json(mean: &Mean) -> Value {
    json!({"mean": mean.mean, "stdev": mean.stdev})
}

/// `22.4 ± 2.8`, with this many decimals; `22.4` if the deviation is unknown.
pub fn text(Mean { mean, stdev }: &Mean, decimals: usize) -> String {
    if stdev.is_nan() {
        format!("{mean:.decimals$}")
    } else {
        format!("{mean:.decimals$} ± {stdev:.decimals$}")
    }
}

/// A number of standard errors; nothing if a deviation is not known.
pub fn apart(errors: f64) -> String {
    if errors.is_nan() {
        String::new()
    } else {
        format!("{errors:.1}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_have_the_standard_deviation_of_a_sample() {
        assert_eq!(
            mean([1.0, 2.0, 6.0]),
            Mean {
                mean: 3.0,
                stdev: 7f64.sqrt()
            }
        );
    }

    #[test]
    fn a_single_number_has_no_deviation() {
        let single = mean([4.0]);
        assert_eq!((single.mean, single.stdev.is_nan()), (4.0, true));
        assert_eq!(text(&single, 2), "4.00");
        assert_eq!(text(&mean([4.0, 4.0]), 2), "4.00 ± 0.00");
        assert_eq!(to_json(&single), json!({"mean": 4.0, "stdev": null}));
        assert_eq!(
            apart(standard_errors(
                &single,
                1,
                &Mean {
                    mean: 10.0,
                    stdev: 3.0
                }
            )),
            ""
        );
    }

    #[test]
    fn distances_are_in_combined_standard_errors() {
        let paper = Mean {
            mean: 10.0,
            stdev: 3.0,
        };
        let distance = standard_errors(
            &Mean {
                mean: 15.0,
                stdev: 4.0,
            },
            10,
            &paper,
        );
        assert!((distance - 5.0 / 2.5f64.sqrt()).abs() < 1e-12);
    }
}
