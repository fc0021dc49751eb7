//! Marginal MAP against brute force, with ties, several best ones, and a search that is stopped.

use std::collections::BTreeMap;

use crate::common::{LEVELS, close, each_state, random_evidence, random_markov, seeds};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::model::random::{Shape, network};
use sumout::{Control, ErrorKind, Evidence, Finding, MarginalMap, Network, Options, VarId};

/// P(values, evidence) of all values of some variables that are possible.
fn all(net: &Network, asked: &[VarId], evidence: &Evidence) -> BTreeMap<Vec<usize>, f64> {
    let mut sums = BTreeMap::new();
    each_state(net, evidence, |states, p| {
        let values = asked.iter().map(|v| states[v.index()]).collect();
        *sums.entry(values).or_insert(0.0) += p;
    });
    sums.retain(|_, p| *p > 0.0);
    sums
}

fn random(seed: u64, rng: &mut ChaCha8Rng) -> Network {
    let nodes = 3 + (seed % 7) as usize;
    if seed % 4 == 3 {
        return random_markov(nodes.min(7), rng);
    }
    let shape = Shape {
        nodes,
        max_values: if nodes < 8 { 3 } else { 2 },
        max_parents: 3,
        functional: 0.4 * (seed % 4) as f64,
    };
    network(&shape, seed).unwrap()
}

fn check(found: &MarginalMap, truth: &BTreeMap<Vec<usize>, f64>, count: usize, context: &str) {
    let mut sorted: Vec<f64> = truth.values().copied().collect();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let total: f64 = sorted.iter().sum();
    assert!(found.is_proved(), "{context}");
    assert_eq!(found.is_impossible(), truth.is_empty(), "{context}");
    assert_eq!(
        found.assignments().len(),
        truth.len().min(count),
        "{context}"
    );
    for (place, ((values, log), p)) in found.assignments().iter().zip(&sorted).enumerate() {
        assert!(close(*log, p.ln(), 1e-9), "{log} {} {context}", p.ln());
        assert!(
            close(truth[values].ln(), *log, 1e-9),
            "{values:?} {context}"
        );
        let posterior = found.posterior(place).unwrap();
        assert!(close(posterior, p / total, 1e-9), "{posterior} {context}");
    }
    let mut values: Vec<_> = found
        .assignments()
        .iter()
        .map(|(values, _)| values)
        .collect();
    values.sort();
    values.dedup();
    assert_eq!(
        values.len(),
        found.assignments().len(),
        "each once: {context}"
    );
}

#[test]
fn the_best_values_of_some_variables_are_those_of_brute_force() {
    for seed in seeds(1000) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let net = random(seed, &mut rng);
        let evidence = random_evidence(&net, &mut rng);
        let is_hard = |v: &VarId| matches!(evidence.get(*v), Some(Finding::Hard(_)));
        let mut asked: Vec<VarId> = net.ids().filter(|v| !is_hard(v)).collect();
        asked.retain(|_| rng.random::<f64>() < 0.6);
        if asked.is_empty() {
            continue;
        }
        let truth = all(&net, &asked, &evidence);
        let count = [1, 1, 2, 5, 50][rng.random_range(0..5)];
        for level in LEVELS {
            let options = Options::default().with_level(level).with_effort(0.01);
            let found = net.map(&asked, count, &evidence, &options).unwrap();
            let context = format!("{level} {asked:?} {evidence:?} {net:?} {found:?}");
            check(&found, &truth, count, &context);
        }
    }
}

/// A chain of noisy copies: bounds are not tight, and the best of each variable is not the best of
/// all.
fn chain(length: usize) -> Network {
    let mut b = Network::builder("chain");
    let mut last = None;
    for i in 0..length {
        let x = b.variable(format!("x{i}"), ["a", "b", "c"]);
        let y = b.variable(format!("y{i}"), ["a", "b", "c"]);
        let shift = 0.01 * i as f64;
        match last {
            None => b.table(x, [], [0.4, 0.35, 0.25]),
            Some(last) => b.table(
                x,
                [last],
                [0.5 - shift, 0.3 + shift, 0.2, 0.2, 0.4, 0.4, 0.3, 0.3, 0.4],
            ),
        };
        b.table(y, [x], [0.6, 0.3, 0.1, 0.1, 0.5, 0.4, 0.2, 0.2, 0.6]);
        last = Some(x);
    }
    b.build().unwrap()
}

#[test]
fn a_search_that_is_stopped_gives_a_value_and_a_bound() {
    let net = chain(5);
    let asked = net.matching("y*").unwrap();
    let truth = all(&net, &asked, &Evidence::new());
    let best = truth.values().copied().fold(0.0, f64::max).ln();
    let (mut unproved, mut proved) = (0, 0);
    for patience in (5..3000).step_by(120) {
        let control = Control::with_patience(patience);
        let options = Options::default()
            .with_effort(0.0)
            .with_control(control.clone());
        match net.map(&asked, 1, &Evidence::new(), &options) {
            Err(error) => assert_eq!(error.kind(), ErrorKind::Interrupted),
            Ok(found) => {
                assert!(found.bound() >= best - 1e-9, "{found:?} {best}");
                for (values, log) in found.assignments() {
                    assert!(close(truth[values].ln(), *log, 1e-9) && *log <= best + 1e-9);
                }
                unproved += usize::from(!found.is_proved());
                proved += usize::from(found.is_proved());
            }
        }
    }
    assert!(unproved > 0 && proved > 0, "{unproved} {proved}");
}

#[test]
fn ambiguous_questions_are_refused() {
    let asia = Network::read("asia").unwrap();
    let lung = asia.find("lung").unwrap();
    let given = Evidence::new().observe(&asia, "lung", "yes").unwrap();
    let options = Options::default();
    for (asked, evidence) in [
        (vec![], Evidence::new()),
        (vec![lung, lung], Evidence::new()),
        (vec![lung], given),
    ] {
        assert!(
            asia.map(&asked, 1, &evidence, &options).is_err(),
            "{asked:?}"
        );
    }
}

/// 1e-6 to the power of hundreds: plain numbers do not reach.
#[test]
fn values_that_are_far_apart_are_compared_by_logarithms() {
    let mut b = Network::builder("far");
    let [c, e, or] = ["c", "e", "or"].map(|name| b.variable(name, ["a", "b"]));
    b.table(c, [], [0.5, 0.5]);
    b.table(e, [], [0.5, 0.5]);
    b.function(or, [c, e], |u| u[0] | u[1]);
    let mut evidence = vec!["or".to_owned()];
    for (name, cause) in (0..100).flat_map(|i| [(format!("c{i}"), c), (format!("e{i}"), e)]) {
        let feature = b.variable(&name, ["y", "n"]);
        b.table(feature, [cause], [1.0 - 1e-6, 1e-6, 1e-6, 1.0 - 1e-6]);
        evidence.push(name);
    }
    let net = b.build().unwrap();
    let mut given = Evidence::new();
    for name in &evidence {
        let value = if name == "or" { "b" } else { "y" };
        given = given.observe(&net, name, value).unwrap();
    }
    let asked = [net.find("c").unwrap(), net.find("e").unwrap()];
    let found = net.map(&asked, 3, &given, &Options::default()).unwrap();
    let expected = 100.0 * (1e-6f64.ln() + (1.0 - 1e-6f64).ln()) + 0.25f64.ln();
    let logs: Vec<f64> = found.assignments().iter().map(|(_, log)| *log).collect();
    assert!(
        close(logs[0], expected, 1e-9) && close(logs[1], expected, 1e-9),
        "{logs:?}"
    );
    assert_eq!(logs.len(), 3);
}
