//! The levels by their names.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::error::{Error, ErrorKind, Remedy, did_you_mean};

/// The structure that a planner may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Level {
    /// Nothing but the factors (Theorems 1 and 2).
    Classical,
    /// The structure that the paper's own procedure uses, and no search: reproduces its tables.
    Paper,
    /// That some variables are functions of others (Theorems 3 and 4), but not which functions.
    Functional,
    /// Which functions they are: a known function is looked up, and never a table of zeros and
    /// ones.
    Tables,
    /// Also where all factors are zero: tensors have entries only for states that can occur.
    Support,
    /// Also the logic of zeros and functions: the circuit is found by a search over assignments, and
    /// not by a plan.
    Compiled,
    /// All of this but the paper's procedure, as far as it pays by predicted cost.
    #[default]
    Auto,
}

const NAMES: &[(Level, &str)] = &[
    (Level::Auto, "auto"), //
    (Level::Classical, "classical"),
    (Level::Paper, "paper"),
    (Level::Functional, "functional"),
    (Level::Tables, "tables"),
    (Level::Support, "support"),
    (Level::Compiled, "compiled"),
];

impl Level {
    /// The names of all levels; after `auto`, each may know more than the one before.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(_, name)| *name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES
            .iter()
            .find(|(level, _)| *level == self)
            .map_or("", |(_, name)| name)
    }
}

/// The structure that a planner may use at each level.
impl Level {
    /// That some variables are functions of others.
    pub fn knows_functions(self) -> bool {
        self != Level::Classical
    }

    /// That factors together may imply functions that no CPT is; the paper's procedure does not.
    pub fn knows_implied_functions(self) -> bool {
        self.knows_functions() && self != Level::Paper
    }

    /// Which functions they are.
    pub fn knows_tables(self) -> bool {
        matches!(
            self,
            Level::Tables | Level::Support | Level::Compiled | Level::Auto
        )
    }

    /// Where factors are zero.
    pub fn knows_zeros(self) -> bool {
        matches!(self, Level::Support | Level::Compiled | Level::Auto)
    }

    /// That a circuit need not follow a plan.
    pub fn knows_logic(self) -> bool {
        matches!(self, Level::Compiled | Level::Auto)
    }

    /// Of two levels, the one that knows more.
    pub(crate) fn or_more(self, other: Level) -> Level {
        if other.rank() > self.rank() {
            other
        } else {
            self
        }
    }

    fn rank(self) -> usize {
        match self {
            Level::Classical => 0,
            Level::Paper => 1,
            Level::Functional => 2,
            Level::Tables => 3,
            Level::Support => 4,
            Level::Compiled => 5,
            Level::Auto => 6,
        }
    }
}

impl FromStr for Level {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        NAMES
            .iter()
            .find(|(_, n)| *n == name)
            .map(|(level, _)| *level)
            .ok_or_else(|| {
                let all = || {
                    Remedy::Text(format!(
                        "the levels are {}",
                        Level::names().collect::<Vec<_>>().join(", ")
                    ))
                };
                let error = Error::new(ErrorKind::Options, format!("unknown level `{name}`"));
                error.hint(did_you_mean(name, Level::names()).unwrap_or_else(all))
            })
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Level {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_knows_all_that_the_ones_before_it_know() {
        let known = |level: Level| {
            [
                level.knows_functions(),
                level.knows_implied_functions(),
                level.knows_tables(),
                level.knows_zeros(),
                level.knows_logic(),
            ]
        };
        let mut levels: Vec<Level> = NAMES.iter().map(|(level, _)| *level).collect();
        levels.sort_by_key(|level| level.rank());
        let counts: Vec<usize> = levels
            .iter()
            .map(|level| known(*level).iter().filter(|known| **known).count())
            .collect();
        assert_eq!(counts, [0, 1, 2, 3, 4, 5, 5]);
        assert_eq!(Level::Tables.or_more(Level::Functional), Level::Tables);
        assert_eq!(Level::Tables.or_more(Level::Support), Level::Support);
    }

    #[test]
    fn every_level_has_a_name_that_is_read_back() {
        assert!(
            NAMES
                .iter()
                .all(|(level, name)| name.parse::<Level>().unwrap() == *level
                    && level.name() == *name)
        );
        assert_eq!(
            "functionl"
                .parse::<Level>()
                .unwrap_err()
                .advice()
                .as_deref(),
            Some("did you mean `functional`?")
        );
    }
}
