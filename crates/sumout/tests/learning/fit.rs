//! `Network::fit`: presets and what overrides them, snapping, checks, checkpoints and cancelling.

use std::fs;
use std::path::{Path, PathBuf};

use sumout::learn::{
    Algorithm, Checkpoint, DecayCurve, InitialWeights, LearningRate, Loss, Optimizer, Start,
};
use sumout::{
    Column, Error, ErrorKind, Examples, FitEvent, FitOptions, Fitted, Level, Method, Monitor,
    Network, Options, Task, TrainingOptions,
};

fn no_progress(_: &FitEvent<'_>) -> sumout::Result<()> {
    Ok(())
}

fn asia() -> (Network, Examples, Task) {
    let net = Network::read("asia").unwrap();
    let examples = Examples::from(&net.sample(80, 1).unwrap());
    let task = Task::of(&[net.find("lung").unwrap()], &examples);
    (net, examples, task)
}

/// x is some function of u, nobody knows which.
fn declared() -> (Network, Examples, Task) {
    let mut b = Network::builder("declared");
    let u = b.variable("u", ["0", "1", "2"]);
    let x = b.variable("x", ["t", "f"]);
    b.table(u, [], [0.2, 0.3, 0.5]).fixed();
    b.table(x, [u], [0.6, 0.4, 0.5, 0.5, 0.4, 0.6]).functional();
    for name in ["a", "b"] {
        let y = b.variable(name, ["t", "f"]);
        let table = [0.9, 0.1, 0.3, 0.7, 0.8, 0.2, 0.5, 0.5, 0.4, 0.6, 0.1, 0.9];
        b.table(y, [u, x], table).fixed();
    }
    let net = b.build().unwrap();
    let examples = Examples::from(&net.sample(100, 1).unwrap());
    let task = Task::of(&[net.find("u").unwrap()], &examples);
    let task = task.given(&net, Some(&["a", "b"])).unwrap();
    (net, examples, task)
}

/// Relies on declarations, as the paper does.
fn as_the_paper() -> Options {
    Options::default().with_level(Level::Paper)
}

fn json(fitted: &Fitted) -> String {
    use sumout::model::format::{Format, Loss, to_string};
    to_string(fitted.network(), Format::Json, Loss::Accept).unwrap()
}

fn gradient(options: &FitOptions) -> (Optimizer, LearningRate, usize, usize) {
    match options.training(true).method {
        Method::Gradient {
            optimizer,
            learning_rate,
            batch_size,
            min_steps,
        } => (optimizer, learning_rate, batch_size, min_steps),
        Method::Em => panic!("not a gradient method"),
    }
}

#[test]
fn presets_are_overridden_by_single_options() {
    let paper = FitOptions::preset("paper").unwrap();
    assert_eq!(paper.training(true), TrainingOptions::paper());
    let found = paper.clone().epochs(7).patience(None).prior(2.0).seed(5);
    let expected = TrainingOptions {
        epochs: 7,
        prior: 2.0,
        seed: 5,
        ..TrainingOptions::paper()
    };
    assert_eq!(found.training(true), expected);
    let options = FitOptions::default();
    assert_eq!(options.training(true), TrainingOptions::default());
    let em = FitOptions::preset("em").unwrap();
    for options in [em, paper.method(Algorithm::Em)] {
        assert_eq!(options.training(true), TrainingOptions::em());
    }
    let error = FitOptions::preset("best").unwrap_err().to_string();
    assert!(error.contains("there is no preset `best`"), "{error}");
}

#[test]
fn a_batch_size_that_is_given_is_not_made_smaller() {
    let paper = FitOptions::preset("paper").unwrap();
    assert_eq!(gradient(&paper).3, 5);
    let (_, _, batch_size, min_steps) = gradient(&paper.batch_size(16));
    assert_eq!((batch_size, min_steps), (16, 1));
}

