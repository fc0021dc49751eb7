//! Evaluators can be kept, shared and sent between threads; one example is answered like many.

use std::sync::Mutex;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use sumout::model::random::{Shape, network};
use sumout::{
    Answer, Batch, Circuit, Column, Differentiator, EvalOptions, Evaluator, Evidence, Explainer,
    Explanation, FamilyEvaluator, Finding, Network, Options, Precision, Query,
};

#[test]
fn runners_are_sent_and_shared() {
    fn is_shared<T: Send + Sync + 'static>() {}
    is_shared::<Circuit>();
    is_shared::<Evaluator>();
    is_shared::<Differentiator>();
    is_shared::<Explainer>();
    is_shared::<FamilyEvaluator>();
    is_shared::<Answer>();
    is_shared::<Explanation>();
}

/// A runner keeps the circuit that it was made of.
#[test]
fn a_runner_outlives_its_circuit() {
    let asia = Network::read("asia").unwrap();
    let query = Query::of("lung").given(["xray"]);
    let circuit = asia.compile(&query, &Options::default()).unwrap();
    let evaluator = circuit.evaluator(&EvalOptions::default()).unwrap();
    drop((asia, circuit));
    let thread = std::thread::spawn(move || evaluator.run(&Batch::new(2)).unwrap());
    assert!((thread.join().unwrap().row(1)[0] - 0.055).abs() < 1e-6);
}

/// Numbers that are changed in a differentiator are not changed in the circuit.
#[test]
fn tables_are_changed_in_one_runner_alone() {
    let asia = Network::read("asia").unwrap();
    let query = Query::of("lung").trainable(["smoke"]);
    let circuit = asia.compile(&query, &Options::default()).unwrap();
    let tables: Vec<_> = circuit.graph().origins().keys().copied().collect();
    let options = EvalOptions::default();
    let mut changed = circuit.differentiator(&tables, &[], &options).unwrap();
    changed.set_table(tables[0], &[1.0, 0.0]);
    changed.refresh();
    let batch = Batch::new(1);
    assert!((changed.evaluate(&batch).unwrap().posteriors[0] - 0.1).abs() < 1e-6);
    assert!((circuit.evaluate(&batch).unwrap().row(0)[0] - 0.055).abs() < 1e-12);
}

/// One example has the same answer from a circuit as from its network.
#[test]
fn a_circuit_answers_one_example() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let mut impossible = 0;
    for seed in 0..60 {
        let shape = Shape {
            nodes: 7,
            max_values: 3,
            max_parents: 3,
            functional: 0.5,
        };
        let net = network(&shape, seed).unwrap();
        let evidence = crate::common::random_evidence(&net, &mut rng);
        let circuit = net.compile(&Query::all(), &Options::default()).unwrap();
        let ours = circuit.answer(&evidence).unwrap();
        let truth = net.query(&[], &evidence, &Options::default()).unwrap();
        assert_eq!(ours.is_impossible(), truth.is_impossible());
        impossible += usize::from(truth.is_impossible());
        assert_eq!(ours.posteriors().len(), truth.posteriors().len());
        for ((v, p), (w, q)) in ours.posteriors().iter().zip(truth.posteriors()) {
            assert_eq!(v, w);
            assert!(p.iter().zip(q).all(|(x, y)| (x - y).abs() < 1e-10));
        }
    }
    assert!(impossible > 0);
}

#[test]
fn answers_are_read_by_name() {
    let asia = Network::read("asia").unwrap();
    let evidence = Evidence::new().observe(&asia, "xray", "yes").unwrap();
    let targets = ["lung", "bronc"].map(|name| asia.find(name).unwrap());
    let answer = asia
        .query(&targets, &evidence, &Options::default())
        .unwrap();
    assert_eq!(answer.of("bronc").unwrap(), &answer.posteriors()[1].1[..]);
    let p = answer.probability("lung", "no").unwrap();
    assert_eq!(p, answer.posteriors()[0].1[1]);
    let refused = |name, value| answer.probability(name, value).unwrap_err().to_string();
    assert!(refused("lungs", "no").contains("did you mean `lung`?"));
    assert!(refused("lung", "nope").contains("has no value `nope`"));
    assert!(refused("tub", "no").contains("was not asked for"));
    let only = answer.only(&targets[..1]);
    let text = "lung  yes  0.49\n      no   0.51\nln P(evidence) = -2.20\n";
    assert_eq!(format!("{only:.2}"), text);
}

