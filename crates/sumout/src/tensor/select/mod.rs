//! Selections, for one example.
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

/// A smaller weight is zero: products of such numbers could not be told from zero.
const MIN_WEIGHT: f64 = 1e-300;

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

/// The derivatives of a loss with respect to everything that the weights of copies depend on.
#[derive(Debug)]
pub(crate) struct Slopes {
    /// With respect to the numbers that are tested.
    pub seen: Vec<f64>,
    /// With respect to the numbers of each table.
    pub tables: Vec<Vec<f64>>,
}

impl Selector {
    /// A selection from tensors with these numbers of entries, by the numbers of some tables.
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
            .filter(|w| **w < MIN_WEIGHT)
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
            // Values above the threshold select the higher copy, not the one below.
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

/// Whether a threshold is passed; numbers that differ by rounding are equal.
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
mod tests;
