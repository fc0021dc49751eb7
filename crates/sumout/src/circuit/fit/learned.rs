//! What was learned: as a network, as circuits, and whether the two agree.
//!
//! A CPT that is declared functional and learned is a function only in the end. Until then a circuit that relies on the
//! promise is not the network's: it is saved as it was trained, and [`Course::difference`] says how far the two are
//! apart.

use super::{Course, Examples, Head, Subject};
use crate::circuit::batch::Column;
use crate::circuit::compiled::nothing_possible;
use crate::circuit::{Circuit, Options, Precision, Running};
use crate::compile::{self, Question, Search};
use crate::error::Result;
use crate::learn::Params;
use crate::model::Network;
use crate::tensor::TableId;
use crate::vars::{VarId, VarSet};

impl Course {
    /// The network with these parameters.
    pub fn network(&self, params: &Params) -> Network {
        self.net.with_tables(params.tables())
    }

    /// The circuits with these parameters, each with its target.
    pub fn trained(&self, params: &Params) -> Vec<(Circuit, Option<VarId>)> {
        self.heads.iter().map(|head| (head.with(params), head.target)).collect()
    }

    /// The largest difference between posteriors of the circuits as they were trained, and of the network that they
    /// stand for, on some examples. Zero, up to rounding, unless CPTs were declared functional and are not.
    pub fn difference(&self, params: &Params, examples: &Examples, options: &Options) -> Result<f64> {
        let net = self.network(params);
        let mut largest = 0f64;
        for (head, (trained, _)) in self.heads.iter().zip(self.trained(params)) {
            let exact = Head::exact(&net, &trained, options)?;
            let of = |circuit: &Circuit| {
                let batch = examples.batch_for(circuit)?;
                circuit.evaluator(&Running { precision: Precision::F64, ..self.running })?.run(&batch)
            };
            if head.target.is_some() {
                let (found, expected) = (of(&trained)?, of(&exact)?);
                let pairs = found.posteriors.iter().zip(&expected.posteriors);
                largest = pairs.map(|(x, y)| (x - y).abs()).fold(largest, f64::max);
            }
        }
        Ok(largest)
    }
}

impl Head {
    /// The circuit with other parameters.
    fn with(&self, params: &Params) -> Circuit {
        let mut circuit = self.circuit.clone();
        let origins: Vec<TableId> = self.tables.clone();
        for table in origins {
            let numbers = params.numbers_of(&self.circuit.graph.origins()[&table]);
            circuit.graph.table_mut(table).copy_from_slice(&numbers);
        }
        circuit
    }

    /// The same question to a network whose numbers are what they are, and whose promises count for nothing.
    fn exact(net: &Network, trained: &Circuit, options: &Options) -> Result<Circuit> {
        let targets: VarSet = trained.target.into_iter().collect();
        let question = Question { targets, inputs: trained.inputs.clone(), ..Question::default() };
        let search = Search { thorough: true, ..options.search() };
        let compiled = compile::compile(net, &question, &search).ok_or_else(|| nothing_possible(net))?;
        Ok(Circuit::new(net, question, compiled))
    }
}

impl Network {
    /// Maximum likelihood by counting, if the families of all CPTs to be learned are there in every example; none if
    /// not.
    pub fn count(&self, subject: &Subject, examples: &Examples, prior: f64) -> Result<Option<Params>> {
        let children: Vec<VarId> = subject.trainable(self).iter().collect();
        let is_promised = |v: &VarId| self.cpts()[v.index()].role().functional;
        if children.is_empty() || children.iter().any(is_promised) {
            return Ok(None);
        }
        let is_asked = |v: VarId| subject.given.contains(v) || subject.targets.contains(&v);
        let domains: Vec<Vec<usize>> = self.ids().map(|v| (0..self.card(v)).collect()).collect();
        let mut params = Params::new(self, &children, &[], &domains, subject.strict_ties)?;
        let mut counts = vec![0.0; params.len()];
        for &child in &children {
            let scope = self.cpts()[child.index()].scope();
            let Some(columns) =
                scope.iter().map(|&v| complete(self, examples, v).filter(|_| is_asked(v))).collect::<Option<Vec<_>>>()
            else {
                return Ok(None);
            };
            let mut table = vec![0.0; self.cpts()[child.index()].size(&self.cards())];
            for row in 0..examples.len() {
                let place = scope.iter().zip(&columns).fold(0, |at, (&v, c)| at * self.card(v) + c[row] as usize);
                table[place] += examples.weight(row);
            }
            params.collect_table(child, &table, &mut counts);
        }
        params.set_counts(&counts, prior);
        Ok(Some(params))
    }
}

/// The values of a variable, if it has one in every example.
fn complete<'e>(net: &Network, examples: &'e Examples, var: VarId) -> Option<&'e [i32]> {
    let is_value = |v: &i32| (0..net.card(var) as i32).contains(v);
    match examples.get(var) {
        Some(Column::Values(values)) if values.len() == examples.len() && values.iter().all(is_value) => Some(values),
        _ => None,
    }
}
