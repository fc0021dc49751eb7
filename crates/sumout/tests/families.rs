//! Marginals of families against brute force.

use crate::common::{close, random_evidence, seeds, weight};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use sumout::compile::Level;
use sumout::model::random::{Shape, network};
use sumout::{
    Batch, Circuit, Column, EvalOptions, Evidence, Finding, Network, Options, Precision, Query,
};

const LEVELS: [Level; 7] = [
    Level::Classical,
    Level::Paper,
    Level::Functional,
    Level::Tables,
    Level::Support,
    Level::Compiled,
    Level::Auto,
];

fn batch(net: &Network, circuit: &Circuit, rows: &[Evidence]) -> Batch {
    let mut batch = Batch::new(rows.len());
    for input in circuit.inputs() {
        let card = net.card(input);
        let likelihood = |row: &Evidence| match row.get(input) {
            None => vec![1.0; card],
            Some(Finding::Hard(value)) => (0..card).map(|v| f64::from(v == *value)).collect(),
            Some(Finding::Soft(likelihood)) => likelihood.clone(),
        };
        batch
            .insert(
                circuit,
                input,
                Column::Likelihoods(rows.iter().flat_map(likelihood).collect()),
            )
            .unwrap();
    }
    batch
}

/// P(e), and for each CPT the joint probability of each of its entries with the evidence.
fn enumerate(net: &Network, evidence: &Evidence) -> (f64, Vec<Vec<f64>>) {
    let cards = net.cards();
    let mut families: Vec<Vec<f64>> = net
        .cpts()
        .iter()
        .map(|cpt| vec![0.0; cpt.size(&cards)])
        .collect();
    let mut total = 0.0;
    for index in 0..cards.iter().product::<usize>() {
        let mut rest = index;
        let states: Vec<usize> = cards
            .iter()
            .map(|card| {
                let state = rest % card;
                rest /= card;
                state
            })
            .collect();
        let w = weight(net, evidence, &cards, &states);
        total += w;
        for (cpt, family) in net.cpts().iter().zip(&mut families) {
            family[cpt
                .scope()
                .iter()
                .fold(0, |at, v| at * cards[v.index()] + states[v.index()])] += w;
        }
    }
    (total, families)
}

fn check(net: &Network, circuit: &Circuit, rows: &[Evidence], precision: Precision) {
    let tolerance = if precision == Precision::F32 {
        1e-5
    } else {
        1e-10
    };
    let options = EvalOptions::default().with_precision(precision);
    let evaluator = circuit.family_evaluator(&options).unwrap();
    let found = evaluator.run(&batch(net, circuit, rows)).unwrap();
    assert_eq!(found.marginals.len(), net.variables().len());
    for (row, evidence) in rows.iter().enumerate() {
        let (total, families) = enumerate(net, evidence);
        assert_eq!(found.log_evidence[row] == f64::NEG_INFINITY, total == 0.0);
        if total > 0.0 {
            let (log, expected) = (found.log_evidence[row], total.ln());
            assert!(
                close(log, expected, tolerance),
                "{log} {expected} {precision:?} row {row} {evidence:?}\n{net:?}\n{:?}",
                circuit.graph()
            );
        }
        for (cpt, family) in net.cpts().iter().zip(&families) {
            let (_, numbers) = found
                .marginals
                .iter()
                .find(|(child, _)| Some(*child) == cpt.child())
                .unwrap();
            for (p, joint) in numbers[row * family.len()..][..family.len()]
                .iter()
                .zip(family)
            {
                let expected = if total > 0.0 { joint / total } else { 0.0 };
                assert!(
                    close(*p, expected, tolerance),
                    "{:?} {p} {expected} {precision:?}\n{net:?}",
                    cpt.child()
                );
            }
        }
    }
}

#[test]
fn every_family_of_every_row_agrees_with_brute_force() {
    for seed in seeds(90) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let nodes = 2 + (seed % 6) as usize;
        let shape = Shape {
            nodes,
            max_values: 3,
            max_parents: 3,
            functional: 0.4 * (seed % 3) as f64,
        };
        let net = network(&shape, seed).unwrap();
        for level in LEVELS {
            let options = Options::default()
                .with_level(level)
                .with_seed(seed)
                .with_effort(0.01);
            let circuit = net.compile(&Query::all().families(), &options).unwrap();
            for (rows, precision) in [
                (21, Precision::F32),
                (21, Precision::F64),
                (1, Precision::F64),
            ] {
                let evidence: Vec<Evidence> =
                    (0..rows).map(|_| random_evidence(&net, &mut rng)).collect();
                check(&net, &circuit, &evidence, precision);
            }
        }
    }
}

/// The circuit of a network of one variable without inputs is its table, and nothing else.
#[test]
fn a_network_of_one_variable_has_a_family() {
    for row in [vec![1.0], vec![0.25, 0.75], vec![0.0, 1.0]] {
        let mut b = Network::builder("alone");
        let values = (0..row.len()).map(|value| format!("s{value}"));
        let x = b.variable("x", values.collect::<Vec<_>>());
        b.table(x, [], row.clone());
        let net = b.build().unwrap();
        for level in LEVELS {
            let options = Options::default().with_level(level);
            let circuit = net.compile(&Query::all().families(), &options).unwrap();
            for rows in [1, 5] {
                let found = circuit.families(&Batch::new(rows)).unwrap();
                assert_eq!(found.marginals[0].1, row.repeat(rows), "{level}");
            }
        }
    }
}

#[test]
fn a_circuit_for_something_else_has_no_families() {
    let asia = Network::read("asia").unwrap();
    let circuit = asia.compile(&Query::all(), &Options::default()).unwrap();
    let refused = circuit.families(&Batch::new(1)).unwrap_err();
    assert!(refused.message().contains("families"), "{refused}");
}
