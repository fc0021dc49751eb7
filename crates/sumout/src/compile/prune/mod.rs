//! Removes what cannot matter to a question.
//!
//! * A variable without children, evidence or question is *barren*: its CPT sums to one. Removing
//!   it may make its parents barren. Factors of a Markov network are never barren, and an
//!   explanation needs them all.
//! * A value is *impossible* if some factor is zero for all joint states that contain it and only
//!   values that are still possible. Removing it may make others impossible; this is repeated until
//!   nothing changes. A known value makes all other values of its variable impossible.
//! * A variable with one value left is not an axis of any tensor. If its CPT is one whatever the
//!   parents are, it goes.
//!
//! Numbers that are yet to be learned say nothing, not even where they are zero, unless their role
//! keeps zeros. A CPT that is to be learned makes its variable a function only if its role promises
//! that it will be one.
//!
//! The posteriors stay the same, and so does P(e): parts of the network that evidence cuts off from
//! the targets stay as factors of their own, and multiply into P(e).

mod factor;
mod implied;
mod values;

use std::collections::BTreeMap;

use crate::compile::ask::Question;
use crate::compile::factor::Factor;
use crate::compile::prune::factor::{Candidate, relevant, unmentioned};
use crate::compile::prune::implied::imply;
use crate::compile::prune::values::remove_impossible;
use crate::model::FactorModel;
use crate::tensor::Origin;
use crate::vars::{VarId, VarSet};

pub(crate) use values::each_state;

/// A pruned network.
#[derive(Clone, Debug)]
pub struct Pruned {
    /// For each variable, the positions of the values that it may still have.
    pub domains: Vec<Vec<usize>>,
    /// The factors over variables with at least two values left.
    pub factors: Vec<Factor>,
    /// For each variable that takes evidence when the circuit runs, the factor that hosts it.
    pub hosts: Vec<(VarId, usize)>,
    /// For each variable, the factor that makes it a function of the factor's other variables, if
    /// one does.
    pub definers: Vec<Option<usize>>,
    /// The variables whose definers are only promised to be functions: their numbers may be any.
    pub promised: VarSet,
    /// The variables whose definers are only nearly functions, and are taken for functions.
    pub near: VarSet,
    /// Whether the numbers of each factor are yet to be learned, so that not even its zeros are
    /// known.
    pub learned: Vec<bool>,
    /// For each factor whose numbers must stay visible in the circuit, where they come from.
    pub origins: Vec<Option<Origin>>,
    /// The variables that the output keeps: the target if there is only one, or all that are asked
    /// for together.
    pub output: VarSet,
    /// The variables that have a value in every example: no axes, but what mentions them differs
    /// between examples.
    pub clamped: VarSet,
    /// The variables whose CPTs differ between examples, each with the variable whose likelihood
    /// they are given as.
    pub selected: BTreeMap<VarId, VarId>,
    /// Whether maxima are asked for, and not sums.
    pub explain: bool,
    /// Whether definers include functions that no CPT states, and that factors imply.
    pub implied: bool,
    /// Variables that all factors together make functions of one other variable, with the 0/1
    /// tables of these functions. No factor needs them.
    pub functions: Vec<(VarId, Factor)>,
    /// Whether it is simplified, so that its factors are not those of the network.
    pub simplified: bool,
}

impl Pruned {
    /// The same with the functions that factors imply; none if they imply none.
    pub fn with_implied(&self) -> Option<Pruned> {
        let mut pruned = self.clone();
        imply(
            &mut pruned.factors,
            &self.cards(),
            &mut pruned.definers,
            &self.learned,
            &self.functions,
        );
        pruned.learned.resize(pruned.factors.len(), false);
        pruned.origins.resize(pruned.factors.len(), None);
        pruned.implied = pruned.definers != self.definers;
        pruned.implied.then_some(pruned)
    }

    /// Whether a variable is known to be a function, and not only promised or nearly so.
    pub fn is_function(&self, v: VarId) -> bool {
        self.definers[v.index()].is_some() && !self.promised.contains(v) && !self.near.contains(v)
    }

    /// Whether an entry of a factor may be positive, as far as is known.
    pub fn is_possible(&self, factor: usize, entry: usize) -> bool {
        self.learned[factor] || self.factors[factor].values[entry] > 0.0
    }

    /// Whether a factor differs between examples: it is the CPT of a variable that tests select.
    pub fn is_selected(&self, factor: usize) -> bool {
        self.origins[factor]
            .as_ref()
            .is_some_and(|origin| self.selected.contains_key(&origin.child))
    }

    /// Whether a factor mentions a variable that has a value in every example.
    pub fn is_clamped(&self, factor: usize) -> bool {
        let mut axes = self.factors[factor].scope.iter();
        axes.any(|v| self.clamped.contains(*v))
    }

