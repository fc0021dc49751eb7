//! Uses of testing networks: functions, neurons, and incomplete models.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::learn::{LearningRate, Loss, Optimizer, Start};
use sumout::{
    Batch, Column, EvalOptions, Examples, Method, Monitor, Network, Options, Precision, Query,
    Task, Training, TrainingOptions,
};
use sumout_paper::testing::{
    Layer, hidden_markov, kidney, kidney_cases, perceptrons, staircase, third_order,
};

/// ⌈1/ε⌉ tests come within ε of a monotone function.
#[test]
fn monotone_functions_are_approximated_by_as_many_tests_as_it_takes() {
    type Function = fn(f64) -> f64;
    let inverses: [(Function, Function); 3] = [
        (|x| x * x, f64::sqrt),
        (f64::sqrt, |y| y * y),
        (|x| x.powi(5), |y| y.powf(0.2)),
    ];
    for (f, inverse) in inverses {
        for eps in [0.2, 0.1, 0.04] {
            let tests = (1.0f64 / eps).ceil() as usize;
            let steps: Vec<f64> = (1..=tests)
                .map(|i| inverse((i as f64 - 0.5) / tests as f64))
                .collect();
            let net = staircase(&steps).unwrap();
            assert_eq!(
                net.cpts()
                    .iter()
                    .filter(|cpt| cpt.selected().is_some())
                    .count(),
                tests
            );
            let circuit = net
                .compile(&Query::of("mean").given(["x"]), &Options::default())
                .unwrap();
            let xs: Vec<f64> = (0..=400).map(|i| f64::from(i) / 400.0).collect();
            let column = Column::Likelihoods(xs.iter().flat_map(|x| [*x, 1.0 - x]).collect());
            let batch = Batch::new(xs.len()).with(&circuit, "x", column).unwrap();
            let answers = circuit.evaluate(&batch).unwrap();
            for (row, x) in xs.iter().enumerate() {
                assert!(
                    (answers.row(row)[0] - f(*x)).abs() <= eps,
                    "{x}: {} {}",
                    answers.row(row)[0],
                    f(*x)
                );
            }
        }
    }
}

/// A dense network with one hidden layer, trained with sigmoids on points inside and outside of a
/// band of corners.
struct Dense {
    layers: [Layer; 2],
}

const INPUTS: usize = 6;

fn label(x: &[f64]) -> f64 {
    let on: f64 = x.iter().sum();
    f64::from(u8::from((2.0..=4.0).contains(&on) != (x[0] > 0.5)))
}

fn corners() -> Vec<Vec<f64>> {
    (0..1 << INPUTS)
        .map(|at| (0..INPUTS).map(|i| f64::from(at >> i & 1)).collect())
        .collect()
}

impl Dense {
    fn sums(layer: &Layer, x: &[f64]) -> Vec<f64> {
        let dot = |w: &Vec<f64>| w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        layer
            .weights
            .iter()
            .zip(&layer.biases)
            .map(|(w, b)| dot(w) + b)
            .collect()
    }

    /// The outputs of the neurons with steps, and how near the nearest sum is to zero.
    fn steps(&self, x: &[f64]) -> (f64, f64) {
        let mut nearest = f64::INFINITY;
        let mut now = x.to_vec();
        for layer in &self.layers {
            let sums = Dense::sums(layer, &now);
            nearest = sums.iter().fold(nearest, |nearest, s| nearest.min(s.abs()));
            now = sums
                .iter()
                .map(|s| f64::from(u8::from(*s >= 0.0)))
                .collect();
        }
        (now[0], nearest)
    }

    fn train(seed: u64) -> Dense {
        const HIDDEN: usize = 8;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut row = |n: usize| {
            (0..n)
                .map(|_| 2.0 * rng.random::<f64>() - 1.0)
                .collect::<Vec<f64>>()
        };
        let layers = [
            Layer {
                weights: (0..HIDDEN).map(|_| row(INPUTS)).collect(),
                biases: row(HIDDEN),
            },
            Layer {
                weights: vec![row(HIDDEN)],
                biases: row(1),
            },
        ];
        let mut dense = Dense { layers };
        for _ in 0..600 {
            corners().iter().for_each(|x| dense.step(x, label(x)));
        }
        dense
    }

    fn step(&mut self, x: &[f64], y: f64) {
        const RATE: f64 = 0.3;
        let sigmoid = |s: &f64| 1.0 / (1.0 + (-4.0 * s).exp());
        let hidden: Vec<f64> = Dense::sums(&self.layers[0], x)
            .iter()
            .map(sigmoid)
            .collect();
        let out = sigmoid(&Dense::sums(&self.layers[1], &hidden)[0]);
        let delta = out - y;
        for (j, h) in hidden.iter().enumerate() {
            let back = delta * self.layers[1].weights[0][j] * 4.0 * h * (1.0 - h);
            self.layers[1].weights[0][j] -= RATE * delta * h;
            self.layers[0].biases[j] -= RATE * back;
            self.layers[0].weights[j]
                .iter_mut()
                .zip(x)
                .for_each(|(w, x)| *w -= RATE * back * x);
        }
        self.layers[1].biases[0] -= RATE * delta;
    }
}

