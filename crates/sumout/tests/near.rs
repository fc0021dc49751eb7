//! Nearly functional tables as functions: exact where it can be, and the error told where it
//! cannot.

use crate::common::{close, enumerate};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::model::Body;
use sumout::model::random::{Shape, network};
use sumout::{Evidence, Finding, Level, Network, Options, Query, VarId};

/// A random network whose functions are wrong with a small probability.
fn noisy(nodes: usize, seed: u64, noise: f64) -> Network {
    let shape = Shape {
        nodes,
        max_values: 3,
        max_parents: 3,
        functional: 0.6,
    };
    let net = network(&shape, seed).unwrap();
    let mut b = Network::builder("noisy");
    let vars: Vec<_> = net
        .variables()
        .iter()
        .map(|v| b.variable(&v.name, &v.values))
        .collect();
    for (v, cpt) in net.ids().zip(net.cpts()) {
        let mut table = cpt.table(&net.cards());
        if matches!(cpt.body(), Body::Function(_)) {
            let rest = noise / (net.card(v) - 1) as f64;
            table
                .iter_mut()
                .for_each(|p| *p = if *p == 1.0 { 1.0 - noise } else { rest });
        }
        b.table(
            vars[v.index()],
            cpt.parents().iter().map(|p| vars[p.index()]),
            table,
        );
    }
    b.build().unwrap()
}

fn random_query(net: &Network, seed: u64) -> (Query, Vec<VarId>) {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let target = sumout::internals::var(rng.random_range(0..net.variables().len()));
    let inputs: Vec<VarId> = net
        .ids()
        .filter(|&v| v != target && rng.random::<f64>() < 0.6)
        .collect();
    let name = |v: VarId| net.variable(v).name.clone();
    (
        Query::of(name(target)).given(inputs.iter().map(|&v| name(v))),
        inputs,
    )
}

/// The largest error of a plan's posteriors on cases of the network, by enumeration.
fn true_error(net: &Network, query: &Query, inputs: &[VarId], options: &Options) -> f64 {
    let circuit = net.compile(query, options).unwrap();
    let mut sampler = net.sampler(99).unwrap();
    let mut largest = 0.0f64;
    for _ in 0..100 {
        let case = sampler.draw();
        let mut evidence = Evidence::new();
        inputs.iter().for_each(|&v| {
            evidence
                .insert(net, v, Finding::Hard(case[v.index()] as usize))
                .unwrap()
        });
        let (answer, truth) = (
            circuit.answer(&evidence).unwrap(),
            enumerate(net, &evidence),
        );
        let (target, posterior) = &answer.posteriors()[0];
        for (p, joint) in posterior.iter().zip(&truth.joints[target.index()]) {
            largest = largest.max((p - joint / truth.evidence).abs());
        }
    }
    largest
}

#[test]
fn the_estimate_is_of_the_order_of_the_true_error() {
    let options = Options::default()
        .with_level(Level::Paper)
        .with_near(0.05)
        .with_effort(0.0);
    let (mut approximate, mut within) = (0, 0);
    for seed in 0..150 {
        let net = noisy(5 + seed as usize % 4, seed, 0.03);
        let (query, inputs) = random_query(&net, seed);
        let report = net.plan(&query, &options).unwrap().report().clone();
        let near = report.near().unwrap();
        let (estimate, truth) = (
            near.estimated_error().unwrap(),
            true_error(&net, &query, &inputs, &options),
        );
        if near.samples() == 0 {
            assert!(truth < 1e-9, "seed {seed}: {near:?}, {truth}");
        } else if truth > 1e-9 {
            approximate += 1;
            within += usize::from(estimate > 0.3 * truth && estimate < 3.0 * truth);
        }
    }
    assert!(
        approximate > 15 && within * 10 >= approximate * 8,
        "{within} of {approximate}"
    );
}

#[test]
fn nothing_near_is_exactly_the_exact_plan() {
    let exact = Options::default().with_effort(0.01);
    for seed in 0..20 {
        let net = noisy(12, seed, 0.0);
        let (query, _) = random_query(&net, seed);
        let plan = |near| net.plan(&query, &exact.clone().with_near(near)).unwrap();
        let (none, some) = (plan(0.0), plan(1e-7));
        assert_eq!(none.report().near(), None);
        assert_eq!(none.jointree().dot(), some.jointree().dot());
        let near = some.report().near().unwrap();
        assert_eq!(
            (
                near.functional().len(),
                near.estimated_error(),
                near.samples()
            ),
            (0, Some(0.0), 0)
        );
    }
}

