//! Independence by the graph against the numbers.

use crate::common::{close, enumerate, random_evidence, random_markov, seeds};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::model::random::{Shape, network};
use sumout::{Evidence, Finding, Network, VarId};

/// Networks without functions: their numbers have no independence of their own.
fn case(seed: u64) -> (Network, ChaCha8Rng) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    if seed % 4 == 3 {
        return (random_markov(5, &mut rng), rng);
    }
    let shape = Shape {
        nodes: 4 + (seed % 4) as usize,
        max_values: 2,
        max_parents: 2,
        functional: 0.0,
    };
    (network(&shape, seed).unwrap(), rng)
}

/// The largest change of the posterior of `a` by a value of `b`.
fn dependence(net: &Network, a: VarId, b: VarId, evidence: &Evidence) -> f64 {
    let posterior = |evidence: &Evidence| {
        let truth = enumerate(net, evidence);
        let own = truth.joints[a.index()].iter();
        own.map(|p| p / truth.evidence).collect::<Vec<f64>>()
    };
    let before = posterior(evidence);
    let mut most = 0.0f64;
    for value in 0..net.card(b) {
        let mut more = evidence.clone();
        more.insert(net, b, Finding::Hard(value)).unwrap();
        let pairs = posterior(&more).into_iter().zip(before.clone());
        most = pairs
            .filter(|(p, _)| !p.is_nan())
            .map(|(p, q)| (p - q).abs())
            .fold(most, f64::max);
    }
    most
}

#[test]
fn what_the_graph_separates_is_independent() {
    let (mut separated, mut connected, mut dependent) = (0, 0, 0);
    for seed in seeds(900) {
        let (net, mut rng) = case(seed);
        let n = net.variables().len();
        let [a, b] = [0; 2].map(|_| sumout::internals::var(rng.random_range(0..n)));
        let evidence = random_evidence(&net, &mut rng).without(a).without(b);
        let hard = evidence
            .iter()
            .filter(|(_, f)| matches!(f, Finding::Hard(_)));
        let given: Vec<VarId> = hard.map(|(v, _)| v).collect();
        let soft: Vec<VarId> = evidence
            .iter()
            .map(|(v, _)| v)
            .filter(|v| !given.contains(v))
            .collect();
        let evidence = soft
            .iter()
            .fold(evidence, |evidence, v| evidence.without(*v));
        if a == b || enumerate(&net, &evidence).evidence == 0.0 {
            continue;
        }
        let dependence = dependence(&net, a, b, &evidence);
        assert_eq!(
            net.is_separated(&[a], &[b], &given),
            net.is_separated(&[b], &[a], &given)
        );
        if net.is_separated(&[a], &[b], &given) {
            separated += 1;
            assert!(
                close(dependence, 0.0, 1e-9),
                "{a:?} {b:?} {given:?}\n{net:?}"
            );
        } else {
            connected += 1;
            dependent += u32::from(dependence > 1e-9);
        }
    }
    assert!(separated > 10 && connected > 10, "{separated} {connected}");
    // A network of random numbers is rarely independent where its graph is not.
    assert!(
        dependent * 10 >= connected * 7,
        "{dependent} of {connected}"
    );
}

#[test]
fn a_markov_blanket_separates_from_all_others_and_is_not_too_large() {
    for seed in seeds(200) {
        let (net, _) = case(seed);
        for v in net.ids() {
            let blanket = net.markov_blanket(v);
            let is_other = |u: &VarId| *u != v && !blanket.contains(u);
            let others: Vec<VarId> = net.ids().filter(is_other).collect();
            assert!(net.is_separated(&[v], &others, &blanket));
            for &left_out in &blanket {
                let rest: Vec<VarId> = blanket.iter().copied().filter(|u| *u != left_out).collect();
                assert!(!net.is_separated(&[v], &[left_out], &rest));
            }
        }
    }
}

#[test]
fn common_effects_connect_their_causes() {
    let asia = Network::read("asia").unwrap();
    let separated = |a: &str, b: &str, given: &[&str]| {
        let ids = |names: &[&str]| {
            names
                .iter()
                .map(|n| asia.find(n).unwrap())
                .collect::<Vec<_>>()
        };
        asia.is_separated(&ids(&[a]), &ids(&[b]), &ids(given))
    };
    assert!(separated("tub", "lung", &[]));
    assert!(
        !separated("tub", "lung", &["dysp"]),
        "an effect of the common effect"
    );
    assert!(!separated("lung", "bronc", &[]));
    assert!(separated("lung", "bronc", &["smoke"]));
    assert!(!separated("lung", "bronc", &["smoke", "dysp"]));
    assert!(separated("asia", "xray", &["either"]));
}
