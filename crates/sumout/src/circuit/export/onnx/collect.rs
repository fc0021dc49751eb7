//! Entries of several tensors side by side.

use crate::circuit::export::onnx::Writer;
use crate::circuit::export::onnx::proto::Attribute;
use crate::circuit::export::program::{Step, Value};
use crate::tensor::PickId;

impl Writer<'_> {
    /// Entries of several tensors side by side, with the largest of their exponents.
    pub(crate) fn collect(&mut self, step: &Step, of: &[String], id: PickId) {
        let places = &self.program.graph.picks()[id.index()].places;
        let largest = self.largest_exponent(step);
        let mut parts = vec![];
        for ((tensor, name), places) in step.of.iter().zip(of).zip(places) {
            let part = self.entries(tensor, name, places, step.to.varies);
            parts.push(match &largest {
                Some(largest) => self.aligned(part, tensor, largest),
                None => part,
            });
        }
        let names: Vec<&str> = parts.iter().map(String::as_str).collect();
        let axis = [("axis", Attribute::Int(0))];
        let collected = self.build.add("Concat", &names, &axis);
        self.values.insert(step.to.name(), collected);
        if let (Some(name), Some(largest)) = (step.to.exponent(), largest) {
            self.values.insert(name, largest);
        }
    }

    /// The largest exponent; that of tensors without one is zero.
    fn largest_exponent(&mut self, step: &Step) -> Option<String> {
        step.to.exponent()?;
        let exponents = step.of.iter().filter_map(Value::exponent);
        let mut names: Vec<String> = exponents.map(|name| self.value(&name)).collect();
        names.push(self.build.real(0.0));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Some(self.build.add("Max", &names, &[]))
    }

    /// Some entries of a tensor, for each example if the collection varies.
    fn entries(&mut self, tensor: &Value, name: &str, places: &[u32], varies: bool) -> String {
        let flat = self.flat(tensor, name);
        let part = self
            .build
            .gather(&flat, tensor.varies, &[places.len()], places);
        if tensor.varies || !varies {
            return part;
        }
        let column = self.build.unsqueeze(&part, 1);
        self.across(&column)
    }

    /// Entries divided by the power of two that their exponent lacks.
    fn aligned(&mut self, part: String, tensor: &Value, largest: &str) -> String {
        let exponent = match tensor.exponent() {
            Some(name) => self.value(&name),
            None => self.build.real(0.0),
        };
        let two = self.build.real(2.0);
        let distance = self.build.add("Sub", &[&exponent, largest], &[]);
        let scale = self.build.add("Pow", &[&two, &distance], &[]);
        self.build.add("Mul", &[&part, &scale], &[])
    }
}
