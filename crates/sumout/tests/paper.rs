//! The numbers that the paper prints.

use sumout::Network;
use sumout::compile::Question;
use sumout::compile::paper::printed::{Image, TABLE_1, TABLE_3};
use sumout::compile::paper::{MAX_LEAVES, Planned, Size, plan, structure};
use sumout::compile::problem::Problem;
use sumout::compile::prune::prune;
use sumout::compile::tree::Objective;

/// A size as the tables print it.
fn rounded(size: Size) -> Size {
    Size { binary_rank: (size.binary_rank * 10.0).round() / 10.0, ..size }
}

fn assert_table(rows: &[Image]) {
    for row in rows {
        let ours = structure(&Network::read(row.model).unwrap(), MAX_LEAVES);
        assert!(!ours.is_capped);
        assert_eq!([ours.classical, ours.functional].map(rounded), [row.classical, row.functional], "{}", row.model);
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
fn planned(name: &str) -> Planned {
    let net = Network::read(name).unwrap();
    let (target, pixels) = if name.starts_with("rect") { ("label", "pixel_*") } else { ("d", "p_*") };
    let question = Question {
        targets: [net.find(target).unwrap()].into_iter().collect(),
        inputs: net.matching(pixels).unwrap().into_iter().collect(),
        known: vec![],
        explain: false,
        hard: Default::default(),
    };
    plan(&Problem::new(&prune(&net, &question).unwrap(), Objective::Time), MAX_LEAVES)
}

/// The ✓ rows are the largest clusters of the shrunk jointree, in which replicas are one variable again.
#[test]
fn shrunk_jointrees_have_the_clusters_of_tables_1_and_3() {
    for row in TABLE_1.iter().chain(&TABLE_3) {
        let cost = planned(row.model).plan.cost;
        let ours = rounded(Size { rank: cost.rank, binary_rank: cost.largest_cluster.log2(), ..row.functional });
        assert_eq!(ours, row.functional, "{}", row.model);
    }
}

/// Entries that depend on evidence. The tables count transposed and rescaled tensors too, so they say more.
#[test]
fn sizes_stay_as_they_are() {
    let sizes =
        [("rect:8", 529_218.0), ("digits:8", 99_346.0), ("digits:12", 7_486_472.0), ("digits:16", 68_680_140.0)];
    for (name, entries) in sizes {
        assert_eq!(planned(name).plan.cost.entries, entries, "{name}");
    }
}
