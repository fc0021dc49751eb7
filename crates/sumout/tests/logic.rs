//! Circuits that are compiled from logic: networks of gates that no plan reaches, numbers that are
//! far apart, and learning. Small networks are compared in all other tests, at every
//! level.

use crate::common::close;
use crate::gradients::{Loss, check};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::model::Node;
use sumout::{
    Batch, Circuit, Column, EvalOptions, Evidence, Level, Network, Options, Precision, Query,
};

fn options(level: Level, seed: u64) -> Options {
    Options::default().with_level(level).with_seed(seed)
}

/// Gates over two of all nodes before them: a tangle that is too wide for plans.
fn tangle(roots: usize, gates: usize, seed: u64) -> Network {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let mut b = Network::builder("tangle");
    let mut nodes: Vec<Node> = vec![];
    for i in 0..roots {
        let root = b.variable(format!("e{i}"), ["ok", "failed"]);
        let p: f64 = rng.random_range(0.01..0.2);
        b.table(root, [], [1.0 - p, p]);
        nodes.push(root);
    }
    for i in 0..gates {
        let gate = b.variable(format!("g{i}"), ["ok", "failed"]);
        let near = nodes.len().saturating_sub(roots);
        let inputs = [0, 1].map(|_| nodes[rng.random_range(near..nodes.len())]);
        let is_or = rng.random_range(0..10) < 6;
        if inputs[0] != inputs[1] {
            b.function(
                gate,
                inputs,
                move |u| {
                    if is_or { u[0] | u[1] } else { u[0] & u[1] }
                },
            );
        } else {
            b.function(gate, [inputs[0]], |u| u[0]);
        }
        nodes.push(gate);
    }
    let top = b.variable("top", ["ok", "failed"]);
    let last = nodes.len() - 1;
    b.function(top, [nodes[last - 1], nodes[last]], |u| u[0] | u[1]);
    b.build().unwrap()
}

/// Searches in different orders agree, and so do the circuit and single questions.
#[test]
fn a_tangle_of_gates_is_compiled_by_default() {
    let net = tangle(60, 300, 7);
    let top = net.find("top").unwrap();
    let query = Query::of("top");
    let plan = net.plan(&query, &options(Level::Auto, 0)).unwrap();
    assert_eq!(plan.report().level(), Level::Compiled);
    let asked = |level: Level, seed: u64| {
        let options = options(level, seed);
        let answer = net.query(&[top], &Evidence::new(), &options).unwrap();
        assert!(answer.log_evidence().abs() < 1e-12);
        answer.probability("top", "failed").unwrap()
    };
    let p = asked(Level::Auto, 0);
    for seed in 1..4 {
        assert!(close(asked(Level::Compiled, seed), p, 1e-12));
    }
}

/// Evidence on roots in batches against evidence that is known before the search.
#[test]
fn rows_of_a_tangle_are_single_questions() {
    let net = tangle(24, 60, 3);
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let query = Query::of("top").given(["e*"]);
    let circuit = net.compile(&query, &options(Level::Compiled, 0)).unwrap();
    let rows: Vec<Vec<i32>> = (0..24)
        .map(|_| (0..40).map(|_| rng.random_range(-1..2).max(-1)).collect())
        .collect();
    let mut batch = Batch::new(40);
    for (i, values) in rows.iter().enumerate() {
        let column = Column::Values(values.clone());
        batch = batch.with(&circuit, &format!("e{i}"), column).unwrap();
    }
    let run = |precision| {
        let options = EvalOptions::default().with_precision(precision);
        circuit.evaluator(&options).unwrap().run(&batch).unwrap()
    };
    let (short, long) = (run(Precision::F32), run(Precision::F64));
    for row in 0..40 {
        let mut evidence = Evidence::new();
        for (i, values) in rows.iter().enumerate() {
            let value = ["ok", "failed"].get(values[row] as usize);
            if let Some(value) = value {
                evidence = evidence.observe(&net, &format!("e{i}"), value).unwrap();
            }
        }
        let top = net.find("top").unwrap();
        let expected = net.query(&[top], &evidence, &options(Level::Tables, 0));
        let expected = expected.unwrap();
        let p = expected.probability("top", "failed").unwrap();
        assert!(close(long.row(row)[1], p, 1e-11), "row {row}");
        assert!(close(short.row(row)[1], p, 1e-4), "row {row}");
        let log = long.log_evidence[row];
        assert!(close(log, expected.log_evidence(), 1e-10), "row {row}");
    }
}

