//! Learning: gradients against central differences, expectation and maximisation against counting by hand.

use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::learn::{Decay, Loss, Params, Rule, Start};
use sumout::model::Node;
use sumout::{
    Column, Course, Examples, Learning, Level, Method, Network, Options, Precision, Running, Subject, VarId, VarSet,
};

const LEVELS: [Level; 5] = [Level::Classical, Level::Paper, Level::Functional, Level::Tables, Level::Support];

/// Networks with all roles that a CPT can have: fixed, kept zeros, ties, functions known, declared, and neither.
fn random_network(rng: &mut ChaCha8Rng, nodes: usize) -> Network {
    let mut b = Network::builder("random");
    let mut known: Vec<(Node, usize)> = vec![];
    for i in 0..nodes {
        let card = rng.random_range(2..4);
        let node = b.variable(format!("x{i}"), (0..card).map(|k| format!("v{k}")));
        let mut parents = known.clone();
        while parents.len() > rng.random_range(0..3) {
            parents.remove(rng.random_range(0..parents.len()));
        }
        let rows: usize = parents.iter().map(|(_, card)| card).product();
        let parents: Vec<Node> = parents.into_iter().map(|(node, _)| node).collect();
        let role = rng.random_range(0..6);
        if role == 0 && !parents.is_empty() {
            b.function(node, parents, |u| u.iter().sum::<usize>() % card).fixed();
        } else {
            let keeps = role == 1;
            let table: Vec<f64> = (0..rows).flat_map(|_| random_row(rng, card, keeps)).collect();
            let draft = b.table(node, parents, table);
            match role {
                1 => draft.keep_zeros(),
                2 => draft.fixed(),
                3 => draft.tie("tied"),
                4 if rng.random_bool(0.5) => draft.functional(),
                4 => draft.tie("tied"),
                _ => draft,
            };
        }
        known.push((node, card));
    }
    b.build().unwrap()
}

fn random_row(rng: &mut ChaCha8Rng, card: usize, has_zeros: bool) -> Vec<f64> {
    let mut row: Vec<f64> = (0..card).map(|_| rng.random_range(0.1..1.0)).collect();
    if has_zeros {
        row[rng.random_range(0..card)] = 0.0;
    }
    let total: f64 = row.iter().sum();
    row.iter().map(|p| p / total).collect()
}

/// Examples with values, likelihoods and missing cells; labels are values, distributions or missing; weights differ.
fn random_examples(rng: &mut ChaCha8Rng, net: &Network, targets: &[VarId], rows: usize) -> Examples {
    let data = net.sample(rows, rng.random()).unwrap();
    let mut examples = Examples::new(rows);
    for (k, &var) in data.columns().iter().enumerate().filter(|(k, _)| k % 2 == 1 || targets.contains(&VarId::new(*k)))
    {
        let card = net.card(var);
        let column = match rng.random_range(0..3) {
            0 => Column::Likelihoods((0..rows * card).map(|_| rng.random_range(0.1..1.0)).collect()),
            _ => Column::Values(
                data.rows().map(|row| if rng.random_bool(0.2) { -1 } else { row[k].unwrap() as i32 }).collect(),
            ),
        };
        examples.insert(var, column);
    }
    examples.weigh((0..rows).map(|_| rng.random_range(0.2..2.0)).collect()).unwrap();
    examples
}

fn course(net: &Network, subject: &Subject, learning: Learning, level: Level) -> Course {
    let running = Running { precision: Precision::F64, ..Running::default() };
    net.course(subject, learning, &Options { level, effort: 0.1, ..Options::default() }, &running).unwrap()
}

