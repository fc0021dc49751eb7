//! The most probable explanations of an example, in order.
//!
//! Lawler's partition: the best assignment of a set divides the others by the first variable in
//! which they differ from it. Each part is again a set that likelihoods of zeros and ones describe,
//! so the best of all parts are found as one batch of explanations.

use crate::circuit::batch::{Batch, Column};
use crate::circuit::explanations::Explanations;
use crate::circuit::{Circuit, Explainer};
use crate::control::{Control, Stage};
use crate::error::{Error, ErrorKind, Result};
use crate::vars::VarId;

/// Probabilities whose logarithms differ by less count as equal.
pub(crate) const TIE: f64 = 1e-10;

/// At most this many likelihoods are in a batch of parts.
const MAX_LIKELIHOODS: usize = 1 << 20;

/// An assignment that is the best one of its part.
#[derive(Clone, Debug)]
pub(crate) struct Best {
    /// The positions of the values of the explainer's variables.
    pub values: Vec<i32>,
    pub log: f64,
}

/// A set of assignments to the variables that are open, in their order.
#[derive(Clone, Debug)]
struct Part {
    best: Best,
    /// All of its assignments agree on this many variables.
    fixed: usize,
    /// Values that the next variable does not have.
    excluded: Vec<i32>,
}

/// A set of assignments whose best one is not known yet.
struct Unsolved {
    row: usize,
    values: Vec<i32>,
    fixed: usize,
    excluded: Vec<i32>,
}

/// The search for the best explanations of each example of a batch.
pub(crate) struct Ranking<'a> {
    explainer: &'a Explainer,
    batch: &'a Batch,
    /// The variables by whose values assignments are divided, each with its column in explanations.
    open: Vec<(VarId, usize)>,
    control: &'a Control,
}

impl<'a> Ranking<'a> {
    /// All variables with several values divide assignments, except those that the others determine.
    pub fn new(
        explainer: &'a Explainer,
        batch: &'a Batch,
        is_determined: impl Fn(VarId) -> bool,
        control: &'a Control,
    ) -> Result<Self> {
        let circuit = explainer.circuit();
        let targets = circuit.targets().into_iter().enumerate();
        let open: Vec<_> = targets
            .filter(|(_, v)| circuit.possible(*v).len() > 1 && !is_determined(*v))
            .map(|(column, v)| (v, column))
            .collect();
        let is_input = |v: &VarId| circuit.inputs.contains(*v);
        if let Some((v, _)) = open.iter().find(|(v, _)| !is_input(v)) {
            return Err(no_input(circuit, *v));
        }
        Ok(Ranking {
            explainer,
            batch,
            open,
            control,
        })
    }

    /// For each example its best explanations, at most this many.
    pub fn run(&self, count: usize) -> Result<Vec<Vec<Best>>> {
        let rows = self.batch.len();
        let mut found = vec![vec![]; rows];
        let mut waiting: Vec<Vec<Part>> = vec![vec![]; rows];
        if count == 0 {
            return Ok(found);
        }
        let all = |row| Unsolved {
            row,
            values: vec![],
            fixed: 0,
            excluded: vec![],
        };
        self.control.begin(Stage::Running, count as u64);
        let mut parts: Vec<Unsolved> = (0..rows).map(all).collect();
        loop {
            for (row, part) in self.solve(parts)? {
                waiting[row].push(part);
            }
            self.control.advance(1);
            parts = vec![];
            for (row, waiting) in waiting.iter_mut().enumerate() {
                keep(waiting, count - found[row].len());
                let Some(next) = waiting.pop() else { continue };
                if found[row].len() + 1 < count {
                    parts.extend(self.divide(row, &next));
                }
                found[row].push(next.best);
            }
            if parts.is_empty() && waiting.iter().all(Vec::is_empty) {
                return Ok(found);
            }
        }
    }

