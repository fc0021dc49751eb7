//! The graph of a circuit: operations over tensors.
//!
//! The variables of a network are the first axes; more are added behind them ([`AxisId`]).
//!
//! Axes are *computed* from the inputs and never supplied, so a graph cannot be wrong about its
//! shapes. An operation that is already there is not added again: equal sub-expressions are shared.
//!
//! The same graph is read as sums of products (posteriors, P(e)) or as maxima of products (most
//! probable explanations).

mod append;
mod axis;
mod check;
mod maximise;
mod op;
mod parts;
mod rule;

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::vars::VarId;

pub(crate) use append::Tables;
pub use axis::{AxisId, AxisSet};
pub(crate) use check::Fault;
pub use op::Op;
pub(crate) use parts::Parts;
pub use parts::{List, ListId, Map, MapId, Origin, Pick, PickId, Table, TableId};
pub use rule::{Rule, RuleId, Weighing};

/// A node of a [`Graph`]. Its inputs have smaller ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(u32);

impl NodeId {
    pub(crate) fn new(index: usize) -> Self {
        NodeId(u32::try_from(index).expect("a graph has fewer than 2^32 nodes"))
    }

    /// The position, to index a slice with.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}

/// The computation of a circuit: a list of operations, inputs before uses.
#[derive(Clone, Debug)]
pub struct Graph {
    cards: Vec<usize>,
    /// How many of the axes are variables.
    variables: usize,
    parts: Parts,
    ops: Vec<Op>,
    axes: Vec<AxisSet>,
    known: HashMap<Op, NodeId>,
    /// The variables whose CPTs are given for each example, and as whose likelihood.
    selected: BTreeMap<VarId, VarId>,
    output: Option<NodeId>,
}

impl Graph {
    /// An empty graph over variables with these numbers of values.
    pub fn new(cards: Vec<usize>) -> Self {
        Graph {
            variables: cards.len(),
            cards,
            parts: Parts::default(),
            ops: vec![],
            axes: vec![],
            known: HashMap::new(),
            selected: BTreeMap::new(),
            output: None,
        }
    }

    /// An empty graph in which the CPTs of some variables are not tables, but given for each
    /// example: as the likelihood of another variable, which has a value for each of their entries.
    pub fn with_selected(cards: Vec<usize>, selected: &BTreeMap<VarId, VarId>) -> Self {
        Graph {
            selected: selected.clone(),
            ..Graph::new(cards)
        }
    }

    /// A graph without operations, which has all that they will refer to. The first axes are
    /// variables.
    pub(crate) fn with_parts(cards: Vec<usize>, variables: usize, parts: Parts) -> Self {
        Graph {
            variables,
            parts,
            ..Graph::new(cards)
        }
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) -> NodeId {
        let id = TableId::new(self.parts.tables.len());
        self.parts.tables.push(table);
        self.add(Op::Table(id))
    }

    /// Adds a table with the origin of its numbers. If that is a CPT that is given for each
    /// example, they are read from there.
    pub fn table_from(&mut self, table: Table, origin: Option<Origin>) -> NodeId {
        let Some(origin) = origin else {
            return self.table(table);
        };
        if let Some(&input) = self.selected.get(&origin.child) {
            let given = self.add(Op::Evidence(input));
            let map = Map {
                from: vec![input.into()],
                over: table.axes,
                index: origin.entries,
            };
            return self.gather(given, map);
        }
        debug_assert_eq!(origin.entries.len(), table.values.len());
        let id = TableId::new(self.parts.tables.len());
        self.parts.origins.insert(id, origin);
        self.table(table)
    }

    /// Adds an axis that is not a variable of the network.
    pub fn axis(&mut self, card: usize) -> AxisId {
        self.cards.push(card);
        AxisId::new(self.cards.len() - 1)
    }

    /// The variable that an axis is; none if it was added.
    pub fn variable(&self, axis: AxisId) -> Option<VarId> {
        (axis.index() < self.variables).then(|| VarId::new(axis.index()))
    }

    /// Adds the join of two tensors by a list.
    pub fn join(&mut self, a: NodeId, b: NodeId, list: List) -> NodeId {
        let id = ListId::new(self.parts.lists.len());
        self.parts.lists.push(list);
        self.add(Op::Join(a, b, id))
    }

    /// Adds some entries of several tensors, side by side.
    pub fn collect(&mut self, inputs: Vec<NodeId>, pick: Pick) -> NodeId {
        let id = PickId::new(self.parts.picks.len());
        self.parts.picks.push(pick);
        self.add(Op::Collect(inputs, id))
    }

    /// Adds what a map reads of a tensor. Equal maps are shared.
    pub fn gather(&mut self, a: NodeId, map: Map) -> NodeId {
        let maps = &mut self.parts.maps;
        let at = maps.iter().position(|m| *m == map).unwrap_or(maps.len());
        if at == maps.len() {
            maps.push(map);
        }
        self.add(Op::Gather(a, MapId::new(at)))
    }

    /// Adds an operation, unless an equal one is there.
    pub fn add(&mut self, op: Op) -> NodeId {
        if let Some(&id) = self.known.get(&op) {
            return id;
        }
        debug_assert_eq!(op.check(self, self.len()), Ok(()), "{op:?}");
        let id = NodeId::new(self.ops.len());
        self.axes.push(op.axes(self));
        self.known.insert(op.clone(), id);
        self.ops.push(op);
        id
    }

