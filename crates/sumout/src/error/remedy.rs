//! Things that a user can do about an error, as data.

use std::fmt;

use crate::error::shown;

/// Something to be done about an error.
///
/// Its [`Display`](fmt::Display) names options as the fields of this library are named. A command
/// line has flags for them and Python has keywords, so these match on the remedy and find words of
/// their own.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Remedy {
    /// Advice that holds however the library is called.
    Text(String),
    /// Use this name, which is close to the one that was written.
    DidYouMean(String),
    /// Look up the names of a network's variables.
    ListVariables,
    /// Search longer for a plan, with this `effort` if one can be suggested.
    MoreEffort(Option<f64>),
    /// Raise the limit `memory`.
    RaiseMemory,
    /// Allow this many seconds.
    MoreTime(f64),
    /// Ask for fewer targets.
    FewerTargets,
    /// Give more evidence, on whatever variables.
    MoreEvidence,
    /// Give more evidence, and on this variable first: a value of it makes the largest cluster
    /// about this many times smaller.
    Observe(String, f64),
    /// Turn an option on that is a yes or no.
    TurnOn {
        /// The name of the option.
        option: &'static str,
        /// Its effect, as in `to rescale rows`.
        purpose: &'static str,
    },
    /// Give an option a value.
    Set {
        /// The name of the option.
        option: &'static str,
        /// The value.
        value: &'static str,
    },
    /// Compile with one option in place of another.
    UseInstead {
        /// The name of the option that helps.
        option: &'static str,
        /// The name of the one that it replaces.
        instead_of: &'static str,
    },
    /// Do without an option.
    LeaveOut(&'static str),
    /// Compile the circuit again and save it.
    CompileAgain,
    /// Compile a circuit for most probable explanations.
    CompileToExplain,
    /// Compile a circuit for the marginals of families.
    CompileForFamilies,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remedy::Text(text) => f.write_str(text),
            Remedy::DidYouMean(name) => write!(f, "did you mean `{name}`?"),
            Remedy::ListVariables => f.write_str("`Network::variables` lists the variables"),
            Remedy::MoreEffort(None) => f.write_str("search longer for a plan (`effort`)"),
            Remedy::MoreEffort(Some(effort)) => write!(f, "increase `effort` to {effort}"),
            Remedy::RaiseMemory => f.write_str("raise the limit `memory`"),
            Remedy::MoreTime(seconds) => write!(f, "allow {} seconds", seconds.ceil()),
            Remedy::FewerTargets => f.write_str("ask for fewer targets"),
            Remedy::MoreEvidence => f.write_str("give more evidence"),
            Remedy::Observe(variable, factor) => {
                let (variable, factor) = (shown(variable), Times(*factor));
                write!(
                    f,
                    "give more evidence (a value of `{variable}` makes the largest cluster {factor} smaller)"
                )
            }
            Remedy::TurnOn { option, purpose } => write!(f, "set `{option}` {purpose}"),
            Remedy::Set { option, value } => write!(f, "set `{option}` to `{value}`"),
            Remedy::UseInstead { option, instead_of } => {
                write!(f, "compile with `{option}` instead of `{instead_of}`")
            }
            Remedy::LeaveOut(option) => write!(f, "leave out `{option}`"),
            Remedy::CompileAgain => f.write_str("compile the circuit again"),
            Remedy::CompileToExplain => f.write_str("compile it with `Query::explain`"),
            Remedy::CompileForFamilies => f.write_str("compile it with `Query::families`"),
        }
    }
}

/// `4 times`, or `2^20 times`.
struct Times(f64);

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            few if few < 1000.0 => write!(f, "{} times", (10.0 * few).round() / 10.0),
            many => write!(f, "2^{:.0} times", many.log2()),
        }
    }
}

impl From<String> for Remedy {
    fn from(text: String) -> Self {
        Remedy::Text(text)
    }
}

impl From<&str> for Remedy {
    fn from(text: &str) -> Self {
        Remedy::Text(text.to_owned())
    }
}
