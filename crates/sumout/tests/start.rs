//! Plans that are saved and read again, and elimination orders.

use crate::common::{close, enumerate, seeds};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::model::random::{Shape, network};
use sumout::{Compilation, Error, Evidence, Level, Network, Options, Query, SavedPlan};

fn options(effort: f64) -> Options {
    Options::default().with_effort(effort)
}

fn random(seed: u64) -> (Network, Query) {
    let shape = Shape {
        nodes: 4 + seed as usize % 10,
        max_values: 3,
        max_parents: 3,
        functional: 0.6,
    };
    let net = network(&shape, seed).unwrap();
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let target = rng.random_range(0..shape.nodes);
    let inputs = (0..shape.nodes)
        .filter(|&v| v != target && rng.random::<bool>())
        .map(|v| format!("x{v}"));
    let query = Query::of(format!("x{target}")).given(inputs.collect::<Vec<_>>());
    (net, query)
}

fn again(saved: &SavedPlan) -> SavedPlan {
    SavedPlan::parse("plan.json", &saved.to_json()).unwrap()
}

fn cost(plan: &Compilation<'_>) -> f64 {
    let report = plan.report();
    let constants = report.constant_entries();
    10.0 * report.chosen().entries() + report.chosen().multiply_adds() + 0.2 * constants
}

#[test]
fn a_saved_plan_is_the_same_without_effort_and_never_worse_with_some() {
    for seed in seeds(60) {
        let (net, query) = random(seed);
        for level in [Level::Paper, Level::Functional] {
            let found = net.plan(&query, &options(0.01).with_level(level)).unwrap();
            let same = net
                .plan_from(&query, &options(0.0), &again(&found.saved()))
                .unwrap();
            assert_eq!(same.saved(), found.saved(), "seed {seed}");
            assert_eq!(
                same.report().chosen().entries(),
                found.report().chosen().entries()
            );
            let better = net
                .plan_from(&query, &options(0.001), &again(&found.saved()))
                .unwrap();
            assert!(
                cost(&better) <= 1.05 * cost(&found),
                "seed {seed}: {} {}",
                cost(&better),
                cost(&found)
            );
            let answer = same.circuit().answer(&Evidence::new()).unwrap();
            let truth = enumerate(&net, &Evidence::new());
            let (target, posterior) = &answer.posteriors()[0];
            for (p, expected) in posterior.iter().zip(&truth.joints[target.index()]) {
                assert!(close(*p, *expected, 1e-9));
            }
        }
    }
}

#[test]
fn a_plan_with_copies_survives() {
    let net = Network::read("rect:10").unwrap();
    let query = Query::of("label").given(["pixel_*"]);
    let found = net
        .plan(&query, &options(0.05).with_level(Level::Functional))
        .unwrap();
    assert!(found.report().copies() > 0);
    let same = net
        .plan_from(&query, &options(0.0), &again(&found.saved()))
        .unwrap();
    assert_eq!(
        (same.report().chosen().entries(), same.saved()),
        (found.report().chosen().entries(), found.saved())
    );
    let classical = options(0.0).with_level(Level::Classical);
    assert!(
        complaint(net.plan_from(&query, &classical, &again(&found.saved())))
            .contains("set `level` to `functional`")
    );
}

fn complaint<T>(result: Result<T, Error>) -> String {
    result.err().expect("this is a mistake").to_string()
}

fn asia() -> (Network, Query, String) {
    let (net, query) = (
        Network::read("asia").unwrap(),
        Query::of("lung").given(["xray", "dysp"]),
    );
    let text = net.plan(&query, &options(0.0)).unwrap().saved().to_json();
    (net, query, text)
}

