//! Seeded random networks, as the paper generates them (section 5, Tables 5 and 6).
//!
//! Node i has between 2 and `max_values` values and up to `max_parents` parents, drawn without
//! replacement from all earlier nodes. A share of *all* nodes, as far as nodes with parents
//! suffice, is functional: each row of its CPT is a random one-hot row. All other rows are
//! normalised uniform numbers.

use rand::seq::{IteratorRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::error::{Error, ErrorKind, Result};
use crate::model::network::Network;

/// The shape of a random network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// The number of variables.
    pub nodes: usize,
    /// Every variable has between 2 and this many values.
    pub max_values: usize,
    /// Every variable has at most this many parents.
    pub max_parents: usize,
    /// The share of functional variables, from 0 to 1.
    pub functional: f64,
}

/// A random network; the same seed gives the same network.
///
/// ```
/// use sumout::model::random::{Shape, network};
///
/// let shape = Shape { nodes: 30, max_values: 3, max_parents: 4, functional: 0.5 };
/// let net = network(&shape, 7)?;
/// assert_eq!(net.cpts().iter().filter(|cpt| cpt.is_functional()).count(), 15);
/// # Ok::<(), sumout::Error>(())
/// ```
pub fn network(shape: &Shape, seed: u64) -> Result<Network> {
    check(shape)?;
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let mut b = Network::builder(format!("random-{}-{seed}", shape.nodes));
    let cards: Vec<usize> = (0..shape.nodes)
        .map(|_| rng.random_range(2..=shape.max_values))
        .collect();
    let nodes: Vec<_> = (0..shape.nodes)
        .map(|i| b.variable(format!("x{i}"), (0..cards[i]).map(|v| format!("s{v}"))))
        .collect();
    let parents: Vec<Vec<usize>> = (0..shape.nodes)
        .map(|i| random_parents(rng, i, shape.max_parents))
        .collect();
    let functional = random_functional(
        rng,
        &parents,
        (shape.functional * shape.nodes as f64 + 1e-9) as usize,
    );
    for i in 0..shape.nodes {
        let rows: usize = parents[i].iter().map(|&p| cards[p]).product();
        let scope = parents[i].iter().map(|&p| nodes[p]);
        if functional[i] {
            let values: Vec<u32> = (0..rows)
                .map(|_| rng.random_range(0..cards[i] as u32))
                .collect();
            b.mapping(nodes[i], scope, values);
        } else {
            let table: Vec<f64> = (0..rows).flat_map(|_| random_row(rng, cards[i])).collect();
            b.table(nodes[i], scope, table);
        }
    }
    b.build()
}

fn check(shape: &Shape) -> Result<()> {
    let fail = |message: &str| Err(Error::new(ErrorKind::Model, message));
    if shape.max_values < 2 {
        return fail("a random network needs at least 2 values for each variable");
    }
    if !(0.0..=1.0).contains(&shape.functional) {
        return fail("the share of functional variables must be between 0 and 1");
    }
    let entries = (shape.max_values as f64).powi(shape.max_parents.min(1 << 20) as i32 + 1)
        * shape.nodes as f64;
    if entries > 1e9 {
        fail("such a random network could need over 10^9 numbers")
    } else {
        Ok(())
    }
}

fn random_parents(rng: &mut ChaCha8Rng, node: usize, max_parents: usize) -> Vec<usize> {
    let count = rng.random_range(0..=max_parents.min(node));
    let mut parents = (0..node).sample(rng, count);
    parents.sort_unstable();
    parents
}

fn random_functional(rng: &mut ChaCha8Rng, parents: &[Vec<usize>], count: usize) -> Vec<bool> {
    let mut candidates: Vec<usize> = (0..parents.len())
        .filter(|&i| !parents[i].is_empty())
        .collect();
    candidates.shuffle(rng);
    let mut functional = vec![false; parents.len()];
    candidates
        .into_iter()
        .take(count)
        .for_each(|i| functional[i] = true);
    functional
}

fn random_row(rng: &mut ChaCha8Rng, card: usize) -> Vec<f64> {
    let row: Vec<f64> = (0..card).map(|_| rng.random::<f64>()).collect();
    let sum: f64 = row.iter().sum();
    row.into_iter().map(|p| p / sum).collect()
}

/// Seeds below `count`: in a sweep all of them, otherwise every eleventh, as in the integration tests.
#[cfg(test)]
pub(crate) fn seeds(count: u64) -> impl Iterator<Item = u64> {
    let is_sweep = std::env::var_os("SUMOUT_SWEEP").is_some();
    (0..count).step_by(if is_sweep { 1 } else { 11 })
}