#[test]
fn one_question_is_answered_exactly_where_that_fits() {
    let net = noisy(9, 3, 0.01);
    let evidence = Evidence::new()
        .likelihood(&net, "x8", vec![0.3; net.card(net.find("x8").unwrap())])
        .unwrap();
    let options = Options::default().with_near(0.1);
    let answer = net.query(&[], &evidence, &options).unwrap();
    assert!(close(
        answer.log_evidence(),
        enumerate(&net, &evidence).evidence.ln(),
        1e-12
    ));
    assert_eq!(
        answer.near().unwrap().note(),
        Some("the exact answer fits, and is given")
    );
    assert_eq!(
        net.query(&[], &evidence, &Options::default())
            .unwrap()
            .near(),
        None
    );
}

/// Eight noisy functions of four sources; each pair of them is seen.
fn wide() -> Network {
    let mut b = Network::builder("wide");
    let yes_no = ["yes", "no"];
    let sources: Vec<_> = (0..4)
        .map(|i| b.variable(format!("s{i}"), yes_no))
        .collect();
    for &s in &sources {
        b.table(s, [], [0.3, 0.7]);
    }
    let parts: Vec<_> = (0..8)
        .map(|i| b.variable(format!("f{i}"), yes_no))
        .collect();
    for (i, &f) in parts.iter().enumerate() {
        b.table(
            f,
            [sources[i % 4], sources[(i + 1 + i / 4) % 4]],
            [0.999, 0.001, 0.001, 0.999, 0.001, 0.999, 0.999, 0.001],
        );
    }
    for i in 0..8 {
        for j in i + 1..8 {
            let seen = b.variable(format!("e{i}{j}"), yes_no);
            b.table(
                seen,
                [parts[i], parts[j]],
                [0.9, 0.1, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8],
            );
        }
    }
    b.build().unwrap()
}

#[test]
fn a_question_that_does_not_fit_is_approximated() {
    let net = wide();
    let mut evidence = Evidence::new();
    for v in net.matching("e*").unwrap() {
        evidence
            .insert(&net, v, Finding::Hard(v.index() % 2))
            .unwrap();
    }
    let target = [net.find("s0").unwrap()];
    let exact = net.query(&target, &evidence, &Options::default()).unwrap();
    let memory = Some(3000);
    let refused = net.query(&target, &evidence, &Options::default().with_memory(memory));
    assert!(refused.is_err(), "{refused:?}");
    let near = net
        .query(
            &target,
            &evidence,
            &Options::default().with_memory(memory).with_near(0.002),
        )
        .unwrap();
    let about = near.near().unwrap();
    assert_eq!(
        (about.functional().len(), about.estimated_error()),
        (8, None)
    );
    assert!(
        about
            .note()
            .as_ref()
            .unwrap()
            .contains("of memory, and the limit is"),
        "{about:?}"
    );
    let error = (exact.posteriors()[0].1[0] - near.posteriors()[0].1[0]).abs();
    assert!(error > 0.0 && error < 0.02, "{error}");
}

#[test]
fn only_small_probabilities_are_near() {
    let net = noisy(5, 0, 0.1);
    for near in [-0.1, 0.5, f64::NAN] {
        let options = Options::default().with_near(near);
        assert!(
            net.query(&[], &Evidence::new(), &options)
                .unwrap_err()
                .to_string()
                .contains("such as 0.01")
        );
        assert!(net.plan(&Query::of("x1"), &options).is_err());
    }
}

#[test]
fn the_error_is_estimated_where_values_are_promised_as_well() {
    let options = Options::default()
        .with_level(Level::Paper)
        .with_near(0.05)
        .with_effort(0.0);
    let mut estimated = 0;
    for seed in 0..40 {
        let net = noisy(5 + seed as usize % 4, seed, 0.03);
        let (query, inputs) = random_query(&net, seed);
        let query = query.hard(inputs.iter().take(2).map(|&v| net.variable(v).name.clone()));
        let plan = net.plan(&query, &options).unwrap();
        let near = plan.report().near().unwrap();
        let truth = true_error(&net, &query, &inputs, &options);
        assert!(
            near.samples() > 0 || truth < 1e-9,
            "seed {seed}: {near:?}, {truth}"
        );
        estimated += usize::from(near.samples() > 0 && near.estimated_error().is_some());
    }
    assert!(estimated > 0);
}
