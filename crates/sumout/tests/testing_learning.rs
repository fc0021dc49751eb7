//! Learning testing networks: gradients against central differences of their semantics, taken
//! literally.

mod common;
#[path = "testing/literal.rs"]
mod literal;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::learn::{Loss, Start};
use sumout::model::{Body, Role, Selection, Sight, Test};
use sumout::{
    Column, EvalOptions, Evidence, Examples, Finding, FitOptions, Level, Method, Network, Options,
    Precision, Subject, Training, VarId,
};

use common::LEVELS;
use literal::{Kind, Literal, random};

const ROWS: usize = 4;

fn course(net: &Network, subject: &Subject, loss: Loss, level: Level) -> Option<Training> {
    let running = EvalOptions {
        precision: Precision::F64,
        threads: 1,
        ..EvalOptions::default()
    };
    let learning = FitOptions {
        loss,
        prior: 0.0,
        starts: vec![Start::Network],
        validation: 0.0,
        ..FitOptions::default()
    };
    let options = Options {
        level,
        effort: 0.01,
        ..Options::default()
    };
    net.course(subject, learning, &options, &running).ok() // there may be nothing to learn
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
            let target = VarId::new(rng.random_range(0..net.variables().len()));
            let examples = examples(&net, target, &mut rng);
            let loss = Loss {
                cross_entropy: 1.0,
                likelihood: f64::from(seed as u32 % 2),
                ..Loss::default()
            };
            let subject = Subject::of(&[target], &examples);
            let level = LEVELS[seed as usize % LEVELS.len()];
            if let Some(course) = course(&net, &subject, loss, level) {
                checked += check(&course, target, &loss, &examples, &mut rng);
            }
        }
    }
    assert!(checked > 150, "only {checked} derivatives were checked");
}

fn check(
    course: &Training,
    target: VarId,
    loss: &Loss,
    examples: &Examples,
    rng: &mut ChaCha8Rng,
) -> usize {
    const STEP: f64 = 1e-5;
    let mut params = course.params().clone();
    let weights = params.weights().to_vec();
    let at = |params: &mut sumout::learn::Params, i: usize, h: f64| {
        let mut moved = weights.clone();
        moved[i] += h;
        params.set_weights(&moved);
        literal_loss(&course.network(params), target, loss, examples)
    };
    let Ok(trainer) = course.trainer(examples) else {
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
            course.params().groups()
        );
    }
    chosen.len()
}

/// u → x, tested; copies with roles of their own.
fn small(roles: [Role; 2], selection: Selection) -> Network {
    let mut b = Network::builder("small");
    let u = b.variable("u", ["a", "b"]);
    let e = b.variable("e", ["t", "f"]);
    let x = b.variable("x", ["p", "q", "r"]);
    b.table(u, [], [0.4, 0.6]);
    b.table(e, [u], [0.8, 0.2, 0.3, 0.7]);
    let copies = [
        [0.2, 0.8, 0.0, 0.5, 0.25, 0.25],
        [0.7, 0.3, 0.0, 0.1, 0.6, 0.3],
    ];
    b.tested(x, [u], copies, Test::of_rows(2, &[0.5], selection))
        .copies(roles)
        .tie_test("thresholds");
    b.build().unwrap()
}

fn data(net: &Network) -> Examples {
    let mut examples = Examples::new(60);
    let values = |modulus: i32, offset: i32| {
        Column::Values((0..60).map(|i| (i / offset) % modulus).collect())
    };
    examples.insert(net.find("e").unwrap(), values(2, 1));
    examples.insert(net.find("x").unwrap(), values(2, 3));
    examples
}

fn learn(net: &Network, epochs: usize, slope: Option<(f64, f64)>) -> Network {
    let examples = data(net);
    let subject = Subject::of(&[net.find("x").unwrap()], &examples);
    let learning = FitOptions {
        starts: vec![Start::Network],
        epochs,
        slope,
        ..FitOptions::default()
    };
    let course = net
        .course(
            &subject,
            learning,
            &Options::default(),
            &EvalOptions::default(),
        )
        .unwrap();
    let mut trainer = course.trainer(&examples).unwrap();
    while !trainer.is_done() {
        trainer.epoch().unwrap();
    }
    course.network(&trainer.learned())
}

fn tested(net: &Network) -> &sumout::model::Tested {
    net.cpts()[net.find("x").unwrap().index()].tested().unwrap()
}

