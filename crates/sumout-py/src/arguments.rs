//! Arguments of Python as the library takes them.

use std::path::Path;

use numpy::PyReadonlyArrayDyn;
use pyo3::prelude::*;
use sumout::model::{Node, Role};
use sumout::{Builder, Error, ErrorKind, Evidence, Finding, Format};

use crate::work::Watch;

/// Posteriors by variable, and ln P(e).
pub type Answered = (Vec<(usize, Vec<f64>)>, f64);

/// Assignments with their logarithms, the bound, whether it is proved, the nodes, and ln P(e).
pub type Mapped = (Vec<(Vec<usize>, f64)>, f64, bool, u64, f64);

/// An explanation among others.
pub type Ranked = (Vec<usize>, f64, f64, usize, bool);

/// Values and likelihoods of variables.
pub type Findings = (Vec<(usize, usize)>, Vec<(usize, Vec<f64>)>);

/// Positions of the values of cases drawn at random, row by row.
pub fn draw(
    net: &sumout::Network,
    rows: usize,
    seed: u64,
    watch: &Watch,
) -> sumout::Result<Vec<i32>> {
    let (mut sampler, mut cells) = (net.sampler(seed)?, vec![]);
    let too_many = || {
        Error::new(
            ErrorKind::Memory,
            format!("there is no memory for {rows} cases"),
        )
    };
    let size = rows
        .checked_mul(net.variables().len())
        .ok_or_else(too_many)?;
    cells.try_reserve_exact(size).map_err(|_| too_many())?;
    for row in 0..rows {
        if row % 4096 == 0 {
            watch.go_on()?;
        }
        cells.extend(sampler.draw().iter().map(|&value| value as i32));
    }
    Ok(cells)
}

/// The numbers of a CPT: a function is a list of positions, a table an array.
#[derive(FromPyObject)]
pub enum Numbers<'py> {
    Table(PyReadonlyArrayDyn<'py, f64>),
    Function(Vec<u32>),
}

/// The numbers of an array, the last axis fastest.
pub fn flat(table: &PyReadonlyArrayDyn<'_, f64>) -> Vec<f64> {
    table.as_array().iter().copied().collect()
}

/// The roles of a CPT: functional, fixed, keep_zeros, tie.
pub type Roles = (bool, bool, bool, Option<String>);

/// Adds a potential, or the CPT of the last variable of the scope.
pub fn add_factor(
    builder: &mut Builder,
    is_markov: bool,
    mut scope: Vec<Node>,
    numbers: Numbers<'_>,
    (functional, fixed, keep_zeros, tie): Roles,
) -> sumout::Result<()> {
    let no_scope = || Error::new(ErrorKind::Model, "a CPT is of a variable");
    let draft = match (numbers, is_markov) {
        (Numbers::Table(table), true) => builder.potential(scope, flat(&table)),
        (Numbers::Table(table), false) => {
            let child = scope.pop().ok_or_else(no_scope)?;
            builder.table(child, scope, flat(&table))
        }
        (Numbers::Function(values), _) => {
            let child = scope.pop().ok_or_else(no_scope)?;
            builder.mapping(child, scope, values)
        }
    };
    draft.role(Role {
        functional,
        fixed,
        keep_zeros,
        tie,
    });
    Ok(())
}

/// The evidence that findings are.
pub fn evidence(net: &sumout::Network, (hard, soft): Findings) -> sumout::Result<Evidence> {
    let mut evidence = Evidence::new();
    for (variable, value) in hard {
        evidence.insert(net, sumout::internals::var(variable), Finding::Hard(value))?;
    }
    for (variable, likelihood) in soft {
        evidence.insert(
            net,
            sumout::internals::var(variable),
            Finding::Soft(likelihood),
        )?;
    }
    Ok(evidence)
}

/// The format with an extension.
pub fn format_named(name: &str) -> sumout::Result<Format> {
    Format::of_path(Path::new(&format!("network.{name}"))).ok_or_else(|| {
        let known: Vec<&str> = Format::ALL.iter().map(|f| f.extensions()[0]).collect();
        let error = Error::new(ErrorKind::Format, format!("unknown format `{name}`"));
        error.hint(format!("the formats are {}", known.join(", ")))
    })
}
