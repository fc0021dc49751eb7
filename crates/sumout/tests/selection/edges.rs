//! Testing networks at their edges: impossible values, numbers far apart, questions that are no
//! posteriors.

use crate::common::{LEVELS, batch, in_parallel, seeds};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::learn::Start;
use sumout::model::{Comparison, Node, Selection, SelectionKind};
use sumout::tensor::TableId;
use sumout::{
    Batch, Circuit, Column, EvalOptions, Evidence, Examples, Finding, Network, Options, Precision,
    Query, Task, Training, TrainingOptions, VarId,
};

/// The evidence on v, whose first value is impossible, decides what is selected for x; z depends on
/// v as well.
pub fn impossible_value() -> Network {
    let mut b = Network::builder("narrow");
    let v = b.variable("v", ["a", "b", "c"]);
    let x = b.variable("x", ["p", "q"]);
    let z = b.variable("z", ["t", "f"]);
    b.table(v, [], [0.0, 0.4, 0.6]);
    b.table(z, [v], [0.5, 0.5, 0.3, 0.7, 0.8, 0.2]);
    let (weights, biases) = (vec![1.0, -1.0, 0.5, 0.25, 0.3, 0.1], vec![0.1, 0.2]);
    let kind = SelectionKind::Softmax {
        of: vec![sumout::internals::var(0)],
        weights,
        biases,
    };
    let copies = [
        [0.5, 0.5, 0.9, 0.1, 0.8, 0.2],
        [0.5, 0.5, 0.3, 0.7, 0.4, 0.6],
    ];
    b.selected(
        x,
        [v],
        copies,
        Selection {
            copies: 2,
            thresholds: vec![],
            kind,
        },
    );
    b.build().unwrap()
}

fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    assert!(
        found
            .iter()
            .zip(expected)
            .all(|(x, y)| (x - y).abs() < tolerance),
        "{found:?} {expected:?}"
    );
}

/// Likelihoods of values that are impossible count where a test is of evidence, and nowhere else.
#[test]
fn tests_see_the_likelihoods_of_impossible_values() {
    let net = impossible_value();
    let (v, options) = (net.find("v").unwrap(), Options::default());
    let queries = [
        Query::of("x").given(["v"]),
        Query::all(),
        Query::all().given(["v", "x"]).hard(["z"]),
    ];
    for query in queries
        .into_iter()
        .chain([Query::all().given(["v"]).hard(["x", "z"])])
    {
        let circuit = net.compile(&query, &options).unwrap();
        assert_eq!(circuit.possible(v), [1, 2]);
        let again = Circuit::from_bytes(&circuit.to_bytes().unwrap()).unwrap();
        for likelihood in [
            [1.0, 1.0, 1.0],
            [1e308, 1e308, 1e308],
            [3.0, 0.5, 0.1],
            [0.0, 0.0, 2.0],
            [5.0, 0.0, 0.0],
        ] {
            let mut evidence = Evidence::new().likelihood(&net, "v", likelihood).unwrap();
            for name in ["x", "z"]
                .into_iter()
                .filter(|name| circuit.is_hard(net.find(name).unwrap()))
            {
                evidence = evidence
                    .observe(&net, name, &net.variable(net.find(name).unwrap()).values[0])
                    .unwrap();
            }
            let truth = net.query(&circuit.targets(), &evidence, &options).unwrap();
            for rows in [1, 9] {
                let cases = vec![evidence.clone(); rows];
                for circuit in [&circuit, &again] {
                    let answers = circuit.evaluate(&batch(&net, circuit, &cases)).unwrap();
                    assert_eq!(answers.is_impossible(rows - 1), truth.is_impossible());
                    let expected = truth
                        .posteriors()
                        .iter()
                        .flat_map(|(_, p)| p)
                        .copied()
                        .collect::<Vec<f64>>();
                    if !truth.is_impossible() {
                        close(answers.row(rows - 1), &expected, 1e-12);
                        close(&answers.log_evidence[..1], &[truth.log_evidence()], 1e-12);
                    }
                }
            }
        }
    }
}

#[test]
fn derivatives_with_respect_to_evidence_count_what_tests_see_of_it() {
    let net = impossible_value();
    let circuit = net
        .compile(&Query::of("x").given(["v"]), &Options::default())
        .unwrap();
    let v = net.find("v").unwrap();
    let running = EvalOptions::default().with_precision(Precision::F64);
    let ready = circuit.differentiator(&[], &[v], &running).unwrap();
    let first =
        |_: usize, p: &[f64], to: &mut [f64]| to.copy_from_slice(&[p[0] * p[1], -p[0] * p[1]]);
    let run = |likelihood: [f64; 3]| {
        let given = Batch::new(1)
            .with(&circuit, "v", Column::Likelihoods(likelihood.to_vec()))
            .unwrap();
        ready.run(&given, &first).unwrap()
    };
    let at = |b: f64, c: f64| run([0.7, 0.5 + b, 0.9 + c]).posteriors[0];
    let found = run([0.7, 0.5, 0.9]).evidence;
    let expected = [
        (at(1e-6, 0.0) - at(-1e-6, 0.0)) / 2e-6,
        (at(0.0, 1e-6) - at(0.0, -1e-6)) / 2e-6,
    ];
    assert_eq!((found.len(), found[0].0), (1, v));
    close(&found[0].1, &expected, 1e-8);
}

