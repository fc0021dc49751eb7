//! Learning testing networks: copies, thresholds, slopes and weights.

use sumout::learn::Start;
use sumout::model::{Body, Role, Selection, SelectionKind};
use sumout::{
    Column, EvalOptions, Evidence, Examples, FitOptions, Method, Network, Options, Task, Training,
    TrainingOptions, VarId,
};

/// u → x, tested; copies with roles of their own.
fn small(roles: [Role; 2], selection: SelectionKind) -> Network {
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
    b.selected(x, [u], copies, Selection::of_rows(2, &[0.5], selection))
        .copies(roles)
        .tie_selection("thresholds");
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
    let task = Task::of(&[net.find("x").unwrap()], &examples);
    let learning = TrainingOptions {
        starts: vec![Start::Network],
        epochs,
        slope,
        ..TrainingOptions::default()
    };
    let training = Training::new(
        net,
        &task,
        learning,
        &Options::default(),
        &EvalOptions::default(),
    )
    .unwrap();
    let mut trainer = training.trainer(&examples).unwrap();
    while !trainer.is_done() {
        trainer.epoch().unwrap();
    }
    training.network(&trainer.learned())
}

fn copies(net: &Network) -> &sumout::model::SelectedCpt {
    net.cpts()[net.find("x").unwrap().index()]
        .selected()
        .unwrap()
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
        SelectionKind::Sigmoid {
            slope: 8.0,
            is_learned: false,
        },
    );
    let after = learn(&before, 10, None);
    let (old, new) = (copies(&before), copies(&after));
    assert_eq!(old.table[..6], new.table[..6]);
    assert_ne!(old.table[6..], new.table[6..]);
    assert_eq!(new.table[8], 0.0);
    assert_ne!(old.selection.thresholds, new.selection.thresholds);
    assert!(
        new.selection
            .thresholds
            .iter()
            .all(|t| (0.0..=1.0).contains(t))
    );
}

#[test]
fn tied_copies_stay_equal_and_free_ones_start_where_they_are() {
    let tied = Role {
        tie: Some("both".to_owned()),
        ..Role::default()
    };
    let before = small(
        [tied.clone(), tied],
        SelectionKind::Sigmoid {
            slope: 8.0,
            is_learned: true,
        },
    );
    let new = learn(&before, 5, None);
    let new = copies(&new);
    assert_eq!(new.table[..6], new.table[6..]);
    assert!(matches!(new.selection.kind, SelectionKind::Sigmoid { slope, .. } if slope > 0.0));
}

#[test]
fn slopes_are_annealed_to_the_last_epoch() {
    let before = small(
        [Role::default(), Role::default()],
        SelectionKind::Sigmoid {
            slope: 8.0,
            is_learned: false,
        },
    );
    let after = learn(&before, 12, Some((8.0, 64.0)));
    let SelectionKind::Sigmoid { slope, .. } = copies(&after).selection.kind else {
        panic!("still a sigmoid")
    };
    assert!((slope - 64.0).abs() < 1e-9, "{slope}");
}

#[test]
fn what_was_trained_is_what_is_saved() {
    let net = small(
        [Role::default(), Role::default()],
        SelectionKind::Sigmoid {
            slope: 8.0,
            is_learned: true,
        },
    );
    let examples = data(&net);
    let task = Task::of(&[net.find("x").unwrap()], &examples);
    let training = Training::new(
        &net,
        &task,
        TrainingOptions {
            epochs: 5,
            ..TrainingOptions::default()
        },
        &Options::default(),
        &EvalOptions::default(),
    );
    let training = training.unwrap();
    let mut trainer = training.trainer(&examples).unwrap();
    while !trainer.is_done() {
        trainer.epoch().unwrap();
    }
    let params = trainer.learned();
    let (circuit, target) = &training.trained(&params)[0];
    let network = training.network(&params);
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
        SelectionKind::Sigmoid {
            slope: 8.0,
            is_learned: false,
        },
    );
    assert!(matches!(net.cpts()[2].body(), Body::Selected(_)));
    let examples = data(&net);
    let task = Task::of(&[net.find("x").unwrap()], &examples);
    let learning = TrainingOptions {
        method: Method::Em,
        ..TrainingOptions::em()
    };
    let error = Training::new(
        &net,
        &task,
        learning,
        &Options::default(),
        &EvalOptions::default(),
    )
    .unwrap_err();
    assert!(
        error.message().contains("cannot be learned by counting"),
        "{error}"
    );
    let options = FitOptions::preset("em").unwrap();
    let error = net.fit(&task, &examples, &options, &mut |_| Ok(()));
    assert!(
        error
            .unwrap_err()
            .message()
            .contains("cannot be learned by counting")
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
        SelectionKind::Sigmoid {
            slope: 8.0,
            is_learned: false,
        },
    );
    let after = learn(&before, 5, None);
    assert_eq!(copies(&before).table, copies(&after).table);
    assert_ne!(
        copies(&before).selection.thresholds,
        copies(&after).selection.thresholds
    );
    let step = small(
        [fixed.clone(), fixed],
        SelectionKind::Step(sumout::model::Comparison::AtLeast),
    );
    let x = step.find("x").unwrap();
    let frozen = Task::of(&[x], &data(&step))
        .train(&step, Some(&["x"]))
        .unwrap();
    let error = Training::new(
        &step,
        &frozen,
        TrainingOptions::default(),
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
    let sigmoid = || SelectionKind::Sigmoid {
        slope: 8.0,
        is_learned: false,
    };
    b.selected(
        x,
        [u],
        [vec![0.5; 6], vec![0.5; 6]],
        Selection::of_rows(3, &[0.5], sigmoid()),
    )
    .tie_selection("t");
    b.selected(
        y,
        [v],
        [vec![0.5; 4], vec![0.5; 4], vec![0.5; 4]],
        Selection::of_rows(2, &[0.3, 0.6], sigmoid()),
    )
    .tie_selection("t");
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
    let task = Task::of(&[x_of(&net), net.find("y").unwrap()], &examples);
    let training = Training::new(
        &net,
        &task,
        TrainingOptions::default(),
        &Options::default(),
        &EvalOptions::default(),
    )
    .unwrap();
    let shapes: Vec<_> = training
        .params()
        .groups()
        .iter()
        .filter(|g| g.name == "t")
        .map(|g| g.shape.clone())
        .collect();
    assert_eq!(shapes, [vec![3, 2], vec![2, 3]]);
    let strict = task.strict_ties(true);
    let refused = Training::new(
        &net,
        &strict,
        TrainingOptions::default(),
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
    let task = Task::of(&[asia.find("lung").unwrap()], &examples);
    let learning = TrainingOptions {
        slope: Some((8.0, 64.0)),
        ..TrainingOptions::default()
    };
    let error = Training::new(
        &asia,
        &task,
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
        SelectionKind::Sigmoid {
            slope: 8.0,
            is_learned: false,
        },
    );
    let examples = data(&net);
    let task = Task::of(&[net.find("x").unwrap()], &examples);
    let training = Training::new(
        &net,
        &task,
        TrainingOptions::default(),
        &Options::default(),
        &EvalOptions::default(),
    )
    .unwrap();
    for start in [Start::Uniform, Start::Alike(1), Start::Random(1)] {
        let mut params = training.params().clone();
        params.start(net.model(), start);
        let trained = training.network(&params);
        let table = &copies(&trained).table;
        assert_ne!(table[..6], table[6..], "{start:?}");
    }
}
