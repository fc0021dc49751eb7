//! Differentiates through the tests of a circuit.
//!
//! The circuit's derivatives with respect to what a test selected become those with respect to its thresholds, and to the
//! posterior p that it tested; and with p(u) = out(u) / Σ out(v) these become those of the test's own circuit:
//!
//! ```text
//! ∂L / ∂out(u) = (∂L/∂p(u) - Σ p(v) ∂L/∂p(v)) / Σ out(v)
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::ThreadPool;

use super::select::{Selected, indicators};
use super::{By, Stage, sums};
use crate::circuit::Circuit;
use crate::circuit::batch::Batch;
use crate::circuit::differentiate::{Derivatives, Differentiator};
use crate::circuit::evaluate::{Precision, Running, loaded};
use crate::error::Result;
use crate::model::{Slopes, Test};
use crate::tensor::TableId;
use crate::vars::VarId;

/// The derivatives of the sum of all losses with respect to all that a test depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct TestDerivatives {
    /// The variable whose CPT is selected.
    pub tested: VarId,
    /// For each table of the test's circuit that can be trained, in the order of its origins, the derivatives with respect
    /// to its numbers; none unless tests are trained.
    pub tables: Vec<Vec<f64>>,
    /// For each row and each copy, with respect to the length of the interval of posteriors that selects the copy.
    pub gaps: Vec<f64>,
    /// With respect to the logarithm of a slope that is learned, or to the weights and biases of a softmax.
    pub free: Vec<f64>,
}

/// The tests of a circuit, ready to be differentiated. Their numbers can be changed.
#[derive(Debug, Default)]
pub(in crate::circuit) struct Tuning<'c> {
    pub stages: Vec<TunedStage<'c>>,
    /// The inputs whose derivatives are asked for, and that tests see as they are.
    asked: Vec<VarId>,
    /// The families whose posteriors later tests read.
    sums: BTreeSet<VarId>,
}

#[derive(Debug)]
pub(in crate::circuit) struct TunedStage<'c> {
    pub stage: &'c Stage,
    pub test: Test,
    pub circuit: Option<Differentiator<'c>>,
    /// The families whose posteriors the circuit reads.
    reads: Vec<VarId>,
}

/// What is less probable before a test is impossible behind it, where examples are learned from: it would be too small beside others.
const NOTHING: f64 = 1e-150;

/// What each stage saw of each example.
type Seen = Vec<Vec<f64>>;

/// Derivatives with respect to likelihoods: for each example, of the values that a circuit has left.
type ByInput = BTreeMap<VarId, Vec<f64>>;

impl<'c> Tuning<'c> {
    /// `inputs` are those whose likelihoods derivatives are asked for.
    pub fn new(
        circuit: &'c Circuit,
        inputs: &[VarId],
        with_tables: bool,
        options: &Running,
        pool: &Arc<ThreadPool>,
    ) -> Result<Self> {
        let options = &Running { precision: Precision::F64, ..*options };
        let stages: Vec<&Stage> = circuit.tests.iter().collect();
        let is_tested = |v: &VarId| {
            let mut of =
                stages.iter().filter_map(|stage| if let By::Evidence(of) = &stage.by { Some(of) } else { None });
            of.any(|of| of.iter().any(|(u, _)| u == v))
        };
        let asked = inputs.iter().copied().filter(is_tested).collect();
        let sums = sums(&circuit.tests);
        let given = stages.iter().map(|stage| stage.input).chain(sums.iter().copied());
        let inputs: Vec<VarId> = inputs.iter().copied().chain(given).collect();
        let ready = |stage: &'c Stage| {
            let ready = |circuit: &'c Circuit| {
                let all = || circuit.graph.origins().keys().copied().collect();
                let tables: Vec<TableId> = if with_tables { all() } else { vec![] };
                Ok(Differentiator::new(circuit, &tables, &inputs, options, Some(pool))?.by_numbers())
            };
            let read = stage.circuit().into_iter().flat_map(|circuit| loaded(&circuit.graph));
            let reads = read.filter(|v| sums.contains(v)).collect();
            Ok(TunedStage { stage, test: stage.test.clone(), circuit: stage.circuit().map(ready).transpose()?, reads })
        };
        let stages = stages.into_iter().map(ready).collect::<Result<_>>()?;
        Ok(Tuning { stages, asked, sums })
    }

    /// The batch with what is selected for each example, and what each test saw.
    pub fn select<'b>(&self, batch: &'b Batch) -> (Selected<'b>, Seen) {
        let mut selected = Selected::new(batch, !self.stages.is_empty());
        let mut all = vec![];
        for TunedStage { stage, test, circuit, .. } in &self.stages {
            let seen = match (&stage.by, circuit) {
                (By::Posterior(of), Some(circuit)) => {
                    let found = circuit.run_main(&selected.batch, None);
                    selected.mark(&found.log_evidence);
                    of.target.map_or(vec![], |family| of.spread(family, &found.posteriors, batch.len()))
                }
                (By::Evidence(of), _) => indicators(&selected.batch, of),
                (By::Posterior(_), None) => unreachable!("a test of a posterior has a circuit"),
            };
            selected.give(stage, test, &seen);
            let read = seen.iter().map(|&p| if p < NOTHING { 0.0 } else { p }).collect();
            selected.sum_up(stage, &self.sums, read, vec![]);
            all.push(seen);
        }
        (selected, all)
    }

    /// Goes back through all tests: adds to derivatives with respect to evidence, and says those of the tests.
    pub fn differentiate(
        &self,
        selected: &Selected<'_>,
        seen: &Seen,
        evidence: &mut Vec<(VarId, Vec<f64>)>,
        domains: &[Vec<usize>],
    ) -> Vec<TestDerivatives> {
        if self.stages.is_empty() {
            return vec![];
        }
        let mut by_input: ByInput = std::mem::take(evidence).into_iter().collect();
        for var in &self.asked {
            let left = domains[var.index()].len();
            by_input.entry(*var).or_insert_with(|| vec![0.0; selected.batch.len() * left]);
        }
        let mut found: Vec<TestDerivatives> = vec![];
        for (stage, seen) in self.stages.iter().zip(seen).rev() {
            let given = by_input.remove(&stage.stage.input).unwrap_or_default();
            found.push(stage.differentiate(selected, seen, &given, &mut by_input, domains));
        }
        found.reverse();
        *evidence = by_input.into_iter().collect();
        found
    }
}

