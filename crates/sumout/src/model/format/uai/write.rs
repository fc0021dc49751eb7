//! Networks as UAI writes them.

use std::fmt::Write;

use crate::error::Result;
use crate::model::format::uai::numbering;
use crate::model::format::{Format, Loss, cannot_carry, refuse_roles};
use crate::model::{Cpt, Network};
use crate::vars::VarId;

pub(in crate::model::format) fn write(net: &Network, loss: Loss) -> Result<String> {
    refuse_roles(net, Format::Uai, loss)?;
    let order = match numbering(net) {
        Some(order) => order,
        None if loss == Loss::Refuse => {
            return Err(cannot_carry(
                Format::Uai,
                "the names of variables and values",
            ));
        }
        None => net.ids().collect(),
    };
    let cpts: Vec<&Cpt> = if net.is_markov() {
        net.cpts().iter().collect()
    } else {
        order.iter().map(|v| &net.cpts()[v.index()]).collect()
    };
    let kind = if net.is_markov() { "MARKOV" } else { "BAYES" };
    let ordered_cards = joined(order.iter().map(|&v| net.card(v)));
    let mut out = format!("{kind}\n{}\n{ordered_cards}\n{}\n", order.len(), cpts.len());
    write_scopes(&mut out, &cpts, &order);
    write_tables(&mut out, &cpts, &net.cards());
    Ok(out)
}

fn write_scopes(out: &mut String, cpts: &[&Cpt], order: &[VarId]) {
    let mut number = vec![0; order.len()];
    order
        .iter()
        .enumerate()
        .for_each(|(i, v)| number[v.index()] = i);
    for cpt in cpts {
        let scope = cpt.scope().iter().map(|v| number[v.index()]);
        let _ = writeln!(out, "{}", joined([scope.len()].into_iter().chain(scope)));
    }
}

fn write_tables(out: &mut String, cpts: &[&Cpt], cards: &[usize]) {
    for cpt in cpts {
        let table = cpt.table(cards);
        let width = cpt.scope().last().map_or(1, |v| cards[v.index()]);
        let _ = writeln!(out, "\n{}", table.len());
        for row in table.chunks_exact(width) {
            let _ = writeln!(out, " {}", joined(row));
        }
    }
}

/// Numbers so that reading gives back the same bits.
fn joined<T: std::fmt::Debug>(numbers: impl IntoIterator<Item = T>) -> String {
    numbers
        .into_iter()
        .map(|n| format!("{n:?}"))
        .collect::<Vec<_>>()
        .join(" ")
}
