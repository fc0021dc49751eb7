//! Writes networks as JSON.

use std::fmt::Write;

use crate::error::Result;
use crate::model::format::Loss;
use crate::model::format::json::{VERSION, selection};
use crate::model::{Body, Cpt, Network, Role, Variable};
use crate::vars::VarId;

/// Longer functions are written by position: by name they would be long without being readable.
const MAX_NAMED: usize = 64;

pub(crate) fn write(net: &Network, _loss: Loss) -> Result<String> {
    let kind = if net.is_markov() { "markov" } else { "bayes" };
    let mut out = format!("{{\n  \"sumout\": {VERSION},\n  \"kind\": \"{kind}\",\n");
    let _ = writeln!(out, "  \"name\": {},", quoted(net.name()));
    if net.has_selections() {
        let _ = writeln!(out, "  \"sight\": \"{}\",", net.sight());
    }
    let variables = net.variables().iter().map(variable);
    let _ = writeln!(out, "  \"variables\": {},", lines(variables, "    ", "  "));
    let cpts = net.cpts().iter().map(|cpt| factor(net, cpt));
    let field = if net.is_markov() { "factors" } else { "cpts" };
    let _ = writeln!(out, "  \"{field}\": {}\n}}", lines(cpts, "    ", "  "));
    Ok(out)
}

/// A list with one item in each line.
fn lines(items: impl Iterator<Item = String>, indent: &str, outer: &str) -> String {
    let lines: Vec<String> = items.map(|item| format!("{indent}{item}")).collect();
    if lines.is_empty() {
        "[]".to_owned()
    } else {
        format!("[\n{}\n{outer}]", lines.join(",\n"))
    }
}

fn variable(variable: &Variable) -> String {
    format!(
        "{{\"name\": {}, \"values\": {}}}",
        quoted(&variable.name),
        names(&variable.values)
    )
}

fn factor(net: &Network, cpt: &Cpt) -> String {
    let scope = |vars: &[VarId]| names(vars.iter().map(|&v| &net.variable(v).name));
    let head = match cpt.child() {
        None => format!("\"scope\": {}", scope(cpt.scope())),
        Some(child) => {
            format!(
                "\"child\": {}, \"parents\": {}",
                quoted(&net.variable(child).name),
                scope(cpt.parents())
            )
        }
    };
    let last = cpt.scope().last().map(|&v| net.variable(v));
    let body = match cpt.body() {
        Body::Table(table) => format!(
            "\"table\": {}",
            rows(table, last.map_or(1, |v| v.values.len()))
        ),
        Body::Function(values) => {
            let named = last.filter(|_| values.len() <= MAX_NAMED);
            let names = |last: &Variable| names(values.iter().map(|&v| &last.values[v as usize]));
            format!(
                "\"function\": {}",
                named.map_or_else(|| positions(values), names)
            )
        }
        Body::Selected(copies) => {
            let card = last.map_or(1, |v| v.values.len());
            return format!("{{{head}, {}}}", selection::write(net, copies, card));
        }
    };
    format!("{{{head}, {body}{}}}", roles(cpt.role()))
}

/// One row as it is; several in a line each.
pub(super) fn rows(table: &[f64], width: usize) -> String {
    let rows = table.chunks_exact(width).map(|row| format!("{row:?}"));
    if table.len() == width {
        rows.collect()
    } else {
        lines(rows, "      ", "    ")
    }
}

/// A long function, in lines that a difference between two files can name.
fn positions(values: &[u32]) -> String {
    let line = |values: &[u32]| {
        values
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    lines(values.chunks(MAX_NAMED).map(line), "      ", "    ")
}

pub(super) fn roles(role: &Role) -> String {
    let flags = [
        ("functional", role.functional),
        ("fixed", role.fixed),
        ("keep_zeros", role.keep_zeros),
    ];
    let mut out: String = flags
        .iter()
        .filter(|flag| flag.1)
        .map(|(name, _)| format!(", \"{name}\": true"))
        .collect();
    if let Some(tie) = &role.tie {
        let _ = write!(out, ", \"tie\": {}", quoted(tie));
    }
    out
}

pub(super) fn names<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    format!(
        "[{}]",
        names
            .into_iter()
            .map(|n| quoted(n))
            .collect::<Vec<_>>()
            .join(", ")
    )
}

fn quoted(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}
