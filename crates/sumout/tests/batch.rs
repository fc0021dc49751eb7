//! Circuits on batches against brute force: every row, level and precision.

use crate::common::{
    LEVELS, batch, close, enumerate, random_evidence, random_markov, readings, seeds,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::compile::Level;
use sumout::model::random::{Shape, network};
use sumout::{
    Batch, Circuit, Column, EvalOptions, Evidence, Finding, Network, Options, Precision, Query,
    VarId,
};

fn check(net: &Network, circuit: &Circuit, rows: &[Evidence], precision: Precision) {
    let tolerance = if precision == Precision::F32 {
        1e-5
    } else {
        1e-10
    };
    let evaluator = circuit
        .evaluator(
            &EvalOptions::default()
                .with_precision(precision)
                .with_threads(1),
        )
        .unwrap();
    let answers = evaluator.run(&batch(net, circuit, rows)).unwrap();
    for (row, evidence) in rows.iter().enumerate() {
        let truth = enumerate(net, evidence);
        let context = || {
            format!(
                "row {row}, {evidence:?}, {precision:?}, {:?}\n{net:?}",
                circuit.graph()
            )
        };
        assert_eq!(
            answers.is_impossible(row),
            truth.evidence == 0.0,
            "{}",
            context()
        );
        let mut at = 0;
        for &(v, card) in &answers.targets {
            for (p, joint) in answers.row(row)[at..at + card]
                .iter()
                .zip(&truth.joints[v.index()])
            {
                let expected = if truth.evidence > 0.0 {
                    joint / truth.evidence
                } else {
                    0.0
                };
                assert!(
                    close(*p, expected, tolerance),
                    "{v:?} {p} {expected}: {}",
                    context()
                );
            }
            at += card;
        }
        if truth.evidence > 0.0 {
            assert!(
                close(answers.log_evidence[row], truth.evidence.ln(), tolerance),
                "{}",
                context()
            );
        }
    }
}

#[test]
fn every_row_agrees_with_brute_force() {
    for seed in seeds(200) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let nodes = 3 + (seed % 6) as usize;
        let net = match seed % 4 {
            3 => random_markov(nodes, &mut rng),
            share => {
                let shape = Shape {
                    nodes,
                    max_values: 3,
                    max_parents: 3,
                    functional: 0.4 * share as f64,
                };
                network(&shape, seed).unwrap()
            }
        };
        let target = sumout::internals::var(rng.random_range(0..nodes));
        let name = |v: VarId| net.variable(v).name.clone();
        let others: Vec<String> = net.ids().filter(|v| *v != target).map(name).collect();
        let all: Vec<Evidence> = (0..21).map(|_| random_evidence(&net, &mut rng)).collect();
        for level in LEVELS {
            let options = Options::default()
                .with_level(level)
                .with_seed(seed)
                .with_effort(0.01);
            let Ok(circuit) = net.compile(&Query::all(), &options) else {
                continue;
            }; // a Markov network without states
            let one = net
                .compile(&Query::of(name(target)).given(others.clone()), &options)
                .unwrap();
            for precision in [Precision::F32, Precision::F64] {
                check(&net, &circuit, &all, precision);
                let without: Vec<Evidence> = all.iter().map(|row| row.without(target)).collect();
                check(&net, &one, &without, precision);
            }
        }
    }
}

#[test]
fn a_circuit_beyond_the_memory_limit_is_not_run() {
    let asia = Network::read("asia").unwrap();
    let circuit = asia.compile(&Query::all(), &Options::default()).unwrap();
    let evaluator = |memory| circuit.evaluator(&EvalOptions::default().with_memory(Some(memory)));
    let refused = evaluator(100).unwrap_err();
    assert_eq!(refused.kind(), sumout::ErrorKind::Memory);
    assert!(
        refused.message().contains("and the limit is 100 bytes"),
        "{refused}"
    );
    assert!(evaluator(1 << 20).is_ok());
}