#[test]
fn learning_rates_and_schedules_are_overridden() {
    let options = FitOptions::default();
    let sgd = options.clone().method(Algorithm::Sgd);
    let (optimizer, rate, _, _) = gradient(&sgd);
    assert_eq!(optimizer, Optimizer::Sgd { momentum: 0.9 });
    assert_eq!((rate.first, rate.last), (0.5, 0.05));
    let (optimizer, _, _, _) = gradient(&sgd.momentum(0.5));
    assert_eq!(optimizer, Optimizer::Sgd { momentum: 0.5 });
    let (_, rate, _, _) = gradient(&options.clone().learning_rate(0.2));
    assert_eq!((rate.first, rate.last, rate.power), (0.2, 0.02, 3));
    let options = options
        .learning_rate(0.2)
        .final_learning_rate(0.1)
        .schedule(DecayCurve::Linear)
        .decay_epochs(9);
    let (_, rate, _, _) = gradient(&options);
    assert_eq!(
        (rate.first, rate.last, rate.power, rate.over),
        (0.2, 0.1, 1, 9)
    );
}

#[test]
fn starts_and_losses_are_overridden() {
    let options = FitOptions::default();
    let starts = |options: FitOptions| options.training(true).starts;
    assert_eq!(
        starts(options.clone().start(InitialWeights::Uniform).starts(3)),
        [Start::Uniform]
    );
    assert_eq!(
        starts(options.clone().starts(2)),
        [Start::Random(1), Start::Random(2)]
    );
    assert_eq!(
        starts(options.clone().start(InitialWeights::Random)),
        [Start::Random(1)]
    );
    // Without a target only the likelihood is left, unless a loss is given.
    let paper = FitOptions::preset("paper").unwrap().training(false);
    assert_eq!(
        (paper.loss, paper.monitor),
        (Loss::likelihood(), Monitor::Loss)
    );
    let loss = Loss::weighted([("squared_error", 2.0)]).unwrap();
    assert_eq!(options.loss(loss).training(false).loss, loss);
    assert!(Loss::weighted([("hinge", 1.0)]).is_err());
    assert!(Loss::weighted([("likelihood", -1.0)]).is_err());
}

/// Before snapping, rows are cooled; so other numbers are snapped than without.
#[test]
fn snapping_cools_first() {
    let (net, examples, task) = declared();
    let options = FitOptions::default()
        .compile(as_the_paper())
        .epochs(5)
        .starts(1);
    let fit = |options: &FitOptions| {
        net.fit(&task, &examples, options, &mut no_progress)
            .unwrap()
    };
    let snapped = fit(&options.clone().snap(true));
    let cooled = fit(&options.clone().temperature((1.0, 0.1)));
    assert_eq!(snapped.history(), cooled.history());
    assert_ne!(snapped.history(), fit(&options).history());
    let warm = fit(&options.snap(true).temperature((1.0, 1.0)));
    assert_ne!(snapped.history(), warm.history());
    let x = net.find("x").unwrap();
    assert!(snapped.network().cpts()[x.index()].is_functional());
    assert!(!cooled.network().cpts()[x.index()].is_functional());
    let [snapped, cooled] = [snapped, cooled].map(|fitted| fitted.declared().unwrap());
    assert!(snapped.snapped.is_some() && snapped.difference.unwrap().largest() < 1e-9);
    assert!(cooled.snapped.is_none() && cooled.difference.unwrap().largest() > 1e-3);
}

/// Rows are some function of u, columns of v: the circuit is small, as only u and v are summed over.
/// Without the declarations, all rows or all columns are.
fn grid(n: usize) -> (Network, Examples, Task) {
    let mut b = Network::builder("grid");
    let [u, v] = ["u", "v"].map(|name| b.variable(name, ["0", "1"]));
    b.table(u, [], [0.5, 0.5]).fixed();
    b.table(v, [], [0.5, 0.5]).fixed();
    let mut line = |kind: &str, of| -> Vec<_> {
        let node = |i| {
            let node = b.variable(format!("{kind}{i}"), ["t", "f"]);
            b.table(node, [of], [0.6, 0.4, 0.3, 0.7]).functional();
            node
        };
        (0..n).map(node).collect()
    };
    let (rows, columns) = (line("r", u), line("c", v));
    for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
        let pixel = b.variable(format!("p{i}_{j}"), ["t", "f"]);
        let table = [0.9, 0.1, 0.2, 0.8, 0.3, 0.7, 0.1, 0.9];
        b.table(pixel, [rows[i], columns[j]], table).fixed();
    }
    let net = b.build().unwrap();
    let mut examples = Examples::new(2);
    for pixel in net.matching("p*").unwrap() {
        examples.insert(pixel, Column::Values(vec![0, 1]));
    }
    let u = net.find("u").unwrap();
    examples.insert(u, Column::Values(vec![0, 1]));
    let task = Task::of(&[u], &examples);
    (net, examples, task)
}

