//! Removes what cannot matter to a question.
//!
//! * A variable without children, evidence or question is *barren*: its CPT sums to one. Removing
//!   it may make its parents barren. Factors of a Markov network are never barren, and an
//!   explanation needs them all.
//! * A value is *impossible* if some factor is zero for all joint states that contain it and only
//!   values that are still possible. Removing it may make others impossible; this is repeated until
//!   nothing changes. A known value makes all other values of its variable impossible.
//! * A variable with one value left is no axis of any tensor. If its CPT is one whatever the
//!   parents are, it goes.
//!
//! Numbers that are yet to be learned say nothing, not even where they are zero, unless their role
//! keeps zeros. A CPT that is to be learned makes its variable a function only if its role promises
//! that it will be one.
//!
//! The posteriors stay the same, and so does P(e): parts of the network that evidence cuts off from
//! the targets stay as factors of their own, and multiply into P(e).

mod implied;

use std::collections::{BTreeMap, VecDeque};

use crate::model::{Cpt, FactorModel};
use crate::tensor::{Origin, Table};
use crate::vars::{VarId, VarSet};

use crate::compile::Question;
use crate::compile::prune::implied::imply;

/// What is left of a network.
#[derive(Clone, Debug)]
pub struct Pruned {
    /// For each variable, the positions of the values that it may still have.
    pub domains: Vec<Vec<usize>>,
    /// The factors over variables with at least two values left.
    pub factors: Vec<Table>,
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
    /// The variables that the output keeps: the target, if there is only one.
    pub output: VarSet,
    /// The variables that have a value in every example: no axes, but what mentions them differs
    /// between examples.
    pub clamped: VarSet,
    /// The variables whose CPTs differ between examples, each with the variable whose likelihood
    /// they are given as.
    pub selected: BTreeMap<VarId, VarId>,
    /// Whether maxima are asked for, and not sums.
    pub explain: bool,
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
        );
        pruned.learned.resize(pruned.factors.len(), false);
        pruned.origins.resize(pruned.factors.len(), None);
        (pruned.definers != self.definers).then_some(pruned)
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

/// A factor with the variable whose CPT it is.
struct Factor {
    child: Option<VarId>,
    table: Table,
    /// Whether its numbers will be learned, zeros included.
    is_learned: bool,
    /// Whether what will be learned is promised to be a function.
    is_promised: bool,
    /// Whether it is nearly a function, and is to be taken for one.
    is_near: bool,
    /// Whether its numbers must stay visible.
    is_visible: bool,
    /// The number of entries of the CPT, and for each number that is left its place there, if it
    /// must stay visible.
    size: usize,
    entries: Vec<u32>,
}

impl Factor {
    fn new(cpt: &Cpt, cards: &[usize], question: &Question) -> Self {
        let is_selected = cpt
            .child()
            .is_some_and(|child| question.selected.contains_key(&child));
        let is_trainable = is_selected
            || cpt
                .child()
                .is_some_and(|child| question.trainable.contains(child));
        let table = Table {
            axes: cpt.scope().to_vec(),
            values: cpt.table(cards),
        };
        let is_near = |child: VarId| is_nearly(&table, cards[child.index()], question.near);
        Factor {
            child: cpt.child(),
            is_near: !is_trainable && question.near > 0.0 && cpt.child().is_some_and(is_near),
            table,
            is_learned: is_trainable && !cpt.role().keep_zeros,
            is_promised: is_trainable && cpt.role().functional,
            size: cpt.size(cards),
            is_visible: is_trainable || (question.families && cpt.child().is_some()),
            entries: vec![],
        }
    }

    /// Keeps what is left on the domains.
    fn restrict(&mut self, cards: &[usize], domains: &[Vec<usize>]) {
        if self.is_visible {
            let places = (0..self.table.values.len())
                .map(|place| place as f64)
                .collect();
            let places = restrict(
                &Table {
                    axes: self.table.axes.clone(),
                    values: places,
                },
                cards,
                domains,
            );
            self.entries = places
                .values
                .into_iter()
                .map(|place| place as u32)
                .collect();
        }
        self.table = restrict(&self.table, cards, domains);
    }

