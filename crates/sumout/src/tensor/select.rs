//! What selections compute, for one example.
//!
//! With out(u) the numbers that are tested, p(u) = out(u) / Σ out(v), and weights w that depend on
//! p:
//!
//! ```text
//! ∂L / ∂out(u) = (∂L/∂p(u) - Σ p(v) ∂L/∂p(v)) / Σ out(v)
//! ```
//!
//! so that the power of two that the numbers of a tensor share does not matter, forward or
//! backward.

use crate::tensor::graph::{Graph, NodeId, Op, Weighing};

/// A posterior and a threshold that are not further apart are equal: another order of additions
/// could make them so.
pub(crate) const ROUNDING: f64 = 1e-12;

/// Less of a copy than this is none of it: products of such numbers could not be told from zero.
const NOTHING: f64 = 1e-300;

/// A selection, with the numbers of its tables.
#[derive(Clone, Debug)]
pub(crate) struct Selector {
    pub weighing: Weighing,
    pub copies: usize,
    /// The number of entries of each tensor that is tested.
    pub parts: Vec<usize>,
    pub tables: Vec<Vec<f64>>,
    /// The slope of a sigmoid.
    pub slope: f64,
}

/// The derivatives of a loss with respect to all that the weights of copies depend on.
#[derive(Debug)]
pub(crate) struct Slopes {
    /// What is tested.
    pub seen: Vec<f64>,
    /// The numbers of each table.
    pub tables: Vec<Vec<f64>>,
}

impl Selector {
    /// A selection from tensors with so many entries, by the numbers of some tables.
    pub fn new(
        weighing: Weighing,
        copies: usize,
        parts: Vec<usize>,
        tables: Vec<Vec<f64>>,
    ) -> Self {
        let slope = if weighing == Weighing::Sigmoid {
            tables[1][0].exp()
        } else {
            1.0
        };
        Selector {
            weighing,
            copies,
            parts,
            tables,
            slope,
        }
    }

    /// The selection that a node of a graph is.
    pub fn of(graph: &Graph, node: NodeId) -> Self {
        let Op::Select(inputs, rule) = graph.op(node) else {
            unreachable!("only selections are selected")
        };
        let (of, tables) = graph.tested(inputs, *rule);
        let rule = &graph.rules()[rule.index()];
        let numbers = |table: &NodeId| {
            graph
                .op(*table)
                .table()
                .map(|t| graph.tables()[t.index()].values.clone())
        };
        let parts = of
            .iter()
            .map(|tensor| graph.size(*tensor) as usize)
            .collect();
        Selector::new(
            rule.weighing,
            rule.copies,
            parts,
            tables.iter().filter_map(numbers).collect(),
        )
    }

    /// Derivatives to add to.
    pub fn slopes(&self) -> Slopes {
        let tables = self
            .tables
            .iter()
            .map(|table| vec![0.0; table.len()])
            .collect();
        Slopes {
            seen: vec![0.0; self.parts.iter().sum()],
            tables,
        }
    }

    /// Divides each of the parts by its sum; where that is zero, all of it is equal.
    pub fn normalise(&self, seen: &mut [f64]) {
        for part in split(seen, &self.parts) {
            let (total, all) = (part.iter().sum::<f64>(), part.len() as f64);
            part.iter_mut()
                .for_each(|x| *x = if total > 0.0 { *x / total } else { 1.0 / all });
        }
    }

    /// Derivatives with respect to what was divided by its sum, from those with respect to the
    /// result.
    pub fn pull(&self, before: &[f64], seen: &[f64], slopes: &mut [f64]) {
        let mut start = 0;
        for slopes in split(slopes, &self.parts) {
            let (before, seen) = (
                &before[start..][..slopes.len()],
                &seen[start..][..slopes.len()],
            );
            let (total, mean) = (before.iter().sum::<f64>(), dot(seen, slopes));
            slopes.iter_mut().for_each(|s| {
                *s = if total > 0.0 {
                    (*s - mean) / total
                } else {
                    0.0
                }
            });
            start += slopes.len();
        }
    }

