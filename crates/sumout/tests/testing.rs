//! Testing networks against their semantics, taken literally: node by node, each test by
//! enumeration.

mod common;
#[path = "testing/literal.rs"]
mod literal;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::model::{Comparison, Selection, Sight, Test};
use sumout::{
    Batch, Circuit, Column, EvalOptions, Evidence, Finding, Level, Network, Options, Precision,
    Query, VarId,
};

use common::{LEVELS, batch, close, in_parallel, random_evidence};
use literal::{Kind, Literal, random};

fn options(level: Level, seed: u64) -> Options {
    Options {
        level,
        seed,
        effort: 0.01,
        ..Options::default()
    }
}

fn name(net: &Network, v: VarId) -> String {
    net.variable(v).name.clone()
}

/// A network, evidence on some of it, and what comes out literally.
struct Case {
    net: Network,
    evidence: Evidence,
    truth: Literal,
}

impl Case {
    /// None if a step is so near its threshold that rounding decides.
    fn new(seed: u64, kind: Kind, sight: Sight) -> Option<Self> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let net = random(&mut rng, kind, sight);
        let evidence = random_evidence(&net, &mut rng);
        let truth = Literal::new(&net, &evidence);
        (!truth.is_close).then_some(Case {
            net,
            evidence,
            truth,
        })
    }

    fn check(&self, posteriors: &[(VarId, Vec<f64>)], log_evidence: f64) {
        let net = &self.net;
        match self.truth.evidence {
            0.0 => assert_eq!(
                log_evidence,
                f64::NEG_INFINITY,
                "{net:?} {:?}",
                self.evidence
            ),
            p => assert!(
                close(log_evidence, p.ln(), 1e-9),
                "{log_evidence} {}: {net:?} {:?}",
                p.ln(),
                self.evidence
            ),
        }
        for (v, found) in posteriors.iter().filter(|_| self.truth.evidence > 0.0) {
            for (x, joint) in found.iter().zip(&self.truth.joints[v.index()]) {
                let expected = joint / self.truth.evidence;
                assert!(
                    close(*x, expected, 1e-9),
                    "{v:?}: {x} {expected}: {net:?} {:?}",
                    self.evidence
                );
            }
        }
    }
}

#[test]
fn queries_are_what_the_semantics_says() {
    let mut impossible = 0;
    for kind in Kind::ALL {
        for (s, sight) in Sight::ALL.into_iter().enumerate() {
            for seed in 0..60 {
                let Some(case) = Case::new(seed * 3 + s as u64, kind, sight) else {
                    continue;
                };
                let answer = case
                    .net
                    .query(&[], &case.evidence, &options(Level::Auto, seed))
                    .unwrap();
                case.check(&answer.posteriors(), answer.log_evidence());
                impossible += usize::from(answer.is_impossible());
                let best = case
                    .net
                    .mpe(&case.evidence, &options(Level::Auto, seed))
                    .unwrap();
                assert!(
                    close(best.log_probability().exp(), case.truth.best, 1e-9),
                    "{kind:?} {sight}"
                );
            }
        }
    }
    assert!(impossible > 5, "only {impossible} impossible cases");
}

