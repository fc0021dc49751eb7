//! Questions in the names of a network's variables.

use crate::compile::ask::{Goal, Question};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Network;
use crate::vars::{VarId, VarSet};

/// A question in the names of a network's variables: `Query::of("lung").given(["xray", "dysp"])` is
/// P(lung | xray, dysp), whatever the values of the two will be.
///
/// Inputs are named or matched by patterns such as `pixel_*`. The names are looked up when the
/// query meets a network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    target: Option<String>,
    given: Vec<String>,
    hard: Vec<String>,
    trainable: Option<Vec<String>>,
    families: bool,
    explain: bool,
}

impl Query {
    /// Asks for the posterior of one variable.
    pub fn of(target: impl Into<String>) -> Self {
        Query {
            target: Some(target.into()),
            ..Query::default()
        }
    }

    /// Asks for the posteriors of all variables. If no inputs are named, each of them is an input,
    /// too.
    pub fn all() -> Self {
        Query::default()
    }

    /// Asks for the most probable values of all variables together. If no inputs are named, each of
    /// them is one.
    pub fn explain() -> Self {
        Query {
            explain: true,
            ..Query::default()
        }
    }

    /// Names inputs: in each example they have a value, or a likelihood, or nothing is known of
    /// them.
    pub fn given<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.given.extend(names.into_iter().map(Into::into));
        self
    }

    /// Names inputs that have a value in every example.
    pub fn hard<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.hard.extend(names.into_iter().map(Into::into));
        self
    }

    /// The inputs that are named, in a network: in the order in which they are, those of a pattern in
    /// the order of the network.
    pub fn inputs(&self, net: &Network) -> Result<Vec<VarId>> {
        let mut seen = VarSet::default();
        let mut named = in_order(net, &self.given)?;
        named.extend(in_order(net, &self.hard)?);
        named.retain(|&v| seen.insert(v));
        Ok(named)
    }

    /// Names the variables whose CPTs are yet to be learned, instead of those whose
    /// [roles](crate::model::Role) say so.
    ///
    /// Without this, it is all CPTs that are not fixed; but none if the network has no roles
    /// anything about roles. Explanations take tables as they are.
    pub fn trainable<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.trainable
            .get_or_insert_default()
            .extend(names.into_iter().map(Into::into));
        self
    }

    /// Asks for the marginals of all [families](crate::Circuit::families), too.
    pub fn families(mut self) -> Self {
        self.families = true;
        self
    }

    /// The same for one network. A name that it does not have is an error, and so is a target that
    /// is given.
    pub fn question(&self, net: &Network) -> Result<Question> {
        if self.explain {
            return self.explanation(net);
        }
        let target = self
            .target
            .as_deref()
            .map(|name| net.find(name))
            .transpose()?;
        let (hard, order) = (matching(net, &self.hard)?, self.inputs(net)?);
        let inputs: VarSet = order.iter().copied().collect();
        if let Some(name) = target
            .filter(|&v| inputs.contains(v))
            .map(|v| &net.variable(v).name)
        {
            let error = Error::new(
                ErrorKind::Options,
                format!("`{name}` is asked for and given at the same time"),
            );
            return Err(error.hint("name the inputs so that the target is not among them"));
        }
        let all = || Goal::posteriors(&net.ids().collect() - &hard);
        let trainable = match &self.trainable {
            Some(names) => matching(net, names)?,
            None => net.trainable_by_role().unwrap_or_default(),
        };
        Ok(Question {
            goal: target.map_or_else(all, Goal::Posterior),
            inputs,
            order,
            hard,
            trainable,
            families: self.families,
            ..Question::default()
        })
    }

    fn explanation(&self, net: &Network) -> Result<Question> {
        let (hard, order) = (matching(net, &self.hard)?, self.inputs(net)?);
        let inputs = if order.is_empty() {
            net.ids().collect()
        } else {
            order.iter().copied().collect()
        };
        Ok(Question {
            goal: Goal::Explanation,
            inputs,
            order,
            hard,
            ..Question::default()
        })
    }
}

fn matching(net: &Network, patterns: &[String]) -> Result<VarSet> {
    Ok(in_order(net, patterns)?.into_iter().collect())
}

fn in_order(net: &Network, patterns: &[String]) -> Result<Vec<VarId>> {
    let found: Result<Vec<_>> = patterns
        .iter()
        .map(|pattern| inputs(net, pattern))
        .collect();
    Ok(found?.into_iter().flatten().collect())
}

fn inputs(net: &Network, pattern: &str) -> Result<Vec<VarId>> {
    net.matching(pattern)
        .map_err(|error| match pattern.split_once('=') {
            Some((name, _)) if net.matching(name).is_ok() => {
                let error = Error::new(
                    ErrorKind::Name,
                    format!("`{pattern}` names an input and a value"),
                );
                error.hint(format!("write `{name}`; values come with the data"))
            }
            _ => error,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(query: Query) -> Result<Question> {
        query.question(&Network::read("asia").unwrap())
    }

    fn complaint(query: Query) -> String {
        question(query).unwrap_err().to_string()
    }

    #[test]
    fn inputs_are_names_or_patterns_and_hard_ones_are_inputs() {
        let asked = question(Query::of("lung").given(["x*", "dysp"]).hard(["smoke"])).unwrap();
        assert_eq!((asked.inputs.len(), asked.hard.len()), (3, 1));
        assert!(asked.goal.target().is_some());
    }

    #[test]
    fn inputs_keep_the_order_in_which_they_are_named() {
        let net = Network::read("asia").unwrap();
        let query = Query::of("lung").given(["xray", "*s*"]).hard(["tub"]);
        let circuit = net.compile(&query, &Default::default()).unwrap();
        let again = crate::Circuit::from_bytes(&circuit.to_bytes().unwrap()).unwrap();
        for circuit in [circuit, again] {
            let named: Vec<_> = circuit.inputs().map(|v| &*net.variable(v).name).collect();
            assert_eq!(named, ["xray", "asia", "smoke", "dysp", "tub"]);
        }
    }

    #[test]
    fn all_posteriors_are_those_of_variables_whose_value_is_not_promised() {
        let asked = question(Query::all().hard(["smoke", "asia"])).unwrap();
        assert_eq!((asked.goal.targets().len(), asked.inputs.len()), (6, 2));
    }

    #[test]
    fn mistakes_say_what_to_do() {
        assert!(complaint(Query::of("lnug")).contains("did you mean `lung`?"));
        assert!(complaint(Query::of("lung").given(["xra"])).contains("did you mean `xray`?"));
        assert!(
            complaint(Query::of("lung").hard(["l*"])).starts_with("`lung` is asked for and given")
        );
        assert!(
            complaint(Query::of("lung").given(["xray=yes"]))
                .contains("write `xray`; values come with the data")
        );
    }
}
