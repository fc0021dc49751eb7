//! Networks whose logic decides a lot, against brute force: renamed and repeated functions,
//! parities that evidence turns into equations, constraints, conditional distributions in Markov
//! networks, parents that do not matter.

use crate::common::{
    LEVELS, batch, close, enumerate, in_parallel, is_sweep, random_evidence, weight,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::model::Node;
use sumout::{
    Builder, Circuit, EvalOptions, Evidence, Level, Network, Options, Precision, Query, VarId,
};

const TOLERANCE: f64 = 1e-9;

/// The number of networks: a few, or with `SUMOUT_SWEEP` all of them.
fn networks() -> u64 {
    if is_sweep() { 20_000 } else { 150 }
}

/// The kinds of variables.
struct Planted {
    node: Node,
    parents: Vec<Node>,
    /// For each joint state of the parents a distribution, or a value with probability one.
    rows: Vec<f64>,
    card: usize,
}

/// A network of functions that often repeat or rename earlier ones. A Markov network has the same
/// factors, in any order, and constraints between them.
fn planted(seed: u64) -> (Network, ChaCha8Rng) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let is_markov = seed % 3 == 2;
    let mut b = if is_markov {
        Network::markov("planted")
    } else {
        Network::builder("planted")
    };
    let mut all: Vec<Planted> = vec![];
    for i in 0..3 + (seed % 8) as usize {
        let next = one_more(&mut b, i, &all, &mut rng);
        let (node, parents, rows) = (next.node, next.parents.clone(), next.rows.clone());
        if is_markov {
            b.potential(parents.into_iter().chain([node]), rows);
        } else {
            b.table(node, parents, rows);
        }
        all.push(next);
    }
    if is_markov && rng.random::<bool>() {
        constrain(&mut b, &all, &mut rng);
    }
    (b.build().expect("a planted network is well formed"), rng)
}

fn one_more(b: &mut Builder, i: usize, all: &[Planted], rng: &mut ChaCha8Rng) -> Planted {
    let any = |rng: &mut ChaCha8Rng| rng.random_range(0..all.len().max(1));
    let kind = if all.len() < 2 {
        0
    } else {
        rng.random_range(0..8)
    };
    let card = match kind {
        1 | 2 => all[any(rng)].card,
        _ => rng.random_range(1..=3),
    };
    let (parents, card): (Vec<usize>, usize) = match kind {
        0 => (vec![], card),
        1 => {
            let parent = any(rng);
            (vec![parent], all[parent].card)
        }
        2 => {
            let same = any(rng);
            let node = b.variable(
                format!("x{i}"),
                (0..all[same].card).map(|v| format!("s{v}")),
            );
            return again(node, &all[same], rng);
        }
        _ => {
            let (p, q) = (any(rng), any(rng));
            (if p == q { vec![p] } else { vec![p, q] }, card.max(2))
        }
    };
    let node = b.variable(format!("x{i}"), (0..card).map(|v| format!("s{v}")));
    let cards: Vec<usize> = parents.iter().map(|&p| all[p].card).collect();
    Planted {
        node,
        rows: rows(kind, &cards, card, rng),
        parents: parents.iter().map(|&p| all[p].node).collect(),
        card,
    }
}

/// The same function or distribution as another, up to the names of values.
fn again(node: Node, other: &Planted, rng: &mut ChaCha8Rng) -> Planted {
    let shift = rng.random_range(0..other.card);
    let mut rows = other.rows.clone();
    rows.chunks_exact_mut(other.card)
        .for_each(|row| row.rotate_left(shift));
    Planted {
        node,
        parents: other.parents.clone(),
        rows,
        card: other.card,
    }
}

fn rows(kind: usize, cards: &[usize], card: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let shift = rng.random_range(0..card);
    let count: usize = cards.iter().product();
    let hot = |value: usize| {
        (0..card)
            .map(|v| f64::from(v == value % card))
            .collect::<Vec<_>>()
    };
    let sum = |state: usize| {
        cards
            .iter()
            .fold((0, state), |(s, r), c| (s + r % c, r / c))
            .0
    };
    let mut row = |state: usize| match kind {
        1 => hot(state + shift),
        3 | 4 => hot(sum(state) + shift),
        5 => hot(usize::from(sum(state) > 0)),
        6 => hot(state % cards[cards.len() - 1]), // the first parent does not matter
        _ => distribution(card, rng),
    };
    (0..count).flat_map(&mut row).collect()
}

/// Numbers that sum to one, some of them zero.
fn distribution(card: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let certain = rng.random_range(0..card);
    let number = |v: usize| {
        let is_zero = v != certain && rng.random::<f64>() < 0.3;
        if is_zero {
            0.0
        } else {
            0.1 + rng.random::<f64>()
        }
    };
    let numbers: Vec<f64> = (0..card).map(number).collect();
    let sum: f64 = numbers.iter().sum();
    numbers.iter().map(|x| x / sum).collect()
}

/// Lets two variables be equal, or exclude a pair of their values.
fn constrain(b: &mut Builder, all: &[Planted], rng: &mut ChaCha8Rng) {
    let (p, q) = (&all[0], &all[rng.random_range(1..all.len())]);
    let is_equation = rng.random::<bool>();
    let allowed = |i: usize| {
        let (x, y) = (i / q.card, i % q.card);
        if is_equation { x % q.card == y } else { i > 0 }
    };
    let table: Vec<f64> = (0..p.card * q.card)
        .map(|i| f64::from(allowed(i)))
        .collect();
    b.potential([p.node, q.node], table);
}

