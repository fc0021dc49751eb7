//! The task: which variables are predicted from which, and whose CPTs are trained.

use crate::error::{Error, ErrorKind, Result};
use crate::learn::Examples;
use crate::model::{Cpt, Network};
use crate::vars::{VarId, VarSet};

/// Targets, inputs, and the CPTs to train.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    pub(crate) targets: Vec<VarId>,
    pub(crate) given: VarSet,
    /// The inputs in the order in which they were named.
    pub(crate) order: Vec<VarId>,
    pub(crate) trainable: Option<VarSet>,
    pub(crate) frozen: VarSet,
    pub(crate) strict_ties: bool,
}

impl Task {
    /// Predicts targets from inputs.
    pub fn new(targets: &[VarId], given: VarSet) -> Self {
        Task {
            targets: targets.to_vec(),
            given,
            ..Task::default()
        }
    }

    /// Predicts targets from all other variables that the examples have a column for.
    pub fn of(targets: &[VarId], examples: &Examples) -> Self {
        let given = examples
            .variables()
            .filter(|v| !targets.contains(v))
            .collect();
        Task::new(targets, given)
    }

    /// Predicts from the variables that match some names or patterns instead; none leaves the
    /// inputs as they are.
    pub fn given<S: AsRef<str>>(mut self, net: &Network, names: Option<&[S]>) -> Result<Self> {
        if let Some(names) = names {
            self.order = in_order(net, names)?;
            self.given = self.order.iter().copied().collect();
        }
        Ok(self)
    }

    /// Trains the CPTs of the variables that match some names or patterns. By default all are
    /// trained whose [roles](crate::model::Role) allow it.
    pub fn train<S: AsRef<str>>(mut self, net: &Network, names: Option<&[S]>) -> Result<Self> {
        if let Some(names) = names {
            self.trainable = Some(matching(net, names)?);
        }
        Ok(self)
    }

    /// Does not train the CPTs of the variables that match some names or patterns.
    pub fn freeze<S: AsRef<str>>(mut self, net: &Network, names: &[S]) -> Result<Self> {
        self.frozen = matching(net, names)?;
        Ok(self)
    }

    /// Whether a tie of CPTs of different shapes is an error; by default it is split.
    #[must_use]
    pub fn strict_ties(mut self, is_strict: bool) -> Self {
        self.strict_ties = is_strict;
        self
    }

    /// The variables to predict.
    pub fn targets(&self) -> &[VarId] {
        &self.targets
    }

    /// The variables whose CPTs are trained.
    pub fn trainable(&self, net: &Network) -> VarSet {
        &self.trainable.clone().unwrap_or_else(|| trainable(net)) - &self.frozen
    }

    /// The targets as a set.
    pub(crate) fn labels(&self) -> VarSet {
        self.targets.iter().copied().collect()
    }

    /// Refuses to predict a target from itself.
    pub(crate) fn check(&self) -> Result<()> {
        if !self.given.is_empty() && (&self.given - &self.labels()).is_empty() {
            let error = Error::new(
                ErrorKind::Options,
                "a target cannot be predicted from itself",
            );
            return Err(error.hint("name other variables as inputs, or name none"));
        }
        Ok(())
    }
}

fn matching<S: AsRef<str>>(net: &Network, names: &[S]) -> Result<VarSet> {
    Ok(in_order(net, names)?.into_iter().collect())
}

fn in_order<S: AsRef<str>>(net: &Network, names: &[S]) -> Result<Vec<VarId>> {
    let (mut seen, mut found) = (VarSet::default(), vec![]);
    for name in names {
        found.extend(net.matching(name.as_ref())?);
    }
    found.retain(|&v| seen.insert(v));
    Ok(found)
}

/// By default, the CPTs that are not fixed are trained; in a network without roles, those that are
/// not known functions.
fn trainable(net: &Network) -> VarSet {
    let has_roles = net.cpts().iter().any(Cpt::has_role);
    let is_open = |cpt: &&Cpt| {
        if has_roles {
            !cpt.role().fixed
        } else {
            !cpt.is_functional()
        }
    };
    net.cpts()
        .iter()
        .filter(is_open)
        .filter_map(Cpt::child)
        .collect()
}
