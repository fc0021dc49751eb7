//! Hostile networks, kept apart from the library's: lists of factors and likelihoods.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use sumout::{Evidence, Finding, Network, VarId};

use crate::wide::Wide;

/// Numbers over some variables, the last variable fastest.
#[derive(Clone, Debug)]
pub struct Factor {
    pub scope: Vec<usize>,
    pub values: Vec<f64>,
    /// Whether the library is told that it is a function.
    is_mapping: bool,
}

/// A network; the factors of a Bayesian one are CPTs, each with its variable last.
#[derive(Clone, Debug)]
pub struct Model {
    pub cards: Vec<usize>,
    pub factors: Vec<Factor>,
    pub is_markov: bool,
}

/// The likelihood of each variable; whether it is a single value.
pub type Known = Vec<Option<(Vec<f64>, bool)>>;

/// At most this many joint states.
const MAX_STATES: usize = 2000;

impl Model {
    pub fn random(rng: &mut ChaCha8Rng) -> Self {
        let mut cards: Vec<usize> = vec![];
        for _ in 0..rng.random_range(1..=8) {
            let card = [1, 2, 2, 2, 2, 3, 3, 4, 5][rng.random_range(0..9)];
            if cards.iter().product::<usize>() * card <= MAX_STATES {
                cards.push(card);
            }
        }
        let is_markov = rng.random_bool(0.4);
        let factors = if is_markov {
            potentials(&cards, rng)
        } else {
            cpts(&cards, rng)
        };
        Model {
            cards,
            factors,
            is_markov,
        }
    }

    /// The network as the library has it.
    pub fn build(&self) -> Network {
        let mut b = match self.is_markov {
            true => Network::markov("hostile"),
            false => Network::builder("hostile"),
        };
        let named = |(v, &card): (usize, &usize)| {
            let values: Vec<String> = (0..card).map(|value| format!("s{value}")).collect();
            b.variable(name(v), values)
        };
        let nodes: Vec<_> = self.cards.iter().enumerate().map(named).collect();
        for factor in &self.factors {
            let scope = factor.scope.iter().map(|&v| nodes[v]);
            if self.is_markov {
                b.potential(scope, factor.values.clone());
                continue;
            }
            let (child, parents) = factor.scope.split_last().unwrap();
            let parents = parents.iter().map(|&v| nodes[v]);
            if factor.is_mapping {
                let rows = factor.values.chunks(self.cards[*child]);
                let place = |row: &[f64]| row.iter().position(|&p| p == 1.0).unwrap() as u32;
                b.mapping(nodes[*child], parents, rows.map(place).collect::<Vec<_>>());
            } else {
                b.table(nodes[*child], parents, factor.values.clone());
            }
        }
        b.build().unwrap()
    }

    /// Evidence: on some variables or on many; hard, soft, or both; sometimes impossible.
    pub fn known(&self, rng: &mut ChaCha8Rng) -> Known {
        let share = [0.0, 0.2, 0.5, 1.0][rng.random_range(0..4)];
        let softness = [0.0, 0.5, 1.0][rng.random_range(0..3)];
        let finding = |&card: &usize| {
            if !rng.random_bool(share) {
                return None;
            }
            if rng.random_bool(softness) {
                return Some((likelihood(card, rng), false));
            }
            let value = rng.random_range(0..card);
            let only = (0..card).map(|v| f64::from(u8::from(v == value)));
            Some((only.collect(), true))
        };
        self.cards.iter().map(finding).collect()
    }

    /// The product of all factors and likelihoods, for each joint state.
    pub fn each_state(&self, known: &Known, mut visit: impl FnMut(&[usize], Wide)) {
        for index in 0..self.cards.iter().product() {
            let mut rest = index;
            let digit = |card: &usize| {
                let state = rest % card;
                rest /= card;
                state
            };
            let states: Vec<usize> = self.cards.iter().map(digit).collect();
            visit(&states, self.weight(known, &states));
        }
    }

    pub fn weight(&self, known: &Known, states: &[usize]) -> Wide {
        let entries = self.factors.iter().map(|f| f.values[self.place(f, states)]);
        let likelihoods = known.iter().zip(states);
        let likelihoods = likelihoods.filter_map(|(k, &state)| k.as_ref().map(|(l, _)| l[state]));
        entries.chain(likelihoods).map(Wide::from).product()
    }

    pub fn place(&self, factor: &Factor, states: &[usize]) -> usize {
        let scope = factor.scope.iter();
        scope.fold(0, |at, &v| at * self.cards[v] + states[v])
    }
}

pub fn name(v: usize) -> String {
    format!("x{v}")
}

