//! Circuits as graphs of tensor operations, and their execution.
//!
//! A [`Graph`] is what is computed. A `schedule` is its order, a `layout` the axis order of each
//! tensor and the `loops` over it. Two executors run that: the `fast` one batches of examples, the
//! `careful` one single examples, with exponents that cannot overflow.

pub(crate) mod careful;
mod combine;
pub(crate) mod fast;
pub mod graph;
pub(crate) mod layout;
mod loops;
mod number;
mod order;
pub(crate) mod schedule;
pub(crate) mod select;

pub use graph::{
    AxisId, AxisSet, Graph, List, ListId, Map, MapId, NodeId, Op, Origin, Pick, PickId, Rule,
    RuleId, Table, TableId, Weighing,
};
