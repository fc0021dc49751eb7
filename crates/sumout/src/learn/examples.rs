//! Examples to learn from: their evidence, labels and weights.

use std::collections::BTreeMap;

use crate::circuit::Circuit;
use crate::circuit::batch::{Batch, Column, check};
use crate::error::{Error, ErrorKind, Result};
use crate::learn::training::Head;
use crate::model::{Dataset, Network, Variable};
use crate::vars::VarId;

/// Examples: a column for each variable of which something is known, inputs and labels alike.
///
/// A label is a value, missing, or, as likelihoods, a distribution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Examples {
    rows: usize,
    columns: BTreeMap<VarId, Column>,
    weights: Option<Vec<f64>>,
}

impl Examples {
    /// Examples without any column.
    pub fn new(rows: usize) -> Self {
        Examples {
            rows,
            ..Examples::default()
        }
    }

    /// The number of examples.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Adds the column of a variable.
    pub fn insert(&mut self, var: VarId, column: Column) {
        self.columns.insert(var, column);
    }

    /// Weighs examples; without weights, each counts one.
    pub fn weigh(&mut self, weights: Vec<f64>) -> Result<()> {
        let is_wrong = |w: &f64| !(w.is_finite() && *w >= 0.0);
        if let Some(row) = weights.iter().position(is_wrong) {
            let message = format!("the weight of example {} is {}", row + 1, weights[row]);
            return Err(
                Error::new(ErrorKind::Options, message).hint("weights are finite and not negative")
            );
        }
        if weights.len() != self.rows || weights.iter().sum::<f64>() <= 0.0 {
            let message = format!(
                "{} weights for {} examples, or all of them zero",
                weights.len(),
                self.rows
            );
            return Err(Error::new(ErrorKind::Options, message).hint("give each example a weight"));
        }
        self.weights = Some(weights);
        Ok(())
    }

    /// The column of a variable.
    pub fn get(&self, var: VarId) -> Option<&Column> {
        self.columns.get(&var)
    }

    /// The variables with a column.
    pub fn variables(&self) -> impl Iterator<Item = VarId> + '_ {
        self.columns.keys().copied()
    }

    /// The weight of an example.
    pub fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[row])
    }

    /// Refuses examples from which nothing can be learned.
    pub(crate) fn check(&self, net: &Network, heads: &[Head]) -> Result<()> {
        if self.rows == 0 {
            return Err(Error::new(
                ErrorKind::Options,
                "there are no examples to learn from",
            ));
        }
        for (&var, column) in &self.columns {
            let variable = net.variable(var);
            check(column, &variable.name, variable.values.len(), self.rows)?;
        }
        for (head, target) in heads.iter().filter_map(|head| Some((head, head.target?))) {
            self.check_labels(
                net.variable(target),
                self.get(target),
                &head.circuit.domains[target.index()],
            )?;
        }
        Ok(())
    }

    fn check_labels(
        &self,
        target: &Variable,
        column: Option<&Column>,
        domain: &[usize],
    ) -> Result<()> {
        let wrong =
            |what: &str| Error::new(ErrorKind::Evidence, format!("{what} `{}`", target.name));
        let Some(column) = column else {
            return Err(wrong("no example has a label for").hint("give a column with its name"));
        };
        let labels: Vec<Label> = (0..self.rows)
            .map(|row| Label::new(column, row, target.values.len()))
            .collect();
        let mut known = labels.iter().filter(|label| **label != Label::Missing);
        let Some(&first) = known.next() else {
            return Err(wrong("all labels are missing for").hint("at least some examples need one"));
        };
        if let Label::Certain(value) = first
            && known.all(|&label| label == first)
        {
            let what = format!(
                "all labels are `{}`, so nothing can be learned about",
                target.values[value]
            );
            return Err(
                wrong(&what).hint("give examples with other labels, or learn without a target")
            );
        }
        for (row, label) in labels.iter().enumerate() {
            if let Label::Certain(value) = *label
                && !domain.contains(&value)
            {
                let label = &target.values[value];
                let what = format!(
                    "the label `{label}` of example {} is impossible under the network:",
                    row + 1
                );
                return Err(wrong(&what).hint("keep fewer zeros, or fix the label"));
            }
        }
        Ok(())
    }

    /// The evidence for a circuit.
    pub fn batch_for(&self, circuit: &Circuit) -> Result<Batch> {
        let mut batch = Batch::new(self.rows);
        for input in circuit.inputs() {
            if let Some(column) = self.get(input) {
                batch.insert(circuit, input, column.clone())?;
            }
        }
        Ok(batch)
    }

    /// For each example the distribution of its label over the values that are left, not-a-number
    /// where it is missing.
    pub(crate) fn labels(&self, head: &Head) -> Vec<f64> {
        let Some(target) = head.target else {
            return vec![];
        };
        let domain = &head.circuit.domains[target.index()];
        let card = head.circuit.variable(target).values.len();
        let Some(column) = self.get(target) else {
            return vec![f64::NAN; self.rows * domain.len()];
        };
        let label = |row: usize| {
            let numbers: Vec<f64> = domain
                .iter()
                .map(|&value| column.likelihood(row, value, card))
                .collect();
            let total: f64 = (0..card)
                .map(|value| column.likelihood(row, value, card))
                .sum();
            let is_missing = match column {
                Column::Values(values) => values[row] < 0,
                Column::Likelihoods(_) => total <= 0.0,
            };
            numbers
                .into_iter()
                .map(move |x| if is_missing { f64::NAN } else { x / total })
        };
        (0..self.rows).flat_map(label).collect()
    }
}

/// The label of an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    Missing,
    Certain(usize),
    /// More than one value has a part of it.
    Spread,
}

impl Label {
    fn new(column: &Column, row: usize, card: usize) -> Self {
        if let Column::Values(values) = column {
            return usize::try_from(values[row]).map_or(Label::Missing, Label::Certain);
        }
        let mut likely = (0..card).filter(|&value| column.likelihood(row, value, card) > 0.0);
        match (likely.next(), likely.next()) {
            (None, _) => Label::Missing,
            (Some(value), None) => Label::Certain(value),
            _ => Label::Spread,
        }
    }
}

impl From<&Dataset> for Examples {
    fn from(data: &Dataset) -> Self {
        let mut examples = Examples::new(data.len());
        for (k, &var) in data.columns().iter().enumerate() {
            let values = data
                .rows()
                .map(|row| row[k].map_or(-1, |value| value as i32))
                .collect();
            examples.insert(var, Column::Values(values));
        }
        examples
    }
}
