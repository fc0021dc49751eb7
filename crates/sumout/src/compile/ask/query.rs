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
    targets: Vec<String>,
    is_joint: bool,
    given: Vec<String>,
    hard: Vec<String>,
    trainable: Option<Vec<String>>,
    families: bool,
    explain: bool,
}

impl Query {
    /// Asks for the posterior of one variable.
    pub fn of(target: impl Into<String>) -> Self {
        Query::of_several([target])
    }

    /// Asks for the posteriors of some variables, named or matched by patterns. One backward pass
    /// gives all of them. If no inputs are named, each of them is an input, too.
    ///
    /// ```
    /// use sumout::{Batch, Column, Network, Options, Query};
    ///
    /// let asia = Network::read("asia")?;
    /// let circuit = asia.compile(&Query::of_several(["lung", "tub"]).given(["xray"]), &Options::default())?;
    /// let batch = Batch::new(1).with(&circuit, "xray", Column::Values(vec![0]))?;
    /// let answers = circuit.evaluate(&batch)?;
    /// assert_eq!(answers.width(), 4); // two values of `tub`, and two of `lung`
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn of_several<S: Into<String>>(targets: impl IntoIterator<Item = S>) -> Self {
        Query {
            targets: targets.into_iter().map(Into::into).collect(),
            ..Query::default()
        }
    }

    /// Asks for the joint posterior of some variables, named or matched by patterns, as if they were
    /// one: see [`Circuit::targets`](crate::Circuit::targets).
    pub fn joint<S: Into<String>>(targets: impl IntoIterator<Item = S>) -> Self {
        Query {
            is_joint: true,
            ..Query::of_several(targets)
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

    /// Names the variables whose CPTs are yet to be learned.
    ///
    /// Without this, [roles](crate::model::Role) decide: all CPTs that are not fixed, or none if no
    /// CPT of the network has a role. Explanations never leave a CPT open.
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
    #[doc(hidden)]
    pub fn question(&self, net: &Network) -> Result<Question> {
        if self.explain {
            return self.explanation(net);
        }
        let (hard, order) = (matching(net, &self.hard)?, self.inputs(net)?);
        let inputs: VarSet = order.iter().copied().collect();
        let goal = self.goal(net, &hard)?;
        if let Some(both) = goal.targets().iter().find(|&v| inputs.contains(v))
            && !self.targets.is_empty()
        {
            let name = &net.variable(both).name;
            let message = format!("`{name}` is asked for and given at the same time");
            let error = Error::new(ErrorKind::Options, message);
            return Err(error.hint("name the inputs so that the target is not among them"));
        }
        let trainable = match &self.trainable {
            Some(names) => matching(net, names)?,
            None => net.trainable_by_role().unwrap_or_default(),
        };
        Ok(Question {
            goal,
            inputs,
            order,
            hard,
            trainable,
            families: self.families,
            ..Question::default()
        })
    }

    /// The posteriors of the targets, of all variables if there are none; or of all targets together.
    fn goal(&self, net: &Network, hard: &VarSet) -> Result<Goal> {
        let mut targets: Vec<VarId> = vec![];
        for name in &self.targets {
            let found = net.matching(name)?;
            let new = found
                .into_iter()
                .filter(|v| self.is_joint || !targets.contains(v));
            targets.extend(new.collect::<Vec<_>>());
        }
        if self.is_joint {
            return Ok(Goal::Joint(targets));
        }
        Ok(Goal::posteriors(if targets.is_empty() {
            &net.ids().collect() - hard
        } else {
            targets.into_iter().collect()
        }))
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