#[test]
fn explanations_are_read_by_name() {
    let asia = Network::read("asia").unwrap();
    let evidence = Evidence::new().observe(&asia, "xray", "yes").unwrap();
    let found = asia.mpe(&evidence, &Options::default()).unwrap();
    assert_eq!(found.value("either").unwrap(), "yes");
    assert!(found.value("eitherr").is_err());
    let text = found.to_string();
    assert_eq!(text.lines().count(), 9);
    assert!(
        text.contains("\neither  yes\n") && text.contains("\nln P = "),
        "{text}"
    );
}

#[test]
fn impossible_evidence_has_no_numbers() {
    let asia = Network::read("asia").unwrap();
    let evidence = Evidence::new().observe(&asia, "lung", "yes").unwrap();
    let evidence = evidence.observe(&asia, "either", "no").unwrap();
    let answer = asia.query(&[], &evidence, &Options::default()).unwrap();
    assert!(answer.is_impossible() && answer.probability("tub", "no").is_err());
    assert_eq!(answer.to_string(), "the evidence is impossible\n");
    let explanation = asia.mpe(&evidence, &Options::default()).unwrap();
    assert!(explanation.is_impossible() && explanation.value("tub").is_err());
    assert_eq!(explanation.to_string(), "the evidence is impossible\n");
}

/// A circuit that no evidence reaches has one answer for all examples, and weighs the evidence of
/// each.
#[test]
fn constant_circuits_answer_every_example() {
    let mut b = Network::builder("constant");
    let sure = b.variable("sure", ["yes", "no"]);
    let coin = b.variable("coin", ["head", "tail"]);
    b.table(sure, [], [1.0, 0.0]);
    b.table(coin, [], [0.25, 0.75]);
    let net = b.build().unwrap();
    let query = Query::of("coin").given(["sure"]);
    let circuit = net.compile(&query, &Options::default()).unwrap();
    for precision in Precision::ALL {
        let options = EvalOptions::default().with_precision(precision);
        let evaluator = circuit.evaluator(&options).unwrap();
        for rows in [1, 7, 200] {
            let values = (0..rows).map(|row| row as i32 % 3 - 1).collect();
            let column = Column::Values(values);
            let batch = Batch::new(rows).with(&circuit, "sure", column).unwrap();
            let answers = evaluator.run(&batch).unwrap();
            for row in 0..rows {
                assert_eq!(answers.is_impossible(row), row % 3 == 2);
                let expected = if row % 3 == 2 { [0.0; 2] } else { [0.25, 0.75] };
                assert_eq!(answers.row(row), expected);
            }
        }
    }
}

/// Likelihoods that are too far apart for 64 bits are answered with care, whatever is asked.
#[test]
fn no_example_is_lost() {
    let mut b = Network::builder("chain");
    let first = b.variable("first", ["yes", "no"]);
    let second = b.variable("second", ["yes", "no"]);
    b.table(first, [], [1e-300, 1.0]);
    b.table(second, [first], [1.0, 0.0, 1e-300, 1.0]);
    let net = b.build().unwrap();
    let second = net.find("second").unwrap();
    let far = Finding::Soft(vec![1.0, 1e-300]);
    let mut evidence = Evidence::new();
    evidence.insert(&net, second, far).unwrap();
    let circuit = net.compile(&Query::all(), &Options::default()).unwrap();
    let answer = circuit.answer(&evidence).unwrap();
    assert!((answer.probability("first", "yes").unwrap() - 1.0 / 3.0).abs() < 1e-9);
    let circuit = net
        .compile(&Query::all().families(), &Options::default())
        .unwrap();
    let families = circuit.families(&Batch::of(&circuit, &evidence).unwrap());
    let families = families.unwrap();
    assert!((families.marginals[0].1[0] - 1.0 / 3.0).abs() < 1e-9);
    assert!((families.log_evidence[0] - (3e-300_f64).ln()).abs() < 1e-9);
}

