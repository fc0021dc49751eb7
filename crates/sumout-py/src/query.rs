//! Queries, and their cost.

use pyo3::prelude::*;

/// A query to a network: some variables, all of them, some together, or an
/// explanation.
#[pyclass(frozen, skip_from_py_object, module = "sumout._sumout")]
#[derive(Clone, Debug)]
pub struct Query(pub sumout::Query);

#[pymethods]
impl Query {
    #[new]
    fn new(
        targets: Vec<String>,
        joint: bool,
        given: Vec<String>,
        hard: Vec<String>,
        trainable: Option<Vec<String>>,
        families: bool,
        explain: bool,
    ) -> Self {
        let query = match joint {
            _ if explain => sumout::Query::explain(),
            true => sumout::Query::joint(targets),
            false => sumout::Query::of_several(targets),
        };
        let query = query.given(given).hard(hard);
        let query = if families { query.families() } else { query };
        Query(match trainable {
            Some(names) => query.trainable(names),
            None => query,
        })
    }
}

/// A plan for a query: what it costs, and how it looks.
#[pyclass(frozen, module = "sumout._sumout", get_all)]
#[derive(Debug)]
pub struct Plan {
    /// The report as text.
    text: String,
    /// The report as JSON.
    json: String,
    /// The jointree as a picture.
    svg: String,
    /// The jointree in the language of Graphviz.
    dot: String,
    /// For each node of the jointree, children first: the numbers of states of its cluster and of
    /// its separator.
    profile: Vec<(f64, f64)>,
}

impl Plan {
    pub fn new(plan: &sumout::Compilation<'_>) -> Self {
        let (report, tree) = (plan.report(), plan.jointree());
        Plan {
            text: report.to_string(),
            json: serde_json::to_string(report).expect("a report is JSON"),
            svg: tree.svg(),
            dot: tree.dot(),
            profile: tree.profile(),
        }
    }
}