    /// The node of an operation, if it is there.
    pub fn find(&self, op: &Op) -> Option<NodeId> {
        self.known.get(op).copied()
    }

    /// Finishes the graph: sets the node of the circuit's result.
    pub fn set_output(&mut self, output: NodeId) {
        self.output = Some(output);
        debug_assert_eq!(self.check(), Ok(()));
    }

    /// Finishes a graph that may be wrong.
    pub(crate) fn try_set_output(&mut self, output: NodeId) -> Result<(), Fault> {
        self.output = Some(output);
        self.check()
    }

    /// The circuit's result.
    pub fn output(&self) -> NodeId {
        self.output.expect("a lowered graph has an output")
    }

    /// The operations in an order in which inputs precede uses.
    pub fn ops(&self) -> impl ExactSizeIterator<Item = (NodeId, &Op)> {
        self.ops
            .iter()
            .enumerate()
            .map(|(i, op)| (NodeId::new(i), op))
    }

    /// One operation.
    pub fn op(&self, node: NodeId) -> &Op {
        &self.ops[node.index()]
    }

    /// The number of operations.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// The axes of a node.
    pub fn axes(&self, node: NodeId) -> &AxisSet {
        &self.axes[node.index()]
    }

    /// The tables.
    pub fn tables(&self) -> &[Table] {
        &self.parts.tables
    }

    /// The tables whose numbers come from CPTs that stay visible.
    pub fn origins(&self) -> &BTreeMap<TableId, Origin> {
        &self.parts.origins
    }

    /// The numbers of a table, to be changed.
    pub fn table_mut(&mut self, table: TableId) -> &mut [f64] {
        &mut self.parts.tables[table.index()].values
    }

    /// The lists.
    pub fn lists(&self) -> &[List] {
        &self.parts.lists
    }

    /// The maps.
    pub fn maps(&self) -> &[Map] {
        &self.parts.maps
    }

    /// The picks.
    pub fn picks(&self) -> &[Pick] {
        &self.parts.picks
    }

    /// The numbers of values of the variables, and of the axes that were added.
    pub fn cards(&self) -> &[usize] {
        &self.cards
    }

    /// Which nodes depend on evidence.
    pub(crate) fn varies(&self) -> Vec<bool> {
        self.depends(|op| matches!(op, Op::Evidence(_)))
    }

    /// Which nodes are one of some operations, or are computed from one.
    pub(crate) fn depends(&self, on: impl Fn(&Op) -> bool) -> Vec<bool> {
        let mut depends = vec![false; self.len()];
        for (node, op) in self.ops() {
            depends[node.index()] = on(op) || op.inputs().any(|input| depends[input.index()]);
        }
        depends
    }

    /// The number of entries of a node's tensor. It may be more than any memory has.
    pub fn size(&self, node: NodeId) -> f64 {
        self.states(self.axes(node).iter())
    }

    /// The number of joint states of some axes.
    fn states(&self, axes: impl IntoIterator<Item = AxisId>) -> f64 {
        let cards = axes.into_iter().map(|v| self.cards[v.index()] as f64);
        cards.product()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_operations_are_shared_and_axes_are_derived() {
        let [a, b, c] = [0, 1, 2].map(AxisId::new);
        let mut g = Graph::new(vec![2, 3, 2]);
        let t = g.table(Table {
            axes: vec![b, a],
            values: vec![0.5; 6],
        });
        let e = g.add(Op::Evidence(VarId::new(0)));
        let keep = AxisSet::from_iter([b, c]);
        let first = g.add(Op::Contract(t, e, keep.clone()));
        assert_eq!(first, g.add(Op::Contract(t, e, keep)));
        assert_eq!(g.axes(first), &AxisSet::from_iter([b]));
        assert_eq!(g.size(t), 6.0);
    }

    #[test]
    fn an_axis_that_was_added_is_not_a_variable() {
        let mut g = Graph::new(vec![2, 3]);
        let added = g.axis(4);
        let of = |index: usize| g.variable(AxisId::new(index));
        assert_eq!([of(0), of(1)], [0, 1].map(|v| Some(VarId::new(v))));
        assert_eq!((added.index(), g.variable(added)), (2, None));
        let evidence = Op::Evidence(VarId::new(added.index()));
        assert_eq!(g.try_add(evidence), Err("evidence on no variable"));
    }

    #[test]
    fn a_gather_has_the_arguments_in_place_of_the_values() {
        let [a, b, c] = [0, 1, 2].map(AxisId::new);
        let mut g = Graph::new(vec![2, 3, 2]);
        let t = g.table(Table {
            axes: vec![b, a],
            values: vec![0.5; 6],
        });
        let map = Map {
            from: vec![b],
            over: vec![a, c],
            index: vec![0, 1, 2, Map::NOWHERE],
        };
        let gathered = g.gather(t, map.clone());
        assert_eq!(g.axes(gathered), &AxisSet::from_iter([a, c]));
        assert_eq!((gathered, g.maps().len()), (g.gather(t, map), 1));
    }
}
