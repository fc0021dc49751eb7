//! Adds nodes and numbers to a model.

use std::collections::BTreeMap;

use crate::circuit::export::onnx::proto;
use crate::circuit::export::onnx::proto::{Attribute, Parts, Type};
use crate::tensor::Map;

/// A model while it is built. Values are known by their names.
#[derive(Debug)]
pub(crate) struct Build {
    pub parts: Parts,
    /// The type of probabilities.
    pub real: Type,
    /// The axes that are there already.
    axes: BTreeMap<Vec<i64>, String>,
    count: usize,
}

impl Build {
    pub fn new(real: Type) -> Self {
        Build {
            parts: Parts::default(),
            real,
            axes: BTreeMap::new(),
            count: 0,
        }
    }

    /// A name that nothing has.
    fn fresh(&mut self) -> String {
        self.count += 1;
        format!("v{}", self.count)
    }

    /// Adds a node whose result needs no descriptive name.
    pub fn add(&mut self, op: &str, inputs: &[&str], attributes: &[(&str, Attribute)]) -> String {
        let name = self.fresh();
        self.named(&name, op, inputs, attributes);
        name
    }

    /// Adds a node.
    pub fn named(
        &mut self,
        name: &str,
        op: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) {
        self.parts
            .nodes
            .push(proto::node(op, inputs, name, attributes));
    }

    /// Numbers of the type of probabilities.
    pub fn table(&mut self, shape: &[usize], values: &[f64]) -> String {
        let bytes = match self.real {
            Type::F64 => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
            _ => values
                .iter()
                .flat_map(|&x| (x as f32).to_le_bytes())
                .collect(),
        };
        self.constant(self.real, shape, bytes)
    }

    /// A number to compute with probabilities.
    pub fn real(&mut self, value: f64) -> String {
        self.table(&[], &[value])
    }

    fn constant(&mut self, of: Type, shape: &[usize], bytes: Vec<u8>) -> String {
        let name = self.fresh();
        self.parts
            .tensors
            .push(proto::tensor(&name, of, shape, &bytes));
        name
    }

    /// Positions of values, or sizes.
    pub fn longs(&mut self, shape: &[usize], values: &[i64]) -> String {
        self.constant(
            Type::I64,
            shape,
            values.iter().flat_map(|x| x.to_le_bytes()).collect(),
        )
    }

    /// Axes of a tensor.
    pub fn axes(&mut self, axes: &[i64]) -> String {
        if !self.axes.contains_key(axes) {
            let name = self.longs(&[axes.len()], axes);
            self.axes.insert(axes.to_vec(), name);
        }
        self.axes[axes].clone()
    }

    /// Places along an axis.
    fn places(&mut self, shape: &[usize], places: impl Iterator<Item = u32>) -> String {
        self.constant(
            Type::I32,
            shape,
            places.flat_map(u32::to_le_bytes).collect(),
        )
    }

    /// The entries along the first axis that places point to, which may have any shape; zeros where
    /// they are nowhere.
    pub fn gather(&mut self, x: &str, varies: bool, shape: &[usize], places: &[u32]) -> String {
        let somewhere = |&place: &u32| if place == Map::NOWHERE { 0 } else { place };
        let index = self.places(shape, places.iter().map(somewhere));
        let taken = self.add("Gather", &[x, &index], &[("axis", Attribute::Int(0))]);
        if !places.contains(&Map::NOWHERE) {
            return taken;
        }
        let mask: Vec<f64> = places
            .iter()
            .map(|&place| f64::from(place != Map::NOWHERE))
            .collect();
        let batch = varies.then_some(1);
        let mask = self.table(&[shape, batch.as_slice()].concat(), &mask);
        self.add("Mul", &[&taken, &mask], &[])
    }

    /// A sum over some axes.
    pub fn sum(&mut self, x: &str, axes: &[i64]) -> String {
        let axes = self.axes(axes);
        self.add("ReduceSum", &[x, &axes], &[("keepdims", Attribute::Int(0))])
    }

    /// A tensor with one more axis.
    pub fn unsqueeze(&mut self, x: &str, axis: i64) -> String {
        let axis = self.axes(&[axis]);
        self.add("Unsqueeze", &[x, &axis], &[])
    }
}
