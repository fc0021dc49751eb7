//! Variables of other worlds, as they are written: `y[x=0]`, `y[x=0,z=z[x=1]]`.
//!
//! In the brackets is what the world's intervention sets: a variable to a value, or to the value
//! that it takes in yet another world.

use crate::error::{Error, ErrorKind, Result, shown};
use crate::model::network::Network;
use crate::vars::VarId;

/// The settings of an intervention, in the order of variables; none in the actual world.
pub(super) type World = Vec<(VarId, Setting)>;

/// The value or term that a variable is set to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Setting {
    /// A value.
    Value(usize),
    /// The value that a variable takes in a world.
    As(Term),
}

/// A variable in a world.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Term {
    pub var: VarId,
    pub world: World,
}

/// The deepest nesting of worlds.
const MAX_DEPTH: usize = 16;

impl Term {
    /// The term that a text is, by the names of a network.
    pub fn parse(net: &Network, text: &str) -> Result<Self> {
        parse(net, text, 0)
    }

    /// How it is written.
    pub fn name(&self, net: &Network) -> String {
        let name = &net.variable(self.var).name;
        if self.world.is_empty() {
            return name.clone();
        }
        let settings = self.world.iter().map(|(x, setting)| {
            let value = match setting {
                Setting::Value(value) => net.variable(*x).values[*value].clone(),
                Setting::As(term) => term.name(net),
            };
            format!("{}={value}", net.variable(*x).name)
        });
        format!("{name}[{}]", settings.collect::<Vec<_>>().join(","))
    }
}

fn parse(net: &Network, text: &str, depth: usize) -> Result<Term> {
    let text = text.trim();
    if let Ok(var) = net.find(text) {
        let world = vec![];
        return Ok(Term { var, world });
    }
    if depth > MAX_DEPTH {
        return Err(wrong(text, "is nested too deeply"));
    }
    let (var, inside) = opened(net, text)?;
    let mut world = settings(net, inside, depth)?;
    world.sort();
    if let Some(pair) = world.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let name = shown(&net.variable(pair[0].0).name);
        return Err(wrong(text, &format!("sets `{name}` twice")));
    }
    Ok(Term { var, world })
}

/// The variable before the brackets, and what is inside of them.
fn opened<'t>(net: &Network, text: &'t str) -> Result<(VarId, &'t str)> {
    let Some(before) = text.strip_suffix(']') else {
        return Err(net.find(text).err().unwrap_or_else(|| wrong(text, "")));
    };
    let mut brackets = before.match_indices('[');
    let found = brackets.find_map(|(at, _)| Some((net.find(before[..at].trim()).ok()?, at)));
    match (found, before.split_once('[')) {
        (Some((var, at)), _) => Ok((var, &before[at + 1..])),
        (None, Some((name, _))) => Err(match net.find(name.trim()) {
            Err(unknown) => unknown,
            Ok(_) => wrong(text, "is not a variable of a world"),
        }),
        (None, None) => Err(wrong(text, "has no `[`")),
    }
}

/// The settings of an intervention. A comma that leaves a part without a meaning belongs to a name.
fn settings(net: &Network, text: &str, depth: usize) -> Result<World> {
    let (mut world, mut start, mut wrong) = (vec![], 0, None);
    for end in ends(text) {
        match setting(net, &text[start..end], depth) {
            Ok(one) => {
                world.push(one);
                (start, wrong) = (end + 1, None);
            }
            Err(error) => wrong = wrong.or(Some(error)),
        }
    }
    wrong.map_or(Ok(world), Err)
}

/// One setting of an intervention.
fn setting(net: &Network, text: &str, depth: usize) -> Result<(VarId, Setting)> {
    let splits = text
        .match_indices('=')
        .map(|(at, _)| (text[..at].trim(), text[at + 1..].trim()));
    let mut unknown = None;
    for (left, right) in splits {
        match net.find(left) {
            Ok(var) => return Ok((var, value(net, var, right, depth)?)),
            Err(error) => unknown = unknown.or(Some(error)),
        }
    }
    Err(unknown.unwrap_or_else(|| wrong(text, "sets nothing").hint("write `y[x=0]`")))
}

fn value(net: &Network, var: VarId, text: &str, depth: usize) -> Result<Setting> {
    let unknown = match net.value(var, text) {
        Ok(value) => return Ok(Setting::Value(value)),
        Err(unknown) => unknown,
    };
    if !text.ends_with(']') {
        return Err(unknown);
    }
    let term = parse(net, text, depth + 1)?;
    let (x, y) = (net.variable(var), net.variable(term.var));
    if x.values == y.values {
        return Ok(Setting::As(term));
    }
    let message = format!(
        "`{}` cannot be set to `{}`: their values are not the same",
        shown(&x.name),
        shown(text)
    );
    Err(Error::new(ErrorKind::Options, message))
}

/// Where the commas are that are not in brackets, and the end.
fn ends(text: &str) -> Vec<usize> {
    let (mut ends, mut depth) = (vec![], 0_usize);
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => ends.push(at),
            _ => {}
        }
    }
    ends.push(text.len());
    ends
}

fn wrong(text: &str, what: &str) -> Error {
    Error::new(ErrorKind::Name, format!("`{}` {what}", shown(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(values: [&str; 2]) -> Network {
        let mut b = Network::builder("commas");
        let x = b.variable("x,1", values);
        let z = b.variable("z", ["0", "1"]);
        let y = b.variable("y=", ["0", "1"]);
        b.table(x, [], [0.5, 0.5]);
        b.table(z, [], [0.5, 0.5]);
        b.mapping(y, [x, z], [0, 1, 1, 0]);
        b.build().unwrap()
    }

    #[test]
    fn names_and_values_may_have_commas() {
        let net = net(["low, wet", "high"]);
        for text in ["y=[x,1=low, wet,z=1]", "y=[x,1=high,z=0]", "y=[x,1=high]"] {
            assert_eq!(Term::parse(&net, text).unwrap().name(&net), text);
        }
        let complaint = |text| Term::parse(&net, text).unwrap_err().to_string();
        assert!(complaint("y=[z=2,x,1=high]").contains("`z` has no value `2`"));
        assert!(complaint("y=[z=0,x,1]").contains("sets nothing"));
    }
}
