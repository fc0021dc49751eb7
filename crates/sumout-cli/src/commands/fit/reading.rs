//! Reads all examples of a file.
//!
//! In CSV and Parquet files, columns `NAME=VALUE` have the probabilities of a variable's values:
//! soft labels, or likelihoods of inputs. Another column may have the weights of examples.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use sumout::{Column, Error, ErrorKind, Examples, Network, VarId};

use super::Args;
use crate::data::{self, Columns, Ignored, Numbers, Source};
use crate::output::{Result, talk};
use crate::text::counted;

/// The number of rows that are read at once.
const CHUNK_ROWS: usize = 1 << 15;

/// The examples; columns and rows that are left out are mentioned on stderr.
pub fn examples(args: &Args, net: &Network, targets: &[VarId]) -> Result<Examples> {
    let is_matrix = args.data.extension().is_some_and(|e| e == "npy");
    let variables = variables(args, net, targets, is_matrix)?;
    let mut source = data::open(&args.data, &(net, variables), &args.form)?;
    let soft = Soft::new(args, net, source.columns())?;
    mention_unused(source.columns(), &soft);
    let (columns, rows, bad) = values(args, &mut *source)?;
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

fn mention_unused(columns: &Columns, soft: &Soft) {
    let unused: Vec<String> = columns
        .ignored
        .iter()
        .filter(|column| !soft.has(&column.title))
        .map(Ignored::to_string)
        .collect();
    if !unused.is_empty() {
        let unused = unused.join(", ");
        talk(&format!(
            "ignoring columns that are not variables: {unused}"
        ));
    }
}

/// The values of all rows, the number of rows, and those that cannot be read.
type Values = (BTreeMap<VarId, Vec<i32>>, usize, Vec<usize>);

fn values(args: &Args, source: &mut dyn Source) -> Result<Values> {
    let mut columns: BTreeMap<VarId, Vec<i32>> = BTreeMap::new();
    let (mut rows, mut bad) = (0, vec![]);
    while let Some(chunk) = source.next(CHUNK_ROWS)? {
        if let Some((row, what)) = chunk.bad.first().filter(|_| !args.skip_bad_rows) {
            let message = format!("`{}`: row {}: {what}", args.data.display(), rows + row + 1);
            let error = Error::new(ErrorKind::Options, message);
            return Err(error
                .hint("fix it, or leave such rows out with `--skip-bad-rows`")
                .into());
        }
        bad.extend(chunk.bad.iter().map(|(row, _)| rows + row));
        for (var, values) in chunk.columns {
            columns.entry(var).or_default().extend(values.positions());
        }
        rows += chunk.rows;
    }
    if !bad.is_empty() {
        let left_out = counted(bad.len(), "row");
        talk(&format!("leaving out {left_out} that cannot be read"));
    }
    Ok((columns, rows, bad))
}

/// Columns of numbers.
struct Soft {
    /// For each variable, the titles of its values.
    variables: Vec<(VarId, Vec<String>)>,
    weights: Option<String>,
}

impl Soft {
    fn new(args: &Args, net: &Network, columns: &Columns) -> Result<Self> {
        let titles_of = |v: VarId| -> Vec<String> {
            let variable = net.variable(v);
            let title = |value| format!("{}={value}", variable.name);
            variable.values.iter().map(title).collect()
        };
        let is_column = |name: &String| columns.ignored.iter().any(|column| column.title == *name);
        let variables: Vec<_> = net
            .ids()
            .map(|v| (v, titles_of(v)))
            .filter(|(_, titles)| titles.iter().any(is_column))
            .collect();
        let weights = args.weights.clone();
        let soft = Soft { variables, weights };
        soft.refuse_files(args)?;
        soft.refuse_both(args, net, columns)?;
        Ok(soft)
    }

    fn is_empty(&self) -> bool {
        self.weights.is_none() && self.variables.is_empty()
    }

    fn refuse_files(&self, args: &Args) -> Result<()> {
        let is_matrix = args.data.extension().is_some_and(|e| e == "npy");
        if self.is_empty() || !(is_matrix || args.data.as_os_str() == "-") {
            return Ok(());
        }
        let error = Error::new(
            ErrorKind::Format,
            "weights and soft labels are read from CSV and Parquet files",
        );
        Err(error
            .hint("write the examples to a .csv or .parquet file")
            .into())
    }

    fn refuse_both(&self, args: &Args, net: &Network, columns: &Columns) -> Result<()> {
        let has_values = |var: VarId| columns.found.iter().any(|(_, v)| *v == var);
        let Some((var, _)) = self.variables.iter().find(|(var, _)| has_values(*var)) else {
            return Ok(());
        };
        let name = &net.variable(*var).name;
        let what = format!(
            "`{}` has both values and probabilities of `{name}`",
            args.data.display()
        );
        Err(Error::new(ErrorKind::Format, what)
            .hint("keep either the value column or the probability columns")
            .into())
    }

    fn has(&self, title: &str) -> bool {
        self.titles().any(|name| name == title)
    }

    /// All titles: of probabilities, and then of weights.
    fn titles(&self) -> impl Iterator<Item = &str> {
        let soft = self.variables.iter().flat_map(|(_, titles)| titles);
        soft.chain(&self.weights).map(|title| &**title)
    }

    /// Reads the numbers of all rows but the bad ones.
    fn read(&self, args: &Args, bad: &[usize], examples: &mut Examples) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let titles: Vec<&str> = self.titles().collect();
        let found = data::numbers(&args.data, &titles, &args.form)?;
        let mut columns = found.into_iter();
        for (var, titles) in &self.variables {
            let hint = "give a column of probabilities for every value";
            let columns: Vec<Vec<f64>> = titles
                .iter()
                .zip(&mut columns)
                .map(|(title, cells)| column(&args.data, title, cells, hint, bad))
                .collect::<sumout::Result<_>>()?;
            refuse_blank_rows(args, &columns, examples)?;
            let cells =
                (0..examples.len()).flat_map(|row| columns.iter().map(move |column| column[row]));
            examples.insert(*var, Column::Likelihoods(cells.collect()));
        }
        if let (Some(title), Some(cells)) = (&self.weights, columns.next()) {
            let hint = "`--weights` names a column of numbers";
            examples.weigh(column(&args.data, title, cells, hint, bad)?)?;
        }
        Ok(())
    }
}

