//! Selection: CPTs that are selected by posteriors. A network with such CPTs is a *testing network*.
//!
//! A *selected* CPT has several copies of its table. Before a question is answered, each of its
//! rows is chosen among the copies, or mixed from them, by a test of the posterior of that row's
//! parents: P(u | Λ), where Λ is the part of the evidence that the test [sees](Sight). A
//! [`Selection`] is how that is done. It leaves an ordinary network, and the question is put to
//! that one, with all of the evidence. Other evidence may select another network, which makes these
//! networks universal approximators.
//!
//! Choi and Darwiche, "On the Relative Expressiveness of Bayesian and Neural Networks" (PGM 2018);
//! Shen, Huang, Choi and Darwiche, "Conditional Independence in Testing Bayesian Networks" (ICML
//! 2019).

mod expand;
mod see;

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind};
use crate::model::cpt::Role;
use crate::vars::VarId;

pub(crate) use expand::{Expanded, SelectionNode};

/// Which evidence a test of X sees. Evidence at or below X is never seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sight {
    /// All but the evidence at or below selected variables that are not ancestors of X: the
    /// selection does not depend on the order of the variables.
    #[default]
    Generalised,
    /// Evidence on ancestors of X alone.
    Ancestral,
    /// All but the evidence at or below selected variables that come later than X: more evidence,
    /// but its meaning depends on the order of the variables.
    Predecessor,
}

impl Sight {
    /// All of them.
    pub const ALL: [Sight; 3] = [Sight::Generalised, Sight::Ancestral, Sight::Predecessor];

    /// The name that files have for it.
    pub const fn name(self) -> &'static str {
        match self {
            Sight::Generalised => "generalised",
            Sight::Ancestral => "ancestral",
            Sight::Predecessor => "predecessor",
        }
    }
}

impl fmt::Display for Sight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Sight {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Sight::ALL.into_iter().find(|sight| sight.name() == name);
        found.ok_or_else(|| {
            let error = Error::new(
                ErrorKind::Name,
                format!("tests do not see evidence by a rule `{name}`"),
            );
            error.hint("use generalised, ancestral or predecessor")
        })
    }
}

/// When a posterior passes a threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Comparison {
    /// `>=`
    #[default]
    AtLeast,
    /// `>`
    Above,
    /// `<=`
    AtMost,
    /// `<`
    Below,
}

impl Comparison {
    /// All of them.
    pub const ALL: [Comparison; 4] = [
        Comparison::AtLeast,
        Comparison::Above,
        Comparison::AtMost,
        Comparison::Below,
    ];

    /// The sign that files have for it.
    pub const fn sign(self) -> &'static str {
        match self {
            Comparison::AtLeast => ">=",
            Comparison::Above => ">",
            Comparison::AtMost => "<=",
            Comparison::Below => "<",
        }
    }
}

/// How much of each copy a row is made of.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SelectionKind {
    /// All of one copy: of the copy k, if the posterior passes k thresholds. Nothing can be learned
    /// of such thresholds.
    Step(Comparison),
    /// Of the copy k, s(p - T_k) - s(p - T_k+1), with s(x) = 1 / (1 + exp(-slope · x)).
    Sigmoid {
        /// How nearly it is a step.
        slope: f64,
        /// Whether the slope is learned, too.
        is_learned: bool,
    },
    /// The posterior is the weight of the second of two copies. There are no thresholds.
    Linear,
    /// The softmax of W·e + b, where e are the indicators of the evidence on some variables; of a
    /// variable without evidence they are uniform. The same for all rows of the CPT, or another W
    /// and b for each.
    Softmax {
        /// The variables.
        of: Vec<VarId>,
        /// W, for each bias a row.
        weights: Vec<f64>,
        /// b, for each copy a number; or for each row of the CPT and each copy.
        biases: Vec<f64>,
    },
}

impl SelectionKind {
    /// The name that files have for it.
    pub const fn name(&self) -> &'static str {
        match self {
            SelectionKind::Step(_) => "step",
            SelectionKind::Sigmoid { .. } => "sigmoid",
            SelectionKind::Linear => "linear",
            SelectionKind::Softmax { .. } => "softmax",
        }
    }

    /// Whether each row is one of the copies.
    pub fn is_hard(&self) -> bool {
        matches!(self, SelectionKind::Step(_))
    }

    /// Whether the selection is by thresholds.
    pub fn has_thresholds(&self) -> bool {
        matches!(self, SelectionKind::Step(_) | SelectionKind::Sigmoid { .. })
    }
}

/// How the rows of a CPT are selected.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// The number of copies to select from.
    pub copies: usize,
    /// For each joint state of the parents, the last fastest, a threshold less than there are
    /// copies, in increasing order.
    pub thresholds: Vec<f64>,
    /// How much of each copy.
    pub kind: SelectionKind,
}