/// Rows for what cannot happen are no parameters, whatever tests see.
#[test]
fn impossible_values_have_no_parameters() {
    let net = impossible_value();
    let [v, x, z] = ["v", "x", "z"].map(|name| net.find(name).unwrap());
    let mut examples = Examples::new(2);
    examples.insert(v, Column::Values(vec![1, -1]));
    examples.insert(z, Column::Values(vec![0, 1]));
    examples.insert(x, Column::Values(vec![0, 1]));
    let names = [x, z].map(|v| net.variable(v).name.clone());
    let task = Task::of(&[x], &examples).train(&net, Some(&names)).unwrap();
    let learning = TrainingOptions {
        starts: vec![Start::Uniform],
        ..TrainingOptions::default()
    };
    let training = Training::new(
        &net,
        &task,
        learning,
        &Options::default(),
        &EvalOptions::default(),
    )
    .unwrap();
    let shapes: Vec<_> = training
        .params()
        .groups()
        .iter()
        .map(|group| (&*group.name, group.shape.clone()))
        .collect();
    assert!(
        shapes.contains(&("z", vec![2, 2])) && shapes.contains(&("x, copy 1", vec![2, 2])),
        "{shapes:?}"
    );
}

#[test]
fn a_testing_circuit_has_no_marginals_of_families() {
    let net = impossible_value();
    let circuit = net
        .compile(&Query::all().trainable(["*"]), &Options::default())
        .unwrap();
    let refused = circuit.families(&Batch::new(1)).unwrap_err();
    assert_eq!(
        refused.message(),
        "a testing circuit has no marginals of families"
    );
}

/// The complement of a probability near one is not lost.
#[test]
fn linear_weights_do_not_cancel() {
    for p in [1e-9, 1e-15, 1e-20, 1e-200] {
        let mut b = Network::builder("linear");
        let u = b.variable("u", ["a", "b"]);
        let x = b.variable("x", ["t", "f"]);
        b.table(u, [], [p, 1.0 - p]);
        let selection = Selection {
            copies: 2,
            thresholds: vec![],
            kind: SelectionKind::Linear,
        };
        b.selected(
            x,
            [u],
            [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]],
            selection,
        );
        let net = b.build().unwrap();
        let circuit = net
            .compile(&Query::of("u").given(["x"]), &Options::default())
            .unwrap();
        let answers = circuit
            .evaluate(
                &Batch::new(1)
                    .with(&circuit, "x", Column::Values(vec![0]))
                    .unwrap(),
            )
            .unwrap();
        close(answers.row(0), &[0.5, 0.5], 1e-8);
        close(&answers.log_evidence, &[(2.0 * p).ln()], 1e-8);
    }
}

/// Probabilities from one down to 10^-most, and some zeros.
fn far_apart(rng: &mut ChaCha8Rng, card: usize, most: f64) -> Vec<f64> {
    let number = |rng: &mut ChaCha8Rng| match rng.random_range(0..10) {
        0 => 0.0,
        1..5 => 10f64.powf(-most * rng.random::<f64>()),
        _ => 0.01 + rng.random::<f64>(),
    };
    let mut row: Vec<f64> = (0..card).map(|_| number(rng)).collect();
    let largest = rng.random_range(0..card);
    row[largest] = 1.0;
    let total: f64 = row.iter().sum();
    row.into_iter().map(|p| p / total).collect()
}

/// A chain with side branches, of which some variables are tested, and observations.
pub fn extreme(rng: &mut ChaCha8Rng, most: f64) -> Network {
    let mut b = Network::builder("extreme");
    let mut before: Vec<(Node, usize)> = vec![];
    for i in 0..rng.random_range(3..8) {
        let card = rng.random_range(2..4);
        let x = b.variable(format!("x{i}"), (0..card).map(|value| format!("s{value}")));
        let parent = before
            .get(rng.random_range(i / 2..=i))
            .or(before.last())
            .copied();
        let table = |rng: &mut ChaCha8Rng| {
            let rows = parent.map_or(1, |(_, card)| card);
            (0..rows)
                .flat_map(|_| far_apart(rng, card, most))
                .collect::<Vec<f64>>()
        };
        match parent {
            Some((parent, rows)) if rng.random_bool(0.6) => {
                let kind = match rng.random_range(0..3) {
                    0 => SelectionKind::Linear,
                    1 => SelectionKind::Sigmoid {
                        slope: [8.0, 64.0, 400.0][rng.random_range(0..3)],
                        is_learned: false,
                    },
                    _ => SelectionKind::Step(Comparison::AtLeast),
                };
                let thresholds = if kind.has_thresholds() {
                    vec![0.1 + 0.8 * rng.random::<f64>(); rows]
                } else {
                    vec![]
                };
                b.selected(
                    x,
                    [parent],
                    [table(rng), table(rng)],
                    Selection {
                        copies: 2,
                        thresholds,
                        kind,
                    },
                );
            }
            parent => drop(b.table(x, parent.map(|(parent, _)| parent), table(rng))),
        }
        before.push((x, card));
        let y = b.variable(format!("y{i}"), ["t", "f"]);
        b.table(
            y,
            [x],
            (0..card)
                .flat_map(|_| far_apart(rng, 2, most))
                .collect::<Vec<f64>>(),
        );
    }
    b.build().unwrap()
}

