//! Adds variables of other worlds to a network.
//!
//! In a world, a variable that is set takes its value from the intervention, and all variables
//! that depend on it are copied: a copy has the mechanism of the original, and its parents in that
//! world. Variables that the intervention does not reach are not copied, nor are those that nothing
//! asked for depends on. A term that names such a variable is a copy of its value.

use std::collections::BTreeMap;

use crate::error::{Error, ErrorKind, Remedy, Result, shown};
use crate::model::causal::term::{Setting, Term, World};
use crate::model::causal::{constant, extended, mechanism};
use crate::model::cpt::{Body, Cpt};
use crate::model::factors::Variable;
use crate::model::network::Network;
use crate::vars::VarId;

impl Network {
    /// The network with variables of other worlds: `y[x=0]` is Y if X were set to 0 from outside,
    /// for the same unit. Several settings are separated by commas; `z=z[x=1]` sets a variable
    /// to the value that it takes in yet another world.
    ///
    /// Worlds share the variables that their interventions do not reach. The others must be
    /// functions of their parents, since a variable that is random given its parents could be
    /// anything in another world: see [`Network::completed`].
    ///
    /// ```
    /// use sumout::{Evidence, Network, Options};
    ///
    /// let mut b = Network::builder("treatment");
    /// let nature = b.variable("nature", ["dies", "lives", "is cured", "is harmed"]);
    /// let treated = b.variable("treated", ["no", "yes"]);
    /// let alive = b.variable("alive", ["no", "yes"]);
    /// b.table(nature, [], [0.2, 0.3, 0.4, 0.1]);
    /// b.table(treated, [], [0.5, 0.5]);
    /// b.mapping(alive, [nature, treated], [0, 0, 1, 1, 0, 1, 1, 0]);
    /// let net = b.build()?.with_worlds(["alive[treated=no]"])?;
    ///
    /// // Treated and alive: would they have died without?
    /// let seen = Evidence::new().observe(&net, "treated", "yes")?.observe(&net, "alive", "yes")?;
    /// let answer = net.query(&[net.find("alive[treated=no]")?], &seen, &Options::default())?;
    /// assert!((answer.probability("alive[treated=no]", "no")? - 0.4 / 0.7).abs() < 1e-12);
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn with_worlds<S: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<Network> {
        self.check_causal()?;
        let mut worlds = Worlds::new(self);
        for name in names {
            worlds.name(name.as_ref())?;
        }
        self.check_new(&worlds.variables)?;
        Ok(extended(self, worlds.variables, worlds.cpts))
    }
}

/// Worlds that are being added.
struct Worlds<'n> {
    net: &'n Network,
    variables: Vec<Variable>,
    cpts: Vec<Cpt>,
    /// The variables of each world that differ from those that are seen.
    known: BTreeMap<World, BTreeMap<VarId, VarId>>,
}

impl<'n> Worlds<'n> {
    fn new(net: &'n Network) -> Self {
        Worlds {
            net,
            variables: vec![],
            cpts: vec![],
            known: BTreeMap::new(),
        }
    }

    /// Makes sure that there is a variable of that name.
    fn name(&mut self, name: &str) -> Result<()> {
        let is_there = |v: &Variable| v.name == name;
        if self.net.find(name).is_ok() || self.variables.iter().any(is_there) {
            return Ok(());
        }
        let term = Term::parse(self.net, name)?;
        let var = self.realise(&term)?;
        if !self.variables.last().is_some_and(is_there) && !self.variables.iter().any(is_there) {
            self.add(name.to_owned(), term.var, |new| {
                same(var, new, self.net.card(term.var))
            });
        }
        Ok(())
    }

    /// The variable that a term is; added with all that it needs if it is not there yet.
    fn realise(&mut self, term: &Term) -> Result<VarId> {
        let needed = self.needed(term);
        for var in self.net.ids().filter(|v| needed[v.index()]) {
            let is_known = |of: &BTreeMap<VarId, VarId>| of.contains_key(&var);
            if self.known.get(&term.world).is_some_and(is_known) {
                continue;
            }
            if let Some(copy) = self.copy(var, &term.world)? {
                let world = self.known.entry(term.world.clone()).or_default();
                world.insert(var, copy);
            }
        }
        Ok(self.in_world(term.var, &term.world))
    }

    /// The ancestors of a term, up to what is set.
    fn needed(&self, term: &Term) -> Vec<bool> {
        let mut needed = vec![false; self.net.variables().len()];
        needed[term.var.index()] = true;
        for var in (0..needed.len()).rev().map(VarId::new) {
            if needed[var.index()] && set(&term.world, var).is_none() {
                let parents = self.net.parents(var);
                parents.iter().for_each(|p| needed[p.index()] = true);
            }
        }
        needed
    }

    /// A variable as it is in a world: a copy, or itself.
    fn in_world(&self, var: VarId, world: &World) -> VarId {
        let copy = self.known.get(world).and_then(|of| of.get(&var));
        copy.copied().unwrap_or(var)
    }

    /// Adds a variable of a world, if it differs from the one that is seen. Its parents are there.
    fn copy(&mut self, var: VarId, world: &World) -> Result<Option<VarId>> {
        let name = Term {
            var,
            world: world.clone(),
        }
        .name(self.net);
        match set(world, var) {
            Some(Setting::Value(value)) => {
                let value = *value;
                Ok(Some(self.add(name, var, |new| constant(new, value))))
            }
            Some(Setting::As(term)) => {
                let source = self.realise(term)?;
                let card = self.net.card(var);
                Ok(Some(self.add(name, var, |new| same(source, new, card))))
            }
            None => self.reached(var, world, name),
        }
    }

    /// Adds a copy of a variable, if one of its parents has one.
    fn reached(&mut self, var: VarId, world: &World, name: String) -> Result<Option<VarId>> {
        let cpt = &self.net.cpts()[var.index()];
        let parents = cpt.parents().iter().map(|&p| self.in_world(p, world));
        let mut scope: Vec<VarId> = parents.collect();
        if scope == cpt.parents() {
            return Ok(None);
        }
        let Body::Function(values) = cpt.body() else {
            return Err(random(self.net, var, &name));
        };
        let body = Body::Function(values.clone());
        Ok(Some(self.add(name, var, |new| {
            scope.push(new);
            mechanism(scope, body)
        })))
    }

    /// Adds a variable with the values of another one.
    fn add(&mut self, name: String, like: VarId, cpt: impl FnOnce(VarId) -> Cpt) -> VarId {
        let var = VarId::new(self.net.variables().len() + self.variables.len());
        let values = self.net.variable(like).values.clone();
        self.variables.push(Variable { name, values });
        self.cpts.push(cpt(var));
        var
    }
}

/// The mechanism by which a world sets a variable.
fn set(world: &World, var: VarId) -> Option<&Setting> {
    world.iter().find(|(x, _)| *x == var).map(|(_, to)| to)
}

/// The mechanism of a variable that takes the value of another.
fn same(source: VarId, new: VarId, card: usize) -> Cpt {
    let values = (0..card as u32).collect();
    mechanism(vec![source, new], Body::Function(values))
}

/// A variable that could be anything in another world.
fn random(net: &Network, var: VarId, copy: &str) -> Error {
    let message = format!(
        "`{}` is random given its parents, so `{}` is not determined",
        shown(&net.variable(var).name),
        shown(copy)
    );
    Error::new(ErrorKind::Model, message)
        .hint("make it a function of its parents and of noise")
        .or(Remedy::TurnOn {
            option: "complete",
            purpose: "to assume that its rows are independent",
        })
}
