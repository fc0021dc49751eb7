//! A network: variables with named values, and factors over them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use globset::Glob;

use crate::error::{Error, ErrorKind, Result, did_you_mean, shortlist};
use crate::model::builder::Builder;
use crate::model::cpt::{Body, Cpt, as_function};
use crate::model::format;
use crate::model::selection::Sight;
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

/// A Bayesian network, or a Markov network: immutable once built.
///
/// Variables are in topological order. In a Bayesian network the CPT of variable `v` is
/// `net.cpts()[v.index()]`; in a Markov network the factors come in any number and order.
#[derive(Clone, PartialEq)]
pub struct Network {
    pub(super) name: String,
    pub(super) is_markov: bool,
    /// Shared with circuits and answers, which know them by name.
    pub(super) variables: Arc<Vec<Variable>>,
    pub(super) cpts: Vec<Cpt>,
    pub(super) ids: BTreeMap<String, VarId>,
    pub(super) sight: Sight,
}

impl Network {
    /// Reads a network from a file, or one that is built in: `asia`, or a [model of the
    /// paper](super::paper) such as `rect:8`.
    ///
    /// The format is told from the file's extension, or else from its content; see [`mod@format`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        format::read(path.as_ref(), &format::ReadOptions::default())
    }

    /// Writes the network to a file, in the format that the extension names.
    ///
    /// What the format cannot carry is an error; [`format::write`] can drop it instead, and takes
    /// any format.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        format::write(self, path.as_ref(), &format::WriteOptions::default())
    }

    /// The same network with other numbers in the CPTs of some variables, each as a dense table;
    /// rows that are one-hot are functions. Of a tested CPT, the tables of all copies, one after
    /// the other.
    pub fn with_tables<'t>(&self, tables: impl IntoIterator<Item = (VarId, &'t [f64])>) -> Network {
        let mut net = self.clone();
        for (var, table) in tables {
            let card = net.card(var);
            if let Body::Tested(tested) = &mut net.cpts[var.index()].body {
                tested.table.copy_from_slice(table);
                continue;
            }
            let body = as_function(table, card)
                .map_or_else(|| Body::Table(table.to_vec()), Body::Function);
            net.cpts[var.index()].body = body;
        }
        net
    }

    /// Starts a Bayesian network.
    pub fn builder(name: impl Into<String>) -> Builder {
        Builder::new(name.into(), false)
    }

    /// Starts a Markov network.
    pub fn markov(name: impl Into<String>) -> Builder {
        Builder::new(name.into(), true)
    }

    /// The name that the file or the builder gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a Markov network: factors need not be conditional probabilities.
    pub fn is_markov(&self) -> bool {
        self.is_markov
    }

    /// Which evidence the tests of tested CPTs see.
    pub fn sight(&self) -> Sight {
        self.sight
    }

    /// Whether some CPTs are selected by tests.
    pub fn is_testing(&self) -> bool {
        self.cpts.iter().any(|cpt| cpt.tested().is_some())
    }

    /// All variables, in topological order.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The same, to be kept.
    pub(crate) fn shared_variables(&self) -> Arc<Vec<Variable>> {
        self.variables.clone()
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

    /// All factors; in a Bayesian network, the CPT of each variable.
    pub fn cpts(&self) -> &[Cpt] {
        &self.cpts
    }

    /// The parents of a variable, in the order in which they were written. None in a Markov
    /// network.
    pub fn parents(&self, var: VarId) -> &[VarId] {
        if self.is_markov {
            &[]
        } else {
            self.cpts[var.index()].parents()
        }
    }

    /// The variable of that name.
    pub fn find(&self, name: &str) -> Result<VarId> {
        self.ids
            .get(name)
            .copied()
            .ok_or_else(|| self.no_variable(name))
    }

    fn no_variable(&self, name: &str) -> Error {
        let error = Error::new(
            ErrorKind::Name,
            format!("no variable `{name}` in network `{}`", self.name),
        );
        match did_you_mean(name, self.variables.iter().map(|v| v.name.as_str())) {
            Some(hint) => error.hint(hint),
            None => error.hint("`sumout show` lists the variables"),
        }
    }

    /// The variables whose names match a pattern such as `pixel_*`; a plain name matches itself.
    ///
    /// A pattern that matches nothing is an error.
    pub fn matching(&self, pattern: &str) -> Result<Vec<VarId>> {
        if let Some(&id) = self.ids.get(pattern) {
            return Ok(vec![id]);
        }
        let glob = Glob::new(pattern)
            .map_err(|e| Error::new(ErrorKind::Name, e.to_string()))?
            .compile_matcher();
        let found: Vec<VarId> = self
            .ids()
            .filter(|&v| glob.is_match(&self.variable(v).name))
            .collect();
        if found.is_empty() {
            Err(self.no_variable(pattern))
        } else {
            Ok(found)
        }
    }

    /// The position of a value of a variable.
    pub fn value(&self, var: VarId, value: &str) -> Result<usize> {
        self.variable(var).position(value)
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "network {:?}{}",
            self.name,
            if self.is_markov { " (Markov)" } else { "" }
        )?;
        for v in self.variables() {
            writeln!(f, "  {} {:?}", v.name, v.values)?;
        }
        for cpt in &self.cpts {
            let scope: Vec<&str> = cpt
                .scope()
                .iter()
                .map(|&v| self.variable(v).name.as_str())
                .collect();
            match cpt.body() {
                Body::Table(t) => writeln!(f, "  f({}) = {t:?}", scope.join(", "))?,
                Body::Function(t) => writeln!(f, "  f({}) -> {t:?}", scope.join(", "))?,
                Body::Tested(t) => writeln!(f, "  f({}) tested {t:?}", scope.join(", "))?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_markov { "Markov" } else { "Bayesian" };
        let functional = self.cpts.iter().filter(|c| c.is_functional()).count();
        write!(
            f,
            "{kind} network `{}`: {} variables, {} functional CPTs",
            self.name,
            self.variables.len(),
            functional
        )
    }
}
