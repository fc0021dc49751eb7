//! Every answer against brute force, on small random networks.

use crate::common::{close, enumerate, random_evidence, random_markov, seeds, weight};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::compile::Level;
use sumout::model::random::{Shape, network};
use sumout::{Evidence, Network, Options, VarId};

const SEEDS: u64 = 500;
const TOLERANCE: f64 = 1e-9;

/// Networks of 3 to 9 nodes that grow with the seed: with and without functions, with zeros, Markov
/// networks.
fn case(seed: u64) -> (Network, Evidence, ChaCha8Rng) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let nodes = 3 + (seed * 7 / SEEDS) as usize;
    let net = match seed % 4 {
        3 => random_markov(nodes, &mut rng),
        share => {
            let shape = Shape {
                nodes,
                max_values: 3,
                max_parents: 3,
                functional: 0.4 * share as f64,
            };
            network(&shape, seed).expect("the shape is sensible")
        }
    };
    let evidence = random_evidence(&net, &mut rng);
    (net, evidence, rng)
}

/// Every level, and every way to search: none, usual, long; with different seeds.
fn all_options(seed: u64) -> impl Iterator<Item = Options> {
    let ways = [
        (Level::Classical, 1e4),
        (Level::Paper, 1.0),
        (Level::Functional, 0.0),
        (Level::Functional, 1.0),
        (Level::Functional, 1e4),
        (Level::Tables, 0.0),
        (Level::Tables, 1e4),
        (Level::Support, 1.0),
        (Level::Compiled, 0.0),
        (Level::Auto, 1.0),
        (Level::Auto, 1e4),
    ];
    ways.into_iter().map(move |(level, effort)| {
        Options::default()
            .with_level(level)
            .with_seed(seed)
            .with_effort(effort)
    })
}

fn check(net: &Network, targets: &[VarId], evidence: &Evidence, options: &Options) {
    let truth = enumerate(net, evidence);
    let answer = net
        .query(targets, evidence, options)
        .expect("a small network fits in memory");
    let context = || format!("targets {targets:?}, {evidence:?}, {options:?}\n{net:?}");
    assert_eq!(
        answer.is_impossible(),
        truth.evidence == 0.0,
        "{}",
        context()
    );
    if answer.is_impossible() {
        assert!(answer.posteriors().is_empty());
        return;
    }
    assert!(
        close(answer.log_evidence(), truth.evidence.ln(), TOLERANCE),
        "{}",
        context()
    );
    let asked = if targets.is_empty() {
        net.variables().len()
    } else {
        targets.len()
    };
    assert_eq!(answer.posteriors().len(), asked);
    for (v, posterior) in answer.posteriors() {
        for (p, joint) in posterior.iter().zip(&truth.joints[v.index()]) {
            assert!(
                close(*p, joint / truth.evidence, TOLERANCE),
                "{v:?}: {posterior:?}, {}",
                context()
            );
        }
    }
}

#[test]
fn posteriors_agree_with_brute_force() {
    for seed in seeds(SEEDS) {
        let (net, evidence, mut rng) = case(seed);
        let n = net.variables().len();
        let one = sumout::internals::var(rng.random_range(0..n));
        let two = sumout::internals::var(rng.random_range(0..n));
        for options in all_options(seed) {
            check(&net, &[one], &evidence, &options);
            check(&net, &[two, one], &evidence, &options);
            check(&net, &[], &evidence, &options);
        }
    }
}

#[test]
fn explanations_agree_with_brute_force() {
    for seed in seeds(SEEDS) {
        let (net, evidence, _) = case(seed);
        let truth = enumerate(&net, &evidence);
        for options in all_options(seed) {
            let explanation = net
                .mpe(&evidence, &options)
                .expect("a small network fits in memory");
            let context =
                || format!("seed {seed}, {evidence:?}, {options:?}, {explanation:?}\n{net:?}");
            match &explanation.assignment() {
                None => assert_eq!(truth.best, 0.0, "{}", context()),
                Some(states) => {
                    let p = weight(&net, &evidence, &net.cards(), states);
                    assert!(close(p.ln(), truth.best.ln(), TOLERANCE), "{}", context());
                    assert!(
                        close(explanation.log_probability(), p.ln(), TOLERANCE),
                        "{}",
                        context()
                    );
                }
            }
        }
    }
}

/// Evidence on a part that is cut off from the target multiplies into P(e), and can make it
/// impossible.
#[test]
fn evidence_that_is_cut_off_from_the_target_still_counts() {
    let mut b = Network::builder("two parts");
    let a = b.variable("a", ["yes", "no"]);
    let c = b.variable("c", ["yes", "no"]);
    let d = b.variable("d", ["yes", "no"]);
    b.table(a, [], [0.3, 0.7]);
    b.table(c, [], [0.25, 0.75]);
    b.function(d, [c], |u| u[0]);
    let net = b.build().unwrap();
    let target = [net.find("a").unwrap()];
    let ask = |evidence: Evidence| net.query(&target, &evidence, &Options::default()).unwrap();

    let answer = ask(Evidence::new().observe(&net, "d", "yes").unwrap());
    assert!(close(answer.log_evidence(), 0.25f64.ln(), 1e-12));
    assert!(close(answer.posteriors()[0].1[0], 0.3, 1e-12));

    let soft = ask(Evidence::new().likelihood(&net, "d", [0.5, 0.1]).unwrap());
    assert!(close(soft.log_evidence(), 0.2f64.ln(), 1e-12));

    let clash = Evidence::new()
        .observe(&net, "c", "no")
        .unwrap()
        .observe(&net, "d", "yes")
        .unwrap();
    assert!(ask(clash).is_impossible());
}

