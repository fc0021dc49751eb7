//! A `noisymax` node, written out as a table.
//!
//! For each parent in turn, `strengths` are the positions of its states from the strongest to the
//! weakest; in that order `parameters` have a distribution over the node's states for each, and the
//! leak at the end. States of the node go from high to low. The node is the highest of what the
//! parents and the leak cause, so that below any state the probabilities multiply:
//!
//! ```text
//!     P(X ≤ x | u₁ … uₙ)  =  P₀(X ≤ x) · P₁(X ≤ x | u₁) · … · Pₙ(X ≤ x | uₙ)
//! ```
//!
//! The weakest state of a parent causes nothing: its distribution is 0 … 0 1.

use crate::error::{Error, Remedy, Result};
use crate::model::format::source::Numbers;
use crate::model::format::xdsl::Reader;

/// The parameters of a parent's state sum to one within this.
const TOLERANCE: f64 = 1e-6;

/// A `noisymax` node with a column of parameters for every state of every parent, and one for the
/// leak.
pub(super) struct NoisyMax<'r, 'a> {
    reader: &'r Reader<'a>,
    scope: &'r [usize],
    child: usize,
    parents: &'r [usize],
    /// The number of states of the child.
    width: usize,
    parameters: Numbers,
    normalize: bool,
}

impl<'r, 'a> NoisyMax<'r, 'a> {
    pub fn new(
        reader: &'r Reader<'a>,
        scope: &'r [usize],
        parameters: Numbers,
        normalize: bool,
    ) -> Self {
        let (&child, parents) = scope.split_last().expect("a family has a child");
        NoisyMax {
            reader,
            scope,
            child,
            parents,
            width: reader.variables.card(child),
            parameters,
            normalize,
        }
    }

    /// The table, built up parent by parent; `room` is how many numbers the file's tables may still
    /// have.
    pub fn table(&self, strengths: Option<&Numbers>, room: &mut usize) -> Result<Vec<f64>> {
        let leak: usize = self.cards().sum();
        let columns = self.columns(strengths, leak)?;
        self.reader
            .variables
            .take(room, self.scope, &self.parameters.span)?;
        let below = self.below()?;
        let column = |at: usize| &below[at * self.width..(at + 1) * self.width];
        let mut table = column(leak).to_vec();
        let mut first = 0;
        for (&parent, card) in self.parents.iter().zip(self.cards()) {
            self.check_weakest(parent, first + card - 1, column(first + card - 1))?;
            let mut longer = Vec::with_capacity(table.len() * card);
            for row in table.chunks(self.width) {
                for &at in &columns[first..first + card] {
                    longer.extend(row.iter().zip(column(at)).map(|(p, q)| p * q));
                }
            }
            table = longer;
            first += card;
        }
        for row in table.chunks_mut(self.width) {
            (1..self.width).for_each(|x| row[x - 1] -= row[x]);
        }
        Ok(table)
    }

    fn cards(&self) -> impl Iterator<Item = usize> {
        self.parents.iter().map(|&p| self.reader.variables.card(p))
    }

    /// For each parent the columns of its states, in the order of the states.
    fn columns(&self, strengths: Option<&Numbers>, count: usize) -> Result<Vec<usize>> {
        let none = Numbers {
            span: self.parameters.span.clone(),
            ..Numbers::default()
        };
        let strengths = strengths.unwrap_or(&none);
        self.expect(
            "strengths",
            "one for each state of each parent",
            count,
            strengths,
        )?;
        let size = (count + 1).saturating_mul(self.width);
        let each = format!(
            "{} for each state of each parent, and {} for the leak",
            self.width, self.width
        );
        self.expect("parameters", &each, size, &self.parameters)?;
        let mut columns = vec![usize::MAX; count];
        let mut first = 0;
        for (&parent, card) in self.parents.iter().zip(self.cards()) {
            for column in first..first + card {
                let state = strengths.values[column];
                let slot = columns[first..first + card].get_mut(state as usize);
                match slot
                    .filter(|slot| state >= 0.0 && state.fract() == 0.0 && **slot == usize::MAX)
                {
                    Some(slot) => *slot = column,
                    None => return Err(self.bad_strength(parent, strengths.starts[column])),
                }
            }
            first += card;
        }
        Ok(columns)
    }

    fn expect(&self, what: &str, each: &str, needed: usize, list: &Numbers) -> Result<()> {
        let (name, found) = (self.reader.variables.name(self.child), list.values.len());
        if found == needed {
            return Ok(());
        }
        let message = format!("node `{name}` needs {needed} {what}, not {found}");
        Err(self
            .reader
            .xml
            .source
            .error(list.span.clone(), message)
            .hint(each))
    }

    fn bad_strength(&self, parent: usize, at: usize) -> Error {
        let (name, card) = (
            self.reader.variables.name(parent),
            self.reader.variables.card(parent),
        );
        let message = format!(
            "the strengths for `{name}` must name each of its states once, from 0 to {}",
            card - 1
        );
        self.reader
            .xml
            .source
            .error(self.reader.xml.source.word(at), message)
    }

    /// The columns as probabilities of each state or a lower one.
    fn below(&self) -> Result<Vec<f64>> {
        let mut below = self.parameters.values.clone();
        for (index, column) in below.chunks_mut(self.width).enumerate() {
            if let Some(at) = column.iter().position(|p| !p.is_finite() || *p < 0.0) {
                return Err(self.no_probability(index * self.width + at));
            }
            (1..self.width)
                .rev()
                .for_each(|x| column[x - 1] += column[x]);
            let sum = column[0];
            if !(self.normalize && sum > 0.0 && sum.is_finite()) && (sum - 1.0).abs() > TOLERANCE {
                let error = self.error(
                    index,
                    format!(
                        "these parameters sum to {}, not 1",
                        (sum * 1e9).round() / 1e9
                    ),
                );
                return Err(error.hint("correct them").or(Remedy::TurnOn {
                    option: "normalize",
                    purpose: "to rescale them",
                }));
            }
            column.iter_mut().for_each(|p| *p /= sum);
        }
        Ok(below)
    }

    fn no_probability(&self, at: usize) -> Error {
        let span = self.reader.xml.source.word(self.parameters.starts[at]);
        let message = format!("{} is not a probability", self.parameters.values[at]);
        self.reader
            .xml
            .source
            .error(span, message)
            .hint("probabilities are numbers from 0 to 1")
    }

    /// The weakest state of a parent leaves the child in its lowest state.
    fn check_weakest(&self, parent: usize, column: usize, below: &[f64]) -> Result<()> {
        if below.iter().all(|p| (p - 1.0).abs() <= TOLERANCE) {
            return Ok(());
        }
        let name = self.reader.variables.name(parent);
        let zeros = if self.width > 4 {
            "0 … 0 ".to_owned()
        } else {
            "0 ".repeat(self.width - 1)
        };
        let message =
            format!("the parameters for the weakest state of `{name}` must be `{zeros}1`");
        Err(self
            .error(column, message)
            .hint("it is the state that the last of its strengths names"))
    }

    /// A mistake in a column of the parameters.
    fn error(&self, column: usize, message: String) -> Error {
        let starts = &self.parameters.starts[column * self.width..(column + 1) * self.width];
        let source = self.reader.xml.source;
        source.error(starts[0]..source.word(starts[self.width - 1]).end, message)
    }
}
