//! Both ways to find the states, against brute force; and how small circuits become.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::compile::{Goal, Level, Question, Runs, lower, plan, prune};
use crate::model::Network;
use crate::model::random::{Shape, network, seeds};
use crate::tensor::Op;
use crate::tensor::careful::{Run, Tensor};
use crate::tensor::layout::Program;
use crate::tensor::schedule::{Schedule, Want};
use crate::vars::VarSet;

const SEARCH: Search = Search {
    level: Level::Support,
    objective: crate::compile::Objective::Time,
    seed: 1,
    effort: 1.0,
    runs: Runs::Once,
    control: crate::control::Control::NONE,
};

/// A random network with functions, pruned by a random question, with likelihoods for its inputs.
fn case(seed: u64, explain: bool, targets: usize) -> Option<(Pruned, Vec<Vec<f64>>)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let nodes = 3 + seed as usize % 7;
    let shape = Shape {
        nodes,
        max_values: 3,
        max_parents: 3,
        functional: [0.3, 0.6, 0.9][seed as usize % 3],
    };
    let net = network(&shape, seed).unwrap();
    let mut question = Question {
        goal: if targets == 1 {
            Goal::Posterior(VarId::new(rng.random_range(0..nodes)))
        } else {
            Goal::posteriors(net.ids().collect())
        },
        ..Question::default()
    };
    if explain {
        question.goal = Goal::Explanation;
    }
    for v in net.ids() {
        match rng.random_range(0..4) {
            0 | 1 => drop(question.inputs.insert(v)),
            2 if seed.is_multiple_of(2) => {
                question.known.push((v, rng.random_range(0..net.card(v))))
            }
            _ => {}
        }
    }
    let pruned = prune::prune(net.model(), &question)?;
    let likelihoods = |domain: &Vec<usize>| {
        domain
            .iter()
            .map(|_| rng.random_range(0..4) as f64 / 2.0)
            .collect()
    };
    let likelihoods = pruned.domains.iter().map(likelihoods).collect();
    Some((pruned, likelihoods))
}

/// The product of all factors, and of the likelihoods of all inputs.
pub(crate) fn weight(pruned: &Pruned, likelihoods: &[Vec<f64>], states: &[usize]) -> f64 {
    let entry = |t: &crate::compile::factor::Factor| {
        let place = t.scope.iter().fold(0, |at, v| {
            at * pruned.domains[v.index()].len() + states[v.index()]
        });
        t.values[place]
    };
    let evidence = pruned
        .hosts
        .iter()
        .map(|(v, _)| likelihoods[v.index()][states[v.index()]]);
    pruned.factors.iter().map(entry).product::<f64>() * evidence.product::<f64>()
}

pub(crate) fn each_state(pruned: &Pruned, mut visit: impl FnMut(&[usize])) {
    let mut mentioned = vec![false; pruned.domains.len()];
    pruned
        .factors
        .iter()
        .flat_map(|f| &f.scope)
        .for_each(|v| mentioned[v.index()] = true);
    let mut states = vec![0; pruned.domains.len()];
    loop {
        visit(&states);
        let can_step = |&v: &usize| mentioned[v] && states[v] + 1 < pruned.domains[v].len();
        let Some(v) = (0..states.len()).find(can_step) else {
            return;
        };
        states[..v].fill(0);
        states[v] += 1;
    }
}

fn both(pruned: &Pruned) -> [Option<Supported>; 2] {
    let problem = Problem::new(pruned, Default::default());
    let plan = plan::plan(&problem, &SEARCH);
    [enumerated(pruned, &SEARCH, 100_000), related(pruned, &plan)]
}

pub(crate) fn numbers(tensor: &Tensor) -> Vec<f64> {
    tensor
        .data
        .iter()
        .map(|x| x * 2f64.powi(tensor.exponent as i32))
        .collect()
}

pub(crate) fn assert_close(ours: &[f64], truth: &[f64], context: &str) {
    let is_close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs();
    assert!(
        ours.len() == truth.len() && ours.iter().zip(truth).all(is_close),
        "{ours:?} {truth:?} {context}"
    );
}

pub(crate) fn program(supported: &Supported, want: &Want) -> Program {
    Program::new(&supported.graph, &Schedule::new(&supported.graph, want))
}

#[test]
fn posteriors_of_one_target_agree_with_brute_force() {
    for seed in seeds(300) {
        let Some((pruned, likelihoods)) = case(seed, false, 1) else {
            continue;
        };
        let target = pruned.output.iter().next();
        let mut truth = vec![0.0; target.map_or(1, |q| pruned.domains[q.index()].len())];
        each_state(&pruned, |s| {
            truth[target.map_or(0, |q| s[q.index()])] += weight(&pruned, &likelihoods, s)
        });
        for (way, supported) in both(&pruned).into_iter().enumerate() {
            let Some(supported) = supported else {
                assert_eq!(truth.iter().sum::<f64>(), 0.0, "seed {seed}, way {way}");
                continue;
            };
            let program = program(&supported, &Want::Output);
            let run = Run::sum(&supported.graph, &program, |v| {
                likelihoods[v.index()].clone()
            });
            assert_close(
                &numbers(run.value(supported.graph.output())),
                &truth,
                &format!("seed {seed}, way {way}"),
            );
        }
    }
}