#[test]
fn copies_keep_what_their_roles_say() {
    let roles = [
        Role {
            fixed: true,
            ..Role::default()
        },
        Role {
            keep_zeros: true,
            ..Role::default()
        },
    ];
    let before = small(
        roles,
        Selection::Sigmoid {
            slope: 8.0,
            is_learned: false,
        },
    );
    let after = learn(&before, 10, None);
    let (old, new) = (tested(&before), tested(&after));
    assert_eq!(old.table[..6], new.table[..6]);
    assert_ne!(old.table[6..], new.table[6..]);
    assert_eq!(new.table[8], 0.0);
    assert_ne!(old.test.thresholds, new.test.thresholds);
    assert!(new.test.thresholds.iter().all(|t| (0.0..=1.0).contains(t)));
}

#[test]
fn tied_copies_stay_equal_and_free_ones_start_where_they_are() {
    let tied = Role {
        tie: Some("both".to_owned()),
        ..Role::default()
    };
    let before = small(
        [tied.clone(), tied],
        Selection::Sigmoid {
            slope: 8.0,
            is_learned: true,
        },
    );
    let new = learn(&before, 5, None);
    let new = tested(&new);
    assert_eq!(new.table[..6], new.table[6..]);
    assert!(matches!(new.test.selection, Selection::Sigmoid { slope, .. } if slope > 0.0));
}

#[test]
fn slopes_are_annealed_to_the_last_epoch() {
    let before = small(
        [Role::default(), Role::default()],
        Selection::Sigmoid {
            slope: 8.0,
            is_learned: false,
        },
    );
    let after = learn(&before, 12, Some((8.0, 64.0)));
    let Selection::Sigmoid { slope, .. } = tested(&after).test.selection else {
        panic!("still a sigmoid")
    };
    assert!((slope - 64.0).abs() < 1e-9, "{slope}");
}

#[test]
fn what_was_trained_is_what_is_saved() {
    let net = small(
        [Role::default(), Role::default()],
        Selection::Sigmoid {
            slope: 8.0,
            is_learned: true,
        },
    );
    let examples = data(&net);
    let subject = Subject::of(&[net.find("x").unwrap()], &examples);
    let course = net.course(
        &subject,
        FitOptions {
            epochs: 5,
            ..FitOptions::default()
        },
        &Options::default(),
        &EvalOptions::default(),
    );
    let course = course.unwrap();
    let mut trainer = course.trainer(&examples).unwrap();
    while !trainer.is_done() {
        trainer.epoch().unwrap();
    }
    let params = trainer.learned();
    let (circuit, target) = &course.trained(&params)[0];
    let network = course.network(&params);
    let batch = examples.batch_for(circuit).unwrap();
    let answers = circuit.evaluate(&batch).unwrap();
    for (row, value) in ["t", "f"].into_iter().enumerate() {
        let evidence = Evidence::new().observe(&network, "e", value).unwrap();
        let answer = network
            .query(&[target.unwrap()], &evidence, &Options::default())
            .unwrap();
        let same = answer.posteriors()[0]
            .1
            .iter()
            .zip(answers.row(row))
            .all(|(x, y)| (x - y).abs() < 1e-9);
        assert!(same, "{:?} {:?}", answer.posteriors(), answers.row(row));
    }
}

#[test]
fn counting_is_refused() {
    let net = small(
        [Role::default(), Role::default()],
        Selection::Sigmoid {
            slope: 8.0,
            is_learned: false,
        },
    );
    assert!(matches!(net.cpts()[2].body(), Body::Tested(_)));
    let examples = data(&net);
    let subject = Subject::of(&[net.find("x").unwrap()], &examples);
    let learning = FitOptions {
        method: Method::Em,
        ..FitOptions::em()
    };
    let error = net
        .course(
            &subject,
            learning,
            &Options::default(),
            &EvalOptions::default(),
        )
        .unwrap_err();
    assert!(
        error.message().contains("cannot be learned by counting"),
        "{error}"
    );
    assert_eq!(
        net.count(&subject, &examples, 0.0)
            .unwrap()
            .map(|p| p.len()),
        None
    );
}

