//! The marginals of all families, for every row of a batch: P(x, u | e) for each variable X with
//! parents U.
//!
//! The circuit is linear in the numbers of each table, so θ · ∂ln P(e)/∂θ is the share of P(e) that
//! θ is part of: the marginal of the state that θ is the probability of. A function that is copied
//! has the same share in each of its copies.

use std::collections::BTreeMap;
use std::sync::Mutex;

use rayon::prelude::*;

use crate::circuit::Circuit;
use crate::circuit::batch::Batch;
use crate::circuit::evaluate::{
    Engines, EvalOptions, Precision, Room, check_hard, likelihood, load, loaded, sums, weigh_closed,
};
use crate::error::{Error, ErrorKind, Remedy, Result};
use crate::tensor::careful::Run;
use crate::tensor::fast::{Number, Worker};
use crate::tensor::layout::Program;
use crate::tensor::schedule::{Schedule, Want};
use crate::tensor::{Op, TableId};
use crate::vars::{VarId, VarSet};

/// The marginals of the families of each example of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Families {
    /// For each example, ln P(e); negative infinity where the evidence is impossible.
    pub log_evidence: Vec<f64>,
    /// For each variable, example after example, the probability of every entry of its CPT's dense
    /// table: the last of its [scope](crate::Cpt::scope), the variable itself, moves fastest. Zeros
    /// where the evidence is impossible.
    pub marginals: Vec<(VarId, Vec<f64>)>,
}

impl Circuit {
    /// The marginals of all families, of a circuit that was compiled for them.
    ///
    /// ```
    /// use sumout::{Batch, Column, Network, Options, Query, EvalOptions};
    ///
    /// let asia = Network::read("asia")?;
    /// let circuit = asia.compile(&Query::all().families(), &Options::default())?;
    /// let batch = Batch::new(2).with(&circuit, "xray", Column::Values(vec![0, 1]))?;
    /// let families = circuit.families(&batch, &EvalOptions::default())?;
    /// let (lung, numbers) = &families.marginals[3];
    /// assert_eq!(circuit.variable(*lung).name, "lung");
    /// assert_eq!(numbers.len(), 2 * 4); // two examples, two values of `smoke` and of `lung`
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn families(&self, batch: &Batch, options: &EvalOptions) -> Result<Families> {
        check_hard(self, batch)?;
        if !self.graph.rules().is_empty() {
            let error = Error::new(
                ErrorKind::Unsupported,
                "a testing circuit has no marginals of families",
            );
            return Err(error.hint("ask the network that is selected: `Network::selected`"));
        }
        if self.graph.origins().is_empty() {
            let error = Error::new(
                ErrorKind::Unsupported,
                "the circuit was not compiled for the marginals of families",
            );
            return Err(error.hint(Remedy::CompileForFamilies));
        }
        match options.precision {
            Precision::F32 => Asking::<f32>::new(self, options)?.run(batch),
            Precision::F64 => Asking::<f64>::new(self, options)?.run(batch),
        }
    }
}

/// A circuit that is ready.
struct Asking<'c, T> {
    circuit: &'c Circuit,
    tables: Vec<TableId>,
    /// The variables whose families there are, with the sizes of their CPTs.
    children: Vec<(VarId, usize)>,
    schedule: Schedule,
    engines: Engines<T>,
    pool: std::sync::Arc<rayon::ThreadPool>,
}

/// The answers to an example: for all families, one after the other.
type Row = (f64, Vec<f64>);

impl<'c, T: Number> Asking<'c, T> {
    fn new(circuit: &'c Circuit, options: &EvalOptions) -> Result<Self> {
        let graph = &circuit.graph;
        let tables: Vec<TableId> = graph.origins().keys().copied().collect();
        let children: BTreeMap<VarId, usize> = graph
            .origins()
            .values()
            .map(|origin| (origin.child, origin.size))
            .collect();
        let schedule = Schedule::new(graph, &Want::Gradients(VarSet::default(), tables.clone()));
        let room = Room::for_running(graph, &schedule, options)?;
        Ok(Asking {
            circuit,
            engines: Engines::new(&room, &tables),
            tables,
            children: children.into_iter().collect(),
            schedule,
            pool: room.pool,
        })
    }

