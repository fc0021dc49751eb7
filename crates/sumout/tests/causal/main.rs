//! Interventions and counterfactuals against enumeration of what nature may do.
//!
//! The oracle knows nothing of copies: it draws every state of the roots, computes all variables
//! from them in each world by its intervention, and adds up.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::{
    Batch, Column, Error, EvalOptions, Evidence, Finding, Network, Options, Precision, Query, VarId,
};

use crate::common::{LEVELS, close, seeds};

mod nature;

use nature::{
    To, World, evidence, natures, random_world, seen, states, structural, truth, written,
};

const TOLERANCE: f64 = 1e-9;

#[test]
fn counterfactuals_are_those_of_enumeration() {
    for seed in seeds(660) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let net = structural(&mut rng);
        let seen = seen(&net, &mut rng);
        let worlds: Vec<World> = (0..3).map(|_| random_world(&net, &mut rng, true)).collect();
        let y = net
            .ids()
            .nth(rng.random_range(0..net.variables().len()))
            .unwrap();
        let name = |w: &World| format!("{}[{}]", net.variable(y).name, written(&net, w));
        let twins = net.with_worlds(worlds.iter().map(name)).unwrap();
        let options = Options::default().with_level(LEVELS[seed as usize % LEVELS.len()]);
        for world in &worlds {
            let target = twins.find(&name(world)).unwrap();
            let (expected, all) = truth(&net, &seen, y, world);
            let answer = twins
                .query(&[target], &evidence(&twins, &seen), &options)
                .unwrap();
            assert!(
                close(answer.log_evidence(), all.ln(), TOLERANCE),
                "seed {seed}"
            );
            for (found, expected) in answer.posteriors()[0].1.iter().zip(&expected) {
                assert!(
                    (found - expected).abs() < TOLERANCE,
                    "seed {seed}: {}",
                    name(world)
                );
            }
        }
    }
}

#[test]
fn one_circuit_answers_for_a_batch_of_units() {
    for seed in seeds(330) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let net = structural(&mut rng);
        let world = random_world(&net, &mut rng, false);
        let y = net.ids().last().unwrap();
        let name = format!("{}[{}]", net.variable(y).name, written(&net, &world));
        let twins = net.with_worlds([&name]).unwrap();
        let inputs: Vec<String> = net.ids().map(|v| net.variable(v).name.clone()).collect();
        let query = Query::of(name).given(&inputs);
        let circuit = twins.compile(&query, &Options::default()).unwrap();
        let units: Vec<Vec<(VarId, usize)>> = (0..5).map(|_| seen(&net, &mut rng)).collect();
        let mut batch = Batch::new(units.len());
        for v in net.ids() {
            let value = |unit: &Vec<(VarId, usize)>| {
                let known = unit.iter().find(|(x, _)| *x == v);
                known.map_or(-1, |&(_, value)| value as i32)
            };
            let column = Column::Values(units.iter().map(value).collect());
            batch = batch.with(&circuit, &net.variable(v).name, column).unwrap();
        }
        let run = EvalOptions::default().with_precision(Precision::F64);
        let answers = circuit.evaluator(&run).unwrap().run(&batch).unwrap();
        for (row, unit) in units.iter().enumerate() {
            let (expected, _) = truth(&net, unit, y, &world);
            for (found, expected) in answers.row(row).iter().zip(&expected) {
                assert!((found - expected).abs() < TOLERANCE, "seed {seed}");
            }
        }
    }
}

