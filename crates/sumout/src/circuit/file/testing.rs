//! The tests of a testing circuit, in files. The circuit of a test is a file of its own, as the tensor `test.N`: of the
//! variables that it mentions, so that files of many tests are not as large as the square of their number.

use std::sync::Arc;

use safetensors::tensor::Dtype;
use serde::{Deserialize, Serialize};

use super::{Circuit, Numbers, Reader, damaged};
use crate::circuit::testing::{By, Stage};
use crate::error::Result;
use crate::model::{Comparison, LARGEST_WEIGHT, Selection, Test, Variable};
use crate::vars::{VarId, VarSet};

/// What is not a circuit.
#[derive(Serialize, Deserialize)]
pub(super) struct Testing {
    /// The variable whose CPT is selected, the one whose CPT says by how much, and the one as whose likelihood that is
    /// given to later circuits.
    tested: usize,
    selector: usize,
    input: usize,
    /// The variables of the test's own circuit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    variables: Vec<usize>,
    copies: usize,
    thresholds: Vec<f64>,
    selection: Selecting,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Selecting {
    Step(String),
    Sigmoid { slope: f64, learned: bool },
    Linear,
    Softmax { of: Vec<usize>, weights: Vec<f64>, biases: Vec<f64> },
}

impl Testing {
    pub fn new(stage: &Stage) -> Self {
        let Test { copies, thresholds, selection } = &stage.test;
        let selection = match selection {
            Selection::Step(comparison) => Selecting::Step(comparison.sign().to_owned()),
            Selection::Sigmoid { slope, is_learned } => Selecting::Sigmoid { slope: *slope, learned: *is_learned },
            Selection::Linear => Selecting::Linear,
            Selection::Softmax { of, weights, biases } => Selecting::Softmax {
                of: of.iter().map(|v| v.index()).collect(),
                weights: weights.clone(),
                biases: biases.clone(),
            },
        };
        let [tested, selector, input] = [stage.tested, stage.selector, stage.input].map(VarId::index);
        let variables =
            stage.circuit().map_or(vec![], |circuit| circuit.mentioned().iter().map(VarId::index).collect());
        Testing { tested, selector, input, variables, copies: *copies, thresholds: thresholds.clone(), selection }
    }
}

/// The circuits of the tests that have one.
pub(super) fn numbers(stages: &[Stage]) -> Vec<Numbers> {
    let circuits = stages.iter().enumerate().filter_map(|(i, stage)| Some((i, stage.circuit()?)));
    let file = |(i, circuit): (usize, &Circuit)| {
        let bytes = circuit.narrowed().to_bytes().unwrap_or_default(); // an empty one is refused when it is read
        Numbers { name: format!("test.{i}"), dtype: Dtype::U8, shape: vec![bytes.len()], bytes }
    };
    circuits.map(file).collect()
}

impl Circuit {
    /// The variables that it has to do with.
    fn mentioned(&self) -> VarSet {
        let asked = &(&self.inputs | &self.hard) | &self.target.into_iter().collect();
        let variables = (0..self.variables.len()).map(VarId::new).collect();
        &(&self.graph.mentioned() | &asked) & &variables
    }

    /// The same with these variables alone, and axes that follow them.
    fn narrowed(&self) -> Circuit {
        let own = self.mentioned();
        let place = |v: VarId| match own.as_slice().binary_search(&v) {
            Ok(place) => VarId::new(place),
            Err(_) => VarId::new(v.index() - self.variables.len() + own.len()),
        };
        let domains: Vec<Vec<usize>> = own.iter().map(|v| self.domains[v.index()].clone()).collect();
        let variables = own.iter().map(|v| self.variable(v).clone()).collect();
        Circuit { visible: own.len(), ..self.renamed(variables, domains, place) }
    }

    /// The same among more variables, of which it has the ones at some places.
    fn widened(&self, places: &[usize], variables: Arc<[Variable]>) -> Circuit {
        let mut domains: Vec<Vec<usize>> = variables.iter().map(|v| (0..v.values.len()).collect()).collect();
        places.iter().zip(&self.domains).for_each(|(&place, domain)| domains[place] = domain.clone());
        let place = |v: VarId| match places.get(v.index()) {
            Some(&place) => VarId::new(place),
            None => VarId::new(v.index() - places.len() + variables.len()),
        };
        Circuit { visible: variables.len(), ..self.renamed(variables.clone(), domains, place) }
    }

