//! Reads all examples of a file.
//!
//! In CSV and Parquet files, columns `NAME=VALUE` have the probabilities of a variable's values:
//! soft labels, or likelihoods of inputs. A column of weights says how much each example counts.

use std::collections::BTreeMap;
use std::path::Path;

use sumout::{Column, Error, ErrorKind, Examples, Network, VarId};

use super::Args;
use crate::data::{self, Ignored};
use crate::output::{Result, talk};
use crate::text::counted;

/// So many rows are read at once.
const ROWS: usize = 1 << 15;

/// The examples, and what is ignored or missing on stderr.
pub fn examples(args: &Args, net: &Network, targets: &[VarId]) -> Result<Examples> {
    let is_matrix = args.data.extension().is_some_and(|e| e == "npy");
    let mut source = data::open(
        &args.data,
        &(net, variables(args, net, targets, is_matrix)?),
    )?;
    let soft = Soft::new(args, net, &source.columns().ignored)?;
    if let Some((var, _)) = soft
        .variables
        .iter()
        .find(|(var, _)| source.columns().found.iter().any(|(_, v)| v == var))
    {
        let name = &net.variable(*var).name;
        let what = format!(
            "`{}` has both values and probabilities of `{name}`",
            args.data.display()
        );
        return Err(Error::new(ErrorKind::Format, what)
            .hint("keep either the value column or the probability columns")
            .into());
    }
    let unused: Vec<String> = source
        .columns()
        .ignored
        .iter()
        .filter(|column| !soft.has(&column.title))
        .map(Ignored::to_string)
        .collect();
    if !unused.is_empty() {
        talk(&format!(
            "ignoring columns that are not variables: {}",
            unused.join(", ")
        ));
    }
    let mut columns: BTreeMap<VarId, Vec<i32>> = BTreeMap::new();
    let (mut rows, mut bad) = (0, vec![]);
    while let Some(chunk) = source.next(ROWS)? {
        if let Some((row, what)) = chunk.bad.first().filter(|_| !args.skip_bad_rows) {
            let message = format!("`{}`: row {}: {what}", args.data.display(), rows + row + 1);
            let error = Error::new(ErrorKind::Evidence, message);
            return Err(error
                .hint("fix it, or skip such rows with `--skip-bad-rows`")
                .into());
        }
        bad.extend(chunk.bad.iter().map(|(row, _)| rows + row));
        chunk
            .columns
            .into_iter()
            .for_each(|(var, values)| columns.entry(var).or_default().extend(values.positions()));
        rows += chunk.rows;
    }
    if !bad.is_empty() {
        talk(&format!(
            "{} that cannot be read are left out",
            counted(bad.len(), "row")
        ));
    }
    let mut examples = Examples::new(rows - bad.len());
    for (var, values) in columns {
        let kept = values
            .into_iter()
            .enumerate()
            .filter(|(row, _)| bad.binary_search(row).is_err());
        examples.insert(var, Column::Values(kept.map(|(_, value)| value).collect()));
    }
    soft.read(args, &bad, &mut examples)?;
    Ok(examples)
}

/// Columns of numbers.
struct Soft {
    /// For each variable, the titles of its values.
    variables: Vec<(VarId, Vec<String>)>,
    weights: Option<String>,
}

impl Soft {
    fn new(args: &Args, net: &Network, ignored: &[Ignored]) -> Result<Self> {
        let titles_of = |v: VarId| {
            let variable = net.variable(v);
            variable
                .values
                .iter()
                .map(|value| format!("{}={value}", variable.name))
                .collect::<Vec<_>>()
        };
        let is_there = |(_, names): &(VarId, Vec<String>)| {
            names
                .iter()
                .any(|name| ignored.iter().any(|column| column.title == *name))
        };
        let variables: Vec<_> = net
            .ids()
            .map(|v| (v, titles_of(v)))
            .filter(is_there)
            .collect();
        let soft = Soft {
            variables,
            weights: args.weights.clone(),
        };
        let has_none =
            args.data.extension().is_some_and(|e| e == "npy") || args.data.as_os_str() == "-";
        if has_none && (soft.weights.is_some() || !soft.variables.is_empty()) {
            let error = Error::new(
                ErrorKind::Format,
                "weights and soft labels are read from CSV and Parquet files",
            );
            return Err(error
                .hint("write the examples to a .csv or .parquet file")
                .into());
        }
        Ok(soft)
    }

    fn has(&self, title: &str) -> bool {
        self.weights.as_deref().is_some_and(|name| name == title)
            || self
                .variables
                .iter()
                .any(|(_, names)| names.iter().any(|name| name == title))
    }

    /// Reads the numbers of all rows but the bad ones.
    fn read(&self, args: &Args, bad: &[usize], examples: &mut Examples) -> Result<()> {
        if self.weights.is_none() && self.variables.is_empty() {
            return Ok(());
        }
        let name = args.data.display();
        for (var, titles) in &self.variables {
            let hint = "give a column of probabilities for every value";
            let columns: Vec<Vec<f64>> = titles
                .iter()
                .map(|title| column(&args.data, title, hint, bad))
                .collect::<sumout::Result<_>>()?;
            if columns.iter().any(|column| column.len() != examples.len()) {
                let error = Error::new(
                    ErrorKind::Format,
                    format!("`{name}`: blank rows cannot be told from soft labels"),
                );
                return Err(error.hint("remove the blank rows").into());
            }
            let cells =
                (0..examples.len()).flat_map(|row| columns.iter().map(move |column| column[row]));
            examples.insert(*var, Column::Likelihoods(cells.collect()));
        }
        if let Some(title) = &self.weights {
            examples.weigh(column(
                &args.data,
                title,
                "`--weights` names a column of numbers",
                bad,
            )?)?;
        }
        Ok(())
    }
}

/// The numbers of a column, but for bad rows; empty cells are zero.
fn column(path: &Path, title: &str, hint: &str, bad: &[usize]) -> sumout::Result<Vec<f64>> {
    let wrong =
        |what: String| Error::new(ErrorKind::Format, format!("`{}`: {what}", path.display()));
    let cells = data::numbers(path, title)?;
    let cells = cells.ok_or_else(|| wrong(format!("there is no column `{title}`")).hint(hint))?;
    let said = |(row, cell): (usize, data::Number)| {
        let what = |cell| wrong(format!("row {}: `{cell}` in column `{title}`", row + 1));
        cell.map_err(|cell| what(cell).hint("numbers are finite and not negative"))
    };
    cells
        .into_iter()
        .enumerate()
        .filter(|(row, _)| bad.binary_search(row).is_err())
        .map(said)
        .collect()
}

/// What the file may have columns for; a matrix has one for each input, and then one for each
/// target.
fn variables(args: &Args, net: &Network, targets: &[VarId], is_matrix: bool) -> Result<Vec<VarId>> {
    if !is_matrix {
        return Ok(net.ids().collect());
    }
    if args.given.is_empty() {
        let error = Error::new(
            ErrorKind::Format,
            "the columns of an .npy file have no names",
        );
        return Err(error
            .hint("name the inputs with `--given`; the targets come after them")
            .into());
    }
    let mut variables = vec![];
    for name in &args.given {
        variables.extend(net.matching(name)?);
    }
    variables.sort();
    variables.dedup();
    variables.retain(|v| !targets.contains(v));
    variables.extend(targets);
    Ok(variables)
}
