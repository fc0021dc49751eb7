//! All states of nature, and the values that follow from them in each world.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use sumout::model::Body;
use sumout::{Evidence, Finding, Network, VarId};

/// A random structural model: some roots, and functions of them and of one another.
pub fn structural(rng: &mut ChaCha8Rng) -> Network {
    let mut b = Network::builder("scm");
    let roots = rng.random_range(1..4);
    let count = roots + rng.random_range(3..7);
    let mut nodes = vec![];
    let mut cards = vec![];
    for v in 0..count {
        let card = rng.random_range(2..4);
        let node = b.variable(format!("x{v}"), (0..card).map(|k| format!("v{k}")));
        if v < roots {
            let row: Vec<f64> = (0..card).map(|_| rng.random::<f64>() + 0.05).collect();
            let sum: f64 = row.iter().sum();
            b.table(node, [], row.iter().map(|p| p / sum).collect::<Vec<_>>());
        } else {
            let mut parents: Vec<usize> = (0..v).collect();
            while parents.len() > 3 {
                parents.remove(rng.random_range(0..parents.len()));
            }
            let rows = parents.iter().map(|&p: &usize| cards[p]).product::<usize>();
            let values: Vec<u32> = (0..rows)
                .map(|_| rng.random_range(0..card as u32))
                .collect();
            b.mapping(
                node,
                parents.iter().map(|&p| nodes[p]).collect::<Vec<_>>(),
                values,
            );
        }
        nodes.push(node);
        cards.push(card);
    }
    b.build().unwrap()
}

/// A setting of a world: a variable, and a value or a variable of another world.
#[derive(Clone, Debug)]
pub enum To {
    Value(usize),
    Of(VarId, Vec<(VarId, To)>),
}

pub type World = Vec<(VarId, To)>;

/// All variables in a world, from a state of the roots.
pub fn states(net: &Network, roots: &[usize], world: &World) -> Vec<usize> {
    let cards = net.cards();
    let mut states = vec![0; cards.len()];
    let mut root = roots.iter();
    for v in net.ids() {
        let cpt = &net.cpts()[v.index()];
        let drawn = cpt.parents().is_empty().then(|| *root.next().unwrap());
        states[v.index()] = match world.iter().find(|(x, _)| *x == v).map(|(_, to)| to) {
            Some(To::Value(value)) => *value,
            Some(To::Of(y, inner)) => self::states(net, roots, inner)[y.index()],
            None => match (drawn, cpt.body()) {
                (Some(value), _) => value,
                (None, Body::Function(values)) => {
                    let at = |row: usize, p: &VarId| row * cards[p.index()] + states[p.index()];
                    values[cpt.parents().iter().fold(0, at)] as usize
                }
                _ => unreachable!("the network is structural"),
            },
        };
    }
    states
}

/// The states of the roots, with their probabilities.
pub fn natures(net: &Network) -> Vec<(Vec<usize>, f64)> {
    let mut all = vec![(vec![], 1.0)];
    for v in net.ids() {
        let cpt = &net.cpts()[v.index()];
        if cpt.parents().is_empty() {
            let row = cpt.table(&net.cards());
            let more = |(states, p): &(Vec<usize>, f64)| {
                let next = row.iter().enumerate().map(|(value, q)| {
                    let mut states = states.clone();
                    states.push(value);
                    (states, p * q)
                });
                next.collect::<Vec<_>>()
            };
            all = all.iter().flat_map(more).collect();
        }
    }
    all
}

/// How a world is written.
pub fn written(net: &Network, world: &World) -> String {
    let one = |(x, to): &(VarId, To)| {
        let x = net.variable(*x);
        match to {
            To::Value(value) => format!("{}={}", x.name, x.values[*value]),
            To::Of(y, inner) => {
                format!(
                    "{}={}[{}]",
                    x.name,
                    net.variable(*y).name,
                    written(net, inner)
                )
            }
        }
    };
    world.iter().map(one).collect::<Vec<_>>().join(",")
}

pub fn random_world(net: &Network, rng: &mut ChaCha8Rng, may_nest: bool) -> World {
    let count = rng.random_range(1..3);
    let mut world: World = vec![];
    while world.len() < count {
        let x = net
            .ids()
            .nth(rng.random_range(0..net.variables().len()))
            .unwrap();
        if world.iter().any(|(other, _)| *other == x) {
            continue;
        }
        let values = &net.variable(x).values;
        let same: Vec<VarId> = net
            .ids()
            .filter(|&y| net.variable(y).values == *values)
            .collect();
        let to = if may_nest && rng.random_range(0..3) == 0 {
            To::Of(
                same[rng.random_range(0..same.len())],
                random_world(net, rng, false),
            )
        } else {
            To::Value(rng.random_range(0..values.len()))
        };
        world.push((x, to));
    }
    world
}

/// Evidence on some variables that are seen, as a random unit shows them.
pub fn seen(net: &Network, rng: &mut ChaCha8Rng) -> Vec<(VarId, usize)> {
    let all = natures(net);
    let unit = states(net, &all[rng.random_range(0..all.len())].0, &vec![]);
    let some = net.ids().filter(|_| rng.random_range(0..3) == 0);
    some.map(|v| (v, unit[v.index()])).collect()
}

pub fn evidence(net: &Network, seen: &[(VarId, usize)]) -> Evidence {
    let mut evidence = Evidence::new();
    for &(v, value) in seen {
        evidence.insert(net, v, Finding::Hard(value)).unwrap();
    }
    evidence
}

/// The distribution of a variable in a world given what is seen, and the probability of that.
pub fn truth(net: &Network, seen: &[(VarId, usize)], y: VarId, world: &World) -> (Vec<f64>, f64) {
    let mut joint = vec![0.0; net.card(y)];
    for (roots, p) in natures(net) {
        let actual = states(net, &roots, &vec![]);
        if seen.iter().all(|&(v, value)| actual[v.index()] == value) {
            joint[states(net, &roots, world)[y.index()]] += p;
        }
    }
    let all: f64 = joint.iter().sum();
    (joint.iter().map(|p| p / all).collect(), all)
}
