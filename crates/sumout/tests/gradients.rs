//! Derivatives against central differences.

use crate::common::seeds;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::model::random::{Shape, network};
use sumout::tensor::TableId;
use sumout::{
    Batch, Circuit, Column, Differentiator, EvalOptions, Level, Network, Options, Precision, Query,
    VarId,
};

const LEVELS: [Level; 6] = [
    Level::Classical,
    Level::Paper,
    Level::Functional,
    Level::Tables,
    Level::Support,
    Level::Compiled,
];

/// Cross entropy with random labels, or the logarithm of the probability of the evidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    CrossEntropy,
    Likelihood,
}

impl Loss {
    fn value(self, row: usize, posterior: &[f64], log_evidence: f64) -> f64 {
        match self {
            Loss::CrossEntropy => -posterior[row % posterior.len()].max(1e-300).ln(),
            Loss::Likelihood => -log_evidence,
        }
    }

    fn derive(self, row: usize, posterior: &[f64], to: &mut [f64]) {
        let label = row % posterior.len();
        for (k, (to, p)) in to.iter_mut().zip(posterior).enumerate() {
            *to = match self {
                Loss::CrossEntropy => p - f64::from(k == label),
                Loss::Likelihood => -p,
            };
        }
    }
}

struct Case<'c> {
    circuit: &'c Circuit,
    tables: Vec<TableId>,
    inputs: Vec<VarId>,
    loss: Loss,
}

impl Case<'_> {
    fn ready(&self, precision: Precision, threads: usize) -> Differentiator {
        let running = EvalOptions::default()
            .with_precision(precision)
            .with_threads(threads);
        self.circuit
            .differentiator(&self.tables, &self.inputs, &running)
            .unwrap()
    }

    fn total(&self, ready: &Differentiator, batch: &Batch) -> f64 {
        let found = ready
            .run(batch, &|row, p, to| self.loss.derive(row, p, to))
            .unwrap();
        let width = found.posteriors.len() / batch.len();
        let value = |row: usize| {
            self.loss.value(
                row,
                &found.posteriors[row * width..][..width],
                found.log_evidence[row].unwrap(),
            )
        };
        (0..batch.len()).map(value).sum()
    }
}

/// Soft evidence, all of it positive, so that every row is possible.
fn likelihoods(circuit: &Circuit, rows: usize, rng: &mut ChaCha8Rng) -> Vec<(VarId, Vec<f64>)> {
    let column = |input: VarId| {
        let card = circuit.variable(input).values.len();
        (
            input,
            (0..rows * card)
                .map(|_| rng.random_range(0.1..1.0))
                .collect(),
        )
    };
    circuit.inputs().map(column).collect()
}

fn batch(circuit: &Circuit, rows: usize, columns: &[(VarId, Vec<f64>)]) -> Batch {
    let mut batch = Batch::new(rows);
    for (input, numbers) in columns {
        batch
            .insert(circuit, *input, Column::Likelihoods(numbers.clone()))
            .unwrap();
    }
    batch
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-6 * (1.0 + expected.abs())
}

