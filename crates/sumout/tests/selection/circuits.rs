//! Circuits of testing networks against their semantics: every level, and examples side by side.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::model::Sight;
use sumout::{
    Batch, Circuit, Column, EvalOptions, Evidence, Finding, Level, Network, Precision, Query, VarId,
};

use super::literal::Literal;
use super::random::{Kind, random};
use super::{name, options};
use crate::common::{LEVELS, batch, close, in_parallel, random_evidence, seeds};

/// Every level, with hard, soft and no evidence side by side in a batch.
#[test]
fn circuits_select_for_each_example() {
    for kind in Kind::ALL {
        for (s, sight) in Sight::ALL.into_iter().enumerate() {
            in_parallel(seeds(44), |seed| {
                let mut rng = ChaCha8Rng::seed_from_u64(1000 + seed * 3 + s as u64);
                let net = random(&mut rng, kind, sight);
                let target = sumout::internals::var(rng.random_range(0..net.variables().len()));
                let cases: Vec<Evidence> = (0..7)
                    .map(|_| random_evidence(&net, &mut rng).without(target))
                    .collect();
                let inputs: Vec<String> = net
                    .ids()
                    .filter(|v| *v != target)
                    .map(|v| name(&net, v))
                    .collect();
                for level in LEVELS {
                    let query = Query::of(name(&net, target)).given(inputs.clone());
                    let one = net.compile(&query, &options(level, seed)).unwrap();
                    check_batch(&net, &one, &cases);
                    let all = net.compile(&Query::all(), &options(level, seed)).unwrap();
                    check_batch(&net, &all, &cases);
                }
            });
        }
    }
}

fn check_batch(net: &Network, circuit: &Circuit, cases: &[Evidence]) {
    let truths: Vec<Literal> = cases
        .iter()
        .map(|evidence| Literal::new(net, evidence))
        .collect();
    let batch = batch(net, circuit, cases);
    for (precision, tolerance) in [(Precision::F64, 1e-9), (Precision::F32, 2e-4)] {
        let ready = circuit
            .evaluator(
                &EvalOptions::default()
                    .with_precision(precision)
                    .with_threads(1),
            )
            .unwrap();
        let answers = ready.run(&batch).unwrap();
        for (row, truth) in truths
            .iter()
            .enumerate()
            .filter(|(_, truth)| truth.margin > 1e-7)
        {
            assert_eq!(
                answers.is_impossible(row),
                truth.evidence == 0.0,
                "{net:?} {:?}",
                cases[row]
            );
            let expected = answers
                .targets
                .iter()
                .flat_map(|(v, _)| &truth.joints[v.index()]);
            for (x, joint) in answers
                .row(row)
                .iter()
                .zip(expected)
                .filter(|_| truth.evidence > 0.0)
            {
                assert!(
                    close(*x, joint / truth.evidence, tolerance),
                    "{x} {}: {net:?} {:?} {:?}",
                    joint / truth.evidence,
                    cases[row],
                    answers.targets
                );
            }
            let log = truth.evidence.ln();
            assert!(truth.evidence == 0.0 || close(answers.log_evidence[row], log, tolerance));
        }
    }
}

#[test]
fn circuits_answer_the_same_when_they_are_read_again() {
    for kind in Kind::ALL {
        let mut rng = ChaCha8Rng::seed_from_u64(77);
        let net = random(&mut rng, kind, Sight::Generalised);
        let circuit = net
            .compile(&Query::all(), &options(Level::Auto, 0))
            .unwrap();
        let cases: Vec<Evidence> = (0..9).map(|_| random_evidence(&net, &mut rng)).collect();
        let bytes = circuit.to_bytes().unwrap();
        let again = Circuit::from_bytes(&bytes).unwrap();
        assert_eq!(
            again.selected().collect::<Vec<_>>(),
            circuit.selected().collect::<Vec<_>>()
        );
        assert!(circuit.selected().count() > 0);
        let batch = batch(&net, &circuit, &cases);
        assert_eq!(
            circuit.evaluate(&batch).unwrap(),
            again.evaluate(&batch).unwrap()
        );
        let mut damaged = bytes.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        assert!(Circuit::from_bytes(&damaged).is_err());
    }
}

/// Derivatives through selections, with respect to evidence, are central differences.
#[test]
fn derivatives_with_respect_to_evidence_go_through_tests() {
    for (k, kind) in Kind::ALL.into_iter().enumerate() {
        for seed in 0..12 {
            let mut rng = ChaCha8Rng::seed_from_u64(900 + 31 * k as u64 + seed);
            let net = random(&mut rng, kind, Sight::Generalised);
            let target = sumout::internals::var(rng.random_range(0..net.variables().len()));
            let inputs: Vec<String> = net
                .ids()
                .filter(|v| *v != target)
                .map(|v| name(&net, v))
                .collect();
            let level = LEVELS[seed as usize % LEVELS.len()];
            let query = Query::of(name(&net, target)).given(inputs);
            check_evidence(
                &net.compile(&query, &options(level, seed)).unwrap(),
                kind,
                &mut rng,
            );
        }
    }
}