/// 400 observations of probability 1e-6 each: P(e) is far below the smallest number.
#[test]
fn log_evidence_does_not_underflow() {
    let mut b = Network::builder("naive");
    let class = b.variable("class", ["a", "b"]);
    b.table(class, [], [0.5, 0.5]);
    for i in 0..400 {
        let x = b.variable(format!("x{i}"), ["on", "off"]);
        b.table(x, [class], [1e-6, 1.0 - 1e-6, 2e-6, 1.0 - 2e-6]);
    }
    let net = b.build().unwrap();
    let mut evidence = Evidence::new();
    for i in 0..400 {
        evidence = evidence.observe(&net, &format!("x{i}"), "on").unwrap();
    }
    // P(e) = ½ (1e-6)^400 (1 + 2^400)
    let expected = 0.5f64.ln() + 400.0 * 1e-6f64.ln() + 400.0 * 2f64.ln();
    for targets in [vec![], vec![net.find("class").unwrap()]] {
        let answer = net.query(&targets, &evidence, &Options::default()).unwrap();
        assert!(
            close(answer.log_evidence(), expected, 1e-12),
            "{} {expected}",
            answer.log_evidence()
        );
        assert!(close(answer.posteriors()[0].1[1], 1.0, 1e-12));
    }
    assert!(close(
        net.mpe(&evidence, &Options::default())
            .unwrap()
            .log_probability(),
        expected,
        1e-12
    ));
}

/// The same with likelihoods that are tiny or huge.
#[test]
fn soft_evidence_of_any_magnitude_is_exact() {
    let net = network(
        &Shape {
            nodes: 8,
            max_values: 3,
            max_parents: 2,
            functional: 0.0,
        },
        1,
    )
    .unwrap();
    let plain = |scale: f64| {
        let mut evidence = Evidence::new();
        for v in net.ids() {
            let likelihood: Vec<f64> = (0..net.card(v)).map(|i| (1 + i) as f64 * scale).collect();
            evidence = evidence
                .likelihood(&net, &net.variable(v).name, likelihood)
                .unwrap();
        }
        net.query(&[], &evidence, &Options::default()).unwrap()
    };
    let (one, tiny, huge) = (plain(1.0), plain(1e-200), plain(1e200));
    for (answer, scale) in [(tiny, 1e-200f64), (huge, 1e200)] {
        assert!(close(
            answer.log_evidence(),
            one.log_evidence() + 8.0 * scale.ln(),
            1e-9
        ));
        for ((_, p), (_, q)) in answer.posteriors().iter().zip(one.posteriors()) {
            assert!(p.iter().zip(q).all(|(p, q)| close(*p, *q, 1e-9)));
        }
    }
}

/// The same seed gives the same bits.
#[test]
fn answers_are_deterministic() {
    let net = network(
        &Shape {
            nodes: 40,
            max_values: 3,
            max_parents: 4,
            functional: 0.3,
        },
        5,
    )
    .unwrap();
    let ask = || {
        net.query(&[], &Evidence::new(), &Options::default().with_effort(10.0))
            .unwrap()
    };
    assert_eq!(ask(), ask());
}

/// A question that does not fit is refused before anything is allocated.
#[test]
fn a_question_beyond_the_memory_limit_is_refused_with_its_size() {
    let net = network(
        &Shape {
            nodes: 150,
            max_values: 3,
            max_parents: 6,
            functional: 0.0,
        },
        3,
    )
    .unwrap();
    let options = Options::default()
        .with_memory(Some(1 << 30))
        .with_effort(0.1);
    let error = net.query(&[], &Evidence::new(), &options).unwrap_err();
    assert_eq!(error.kind(), sumout::ErrorKind::Memory);
    assert!(
        error.message().contains("and the limit is 1.0 GiB"),
        "{error}"
    );
}

/// y_i = x_i xor x_{i+1}, all y observed: each x is then a function of its neighbour, by no CPT
/// alone.
#[test]
fn a_parity_chain_with_observed_outputs_agrees_with_brute_force() {
    for n in 2..10 {
        let mut b = Network::builder("parity");
        let x: Vec<_> = (0..n)
            .map(|i| b.variable(format!("x{i}"), ["0", "1"]))
            .collect();
        for (i, &x) in x.iter().enumerate() {
            b.table(x, [], [0.3 + 0.05 * i as f64, 0.7 - 0.05 * i as f64]);
        }
        for i in 0..n - 1 {
            let y = b.variable(format!("y{i}"), ["0", "1"]);
            b.function(y, [x[i], x[i + 1]], |u| u[0] ^ u[1]);
        }
        let net = b.build().unwrap();
        let mut evidence = Evidence::new();
        for i in 0..n - 1 {
            evidence = evidence
                .observe(&net, &format!("y{i}"), ["0", "1"][i % 2])
                .unwrap();
        }
        for options in all_options(n as u64) {
            check(&net, &[], &evidence, &options);
        }
    }
}

