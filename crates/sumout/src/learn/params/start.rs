//! Initial weights: those of the network, equal ones, or random ones.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::learn::params::{NO_WEIGHT, Params};
use crate::model::FactorModel;

/// How weights are initialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Start {
    /// By the network's own CPTs; zeros that are not kept become 0.001.
    Network,
    /// To zero: rows are uniform.
    Uniform,
    /// At random, from a standard normal distribution.
    Random(u64),
    /// At random, rows of CPTs of the same shape being equal, as in the paper.
    Alike(u64),
}

/// The initial probability of a zero that is not kept.
const FIRST_FOR_ZERO: f64 = 1e-3;

impl Params {
    /// Initialises the weights.
    pub fn start(&mut self, net: &FactorModel, start: Start) {
        match start {
            Start::Uniform => {
                self.weights.fill(0.0);
                self.part_copies();
            }
            Start::Network => self.start_from(net),
            Start::Random(seed) => self.start_at_random(seed, false),
            Start::Alike(seed) => self.start_at_random(seed, true),
        }
        self.start_free(start);
        self.renew();
    }

    /// Draws the weights of each row by the seed, the group and the row; groups that start alike
    /// count as one, but for the copies of a tested CPT.
    fn start_at_random(&mut self, seed: u64, alike: bool) {
        for (g, group) in self.groups.iter().enumerate() {
            let of = if alike { self.copy(g) } else { g + 1 } as u64;
            let first = self
                .rows
                .partition_point(|(row, _)| row.start < group.weights.start);
            let rows = self.rows[first..]
                .iter()
                .take_while(|(row, _)| row.end <= group.weights.end);
            for (index, (row, _)) in rows.enumerate() {
                let key = [seed, of, index as u64, row.len() as u64];
                draw(&mut self.weights[row.clone()], key);
            }
        }
    }

    /// The logarithms of the network's numbers; of CPTs that share weights, of their mean.
    fn start_from(&mut self, net: &FactorModel) {
        let (mut sums, mut counts) = (vec![0.0; self.len()], vec![0.0; self.len()]);
        let cards = net.cards();
        for (var, child) in &self.children {
            let table = net.cpts()[var.index()].table(&cards);
            for (p, &at) in table
                .iter()
                .zip(&child.at)
                .filter(|(_, at)| **at != NO_WEIGHT)
            {
                sums[at as usize] += p;
                counts[at as usize] += 1.0;
            }
        }
        let means = sums.iter().zip(counts).map(|(sum, count)| {
            if *sum > 0.0 {
                sum / count
            } else {
                FIRST_FOR_ZERO
            }
            .ln()
        });
        self.weights = means.collect();
    }
}

/// Standard normal numbers that depend on nothing but the key.
pub(super) fn draw(to: &mut [f64], key: [u64; 4]) {
    let mut seed = [0; 32];
    seed.chunks_exact_mut(8)
        .zip(key)
        .for_each(|(bytes, k)| bytes.copy_from_slice(&k.to_le_bytes()));
    let mut rng = ChaCha8Rng::from_seed(seed);
    for w in to {
        let (radius, angle): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
        *w = (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos();
    }
}
