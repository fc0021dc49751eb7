//! Which numbers are parameters, and which are tied.

use sumout::learn::{Params, Start};
use sumout::{Examples, Level, Network, Options, Task, Training, TrainingOptions, VarId, VarSet};

use super::{f64s, training};

#[test]
fn the_papers_parameters_are_counted() {
    for (model, target, inputs, count) in [
        ("rect:10", "label", "pixel_*", 136),
        ("digits:10", "d", "p_*", 275),
    ] {
        let net = Network::read(model).unwrap();
        let given: VarSet = net.matching(inputs).unwrap().into_iter().collect();
        let task = Task::new(&[net.find(target).unwrap()], given);
        let training = training(&net, &task, TrainingOptions::paper(), Level::Support);
        assert_eq!(
            training.params().len(),
            count,
            "{model}: {:?}",
            training.params().groups()
        );
        let pixels: usize = training
            .params()
            .groups()
            .iter()
            .filter(|g| g.name == "pixel")
            .map(|g| g.members.len())
            .sum();
        assert_eq!(pixels, 100);
    }
}

/// Without background knowledge, too, the paper's parameters are counted: nothing is pruned, and
/// ties are not split.
#[test]
fn the_papers_parameters_without_knowledge_are_counted() {
    for (model, count) in [("rect:10,trainable", 4428), ("digits:10,trainable", 22_797)] {
        let net = Network::read(model).unwrap();
        let domains: Vec<Vec<usize>> = net.ids().map(|v| (0..net.card(v)).collect()).collect();
        let children: Vec<VarId> = Task::default().trainable(&net).iter().collect();
        assert_eq!(children.len(), net.variables().len());
        let params = Params::new(net.model(), &children, &[], &domains, true).unwrap();
        assert_eq!(params.len(), count, "{model}");
    }
}

#[test]
fn ties_of_different_shapes_are_split_or_refused() {
    let net = Network::read("digits:10").unwrap();
    let given: VarSet = net.matching("p_*").unwrap().into_iter().collect();
    let task = Task::new(&[net.find("d").unwrap()], given);
    let shapes = |training: &Training| {
        training
            .params()
            .groups()
            .iter()
            .filter(|g| g.name == "pixel")
            .count()
    };
    assert_eq!(
        shapes(&training(
            &net,
            &task,
            TrainingOptions::paper(),
            Level::Support
        )),
        5
    );
    let task = task.strict_ties(true);
    let error = Training::new(
        &net,
        &task,
        TrainingOptions::paper(),
        &Options::default(),
        &f64s(),
    )
    .unwrap_err()
    .to_string();
    assert!(
        error.starts_with(
            "CPTs tied as `pixel` have the shapes [2, 2, 2, 2, 2] and [2, 2, 2, 2, 2, 2]"
        ) || error.contains("[2, 2, 2]"),
        "{error}"
    );
}

/// CPTs that no input reaches follow those that they are tied to.
#[test]
fn ties_hold_where_no_input_reaches() {
    let net = Network::read("rect:4").unwrap();
    let given: VarSet = net.matching("pixel_0_*").unwrap().into_iter().collect();
    let task = Task::new(&[net.find("label").unwrap()], given);
    let training = training(
        &net,
        &task,
        TrainingOptions {
            starts: vec![Start::Random(1)],
            epochs: 1,
            ..TrainingOptions::default()
        },
        Level::Auto,
    );
    let examples = Examples::from(&net.sample(20, 1).unwrap());
    let mut trainer = training.trainer(&examples).unwrap();
    trainer.epoch().unwrap();
    let learned = training.network(&trainer.learned());
    let table =
        |name: &str| learned.cpts()[learned.find(name).unwrap().index()].table(&learned.cards());
    assert_eq!(table("pixel_0_0"), table("pixel_3_3"));
    assert_ne!(
        table("pixel_0_0"),
        net.cpts()[net.find("pixel_0_0").unwrap().index()].table(&net.cards())
    );
}