#[test]
fn gradients_are_central_differences() {
    let losses = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.5, 0.7, 0.3)];
    let mut checked = 0;
    for seed in 0..60 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let net = random_network(&mut rng, 7);
        let (cross_entropy, squared_error, likelihood) = losses[seed as usize % 4];
        let loss = Loss { cross_entropy, squared_error, likelihood };
        let targets: Vec<VarId> = [0, 5][..1 + seed as usize % 2].iter().map(|&v| VarId::new(v)).collect();
        let examples = random_examples(&mut rng, &net, &targets, 11);
        let subject = Subject::of(&targets, &examples);
        let level = LEVELS[seed as usize % 5];
        let learning = Learning { loss, prior: 0.3 * (seed % 3) as f64, validation: 0.0, ..Learning::default() };
        let temperature = (seed % 4 == 3).then_some((0.7, 0.7));
        let learning = Learning { starts: vec![Start::Random(seed)], temperature, ..learning };
        let Ok(course) = net.course(&subject, learning, &Options { level, ..Options::default() }, &f64s()) else {
            continue; // nothing that is trainable matters
        };
        let Ok(mut trainer) = course.trainer(&examples) else {
            continue; // all labels are the same
        };
        let rows: Vec<usize> = (0..examples.len()).collect();
        let weights = course_start(&course, &net, seed);
        trainer.set_weights(&weights);
        let (_, gradient) = trainer.gradient(&rows).unwrap();
        for k in 0..weights.len() {
            let mut at = |h: f64| {
                let mut moved = weights.clone();
                moved[k] += h;
                trainer.set_weights(&moved);
                trainer.gradient(&rows).unwrap().0
            };
            let expected = (at(1e-5) - at(-1e-5)) / 2e-5;
            let error = (gradient[k] - expected).abs();
            assert!(error <= 1e-6 * (0.1 + expected.abs()), "seed {seed} {level:?} [{k}]: {} {expected}", gradient[k]);
            checked += 1;
        }
    }
    assert!(checked > 600, "{checked}");
}

fn f64s() -> Running {
    Running { precision: Precision::F64, ..Running::default() }
}

fn course_start(course: &Course, net: &Network, seed: u64) -> Vec<f64> {
    let mut params: Params = course.params().clone();
    params.start(net, Start::Random(seed));
    params.weights().to_vec()
}

#[test]
fn the_papers_parameters_are_counted() {
    for (model, target, inputs, count) in [("rect:10", "label", "pixel_*", 136), ("digits:10", "d", "p_*", 275)] {
        let net = Network::read(model).unwrap();
        let given: VarSet = net.matching(inputs).unwrap().into_iter().collect();
        let subject = Subject { targets: vec![net.find(target).unwrap()], given, ..Subject::default() };
        let course = course(&net, &subject, Learning::paper(), Level::Support);
        assert_eq!(course.params().len(), count, "{model}: {:?}", course.params().groups());
        let pixels: usize =
            course.params().groups().iter().filter(|g| g.name == "pixel").map(|g| g.members.len()).sum();
        assert_eq!(pixels, 100);
    }
}

