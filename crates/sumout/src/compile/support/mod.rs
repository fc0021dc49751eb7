//! Stores every tensor on the joint states that can occur, and nowhere else.
//!
//! Where functions and zeros are known, most joint states of a separator are impossible, whatever
//! the evidence. A tensor then needs one entry for each state that is left, and its one axis
//! numbers them. Which entries of two tensors meet in a product does not depend on the evidence
//! either: it is a static list, and a product is a [join](crate::tensor::Op::Join) by that list.
//!
//! There are two ways to find the states:
//!
//! * If the joint states of all variables can be enumerated (`states`), evidence on x is a function
//!   of them, and a product of evidence has one entry for each combination of its factors' values
//!   (`classes`). Any tree of products is right; `grow` builds one and `climb` improves it. Nothing
//!   is summed before the root.
//! * Otherwise each node of an ordinary plan is a relation (`relations`): the join of its
//!   children's, projected to the separator, without states that nothing above or beside can go
//!   with.

mod classes;
mod climb;
mod grow;
mod relations;
mod states;
mod weigh;

#[cfg(test)]
pub(crate) mod tests;

use crate::compile::ask::{Level, Search};
use crate::compile::plan::Plan;
use crate::compile::plan::problem::Problem;
use crate::compile::plan::tree::Cost;
use crate::compile::prune::Pruned;
use crate::tensor::{AxisId, Graph, List, NodeId, Op};
use crate::vars::{VarId, VarSet};

/// A graph over states that can occur.
#[derive(Clone, Debug)]
pub struct Supported {
    /// The computation.
    pub graph: Graph,
    /// The cost of one evaluation.
    pub cost: Cost,
    /// The meaning of added axes, for explanations.
    pub decoders: Vec<Decoder>,
    /// How much was known to find it.
    pub level: Level,
}

/// The joint states that the values of an added axis stand for.
#[derive(Clone, Debug)]
pub struct Decoder {
    /// The axis.
    pub axis: AxisId,
    /// The variables.
    pub vars: Vec<VarId>,
    /// For each value of the axis, the states of the variables.
    pub states: Vec<u16>,
}

impl Decoder {
    /// Decides the states of the variables by the state of the axis.
    pub fn decode(&self, states: &mut [Option<usize>]) {
        let Some(row) = states[self.axis.index()] else {
            return;
        };
        let row = &self.states[row * self.vars.len()..][..self.vars.len()];
        self.vars
            .iter()
            .zip(row)
            .for_each(|(v, &state)| states[v.index()] = Some(usize::from(state)));
    }
}

/// Whether states can be enumerated at all: values that are selected later could be any, and the
/// output is that of one variable.
pub(crate) fn is_possible(pruned: &Pruned) -> bool {
    pruned.clamped.is_empty() && pruned.output.len() <= 1
}

/// Whether the joint states can surely be enumerated.
pub fn has_few_states(pruned: &Pruned) -> bool {
    states::most_states(pruned) <= states::MAX_STATES
}

/// The cheapest graph over states that can occur; none if there are too many of them.
///
/// To enumerate more states than the plan forms products does not pay. Relations follow the plan, and
/// are worth their search only where enumeration is not much better than the plan.
pub fn support(
    pruned: &Pruned,
    problem: &Problem,
    plan: &Plan,
    search: &Search,
) -> Option<Supported> {
    if search.control.is_stopped() {
        return None;
    }
    let total = |cost: &Cost| problem.prices.total(cost);
    let most = total(&plan.cost).clamp(1e3, states::MAX_STATES);
    let enumerated = enumerated(pruned, search, most as usize);
    if enumerated
        .as_ref()
        .is_some_and(|s| total(&s.cost) < 0.5 * total(&plan.cost))
    {
        return enumerated;
    }
    let both = enumerated.into_iter().chain(related(pruned, plan));
    both.min_by(|a, b| total(&a.cost).total_cmp(&total(&b.cost)))
}

/// The graph over at most this many enumerated states.
fn enumerated(pruned: &Pruned, search: &Search, most: usize) -> Option<Supported> {
    let space = states::Space::new(pruned, most)?;
    let tree = grow::grow(&space, search);
    let mut products = classes::Products::new(&space, &tree);
    climb::climb(&mut products, &space, search);
    Some(weigh::lower(&space, &products))
}

/// The graph over the relations of a plan.
fn related(pruned: &Pruned, plan: &Plan) -> Option<Supported> {
    relations::lower(pruned, plan, relations::MAX_TRIPLES)
}

/// The graph over the relations of a plan that maximises over some variables where it would sum over
/// them, and the nodes that are maxima; none if it has more than `most` products.
pub(crate) fn maximising(
    pruned: &Pruned,
    plan: &Plan,
    most: usize,
    maximised: &VarSet,
) -> Option<(Graph, Vec<NodeId>)> {
    let most = most.min(relations::MAX_TRIPLES);
    relations::lower_maximising(pruned, plan, most, maximised)
}

/// The rescaled product of two tensors by triples: where a product goes, and which entries it is
/// of.
pub(crate) fn join(
    graph: &mut Graph,
    [a, b]: [NodeId; 2],
    axis: Option<AxisId>,
    triples: impl Iterator<Item = [u32; 3]>,
) -> NodeId {
    let mut list = List {
        axis,
        outs: vec![],
        a: vec![],
        b: vec![],
    };
    for [out, i, j] in triples {
        list.outs.push(out);
        list.a.push(i);
        list.b.push(j);
    }
    let product = graph.join(a, b, list);
    graph.add(Op::Rescale(product))
}

/// The cost of one evaluation of a graph: each step counts with the size of its result.
pub(crate) fn cost(graph: &Graph) -> Cost {
    let mut cost = Cost::default();
    let varies = graph.varies();
    for (node, op) in graph.ops() {
        let Some((products, rank)) = op.products(graph) else {
            continue;
        };
        cost.largest_cluster = cost.largest_cluster.max(products);
        cost.rank = cost.rank.max(rank);
        cost.add(varies[node.index()], graph.size(node), products);
    }
    cost
}