/// Likelihoods that 32 bits cannot tell apart, in some rows.
fn far_apart(rows: usize, is_far: impl Fn(usize) -> bool) -> Column {
    let likelihood = |row| {
        let small = if is_far(row) { 1e-20 } else { 0.5 };
        [1.0 + row as f64 / 7.0, small]
    };
    Column::Likelihoods((0..rows).flat_map(likelihood).collect())
}

/// A loss is asked about each example once by its own number, also where it is repeated, and the
/// number of threads changes nothing.
#[test]
fn losses_know_their_examples() {
    let asia = Network::read("asia").unwrap();
    let query = Query::of("lung").given(["xray", "dysp"]).trainable(["*"]);
    let circuit = asia.compile(&query, &Options::default()).unwrap();
    let tables: Vec<_> = circuit.graph().origins().keys().copied().collect();
    let rows = 20_000;
    let batch = Batch::new(rows)
        .with(&circuit, "xray", far_apart(rows, |row| row % 1000 == 7))
        .unwrap();
    let loss = |row: usize, p: &[f64], to: &mut [f64]| {
        to.copy_from_slice(p);
        to[row % 3 % 2] -= 1.0 + row as f64;
    };
    let run = |precision, threads| {
        let options = EvalOptions::default().with_precision(precision);
        let options = options.with_threads(threads);
        let ready = circuit.differentiator(&tables, &[], &options).unwrap();
        ready.run(&batch, &loss).unwrap()
    };
    let (short, long) = (run(Precision::F32, 1), run(Precision::F64, 1));
    assert_eq!(short, run(Precision::F32, 3));
    assert_eq!(long, run(Precision::F64, 3));
    for (x, y) in short
        .tables
        .iter()
        .flatten()
        .zip(long.tables.iter().flatten())
    {
        assert!((x - y).abs() <= 1e-5 * (1.0 + y.abs()), "{x} {y}");
    }
}

/// The loss of an example whose evidence is impossible counts for nothing.
#[test]
fn impossible_examples_have_no_loss() {
    let mut b = Network::builder("sure");
    let sure = b.variable("sure", ["yes", "no"]);
    let coin = b.variable("coin", ["head", "tail"]);
    let seen = b.variable("seen", ["head", "tail"]);
    b.table(sure, [], [1.0, 0.0]);
    b.table(coin, [], [0.25, 0.75]);
    b.table(seen, [coin], [0.9, 0.1, 0.2, 0.8]);
    let net = b.build().unwrap();
    let query = Query::of("coin").given(["sure", "seen"]);
    let circuit = net.compile(&query, &Options::default()).unwrap();
    let batch = Batch::new(3)
        .with(&circuit, "sure", Column::Values(vec![0, 1, -1]))
        .unwrap();
    let asked = Mutex::new(vec![]);
    let loss = |row: usize, _: &[f64], _: &mut [f64]| asked.lock().unwrap().push(row);
    let ready = circuit.differentiator(&[], &[], &EvalOptions::default());
    let found = ready.unwrap().run(&batch, &loss).unwrap();
    assert_eq!(asked.into_inner().unwrap(), [0, 2]);
    assert_eq!(found.log_evidence[1], Some(f64::NEG_INFINITY));
    assert_eq!(found.posteriors[2..4], [0.0, 0.0]);
}

/// The answer to an example that is repeated does not depend on how many others are.
#[test]
fn repeated_examples_are_alike() {
    let net = Network::read("rect:6").unwrap();
    let query = Query::of("label").given(["pixel_*"]);
    let circuit = net.compile(&query, &Options::default()).unwrap();
    let pixels: Vec<_> = circuit.inputs().collect();
    let run = |is_far: fn(usize) -> bool| {
        let mut batch = Batch::new(40);
        for &pixel in &pixels {
            batch
                .insert(&circuit, pixel, far_apart(40, is_far))
                .unwrap();
        }
        let evaluator = circuit.evaluator(&EvalOptions::default()).unwrap();
        evaluator.run(&batch).unwrap()
    };
    let (one, all) = (run(|row| row == 5), run(|_| true));
    assert_eq!(one.row(5), all.row(5));
    assert_eq!(one.log_evidence[5], all.log_evidence[5]);
}
