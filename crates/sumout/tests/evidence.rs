//! Evidence of ten thousand factors: ln P(e) is far below the smallest number, and exact all the
//! same.

use sumout::{Batch, Circuit, Column, EvalOptions, Level, Network, Options, Precision, Query};

const FACTORS: usize = 10_000;

/// A class with many readings that do not depend on each other.
fn naive_bayes() -> Network {
    let mut b = Network::builder("naive Bayes");
    let class = b.variable("class", ["a", "b"]);
    b.table(class, [], [0.3, 0.7]);
    for i in 0..FACTORS {
        let x = b.variable(format!("x{i}"), ["on", "off", "one class"]);
        let [p, q] = readings(i);
        let rest = if i % 2 == 0 { [0.01, 0.0] } else { [0.0, 0.01] };
        let row = |p: f64, rest: f64| [p * (1.0 - rest), (1.0 - p) * (1.0 - rest), rest];
        b.table(x, [class], [row(p, rest[0]), row(q, rest[1])].concat());
    }
    b.build().unwrap()
}

/// P(x_i = on) in both classes.
fn readings(i: usize) -> [f64; 2] {
    [
        0.02 + 0.9 * (i % 89) as f64 / 89.0,
        0.05 + 0.9 * (i % 97) as f64 / 97.0,
    ]
}

/// A hidden state that changes now and then, read at every step; it never goes from b to a.
fn chain() -> Network {
    let mut b = Network::builder("chain");
    let mut state = b.variable("h0", ["a", "b"]);
    b.table(state, [], [1.0, 0.0]);
    for i in 0..FACTORS {
        if i > 0 {
            let next = b.variable(format!("h{i}"), ["a", "b"]);
            b.table(next, [state], [0.999, 0.001, 0.0, 1.0]);
            state = next;
        }
        let x = b.variable(format!("x{i}"), ["on", "off", "a only", "b only"]);
        b.table(x, [state], [0.3, 0.6, 0.1, 0.0, 0.4, 0.5, 0.0, 0.1]);
    }
    b.build().unwrap()
}

/// The reading of a row at a step.
fn reading(row: usize, i: usize) -> usize {
    usize::from((i * 7 + row * 13) % 11 < 5 + row % 3)
}

/// ln P(e) by the definition, with logarithms.
fn expected_naive(row: usize) -> f64 {
    let joint = |class: usize, prior: f64| {
        let p = |i: usize| {
            if reading(row, i) == 0 {
                readings(i)[class]
            } else {
                1.0 - readings(i)[class]
            }
        };
        let scale = |i: usize| if i % 2 == class { 0.99 } else { 1.0 };
        (0..FACTORS).map(|i| (p(i) * scale(i)).ln()).sum::<f64>() + f64::ln(prior)
    };
    let (x, y) = (joint(0, 0.3), joint(1, 0.7));
    x.max(y) + (-(x - y).abs()).exp().ln_1p()
}

/// ln P(e) of the chain: the forward algorithm, which is normalised at every step.
fn expected_chain(row: usize) -> f64 {
    let emission = [[0.3, 0.6], [0.4, 0.5]];
    let (mut belief, mut log) = ([1.0, 0.0], 0.0);
    for i in 0..FACTORS {
        if i > 0 {
            belief = [belief[0] * 0.999, belief[0] * 0.001 + belief[1]];
        }
        let x = reading(row, i);
        belief = [belief[0] * emission[0][x], belief[1] * emission[1][x]];
        let total = belief[0] + belief[1];
        log += f64::ln(total);
        belief = belief.map(|p| p / total);
    }
    log
}

/// The readings of some rows; every tenth has two that are impossible together.
fn batch(circuit: &Circuit, rows: usize, impossible: [(usize, i32); 2]) -> Batch {
    let mut batch = Batch::new(rows);
    for input in circuit.inputs().collect::<Vec<_>>() {
        let i: usize = circuit.variable(input).name[1..].parse().unwrap();
        let other = impossible
            .iter()
            .find(|(at, _)| *at == i)
            .map(|(_, value)| *value);
        let value = |row: usize| {
            other
                .filter(|_| row % 10 == 9)
                .unwrap_or(reading(row, i) as i32)
        };
        batch
            .insert(
                circuit,
                input,
                Column::Values((0..rows).map(value).collect()),
            )
            .unwrap();
    }
    batch
}

fn check(net: &Network, target: &str, expected: fn(usize) -> f64, impossible: [(usize, i32); 2]) {
    let options = Options::default()
        .with_level(Level::Tables)
        .with_effort(0.0);
    let circuit = net
        .compile(&Query::of(target).given(["x*"]), &options)
        .unwrap();
    for (precision, tolerance) in [(Precision::F64, 1e-9), (Precision::F32, 1e-4)] {
        let evaluator = circuit
            .evaluator(&EvalOptions::default().with_precision(precision))
            .unwrap();
        for rows in [64, 1] {
            let answers = evaluator.run(&batch(&circuit, rows, impossible)).unwrap();
            for row in 0..rows {
                let is_impossible = row % 10 == 9;
                assert_eq!(
                    answers.is_impossible(row),
                    is_impossible,
                    "{precision:?}, row {row} of {rows}"
                );
                if !is_impossible {
                    let (log, expected) = (answers.log_evidence[row], expected(row));
                    let error = ((log - expected) / expected).abs();
                    assert!(
                        error < tolerance,
                        "{precision:?}, row {row} of {rows}: {log} {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_evidence_of_a_naive_bayes_model_is_exact_and_impossible_rows_are_flagged() {
    check(
        &naive_bayes(),
        "class",
        expected_naive,
        [(20, 2), (9_001, 2)],
    );
}

#[test]
fn the_evidence_of_a_chain_is_exact_and_impossible_rows_are_flagged() {
    check(&chain(), "h5000", expected_chain, [(100, 3), (9_999, 2)]);
}