/// Circuits answer as the networks that tests select one by one, however far apart numbers are.
#[test]
fn numbers_may_be_far_apart() {
    in_parallel(seeds(120), |seed| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let net = extreme(&mut rng, [30.0, 100.0, 250.0][seed as usize % 3]);
        let options = Options::default()
            .with_level(LEVELS[seed as usize % LEVELS.len()])
            .with_effort(0.01);
        let target = sumout::internals::var(0);
        let query = Query::of(net.variable(target).name.clone()).given(["y*"]);
        let circuit = net.compile(&query, &options).unwrap();
        let observed: Vec<VarId> = circuit.inputs().collect();
        let case = |rng: &mut ChaCha8Rng| {
            let mut evidence = Evidence::new();
            for &y in observed
                .iter()
                .filter(|_| rng.random_bool(0.85))
                .collect::<Vec<_>>()
            {
                evidence
                    .insert(&net, y, Finding::Hard(rng.random_range(0..2)))
                    .unwrap();
            }
            evidence
        };
        let cases: Vec<Evidence> = (0..8).map(|_| case(&mut rng)).collect();
        let answers = circuit.evaluate(&batch(&net, &circuit, &cases)).unwrap();
        for (row, evidence) in cases.iter().enumerate() {
            let alone = net.query(&[target], evidence, &options).unwrap();
            let (log, expected) = (answers.log_evidence[row], alone.log_evidence());
            assert!(
                log == expected || (log - expected).abs() < 1e-8 * (1.0 + log.abs()),
                "{seed} {row}: {log} {expected}"
            );
            if !alone.is_impossible() {
                close(answers.row(row), &alone.posteriors()[0].1, 1e-8);
            }
        }
    });
}

/// A table that a softmax tests beside evidence has derivatives, too.
#[test]
fn what_is_the_same_for_all_examples_is_differentiated_through_tests() {
    let mut b = Network::builder("beside");
    let u = b.variable("u", ["a", "b"]);
    let e = b.variable("e", ["t", "f"]);
    let x = b.variable("x", ["p", "q"]);
    b.table(u, [], [0.4, 0.6]);
    b.table(e, [u], [0.8, 0.2, 0.3, 0.7]);
    let (of, biases) = (
        vec![sumout::internals::var(1), sumout::internals::var(0)],
        vec![0.1, 0.2],
    );
    let kind = SelectionKind::Softmax {
        of,
        weights: vec![1.0, -1.0, 0.5, 2.0, 0.3, 0.7, -0.2, 0.1],
        biases,
    };
    let copies = [
        [0.2, 0.8, 0.5, 0.5, 0.3, 0.7, 0.1, 0.9],
        [0.7, 0.3, 0.1, 0.9, 0.6, 0.4, 0.2, 0.8],
    ];
    b.selected(
        x,
        [u, e],
        copies,
        Selection {
            copies: 2,
            thresholds: vec![],
            kind,
        },
    );
    let net = b.build().unwrap();
    let circuit = net
        .compile(
            &Query::of("x").given(["e"]).trainable(["*"]),
            &Options::default(),
        )
        .unwrap();
    let tables: Vec<TableId> = circuit
        .graph()
        .ops()
        .filter_map(|(_, op)| op.table())
        .collect();
    let running = EvalOptions::default().with_precision(Precision::F64);
    let mut ready = circuit.differentiator(&tables, &[], &running).unwrap();
    let given = Batch::new(9)
        .with(&circuit, "e", Column::Likelihoods([0.3, 0.9].repeat(9)))
        .unwrap();
    let first =
        |_: usize, p: &[f64], to: &mut [f64]| to.copy_from_slice(&[p[0] * p[1], -p[0] * p[1]]);
    let found = ready.run(&given, &first).unwrap().tables;
    for (table, found) in tables.iter().zip(&found) {
        let values = ready.graph().tables()[table.index()].values.clone();
        let mut moved = |i: usize, h: f64| {
            let mut values = values.clone();
            values[i] += h;
            ready.set_table(*table, &values);
            ready.refresh();
            ready
                .evaluate(&given)
                .unwrap()
                .posteriors
                .iter()
                .step_by(2)
                .sum::<f64>()
        };
        let expected: Vec<f64> = (0..values.len())
            .map(|i| (moved(i, 1e-6) - moved(i, -1e-6)) / 2e-6)
            .collect();
        ready.set_table(*table, &values);
        ready.refresh();
        close(found, &expected, 1e-6);
    }
}
