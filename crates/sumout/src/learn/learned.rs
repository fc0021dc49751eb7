//! What was learned: as a network, as circuits, and whether the two agree.
//!
//! A CPT that is declared functional and learned is a function only in the end. Until then a
//! circuit that relies on the promise is not the network's: it is saved as it was trained, and
//! [`Training::difference`] says how far the two are apart.

use crate::circuit::batch::{Answers, Column};
use crate::circuit::compiled::nothing_possible;
use crate::circuit::{Circuit, EvalOptions, Options, Precision, selection};
use crate::compile;
use crate::compile::{Level, Question, Search, prune};
use crate::error::{Error, ErrorKind, Result};
use crate::learn::Params;
use crate::learn::training::{Examples, Head, Subject, Training};
use crate::model::{Network, Test};
use crate::tensor::TableId;
use crate::vars::{VarId, VarSet};

impl Training {
    /// The network with these parameters.
    pub fn network(&self, params: &Params) -> Network {
        let is_own = |(var, _): &(VarId, &[f64])| var.index() < self.net.variables().len();
        let net = self.net.with_tables(params.tables().filter(is_own));
        let tests = self.expanded.iter().flat_map(|expanded| &expanded.tests);
        let tuned: Vec<(VarId, Test)> = tests
            .map(|testing| {
                let mut test = testing.test.clone();
                params.tune(&mut test, testing.selector, testing.input);
                (testing.tested, test)
            })
            .collect();
        net.with_tests(tuned.iter().map(|(tested, test)| (*tested, test)))
    }

    /// The circuits with these parameters, each with its target.
    pub fn trained(&self, params: &Params) -> Vec<(Circuit, Option<VarId>)> {
        self.heads
            .iter()
            .map(|head| (head.with(params), head.target))
            .collect()
    }

    /// How far the circuits as they were trained are from the network that they stand for, on some
    /// examples: the largest difference of posteriors, without a target of ln P(e). Zero, up to
    /// rounding, unless CPTs were declared functional and are not.
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
            let rows: Vec<usize> = (0..exact.most.min(examples.len())).collect();
            let of = |circuit: &Circuit| {
                let batch = examples.batch_for(circuit)?.select(circuit, &rows);
                circuit
                    .evaluator(&EvalOptions {
                        precision: Precision::F64,
                        ..self.running
                    })?
                    .run(&batch)
            };
            let (ours, truth) = (of(&trained)?, of(&exact.circuit)?);
            found.largest = found
                .largest
                .max(apart(&ours, &truth, trained.target.is_some()));
            found.examples = found.examples.min(rows.len());
            found.unthinned &= exact.unthinned;
        }
        Ok(found)
    }

    /// The mean loss of examples, whichever were learned from, and the share of labels that are
    /// found; none without labels.
    pub fn measure(&self, params: &Params, examples: &Examples) -> Result<(f64, Option<f64>)> {
        let mut trainer = self.trainer(examples)?;
        trainer.adopt(params);
        trainer.measure()
    }
}

/// How far circuits are from the network that they stand for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The largest difference.
    pub largest: f64,
    /// The number of examples that it was looked for in.
    pub examples: usize,
    /// Whether the circuits were compared with ones that use no functions at all; if those were too
    /// large, with ones that use only what is a function already.
    pub unthinned: bool,
}

fn apart(ours: &Answers, truth: &Answers, has_target: bool) -> f64 {
    let (ours, truth) = match has_target {
        true => (&ours.posteriors, &truth.posteriors),
        false => (&ours.log_evidence, &truth.log_evidence),
    };
    let distance = |(x, y): (&f64, &f64)| if x == y { 0.0 } else { (x - y).abs() };
    ours.iter().zip(truth).map(distance).fold(0.0, f64::max)
}

/// The same question to a network whose numbers are what they are, and whose promises count for
/// nothing.
struct Exact {
    circuit: Circuit,
    /// On so many examples it can be run in some seconds.
    most: usize,
    unthinned: bool,
}

/// No check takes more products than this, which is some seconds.
const MOST: f64 = 1e10;

/// So many examples of a testing network are checked.
const TESTED: usize = 1000;

impl Exact {
    fn new(net: &Network, trained: &Circuit, options: &Options) -> Result<Self> {
        let targets: VarSet = trained.target.into_iter().collect();
        let question = Question {
            targets,
            inputs: trained.inputs.clone(),
            ..Question::default()
        };
        for level in [Level::Classical, Level::Auto] {
            let search = Search {
                level,
                thorough: true,
                ..options.search()
            };
            if net.is_testing() {
                let circuit = selection::compile(net, question, &search)?;
                return Ok(Exact {
                    circuit,
                    most: TESTED,
                    unthinned: level == Level::Classical,
                });
            }
            let planned =
                compile::plan(net, &question, &search).ok_or_else(|| nothing_possible(net))?;
            let cost = planned.cost();
            let most =
                ((MOST - cost.constant_multiply_adds) / cost.multiply_adds.max(1.0)) as usize;
            if most > 0 {
                let circuit = Circuit::new(net, question, planned.lower());
                return Ok(Exact {
                    circuit,
                    most,
                    unthinned: level == Level::Classical,
                });
            }
        }
        Err(Error::new(
            ErrorKind::Model,
            "an exact plan is too large to be run",
        ))
    }
}

impl Head {
    /// The circuit with other parameters.
    fn with(&self, params: &Params) -> Circuit {
        let mut circuit = self.circuit.clone();
        circuit.set(params);
        circuit
    }
}

impl Circuit {
    /// Takes over the numbers of parameters.
    fn set(&mut self, params: &Params) {
        let origins: Vec<TableId> = self.graph.origins().keys().copied().collect();
        for table in origins {
            let numbers = params.numbers_of(&self.graph.origins()[&table]);
            self.set_table(table, &numbers);
        }
    }
}

impl Network {
    /// Maximum likelihood by counting, if the families of all CPTs to be learned are there in every
    /// example; none if not.
    pub fn count(
        &self,
        subject: &Subject,
        examples: &Examples,
        prior: f64,
    ) -> Result<Option<Params>> {
        let children: Vec<VarId> = subject.trainable(self).iter().collect();
        let is_promised = |v: &VarId| self.cpts()[v.index()].role().functional;
        if children.is_empty() || children.iter().any(is_promised) || self.is_testing() {
            return Ok(None);
        }
        let is_asked = |v: VarId| subject.given.contains(v) || subject.targets.contains(&v);
        let trainable = subject.trainable(self);
        let question = Question {
            targets: self.ids().collect(),
            trainable,
            ..Question::default()
        };
        let domains = prune::prune(self, &question)
            .ok_or_else(|| nothing_possible(self))?
            .domains;
        let mut params = Params::new(self, &children, &[], &domains, subject.strict_ties)?;
        let mut counts = vec![0.0; params.len()];
        for &child in &children {
            let scope = self.cpts()[child.index()].scope();
            let Some(columns) = scope
                .iter()
                .map(|&v| complete(self, examples, v).filter(|_| is_asked(v)))
                .collect::<Option<Vec<_>>>()
            else {
                return Ok(None);
            };
            let mut table = vec![0.0; self.cpts()[child.index()].size(&self.cards())];
            for row in 0..examples.len() {
                let place = scope
                    .iter()
                    .zip(&columns)
                    .fold(0, |at, (&v, c)| at * self.card(v) + c[row] as usize);
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
        Some(Column::Values(values))
            if values.len() == examples.len() && values.iter().all(is_value) =>
        {
            Some(values)
        }
        _ => None,
    }
}
