//! Posteriors of each example of a batch.
//!
//! Of one target, the circuit's output is P(target, e). Of several, its output is P(e), and a
//! backward pass gives all of them: P(x | e) = λ_x · ∂ ln P(e) / ∂λ_x.

use crate::circuit::batch::{Answers, Batch};
use crate::circuit::run::{
    Block, Careful, EvalOptions, Fast, Few, Job, Pass, Precision, RowState, Runner, Setup,
    likelihood, seed_shares, settle,
};
use crate::circuit::{Answer, Circuit};
use crate::control::Control;
use crate::error::Result;
use crate::model::Evidence;
use crate::tensor::careful::Run;
use crate::tensor::fast::{Number, Worker};
use crate::tensor::layout::Program;
use crate::tensor::schedule::Want;
use crate::tensor::{Graph, NodeId, Op};
use crate::vars::{VarId, VarSet};

/// A circuit that is ready to evaluate batches.
#[derive(Debug)]
pub struct Evaluator {
    runner: Runner,
    posteriors: Posteriors,
}

impl Evaluator {
    pub(crate) fn new(circuit: &Circuit, options: &EvalOptions) -> Result<Self> {
        let posteriors = if options.of_inputs {
            let soft = &circuit.inputs - &circuit.hard;
            Posteriors::by_derivatives(circuit, soft.iter().collect())
        } else {
            Posteriors::new(circuit, circuit.targets())
        };
        let want = if posteriors.by_output {
            Want::Output
        } else {
            Want::Marginals(posteriors.open())
        };
        let setup = Setup {
            want,
            each: &[],
            few: Few::Alone,
            options,
        };
        Ok(Evaluator {
            runner: Runner::new(circuit, setup)?,
            posteriors,
        })
    }

    /// The circuit that is evaluated.
    pub fn circuit(&self) -> &Circuit {
        self.runner.circuit()
    }

    /// The numbers that it computes with.
    pub fn precision(&self) -> Precision {
        self.runner.precision()
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.runner.threads()
    }

    /// How many examples of a batch are computed at once by a thread.
    pub fn block(&self, rows: usize) -> usize {
        self.runner.block(rows)
    }

    /// The posteriors of a batch.
    pub fn run(&self, batch: &Batch) -> Result<Answers> {
        let answers = self.run_unless(batch, &Control::NONE)?;
        Ok(answers.expect("nothing stops it"))
    }

    /// The posteriors of a batch, unless it is stopped while it runs.
    pub fn run_unless(&self, batch: &Batch, control: &Control) -> Result<Option<Answers>> {
        let rows = self.runner.run(&self.posteriors, batch, control)?;
        Ok(rows.logs().map(|log_evidence| Answers {
            targets: self.posteriors.with_cards().collect(),
            posteriors: rows.items,
            log_evidence,
        }))
    }

    /// The posteriors of one example: of some evidence on the inputs.
    pub fn answer(&self, evidence: &Evidence) -> Result<Answer> {
        let answer = self.answer_unless(evidence, &Control::NONE)?;
        Ok(answer.expect("nothing stops it"))
    }

    /// The posteriors of one example, unless it is stopped while it runs.
    pub fn answer_unless(&self, evidence: &Evidence, control: &Control) -> Result<Option<Answer>> {
        let found = self.run_unless(&Batch::of(self.circuit(), evidence)?, control)?;
        Ok(found.map(|found| self.posteriors.answer(found.row(0), found.log_evidence[0])))
    }
}

/// The posteriors of some variables.
#[derive(Debug)]
pub(crate) struct Posteriors {
    circuit: Circuit,
    targets: Vec<VarId>,
    /// Whether the one posterior is read from the output, and not from derivatives.
    by_output: bool,
}

impl Posteriors {
    /// Those that a circuit was compiled for, in any order.
    pub fn new(circuit: &Circuit, targets: Vec<VarId>) -> Self {
        Posteriors {
            circuit: circuit.clone(),
            targets,
            by_output: circuit.target().is_some(),
        }
    }

    /// Those of some inputs.
    fn by_derivatives(circuit: &Circuit, inputs: Vec<VarId>) -> Self {
        Posteriors {
            circuit: circuit.clone(),
            targets: inputs,
            by_output: false,
        }
    }

    /// The targets with more than one value left.
    fn open(&self) -> VarSet {
        let targets = self.targets.iter().copied();
        targets
            .filter(|v| self.circuit.possible(*v).len() > 1)
            .collect()
    }

    /// The targets with the numbers of their values.
    fn with_cards(&self) -> impl Iterator<Item = (VarId, usize)> {
        let targets = self.targets.iter().copied();
        targets.map(|v| (v, self.circuit.variable(v).values.len()))
    }

