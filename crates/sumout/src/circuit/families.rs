//! The marginals of all families, for every row of a batch: P(x, u | e) for each variable X with
//! parents U.
//!
//! The circuit is linear in the numbers of each table, so θ · ∂ln P(e)/∂θ is the share of P(e) that
//! θ is part of: the marginal of the state that θ is the probability of. A function that is copied
//! has the same share in each of its copies.

use std::collections::BTreeMap;

use crate::circuit::Circuit;
use crate::circuit::batch::Batch;
use crate::circuit::run::{
    Block, Careful, EvalOptions, Fast, Few, Job, Pass, RowState, Runner, Setup, likelihood,
    seed_shares, settle,
};
use crate::control::Control;
use crate::error::{Error, ErrorKind, Remedy, Result};
use crate::tensor::careful::Run;
use crate::tensor::fast::{Number, Worker};
use crate::tensor::schedule::Want;
use crate::tensor::{Op, TableId};
use crate::vars::{VarId, VarSet};

/// The marginals of the families of each example of a batch.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Families {
    /// For each example, ln P(e); negative infinity where the evidence is impossible.
    pub log_evidence: Vec<f64>,
    /// For each variable, example after example, the probability of every entry of its CPT's dense
    /// table: the last of its [scope](crate::Cpt::scope), the variable itself, moves fastest. Zeros
    /// where the evidence is impossible.
    pub marginals: Vec<(VarId, Vec<f64>)>,
}

impl Circuit {
    /// The marginals of all families of each example of a batch, with all processors, in double
    /// precision. The circuit must have been compiled [for them](crate::Query::families).
    ///
    /// ```
    /// use sumout::{Batch, Column, Network, Options, Query};
    ///
    /// let asia = Network::read("asia")?;
    /// let circuit = asia.compile(&Query::all().families(), &Options::default())?;
    /// let batch = Batch::new(2).with(&circuit, "xray", Column::Values(vec![0, 1]))?;
    /// let families = circuit.families(&batch)?;
    /// let (lung, numbers) = &families.marginals[3];
    /// assert_eq!(circuit.variable(*lung).name, "lung");
    /// assert_eq!(numbers.len(), 2 * 4); // two examples, two values of `smoke` and of `lung`
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn families(&self, batch: &Batch) -> Result<Families> {
        self.family_evaluator(&EvalOptions::precise())?.run(batch)
    }

    /// Prepares to compute the marginals of all families.
    pub fn family_evaluator(&self, options: &EvalOptions) -> Result<FamilyEvaluator> {
        FamilyEvaluator::new(self, options)
    }
}

/// A circuit that is ready to compute the marginals of families.
#[derive(Debug)]
pub struct FamilyEvaluator {
    runner: Runner,
    shares: Shares,
}

impl FamilyEvaluator {
    fn new(circuit: &Circuit, options: &EvalOptions) -> Result<Self> {
        let shares = Shares::new(circuit)?;
        let setup = Setup {
            want: Want::Gradients(VarSet::default(), shares.tables.clone()),
            each: &shares.tables,
            few: Few::Alone,
            options,
        };
        Ok(FamilyEvaluator {
            runner: Runner::new(circuit, setup)?,
            shares,
        })
    }

    /// The marginals of the families of each example.
    pub fn run(&self, batch: &Batch) -> Result<Families> {
        let rows = self.runner.run(&self.shares, batch, &Control::NONE)?;
        let width = self.shares.width();
        let mut start = 0;
        let marginals = self.shares.children.iter().map(|&(child, size)| {
            let range = start..start + size;
            start = range.end;
            let own = rows.items.chunks_exact(width);
            let own = own.flat_map(|row| &row[range.clone()]);
            (child, own.copied().collect())
        });
        Ok(Families {
            log_evidence: rows.logs().expect("nothing stops it"),
            marginals: marginals.collect(),
        })
    }
}

/// The shares of P(e) that the numbers of all tables are part of, added up by family.
#[derive(Debug)]
struct Shares {
    circuit: Circuit,
    tables: Vec<TableId>,
    /// The variables whose families there are, with the sizes of their CPTs.
    children: Vec<(VarId, usize)>,
    /// By variable, where its family begins in a row.
    starts: BTreeMap<VarId, usize>,
}

