//! The joint posterior of several variables, which together are asked for like one variable.
//!
//! Its name is that of all of them, and its values are their joint values: `lung,tub` with
//! `yes,yes`, `yes,no` and so on, the last variable fastest.

use std::collections::BTreeSet;

use crate::error::{Error, ErrorKind, Result, shortlist};
use crate::model::{FactorModel, Variable};
use crate::vars::VarId;

/// The most entries of a joint posterior.
const MAX_JOINT: usize = 1 << 18;

/// Variables that are asked for together.
#[derive(Clone, Debug)]
pub(crate) struct Joint {
    /// In the order in which they were asked for.
    pub members: Vec<VarId>,
    /// All of them as one.
    pub variable: Variable,
    /// The positions of the joint values that the circuit's output has, in its order.
    pub domain: Vec<usize>,
}

impl Joint {
    pub fn new(variables: &[Variable], members: &[VarId], domains: &[Vec<usize>]) -> Self {
        let parts: Vec<&Variable> = members.iter().map(|v| &variables[v.index()]).collect();
        let all = parts
            .iter()
            .map(|v| (0..v.values.len()).collect::<Vec<usize>>());
        let named = |state: Vec<usize>| {
            let values = parts.iter().zip(state).map(|(v, at)| &*v.values[at]);
            values.collect::<Vec<&str>>().join(",")
        };
        let names: Vec<&str> = parts.iter().map(|v| &*v.name).collect();
        Joint {
            members: members.to_vec(),
            domain: domain(&parts, members, domains),
            variable: Variable {
                name: names.join(","),
                values: product(all).into_iter().map(named).collect(),
            },
        }
    }
}

/// The positions of the values that are left: the output's axes are in the order of the network.
fn domain(parts: &[&Variable], members: &[VarId], domains: &[Vec<usize>]) -> Vec<usize> {
    let mut sorted: Vec<usize> = (0..members.len()).collect();
    sorted.sort_by_key(|&at| members[at]);
    let left = sorted
        .iter()
        .map(|&at| domains[members[at].index()].clone());
    let position = |state: Vec<usize>| {
        let mut own = vec![0; members.len()];
        sorted.iter().zip(state).for_each(|(&at, x)| own[at] = x);
        let cards = parts.iter().map(|v| v.values.len());
        cards.zip(own).fold(0, |place, (card, x)| place * card + x)
    };
    product(left).into_iter().map(position).collect()
}

/// All combinations, the last part fastest.
fn product(parts: impl Iterator<Item = Vec<usize>>) -> Vec<Vec<usize>> {
    parts.fold(vec![vec![]], |all, part| {
        let with = |first: &Vec<usize>| {
            let first = first.clone();
            part.iter()
                .map(move |&x| [&first[..], &[x]].concat())
                .collect::<Vec<_>>()
        };
        all.iter().flat_map(with).collect()
    })
}

/// The number of joint values; none if there are too many, or if these are not several different
/// variables.
pub(crate) fn entries(cards: &[usize], members: &[VarId]) -> Option<usize> {
    let distinct: BTreeSet<&VarId> = members.iter().collect();
    let are_several = members.len() > 1 && distinct.len() == members.len();
    let times = |size: usize, v: &VarId| size.checked_mul(cards[v.index()]);
    let size = members.iter().try_fold(1, times)?;
    (are_several && size <= MAX_JOINT).then_some(size)
}

/// Refuses what is not several different variables, and joint posteriors that are too large.
pub(crate) fn check(net: &FactorModel, members: &[VarId]) -> Result<()> {
    if entries(&net.cards(), members).is_some() {
        return Ok(());
    }
    let names = shortlist(members.iter().map(|&v| &*net.variable(v).name));
    let bits: f64 = members.iter().map(|&v| (net.card(v) as f64).log2()).sum();
    if bits > f64::from(MAX_JOINT.ilog2()) {
        let most = MAX_JOINT.ilog2();
        let message = format!(
            "the joint posterior of {names} has 2^{bits:.1} entries; the limit is 2^{most}"
        );
        let error = Error::new(ErrorKind::Memory, message);
        return Err(error.hint("ask for fewer variables together"));
    }
    let message = "a joint posterior needs two or more different variables";
    let error = Error::new(ErrorKind::Options, message);
    Err(error.hint(format!("name two or more, each once; these are {names}")))
}
