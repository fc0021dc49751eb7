//! How well posteriors agree with labels: sums over any number of examples.
//!
//! ```text
//! accuracy            the share of examples whose label alone has the largest probability
//! cross entropy       the mean of -ln p(label)
//! calibration error   Σ_b n(b)/n · |accuracy(b) - mean confidence(b)|
//! ```
//!
//! The *confidence* of an answer is its largest probability, by which calibration sorts examples
//! into ten bins b of equal width. An example whose evidence is impossible has no posterior: it
//! counts as wrong, its label as of probability zero, and it is in no bin.

use crate::learn::ZERO;

/// The number of bins for calibration.
pub const BINS: usize = 10;

/// Sums over examples, for one target.
///
/// ```
/// use sumout::learn::metric::Tally;
///
/// let mut tally = Tally::new(2);
/// tally.add(&[0.8, 0.2], 0);
/// tally.add(&[0.6, 0.4], 1);
/// assert_eq!(tally.accuracy(), Some(0.5));
/// assert_eq!(tally.confusion(1, Some(0)), 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    values: usize,
    examples: u64,
    right: u64,
    impossible: u64,
    cross_entropy: f64,
    bins: [Bin; BINS],
    /// For each label, how often each value was the answer, and how often none was.
    confusion: Vec<u64>,
}

/// The examples whose largest probability is in some range.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    examples: u64,
    right: u64,
    confidence: f64,
}

impl Bin {
    /// The number of examples.
    pub fn examples(&self) -> u64 {
        self.examples
    }

    /// The share of them that are right; none if there are none.
    pub fn accuracy(&self) -> Option<f64> {
        mean(self.right as f64, self.examples)
    }

    /// The mean of their largest probabilities; none if there are none.
    pub fn confidence(&self) -> Option<f64> {
        mean(self.confidence, self.examples)
    }
}

impl Tally {
    /// Empty sums, for a target with this many values.
    pub fn new(values: usize) -> Self {
        let confusion = vec![0; values * (values + 1)];
        Tally {
            values,
            examples: 0,
            right: 0,
            impossible: 0,
            cross_entropy: 0.0,
            bins: Default::default(),
            confusion,
        }
    }

    /// Adds an example: a probability for each value, and the position of the true one.
    pub fn add(&mut self, posterior: &[f64], label: usize) {
        let answer = answer(posterior);
        let is_right = answer == Some(label);
        let confidence = posterior.iter().copied().fold(0.0, f64::max);
        let bin = &mut self.bins[((confidence * BINS as f64) as usize).min(BINS - 1)];
        bin.examples += 1;
        bin.right += u64::from(is_right);
        bin.confidence += confidence;
        self.right += u64::from(is_right);
        self.count(label, answer, posterior[label]);
    }

    /// Adds an example whose evidence is impossible.
    pub fn add_impossible(&mut self, label: usize) {
        self.impossible += 1;
        self.count(label, None, 0.0);
    }

    fn count(&mut self, label: usize, answer: Option<usize>, p: f64) {
        self.examples += 1;
        self.cross_entropy -= if p > 0.0 { p } else { ZERO }.ln();
        let column = answer.unwrap_or(self.values);
        self.confusion[label * (self.values + 1) + column] += 1;
    }

    /// The number of examples.
    pub fn examples(&self) -> u64 {
        self.examples
    }

    /// How many of them are right.
    pub fn right(&self) -> u64 {
        self.right
    }

    /// How many of them are impossible.
    pub fn impossible(&self) -> u64 {
        self.impossible
    }

    /// The share of examples that are right; none without examples.
    pub fn accuracy(&self) -> Option<f64> {
        mean(self.right as f64, self.examples)
    }

    /// The mean of -ln p(label), where a p of zero counts as [`ZERO`]; none without examples.
    pub fn cross_entropy(&self) -> Option<f64> {
        mean(self.cross_entropy, self.examples)
    }

    /// The expected calibration error: by how much accuracy and confidence differ, on average over
    /// the examples that have a posterior; none if there are none.
    pub fn calibration_error(&self) -> Option<f64> {
        let sum = self
            .bins
            .iter()
            .map(|bin| (bin.right as f64 - bin.confidence).abs())
            .sum();
        mean(sum, self.examples - self.impossible)
    }

