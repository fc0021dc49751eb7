//! Learning: gradients against central differences, expectation and maximisation against counting
//! by hand.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::enumerate;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::learn::{Decay, Loss, Params, Rule, Start};
use sumout::model::Node;
use sumout::{
    Circuit, Column, Cpt, EvalOptions, Evidence, Examples, Finding, FitOptions, Level, Method,
    Network, Options, Precision, Subject, Training, VarId, VarSet,
};

const LEVELS: [Level; 5] = [
    Level::Classical,
    Level::Paper,
    Level::Functional,
    Level::Tables,
    Level::Support,
];

/// Networks with all roles that a CPT can have: fixed, kept zeros, ties, functions known, declared,
/// and neither.
fn random_network(rng: &mut ChaCha8Rng, nodes: usize) -> Network {
    let mut b = Network::builder("random");
    let mut known: Vec<(Node, usize)> = vec![];
    let mut has_twins = false;
    for i in 0..nodes {
        let role = rng.random_range(0..7);
        let card = if role == 6 { 3 } else { rng.random_range(2..4) };
        let node = b.variable(format!("x{i}"), (0..card).map(|k| format!("v{k}")));
        let mut parents = known.clone();
        while parents.len() > rng.random_range(0..3) {
            parents.remove(rng.random_range(0..parents.len()));
        }
        let rows: usize = parents.iter().map(|(_, card)| card).product();
        let parents: Vec<Node> = parents.into_iter().map(|(node, _)| node).collect();
        known.push((node, card));
        match role {
            0 if !parents.is_empty() => drop(
                b.function(node, parents, |u| u.iter().sum::<usize>() % card)
                    .fixed(),
            ),
            1 => drop(
                b.table(node, parents, random_table(rng, rows, card, 0.7))
                    .keep_zeros(),
            ),
            2 => drop(
                b.table(node, parents, random_table(rng, rows, card, 0.0))
                    .fixed(),
            ),
            3 => drop(
                b.table(node, parents, random_table(rng, rows, card, 0.0))
                    .tie("tied"),
            ),
            4 => drop(
                b.table(node, parents, random_table(rng, rows, card, 0.0))
                    .functional(),
            ),
            6 if rows > 1 && !has_twins => {
                // Two with the same zeros.
                has_twins = true;
                let table: Vec<f64> = (0..rows)
                    .flat_map(|row| random_row(rng, card, Some(row % card)))
                    .collect();
                b.table(node, parents.clone(), table.clone())
                    .tie("twins")
                    .keep_zeros();
                let twin = b.variable("twin", (0..card).map(|k| format!("v{k}")));
                b.table(twin, parents, table).tie("twins").keep_zeros();
                known.push((twin, card));
            }
            _ => drop(b.table(node, parents, random_table(rng, rows, card, 0.0))),
        }
    }
    b.build().unwrap()
}

/// Rows, of which a share has a zero.
fn random_table(rng: &mut ChaCha8Rng, rows: usize, card: usize, share: f64) -> Vec<f64> {
    let mut row = |_| {
        let zero = rng.random_bool(share).then(|| rng.random_range(0..card));
        random_row(rng, card, zero)
    };
    (0..rows).flat_map(&mut row).collect()
}

fn random_row(rng: &mut ChaCha8Rng, card: usize, zero: Option<usize>) -> Vec<f64> {
    let mut row: Vec<f64> = (0..card).map(|_| rng.random_range(0.1..1.0)).collect();
    if let Some(zero) = zero {
        row[zero] = 0.0;
    }
    let total: f64 = row.iter().sum();
    row.iter().map(|p| p / total).collect()
}

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
        .filter(|(k, _)| k % 2 == 1 || targets.contains(&VarId::new(*k)))
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

fn course(net: &Network, subject: &Subject, learning: FitOptions, level: Level) -> Training {
    let running = EvalOptions {
        precision: Precision::F64,
        ..EvalOptions::default()
    };
    net.course(
        subject,
        learning,
        &Options {
            level,
            effort: 0.1,
            ..Options::default()
        },
        &running,
    )
    .unwrap()
}