/// Interventions in any network: the product of all mechanisms but those that are replaced.
#[test]
fn interventions_replace_mechanisms() {
    use sumout::model::random::{Shape, network};
    for seed in seeds(330) {
        let shape = Shape {
            nodes: 6,
            max_values: 3,
            max_parents: 3,
            functional: 0.4,
        };
        let net = network(&shape, seed).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let x = net.ids().nth(rng.random_range(0..6)).unwrap();
        let variable = net.variable(x).clone();
        let value = rng.random_range(0..variable.values.len());
        let setting = (variable.name.as_str(), variable.values[value].as_str());
        let set = net.intervene([setting]).unwrap();
        let mut given = crate::common::random_evidence(&net, &mut rng).without(x);
        let expected = enumerated(&net, x, value, &given);
        let answer = set.query(&[], &given, &Options::default()).unwrap();
        compare(answer.is_impossible(), answer.log_evidence(), &expected);

        let name = format!("do({})", variable.name);
        let regimes = net.with_regimes([&variable.name]).unwrap();
        given = moved(&given, &regimes);
        let regime = regimes.find(&name).unwrap();
        let mut with = given.clone();
        with.insert(&regimes, regime, Finding::Hard(value)).unwrap();
        let answer = regimes.query(&[], &with, &Options::default()).unwrap();
        compare(answer.is_impossible(), answer.log_evidence(), &expected);
        with = given.without(regime);
        with.insert(&regimes, regime, Finding::Hard(variable.values.len()))
            .unwrap();
        let idle = regimes.query(&[], &with, &Options::default()).unwrap();
        let plain = moved_back(&given, &net);
        let seen = net.query(&[], &plain, &Options::default()).unwrap();
        compare(
            idle.is_impossible(),
            idle.log_evidence(),
            &seen.log_evidence().exp(),
        );
    }
}

fn compare(is_impossible: bool, log: f64, expected: &f64) {
    assert_eq!(is_impossible, *expected == 0.0);
    assert!(is_impossible || close(log, expected.ln(), TOLERANCE));
}

/// P(evidence) after an intervention, by enumeration.
fn enumerated(net: &Network, x: VarId, value: usize, given: &Evidence) -> f64 {
    let cards = net.cards();
    let tables: Vec<Vec<f64>> = net.cpts().iter().map(|cpt| cpt.table(&cards)).collect();
    let mut sum = 0.0;
    for code in 0..cards.iter().product::<usize>() {
        let mut rest = code;
        let state = |card: &usize| {
            let state = rest % card;
            rest /= card;
            state
        };
        let states: Vec<usize> = cards.iter().map(state).collect();
        let mechanism = |v: VarId| {
            if v == x {
                return f64::from(u8::from(states[v.index()] == value));
            }
            let scope = net.cpts()[v.index()].scope().iter();
            tables[v.index()][scope.fold(0, |at, u| at * cards[u.index()] + states[u.index()])]
        };
        let seen = given.iter().map(|(v, finding)| match finding {
            Finding::Hard(known) => f64::from(u8::from(states[v.index()] == *known)),
            Finding::Soft(likelihood) => likelihood[states[v.index()]],
        });
        sum += net.ids().map(mechanism).product::<f64>() * seen.product::<f64>();
    }
    sum
}

/// Evidence on a network with one variable more before the others, or without it.
fn moved(evidence: &Evidence, net: &Network) -> Evidence {
    shifted(evidence, net, 1)
}

fn moved_back(evidence: &Evidence, net: &Network) -> Evidence {
    shifted(evidence, net, -1)
}

fn shifted(evidence: &Evidence, net: &Network, by: isize) -> Evidence {
    let mut all = Evidence::new();
    for (v, finding) in evidence.iter() {
        let to = net
            .ids()
            .nth(v.index().checked_add_signed(by).unwrap())
            .unwrap();
        all.insert(net, to, finding.clone()).unwrap();
    }
    all
}

/// Two worlds need at most a copy of each variable more in every cluster: of width w, 2w + 1.
#[test]
fn two_worlds_are_at_most_twice_as_wide() {
    for seed in seeds(200) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let net = structural(&mut rng);
        let y = net.ids().last().unwrap();
        let world = random_world(&net, &mut rng, false);
        let name = format!("{}[{}]", net.variable(y).name, written(&net, &world));
        let twins = net.with_worlds([&name]).unwrap();
        let widest = |net: &Network| sumout::compile::width(net).unwrap().rank;
        assert!(widest(&twins) <= 2 * widest(&net), "seed {seed}");
    }
}

