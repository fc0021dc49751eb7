//! Draws from posteriors: possible, and as frequent as brute force tells.

use std::collections::BTreeMap;

use crate::common::{batch, random_evidence, random_markov, seeds, weight};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use sumout::model::random::{Shape, network};
use sumout::{ErrorKind, Evidence, Level, Network, Options, Query, VarId};

const LEVELS: [Level; 4] = [
    Level::Classical,
    Level::Paper,
    Level::Functional,
    Level::Tables,
];

/// Small networks with few joint states.
fn case(seed: u64) -> (Network, ChaCha8Rng) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    if seed % 4 == 3 {
        return (random_markov(4, &mut rng), rng);
    }
    let shape = Shape {
        nodes: 3 + (seed % 5) as usize,
        max_values: 3,
        max_parents: 3,
        functional: 0.4 * (seed % 4) as f64,
    };
    (network(&shape, seed).unwrap(), rng)
}

/// P(all variables, e) of each joint state that is possible.
fn states(net: &Network, evidence: &Evidence) -> BTreeMap<Vec<i32>, f64> {
    let cards = net.cards();
    let state = |mut at: usize| -> Vec<usize> {
        let digit = |card: &usize| {
            let value = at % card;
            at /= card;
            value
        };
        cards.iter().map(digit).collect()
    };
    let all = (0..cards.iter().product()).map(state);
    let weighed = all.map(|s| (weight(net, evidence, &cards, &s), s));
    let possible = weighed.filter(|(w, _)| *w > 0.0);
    let values = |s: Vec<usize>| s.into_iter().map(|v| v as i32).collect();
    possible.map(|(w, s)| (values(s), w)).collect()
}

/// How far counts are from what is expected, in standard deviations of chi-square. States that are
/// expected less than five times count as one.
fn surprise(counts: &BTreeMap<Vec<i32>, usize>, truth: &BTreeMap<Vec<i32>, f64>) -> f64 {
    let (draws, total) = (
        counts.values().sum::<usize>() as f64,
        truth.values().sum::<f64>(),
    );
    let (mut chi, mut cells, mut rare) = (0.0, 0.0, (0.0, 0.0));
    for (state, w) in truth {
        let expected = draws * w / total;
        let found = counts.get(state).copied().unwrap_or(0) as f64;
        if expected < 5.0 {
            rare = (rare.0 + expected, rare.1 + found);
        } else {
            chi += (found - expected).powi(2) / expected;
            cells += 1.0;
        }
    }
    if rare.0 >= 1.0 {
        chi += (rare.1 - rare.0).powi(2) / rare.0;
        cells += 1.0;
    }
    let freedom = f64::max(cells - 1.0, 1.0);
    (chi - freedom) / (2.0 * freedom).sqrt()
}

#[test]
fn draws_are_as_frequent_as_brute_force_tells() {
    const DRAWS: u64 = 1500;
    for seed in seeds(220) {
        let (net, mut rng) = case(seed);
        let evidence = random_evidence(&net, &mut rng);
        let truth = states(&net, &evidence);
        for level in LEVELS {
            let options = Options::default()
                .with_level(level)
                .with_effort(0.01)
                .with_seed(seed);
            let Some(cases) = net.sample_given(DRAWS, seed, &evidence, &options).unwrap() else {
                assert!(truth.is_empty());
                continue;
            };
            let mut counts: BTreeMap<Vec<i32>, usize> = BTreeMap::new();
            for case in cases.rows() {
                let case: Vec<i32> = case.iter().map(|cell| cell.unwrap() as i32).collect();
                assert!(
                    truth.contains_key(&case),
                    "{level}: {case:?} is impossible\n{net:?}"
                );
                *counts.entry(case).or_default() += 1;
            }
            assert_eq!(cases.len() as u64, DRAWS);
            let surprise = surprise(&counts, &truth);
            assert!(
                surprise < 6.0,
                "{level} {seed}: {surprise} {evidence:?}\n{net:?}"
            );
        }
    }
}

#[test]
fn a_batch_has_draws_for_each_of_its_examples() {
    for seed in seeds(60) {
        let (net, mut rng) = case(seed);
        let options = Options::default()
            .with_level(Level::Tables)
            .with_effort(0.01);
        let Ok(circuit) = net.compile(&Query::explain(), &options) else {
            continue;
        };
        let rows: Vec<Evidence> = (0..7).map(|_| random_evidence(&net, &mut rng)).collect();
        let batch = batch(&net, &circuit, &rows);
        let drawn = circuit.sample(&batch, 0..600, seed).unwrap();
        let width = net.variables().len();
        for (evidence, drawn) in rows.iter().zip(drawn.chunks_exact(600 * width)) {
            let truth = states(&net, evidence);
            if truth.is_empty() {
                assert!(drawn.iter().all(|&value| value == -1));
                continue;
            }
            let mut counts: BTreeMap<Vec<i32>, usize> = BTreeMap::new();
            for draw in drawn.chunks_exact(width) {
                *counts.entry(draw.to_vec()).or_default() += 1;
            }
            assert!(surprise(&counts, &truth) < 6.0, "{evidence:?}\n{net:?}");
        }
        // A draw depends on its number, and not on which others are drawn.
        let later = circuit.sample(&batch, 590..600, seed).unwrap();
        let last = drawn
            .chunks_exact(600 * width)
            .flat_map(|all| &all[590 * width..]);
        assert!(last.eq(&later));
    }
}

#[test]
fn circuits_that_merge_states_or_sum_them_out_cannot_draw() {
    let rect = Network::read("rect:4").unwrap();
    let options = Options::default().with_level(Level::Support);
    let merged = rect.compile(&Query::explain(), &options).unwrap();
    let asia = Network::read("asia").unwrap();
    let summed = asia.compile(&Query::all(), &Options::default()).unwrap();
    for circuit in [merged, summed] {
        let refused = circuit.sample(&sumout::Batch::new(1), 0..1, 0).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
    }
}

/// 400 readings of a state: numbers are too far apart for anything but logarithms.
#[test]
fn draws_do_not_underflow() {
    let net = crate::common::readings(1e-9, 60);
    let mut evidence = Evidence::new();
    for t in 1..60 {
        let value = ["on", "off"][t % 2];
        evidence = evidence.observe(&net, &format!("x{t}"), value).unwrap();
    }
    let cases = net
        .sample_given(400, 5, &evidence, &Options::default())
        .unwrap()
        .unwrap();
    let h0: VarId = net.find("h0").unwrap();
    let in_a = cases
        .rows()
        .filter(|case| case[h0.index()] == Some(0))
        .count();
    assert!(
        cases
            .rows()
            .all(|case| case[..60].iter().all(|cell| *cell == case[0]))
    );
    assert!(in_a < 5, "29 readings are of a, and 30 of b: {in_a}");
}
