//! Explanations of batches against brute force: every row and level, also from a file.

use crate::common::{
    LEVELS, batch, close, enumerate, random_evidence, random_markov, seeds, weight,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::model::random::{Shape, network};
use sumout::{
    Batch, Circuit, Column, ErrorKind, EvalOptions, Evidence, Finding, Level, Network, Options,
    Query, VarId,
};

fn check(net: &Network, circuit: &Circuit, rows: &[Evidence]) {
    let found = circuit.explain(&batch(net, circuit, rows)).unwrap();
    for (row, evidence) in rows.iter().enumerate() {
        let truth = enumerate(net, evidence);
        let context = || {
            format!(
                "row {row}, {evidence:?}, {:?} {:?}\n{net:?}",
                found.row(row),
                circuit.graph()
            )
        };
        assert_eq!(found.is_impossible(row), truth.best == 0.0, "{}", context());
        if found.is_impossible(row) {
            assert!(
                found.row(row).iter().all(|&value| value == -1),
                "{}",
                context()
            );
            continue;
        }
        let mut states: Vec<usize> = net.ids().map(|v| given(evidence, v)).collect();
        found
            .variables
            .iter()
            .zip(found.row(row))
            .for_each(|(v, &value)| states[v.index()] = value as usize);
        let p = weight(net, evidence, &net.cards(), &states);
        assert!(
            close(p.ln(), truth.best.ln(), 1e-10),
            "{p} {}: {}",
            truth.best,
            context()
        );
        assert!(
            close(found.log_probability[row], p.ln(), 1e-10),
            "{}",
            context()
        );
    }
}

/// The value of a variable whose value is promised.
fn given(evidence: &Evidence, v: VarId) -> usize {
    if let Some(Finding::Hard(value)) = evidence.get(v) {
        *value
    } else {
        usize::MAX
    }
}

/// The evidence on some variables, of which the hard ones have a value in every row.
fn on(
    net: &Network,
    row: &Evidence,
    inputs: &[VarId],
    hard: &[VarId],
    rng: &mut ChaCha8Rng,
) -> Evidence {
    let mut evidence = Evidence::new();
    for &v in inputs.iter().filter(|v| !hard.contains(v)) {
        row.get(v)
            .into_iter()
            .for_each(|finding| evidence.insert(net, v, finding.clone()).unwrap());
    }
    for &v in hard {
        evidence
            .insert(net, v, Finding::Hard(rng.random_range(0..net.card(v))))
            .unwrap();
    }
    evidence
}

#[test]
fn every_row_is_explained_as_by_brute_force_also_from_a_file() {
    for seed in seeds(120) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let nodes = 3 + (seed % 6) as usize;
        let net = match seed % 4 {
            3 => random_markov(nodes, &mut rng),
            share => {
                let shape = Shape {
                    nodes,
                    max_values: 3,
                    max_parents: 3,
                    functional: 0.4 * share as f64,
                };
                network(&shape, seed).unwrap()
            }
        };
        let some = |share: f64, rng: &mut ChaCha8Rng| -> Vec<VarId> {
            net.ids().filter(|_| rng.random::<f64>() < share).collect()
        };
        let inputs = if seed % 3 == 0 {
            net.ids().collect()
        } else {
            some(0.5, &mut rng)
        };
        let hard: Vec<VarId> = if seed % 5 == 1 {
            inputs.iter().copied().take(2).collect()
        } else {
            vec![]
        };
        let all: Vec<Evidence> = (0..13).map(|_| random_evidence(&net, &mut rng)).collect();
        for level in LEVELS {
            let names = |vars: &[VarId]| {
                vars.iter()
                    .map(|&v| net.variable(v).name.clone())
                    .collect::<Vec<_>>()
            };
            let query = Query::explain().given(names(&inputs)).hard(names(&hard));
            let options = Options::default()
                .with_level(level)
                .with_seed(seed)
                .with_effort(0.01);
            let Ok(circuit) = net.compile(&query, &options) else {
                continue;
            }; // a Markov network without states
            let asked: Vec<VarId> = circuit.inputs().collect();
            let rows: Vec<Evidence> = all
                .iter()
                .map(|row| on(&net, row, &asked, &hard, &mut rng))
                .collect();
            check(&net, &circuit, &rows);
            let read = Circuit::from_bytes(&circuit.to_bytes().unwrap()).unwrap();
            let batch = batch(&net, &circuit, &rows);
            assert_eq!(
                read.explain(&batch).unwrap(),
                circuit.explain(&batch).unwrap()
            );
            let one = circuit
                .explainer(&EvalOptions::default().with_threads(1))
                .unwrap();
            assert_eq!(one.run(&batch).unwrap(), circuit.explain(&batch).unwrap());
        }
    }
}

