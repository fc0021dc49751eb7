//! Questions to networks by positions, and their answers.

use sumout::internals::var;
use sumout::{Evidence, Network, Options, Result, VarId};

/// An entropy, and how much of it each variable is expected to remove.
pub type Informed = (f64, Vec<(usize, f64)>);

/// A probability; and for each number its place, the number and the derivative, the range, and the
/// coefficients of the function.
pub type Sensitive = (
    f64,
    Vec<((usize, usize), (f64, f64), (f64, f64), (f64, f64, f64, f64))>,
);

/// The information that variables are expected to give on a target: among some, and before others.
pub fn information(
    net: &Network,
    target: usize,
    others: [Vec<usize>; 2],
    evidence: &Evidence,
    options: &Options,
) -> Result<Option<Informed>> {
    let ids = |these: Vec<usize>| these.into_iter().map(var).collect::<Vec<VarId>>();
    let [among, before] = others.map(ids);
    let found = net.information(var(target), &among, &before, evidence, options)?;
    Ok(found.map(|found| {
        let gains = found.gains().iter().map(|(v, bits)| (v.index(), *bits));
        (found.entropy(), gains.collect())
    }))
}

/// How the probability of a value depends on the numbers of the CPTs.
pub fn sensitivity(
    net: &Network,
    (target, value): (usize, usize),
    evidence: &Evidence,
    options: &Options,
) -> Result<Option<Sensitive>> {
    let found = net.sensitivity(var(target), value, evidence, options)?;
    Ok(found.map(|found| {
        let number = |place| {
            let (child, entry) = found.parameter(place);
            (
                (child.index(), entry),
                (found.value(place), found.derivative(place)),
                found.range(place),
                found.function(place).into(),
            )
        };
        (found.probability(), (0..found.len()).map(number).collect())
    }))
}
