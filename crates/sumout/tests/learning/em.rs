//! Expectation–maximisation and counting, against enumeration.

use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::learn::{Params, Start};
use sumout::model::Node;
use sumout::{
    Column, Cpt, Evidence, Examples, FitOptions, Level, Network, Options, Task, Training,
    TrainingOptions,
};

use super::{LEVELS, f64s, finding, random_network, random_row, training};
use crate::common::{self, enumerate};

/// Counts of complete data are what one step of expectation and maximisation finds.
#[test]
fn complete_data_are_counted_in_one_step() {
    let net = Network::read("asia").unwrap();
    let data = net.sample(500, 3).unwrap();
    let examples = Examples::from(&data);
    let task = Task::of(&[], &examples);
    let training = training(
        &net,
        &task,
        TrainingOptions {
            starts: vec![Start::Uniform],
            ..TrainingOptions::em()
        },
        Level::Auto,
    );
    let mut trainer = training.trainer(&examples).unwrap();
    trainer.epoch().unwrap();
    let params = trainer.learned();
    let (smoke, bronc) = (net.find("smoke").unwrap(), net.find("bronc").unwrap());
    let table = params.table(bronc).unwrap();
    for u in 0..2 {
        let of = |x: u32| {
            data.rows()
                .filter(|r| r[smoke.index()] == Some(u) && r[bronc.index()] == Some(x))
                .count() as f64
        };
        assert!(
            (table[u as usize * 2] - of(0) / (of(0) + of(1))).abs() < 1e-9,
            "{table:?}"
        );
    }
}

/// A latent class, three things tied to each other that keep their zeros, what depends on two of
/// them, and a function.
fn latent(rng: &mut ChaCha8Rng) -> Network {
    let mut b = Network::builder("latent");
    let class = b.variable("class", ["0", "1", "2"]);
    b.table(class, [], random_row(rng, 3, None));
    let seen: Vec<Node> = ["a", "b", "c"]
        .map(|name| b.variable(name, ["0", "1", "2"]))
        .into();
    for &node in &seen {
        let table: Vec<f64> = (0..3)
            .flat_map(|row| random_row(rng, 3, (row < 2).then_some(row)))
            .collect();
        b.table(node, [class], table).tie("seen").keep_zeros();
    }
    let sum = b.variable("sum", ["0", "1"]);
    b.function(sum, [seen[0], seen[1]], |u| (u[0] + u[1]) % 2)
        .fixed();
    let last = b.variable("last", ["0", "1"]);
    let table: Vec<f64> = (0..6).flat_map(|_| random_row(rng, 2, None)).collect();
    b.table(last, [sum, seen[2]], table);
    b.build().unwrap()
}

/// The tables that an iteration of expectation and maximisation finds, by enumeration.
fn enumerated_step(net: &Network, examples: &Examples, prior: f64) -> Vec<Vec<f64>> {
    let cards = net.cards();
    let mut counts: Vec<Vec<f64>> = net
        .cpts()
        .iter()
        .map(|cpt| vec![0.0; cpt.size(&cards)])
        .collect();
    for row in 0..examples.len() {
        let mut evidence = Evidence::new();
        for var in examples.variables() {
            if let Some(finding) = finding(net, examples, var, row) {
                evidence.insert(net, var, finding).unwrap();
            }
        }
        let total = enumerate(net, &evidence).evidence;
        for state in 0..cards.iter().product() {
            let mut rest = state;
            let states: Vec<usize> = cards
                .iter()
                .map(|card| (rest % card, rest /= card).0)
                .collect();
            let share =
                examples.weight(row) * common::weight(net, &evidence, &cards, &states) / total;
            for (cpt, counts) in net.cpts().iter().zip(&mut counts) {
                counts[cpt
                    .scope()
                    .iter()
                    .fold(0, |at, v| at * cards[v.index()] + states[v.index()])] += share;
            }
        }
    }
    let tied = |cpt: &Cpt| {
        let alike = |(other, _): &(&Cpt, &Vec<f64>)| {
            cpt.role().tie.is_some() && other.role().tie == cpt.role().tie
        };
        let mut sum = vec![0.0; cpt.size(&cards)];
        for (_, counts) in net
            .cpts()
            .iter()
            .zip(&counts)
            .filter(|pair| alike(pair) || std::ptr::eq(pair.0, cpt))
        {
            sum.iter_mut()
                .zip(counts)
                .for_each(|(sum, count)| *sum += count);
        }
        sum
    };
    let step = |cpt: &Cpt| {
        let (before, mut table) = (cpt.table(&cards), tied(cpt));
        if cpt.role().fixed {
            return before;
        }
        let is_kept = |at: usize| cpt.role().keep_zeros && before[at] == 0.0;
        table
            .iter_mut()
            .enumerate()
            .filter(|(at, _)| !is_kept(*at))
            .for_each(|(_, count)| *count += prior);
        let card = cards[cpt.child().unwrap().index()];
        for row in table.chunks_exact_mut(card) {
            let total: f64 = row.iter().sum();
            row.iter_mut().for_each(|count| *count /= total);
        }
        table
    };
    net.cpts().iter().map(step).collect()
}

