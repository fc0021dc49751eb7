//! Makes a network structural: variables that are random given their parents become functions of
//! them and of noise.
//!
//! The noise of a variable is its response: a value for every state of its parents, drawn before
//! anything happens. Many distributions of responses have the same rows, and they do not agree
//! about other worlds. The one that is chosen here draws the rows independently.

use crate::error::{Error, ErrorKind, Result, shown};
use crate::model::cpt::Body;
use crate::model::factors::Variable;
use crate::model::network::Network;
use crate::vars::VarId;

/// The most responses of a variable.
const MAX_RESPONSES: usize = 4096;

impl Network {
    /// The variables that are random given their parents, other than roots: in another world they
    /// could be anything. A network without any is structural.
    ///
    /// ```
    /// use sumout::Network;
    ///
    /// let asia = Network::read("asia")?;
    /// assert_eq!(asia.not_structural().count(), 5);
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn not_structural(&self) -> impl Iterator<Item = VarId> {
        let is_random = |v: &VarId| {
            let cpt = &self.cpts()[v.index()];
            !cpt.parents().is_empty() && !cpt.is_functional()
        };
        self.ids()
            .filter(move |v| !self.is_markov() && is_random(v))
    }

    /// A structural network with the same distribution: each variable that is random given its
    /// parents becomes a function of them and of a new root `response(x)`, whose values are the
    /// values of x for each state of the parents, drawn independently.
    ///
    /// Other structural networks have the same distribution, and may give counterfactuals other
    /// probabilities: those of this one depend on that assumption.
    pub fn completed(&self) -> Result<Network> {
        self.check_causal()?;
        let random: Vec<VarId> = self.not_structural().collect();
        let mut b = Network::builder(self.name());
        let nodes: Vec<_> = self
            .variables()
            .iter()
            .map(|v| b.variable(v.name.clone(), v.values.iter().cloned()))
            .collect();
        for (v, cpt) in self.ids().zip(self.cpts()) {
            let parents = cpt.parents().iter().map(|p| nodes[p.index()]);
            let table = cpt.table(&self.cards());
            if !random.contains(&v) {
                match cpt.body() {
                    Body::Function(values) => b.mapping(nodes[v.index()], parents, values.clone()),
                    _ => b.table(nodes[v.index()], parents, table),
                };
                continue;
            }
            let responses = Responses::new(self, v, &table)?;
            let Variable { name, values } = responses.variable(self);
            let noise = b.variable(name, values);
            b.table(noise, [], responses.probabilities());
            let scope: Vec<_> = parents.chain([noise]).collect();
            b.mapping(nodes[v.index()], scope, responses.function());
        }
        b.build()
    }
}

/// The responses of a variable: the digits of a number, one for each row of its CPT, the first the
/// most significant.
struct Responses<'t> {
    var: VarId,
    card: usize,
    rows: Vec<&'t [f64]>,
}

impl<'t> Responses<'t> {
    fn new(net: &Network, var: VarId, table: &'t [f64]) -> Result<Self> {
        let card = net.card(var);
        let rows: Vec<&[f64]> = table.chunks_exact(card).collect();
        let count = card.checked_pow(rows.len() as u32);
        if count.is_some_and(|count| count <= MAX_RESPONSES) {
            return Ok(Responses { var, card, rows });
        }
        let message = format!(
            "`{}` has {} rows of {card} values: too many ways to respond to its parents",
            shown(&net.variable(var).name),
            rows.len()
        );
        let error = Error::new(ErrorKind::Model, message);
        Err(error.hint("make it a function of its parents and of noise"))
    }

    fn count(&self) -> usize {
        self.card.pow(self.rows.len() as u32)
    }

    fn digits(&self, response: usize) -> impl Iterator<Item = usize> {
        let weights = (0..self.rows.len() as u32).rev();
        weights.map(move |at| response / self.card.pow(at) % self.card)
    }

    /// The root: its values are those of the variable, row by row.
    fn variable(&self, net: &Network) -> Variable {
        let of = net.variable(self.var);
        let named = |response| {
            let values = self.digits(response).map(|value| of.values[value].as_str());
            values.collect::<Vec<_>>().join("|")
        };
        Variable {
            name: format!("response({})", of.name),
            values: (0..self.count()).map(named).collect(),
        }
    }

    fn probabilities(&self) -> Vec<f64> {
        let of = |response| {
            let digits = self.digits(response).zip(&self.rows);
            digits.map(|(value, row)| row[value]).product::<f64>()
        };
        (0..self.count()).map(of).collect()
    }

    /// The value for each row and each response.
    fn function(&self) -> Vec<u32> {
        let at = |row: usize| {
            (0..self.count())
                .map(move |response| self.digits(response).nth(row).unwrap_or(0) as u32)
        };
        (0..self.rows.len()).flat_map(at).collect()
    }
}