#[test]
fn damaged_plans_are_refused() {
    let (net, query, text) = asia();
    let read = |text: &str| {
        let saved = SavedPlan::parse("plan.json", text)?;
        net.plan_from(&query, &options(0.0), &saved).map(drop)
    };
    assert!(read(&text).is_ok());
    assert!(
        complaint(read(&text[..text.len() / 2])).contains("`plan.json` is not a saved plan: EOF")
    );
    assert!(complaint(read("{}")).contains("save the plan again"));
    assert!(
        complaint(read(
            &text.replace("\"sumout_plan\":1", "\"sumout_plan\":7")
        ))
        .contains("version 7")
    );
    assert!(complaint(read(&text.replace("\"smoke\"", "\"smog\""))).contains("no variable `smog`"));
    assert!(
        complaint(read(
            &text.replace("[\"smoke\",\"lung\"]", "[\"asia\",\"lung\"]")
        ))
        .contains("has a factor over")
    );
    assert!(
        complaint(read(&text.replacen(
            "\"joins\":[[",
            "\"joins\":[[99999,",
            1
        )))
        .contains("is not a saved plan")
    );
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (path, value) in [
        ("/joins/0/0", 9_999_999.into()),
        ("/separators/0", serde_json::json!([])),
        ("/joins", serde_json::json!([])),
    ] {
        let old = json.pointer(path).unwrap().clone();
        *json.pointer_mut(path).unwrap() = value;
        let message = complaint(read(&json.to_string()));
        assert!(
            message.contains("is not right for this query of network `asia`"),
            "{message}"
        );
        assert!(message.contains("save one for the same target and inputs"));
        *json.pointer_mut(path).unwrap() = old;
    }
}

/// Whatever happens to a file, reading it ends with a plan that is right, or with a message.
#[test]
fn random_damage_never_panics() {
    let (net, query, text) = asia();
    for seed in seeds(500) {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let mut bytes = text.clone().into_bytes();
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(0..bytes.len());
            match rng.random_range(0..3) {
                0 => bytes[at] = b"0123456789[],\"{}"[rng.random_range(0..16)],
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b'0' + rng.random_range(0..10)),
            }
        }
        let Ok(saved) = SavedPlan::parse("plan.json", &String::from_utf8(bytes).unwrap()) else {
            continue;
        };
        if let Ok(plan) = net.plan_from(&query, &options(0.0), &saved) {
            let answer = plan.circuit().answer(&Evidence::new()).unwrap();
            assert!(
                close(answer.posteriors()[0].1[0], 0.055, 1e-9),
                "seed {seed}"
            );
        }
    }
}

#[test]
fn plans_of_other_networks_and_queries_are_refused() {
    let (net, query, text) = asia();
    let start = SavedPlan::parse("plan.json", &text).unwrap();
    assert!(
        complaint(net.plan_from(&Query::of("tub"), &options(0.0), &start))
            .contains("was saved for")
    );
    assert!(
        complaint(net.plan_from(
            &Query::of("bronc").given(["xray", "dysp"]),
            &options(0.0),
            &start
        ))
        .contains("save one")
    );
    let rect = Network::read("rect:4").unwrap();
    assert!(
        complaint(rect.plan_from(&Query::of("label"), &options(0.0), &start))
            .contains("no variable")
    );
    let paper = options(0.0).with_level(Level::Paper);
    assert!(complaint(net.plan_from(&query, &paper, &start)).contains("has a plan of its own"));
}

#[test]
fn an_elimination_order_is_followed() {
    let (net, query, _) = asia();
    let plan = |names: &str| net.plan_in_order(&query, &options(0.0), names.split(' '));
    let good = plan("asia tub xray dysp smoke either bronc").unwrap();
    let bad = plan("either tub smoke bronc dysp xray asia lung").unwrap();
    assert!(bad.report().chosen().max_cluster_rank() > good.report().chosen().max_cluster_rank());
    for plan in [&good, &bad] {
        let answer = plan.circuit().answer(&Evidence::new()).unwrap();
        assert!(close(answer.posteriors()[0].1[0], 0.055, 1e-9));
    }
    let better = net
        .plan_in_order(
            &query,
            &options(0.01),
            "either tub smoke bronc dysp xray asia".split(' '),
        )
        .unwrap();
    assert!(cost(&better) <= cost(&good));
    assert!(
        complaint(plan("asia tub xray"))
            .starts_with("the order lacks `smoke`, `bronc`, `either`, `dysp`")
    );
    assert!(complaint(plan("asia asia")).starts_with("the order has `asia` twice"));
    assert!(complaint(plan("asai")).contains("did you mean `asia`?"));
}
