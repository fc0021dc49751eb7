//! Learning: gradients against central differences, expectation–maximisation against counting by
//! hand, and the whole of `fit`.

mod em;
mod epochs;
mod fit;
mod functions;
mod gradients;
mod params;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use sumout::learn::Loss;
use sumout::model::Node;
use sumout::{
    Column, EvalOptions, Examples, Finding, Level, Network, Options, Precision, Task, Training,
    TrainingOptions, VarId,
};

const LEVELS: [Level; 6] = [
    Level::Classical,
    Level::Paper,
    Level::Functional,
    Level::Tables,
    Level::Support,
    Level::Compiled,
];

/// The losses, each alone and all together.
const LOSSES: [Loss; 4] = [
    Loss {
        cross_entropy: 1.0,
        squared_error: 0.0,
        likelihood: 0.0,
    },
    Loss {
        cross_entropy: 0.0,
        squared_error: 1.0,
        likelihood: 0.0,
    },
    Loss {
        cross_entropy: 0.0,
        squared_error: 0.0,
        likelihood: 1.0,
    },
    Loss {
        cross_entropy: 0.5,
        squared_error: 0.7,
        likelihood: 0.3,
    },
];

fn f64s() -> EvalOptions {
    EvalOptions::default().with_precision(Precision::F64)
}

fn training(net: &Network, task: &Task, learning: TrainingOptions, level: Level) -> Training {
    let running = EvalOptions::default().with_precision(Precision::F64);
    Training::new(
        net,
        task,
        learning,
        &Options::default().with_level(level).with_effort(0.1),
        &running,
    )
    .unwrap()
}

/// Networks with all roles that a CPT can have: fixed, kept zeros, ties, functions known, declared,
/// and neither.
fn random_network(rng: &mut ChaCha8Rng, nodes: usize) -> Network {
    let mut b = Network::builder("random");
    let mut known: Vec<(Node, usize)> = vec![];
    let mut has_twins = false;
    for i in 0..nodes {
        let role = rng.random_range(0..7);
        let card = if role == 6 { 3 } else { rng.random_range(2..4) };
        let node = b.variable(format!("x{i}"), (0..card).map(|k| format!("v{k}")));
        let mut parents = known.clone();
        while parents.len() > rng.random_range(0..3) {
            parents.remove(rng.random_range(0..parents.len()));
        }
        let rows: usize = parents.iter().map(|(_, card)| card).product();
        let parents: Vec<Node> = parents.into_iter().map(|(node, _)| node).collect();
        known.push((node, card));
        match role {
            0 if !parents.is_empty() => drop(
                b.function(node, parents, |u| u.iter().sum::<usize>() % card)
                    .fixed(),
            ),
            1 => drop(
                b.table(node, parents, random_table(rng, rows, card, 0.7))
                    .keep_zeros(),
            ),
            2 => drop(
                b.table(node, parents, random_table(rng, rows, card, 0.0))
                    .fixed(),
            ),
            3 => drop(
                b.table(node, parents, random_table(rng, rows, card, 0.0))
                    .tie("tied"),
            ),
            4 => drop(
                b.table(node, parents, random_table(rng, rows, card, 0.0))
                    .functional(),
            ),
            6 if rows > 1 && !has_twins => {
                // Two with the same zeros.
                has_twins = true;
                let table: Vec<f64> = (0..rows)
                    .flat_map(|row| random_row(rng, card, Some(row % card)))
                    .collect();
                b.table(node, parents.clone(), table.clone())
                    .tie("twins")
                    .keep_zeros();
                let twin = b.variable("twin", (0..card).map(|k| format!("v{k}")));
                b.table(twin, parents, table).tie("twins").keep_zeros();
                known.push((twin, card));
            }
            _ => drop(b.table(node, parents, random_table(rng, rows, card, 0.0))),
        }
    }
    b.build().unwrap()
}

/// Rows, of which a share has a zero.
fn random_table(rng: &mut ChaCha8Rng, rows: usize, card: usize, share: f64) -> Vec<f64> {
    let mut row = |_| {
        let zero = rng.random_bool(share).then(|| rng.random_range(0..card));
        random_row(rng, card, zero)
    };
    (0..rows).flat_map(&mut row).collect()
}

fn random_row(rng: &mut ChaCha8Rng, card: usize, zero: Option<usize>) -> Vec<f64> {
    let mut row: Vec<f64> = (0..card).map(|_| rng.random_range(0.1..1.0)).collect();
    if let Some(zero) = zero {
        row[zero] = 0.0;
    }
    let total: f64 = row.iter().sum();
    row.iter().map(|p| p / total).collect()
}

fn finding(net: &Network, examples: &Examples, var: VarId, row: usize) -> Option<Finding> {
    match examples.get(var)? {
        Column::Values(values) => usize::try_from(values[row]).ok().map(Finding::Hard),
        Column::Likelihoods(numbers) => {
            let card = net.card(var);
            Some(Finding::Soft(
                numbers[row * card..(row + 1) * card].to_vec(),
            ))
        }
    }
}
