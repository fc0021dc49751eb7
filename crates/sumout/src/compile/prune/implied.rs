//! Functional dependencies that no CPT states, but that factors imply.
//!
//! If a factor has at most one positive entry along v for each state of its other variables, then v
//! is a function of them, wherever the factor is positive. CPTs of functions that can be inverted
//! are such factors; so is what hard evidence leaves of a CPT: of y = a xor b with y observed
//! remains b = a xor y. Two factors together may determine a variable that neither determines
//! alone.
//!
//! The numbers of such a factor are weights, which must count once. Only its 0/1 part may be
//! copied: it is added as a factor of its own, which changes nothing, since the weights are zero
//! wherever it is zero (Theorem 4).

use std::collections::{BTreeMap, BTreeSet};

use crate::compile::factor::Factor;
use crate::vars::{VarId, VarSet};

/// Two factors are looked at together only if their joint table is at most this large.
const MAX_JOINT: usize = 1 << 12;

/// No more pairs of factors than this are looked at.
const MAX_PAIRS: usize = 4000;

/// Finds definers for variables that have none; adds the 0/1 tables that they need.
///
/// Tables that are yet to be learned imply nothing. Functions of one variable that are known
/// already come first.
pub(crate) fn imply(
    tables: &mut Vec<Factor>,
    cards: &[usize],
    definers: &mut [Option<usize>],
    learned: &[bool],
    functions: &[(VarId, Factor)],
) {
    let known: Vec<usize> = (0..tables.len())
        .filter(|&factor| !learned[factor])
        .collect();
    for (v, table) in functions {
        if definers[v.index()].is_none() && !depends(tables, definers, table, *v) {
            definers[v.index()] = Some(add(tables, table.clone()));
        }
    }
    for &factor in &known {
        let indicator = indicator(&tables[factor]);
        let is_plain = indicator.values == tables[factor].values;
        for v in determined(&indicator, cards) {
            if definers[v.index()].is_none() && !depends(tables, definers, &indicator, v) {
                let definer = if is_plain {
                    factor
                } else {
                    add(tables, indicator.clone())
                };
                definers[v.index()] = Some(definer);
                break; // a factor that is copied for several variables would define each by the others
            }
        }
    }
    let pairs = pairs(tables, &known, definers);
    for (a, b) in pairs {
        imply_pair(tables, cards, definers, a, b);
    }
}

fn imply_pair(
    tables: &mut Vec<Factor>,
    cards: &[usize],
    definers: &mut [Option<usize>],
    a: usize,
    b: usize,
) {
    let Some(joint) = joint(&tables[a], &tables[b], cards) else {
        return;
    };
    let found = determined(&joint, cards)
        .into_iter()
        .find(|v| definers[v.index()].is_none() && !depends(tables, definers, &joint, *v));
    if let Some(v) = found {
        definers[v.index()] = Some(add(tables, joint));
    }
}

fn add(tables: &mut Vec<Factor>, table: Factor) -> usize {
    tables.push(table);
    tables.len() - 1
}

/// One where a table is positive, zero elsewhere.
fn indicator(table: &Factor) -> Factor {
    let values = table
        .values
        .iter()
        .map(|&p| if p > 0.0 { 1.0 } else { 0.0 })
        .collect();
    Factor {
        scope: table.scope.clone(),
        values,
    }
}

/// The variables that have at most one positive entry for each state of the others.
fn determined(table: &Factor, cards: &[usize]) -> Vec<VarId> {
    let is_determined = |axis: &usize| {
        let inner: usize = table.scope[axis + 1..]
            .iter()
            .map(|v| cards[v.index()])
            .product();
        let card = cards[table.scope[*axis].index()];
        let lines = table
            .values
            .chunks_exact(card * inner)
            .flat_map(|block| (0..inner).map(move |i| (block, i)));
        lines
            .into_iter()
            .all(|(block, i)| (0..card).filter(|k| block[k * inner + i] > 0.0).count() <= 1)
    };
    let axes = (0..table.scope.len()).filter(|axis| table.scope.len() > 1 && is_determined(axis));
    axes.map(|axis| table.scope[axis]).collect()
}