    /// How much of each copy, for each of the rows.
    pub fn weigh(&self, seen: &[f64], to: &mut [f64]) {
        match self.weighing {
            Weighing::Step { larger, equal } => {
                for (u, row) in to.chunks_exact_mut(self.copies).enumerate() {
                    let passed = self
                        .thresholds(u)
                        .filter(|t| passes(seen[u], *t, larger, equal))
                        .count();
                    row.fill(0.0);
                    row[passed] = 1.0;
                }
            }
            Weighing::Sigmoid => {
                to.chunks_exact_mut(self.copies)
                    .enumerate()
                    .for_each(|(u, row)| self.weigh_softly(u, seen[u], row));
            }
            Weighing::Linear => weigh_linearly(seen, to),
            Weighing::Softmax => {
                let weights = self.softmax(seen); // of one row that stands for all, or of each
                to.chunks_exact_mut(weights.len())
                    .for_each(|rows| rows.copy_from_slice(&weights));
            }
        }
        to.iter_mut()
            .filter(|w| **w < NOTHING)
            .for_each(|w| *w = 0.0);
    }

    /// The thresholds of a row.
    fn thresholds(&self, row: usize) -> impl Iterator<Item = f64> {
        let gaps = &self.tables[0][row * self.copies..][..self.copies - 1];
        gaps.iter().scan(0.0, |sum, gap| {
            *sum += gap;
            Some(*sum)
        })
    }

    fn weigh_softly(&self, row: usize, p: f64, to: &mut [f64]) {
        // s(x) - s(y) = s(x) · s(-y) · (1 - exp(y - x)), in which nothing cancels; the first x and
        // the last -y are infinite.
        let (slope, last, gaps) = (
            self.slope,
            self.copies - 1,
            &self.tables[0][row * self.copies..],
        );
        let mut passed = 1.0;
        for (k, threshold) in self.thresholds(row).enumerate() {
            let (yes, no) = sigmoids(slope * (p - threshold));
            to[k] = if k == 0 {
                no
            } else {
                passed * no * -(-slope * gaps[k]).exp_m1()
            };
            passed = yes;
        }
        to[last] = passed;
    }

    /// The weights and the biases, of which there is one for each copy, or for each row and copy.
    fn linear(&self, seen: &[f64]) -> (&[f64], &[f64]) {
        let numbers = &self.tables[0];
        numbers.split_at(numbers.len() / (seen.len() + 1) * seen.len())
    }

    fn softmax(&self, seen: &[f64]) -> Vec<f64> {
        let (weights, biases) = self.linear(seen);
        let logits = biases
            .iter()
            .zip(weights.chunks_exact(seen.len()))
            .map(|(b, row)| b + dot(row, seen));
        let mut numbers: Vec<f64> = logits.collect();
        for row in numbers.chunks_exact_mut(self.copies) {
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            row.iter_mut().for_each(|x| *x = (*x - largest).exp());
            let total: f64 = row.iter().sum();
            row.iter_mut().for_each(|x| *x /= total);
        }
        numbers
    }

    /// Adds the derivatives of a loss, from those with respect to the weights.
    pub fn differentiate(&self, seen: &[f64], given: &[f64], to: &mut Slopes) {
        match self.weighing {
            Weighing::Step { .. } => {}
            Weighing::Sigmoid => {
                for (u, given) in given.chunks_exact(self.copies).enumerate() {
                    self.differentiate_row(u, seen[u], given, to);
                }
            }
            // All shares together are one, so that it does not matter of which of them the first
            // copy is less.
            Weighing::Linear => {
                given
                    .chunks_exact(2)
                    .zip(&mut to.seen)
                    .for_each(|(given, to)| *to += given[1] - given[0]);
            }
            Weighing::Softmax => self.differentiate_softmax(seen, given, to),
        }
    }