fn check_evidence(circuit: &Circuit, kind: Kind, rng: &mut ChaCha8Rng) {
    const ROWS: usize = 3;
    const STEP: f64 = 1e-6;
    let inputs: Vec<VarId> = circuit.inputs().collect();
    let card = |v: VarId| circuit.variable(v).values.len();
    let mut columns: Vec<Vec<f64>> = inputs
        .iter()
        .map(|&v| {
            (0..ROWS * card(v))
                .map(|_| 0.2 + rng.random::<f64>())
                .collect()
        })
        .collect();
    // Of some variables, values that are excluded: there derivatives are one-sided.
    for (column, &v) in columns.iter_mut().zip(&inputs) {
        for row in 0..ROWS {
            if rng.random_bool(0.15) {
                column[row * card(v) + rng.random_range(0..card(v))] = 0.0;
            }
        }
    }
    let running = EvalOptions::default()
        .with_precision(Precision::F64)
        .with_threads(1);
    let ready = circuit.differentiator(&[], &inputs, &running).unwrap();
    let run = |columns: &[Vec<f64>]| {
        let mut batch = Batch::new(ROWS);
        for (&input, column) in inputs.iter().zip(columns) {
            batch
                .insert(circuit, input, Column::Likelihoods(column.clone()))
                .unwrap();
        }
        let loss = |_: usize, p: &[f64], to: &mut [f64]| {
            let mean: f64 = p.iter().zip(1..).map(|(p, k)| p * f64::from(k)).sum();
            to.iter_mut()
                .zip(p)
                .zip(1..)
                .for_each(|((to, p), k)| *to = p * (f64::from(k) - mean));
        };
        ready.run(&batch, &loss).unwrap()
    };
    // The loss is the expected value of the target, counted from one.
    let total = |columns: &[Vec<f64>]| -> f64 {
        let found = run(columns);
        let width = found.posteriors.len() / ROWS;
        found
            .posteriors
            .iter()
            .enumerate()
            .map(|(at, p)| p * (at % width + 1) as f64)
            .sum()
    };
    let found = run(&columns);
    for (input, derivatives) in &found.evidence {
        let at = inputs.iter().position(|v| v == input).unwrap();
        if derivatives.len() < ROWS * card(*input) || found.posteriors.len() == ROWS {
            continue;
        }
        let i = rng.random_range(0..derivatives.len());
        let moved = |h: f64| {
            let mut columns = columns.clone();
            columns[at][i] += h;
            total(&columns)
        };
        let expected = match columns[at][i] {
            0.0 => (4.0 * moved(STEP) - 3.0 * moved(0.0) - moved(2.0 * STEP)) / (2.0 * STEP),
            _ => (moved(STEP) - moved(-STEP)) / (2.0 * STEP),
        };
        let is_close = (derivatives[i] - expected).abs() < 1e-5 * (1.0 + expected.abs());
        assert!(
            is_close,
            "{kind:?} {input:?}[{i}]: {} {expected}",
            derivatives[i]
        );
    }
}

/// Inputs that have a value in every example, on every level.
#[test]
fn circuits_with_promised_values_select_for_each_example() {
    for (k, kind) in Kind::ALL.into_iter().enumerate() {
        for seed in 0..6 {
            let mut rng = ChaCha8Rng::seed_from_u64(3000 + 17 * k as u64 + seed);
            let net = random(&mut rng, kind, Sight::ALL[seed as usize % 3]);
            let target = sumout::internals::var(rng.random_range(0..net.variables().len()));
            let hard: Vec<VarId> = net
                .ids()
                .filter(|v| *v != target && rng.random_bool(0.5))
                .collect();
            let case = |rng: &mut ChaCha8Rng| {
                let mut evidence = Evidence::new();
                hard.iter().for_each(|&v| {
                    evidence
                        .insert(&net, v, Finding::Hard(rng.random_range(0..net.card(v))))
                        .unwrap()
                });
                evidence
            };
            let cases: Vec<Evidence> = (0..5).map(|_| case(&mut rng)).collect();
            for level in LEVELS {
                let query = Query::of(name(&net, target)).hard(hard.iter().map(|&v| name(&net, v)));
                check_batch(
                    &net,
                    &net.compile(&query, &options(level, seed)).unwrap(),
                    &cases,
                );
            }
        }
    }
}
