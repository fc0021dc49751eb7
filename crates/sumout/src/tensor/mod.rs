//! Circuits as graphs of tensor operations, and their execution.
//!
//! A [`Graph`] says what is computed. A program says how: which axis order each tensor
//! has, which loops run over it, and when its memory is returned. The executor runs a program.

pub(crate) mod careful;
pub(crate) mod fast;
pub mod graph;
pub(crate) mod layout;
pub(crate) mod schedule;
pub(crate) mod select;

pub use graph::{
    Graph, List, ListId, Map, MapId, NodeId, Op, Origin, Rule, RuleId, Table, TableId, Weighing,
};