    fn differentiate_row(&self, u: usize, p: f64, given: &[f64], to: &mut Slopes) {
        let slope = self.slope;
        for (k, threshold) in self.thresholds(u).enumerate() {
            let (yes, no) = sigmoids(slope * (p - threshold));
            let steep = slope * yes * no;
            // What passes the threshold is of a higher copy, and not of the one below.
            let moved = (given[k + 1] - given[k]) * steep;
            to.seen[u] += moved;
            to.tables[1][0] += moved * (p - threshold);
            // The threshold is the sum of the gaps before it.
            to.tables[0][u * self.copies..][..=k]
                .iter_mut()
                .for_each(|gap| *gap -= moved);
        }
    }

    fn differentiate_softmax(&self, seen: &[f64], given: &[f64], to: &mut Slopes) {
        let ((weights, _), found) = (self.linear(seen), self.softmax(seen));
        let mut sums = vec![0.0; found.len()];
        for rows in given.chunks_exact(found.len()) {
            sums.iter_mut().zip(rows).for_each(|(sum, g)| *sum += g);
        }
        let rows = sums
            .chunks_exact(self.copies)
            .zip(found.chunks_exact(self.copies));
        let means: Vec<f64> = rows.map(|(sums, found)| dot(sums, found)).collect();
        let (to_weights, to_biases) = to.tables[0].split_at_mut(weights.len());
        for (k, w) in found.iter().enumerate() {
            let by_logit = w * (sums[k] - means[k / self.copies]);
            let row = k * seen.len()..(k + 1) * seen.len();
            to_weights[row.clone()]
                .iter_mut()
                .zip(seen)
                .for_each(|(to, e)| *to += by_logit * e);
            to.seen
                .iter_mut()
                .zip(&weights[row])
                .for_each(|(to, w)| *to += by_logit * w);
            to_biases[k] += by_logit;
        }
    }
}

/// Of the first copy of a row as much as all others are probable: 1 - p would lose what is left of
/// it beside one.
fn weigh_linearly(seen: &[f64], to: &mut [f64]) {
    let (mut before, mut behind) = (0.0, 0.0);
    for (row, p) in to.chunks_exact_mut(2).zip(seen) {
        row.copy_from_slice(&[before, *p]);
        before += p;
    }
    for (row, p) in to.chunks_exact_mut(2).zip(seen).rev() {
        row[0] += behind;
        behind += p;
    }
}

/// What differs by rounding is equal.
fn passes(p: f64, threshold: f64, larger: bool, equal: bool) -> bool {
    if (p - threshold).abs() <= ROUNDING {
        equal
    } else {
        (p > threshold) == larger
    }
}