impl Shares {
    fn new(circuit: &Circuit) -> Result<Self> {
        check(circuit)?;
        let origins = circuit.graph.origins();
        let sizes = origins.values().map(|origin| (origin.child, origin.size));
        let children: BTreeMap<VarId, usize> = sizes.collect();
        let mut end = 0;
        let starts = children.iter().map(|(&child, size)| {
            end += size;
            (child, end - size)
        });
        Ok(Shares {
            circuit: circuit.clone(),
            tables: origins.keys().copied().collect(),
            starts: starts.collect(),
            children: children.into_iter().collect(),
        })
    }

    fn number(&self, table: usize, entry: usize) -> f64 {
        self.circuit.graph.tables()[self.tables[table].index()].values[entry]
    }

    /// Adds the shares of the entries of all tables up, each family to one.
    fn add_up(&self, share: impl Fn(usize, usize) -> f64, to: &mut [f64]) {
        for (t, table) in self.tables.iter().enumerate() {
            let origin = &self.circuit.graph.origins()[table];
            let family = &mut to[self.starts[&origin.child]..];
            for (i, &entry) in origin.entries.iter().enumerate() {
                family[entry as usize] += share(t, i);
            }
        }
        for (child, size) in &self.children {
            let family = &mut to[self.starts[child]..][..*size];
            let total: f64 = family.iter().sum();
            if total != 0.0 {
                family.iter_mut().for_each(|x| *x /= total);
            }
        }
    }
}

impl Pass for Shares {
    type Item = f64;

    const BLANK: f64 = 0.0;

    fn width(&self) -> usize {
        self.children.iter().map(|(_, size)| size).sum()
    }
}

impl<T: Number> Fast<T> for Shares {
    fn block(&self, worker: &mut Worker<'_, T>, block: Block<'_, f64>) {
        worker.forward();
        let Some(sums) = settle(worker, block.states) else {
            return;
        };
        seed_shares(worker, &sums);
        let lanes = worker.lanes();
        let adjoints = self.tables.iter().map(|table| worker.table_adjoint(*table));
        let adjoints: Vec<Option<&[T]>> = adjoints.collect();
        let rows = block.items.chunks_exact_mut(self.width());
        for (lane, (row, state)) in rows.zip(block.states).enumerate() {
            if *state == RowState::Done(f64::NEG_INFINITY) || *state == RowState::Lost {
                continue;
            }
            let share = |t: usize, i: usize| {
                adjoints[t].map_or(0.0, |w| w[i * lanes + lane].to_f64() * self.number(t, i))
            };
            self.add_up(share, row);
            // A derivative may be too large for a number where what it is multiplied by is zero.
            if !row.iter().all(|x| x.is_finite()) {
                *state = RowState::Lost;
            }
        }
    }
}

impl Careful for Shares {
    fn careful<'a>(
        &'a self,
        runner: &'a Runner,
        job: &'a Job<'a>,
    ) -> impl FnMut(usize, &mut [f64]) -> Result<f64> + 'a {
        let graph = &self.circuit.graph;
        |row, to| {
            let evidence = |v| likelihood(&self.circuit, job.batch, v, row);
            let run = Run::sum_under(job.control, graph, runner.program(), evidence)?;
            let log = run.log_sum();
            if log > f64::NEG_INFINITY {
                let node = |table: &TableId| graph.find(&Op::Table(*table));
                let weights = |table| node(table).map_or(vec![], |node| run.weighted(node));
                let weights: Vec<Vec<f64>> = self.tables.iter().map(weights).collect();
                self.add_up(|t, i| weights[t].get(i).copied().unwrap_or(0.0), to);
            }
            Ok(log)
        }
    }
}

/// Refuses circuits that were not compiled for the marginals of families.
fn check(circuit: &Circuit) -> Result<()> {
    if !circuit.graph.rules().is_empty() {
        let error = Error::new(
            ErrorKind::Unsupported,
            "a testing circuit has no marginals of families",
        );
        return Err(error.hint("ask the network that is selected: `Network::selected`"));
    }
    if circuit.graph.origins().is_empty() {
        let error = Error::new(
            ErrorKind::Unsupported,
            "the circuit was not compiled for the marginals of families",
        );
        return Err(error.hint(Remedy::CompileForFamilies));
    }
    Ok(())
}