/// A state that early readings make all but impossible, and later ones likely again: what was lost
/// of it on the way would be the answer.
#[test]
fn numbers_that_become_small_and_count_in_the_end_are_not_lost() {
    for (noise, half) in [(0.1, 80), (0.1, 50), (1e-4, 87)] {
        let net = readings(noise, 2 * half + 1);
        for level in [Level::Classical, Level::Auto] {
            let options = Options::default().with_level(level).with_effort(0.01);
            let circuit = net
                .compile(&Query::of(format!("h{}", 2 * half)).given(["x*"]), &options)
                .unwrap();
            let mut batch = Batch::new(6);
            for t in 0..2 * half + 1 {
                // Even rows end with one more `off`, odd rows with one more `on`.
                let value = |row: i32| {
                    if row % 2 == 0 {
                        i32::from(t >= half)
                    } else {
                        i32::from(t < half)
                    }
                };
                let values = (0..6).map(value).collect();
                batch = batch
                    .with(&circuit, &format!("x{t}"), Column::Values(values))
                    .unwrap();
            }
            for precision in Precision::ALL {
                let evaluator = circuit
                    .evaluator(&EvalOptions::default().with_precision(precision))
                    .unwrap();
                let answers = evaluator.run(&batch).unwrap();
                for row in 0..6 {
                    let expected = if row % 2 == 0 { noise } else { 1.0 - noise };
                    assert!(
                        close(answers.row(row)[0], expected, 1e-5),
                        "{noise} {level:?} {:?}",
                        answers.row(row)
                    );
                }
            }
        }
    }
}

#[test]
fn a_query_without_targets_has_the_probability_of_the_evidence() {
    let asia = Network::read("asia").unwrap();
    let circuit = asia
        .compile(&Query::all().hard(["*"]), &Options::default())
        .unwrap();
    let mut batch = Batch::new(2);
    for input in circuit.inputs().collect::<Vec<_>>() {
        batch
            .insert(&circuit, input, Column::Values(vec![1, 1]))
            .unwrap();
    }
    let answers = circuit.evaluate(&batch).unwrap();
    assert!(answers.posteriors.is_empty());
    let no = [0.99, 0.99, 0.5, 0.99, 0.7, 1.0, 0.95, 0.9]
        .iter()
        .product::<f64>();
    assert!(
        close(answers.log_evidence[1], no.ln(), 1e-9),
        "{}",
        answers.log_evidence[1].exp()
    );
}

#[test]
fn a_plan_with_promised_values_answers_as_brute_force_does() {
    let shape = Shape {
        nodes: 7,
        max_values: 3,
        max_parents: 2,
        functional: 0.5,
    };
    let options = Options::default().with_effort(0.01);
    for seed in 0..40 {
        let net = network(&shape, seed).unwrap();
        let name = |v: usize| net.variable(sumout::internals::var(v)).name.clone();
        let query = Query::of(name(seed as usize % 3))
            .given([name(3)])
            .hard([name(4), name(6)]);
        let circuit = net.plan(&query, &options).unwrap().circuit();
        assert!(
            circuit
                .answer(&Evidence::new())
                .unwrap_err()
                .message()
                .contains("has no value in row")
        );
        for sample in 0..4 {
            let case = net.sample(1, sample).unwrap();
            let case: Vec<usize> = case
                .rows()
                .next()
                .unwrap()
                .iter()
                .map(|v| v.unwrap() as usize)
                .collect();
            let mut evidence = Evidence::new();
            [3, 4, 6].into_iter().for_each(|v| {
                evidence
                    .insert(&net, sumout::internals::var(v), Finding::Hard(case[v]))
                    .unwrap()
            });
            let answer = circuit.answer(&evidence).unwrap();
            let truth = enumerate(&net, &evidence);
            assert!(
                close(answer.log_evidence(), truth.evidence.ln(), 1e-9),
                "seed {seed}"
            );
            let (target, posterior) = &answer.posteriors()[0];
            for (p, joint) in posterior.iter().zip(&truth.joints[target.index()]) {
                assert!(close(*p, joint / truth.evidence, 1e-9), "seed {seed}");
            }
        }
    }
}

#[test]
fn only_inputs_take_evidence() {
    let asia = Network::read("asia").unwrap();
    let circuit = asia
        .compile(
            &Query::of("lung").given(["xray", "dysp"]),
            &Options::default(),
        )
        .unwrap();
    let mut batch = Batch::new(1);
    let mut complaint = |v: VarId| {
        batch
            .insert(&circuit, v, Column::Values(vec![0]))
            .unwrap_err()
            .to_string()
    };
    assert!(
        complaint(asia.find("smoke").unwrap())
            .starts_with("`smoke` is not an input of this circuit")
    );
    assert!(
        complaint(sumout::internals::var(1000))
            .contains("is not a variable of this circuit's network")
    );
    assert!(
        circuit
            .input("xry")
            .unwrap_err()
            .to_string()
            .contains("did you mean `xray`?")
    );
}