/// The evidence as the library has it.
pub fn evidence(net: &Network, known: &Known) -> Evidence {
    let mut evidence = Evidence::new();
    for (v, finding) in known.iter().enumerate() {
        let Some((likelihood, is_hard)) = finding else {
            continue;
        };
        let finding = match likelihood
            .iter()
            .position(|&l| l == 1.0)
            .filter(|_| *is_hard)
        {
            Some(value) => Finding::Hard(value),
            None => Finding::Soft(likelihood.clone()),
        };
        evidence.insert(net, id(net, v), finding).unwrap();
    }
    evidence
}

pub fn id(net: &Network, v: usize) -> VarId {
    net.find(&name(v)).unwrap()
}

/// Likelihoods of all magnitudes, some of them zero, but not all.
fn likelihood(card: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let most = [0.5, 5.0, 299.0][rng.random_range(0..3)];
    let mut values: Vec<f64> = (0..card)
        .map(|_| match rng.random_bool(0.25) {
            true => 0.0,
            false => 10f64.powf(most * rng.random_range(-1.0..1.0)),
        })
        .collect();
    if values.iter().all(|&l| l == 0.0) {
        values[rng.random_range(0..card)] = 1.0;
    }
    values
}

/// Up to three variables before `v`, in any order.
fn some(count: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let mut chosen: Vec<usize> = vec![];
    for _ in 0..rng.random_range(0..=3) {
        let v = rng.random_range(0..count.max(1));
        if v < count && !chosen.contains(&v) {
            chosen.push(v);
        }
    }
    chosen
}

fn cpts(cards: &[usize], rng: &mut ChaCha8Rng) -> Vec<Factor> {
    let functions = [0.0, 0.3, 0.9][rng.random_range(0..3)];
    let mut all = vec![];
    for (v, &card) in cards.iter().enumerate() {
        let mut scope = some(v, rng);
        let rows: usize = scope.iter().map(|&u| cards[u]).product();
        let is_function = rng.random_bool(functions);
        let values = match is_function {
            true => function(rows, card, rng),
            false => distributions(rows, card, rng),
        };
        scope.push(v);
        all.push(Factor {
            scope,
            values,
            is_mapping: is_function && rng.random_bool(0.5),
        });
    }
    all
}

/// Rows of a function: any, constant, or one that copies values as far as there are some.
fn function(rows: usize, card: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let kind = rng.random_range(0..3);
    let start = rng.random_range(0..card);
    let mut values = vec![0.0; rows * card];
    for row in 0..rows {
        let value = match kind {
            0 => rng.random_range(0..card),
            1 => start,
            _ => (start + row) % card,
        };
        values[row * card + value] = 1.0;
    }
    values
}

/// Rows that sum to one: with zeros, with numbers next to zero, or all alike.
fn distributions(rows: usize, card: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let zeros = [0.0, 0.4][rng.random_range(0..2)];
    let smallest = [0.0, 6.0, 300.0][rng.random_range(0..3)];
    let is_alike = rng.random_bool(0.1);
    let mut values: Vec<f64> = vec![];
    for row in 0..rows {
        if is_alike && row > 0 {
            values.extend_from_within(..card);
            continue;
        }
        let mut numbers: Vec<f64> = (0..card)
            .map(|_| match rng.random_bool(zeros) {
                true => 0.0,
                false => 10f64.powf(-smallest * rng.random::<f64>()) * rng.random::<f64>(),
            })
            .collect();
        if numbers.iter().sum::<f64>() < 1e-3 {
            numbers[rng.random_range(0..card)] = 1.0;
        }
        let sum: f64 = numbers.iter().sum();
        values.extend(numbers.iter().map(|p| p / sum));
    }
    values
}

/// Factors of all kinds: any numbers, constraints, equalities, constants; some variables in none.
fn potentials(cards: &[usize], rng: &mut ChaCha8Rng) -> Vec<Factor> {
    let most = [0.5, 30.0, 300.0][rng.random_range(0..3)];
    let mut all = vec![];
    for _ in 0..rng.random_range(0..=cards.len() + 2) {
        let scope = some(cards.len(), rng);
        let size: usize = scope.iter().map(|&v| cards[v]).product();
        let (kind, zeros) = (rng.random_range(0..6), rng.random_range(0.0..0.6));
        let number = |place: usize, rng: &mut ChaCha8Rng| match kind {
            0 => f64::from(u8::from(!rng.random_bool(zeros))),
            1 if scope.len() == 2 => {
                let card = cards[scope[1]];
                f64::from(u8::from(place / card == place % card))
            }
            2 => 10f64.powf(most * rng.random_range(-1.0..1.0)),
            3 if rng.random_bool(zeros) => 0.0,
            3 => 10f64.powf(most * rng.random_range(-1.0..1.0)),
            _ => 3.0 * rng.random::<f64>(),
        };
        let mut values: Vec<f64> = (0..size).map(|place| number(place, rng)).collect();
        if rng.random_bool(0.1) {
            values.fill(2.0);
        }
        all.push(Factor {
            scope,
            values,
            is_mapping: false,
        });
    }
    all
}