/// If the network is too large to be answered without the declarations, what was learned is there
/// all the same.
#[test]
fn a_check_that_fails_is_a_warning() {
    let (net, examples, task) = grid(28);
    let compile = as_the_paper().with_effort(0.0);
    let options = FitOptions::default().compile(compile).epochs(1).starts(1);
    let fitted = net
        .fit(&task, &examples, &options, &mut no_progress)
        .unwrap();
    assert!(fitted.declared().unwrap().difference.is_none());
    let [warning] = fitted.warnings() else {
        panic!("one warning, not {:?}", fitted.warnings());
    };
    assert!(warning.contains("could not be checked"), "{warning}");
    assert_eq!(fitted.history().len(), 1);
    assert_ne!(*fitted.network(), net);
}

#[test]
fn a_target_is_not_predicted_from_itself() {
    let (net, examples, task) = asia();
    for method in [Algorithm::Adam, Algorithm::Em] {
        let task = task.clone().given(&net, Some(&["lung"])).unwrap();
        let options = FitOptions::default().method(method);
        let error = net.fit(&task, &examples, &options, &mut no_progress);
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("a target cannot be predicted from itself"),
            "{error}"
        );
    }
    // A pattern may match it, too.
    let task = task.given(&net, Some(&["l*", "xray"])).unwrap();
    let options = FitOptions::default().epochs(1).starts(1);
    assert!(
        net.fit(&task, &examples, &options, &mut no_progress)
            .is_ok()
    );
}

#[test]
fn circuits_are_those_that_were_trained_or_compiled_from_the_network() {
    let (net, examples, task) = asia();
    let lung = net.find("lung").unwrap();
    let answers = |fitted: &Fitted| {
        let circuit = fitted.circuit(lung).unwrap();
        let batch = examples.batch_for(&circuit).unwrap();
        circuit.evaluate(&batch).unwrap().posteriors
    };
    let options = FitOptions::default().epochs(2).starts(1);
    for options in [options, FitOptions::preset("em").unwrap()] {
        let fitted = net
            .fit(&task, &examples, &options, &mut no_progress)
            .unwrap();
        let found = answers(&fitted);
        let again = Fitted::circuit(&fitted, lung).unwrap();
        assert_eq!(again.inputs().count(), net.variables().len() - 1);
        let mut evidence = sumout::Evidence::new();
        for var in examples.variables().filter(|v| *v != lung) {
            let Some(Column::Values(values)) = examples.get(var) else {
                panic!("all columns are values");
            };
            let finding = sumout::Finding::Hard(values[0] as usize);
            evidence.insert(&net, var, finding).unwrap();
        }
        let asked = fitted
            .network()
            .query(&[lung], &evidence, &Options::default());
        let asked = asked.unwrap();
        let expected = &asked.posteriors()[0].1;
        assert!(
            (found[0] - expected[0]).abs() < 1e-6,
            "{found:?} {expected:?}"
        );
    }
}

