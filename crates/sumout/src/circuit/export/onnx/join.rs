//! Products that a list pairs, and sums.

use std::collections::BTreeMap;

use crate::circuit::export::onnx::Writer;
use crate::circuit::export::onnx::proto::Attribute;
use crate::circuit::export::program::{Step, Value};
use crate::tensor::{List, ListId, Map};

impl Writer<'_> {
    /// States with equally many products are computed together; then all are put in order.
    pub(crate) fn join(&mut self, step: &Step, of: &[String], id: ListId) -> String {
        let list = &self.program.graph.lists()[id.index()];
        let size = list
            .axis
            .map_or(1, |v| self.program.graph.cards()[v.index()]);
        let factors = [0, 1].map(|factor| self.flat(&step.of[factor], &of[factor]));
        let groups = groups(list);
        let mut parts = vec![];
        for (length, states) in &groups {
            parts.push(self.group(step, list, &factors, *length, states));
        }
        let joined = match &parts[..] {
            [one] => one.clone(),
            _ => {
                let names: Vec<&str> = parts.iter().map(String::as_str).collect();
                self.build
                    .add("Concat", &names, &[("axis", Attribute::Int(0))])
            }
        };
        let ordered = self.ordered(joined, step.to.varies, size, groups.values().flatten());
        if list.axis.is_some() {
            ordered
        } else {
            self.build.sum(&ordered, &[0])
        }
    }

    /// A factor with one axis, besides the batch.
    pub(crate) fn flat(&mut self, tensor: &Value, name: &str) -> String {
        if tensor.axes.is_empty() {
            self.build.unsqueeze(name, 0)
        } else {
            name.to_owned()
        }
    }

    /// The states that are sums of `length` products each.
    fn group(
        &mut self,
        step: &Step,
        list: &List,
        factors: &[String; 2],
        length: usize,
        states: &[(u32, usize)],
    ) -> String {
        let shape = if length == 1 {
            vec![states.len()]
        } else {
            vec![states.len(), length]
        };
        let mut terms = vec![];
        for (factor, (tensor, places)) in factors.iter().zip(step.of.iter().zip([&list.a, &list.b]))
        {
            let places: Vec<u32> = states
                .iter()
                .flat_map(|&(_, at)| &places[at..at + length])
                .copied()
                .collect();
            let mut term = self.build.gather(factor, tensor.varies, &shape, &places);
            if step.to.varies && !tensor.varies {
                term = self.build.unsqueeze(&term, shape.len() as i64);
            }
            terms.push(term);
        }
        let products = self.build.add("Mul", &[&terms[0], &terms[1]], &[]);
        if length == 1 {
            products
        } else {
            self.build.sum(&products, &[1])
        }
    }

    /// States in their order; those without products are zero.
    fn ordered<'s>(
        &mut self,
        joined: String,
        varies: bool,
        size: usize,
        states: impl Iterator<Item = &'s (u32, usize)>,
    ) -> String {
        let mut places = vec![Map::NOWHERE; size];
        states
            .enumerate()
            .for_each(|(place, &(state, _))| places[state as usize] = place as u32);
        let in_order = places
            .iter()
            .enumerate()
            .all(|(state, &place)| place as usize == state);
        if in_order {
            joined
        } else {
            self.build.gather(&joined, varies, &[size], &places)
        }
    }
}

/// For each number of products, the states with that many, each with the place of its first
/// product in the list.
fn groups(list: &List) -> BTreeMap<usize, Vec<(u32, usize)>> {
    let mut groups: BTreeMap<usize, Vec<(u32, usize)>> = BTreeMap::new();
    let mut start = 0;
    for products in list.outs.chunk_by(|a, b| a == b) {
        groups
            .entry(products.len())
            .or_default()
            .push((products[0], start));
        start += products.len();
    }
    groups
}