/// The numbers of a selected CPT.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectedCpt {
    /// The tables of all copies, one after the other.
    pub table: Vec<f64>,
    /// The role of each copy.
    pub roles: Vec<Role>,
    /// How rows are selected among the copies.
    pub selection: Selection,
    /// Whether the thresholds, and all else that the selection depends on, are never trained.
    pub is_fixed: bool,
    /// Thresholds with the same tie are the same, if they have the same shape.
    pub tie: Option<String>,
}

/// The logarithm of a slope that is learned stays within this.
pub(crate) const STEEPEST: f64 = 20.0;

/// Weights of a softmax are no larger: their sums are numbers.
pub(crate) const LARGEST_WEIGHT: f64 = 1e9;

impl Selection {
    /// A selection with the same thresholds for all rows.
    pub fn of_rows(rows: usize, thresholds: &[f64], kind: SelectionKind) -> Self {
        Selection {
            copies: thresholds.len() + 1,
            thresholds: thresholds.repeat(rows),
            kind,
        }
    }

    /// For each row the lengths of the intervals between 0, its thresholds, and 1: as many as
    /// copies.
    pub(crate) fn gaps(&self, rows: usize) -> Vec<f64> {
        if !self.kind.has_thresholds() {
            return vec![1.0 / self.copies as f64; rows * self.copies];
        }
        let gaps = |row: &[f64]| {
            let from = [0.0].into_iter().chain(row.iter().copied());
            let to = row.iter().copied().chain([1.0]);
            from.zip(to)
                .map(|(from, to)| to - from)
                .collect::<Vec<f64>>()
        };
        self.thresholds
            .chunks_exact(self.copies - 1)
            .flat_map(gaps)
            .collect()
    }

    pub(crate) fn set_gaps(&mut self, gaps: &[f64]) {
        if !self.kind.has_thresholds() {
            return;
        }
        let copies = self.copies;
        for (row, gaps) in self
            .thresholds
            .chunks_exact_mut(copies - 1)
            .zip(gaps.chunks_exact(copies))
        {
            let mut sum = 0.0;
            row.iter_mut().zip(gaps).for_each(|(threshold, gap)| {
                sum += gap;
                *threshold = sum;
            });
        }
    }

    /// The numbers that may be any: the logarithm of a slope, or what the softmax is of.
    pub(crate) fn free(&self) -> Vec<f64> {
        match &self.kind {
            SelectionKind::Sigmoid { slope, .. } => vec![slope.ln()],
            SelectionKind::Softmax {
                weights, biases, ..
            } => weights.iter().chain(biases).copied().collect(),
            _ => vec![],
        }
    }

    pub(crate) fn set_free(&mut self, free: &[f64]) {
        match &mut self.kind {
            SelectionKind::Sigmoid {
                slope,
                is_learned: true,
            } => *slope = free[0].exp(),
            SelectionKind::Softmax {
                weights, biases, ..
            } => {
                let (first, last) = free.split_at(weights.len());
                weights.copy_from_slice(first);
                biases.copy_from_slice(last);
            }
            _ => {}
        }
    }
}

/// An entry of copies each of which has one of the values for certain.
fn direct(at: usize, rows: usize, card: usize) -> f64 {
    f64::from(u8::from(at % card == at / (rows * card)))
}

impl SelectedCpt {
    /// The table that a mixture of the copies makes: for each row, a weight for each copy.
    pub(crate) fn mixed(&self, weights: &[f64]) -> Vec<f64> {
        let copies = self.selection.copies;
        let size = self.table.len() / copies;
        let card = size * copies / weights.len();
        let entry = |at: usize| {
            let weights = &weights[at / card * copies..][..copies];
            weights
                .iter()
                .enumerate()
                .map(|(k, w)| w * self.table[k * size + at])
                .sum()
        };
        (0..size).map(entry).collect()
    }

    /// A CPT whose rows *are* the softmax of W·e + b: as many copies as values, each of which has
    /// one of the values for certain.
    pub(crate) fn direct(rows: usize, card: usize, selection: Selection) -> Self {
        let known = Role {
            fixed: true,
            ..Role::default()
        };
        let table = (0..card * rows * card)
            .map(|at| direct(at, rows, card))
            .collect();
        SelectedCpt {
            table,
            roles: vec![known; card],
            selection,
            is_fixed: false,
            tie: None,
        }
    }

    /// Whether its rows are a softmax, and it has no other copies than the values.
    pub fn is_direct(&self) -> bool {
        let card = self.selection.copies;
        let SelectionKind::Softmax { biases, .. } = &self.selection.kind else {
            return false;
        };
        let rows = self.table.len() / (card * card);
        let entry = |(at, &p): (usize, &f64)| p == direct(at, rows, card);
        let is_known = |role: &Role| {
            *role
                == Role {
                    fixed: true,
                    ..Role::default()
                }
        };
        biases.len() == rows * card
            && self.roles.iter().all(is_known)
            && self.table.iter().enumerate().all(entry)
    }

    /// The number of joint states of the parents.
    pub(crate) fn rows(&self, card: usize) -> usize {
        self.table.len() / self.selection.copies / card
    }
}

#[cfg(test)]
mod tests;
