//! The numbers and the places that operations refer to: tables, lists and maps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::tensor::graph::{AxisId, Rule};
use crate::vars::VarId;

/// A table of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TableId(u32);

impl TableId {
    pub(crate) fn new(index: usize) -> Self {
        TableId(u32::try_from(index).expect("a graph has fewer than 2^32 tables"))
    }

    /// The position, to index a slice with.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A list of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ListId(u32);

impl ListId {
    pub(crate) fn new(index: usize) -> Self {
        ListId(u32::try_from(index).expect("a graph has fewer than 2^32 lists"))
    }

    /// The position, to index a slice with.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A map of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MapId(u32);

impl MapId {
    pub(crate) fn new(index: usize) -> Self {
        MapId(u32::try_from(index).expect("a graph has fewer than 2^32 maps"))
    }

    /// The position, to index a slice with.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A pick of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PickId(u32);

impl PickId {
    pub(crate) fn new(index: usize) -> Self {
        PickId(u32::try_from(index).expect("a graph has fewer than 2^32 picks"))
    }

    /// The position, to index a slice with.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Numbers over some axes, the last axis fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The axes, in their order.
    pub axes: Vec<AxisId>,
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
/// then not a variable of the network but one that is [added](crate::tensor::Graph::axis) to the graph, with
/// these states as values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// The axis of the result; none if it is a single number.
    pub axis: Option<AxisId>,
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
/// have axes of `over` already: they are among its other axes, and stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// The values of the function, axes of the tensor that is read. None of them is in `over`.
    pub from: Vec<AxisId>,
    /// The arguments of the function.
    pub over: Vec<AxisId>,
    /// For each joint state of `over`, a joint state of `from`, the last axis fastest in both; or
    /// [`Map::NOWHERE`].
    pub index: Vec<u32>,
}

impl Map {
    /// Where the function has no value; zeros are read there.
    pub const NOWHERE: u32 = u32::MAX;
}

/// Which entries of some tensors, of one axis at most, stand side by side in another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The axis of the result.
    pub axis: AxisId,
    /// For each tensor, the places that are read; those of the first tensor come first.
    pub places: Vec<Vec<u32>>,
}

impl Pick {
    /// The places of the result at which the entries of a tensor begin and end.
    pub(crate) fn range(&self, input: usize) -> std::ops::Range<usize> {
        let start = self.places[..input].iter().map(Vec::len).sum();
        start..start + self.places[input].len()
    }

    /// The number of entries of the result.
    pub(crate) fn len(&self) -> usize {
        self.places.iter().map(Vec::len).sum()
    }
}

/// All that the operations of a graph refer to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    pub tables: Vec<Table>,
    pub origins: BTreeMap<TableId, Origin>,
    pub lists: Vec<List>,
    pub maps: Vec<Map>,
    pub picks: Vec<Pick>,
    pub rules: Vec<Rule>,
}
