//! The numbers that the paper prints.

use sumout::compile::Question;
use sumout::compile::paper::{MAX_LEAVES, Planned, Size, plan, structure};
use sumout::compile::problem::Problem;
use sumout::compile::prune::prune;
use sumout::compile::tree::Objective;
use sumout::{Level, Network, Options, Query};

/// Nodes, maximum rank and maximum binary rank, with ✗ and with ✓.
type Row = (&'static str, (usize, usize, f64), (usize, usize, f64));

const TABLE_1: [Row; 6] = [
    ("rect:8", (85, 11, 15.0), (197, 5, 13.0)),
    ("rect:10", (125, 13, 17.6), (305, 5, 14.3)),
    ("rect:12", (173, 15, 20.2), (437, 5, 15.3)),
    ("rect:14", (229, 17, 22.6), (593, 5, 16.2)),
    ("rect:16", (293, 19, 25.0), (773, 5, 17.0)),
    ("rect:20", (445, 23, 29.6), (1205, 5, 18.3)),
];

const TABLE_3: [Row; 5] = [
    ("digits:8", (638, 32, 33.3), (1155, 9, 12.6)),
    ("digits:10", (954, 59, 60.8), (2173, 9, 14.1)),
    ("digits:12", (1334, 81, 83.8), (3469, 10, 16.7)),
    ("digits:14", (1778, 116, 121.0), (5007, 11, 18.4)),
    ("digits:16", (2286, 134, 140.0), (6825, 11, 19.3)),
];

/// A size as the tables print it.
fn printed(size: Size) -> (usize, usize, f64) {
    (size.nodes, size.rank, (size.binary_rank * 10.0).round() / 10.0)
}

fn assert_table(rows: &[Row]) {
    let ours = |&(name, ..): &Row| {
        let structure = structure(&Network::read(name).unwrap(), MAX_LEAVES);
        assert!(!structure.is_capped);
        (name, printed(structure.classical), printed(structure.functional))
    };
    assert_eq!(rows.iter().map(ours).collect::<Vec<Row>>(), rows);
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
        ..Question::default()
    };
    plan(&Problem::new(&prune(&net, &question).unwrap(), Objective::Time), MAX_LEAVES)
}

/// The ✓ rows are the largest clusters of the shrunk jointree, in which replicas are one variable again.
#[test]
fn shrunk_jointrees_have_the_clusters_of_tables_1_and_3() {
    for (name, _, (_, rank, binary_rank)) in TABLE_1.iter().chain(&TABLE_3) {
        let cost = planned(name).plan.cost;
        let ours = (cost.rank, (cost.largest_cluster.log2() * 10.0).round() / 10.0);
        assert_eq!(ours, (*rank, *binary_rank), "{name}");
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

/// Constants are computed once, but they are stored: not more of them than the paper's plan has entries.
#[test]
fn constants_are_traded_for_entries_where_there_are_too_many() {
    let net = Network::read("digits:16").unwrap();
    let query = Query::of("d").given(["p_*"]);
    let report =
        |level| net.plan(&query, &Options { level, effort: 0.3, ..Options::default() }).unwrap().report().clone();
    let (ours, paper) = (report(Level::Functional), report(Level::Paper));
    assert!(ours.constant_entries.0 <= paper.entries.0, "{} {}", ours.constant_entries, paper.entries);
    assert!(ours.entries.0 < 0.1 * paper.entries.0);
}
