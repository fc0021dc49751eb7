//! Explains batches: the most probable values of all variables together, for each example.

use rayon::prelude::*;

use super::Circuit;
use super::batch::Batch;
use super::evaluate::{Room, Running, check_hard, likelihood};
use crate::compile::Completion;
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::Op;
use crate::tensor::exec::{Maxima, Run};
use crate::tensor::layout::Program;
use crate::tensor::schedule::{Schedule, Want};
use crate::vars::VarId;

/// A most probable explanation of each example of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanations {
    /// The variables that have a value in every explanation: all but those whose values were promised.
    pub variables: Vec<VarId>,
    /// For each example, the position of the value of each variable; -1 where the evidence is impossible.
    pub values: Vec<i32>,
    /// For each example, the logarithm of the probability of all values together (with soft evidence: times its
    /// likelihood); negative infinity where the evidence is impossible.
    pub log_probability: Vec<f64>,
}

impl Explanations {
    /// The values of one example.
    pub fn row(&self, row: usize) -> &[i32] {
        &self.values[row * self.variables.len()..][..self.variables.len()]
    }

    /// Whether the evidence of an example has probability zero.
    pub fn is_impossible(&self, row: usize) -> bool {
        self.log_probability[row] == f64::NEG_INFINITY
    }
}

/// A circuit that is ready to explain batches.
///
/// ```
/// use sumout::{Batch, Column, Network, Options, Query};
///
/// let asia = Network::read("asia")?;
/// let circuit = asia.compile(&Query::explain().given(["xray", "dysp"]), &Options::default())?;
/// let batch = Batch::new(2).with(&circuit, "xray", Column::Values(vec![0, -1]))?;
/// let explanations = circuit.explain(&batch)?;
/// let lung = explanations.variables.iter().position(|&v| circuit.variable(v).name == "lung").unwrap();
/// assert_eq!([0, 1].map(|row| explanations.row(row)[lung]), [0, 1]); // "yes" if the x-ray is positive
/// # Ok::<(), sumout::Error>(())
/// ```
#[derive(Debug)]
pub struct Explainer<'c> {
    circuit: &'c Circuit,
    completion: &'c Completion,
    maxima: Maxima<'c>,
    /// The inputs that the graph does not have.
    closed: Vec<VarId>,
    variables: Vec<VarId>,
    pool: std::sync::Arc<rayon::ThreadPool>,
}

impl<'c> Explainer<'c> {
    pub(super) fn new(circuit: &'c Circuit, options: &Running) -> Result<Self> {
        let completion = circuit.completion.as_ref().ok_or_else(no_explanations)?;
        let schedule = Schedule::new(&circuit.graph, &Want::Everything);
        let room = Room::for_running(&circuit.graph, &schedule, options)?;
        let is_closed = |v: &VarId| circuit.graph.find(&Op::Evidence(*v)).is_none();
        Ok(Explainer {
            circuit,
            completion,
            maxima: Maxima::new(&circuit.graph, Program::new(&circuit.graph, &schedule)),
            closed: circuit.inputs.iter().filter(is_closed).collect(),
            variables: circuit.targets(),
            pool: room.pool,
        })
    }

    /// Explains each example of a batch.
    pub fn run(&self, batch: &Batch) -> Result<Explanations> {
        check_hard(self.circuit, batch)?;
        let rows = (0..batch.len()).into_par_iter();
        let found = rows.map_init(|| self.maxima.idle(), |run, row| self.explain(run, batch, row));
        let found: Vec<(Vec<i32>, f64)> = self.pool.install(|| found.collect());
        let (values, log_probability): (Vec<Vec<i32>>, Vec<f64>) = found.into_iter().unzip();
        Ok(Explanations { variables: self.variables.clone(), values: values.concat(), log_probability })
    }

    /// The values of an example, and the logarithm of their probability.
    fn explain<'m>(&'m self, run: &mut Run<'m>, batch: &Batch, row: usize) -> (Vec<i32>, f64) {
        self.maxima.run(run, |v| likelihood(self.circuit, batch, v, row));
        let log = run.log_sum() + self.closed.iter().map(|&v| self.weight(batch, v, row).ln()).sum::<f64>();
        if log == f64::NEG_INFINITY {
            return (vec![-1; self.variables.len()], log);
        }
        let mut states = run.trace();
        self.completion.complete(self.circuit.graph.cards(), &mut states);
        let value = |v: &VarId| self.circuit.domains[v.index()][states[v.index()].unwrap_or(0)] as i32;
        (self.variables.iter().map(value).collect(), log)
    }

    /// The likelihood of the one value that an input can have.
    fn weight(&self, batch: &Batch, var: VarId, row: usize) -> f64 {
        likelihood(self.circuit, batch, var, row).first().copied().unwrap_or(1.0)
    }
}

/// A circuit for posteriors takes sums, and has no maxima.
fn no_explanations() -> Error {
    let error = Error::new(ErrorKind::Model, "the circuit is for posteriors, and cannot explain");
    error.hint("compile it with `--mpe`, or with `Query::explain` in Rust")
}
