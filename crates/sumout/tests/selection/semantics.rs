//! Questions against the semantics of testing networks, taken literally: node by node, each test by
//! enumeration.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::model::{Comparison, Selection, SelectionKind, Sight};
use sumout::{
    Batch, Column, EvalOptions, Evidence, Finding, Level, Network, Options, Precision, Query, VarId,
};

use super::literal::{self, Literal};
use super::random::{Kind, random, reordered};
use super::{name, options};
use crate::common::{batch, close, random_evidence};

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
                case.check(answer.posteriors(), answer.log_evidence());
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

/// The selection does not depend on the order of the variables, by the generalised rule.
#[test]
fn the_order_of_variables_does_not_matter() {
    let mut different = 0;
    for seed in 0..40 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let net = random(&mut rng, Kind::Sigmoid, Sight::Generalised);
        let evidence = random_evidence(&net, &mut rng);
        let other = reordered(&net, &mut rng);
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
            sumout::internals::var(rng.random_range(0..n)),
            sumout::internals::var(rng.random_range(0..n)),
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

/// A step makes a function of the parents of a CPT whose copies are functions, and plans use that.
#[test]
fn hard_tests_of_functions_are_functions() {
    let build = |selection: SelectionKind| {
        let mut b = Network::builder("copied");
        let u = b.variable("u", ["a", "b", "c", "d"]);
        let x = b.variable("x", ["a", "b", "c", "d"]);
        b.table(u, [], [0.1, 0.2, 0.3, 0.4]);
        let function = |f: fn(usize) -> usize| -> Vec<f64> {
            (0..16)
                .map(|at| f64::from(u8::from(at % 4 == f(at / 4))))
                .collect()
        };
        b.selected(
            x,
            [u],
            [function(|u| u), function(|u| 3 - u)],
            Selection::of_rows(4, &[0.25], selection),
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
        (SelectionKind::Step(Comparison::AtLeast), true),
        (
            SelectionKind::Sigmoid {
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
            plan.report().functional_variables() >= 2,
            copies,
            "{}",
            plan.report()
        );
        assert!(
            plan.report().promised_functions().is_empty(),
            "{}",
            plan.report()
        );
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
    b.selected(
        x,
        [u],
        copies,
        Selection::of_rows(2, &[0.6], SelectionKind::Step(Comparison::AtLeast)),
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
    b.selected(
        x,
        parents,
        [copy.clone(), copy],
        Selection::of_rows(1 << 12, &[0.5], SelectionKind::Step(Comparison::AtLeast)),
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
        let selection = Selection {
            copies: 2,
            thresholds: vec![p, 1.0],
            kind: SelectionKind::Step(Comparison::AtLeast),
        };
        b.selected(
            x,
            [u],
            [[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]],
            selection,
        );
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
                .evaluator(&EvalOptions::default().with_precision(precision))
                .unwrap();
            assert!(
                close(ready.run(&Batch::new(1)).unwrap().row(0)[0], p, 1e-6),
                "{p} {precision}"
            );
        }
    }
}

/// Very improbable evidence is not impossible.
#[test]
fn steep_sigmoids_are_never_zero() {
    let mut b = Network::builder("steep");
    let u = b.variable("u", ["a", "b"]);
    let x = b.variable("x", ["t", "f"]);
    b.table(u, [], [0.5, 0.5]);
    let selection = Selection::of_rows(
        2,
        &[0.3],
        SelectionKind::Sigmoid {
            slope: 64.0,
            is_learned: false,
        },
    );
    b.selected(
        x,
        [u],
        [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]],
        selection,
    );
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
            .evaluator(&EvalOptions::default().with_precision(precision))
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
