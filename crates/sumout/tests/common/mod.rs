//! The slow, obvious way to answer: enumerate all joint states.

#![allow(dead_code)] // each test file uses some of it

use std::ops::Range;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use sumout::{Batch, Circuit, Column, Cpt, Evidence, Finding, Level, Network, VarId};

/// All levels.
pub const LEVELS: [Level; 7] = [
    Level::Classical,
    Level::Paper,
    Level::Functional,
    Level::Tables,
    Level::Support,
    Level::Compiled,
    Level::Auto,
];

/// The result of enumeration.
pub struct Truth {
    /// P(x, e) for each value of each variable.
    pub joints: Vec<Vec<f64>>,
    /// P(e).
    pub evidence: f64,
    /// The largest P(all variables, e).
    pub best: f64,
}

/// Enumerates all joint states.
pub fn enumerate(net: &Network, evidence: &Evidence) -> Truth {
    let cards = net.cards();
    let mut truth = Truth {
        joints: cards.iter().map(|&c| vec![0.0; c]).collect(),
        evidence: 0.0,
        best: 0.0,
    };
    each_state(net, evidence, |states, p| {
        truth.evidence += p;
        truth.best = truth.best.max(p);
        states
            .iter()
            .zip(&mut truth.joints)
            .for_each(|(&state, joint)| joint[state] += p);
    });
    truth
}

/// Visits all joint states that agree with hard evidence, each with its product.
pub fn each_state(net: &Network, evidence: &Evidence, mut visit: impl FnMut(&[usize], f64)) {
    let (open, tables, cards) = (open(net, evidence), tables(net), net.cards());
    let mut states: Vec<usize> = open.iter().map(|values| values.start).collect();
    for _ in 0..open.iter().map(ExactSizeIterator::len).product() {
        visit(&states, product(net, &tables, evidence, &cards, &states));
        for (state, values) in states.iter_mut().zip(&open) {
            *state += 1;
            if *state < values.end {
                break;
            }
            *state = values.start;
        }
    }
}

/// The values of each variable: an observed one alone, otherwise all.
fn open(net: &Network, evidence: &Evidence) -> Vec<Range<usize>> {
    let values = |v| match evidence.get(v) {
        Some(Finding::Hard(value)) => *value..*value + 1,
        _ => 0..net.card(v),
    };
    net.ids().map(values).collect()
}

/// The product of all factors and likelihoods at a joint state.
pub fn weight(net: &Network, evidence: &Evidence, cards: &[usize], states: &[usize]) -> f64 {
    product(net, &tables(net), evidence, cards, states)
}

fn tables(net: &Network) -> Vec<Vec<f64>> {
    net.cpts()
        .iter()
        .map(|cpt| cpt.table(&net.cards()))
        .collect()
}

fn product(
    net: &Network,
    tables: &[Vec<f64>],
    evidence: &Evidence,
    cards: &[usize],
    states: &[usize],
) -> f64 {
    let entry = |(cpt, table): (&Cpt, &Vec<f64>)| {
        table[cpt
            .scope()
            .iter()
            .fold(0, |i, v| i * cards[v.index()] + states[v.index()])]
    };
    let likelihood = |(v, finding): (VarId, &Finding)| match finding {
        Finding::Hard(value) => f64::from(u8::from(states[v.index()] == *value)),
        Finding::Soft(likelihood) => likelihood[states[v.index()]],
    };
    net.cpts().iter().zip(tables).map(entry).product::<f64>()
        * evidence.iter().map(likelihood).product::<f64>()
}

/// Whether `./test --sweep` asks for all that is random.
pub fn is_sweep() -> bool {
    std::env::var_os("SUMOUT_SWEEP").is_some()
}

/// Seeds below `count`: in a sweep all of them, otherwise every eleventh. Eleven is prime, so what goes by the remainder of a seed
/// still varies, and what grows with it still grows.
pub fn seeds(count: u64) -> impl Iterator<Item = u64> {
    (0..count).step_by(if is_sweep() { 1 } else { 11 })
}

/// Does something for each seed, on all cores.
pub fn in_parallel(seeds: impl IntoIterator<Item = u64>, work: impl Fn(u64) + Sync) {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let seeds: Vec<u64> = seeds.into_iter().collect();
    std::thread::scope(|scope| {
        for first in 0..threads {
            let (work, seeds) = (&work, seeds.iter().skip(first).step_by(threads));
            scope.spawn(move || seeds.copied().for_each(work));
        }
    });
}