#[test]
fn fixed_copies_leave_the_thresholds_to_learn() {
    let fixed = Role {
        fixed: true,
        ..Role::default()
    };
    let before = small(
        [fixed.clone(), fixed.clone()],
        Selection::Sigmoid {
            slope: 8.0,
            is_learned: false,
        },
    );
    let after = learn(&before, 5, None);
    assert_eq!(tested(&before).table, tested(&after).table);
    assert_ne!(
        tested(&before).test.thresholds,
        tested(&after).test.thresholds
    );
    let step = small(
        [fixed.clone(), fixed],
        Selection::Step(sumout::model::Comparison::AtLeast),
    );
    let frozen = Subject {
        trainable: Some([step.find("x").unwrap()].into_iter().collect()),
        ..Subject::of(&[step.find("x").unwrap()], &data(&step))
    };
    let error = step
        .course(
            &frozen,
            FitOptions::default(),
            &Options::default(),
            &EvalOptions::default(),
        )
        .unwrap_err();
    assert!(
        error.message().starts_with("there is nothing to learn"),
        "{error}"
    );
}

/// Six entries each, and of different shapes: a tie of theirs is none.
#[test]
fn thresholds_of_different_shapes_are_not_tied() {
    let mut b = Network::builder("shapes");
    let [u, v] = [("u", 3), ("v", 2)]
        .map(|(name, card)| b.variable(name, (0..card).map(|k| format!("{k}"))));
    let [x, y] = ["x", "y"].map(|name| b.variable(name, ["t", "f"]));
    b.table(u, [], [0.2, 0.3, 0.5]);
    b.table(v, [], [0.4, 0.6]);
    let sigmoid = || Selection::Sigmoid {
        slope: 8.0,
        is_learned: false,
    };
    b.tested(
        x,
        [u],
        [vec![0.5; 6], vec![0.5; 6]],
        Test::of_rows(3, &[0.5], sigmoid()),
    )
    .tie_test("t");
    b.tested(
        y,
        [v],
        [vec![0.5; 4], vec![0.5; 4], vec![0.5; 4]],
        Test::of_rows(2, &[0.3, 0.6], sigmoid()),
    )
    .tie_test("t");
    let net = b.build().unwrap();
    let mut examples = Examples::new(4);
    let values =
        |name: &str, values: [i32; 4]| (net.find(name).unwrap(), Column::Values(values.to_vec()));
    for (var, column) in [
        values("u", [0, 1, 2, -1]),
        values("v", [0, 1, -1, 0]),
        values("x", [0, 1, 0, 1]),
        values("y", [0, 1, 1, 0]),
    ] {
        examples.insert(var, column);
    }
    let subject = Subject::of(&[x_of(&net), net.find("y").unwrap()], &examples);
    let course = net
        .course(
            &subject,
            FitOptions::default(),
            &Options::default(),
            &EvalOptions::default(),
        )
        .unwrap();
    let shapes: Vec<_> = course
        .params()
        .groups()
        .iter()
        .filter(|g| g.name == "t")
        .map(|g| g.shape.clone())
        .collect();
    assert_eq!(shapes, [vec![3, 2], vec![2, 3]]);
    let strict = Subject {
        strict_ties: true,
        ..subject
    };
    let refused = net
        .course(
            &strict,
            FitOptions::default(),
            &Options::default(),
            &EvalOptions::default(),
        )
        .unwrap_err();
    assert_eq!(
        refused.message(),
        "tests tied as `t` have thresholds of different shapes"
    );
}

fn x_of(net: &Network) -> VarId {
    net.find("x").unwrap()
}

#[test]
fn slopes_are_given_to_sigmoids_that_are_trained_and_to_no_others() {
    let asia = Network::read("asia").unwrap();
    let examples = Examples::from(&asia.sample(20, 1).unwrap());
    let subject = Subject::of(&[asia.find("lung").unwrap()], &examples);
    let learning = FitOptions {
        slope: Some((8.0, 64.0)),
        ..FitOptions::default()
    };
    let error = asia
        .course(
            &subject,
            learning,
            &Options::default(),
            &EvalOptions::default(),
        )
        .unwrap_err();
    assert!(error.message().contains("no sigmoid"), "{error}");
}

/// Copies that start equal would stay equal, and no threshold would ever move.
#[test]
fn copies_start_different_from_each_other() {
    let net = small(
        [Role::default(), Role::default()],
        Selection::Sigmoid {
            slope: 8.0,
            is_learned: false,
        },
    );
    let examples = data(&net);
    let subject = Subject::of(&[net.find("x").unwrap()], &examples);
    let course = net
        .course(
            &subject,
            FitOptions::default(),
            &Options::default(),
            &EvalOptions::default(),
        )
        .unwrap();
    for start in [Start::Uniform, Start::Alike(1), Start::Random(1)] {
        let mut params = course.params().clone();
        params.start(&net, start);
        let trained = course.network(&params);
        let table = &tested(&trained).table;
        assert_ne!(table[..6], table[6..], "{start:?}");
    }
}
