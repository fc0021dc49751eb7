//! Gradients against central differences of losses that are enumerated.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::learn::{Loss, Params, Start};
use sumout::{
    Column, Evidence, Examples, Finding, Network, Options, Task, Training, TrainingOptions, VarId,
};

use super::{LEVELS, LOSSES, f64s, finding, random_network};
use crate::common::enumerate;

/// Examples with values, likelihoods and missing cells; labels are values, distributions or
/// missing; weights differ.
fn random_examples(
    rng: &mut ChaCha8Rng,
    net: &Network,
    targets: &[VarId],
    rows: usize,
) -> Examples {
    let data = net.sample(rows, rng.random()).unwrap();
    let mut examples = Examples::new(rows);
    for (k, &var) in data
        .columns()
        .iter()
        .enumerate()
        .filter(|(k, _)| k % 2 == 1 || targets.contains(&sumout::internals::var(*k)))
    {
        let card = net.card(var);
        let column = match rng.random_range(0..3) {
            0 => Column::Likelihoods(
                (0..rows * card)
                    .map(|_| rng.random_range(0.1..1.0))
                    .collect(),
            ),
            _ => Column::Values(
                data.rows()
                    .map(|row| {
                        if rng.random_bool(0.2) {
                            -1
                        } else {
                            row[k].unwrap() as i32
                        }
                    })
                    .collect(),
            ),
        };
        examples.insert(var, column);
    }
    examples
        .weigh((0..rows).map(|_| rng.random_range(0.2..2.0)).collect())
        .unwrap();
    examples
}

/// The mean loss by enumeration of all joint states: nothing of the circuit, of its derivatives or
/// of `Loss` is used.
///
/// Parts of labels that are impossible do not count: they are constants.
fn enumerated(net: &Network, loss: &Loss, task: &Task, examples: &Examples) -> (f64, bool) {
    let has_labels = loss.cross_entropy + loss.squared_error > 0.0;
    let (mut total, mut weights, mut is_whole) = (0.0, 0.0, true);
    for row in 0..examples.len() {
        let mut evidence = Evidence::new();
        for var in examples
            .variables()
            .filter(|v| !has_labels || !task.targets().contains(v))
        {
            if let Some(finding) = finding(net, examples, var, row) {
                evidence.insert(net, var, finding).unwrap();
            }
        }
        let truth = enumerate(net, &evidence);
        let mut value = -loss.likelihood * truth.evidence.ln();
        for &target in task.targets().iter().filter(|_| has_labels) {
            let Some(finding) = finding(net, examples, target, row) else {
                continue;
            };
            let label: Vec<f64> = match finding {
                Finding::Hard(label) => (0..net.card(target))
                    .map(|k| f64::from(u8::from(k == label)))
                    .collect(),
                Finding::Soft(numbers) => numbers
                    .iter()
                    .map(|x| x / numbers.iter().sum::<f64>())
                    .collect(),
            };
            for (joint, y) in truth.joints[target.index()]
                .iter()
                .zip(label)
                .filter(|(_, y)| *y > 0.0)
            {
                is_whole &= *joint > 0.0;
                let p = joint / truth.evidence;
                value -= if p > 0.0 {
                    loss.cross_entropy * y * p.ln()
                } else {
                    0.0
                };
                value += loss.squared_error * (y * y - 2.0 * p * y);
            }
            value += loss.squared_error
                * truth.joints[target.index()]
                    .iter()
                    .map(|p| (p / truth.evidence).powi(2))
                    .sum::<f64>();
        }
        total += examples.weight(row) * value;
        weights += examples.weight(row);
    }
    (total / weights, is_whole)
}

/// The setting of a check.
fn features(net: &Network, params: &Params) -> Vec<&'static str> {
    let mut features = vec![];
    for group in params.groups() {
        let role = net.cpts()[group.members[0].index()].role();
        let is_masked = group.weights.len() < group.shape.iter().product();
        let kinds = [
            (role.tie.is_some() && group.members.len() > 1, "tied"),
            (role.keep_zeros && is_masked, "masked"),
            (
                role.tie.is_some() && role.keep_zeros && is_masked && group.members.len() > 1,
                "tied and masked",
            ),
            (role.functional, "declared"),
        ];
        features.extend(
            kinds
                .into_iter()
                .filter(|(is_so, _)| *is_so)
                .map(|(_, name)| name),
        );
    }
    features
}