    fn origin(&self) -> Option<Origin> {
        let child = self.child.filter(|_| self.is_visible)?;
        Some(Origin {
            child,
            size: self.size,
            entries: self.entries.clone(),
        })
    }

    /// Whether it is the CPT of a variable that has one value, whatever its parents are.
    fn is_trivial(&self, cards: &[usize], domains: &[Vec<usize>]) -> bool {
        let is_closed = |child: &VarId| domains[child.index()].len() == 1;
        let is_known = |child: VarId| !self.is_learned || cards[child.index()] == 1;
        self.child.filter(is_closed).is_some_and(is_known)
            && self.table.values.iter().all(|&p| p == 1.0)
    }

    /// Whether its numbers are zeros and ones, at most a single one for each state of the parents,
    /// and stay so.
    ///
    /// What evidence takes away of a function leaves rows of zeros, and Theorems 3 and 4 hold all
    /// the same.
    fn is_function(&self, card: usize) -> bool {
        let is_hot = |row: &[f64]| {
            row.iter().all(|&p| p == 0.0 || p == 1.0)
                && row.iter().filter(|&&p| p == 1.0).count() <= 1
        };
        !self.is_learned && self.table.values.chunks_exact(card).all(is_hot)
    }
}

/// The factors that are not barren.
fn relevant(net: &FactorModel, question: &Question) -> Vec<Factor> {
    let cards = net.cards();
    let needed = needed(net, question);
    let cpts = net
        .cpts()
        .iter()
        .enumerate()
        .filter(|(index, _)| needed.get(*index).is_none_or(|n| *n));
    cpts.map(|(_, cpt)| Factor::new(cpt, &cards, question))
        .collect()
}

/// Which variables are not barren; empty if none are.
fn needed(net: &FactorModel, question: &Question) -> Vec<bool> {
    if net.is_markov() || question.goal.is_explanation() {
        return vec![];
    }
    let mut needed = vec![false; net.variables().len()];
    let targets = question.goal.targets();
    let asked = targets.iter().chain(question.inputs.iter());
    asked
        .chain(question.known.iter().map(|(v, _)| *v))
        .for_each(|v| needed[v.index()] = true);
    let mut waiting: Vec<VarId> = (0..needed.len())
        .filter(|&v| needed[v])
        .map(VarId::new)
        .collect();
    while let Some(v) = waiting.pop() {
        let parents = net
            .parents(v)
            .iter()
            .filter(|p| !std::mem::replace(&mut needed[p.index()], true));
        waiting.extend(parents);
    }
    needed
}

/// A factor of ones for each variable of a Markov network that no factor mentions.
fn unmentioned(net: &FactorModel) -> Vec<Factor> {
    if !net.is_markov() {
        return vec![];
    }
    let mut mentioned = vec![false; net.variables().len()];
    net.cpts()
        .iter()
        .flat_map(Cpt::scope)
        .for_each(|v| mentioned[v.index()] = true);
    let ones = |v: VarId| Factor {
        child: None,
        table: Table {
            axes: vec![v],
            values: vec![1.0; net.card(v)],
        },
        is_learned: false,
        is_promised: false,
        is_near: false,
        is_visible: false,
        size: 0,
        entries: vec![],
    };
    net.ids()
        .filter(|v| !mentioned[v.index()])
        .map(ones)
        .collect()
}

