//! The factors of a network: conditional probability tables, and potentials.
//!
//! A table whose rows are all one-hot *is* a function of the parents, and is stored as one. So a
//! CPT is known to be functional exactly if its [`Body`] is a [`Body::Function`]. A CPT that is
//! only *declared* functional promises that its rows are one-hot without saying where the ones are;
//! the numbers that it holds until it is trained are any table.

use crate::model::selection::SelectedCpt;
use crate::vars::VarId;

/// A factor of a network: the CPT f(U, X) of a variable X with parents U, or a potential.
#[derive(Clone, Debug, PartialEq)]
pub struct Cpt {
    pub(super) scope: Vec<VarId>,
    pub(super) is_potential: bool,
    pub(super) body: Body,
    pub(super) role: Role,
    /// The roles of the equal parts that the table has, one for each value of the first parent;
    /// none if it is one part.
    pub(super) parts: Vec<Role>,
}

/// The numbers of a CPT.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// One number for every joint state of the scope; the last variable moves fastest.
    Table(Vec<f64>),
    /// One value of the child for every joint state of the parents.
    Function(Vec<u32>),
    /// Several tables, of which a test selects the rows.
    Selected(Box<SelectedCpt>),
}

/// The role of a CPT: knowledge beyond its numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// Declared to be a function of the parents, whatever its current numbers.
    pub functional: bool,
    /// Never trained.
    pub fixed: bool,
    /// Zeros stay zero when the rest is trained.
    pub keep_zeros: bool,
    /// CPTs with the same tie share their parameters.
    pub tie: Option<String>,
}

impl Cpt {
    /// The variables, in the order of the table's axes: parents as written, then the child.
    pub fn scope(&self) -> &[VarId] {
        &self.scope
    }

    /// The variable that this is the CPT of; a potential has none.
    pub fn child(&self) -> Option<VarId> {
        if self.is_potential {
            None
        } else {
            self.scope.last().copied()
        }
    }

    /// The parents in the order in which they were written; for a potential, its whole scope.
    pub fn parents(&self) -> &[VarId] {
        if self.is_potential {
            &self.scope
        } else {
            &self.scope[..self.scope.len() - 1]
        }
    }

    /// The numbers as they are stored.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// The role: knowledge beyond the numbers.
    pub fn role(&self) -> &Role {
        &self.role
    }

    /// The copies, and how its rows are selected among them; none if they are not.
    pub fn selected(&self) -> Option<&SelectedCpt> {
        if let Body::Selected(copies) = &self.body {
            Some(copies)
        } else {
            None
        }
    }

    /// The roles of the equal parts that the table has, one for each value of the first parent;
    /// none if it is one part.
    pub(crate) fn parts(&self) -> &[Role] {
        &self.parts
    }

    /// Whether it, or one of its copies, has a role.
    pub fn has_role(&self) -> bool {
        let of_copies = |it: &SelectedCpt| {
            it.is_fixed || it.tie.is_some() || it.roles.iter().any(|role| *role != Role::default())
        };
        self.role != Role::default() || self.selected().is_some_and(of_copies)
    }

    /// Whether every row is known to be one-hot.
    pub fn is_functional(&self) -> bool {
        matches!(self.body, Body::Function(_))
    }

    /// The dense table: one number for every joint state of the scope, the last variable fastest.
    ///
    /// `cards` are the numbers of values of *all* variables of the network. Of a selected CPT it is
    /// the mean of the copies: which of them count depends on the evidence.
    pub fn table(&self, cards: &[usize]) -> Vec<f64> {
        match &self.body {
            Body::Table(table) => table.clone(),
            Body::Function(values) => {
                let card = cards[self.scope[self.scope.len() - 1].index()];
                one_hot_rows(values, card)
            }
            Body::Selected(it) => {
                let rows = self.size(cards) / cards[self.scope[self.scope.len() - 1].index()];
                it.mixed(&vec![
                    1.0 / it.selection.copies as f64;
                    rows * it.selection.copies
                ])
            }
        }
    }

    /// The number of joint states of the scope.
    pub fn size(&self, cards: &[usize]) -> usize {
        self.scope.iter().map(|v| cards[v.index()]).product()
    }

    /// The number of zeros in the dense table.
    pub fn zeros(&self, cards: &[usize]) -> usize {
        match &self.body {
            Body::Table(table) => table.iter().filter(|&&p| p == 0.0).count(),
            Body::Function(values) => self.size(cards) - values.len(),
            Body::Selected(_) => self.table(cards).iter().filter(|&&p| p == 0.0).count(),
        }
    }
}

fn one_hot_rows(values: &[u32], card: usize) -> Vec<f64> {
    let mut table = vec![0.0; values.len() * card];
    for (row, &value) in values.iter().enumerate() {
        table[row * card + value as usize] = 1.0;
    }
    table
}

/// The function that a table with one-hot rows is; none if some row is not one-hot.
pub(super) fn as_function(table: &[f64], card: usize) -> Option<Vec<u32>> {
    table.chunks_exact(card).map(hot).collect()
}

fn hot(row: &[f64]) -> Option<u32> {
    let at = row.iter().position(|&p| p != 0.0)?;
    let is_one_hot = row[at] == 1.0 && row[at + 1..].iter().all(|&p| p == 0.0);
    is_one_hot.then_some(at as u32)
}
