//! Products that are read once, by another product, are not stored: the two become one step with
//! more inputs.
//!
//! The joins of a circuit over joint states are mostly pure products, each a little longer than the
//! one before, with a sum at the end. Storing them costs more than computing them.

use std::collections::BTreeMap;

use crate::tensor::fast::operands::MAX_INPUTS;
use crate::tensor::graph::{Graph, List, Op};
use crate::tensor::schedule::{Column, Guide, Schedule, ScheduledStep, Slot};

/// The tensors that are not stored, and those to read instead.
#[derive(Debug, Default)]
pub(super) struct Fusion {
    fused: BTreeMap<Slot, Product>,
}

/// A product: its inputs, and for each of its entries a place in each of them.
#[derive(Debug)]
struct Product {
    inputs: Vec<Slot>,
    columns: Vec<Vec<u32>>,
    /// The slots that nobody reads after it.
    free: Vec<Slot>,
}

impl Fusion {
    /// Finds the products that need not be stored. With a backward pass everything is read again, as it is to
    /// find where maxima came from.
    pub fn of(graph: &Graph, schedule: &Schedule, varies: &[bool]) -> Self {
        let mut fusion = Fusion::default();
        if schedule.keeps_all || schedule.forward < schedule.steps.len() {
            return fusion;
        }
        let readers = readers(schedule);
        for step in &schedule.steps {
            let Some(list) = joined(graph, step) else {
                continue;
            };
            let (inputs, columns) = fusion.inputs(graph, step);
            let is_product = list.outs.iter().enumerate().all(|(i, &o)| i == o as usize);
            let is_whole = list.outs.len() as f64 == graph.size(schedule.node(step.out));
            let reader = readers[step.out]
                .filter(|&reader| joined(graph, &schedule.steps[reader]).is_some());
            let Some(reader) = reader.filter(|_| is_product && is_whole) else {
                continue;
            };
            let reader = &schedule.steps[reader];
            let others: Vec<Slot> = [Some(reader.a), reader.b]
                .into_iter()
                .flatten()
                .filter(|&s| s != step.out)
                .collect();
            let other = others
                .iter()
                .map(|s| {
                    fusion
                        .fused
                        .get(s)
                        .map_or(1, |product| product.inputs.len())
                })
                .sum::<usize>();
            let terms = joined(graph, reader).map_or(0, |list| list.outs.len());
            // Tensors read by another step may be freed before the product's reader runs; evidence stays.
            let is_evidence = |slot: Slot| matches!(graph.op(schedule.node(slot)), Op::Evidence(_));
            let all_stay = [Some(step.a), step.b]
                .into_iter()
                .flatten()
                .all(|s| readers[s].is_some() || is_evidence(s));
            let all_vary = inputs
                .iter()
                .all(|&slot| varies[schedule.node(slot).index()]);
            if others.len() == 1
                && inputs.len() + other <= MAX_INPUTS
                && terms <= 2 * list.outs.len()
                && all_vary
                && all_stay
            {
                let free = fusion.freed(step);
                fusion.fused.insert(
                    step.out,
                    Product {
                        inputs,
                        columns,
                        free,
                    },
                );
            }
        }
        fusion
    }

    /// Whether a tensor is not stored.
    pub fn is_fused(&self, slot: Slot) -> bool {
        self.fused.contains_key(&slot)
    }

    /// The slots that a step reads, and, if it goes by a list, the places.
    pub fn inputs(&self, graph: &Graph, step: &ScheduledStep) -> (Vec<Slot>, Vec<Vec<u32>>) {
        let Guide::List(list, to) = step.guide else {
            return (step.reads().collect(), vec![]);
        };
        let [a, b, _] = to.roles(&graph.lists()[list.index()]);
        let (mut slots, mut columns) = (vec![], vec![]);
        for (slot, places) in std::iter::once(step.a).chain(step.b).zip([a, b]) {
            match self.fused.get(&slot) {
                None => {
                    slots.push(slot);
                    columns.push(places.to_vec());
                }
                Some(product) => {
                    slots.extend(&product.inputs);
                    let through =
                        |column: &Vec<u32>| places.iter().map(|&i| column[i as usize]).collect();
                    columns.extend(product.columns.iter().map(through));
                }
            }
        }
        if slots.len() > 2 && !self.is_fused(step.a) {
            // Operands that may be constant come last.
            slots.rotate_left(1);
            columns.rotate_left(1);
        }
        (slots, columns)
    }

    /// The slots that nobody reads after a step, and after the products that are part of it.
    pub fn freed(&self, step: &ScheduledStep) -> Vec<Slot> {
        let parts = std::iter::once(step.a)
            .chain(step.b)
            .filter_map(|slot| self.fused.get(&slot));
        step.free
            .iter()
            .chain(parts.flat_map(|product| &product.free))
            .copied()
            .collect()
    }
}

/// The list of a forward join.
fn joined<'g>(graph: &'g Graph, step: &ScheduledStep) -> Option<&'g List> {
    match step.guide {
        Guide::List(list, Column::Out) if step.b.is_some() => Some(&graph.lists()[list.index()]),
        _ => None,
    }
}

/// The step that reads a tensor, if there is just one.
fn readers(schedule: &Schedule) -> Vec<Option<usize>> {
    let mut counts = vec![0; schedule.slots()];
    let mut readers = vec![None; schedule.slots()];
    for (index, step) in schedule.steps.iter().enumerate() {
        for slot in step.reads() {
            counts[slot] += 1;
            readers[slot] = Some(index);
        }
    }
    readers
        .into_iter()
        .zip(counts)
        .map(|(reader, count)| reader.filter(|_| count == 1))
        .collect()
}