    /// The posterior of the one target is the output, divided by its sum.
    fn read_output<T: Number>(&self, worker: &Worker<'_, T>, sums: &[f64], items: &mut [f64]) {
        let (target, width) = (self.targets[0], self.width());
        let domain = self.circuit.possible(target);
        if let [only] = domain[..] {
            items
                .chunks_exact_mut(width)
                .for_each(|row| row[only] = 1.0);
            return;
        }
        let Some(output) = worker.output() else {
            return;
        };
        for (&value, numbers) in domain.iter().zip(output.chunks_exact(worker.lanes())) {
            let rows = items.chunks_exact_mut(width).zip(numbers).zip(sums);
            rows.filter(|(_, sum)| **sum > 0.0)
                .for_each(|((row, x), sum)| row[value] = x.to_f64() / sum);
        }
    }

    /// The posteriors of all targets are derivatives.
    fn read_adjoints<T: Number>(
        &self,
        worker: &Worker<'_, T>,
        sums: &[f64],
        block: &mut Block<'_, f64>,
    ) {
        let (lanes, width) = (worker.lanes(), self.width());
        let mut start = 0;
        for (var, card) in self.with_cards() {
            let domain = self.circuit.possible(var);
            let rows = block.items.chunks_exact_mut(width);
            match (worker.adjoint(var), worker.evidence_of(var)) {
                (Some(adjoint), Some(evidence)) => {
                    for (lane, row) in rows.enumerate() {
                        let product = |k: usize| {
                            adjoint[k * lanes + lane].to_f64() * evidence[k * lanes + lane].to_f64()
                        };
                        let total: f64 = (0..domain.len()).map(product).sum();
                        if !is_close_to_one(total) && sums[lane] > 0.0 {
                            block.states[lane] = RowState::Lost;
                        }
                        let values = domain.iter().enumerate();
                        values.for_each(|(k, &value)| row[start + value] = product(k) / total);
                    }
                }
                _ => rows.for_each(|row| row[start + domain[0]] = 1.0),
            }
            start += card;
        }
    }

    /// Runs one example by the careful executor; writes its posteriors, side by side, to zeros, and
    /// gives ln P(e).
    pub fn read_carefully(
        &self,
        control: &Control,
        program: &Program,
        evidence: impl Fn(VarId) -> Vec<f64>,
        mut to: &mut [f64],
    ) -> Result<f64> {
        let graph = &self.circuit.graph;
        let run = Run::sum_under(control, graph, program, evidence)?;
        let log_evidence = run.log_sum();
        if log_evidence == f64::NEG_INFINITY {
            return Ok(log_evidence);
        }
        for (var, card) in self.with_cards() {
            let (own, others) = to.split_at_mut(card);
            to = others;
            let domain = self.circuit.possible(var);
            let weights = match domain.len() {
                1 => vec![1.0],
                _ if self.by_output => run.output(),
                _ => run.weighted(input(graph, var)),
            };
            let total: f64 = weights.iter().sum();
            let values = domain.iter().zip(&weights);
            values.for_each(|(&value, weight)| own[value] = weight / total);
        }
        Ok(log_evidence)
    }

    /// The answer to one example by the careful executor.
    pub fn answer_carefully(
        &self,
        control: &Control,
        program: &Program,
        evidence: impl Fn(VarId) -> Vec<f64>,
    ) -> Result<Answer> {
        let mut row = vec![0.0; self.width()];
        let log_evidence = self.read_carefully(control, program, evidence, &mut row)?;
        Ok(self.answer(&row, log_evidence))
    }

    /// The answer to one example, from its row.
    fn answer(&self, mut row: &[f64], log_evidence: f64) -> Answer {
        let variables = self.circuit.named();
        if log_evidence == f64::NEG_INFINITY {
            return Answer::impossible(variables);
        }
        let posterior = |(var, card)| {
            let (own, others) = row.split_at(card);
            row = others;
            (var, own.to_vec())
        };
        let posteriors = self.with_cards().map(posterior).collect();
        Answer::new(variables, posteriors, log_evidence)
    }
}

impl Pass for Posteriors {
    type Item = f64;

    const BLANK: f64 = 0.0;

    fn width(&self) -> usize {
        self.with_cards().map(|(_, card)| card).sum()
    }
}

