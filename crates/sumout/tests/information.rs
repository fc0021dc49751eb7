//! Mutual information against its definition, by enumeration.

use std::collections::BTreeMap;

use crate::common::{LEVELS, close, random_evidence, random_markov, seeds, weight};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::model::random::{Shape, network};
use sumout::{ErrorKind, Evidence, Finding, Network, Options, VarId};

fn case(seed: u64) -> (Network, ChaCha8Rng) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    if seed % 4 == 3 {
        return (random_markov(5, &mut rng), rng);
    }
    let shape = Shape {
        nodes: 3 + (seed % 5) as usize,
        max_values: 3,
        max_parents: 3,
        functional: 0.4 * (seed % 4) as f64,
    };
    (network(&shape, seed).unwrap(), rng)
}

/// P(some variables, e), by their values.
fn joint(net: &Network, vars: &[VarId], evidence: &Evidence) -> BTreeMap<Vec<usize>, f64> {
    let cards = net.cards();
    let mut joint = BTreeMap::new();
    for state in 0..cards.iter().product::<usize>() {
        let mut rest = state;
        let digit = |card: &usize| {
            let value = rest % card;
            rest /= card;
            value
        };
        let states: Vec<usize> = cards.iter().map(digit).collect();
        let key = vars.iter().map(|v| states[v.index()]).collect();
        *joint.entry(key).or_insert(0.0) += weight(net, evidence, &cards, &states);
    }
    joint
}

/// The entropy of some variables given the evidence, in bits.
fn entropy(net: &Network, vars: &[VarId], evidence: &Evidence) -> f64 {
    let joint = joint(net, vars, evidence);
    let total: f64 = joint.values().sum();
    let shares = joint.values().map(|p| p / total).filter(|p| *p > 0.0);
    shares.map(|p| -p * p.log2()).sum()
}

#[test]
fn information_is_what_its_definition_tells() {
    for seed in seeds(300) {
        let (net, mut rng) = case(seed);
        let n = net.variables().len();
        let target = sumout::internals::var(rng.random_range(0..n));
        let other = sumout::internals::var(rng.random_range(0..n));
        let before: &[VarId] = if other != target && seed % 2 == 0 {
            &[other]
        } else {
            &[]
        };
        let evidence = random_evidence(&net, &mut rng);
        let is_known = |e: &Evidence, v| matches!(e.get(v), Some(Finding::Hard(_)));
        let open = |e: Evidence, v: &VarId| if is_known(&e, *v) { e.without(*v) } else { e };
        let evidence = before.iter().chain([&target]).fold(evidence, open);
        let is_possible = joint(&net, &[], &evidence)[&vec![]] > 0.0;
        for level in LEVELS {
            let options = Options::default()
                .with_level(level)
                .with_effort(0.01)
                .with_seed(seed);
            let found = match net.information(target, &[], before, &evidence, &options) {
                Ok(found) => found,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Options, "{error}");
                    continue; // all is observed
                }
            };
            assert_eq!(found.is_some(), is_possible);
            let Some(found) = found else { continue };
            let h = |vars: &[VarId]| entropy(&net, vars, &evidence);
            let known = h(before);
            let with = |more: &[VarId]| h(&[before, more].concat());
            assert!(close(found.entropy(), with(&[target]) - known, 1e-9));
            assert!(found.gains().is_sorted_by(|a, b| a.1 >= b.1));
            for &(v, bits) in found.gains() {
                let expected = with(&[target]) + with(&[v]) - known - with(&[target, v]);
                assert!(
                    close(bits, expected, 1e-9),
                    "{level} {v:?} {bits} {expected}\n{net:?}"
                );
            }
        }
    }
}

#[test]
fn what_is_known_or_asked_for_cannot_be_observed() {
    let asia = Network::read("asia").unwrap();
    let [lung, xray, dysp] = ["lung", "xray", "dysp"].map(|name| asia.find(name).unwrap());
    let evidence = Evidence::new().observe(&asia, "xray", "yes").unwrap();
    let ask = |target, among: &[VarId], before: &[VarId]| {
        asia.information(target, among, before, &evidence, &Options::default())
    };
    for (target, among, before) in [
        (xray, vec![], vec![]),
        (lung, vec![lung], vec![]),
        (lung, vec![xray], vec![]),
        (lung, vec![dysp], vec![dysp]),
    ] {
        assert_eq!(
            ask(target, &among, &before).unwrap_err().kind(),
            ErrorKind::Options
        );
    }
    let one = ask(lung, &[dysp], &[]).unwrap().unwrap();
    assert_eq!(one.gains().len(), 1);
}
