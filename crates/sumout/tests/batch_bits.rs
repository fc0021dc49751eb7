//! A row's answer does not depend on the other rows: the same bits for any threads and any split.

use crate::common::{LEVELS, close, readings};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::compile::Level;
use sumout::{Batch, Circuit, Column, EvalOptions, Network, Options, Precision, Query, VarId};

/// Columns of hard, soft and missing evidence.
fn mixed(net: &Network, circuit: &Circuit, rows: usize) -> Vec<(VarId, Column)> {
    let mut rng = ChaCha8Rng::seed_from_u64(rows as u64);
    let column = |(k, input): (usize, VarId)| {
        let card = net.card(input);
        let column = match k % 3 {
            0 => Column::Likelihoods((0..rows * card).map(|_| rng.random::<f64>()).collect()),
            _ => Column::Values(
                (0..rows)
                    .map(|_| rng.random_range(-1..card as i32))
                    .collect(),
            ),
        };
        (input, column)
    };
    circuit.inputs().enumerate().map(column).collect()
}

/// A batch of some of the rows.
fn part(
    net: &Network,
    circuit: &Circuit,
    columns: &[(VarId, Column)],
    range: std::ops::Range<usize>,
) -> Batch {
    let mut some = Batch::new(range.len());
    for (input, column) in columns {
        let card = net.card(*input);
        let column = match column {
            Column::Values(values) => Column::Values(values[range.clone()].to_vec()),
            Column::Likelihoods(numbers) => {
                Column::Likelihoods(numbers[range.start * card..range.end * card].to_vec())
            }
        };
        some.insert(circuit, *input, column).unwrap();
    }
    some
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

/// Within one kernel path a row's answer has the same bits whatever other rows are there, and
/// whoever computes them.
#[test]
fn a_row_has_the_same_bits_for_any_number_of_threads_and_any_split() {
    const ROWS: usize = 301;
    for (model, target, given) in [
        ("rect:5", Some("label"), "pixel_*"),
        ("models/alarm.bif.gz", None, "H*"),
    ] {
        let net = model_at(model);
        for level in LEVELS {
            let query = target.map_or_else(Query::all, Query::of).given([given]);
            let circuit = net
                .compile(
                    &query,
                    &Options::default().with_level(level).with_effort(0.1),
                )
                .unwrap();
            let columns = mixed(&net, &circuit, ROWS);
            let batch = part(&net, &circuit, &columns, 0..ROWS);
            for precision in Precision::ALL {
                let with = |threads| {
                    circuit
                        .evaluator(
                            &EvalOptions::default()
                                .with_precision(precision)
                                .with_threads(threads),
                        )
                        .unwrap()
                };
                let whole = with(1).run(&batch).unwrap();
                let context = || format!("{model} {level:?} {precision:?}");
                for threads in [2, 5] {
                    let again = with(threads).run(&batch).unwrap();
                    assert_eq!(
                        bits(&again.posteriors),
                        bits(&whole.posteriors),
                        "{} on {threads}",
                        context()
                    );
                    assert_eq!(
                        bits(&again.log_evidence),
                        bits(&whole.log_evidence),
                        "{} on {threads}",
                        context()
                    );
                }
                let (evaluator, width) = (with(2), whole.width());
                for cuts in [[0, 5, 133, 301], [0, 64, 288, 301], [0, 17, 39, 301]] {
                    for pair in cuts.windows(2) {
                        let some = evaluator
                            .run(&part(&net, &circuit, &columns, pair[0]..pair[1]))
                            .unwrap();
                        let expected = &whole.posteriors[pair[0] * width..pair[1] * width];
                        assert_eq!(
                            bits(&some.posteriors),
                            bits(expected),
                            "{} {pair:?}",
                            context()
                        );
                        let expected = &whole.log_evidence[pair[0]..pair[1]];
                        assert_eq!(
                            bits(&some.log_evidence),
                            bits(expected),
                            "{} {pair:?}",
                            context()
                        );
                    }
                }
                let tolerance = if precision == Precision::F32 {
                    1e-6
                } else {
                    1e-12
                };
                for row in [0, 7, 300] {
                    let single = evaluator
                        .run(&part(&net, &circuit, &columns, row..row + 1))
                        .unwrap();
                    let both = single.posteriors.iter().zip(whole.row(row));
                    for (x, y) in both.chain([(&single.log_evidence[0], &whole.log_evidence[row])])
                    {
                        assert!(close(*x, *y, tolerance), "{} row {row}: {x} {y}", context());
                    }
                }
            }
        }
    }
}

/// Rows that short numbers cannot hold are repeated with long ones, in the same way however many
/// they are.
#[test]
fn rows_that_are_repeated_have_the_same_bits_for_any_split() {
    const COUNT: usize = 101;
    let net = readings(0.1, COUNT);
    let options = Options::default()
        .with_level(Level::Classical)
        .with_effort(0.01);
    let circuit = net
        .compile(&Query::of("h100").given(["x*"]), &options)
        .unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut column = |t: usize| {
        let value = |row: usize| {
            if row % 10 < 3 {
                i32::from(t >= COUNT / 2)
            } else {
                rng.random_range(-1..2)
            }
        };
        (
            circuit.input(&format!("x{t}")).unwrap(),
            Column::Values((0..20).map(value).collect()),
        )
    };
    let columns: Vec<(VarId, Column)> = (0..COUNT).map(&mut column).collect();
    let evaluator = circuit.evaluator(&EvalOptions::default()).unwrap();
    let answers = |range| {
        evaluator
            .run(&part(&net, &circuit, &columns, range))
            .unwrap()
    };
    let (whole, first, second) = (answers(0..20), answers(0..8), answers(8..20));
    assert_eq!(
        bits(&whole.posteriors),
        bits(&[first.posteriors, second.posteriors].concat())
    );
    assert_eq!(
        bits(&whole.log_evidence),
        bits(&[first.log_evidence, second.log_evidence].concat())
    );
}

fn model_at(name: &str) -> Network {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name);
    Network::read(if path.exists() {
        path.as_path()
    } else {
        std::path::Path::new(name)
    })
    .unwrap()
}
