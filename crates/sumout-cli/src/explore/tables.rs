//! The CPTs of a model: as the page shows them, and with other numbers.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use sumout::{Error, ErrorKind, Network, Result, VarId};

/// Tables with more numbers are too large to look at.
const MAX_NUMBERS: usize = 20_000;

/// The numbers of a row sum to 1, up to this.
const TOLERANCE: f64 = 1e-6;

/// Other numbers for some CPTs: dense tables by the names of their variables.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Changes {
    tables: BTreeMap<String, Vec<f64>>,
}

/// A CPT with its numbers, row by row; the last parent moves fastest.
pub fn shown(net: &Network, name: &str) -> Result<Value> {
    let var = net.find(name)?;
    can_be_shown(net, var)?;
    let numbers = net.cpts()[var.index()].table(&net.cards());
    let rows: Vec<&[f64]> = numbers.chunks(net.card(var)).collect();
    let names = |vars: &[VarId]| vars.iter().map(|&v| net.variable(v).name.clone()).collect();
    let parents: Vec<String> = names(net.parents(var));
    Ok(json!({"variable": net.variable(var).name, "parents": parents, "rows": rows}))
}

/// The network with other numbers.
pub fn changed(net: &Network, changes: &Changes) -> Result<Network> {
    let mut tables = Vec::new();
    for (name, numbers) in &changes.tables {
        let var = net.find(name)?;
        can_be_shown(net, var)?;
        check(net, var, numbers)?;
        tables.push((var, &numbers[..]));
    }
    Ok(net.with_tables(tables))
}

fn can_be_shown(net: &Network, var: VarId) -> Result<()> {
    let name = &net.variable(var).name;
    let refuse = |message: String| Err(Error::new(ErrorKind::Unsupported, message));
    if net.is_markov() {
        return refuse("the factors of a Markov network belong to no variable".into());
    }
    let cpt = &net.cpts()[var.index()];
    if cpt.selected().is_some() {
        return refuse(format!("the CPT of `{name}` depends on the evidence"));
    }
    match cpt.size(&net.cards()) {
        many if many > MAX_NUMBERS => refuse(format!(
            "the CPT of `{name}` has {many} numbers, too many to show (at most {MAX_NUMBERS})"
        )),
        _ => Ok(()),
    }
}

fn check(net: &Network, var: VarId, numbers: &[f64]) -> Result<()> {
    let (name, card) = (&net.variable(var).name, net.card(var));
    let wanted = net.cpts()[var.index()].size(&net.cards());
    let refuse = |message: String| Err(Error::new(ErrorKind::Model, message));
    if numbers.len() != wanted {
        let found = numbers.len();
        return refuse(format!(
            "the CPT of `{name}` has {wanted} numbers, found {found}"
        ));
    }
    for (at, row) in numbers.chunks(card).enumerate() {
        let sum: f64 = row.iter().sum();
        let is_row = row.iter().all(|&p| p >= 0.0) && (sum - 1.0).abs() <= TOLERANCE;
        if !is_row {
            let at = at + 1;
            return refuse(format!(
                "row {at} of the CPT of `{name}` is not a distribution: it sums to {sum}"
            ));
        }
    }
    Ok(())
}
