//! Variables and factors over them, in any order: all that the compiler needs to know of a network.
//!
//! A [`Network`](crate::Network) is a factor model with promises: its variables are in topological
//! order, and their names are unique. Without them, variables can be added behind the others, and
//! CPTs replaced, as selections (`model::selection`) need it. A factor model without factors of its
//! own is a network's, and is shared with it.

use std::fmt;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result, did_you_mean, shortlist};
use crate::model::cpt::{Body, Cpt, as_function};
use crate::vars::VarId;

/// A discrete variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name, unique in the network.
    pub name: String,
    /// The names of its values, unique in the variable, in order.
    pub values: Vec<String>,
}

impl Variable {
    /// The position of a value.
    pub(crate) fn position(&self, value: &str) -> Result<usize> {
        let Variable { name, values } = self;
        values.iter().position(|v| v == value).ok_or_else(|| {
            let error = Error::new(
                ErrorKind::Name,
                format!("variable `{name}` has no value `{value}`"),
            );
            match did_you_mean(value, values.iter().map(String::as_str)) {
                Some(hint) => error.hint(hint),
                None => error.hint(format!(
                    "its values are {}",
                    shortlist(values.iter().map(String::as_str))
                )),
            }
        })
    }
}

/// Variables, and factors over them. Unless it is a Markov model, the CPT of variable `v` is
/// `model.cpts()[v.index()]`.
#[derive(Clone, PartialEq)]
pub struct FactorModel {
    pub(super) name: String,
    pub(super) is_markov: bool,
    /// Shared with circuits and answers, which know them by name.
    pub(super) variables: Arc<Vec<Variable>>,
    pub(super) cpts: Vec<Cpt>,
}

impl FactorModel {
    /// The name of the network that it was made from.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The variables, to be kept.
    pub(crate) fn shared_variables(&self) -> Arc<Vec<Variable>> {
        Arc::clone(&self.variables)
    }

    /// Whether factors need not be conditional probabilities.
    pub fn is_markov(&self) -> bool {
        self.is_markov
    }

    /// All variables.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The ids of all variables.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = VarId> + use<> {
        (0..self.variables.len()).map(VarId::new)
    }

    /// One variable.
    pub fn variable(&self, var: VarId) -> &Variable {
        &self.variables[var.index()]
    }

    /// The number of values of a variable.
    pub fn card(&self, var: VarId) -> usize {
        self.variable(var).values.len()
    }

    /// The numbers of values of all variables.
    pub fn cards(&self) -> Vec<usize> {
        self.variables.iter().map(|v| v.values.len()).collect()
    }

    /// All factors; unless it is a Markov model, the CPT of each variable.
    pub fn cpts(&self) -> &[Cpt] {
        &self.cpts
    }

    /// The parents of a variable, in the order in which they were written. None in a Markov model.
    pub fn parents(&self, var: VarId) -> &[VarId] {
        if self.is_markov {
            &[]
        } else {
            self.cpts[var.index()].parents()
        }
    }

    /// Gives a CPT other numbers, as a dense table; rows that are one-hot are a function. Of a
    /// selected CPT, the tables of all copies, one after the other.
    pub(crate) fn set_table(&mut self, var: VarId, table: &[f64]) {
        let card = self.card(var);
        let body = &mut self.cpts[var.index()].body;
        if let Body::Selected(copies) = body {
            copies.table.copy_from_slice(table);
        } else {
            *body = as_function(table, card)
                .map_or_else(|| Body::Table(table.to_vec()), Body::Function);
        }
    }
}

impl fmt::Debug for FactorModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_markov { " (Markov)" } else { "" };
        writeln!(f, "network {:?}{kind}", self.name)?;
        for v in self.variables() {
            writeln!(f, "  {} {:?}", v.name, v.values)?;
        }
        for cpt in &self.cpts {
            let names = cpt.scope().iter().map(|&v| &*self.variable(v).name);
            let scope = names.collect::<Vec<_>>().join(", ");
            match cpt.body() {
                Body::Table(t) => writeln!(f, "  f({scope}) = {t:?}")?,
                Body::Function(t) => writeln!(f, "  f({scope}) -> {t:?}")?,
                Body::Selected(t) => writeln!(f, "  f({scope}) selected {t:?}")?,
            }
        }
        Ok(())
    }
}