/// s(x) and s(-x), without a difference of numbers that are nearly equal.
fn sigmoids(x: f64) -> (f64, f64) {
    let small = (-x.abs()).exp();
    let (near, far) = (1.0 / (1.0 + small), small / (1.0 + small));
    if x >= 0.0 { (near, far) } else { (far, near) }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Parts of these lengths.
fn split<'n>(numbers: &'n mut [f64], lengths: &[usize]) -> impl Iterator<Item = &'n mut [f64]> {
    let mut rest = numbers;
    lengths.iter().map(move |&length| {
        let (part, others) = std::mem::take(&mut rest).split_at_mut(length);
        rest = others;
        part
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn central(of: &dyn Fn(&[f64]) -> f64, at: &[f64]) -> Vec<f64> {
        let moved = |i: usize, h: f64| {
            let mut at = at.to_vec();
            at[i] += h;
            of(&at)
        };
        (0..at.len())
            .map(|i| (moved(i, 1e-6) - moved(i, -1e-6)) / 2e-6)
            .collect()
    }

    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        assert!(
            found
                .iter()
                .zip(expected)
                .all(|(x, y)| (x - y).abs() < 1e-7),
            "{found:?} {expected:?}"
        );
    }

    /// Σ g·w for weights w of the copies, with derivatives with respect to all that they depend on.
    fn check(
        weighing: Weighing,
        copies: usize,
        before: &[f64],
        parts: &[usize],
        rows: usize,
        tables: &[&[f64]],
    ) {
        let given: Vec<f64> = (0..rows * copies)
            .map(|i| ((7 * i) % 5) as f64 - 1.5)
            .collect();
        let selector = |tables: &[&[f64]]| {
            let tables = tables.iter().map(|table| table.to_vec()).collect();
            Selector::new(weighing, copies, parts.to_vec(), tables)
        };
        let loss = |before: &[f64], tables: &[&[f64]]| {
            let selector = selector(tables);
            let (mut seen, mut weights) = (before.to_vec(), vec![0.0; given.len()]);
            selector.normalise(&mut seen);
            selector.weigh(&seen, &mut weights);
            for row in weights.chunks_exact(copies) {
                assert!(
                    (row.iter().sum::<f64>() - 1.0).abs() < 1e-12 && row.iter().all(|w| *w >= 0.0)
                );
            }
            dot(&weights, &given)
        };
        let selector = selector(tables);
        let (mut seen, mut slopes) = (before.to_vec(), selector.slopes());
        selector.normalise(&mut seen);
        selector.differentiate(&seen, &given, &mut slopes);
        selector.pull(before, &seen, &mut slopes.seen);
        close(
            &slopes.seen,
            &central(&|before| loss(before, tables), before),
        );
        for (k, found) in slopes.tables.iter().enumerate() {
            let with = |numbers: &[f64]| {
                let mut tables = tables.to_vec();
                tables[k] = numbers;
                loss(before, &tables)
            };
            close(found, &central(&with, tables[k]));
        }
    }

    #[test]
    fn derivatives_of_weights_are_central_differences() {
        let three = [0.2, 0.3, 0.5, 0.3, 0.6, 0.1, 0.05, 0.55, 0.4];
        check(
            Weighing::Sigmoid,
            3,
            &[2.5, 7.0, 0.5],
            &[3],
            3,
            &[&three, &[9f64.ln()]],
        );
        check(
            Weighing::Sigmoid,
            2,
            &[0.3, 0.7],
            &[2],
            2,
            &[&[0.4, 0.6, 0.4, 0.6], &[2.0]],
        );
        check(Weighing::Linear, 2, &[0.2, 1.2, 0.6], &[3], 3, &[]);
        let numbers = [0.3, -1.0, 0.8, 2.0, 0.0, 0.5, 0.1, 0.2, -0.3];
        check(Weighing::Softmax, 3, &[0.25, 0.75], &[2], 2, &[&numbers]);
        let each: Vec<f64> = (0..36).map(|i| f64::from((5 * i) % 7) - 3.0).collect();
        check(
            Weighing::Softmax,
            3,
            &[0.5, 1.5, 0.1, 0.2, 0.7],
            &[2, 3],
            2,
            &[&each],
        );
    }

    #[test]
    fn a_step_selects_the_copy_of_the_interval_that_the_posterior_is_in() {
        let all = |larger: bool, equal: bool| {
            let (weighing, tables) = (Weighing::Step { larger, equal }, vec![vec![0.2, 0.3, 0.5]]);
            let selector = Selector::new(weighing, 3, vec![1], tables);
            [0.1, 0.2, 0.3, 0.5, 0.6].map(|p| {
                let mut weights = [0.0; 3];
                selector.weigh(&[p], &mut weights);
                weights.iter().position(|&w| w == 1.0).unwrap()
            })
        };
        assert_eq!(all(true, true), [0, 1, 1, 2, 2]);
        assert_eq!(all(true, false), [0, 0, 1, 1, 2]);
        assert_eq!(all(false, true), [2, 2, 1, 1, 0]);
        assert_eq!(all(false, false), [2, 1, 1, 0, 0]);
    }

    #[test]
    fn what_is_impossible_is_no_number_less() {
        let selector = Selector::new(Weighing::Linear, 2, vec![2], vec![]);
        let (mut seen, mut slopes) = ([0.0, 0.0], [1.0, 3.0]);
        selector.normalise(&mut seen);
        selector.pull(&[0.0, 0.0], &seen, &mut slopes);
        assert_eq!((seen, slopes), ([0.5, 0.5], [0.0, 0.0]));
    }
}
