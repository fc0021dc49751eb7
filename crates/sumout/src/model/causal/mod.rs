//! Interventions, and worlds that differ by them.
//!
//! An intervention replaces the mechanism of a variable by a value. It makes another network, of
//! which all questions can be asked ([`Network::intervene`]); or it becomes an input, so that one
//! circuit answers for every value of it ([`Network::with_regimes`]).
//!
//! A counterfactual, how the same unit would have fared under an intervention, is about two worlds
//! that share all causes outside of the network: `y[x=0]` is Y in the world in which X is set to 0
//! (`term`).
//! [`Network::with_worlds`] adds such variables to a network (`worlds`), so that a counterfactual is
//! an ordinary question about them. Worlds are copies of the variables that their interventions
//! reach. That is well defined if all of these are functions of their parents; other networks can
//! be completed (`complete`).

mod complete;
mod term;
mod worlds;

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::model::cpt::{Body, Cpt, Role};
use crate::model::factors::{FactorModel, Variable};
use crate::model::network::Network;
use crate::vars::VarId;

/// The value of a regime that leaves a variable to its mechanism.
const IDLE: &str = "idle";

impl Network {
    /// The network in which variables are set to values from outside, whatever their parents are.
    ///
    /// Evidence on it is seen after the intervention. To replace a mechanism by another one than
    /// a value, use [`Network::with_tables`].
    ///
    /// ```
    /// use sumout::{Evidence, Network, Options};
    ///
    /// let asia = Network::read("asia")?.intervene([("smoke", "no")])?;
    /// let answer = asia.query(&[asia.find("lung")?], &Evidence::new(), &Options::default())?;
    /// assert!((answer.probability("lung", "yes")? - 0.01).abs() < 1e-12);
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn intervene<S: AsRef<str>>(
        &self,
        settings: impl IntoIterator<Item = (S, S)>,
    ) -> Result<Network> {
        self.check_causal()?;
        let mut set = vec![None; self.variables().len()];
        for (name, value) in settings {
            let var = self.find(name.as_ref())?;
            let value = self.value(var, value.as_ref())?;
            if set[var.index()].replace(value).is_some_and(|v| v != value) {
                return Err(twice(name.as_ref()));
            }
        }
        Ok(self.with_cpts(|model| {
            for (var, value) in self.ids().zip(set) {
                if let Some(value) = value {
                    model.cpts[var.index()] = constant(var, value);
                }
            }
        }))
    }

    /// The network with a variable `do(x)` for each variable named: it sets `x` to one of its
    /// values, or leaves it to its mechanism if its own value is `idle`.
    ///
    /// As an input that has a value in every example ([`Query::hard`](crate::Query::hard)), it lets
    /// one circuit answer for every intervention. It has no distribution: without a value, answers
    /// mean nothing.
    ///
    /// ```
    /// use sumout::{Batch, Column, EvalOptions, Network, Options, Query};
    ///
    /// let asia = Network::read("asia")?.with_regimes(["smoke"])?;
    /// let query = Query::of("lung").hard(["do(smoke)"]);
    /// let circuit = asia.compile(&query, &Options::default())?;
    /// let set_to = Column::Values(vec![0, 1, 2]); // yes, no, idle
    /// let batch = Batch::new(3).with(&circuit, "do(smoke)", set_to)?;
    /// let answers = circuit.evaluator(&EvalOptions::default())?.run(&batch)?;
    /// assert!((answers.row(0)[0] - 0.1).abs() < 1e-6);
    /// assert!((answers.row(2)[0] - 0.055).abs() < 1e-6);
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn with_regimes<S: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<Network> {
        self.check_causal()?;
        let mut regimes = vec![];
        for name in names {
            regimes.extend(self.matching(name.as_ref())?);
        }
        regimes.sort_unstable();
        regimes.dedup();
        let variables: Vec<Variable> = regimes.iter().map(|&x| regime(self.variable(x))).collect();
        self.check_new(&variables)?;
        Ok(with_regimes(self, &regimes, variables))
    }