/// Values of a sample, of which some are missing, and of which the class may be.
fn hidden(
    rng: &mut ChaCha8Rng,
    net: &Network,
    rows: usize,
    missing: f64,
    has_class: bool,
) -> Examples {
    let data = net.sample(rows, rng.random()).unwrap();
    let mut examples = Examples::new(rows);
    for (k, &var) in data
        .columns()
        .iter()
        .enumerate()
        .filter(|(k, _)| has_class || *k > 0)
    {
        let cell = |row: &[Option<u32>]| {
            if rng.random_bool(missing) {
                -1
            } else {
                row[k].unwrap() as i32
            }
        };
        examples.insert(var, Column::Values(data.rows().map(cell).collect()));
    }
    examples
        .weigh((0..rows).map(|_| rng.random_range(0.2..2.0)).collect())
        .unwrap();
    examples
}

fn assert_tables(net: &Network, found: &Params, expected: &[Vec<f64>], context: &str) {
    for (var, table) in found.tables() {
        let expected = &expected[var.index()];
        let is_close = table
            .iter()
            .zip(expected)
            .all(|(x, y)| (x - y).abs() < 1e-9);
        assert!(
            is_close,
            "{context}, {}: {table:?} {expected:?}",
            net.variable(var).name
        );
    }
}

/// With ties, kept zeros, weights, a prior, missing cells and a variable that is never seen.
#[test]
fn expectation_and_maximisation_is_what_enumeration_finds() {
    for seed in 0..12 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        // Tied parameters start at their mean.
        let mut net = latent(&mut rng);
        let prior = 0.5 * (seed % 2) as f64;
        let examples = hidden(&mut rng, &net, 25, 0.2, false);
        let level = LEVELS[seed as usize % LEVELS.len()];
        let training = training(
            &net,
            &Task::of(&[], &examples),
            TrainingOptions {
                prior,
                ..TrainingOptions::em()
            },
            level,
        );
        net = training.network(training.params());
        let mut trainer = training.trainer(&examples).unwrap();
        for step in 0..3 {
            trainer.epoch().unwrap();
            let expected = enumerated_step(&net, &examples, prior);
            assert_tables(
                &net,
                &trainer.learned(),
                &expected,
                &format!("seed {seed} {level:?}, step {step}"),
            );
            net = training.network(&trainer.learned());
        }
    }
}

