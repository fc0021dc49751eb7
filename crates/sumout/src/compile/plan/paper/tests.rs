use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::compile::lower::lower;
use crate::compile::plan::certificate;
use crate::compile::prune::{Pruned, prune};
use crate::compile::{Goal, Objective, Question};
use crate::model::random::{Shape, network, seeds};
use crate::tensor::careful::{Run, Tensor};
use crate::tensor::layout::Program;
use crate::tensor::schedule::{Schedule, Want};
use crate::tensor::{Graph, Op};
use crate::vars::VarSet;

/// A random network with functions, and a question whose inputs get random likelihoods.
struct Case {
    net: Network,
    question: Question,
    likelihoods: Vec<Vec<f64>>,
}

fn case(seed: u64) -> Case {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let shape = Shape {
        nodes: 3 + (seed * 7 / 300) as usize,
        max_values: 3,
        max_parents: 3,
        functional: rng.random_range(0.3..=1.0),
    };
    let net = network(&shape, seed).unwrap();
    let is_known: Vec<bool> = net.ids().map(|_| rng.random::<f64>() < 0.1).collect();
    let inputs = net
        .ids()
        .filter(|v| !is_known[v.index()] && rng.random::<f64>() < 0.4)
        .collect();
    let known = net
        .ids()
        .filter(|v| is_known[v.index()])
        .map(|v| (v, rng.random_range(0..net.card(v))))
        .collect();
    let goal = Goal::Posterior(VarId::new(rng.random_range(0..shape.nodes)));
    let likelihoods = net
        .ids()
        .map(|v| (0..net.card(v)).map(|_| rng.random::<f64>()).collect())
        .collect();
    Case {
        net,
        question: Question {
            goal,
            inputs,
            known,
            ..Question::default()
        },
        likelihoods,
    }
}

impl Case {
    /// The likelihood of each value of each variable: what is asked is no evidence unless it is an
    /// input too.
    fn likelihood(&self, v: VarId, value: usize) -> f64 {
        let known = self
            .question
            .known
            .iter()
            .find(|(k, _)| *k == v)
            .map(|(_, k)| *k);
        let soft = if self.question.inputs.contains(v) {
            self.likelihoods[v.index()][value]
        } else {
            1.0
        };
        if known.is_none_or(|known| known == value) {
            soft
        } else {
            0.0
        }
    }

    /// P(x, e) for each value of each variable, and the largest P(all variables, e), by
    /// enumeration.
    fn enumerate(&self) -> (Vec<Vec<f64>>, f64) {
        let cards = self.net.cards();
        let tables: Vec<Vec<f64>> = self
            .net
            .cpts()
            .iter()
            .map(|cpt| cpt.table(&cards))
            .collect();
        let (mut joints, mut best) = (
            cards.iter().map(|&c| vec![0.0; c]).collect::<Vec<_>>(),
            0.0f64,
        );
        for state in 0..cards.iter().product() {
            let states: Vec<usize> = cards
                .iter()
                .scan(state, |rest, card| {
                    let value = *rest % card;
                    *rest /= card;
                    Some(value)
                })
                .collect();
            let row = |v: &VarId, at: usize| at * cards[v.index()] + states[v.index()];
            let cpt =
                |(c, t): (&crate::Cpt, &Vec<f64>)| t[c.scope().iter().fold(0, |at, v| row(v, at))];
            let p = self
                .net
                .cpts()
                .iter()
                .zip(&tables)
                .map(cpt)
                .product::<f64>()
                * self
                    .net
                    .ids()
                    .map(|v| self.likelihood(v, states[v.index()]))
                    .product::<f64>();
            joints
                .iter_mut()
                .zip(&states)
                .for_each(|(joint, &value)| joint[value] += p);
            best = best.max(p);
        }
        (joints, best)
    }