/// Every level, with hard, soft and no evidence side by side in a batch.
#[test]
fn circuits_select_for_each_example() {
    for kind in Kind::ALL {
        for (s, sight) in Sight::ALL.into_iter().enumerate() {
            in_parallel(12, |seed| {
                let mut rng = ChaCha8Rng::seed_from_u64(1000 + seed * 3 + s as u64);
                let net = random(&mut rng, kind, sight);
                let target = VarId::new(rng.random_range(0..net.variables().len()));
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
            .evaluator(&EvalOptions {
                precision,
                threads: 1,
                ..EvalOptions::default()
            })
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
            again.tested().collect::<Vec<_>>(),
            circuit.tested().collect::<Vec<_>>()
        );
        assert!(circuit.tested().count() > 0);
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

/// What is selected does not depend on the order of the variables, by the generalised rule.
#[test]
fn the_order_of_variables_does_not_matter() {
    let mut different = 0;
    for seed in 0..40 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let net = random(&mut rng, Kind::Sigmoid, Sight::Generalised);
        let evidence = random_evidence(&net, &mut rng);
        let other = literal::reordered(&net, &mut rng);
        different += usize::from(net.ids().any(|v| name(&net, v) != name(&other, v)));
        let mut same = Evidence::new();
        for (v, finding) in evidence.iter() {
            same.insert(&other, other.find(&name(&net, v)).unwrap(), finding.clone())
                .unwrap();
        }
        let [first, second] = [(&net, &evidence), (&other, &same)]
            .map(|(net, evidence)| net.query(&[], evidence, &Options::default()).unwrap());
        assert!(close(
            first.log_evidence().exp(),
            second.log_evidence().exp(),
            1e-9
        ));
        for (v, posterior) in first.posteriors() {
            let of = other.find(&name(&net, *v)).unwrap();
            let (_, found) = second.posteriors().iter().find(|(u, _)| *u == of).unwrap();
            assert!(
                posterior
                    .iter()
                    .zip(found)
                    .all(|(x, y)| close(*x, *y, 1e-9))
            );
        }
    }
    assert!(
        different > 10,
        "only {different} networks have another order"
    );
}

/// Evidence that d-separation makes irrelevant changes no posterior, although it may change what
/// others select.
#[test]
fn d_separated_evidence_is_irrelevant() {
    let mut checked = 0;
    for seed in 0..300 {
        let mut rng = ChaCha8Rng::seed_from_u64(500 + seed);
        let net = random(&mut rng, Kind::Sigmoid, Sight::Generalised);
        let n = net.variables().len();
        let (x, y) = (
            VarId::new(rng.random_range(0..n)),
            VarId::new(rng.random_range(0..n)),
        );
        let given = random_evidence(&net, &mut rng).without(x).without(y);
        let is_hard = given
            .iter()
            .all(|(_, finding)| matches!(finding, Finding::Hard(_)));
        if x == y || !is_hard || !literal::is_d_separated(&net, x, y, &given) {
            continue;
        }
        let before = net.query(&[x], &given, &Options::default()).unwrap();
        let mut more = given.clone();
        more.insert(&net, y, Finding::Hard(0)).unwrap();
        let after = net.query(&[x], &more, &Options::default()).unwrap();
        if before.is_impossible() || after.is_impossible() {
            continue;
        }
        checked += 1;
        let same = before.posteriors()[0]
            .1
            .iter()
            .zip(&after.posteriors()[0].1)
            .all(|(a, b)| close(*a, *b, 1e-9));
        assert!(same, "{x:?} {y:?} {net:?} {given:?}");
    }
    assert!(checked > 15, "only {checked} cases");
}

/// Derivatives through selections, with respect to evidence, are central differences.
#[test]
fn derivatives_with_respect_to_evidence_go_through_tests() {
    for (k, kind) in Kind::ALL.into_iter().enumerate() {
        for seed in 0..12 {
            let mut rng = ChaCha8Rng::seed_from_u64(900 + 31 * k as u64 + seed);
            let net = random(&mut rng, kind, Sight::Generalised);
            let target = VarId::new(rng.random_range(0..net.variables().len()));
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
    let running = EvalOptions {
        precision: Precision::F64,
        threads: 1,
        ..EvalOptions::default()
    };
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

/// A step makes a function of the parents of a CPT whose copies are functions, and plans use that.
#[test]
fn hard_tests_of_functions_are_functions() {
    let build = |selection: Selection| {
        let mut b = Network::builder("copied");
        let u = b.variable("u", ["a", "b", "c", "d"]);
        let x = b.variable("x", ["a", "b", "c", "d"]);
        b.table(u, [], [0.1, 0.2, 0.3, 0.4]);
        let function = |f: fn(usize) -> usize| -> Vec<f64> {
            (0..16)
                .map(|at| f64::from(u8::from(at % 4 == f(at / 4))))
                .collect()
        };
        b.tested(
            x,
            [u],
            [function(|u| u), function(|u| 3 - u)],
            Test::of_rows(4, &[0.25], selection),
        );
        for i in 0..4 {
            let y = b.variable(format!("y{i}"), ["t", "f"]);
            let w = b.variable(format!("w{i}"), ["t", "f"]);
            b.table(w, [u], [0.9, 0.1, 0.8, 0.2, 0.3, 0.7, 0.4, 0.6]);
            b.table(
                y,
                [x, w],
                (0..8)
                    .flat_map(|i| [0.1 + 0.1 * f64::from(i), 0.9 - 0.1 * f64::from(i)])
                    .collect::<Vec<_>>(),
            );
        }
        b.build().unwrap()
    };
    for (selection, copies) in [
        (Selection::Step(Comparison::AtLeast), true),
        (
            Selection::Sigmoid {
                slope: 9.0,
                is_learned: false,
            },
            false,
        ),
    ] {
        let net = build(selection);
        let plan = net
            .plan(
                &Query::of("u").given(["y*", "w*"]),
                &options(Level::Functional, 0),
            )
            .unwrap();
        assert_eq!(
            plan.report().steps.functional_variables >= 2,
            copies,
            "{}",
            plan.report()
        );
        assert!(!plan.report().plan_dependent, "{}", plan.report());
    }
}

#[test]
fn a_value_is_impossible_if_it_is_in_no_copy() {
    let mut b = Network::builder("zeros");
    let u = b.variable("u", ["a", "b"]);
    let x = b.variable("x", ["p", "q", "r"]);
    b.table(u, [], [0.5, 0.5]);
    let copies = [
        [1.0, 0.0, 0.0, 1.0, 0.0, 0.0],
        [0.5, 0.5, 0.0, 0.5, 0.5, 0.0],
    ];
    b.tested(
        x,
        [u],
        copies,
        Test::of_rows(2, &[0.6], Selection::Step(Comparison::AtLeast)),
    );
    let net = b.build().unwrap();
    let circuit = net
        .compile(
            &Query::of("u").given(["x"]).trainable([""; 0]),
            &Options::default(),
        )
        .unwrap();
    assert_eq!(circuit.possible(net.find("x").unwrap()), [0, 1]);
    let batch = Batch::new(3)
        .with(&circuit, "x", Column::Values(vec![0, 1, 2]))
        .unwrap();
    let answers = circuit.evaluate(&batch).unwrap();
    // Nothing passes 0.6, so the first copy is selected, and `q` has probability zero.
    assert_eq!(
        [0, 1, 2].map(|row| answers.is_impossible(row)),
        [false, true, true]
    );
}

#[test]
fn networks_are_the_same_when_they_are_read_again() {
    for kind in Kind::ALL {
        for (seed, sight) in Sight::ALL.into_iter().enumerate() {
            let net = random(&mut ChaCha8Rng::seed_from_u64(seed as u64), kind, sight);
            let text =
                sumout::model::format::to_string(&net, sumout::Format::Json, Default::default())
                    .unwrap();
            let again =
                sumout::model::format::parse("again.json", text.as_bytes(), &Default::default())
                    .unwrap();
            assert_eq!(format!("{net:?}"), format!("{again:?}"));
            assert_eq!(net, again);
            let error =
                sumout::model::format::to_string(&net, sumout::Format::Bif, Default::default())
                    .unwrap_err();
            assert!(error.message().contains("selected by tests"), "{error}");
        }
    }
}

/// The posterior of so many joint states would need a table of the square of their number.
#[test]
fn tests_of_too_many_joint_states_are_refused() {
    let mut b = Network::builder("wide");
    let parents: Vec<_> = (0..12)
        .map(|i| b.variable(format!("u{i}"), ["t", "f"]))
        .collect();
    for &u in &parents {
        b.table(u, [], [0.5, 0.5]);
    }
    let x = b.variable("x", ["t", "f"]);
    let copy = vec![0.5; 1 << 13];
    b.tested(
        x,
        parents,
        [copy.clone(), copy],
        Test::of_rows(1 << 12, &[0.5], Selection::Step(Comparison::AtLeast)),
    );
    let error = b.build().unwrap_err();
    assert!(
        error.message().contains("4096 joint states")
            && error.advice().unwrap().contains("fewer parents"),
        "{error}"
    );
}

/// A posterior that is the table's own number is at its threshold, however it was computed.
#[test]
fn rounding_decides_no_test() {
    for p in [0.1, 0.3, 0.7, 0.9] {
        let mut b = Network::builder("edge");
        let u = b.variable("u", ["a", "b"]);
        let x = b.variable("x", ["t", "f"]);
        b.table(u, [], [p, 1.0 - p]);
        let test = Test {
            copies: 2,
            thresholds: vec![p, 1.0],
            selection: Selection::Step(Comparison::AtLeast),
        };
        b.tested(x, [u], [[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]], test);
        let net = b.build().unwrap();
        let answer = net
            .query(
                &[net.find("x").unwrap()],
                &Evidence::new(),
                &Options::default(),
            )
            .unwrap();
        assert!(
            close(answer.posteriors()[0].1[0], p, 1e-12),
            "{p}: {answer:?}"
        );
        let circuit = net
            .compile(&Query::of("x").given(["u"]), &Options::default())
            .unwrap();
        for precision in Precision::ALL {
            let ready = circuit
                .evaluator(&EvalOptions {
                    precision,
                    ..EvalOptions::default()
                })
                .unwrap();
            assert!(
                close(ready.run(&Batch::new(1)).unwrap().row(0)[0], p, 1e-6),
                "{p} {precision}"
            );
        }
    }
}

/// What is very improbable is not impossible.
#[test]
fn steep_sigmoids_are_never_zero() {
    let mut b = Network::builder("steep");
    let u = b.variable("u", ["a", "b"]);
    let x = b.variable("x", ["t", "f"]);
    b.table(u, [], [0.5, 0.5]);
    let test = Test::of_rows(
        2,
        &[0.3],
        Selection::Sigmoid {
            slope: 64.0,
            is_learned: false,
        },
    );
    b.tested(x, [u], [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]], test);
    let net = b.build().unwrap();
    let evidence = Evidence::new()
        .observe(&net, "u", "b")
        .unwrap()
        .observe(&net, "x", "t")
        .unwrap();
    let expected = (0.5 / (1.0 + (64.0f64 * 0.7).exp())).ln();
    let answer = net.query(&[], &evidence, &Options::default()).unwrap();
    assert!(
        close(answer.log_evidence(), expected, 1e-9),
        "{} {expected}",
        answer.log_evidence()
    );
    let circuit = net.compile(&Query::all(), &Options::default()).unwrap();
    for (precision, tolerance) in [(Precision::F64, 1e-9), (Precision::F32, 1e-4)] {
        let ready = circuit
            .evaluator(&EvalOptions {
                precision,
                ..EvalOptions::default()
            })
            .unwrap();
        let found = ready
            .run(&batch(&net, &circuit, std::slice::from_ref(&evidence)))
            .unwrap();
        assert!(
            close(found.log_evidence[0], expected, tolerance),
            "{precision}: {}",
            found.log_evidence[0]
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
            let target = VarId::new(rng.random_range(0..net.variables().len()));
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

/// A circuit's file with another header, and maybe another number in a table.
fn forged(
    bytes: &[u8],
    change: impl Fn(&mut serde_json::Value),
    number: Option<(&str, f64)>,
) -> Vec<u8> {
    let tensors = safetensors::SafeTensors::deserialize(bytes).unwrap();
    let (_, metadata) = safetensors::SafeTensors::read_metadata(bytes).unwrap();
    let mut metadata = metadata.metadata().clone().unwrap();
    let mut header = serde_json::from_str(&metadata["sumout"]).unwrap();
    change(&mut header);
    metadata.insert("sumout".to_owned(), header.to_string());
    let owned = tensors.names().into_iter().map(|name| {
        let tensor = tensors.tensor(name).unwrap();
        let mut data = tensor.data().to_vec();
        if let Some((_, x)) = number.filter(|(table, _)| *table == name) {
            data[..8].copy_from_slice(&x.to_le_bytes());
        }
        (name, tensor.dtype(), tensor.shape().to_vec(), data)
    });
    let owned: Vec<_> = owned.collect();
    let views = owned.iter().map(|(name, dtype, shape, data)| {
        (
            name.to_string(),
            safetensors::tensor::TensorView::new(*dtype, shape.clone(), data).unwrap(),
        )
    });
    safetensors::serialize(views.collect::<Vec<_>>(), Some(metadata)).unwrap()
}

/// Files are checked as if a stranger had written them: rules, and what they are applied to, must
/// fit together.
#[test]
fn rules_in_files_fit_what_they_are_applied_to() {
    use serde_json::{Value, json};
    let net = random(
        &mut ChaCha8Rng::seed_from_u64(5),
        Kind::Sigmoid,
        Sight::Generalised,
    );
    let circuit = net
        .compile(&Query::all(), &options(Level::Classical, 0))
        .unwrap();
    let bytes = circuit.to_bytes().unwrap();
    assert!(Circuit::from_bytes(&forged(&bytes, |_| (), None)).is_ok());
    let operations = |header: &Value| header["operations"].as_array().unwrap().clone();
    let select = |header: &Value| {
        operations(header)
            .iter()
            .position(|op| op.get("select").is_some())
            .unwrap()
    };
    let inputs = |header: &Value| {
        header["operations"][select(header)]["select"][0]
            .as_array()
            .unwrap()
            .clone()
    };
    let changes: [&dyn Fn(&mut Value); 11] = [
        &|h| h["rules"][0]["copies"] = json!(1),
        &|h| h["rules"][0]["copies"] = json!(5),
        &|h| h["rules"][0]["tested"] = json!(1000),
        &|h| h["rules"][0]["axis"] = json!(0),
        &|h| h["rules"][0]["by"] = json!("softmax"),
        &|h| h["rules"][0]["by"] = json!("linear"),
        &|h| {
            h["rules"]
                .as_array_mut()
                .unwrap()
                .push(json!({"tested": 0, "axis": 0, "copies": 2, "by": "linear"}))
        },
        &|h| h["axes"].as_array_mut().unwrap().push(json!(0)),
        &|h| h["aliases"] = json!([[h["visible"].clone(), 0]]),
        // What is tested is a table of the rule itself; and such a table is a tensor of the
        // circuit.
        &|h| {
            let (at, inputs) = (select(h), inputs(h));
            h["operations"][at]["select"][0][0] = inputs[1].clone();
        },
        &|h| {
            let (table, last) = (inputs(h)[1].clone(), operations(h).len() - 1);
            h["operations"][last] = json!({"project": [table, []]});
        },
    ];
    for (k, change) in changes.into_iter().enumerate() {
        let error = Circuit::from_bytes(&forged(&bytes, change, None)).unwrap_err();
        assert!(error.message().contains("not fit"), "{k}: {error}");
    }
    let gaps = format!(
        "table.{}",
        circuit.graph().rule_tables().next().unwrap().index()
    );
    let slope = format!(
        "table.{}",
        circuit.graph().rule_tables().nth(1).unwrap().index()
    );
    for (table, number) in [
        ("table.0", -0.5),
        (&*gaps, -0.5),
        (&*gaps, 2.0),
        (&*slope, 710.0),
        (&*slope, -800.0),
    ] {
        let error =
            Circuit::from_bytes(&forged(&bytes, |_| (), Some((table, number)))).unwrap_err();
        assert!(
            error.message().contains("does not fit"),
            "{table} {number}: {error}"
        );
    }
}
