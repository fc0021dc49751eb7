//! Decision diagrams against brute force, on networks in which every variable with parents is a
//! function: evidence on roots and gates, observed gates, values and all marginals.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::compile::support::tests::{assert_close, each_state, numbers, program, weight};
use crate::compile::{Goal, Question, prune};
use crate::control::Control;
use crate::model::random::{Shape, network, seeds};
use crate::tensor::Op;
use crate::tensor::careful::Run;
use crate::tensor::schedule::Want;
use crate::vars::{VarId, VarSet};

const MOST: usize = 100_000;

/// A network of functions, pruned by a random question, with likelihoods for its inputs.
fn case(seed: u64, functional: f64, asks_all: bool) -> Option<(Pruned, Vec<Vec<f64>>)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let shape = Shape {
        nodes: 4 + seed as usize % 7,
        max_values: 3,
        max_parents: 3,
        functional,
    };
    let net = network(&shape, seed).unwrap();
    let goal = if asks_all {
        Goal::posteriors(net.ids().collect())
    } else {
        Goal::Posterior(VarId::new(rng.random_range(0..shape.nodes)))
    };
    let mut question = Question {
        goal,
        ..Question::default()
    };
    for v in net.ids() {
        match rng.random_range(0..8) {
            0..3 => drop(question.inputs.insert(v)),
            3 => question.known.push((v, rng.random_range(0..net.card(v)))),
            _ => {}
        }
    }
    let pruned = prune::prune(net.model(), &question)?;
    let mut numbers = |domain: &Vec<usize>| {
        let numbers = domain.iter().map(|_| f64::from(rng.random_range(0..4)));
        numbers.collect()
    };
    let likelihoods = pruned.domains.iter().map(&mut numbers).collect();
    Some((pruned, likelihoods))
}

fn by_diagrams(pruned: &Pruned, seed: u64) -> Option<Supported> {
    let first = [First::AsGiven, First::Lightest][(seed / 3 % 2) as usize];
    let found = weigh::compile(pruned, first, MOST, &Control::default())?;
    Some(lower::lower(pruned, &found))
}

#[test]
fn diagrams_of_one_target_agree_with_brute_force() {
    let mut compiled = 0;
    for seed in seeds(2000) {
        let Some((pruned, likelihoods)) = case(seed, 1.0, false) else {
            continue;
        };
        let target = pruned.output.iter().next();
        let mut truth = vec![0.0; target.map_or(1, |q| pruned.domains[q.index()].len())];
        each_state(&pruned, |s| {
            truth[target.map_or(0, |q| s[q.index()])] += weight(&pruned, &likelihoods, s)
        });
        let Some(found) = by_diagrams(&pruned, seed) else {
            continue;
        };
        compiled += 1;
        let program = program(&found, &Want::Output);
        let run = Run::sum(&found.graph, &program, |v| likelihoods[v.index()].clone());
        let ours = numbers(run.value(found.graph.output()));
        assert_close(&ours, &truth, &format!("seed {seed}"));
    }
    assert!(2 * compiled > seeds(2000).count());
}

#[test]
fn diagrams_have_the_marginals_of_brute_force() {
    for seed in seeds(1000) {
        let Some((pruned, likelihoods)) = case(seed, 1.0, true) else {
            continue;
        };
        let Some(found) = by_diagrams(&pruned, seed) else {
            continue;
        };
        let mut truth: Vec<Vec<f64>> = pruned.domains.iter().map(|d| vec![0.0; d.len()]).collect();
        each_state(&pruned, |s| {
            let p = weight(&pruned, &likelihoods, s);
            let states = s.iter().zip(&mut truth);
            states.for_each(|(&state, truth)| truth[state] += p);
        });
        let inputs: VarSet = pruned.hosts.iter().map(|(v, _)| *v).collect();
        let program = program(&found, &Want::Gradients(inputs.clone(), vec![]));
        let run = Run::sum(&found.graph, &program, |v| likelihoods[v.index()].clone());
        for v in inputs
            .iter()
            .filter(|v| pruned.domains[v.index()].len() > 1)
        {
            let node = found.graph.find(&Op::Evidence(v)).unwrap();
            let slopes = numbers(run.adjoint(node));
            let products = slopes.iter().zip(&likelihoods[v.index()]);
            let ours: Vec<f64> = products.map(|(slope, l)| slope * l).collect();
            assert_close(&ours, &truth[v.index()], &format!("seed {seed}, {v:?}"));
        }
    }
}

/// A variable that is neither a root nor a function of others.
#[test]
fn diagrams_are_for_gates_alone() {
    let is_tried = |functional: f64| {
        let cases = (0..50).filter_map(|seed| case(seed, functional, false));
        cases
            .filter(|(pruned, _)| gates::Gates::new(pruned, First::AsGiven).is_some())
            .count()
    };
    assert!(is_tried(0.0) < is_tried(1.0));
}