    /// The bins: the first is of largest probabilities below 1/10, the last of those from 9/10 on.
    pub fn bins(&self) -> &[Bin; BINS] {
        &self.bins
    }

    /// How often an example with this label got this answer: a value, or none where several have
    /// the largest probability, or the evidence is impossible.
    pub fn confusion(&self, label: usize, answer: Option<usize>) -> u64 {
        self.confusion[label * (self.values + 1) + answer.unwrap_or(self.values)]
    }
}

/// The value with the largest probability; none if several have it.
fn answer(posterior: &[f64]) -> Option<usize> {
    let largest = posterior.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut values = (0..posterior.len()).filter(|&value| posterior[value] == largest);
    values.next().filter(|_| values.next().is_none())
}

fn mean(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four examples of three values: right, wrong, a tie, and one whose label has probability
    /// zero.
    fn tally() -> Tally {
        let mut tally = Tally::new(3);
        tally.add(&[0.7, 0.2, 0.1], 0);
        tally.add(&[0.75, 0.05, 0.2], 2);
        tally.add(&[0.4, 0.4, 0.2], 1);
        tally.add(&[0.0, 1.0, 0.0], 2);
        tally
    }

    fn close(found: Option<f64>, expected: f64) {
        assert!(
            (found.unwrap() - expected).abs() < 1e-12,
            "{found:?} {expected}"
        );
    }

    #[test]
    fn sums_are_those_made_by_hand() {
        let tally = tally();
        assert_eq!(
            (tally.examples(), tally.right(), tally.impossible()),
            (4, 1, 0)
        );
        close(tally.accuracy(), 0.25);
        close(
            tally.cross_entropy(),
            -(0.7f64.ln() + 0.2f64.ln() + 0.4f64.ln() + 0.5f64.powi(23).ln()) / 4.0,
        );
        // In the bin from 0.7 on one of two is right, at a mean confidence of 0.725.
        close(tally.calibration_error(), (0.45 + 0.4 + 1.0) / 4.0);
    }

    #[test]
    fn bins_are_by_the_largest_probability_and_one_is_in_the_last() {
        let tally = tally();
        let counts: Vec<u64> = tally.bins().iter().map(Bin::examples).collect();
        assert_eq!(counts, [0, 0, 0, 0, 1, 0, 0, 2, 0, 1]);
        close(tally.bins()[7].accuracy(), 0.5);
        close(tally.bins()[7].confidence(), 0.725);
        assert_eq!(
            (tally.bins()[0].accuracy(), tally.bins()[0].confidence()),
            (None, None)
        );
    }

    #[test]
    fn answers_are_counted_by_label_and_ties_are_none() {
        let tally = tally();
        let row =
            |label| [Some(0), Some(1), Some(2), None].map(|answer| tally.confusion(label, answer));
        assert_eq!(
            [row(0), row(1), row(2)],
            [[1, 0, 0, 0], [0, 0, 0, 1], [1, 1, 0, 0]]
        );
    }

    #[test]
    fn impossible_examples_are_wrong_and_in_no_bin() {
        let mut tally = Tally::new(2);
        tally.add(&[0.9, 0.1], 0);
        tally.add_impossible(1);
        assert_eq!(
            (
                tally.examples(),
                tally.impossible(),
                tally.confusion(1, None)
            ),
            (2, 1, 1)
        );
        close(tally.accuracy(), 0.5);
        close(tally.cross_entropy(), -(0.9f64.ln() + ZERO.ln()) / 2.0);
        close(tally.calibration_error(), 0.1);
        assert_eq!(tally.bins().iter().map(Bin::examples).sum::<u64>(), 1);
    }

    #[test]
    fn without_examples_there_are_no_means() {
        let tally = Tally::new(2);
        assert_eq!(
            [
                tally.accuracy(),
                tally.cross_entropy(),
                tally.calibration_error()
            ],
            [None; 3]
        );
    }
}
