//! Epochs: early stopping, validation, optimizers, and states that are saved.

use sumout::learn::{LearningRate, Loss, Optimizer, Start};
use sumout::{Column, Examples, Level, Method, Network, Task, TrainingOptions, VarSet};

use super::training;

/// Training that is saved and resumed ends as an uninterrupted one.
#[test]
fn an_interrupted_training_ends_where_it_would_have() {
    let net = Network::read("rect:4").unwrap();
    let data = net.sample(60, 5).unwrap();
    let mut examples = Examples::from(&data);
    let label = net.find("label").unwrap();
    examples.weigh(vec![1.0; 60]).unwrap();
    let given: VarSet = net.matching("pixel_*").unwrap().into_iter().collect();
    let task = Task::new(&[label], given);
    let learning = TrainingOptions {
        epochs: 6,
        target_accuracy: None,
        ..TrainingOptions::paper()
    };
    let training = training(&net, &task, learning, Level::Support);
    let mut whole = training.trainer(&examples).unwrap();
    let mut parts = training.trainer(&examples).unwrap();
    while !whole.is_done() {
        whole.epoch().unwrap();
        parts.epoch().unwrap();
        let saved = serde_json::to_string(parts.state()).unwrap();
        parts = training.trainer(&examples).unwrap();
        parts
            .restore(serde_json::from_str(&saved).unwrap())
            .unwrap();
    }
    assert_eq!(whole.state(), parts.state());
    assert_eq!(whole.state().history.len(), 5 * 2 + 6);
}

/// Plain gradient descent gets there, too.
#[test]
fn optimizers_reduce_the_loss() {
    let net = Network::read("asia").unwrap();
    let examples = Examples::from(&net.sample(300, 1).unwrap());
    let bronc = net.find("bronc").unwrap();
    let given: VarSet = ["smoke", "dysp"]
        .map(|name| net.find(name).unwrap())
        .into_iter()
        .collect();
    let task = Task::new(&[bronc], given);
    for (optimizer, rate) in [
        (Optimizer::Adam, 0.05),
        (Optimizer::Sgd { momentum: 0.9 }, 0.5),
    ] {
        let method = Method::Gradient {
            optimizer,
            learning_rate: LearningRate::constant(rate),
            batch_size: 50,
            min_steps: 1,
        };
        let learning = TrainingOptions {
            method,
            starts: vec![Start::Uniform],
            epochs: 30,
            validation: 0.0,
            loss: Loss::default(),
            ..TrainingOptions::default()
        };
        let training = training(&net, &task, learning, Level::Auto);
        let mut trainer = training.trainer(&examples).unwrap();
        while !trainer.is_done() {
            trainer.epoch().unwrap();
        }
        let history = &trainer.state().history;
        assert!(
            history.last().unwrap().loss < 0.8 * 2f64.ln(),
            "{optimizer:?} {history:?}"
        );
    }
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
        let task = Task::new(&[lung], [xray].into_iter().collect());
        let training = training(&net, &task, TrainingOptions::default(), Level::Auto);
        training
            .trainer(&examples)
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert!(complaint(Some(vec![]), 0).starts_with("there are no examples"));
    assert!(complaint(None, 2).starts_with("no example has a label for `lung`"));
    assert!(complaint(Some(vec![-1, -1]), 2).starts_with("all labels are missing for `lung`"));
    assert!(complaint(Some(vec![1, 1, -1]), 3).starts_with("all labels are `no`"));
    let mut examples = Examples::new(2);
    examples.insert(lung, Column::Likelihoods(vec![0.0, 1.0, 0.0, 0.3]));
    let task = Task::new(&[lung], [xray].into_iter().collect());
    let training = training(&net, &task, TrainingOptions::default(), Level::Auto);
    assert!(
        training
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
    let error = TrainingOptions {
        loss: nothing,
        ..TrainingOptions::default()
    }
    .check()
    .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("all weights of the loss are zero")
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
    let task = Task::of(&[net.find("bronc").unwrap()], &examples);
    let training = training(
        &net,
        &task,
        TrainingOptions {
            validation: 0.05,
            epochs: 3,
            ..TrainingOptions::paper()
        },
        Level::Auto,
    );
    let mut trainer = training.trainer(&examples).unwrap();
    while !trainer.is_done() {
        let epoch = trainer.epoch().unwrap();
        assert!(epoch.validation_loss.is_finite() && epoch.validation_loss < 100.0);
    }
}

/// The kept parameters are as good on the validation set as any seen
/// there: starts, too.
#[test]
fn the_epoch_that_is_kept_is_the_best_in_validation() {
    let net = Network::read("rect:5").unwrap();
    let given: VarSet = net.matching("pixel_*").unwrap().into_iter().collect();
    let task = Task::new(&[net.find("label").unwrap()], given);
    let training = training(
        &net,
        &task,
        TrainingOptions {
            epochs: 5,
            target_accuracy: None,
            ..TrainingOptions::paper()
        },
        Level::Auto,
    );
    let examples = Examples::from(&net.sample(60, 9).unwrap());
    let mut starts_kept = 0;
    for seed in 0..20 {
        let mut trainer = training.trainer_with(&examples, seed).unwrap();
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