    /// Refuses networks in which a mechanism cannot be replaced.
    fn check_causal(&self) -> Result<()> {
        if self.is_markov() {
            let message = "interventions need directed edges, and a Markov network has none";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        if self.has_selections() {
            let message = "interventions in a testing network are not supported";
            let error = Error::new(ErrorKind::Unsupported, message);
            return Err(error.hint("use the network that is selected for some evidence"));
        }
        Ok(())
    }

    /// Refuses names of new variables that there are already.
    fn check_new(&self, variables: &[Variable]) -> Result<()> {
        match variables.iter().find(|v| self.find(&v.name).is_ok()) {
            None => Ok(()),
            Some(v) => {
                let message = format!("there is a variable `{}` already", v.name);
                Err(Error::new(ErrorKind::Model, message).hint("rename it"))
            }
        }
    }
}

/// A variable that is set to two values at once.
fn twice(name: &str) -> Error {
    let message = format!("`{name}` is set to two values at once");
    Error::new(ErrorKind::Options, message)
}

/// The mechanism of a variable that is set to a value.
fn constant(var: VarId, value: usize) -> Cpt {
    mechanism(vec![var], Body::Function(vec![value as u32]))
}

fn mechanism(scope: Vec<VarId>, body: Body) -> Cpt {
    Cpt {
        scope,
        is_potential: false,
        body,
        role: Role::default(),
        parts: vec![],
    }
}

/// A model with more variables, whose parents come before them.
fn extended(net: &Network, variables: Vec<Variable>, cpts: Vec<Cpt>) -> Network {
    let old = net.model();
    let all = old.variables().iter().cloned().chain(variables);
    let model = FactorModel {
        name: old.name.clone(),
        is_markov: false,
        variables: Arc::new(all.collect()),
        cpts: old.cpts.iter().cloned().chain(cpts).collect(),
    };
    Network::new(model, net.sight())
}

/// The variable that sets another one.
fn regime(x: &Variable) -> Variable {
    let mut idle = IDLE.to_owned();
    while x.values.contains(&idle) {
        idle.push('_');
    }
    Variable {
        name: format!("do({})", x.name),
        values: x.values.iter().cloned().chain([idle]).collect(),
    }
}

/// The network behind its regimes, which come first as they are roots.
fn with_regimes(net: &Network, regimes: &[VarId], variables: Vec<Variable>) -> Network {
    let old = net.model();
    let moved = |v: &VarId| VarId::new(v.index() + regimes.len());
    let free = variables.iter().enumerate().map(|(at, regime)| {
        let ones = vec![1.0; regime.values.len()];
        mechanism(vec![VarId::new(at)], Body::Table(ones))
    });
    let cards = old.cards();
    let behind = old.ids().zip(&old.cpts).map(|(v, cpt)| {
        let mut cpt = match regimes.iter().position(|&x| x == v) {
            Some(at) => {
                let mut cpt = governed(cpt, &cards);
                cpt.scope = cpt.scope.iter().map(moved).collect();
                cpt.scope.insert(0, VarId::new(at));
                return cpt;
            }
            None => cpt.clone(),
        };
        cpt.scope = cpt.scope.iter().map(moved).collect();
        cpt
    });
    let cpts = free.chain(behind).collect();
    let model = FactorModel {
        name: old.name.clone(),
        is_markov: false,
        variables: Arc::new(
            variables
                .into_iter()
                .chain(old.variables().iter().cloned())
                .collect(),
        ),
        cpts,
    };
    Network::new(model, net.sight())
}

/// A mechanism for each value of a regime: its value for each but the last.
fn governed(cpt: &Cpt, cards: &[usize]) -> Cpt {
    let child = cpt.scope[cpt.scope.len() - 1];
    let card = cards[child.index()];
    let rows = cpt.size(cards) / card;
    let body = match &cpt.body {
        Body::Function(values) => {
            let set = (0..card as u32).flat_map(|value| vec![value; rows]);
            Body::Function(set.chain(values.iter().copied()).collect())
        }
        _ => {
            let one_hot = |value: usize| (0..card).map(move |at| f64::from(u8::from(at == value)));
            let set = (0..card).flat_map(|value| (0..rows).flat_map(move |_| one_hot(value)));
            Body::Table(set.chain(cpt.table(cards)).collect())
        }
    };
    Cpt {
        role: Role {
            tie: None,
            ..cpt.role.clone()
        },
        parts: vec![],
        ..mechanism(cpt.scope.clone(), body)
    }
}
