//! Every level and every objective against brute force, on small random networks with functions.

use crate::common::{close, enumerate, in_parallel, random_evidence, seeds, weight};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::model::random::{Shape, network};
use sumout::{Evidence, Level, Network, Objective, Options, VarId};

const NETWORKS: u64 = 1000;
const TOLERANCE: f64 = 1e-9;

/// Networks of 3 to 9 nodes that grow with the seed, with hard, soft or mixed evidence.
fn case(seed: u64) -> (Network, Evidence, ChaCha8Rng) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let nodes = 3 + (seed * 7 / NETWORKS) as usize;
    let shape = Shape {
        nodes,
        max_values: 2 + seed as usize % 3,
        max_parents: 3,
        functional: rng.random_range(0.2..1.0),
    };
    let net = network(&shape, seed).expect("the shape is sensible");
    let evidence = random_evidence(&net, &mut rng);
    (net, evidence, rng)
}

/// All levels and objectives, with random seeds, and enough effort to copy functions.
fn all_options(rng: &mut ChaCha8Rng) -> Vec<Options> {
    let objectives = || Objective::names().map(|name| name.parse::<Objective>().unwrap());
    let levels = Level::names().map(|name| name.parse::<Level>().unwrap());
    let pairs = levels.flat_map(|level| objectives().map(move |objective| (level, objective)));
    pairs
        .map(|(level, objective)| {
            Options::default()
                .with_level(level)
                .with_objective(objective)
                .with_seed(rng.random())
                .with_effort(200.0)
        })
        .collect()
}

/// A variable that is a function, or one that is not, if there is one.
fn random_target(net: &Network, is_functional: bool, rng: &mut ChaCha8Rng) -> VarId {
    let all: Vec<VarId> = net.ids().collect();
    let kind = |v: &&VarId| net.cpts()[v.index()].is_functional() == is_functional;
    let some: Vec<VarId> = all.iter().filter(kind).copied().collect();
    *some
        .choose(rng)
        .or_else(|| all.choose(rng))
        .expect("a network has variables")
}

#[test]
fn posteriors_agree_with_brute_force() {
    in_parallel(seeds(NETWORKS), |seed| {
        let (net, evidence, mut rng) = case(seed);
        let truth = enumerate(&net, &evidence);
        for (way, options) in all_options(&mut rng).into_iter().enumerate() {
            let is_functional = rng.random::<bool>();
            let one = random_target(&net, is_functional, &mut rng);
            let targets = if (way as u64 + seed).is_multiple_of(5) {
                vec![]
            } else {
                vec![one]
            };
            let answer = net
                .query(&targets, &evidence, &options)
                .expect("a small network fits in memory");
            let context =
                || format!("seed {seed}, {targets:?}, {evidence:?}, {options:?}\n{net:?}");
            assert_eq!(
                answer.is_impossible(),
                truth.evidence == 0.0,
                "{}",
                context()
            );
            assert_eq!(
                answer.is_impossible(),
                answer.posteriors().is_empty(),
                "{}",
                context()
            );
            assert!(
                close(answer.log_evidence(), truth.evidence.ln(), TOLERANCE),
                "{}",
                context()
            );
            for (v, posterior) in answer.posteriors() {
                let truth = truth.joints[v.index()]
                    .iter()
                    .map(|joint| joint / truth.evidence);
                assert!(
                    posterior
                        .iter()
                        .zip(truth)
                        .all(|(p, q)| close(*p, q, TOLERANCE)),
                    "{v:?}, {}",
                    context()
                );
            }
        }
    });
}

#[test]
fn explanations_agree_with_brute_force() {
    in_parallel(seeds(NETWORKS), |seed| {
        let (net, evidence, mut rng) = case(seed);
        let best = enumerate(&net, &evidence).best;
        for options in all_options(&mut rng) {
            let explanation = net
                .mpe(&evidence, &options)
                .expect("a small network fits in memory");
            let p = explanation
                .assignment()
                .map_or(0.0, |states| weight(&net, &evidence, &net.cards(), states));
            let is_right = close(p.ln(), best.ln(), TOLERANCE)
                && close(explanation.log_probability(), p.ln(), TOLERANCE);
            assert!(
                is_right,
                "seed {seed}, {p} is not {best}, {evidence:?}, {options:?}\n{net:?}"
            );
        }
    });
}