    /// The parts of a set without its best assignment.
    fn divide(&self, row: usize, part: &Part) -> Vec<Unsolved> {
        let mut parts = vec![];
        for at in part.fixed..self.open.len() {
            let (v, column) = self.open[at];
            let mut excluded = vec![part.best.values[column]];
            if at == part.fixed {
                excluded.extend(&part.excluded);
            }
            let left = |value: &&usize| {
                !excluded.contains(&(**value as i32)) && self.likelihood(v, row, **value) > 0.0
            };
            if self
                .explainer
                .circuit()
                .possible(v)
                .iter()
                .any(|value| left(&value))
            {
                parts.push(Unsolved {
                    row,
                    values: part.best.values.clone(),
                    fixed: at,
                    excluded,
                });
            }
        }
        parts
    }

    fn likelihood(&self, v: VarId, row: usize, value: usize) -> f64 {
        let card = self.explainer.circuit().variable(v).values.len();
        let known = self.batch.get(v);
        known.map_or(1.0, |known| known.likelihood(row, value, card))
    }

    /// The best assignment of each part that has one.
    fn solve(&self, parts: Vec<Unsolved>) -> Result<Vec<(usize, Part)>> {
        let circuit = self.explainer.circuit();
        let cards = self
            .open
            .iter()
            .map(|(v, _)| circuit.variable(*v).values.len());
        let size = (MAX_LIKELIHOODS / cards.sum::<usize>().max(1)).max(1);
        let mut solved = vec![];
        for parts in parts.chunks(size) {
            self.control.check()?;
            let found = self.explainer.run(&self.narrowed(parts)?)?;
            for (at, part) in parts.iter().enumerate() {
                if !found.is_impossible(at) {
                    solved.push((part.row, part.solved(&found, at)));
                }
            }
        }
        Ok(solved)
    }

    /// The evidence of the examples, within the parts.
    fn narrowed(&self, parts: &[Unsolved]) -> Result<Batch> {
        let circuit = self.explainer.circuit();
        let rows: Vec<usize> = parts.iter().map(|part| part.row).collect();
        let mut batch = self.batch.select(circuit, &rows);
        for (at, &(v, column)) in self.open.iter().enumerate() {
            let card = circuit.variable(v).values.len();
            let numbers = parts.iter().flat_map(|part| {
                (0..card).map(move |value| {
                    let is_allowed = part.allows(at, column, value as i32);
                    f64::from(u8::from(is_allowed)) * self.likelihood(v, part.row, value)
                })
            });
            batch.insert(circuit, v, Column::Likelihoods(numbers.collect()))?;
        }
        Ok(batch)
    }
}

impl Unsolved {
    /// Whether some of its assignments can have a value in an open variable.
    fn allows(&self, at: usize, column: usize, value: i32) -> bool {
        if at < self.fixed {
            self.values[column] == value
        } else {
            at > self.fixed || !self.excluded.contains(&value)
        }
    }

    fn solved(&self, found: &Explanations, at: usize) -> Part {
        Part {
            best: Best {
                values: found.row(at).to_vec(),
                log: found.log_probability[at],
            },
            fixed: self.fixed,
            excluded: self.excluded.clone(),
        }
    }
}

/// Sorts parts so that the best one comes last, and drops those that cannot be among the best.
fn keep(parts: &mut Vec<Part>, count: usize) {
    let compare = |a: &Part, b: &Part| {
        let logs = b.best.log.total_cmp(&a.best.log);
        logs.then_with(|| a.best.values.cmp(&b.best.values))
    };
    parts.sort_by(compare);
    parts.truncate(count);
    parts.reverse();
}

/// Assignments can only be divided by variables that have likelihoods.
fn no_input(circuit: &Circuit, v: VarId) -> Error {
    let message = format!(
        "several explanations need a circuit with every variable as an input, and `{}` is not one",
        circuit.variable(v).name
    );
    Error::new(ErrorKind::Unsupported, message).hint("compile it with every variable as an input")
}
