//! Prunes values and edges as the paper's implementation does, but no nodes.
//!
//! In one pass, parents before children, a value is removed if its probability is zero in all rows
//! that are left, provided that training keeps the zeros. A parent with a single value is no
//! parent, and a variable with a single value has no parents; it stays in the network as a node of
//! its own.

use crate::compile::factor::Factor;
use crate::model::{Cpt, FactorModel};
use crate::vars::VarId;

use crate::compile::plan::paper::Problem;
use crate::compile::prune::each_state;

/// The problem that a network poses when no question is asked: one factor for each CPT.
pub fn pruned(net: &FactorModel) -> Problem {
    let cards = net.cards();
    let mut domains: Vec<Vec<usize>> = cards.iter().map(|&card| (0..card).collect()).collect();
    let (mut factors, mut definer) = (vec![], vec![None; cards.len()]);
    for (index, cpt) in net.cpts().iter().enumerate() {
        let table = Factor {
            scope: cpt.scope().to_vec(),
            values: cpt.table(&cards),
        };
        if let Some(child) = cpt.child() {
            let role = cpt.role();
            let support = support(&table, &cards, &domains);
            if role.fixed || role.keep_zeros {
                domains[child.index()].retain(|&value| support.possible[value]);
            }
            definer[child.index()] = (role.functional || support.is_functional).then_some(index);
        }
        factors.push(family(cpt, &domains));
    }
    Problem {
        varies: vec![false; factors.len()],
        clamped: vec![false; factors.len()],
        factors: factors
            .into_iter()
            .map(|axes| axes.into_iter().collect())
            .collect(),
        output: Default::default(),
        cards: domains.iter().map(Vec::len).collect(),
        definer,
        known: vec![],
        prices: Default::default(),
    }
}

/// The possible values in the remaining rows of a CPT.
struct Support {
    /// Which values of the child have a positive probability.
    possible: Vec<bool>,
    /// Whether there are only zeros and ones.
    is_functional: bool,
}

fn support(table: &Factor, cards: &[usize], domains: &[Vec<usize>]) -> Support {
    let child = table.scope[table.scope.len() - 1];
    let mut support = Support {
        possible: vec![false; cards[child.index()]],
        is_functional: true,
    };
    each_state(table, cards, domains, |states, p| {
        support.possible[states[states.len() - 1]] |= p > 0.0;
        support.is_functional &= p == 0.0 || p == 1.0;
    });
    support
}

/// The variables of a CPT that are left: those with several values, and the child in any case.
fn family(cpt: &Cpt, domains: &[Vec<usize>]) -> Vec<VarId> {
    let is_open = |v: &VarId| domains[v.index()].len() > 1;
    match cpt.child().filter(|child| !is_open(child)) {
        Some(child) => vec![child],
        None => cpt.scope().iter().copied().filter(|v| is_open(v)).collect(),
    }
}
