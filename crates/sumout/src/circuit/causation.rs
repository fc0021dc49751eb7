//! How much a cause has to do with an effect, in one unit and on average.

use crate::circuit::Options;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Evidence, Finding, Network};
use crate::vars::VarId;

/// Probabilities of causation: what a cause X = x has to do with an effect Y = y, compared with
/// another value x′. Each is none where its condition is impossible.
#[derive(Clone, Debug, PartialEq)]
pub struct Causation {
    necessity: Option<f64>,
    sufficiency: Option<f64>,
    both: Option<f64>,
    effect_on_treated: Option<f64>,
    effect: Option<f64>,
}

impl Causation {
    /// The probability of necessity: without the cause there would have been no effect, given both.
    /// P(Y\[x′\] ≠ y | x, y)
    pub fn necessity(&self) -> Option<f64> {
        self.necessity
    }

    /// The probability of sufficiency: the cause would have had the effect, given neither.
    /// P(Y\[x\] = y | x′, Y ≠ y)
    pub fn sufficiency(&self) -> Option<f64> {
        self.sufficiency
    }

    /// The probability of necessity and sufficiency: the effect comes with the cause, and only then.
    /// P(Y\[x\] = y, Y\[x′\] ≠ y)
    pub fn necessity_and_sufficiency(&self) -> Option<f64> {
        self.both
    }

    /// The effect on the treated: P(Y\[x\] = y | x) − P(Y\[x′\] = y | x).
    pub fn effect_on_treated(&self) -> Option<f64> {
        self.effect_on_treated
    }

    /// The average effect: P(Y\[x\] = y) − P(Y\[x′\] = y).
    pub fn effect(&self) -> Option<f64> {
        self.effect
    }
}

impl Network {
    /// The probabilities of causation of a cause `(X, x)` and an effect `(Y, y)`, compared with
    /// another value of X, all given what else is known of the unit. Without that value, X must
    /// have two.
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
    /// let net = b.build()?;
    ///
    /// let known = Evidence::new();
    /// let found = net.causation(("treated", "yes"), None, ("alive", "yes"), &known, &Options::default())?;
    /// assert!((found.necessity().unwrap() - 0.4 / 0.7).abs() < 1e-12); // cured, of those who live
    /// assert!((found.necessity_and_sufficiency().unwrap() - 0.4).abs() < 1e-12);
    /// assert!((found.effect().unwrap() - (0.7 - 0.4)).abs() < 1e-12);
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn causation(
        &self,
        cause: (&str, &str),
        instead: Option<&str>,
        effect: (&str, &str),
        known: &Evidence,
        options: &Options,
    ) -> Result<Causation> {
        let (x, y) = (cause.0, effect.0);
        let other = match instead {
            Some(other) if other == cause.1 => return Err(no_alternative(x, other)),
            Some(other) => other.to_owned(),
            None => other_value(self, x, cause.1)?,
        };
        let [with, without] = [cause.1, &other].map(|value| format!("{y}[{x}={value}]"));
        let net = self.with_worlds([&with, &without])?;
        let is = |name: &str, value: &str| Fact::new(&net, name, value);
        let (caused, not_caused) = (is(x, cause.1)?, is(x, &other)?);
        let (seen, with, without) = (
            is(y, effect.1)?,
            is(&with, effect.1)?,
            is(&without, effect.1)?,
        );
        let unit = Unit {
            net: &net,
            known,
            options,
        };
        let difference = |given: &[&Fact]| -> Result<Option<f64>> {
            let [with, without] = [&with, &without].map(|fact| unit.probability(&[fact], given));
            Ok(with?.zip(without?).map(|(with, without)| with - without))
        };
        Ok(Causation {
            necessity: unit.probability(&[&without.not()], &[&caused, &seen])?,
            sufficiency: unit.probability(&[&with], &[&not_caused, &seen.not()])?,
            both: unit.probability(&[&with, &without.not()], &[])?,
            effect_on_treated: difference(&[&caused])?,
            effect: difference(&[])?,
        })
    }
}

/// A cause that is compared with itself.
fn no_alternative(name: &str, value: &str) -> Error {
    let message = format!("`{name}={value}` cannot be compared with itself");
    Error::new(ErrorKind::Options, message).hint("name another value to compare it with")
}

/// The value that a variable with two values has otherwise.
fn other_value(net: &Network, name: &str, value: &str) -> Result<String> {
    let var = net.find(name)?;
    let at = net.value(var, value)?;
    match net.variable(var).values.as_slice() {
        [first, second] => Ok([second, first][at].clone()),
        values => {
            let count = values.len();
            let message = format!(
                "`{name}` has {count} values, so `{name}={value}` has no single alternative"
            );
            Err(Error::new(ErrorKind::Options, message).hint("name the value to compare it with"))
        }
    }
}

/// Some values of a variable: an indicator for each.
struct Fact(VarId, Vec<f64>);

impl Fact {
    fn new(net: &Network, name: &str, value: &str) -> Result<Self> {
        let var = net.find(name)?;
        let mut indicators = vec![0.0; net.card(var)];
        indicators[net.value(var, value)?] = 1.0;
        Ok(Fact(var, indicators))
    }

    /// All other values.
    fn not(&self) -> Self {
        Fact(self.0, self.1.iter().map(|x| 1.0 - x).collect())
    }
}

/// A unit of which something is known.
struct Unit<'a> {
    net: &'a Network,
    known: &'a Evidence,
    options: &'a Options,
}

impl Unit<'_> {
    /// The probability of some facts given others; none if these are impossible.
    fn probability(&self, facts: &[&Fact], given: &[&Fact]) -> Result<Option<f64>> {
        let condition = self.log_probability(given)?;
        let all: Vec<&Fact> = facts.iter().chain(given).copied().collect();
        let log = self.log_probability(&all)?;
        Ok((condition > f64::NEG_INFINITY).then(|| (log - condition).exp()))
    }

    fn log_probability(&self, facts: &[&Fact]) -> Result<f64> {
        let mut evidence = self.known.clone();
        for Fact(var, indicators) in facts {
            let before = evidence.get(*var).cloned();
            evidence = evidence.without(*var);
            evidence.insert(self.net, *var, both(before, indicators))?;
        }
        let some: Vec<VarId> = evidence.iter().map(|(v, _)| v).take(1).collect();
        let targets = if some.is_empty() {
            self.net.ids().take(1).collect()
        } else {
            some
        };
        Ok(self
            .net
            .query(&targets, &evidence, self.options)?
            .log_evidence())
    }
}

/// A condition on a variable, and a fact about it.
fn both(known: Option<Finding>, indicators: &[f64]) -> Finding {
    let of = |(at, x): (usize, &f64)| match &known {
        None => *x,
        Some(Finding::Hard(value)) => x * f64::from(u8::from(*value == at)),
        Some(Finding::Soft(likelihood)) => x * likelihood[at],
    };
    Finding::Soft(indicators.iter().enumerate().map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_not_compared_with_itself() {
        let asia = Network::read("asia").unwrap();
        let (cause, known) = (("smoke", "yes"), Evidence::new());
        let found = asia.causation(
            cause,
            Some("yes"),
            ("lung", "yes"),
            &known,
            &Options::default(),
        );
        let error = found.unwrap_err().to_string();
        assert!(error.contains("cannot be compared with itself"), "{error}");
    }
}