    /// The number of values left of each variable.
    pub fn cards(&self) -> Vec<usize> {
        self.domains.iter().map(Vec::len).collect()
    }
}

/// Prunes a network; none if the known values are impossible together.
pub fn prune(net: &FactorModel, question: &Question) -> Option<Pruned> {
    let mut factors = relevant(net, question);
    factors.extend(unmentioned(net));
    let cards = net.cards();
    let mut domains: Vec<Vec<usize>> = cards.iter().map(|&card| (0..card).collect()).collect();
    for &(var, value) in &question.known {
        domains[var.index()].retain(|&v| v == value);
    }
    remove_impossible(&factors, &cards, &mut domains)?;
    factors
        .iter_mut()
        .for_each(|f| f.restrict(&cards, &domains));
    factors.retain(|f| question.families || !f.is_trivial(&cards, &domains));
    Some(host(factors, domains, question))
}

/// Finds a factor for the evidence on each variable that takes some.
fn host(factors: Vec<Candidate>, domains: Vec<Vec<usize>>, question: &Question) -> Pruned {
    let is_open = |v: &VarId| domains[v.index()].len() > 1;
    let targets: VarSet = question.goal.targets().iter().filter(is_open).collect();
    let (output, inputs) = if !question.goal.output().is_empty() {
        (targets, question.inputs.clone())
    } else {
        (VarSet::default(), &question.inputs | &targets)
    };
    let clamped: VarSet = question.hard.iter().filter(is_open).collect();
    let (definers, promised, near) = definers(&factors, &domains);
    let mut learned: Vec<bool> = factors.iter().map(|f| f.is_learned).collect();
    let mut origins: Vec<Option<Origin>> = factors.iter().map(Candidate::origin).collect();
    let best = best_hosts(factors.iter().map(|f| (f.child, &f.table)), domains.len());
    let mut tables: Vec<Factor> = factors.into_iter().map(|f| f.table).collect();
    let mut hosts = vec![];
    for v in inputs.iter().filter(|&v| !clamped.contains(v)) {
        hosts.push((v, best[v.index()].unwrap_or(tables.len())));
        if best[v.index()].is_none() {
            tables.push(ones(vec![v])); // one value left, whose likelihood counts
        }
    }
    // No step of a circuit reads its output, so a table that is to be differentiated must not be it.
    let is_alone = tables.len() == 1 && origins.iter().any(Option::is_some);
    if tables.is_empty() || is_alone {
        tables.push(ones(vec![]));
    }
    learned.resize(tables.len(), false);
    origins.resize(tables.len(), None);
    Pruned {
        domains,
        factors: tables,
        hosts,
        definers,
        promised,
        near,
        learned,
        origins,
        output,
        clamped,
        selected: question.selected.clone(),
        explain: question.goal.is_explanation(),
        implied: false,
        functions: vec![],
        simplified: false,
    }
}

/// The factor that evidence on each variable is multiplied with, if one mentions it: its CPT, or
/// else the smallest.
///
/// Factors come with the variables whose CPTs they are.
pub(crate) fn best_hosts<'t>(
    factors: impl Iterator<Item = (Option<VarId>, &'t Factor)>,
    variables: usize,
) -> Vec<Option<usize>> {
    let mut best: Vec<Option<(bool, usize, usize)>> = vec![None; variables];
    for (index, (child, table)) in factors.enumerate() {
        for &v in &table.scope {
            let candidate = (child != Some(v), table.values.len(), index);
            let best = &mut best[v.index()];
            *best = Some(best.map_or(candidate, |b| b.min(candidate)));
        }
    }
    let index = |best: Option<(bool, usize, usize)>| best.map(|(_, _, index)| index);
    best.into_iter().map(index).collect()
}

/// A number that changes nothing.
fn ones(axes: Vec<VarId>) -> Factor {
    Factor {
        scope: axes,
        values: vec![1.0],
    }
}

/// The factor that makes each variable a function, and the variables of which that is only
/// promised, or nearly so.
fn definers(factors: &[Candidate], domains: &[Vec<usize>]) -> (Vec<Option<usize>>, VarSet, VarSet) {
    let (mut definers, mut promised, mut near) = (
        vec![None; domains.len()],
        VarSet::default(),
        VarSet::default(),
    );
    for (index, factor) in factors.iter().enumerate() {
        let Some(child) = factor
            .child
            .filter(|v| factor.table.scope.last() == Some(v))
        else {
            continue;
        };
        if !factor.is_function(domains[child.index()].len()) {
            match (factor.is_promised, factor.is_near) {
                (true, _) => promised.insert(child),
                (_, true) => near.insert(child),
                _ => continue,
            };
        }
        definers[child.index()] = Some(index);
    }
    (definers, promised, near)
}
