//! Circuits that are compiled once and run on several examples, against brute force.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::compile::plan::problem::Problem;
use crate::compile::{
    self, Compiled, Goal, Level, Objective, Question, Runs, Search, paper, prune,
};
use crate::model::Network;
use crate::model::random::{Shape, network, seeds};
use crate::tensor::Op;
use crate::tensor::careful::{Run, Tensor};
use crate::tensor::layout::Program;
use crate::tensor::schedule::{Schedule, Want};
use crate::vars::{VarId, VarSet};

const LEVELS: [Level; 6] = [
    Level::Auto,
    Level::Classical,
    Level::Paper,
    Level::Functional,
    Level::Tables,
    Level::Support,
];

/// The paper's plan, which copies all functions, with look-ups.
pub(crate) fn replicated(net: &Network, question: &Question) -> Option<Compiled> {
    let pruned = prune::prune(net.model(), question)?;
    let problem = Problem::new(&pruned, Objective::MultiplyAdds).with_tables(&pruned);
    let plan = paper::plan(&problem, 10_000).plan;
    let graph = super::lower(&pruned, &problem, &plan);
    Some(Compiled {
        graph,
        cost: plan.cost,
        plan,
        pruned,
        decoders: vec![],
    })
}

/// A random network, some of whose variables have a value in every example, and some a likelihood.
fn case(seed: u64, has_one_target: bool) -> (Network, Question) {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let nodes = 3 + seed as usize % 6;
    let shape = Shape {
        nodes,
        max_values: 3,
        max_parents: 3,
        functional: [0.3, 0.6, 0.9][seed as usize % 3],
    };
    let net = network(&shape, seed).unwrap();
    let target = VarId::new(rng.random_range(0..nodes));
    let others = net.ids().filter(|&v| !has_one_target || v != target);
    let (mut hard, mut soft) = (VarSet::default(), VarSet::default());
    for v in others {
        match rng.random_range(0..4) {
            0 | 1 => drop(hard.insert(v)),
            2 => drop(soft.insert(v)),
            _ => {}
        }
    }
    let goal = if has_one_target {
        Goal::Posterior(target)
    } else {
        Goal::posteriors(&net.ids().collect() - &hard)
    };
    (
        net,
        Question {
            goal,
            inputs: &soft | &hard,
            hard,
            ..Question::default()
        },
    )
}

/// For each variable, likelihoods of all values: a single one where a value is promised, ones where
/// nothing is given.
fn example(net: &Network, question: &Question, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let of = |v: VarId| {
        let value = rng.random_range(0..net.card(v));
        let weight = |i: usize| match (question.hard.contains(v), question.inputs.contains(v)) {
            (true, _) => f64::from(i == value),
            (_, true) => (1 + (i + value) % 3) as f64 / 4.0,
            _ => 1.0,
        };
        (0..net.card(v)).map(weight).collect()
    };
    net.ids().map(of).collect()
}

/// P(x, e) for each value x of each variable, by enumeration.
fn joints(net: &Network, likelihoods: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let cards = net.cards();
    let tables: Vec<Vec<f64>> = net.cpts().iter().map(|cpt| cpt.table(&cards)).collect();
    let mut joints: Vec<Vec<f64>> = cards.iter().map(|&card| vec![0.0; card]).collect();
    for state in 0..cards.iter().product() {
        let states: Vec<usize> = cards
            .iter()
            .scan(state, |rest, card| Some(step(rest, *card)))
            .collect();
        let entry = |(cpt, table): (&crate::model::Cpt, &Vec<f64>)| {
            table[cpt
                .scope()
                .iter()
                .fold(0, |at, v| at * cards[v.index()] + states[v.index()])]
        };
        let evidence: f64 = states.iter().zip(likelihoods).map(|(&s, l)| l[s]).product();
        let p = evidence * net.cpts().iter().zip(&tables).map(entry).product::<f64>();
        states
            .iter()
            .zip(&mut joints)
            .for_each(|(&s, joint)| joint[s] += p);
    }
    joints
}

fn step(rest: &mut usize, card: usize) -> usize {
    let state = *rest % card;
    *rest /= card;
    state
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    tensor
        .data
        .iter()
        .map(|x| x * 2f64.powi(tensor.exponent as i32))
        .collect()
}

fn check(compiled: &Compiled, v: VarId, ours: &[f64], truth: &[Vec<f64>], context: &str) {
    let left = compiled.pruned.domains[v.index()]
        .iter()
        .map(|&value| truth[v.index()][value]);
    let is_close = |(a, b): (&f64, f64)| (a - b).abs() <= 1e-9 * b.max(1e-9);
    assert!(
        ours.iter().zip(left).all(is_close),
        "{context}: {ours:?} {truth:?}"
    );
}

/// Runs a circuit on several examples, each against brute force.
fn check_examples(
    net: &Network,
    question: &Question,
    compiled: &Compiled,
    seed: u64,
    context: &str,
) {
    let domains = &compiled.pruned.domains;
    let open: VarSet = question
        .goal
        .targets()
        .iter()
        .filter(|v| domains[v.index()].len() > 1)
        .collect();
    let is_single = question.goal.target().is_some();
    let want = if is_single {
        Want::Output
    } else {
        Want::Gradients(open.clone(), vec![])
    };
    let program = Program::new(&compiled.graph, &Schedule::new(&compiled.graph, &want));
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..4 {
        let likelihoods = example(net, question, rng);
        let of = |v: VarId| -> Vec<f64> {
            domains[v.index()]
                .iter()
                .map(|&i| likelihoods[v.index()][i])
                .collect()
        };
        let run = Run::sum(&compiled.graph, &program, of);
        let truth = joints(net, &likelihoods);
        for v in open.iter() {
            let ours = match is_single {
                true => numbers(run.value(compiled.graph.output())),
                false => {
                    let adjoint =
                        numbers(run.adjoint(compiled.graph.find(&Op::Evidence(v)).unwrap()));
                    adjoint.iter().zip(of(v)).map(|(a, l)| a * l).collect()
                }
            };
            check(compiled, v, &ours, &truth, context);
        }
    }
}

#[test]
fn circuits_with_promised_values_agree_with_brute_force() {
    for (seed, level) in seeds(150).flat_map(|seed| LEVELS.map(|level| (seed, level))) {
        let (net, question) = case(seed, seed % 2 == 0);
        let search = Search {
            level,
            objective: Default::default(),
            seed,
            effort: 0.001,
            runs: Runs::Many,
            control: Default::default(),
        };
        let compiled = compile::compile(net.model(), &question, &search).unwrap();
        check_examples(
            &net,
            &question,
            &compiled,
            seed,
            &format!("seed {seed}, {level}"),
        );
    }
}

#[test]
fn look_ups_agree_with_brute_force() {
    let mut gathers = 0;
    for seed in 0..500 {
        let (net, mut question) = case(seed, seed % 2 == 0);
        let without: VarSet = question
            .hard
            .iter()
            .filter(|v| v.index() as u64 % 3 != seed % 3)
            .collect();
        question.inputs = &question.inputs - &without;
        question.hard = &question.hard - &without;
        question.goal = Goal::posteriors(question.goal.targets().iter().take(2).collect());
        let compiled = replicated(&net, &question).unwrap();
        gathers += compiled
            .graph
            .ops()
            .filter(|(_, op)| matches!(op, Op::Gather(..)))
            .count();
        check_examples(&net, &question, &compiled, seed, &format!("seed {seed}"));
    }
    assert!(gathers > 40, "only {gathers} look-ups");
}