    fn run(&self, batch: &Batch) -> Result<Families> {
        let engine = self
            .engines
            .engine(batch.len(), &self.circuit.graph, &self.schedule);
        let careful = Mutex::new(None);
        let block = |worker: &mut Worker<'_, T>, block: usize| {
            let first = block * engine.lanes();
            let rows = first..batch.len().min(first + engine.lanes());
            let mut found = self.run_block(worker, batch, rows.clone());
            for (row, found) in rows.zip(&mut found).filter(|(_, found)| found.0.is_nan()) {
                let mut careful = careful.lock().expect("no run panics");
                let program = careful
                    .get_or_insert_with(|| Program::new(&self.circuit.graph, &self.schedule));
                *found = self.run_carefully(program, batch, row);
            }
            found
        };
        let blocks = (0..batch.len().div_ceil(engine.lanes())).into_par_iter();
        let rows: Vec<Vec<Row>> = self
            .pool
            .install(|| blocks.map_init(|| engine.worker(), block).collect());
        let (mut log_evidence, mut rows): (Vec<f64>, Vec<Vec<f64>>) =
            rows.into_iter().flatten().unzip();
        for (row, weight) in weigh_closed(self.circuit, batch).into_iter().enumerate() {
            log_evidence[row] += weight;
        }
        for (row, _) in rows
            .iter_mut()
            .zip(&log_evidence)
            .filter(|(_, log)| **log == f64::NEG_INFINITY)
        {
            row.fill(0.0);
        }
        let mut start = 0;
        let of_child = |&(child, size): &(VarId, usize)| {
            start += size;
            (
                child,
                rows.iter()
                    .flat_map(|row| row[start - size..start].iter().copied())
                    .collect(),
            )
        };
        Ok(Families {
            log_evidence,
            marginals: self.children.iter().map(of_child).collect(),
        })
    }

    fn run_block(
        &self,
        worker: &mut Worker<'_, T>,
        batch: &Batch,
        rows: std::ops::Range<usize>,
    ) -> Vec<Row> {
        worker.begin();
        loaded(&self.circuit.graph)
            .for_each(|var| load(self.circuit, batch, worker, var, rows.clone()));
        worker.forward();
        let mut logs = vec![0.0; rows.len()];
        let totals = sums(worker, &mut logs);
        let lanes = worker.lanes();
        let seeds: Vec<T> = totals
            .iter()
            .map(|&s| if s > 0.0 { T::of(1.0 / s) } else { T::ZERO })
            .collect();
        worker.backward(|seed| {
            for numbers in seed.chunks_exact_mut(lanes) {
                numbers[..seeds.len()].copy_from_slice(&seeds);
                numbers[seeds.len()..].fill(T::ZERO);
            }
        });
        let lost = |lane: usize| worker.is_lost(lane) || (worker.output().is_none());
        let weights: Vec<Option<&[T]>> = self
            .tables
            .iter()
            .map(|table| worker.table_adjoint(*table))
            .collect();
        let row = |(lane, &log): (usize, &f64)| {
            let share = |t: usize, i: usize| {
                weights[t].map_or(0.0, |w| w[i * lanes + lane].to_f64() * self.number(t, i))
            };
            let marginals = if lost(lane) {
                vec![f64::NAN]
            } else {
                self.marginals(share)
            };
            // A derivative may be too large for a number where what it is multiplied by is zero.
            if marginals.iter().all(|x| x.is_finite()) {
                (log, marginals)
            } else {
                (f64::NAN, vec![])
            }
        };
        logs.iter().enumerate().map(row).collect()
    }

    fn number(&self, table: usize, entry: usize) -> f64 {
        self.circuit.graph.tables()[self.tables[table].index()].values[entry]
    }

    /// The shares of the entries of all tables, added up by family, each family to one.
    fn marginals(&self, share: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let mut starts = vec![0; self.circuit.variables.len()];
        let mut end = 0;
        for &(child, size) in &self.children {
            starts[child.index()] = end;
            end += size;
        }
        let mut all = vec![0.0; end];
        for (t, table) in self.tables.iter().enumerate() {
            let origin = &self.circuit.graph.origins()[table];
            for (i, &entry) in origin.entries.iter().enumerate() {
                all[starts[origin.child.index()] + entry as usize] += share(t, i);
            }
        }
        for &(child, size) in &self.children {
            let family = &mut all[starts[child.index()]..][..size];
            let total: f64 = family.iter().sum();
            if total != 0.0 {
                family.iter_mut().for_each(|x| *x /= total);
            }
        }
        all
    }

    /// Repeats an example with exact exponents, and logarithms if it needs them.
    fn run_carefully(&self, program: &Program, batch: &Batch, row: usize) -> Row {
        let graph = &self.circuit.graph;
        let run = Run::sum(graph, program, |v| likelihood(self.circuit, batch, v, row));
        let log = run.log_sum();
        if log == f64::NEG_INFINITY {
            return (log, self.marginals(|_, _| 0.0));
        }
        let node = |table: &TableId| graph.find(&Op::Table(*table)).expect("the table is there");
        let weights: Vec<Vec<f64>> = self
            .tables
            .iter()
            .map(|table| run.weighted(node(table)))
            .collect();
        (
            log,
            self.marginals(|t, i| weights[t].get(i).copied().unwrap_or(0.0)),
        )
    }
}
