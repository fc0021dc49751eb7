//! Draws complete cases from a Bayesian network, parents before children.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::error::{Error, ErrorKind, Result};
use crate::model::cpt::{Body, Cpt};
use crate::model::data::Dataset;
use crate::model::network::Network;

impl Network {
    /// Draws `rows` cases. The same seed gives the same cases.
    ///
    /// Only Bayesian networks can be sampled this way.
    pub fn sample(&self, rows: usize, seed: u64) -> Result<Dataset> {
        let mut sampler = self.sampler(seed)?;
        let mut data = Dataset::new(self.ids().collect::<Vec<_>>());
        for _ in 0..rows {
            let case: Vec<Option<u32>> = sampler.draw().iter().map(|&v| Some(v)).collect();
            data.push(self, &case)?;
        }
        Ok(data)
    }

    /// Draws cases one at a time, for more of them than fit in memory.
    pub fn sampler(&self, seed: u64) -> Result<Sampler<'_>> {
        if self.is_markov() {
            let error = Error::new(
                ErrorKind::Unsupported,
                "a Markov network has no order in which to sample its variables",
            );
            return Err(error.hint("draw from its posterior given evidence, or given none"));
        }
        if self.has_selections() {
            let error = Error::new(
                ErrorKind::Unsupported,
                "a testing network has another distribution for other evidence",
            );
            return Err(error.hint("only networks without tests can be sampled"));
        }
        let case = vec![0; self.variables().len()];
        Ok(Sampler {
            net: self,
            cards: self.cards(),
            rng: ChaCha8Rng::seed_from_u64(seed),
            case,
        })
    }
}

/// Draws cases one at a time; see [`Network::sampler`].
#[derive(Debug)]
pub struct Sampler<'a> {
    net: &'a Network,
    cards: Vec<usize>,
    rng: ChaCha8Rng,
    case: Vec<u32>,
}

impl Sampler<'_> {
    /// The next case: the position of the value of each variable.
    pub fn draw(&mut self) -> &[u32] {
        for (index, cpt) in self.net.cpts().iter().enumerate() {
            let row = self.row(cpt);
            self.case[index] = match cpt.body() {
                Body::Function(values) => values[row],
                Body::Selected(_) => unreachable!("a sampler refuses testing networks"),
                Body::Table(table) => {
                    let card = self.cards[index];
                    pick(&table[row * card..(row + 1) * card], self.rng.random())
                }
            };
        }
        &self.case
    }

    /// The row of a CPT that the case drawn so far selects.
    fn row(&self, cpt: &Cpt) -> usize {
        cpt.parents().iter().fold(0, |row, p| {
            row * self.cards[p.index()] + self.case[p.index()] as usize
        })
    }
}

/// The value at which the cumulated probabilities pass `u`; never one of probability zero.
fn pick(probabilities: &[f64], u: f64) -> u32 {
    let total: f64 = probabilities.iter().sum();
    let mut left = u * total;
    let mut last = 0;
    for (value, &p) in probabilities.iter().enumerate().filter(|(_, p)| **p > 0.0) {
        last = value;
        left -= p;
        if left < 0.0 {
            break;
        }
    }
    last as u32
}
