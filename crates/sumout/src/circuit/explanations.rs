//! Explains batches: the most probable values of all variables together, for each example.
//!
//! Blocks of examples are maximised side by side, in numbers of 64 bits, and then traced one by
//! one. A product is the same in a block as for an example alone, up to a power of two: so are the
//! explanations, also where several are equally probable. Few examples, and those whose numbers are
//! too far apart for a block, are explained alone.

use std::sync::Arc;

use crate::circuit::Circuit;
use crate::circuit::batch::Batch;
use crate::circuit::best::{Best, Ranking};
use crate::circuit::run::{
    Block, Careful, EvalOptions, Fast, Few, Job, Pass, RowState, Runner, Setup, likelihood, settle,
};
use crate::compile::Completion;
use crate::control::Control;
use crate::error::{Error, ErrorKind, Remedy, Result};
use crate::tensor::careful::Maxima;
use crate::tensor::fast::Worker;
use crate::tensor::schedule::Want;
use crate::vars::VarId;

/// A most probable explanation of each example of a batch.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Explanations {
    /// The variables that have a value in every explanation: all but those whose values were
    /// promised.
    pub variables: Vec<VarId>,
    /// For each example, the position of the value of each variable; -1 where the evidence is
    /// impossible.
    pub values: Vec<i32>,
    /// For each example, the logarithm of the probability of all values together (with soft
    /// evidence: times its likelihood); negative infinity where the evidence is impossible.
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
pub struct Explainer {
    runner: Runner,
    maximal: Maximal,
}

impl Explainer {
    pub(crate) fn new(circuit: &Circuit, options: &EvalOptions) -> Result<Self> {
        let completion = circuit.completion.clone().ok_or_else(no_explanations)?;
        let setup = Setup {
            want: Want::Everything,
            each: &[],
            few: Few::Carefully,
            options,
        };
        let runner = Runner::new(circuit, setup)?;
        let maximal = Maximal {
            completion,
            maxima: Maxima::new(circuit.graph.clone(), runner.new_program()),
            variables: circuit.targets(),
            circuit: circuit.clone(),
        };
        Ok(Explainer { runner, maximal })
    }

    /// The circuit that explains.
    pub fn circuit(&self) -> &Circuit {
        self.runner.circuit()
    }

    /// Explains each example of a batch.
    pub fn run(&self, batch: &Batch) -> Result<Explanations> {
        let rows = self.runner.run_long(&self.maximal, batch)?;
        Ok(Explanations {
            variables: self.maximal.variables.clone(),
            log_probability: rows.logs().expect("nothing stops it"),
            values: rows.items,
        })
    }

    /// The most probable explanations of each example of a batch, in order: first the best one of
    /// each example, then the second best, at most `count`. An example that has fewer is impossible
    /// at the last places.
    ///
    /// All variables must be inputs, as they are if none is named when the circuit is compiled.
    pub fn run_best(&self, batch: &Batch, count: usize) -> Result<Vec<Explanations>> {
        let ranking = Ranking::new(self, batch, |_| false, &Control::NONE)?;
        let found = ranking.run(count)?;
        let place = |place: usize| self.explanations(found.iter().map(|best| best.get(place)));
        Ok((0..count).map(place).collect())
    }

    /// The explanations of all examples, as far as there are some.
    fn explanations<'b>(&self, best: impl Iterator<Item = Option<&'b Best>>) -> Explanations {
        let variables = self.maximal.variables.clone();
        let (mut values, mut log_probability) = (vec![], vec![]);
        for best in best {
            log_probability.push(best.map_or(f64::NEG_INFINITY, |best| best.log));
            match best {
                Some(best) => values.extend(&best.values),
                None => values.extend(vec![Maximal::BLANK; variables.len()]),
            }
        }
        Explanations {
            variables,
            values,
            log_probability,
        }
    }
}

/// The most probable values of all variables together.
#[derive(Debug)]
struct Maximal {
    circuit: Circuit,
    completion: Arc<Completion>,
    maxima: Maxima,
    variables: Vec<VarId>,
}

impl Maximal {
    /// Reads the values of an example from the states that were traced.
    fn read(&self, states: &mut [Option<usize>], values: &mut [i32]) {
        self.completion.complete(self.circuit.graph.cards(), states);
        for (to, v) in values.iter_mut().zip(&self.variables) {
            *to = self.circuit.possible(*v)[states[v.index()].unwrap_or(0)] as i32;
        }
    }
}

impl Pass for Maximal {
    type Item = i32;

    const BLANK: i32 = -1;

    fn width(&self) -> usize {
        self.variables.len()
    }
}

impl Fast<f64> for Maximal {
    fn block(&self, worker: &mut Worker<'_, f64>, block: Block<'_, i32>) {
        worker.maximise();
        if settle(worker, block.states).is_none() {
            return;
        }
        let mut traced = vec![vec![]; block.states.len()];
        let numbers = |slot| worker.numbers(slot);
        let trace = self.maxima.trace();
        trace.run(&self.circuit.graph, numbers, false, &mut traced);
        let rows = block.items.chunks_exact_mut(self.width()).zip(&mut traced);
        for ((values, states), state) in rows.zip(block.states.iter()) {
            if matches!(state, RowState::Done(log) if *log > f64::NEG_INFINITY) {
                self.read(states, values);
            }
        }
    }
}

impl Careful for Maximal {
    fn careful<'a>(
        &'a self,
        _: &'a Runner,
        job: &'a Job<'a>,
    ) -> impl FnMut(usize, &mut [i32]) -> Result<f64> + 'a {
        let (mut run, mut states) = (self.maxima.idle(), vec![]);
        move |row, values| {
            let evidence = |v| likelihood(&self.circuit, job.batch, v, row);
            self.maxima.run(&mut run, evidence);
            let log = run.log_sum();
            if log > f64::NEG_INFINITY {
                run.trace_by(self.maxima.trace(), &mut states);
                self.read(&mut states, values);
            }
            Ok(log)
        }
    }
}

/// A circuit for posteriors takes sums, and has no maxima.
fn no_explanations() -> Error {
    let error = Error::new(
        ErrorKind::Unsupported,
        "the circuit is for posteriors, and cannot explain",
    );
    error.hint(Remedy::CompileToExplain)
}
