//! Tables that are yet to be learned: only what their roles promise may be known of them.

use crate::common::{close, enumerate, seeds};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::compile::{self, Goal, Objective, Question, Runs, Search};
use sumout::model::random::{Shape, network};
use sumout::model::{Body, Role};
use sumout::{Evidence, Finding, Level, Network, Options, Query, VarId};

const LEVELS: [Level; 5] = [
    Level::Classical,
    Level::Paper,
    Level::Functional,
    Level::Support,
    Level::Compiled,
];

/// A network with its functions declared, and their tables changed by a noise; the other CPTs are
/// fixed.
fn declared(shape: &Shape, seed: u64, noise: f64) -> Network {
    rebuilt(
        &network(shape, seed).unwrap(),
        |is_function, draft, card| {
            if is_function {
                let rest = noise / (card - 1) as f64;
                draft
                    .iter_mut()
                    .for_each(|p| *p = if *p == 1.0 { 1.0 - noise } else { rest });
            }
            Role {
                functional: is_function,
                fixed: !is_function,
                ..Role::default()
            }
        },
    )
}

/// The same network with other tables and roles.
fn rebuilt(net: &Network, mut change: impl FnMut(bool, &mut Vec<f64>, usize) -> Role) -> Network {
    let mut b = Network::builder(net.name());
    let nodes: Vec<_> = net
        .variables()
        .iter()
        .map(|v| b.variable(&v.name, &v.values))
        .collect();
    for (v, cpt) in net.ids().zip(net.cpts()) {
        let mut table = cpt.table(&net.cards());
        let role = change(
            matches!(cpt.body(), Body::Function(_)),
            &mut table,
            net.card(v),
        );
        b.table(
            nodes[v.index()],
            cpt.parents().iter().map(|p| nodes[p.index()]),
            table,
        )
        .role(role);
    }
    b.build().unwrap()
}

fn shape(nodes: usize) -> Shape {
    Shape {
        nodes,
        max_values: 3,
        max_parents: 3,
        functional: 0.6,
    }
}

/// P(target | inputs), all variables with declared functions to be learned.
fn question(net: &Network, seed: u64) -> Question {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let target = sumout::internals::var(rng.random_range(0..net.variables().len()));
    let inputs = net
        .ids()
        .filter(|&v| v != target && rng.random::<bool>())
        .collect();
    let trainable = net
        .cpts()
        .iter()
        .filter(|cpt| !cpt.role().fixed)
        .filter_map(|cpt| cpt.child())
        .collect();
    Question {
        goal: Goal::Posterior(target),
        inputs,
        trainable,
        ..Question::default()
    }
}

fn search(level: Level, seed: u64) -> Search {
    Search {
        level,
        objective: Objective::Time,
        seed,
        effort: 1e-3,
        runs: Runs::Many,
        control: Default::default(),
    }
}

fn soft(net: &Network, question: &Question, seed: u64) -> Evidence {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let mut evidence = Evidence::new();
    for v in question.inputs.iter() {
        let likelihood = (0..net.card(v))
            .map(|_| rng.random_range(0.1..2.0))
            .collect();
        evidence.insert(net, v, Finding::Soft(likelihood)).unwrap();
    }
    evidence
}

/// The same question by names; the roles say what is trainable.
fn query(net: &Network, question: &Question) -> Query {
    let name = |v: VarId| net.variable(v).name.clone();
    Query::of(name(question.goal.target().unwrap())).given(question.inputs.iter().map(name))
}

/// The largest difference of a plan's answer from the truth.
fn error(net: &Network, query: &Query, evidence: &Evidence, options: &Options) -> f64 {
    let circuit = net.compile(query, options).unwrap();
    let answer = circuit.answer(evidence).unwrap();
    let truth = enumerate(net, evidence);
    let (target, posterior) = &answer.posteriors()[0];
    let expected = truth.joints[target.index()]
        .iter()
        .map(|joint| joint / truth.evidence);
    let errors = posterior
        .iter()
        .zip(expected)
        .map(|(p, expected)| (p - expected).abs());
    errors.fold(
        (answer.log_evidence() - truth.evidence.ln()).abs(),
        f64::max,
    )
}

/// Nothing is pruned by zeros that may go away, and the answers are right as long as the tables are
/// functions.
#[test]
fn declared_functions_that_are_functions_give_exact_answers() {
    for seed in seeds(150) {
        let net = declared(&shape(3 + seed as usize % 6), seed, 0.0);
        let question = question(&net, seed);
        let evidence = soft(&net, &question, seed);
        for level in LEVELS {
            let pruned = compile::compile(net.model(), &question, &search(level, seed))
                .unwrap()
                .pruned;
            assert!(
                question
                    .trainable
                    .iter()
                    .all(|v| pruned.domains[v.index()].len() == net.card(v))
            );
            let options = Options::default()
                .with_level(level)
                .with_seed(seed)
                .with_effort(1e-3);
            let error = error(&net, &query(&net, &question), &evidence, &options);
            assert!(error < 1e-9, "seed {seed}, {level}: {error}\n{net:?}");
        }
    }
}

