//! Interventions and other worlds as they are typed: `--do smoke=no`, `y[x=0]`.

use clap::Args;
use sumout::{Error, ErrorKind, Network, Result, VarId};

use crate::evidence::settings;
use crate::output::talk;

/// The options that intervene.
#[derive(Args, Debug)]
#[command(next_help_heading = "Interventions")]
pub struct Intervening {
    /// Set variables from outside, whatever their parents are, such as `smoke=no`; evidence is seen
    /// afterwards.
    #[arg(long = "do", value_name = "X=V", num_args = 1..)]
    set: Vec<String>,

    /// Let variables of other worlds, such as `y[x=0]`, depend on variables that are random given
    /// their parents, and assume that the rows of their tables are independent.
    #[arg(long)]
    complete: bool,
}

impl Intervening {
    /// The network after the interventions, with the variables of other worlds that are named in
    /// some texts.
    pub fn network<'t>(
        &self,
        net: Network,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Result<Network> {
        let net = self.completed(net)?;
        let set = settings(&net, "--do", &self.set)?;
        with_worlds(intervened(&net, &set)?, texts)
    }

    /// The same; variables that are set to no value become inputs, whose names are the second part.
    pub fn network_and_regimes<'t>(
        &self,
        net: Network,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Result<(Network, Vec<String>)> {
        let net = self.completed(net)?;
        let is_regime = |text: &&String| net.matching(text).is_ok();
        let (regimes, set): (Vec<&String>, Vec<&String>) = self.set.iter().partition(is_regime);
        let set = settings(&net, "--do", set)?;
        let net = intervened(&net, &set)?;
        let inputs = || {
            let matching = |pattern: &&String| net.matching(pattern).unwrap_or_default();
            regimes.iter().flat_map(matching)
        };
        if let Some(x) = inputs().find(|x| set.iter().any(|(y, _)| x == y)) {
            return Err(set_and_open(&net.variable(x).name));
        }
        let names: Vec<String> = inputs()
            .map(|x| format!("do({})", net.variable(x).name))
            .collect();
        let net = if names.is_empty() {
            net
        } else {
            net.with_regimes(regimes)?
        };
        Ok((with_worlds(net, texts)?, names))
    }

    fn completed(&self, net: Network) -> Result<Network> {
        if !self.complete || net.not_structural().next().is_none() {
            return Ok(net);
        }
        let names = net.not_structural().map(|v| &*net.variable(v).name);
        let names = crate::text::abridged(names.collect::<Vec<_>>().into_iter(), 60);
        talk(&format!(
            "assumed independent rows in the CPTs of {names}; other assumptions give other counterfactuals"
        ));
        net.completed()
    }
}

fn intervened(net: &Network, set: &[(VarId, usize)]) -> Result<Network> {
    if set.is_empty() {
        return Ok(net.clone());
    }
    let named = |&(x, value): &(VarId, usize)| {
        let x = net.variable(x);
        (&x.name, &x.values[value])
    };
    net.intervene(set.iter().map(named))
}

/// The network with the variables of other worlds that texts name.
fn with_worlds<'t>(net: Network, texts: impl IntoIterator<Item = &'t str>) -> Result<Network> {
    let mut names = vec![];
    for text in texts {
        let Some(name) = term(&net, text) else {
            continue;
        };
        if let Ok(matched) = net.matching(name)
            && net.find(name).is_err()
        {
            return Err(ambiguous(&net, name, matched[0]));
        }
        names.push(name);
    }
    if names.is_empty() {
        Ok(net)
    } else {
        net.with_worlds(names)
    }
}

/// The beginning of a text that names a variable of another world: a name, and brackets with a `=`.
fn term<'t>(net: &Network, text: &'t str) -> Option<&'t str> {
    let mut brackets = text.match_indices('[').map(|(at, _)| at);
    let open = brackets.find(|&at| net.find(text[..at].trim()).is_ok())?;
    let mut depth = 0;
    for (at, c) in text[open..].char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let name = &text[..=open + at];
            return name[open..].contains('=').then_some(name);
        }
    }
    None
}

/// A variable with and without a value in `--do`.
fn set_and_open(name: &str) -> Error {
    let message = format!("`--do` sets `{name}` to a value, and makes it an input as well");
    Error::new(ErrorKind::Options, message).hint("name it once, with or without a value")
}

fn ambiguous(net: &Network, name: &str, matched: VarId) -> Error {
    let matched = &net.variable(matched).name;
    let message = format!(
        "`{name}` is a variable of another world, and also a pattern that matches `{matched}`"
    );
    let error = Error::new(ErrorKind::Name, message);
    error.hint(format!(
        "write `{matched}` if that is meant; otherwise rename it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net() -> Network {
        let mut b = Network::builder("twins");
        let x = b.variable("x", ["0", "1"]);
        let y = b.variable("y", ["0", "1"]);
        let y0 = b.variable("y0", ["0", "1"]);
        b.table(x, [], [0.5, 0.5]);
        b.mapping(y, [x], [0, 1]);
        b.table(y0, [], [0.5, 0.5]);
        b.build().unwrap()
    }

    #[test]
    fn terms_are_names_with_settings_in_brackets() {
        let net = net();
        assert_eq!(term(&net, "y[x=0]"), Some("y[x=0]"));
        assert_eq!(term(&net, "y[x=x[y=1]]=1"), Some("y[x=x[y=1]]"));
        assert_eq!(term(&net, "y[01]=1"), None, "a pattern");
        assert_eq!(term(&net, "z[x=0]"), None, "not a variable");
        assert_eq!(term(&net, "y[x=0"), None);
    }

    #[test]
    fn what_could_be_a_pattern_too_is_refused() {
        let error = with_worlds(net(), ["y[x=0]"]).unwrap_err().to_string();
        assert!(
            error.contains("also a pattern that matches `y0`"),
            "{error}"
        );
        assert!(with_worlds(net(), ["y[x=1]"]).is_ok());
    }
}
