use crate::compile::report::{Count, Extent, Report, Steps};
use crate::{Level, Network, Options, Query};

/// The network of the paper's Figure 2; C is a copy of A if it is to be a function.
fn figure_2(is_functional: bool) -> Network {
    let mut net = Network::builder("figure 2");
    let [yes, no] = [0.9, 0.1];
    let values = ["yes", "no"];
    let c_given_a = if is_functional {
        [1.0, 0.0, 0.0, 1.0]
    } else {
        [yes, no, no, yes]
    };
    let [a, b, c, d, e] = ["A", "B", "C", "D", "E"].map(|name| net.variable(name, values));
    net.table(a, [], [yes, no]);
    net.table(b, [a], [yes, no, no, yes]);
    net.table(c, [a], c_given_a);
    net.table(d, [b, c], [yes, no, no, yes, no, yes, yes, no]);
    net.table(e, [c], [yes, no, no, yes]);
    net.build().unwrap()
}

fn report(net: &Network, query: &Query, level: Level) -> Report {
    let options = Options {
        level,
        ..Options::default()
    };
    net.plan(query, &options).unwrap().report().clone()
}

/// Min-fill eliminates E, A, D, B, C. Seen from f(BCD), f(CE) · λ is a message over C, times the
/// constant message over BC, times f(BCD).
///
/// The best plan forms the constant over CD first, so that only f(CE) · λ and the result differ
/// between examples.
#[test]
fn the_network_of_figure_2() {
    let report = report(
        &figure_2(false),
        &Query::of("D").given(["E"]),
        Level::Functional,
    );
    let extent = |entries, multiply_adds| Extent {
        entries: Count(entries),
        multiply_adds: Count(multiply_adds),
        max_cluster_rank: 3,
        max_cluster_binary_rank: 3.0,
        leaves: 5,
    };
    assert_eq!(report.classical, extent(2.0 + 4.0 + 2.0, 4.0 + 8.0));
    assert_eq!(report.classical_best, extent(2.0 + 2.0, 4.0));
    assert_eq!(report.chosen(), report.classical_best);
    assert_eq!(
        report.constant_entries,
        Count((2 + 4 + 4 + 8 + 4 + 4 + 4) as f64)
    );
    assert_eq!(report.bytes, Count(8.0 * (2.0 + 2.0)));
    assert_eq!((report.network_nodes, report.replicated_nodes), (5, 5));
    assert_eq!(
        report.steps,
        Steps {
            nodes_left: 5,
            values_pruned: 0,
            functional_variables: 0,
            copies: 0
        }
    );
}

/// C has two children, and so becomes two nodes.
#[test]
fn functions_are_found_and_replicated_as_the_paper_counts() {
    let report = report(
        &figure_2(true),
        &Query::of("D").given(["E"]),
        Level::Functional,
    );
    assert_eq!((report.network_nodes, report.replicated_nodes), (5, 6));
    assert_eq!(report.steps.functional_variables, 1);
}

/// With C clamped, λ leaves f(A), f(BD) of its two CPTs; E does not matter any more.
#[test]
fn a_promised_value_is_no_axis() {
    let hard = report(
        &figure_2(false),
        &Query::of("D").hard(["C"]),
        Level::Functional,
    );
    assert_eq!(
        (hard.max_cluster_rank, hard.classical.max_cluster_rank),
        (2, 2)
    );
    assert_eq!(hard.entries, Count(2.0 + 4.0 + 2.0 + 2.0));
    assert_eq!(hard.multiply_adds, Count(4.0 + 4.0));
    let soft = report(
        &figure_2(false),
        &Query::of("D").given(["C"]),
        Level::Functional,
    );
    assert!(soft.max_cluster_rank > 2);
}

/// Every variable is an input, so nothing is constant; a backward pass needs all entries again.
#[test]
fn all_posteriors() {
    let report = report(&figure_2(false), &Query::all(), Level::Classical);
    assert_eq!(report.constant_entries, Count(0.0));
    assert_eq!(report.chosen(), report.classical_best);
    assert!(report.bytes.0 > 8.0 * report.entries.0);
}

#[test]
fn the_shape_of_the_json() {
    let json =
        serde_json::to_value(report(&figure_2(false), &Query::of("D"), Level::Functional)).unwrap();
    assert_eq!(
        (&json["level"], &json["entries"]),
        (&"functional".into(), &0.into())
    );
    assert_eq!(json["classical"]["max_cluster_binary_rank"], 3.0);
    assert!(json["compile_seconds"].is_f64() && json["steps"]["nodes_left"] == 4);
}