fn refuse_blank_rows(args: &Args, columns: &[Vec<f64>], examples: &Examples) -> Result<()> {
    if columns.iter().all(|column| column.len() == examples.len()) {
        return Ok(());
    }
    let name = args.data.display();
    let error = Error::new(
        ErrorKind::Format,
        format!("`{name}`: blank rows cannot be told from soft labels"),
    );
    Err(error.hint("remove the blank rows").into())
}

/// The numbers of a column, but for bad rows.
fn column(
    path: &Path,
    title: &str,
    cells: Option<Numbers>,
    hint: &str,
    bad: &[usize],
) -> sumout::Result<Vec<f64>> {
    let wrong =
        |what: String| Error::new(ErrorKind::Format, format!("`{}`: {what}", path.display()));
    let cells = cells.ok_or_else(|| wrong(format!("there is no column `{title}`")).hint(hint))?;
    let mut numbers = vec![];
    for (row, cell) in cells.into_iter().enumerate() {
        if bad.binary_search(&row).is_err() {
            numbers.push(cell.map_err(|cell| {
                let what = format!("row {}: `{cell}` in column `{title}`", row + 1);
                wrong(what).hint("numbers are finite and not negative")
            })?);
        }
    }
    Ok(numbers)
}

/// The variables that a file may have columns for; a matrix has one for each input, and then one
/// for each target.
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
    let (mut seen, mut variables) = (HashSet::new(), vec![]);
    for name in &args.given {
        variables.extend(net.matching(name)?);
    }
    variables.retain(|v| !targets.contains(v) && seen.insert(*v));
    variables.extend(targets);
    Ok(variables)
}
