//! The best explanations in order, one-off and in batches, against brute force; with ties.

use crate::common::{
    LEVELS, batch, close, each_state, random_evidence, random_markov, seeds, weight,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::model::random::{Shape, network};
use sumout::{
    Batch, Circuit, ErrorKind, EvalOptions, Evidence, Explanation, Network, Options, Query,
};

/// The products of all states that are possible, the largest first.
fn all(net: &Network, evidence: &Evidence) -> Vec<f64> {
    let mut found = vec![];
    each_state(net, evidence, |_, p| found.push(p));
    found.retain(|p| *p > 0.0);
    found.sort_by(|a, b| b.total_cmp(a));
    found
}

/// A random network: Bayesian, with functions or without, or Markov; numbers of few digits tie.
fn random(seed: u64, rng: &mut ChaCha8Rng) -> Network {
    let nodes = 3 + (seed % 7) as usize;
    match seed % 4 {
        3 => random_markov(nodes.min(7), rng),
        share => {
            let shape = Shape {
                nodes,
                max_values: if nodes < 8 { 3 } else { 2 },
                max_parents: 3,
                functional: 0.4 * share as f64,
            };
            rounded(&network(&shape, seed).unwrap(), seed.is_multiple_of(3))
        }
    }
}

/// The same network with rows that are uniform, if ties are wanted.
fn rounded(net: &Network, ties: bool) -> Network {
    if !ties {
        return net.clone();
    }
    let (mut tables, cards) = (vec![], net.cards());
    for cpt in net.cpts().iter().filter(|cpt| !cpt.is_functional()) {
        let (v, size) = (cpt.child().unwrap(), cpt.table(&cards).len());
        tables.push((v, vec![1.0 / net.card(v) as f64; size]));
    }
    net.with_tables(tables.iter().map(|(v, table)| (*v, &table[..])))
}

fn check_ranked(net: &Network, evidence: &Evidence, found: &[Explanation], count: usize) {
    let truth = all(net, evidence);
    let total: f64 = truth.iter().sum();
    assert_eq!(found.len(), truth.len().min(count), "{net:?} {evidence:?}");
    let mut seen: Vec<&[usize]> = found.iter().map(|e| e.assignment().unwrap()).collect();
    for (k, (explanation, p)) in found.iter().zip(&truth).enumerate() {
        let context = format!("{k}: {explanation:?} {p}\n{evidence:?} {net:?}");
        let own = weight(net, evidence, &net.cards(), seen[k]);
        assert!(close(own.ln(), p.ln(), 1e-9), "{own} {context}");
        assert!(
            close(explanation.log_probability(), own.ln(), 1e-9),
            "{context}"
        );
        assert!(
            close(explanation.posterior().unwrap(), p / total, 1e-9),
            "{context}"
        );
        let better = truth.iter().filter(|q| **q > p * (1.0 + 1e-9)).count();
        assert_eq!(explanation.rank(), Some(better + 1), "{context}");
        let as_good = truth.iter().filter(|q| **q > p * (1.0 - 1e-9)).count();
        assert_eq!(
            explanation.is_tied_beyond(),
            as_good > found.len(),
            "{context}"
        );
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), found.len(), "each assignment once");
}

#[test]
fn the_best_explanations_are_those_of_brute_force() {
    for seed in seeds(1000) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let net = random(seed, &mut rng);
        let evidence = random_evidence(&net, &mut rng);
        let count = [1, 2, 5, 10, 1000][rng.random_range(0..5)];
        for level in LEVELS {
            let options = Options::default().with_level(level).with_effort(0.01);
            let found = net.explanations(count, &evidence, &options).unwrap();
            check_ranked(&net, &evidence, &found, count);
        }
    }
}

fn check_batch(net: &Network, circuit: &Circuit, rows: &[Evidence], count: usize) {
    let explainer = circuit.explainer(&EvalOptions::default()).unwrap();
    let batch = batch(net, circuit, rows);
    let found = explainer.run_best(&batch, count).unwrap();
    assert_eq!(found.len(), count);
    for (row, evidence) in rows.iter().enumerate() {
        let truth = all(net, evidence);
        let mut seen = vec![];
        for (k, best) in found.iter().enumerate() {
            let context = format!("{k} of row {row}: {evidence:?} {net:?}");
            let Some(p) = truth.get(k) else {
                assert!(best.is_impossible(row), "{context}");
                assert!(best.row(row).iter().all(|value| *value == -1), "{context}");
                continue;
            };
            let states: Vec<usize> = best.row(row).iter().map(|&v| v as usize).collect();
            let own = weight(net, evidence, &net.cards(), &states);
            assert!(close(own.ln(), p.ln(), 1e-9), "{own} {p} {context}");
            assert!(
                close(best.log_probability[row], own.ln(), 1e-9),
                "{context}"
            );
            assert!(!seen.contains(&states), "twice: {context}");
            seen.push(states);
        }
    }
    assert_eq!(
        found[0].log_probability,
        explainer.run(&batch).unwrap().log_probability
    );
}

#[test]
fn the_best_explanations_of_rows_are_those_of_brute_force() {
    for seed in seeds(300) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let net = random(seed, &mut rng);
        let rows: Vec<Evidence> = (0..9).map(|_| random_evidence(&net, &mut rng)).collect();
        for level in LEVELS {
            let options = Options::default().with_level(level).with_effort(0.01);
            // A Markov network may have no states.
            if let Ok(circuit) = net.compile(&Query::explain(), &options) {
                check_batch(&net, &circuit, &rows, 1 + (seed % 5) as usize);
            }
        }
    }
}

#[test]
fn assignments_are_divided_by_all_variables() {
    let asia = Network::read("asia").unwrap();
    let options = Options::default();
    let some = asia
        .compile(&Query::explain().given(["xray"]), &options)
        .unwrap();
    let explainer = some.explainer(&EvalOptions::default()).unwrap();
    let error = explainer.run_best(&Batch::new(1), 2).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("`asia` is not one"), "{error}");
}
