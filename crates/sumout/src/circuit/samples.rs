//! Draws from the posterior of all variables together, for each example of a batch.
//!
//! A pass forward sums products, as for P(e). Then every draw goes back from the output: a step
//! whose kept axes are decided decides its summed axes, each of its products as likely as its share
//! of their sum. That is exact: no draw is rejected, and none depends on another.

use std::ops::Range;
use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::circuit::batch::Batch;
use crate::circuit::run::{
    Block, Careful, EvalOptions, Fast, Few, Job, Pass, Runner, Setup, likelihood,
};
use crate::circuit::{Circuit, Options};
use crate::compile::{Completion, Level, Query};
use crate::control::Control;
use crate::error::{Error, ErrorKind, Remedy, Result};
use crate::model::{Dataset, Evidence, Finding, Network};
use crate::tensor::careful::{Run, Trace};
use crate::tensor::fast::{Number, Worker};
use crate::tensor::schedule::Want;
use crate::vars::VarId;

/// Draws are streams of a seed: the upper bits of a stream are the example, the lower ones the draw.
const DRAW_BITS: u32 = 40;

impl Circuit {
    /// Draws from the posterior of all variables together: for each example the draws with these
    /// numbers, one after the other, each with the position of the value of each
    /// [target](Circuit::targets); -1 where the evidence is impossible.
    ///
    /// The circuit must have been compiled for [explanations](Query::explain), at a level up to
    /// `tables`. A draw depends on the seed, its example and its own number alone.
    ///
    /// ```
    /// use sumout::{Batch, Column, Level, Network, Options, Query};
    ///
    /// let asia = Network::read("asia")?;
    /// let options = Options::default().with_level(Level::Tables);
    /// let circuit = asia.compile(&Query::explain().given(["xray"]), &options)?;
    /// let batch = Batch::new(2).with(&circuit, "xray", Column::Values(vec![0, 1]))?;
    /// let draws = circuit.sample(&batch, 0..100, 1)?;
    /// assert_eq!(draws.len(), 2 * 100 * 8);
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn sample(&self, batch: &Batch, draws: Range<u64>, seed: u64) -> Result<Vec<i32>> {
        let completion = self.completion.clone().ok_or_else(no_samples)?;
        if !completion.decoders.is_empty() {
            let message = "the circuit is over reachable states, which were merged for maxima";
            let error = Error::new(ErrorKind::Unsupported, message);
            return Err(error.hint(Remedy::Set {
                option: "level",
                value: "tables",
            }));
        }
        let setup = Setup {
            want: Want::Everything,
            each: &[],
            few: Few::Carefully,
            options: &EvalOptions::precise(),
        };
        let runner = Runner::new(self, setup)?;
        let draws = Draws {
            trace: Trace::new(&self.graph, runner.program()),
            circuit: self.clone(),
            variables: self.targets(),
            completion,
            draws,
            seed,
        };
        Ok(runner.run(&draws, batch, &Control::NONE)?.items)
    }
}

impl Network {
    /// Draws `rows` cases from the posterior given some evidence; none if the evidence is
    /// impossible. The same seed gives the same cases. Levels above `tables` count as `tables`.
    ///
    /// ```
    /// use sumout::{Evidence, Network, Options};
    ///
    /// let asia = Network::read("asia")?;
    /// let evidence = Evidence::new().observe(&asia, "dysp", "yes")?;
    /// let cases = asia.sample_given(100, 1, &evidence, &Options::default())?.unwrap();
    /// assert!(cases.rows().all(|case| case[7] == Some(0))); // `dysp` is "yes" in all of them
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn sample_given(
        &self,
        rows: u64,
        seed: u64,
        evidence: &Evidence,
        options: &Options,
    ) -> Result<Option<Dataset>> {
        let (circuit, batch) = self.posterior_circuit(evidence, options)?;
        let drawn = circuit.sample(&batch, 0..rows, seed)?;
        let mut cases = Dataset::new(self.ids().collect::<Vec<_>>());
        let variables = circuit.targets();
        for draw in drawn.chunks_exact(variables.len().max(1)) {
            let mut case: Vec<Option<u32>> = self.ids().map(|v| observed(evidence, v)).collect();
            let values = variables.iter().zip(draw);
            values.for_each(|(v, &at)| case[v.index()] = u32::try_from(at).ok());
            if case.contains(&None) {
                return Ok(None);
            }
            cases.push(self, &case)?;
        }
        Ok(Some(cases))
    }