#[test]
fn all_marginals_agree_with_brute_force() {
    for seed in seeds(300) {
        let Some((pruned, likelihoods)) = case(seed, false, 2) else {
            continue;
        };
        let mut truth: Vec<Vec<f64>> = pruned.domains.iter().map(|d| vec![0.0; d.len()]).collect();
        each_state(&pruned, |s| {
            let p = weight(&pruned, &likelihoods, s);
            s.iter()
                .zip(&mut truth)
                .for_each(|(&state, truth)| truth[state] += p);
        });
        for (way, supported) in both(&pruned).into_iter().enumerate() {
            let Some(supported) = supported else {
                assert_eq!(truth[0].iter().sum::<f64>(), 0.0, "seed {seed}, way {way}");
                continue;
            };
            let inputs: VarSet = pruned.hosts.iter().map(|(v, _)| *v).collect();
            let program = program(&supported, &Want::Gradients(inputs.clone(), vec![]));
            let run = Run::sum(&supported.graph, &program, |v| {
                likelihoods[v.index()].clone()
            });
            for v in inputs
                .iter()
                .filter(|v| pruned.domains[v.index()].len() > 1)
            {
                let node = supported.graph.find(&Op::Evidence(v)).unwrap();
                let lambda = &likelihoods[v.index()];
                let ours = numbers(run.adjoint(node))
                    .iter()
                    .zip(lambda)
                    .map(|(a, l)| a * l)
                    .collect::<Vec<_>>();
                assert_close(
                    &ours,
                    &truth[v.index()],
                    &format!("seed {seed}, way {way}, {v:?}"),
                );
            }
        }
    }
}

#[test]
fn explanations_agree_with_brute_force() {
    for seed in seeds(300) {
        let Some((pruned, likelihoods)) = case(seed, true, 0) else {
            continue;
        };
        let mut truth = 0.0f64;
        each_state(&pruned, |s| {
            truth = truth.max(weight(&pruned, &likelihoods, s))
        });
        for (way, supported) in both(&pruned).into_iter().enumerate() {
            let Some(supported) = supported else {
                assert_eq!(truth, 0.0, "seed {seed}, way {way}");
                continue;
            };
            let program = program(&supported, &Want::Everything);
            let run = Run::max(&supported.graph, &program, |v| {
                likelihoods[v.index()].clone()
            });
            assert_close(
                &numbers(run.value(supported.graph.output())),
                &[truth],
                &format!("seed {seed}, way {way}"),
            );
            if truth > 0.0 {
                let mut states = run.trace();
                supported
                    .decoders
                    .iter()
                    .for_each(|d| d.decode(&mut states));
                let states: Vec<usize> = states.iter().map(|s| s.unwrap_or(0)).collect();
                assert_close(
                    &[weight(&pruned, &likelihoods, &states)],
                    &[truth],
                    &format!("seed {seed}, way {way}"),
                );
            }
        }
    }
}

fn image_question(name: &str) -> Pruned {
    let net = Network::read(name).unwrap();
    let (target, inputs) = if name.starts_with("rect") {
        ("label", "pixel_*")
    } else {
        ("d", "p_*")
    };
    let question = Question {
        goal: Goal::Posterior(net.find(target).unwrap()),
        inputs: net.matching(inputs).unwrap().into_iter().collect(),
        ..Question::default()
    };
    prune::prune(net.model(), &question).unwrap()
}

#[test]
fn images_have_the_posteriors_of_the_plan_with_functions() {
    for name in ["rect:6", "digits:8"] {
        let pruned = image_question(name);
        let problem = Problem::new(&pruned, Default::default());
        let plan = plan::plan(
            &problem,
            &Search {
                effort: 0.0,
                ..SEARCH
            },
        );
        let dense = lower::lower(&pruned, &problem, &plan);
        let dense = Supported {
            graph: dense,
            cost: plan.cost,
            decoders: vec![],
            level: Level::Support,
        };
        let enumerated = enumerated(&pruned, &SEARCH, 100_000).unwrap();
        for seed in 0..20 {
            let rng = &mut ChaCha8Rng::seed_from_u64(seed);
            let likelihoods: Vec<[f64; 2]> = pruned
                .domains
                .iter()
                .map(|_| [rng.random(), rng.random()])
                .collect();
            let [truth, ours] = [&dense, &enumerated].map(|s| {
                let program = program(s, &Want::Output);
                numbers(
                    Run::sum(&s.graph, &program, |v| likelihoods[v.index()].to_vec())
                        .value(s.graph.output()),
                )
            });
            assert_close(&ours, &truth, &format!("{name}, seed {seed}"));
        }
    }
}

/// The paper's circuits have 3.5 and 2.2 million entries.
#[test]
fn circuits_of_images_are_small() {
    for (name, most) in [("rect:10", 10_000.0), ("digits:10", 6_000.0)] {
        let pruned = image_question(name);
        let search = Search {
            runs: Runs::Many,
            ..SEARCH
        };
        let Cost {
            entries,
            multiply_adds,
            ..
        } = enumerated(&pruned, &search, 100_000).unwrap().cost;
        assert!(
            entries <= most && multiply_adds <= 3.0 * entries,
            "{name}: {entries} entries, {multiply_adds} products"
        );
    }
}