#[test]
fn causation_has_its_definitions() {
    for seed in seeds(330) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let net = structural(&mut rng);
        let binary: Vec<VarId> = net.ids().filter(|&v| net.card(v) == 2).collect();
        let (Some(&x), y) = (binary.first(), net.ids().last().unwrap()) else {
            continue;
        };
        if x == y {
            continue;
        }
        let [x1, x0] = [0, 1].map(|value| vec![(x, To::Value(value))]);
        let (mut both, mut cause_and_effect, mut needed) = (0.0, 0.0, 0.0);
        for (roots, p) in natures(&net) {
            let actual = states(&net, &roots, &vec![]);
            let with = states(&net, &roots, &x1)[y.index()] == 0;
            let without = states(&net, &roots, &x0)[y.index()] == 0;
            both += p * f64::from(u8::from(with && !without));
            if actual[x.index()] == 0 && actual[y.index()] == 0 {
                cause_and_effect += p;
                needed += p * f64::from(u8::from(!without));
            }
        }
        let name = |v: VarId| net.variable(v).name.as_str();
        let known = Evidence::new();
        let (cause, effect) = ((name(x), "v0"), (name(y), "v0"));
        let found = net
            .causation(cause, None, effect, &known, &Options::default())
            .unwrap();
        let found_both = found.necessity_and_sufficiency().unwrap();
        assert!((found_both - both).abs() < TOLERANCE, "seed {seed}");
        match found.necessity() {
            None => assert_eq!(cause_and_effect, 0.0),
            Some(p) => assert!((p - needed / cause_and_effect).abs() < TOLERANCE),
        }
    }
}

/// A network that is completed has the same distribution, and counterfactuals.
#[test]
fn completions_keep_the_distribution() {
    let asia = Network::read("asia").unwrap();
    let name = "lung[smoke=no]";
    let message = |net: &Network| net.with_worlds([name]).map_err(|e: Error| e.to_string());
    assert!(
        message(&asia)
            .unwrap_err()
            .contains("`lung` is random given its parents")
    );
    let complete = asia.completed().unwrap();
    assert_eq!(complete.not_structural().count(), 0);
    let given = |net: &Network| Evidence::new().observe(net, "xray", "yes").unwrap();
    let options = Options::default();
    for v in asia.ids() {
        let name = &asia.variable(v).name;
        let of = |net: &Network| {
            let answer = net
                .query(&[net.find(name).unwrap()], &given(net), &options)
                .unwrap();
            answer.of(name).unwrap().to_vec()
        };
        for (a, b) in of(&asia).iter().zip(of(&complete)) {
            assert!((a - b).abs() < TOLERANCE);
        }
    }
    let twins = message(&complete).unwrap();
    let answer = twins.query(&[twins.find(name).unwrap()], &given(&twins), &options);
    let p = answer.unwrap().probability(name, "yes").unwrap();
    // P(smoke | xray) · P(lung would be … | smoke, xray), by the independence of both rows.
    let of = |given: &[(&str, &str)], target: &str| {
        let mut e = Evidence::new().observe(&asia, "xray", "yes").unwrap();
        for (name, value) in given {
            e = e.observe(&asia, name, value).unwrap();
        }
        let answer = asia
            .query(&[asia.find(target).unwrap()], &e, &options)
            .unwrap();
        answer.probability(target, "yes").unwrap()
    };
    let smokes = of(&[], "smoke");
    let expected = smokes * 0.01 + (1.0 - smokes) * of(&[("smoke", "no")], "lung");
    assert!((p - expected).abs() < TOLERANCE, "{p} {expected}");
}

#[test]
fn mistakes_say_what_is_wrong() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let net = structural(&mut rng);
    let complaint = |name: &str| net.with_worlds([name]).unwrap_err().to_string();
    assert!(complaint("x9[x0=v0]").contains("no variable `x9`"));
    assert!(complaint("x2[x0=w]").contains("no value `w`"));
    assert!(complaint("x2[x0=v0,x0=v1]").contains("sets `x0` twice"));
    assert!(complaint("x2[x0]").contains("sets nothing"));
    assert!(complaint("x2[").contains("no variable"));
    assert!(complaint("x2]").contains("has no `[`"));
    let deep = "x2[x0=".repeat(40) + "v0" + &"]".repeat(40);
    assert!(complaint(&deep).contains("nested too deeply"));
    let twice = net.intervene([("x0", "v0"), ("x0", "v1")]).unwrap_err();
    assert!(twice.to_string().contains("two values at once"));
    let _ = rng.next_u64();
}
