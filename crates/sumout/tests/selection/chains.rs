//! Long chains of tests: each goes on with the posterior of the one before it.

use sumout::learn::{Loss, Start};
use sumout::model::{Comparison, Node, Selection, SelectionKind};
use sumout::{
    Batch, Circuit, Column, EvalOptions, Evidence, Examples, Network, Options, Precision, Query,
    Task, Training, TrainingOptions, VarId,
};

const SOFT: SelectionKind = SelectionKind::Sigmoid {
    slope: 9.0,
    is_learned: false,
};
const STEP: SelectionKind = SelectionKind::Step(Comparison::AtLeast);

/// x0 → x1 → …, each tested, and an observation of each, whose likelihoods are given.
fn chain(n: usize, copies: [[f64; 4]; 2], selection: &SelectionKind) -> Network {
    let mut b = Network::builder("chain");
    let mut before: Option<Node> = None;
    for i in 0..n {
        let x = b.variable(format!("x{i}"), ["a", "b"]);
        match before {
            None => drop(b.table(x, [], [0.5, 0.5])),
            Some(before) => drop(b.selected(
                x,
                [before],
                copies,
                Selection::of_rows(2, &[0.4], selection.clone()),
            )),
        }
        let y = b.variable(format!("y{i}"), ["s", "t"]);
        b.table(y, [x], [0.8, 0.2, 0.3, 0.7]);
        before = Some(x);
    }
    b.build().unwrap()
}

fn compile(net: &Network, target: &str) -> Circuit {
    net.compile(
        &Query::of(target).given(["y*"]),
        &Options::default().with_effort(0.0),
    )
    .unwrap()
}

/// Every example, alone and by the network that its tests select, is what the batch says.
fn check(net: &Network, target: &str, likelihoods: impl Fn(usize, usize) -> [f64; 2]) {
    const ROWS: usize = 9;
    let circuit = compile(net, target);
    let observed: Vec<VarId> = net.matching("y*").unwrap();
    let mut batch = Batch::new(ROWS);
    for (i, &y) in observed.iter().enumerate() {
        let numbers = (0..ROWS).flat_map(|row| likelihoods(row, i)).collect();
        batch
            .insert(&circuit, y, Column::Likelihoods(numbers))
            .unwrap();
    }
    let running = EvalOptions::default().with_precision(Precision::F64);
    let answers = circuit.evaluator(&running).unwrap().run(&batch).unwrap();
    for row in 0..ROWS {
        let mut evidence = Evidence::new();
        for (i, &y) in observed.iter().enumerate() {
            evidence = evidence
                .likelihood(net, &net.variable(y).name, likelihoods(row, i))
                .unwrap();
        }
        let alone = net
            .query(&[net.find(target).unwrap()], &evidence, &Options::default())
            .unwrap();
        let (found, expected) = (answers.row(row), &alone.posteriors()[0].1);
        assert!(
            found
                .iter()
                .zip(expected)
                .all(|(x, y)| (x - y).abs() < 1e-9),
            "{row}: {found:?} {expected:?}"
        );
        assert!(
            (answers.log_evidence[row] - alone.log_evidence()).abs()
                < 1e-9 * alone.log_evidence().abs()
        );
    }
}

#[test]
fn long_chains_answer_as_the_networks_that_their_tests_select() {
    let copies = [[0.9, 0.1, 0.2, 0.8], [0.3, 0.7, 0.6, 0.4]];
    for selection in [SOFT, STEP, SelectionKind::Linear] {
        let net = match &selection {
            SelectionKind::Linear => without_thresholds(40, copies),
            _ => chain(40, copies, &selection),
        };
        check(&net, "x39", |row, i| {
            [
                0.1 + ((row * 7 + i * 3) % 10) as f64,
                0.2 + ((row + i * i) % 5) as f64,
            ]
        });
        check(&net, "x20", |row, i| {
            if (row + i).is_multiple_of(3) {
                [0.0, 1.0]
            } else {
                [1.0, 0.5]
            }
        });
    }
}

fn without_thresholds(n: usize, copies: [[f64; 4]; 2]) -> Network {
    let mut b = Network::builder("linear");
    let x0 = b.variable("x0", ["a", "b"]);
    b.table(x0, [], [0.5, 0.5]);
    let mut before = x0;
    for i in 1..n {
        let x = b.variable(format!("x{i}"), ["a", "b"]);
        b.selected(
            x,
            [before],
            copies,
            Selection {
                copies: 2,
                thresholds: vec![],
                kind: SelectionKind::Linear,
            },
        );
        let y = b.variable(format!("y{i}"), ["s", "t"]);
        b.table(y, [x], [0.8, 0.2, 0.3, 0.7]);
        before = x;
    }
    b.build().unwrap()
}

/// A state that stays what it is, each time with some nearly certain observations; tests whose
/// thresholds are never passed, but for the last.
fn stays(n: usize, each: usize) -> Network {
    let (stays, strays) = ([1.0, 0.0, 0.0, 1.0], [0.5, 0.5, 0.5, 0.5]);
    let mut b = Network::builder("stays");
    let mut before = b.variable("x0", ["a", "b"]);
    b.table(before, [], [0.5, 0.5]);
    for i in 1..n {
        let x = b.variable(format!("x{i}"), ["a", "b"]);
        let never = Selection::of_rows(2, &[1.0], SelectionKind::Step(Comparison::Above));
        b.selected(x, [before], [stays, strays], never);
        for k in 1..=each {
            let y = b.variable(format!("y{}", (i - 1) * each + k), ["s", "t"]);
            b.table(y, [x], [1.0 - 1e-9, 1e-9, 1e-9, 1.0 - 1e-9]);
        }
        before = x;
    }
    let last = b.variable("last", ["s", "t"]);
    b.selected(
        last,
        [before],
        [[0.1, 0.9, 0.2, 0.8], [0.6, 0.4, 0.7, 0.3]],
        Selection::of_rows(2, &[0.5], STEP),
    );
    b.build().unwrap()
}