/// Removes impossible values from the domains until nothing changes; none if a variable has no
/// value left.
fn remove_impossible(
    factors: &[Factor],
    cards: &[usize],
    domains: &mut [Vec<usize>],
) -> Option<()> {
    let mut of_var: Vec<Vec<usize>> = vec![vec![]; cards.len()];
    for (index, factor) in factors.iter().enumerate() {
        factor
            .table
            .axes
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

/// Keeps the values that have a positive joint state in this table; says which domains became
/// smaller.
fn narrow(table: &Table, cards: &[usize], domains: &mut [Vec<usize>]) -> Option<Vec<VarId>> {
    if table.values.iter().all(|&p| p > 0.0) {
        return Some(vec![]);
    }
    let mut supported: Vec<Vec<bool>> = table
        .axes
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
    for (v, supported) in table.axes.iter().zip(supported) {
        let domain = &mut domains[v.index()];
        let before = domain.len();
        domain.retain(|&value| supported[value]);
        changed.extend((domain.len() < before).then_some(*v));
    }
    is_possible.then_some(changed)
}

/// The part of a table on the domains, without axes of which a single value is left.
fn restrict(table: &Table, cards: &[usize], domains: &[Vec<usize>]) -> Table {
    let axes = table
        .axes
        .iter()
        .copied()
        .filter(|v| domains[v.index()].len() > 1)
        .collect();
    let mut values = vec![];
    each_state(table, cards, domains, |_, p| values.push(p));
    Table { axes, values }
}

/// Visits the joint states of a table that the domains allow, the last axis fastest.
pub(crate) fn each_state(
    table: &Table,
    cards: &[usize],
    domains: &[Vec<usize>],
    mut visit: impl FnMut(&[usize], f64),
) {
    let axes: Vec<&[usize]> = table.axes.iter().map(|v| &domains[v.index()][..]).collect();
    let strides: Vec<usize> = (0..axes.len())
        .map(|i| {
            table.axes[i + 1..]
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

/// Finds a factor for the evidence on each variable that takes some.
fn host(factors: Vec<Factor>, domains: Vec<Vec<usize>>, question: &Question) -> Pruned {
    let is_open = |v: &VarId| domains[v.index()].len() > 1;
    let targets: VarSet = question.goal.targets().iter().filter(is_open).collect();
    let (output, inputs) = if question.goal.target().is_some() {
        (targets, question.inputs.clone())
    } else {
        (VarSet::default(), &question.inputs | &targets)
    };
    let (definers, promised, near) = definers(&factors, &domains);
    let mut learned: Vec<bool> = factors.iter().map(|f| f.is_learned).collect();
    let mut origins: Vec<Option<Origin>> = factors.iter().map(Factor::origin).collect();
    let clamped: VarSet = question.hard.iter().filter(is_open).collect();
    let mut tables: Vec<Table> = vec![];
    let mut best: Vec<Option<(bool, usize, usize)>> = vec![None; domains.len()];
    for (index, Factor { child, table, .. }) in factors.into_iter().enumerate() {
        for &v in &table.axes {
            let candidate = (child != Some(v), table.values.len(), index);
            let best = &mut best[v.index()];
            *best = Some(best.map_or(candidate, |b| b.min(candidate)));
        }
        tables.push(table);
    }
    let mut hosts = vec![];
    for v in inputs.iter().filter(|&v| !clamped.contains(v)) {
        let host = best[v.index()].map_or(tables.len(), |(_, _, index)| index);
        if host == tables.len() {
            tables.push(Table {
                axes: vec![v],
                values: vec![1.0],
            }); // one value left, whose likelihood counts
        }
        hosts.push((v, host));
    }
    if tables.is_empty() {
        tables.push(Table {
            axes: vec![],
            values: vec![1.0],
        });
    }
    learned.resize(tables.len(), false);
    origins.resize(tables.len(), None);
    let (explain, selected) = (question.goal.is_explanation(), question.selected.clone());
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
        selected,
        explain,
    }
}

/// The factor that makes each variable a function, and the variables of which that is only
/// promised, or nearly so.
fn definers(factors: &[Factor], domains: &[Vec<usize>]) -> (Vec<Option<usize>>, VarSet, VarSet) {
    let (mut definers, mut promised, mut near) = (
        vec![None; domains.len()],
        VarSet::default(),
        VarSet::default(),
    );
    for (index, factor) in factors.iter().enumerate() {
        let Some(child) = factor.child.filter(|v| factor.table.axes.last() == Some(v)) else {
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

/// Whether each row of a CPT has an entry of at least one less `eps`.
fn is_nearly(table: &Table, card: usize, eps: f64) -> bool {
    table
        .values
        .chunks_exact(card)
        .all(|row| row.iter().any(|&p| p >= 1.0 - eps))
}
