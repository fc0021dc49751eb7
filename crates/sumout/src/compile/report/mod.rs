//! The cost of a plan, and the savings of each step.
//!
//! *Entries* are the numbers that are stored for one example: the sizes of all separators above
//! evidence. *Multiply-adds* are the products formed for it: the sizes of the clusters. The rank of
//! a cluster is the number of its variables, its binary rank the base-2 logarithm of the number of
//! its joint states.

pub(crate) mod classical;
mod count;
mod getters;
mod near;
mod selection;
mod text;
pub mod width;

use std::time::Duration;

use serde::Serialize;

use crate::compile::ask::{Level, Question, Search};
use crate::compile::choose::Planned;
use crate::compile::plan;
use crate::compile::plan::Plan;
use crate::compile::plan::paper;
use crate::compile::plan::problem::Problem;
use crate::compile::plan::tree::Cost;
use crate::model::FactorModel;
use crate::vars::{VarId, VarSet};

use crate::compile::report::selection::SelectionCost;
pub use count::Count;
pub use near::Near;

/// The cost of a plan. As text it is a table, as JSON one object.
///
/// Numbers of entries and of products can be larger than any integer, and are floating-point.
///
/// ```
/// use sumout::{Network, Options, Query};
///
/// let asia = Network::read("asia")?;
/// let plan = asia.plan(&Query::of("lung").given(["xray"]), &Options::default())?;
/// let report = plan.report();
/// assert!(report.chosen().entries() <= report.classical().entries());
/// println!("{report}");
/// # Ok::<(), sumout::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The level of the plan; with `auto`, the level that was chosen.
    pub(crate) level: Level,
    /// Whether that was left to the planner.
    pub(crate) level_is_automatic: bool,
    /// The numbers stored for each example.
    pub(crate) entries: Count,
    /// The numbers stored once for all examples.
    pub(crate) constant_entries: Count,
    /// The products formed for each example.
    pub(crate) multiply_adds: Count,
    /// The largest number of variables in a cluster.
    pub(crate) max_cluster_rank: usize,
    /// The base-2 logarithm of the largest number of joint states of a cluster.
    pub(crate) max_cluster_binary_rank: f64,
    /// The most memory that an example needs at a time, in numbers of eight bytes each.
    pub(crate) bytes: Count,
    /// An estimate: how long an example takes in a large batch, on one thread.
    pub(crate) predicted_seconds: f64,
    /// Classical variable elimination: one min-fill run on the network, of which only values are
    /// pruned.
    pub(crate) classical: Extent,
    /// The best plan found that knows of no functions.
    pub(crate) classical_best: Extent,
    /// The number of variables of the network.
    pub(crate) network_nodes: usize,
    /// The number of variables when each function has a replica for each replica of each of its
    /// children.
    pub(crate) replicated_nodes: usize,
    /// Whether there would have been more replicas than are made at most.
    pub(crate) replicas_capped: bool,
    /// The leaves of the plan's tree: factors, and copies of functions.
    pub(crate) leaves: usize,
    /// The savings of each step.
    pub(crate) steps: Steps,
    /// Whether the answers depend on the plan: it copies functions that are only promised.
    pub(crate) plan_dependent: bool,
    /// The names of those functions.
    pub(crate) promised_functions: Vec<String>,
    /// The error estimate, if nearly functional tables count as functions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) near: Option<Near>,
    /// The share of all this that the selections of a testing network cost, each with a plan of its
    /// own.
    #[serde(rename = "tests", skip_serializing_if = "Option::is_none")]
    pub(crate) selections: Option<SelectionCost>,
    /// How long it took to prune and to plan.
    pub(crate) compile_seconds: f64,
}

/// How large a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Extent {
    /// The numbers stored for each example.
    pub(crate) entries: Count,
    /// The largest number of variables in a cluster.
    pub(crate) max_cluster_rank: usize,
    /// The base-2 logarithm of the largest number of joint states of a cluster.
    pub(crate) max_cluster_binary_rank: f64,
    /// The products formed for each example.
    pub(crate) multiply_adds: Count,
    /// The leaves of the tree.
    pub(crate) leaves: usize,
}

/// The savings of each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Steps {
    /// The variables that are left when barren ones, and those with a single value, are pruned.
    pub(crate) nodes_left: usize,
    /// The values that turned out to be impossible.
    pub(crate) values_pruned: usize,
    /// The variables left that are known to be functions of others.
    pub(crate) functional_variables: usize,
    /// The copies of functions in the plan.
    pub(crate) copies: usize,
}

/// Products per second of one thread, in batches. Small products reach 10 to 70 · 10⁹ operations,
/// of which a multiply-add is two.
const MULTIPLY_ADDS_PER_SECOND: f64 = 1e10;

/// Numbers written and read again per second by one thread.
const ENTRIES_PER_SECOND: f64 = 1e9;

