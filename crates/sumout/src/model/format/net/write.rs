//! Networks as NET writes them.

use std::fmt::Write;

use crate::error::Result;
use crate::model::Network;
use crate::model::format::net::KEYWORDS;
use crate::model::format::spelling::Spelling;
use crate::model::format::{Format, Loss, refuse_markov, refuse_roles};

pub(in crate::model::format) fn write(net: &Network, loss: Loss) -> Result<String> {
    refuse_markov(net, Format::Net)?;
    refuse_roles(net, Format::Net, loss)?;
    let names = NAMES.apply(net.variables().iter().map(|v| v.name.as_str()), loss)?;
    let mut out = format!("net\n{{\n  name = {};\n}}\n", quoted(net.name()));
    for (variable, name) in net.variables().iter().zip(&names) {
        let has_name = *name == variable.name;
        let label = if has_name {
            String::new()
        } else {
            format!("  label = {};\n", quoted(&variable.name))
        };
        let states: Vec<String> = variable.values.iter().map(|value| quoted(value)).collect();
        let _ = writeln!(
            out,
            "node {name}\n{{\n{label}  states = ( {} );\n}}",
            states.join(" ")
        );
    }
    let cards = net.cards();
    (0..cards.len()).for_each(|index| write_potential(&mut out, net, index, &names, &cards));
    Ok(out)
}

fn write_potential(
    out: &mut String,
    net: &Network,
    index: usize,
    names: &[String],
    cards: &[usize],
) {
    let cpt = &net.cpts()[index];
    let parents: String = cpt
        .parents()
        .iter()
        .map(|p| format!(" {}", names[p.index()]))
        .collect();
    let bar = if parents.is_empty() { "" } else { " |" };
    let _ = write!(
        out,
        "potential ( {}{bar}{parents} )\n{{\n  data = ",
        names[index]
    );
    // After how many rows a parenthesis closes: one for the row, and one for each parent.
    let mut periods = vec![1];
    for parent in cpt.parents().iter().rev() {
        periods.push(periods[periods.len() - 1] * cards[parent.index()]);
    }
    let count = |row: usize| {
        periods
            .iter()
            .filter(|&&period| row.is_multiple_of(period))
            .count()
    };
    for (row, numbers) in cpt.table(cards).chunks_exact(cards[index]).enumerate() {
        let indent = if row == 0 { "" } else { "\n    " };
        let numbers: Vec<String> = numbers.iter().map(|p| format!("{p:?}")).collect();
        let (open, close) = ("(".repeat(count(row)), ")".repeat(count(row + 1)));
        let _ = write!(out, "{indent}{open} {} {close}", numbers.join(" "));
    }
    out.push_str(";\n}\n");
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The names that Hugin takes for nodes; others become labels.
const NAMES: Spelling = Spelling {
    format: Format::Net,
    fits: is_identifier,
    mend: |name| {
        let plain = name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        if is_identifier(&plain) {
            plain
        } else {
            format!("_{plain}")
        }
    },
    complaint: "which is not an identifier",
};

fn is_identifier(name: &str) -> bool {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let begins = name.starts_with(|c: char| !c.is_ascii_digit());
    is_plain && begins && KEYWORDS.split(' ').all(|word| word != name)
}
