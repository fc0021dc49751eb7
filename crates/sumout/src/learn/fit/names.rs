//! Options that people choose by name.

use std::str::FromStr;

use crate::error::{Error, ErrorKind};

/// An enum whose values have names: the option they belong to, and for each value its name.
macro_rules! named {
    ($(#[$doc:meta])* $kind:ident, $option:literal: $($(#[$of:meta])* $value:ident = $name:literal,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $kind {
            $($(#[$of])* $value,)*
        }

        impl $kind {
            /// All values.
            pub const ALL: &[Self] = &[$($kind::$value),*];

            /// The name of a value.
            pub fn name(self) -> &'static str {
                match self {
                    $($kind::$value => $name,)*
                }
            }
        }

        impl FromStr for $kind {
            type Err = Error;

            fn from_str(name: &str) -> Result<Self, Error> {
                let found = $kind::ALL.iter().find(|value| value.name() == name);
                found.copied().ok_or_else(|| unknown($option, name, &[$($name),*]))
            }
        }
    };
}

named! {
    /// The options that all others are changes of.
    Preset, "preset":
    /// Recommended.
    Default = "default",
    /// As in the paper.
    Paper = "paper",
    /// Maximum likelihood by expectation–maximisation.
    Em = "em",
}

named! {
    /// How the loss is minimised.
    Algorithm, "method":
    /// Gradient descent with Adam.
    Adam = "adam",
    /// Stochastic gradient descent with momentum.
    Sgd = "sgd",
    /// Expectation–maximisation: maximum likelihood of the examples. Complete data are counted.
    Em = "em",
}

named! {
    /// Where training starts.
    InitialWeights, "start":
    /// At the numbers of the network.
    Network = "network",
    /// At uniform rows.
    Uniform = "uniform",
    /// At random.
    Random = "random",
}

named! {
    /// How the learning rate decays.
    DecayCurve, "schedule":
    /// Not at all.
    Constant = "constant",
    /// By the same amount in each epoch.
    Linear = "linear",
    /// Fast, and then slowly, as in the paper.
    Cubic = "cubic",
}

impl DecayCurve {
    /// The exponent of the decay.
    pub(crate) fn power(self) -> i32 {
        match self {
            DecayCurve::Constant => 0,
            DecayCurve::Linear => 1,
            DecayCurve::Cubic => 3,
        }
    }
}

fn unknown(option: &str, name: &str, names: &[&str]) -> Error {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let (last, others) = names.split_last().expect("options have values");
    let error = Error::new(ErrorKind::Name, format!("there is no {option} `{name}`"));
    error.hint(format!("use {} or {last}", others.join(", ")))
}