impl Report {
    /// The report on a plan that was found in `time`.
    pub fn new(
        net: &FactorModel,
        question: &Question,
        planned: &Planned,
        search: &Search,
        time: Duration,
    ) -> Self {
        let Planned { problem, plan, .. } = planned;
        let values_pruned = paper::pruned(net);
        let replicated = paper::replicate(&values_pruned, paper::MAX_LEAVES);
        let cost = planned.cost();
        let promised_functions = promised(net, planned);
        let extent = Extent::new(&cost, plan.leaves.len());
        let peak = planned.supported.as_ref().map_or_else(
            || peak(problem, plan, question.goal.output().is_empty()),
            |s| s.cost.entries,
        );
        Report {
            level: planned.level,
            level_is_automatic: search.level == Level::Auto,
            entries: extent.entries,
            constant_entries: Count(cost.constant_entries),
            multiply_adds: extent.multiply_adds,
            max_cluster_rank: extent.max_cluster_rank,
            max_cluster_binary_rank: extent.max_cluster_binary_rank,
            bytes: Count(size_of::<f64>() as f64 * peak),
            predicted_seconds: cost.multiply_adds / MULTIPLY_ADDS_PER_SECOND
                + cost.entries / ENTRIES_PER_SECOND,
            classical: classical::min_fill(net, question, &values_pruned),
            classical_best: classical_best(problem, plan, search),
            network_nodes: net.variables().len(),
            replicated_nodes: net.variables().len() + replicated.leaves.len()
                - values_pruned.factors.len(),
            replicas_capped: replicated.is_capped,
            leaves: plan.leaves.len(),
            steps: Steps::new(net, planned),
            plan_dependent: !promised_functions.is_empty(),
            promised_functions,
            near: None,
            selections: None,
            compile_seconds: time.as_secs_f64(),
        }
    }
}

impl Extent {
    pub(crate) fn new(cost: &Cost, leaves: usize) -> Self {
        Extent {
            entries: Count(cost.entries),
            max_cluster_rank: cost.rank,
            max_cluster_binary_rank: cost.largest_cluster.log2().max(0.0),
            multiply_adds: Count(cost.multiply_adds),
            leaves,
        }
    }

    fn of(plan: &Plan) -> Self {
        Extent::new(&plan.cost, plan.leaves.len())
    }
}

impl Steps {
    fn new(
        net: &FactorModel,
        Planned {
            pruned,
            problem,
            plan,
            ..
        }: &Planned,
    ) -> Self {
        let mut is_left = vec![false; net.variables().len()];
        pruned
            .factors
            .iter()
            .flat_map(|f| &f.scope)
            .for_each(|v| is_left[v.index()] = true);
        let values = |(card, domain): (usize, &Vec<usize>)| card - domain.len();
        Steps {
            nodes_left: is_left.into_iter().filter(|&left| left).count(),
            values_pruned: net
                .cards()
                .into_iter()
                .zip(&pruned.domains)
                .map(values)
                .sum(),
            functional_variables: problem.definer.iter().flatten().count(),
            copies: plan.leaves.iter().filter(|leaf| leaf.is_copy).count(),
        }
    }
}

/// The names of the functions that a plan copies, although their tables are yet to be learned.
fn promised(net: &FactorModel, planned: &Planned) -> Vec<String> {
    let pruned = &planned.pruned;
    let is_promised = |v: &VarId| pruned.promised.contains(*v) && !pruned.selected.contains_key(v);
    let promised: VarSet = planned.copies().filter(is_promised).collect();
    promised
        .iter()
        .map(|v| net.variable(v).name.clone())
        .collect()
}

/// The share of the search that is spent on the plan that the chosen one is compared with.
const CLASSICAL_EFFORT: f64 = 0.1;

/// A plan without copies is classical, at any level of the search.
fn classical_best(problem: &Problem, chosen: &Plan, search: &Search) -> Extent {
    if search.level == Level::Classical {
        return Extent::of(chosen);
    }
    let problem = problem.without_tables();
    let total = |plan: &Plan| problem.prices.total(&plan.cost);
    let effort = CLASSICAL_EFFORT * search.effort;
    let classical = plan::plan(
        &problem,
        &Search {
            level: Level::Classical,
            effort,
            ..search.clone()
        },
    );
    let Plan {
        leaves,
        tree,
        separators,
        ..
    } = chosen.clone();
    let is_classical = !leaves.iter().any(|leaf| leaf.is_copy);
    let chosen = Plan::new(&problem, leaves, tree, separators);
    if is_classical && total(&chosen) < total(&classical) {
        Extent::of(&chosen)
    } else {
        Extent::of(&classical)
    }
}

/// The most numbers that are needed at a time for one example, if each leaf is made where it is
/// joined.
///
/// A backward pass reads all numbers again. As it goes down the tree it needs as many adjoints at a
/// time as the forward pass needs numbers.
fn peak(problem: &Problem, plan: &Plan, with_backward_pass: bool) -> f64 {
    let leaves = problem.leaves(&plan.leaves);
    let varies = plan.tree.varies(&leaves);
    let size = |node: usize| {
        if varies[node] {
            leaves.size(&plan.separators[node])
        } else {
            0.0
        }
    };
    let leaf = |node: usize| {
        if node < plan.tree.leaves {
            size(node)
        } else {
            0.0
        }
    };
    let (mut live, mut peak) = (0.0f64, leaf(plan.separators.len() - 1));
    for (k, &(l, r)) in plan.tree.joins.iter().enumerate() {
        live += leaf(l) + leaf(r) + size(plan.tree.leaves + k);
        peak = peak.max(live);
        live -= size(l) + size(r);
    }
    if with_backward_pass {
        plan.cost.entries + peak
    } else {
        peak
    }
}

#[cfg(test)]
mod tests;