pub fn check(circuit: &Circuit, loss: Loss, rng: &mut ChaCha8Rng) {
    let rows = rng.random_range(1..40);
    let tables: Vec<TableId> = circuit
        .graph()
        .ops()
        .filter_map(|(_, op)| op.table())
        .collect();
    let case = Case {
        circuit,
        tables,
        inputs: circuit.inputs().collect(),
        loss,
    };
    let columns = likelihoods(circuit, rows, rng);
    let batch = |columns: &[(VarId, Vec<f64>)]| batch(circuit, rows, columns);
    let mut ready = case.ready(Precision::F64, 1);
    let found = ready
        .run(&batch(&columns), &|row, p, to| loss.derive(row, p, to))
        .unwrap();
    const STEP: f64 = 1e-5;
    for (t, &table) in case.tables.iter().enumerate() {
        let values = circuit.graph().tables()[table.index()].values.clone();
        for i in 0..values.len().min(5) {
            let mut at = |h: f64| {
                let mut moved = values.clone();
                moved[i] += h;
                ready.set_table(table, &moved);
                ready.refresh();
                case.total(&ready, &batch(&columns))
            };
            if values[i] < STEP {
                continue; // an entry that became negative would be no number for the bounds
            }
            let expected = (at(STEP) - at(-STEP)) / (2.0 * STEP);
            at(0.0);
            assert!(
                close(found.tables[t][i], expected),
                "{table:?}[{i}]: {} {expected}",
                found.tables[t][i]
            );
        }
    }
    for (input, derivatives) in &found.evidence {
        let at = columns.iter().position(|(v, _)| v == input).unwrap();
        let card = derivatives.len() / rows;
        if card < circuit.variable(*input).values.len() {
            continue;
        }
        let i = rng.random_range(0..derivatives.len());
        let moved = |h: f64| {
            let mut columns = columns.clone();
            columns[at].1[i] += h;
            case.total(&ready, &batch(&columns))
        };
        let expected = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
        assert!(
            close(derivatives[i], expected),
            "{input:?}[{i}]: {} {expected}",
            derivatives[i]
        );
    }
    let short = case
        .ready(Precision::F32, 2)
        .run(&batch(&columns), &|row, p, to| loss.derive(row, p, to))
        .unwrap();
    for (x, y) in short
        .tables
        .iter()
        .flatten()
        .zip(found.tables.iter().flatten())
    {
        assert!(
            (x - y).abs() <= 1e-4 * (1.0 + y.abs()) * rows as f64,
            "{x} {y}"
        );
    }
}

#[test]
fn derivatives_are_central_differences() {
    for seed in seeds(60) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let nodes = 3 + (seed % 6) as usize;
        let net = network(
            &Shape {
                nodes,
                max_values: 3,
                max_parents: 3,
                functional: 0.3 * (seed % 3) as f64,
            },
            seed,
        )
        .unwrap();
        let target = sumout::internals::var(rng.random_range(0..nodes));
        let name = |v: VarId| net.variable(v).name.clone();
        let others: Vec<String> = net
            .ids()
            .filter(|v| *v != target && rng.random_bool(0.7))
            .map(name)
            .collect();
        for level in LEVELS {
            let options = Options::default()
                .with_level(level)
                .with_seed(seed)
                .with_effort(0.01);
            let one = net
                .compile(&Query::of(name(target)).given(others.clone()), &options)
                .unwrap();
            let all = net.compile(&Query::all(), &options).unwrap();
            check(&one, Loss::CrossEntropy, &mut rng);
            check(&one, Loss::Likelihood, &mut rng);
            check(&all, Loss::Likelihood, &mut rng);
        }
    }
}

#[test]
fn derivatives_do_not_depend_on_the_number_of_threads() {
    let net = Network::read("rect:5").unwrap();
    let circuit = net
        .compile(&Query::of("label").given(["pixel_*"]), &Options::default())
        .unwrap();
    let tables: Vec<TableId> = circuit
        .graph()
        .ops()
        .filter_map(|(_, op)| op.table())
        .collect();
    let case = Case {
        circuit: &circuit,
        tables,
        inputs: vec![],
        loss: Loss::CrossEntropy,
    };
    let columns = likelihoods(&circuit, 2000, &mut ChaCha8Rng::seed_from_u64(1));
    let batch = batch(&circuit, 2000, &columns);
    let [one, three] = [1, 3].map(|threads| {
        case.ready(Precision::F32, threads)
            .run(&batch, &|row, p, to| case.loss.derive(row, p, to))
            .unwrap()
    });
    assert_eq!(one, three);
}

