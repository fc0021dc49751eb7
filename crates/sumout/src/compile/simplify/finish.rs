//! From a draft back to a pruned network.

use crate::compile::factor::Factor;
use crate::compile::prune::{Pruned, best_hosts};
use crate::compile::simplify::draft::{Draft, Part};
use crate::compile::simplify::probe::Implied;
use crate::compile::simplify::substitute::Value;
use crate::vars::{VarId, VarSet};

/// The pruned network of a draft. Variables that must stay, and that another one stands for, are
/// leaves.
pub(super) fn finish(pruned: &Pruned, mut draft: Draft, implied: Vec<Implied>) -> Pruned {
    let domains = domains(pruned, &draft);
    let is_open = |v: &VarId| domains[v.index()].len() > 1;
    let functions = implied.iter().map(|one| function(one, &draft)).collect();
    add_leaves(pruned, &mut draft);
    let closed = pruned.clamped.iter().filter(|v| !is_open(v));
    let inputs: VarSet = pruned.hosts.iter().map(|(v, _)| *v).chain(closed).collect();
    let hosts = host(&mut draft, &inputs);
    if draft.factors.is_empty() {
        draft.factors.push(Part::plain(ones(vec![])));
    }
    let definers = definers(&draft);
    let is_function = |v: &VarId| definers[v.index()].is_some();
    Pruned {
        hosts,
        promised: pruned.promised.iter().filter(is_function).collect(),
        near: pruned.near.iter().filter(is_function).collect(),
        learned: draft.factors.iter().map(|part| part.is_learned).collect(),
        output: pruned.output.iter().filter(is_open).collect(),
        clamped: pruned.clamped.iter().filter(is_open).collect(),
        selected: pruned.selected.clone(),
        explain: pruned.explain,
        implied: false,
        functions,
        simplified: true,
        origins: draft
            .factors
            .iter()
            .map(|part| part.origin.clone())
            .collect(),
        factors: draft.factors.into_iter().map(|part| part.table).collect(),
        definers,
        domains,
    }
}

/// For each variable, the positions of the values that are left.
fn domains(pruned: &Pruned, draft: &Draft) -> Vec<Vec<usize>> {
    let left = |(domain, value): (&Vec<usize>, &Value)| {
        let mut left = match value {
            Value::Constant(at) => vec![domain[*at]],
            Value::Of(_, values) => values.iter().map(|&at| domain[at]).collect(),
        };
        left.sort_unstable();
        left
    };
    pruned
        .domains
        .iter()
        .zip(&draft.stands.0)
        .map(left)
        .collect()
}

/// Adds the function of each variable that must stay and that another one stands for.
fn add_leaves(pruned: &Pruned, draft: &mut Draft) {
    let asked = asked(pruned);
    for v in asked.iter() {
        let Value::Of(root, values) = &draft.stands.0[v.index()] else {
            continue;
        };
        if *root != v {
            let mut part = Part::plain(renaming(*root, v, values));
            part.defines = Some(v);
            draft.factors.push(part);
        }
    }
}

/// The variables that must stay.
fn asked(pruned: &Pruned) -> VarSet {
    if pruned.explain {
        let axes = pruned.factors.iter().flat_map(|f| f.scope.iter().copied());
        return axes.collect();
    }
    let hosted: VarSet = pruned.hosts.iter().map(|(v, _)| *v).collect();
    &(&hosted | &pruned.output) | &pruned.clamped
}

/// The function from a variable to one that it stands for.
fn renaming(root: VarId, v: VarId, values: &[usize]) -> Factor {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let is_value = |&value: &usize| {
        let row = sorted
            .iter()
            .map(move |&other| f64::from(u8::from(other == value)));
        row.collect::<Vec<f64>>()
    };
    Factor {
        scope: vec![root, v],
        values: values.iter().flat_map(is_value).collect(),
    }
}

/// Finds a factor for the evidence on each variable that takes some.
fn host(draft: &mut Draft, inputs: &VarSet) -> Vec<(VarId, usize)> {
    let tables = draft.factors.iter().map(|part| (part.defines, &part.table));
    let best = best_hosts(tables, draft.cards.len());
    let mut hosts = vec![];
    for v in inputs.iter() {
        hosts.push((v, best[v.index()].unwrap_or(draft.factors.len())));
        if best[v.index()].is_none() {
            draft.factors.push(Part::plain(ones(vec![v])));
        }
    }
    hosts
}

/// A number that changes nothing.
fn ones(axes: Vec<VarId>) -> Factor {
    Factor {
        scope: axes,
        values: vec![1.0],
    }
}

fn definers(draft: &Draft) -> Vec<Option<usize>> {
    let mut definers = vec![None; draft.cards.len()];
    for (index, part) in draft.factors.iter().enumerate() {
        if let Some(v) = part.defines {
            definers[v.index()] = Some(index);
        }
    }
    definers
}

/// The table of a function that probing found.
fn function(implied: &Implied, draft: &Draft) -> (VarId, Factor) {
    let Implied {
        child,
        parent,
        values,
    } = implied;
    let [rows, columns] = [parent, child].map(|v| draft.cards[v.index()]);
    let mut table = Factor {
        scope: vec![*parent, *child],
        values: vec![0.0; rows * columns],
    };
    for &(p, c) in values {
        table.values[p * columns + c] = 1.0;
    }
    (*child, table)
}
