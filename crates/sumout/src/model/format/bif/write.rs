//! Networks as BIF writes them.

use std::fmt::Write;

use crate::error::Result;
use crate::model::format::bif::{BIF, NAMELESS};
use crate::model::format::spelling::Spelling;
use crate::model::format::{Format, Loss, refuse_markov, refuse_roles};
use crate::model::{Cpt, Network};

/// The names that come back when they are read.
const NAMES: Spelling = Spelling {
    format: Format::Bif,
    fits: |name| !name.contains('"'),
    mend: |name| name.replace('"', "'"),
    complaint: "which contains a quote",
};

/// A variable as BIF writes it.
struct Spelled {
    name: String,
    values: Vec<String>,
}

pub(in crate::model::format) fn write(net: &Network, loss: Loss) -> Result<String> {
    refuse_markov(net, Format::Bif)?;
    refuse_roles(net, Format::Bif, loss)?;
    let title = spelled([net.name()].into_iter(), loss)?.concat();
    let title = if title == NAMELESS {
        format!("\"{title}\"")
    } else {
        title
    };
    let mut out = format!("network {title} {{\n}}\n");
    let mut variables = vec![];
    for (variable, name) in net.variables().iter().zip(spelled(
        net.variables().iter().map(|v| v.name.as_str()),
        loss,
    )?) {
        let values = spelled(variable.values.iter().map(String::as_str), loss)?;
        let (count, list) = (values.len(), values.join(", "));
        let _ = writeln!(
            out,
            "variable {name} {{\n  type discrete [ {count} ] {{ {list} }};\n}}"
        );
        variables.push(Spelled { name, values });
    }
    let cards = net.cards();
    net.cpts()
        .iter()
        .for_each(|cpt| write_cpt(&mut out, cpt, &variables, &cards));
    Ok(out)
}

fn write_cpt(out: &mut String, cpt: &Cpt, variables: &[Spelled], cards: &[usize]) {
    let scope: Vec<&Spelled> = cpt.scope().iter().map(|v| &variables[v.index()]).collect();
    let (Spelled { name, values }, parents) = scope.split_last().expect("a CPT has a child");
    let table = cpt.table(cards);
    let rows = table.chunks_exact(values.len()).map(numbers);
    if parents.is_empty() {
        let _ = writeln!(
            out,
            "probability ( {name} ) {{\n  table {};\n}}",
            rows.collect::<String>()
        );
        return;
    }
    let names: Vec<&str> = parents.iter().map(|p| p.name.as_str()).collect();
    let _ = writeln!(out, "probability ( {name} | {} ) {{", names.join(", "));
    for (row, numbers) in rows.enumerate() {
        let _ = writeln!(
            out,
            "  ({}) {numbers};",
            states(parents.iter().map(|p| p.values.as_slice()), row)
        );
    }
    out.push_str("}\n");
}

/// Numbers so that reading gives back the same bits.
fn numbers(row: &[f64]) -> String {
    row.iter()
        .map(|p| format!("{p:?}"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Names as BIF writes them.
fn spelled<'n>(names: impl Iterator<Item = &'n str> + Clone, loss: Loss) -> Result<Vec<String>> {
    Ok(NAMES.apply(names, loss)?.into_iter().map(quoted).collect())
}

/// A plain word as it is, any other name in quotes.
fn quoted(name: String) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !BIF.punctuation.contains(c);
    let is_word = !name.is_empty()
        && name.chars().all(is_plain)
        && !name.starts_with("//")
        && !name.ends_with("//")
        && !name.starts_with("/*");
    if is_word { name } else { format!("\"{name}\"") }
}

/// The values of the parents in a row, the last parent fastest.
pub(super) fn states<'v, S: AsRef<str> + 'v>(
    parents: impl DoubleEndedIterator<Item = &'v [S]>,
    mut row: usize,
) -> String {
    let mut states = vec![];
    for values in parents.rev() {
        states.push(values[row % values.len()].as_ref());
        row /= values.len();
    }
    states.reverse();
    states.join(", ")
}
