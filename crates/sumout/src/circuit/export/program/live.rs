//! Which tensors of a program live when, and how many numbers that is.

use std::collections::{BTreeMap, BTreeSet};

use crate::circuit::export::program::{Listing, Step, Value};

impl Value {
    /// The variables of the program that have it.
    fn variables(&self) -> impl Iterator<Item = Variable> + use<> {
        let exponent = self.exponent.map(|number| (number, 'e'));
        [Some((self.number, 't')), exponent].into_iter().flatten()
    }
}

/// A variable of a program: a number, and whether a tensor or an exponent.
type Variable = (usize, char);

fn named((number, kind): Variable) -> String {
    format!("{kind}{number}")
}

impl Step {
    /// The variables of the program that it mentions.
    fn mentioned(&self) -> impl Iterator<Item = Variable> {
        self.of.iter().chain([&self.to]).flat_map(Value::variables)
    }
}

impl Listing<'_> {
    /// The steps that depend on evidence.
    pub fn varying(&self) -> impl DoubleEndedIterator<Item = &Step> {
        self.steps.iter().filter(|step| step.to.varies)
    }

    /// The variables that do not depend on evidence, and are read where it counts.
    pub fn shared(&self) -> Vec<String> {
        self.shared_variables().into_iter().map(named).collect()
    }

    fn shared_variables(&self) -> BTreeSet<Variable> {
        let constant = self.constant_variables();
        let read = self
            .varying()
            .flat_map(Step::mentioned)
            .chain(self.output.variables());
        read.filter(|variable| constant.contains(variable))
            .collect()
    }

    fn constant_variables(&self) -> BTreeSet<Variable> {
        self.steps
            .iter()
            .filter(|step| !step.to.varies)
            .flat_map(|step| step.to.variables())
            .collect()
    }

    /// For each step that depends on evidence, the variables that no later one mentions.
    pub fn dead(&self) -> Vec<Vec<String>> {
        self.dead_variables()
            .into_iter()
            .map(|dead| dead.into_iter().map(named).collect())
            .collect()
    }

    fn dead_variables(&self) -> Vec<BTreeSet<Variable>> {
        let mut seen = self.constant_variables();
        seen.extend(self.output.variables());
        let last = |step: &Step| {
            let dead: BTreeSet<Variable> = step
                .mentioned()
                .filter(|variable| !seen.contains(variable))
                .collect();
            seen.extend(&dead);
            dead
        };
        let mut dead: Vec<BTreeSet<Variable>> = self.varying().rev().map(last).collect();
        dead.reverse();
        dead
    }

    /// The most numbers that an example needs at once.
    pub fn numbers_of_example(&self) -> usize {
        let sizes: BTreeMap<Variable, f64> = self
            .varying()
            .map(|s| ((s.to.number, 't'), self.size(&s.to)))
            .collect();
        let (mut live, mut peak) = (0.0, 0.0f64);
        for (step, dead) in self.varying().zip(self.dead_variables()) {
            live += self.size(&step.to);
            peak = peak.max(live);
            live -= dead
                .iter()
                .filter_map(|variable| sizes.get(variable))
                .sum::<f64>();
        }
        peak as usize
    }

    /// How many numbers all examples share.
    pub fn numbers_of_all(&self) -> usize {
        let shared = self.shared_variables();
        let tensors = self
            .steps
            .iter()
            .filter(|step| shared.contains(&(step.to.number, 't')));
        tensors.map(|step| self.size(&step.to)).sum::<f64>() as usize
    }

    fn size(&self, tensor: &Value) -> f64 {
        self.shape(&tensor.axes).iter().map(|&n| n as f64).product()
    }
}