impl<T: Number> Fast<T> for Posteriors {
    fn block(&self, worker: &mut Worker<'_, T>, mut block: Block<'_, f64>) {
        worker.forward();
        if worker.is_stopped() {
            return;
        }
        let Some(sums) = settle(worker, block.states) else {
            return;
        };
        if self.by_output {
            self.read_output(worker, &sums, block.items);
        } else {
            seed_shares(worker, &sums);
            self.read_adjoints(worker, &sums, &mut block);
        }
        if worker.is_stopped() {
            return block.states.fill(RowState::Lost);
        }
        let rows = block.items.chunks_exact_mut(self.width());
        for (row, _) in rows.zip(&sums).filter(|(_, sum)| **sum == 0.0) {
            row.fill(0.0);
        }
    }
}

impl Careful for Posteriors {
    fn careful<'a>(
        &'a self,
        runner: &'a Runner,
        job: &'a Job<'a>,
    ) -> impl FnMut(usize, &mut [f64]) -> Result<f64> + 'a {
        |row, to| {
            let evidence = |v| likelihood(&self.circuit, job.batch, v, row);
            self.read_carefully(job.control, runner.program(), evidence, to)
        }
    }
}

fn input(graph: &Graph, var: VarId) -> NodeId {
    let found = graph.find(&Op::Evidence(var));
    found.expect("every target is an input")
}

/// Whether the probabilities of a variable's values add up to one, but for rounding.
fn is_close_to_one(total: f64) -> bool {
    (total - 1.0).abs() < 1e-3
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::model::Network;
    use crate::{Column, Level, Options, Query};

    fn images(model: &str, target: &str, inputs: &str, options: &Options) -> (Circuit, Batch) {
        let net = Network::read(model).unwrap();
        let circuit = net
            .compile(&Query::of(target).given([inputs]), options)
            .unwrap();
        let data = net.sample(64, 1).unwrap();
        let mut batch = Batch::new(64);
        for (k, &var) in data
            .columns()
            .iter()
            .enumerate()
            .filter(|(_, v)| circuit.inputs.contains(**v))
        {
            let values = data
                .rows()
                .map(|row| row[k].map_or(-1, |value| value as i32))
                .collect();
            batch.insert(&circuit, var, Column::Values(values)).unwrap();
        }
        (circuit, batch)
    }

    /// Posteriors of noisy images are as extreme as they come; yet short numbers reach far enough
    /// for nearly all.
    #[test]
    fn few_examples_are_repeated() {
        for (model, target, inputs) in [("rect:20", "label", "pixel_*"), ("digits:10", "d", "p_*")]
        {
            let options = Options::default().with_effort(0.1);
            let (circuit, batch) = images(model, target, inputs, &options);
            let evaluator = circuit.evaluator(&EvalOptions::default()).unwrap();
            let lost = evaluator
                .runner
                .lost_in_32_bits(&evaluator.posteriors, &batch);
            assert!(lost <= 3, "{model}: {lost} of 64");
        }
    }

    /// A stopped run returns nothing, and does not affect the next one.
    #[test]
    fn a_run_can_be_stopped() {
        let asia = Network::read("asia").unwrap();
        let circuit = asia.compile(&Query::all(), &Options::default()).unwrap();
        for precision in Precision::ALL {
            let evaluator = circuit
                .evaluator(&EvalOptions::default().with_precision(precision))
                .unwrap();
            for rows in [1, 100] {
                let batch = Batch::new(rows)
                    .with(&circuit, "xray", Column::Values(vec![0; rows]))
                    .unwrap();
                let control = Control::new();
                control.stop();
                assert_eq!(evaluator.run_unless(&batch, &control).unwrap(), None);
                assert_eq!(
                    evaluator.run_unless(&batch, &Control::new()).unwrap(),
                    Some(evaluator.run(&batch).unwrap())
                );
            }
        }
    }

    /// The steps of a single large example are split among threads, which changes nothing.
    #[test]
    fn large_steps_run_on_several_threads() {
        let options = Options::default()
            .with_level(Level::Classical)
            .with_effort(0.01);
        let (circuit, batch) = images("rect:12", "label", "pixel_*", &options);
        let one = batch.select(&circuit, &[5]);
        let run = |threads: usize, batch: &Batch| {
            let running = EvalOptions::default()
                .with_precision(Precision::F64)
                .with_threads(threads);
            let evaluator = circuit.evaluator(&running).unwrap();
            assert!(evaluator.runner.is_large());
            evaluator.run(batch).unwrap()
        };
        let (alone, together) = (run(1, &one), run(3, &one));
        assert_eq!(alone, together);
        let blocks = run(1, &batch.select(&circuit, &[1, 2, 3, 4, 5]));
        assert!((alone.row(0)[0] - blocks.row(4)[0]).abs() < 1e-12);
    }
}