/// No evidence reaches the target: all examples have its prior, and its table has a derivative all
/// the same.
#[test]
fn a_circuit_without_evidence_is_differentiated() {
    let asia = Network::read("asia").unwrap();
    let query = Query::of("lung").trainable(["lung", "smoke"]);
    let circuit = asia.compile(&query, &Options::default()).unwrap();
    check(
        &circuit,
        Loss::CrossEntropy,
        &mut ChaCha8Rng::seed_from_u64(1),
    );
    let tables: Vec<TableId> = circuit.graph().origins().keys().copied().collect();
    let ready = circuit
        .differentiator(&tables, &[], &EvalOptions::default())
        .unwrap();
    let found = ready
        .run(&Batch::new(3), &|row, p, to| {
            Loss::CrossEntropy.derive(row, p, to)
        })
        .unwrap();
    assert!((found.posteriors[0] - 0.055).abs() < 1e-6);
    assert!(found.log_evidence[0].unwrap().abs() < 1e-6);
    assert!(found.tables.iter().flatten().any(|x| x.abs() > 0.1));
}

/// A state that one observation rules out, and all others make very likely: its derivative is too
/// large for a number.
#[test]
fn derivatives_that_are_too_large_spoil_no_others() {
    let mut b = Network::builder("ruled out");
    let class = b.variable("class", ["a", "b"]);
    b.table(class, [], [0.5, 0.5]);
    for i in 0..20 {
        let x = b.variable(format!("x{i}"), ["on", "off"]);
        let table = if i == 0 {
            [0.5, 0.5, 0.0, 1.0]
        } else {
            [1e-3, 0.999, 0.999, 1e-3]
        };
        b.table(x, [class], table);
    }
    let net = b.build().unwrap();
    let query = Query::of("class").given(["x*"]).trainable(["class"]);
    for level in LEVELS {
        let circuit = net
            .compile(
                &query,
                &Options::default().with_level(level).with_effort(0.01),
            )
            .unwrap();
        let tables: Vec<TableId> = circuit
            .graph()
            .ops()
            .filter_map(|(_, op)| op.table())
            .collect();
        let mut batch = Batch::new(40);
        for input in circuit.inputs() {
            batch
                .insert(&circuit, input, Column::Values(vec![0; 40]))
                .unwrap();
        }
        let [short, long] = Precision::ALL.map(|precision| {
            let running = EvalOptions::default().with_precision(precision);
            let ready = circuit.differentiator(&tables, &[], &running).unwrap();
            ready
                .run(&batch, &|_, p, to| Loss::CrossEntropy.derive(0, p, to))
                .unwrap()
        });
        assert!(
            short.tables.iter().flatten().all(|x| x.is_finite()),
            "{level}"
        );
        assert!(
            short
                .log_evidence
                .iter()
                .all(|log| log.unwrap().is_finite()),
            "{level}"
        );
        for (x, y) in short
            .tables
            .iter()
            .flatten()
            .zip(long.tables.iter().flatten())
        {
            assert!((x - y).abs() <= 1e-4 * (1.0 + y.abs()), "{level}: {x} {y}");
        }
    }
}

/// Each example's derivative is a number of 32 bits, and their sum is not.
#[test]
fn derivatives_whose_sum_is_too_large_are_added_up_in_double_precision() {
    let net = Network::read("asia").unwrap();
    let circuit = net
        .compile(
            &Query::of("lung").given(["xray"]).trainable(["lung"]),
            &Options::default(),
        )
        .unwrap();
    let tables: Vec<TableId> = circuit.graph().origins().keys().copied().collect();
    let batch = Batch::new(40)
        .with(&circuit, "xray", Column::Values(vec![0; 40]))
        .unwrap();
    let [short, long] = Precision::ALL.map(|precision| {
        let ready = circuit
            .differentiator(
                &tables,
                &[],
                &EvalOptions::default().with_precision(precision),
            )
            .unwrap();
        ready
            .run(&batch, &|_, p, to| {
                to.iter_mut().zip(p).for_each(|(to, p)| *to = p * 1e38)
            })
            .unwrap()
    });
    for (x, y) in short.tables[0].iter().zip(&long.tables[0]) {
        assert!(x.is_finite() && (x / y - 1.0).abs() < 1e-5, "{x} {y}");
    }
}