/// The explanations of a batch, which go through blocks, beside those of its rows one by one, which
/// do not: the same values, also where others are as probable.
fn check_alone(circuit: &Circuit, batch: &Batch, context: &str) {
    let together = circuit.explain(batch).unwrap();
    for row in 0..batch.len() {
        let alone = circuit.explain(&batch.select(circuit, &[row])).unwrap();
        assert_eq!(together.row(row), alone.row(0), "row {row} of {context}");
        let (x, y) = (together.log_probability[row], alone.log_probability[0]);
        assert!(
            x == y || close(x, y, 1e-12),
            "row {row} of {context}: {x} {y}"
        );
    }
}

#[test]
fn rows_of_a_block_are_explained_as_they_are_alone() {
    for seed in seeds(60) {
        let mut rng = ChaCha8Rng::seed_from_u64(1000 + seed);
        let nodes = 4 + (seed % 9) as usize;
        let shape = Shape {
            nodes,
            max_values: 4,
            max_parents: 3,
            functional: 0.3 * (seed % 4) as f64,
        };
        let net = if seed % 5 == 4 {
            random_markov(nodes, &mut rng)
        } else {
            network(&shape, seed).unwrap()
        };
        let rows: Vec<Evidence> = (0..70).map(|_| random_evidence(&net, &mut rng)).collect();
        for level in LEVELS {
            let options = Options::default()
                .with_level(level)
                .with_seed(seed)
                .with_effort(0.01);
            let Ok(circuit) = net.compile(&Query::explain().given(["*"]), &options) else {
                continue;
            };
            check_alone(
                &circuit,
                &batch(&net, &circuit, &rows),
                &format!("{level:?}, {net:?}"),
            );
        }
    }
}

/// Coins that are fair, and whether neighbours are alike: nearly everything is as probable as
/// something else.
#[test]
fn of_many_explanations_that_are_as_probable_it_is_always_the_same_one() {
    let mut b = Network::builder("coins");
    let coins: Vec<_> = (0..8)
        .map(|i| b.variable(format!("c{i}"), ["h", "t"]))
        .collect();
    for &coin in &coins {
        b.table(coin, [], [0.5, 0.5]);
    }
    for (i, pair) in coins.windows(2).enumerate() {
        let alike = b.variable(format!("a{i}"), ["no", "yes"]);
        b.function(alike, [pair[0], pair[1]], |u| usize::from(u[0] == u[1]));
        let seen = b.variable(format!("s{i}"), ["no", "yes"]);
        b.table(seen, [alike], [0.75, 0.25, 0.25, 0.75]);
    }
    let net = b.build().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for level in LEVELS {
        let options = Options::default().with_level(level).with_effort(0.01);
        let circuit = net
            .compile(&Query::explain().given(["s*", "c7"]), &options)
            .unwrap();
        let mut batch = Batch::new(100);
        for input in circuit.inputs().collect::<Vec<_>>() {
            let values = (0..100).map(|_| rng.random_range(-1..2)).collect();
            batch
                .insert(&circuit, input, Column::Values(values))
                .unwrap();
        }
        check_alone(&circuit, &batch, &format!("{level:?}"));
    }
}

/// The pixels of an image are noisy functions of what is drawn: each explanation is that of a
/// single question.
#[test]
fn images_are_explained_as_by_single_questions() {
    let net = Network::read("rect:5").unwrap();
    let data = net.sample(12, 3).unwrap();
    for level in [
        Level::Functional,
        Level::Tables,
        Level::Support,
        Level::Compiled,
        Level::Auto,
    ] {
        let options = Options::default().with_level(level).with_effort(0.1);
        let circuit = net
            .compile(&Query::explain().given(["pixel_*"]), &options)
            .unwrap();
        let row = |cells: &[Option<u32>]| {
            let mut evidence = Evidence::new();
            for (&v, value) in data
                .columns()
                .iter()
                .zip(cells)
                .filter(|(v, _)| circuit.inputs().any(|i| i == **v))
            {
                if v.index() % 7 > 0 {
                    evidence
                        .insert(&net, v, Finding::Hard(value.unwrap() as usize))
                        .unwrap();
                }
            }
            evidence
        };
        let rows: Vec<Evidence> = data.rows().map(row).collect();
        let found = circuit.explain(&batch(&net, &circuit, &rows)).unwrap();
        for (row, evidence) in rows.iter().enumerate() {
            let single = net.mpe(evidence, &options).unwrap();
            assert!(
                close(found.log_probability[row], single.log_probability(), 1e-12),
                "{level:?} {row}"
            );
            let values = found
                .row(row)
                .iter()
                .map(|&value| value as usize)
                .collect::<Vec<_>>();
            let log = |states: &[usize]| {
                net.cpts()
                    .iter()
                    .map(|cpt| entry(&net, cpt, states).ln())
                    .sum::<f64>()
            };
            assert!(
                close(log(&values), single.log_probability(), 1e-10),
                "{level:?} {row}"
            );
        }
    }
}

