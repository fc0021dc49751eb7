//! Several targets side by side, and together, against brute force.

use crate::common::{
    LEVELS, batch, close, enumerate, random_evidence, random_markov, seeds, weight,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::model::random::{Shape, network};
use sumout::{
    Batch, Circuit, ErrorKind, EvalOptions, Evidence, Network, Options, Precision, Query, VarId,
};

const SEEDS: u64 = 300;

/// A network of 3 to 9 nodes, and two to four different variables in any order.
fn case(seed: u64) -> (Network, Vec<VarId>, ChaCha8Rng) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let nodes = 3 + (seed * 7 / SEEDS) as usize;
    let net = if seed % 4 == 3 {
        random_markov(nodes, &mut rng)
    } else {
        let shape = Shape {
            nodes,
            max_values: 3,
            max_parents: 3,
            functional: 0.4 * (seed % 4) as f64,
        };
        network(&shape, seed).unwrap()
    };
    let mut vars: Vec<VarId> = net.ids().collect();
    let count = rng.random_range(2..=4).min(vars.len());
    for i in 0..count {
        let other = rng.random_range(i..vars.len());
        vars.swap(i, other);
    }
    vars.truncate(count);
    (net, vars, rng)
}

/// P(targets, e), the last target fastest.
fn joint(net: &Network, targets: &[VarId], evidence: &Evidence) -> Vec<f64> {
    let cards = net.cards();
    let size: usize = targets.iter().map(|v| cards[v.index()]).product();
    let mut joint = vec![0.0; size];
    for state in 0..cards.iter().product() {
        let mut rest: usize = state;
        let states: Vec<usize> = cards
            .iter()
            .map(|card| {
                let value = rest % card;
                rest /= card;
                value
            })
            .collect();
        let at = targets
            .iter()
            .fold(0, |at, v| at * cards[v.index()] + states[v.index()]);
        joint[at] += weight(net, evidence, &cards, &states);
    }
    joint
}

fn options(seed: u64, level: sumout::Level) -> Options {
    let effort = [0.0, 0.01, 0.1][seed as usize % 3];
    Options::default()
        .with_level(level)
        .with_seed(seed)
        .with_effort(effort)
}

#[test]
fn joint_posteriors_agree_with_brute_force() {
    for seed in seeds(SEEDS) {
        let (net, targets, mut rng) = case(seed);
        let evidence = random_evidence(&net, &mut rng);
        let expected = joint(&net, &targets, &evidence);
        let total: f64 = expected.iter().sum();
        for level in LEVELS {
            let answer = net
                .query_joint(&targets, &evidence, &options(seed, level))
                .unwrap();
            assert_eq!(answer.is_impossible(), total == 0.0);
            if total == 0.0 {
                continue;
            }
            assert!(close(answer.log_evidence(), total.ln(), 1e-9));
            let [(_, found)] = answer.posteriors() else {
                panic!("one answer")
            };
            assert_eq!(found.len(), expected.len());
            for (p, joint) in found.iter().zip(&expected) {
                assert!(
                    close(*p, joint / total, 1e-9),
                    "{level} {targets:?} {evidence:?} {found:?}\n{net:?}"
                );
            }
        }
    }
}

/// Names in the order of the targets, with those of the inputs: the others.
fn names<'n>(net: &'n Network, vars: &[VarId]) -> Vec<&'n str> {
    let name = |v: &VarId| net.variable(*v).name.as_str();
    vars.iter().map(name).collect()
}

/// Evidence for rows of a circuit, on its inputs alone.
fn rows(net: &Network, circuit: &Circuit, rng: &mut ChaCha8Rng) -> Vec<Evidence> {
    let known: Vec<VarId> = circuit.inputs().collect();
    let on_inputs = |_| {
        let all = random_evidence(net, rng);
        let others = net.ids().filter(|v| !known.contains(v));
        others.fold(all, |evidence, v| evidence.without(v))
    };
    (0..5).map(on_inputs).collect()
}

/// Circuits, evaluated in blocks of both precisions and alone; also after they were saved.
fn evaluate(circuit: &Circuit, batch: &Batch) -> Vec<(sumout::Answers, f64)> {
    let run = |(precision, tolerance)| {
        let running = EvalOptions::default().with_precision(precision);
        let evaluator = circuit.evaluator(&running).unwrap();
        (evaluator.run(batch).unwrap(), tolerance)
    };
    [(Precision::F64, 1e-9), (Precision::F32, 1e-4)]
        .map(run)
        .into()
}