/// All epochs are told, with how many there can be; an error ends the fit.
#[test]
fn progress_is_told_and_may_cancel() {
    let (net, examples, task) = asia();
    let options = FitOptions::default().epochs(3).starts(2);
    let mut told = vec![];
    let fitted = net.fit(&task, &examples, &options, &mut |event| {
        match event {
            FitEvent::Started {
                epochs_done,
                max_epochs,
                parameters,
            } => {
                assert!(*parameters > 0);
                told.push((*epochs_done, *max_epochs, None));
            }
            FitEvent::Epoch {
                epoch,
                epochs_done,
                max_epochs,
            } => told.push((*epochs_done, *max_epochs, Some((*epoch).clone()))),
            _ => panic!("an unknown event"),
        }
        Ok(())
    });
    let fitted = fitted.unwrap();
    let (started, epochs) = told.split_first().unwrap();
    assert_eq!(*started, (0, 2 * 5 + 3, None));
    let history: Vec<_> = epochs
        .iter()
        .map(|(_, _, epoch)| epoch.clone().unwrap())
        .collect();
    assert_eq!(history, fitted.history());
    assert_eq!(epochs.last().unwrap().0, fitted.history().len());
    let mut events = 0;
    let cancelled = net.fit(&task, &examples, &options, &mut |_| {
        events += 1;
        if events == 3 {
            return Err(Error::new(ErrorKind::Io, "interrupted"));
        }
        Ok(())
    });
    assert!(cancelled.unwrap_err().to_string().contains("interrupted"));
    assert_eq!(events, 3);
}

fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_file(&path);
    path
}

/// Fits until some epochs are done, and then cancels.
fn interrupt(net: &Network, task: &Task, examples: &Examples, options: &FitOptions, epochs: usize) {
    let result = net.fit(task, examples, options, &mut |event| match event {
        FitEvent::Epoch { epochs_done, .. } if *epochs_done == epochs => {
            Err(Error::new(ErrorKind::Io, "interrupted"))
        }
        _ => Ok(()),
    });
    assert!(result.is_err());
}

#[test]
fn a_fit_resumes_from_its_checkpoint_to_the_same_end() {
    let (net, examples, task) = asia();
    let checkpoint = Checkpoint::new(scratch("fit.checkpoint"));
    let options = FitOptions::default().epochs(4).starts(2).seed(3);
    let whole = net
        .fit(&task, &examples, &options, &mut no_progress)
        .unwrap();
    let options = options.checkpoint(checkpoint.clone().resume(true));
    for epochs in [1, 7, 11] {
        interrupt(&net, &task, &examples, &options, epochs);
    }
    let mut resumed = None;
    let fitted = net.fit(&task, &examples, &options, &mut |event| {
        if let FitEvent::Started { epochs_done, .. } = event {
            resumed = Some(*epochs_done);
        }
        Ok(())
    });
    assert_eq!(resumed, Some(11));
    assert_eq!(json(&fitted.unwrap()), json(&whole));
    assert!(
        checkpoint.path().exists(),
        "whoever keeps the result removes it"
    );
    checkpoint.remove();
    assert!(!checkpoint.path().exists());
}

/// Any change of what training depends on is another run.
#[test]
fn a_checkpoint_belongs_to_one_run() {
    let (net, examples, task) = asia();
    let checkpoint = Checkpoint::new(scratch("run.checkpoint")).resume(true);
    let options = FitOptions::default()
        .epochs(4)
        .starts(1)
        .checkpoint(checkpoint.clone());
    interrupt(&net, &task, &examples, &options, 1);
    let is_other = |task: &Task, examples: &Examples, options: &FitOptions| {
        let fitted = net.fit(task, examples, options, &mut no_progress);
        fitted.is_err_and(|error| error.to_string().contains("belongs to another run"))
    };
    let mut others = examples.clone();
    others.weigh((1..=80).map(f64::from).collect()).unwrap();
    assert!(is_other(&task, &others, &options));
    for other in [
        options.clone().learning_rate(0.1),
        options.clone().seed(1),
        options.clone().compile(as_the_paper()),
        options.clone().prior(3.0),
    ] {
        assert!(is_other(&task, &examples, &other), "{other:?}");
    }
    let frozen = task.clone().freeze(&net, &["smoke"]).unwrap();
    assert!(is_other(&frozen, &examples, &options));
    assert!(is_other(
        &task.clone().strict_ties(true),
        &examples,
        &options
    ));
    fs::write(checkpoint.path(), "{").unwrap();
    let damaged = net.fit(&task, &examples, &options, &mut no_progress);
    assert!(damaged.unwrap_err().to_string().contains("is damaged"));
    checkpoint.remove();
}