/// What is to become small, each alone and all together.
const LOSSES: [Loss; 4] = [
    Loss {
        cross_entropy: 1.0,
        squared_error: 0.0,
        likelihood: 0.0,
    },
    Loss {
        cross_entropy: 0.0,
        squared_error: 1.0,
        likelihood: 0.0,
    },
    Loss {
        cross_entropy: 0.0,
        squared_error: 0.0,
        likelihood: 1.0,
    },
    Loss {
        cross_entropy: 0.5,
        squared_error: 0.7,
        likelihood: 0.3,
    },
];

/// The mean loss by enumeration of all joint states: nothing of the circuit, of its derivatives or
/// of `Loss` is used.
///
/// Parts of labels that are impossible do not count: they are constants.
fn enumerated(net: &Network, loss: &Loss, subject: &Subject, examples: &Examples) -> (f64, bool) {
    let has_labels = loss.cross_entropy + loss.squared_error > 0.0;
    let (mut total, mut weights, mut is_whole) = (0.0, 0.0, true);
    for row in 0..examples.len() {
        let mut evidence = Evidence::new();
        for var in examples
            .variables()
            .filter(|v| !has_labels || !subject.targets.contains(v))
        {
            if let Some(finding) = finding(net, examples, var, row) {
                evidence.insert(net, var, finding).unwrap();
            }
        }
        let truth = enumerate(net, &evidence);
        let mut value = -loss.likelihood * truth.evidence.ln();
        for &target in subject.targets.iter().filter(|_| has_labels) {
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

fn finding(net: &Network, examples: &Examples, var: VarId, row: usize) -> Option<Finding> {
    match examples.get(var)? {
        Column::Values(values) => usize::try_from(values[row]).ok().map(Finding::Hard),
        Column::Likelihoods(numbers) => {
            let card = net.card(var);
            Some(Finding::Soft(
                numbers[row * card..(row + 1) * card].to_vec(),
            ))
        }
    }
}

/// What a loss was checked with.
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
            .map(|&v| VarId::new(v))
            .collect();
        let examples = random_examples(&mut rng, &net, &targets, 7);
        let subject = Subject::of(&targets, &examples);
        let level = LEVELS[rng.random_range(0..LEVELS.len())];
        let (prior, cooled) = (0.3 * rng.random_range(0..3) as f64, rng.random_bool(0.5));
        let learning = FitOptions {
            loss: LOSSES[which],
            prior,
            starts: vec![Start::Random(seed)],
            temperature: cooled.then_some((0.7, 0.7)),
            ..FitOptions::default()
        };
        let options = Options {
            level,
            effort: 0.01,
            ..Options::default()
        };
        let Ok(course) = net.course(&subject, learning, &options, &f64s()) else {
            continue; // nothing that is trainable matters
        };
        let Ok(mut trainer) = course.trainer(&examples) else {
            continue; // all labels are the same
        };
        let rows: Vec<usize> = (0..examples.len()).collect();
        let total: f64 = rows.iter().map(|&row| examples.weight(row)).sum();
        let mut params = course.params().clone();
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
            let (loss, is_whole) = enumerated(
                &course.network(&params),
                &LOSSES[which],
                &subject,
                &examples,
            );
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
        let mut names = features(&net, course.params());
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

fn f64s() -> EvalOptions {
    EvalOptions {
        precision: Precision::F64,
        ..EvalOptions::default()
    }
}

#[test]
fn the_papers_parameters_are_counted() {
    for (model, target, inputs, count) in [
        ("rect:10", "label", "pixel_*", 136),
        ("digits:10", "d", "p_*", 275),
    ] {
        let net = Network::read(model).unwrap();
        let given: VarSet = net.matching(inputs).unwrap().into_iter().collect();
        let subject = Subject {
            targets: vec![net.find(target).unwrap()],
            given,
            ..Subject::default()
        };
        let course = course(&net, &subject, FitOptions::paper(), Level::Support);
        assert_eq!(
            course.params().len(),
            count,
            "{model}: {:?}",
            course.params().groups()
        );
        let pixels: usize = course
            .params()
            .groups()
            .iter()
            .filter(|g| g.name == "pixel")
            .map(|g| g.members.len())
            .sum();
        assert_eq!(pixels, 100);
    }
}

#[test]
fn ties_of_different_shapes_are_split_or_refused() {
    let net = Network::read("digits:10").unwrap();
    let given: VarSet = net.matching("p_*").unwrap().into_iter().collect();
    let subject = Subject {
        targets: vec![net.find("d").unwrap()],
        given,
        ..Subject::default()
    };
    let shapes = |course: &Training| {
        course
            .params()
            .groups()
            .iter()
            .filter(|g| g.name == "pixel")
            .count()
    };
    assert_eq!(
        shapes(&course(&net, &subject, FitOptions::paper(), Level::Support)),
        5
    );
    let subject = Subject {
        strict_ties: true,
        ..subject
    };
    let error = net
        .course(&subject, FitOptions::paper(), &Options::default(), &f64s())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with(
            "CPTs tied as `pixel` have the shapes [2, 2, 2, 2, 2] and [2, 2, 2, 2, 2, 2]"
        ) || error.contains("[2, 2, 2]"),
        "{error}"
    );
}

/// Counts of complete data are what one step of expectation and maximisation finds.
#[test]
fn complete_data_are_counted_in_one_step() {
    let net = Network::read("asia").unwrap();
    let data = net.sample(500, 3).unwrap();
    let examples = Examples::from(&data);
    let subject = Subject::of(&[], &examples);
    let course = course(
        &net,
        &subject,
        FitOptions {
            starts: vec![Start::Uniform],
            ..FitOptions::em()
        },
        Level::Auto,
    );
    let mut trainer = course.trainer(&examples).unwrap();
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
        // What is tied starts equal: at the mean.
        let mut net = latent(&mut rng);
        let prior = 0.5 * (seed % 2) as f64;
        let examples = hidden(&mut rng, &net, 25, 0.2, false);
        let level = LEVELS[seed as usize % LEVELS.len()];
        let course = course(
            &net,
            &Subject::of(&[], &examples),
            FitOptions {
                prior,
                ..FitOptions::em()
            },
            level,
        );
        net = course.network(course.params());
        let mut trainer = course.trainer(&examples).unwrap();
        for step in 0..3 {
            trainer.epoch().unwrap();
            let expected = enumerated_step(&net, &examples, prior);
            assert_tables(
                &net,
                &trainer.learned(),
                &expected,
                &format!("seed {seed} {level:?}, step {step}"),
            );
            net = course.network(&trainer.learned());
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
        let (subject, prior) = (Subject::of(&[], &examples), 0.25 * seed as f64 + 0.25);
        let counted = net
            .count(&subject, &examples, prior)
            .unwrap()
            .expect("nothing is missing");
        assert_tables(
            &net,
            &counted,
            &enumerated_step(&net, &examples, prior),
            &format!("seed {seed}"),
        );
        let course = course(
            &net,
            &subject,
            FitOptions {
                prior,
                ..FitOptions::em()
            },
            Level::Auto,
        );
        let mut trainer = course.trainer(&examples).unwrap();
        trainer.epoch().unwrap();
        let tables: Vec<Vec<f64>> = net
            .ids()
            .map(|v| counted.table(v).unwrap_or(&[]).to_vec())
            .collect();
        assert_tables(&net, &trainer.learned(), &tables, &format!("seed {seed}"));
        let missing = hidden(&mut rng, &net, 60, 0.1, true);
        assert!(net.count(&subject, &missing, prior).unwrap().is_none());
    }
}

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
        let subject = Subject {
            targets: targets.clone(),
            given,
            ..Subject::default()
        };
        let loss = if targets.is_empty() {
            LOSSES[2]
        } else {
            LOSSES[0]
        };
        let learning = FitOptions {
            loss,
            epochs: 3,
            starts: vec![Start::Network],
            ..FitOptions::default()
        };
        let course = course(&net, &subject, learning, Level::Paper);
        let mut trainer = course.trainer(&examples).unwrap();
        while !trainer.is_done() {
            trainer.epoch().unwrap();
        }
        let mut params = trainer.learned();
        let found = course
            .difference(&params, &examples, &Options::default())
            .unwrap();
        assert!(
            found.largest > 1e-3 && found.unthinned && found.examples == 200,
            "{found:?}"
        );
        let (circuit, _) = &course.trained(&params)[0];
        let (loss, _) = course.measure(&params, &examples).unwrap();
        let batch = |circuit: &Circuit| examples.batch_for(circuit).unwrap();
        if !targets.is_empty() {
            let again = Circuit::from_bytes(&circuit.to_bytes().unwrap()).unwrap();
            assert_eq!(
                circuit.evaluate(&batch(circuit)).unwrap(),
                again.evaluate(&batch(&again)).unwrap()
            );
        }
        params.snap();
        let found = course
            .difference(&params, &examples, &Options::default())
            .unwrap();
        assert!(found.largest < 1e-9 && found.unthinned, "{found:?}");
        assert_ne!(course.measure(&params, &examples).unwrap().0, loss);
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
        let learning = FitOptions {
            starts: vec![Start::Random(seed)],
            epochs: 30,
            least: 0.0,
            prior: (seed % 2) as f64,
            ..FitOptions::em()
        };
        let Ok(course) = net.course(
            &Subject::of(&[], &examples),
            learning,
            &Options::default(),
            &f64s(),
        ) else {
            continue;
        };
        let mut trainer = course.trainer(&examples).unwrap();
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

/// What is saved in the middle and goes on ends where it would have ended.
#[test]
fn an_interrupted_course_ends_where_it_would_have() {
    let net = Network::read("rect:4").unwrap();
    let data = net.sample(60, 5).unwrap();
    let mut examples = Examples::from(&data);
    let label = net.find("label").unwrap();
    examples.weigh(vec![1.0; 60]).unwrap();
    let given: VarSet = net.matching("pixel_*").unwrap().into_iter().collect();
    let subject = Subject {
        targets: vec![label],
        given,
        ..Subject::default()
    };
    let learning = FitOptions {
        epochs: 6,
        goal: None,
        ..FitOptions::paper()
    };
    let course = course(&net, &subject, learning, Level::Support);
    let mut whole = course.trainer(&examples).unwrap();
    let mut parts = course.trainer(&examples).unwrap();
    while !whole.is_done() {
        whole.epoch().unwrap();
        parts.epoch().unwrap();
        let saved = serde_json::to_string(parts.state()).unwrap();
        parts = course.trainer(&examples).unwrap();
        parts
            .restore(serde_json::from_str(&saved).unwrap())
            .unwrap();
    }
    assert_eq!(whole.state(), parts.state());
    assert_eq!(whole.state().history.len(), 5 * 2 + 6);
}

/// Plain gradient descent gets there, too.
#[test]
fn rules_and_rates_make_the_loss_less() {
    let net = Network::read("asia").unwrap();
    let examples = Examples::from(&net.sample(300, 1).unwrap());
    let bronc = net.find("bronc").unwrap();
    let given: VarSet = ["smoke", "dysp"]
        .map(|name| net.find(name).unwrap())
        .into_iter()
        .collect();
    let subject = Subject {
        targets: vec![bronc],
        given,
        ..Subject::default()
    };
    for (rule, rate) in [(Rule::Adam, 0.05), (Rule::Sgd { momentum: 0.9 }, 0.5)] {
        let method = Method::Gradient {
            rule,
            decay: Decay::constant(rate),
            batch: 50,
            steps: 1,
        };
        let learning = FitOptions {
            method,
            starts: vec![Start::Uniform],
            epochs: 30,
            validation: 0.0,
            loss: Loss::default(),
            ..FitOptions::default()
        };
        let course = course(&net, &subject, learning, Level::Auto);
        let mut trainer = course.trainer(&examples).unwrap();
        while !trainer.is_done() {
            trainer.epoch().unwrap();
        }
        let history = &trainer.state().history;
        assert!(
            history.last().unwrap().loss < 0.8 * 2f64.ln(),
            "{rule:?} {history:?}"
        );
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
    let subject = Subject::of(&[target], &examples);
    for level in [Level::Functional, Level::Auto] {
        let learning = FitOptions {
            temperature: Some((1.0, 0.2)),
            ..FitOptions::default()
        };
        let course = course(&net, &subject, learning, level);
        let mut trainer = course.trainer(&examples).unwrap();
        while !trainer.is_done() {
            trainer.epoch().unwrap();
        }
        let mut params = trainer.learned();
        let options = Options::default();
        assert!(
            course
                .difference(&params, &examples, &options)
                .unwrap()
                .largest
                < 0.2
        );
        params.snap();
        assert!(
            course
                .difference(&params, &examples, &options)
                .unwrap()
                .largest
                < 1e-9
        );
        let learned = course.network(&params);
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
    let subject = Subject::of(&[], &examples);
    let error = net
        .course(&subject, FitOptions::em(), &Options::default(), &f64s())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("CPTs that are declared functional cannot be learned by counting"),
        "{error}"
    );
}

/// Examples that nothing can be learned from say why.
#[test]
fn useless_examples_are_refused() {
    let net = Network::read("asia").unwrap();
    let (lung, xray) = (net.find("lung").unwrap(), net.find("xray").unwrap());
    let complaint = |labels: Option<Vec<i32>>, rows: usize| {
        let mut examples = Examples::new(rows);
        examples.insert(xray, Column::Values(vec![0; rows]));
        if let Some(labels) = labels {
            examples.insert(lung, Column::Values(labels));
        }
        let subject = Subject {
            targets: vec![lung],
            given: [xray].into_iter().collect(),
            ..Subject::default()
        };
        let course = crate::course(&net, &subject, FitOptions::default(), Level::Auto);
        course
            .trainer(&examples)
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert!(complaint(Some(vec![]), 0).starts_with("there are no examples"));
    assert!(complaint(None, 2).starts_with("no example has a label `lung`"));
    assert!(complaint(Some(vec![-1, -1]), 2).starts_with("all labels are missing: `lung`"));
    assert!(complaint(Some(vec![1, 1, -1]), 3).starts_with("all labels are `no`"));
    let mut examples = Examples::new(2);
    examples.insert(lung, Column::Likelihoods(vec![0.0, 1.0, 0.0, 0.3]));
    let subject = Subject {
        targets: vec![lung],
        given: [xray].into_iter().collect(),
        ..Subject::default()
    };
    let course = course(&net, &subject, FitOptions::default(), Level::Auto);
    assert!(
        course
            .trainer(&examples)
            .unwrap_err()
            .to_string()
            .starts_with("all labels are `no`")
    );
    let nothing = Loss {
        cross_entropy: 0.0,
        squared_error: 0.0,
        likelihood: 0.0,
    };
    let error = FitOptions {
        loss: nothing,
        ..FitOptions::default()
    }
    .check()
    .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("all weights of the loss are zero")
    );
}

/// What becomes ever less probable becomes zero, before products of such numbers are too small for
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
    let learning = FitOptions {
        epochs: 60,
        least: 0.0,
        ..FitOptions::em()
    };
    let course = course(&net, &Subject::of(&[], &examples), learning, Level::Auto);
    let mut trainer = course.trainer(&examples).unwrap();
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

/// Without background knowledge, too, the paper's parameters are counted: nothing is pruned, and
/// ties are not split.
#[test]
fn the_papers_parameters_without_knowledge_are_counted() {
    for (model, count) in [("rect:10,trainable", 4428), ("digits:10,trainable", 22_797)] {
        let net = Network::read(model).unwrap();
        let domains: Vec<Vec<usize>> = net.ids().map(|v| (0..net.card(v)).collect()).collect();
        let children: Vec<VarId> = Subject::default().trainable(&net).iter().collect();
        assert_eq!(children.len(), net.variables().len());
        let params = Params::new(net.model(), &children, &[], &domains, true).unwrap();
        assert_eq!(params.len(), count, "{model}");
    }
}

/// CPTs that no input reaches follow those that they are tied to.
#[test]
fn ties_hold_where_no_input_reaches() {
    let net = Network::read("rect:4").unwrap();
    let given: VarSet = net.matching("pixel_0_*").unwrap().into_iter().collect();
    let subject = Subject {
        targets: vec![net.find("label").unwrap()],
        given,
        ..Subject::default()
    };
    let course = course(
        &net,
        &subject,
        FitOptions {
            starts: vec![Start::Random(1)],
            epochs: 1,
            ..FitOptions::default()
        },
        Level::Auto,
    );
    let examples = Examples::from(&net.sample(20, 1).unwrap());
    let mut trainer = course.trainer(&examples).unwrap();
    trainer.epoch().unwrap();
    let learned = course.network(&trainer.learned());
    let table =
        |name: &str| learned.cpts()[learned.find(name).unwrap().index()].table(&learned.cards());
    assert_eq!(table("pixel_0_0"), table("pixel_3_3"));
    assert_ne!(
        table("pixel_0_0"),
        net.cpts()[net.find("pixel_0_0").unwrap().index()].table(&net.cards())
    );
}

/// Examples that do not count, in the part that is watched, do no harm.
#[test]
fn examples_without_weight_are_left_out() {
    let net = Network::read("asia").unwrap();
    let mut examples = Examples::from(&net.sample(40, 2).unwrap());
    examples
        .weigh((0..40).map(|row| f64::from(row % 2)).collect())
        .unwrap();
    let subject = Subject::of(&[net.find("bronc").unwrap()], &examples);
    let course = course(
        &net,
        &subject,
        FitOptions {
            validation: 0.05,
            epochs: 3,
            ..FitOptions::paper()
        },
        Level::Auto,
    );
    let mut trainer = course.trainer(&examples).unwrap();
    while !trainer.is_done() {
        let epoch = trainer.epoch().unwrap();
        assert!(epoch.watched_loss.is_finite() && epoch.watched_loss < 100.0);
    }
}

/// What is kept in the end is as good, on the examples that are watched, as all that was seen
/// there: starts, too.
#[test]
fn what_is_kept_is_the_best_that_was_watched() {
    let net = Network::read("rect:5").unwrap();
    let given: VarSet = net.matching("pixel_*").unwrap().into_iter().collect();
    let subject = Subject {
        targets: vec![net.find("label").unwrap()],
        given,
        ..Subject::default()
    };
    let course = course(
        &net,
        &subject,
        FitOptions {
            epochs: 5,
            goal: None,
            ..FitOptions::paper()
        },
        Level::Auto,
    );
    let examples = Examples::from(&net.sample(60, 9).unwrap());
    let mut starts_kept = 0;
    for seed in 0..20 {
        let mut trainer = course.trainer_with(&examples, seed).unwrap();
        while !trainer.is_done() {
            trainer.epoch().unwrap();
        }
        let history = &trainer.state().history;
        let is_last = |at: usize| {
            history
                .get(at + 1)
                .is_none_or(|next| next.start != history[at].start)
        };
        let counted = (0..history.len()).filter(|&at| history[at].start.is_none() || is_last(at));
        let best = counted
            .filter_map(|at| history[at].accuracy)
            .fold(0.0, f64::max);
        assert_eq!(
            trainer.state().best().unwrap().accuracy,
            Some(best),
            "seed {seed}"
        );
        starts_kept += usize::from(trainer.state().best().unwrap().start.is_some());
    }
    assert!(starts_kept > 0);
}