#[test]
fn ties_of_different_shapes_are_split_or_refused() {
    let net = Network::read("digits:10").unwrap();
    let given: VarSet = net.matching("p_*").unwrap().into_iter().collect();
    let subject = Subject { targets: vec![net.find("d").unwrap()], given, ..Subject::default() };
    let shapes = |course: &Course| course.params().groups().iter().filter(|g| g.name == "pixel").count();
    assert_eq!(shapes(&course(&net, &subject, Learning::paper(), Level::Support)), 5);
    let subject = Subject { strict_ties: true, ..subject };
    let error = net.course(&subject, Learning::paper(), &Options::default(), &f64s()).unwrap_err().to_string();
    assert!(
        error.starts_with("CPTs tied as `pixel` have the shapes [2, 2, 2, 2, 2] and [2, 2, 2, 2, 2, 2]")
            || error.contains("[2, 2, 2]"),
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
    let course = course(&net, &subject, Learning { starts: vec![Start::Uniform], ..Learning::em() }, Level::Auto);
    let mut trainer = course.trainer(&examples).unwrap();
    trainer.epoch().unwrap();
    let params = trainer.learned();
    let (smoke, bronc) = (net.find("smoke").unwrap(), net.find("bronc").unwrap());
    let table = params.table(bronc).unwrap();
    for u in 0..2 {
        let of =
            |x: u32| data.rows().filter(|r| r[smoke.index()] == Some(u) && r[bronc.index()] == Some(x)).count() as f64;
        assert!((table[u as usize * 2] - of(0) / (of(0) + of(1))).abs() < 1e-9, "{table:?}");
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
                Column::Values(data.rows().map(|row| if rng.random_bool(0.2) { -1 } else { cell(row) }).collect()),
            );
        }
        let learning = Learning {
            starts: vec![Start::Random(seed)],
            epochs: 30,
            least: 0.0,
            prior: (seed % 2) as f64,
            ..Learning::em()
        };
        let Ok(course) = net.course(&Subject::of(&[], &examples), learning, &Options::default(), &f64s()) else {
            continue;
        };
        let mut trainer = course.trainer(&examples).unwrap();
        while !trainer.is_done() {
            trainer.epoch().unwrap();
        }
        let losses: Vec<f64> = trainer.state().history.iter().map(|epoch| epoch.loss).collect();
        assert!(losses.len() > 3 && losses.windows(2).all(|pair| pair[1] <= pair[0] + 1e-9), "{losses:?}");
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
    let subject = Subject { targets: vec![label], given, ..Subject::default() };
    let learning = Learning { epochs: 6, goal: None, ..Learning::paper() };
    let course = course(&net, &subject, learning, Level::Support);
    let mut whole = course.trainer(&examples).unwrap();
    let mut parts = course.trainer(&examples).unwrap();
    while !whole.is_done() {
        whole.epoch().unwrap();
        parts.epoch().unwrap();
        let saved = serde_json::to_string(parts.state()).unwrap();
        parts = course.trainer(&examples).unwrap();
        parts.restore(serde_json::from_str(&saved).unwrap()).unwrap();
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
    let given: VarSet = ["smoke", "dysp"].map(|name| net.find(name).unwrap()).into_iter().collect();
    let subject = Subject { targets: vec![bronc], given, ..Subject::default() };
    for (rule, rate) in [(Rule::Adam, 0.05), (Rule::Sgd { momentum: 0.9 }, 0.5)] {
        let method = Method::Gradient { rule, decay: Decay::constant(rate), batch: 50 };
        let learning = Learning {
            method,
            starts: vec![Start::Uniform],
            epochs: 30,
            validation: 0.0,
            loss: Loss::default(),
            ..Learning::default()
        };
        let course = course(&net, &subject, learning, Level::Auto);
        let mut trainer = course.trainer(&examples).unwrap();
        while !trainer.is_done() {
            trainer.epoch().unwrap();
        }
        let history = &trainer.state().history;
        assert!(history.last().unwrap().loss < 0.8 * 2f64.ln(), "{rule:?} {history:?}");
    }
}

/// y is some function of x and z, nobody knows which; it is learned from examples of what depends on it.
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
    for (k, name) in ["x", "z", "", "seen0", "seen1", "seen2"].into_iter().enumerate().filter(|(k, _)| *k != 2) {
        let values = rows.iter().map(|row| row[k] as i32).collect();
        examples.insert(net.find(name).unwrap(), Column::Values(values));
    }
    let target = net.find("x").unwrap();
    let subject = Subject::of(&[target], &examples);
    for level in [Level::Functional, Level::Auto] {
        let learning = Learning { temperature: Some((1.0, 0.2)), ..Learning::default() };
        let course = course(&net, &subject, learning, level);
        let mut trainer = course.trainer(&examples).unwrap();
        while !trainer.is_done() {
            trainer.epoch().unwrap();
        }
        let mut params = trainer.learned();
        let options = Options::default();
        assert!(course.difference(&params, &examples, &options).unwrap() < 0.2);
        params.snap();
        assert!(course.difference(&params, &examples, &options).unwrap() < 1e-9);
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
    let error = net.course(&subject, Learning::em(), &Options::default(), &f64s()).unwrap_err().to_string();
    assert!(error.starts_with("CPTs that are declared functional cannot be learned by counting"), "{error}");
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
        let subject = Subject { targets: vec![lung], given: [xray].into_iter().collect(), ..Subject::default() };
        let course = course(&net, &subject, Learning::default(), Level::Auto);
        course.trainer(&examples).map(|_| ()).unwrap_err().to_string()
    };
    assert!(complaint(Some(vec![]), 0).starts_with("there are no examples"));
    assert!(complaint(None, 2).starts_with("no example has a label `lung`"));
    assert!(complaint(Some(vec![-1, -1]), 2).starts_with("all labels are missing: `lung`"));
    assert!(complaint(Some(vec![1, 1, -1]), 3).starts_with("all labels are `no`"));
}

