//! The numbers that the paper prints.

use sumout::Objective;
use sumout::internals::paper::{MAX_LEAVES, PaperPlan, Size, plan, structure};
use sumout::internals::plan::problem::Problem;
use sumout::internals::prune::prune;
use sumout::internals::random::{Shape, network};
use sumout::internals::{self, Goal, Question, Runs, Search};
use sumout::{Level, Network, Options, Query};
use sumout_paper::printed::{Image, Mean, Random, TABLE_1, TABLE_3, TABLE_5};

/// A size as the tables print it.
fn rounded(size: Size) -> Size {
    Size {
        binary_rank: (size.binary_rank * 10.0).round() / 10.0,
        ..size
    }
}

fn assert_table(rows: &[Image]) {
    for row in rows {
        let ours = structure(&Network::read(row.model).unwrap(), MAX_LEAVES);
        assert!(!ours.is_capped);
        assert_eq!(
            [ours.classical, ours.functional].map(rounded),
            [row.classical, row.functional],
            "{}",
            row.model
        );
    }
}

#[test]
fn table_1_rectangles() {
    assert_table(&TABLE_1);
}

#[test]
fn table_3_digits() {
    assert_table(&TABLE_3);
}

/// The paper's plan for the query of a case study, given all pixels.
fn planned(name: &str) -> PaperPlan {
    let net = Network::read(name).unwrap();
    let (target, pixels) = if name.starts_with("rect") {
        ("label", "pixel_*")
    } else {
        ("d", "p_*")
    };
    let question = Question {
        goal: Goal::Posterior(net.find(target).unwrap()),
        inputs: net.matching(pixels).unwrap().into_iter().collect(),
        ..Question::default()
    };
    plan(
        &Problem::new(&prune(net.model(), &question).unwrap(), Objective::Time),
        MAX_LEAVES,
    )
}

/// The ✓ rows are the largest clusters of the shrunk jointree, in which replicas are one variable
/// again.
#[test]
fn shrunk_jointrees_have_the_clusters_of_tables_1_and_3() {
    for row in TABLE_1.iter().chain(&TABLE_3) {
        let cost = planned(row.model).plan.cost;
        let ours = rounded(Size {
            rank: cost.rank,
            binary_rank: cost.largest_cluster.log2(),
            ..row.functional
        });
        assert_eq!(ours, row.functional, "{}", row.model);
    }
}

/// Entries that depend on evidence. The tables count transposed and rescaled tensors too, so they
/// say more.
#[test]
fn sizes_stay_as_they_are() {
    let sizes = [
        ("rect:8", 529_218.0),
        ("digits:8", 99_346.0),
        ("digits:12", 7_486_472.0),
        ("digits:16", 68_680_140.0),
    ];
    for (name, entries) in sizes {
        assert_eq!(planned(name).plan.cost.entries, entries, "{name}");
    }
}

/// The objective value of a plan for a question without targets.
fn amount(net: &Network, objective: Objective, level: Level, seed: u64) -> f64 {
    let question = Question {
        goal: Goal::Explanation,
        ..Question::default()
    };
    let search = Search {
        level,
        objective,
        seed,
        effort: 0.02,
        runs: Runs::Many,
        control: Default::default(),
    };
    let cost = internals::plan(net.model(), &question, &search)
        .unwrap()
        .cost();
    let (entries, products) = (
        cost.entries + cost.constant_entries,
        cost.multiply_adds + cost.constant_multiply_adds,
    );
    match objective {
        Objective::Entries => entries,
        Objective::MultiplyAdds => products,
        Objective::LargestCluster => cost.largest_cluster,
        _ => 10.0 * entries + products,
    }
}

/// Random networks as in Table 5, smaller ones and fewer; `sumout paper 5` compares all.
#[test]
fn plans_for_random_networks_are_no_worse_than_the_papers_and_much_smaller() {
    for row in &TABLE_5[..4] {
        let Random {
            nodes,
            max_parents,
            functional,
            ..
        } = *row;
        let mut ratio = 1.0;
        for seed in 0..3 {
            let net = network(
                &Shape {
                    nodes,
                    max_values: 3,
                    max_parents,
                    functional,
                },
                seed,
            )
            .unwrap();
            for objective in Objective::names().map(|name| name.parse().unwrap()) {
                let [paper, ours] = [Level::Paper, Level::Functional]
                    .map(|level| amount(&net, objective, level, seed));
                assert!(
                    ours <= paper,
                    "{}, {objective:?}: {ours} > {paper}",
                    net.name()
                );
                ratio *= if objective == Objective::Entries {
                    paper / ours
                } else {
                    1.0
                };
            }
        }
        assert!(
            ratio.cbrt() > 1.5,
            "{nodes} nodes, {functional}: {}",
            ratio.cbrt()
        );
    }
}

/// The printed column of Table 5 is that of min-fill orders of the replicated network: within three
/// standard errors.
#[test]
fn table_5_fits_the_replicated_networks() {
    let error = |mean: &Mean| mean.stdev.powi(2) / 10.0;
    for (row, printed) in TABLE_5[..8].iter().enumerate() {
        let Random {
            nodes,
            max_parents,
            functional,
            ..
        } = *printed;
        let rank = |seed: u64| {
            let net = network(
                &Shape {
                    nodes,
                    max_values: 3,
                    max_parents,
                    functional,
                },
                10 * row as u64 + seed,
            )
            .unwrap();
            structure(&net, MAX_LEAVES).functional.binary_rank
        };
        let ranks: Vec<f64> = (0..10).map(rank).collect();
        let mean = ranks.iter().sum::<f64>() / 10.0;
        let stdev = (ranks.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / 9.0).sqrt();
        let errors = (error(&printed.shrunk) + error(&Mean { mean, stdev })).sqrt();
        assert!(
            (mean - printed.shrunk.mean).abs() <= 3.0 * errors,
            "{printed:?}: {mean} ± {stdev}"
        );
    }
}

/// Constants are computed once, but they are stored: not more of them than the paper's plan has
/// entries.
#[test]
fn constants_are_traded_for_entries_where_there_are_too_many() {
    let net = Network::read("digits:16").unwrap();
    let query = Query::of("d").given(["p_*"]);
    let report = |level| {
        net.plan(&query, &Options::default().with_level(level))
            .unwrap()
            .report()
            .clone()
    };
    let (ours, paper) = (report(Level::Functional), report(Level::Paper));
    assert!(
        ours.constant_entries() <= paper.chosen().entries(),
        "{} {}",
        ours.constant_entries(),
        paper.chosen().entries()
    );
    assert!(ours.chosen().entries() < 0.1 * paper.chosen().entries());
}
