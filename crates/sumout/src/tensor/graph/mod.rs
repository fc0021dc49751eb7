//! The graph of a circuit: operations over tensors whose axes are variables.
//!
//! Axes are *computed* from the inputs and never supplied, so a graph cannot be wrong about its
//! shapes. An operation that is already there is not added again: equal sub-expressions are shared.
//!
//! The same graph is read as sums of products (posteriors, P(e)) or as maxima of products (most
//! probable explanations).

mod append;
mod rule;

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use crate::vars::{VarId, VarSet};

pub(crate) use append::Tables;
pub use rule::{Rule, RuleId, Weighing};

/// A node of a [`Graph`]. Its inputs have smaller ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// A table of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(u32);

impl TableId {
    /// The position, to index a slice with.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A list of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListId(u32);

impl ListId {
    /// The position, to index a slice with.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A map of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MapId(u32);

impl MapId {
    /// The position, to index a slice with.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// The likelihood λ of a variable: an input, different for each example.
    Evidence(VarId),
    /// A table of numbers: a CPT, or what evidence left of it.
    Table(TableId),
    /// The product of two tensors, summed to the axes in the set.
    Contract(NodeId, NodeId, VarSet),
    /// A tensor, summed to the axes in the set.
    Project(NodeId, VarSet),
    /// The products of the entries of two tensors that a list pairs, summed to where the list says.
    Join(NodeId, NodeId, ListId),
    /// The entries of a tensor that a map points to.
    Gather(NodeId, MapId),
    /// The same tensor, with a power of two moved into its exponent, so that products do not
    /// underflow.
    Rescale(NodeId),
    /// How much of each copy a test selects: by a rule, from the tensors that are tested and the
    /// tables of the rule.
    Select(Vec<NodeId>, RuleId),
}

/// Numbers over some axes, the last axis fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The variables, in the order of the axes.
    pub axes: Vec<VarId>,
    /// One number for every joint state.
    pub values: Vec<f64>,
}

/// Where the numbers of a table come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The variable whose CPT it is.
    pub child: VarId,
    /// The number of entries of the CPT's dense table.
    pub size: usize,
    /// For each number, its place in the CPT's dense table.
    pub entries: Vec<u32>,
}

impl Origin {
    /// The origin of some of the numbers.
    pub(crate) fn at(&self, places: impl Iterator<Item = usize>) -> Origin {
        Origin {
            child: self.child,
            size: self.size,
            entries: places.map(|place| self.entries[place]).collect(),
        }
    }
}

/// Which entries of two tensors, of one axis at most, are multiplied, and which entry the product
/// is part of.
///
/// With it a tensor is stored on the joint states that can occur, and nowhere else. Its one axis is
/// then no variable of the network but [added](Graph::axis) to the graph, with these states as
/// values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// The axis of the result; none if it is a single number.
    pub axis: Option<VarId>,
    /// For each product, its place in the result, in increasing order.
    pub outs: Vec<u32>,
    /// For each product, its place in the first tensor.
    pub a: Vec<u32>,
    /// For each product, its place in the second tensor.
    pub b: Vec<u32>,
}

/// A function between joint states: which entries of a tensor are read.
///
/// The tensor loses the axes `from` and gets the axes `over`. For each joint state p of `over` and
/// each state of the tensor's other axes, `out[p, rest] = a[from = index[p], rest]`. The tensor may
/// have axes of `over` already: they are among its other axes, and stay what they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// The values of the function, axes of the tensor that is read. None of them is in `over`.
    pub from: Vec<VarId>,
    /// The arguments of the function.
    pub over: Vec<VarId>,
    /// For each joint state of `over`, a joint state of `from`, the last axis fastest in both; or
    /// [`Map::NOWHERE`].
    pub index: Vec<u32>,
}

impl Map {
    /// Where the function has no value; zeros are read there.
    pub const NOWHERE: u32 = u32::MAX;
}

