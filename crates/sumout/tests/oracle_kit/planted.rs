//! Cases that were wrong once.

use sumout::{Evidence, Level, Network, Options};

use crate::questions::LEVELS;

fn options(level: Level) -> Options {
    Options::default().with_level(level).with_effort(0.0)
}

fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs()
}

/// Five variables that are equal, by factors of 1e29 and 1e300 for one value and the reciprocals for
/// the other: two of them are a number beyond all that there are.
#[test]
fn products_of_huge_factors_are_exact() {
    let mut b = Network::markov("huge");
    let x: Vec<_> = (0..5)
        .map(|i| b.variable(format!("x{i}"), ["a", "b"]))
        .collect();
    let mut ln = 0.0;
    for i in 0..12 {
        let large = [1e29f64, 1e300][i % 2];
        b.potential([x[i % 4], x[i % 4 + 1]], [large, 0.0, 0.0, 1.0 / large]);
        ln += large.ln();
    }
    let net = b.build().unwrap();
    for level in LEVELS {
        let answer = net.query(&[], &Evidence::new(), &options(level)).unwrap();
        assert!(is_near(answer.log_evidence(), ln), "{level}: {answer:?}");
        assert!(
            answer.posteriors().iter().all(|(_, p)| p == &[1.0, 0.0]),
            "{level}"
        );
        let best = net.mpe(&Evidence::new(), &options(level)).unwrap();
        assert!(is_near(best.log_probability(), ln), "{level}");
        let rare = Evidence::new().observe(&net, "x2", "b").unwrap();
        let answer = net.query(&[], &rare, &options(level)).unwrap();
        assert!(is_near(answer.log_evidence(), -ln), "{level}: {answer:?}");
    }
}

/// The only possible value has a likelihood 1e-510 times the largest one.
#[test]
fn the_least_likelihood_may_be_the_one_that_counts() {
    let mut b = Network::builder("least");
    let x = b.variable("x", ["a", "b"]);
    let y = b.variable("y", ["a", "b", "c"]);
    b.table(x, [], [0.5, 0.5]);
    b.table(y, [x], [0.0, 0.0, 1.0, 0.25, 0.25, 0.5]);
    let net = b.build().unwrap();
    let evidence = Evidence::new()
        .likelihood(&net, "x", [1e-148, 0.0])
        .unwrap();
    let evidence = evidence
        .likelihood(&net, "y", [1e244, 1e247, 1e-263])
        .unwrap();
    let ln = 0.5f64.ln() + 1e-148f64.ln() + 1e-263f64.ln();
    for level in LEVELS {
        let answer = net.query(&[], &evidence, &options(level)).unwrap();
        assert!(is_near(answer.log_evidence(), ln), "{level}: {answer:?}");
        let best = net.mpe(&evidence, &options(level)).unwrap();
        assert_eq!(best.assignment(), Some(&[0, 2][..]), "{level}");
    }
}
