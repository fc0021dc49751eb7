//! The objectives by their names.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Remedy, did_you_mean};

/// The quantity that a planner minimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Objective {
    /// Time, as products and numbers stored predict it.
    #[default]
    Time,
    /// Numbers stored.
    Entries,
    /// Products.
    MultiplyAdds,
    /// The size of the largest cluster.
    LargestCluster,
}

const NAMES: &[(Objective, &str)] = &[
    (Objective::Time, "time"),
    (Objective::Entries, "entries"),
    (Objective::MultiplyAdds, "multiply-adds"),
    (Objective::LargestCluster, "largest-cluster"),
];

impl Objective {
    /// The names of all objectives.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(_, name)| *name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES
            .iter()
            .find(|(objective, _)| *objective == self)
            .map_or("", |(_, name)| name)
    }
}

impl FromStr for Objective {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        NAMES
            .iter()
            .find(|(_, n)| *n == name)
            .map(|(objective, _)| *objective)
            .ok_or_else(|| {
                let all = || {
                    Remedy::Text(format!(
                        "the objectives are {}",
                        Objective::names().collect::<Vec<_>>().join(", ")
                    ))
                };
                let error = Error::new(ErrorKind::Options, format!("unknown objective `{name}`"));
                error.hint(did_you_mean(name, Objective::names()).unwrap_or_else(all))
            })
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_objective_has_a_name_that_is_read_back() {
        assert!(NAMES.iter().all(|(o, name)| name.parse::<Objective>().unwrap() == *o && o.to_string() == *name));
        assert_eq!(
            "entrys"
                .parse::<Objective>()
                .unwrap_err()
                .advice()
                .as_deref(),
            Some("did you mean `entries`?")
        );
    }
}
