//! Look-ups against products with tables of zeros and ones.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::compile;
use crate::compile::lower::tests::replicated;
use crate::compile::{Compiled, Completion, Goal, Level, Question, Runs, Search};
use crate::model::Network;
use crate::tensor::Op;
use crate::tensor::careful::Run;
use crate::tensor::layout::Program;
use crate::tensor::schedule::{Schedule, Want};

fn image(name: &str, explain: bool) -> (Network, Question) {
    let net = Network::read(name).unwrap();
    let (target, inputs) = if name.starts_with("rect") {
        ("label", "pixel_*")
    } else {
        ("d", "p_*")
    };
    let goal = if explain {
        Goal::Explanation
    } else {
        Goal::Posterior(net.find(target).unwrap())
    };
    let inputs = net.matching(inputs).unwrap().into_iter().collect();
    (
        net,
        Question {
            goal,
            inputs,
            ..Question::default()
        },
    )
}

fn compiled(net: &Network, question: &Question, level: Level) -> Compiled {
    let search = Search {
        level,
        objective: Default::default(),
        seed: 1,
        effort: 0.1,
        runs: Runs::Many,
        control: Default::default(),
    };
    compile::compile(net.model(), question, &search).unwrap()
}

fn gathers(compiled: &Compiled) -> usize {
    compiled
        .graph
        .ops()
        .filter(|(_, op)| matches!(op, Op::Gather(..)))
        .count()
}

#[test]
fn images_are_read_by_look_ups_with_the_same_answers() {
    for name in ["rect:10", "digits:8"] {
        let (net, question) = image(name, false);
        let [products, look_ups] =
            [Level::Functional, Level::Tables].map(|level| compiled(&net, &question, level));
        assert_eq!(gathers(&products), 0);
        assert!(gathers(&look_ups) > 0);
        let (dense, read) = (products.cost, look_ups.cost);
        assert!(
            read.constant_entries < 0.6 * dense.constant_entries,
            "{name}: {read:?} {dense:?}"
        );
        assert!(
            read.multiply_adds < dense.multiply_adds,
            "{name}: {read:?} {dense:?}"
        );
        let rng = &mut ChaCha8Rng::seed_from_u64(1);
        for _ in 0..10 {
            let likelihoods: Vec<[f64; 2]> =
                net.ids().map(|_| [rng.random(), rng.random()]).collect();
            let [a, b] = [&products, &look_ups].map(|c| {
                let program = Program::new(&c.graph, &Schedule::new(&c.graph, &Want::Output));
                let run = Run::sum(&c.graph, &program, |v| likelihoods[v.index()].to_vec());
                (run.log_sum(), run.output())
            });
            assert!(
                (a.0 - b.0).abs() < 1e-9 && a.1.iter().zip(&b.1).all(|(x, y)| (x - y).abs() < 1e-9),
                "{a:?} {b:?}"
            );
        }
    }
}

/// A function that no tensor has for an axis gets its state from what it is a function of.
#[test]
fn explanations_have_the_states_of_functions_that_are_looked_up() {
    let (net, question) = image("rect:5", true);
    let compiled = replicated(&net, &question).unwrap();
    assert!(gathers(&compiled) > 0);
    let program = Program::new(
        &compiled.graph,
        &Schedule::new(&compiled.graph, &Want::Everything),
    );
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    for _ in 0..20 {
        let likelihoods: Vec<[f64; 2]> = net.ids().map(|_| [rng.random(), rng.random()]).collect();
        let run = Run::max(&compiled.graph, &program, |v| {
            likelihoods[v.index()].to_vec()
        });
        let mut states = run.trace();
        Completion::new(&compiled).complete(compiled.graph.cards(), &mut states);
        let value =
            |v: crate::VarId| compiled.pruned.domains[v.index()][states[v.index()].unwrap_or(0)];
        let cards = net.cards();
        let entry = |cpt: &crate::Cpt| {
            cpt.table(&cards)[cpt
                .scope()
                .iter()
                .fold(0, |at, &v| at * cards[v.index()] + value(v))]
            .ln()
        };
        let evidence: f64 = question
            .inputs
            .iter()
            .map(|v| likelihoods[v.index()][value(v)].ln())
            .sum();
        let weight = net.cpts().iter().map(entry).sum::<f64>() + evidence;
        assert!(
            (weight - run.log_sum()).abs() < 1e-9,
            "{weight} {}",
            run.log_sum()
        );
    }
}