/// A neural network with steps, and the testing network that simulates it, predict the same.
#[test]
fn neurons_are_tests() {
    let dense = Dense::train(3);
    let found: Vec<(f64, f64)> = corners().iter().map(|x| dense.steps(x)).collect();
    let right = found
        .iter()
        .zip(corners())
        .filter(|((y, _), x)| *y == label(x))
        .count();
    assert!(right > 54, "the neural network learned only {right} of 64");
    assert!(found.iter().any(|(y, _)| *y == 0.0) && found.iter().any(|(y, _)| *y == 1.0));
    let net = perceptrons(&dense.layers).unwrap();
    let circuit = net
        .compile(
            &Query::of("neuron_1_0").given(["in_*"]),
            &Options::default(),
        )
        .unwrap();
    let mut batch = Batch::new(64);
    for i in 0..INPUTS {
        let values = corners().iter().map(|x| i32::from(x[i] < 0.5)).collect();
        batch = batch
            .with(&circuit, &format!("in_{i}"), Column::Values(values))
            .unwrap();
    }
    let answers = circuit.evaluate(&batch).unwrap();
    for (row, (y, nearest)) in found.iter().enumerate() {
        assert!(
            *nearest > 1e-9,
            "a sum is so near zero that rounding decides"
        );
        assert!(
            (answers.row(row)[0] - y).abs() < 1e-9,
            "{row}: {} {y}",
            answers.row(row)[0]
        );
    }
}

fn learning(epochs: usize, batch_size: usize) -> TrainingOptions {
    let learning_rate = LearningRate {
        first: 0.1,
        last: 0.01,
        over: epochs,
        ..LearningRate::paper()
    };
    TrainingOptions {
        loss: Loss::default(),
        method: Method::Gradient {
            optimizer: Optimizer::Adam,
            learning_rate,
            batch_size,
            min_steps: 1,
        },
        starts: (1..=3).map(Start::Random).collect(),
        trial_epochs: epochs / 10,
        epochs,
        patience: epochs,
        monitor: Monitor::Loss,
        validation: 0.0,
        prior: 0.0,
        min_improvement: 1e-7,
        ..TrainingOptions::default()
    }
}

/// The largest error, in points, of the nine rates of recovery.
fn largest_error(net: &Network) -> f64 {
    let cases = kidney_cases();
    let mut examples = Examples::new(cases.len());
    for (k, name) in ["size", "treatment"].into_iter().enumerate() {
        let values = cases
            .iter()
            .map(|(known, _)| known[k].map_or(-1, |value| value as i32))
            .collect();
        examples.insert(net.find(name).unwrap(), Column::Values(values));
    }
    let target = net.find("recovery").unwrap();
    examples.insert(
        target,
        Column::Likelihoods(
            cases
                .iter()
                .flat_map(|(_, rate)| [*rate, 1.0 - rate])
                .collect(),
        ),
    );
    let running = EvalOptions::default()
        .with_precision(Precision::F64)
        .with_threads(1);
    let training = Training::new(
        net,
        &Task::of(&[target], &examples),
        learning(800, 9),
        &Options::default(),
        &running,
    )
    .unwrap();
    let mut trainer = training.trainer(&examples).unwrap();
    while !trainer.is_done() {
        trainer.epoch().unwrap();
    }
    let (circuit, _) = &training.trained(&trainer.learned())[0];
    let answers = circuit
        .evaluate(&examples.batch_for(circuit).unwrap())
        .unwrap();
    let error = |(row, (_, rate)): (usize, &(_, f64))| 100.0 * (answers.row(row)[0] - rate).abs();
    cases.iter().enumerate().map(error).fold(0.0, f64::max)
}

#[test]
fn tests_learn_simpsons_paradox_without_the_edge_that_explains_it() {
    assert!((kidney_cases()[0].1 - 562.0 / 700.0).abs() < 1e-12);
    assert!((kidney_cases()[4].1 - 81.0 / 87.0).abs() < 1e-12);
    let [without, with] = [false, true].map(|tested| largest_error(&kidney(tested).unwrap()));
    assert!(without > 2.0, "without tests: {without}");
    assert!(with < 0.5, "with tests: {with}");
}

#[test]
fn tested_transitions_learn_more_of_a_third_order_model() {
    const LENGTH: usize = 6;
    let source = third_order(LENGTH, 4).unwrap();
    let [examples, others] =
        [(600, 1), (4000, 2)].map(|(n, seed)| Examples::from(&source.sample(n, seed).unwrap()));
    let [without, with] = [false, true].map(|tested| {
        let net = hidden_markov(LENGTH, tested).unwrap();
        let given = net.matching("e_*").unwrap().into_iter().collect();
        let target = net.find(&format!("h_{}", LENGTH - 1)).unwrap();
        let task = Task::new(&[target], given);
        let training = Training::new(
            &net,
            &task,
            learning(40, 64),
            &Options::default(),
            &EvalOptions::default(),
        )
        .unwrap();
        let mut trainer = training.trainer(&examples).unwrap();
        while !trainer.is_done() {
            trainer.epoch().unwrap();
        }
        [&examples, &others]
            .map(|examples| training.measure(&trainer.learned(), examples).unwrap().0)
    });
    // Of the examples, and of others that it has not seen.
    assert!(
        with[0] < without[0] && with[1] < without[1],
        "{with:?} {without:?}"
    );
}