/// Whatever the numbers of trainable tables are, zeros and ones included, the plan and its graph
/// are the same.
#[test]
fn numbers_that_will_be_learned_do_not_matter() {
    for seed in seeds(60) {
        let shape = shape(4 + seed as usize % 8);
        let (now, later) = (declared(&shape, seed, 0.0), declared(&shape, seed, 0.2));
        let question = question(&now, seed);
        for level in LEVELS {
            let [now, later] = [&now, &later]
                .map(|net| compile::compile(net.model(), &question, &search(level, seed)).unwrap());
            assert_eq!(now.pruned.domains, later.pruned.domains);
            assert_eq!(now.pruned.definers, later.pruned.definers);
            assert_eq!(
                (&now.plan.tree, &now.plan.separators),
                (&later.plan.tree, &later.plan.separators)
            );
            assert!(
                now.graph.ops().eq(later.graph.ops()),
                "seed {seed}, {level}\n{:?}\n{:?}",
                now.graph,
                later.graph
            );
            assert_eq!(now.cost, later.cost);
        }
    }
}

/// Four values of U, two of which X tells apart, and three children of X.
fn fork(role: Role, table: [f64; 8]) -> Network {
    let mut b = Network::builder("fork");
    let u = b.variable("u", ["0", "1", "2", "3"]);
    let x = b.variable("x", ["t", "f"]);
    b.table(u, [], [0.1, 0.2, 0.3, 0.4]).fixed();
    b.table(x, [u], table).role(role);
    for name in ["a", "b", "c"] {
        let y = b.variable(name, ["t", "f"]);
        b.table(
            y,
            [u, x],
            [
                0.9, 0.1, 0.3, 0.7, 0.8, 0.2, 0.5, 0.5, 0.4, 0.6, 0.1, 0.9, 0.7, 0.3, 0.2, 0.8,
            ],
        )
        .fixed();
    }
    b.build().unwrap()
}

const FUNCTION: [f64; 8] = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0];
const NOISY: [f64; 8] = [0.9, 0.1, 0.2, 0.8, 0.3, 0.7, 0.1, 0.9];

fn functions(net: &Network, query: &Query) -> usize {
    net.plan(query, &Options::default().with_effort(0.01))
        .unwrap()
        .report()
        .functional_variables()
}

#[test]
fn roles_say_what_is_a_function() {
    let query = Query::of("u").given(["a", "b", "c"]);
    let [plain, fixed, keeps, promises] = [
        Role::default(),
        Role {
            fixed: true,
            ..Role::default()
        },
        Role {
            keep_zeros: true,
            ..Role::default()
        },
        Role {
            functional: true,
            ..Role::default()
        },
    ];
    for (role, table, expected) in [
        (&plain, FUNCTION, 0),
        (&fixed, FUNCTION, 1),
        (&keeps, FUNCTION, 1),
        (&promises, FUNCTION, 1),
        (&plain, NOISY, 0),
        (&keeps, NOISY, 0),
        (&promises, NOISY, 1),
        (
            &Role {
                functional: true,
                fixed: true,
                ..Role::default()
            },
            NOISY,
            0,
        ),
    ] {
        assert_eq!(
            functions(&fork(role.clone(), table), &query),
            expected,
            "{role:?}, {table:?}"
        );
    }
    let promised = fork(promises, NOISY);
    assert_eq!(functions(&promised, &query.clone().trainable([""; 0])), 0);
    assert_eq!(
        functions(&fork(plain, FUNCTION), &query.clone().trainable([""; 0])),
        1
    );
    assert_eq!(
        functions(&fork(fixed, FUNCTION), &query.clone().trainable(["x"])),
        0
    );
    assert_eq!(functions(&promised, &query.trainable(["*"])), 1);
}

/// Until the promise is kept, a plan with copies is another function than the network; answers to
/// one question do not rely on promises.
#[test]
fn the_report_says_whose_plan_matters() {
    let net = fork(
        Role {
            functional: true,
            ..Role::default()
        },
        NOISY,
    );
    let options = Options::default().with_level(Level::Paper);
    let query = Query::of("u").given(["a", "b", "c"]);
    let report = net.plan(&query, &options).unwrap().report().clone();
    assert!(report.plan_dependent() && report.copies() > 0);
    assert_eq!(report.promised_functions(), ["x"]);
    assert!(
        report
            .to_string()
            .contains("until `x` is a function, answers depend on this plan"),
        "{report}"
    );
    assert!(
        !net.plan(&query.clone().trainable([""; 0]), &options)
            .unwrap()
            .report()
            .plan_dependent()
    );

    let evidence = Evidence::new()
        .likelihood(&net, "a", [0.9, 0.2])
        .unwrap()
        .likelihood(&net, "b", [0.3, 0.8])
        .unwrap();
    assert!(error(&net, &query, &evidence, &options) > 1e-3);
    assert!(
        error(
            &net,
            &query,
            &evidence,
            &options.clone().with_level(Level::Classical)
        ) < 1e-12
    );
    let answer = net
        .query(
            &[sumout::internals::var(0)],
            &evidence,
            &options.with_effort(1e3),
        )
        .unwrap();
    assert!(close(
        answer.log_evidence(),
        enumerate(&net, &evidence).evidence.ln(),
        1e-12
    ));
}