impl TunedStage<'_> {
    fn differentiate(
        &self,
        selected: &Selected<'_>,
        seen: &[f64],
        given: &[f64],
        to: &mut ByInput,
        domains: &[Vec<usize>],
    ) -> TestDerivatives {
        let rows = selected.batch.len();
        let (width, entries) = (seen.len() / rows.max(1), self.stage.entries);
        let read = self.stage.family().and_then(|family| to.remove(&family));
        let mut by_seen = read.unwrap_or_else(|| vec![0.0; seen.len()]);
        let (mut gaps, mut free) = (vec![0.0; entries], vec![0.0; self.test.free().len()]);
        for (row, given) in given.chunks_exact(entries).enumerate().filter(|(row, _)| !selected.is_refused(*row)) {
            let own = row * width..(row + 1) * width;
            let mut slopes = Slopes { seen: &mut by_seen[own.clone()], gaps: &mut gaps, free: &mut free };
            self.test.differentiate(&seen[own], given, &mut slopes);
        }
        let tables = match &self.stage.by {
            By::Posterior(circuit) => self.differentiate_posterior(circuit, selected, seen, &by_seen, to),
            By::Evidence(of) => {
                differentiate_indicators(&selected.batch, of, &by_seen, to, domains);
                vec![]
            }
        };
        TestDerivatives { tested: self.stage.tested, tables, gaps, free }
    }

    /// Adds derivatives with respect to the inputs of the test's circuit; says those with respect to its tables.
    fn differentiate_posterior(
        &self,
        circuit: &Circuit,
        selected: &Selected<'_>,
        seen: &[f64],
        by_seen: &[f64],
        to: &mut ByInput,
    ) -> Vec<Vec<f64>> {
        let domain = circuit.target.map_or(&[][..], |family| circuit.possible(family));
        let width = seen.len() / selected.batch.len().max(1);
        let derive = |row: usize, posterior: &[f64], g: &mut [f64]| {
            let slopes = &by_seen[row * width..][..width];
            let mean: f64 = posterior.iter().zip(domain).map(|(p, &u)| p * slopes[u]).sum();
            g.iter_mut().zip(domain).for_each(|(g, &u)| *g = slopes[u] - mean);
        };
        let Some(ready) = &self.circuit else { return vec![] };
        let skip = |row: usize, posterior: &[f64], g: &mut [f64]| {
            if !selected.is_refused(row) && domain.len() > 1 {
                derive(row, posterior, g);
            }
        };
        let Derivatives { tables, evidence, .. } = ready.run_main(&selected.batch, Some(&skip));
        for (var, numbers) in evidence {
            match self.reads.contains(&var) {
                true => add(to, var, &circuit.spread(var, &numbers, selected.batch.len())),
                false => add(to, var, &numbers),
            }
        }
        tables
    }
}

/// Adds derivatives with respect to likelihoods, where they are asked for.
fn add(to: &mut ByInput, var: VarId, numbers: &[f64]) {
    let known = to.entry(var).or_insert_with(|| vec![0.0; numbers.len()]);
    known.iter_mut().zip(numbers).for_each(|(to, x)| *to += x);
}

/// Indicators are likelihoods, divided by their sum.
fn differentiate_indicators(
    batch: &Batch,
    of: &[(VarId, usize)],
    by_seen: &[f64],
    to: &mut ByInput,
    domains: &[Vec<usize>],
) {
    let width: usize = of.iter().map(|(_, card)| card).sum();
    let mut start = 0;
    for &(var, card) in of {
        let domain = &domains[var.index()];
        let likelihood =
            |row: usize, value: usize| batch.get(var).map_or(1.0, |column| column.likelihood(row, value, card));
        if let Some(known) = to.get_mut(&var) {
            for (row, known) in known.chunks_exact_mut(domain.len()).enumerate() {
                let by = &by_seen[row * width + start..][..card];
                let total: f64 = (0..card).map(|value| likelihood(row, value)).sum();
                let mean: f64 = (0..card).map(|value| likelihood(row, value) * by[value]).sum::<f64>() / total;
                let slopes = domain.iter().map(|&value| if total > 0.0 { (by[value] - mean) / total } else { 0.0 });
                known.iter_mut().zip(slopes).for_each(|(to, x)| *to += x);
            }
        }
        start += card;
    }
}
