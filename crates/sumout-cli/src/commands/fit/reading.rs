//! Reads all examples of a file.

use std::collections::BTreeMap;

use sumout::{Column, Error, ErrorKind, Examples, Network, VarId};

use super::Args;
use crate::data;
use crate::output::{Result, talk};
use crate::text::counted;

/// So many rows are read at once.
const ROWS: usize = 1 << 15;

/// The examples, and what is ignored or missing on stderr.
pub fn examples(args: &Args, net: &Network, targets: &[VarId]) -> Result<Examples> {
    let is_matrix = args.data.extension().is_some_and(|e| e == "npy");
    let mut source = data::open(&args.data, &(net, variables(args, net, targets, is_matrix)?))?;
    if !source.columns().ignored.is_empty() {
        talk(&format!("columns that are no variables are ignored: {}", source.columns().ignored.join(", ")));
    }
    let mut columns: BTreeMap<VarId, Vec<i32>> = BTreeMap::new();
    let (mut rows, mut bad) = (0, vec![]);
    while let Some(chunk) = source.next(ROWS)? {
        if let Some((row, what)) = chunk.bad.first().filter(|_| !args.skip_bad_rows) {
            let message = format!("`{}`: row {}: {what}", args.data.display(), rows + row + 1);
            let error = Error::new(ErrorKind::Evidence, message);
            return Err(error.hint("mend it, or leave such rows out with `--skip-bad-rows`").into());
        }
        bad.extend(chunk.bad.iter().map(|(row, _)| rows + row));
        chunk.columns.into_iter().for_each(|(var, values)| columns.entry(var).or_default().extend(values));
        rows += chunk.rows;
    }
    if !bad.is_empty() {
        talk(&format!("{} that cannot be read are left out", counted(bad.len(), "row")));
    }
    let mut examples = Examples::new(rows - bad.len());
    for (var, values) in columns {
        let kept = values.into_iter().enumerate().filter(|(row, _)| bad.binary_search(row).is_err());
        examples.insert(var, Column::Values(kept.map(|(_, value)| value).collect()));
    }
    Ok(examples)
}

/// What the file may have columns for; a matrix has one for each of them.
fn variables(args: &Args, net: &Network, targets: &[VarId], is_matrix: bool) -> Result<Vec<VarId>> {
    if !is_matrix || args.given.is_empty() {
        return Ok(net.ids().collect());
    }
    let mut variables = targets.to_vec();
    for name in &args.given {
        variables.extend(net.matching(name)?);
    }
    variables.sort();
    variables.dedup();
    Ok(variables)
}
