//! Evidence.

use std::collections::BTreeMap;

use crate::error::{Error, ErrorKind, Result};
use crate::model::network::Network;
use crate::vars::VarId;

/// The evidence on one variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// Its value, by position.
    Hard(usize),
    /// The likelihood of what was observed, for each value. Only ratios matter to posteriors.
    Soft(Vec<f64>),
}

/// Hard and soft evidence on some variables.
///
/// ```
/// use sumout::{Evidence, Network};
///
/// let asia = Network::read("asia")?;
/// let evidence = Evidence::new().observe(&asia, "xray", "yes")?.likelihood(&asia, "dysp", [0.7, 0.1])?;
/// assert_eq!(evidence.len(), 2);
/// # Ok::<(), sumout::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    findings: BTreeMap<VarId, Finding>,
}

impl Evidence {
    /// No evidence.
    pub fn new() -> Self {
        Evidence::default()
    }

    /// Adds that `variable` has the value `value`.
    pub fn observe(mut self, net: &Network, variable: &str, value: &str) -> Result<Self> {
        let var = net.find(variable)?;
        let value = net.value(var, value)?;
        self.insert(net, var, Finding::Hard(value))?;
        Ok(self)
    }

    /// Adds a likelihood for each value of `variable`.
    pub fn likelihood(
        mut self,
        net: &Network,
        variable: &str,
        likelihood: impl Into<Vec<f64>>,
    ) -> Result<Self> {
        self.insert(net, net.find(variable)?, Finding::Soft(likelihood.into()))?;
        Ok(self)
    }

    /// Adds a finding. A variable can have only one.
    pub fn insert(&mut self, net: &Network, var: VarId, finding: Finding) -> Result<()> {
        let name = &net.variable(var).name;
        check(&finding, name, net.card(var))?;
        match self.findings.get(&var) {
            Some(earlier) if *earlier != finding => {
                let error = Error::new(
                    ErrorKind::Evidence,
                    format!("two different findings for `{name}`"),
                );
                Err(error.hint("give each variable one value, or one likelihood"))
            }
            _ => {
                self.findings.insert(var, finding);
                Ok(())
            }
        }
    }

    /// The evidence on a variable.
    pub fn get(&self, var: VarId) -> Option<&Finding> {
        self.findings.get(&var)
    }

    /// All findings, by variable.
    pub fn iter(&self) -> impl Iterator<Item = (VarId, &Finding)> {
        self.findings.iter().map(|(&var, finding)| (var, finding))
    }

    /// This evidence without the finding on one variable.
    pub fn without(&self, var: VarId) -> Self {
        let mut rest = self.clone();
        rest.findings.remove(&var);
        rest
    }

    /// The number of findings.
    pub fn len(&self) -> usize {
        self.findings.len()
    }

    /// Whether nothing was observed.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }
}

fn check(finding: &Finding, name: &str, card: usize) -> Result<()> {
    let fail = |message: String| Err(Error::new(ErrorKind::Evidence, message));
    match finding {
        Finding::Hard(value) if *value >= card => {
            let message = format!("`{name}` has {card} values; there is no value {value}");
            Err(Error::new(ErrorKind::Evidence, message).hint("values are counted from 0"))
        }
        Finding::Soft(l) if l.len() != card => fail(format!(
            "`{name}` needs one likelihood for each of its {card} values, not {}",
            l.len()
        )),
        Finding::Soft(l) => match l.iter().find(|p| !p.is_finite() || **p < 0.0) {
            Some(bad) => fail(format!(
                "a likelihood of `{name}` is {bad}; likelihoods are finite and not negative"
            )),
            None => Ok(()),
        },
        Finding::Hard(_) => Ok(()),
    }
}