/// Hard, soft or mixed evidence on some variables.
pub fn random_evidence(net: &Network, rng: &mut ChaCha8Rng) -> Evidence {
    let mut evidence = Evidence::new();
    let (share, softness) = (
        rng.random::<f64>() * 0.7,
        [0.0, 0.5, 1.0][rng.random_range(0..3)],
    );
    for v in net.ids() {
        if rng.random::<f64>() < share {
            let card = net.card(v);
            let finding = if rng.random::<f64>() < softness {
                let zero = rng.random_range(0..2 * card); // sometimes a likelihood is zero
                Finding::Soft(
                    (0..card)
                        .map(|i| {
                            if i == zero {
                                0.0
                            } else {
                                3.0 * rng.random::<f64>()
                            }
                        })
                        .collect(),
                )
            } else {
                Finding::Hard(rng.random_range(0..card))
            };
            evidence
                .insert(net, v, finding)
                .expect("every variable gets one finding");
        }
    }
    evidence
}

/// A Markov network with random factors, some of them with zeros, some variables in none.
pub fn random_markov(nodes: usize, rng: &mut ChaCha8Rng) -> Network {
    let mut b = Network::markov("random");
    let cards: Vec<usize> = (0..nodes).map(|_| rng.random_range(1..=3)).collect();
    let vars: Vec<_> = (0..nodes)
        .map(|i| b.variable(format!("x{i}"), (0..cards[i]).map(|v| format!("s{v}"))))
        .collect();
    for _ in 0..rng.random_range(0..2 * nodes) {
        let scope: Vec<usize> = (0..nodes)
            .filter(|_| rng.random::<f64>() < 2.0 / nodes as f64)
            .collect();
        let size: usize = scope.iter().map(|&v| cards[v]).product();
        let zeros = if rng.random::<bool>() { 0.3 } else { 0.0 };
        let number = |rng: &mut ChaCha8Rng| {
            if rng.random::<f64>() < zeros {
                0.0
            } else {
                5.0 * rng.random::<f64>()
            }
        };
        let table: Vec<f64> = (0..size).map(|_| number(rng)).collect();
        b.potential(scope.into_iter().map(|v| vars[v]), table);
    }
    b.build().expect("a random network is well formed")
}

/// Whether two numbers agree to within `tolerance`, relative to the larger.
pub fn close(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
}

/// Evidence on the inputs of a circuit, row by row, as columns of values or of likelihoods.
pub fn batch(net: &Network, circuit: &Circuit, rows: &[Evidence]) -> Batch {
    let mut batch = Batch::new(rows.len());
    for input in circuit.inputs() {
        let card = net.card(input);
        let is_soft = rows
            .iter()
            .any(|row| matches!(row.get(input), Some(Finding::Soft(_))));
        let value = |row: &Evidence| match row.get(input) {
            Some(Finding::Hard(value)) => *value as i32,
            _ => -1,
        };
        let likelihood = |row: &Evidence| match row.get(input) {
            None => vec![1.0; card],
            Some(Finding::Hard(value)) => (0..card).map(|v| f64::from(v == *value)).collect(),
            Some(Finding::Soft(likelihood)) => likelihood.clone(),
        };
        let column = match is_soft {
            true => Column::Likelihoods(rows.iter().flat_map(likelihood).collect()),
            false => Column::Values(rows.iter().map(value).collect()),
        };
        batch.insert(circuit, input, column).unwrap();
    }
    batch
}

/// A state that does not change, with noisy readings.
pub fn readings(noise: f64, count: usize) -> Network {
    let mut b = Network::builder("readings");
    let mut states = vec![b.variable("h0", ["a", "b"])];
    b.table(states[0], [], [0.5, 0.5]);
    for t in 1..count {
        states.push(b.variable(format!("h{t}"), ["a", "b"]));
        b.table(states[t], [states[t - 1]], [1.0, 0.0, 0.0, 1.0]);
    }
    for (t, &h) in states.iter().enumerate() {
        let x = b.variable(format!("x{t}"), ["on", "off"]);
        b.table(x, [h], [1.0 - noise, noise, noise, 1.0 - noise]);
    }
    b.build().unwrap()
}