#[test]
fn compiled_joint_posteriors_agree_with_brute_force() {
    for seed in seeds(SEEDS) {
        let (net, targets, mut rng) = case(seed);
        let others: Vec<VarId> = net.ids().filter(|v| !targets.contains(v)).collect();
        for level in LEVELS {
            let query = Query::joint(names(&net, &targets)).given(names(&net, &others));
            let Ok(circuit) = net.compile(&query, &options(seed, level)) else {
                continue; // no state is possible
            };
            assert_eq!(circuit.together(), targets);
            let loaded = Circuit::from_bytes(&circuit.to_bytes().unwrap()).unwrap();
            assert_eq!(loaded.together(), targets);
            let rows = rows(&net, &circuit, &mut rng);
            let batch = batch(&net, &circuit, &rows);
            assert_eq!(
                circuit.evaluate(&batch).unwrap(),
                loaded.evaluate(&batch).unwrap()
            );
            for (answers, tolerance) in evaluate(&circuit, &batch) {
                for (row, evidence) in rows.iter().enumerate() {
                    let expected = joint(&net, &targets, evidence);
                    let total: f64 = expected.iter().sum();
                    for (p, joint) in answers.row(row).iter().zip(&expected) {
                        let expected = if total > 0.0 { joint / total } else { 0.0 };
                        assert!(
                            close(*p, expected, tolerance),
                            "{level} {evidence:?}\n{net:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn several_targets_of_a_circuit_agree_with_brute_force() {
    for seed in seeds(SEEDS) {
        let (net, mut targets, mut rng) = case(seed);
        targets.sort_unstable();
        let others: Vec<VarId> = net.ids().filter(|v| !targets.contains(v)).collect();
        for level in LEVELS {
            let query = Query::of_several(names(&net, &targets)).given(names(&net, &others));
            let Ok(circuit) = net.compile(&query, &options(seed, level)) else {
                continue;
            };
            assert_eq!(circuit.targets(), targets);
            let loaded = Circuit::from_bytes(&circuit.to_bytes().unwrap()).unwrap();
            assert_eq!(loaded.targets(), targets);
            let rows = rows(&net, &circuit, &mut rng);
            let batch = batch(&net, &circuit, &rows);
            for (answers, tolerance) in evaluate(&loaded, &batch) {
                for (row, evidence) in rows.iter().enumerate() {
                    let truth = enumerate(&net, evidence);
                    let expected = targets.iter().flat_map(|v| &truth.joints[v.index()]);
                    for (p, joint) in answers.row(row).iter().zip(expected) {
                        let total = truth.evidence;
                        let expected = if total > 0.0 { joint / total } else { 0.0 };
                        assert!(
                            close(*p, expected, tolerance),
                            "{level} {evidence:?}\n{net:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn joint_posteriors_that_are_none_or_too_large_are_refused() {
    let net = crate::common::readings(0.1, 20);
    let all: Vec<VarId> = net.ids().collect();
    let ask = |vars: &[VarId]| {
        let refused = net.query_joint(vars, &Evidence::new(), &Options::default());
        refused.unwrap_err()
    };
    let large = ask(&all);
    assert_eq!(large.kind(), ErrorKind::Memory);
    assert!(large.message().contains("2^40.0 entries"), "{large}");
    let one = ask(&all[..1]);
    assert_eq!(one.kind(), ErrorKind::Options);
    assert_eq!(ask(&[all[0], all[1], all[0]]).kind(), ErrorKind::Options);
    let compiled = net.compile(&Query::joint(["*"]), &Options::default());
    assert_eq!(compiled.unwrap_err().kind(), ErrorKind::Memory);
    let given = Query::joint(["h0", "h1"]).given(["h1", "x0"]);
    let both = net.compile(&given, &Options::default()).unwrap_err();
    assert!(
        both.message().contains("`h1` is asked for and given"),
        "{both}"
    );
}

#[test]
fn a_joint_posterior_is_read_by_names() {
    let asia = Network::read("asia").unwrap();
    let query = Query::joint(["lung", "asia"]).given(["tub"]);
    let circuit = asia.compile(&query, &Options::default()).unwrap();
    let evidence = Evidence::new().observe(&asia, "tub", "yes").unwrap();
    let answer = circuit.answer(&evidence).unwrap();
    let [lung, travelled] = [0.055, 0.01 * 0.05 / (0.01 * 0.05 + 0.99 * 0.01)];
    for (joint, expected) in [
        ("yes,yes", lung * travelled),
        ("yes,no", lung * (1.0 - travelled)),
        ("no,yes", (1.0 - lung) * travelled),
    ] {
        assert!(close(
            answer.probability("lung,asia", joint).unwrap(),
            expected,
            1e-12
        ));
    }
}