/// Early observations make `b` less probable than any number is, little by little or at once, and
/// later ones make it certain.
#[test]
fn states_that_become_improbable_may_come_back() {
    come_back(&stays(120, 1), 119, [0, 50, 59, 60, 70, 119]);
    come_back(&stays(4, 40), 120, [0, 40, 50, 59, 61, 120]);
}

fn come_back(net: &Network, observations: usize, turns: [usize; 6]) {
    let circuit = compile(net, "last");
    for turn in turns {
        let (mut batch, mut evidence) = (Batch::new(6), Evidence::new());
        for i in 1..=observations {
            let (name, value) = (format!("y{i}"), i32::from(i > turn));
            evidence = evidence
                .observe(net, &name, ["s", "t"][value as usize])
                .unwrap();
            batch = batch
                .with(&circuit, &name, Column::Values(vec![value; 6]))
                .unwrap();
        }
        let alone = net
            .query(&[net.find("last").unwrap()], &evidence, &Options::default())
            .unwrap();
        let answers = circuit.evaluate(&batch).unwrap();
        let expected = if turn < 60 { [0.7, 0.3] } else { [0.6, 0.4] };
        for found in [answers.row(5), &alone.posteriors()[0].1] {
            assert!(
                found
                    .iter()
                    .zip(expected)
                    .all(|(x, y)| (x - y).abs() < 1e-9),
                "{turn}: {found:?} {expected:?}"
            );
        }
    }
}

/// Examples with very improbable states are learned from, too.
#[test]
fn improbable_states_are_no_reason_not_to_learn() {
    for (n, turn) in [(41, 16), (120, 118)] {
        let net = stays(n, 1);
        let mut examples = Examples::new(3);
        for i in 1..n {
            let y = net.find(&format!("y{i}")).unwrap();
            examples.insert(y, Column::Values(vec![i32::from(i > turn); 3]));
        }
        let last = net.find("last").unwrap();
        examples.insert(last, Column::Values(vec![0, 1, 0]));
        let task = Task::of(&[last], &examples)
            .train(&net, Some(&["last"]))
            .unwrap();
        let learning = TrainingOptions {
            prior: 0.0,
            starts: vec![Start::Network],
            validation: 0.0,
            ..TrainingOptions::default()
        };
        let learning = TrainingOptions {
            loss: Loss {
                likelihood: 0.0,
                ..Loss::default()
            },
            ..learning
        };
        let options = Options::default().with_effort(0.0);
        let training =
            Training::new(&net, &task, learning, &options, &EvalOptions::default()).unwrap();
        let (loss, gradient) = training
            .trainer(&examples)
            .unwrap()
            .gradient(&[0, 1, 2])
            .unwrap();
        let [p, q] = if turn < n / 2 {
            [0.7f64, 0.3]
        } else {
            [0.6, 0.4]
        };
        let expected = -(2.0 * p.ln() + q.ln()) / 3.0;
        assert!((loss - expected).abs() < 1e-6, "{loss} {expected}");
        assert!(gradient.iter().any(|g| g.abs() > 0.01), "{gradient:?}");
    }
}

/// A softmax has no posterior, and so may be of very many joint states.
#[test]
fn a_softmax_of_many_joint_states_is_compiled() {
    let mut b = Network::builder("wide");
    let parents: Vec<Node> = (0..13)
        .map(|i| b.variable(format!("u{i}"), ["t", "f"]))
        .collect();
    for &u in &parents {
        b.table(u, [], [0.5, 0.5]);
    }
    let x = b.variable("x", ["t", "f"]);
    b.logits(
        x,
        parents.clone(),
        [parents[0]],
        vec![1.0; 4 << 13],
        vec![0.0; 2 << 13],
    );
    let net = b.build().unwrap();
    let circuit = net
        .compile(
            &Query::of("x").given(["u*"]),
            &Options::default().with_effort(0.0),
        )
        .unwrap();
    let batch = Batch::new(1)
        .with(&circuit, "u0", Column::Values(vec![0]))
        .unwrap();
    assert_eq!(circuit.evaluate(&batch).unwrap().row(0), [0.5, 0.5]);
}

/// The cost of a chain of tests is linear in its length, not quadratic.
#[test]
fn a_chain_of_tests_costs_as_much_as_it_is_long() {
    let entries = |n: usize| {
        let net = chain(n, [[0.9, 0.1, 0.2, 0.8], [0.3, 0.7, 0.6, 0.4]], &SOFT);
        let query = Query::of(format!("x{}", n - 1)).given(["y*"]);
        let plan = net
            .plan(&query, &Options::default().with_effort(0.0))
            .unwrap();
        let (count, entries, _) = plan.report().selections().unwrap();
        assert_eq!(count, n - 1);
        (entries, plan.circuit().to_bytes().unwrap().len())
    };
    let ((short, small), (long, large)) = (entries(20), entries(60));
    assert!(long < 3.2 * short, "{short} {long}");
    assert!(large < 4 * small, "{small} {large}");
}