    /// A circuit that draws cases from the posterior given some evidence, and that evidence as a
    /// batch of one example.
    pub fn posterior_circuit(
        &self,
        evidence: &Evidence,
        options: &Options,
    ) -> Result<(Circuit, Batch)> {
        // Hard inputs are no targets, and one is needed to tell whether the evidence is possible.
        let is_hard = |finding: &Finding| matches!(finding, Finding::Hard(_));
        let hard = evidence.iter().filter(|(_, finding)| is_hard(finding));
        let is_open = hard.count() < self.variables().len();
        let names = |wanted: bool| {
            let named = evidence
                .iter()
                .filter(move |(_, finding)| (is_open && is_hard(finding)) == wanted);
            named.map(|(v, _)| self.variable(v).name.clone())
        };
        let level = match options.level() {
            Level::Auto | Level::Support | Level::Compiled => Level::Tables,
            level => level,
        };
        let query = Query::explain().given(names(false)).hard(names(true));
        let circuit = self.compile(&query, &options.clone().with_level(level))?;
        let batch = Batch::of(&circuit, evidence)?;
        Ok((circuit, batch))
    }
}

/// The value of a variable that was observed.
fn observed(evidence: &Evidence, v: VarId) -> Option<u32> {
    match evidence.get(v) {
        Some(Finding::Hard(value)) => Some(*value as u32),
        _ => None,
    }
}

/// The draws of each example.
struct Draws {
    circuit: Circuit,
    trace: Trace,
    completion: Arc<Completion>,
    variables: Vec<VarId>,
    draws: Range<u64>,
    seed: u64,
}

impl Draws {
    /// The random numbers of a draw.
    fn rng(&self, row: usize, draw: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream((row as u64) << DRAW_BITS | draw);
        rng
    }

    /// Draws from what was summed for an example.
    fn draw(&self, run: &Run<'_>, row: usize, values: &mut [i32]) {
        let mut states = vec![];
        let width = self.variables.len().max(1);
        for (draw, values) in self.draws.clone().zip(values.chunks_exact_mut(width)) {
            run.draw(&self.trace, &mut states, &mut self.rng(row, draw));
            let cards = self.circuit.graph.cards();
            self.completion.complete(cards, &mut states);
            for (to, v) in values.iter_mut().zip(&self.variables) {
                *to = self.circuit.possible(*v)[states[v.index()].unwrap_or(0)] as i32;
            }
        }
    }
}

impl Pass for Draws {
    type Item = i32;

    const BLANK: i32 = -1;

    fn width(&self) -> usize {
        (self.draws.end - self.draws.start) as usize * self.variables.len()
    }
}

/// Draws go back through tensors that blocks do not keep: all examples are left to the careful
/// executor.
impl<T: Number> Fast<T> for Draws {
    fn block(&self, _: &mut Worker<'_, T>, _: Block<'_, i32>) {}
}

impl Careful for Draws {
    fn careful<'a>(
        &'a self,
        runner: &'a Runner,
        job: &'a Job<'a>,
    ) -> impl FnMut(usize, &mut [i32]) -> Result<f64> + 'a {
        |row, values| {
            let evidence = |v| likelihood(&self.circuit, job.batch, v, row);
            let graph = &self.circuit.graph;
            let run = Run::sum_under(job.control, graph, runner.program(), evidence)?;
            let log = run.log_sum();
            if log > f64::NEG_INFINITY {
                self.draw(&run, row, values);
            }
            Ok(log)
        }
    }
}

/// A circuit for posteriors has summed out most variables before evidence is known.
fn no_samples() -> Error {
    let error = Error::new(
        ErrorKind::Unsupported,
        "the circuit is for posteriors, and cannot draw all variables together",
    );
    error.hint(Remedy::CompileToExplain)
}