fn options(level: Level, seed: u64) -> Options {
    Options::default()
        .with_level(level)
        .with_seed(seed)
        .with_effort(0.1)
}

#[test]
fn posteriors_are_those_of_brute_force() {
    in_parallel(0..networks(), |seed| {
        let (net, mut rng) = planted(seed);
        let evidence = random_evidence(&net, &mut rng);
        let truth = enumerate(&net, &evidence);
        let one = sumout::internals::var(rng.random_range(0..net.variables().len()));
        for level in LEVELS {
            for targets in [&[][..], &[one]] {
                let answer = net
                    .query(targets, &evidence, &options(level, seed))
                    .unwrap();
                let context =
                    || format!("seed {seed} {:?} {targets:?} {evidence:?}\n{net:?}", level);
                assert_eq!(
                    answer.is_impossible(),
                    truth.evidence == 0.0,
                    "{}",
                    context()
                );
                if answer.is_impossible() {
                    continue;
                }
                assert!(
                    close(answer.log_evidence(), truth.evidence.ln(), TOLERANCE),
                    "{}",
                    context()
                );
                for (v, posterior) in answer.posteriors() {
                    for (p, joint) in posterior.iter().zip(&truth.joints[v.index()]) {
                        assert!(
                            close(*p, joint / truth.evidence, TOLERANCE),
                            "{}",
                            context()
                        );
                    }
                }
            }
        }
    });
}

#[test]
fn explanations_are_those_of_brute_force() {
    in_parallel(0..networks(), |seed| {
        let (net, mut rng) = planted(seed);
        let evidence = random_evidence(&net, &mut rng);
        let best = enumerate(&net, &evidence).best;
        for level in LEVELS {
            let found = net.mpe(&evidence, &options(level, seed)).unwrap();
            let context = || format!("seed {seed} {:?} {evidence:?}\n{net:?}", level);
            assert_eq!(found.is_impossible(), best == 0.0, "{}", context());
            if !found.is_impossible() {
                let states: Vec<usize> = net.ids().map(|v| position(&net, &found, v)).collect();
                let p = weight(&net, &evidence, &net.cards(), &states);
                assert!(
                    close(p.ln(), best.ln(), TOLERANCE),
                    "{p} {best} {}",
                    context()
                );
                assert!(
                    close(found.log_probability(), p.ln(), TOLERANCE),
                    "{}",
                    context()
                );
            }
        }
    });
}

fn position(net: &Network, found: &sumout::Explanation, v: VarId) -> usize {
    let variable = net.variable(v);
    let value = found.value(&variable.name).unwrap();
    variable.values.iter().position(|v| *v == value).unwrap()
}

/// Few or all variables are inputs, and each row has evidence of its own.
#[test]
fn batches_are_answered_as_by_brute_force() {
    in_parallel(0..networks() / 2, |seed| {
        let (net, mut rng) = planted(seed);
        let share = [0.2, 0.6, 1.0][(seed % 3) as usize];
        let inputs: Vec<String> = net
            .variables()
            .iter()
            .filter(|_| rng.random::<f64>() < share)
            .map(|variable| variable.name.clone())
            .collect();
        let all: Vec<Evidence> = (0..5).map(|_| random_evidence(&net, &mut rng)).collect();
        let target = rng.random_range(0..net.variables().len());
        let name = &net.variables()[target].name;
        let others = inputs.iter().filter(|input| *input != name);
        let queries = [
            Query::all().given(inputs.clone()),
            Query::of(name).given(others),
        ];
        for (level, query) in LEVELS
            .into_iter()
            .flat_map(|l| queries.iter().map(move |q| (l, q)))
        {
            let Ok(circuit) = net.compile(query, &options(level, seed)) else {
                continue; // a Markov network without states
            };
            check_rows(&net, &circuit, &all, seed);
        }
    });
}

fn check_rows(net: &Network, circuit: &Circuit, all: &[Evidence], seed: u64) {
    let rows: Vec<Evidence> = all.iter().map(|row| on_inputs(net, circuit, row)).collect();
    let precise = EvalOptions::default()
        .with_precision(Precision::F64)
        .with_threads(1);
    let answers = circuit
        .evaluator(&precise)
        .unwrap()
        .run(&batch(net, circuit, &rows))
        .unwrap();
    for (row, evidence) in rows.iter().enumerate() {
        let truth = enumerate(net, evidence);
        let context = || format!("seed {seed} row {row} {evidence:?}\n{net:?}");
        assert_eq!(
            answers.is_impossible(row),
            truth.evidence == 0.0,
            "{}",
            context()
        );
        if truth.evidence == 0.0 {
            continue;
        }
        assert!(
            close(answers.log_evidence[row], truth.evidence.ln(), TOLERANCE),
            "{}",
            context()
        );
        let targets = circuit.targets();
        let joints = targets.iter().flat_map(|v| &truth.joints[v.index()]);
        for (p, joint) in answers.row(row).iter().zip(joints) {
            assert!(
                close(*p, joint / truth.evidence, TOLERANCE),
                "{}",
                context()
            );
        }
    }
}

/// The evidence on the inputs of a circuit.
fn on_inputs(net: &Network, circuit: &Circuit, row: &Evidence) -> Evidence {
    let mut evidence = Evidence::new();
    for v in circuit.inputs() {
        if let Some(finding) = row.get(v) {
            evidence.insert(net, v, finding.clone()).unwrap();
        }
    }
    evidence
}
