//! Work that is stopped, at each of the moments at which it asks whether to go on: counted, so that
//! nothing depends on the speed of the machine.

use sumout::{Answer, Control, ErrorKind, Evidence, Level, Network, Options, Query, Stage};

/// Stops by itself at the question after this many.
fn stopping(options: &Options, questions: u64) -> (Control, Options) {
    let control = Control::with_patience(questions);
    (control.clone(), options.clone().with_control(control))
}

fn numbers(answer: &Answer) -> Vec<f64> {
    let posteriors = answer.posteriors().iter();
    posteriors
        .flat_map(|(_, numbers)| numbers.clone())
        .collect()
}

#[test]
fn a_query_is_answered_or_interrupted_and_nothing_else() {
    let (net, evidence) = (Network::read("asia").unwrap(), Evidence::new());
    for name in Level::names() {
        let options = Options::default().with_level(name.parse().unwrap());
        let whole = numbers(&net.query(&[], &evidence, &options).unwrap());
        let mut interrupted = 0;
        loop {
            let (_, options) = stopping(&options, interrupted);
            match net.query(&[], &evidence, &options) {
                Err(error) => assert_eq!(error.kind(), ErrorKind::Interrupted, "{name}"),
                Ok(answer) => {
                    // A search that was stopped may have found another plan.
                    let pairs = numbers(&answer).into_iter().zip(&whole);
                    pairs.for_each(|(ours, truth)| assert!((ours - truth).abs() < 1e-12));
                    break;
                }
            }
            interrupted += 1;
        }
        assert!(interrupted > 5, "{name}: asked {interrupted} times");
    }
}

#[test]
fn an_explanation_is_found_or_interrupted() {
    let (net, evidence) = (Network::read("asia").unwrap(), Evidence::new());
    let whole = net.mpe(&evidence, &Options::default()).unwrap();
    for questions in 0.. {
        let (_, options) = stopping(&Options::default(), questions);
        match net.mpe(&evidence, &options) {
            Err(error) => assert_eq!(error.kind(), ErrorKind::Interrupted),
            Ok(found) => {
                assert_eq!(found.assignment(), whole.assignment());
                return assert!(questions > 5);
            }
        }
    }
}

#[test]
fn a_search_that_is_stopped_ends_with_its_best_plan() {
    let net = Network::read("rect:6").unwrap();
    let query = Query::of("label").given(["pixel_*"]);
    let whole = net.plan(&query, &Options::default()).unwrap();
    let mut costs = vec![];
    for questions in [0, 1, 10, 1000] {
        let (control, options) = stopping(&Options::default(), questions);
        let plan = net.plan(&query, &options).unwrap();
        assert!(control.is_stopped());
        let progress = control.progress().unwrap();
        assert_eq!(progress.stage(), Stage::Searching);
        assert!(progress.best().is_some());
        costs.push(plan.report().chosen().multiply_adds());
    }
    assert!(
        costs[0] > whole.report().chosen().multiply_adds(),
        "{costs:?}"
    );
}

#[test]
fn a_run_reports_all_that_it_does() {
    let net = Network::read("asia").unwrap();
    let control = Control::new();
    let options = Options::default().with_control(control.clone());
    let answer = net.query(&[], &Evidence::new(), &options).unwrap();
    assert_eq!(answer.posteriors().len(), 8);
    let progress = control.progress().unwrap();
    assert_eq!(
        (progress.stage(), progress.share()),
        (Stage::Running, Some(1.0))
    );
    assert!(progress.total() > 50 && progress.done() == progress.total());
}