/// Full replication of this chain would need 2^59 copies; the cap and the search keep it small.
#[test]
fn a_long_chain_of_functions_with_fan_out_does_not_blow_up() {
    let mut b = Network::builder("chain");
    let mut pair = [b.variable("a0", ["0", "1"]), b.variable("b0", ["0", "1"])];
    b.table(pair[0], [], [0.3, 0.7]);
    b.table(pair[1], [], [0.6, 0.4]);
    for i in 1..60 {
        let next = [
            b.variable(format!("a{i}"), ["0", "1"]),
            b.variable(format!("b{i}"), ["0", "1"]),
        ];
        b.function(next[0], pair, |u| u[0] ^ u[1]);
        b.function(next[1], pair, |u| u[0] & u[1]);
        pair = next;
    }
    let net = b.build().unwrap();
    let evidence = Evidence::new().observe(&net, "a1", "1").unwrap();
    for level in [
        Level::Classical,
        Level::Paper,
        Level::Functional,
        Level::Tables,
        Level::Support,
        Level::Compiled,
        Level::Auto,
    ] {
        let options = Options::default().with_level(level).with_effort(0.1);
        let answer = net
            .query(&[net.find("a0").unwrap()], &evidence, &options)
            .unwrap();
        // a1 = a0 xor b0 = 1: either a0 alone or b0 alone.
        let (one, other): (f64, f64) = (0.7 * 0.6, 0.3 * 0.4);
        assert!(
            close(answer.log_evidence(), (one + other).ln(), TOLERANCE),
            "{level}"
        );
        assert!(
            close(answer.posteriors()[0].1[1], one / (one + other), TOLERANCE),
            "{level}"
        );
        let all = net.query(&[], &evidence, &options).unwrap();
        assert!(
            close(all.log_evidence(), answer.log_evidence(), TOLERANCE),
            "{level}"
        );
    }
}

/// An entry 1e-480 times the rest of a tensor may be the only possible one in the end.
#[test]
fn small_numbers_beside_large_ones_are_not_lost() {
    for n in [50, 54, 80, 200] {
        let mut b = Network::builder("two causes");
        let c = b.variable("c", ["a", "b"]);
        let e = b.variable("e", ["a", "b"]);
        let or = b.variable("or", ["a", "b"]);
        b.table(c, [], [0.5, 0.5]);
        b.table(e, [], [0.5, 0.5]);
        b.function(or, [c, e], |u| u[0] | u[1]);
        for i in 0..n {
            for (name, cause) in [("cf", c), ("ef", e)] {
                let feature = b.variable(format!("{name}{i}"), ["y", "n"]);
                b.table(feature, [cause], [1.0 - 1e-6, 1e-6, 1e-6, 1.0 - 1e-6]);
            }
        }
        let net = b.build().unwrap();
        let mut evidence = Evidence::new().observe(&net, "or", "b").unwrap();
        for name in ["cf", "ef"] {
            for i in 0..n {
                evidence = evidence.observe(&net, &format!("{name}{i}"), "y").unwrap();
            }
        }
        // Either c or e is b: both are as likely, and the case that both are is next to impossible.
        let expected = f64::from(n) * ((1.0 - 1e-6f64).ln() + 1e-6f64.ln()) + 0.5f64.ln();
        for targets in [vec![], vec![net.find("c").unwrap()]] {
            let answer = net.query(&targets, &evidence, &Options::default()).unwrap();
            assert!(
                close(answer.log_evidence(), expected, 1e-9),
                "{n}: {} {expected}",
                answer.log_evidence()
            );
            let c = answer
                .posteriors()
                .iter()
                .find(|(v, _)| *v == net.find("c").unwrap())
                .unwrap();
            assert!(close(c.1[0], 0.5, 1e-9), "{n}: {c:?}");
        }
        let explanation = net.mpe(&evidence, &Options::default()).unwrap();
        assert!(close(
            explanation.log_probability(),
            expected + 0.5f64.ln(),
            1e-9
        ));
    }
}

/// An id of a larger network is an error, not a panic.
#[test]
fn ids_of_another_network_are_refused() {
    let small = network(
        &Shape {
            nodes: 2,
            max_values: 2,
            max_parents: 1,
            functional: 0.0,
        },
        1,
    )
    .unwrap();
    let error = small
        .query(
            &[sumout::internals::var(7)],
            &Evidence::new(),
            &Options::default(),
        )
        .unwrap_err();
    assert_eq!(error.kind(), sumout::ErrorKind::Name);
}
