//! Compares trained circuits with the network that they stand for.
//!
//! A CPT that is declared functional and learned is a function only in the end. Until then a
//! circuit that relies on the declaration differs from the network: it is saved as it was trained,
//! and [`Training::difference`] measures how far apart the two are.

use crate::circuit::batch::Answers;
use crate::circuit::compiled::nothing_possible;
use crate::circuit::{Circuit, Compilation, EvalOptions, Options, Precision};
use crate::compile;
use crate::compile::{Goal, Level, Question, Runs, Search};
use crate::error::{Error, ErrorKind, Result};
use crate::learn::{Examples, Params, Training};
use crate::model::{FactorModel, Network};

/// How far circuits are from the network that they stand for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    pub(crate) largest: f64,
    pub(crate) examples: usize,
    pub(crate) unthinned: bool,
}

impl Difference {
    /// The largest difference of posteriors; without a target, of ln P(e).
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// The number of examples that were compared.
    pub fn examples(&self) -> usize {
        self.examples
    }

    /// Whether the circuits were compared with ones that use no functions at all; if those were too
    /// large, it was with ones that use only CPTs that are functions already.
    pub fn unthinned(&self) -> bool {
        self.unthinned
    }
}

impl Training {
    /// The largest difference between the circuits with these parameters and the network, on some
    /// examples. Zero, up to rounding, unless CPTs were declared functional and are not.
    pub fn difference(
        &self,
        params: &Params,
        examples: &Examples,
        options: &Options,
    ) -> Result<Difference> {
        let net = self.network(params);
        let mut found = Difference {
            largest: 0.0,
            examples: examples.len(),
            unthinned: true,
        };
        for trained in self.heads.iter().map(|head| head.with(params)) {
            let exact = Exact::new(&net, &trained, options)?;
            let rows: Vec<usize> = (0..exact.max_examples.min(examples.len())).collect();
            let ours = self.answers(&trained, examples, &rows)?;
            let truth = self.answers(&exact.circuit, examples, &rows)?;
            let largest = apart(&ours, &truth, trained.single.is_some());
            found.largest = found.largest.max(largest);
            found.examples = found.examples.min(rows.len());
            found.unthinned &= exact.unthinned;
        }
        Ok(found)
    }

    fn answers(&self, circuit: &Circuit, examples: &Examples, rows: &[usize]) -> Result<Answers> {
        let batch = examples.batch_for(circuit)?.select(circuit, rows);
        let eval = EvalOptions {
            precision: Precision::F64,
            ..self.eval
        };
        circuit.evaluator(&eval)?.run(&batch)
    }
}

fn apart(ours: &Answers, truth: &Answers, has_target: bool) -> f64 {
    let (ours, truth) = if has_target {
        (&ours.posteriors, &truth.posteriors)
    } else {
        (&ours.log_evidence, &truth.log_evidence)
    };
    let distance = |(x, y): (&f64, &f64)| if x == y { 0.0 } else { (x - y).abs() };
    ours.iter().zip(truth).map(distance).fold(0.0, f64::max)
}

/// The same question to a network whose declarations are ignored.
struct Exact {
    circuit: Circuit,
    /// The number of examples that it can be run on in some seconds.
    max_examples: usize,
    unthinned: bool,
}

/// The maximum number of products of a check: some seconds.
const MAX_PRODUCTS: f64 = 1e10;

/// The number of examples of a testing network that are checked.
const MAX_TESTED_EXAMPLES: usize = 1000;

impl Exact {
    fn new(net: &Network, trained: &Circuit, options: &Options) -> Result<Self> {
        let question = Question {
            goal: trained.single.map_or(Goal::Evidence, Goal::Posterior),
            inputs: trained.inputs.clone(),
            ..Question::default()
        };
        for level in [Level::Classical, Level::Auto] {
            let options = Options {
                level,
                ..options.clone()
            };
            let (circuit, max_examples) = if net.has_selections() {
                let compilation = Compilation::new(net, question.clone(), &options, None)?;
                let circuit = compilation.into_circuit();
                (circuit, MAX_TESTED_EXAMPLES)
            } else if let Some(found) =
                affordable(net.model(), &question, &options.search(Runs::Many))?
            {
                found
            } else {
                continue;
            };
            return Ok(Exact {
                circuit,
                max_examples,
                unthinned: level == Level::Classical,
            });
        }
        Err(Error::new(
            ErrorKind::Memory,
            "an exact plan is too large to be run",
        ))
    }
}

/// The circuit of a question and the number of examples that it can be checked on; none if it is
/// too expensive for even one.
fn affordable(
    model: &FactorModel,
    question: &Question,
    search: &Search,
) -> Result<Option<(Circuit, usize)>> {
    let planned = compile::plan(model, question, search).ok_or_else(|| nothing_possible(model))?;
    let cost = planned.cost();
    let left = MAX_PRODUCTS - cost.constant_multiply_adds;
    let max_examples = (left / cost.multiply_adds.max(1.0)) as usize;
    if max_examples == 0 {
        return Ok(None);
    }
    let circuit = Circuit::new(model, question.clone(), planned.lower());
    Ok(Some((circuit, max_examples)))
}