/// Whether one of a table's other variables is, step by step, already a function of `v`.
fn depends(tables: &[Factor], definers: &[Option<usize>], table: &Factor, v: VarId) -> bool {
    let mut seen: BTreeSet<VarId> = BTreeSet::new();
    let mut stack: Vec<VarId> = table.scope.iter().copied().filter(|&u| u != v).collect();
    while let Some(u) = stack.pop() {
        if u == v {
            return true;
        }
        if seen.insert(u) {
            let definer = definers[u.index()]
                .into_iter()
                .flat_map(|f| tables[f].scope.iter().copied());
            stack.extend(definer.filter(|&w| w != u));
        }
    }
    false
}

/// Pairs of factors with zeros that share a variable which no factor defines.
fn pairs(tables: &[Factor], known: &[usize], definers: &[Option<usize>]) -> Vec<(usize, usize)> {
    let mut holders: BTreeMap<VarId, Vec<usize>> = BTreeMap::new();
    for &index in known
        .iter()
        .filter(|&&index| tables[index].values.contains(&0.0))
    {
        for v in tables[index]
            .scope
            .iter()
            .filter(|v| definers[v.index()].is_none())
        {
            holders.entry(*v).or_default().push(index);
        }
    }
    let of = |h: &Vec<usize>| -> Vec<(usize, usize)> {
        (0..h.len())
            .flat_map(|i| h[i + 1..].iter().map(move |&b| (i, b)))
            .map(|(i, b)| (h[i], b))
            .collect()
    };
    holders
        .values()
        .filter(|h| h.len() <= 16)
        .flat_map(of)
        .take(MAX_PAIRS)
        .collect()
}

/// The 0/1 part of the product of two tables; none if it would be large.
fn joint(a: &Factor, b: &Factor, cards: &[usize]) -> Option<Factor> {
    let axes: VarSet = a.scope.iter().chain(&b.scope).copied().collect();
    let size = axes
        .iter()
        .try_fold(1usize, |size, v| size.checked_mul(cards[v.index()]))?;
    if size > MAX_JOINT {
        return None;
    }
    let both = places(a, &axes, cards)
        .into_iter()
        .zip(places(b, &axes, cards));
    let is_positive = |(i, j): (usize, usize)| a.values[i] > 0.0 && b.values[j] > 0.0;
    let values = both
        .map(|places| f64::from(u8::from(is_positive(places))))
        .collect();
    Some(Factor {
        scope: axes.iter().collect(),
        values,
    })
}

/// For each joint state of some axes, the last fastest, its place in a table.
fn places(table: &Factor, axes: &VarSet, cards: &[usize]) -> Vec<usize> {
    let mut places = vec![0];
    for v in axes.iter() {
        let inner = |at: usize| {
            table.scope[at + 1..]
                .iter()
                .map(|u| cards[u.index()])
                .product()
        };
        let stride: usize = table.scope.iter().position(|u| *u == v).map_or(0, inner);
        places = places
            .iter()
            .flat_map(|&at| (0..cards[v.index()]).map(move |i| at + i * stride))
            .collect();
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(axes: &[usize], values: &[f64]) -> Factor {
        Factor {
            scope: axes.iter().map(|&v| VarId::new(v)).collect(),
            values: values.to_vec(),
        }
    }

    #[test]
    fn what_evidence_leaves_of_a_parity_determines_one_input_by_the_other() {
        let mut tables = vec![table(&[0, 1], &[0.3, 0.0, 0.0, 0.9])];
        let mut definers = vec![None, None];
        imply(&mut tables, &[2, 2], &mut definers, &[false], &[]);
        assert_eq!(definers, [Some(1), None]);
        assert_eq!(tables[1], table(&[0, 1], &[1.0, 0.0, 0.0, 1.0]));
    }

    #[test]
    fn two_factors_may_determine_a_variable_together() {
        // b tells whether a is in {0, 1} or in {2, 3}, in more than one way; c tells whether it is
        // even.
        let b = table(
            &[1, 0],
            &[0.2, 0.7, 0.0, 0.0, 0.0, 0.0, 0.1, 0.4, 0.5, 0.5, 0.0, 0.0],
        );
        let c = table(
            &[2, 0],
            &[0.6, 0.0, 0.3, 0.0, 0.0, 0.9, 0.0, 0.8, 0.1, 0.0, 0.1, 0.0],
        );
        let mut tables = vec![b, c];
        let mut definers = vec![None, None, None];
        imply(&mut tables, &[4, 3, 3], &mut definers, &[false; 2], &[]);
        assert_eq!(definers, [Some(2), None, None]);
        assert_eq!(tables[2].scope.len(), 3);
    }
}
