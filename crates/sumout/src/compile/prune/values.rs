//! Which values are possible, and the parts of tables that they leave.

use std::collections::VecDeque;

use crate::compile::factor::Factor;
use crate::compile::prune::factor::Candidate;
use crate::vars::VarId;

/// Removes impossible values from the domains until nothing changes; none if a variable has no
/// value left.
pub(super) fn remove_impossible(
    factors: &[Candidate],
    cards: &[usize],
    domains: &mut [Vec<usize>],
) -> Option<()> {
    let mut of_var: Vec<Vec<usize>> = vec![vec![]; cards.len()];
    for (index, factor) in factors.iter().enumerate() {
        factor
            .table
            .scope
            .iter()
            .for_each(|v| of_var[v.index()].push(index));
    }
    let mut waiting: Vec<bool> = factors.iter().map(|f| !f.is_learned).collect();
    let mut queue: VecDeque<usize> = (0..factors.len()).filter(|&index| waiting[index]).collect();
    while let Some(index) = queue.pop_front() {
        waiting[index] = false;
        for v in narrow(&factors[index].table, cards, domains)? {
            for &other in &of_var[v.index()] {
                if !factors[other].is_learned && !std::mem::replace(&mut waiting[other], true) {
                    queue.push_back(other);
                }
            }
        }
    }
    Some(())
}

/// Keeps the values that have a positive joint state in this table; returns which domains became
/// smaller.
fn narrow(table: &Factor, cards: &[usize], domains: &mut [Vec<usize>]) -> Option<Vec<VarId>> {
    if table.values.iter().all(|&p| p > 0.0) {
        return Some(vec![]);
    }
    let mut supported: Vec<Vec<bool>> = table
        .scope
        .iter()
        .map(|v| vec![false; cards[v.index()]])
        .collect();
    let mut is_possible = false;
    each_state(table, cards, domains, |states, p| {
        if p > 0.0 {
            is_possible = true;
            supported
                .iter_mut()
                .zip(states)
                .for_each(|(s, &state)| s[state] = true);
        }
    });
    let mut changed = vec![];
    for (v, supported) in table.scope.iter().zip(supported) {
        let domain = &mut domains[v.index()];
        let before = domain.len();
        domain.retain(|&value| supported[value]);
        changed.extend((domain.len() < before).then_some(*v));
    }
    is_possible.then_some(changed)
}

/// The part of a table on the domains, without axes of which a single value is left.
pub(super) fn restrict(table: &Factor, cards: &[usize], domains: &[Vec<usize>]) -> Factor {
    let axes = table
        .scope
        .iter()
        .copied()
        .filter(|v| domains[v.index()].len() > 1)
        .collect();
    let mut values = vec![];
    each_state(table, cards, domains, |_, p| values.push(p));
    Factor {
        scope: axes,
        values,
    }
}

/// Visits the joint states of a table that the domains allow, the last axis fastest.
pub(crate) fn each_state(
    table: &Factor,
    cards: &[usize],
    domains: &[Vec<usize>],
    mut visit: impl FnMut(&[usize], f64),
) {
    let axes: Vec<&[usize]> = table
        .scope
        .iter()
        .map(|v| &domains[v.index()][..])
        .collect();
    let strides: Vec<usize> = (0..axes.len())
        .map(|i| {
            table.scope[i + 1..]
                .iter()
                .map(|v| cards[v.index()])
                .product()
        })
        .collect();
    let mut at = vec![0; axes.len()];
    let mut states: Vec<usize> = axes
        .iter()
        .filter_map(|domain| domain.first().copied())
        .collect();
    if states.len() < axes.len() {
        return;
    }
    loop {
        visit(
            &states,
            table.values[states
                .iter()
                .zip(&strides)
                .map(|(s, stride)| s * stride)
                .sum::<usize>()],
        );
        let Some(axis) = (0..axes.len()).rev().find(|&i| at[i] + 1 < axes[i].len()) else {
            return;
        };
        at[axis] += 1;
        at[axis + 1..].fill(0);
        (axis..axes.len()).for_each(|i| states[i] = axes[i][at[i]]);
    }
}
