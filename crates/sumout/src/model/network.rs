//! A network: variables with named values, and factors over them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use globset::Glob;

use crate::error::{Error, ErrorKind, Remedy, Result, did_you_mean};
use crate::model::builder::Builder;
use crate::model::cpt::Cpt;
use crate::model::factors::{FactorModel, Variable};
use crate::model::format::{self, Format, ReadOptions, WriteOptions};
use crate::model::selection::Sight;
use crate::vars::{VarId, VarSet};

/// A Bayesian network, or a Markov network: immutable once built, and cheap to clone.
///
/// Variables are in topological order: parents have smaller ids than their children. Names are
/// unique. In a Bayesian network the CPT of variable `v` is `net.cpts()[v.index()]`; in a Markov
/// network the factors come in any number and order.
#[derive(Clone)]
pub struct Network {
    model: Arc<FactorModel>,
    ids: Arc<BTreeMap<String, VarId>>,
    sight: Sight,
    notes: Arc<[String]>,
}

/// Notes do not count.
impl PartialEq for Network {
    fn eq(&self, other: &Self) -> bool {
        self.model == other.model && self.sight == other.sight
    }
}

impl Network {
    /// The network of a model whose variables are in topological order, and have unique names.
    pub(super) fn new(model: FactorModel, sight: Sight) -> Self {
        let names = model.variables.iter().zip(model.ids());
        let ids: BTreeMap<String, VarId> = names.map(|(v, id)| (v.name.clone(), id)).collect();
        debug_assert_eq!(ids.len(), model.variables.len(), "names are unique");
        debug_assert!(is_topological(&model), "parents come before their children");
        Network {
            model: Arc::new(model),
            ids: Arc::new(ids),
            sight,
            notes: Arc::default(),
        }
    }

    /// The same network with more notes.
    pub(super) fn with_notes(self, notes: impl IntoIterator<Item = String>) -> Self {
        let notes = self.notes.iter().cloned().chain(notes).collect();
        Network { notes, ..self }
    }

    /// Notes of the reader of a file: that rows were rescaled, or that something was left out.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The variables and factors, without the promises that a network makes of them.
    #[doc(hidden)]
    pub fn model(&self) -> &Arc<FactorModel> {
        &self.model
    }

    /// The same network with other CPTs of the same shapes.
    pub(super) fn with_cpts(&self, change: impl FnOnce(&mut FactorModel)) -> Self {
        let mut net = self.clone();
        change(Arc::make_mut(&mut net.model));
        net
    }

    /// Reads a network from a file, or one that is built in: `asia`, or a [model of the
    /// paper](super::paper) such as `rect:8`.
    ///
    /// The format is told from the file's extension, or else from its content; see [`mod@format`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        Network::read_with(path, &ReadOptions::default())
    }

    /// [Reads](Network::read) a network with options: in another format than the file seems to
    /// have, or with rows rescaled.
    pub fn read_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self> {
        format::read(path.as_ref(), options)
    }

    /// Reads a network from the bytes of a file. Messages call it by its name, and the name's
    /// extension may tell the format.
    pub fn parse(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Self> {
        format::parse(name, bytes, options)
    }

    /// Writes the network to a file, in the format that the extension names; `.gz` compresses.
    ///
    /// Information that the format cannot represent is an error; [`Network::write_with`] can drop
    /// it instead, and takes any format.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        self.write_with(path, &WriteOptions::default())
    }

    /// [Writes](Network::write) the network with options.
    pub fn write_with(&self, path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
        format::write(self, path.as_ref(), options)
    }

    /// The network as the text of a file: in sumout's JSON, which represents everything, unless
    /// the options name another format.
    pub fn to_text(&self, options: &WriteOptions) -> Result<String> {
        let format = options.format.unwrap_or(Format::Json);
        format::to_string(self, format, options.loss)
    }

    /// The same network with other numbers in the CPTs of some variables, each as a dense table;
    /// rows that are one-hot are functions. Of a selected CPT, the tables of all copies, one after
    /// the other.
    pub fn with_tables<'t>(&self, tables: impl IntoIterator<Item = (VarId, &'t [f64])>) -> Network {
        self.with_cpts(|model| {
            for (var, table) in tables {
                model.set_table(var, table);
            }
        })
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
        self.model.name()
    }

    /// Whether it is a Markov network: factors need not be conditional probabilities.
    pub fn is_markov(&self) -> bool {
        self.model.is_markov()
    }

    /// Which evidence the tests see that select CPTs.
    pub fn sight(&self) -> Sight {
        self.sight
    }

    /// Whether it is a testing network: tests of posteriors select some of its CPTs.
    pub fn has_selections(&self) -> bool {
        self.cpts().iter().any(|cpt| cpt.selected().is_some())
    }

    /// All variables, in topological order.
    pub fn variables(&self) -> &[Variable] {
        self.model.variables()
    }

    /// The ids of all variables.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = VarId> + use<> {
        self.model.ids()
    }

    /// One variable.
    pub fn variable(&self, var: VarId) -> &Variable {
        self.model.variable(var)
    }

    /// The number of values of a variable.
    pub fn card(&self, var: VarId) -> usize {
        self.model.card(var)
    }

    /// The numbers of values of all variables.
    pub fn cards(&self) -> Vec<usize> {
        self.model.cards()
    }

    /// All factors; in a Bayesian network, the CPT of each variable.
    pub fn cpts(&self) -> &[Cpt] {
        self.model.cpts()
    }

    /// The parents of a variable, in the order in which they were written. None in a Markov
    /// network.
    pub fn parents(&self, var: VarId) -> &[VarId] {
        self.model.parents(var)
    }

    /// The variables whose CPTs are to be learned, as roles tell: all that are not fixed. None if
    /// no CPT has a role: then the network does not tell.
    pub(crate) fn trainable_by_role(&self) -> Option<VarSet> {
        let tells = self.cpts().iter().any(Cpt::has_role);
        let open = self.cpts().iter().filter(|cpt| !cpt.role().fixed);
        tells.then(|| open.filter_map(Cpt::child).collect())
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
            format!("no variable `{name}` in network `{}`", self.name()),
        );
        match did_you_mean(name, self.variables().iter().map(|v| v.name.as_str())) {
            Some(hint) => error.hint(hint),
            None => error.hint(Remedy::ListVariables),
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

/// Whether parents have smaller ids than their children.
fn is_topological(model: &FactorModel) -> bool {
    model
        .ids()
        .all(|v| model.parents(v).iter().all(|&parent| parent < v))
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.model.fmt(f)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_markov() {
            "Markov"
        } else {
            "Bayesian"
        };
        let functional = self.cpts().iter().filter(|c| c.is_functional()).count();
        write!(
            f,
            "{kind} network `{}`: {} variables, {} functional CPTs",
            self.name(),
            self.variables().len(),
            functional
        )
    }
}