    /// The graph of the paper's plan.
    fn compile(&self, max_leaves: usize) -> Option<(Pruned, Graph)> {
        Some(self.lower(prune(self.net.model(), &self.question)?, max_leaves))
    }

    fn lower(&self, pruned: Pruned, max_leaves: usize) -> (Pruned, Graph) {
        let problem = Problem::new(&pruned, Objective::Time);
        let planned = plan(&problem, max_leaves);
        assert_eq!(certificate::check(&problem, &planned.plan), Ok(()));
        assert!(planned.replicated <= max_leaves.max(problem.factors.len()));
        let graph = lower(&pruned, &problem, &planned.plan);
        (pruned, graph)
    }

    fn evidence(&self, pruned: &Pruned, v: VarId) -> Vec<f64> {
        pruned.domains[v.index()]
            .iter()
            .map(|&value| self.likelihood(v, value))
            .collect()
    }
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    tensor
        .data
        .iter()
        .map(|x| x * 2f64.powi(tensor.exponent as i32))
        .collect()
}

fn assert_close(ours: &[f64], truth: impl Iterator<Item = f64>, seed: u64) {
    let truth: Vec<f64> = truth.collect();
    let is_close =
        ours.len() == truth.len() && ours.iter().zip(&truth).all(|(p, q)| (p - q).abs() < 1e-12);
    assert!(is_close, "seed {seed}: {ours:?} is not {truth:?}");
}

/// P(target, e), when replication is free, capped early, and not possible at all; and with implied
/// functions.
#[test]
fn one_posterior_agrees_with_brute_force() {
    for seed in seeds(300) {
        let case = case(seed);
        let (joints, _) = case.enumerate();
        let target = case.question.goal.target().unwrap().index();
        let Some(pruned) = prune(case.net.model(), &case.question) else {
            assert_eq!(joints[target].iter().sum::<f64>(), 0.0, "seed {seed}");
            continue;
        };
        let implied = pruned.with_implied().map(|pruned| (pruned, MAX_LEAVES));
        let plain = [MAX_LEAVES, 12, 0].map(|max_leaves| (pruned.clone(), max_leaves));
        for (pruned, max_leaves) in plain.into_iter().chain(implied) {
            let (pruned, graph) = case.lower(pruned, max_leaves);
            let program = Program::new(&graph, &Schedule::new(&graph, &Want::Output));
            let run = Run::sum(&graph, &program, |v| case.evidence(&pruned, v));
            let truth = pruned.domains[target]
                .iter()
                .map(|&value| joints[target][value]);
            assert_close(&numbers(run.value(graph.output())), truth, seed);
        }
    }
}

/// All P(x, e) by one backward pass, with evidence at one replica of each variable.
#[test]
fn all_posteriors_agree_with_brute_force() {
    for seed in seeds(300) {
        let case = case(seed);
        let case = Case {
            question: Question {
                goal: Goal::posteriors(case.net.ids().collect()),
                ..case.question
            },
            ..case
        };
        let (joints, _) = case.enumerate();
        let Some((pruned, graph)) = case.compile(MAX_LEAVES) else {
            continue;
        };
        let open: VarSet = case
            .net
            .ids()
            .filter(|v| pruned.domains[v.index()].len() > 1)
            .collect();
        let program = Program::new(
            &graph,
            &Schedule::new(&graph, &Want::Gradients(open.clone(), vec![])),
        );
        let run = Run::sum(&graph, &program, |v| case.evidence(&pruned, v));
        for v in open.iter() {
            let evidence = graph.find(&Op::Evidence(v)).unwrap();
            let (value, adjoint) = (numbers(run.value(evidence)), numbers(run.adjoint(evidence)));
            let ours: Vec<f64> = value.iter().zip(adjoint).map(|(l, a)| l * a).collect();
            assert_close(
                &ours,
                pruned.domains[v.index()]
                    .iter()
                    .map(|&value| joints[v.index()][value]),
                seed,
            );
        }
    }
}