/// A counter of 120 steps, each seen through a sensor whose readings are improbable: P(e) is far
/// below the smallest number, and so are the products on the way.
#[test]
fn nothing_underflows_between_the_layers() {
    let mut b = Network::builder("counter");
    let mut last = b.variable("x0", ["0", "1", "2"]);
    b.table(last, [], [0.5, 0.25, 0.25]);
    for t in 1..120 {
        let step = b.variable(format!("step{t}"), ["stay", "go"]);
        b.table(step, [], [0.9, 0.1]);
        let next = b.variable(format!("x{t}"), ["0", "1", "2"]);
        b.function(next, [last, step], |u| (u[0] + u[1]) % 3);
        let seen = b.variable(format!("y{t}"), ["a", "b"]);
        b.table(
            seen,
            [next],
            [1e-7, 1.0 - 1e-7, 3e-9, 1.0 - 3e-9, 2e-5, 1.0 - 2e-5],
        );
        last = next;
    }
    let net = b.build().unwrap();
    let query = Query::of("x119").given(["y*"]);
    let run = |level: Level, precision: Precision| {
        let circuit = net.compile(&query, &options(level, 0)).unwrap();
        let mut batch = Batch::new(3);
        for t in 1..120 {
            let values = Column::Values(vec![0, i32::from(t % 2 == 0), -1]);
            batch = batch.with(&circuit, &format!("y{t}"), values).unwrap();
        }
        let options = EvalOptions::default().with_precision(precision);
        circuit.evaluator(&options).unwrap().run(&batch).unwrap()
    };
    let expected = run(Level::Classical, Precision::F64);
    assert!(expected.log_evidence[0] < -1000.0);
    for (precision, tolerance) in [(Precision::F32, 1e-4), (Precision::F64, 1e-9)] {
        let found = run(Level::Compiled, precision);
        for row in 0..3 {
            let [a, b] = [&found, &expected].map(|answers| answers.log_evidence[row]);
            assert!(close(a, b, tolerance), "{precision:?} row {row}: {a} {b}");
            for (p, q) in found.row(row).iter().zip(expected.row(row)) {
                assert!(close(*p, *q, tolerance), "{precision:?} row {row}: {p} {q}");
            }
        }
    }
}

/// An adder of two numbers of some bits: its inputs are noisy, and how noisy is to be learned.
fn adder(bits: usize) -> Circuit {
    let mut b = Network::builder("adder");
    let mut carry = b.variable("c0", ["0", "1"]);
    b.table(carry, [], [1.0, 0.0]);
    for i in 0..bits {
        let [x, y] = ["x", "y"].map(|name| {
            let input = b.variable(format!("{name}{i}"), ["0", "1"]);
            b.table(input, [], [0.6, 0.4]);
            input
        });
        let sum = b.variable(format!("s{i}"), ["0", "1"]);
        b.function(sum, [x, y, carry], |u| u[0] ^ u[1] ^ u[2]);
        let next = b.variable(format!("c{}", i + 1), ["0", "1"]);
        b.function(next, [x, y, carry], |u| usize::from(u[0] + u[1] + u[2] > 1));
        carry = next;
    }
    let net = b.build().unwrap();
    let query = Query::of(format!("c{bits}")).given(["s*", "x*"]);
    let query = query.trainable(["x*", "y*"]);
    net.compile(&query, &options(Level::Compiled, 0)).unwrap()
}

#[test]
fn an_adder_is_differentiated_by_its_tables_and_its_evidence() {
    let circuit = adder(8);
    assert!(!circuit.graph().origins().is_empty());
    for loss in [Loss::CrossEntropy, Loss::Likelihood] {
        check(&circuit, loss, &mut ChaCha8Rng::seed_from_u64(5));
    }
}