    fn renamed(&self, variables: Arc<[Variable]>, domains: Vec<Vec<usize>>, name: impl Fn(VarId) -> VarId) -> Circuit {
        let added = &self.graph.cards()[self.variables.len()..];
        let cards = domains.iter().map(Vec::len).chain(added.iter().copied()).collect();
        let all = |vars: &VarSet| vars.iter().map(&name).collect();
        Circuit {
            target: self.target.map(&name),
            inputs: all(&self.inputs),
            hard: all(&self.hard),
            graph: self.graph.renamed(cards, &name),
            variables,
            domains,
            ..self.clone()
        }
    }
}

impl Reader<'_> {
    /// A test, whose parts must fit together.
    pub(super) fn stage(&self, index: usize, testing: &Testing) -> Result<Stage> {
        let var = |v: usize| (v < self.header.variables.len()).then(|| VarId::new(v)).ok_or_else(misfit);
        let selection = self.selection(&testing.selection)?;
        let by = match &selection {
            Selection::Softmax { of, .. } => {
                By::Evidence(of.iter().map(|&v| (v, self.header.variables[v.index()].values.len())).collect())
            }
            _ => By::Posterior(Box::new(self.test_circuit(index, &testing.variables)?)),
        };
        let Testing { copies, ref thresholds, .. } = *testing;
        let input = var(testing.input)?;
        let entries = self.header.variables[input.index()].values.len();
        let test = Test { copies, thresholds: thresholds.clone(), selection };
        let stage = Stage { tested: var(testing.tested)?, selector: var(testing.selector)?, input, entries, test, by };
        if fits(&stage) && self.is_apart(&stage) { Ok(stage) } else { Err(misfit()) }
    }

    /// Whether what a test computes is about variables that are not the network's, and of no other test.
    fn is_apart(&self, stage: &Stage) -> bool {
        let visible = self.header.visible.unwrap_or(usize::MAX);
        let is_hidden = |v: VarId| v.index() >= visible;
        let of = self.header.tests.iter().filter(|testing| testing.input == stage.input.index());
        is_hidden(stage.input) && stage.family().is_none_or(|v| is_hidden(v) && v != stage.input) && of.count() == 1
    }

    fn selection(&self, selection: &Selecting) -> Result<Selection> {
        Ok(match selection {
            Selecting::Linear => Selection::Linear,
            Selecting::Sigmoid { slope, learned } => Selection::Sigmoid { slope: *slope, is_learned: *learned },
            Selecting::Step(sign) => {
                let found = Comparison::ALL.into_iter().find(|comparison| comparison.sign() == sign);
                Selection::Step(found.ok_or_else(misfit)?)
            }
            Selecting::Softmax { of, weights, biases } => {
                let is_known = of.iter().all(|&v| v < self.header.variables.len());
                let of = of.iter().filter(|_| is_known).map(|&v| VarId::new(v)).collect();
                Selection::Softmax { of, weights: weights.clone(), biases: biases.clone() }
            }
        })
    }

    /// The circuit of a test, which has some of the variables.
    fn test_circuit(&self, index: usize, places: &[usize]) -> Result<Circuit> {
        let circuit = Circuit::read(self.tensor(&format!("test.{index}"), Dtype::U8)?, false)?;
        let names = &self.header.variables;
        let same = |(own, &place): (&Variable, &usize)| {
            names.get(place).is_some_and(|other| own.name == other.name && own.values == other.values)
        };
        let is_increasing = places.is_sorted_by(|a, b| a < b);
        let is_alike = circuit.variables.len() == places.len() && circuit.variables.iter().zip(places).all(same);
        let is_test = circuit.tests.is_empty() && circuit.target.is_some() && circuit.completion.is_none();
        match is_alike && is_increasing && is_test {
            true => Ok(circuit.widened(places, self.named())),
            false => Err(misfit()),
        }
    }
}

fn misfit() -> crate::error::Error {
    damaged("a test does not fit the circuit")
}

fn fits(stage: &Stage) -> bool {
    let Test { copies, thresholds, selection } = &stage.test;
    if *copies < 2 || !stage.entries.is_multiple_of(*copies) {
        return false;
    }
    let rows = stage.entries / copies;
    let needed = if selection.has_thresholds() { rows * (copies - 1) } else { 0 };
    let are_numbers = |numbers: &[f64]| numbers.iter().all(|x| x.abs() <= LARGEST_WEIGHT);
    let is_seen = match &stage.by {
        By::Posterior(circuit) => circuit.target.is_some_and(|family| circuit.variable(family).values.len() == rows),
        By::Evidence(of) => !of.is_empty(),
    };
    is_seen
        && thresholds.len() == needed
        && are_numbers(thresholds)
        && match selection {
            Selection::Step(_) => true,
            Selection::Linear => *copies == 2,
            Selection::Sigmoid { slope, .. } => slope.is_finite() && *slope > 0.0,
            Selection::Softmax { weights, biases, .. } => {
                let By::Evidence(of) = &stage.by else { return false };
                let width: usize = of.iter().map(|(_, card)| card).sum();
                weights.len() == width * biases.len()
                    && (biases.len() == *copies || biases.len() == rows * copies)
                    && are_numbers(weights)
                    && are_numbers(biases)
            }
        }
}
