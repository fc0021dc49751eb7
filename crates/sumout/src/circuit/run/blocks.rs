//! The blocks of a batch: in parallel, in the fast executor.

use rayon::prelude::*;

use crate::circuit::run::engines::Engines;
use crate::circuit::run::load::load;
use crate::circuit::run::{Fast, Job, RowState, Rows, Runner};
use crate::tensor::fast::{Engine, Number, Worker};

/// Some examples, and where their answers go.
pub(crate) struct Block<'b, I> {
    job: &'b Job<'b>,
    /// The first of them.
    first: usize,
    /// The items of all of them, one after the other.
    pub items: &'b mut [I],
    pub states: &'b mut [RowState],
    /// Their contribution to derivatives with respect to tables, if there are any.
    pub sums: &'b mut [f64],
}

impl<I> Block<'_, I> {
    /// The number of an example in the batch that was given; none if evidence that no block reads
    /// makes it impossible.
    pub fn example(&self, lane: usize) -> Option<usize> {
        let row = self.first + lane;
        let example = self.job.repeated.map_or(row, |rows| rows[row]);
        let weight = self.job.closed.get(example);
        (weight != Some(&f64::NEG_INFINITY)).then_some(example)
    }
}

/// At most this many numbers wait to be added up.
const MAX_WAITING: usize = 1 << 24;

/// At most this many blocks are in a round.
const MAX_ROUND: usize = 64;

impl Runner {
    /// Runs all blocks, as those of the batch that was given. All examples are lost if they are not
    /// for an engine.
    pub(super) fn run_blocks<T: Number, P: Fast<T>>(
        &self,
        engines: &Engines<T>,
        pass: &P,
        job: &Job<'_>,
    ) -> Rows<P::Item> {
        let graph = &self.circuit.graph;
        let mut rows = Rows::blank(pass, job.batch.len());
        let engine = engines.engine(job.whole, graph, &self.schedule);
        let Some(engine) = engine.filter(|_| rows.width > 0) else {
            return rows;
        };
        let blocks = Blocks {
            runner: self,
            engine,
            pass,
            job,
        };
        let mut sums = pass.tables().map_or(vec![], |_| engine.zeros());
        blocks.run(&mut rows, &mut sums);
        if let Some(tables) = pass.tables() {
            rows.tables = engine.differentiate(graph, sums, tables);
        }
        rows
    }
}

/// The blocks of a batch.
struct Blocks<'r, T, P> {
    runner: &'r Runner,
    engine: &'r Engine<T>,
    pass: &'r P,
    job: &'r Job<'r>,
}

impl<T: Number, P: Fast<T>> Blocks<'_, T, P> {
    fn run(&self, rows: &mut Rows<P::Item>, sums: &mut [f64]) {
        let lanes = self.engine.lanes();
        let Rows { items, states, .. } = rows;
        if states.len() <= lanes && !self.engine.is_large() {
            // Waking threads takes time.
            return self.run_one_after_another(items, states, sums);
        }
        let round = (MAX_WAITING / (1 + sums.len())).clamp(1, MAX_ROUND);
        self.runner.pool.install(|| {
            if sums.is_empty() {
                self.run_in_parallel(0, items, states);
            } else if round == 1 || self.runner.threads() == 1 {
                self.run_one_after_another(items, states, sums);
            } else {
                self.run_in_rounds(round, items, states, sums);
            }
        });
    }

    fn run_one_after_another(
        &self,
        items: &mut [P::Item],
        states: &mut [RowState],
        sums: &mut [f64],
    ) {
        let (lanes, width) = (self.engine.lanes(), self.pass.width());
        let mut worker = self.worker();
        let blocks = items.chunks_mut(lanes * width);
        for (block, (items, states)) in blocks.zip(states.chunks_mut(lanes)).enumerate() {
            let block = Block {
                job: self.job,
                first: block * lanes,
                items,
                states,
                sums,
            };
            self.run_block(&mut worker, block);
        }
    }

    /// Runs blocks that begin with an example; what each of them adds to the sums.
    fn run_in_parallel(
        &self,
        first: usize,
        items: &mut [P::Item],
        states: &mut [RowState],
    ) -> Vec<Vec<f64>> {
        let (lanes, width) = (self.engine.lanes(), self.pass.width());
        let blocks = items
            .par_chunks_mut(lanes * width)
            .zip(states.par_chunks_mut(lanes))
            .enumerate();
        blocks
            .map_init(
                || self.worker(),
                |worker, (block, (items, states))| {
                    let mut sums = self.pass.tables().map_or(vec![], |_| self.engine.zeros());
                    let block = Block {
                        job: self.job,
                        first: first + block * lanes,
                        items,
                        states,
                        sums: &mut sums,
                    };
                    self.run_block(worker, block);
                    sums
                },
            )
            .collect()
    }

    /// In rounds, so that what blocks add up to is never in memory for all of them; in order, so
    /// that the number of threads changes nothing.
    fn run_in_rounds(
        &self,
        length: usize,
        items: &mut [P::Item],
        states: &mut [RowState],
        sums: &mut [f64],
    ) {
        let (examples, width) = (length * self.engine.lanes(), self.pass.width());
        let rounds = items.chunks_mut(examples * width);
        for (round, (items, states)) in rounds.zip(states.chunks_mut(examples)).enumerate() {
            for part in self.run_in_parallel(round * examples, items, states) {
                sums.iter_mut().zip(&part).for_each(|(sum, x)| *sum += x);
                self.engine.give_zeros(part);
            }
        }
    }

    fn worker(&self) -> Worker<'_, T> {
        self.engine.worker().stopped_by(self.job.control)
    }

    fn run_block(&self, worker: &mut Worker<'_, T>, block: Block<'_, P::Item>) {
        let (circuit, batch) = (&self.runner.circuit, self.job.batch);
        let rows = block.first..block.first + block.states.len();
        worker.begin();
        for &var in &self.runner.loaded {
            load(circuit, batch, worker, var, rows.clone());
        }
        self.pass.block(worker, block);
    }
}

/// The sum of the output's data for each example, after a run forward; none if it is the same for
/// all. Examples are done, with the logarithm of that sum, unless their numbers were lost.
pub(crate) fn settle<T: Number>(
    worker: &Worker<'_, T>,
    states: &mut [RowState],
) -> Option<Vec<f64>> {
    let output = worker.output()?;
    let mut sums = vec![0.0; states.len()];
    for numbers in output.chunks_exact(worker.lanes()) {
        let numbers = numbers.iter().map(|x| x.to_f64());
        sums.iter_mut().zip(numbers).for_each(|(sum, x)| *sum += x);
    }
    for (lane, (state, sum)) in states.iter_mut().zip(&sums).enumerate() {
        if !worker.is_lost(lane) {
            let exponent = f64::from(worker.exponent(lane));
            *state = RowState::Done(sum.ln() + exponent * std::f64::consts::LN_2);
        }
    }
    Some(sums)
}

/// Goes back from ln P(e) of each example, given the sums of the output's data.
pub(crate) fn seed_shares<T: Number>(worker: &mut Worker<'_, T>, sums: &[f64]) {
    let lanes = worker.lanes();
    let share = |&sum: &f64| if sum > 0.0 { T::of(1.0 / sum) } else { T::ZERO };
    let mut shares: Vec<T> = sums.iter().map(share).collect();
    shares.resize(lanes, T::ZERO);
    worker.backward(|seed| {
        for numbers in seed.chunks_exact_mut(lanes) {
            numbers.copy_from_slice(&shares);
        }
    });
}