/// What becomes ever less probable becomes zero, before products of such numbers are too small for numbers; and what is
/// saved can be read again.
#[test]
fn numbers_that_vanish_do_no_harm() {
    let net = Network::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/alarm.bif.gz")).unwrap();
    let data = net.sample(50, 1).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut examples = Examples::new(50);
    for (k, &var) in data.columns().iter().enumerate() {
        let cell = |row: &[Option<u32>]| if rng.random_bool(0.2) { -1 } else { row[k].unwrap() as i32 };
        examples.insert(var, Column::Values(data.rows().map(cell).collect()));
    }
    let learning = Learning { epochs: 60, least: 0.0, ..Learning::em() };
    let course = course(&net, &Subject::of(&[], &examples), learning, Level::Auto);
    let mut trainer = course.trainer(&examples).unwrap();
    while !trainer.is_done() {
        trainer.epoch().unwrap();
    }
    let losses: Vec<f64> = trainer.state().history.iter().map(|epoch| epoch.loss).collect();
    assert!(losses.len() > 10 && losses.windows(2).all(|pair| pair[1] <= pair[0] + 1e-9), "{losses:?}");
    assert!(trainer.learned().tables().any(|(_, table)| table.contains(&0.0)));
    let saved = serde_json::to_string(trainer.state()).unwrap();
    assert_eq!(trainer.state(), &serde_json::from_str(&saved).unwrap());
}

/// Without background knowledge, too, the paper's parameters are counted: nothing is pruned, and ties are not split.
#[test]
fn the_papers_parameters_without_knowledge_are_counted() {
    for (model, count) in [("rect:10,trainable", 4428), ("digits:10,trainable", 22_797)] {
        let net = Network::read(model).unwrap();
        let domains: Vec<Vec<usize>> = net.ids().map(|v| (0..net.card(v)).collect()).collect();
        let children: Vec<VarId> = Subject::default().trainable(&net).iter().collect();
        assert_eq!(children.len(), net.variables().len());
        let params = Params::new(&net, &children, &[], &domains, true).unwrap();
        assert_eq!(params.len(), count, "{model}");
    }
}

/// CPTs that no input reaches follow those that they are tied to.
#[test]
fn ties_hold_where_no_input_reaches() {
    let net = Network::read("rect:4").unwrap();
    let given: VarSet = net.matching("pixel_0_*").unwrap().into_iter().collect();
    let subject = Subject { targets: vec![net.find("label").unwrap()], given, ..Subject::default() };
    let course = course(
        &net,
        &subject,
        Learning { starts: vec![Start::Random(1)], epochs: 1, ..Learning::default() },
        Level::Auto,
    );
    let examples = Examples::from(&net.sample(20, 1).unwrap());
    let mut trainer = course.trainer(&examples).unwrap();
    trainer.epoch().unwrap();
    let learned = course.network(&trainer.learned());
    let table = |name: &str| learned.cpts()[learned.find(name).unwrap().index()].table(&learned.cards());
    assert_eq!(table("pixel_0_0"), table("pixel_3_3"));
    assert_ne!(table("pixel_0_0"), net.cpts()[net.find("pixel_0_0").unwrap().index()].table(&net.cards()));
}

/// Examples that do not count, in the part that is watched, do no harm.
#[test]
fn examples_without_weight_are_left_out() {
    let net = Network::read("asia").unwrap();
    let mut examples = Examples::from(&net.sample(40, 2).unwrap());
    examples.weigh((0..40).map(|row| f64::from(row % 2)).collect()).unwrap();
    let subject = Subject::of(&[net.find("bronc").unwrap()], &examples);
    let course = course(&net, &subject, Learning { validation: 0.05, epochs: 3, ..Learning::paper() }, Level::Auto);
    let mut trainer = course.trainer(&examples).unwrap();
    while !trainer.is_done() {
        let epoch = trainer.epoch().unwrap();
        assert!(epoch.watched_loss.is_finite() && epoch.watched_loss < 100.0);
    }
}