/// Theorem 3 holds for maxima as well: the paper's plans are right for explanations.
#[test]
fn the_largest_probability_agrees_with_brute_force() {
    for seed in seeds(300) {
        let case = case(seed);
        let case = Case {
            question: Question {
                goal: Goal::Explanation,
                ..case.question
            },
            ..case
        };
        let (_, best) = case.enumerate();
        let Some((pruned, graph)) = case.compile(MAX_LEAVES) else {
            continue;
        };
        let program = Program::new(&graph, &Schedule::new(&graph, &Want::Everything));
        let run = Run::max(&graph, &program, |v| case.evidence(&pruned, v));
        assert_close(
            &numbers(run.value(graph.output())),
            [best].into_iter(),
            seed,
        );
    }
}

/// Sums over all states of a network that has functions and noisy pixels: only scenes are
/// enumerated.
struct Scenes<'a> {
    net: &'a Network,
    cards: Vec<usize>,
    likelihoods: Vec<Option<Vec<f64>>>,
    target: VarId,
    joint: Vec<f64>,
}

impl Scenes<'_> {
    fn enumerate(&mut self, states: &mut Vec<usize>, weight: f64) {
        let Some(cpt) = self.net.cpts().get(states.len()) else {
            self.joint[states[self.target.index()]] += weight;
            return;
        };
        let card = self.cards[states.len()];
        let row = cpt
            .parents()
            .iter()
            .fold(0, |row, u| row * self.cards[u.index()] + states[u.index()]);
        let probabilities = &cpt.table(&self.cards)[row * card..][..card];
        if let Some(likelihood) = &self.likelihoods[states.len()] {
            let p: f64 = probabilities
                .iter()
                .zip(likelihood)
                .map(|(p, l)| p * l)
                .sum();
            states.push(0); // a pixel has no children
            self.enumerate(states, weight * p);
            states.pop();
            return;
        }
        for value in (0..card).filter(|&value| probabilities[value] > 0.0) {
            states.push(value);
            self.enumerate(states, weight * probabilities[value]);
            states.pop();
        }
    }
}

/// The case studies, given random soft evidence on all pixels.
#[test]
fn case_studies_agree_with_the_enumeration_of_scenes() {
    for (name, target, pixels) in [("rect:6", "label", "pixel_*"), ("digits:8", "d", "p_*")] {
        let net = Network::read(name).unwrap();
        let (target, inputs) = (net.find(target).unwrap(), net.matching(pixels).unwrap());
        let rng = &mut ChaCha8Rng::seed_from_u64(1);
        let mut likelihoods = vec![vec![]; net.variables().len()];
        inputs.iter().for_each(|v| {
            likelihoods[v.index()] = vec![rng.random_range(0.5..1.5), rng.random_range(0.5..1.5)]
        });
        let question = Question {
            goal: Goal::Posterior(target),
            inputs: inputs.into_iter().collect(),
            ..Question::default()
        };
        let mut scenes = Scenes {
            net: &net,
            cards: net.cards(),
            likelihoods: likelihoods
                .iter()
                .map(|l| (!l.is_empty()).then(|| l.clone()))
                .collect(),
            target,
            joint: vec![0.0; net.card(target)],
        };
        scenes.enumerate(&mut vec![], 1.0);
        let truth = scenes.joint;
        let case = Case {
            net,
            question,
            likelihoods,
        };
        let (pruned, graph) = case.compile(MAX_LEAVES).unwrap();
        let program = Program::new(&graph, &Schedule::new(&graph, &Want::Output));
        let run = Run::sum(&graph, &program, |v| case.evidence(&pruned, v));
        let scale = truth.iter().sum::<f64>();
        let ours: Vec<f64> = numbers(run.value(graph.output()))
            .iter()
            .map(|p| p / scale)
            .collect();
        assert_close(&ours, truth.iter().map(|p| p / scale), 0);
    }
}