/// Derivatives with respect to weights are central differences of the enumerated loss; of circuits
/// that rely on functions which are only declared, and so are other functions than the network,
/// those of their own loss.
#[test]
fn gradients_are_central_differences() {
    const STEP: f64 = 1e-5;
    let mut checked: BTreeMap<(usize, String), usize> = BTreeMap::new();
    for seed in 0..240 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let net = random_network(&mut rng, 5 + seed as usize % 2);
        let which = rng.random_range(0..LOSSES.len());
        let targets: Vec<VarId> = [0, 4][..rng.random_range(1..3)]
            .iter()
            .map(|&v| sumout::internals::var(v))
            .collect();
        let examples = random_examples(&mut rng, &net, &targets, 7);
        let task = Task::of(&targets, &examples);
        let level = LEVELS[rng.random_range(0..LEVELS.len())];
        let (prior, cooled) = (0.3 * rng.random_range(0..3) as f64, rng.random_bool(0.5));
        let learning = TrainingOptions {
            loss: LOSSES[which],
            prior,
            starts: vec![Start::Random(seed)],
            temperature: cooled.then_some((0.7, 0.7)),
            ..TrainingOptions::default()
        };
        let options = Options::default().with_level(level).with_effort(0.01);
        let Ok(training) = Training::new(&net, &task, learning, &options, &f64s()) else {
            continue; // nothing that is trainable matters
        };
        let Ok(mut trainer) = training.trainer(&examples) else {
            continue; // all labels are the same
        };
        let rows: Vec<usize> = (0..examples.len()).collect();
        let total: f64 = rows.iter().map(|&row| examples.weight(row)).sum();
        let mut params = training.params().clone();
        params.start(net.model(), Start::Random(seed));
        let weights = params.weights().to_vec();
        trainer.set_weights(&weights);
        let (found, gradient) = trainer.gradient(&rows).unwrap();
        let is_plain = !params.has_promised();
        let mut value = |weights: &[f64]| {
            if !is_plain {
                trainer.set_weights(weights);
                return (trainer.gradient(&rows).unwrap().0, true);
            }
            params.set_weights(weights);
            let (loss, is_whole) =
                enumerated(&training.network(&params), &LOSSES[which], &task, &examples);
            (loss + prior * params.prior() / total, is_whole)
        };
        let context = format!("seed {seed} {level:?} {:?}", LOSSES[which]);
        let (expected, is_whole) = value(&weights);
        let is_close = (found - expected).abs() <= 1e-10 * expected.abs().max(1.0);
        assert!(is_close || !is_whole, "{context}: {found} {expected}");
        for k in 0..weights.len() {
            let mut at =
                |h: f64| value(&[&weights[..k], &[weights[k] + h], &weights[k + 1..]].concat()).0;
            let expected = (at(STEP) - at(-STEP)) / (2.0 * STEP);
            let error = (gradient[k] - expected).abs();
            assert!(
                error <= 1e-6 * expected.abs() + 2e-9,
                "{context} [{k}]: {} {expected}",
                gradient[k]
            );
        }
        let mut names = features(&net, training.params());
        names.extend([
            ["one target", "two targets"][targets.len() - 1],
            if is_plain { "enumerated" } else { "own" },
        ]);
        names.dedup();
        for name in names
            .into_iter()
            .map(String::from)
            .chain([format!("{level:?}")])
        {
            *checked.entry((which, name)).or_default() += weights.len();
        }
    }
    let names = [
        "tied",
        "masked",
        "tied and masked",
        "declared",
        "one target",
        "two targets",
        "enumerated",
        "own",
    ];
    let levels = LEVELS.map(|level| format!("{level:?}"));
    for name in names.into_iter().map(String::from).chain(levels) {
        for (which, loss) in LOSSES.iter().enumerate() {
            let count = checked.get(&(which, name.clone())).copied().unwrap_or(0);
            assert!(count >= 10, "{loss:?}, {name}: only {count} derivatives");
        }
    }
}
