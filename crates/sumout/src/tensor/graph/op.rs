//! The operations of a graph: everything that can be told of one without running it.
//!
//! Its inputs, its axes, the conditions that it must meet ([`Graph::check`]), the number of products
//! that it takes, and its line in pictures. Files store it by its derived form.

use serde::{Deserialize, Serialize};

use crate::tensor::graph::{
    AxisId, AxisSet, Fault, Graph, ListId, Map, MapId, NodeId, PickId, RuleId, TableId,
};
use crate::vars::VarId;

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// The likelihood λ of a variable: an input, different for each example.
    Evidence(VarId),
    /// A table of numbers: a CPT, or what evidence left of it.
    Table(TableId),
    /// The product of two tensors, summed to the axes in the set.
    Contract(NodeId, NodeId, AxisSet),
    /// A tensor, summed to the axes in the set.
    Project(NodeId, AxisSet),
    /// The products of the entries of two tensors that a list pairs, summed where the list points.
    Join(NodeId, NodeId, ListId),
    /// The entries of a tensor that a map points to.
    Gather(NodeId, MapId),
    /// Some entries of several tensors, side by side.
    Collect(Vec<NodeId>, PickId),
    /// The same tensor, with a power of two moved into its exponent, so that products do not
    /// underflow.
    Rescale(NodeId),
    /// How much of each copy a test selects: by a rule, from the tensors that are tested and the
    /// tables of the rule.
    Select(Vec<NodeId>, RuleId),
}

impl Op {
    /// The table that it is.
    pub fn table(&self) -> Option<TableId> {
        if let Op::Table(table) = self {
            Some(*table)
        } else {
            None
        }
    }

    /// The nodes that it reads.
    pub fn inputs(&self) -> impl Iterator<Item = NodeId> + use<> {
        let (a, b, more) = match self {
            Op::Evidence(_) | Op::Table(_) => (None, None, vec![]),
            Op::Contract(a, b, _) | Op::Join(a, b, _) => (Some(*a), Some(*b), vec![]),
            Op::Project(a, _) | Op::Gather(a, _) | Op::Rescale(a) => (Some(*a), None, vec![]),
            Op::Select(inputs, _) | Op::Collect(inputs, _) => (None, None, inputs.clone()),
        };
        a.into_iter().chain(b).chain(more)
    }

    /// The axes of its result, from those of its inputs.
    pub(super) fn axes(&self, graph: &Graph) -> AxisSet {
        match self {
            Op::Evidence(v) => AxisSet::from_iter([AxisId::from(*v)]),
            Op::Table(t) => graph.tables()[t.index()].axes.iter().copied().collect(),
            Op::Contract(a, b, keep) => &(graph.axes(*a) | graph.axes(*b)) & keep,
            Op::Project(a, keep) => graph.axes(*a) & keep,
            Op::Join(_, _, list) => graph.lists()[list.index()].axis.into_iter().collect(),
            Op::Gather(a, map) => {
                let Map { from, over, .. } = &graph.maps()[map.index()];
                let rest = graph.axes(*a).iter().filter(|v| !from.contains(v));
                rest.chain(over.iter().copied()).collect()
            }
            Op::Collect(_, pick) => AxisSet::from_iter([graph.picks()[pick.index()].axis]),
            Op::Rescale(a) => graph.axes(*a).clone(),
            Op::Select(_, rule) => AxisSet::from_iter([graph.rules()[rule.index()].axis]),
        }
    }

    /// Whether it can be the operation at this place of a graph: what it refers to is there, and
    /// fits.
    pub(super) fn check(&self, graph: &Graph, at: usize) -> Result<(), Fault> {
        if self.inputs().any(|input| input.index() >= at) {
            return Err("an operation reads what is not there");
        }
        match self {
            Op::Evidence(v) => graph.check_variable(*v),
            Op::Table(table) => graph.check_table(*table),
            Op::Contract(_, _, keep) | Op::Project(_, keep) => graph.check_axes(keep.iter()),
            Op::Join(a, b, list) => graph.check_list(*a, *b, *list),
            Op::Gather(a, map) => graph.check_map(*a, *map),
            Op::Collect(inputs, pick) => graph.check_pick(inputs, *pick),
            Op::Rescale(_) => Ok(()),
            Op::Select(inputs, rule) => graph.check_selection(inputs, *rule),
        }
    }

    /// The number of products that are summed, and over how many axes they are; none if it takes
    /// none. A gather is looked up; selections are not counted.
    pub(crate) fn products(&self, graph: &Graph) -> Option<(f64, usize)> {
        match self {
            Op::Evidence(_) | Op::Table(_) | Op::Rescale(_) => None,
            Op::Gather(..) | Op::Collect(..) | Op::Select(..) => None,
            Op::Join(_, _, list) => Some((graph.lists()[list.index()].outs.len() as f64, 1)),
            Op::Project(a, _) => Some((graph.size(*a), graph.axes(*a).len())),
            Op::Contract(a, b, _) => {
                let axes = graph.axes(*a) | graph.axes(*b);
                Some((graph.states(axes.iter()), axes.len()))
            }
        }
    }

    /// A line for pictures, with names for axes; none if pictures leave it out.
    pub(crate) fn label(&self, graph: &Graph, name: impl Fn(AxisId) -> String) -> Option<String> {
        let names = |axes: &AxisSet| axes.iter().map(&name).collect::<Vec<_>>().join(" ");
        Some(match self {
            Op::Evidence(v) => format!("λ({})", name((*v).into())),
            Op::Table(_) => names(&self.axes(graph)),
            Op::Contract(a, b, keep) => {
                match &names(&(&(graph.axes(*a) | graph.axes(*b)) - keep))[..] {
                    "" => "product".into(),
                    summed => format!("product, Σ over {summed}"),
                }
            }
            Op::Project(..) => format!("→ Σ to {}", names(&self.axes(graph))),
            Op::Join(_, _, list) => {
                format!("join, {} products", graph.lists()[list.index()].outs.len())
            }
            Op::Gather(..) => format!("→ looked up over {}", names(&self.axes(graph))),
            Op::Collect(inputs, pick) => {
                let entries = graph.picks()[pick.index()].len();
                format!("{entries} entries of {} tensors", inputs.len())
            }
            Op::Rescale(_) => return None,
            Op::Select(_, rule) => {
                format!(
                    "→ test selects {}",
                    name(graph.rules()[rule.index()].tested.into())
                )
            }
        })
    }
}