/// Of complete examples, counts are all there is to know: ties are added up, zeros are kept,
/// weights and priors count.
#[test]
fn counting_is_one_step_and_the_last() {
    for seed in 0..6 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let net = latent(&mut rng);
        let examples = hidden(&mut rng, &net, 60, 0.0, true);
        let (task, prior) = (Task::of(&[], &examples), 0.25 * seed as f64 + 0.25);
        let options = FitOptions::preset("em").unwrap().prior(prior).epochs(1);
        let fit = |examples: &Examples| net.fit(&task, examples, &options, &mut |_| Ok(()));
        let fitted = fit(&examples).unwrap();
        assert!(fitted.is_counted(), "nothing is missing");
        let counted = fitted.params();
        assert_tables(
            &net,
            counted,
            &enumerated_step(&net, &examples, prior),
            &format!("seed {seed}"),
        );
        let training = training(
            &net,
            &task,
            TrainingOptions {
                prior,
                ..TrainingOptions::em()
            },
            Level::Auto,
        );
        let mut trainer = training.trainer(&examples).unwrap();
        trainer.epoch().unwrap();
        let tables: Vec<Vec<f64>> = net
            .ids()
            .map(|v| counted.table(v).unwrap_or(&[]).to_vec())
            .collect();
        assert_tables(&net, &trainer.learned(), &tables, &format!("seed {seed}"));
        let missing = hidden(&mut rng, &net, 60, 0.1, true);
        assert!(!fit(&missing).unwrap().is_counted());
    }
}

/// With missing cells and a variable that is never seen, no step makes the likelihood less.
#[test]
fn the_likelihood_never_becomes_less() {
    for seed in 0..10 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let net = random_network(&mut rng, 8);
        let data = net.sample(200, seed).unwrap();
        let mut examples = Examples::new(200);
        for (k, &var) in data.columns().iter().enumerate().skip(1) {
            let cell = |row: &[Option<u32>]| row[k].unwrap() as i32;
            examples.insert(
                var,
                Column::Values(
                    data.rows()
                        .map(|row| if rng.random_bool(0.2) { -1 } else { cell(row) })
                        .collect(),
                ),
            );
        }
        let learning = TrainingOptions {
            starts: vec![Start::Random(seed)],
            epochs: 30,
            min_improvement: 0.0,
            prior: (seed % 2) as f64,
            ..TrainingOptions::em()
        };
        let Ok(training) = Training::new(
            &net,
            &Task::of(&[], &examples),
            learning,
            &Options::default(),
            &f64s(),
        ) else {
            continue;
        };
        let mut trainer = training.trainer(&examples).unwrap();
        while !trainer.is_done() {
            trainer.epoch().unwrap();
        }
        let losses: Vec<f64> = trainer
            .state()
            .history
            .iter()
            .map(|epoch| epoch.loss)
            .collect();
        assert!(
            losses.len() > 3 && losses.windows(2).all(|pair| pair[1] <= pair[0] + 1e-9),
            "{losses:?}"
        );
    }
}

/// Vanishing probabilities become zero, before products of such numbers are too small for
/// numbers; and what is saved can be read again.
#[test]
fn numbers_that_vanish_do_no_harm() {
    let net =
        Network::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/alarm.bif.gz"))
            .unwrap();
    let data = net.sample(50, 1).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut examples = Examples::new(50);
    for (k, &var) in data.columns().iter().enumerate() {
        let cell = |row: &[Option<u32>]| {
            if rng.random_bool(0.2) {
                -1
            } else {
                row[k].unwrap() as i32
            }
        };
        examples.insert(var, Column::Values(data.rows().map(cell).collect()));
    }
    let learning = TrainingOptions {
        epochs: 60,
        min_improvement: 0.0,
        ..TrainingOptions::em()
    };
    let training = training(&net, &Task::of(&[], &examples), learning, Level::Auto);
    let mut trainer = training.trainer(&examples).unwrap();
    while !trainer.is_done() {
        trainer.epoch().unwrap();
    }
    let losses: Vec<f64> = trainer
        .state()
        .history
        .iter()
        .map(|epoch| epoch.loss)
        .collect();
    assert!(
        losses.len() > 10 && losses.windows(2).all(|pair| pair[1] <= pair[0] + 1e-9),
        "{losses:?}"
    );
    assert!(
        trainer
            .learned()
            .tables()
            .any(|(_, table)| table.contains(&0.0))
    );
    let saved = serde_json::to_string(trainer.state()).unwrap();
    assert_eq!(trainer.state(), &serde_json::from_str(&saved).unwrap());
}
