//! Gradients of testing networks against central differences of their semantics, taken literally.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::learn::{Loss, Start};
use sumout::model::Sight;
use sumout::{
    Column, EvalOptions, Evidence, Examples, Finding, Level, Network, Options, Precision, Task,
    Training, TrainingOptions, VarId,
};

use super::literal::Literal;
use super::random::{Kind, random};
use crate::common::LEVELS;

const ROWS: usize = 4;

fn training(net: &Network, task: &Task, loss: Loss, level: Level) -> Option<Training> {
    let running = EvalOptions::default()
        .with_precision(Precision::F64)
        .with_threads(1);
    let learning = TrainingOptions {
        loss,
        prior: 0.0,
        starts: vec![Start::Network],
        validation: 0.0,
        ..TrainingOptions::default()
    };
    let options = Options::default().with_level(level).with_effort(0.01);
    Training::new(net, task, learning, &options, &running).ok() // there may be nothing to learn
}

fn examples(net: &Network, target: VarId, rng: &mut ChaCha8Rng) -> Examples {
    let mut examples = Examples::new(ROWS);
    for v in net.ids().filter(|v| *v != target) {
        if rng.random_bool(0.6) {
            let numbers = (0..ROWS * net.card(v))
                .map(|_| 0.1 + rng.random::<f64>())
                .collect();
            examples.insert(v, Column::Likelihoods(numbers));
        }
    }
    examples.insert(
        target,
        Column::Values(
            (0..ROWS)
                .map(|row| (row % net.card(target)) as i32)
                .collect(),
        ),
    );
    examples
}

/// The mean loss, by what the semantics of the network says; whether each label is possible.
fn literal_loss(net: &Network, target: VarId, loss: &Loss, examples: &Examples) -> (f64, bool) {
    let (mut total, mut is_possible) = (0.0, true);
    for row in 0..ROWS {
        let mut evidence = Evidence::new();
        for v in examples.variables().filter(|v| *v != target) {
            if let Some(Column::Likelihoods(numbers)) = examples.get(v) {
                let card = net.card(v);
                evidence
                    .insert(
                        net,
                        v,
                        Finding::Soft(numbers[row * card..][..card].to_vec()),
                    )
                    .unwrap();
            }
        }
        let truth = Literal::new(net, &evidence);
        let label = row % net.card(target);
        let p = truth.joints[target.index()][label] / truth.evidence;
        is_possible &= p > 1e-6 && truth.evidence > 0.0;
        total += -loss.cross_entropy * p.ln() - loss.likelihood * truth.evidence.ln();
    }
    (total / ROWS as f64, is_possible)
}

#[test]
fn gradients_of_copies_thresholds_and_slopes_are_central_differences() {
    let mut checked = 0;
    for kind in Kind::ALL {
        for seed in 0..12 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let net = random(&mut rng, kind, Sight::ALL[seed as usize % 3]);
            let target = sumout::internals::var(rng.random_range(0..net.variables().len()));
            let examples = examples(&net, target, &mut rng);
            let loss = Loss {
                cross_entropy: 1.0,
                likelihood: f64::from(seed as u32 % 2),
                ..Loss::default()
            };
            let task = Task::of(&[target], &examples);
            let level = LEVELS[seed as usize % LEVELS.len()];
            if let Some(training) = training(&net, &task, loss, level) {
                checked += check(&training, target, &loss, &examples, &mut rng);
            }
        }
    }
    assert!(checked > 150, "only {checked} derivatives were checked");
}

fn check(
    training: &Training,
    target: VarId,
    loss: &Loss,
    examples: &Examples,
    rng: &mut ChaCha8Rng,
) -> usize {
    const STEP: f64 = 1e-5;
    let mut params = training.params().clone();
    let weights = params.weights().to_vec();
    let at = |params: &mut sumout::learn::Params, i: usize, h: f64| {
        let mut moved = weights.clone();
        moved[i] += h;
        params.set_weights(&moved);
        literal_loss(&training.network(params), target, loss, examples)
    };
    let Ok(trainer) = training.trainer(examples) else {
        return 0;
    };
    let (here, is_possible) = at(&mut params, 0, 0.0);
    if !is_possible {
        return 0;
    }
    let (value, gradient) = trainer.gradient(&(0..ROWS).collect::<Vec<_>>()).unwrap();
    assert!(
        (value - here).abs() < 1e-8 * (1.0 + here.abs()),
        "{value} {here}"
    );
    let chosen: Vec<usize> = (0..8).map(|_| rng.random_range(0..weights.len())).collect();
    for &i in &chosen {
        let expected = (at(&mut params, i, STEP).0 - at(&mut params, i, -STEP).0) / (2.0 * STEP);
        let is_close = (gradient[i] - expected).abs() < 1e-6 * (1.0 + expected.abs());
        assert!(
            is_close,
            "{i}: {} {expected} {:?}",
            gradient[i],
            training.params().groups()
        );
    }
    chosen.len()
}