/// What a circuit computes: a list of operations, inputs before uses.
#[derive(Clone, Debug)]
pub struct Graph {
    cards: Vec<usize>,
    tables: Vec<Table>,
    origins: BTreeMap<TableId, Origin>,
    lists: Vec<List>,
    maps: Vec<Map>,
    rules: Vec<Rule>,
    ops: Vec<Op>,
    axes: Vec<VarSet>,
    known: HashMap<Op, NodeId>,
    /// The variables whose CPTs are given for each example, and as whose likelihood.
    selected: BTreeMap<VarId, VarId>,
    output: Option<NodeId>,
}

impl Graph {
    /// An empty graph over variables with these numbers of values.
    pub fn new(cards: Vec<usize>) -> Self {
        Graph {
            cards,
            tables: vec![],
            origins: BTreeMap::new(),
            lists: vec![],
            maps: vec![],
            rules: vec![],
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

    /// Adds a table.
    pub fn table(&mut self, table: Table) -> NodeId {
        debug_assert_eq!(
            table.values.len(),
            table
                .axes
                .iter()
                .map(|v| self.cards[v.index()])
                .product::<usize>()
        );
        self.tables.push(table);
        let id = TableId(
            u32::try_from(self.tables.len() - 1).expect("a graph has fewer than 2^32 tables"),
        );
        self.add(Op::Table(id))
    }

    /// Adds a table, and says where its numbers come from. If that is a CPT that is given for each
    /// example, they are read from there.
    pub fn table_from(&mut self, table: Table, origin: Option<Origin>) -> NodeId {
        if let Some((origin, &input)) = origin
            .as_ref()
            .and_then(|o| Some((o, self.selected.get(&o.child)?)))
        {
            let given = self.add(Op::Evidence(input));
            return self.gather(
                given,
                Map {
                    from: vec![input],
                    over: table.axes,
                    index: origin.entries.clone(),
                },
            );
        }
        let node = self.table(table);
        if let (Some(origin), Op::Table(id)) = (origin, &self.ops[node.index()]) {
            debug_assert_eq!(origin.entries.len(), self.tables[id.index()].values.len());
            self.origins.insert(*id, origin);
        }
        node
    }

    /// Adds an axis that is no variable of the network.
    pub fn axis(&mut self, card: usize) -> VarId {
        self.cards.push(card);
        VarId::new(self.cards.len() - 1)
    }

    /// Adds the join of two tensors by a list.
    pub fn join(&mut self, a: NodeId, b: NodeId, list: List) -> NodeId {
        debug_assert!(self.axes(a).len() <= 1 && self.axes(b).len() <= 1 && list.outs.is_sorted());
        debug_assert!(list.a.iter().all(|&i| f64::from(i) < self.size(a)));
        debug_assert!(list.b.iter().all(|&i| f64::from(i) < self.size(b)));
        self.lists.push(list);
        let id =
            ListId(u32::try_from(self.lists.len() - 1).expect("a graph has fewer than 2^32 lists"));
        self.add(Op::Join(a, b, id))
    }

    /// Adds what a map reads of a tensor. Equal maps are shared.
    pub fn gather(&mut self, a: NodeId, map: Map) -> NodeId {
        let size = |vars: &[VarId]| {
            vars.iter()
                .map(|v| self.cards[v.index()])
                .product::<usize>()
        };
        debug_assert_eq!(map.index.len(), size(&map.over));
        debug_assert!(
            map.from
                .iter()
                .all(|v| self.axes(a).contains(*v) && !map.over.contains(v))
        );
        debug_assert!(
            map.index
                .iter()
                .all(|&i| i == Map::NOWHERE || (i as usize) < size(&map.from))
        );
        let at = self
            .maps
            .iter()
            .position(|m| *m == map)
            .unwrap_or(self.maps.len());
        if at == self.maps.len() {
            self.maps.push(map);
        }
        self.add(Op::Gather(
            a,
            MapId(u32::try_from(at).expect("a graph has fewer than 2^32 maps")),
        ))
    }

    /// Adds an operation, unless an equal one is there.
    pub fn add(&mut self, op: Op) -> NodeId {
        if let Some(&id) = self.known.get(&op) {
            return id;
        }
        let axes = match &op {
            Op::Evidence(x) => VarSet::from_iter([*x]),
            Op::Table(t) => self.tables[t.index()].axes.iter().copied().collect(),
            Op::Contract(a, b, keep) => &(self.axes(*a) | self.axes(*b)) & keep,
            Op::Project(a, keep) => self.axes(*a) & keep,
            Op::Join(_, _, list) => self.lists[list.index()].axis.into_iter().collect(),
            Op::Gather(a, map) => {
                let Map { from, over, .. } = &self.maps[map.index()];
                self.axes(*a)
                    .iter()
                    .filter(|v| !from.contains(v))
                    .chain(over.iter().copied())
                    .collect()
            }
            Op::Rescale(a) => self.axes(*a).clone(),
            Op::Select(_, rule) => VarSet::from_iter([self.rules[rule.index()].axis]),
        };
        let id = NodeId::new(self.ops.len());
        self.known.insert(op.clone(), id);
        self.ops.push(op);
        self.axes.push(axes);
        id
    }

    /// The node of an operation, if it is there.
    pub fn find(&self, op: &Op) -> Option<NodeId> {
        self.known.get(op).copied()
    }

    /// Says which node is the circuit's result.
    pub fn set_output(&mut self, output: NodeId) {
        self.output = Some(output);
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
    pub fn axes(&self, node: NodeId) -> &VarSet {
        &self.axes[node.index()]
    }

    /// The tables.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The tables whose numbers come from CPTs that stay visible.
    pub fn origins(&self) -> &BTreeMap<TableId, Origin> {
        &self.origins
    }

    /// The numbers of a table, to be changed.
    pub fn table_mut(&mut self, table: TableId) -> &mut [f64] {
        &mut self.tables[table.index()].values
    }

    /// The lists.
    pub fn lists(&self) -> &[List] {
        &self.lists
    }

    /// The maps.
    pub fn maps(&self) -> &[Map] {
        &self.maps
    }

    /// The numbers of values of the variables, and of the axes that were added.
    pub fn cards(&self) -> &[usize] {
        &self.cards
    }

    /// Which nodes depend on evidence.
    pub(crate) fn varies(&self) -> Vec<bool> {
        let mut varies = vec![false; self.len()];
        for (node, op) in self.ops() {
            varies[node.index()] =
                matches!(op, Op::Evidence(_)) || op.inputs().any(|input| varies[input.index()]);
        }
        varies
    }

    /// The number of entries of a node's tensor. It may be more than any memory has.
    pub fn size(&self, node: NodeId) -> f64 {
        self.axes(node)
            .iter()
            .map(|v| self.cards[v.index()] as f64)
            .product()
    }
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
            Op::Select(inputs, _) => (None, None, inputs.clone()),
        };
        a.into_iter().chain(b).chain(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_operations_are_shared_and_axes_are_derived() {
        let [a, b, c] = [0, 1, 2].map(VarId::new);
        let mut g = Graph::new(vec![2, 3, 2]);
        let t = g.table(Table {
            axes: vec![b, a],
            values: vec![0.5; 6],
        });
        let e = g.add(Op::Evidence(a));
        let keep = VarSet::from_iter([b, c]);
        let first = g.add(Op::Contract(t, e, keep.clone()));
        assert_eq!(first, g.add(Op::Contract(t, e, keep)));
        assert_eq!(g.axes(first), &VarSet::from_iter([b]));
        assert_eq!(g.size(t), 6.0);
    }

    #[test]
    fn a_gather_has_the_arguments_in_place_of_the_values() {
        let [a, b, c] = [0, 1, 2].map(VarId::new);
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
        assert_eq!(g.axes(gathered), &VarSet::from_iter([a, c]));
        assert_eq!((gathered, g.maps().len()), (g.gather(t, map), 1));
    }
}
