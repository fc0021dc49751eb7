//! Maximum likelihood of complete data, by counting.

use crate::circuit::batch::Column;
use crate::circuit::compiled::nothing_possible;
use crate::compile::{Goal, Question, prune};
use crate::error::Result;
use crate::learn::{Examples, Params, Task};
use crate::model::Network;
use crate::vars::VarId;

/// The parameters with the highest likelihood, plus pseudo-counts, if the family of each CPT to
/// learn is complete in every example; none otherwise.
pub(crate) fn count(
    net: &Network,
    task: &Task,
    examples: &Examples,
    prior: f64,
) -> Result<Option<Params>> {
    let trainable = task.trainable(net);
    let is_promised = |v: VarId| net.cpts()[v.index()].role().functional;
    if trainable.is_empty() || trainable.iter().any(is_promised) || net.has_selections() {
        return Ok(None);
    }
    let children: Vec<VarId> = trainable.iter().collect();
    let question = Question {
        goal: Goal::posteriors(net.ids().collect()),
        trainable,
        ..Question::default()
    };
    let pruned =
        prune::prune(net.model(), &question).ok_or_else(|| nothing_possible(net.model()))?;
    let mut params = Params::new(
        net.model(),
        &children,
        &[],
        &pruned.domains,
        task.strict_ties,
    )?;
    let mut counts = vec![0.0; params.len()];
    for &child in &children {
        let Some(table) = table(net, task, examples, child) else {
            return Ok(None);
        };
        params.collect_table(child, &table, &mut counts);
    }
    params.set_counts(&counts, prior);
    Ok(Some(params))
}

/// The weight of the examples of each joint state of a family; none if some cell is missing.
fn table(net: &Network, task: &Task, examples: &Examples, child: VarId) -> Option<Vec<f64>> {
    let is_used = |v: VarId| task.given.contains(v) || task.targets.contains(&v);
    let cpt = &net.cpts()[child.index()];
    let columns: Vec<(usize, &[i32])> = cpt
        .scope()
        .iter()
        .map(|&v| {
            let values = complete(net, examples, v).filter(|_| is_used(v))?;
            Some((net.card(v), values))
        })
        .collect::<Option<_>>()?;
    let mut table = vec![0.0; cpt.size(&net.cards())];
    for row in 0..examples.len() {
        let place = columns
            .iter()
            .fold(0, |at, (card, values)| at * card + values[row] as usize);
        table[place] += examples.weight(row);
    }
    Some(table)
}

/// The values of a variable, if it has one in every example.
fn complete<'e>(net: &Network, examples: &'e Examples, var: VarId) -> Option<&'e [i32]> {
    let is_value = |v: &i32| (0..net.card(var) as i32).contains(v);
    match examples.get(var) {
        Some(Column::Values(values))
            if values.len() == examples.len() && values.iter().all(is_value) =>
        {
            Some(values)
        }
        _ => None,
    }
}