fn entry(net: &Network, cpt: &sumout::Cpt, states: &[usize]) -> f64 {
    let cards = net.cards();
    cpt.table(&cards)[cpt
        .scope()
        .iter()
        .fold(0, |at, v| at * cards[v.index()] + states[v.index()])]
}

/// An entry 1e-600 times the rest of a tensor may be the only possible one in the end.
#[test]
fn rows_whose_numbers_are_far_apart_are_explained_beside_others() {
    let mut b = Network::builder("two causes");
    let [c, e, or] = ["c", "e", "or"].map(|name| b.variable(name, ["a", "b"]));
    b.table(c, [], [0.5, 0.5]);
    b.table(e, [], [0.5, 0.5]);
    b.function(or, [c, e], |u| u[0] | u[1]);
    for (name, cause) in (0..100).flat_map(|i| [(format!("c{i}"), c), (format!("e{i}"), e)]) {
        let feature = b.variable(name, ["y", "n"]);
        b.table(feature, [cause], [1.0 - 1e-6, 1e-6, 1e-6, 1.0 - 1e-6]);
    }
    let net = b.build().unwrap();
    let circuit = net
        .compile(
            &Query::explain().given(["or", "c?*", "e?*"]),
            &Options::default(),
        )
        .unwrap();
    let mut batch = Batch::new(3);
    for input in circuit.inputs().collect::<Vec<_>>() {
        let first = i32::from(circuit.variable(input).name == "or");
        batch
            .insert(&circuit, input, Column::Values(vec![first, 0, -1]))
            .unwrap();
    }
    let found = circuit.explain(&batch).unwrap();
    check_alone(
        &circuit,
        &batch.select(&circuit, &[0, 1, 2].repeat(4)),
        "many rows",
    );
    let (small, large) = (1e-6f64.ln(), (1.0 - 1e-6f64).ln());
    let quarter = 0.25f64.ln();
    let expected = [
        100.0 * (small + large) + quarter,
        200.0 * large + quarter,
        200.0 * large + quarter,
    ];
    for (log, expected) in found.log_probability.iter().zip(expected) {
        assert!(close(*log, expected, 1e-12), "{log} {expected}");
    }
    assert_eq!(
        found.row(0)[..3].iter().sum::<i32>(),
        2,
        "one cause is b, and so is their function"
    );
}

#[test]
fn circuits_do_what_they_were_compiled_for() {
    let asia = Network::read("asia").unwrap();
    let options = Options::default();
    let explains = asia
        .compile(&Query::explain().given(["xray"]), &options)
        .unwrap();
    let sums = asia
        .compile(&Query::of("lung").given(["xray"]), &options)
        .unwrap();
    assert!(explains.explains() && !sums.explains());
    assert_eq!(
        explains.evaluate(&Batch::new(1)).unwrap_err().kind(),
        ErrorKind::Unsupported
    );
    assert!(
        sums.explain(&Batch::new(1))
            .unwrap_err()
            .to_string()
            .contains("Query::explain")
    );
    assert!(explains.export(sumout::circuit::Language::Numpy).is_err());
    assert!(
        explains
            .differentiator(&[], &[], &EvalOptions::default())
            .is_err()
    );
    let limited = EvalOptions::default().with_memory(Some(100));
    assert_eq!(
        explains.explainer(&limited).unwrap_err().kind(),
        ErrorKind::Memory
    );
    let promised = asia
        .compile(&Query::explain().hard(["xray"]), &options)
        .unwrap();
    assert!(
        promised
            .explain(&Batch::new(1))
            .unwrap_err()
            .message()
            .contains("`xray` has no value in row 1")
    );
}

#[test]
fn a_damaged_file_is_an_error_wherever_the_damage_is() {
    let net = Network::read("rect:4").unwrap();
    for level in [Level::Tables, Level::Support] {
        let options = Options::default().with_level(level).with_effort(0.1);
        let bytes = net
            .compile(&Query::explain().given(["pixel_*"]), &options)
            .unwrap()
            .to_bytes()
            .unwrap();
        for at in (0..bytes.len()).step_by(bytes.len() / 300 + 1) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(
                Circuit::from_bytes(&damaged).is_err(),
                "byte {at} of {}",
                bytes.len()
            );
        }
    }
}
