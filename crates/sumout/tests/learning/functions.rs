//! CPTs that are declared functional, and learned.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::learn::Start;
use sumout::{
    Circuit, Column, Examples, Level, Network, Options, Task, Training, TrainingOptions, VarId,
    VarSet,
};

use super::{LOSSES, f64s, training};

/// A plan that copies what is only declared a function is another function than the network; what
/// is saved is the plan's.
#[test]
fn a_broken_promise_is_found_and_the_circuit_is_saved_with_its_plan() {
    let mut b = Network::builder("promise");
    let u = b.variable("u", ["0", "1", "2", "3"]);
    let x = b.variable("x", ["t", "f"]);
    b.table(u, [], [0.1, 0.2, 0.3, 0.4]).fixed();
    b.table(x, [u], [0.9, 0.1, 0.2, 0.8, 0.3, 0.7, 0.1, 0.9])
        .functional();
    for name in ["a", "b", "c"] {
        let y = b.variable(name, ["t", "f"]);
        b.table(
            y,
            [u, x],
            [
                0.9, 0.1, 0.3, 0.7, 0.8, 0.2, 0.5, 0.5, 0.4, 0.6, 0.1, 0.9, 0.7, 0.3, 0.2, 0.8,
            ],
        )
        .fixed();
    }
    let net = b.build().unwrap();
    let examples = Examples::from(&net.sample(200, 1).unwrap());
    for targets in [&["u"][..], &[]] {
        let targets: Vec<VarId> = targets.iter().map(|name| net.find(name).unwrap()).collect();
        let given: VarSet = ["a", "b", "c"]
            .map(|name| net.find(name).unwrap())
            .into_iter()
            .collect();
        let task = Task::new(&targets, given);
        let loss = if targets.is_empty() {
            LOSSES[2]
        } else {
            LOSSES[0]
        };
        let learning = TrainingOptions {
            loss,
            epochs: 3,
            starts: vec![Start::Network],
            ..TrainingOptions::default()
        };
        let training = training(&net, &task, learning, Level::Paper);
        let mut trainer = training.trainer(&examples).unwrap();
        while !trainer.is_done() {
            trainer.epoch().unwrap();
        }
        let mut params = trainer.learned();
        let found = training
            .difference(&params, &examples, &Options::default())
            .unwrap();
        assert!(
            found.largest() > 1e-3 && found.unthinned() && found.examples() == 200,
            "{found:?}"
        );
        let (circuit, _) = &training.trained(&params)[0];
        let (loss, _) = training.measure(&params, &examples).unwrap();
        let batch = |circuit: &Circuit| examples.batch_for(circuit).unwrap();
        if !targets.is_empty() {
            let again = Circuit::from_bytes(&circuit.to_bytes().unwrap()).unwrap();
            assert_eq!(
                circuit.evaluate(&batch(circuit)).unwrap(),
                again.evaluate(&batch(&again)).unwrap()
            );
        }
        params.snap();
        let found = training
            .difference(&params, &examples, &Options::default())
            .unwrap();
        assert!(found.largest() < 1e-9 && found.unthinned(), "{found:?}");
        assert_ne!(training.measure(&params, &examples).unwrap().0, loss);
    }
}

/// y is some function of x and z, nobody knows which; it is learned from examples of what depends
/// on it.
#[test]
fn an_unknown_function_is_learned_and_snapped() {
    let mut b = Network::builder("unknown");
    let x = b.variable("x", ["a", "b", "c"]);
    let z = b.variable("z", ["t", "f"]);
    let y = b.variable("y", ["t", "f"]);
    b.table(x, [], [0.3, 0.3, 0.4]).fixed();
    b.table(z, [], [0.5, 0.5]).fixed();
    b.table(y, [x, z], [0.5; 12]).functional();
    for i in 0..3 {
        let seen = b.variable(format!("seen{i}"), ["t", "f"]);
        b.table(seen, [y], [0.9, 0.1, 0.1, 0.9]).fixed();
    }
    let net = b.build().unwrap();
    let truth = |x: u32, z: u32| u32::from((x == 1) == (z == 0)); // not the first value where just one of the two holds
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let rows: Vec<[u32; 6]> = (0..400)
        .map(|_| {
            let (x, z) = (rng.random_range(0..3), rng.random_range(0..2));
            let mut seen = || truth(x, z) ^ u32::from(rng.random_bool(0.1));
            [x, z, 0, seen(), seen(), seen()]
        })
        .collect();
    let mut examples = Examples::new(rows.len());
    for (k, name) in ["x", "z", "", "seen0", "seen1", "seen2"]
        .into_iter()
        .enumerate()
        .filter(|(k, _)| *k != 2)
    {
        let values = rows.iter().map(|row| row[k] as i32).collect();
        examples.insert(net.find(name).unwrap(), Column::Values(values));
    }
    let target = net.find("x").unwrap();
    let task = Task::of(&[target], &examples);
    for level in [Level::Functional, Level::Auto] {
        let learning = TrainingOptions {
            temperature: Some((1.0, 0.2)),
            ..TrainingOptions::default()
        };
        let training = training(&net, &task, learning, level);
        let mut trainer = training.trainer(&examples).unwrap();
        while !trainer.is_done() {
            trainer.epoch().unwrap();
        }
        let mut params = trainer.learned();
        let options = Options::default();
        assert!(
            training
                .difference(&params, &examples, &options)
                .unwrap()
                .largest()
                < 0.2
        );
        params.snap();
        assert!(
            training
                .difference(&params, &examples, &options)
                .unwrap()
                .largest()
                < 1e-9
        );
        let learned = training.network(&params);
        let cpt = &learned.cpts()[net.find("y").unwrap().index()];
        assert!(cpt.is_functional());
        let table = cpt.table(&learned.cards());
        for (x, z) in (0..3).flat_map(|x| (0..2).map(move |z| (x, z))) {
            let place = ((x * 2 + z) * 2 + truth(x, z)) as usize;
            assert_eq!(table[place], 1.0, "{x} {z} {table:?}");
        }
    }
}

/// Counting complete data, and expectation and maximisation, refuse what they cannot do.
#[test]
fn declared_functions_are_not_counted() {
    let mut b = Network::builder("declared");
    let x = b.variable("x", ["t", "f"]);
    let y = b.variable("y", ["t", "f"]);
    b.table(x, [], [0.5, 0.5]);
    b.table(y, [x], [0.5; 4]).functional();
    let net = b.build().unwrap();
    let mut examples = Examples::new(2);
    examples.insert(net.find("y").unwrap(), Column::Values(vec![0, 1]));
    let task = Task::of(&[], &examples);
    let error = Training::new(
        &net,
        &task,
        TrainingOptions::em(),
        &Options::default(),
        &f64s(),
    )
    .unwrap_err()
    .to_string();
    assert!(
        error.starts_with("CPTs that are declared functional cannot be learned by counting"),
        "{error}"
    );
}
