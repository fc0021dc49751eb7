//! Chooses the order of each tensor's axes, and turns a schedule into loops.
//!
//! Nothing is transposed at run time: the reader of a tensor decides its layout. A contraction
//! walks through its output's last axes in the innermost loop. An input that has them keeps them
//! last, and its summed axes first; the other input is read one number at a time, with its summed
//! axes last.

use crate::tensor::graph::{AxisId, Graph, Map, NodeId, Op};
use crate::tensor::loops::{Loop, Nest, Walk};
use crate::tensor::schedule::{Guide, Schedule, ScheduledStep, Slot};

/// Steps over slots, ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub steps: Vec<Step>,
    pub forward: usize,
    /// The number of entries of each slot.
    pub sizes: Vec<usize>,
    /// The axes of each node, in the order in which they are laid out, with their strides.
    strides: Vec<Vec<(AxisId, usize)>>,
    cards: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub planned: ScheduledStep,
    /// The loops of a contraction, and of each entry that a gather reads; a join goes by its list,
    /// a selection by its rule.
    pub nest: Nest,
    /// How a gather moves through the entries of its map.
    pub walk: Walk,
}

impl Program {
    /// A schedule whose peak memory was admitted.
    pub fn new(graph: &Graph, schedule: &Schedule) -> Self {
        let orders = orders(graph);
        let cards = graph.cards().to_vec();
        let size = |slot: Slot| {
            orders[schedule.node(slot).index()]
                .iter()
                .map(|v| cards[v.index()])
                .product()
        };
        let sizes = (0..schedule.slots()).map(size).collect();
        let strides = orders.iter().map(|order| strides(order, &cards)).collect();
        let mut program = Program {
            steps: vec![],
            forward: schedule.forward,
            sizes,
            strides,
            cards,
        };
        for planned in &schedule.steps {
            let (nest, walk) = match planned.guide.map() {
                Some((map, backward)) => {
                    program.walk(planned, schedule, &graph.maps()[map.index()], backward)
                }
                None if planned.guide == Guide::Axes => {
                    (program.nest(planned, schedule, &[]), Walk::default())
                }
                None => (Nest::default(), Walk::default()),
            };
            program.steps.push(Step {
                planned: planned.clone(),
                nest,
                walk,
            });
        }
        program
    }

    /// The axes of a node, in the order in which they are laid out, with their strides.
    pub fn strides(&self, node: NodeId) -> impl DoubleEndedIterator<Item = (AxisId, usize)> + '_ {
        self.strides[node.index()].iter().copied()
    }

    /// The loops over all axes but those in `without`.
    fn nest(&self, step: &ScheduledStep, schedule: &Schedule, without: &[AxisId]) -> Nest {
        let slots = [Some(step.out), step.b, Some(step.a)].into_iter().flatten();
        let mut axes: Vec<AxisId> = vec![];
        for (v, _) in slots.flat_map(|slot| self.strides(schedule.node(slot))) {
            if !axes.contains(&v) && !without.contains(&v) {
                axes.push(v);
            }
        }
        Nest::new(axes.into_iter().map(|v| self.axis(step, schedule, v)))
    }

    /// The loop over one axis.
    fn axis(&self, step: &ScheduledStep, schedule: &Schedule, v: AxisId) -> Loop {
        let stride = |slot: Slot| {
            let mut strides = self.strides(schedule.node(slot));
            strides
                .find(|(x, _)| *x == v)
                .map_or(0, |(_, stride)| stride)
        };
        let (a, b, out) = (stride(step.a), step.b.map_or(0, stride), stride(step.out));
        Loop {
            extent: self.cards[v.index()],
            a,
            b,
            out,
        }
    }

    /// The loops of each entry of a map, and how to go through the entries; backward the tensors
    /// change places.
    fn walk(
        &self,
        step: &ScheduledStep,
        schedule: &Schedule,
        map: &Map,
        backward: bool,
    ) -> (Nest, Walk) {
        let mapped: Vec<AxisId> = map.over.iter().chain(&map.from).copied().collect();
        let nest = self.nest(step, schedule, &mapped);
        let loops = |vars: &[AxisId]| vars.iter().map(|&v| self.axis(step, schedule, v)).collect();
        (
            nest,
            Walk {
                over: loops(&map.over),
                from: loops(&map.from),
                backward,
            },
        )
    }
}

/// Axes in an order with their strides, the last of them one.
fn strides(order: &[AxisId], cards: &[usize]) -> Vec<(AxisId, usize)> {
    let mut strides: Vec<(AxisId, usize)> = order.iter().map(|&v| (v, 1)).collect();
    for i in (1..order.len()).rev() {
        strides[i - 1].1 = strides[i].1 * cards[order[i].index()];
    }
    strides
}

/// The axis order of each node, chosen by the last operation that reads it.
fn orders(graph: &Graph) -> Vec<Vec<AxisId>> {
    let mut orders: Vec<Option<Vec<AxisId>>> = vec![None; graph.len()];
    for (node, op) in graph.ops() {
        if let Op::Table(t) = op {
            orders[node.index()] = Some(graph.tables()[t.index()].axes.clone());
        }
    }
    for node in (0..graph.len()).rev().map(NodeId::new) {
        let order = orders[node.index()]
            .get_or_insert_with(|| graph.axes(node).iter().collect())
            .clone();
        if let Op::Rescale(a) = graph.op(node) {
            orders[a.index()].get_or_insert(order);
        } else {
            for input in graph.op(node).inputs() {
                orders[input.index()].get_or_insert_with(|| input_order(graph, &order, input));
            }
        }
    }
    // A rescaled node shares its input's slot, and so its order.
    for (node, op) in graph.ops() {
        if let Op::Rescale(a) = op {
            orders[node.index()] = orders[a.index()].clone();
        }
    }
    orders.into_iter().map(Option::unwrap_or_default).collect()
}

/// How a contraction whose output has `order` wants to read an input.
fn input_order(graph: &Graph, order: &[AxisId], input: NodeId) -> Vec<AxisId> {
    let axes = graph.axes(input);
    let kept = order.iter().copied().filter(|&v| axes.contains(v));
    let summed = axes.iter().filter(|v| !order.contains(v));
    match order.last() {
        Some(&last) if axes.contains(last) => summed.chain(kept).collect(),
        _ => kept.chain(summed).collect(),
    }
}
