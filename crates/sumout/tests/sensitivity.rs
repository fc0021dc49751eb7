//! Sensitivity functions against networks with other numbers, by enumeration.

use crate::common::{LEVELS, close, enumerate, random_evidence, seeds};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::model::random::{Shape, network};
use sumout::{ErrorKind, Evidence, Finding, Network, Options, VarId};

/// The network with another number in a CPT, the others of its row in proportion.
fn varied(net: &Network, (child, entry): (VarId, usize), value: f64) -> Network {
    let mut table = net.cpts()[child.index()].table(&net.cards());
    let card = net.card(child);
    let old = table[entry];
    for (x, number) in table[entry / card * card..][..card].iter_mut().enumerate() {
        *number = match x == entry % card {
            true => value,
            false => *number * (1.0 - value) / (1.0 - old),
        };
    }
    net.with_tables([(child, &table[..])])
}

fn probability(net: &Network, target: VarId, value: usize, evidence: &Evidence) -> f64 {
    let truth = enumerate(net, evidence);
    truth.joints[target.index()][value] / truth.evidence
}

#[test]
fn functions_are_the_answers_of_networks_with_other_numbers() {
    let mut checked = 0;
    for seed in seeds(300) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let shape = Shape {
            nodes: 3 + (seed % 4) as usize,
            max_values: 3,
            max_parents: 2,
            functional: 0.2 * (seed % 4) as f64,
        };
        let net = network(&shape, seed).unwrap();
        let target = sumout::internals::var(rng.random_range(0..net.variables().len()));
        let value = rng.random_range(0..net.card(target));
        let mut evidence = random_evidence(&net, &mut rng);
        if matches!(evidence.get(target), Some(Finding::Hard(_))) {
            evidence = evidence.without(target);
        }
        let is_possible = enumerate(&net, &evidence).evidence > 0.0;
        let level = LEVELS[seed as usize % LEVELS.len()];
        let options = Options::default()
            .with_level(level)
            .with_effort(0.01)
            .with_seed(seed);
        let found = net.sensitivity(target, value, &evidence, &options).unwrap();
        assert_eq!(found.is_some(), is_possible, "{seed} {level}");
        let Some(found) = found else { continue };
        let p = probability(&net, target, value, &evidence);
        assert!(close(found.probability(), p, 1e-9));
        for place in 0..found.len().min(6) {
            let place = if place < 3 {
                place
            } else {
                rng.random_range(0..found.len())
            };
            let parameter = found.parameter(place);
            for point in 0..20 {
                let theta = (point as f64 + 0.5) / 20.0;
                let expected =
                    probability(&varied(&net, parameter, theta), target, value, &evidence);
                let answer = found.at(place, theta);
                assert!(
                    close(answer, expected, 1e-9),
                    "{seed} {level} {theta} {answer} {expected}"
                );
                let (low, high) = found.range(place);
                assert!(low.min(high) - 1e-9 <= expected && expected <= low.max(high) + 1e-9);
                if found.derivative(place).abs() > 1e-6 {
                    let back = found.reaching(place, answer).unwrap();
                    assert!(close(found.at(place, back), answer, 1e-9));
                }
                checked += 1;
            }
            let (at, step) = (found.value(place), 1e-6);
            let slope = (found.at(place, at + step) - found.at(place, at - step)) / (2.0 * step);
            let derivative = found.derivative(place);
            assert!((slope - derivative).abs() <= 1e-4 * derivative.abs().max(1.0));
        }
    }
    assert!(checked > 1000);
}

#[test]
fn all_numbers_that_matter_are_found() {
    let asia = Network::read("asia").unwrap();
    let evidence = Evidence::new().observe(&asia, "dysp", "yes").unwrap();
    let lung = asia.find("lung").unwrap();
    let found = asia
        .sensitivity(lung, 0, &evidence, &Options::default())
        .unwrap()
        .unwrap();
    let places: Vec<_> = (0..found.len())
        .map(|place| found.parameter(place))
        .collect();
    let p = found.probability();
    for cpt in asia.cpts().iter().filter(|cpt| !cpt.is_functional()) {
        let child = cpt.child().unwrap();
        for entry in 0..cpt.size(&asia.cards()) {
            let other = probability(&varied(&asia, (child, entry), 0.37), lung, 0, &evidence);
            assert!(close(other, p, 1e-9) || places.contains(&(child, entry)));
        }
    }
    let sizes: Vec<f64> = (0..found.len())
        .map(|place| found.derivative(place).abs())
        .collect();
    assert!(sizes.is_sorted_by(|a, b| a >= b));
}

#[test]
fn questions_without_an_answer_are_refused() {
    let asia = Network::read("asia").unwrap();
    let evidence = Evidence::new().observe(&asia, "lung", "yes").unwrap();
    let ask = |name, value, evidence| {
        asia.sensitivity(
            asia.find(name).unwrap(),
            value,
            evidence,
            &Options::default(),
        )
    };
    assert_eq!(
        ask("lung", 0, &evidence).unwrap_err().kind(),
        ErrorKind::Options
    );
    assert_eq!(
        ask("tub", 2, &evidence).unwrap_err().kind(),
        ErrorKind::Name
    );
    let impossible = evidence.clone();
    let impossible = impossible.observe(&asia, "either", "no").unwrap();
    assert_eq!(ask("tub", 0, &impossible).unwrap(), None);
}
