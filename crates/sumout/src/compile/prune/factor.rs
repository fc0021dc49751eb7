//! The factors that matter to a question, and what is known of their numbers.

use crate::compile::ask::Question;
use crate::compile::factor::Factor;
use crate::compile::prune::values::restrict;
use crate::model::{Cpt, FactorModel};
use crate::tensor::Origin;
use crate::vars::VarId;

/// A factor with the variable whose CPT it is.
pub(super) struct Candidate {
    pub child: Option<VarId>,
    pub table: Factor,
    /// Whether its numbers will be learned, zeros included.
    pub is_learned: bool,
    /// Whether what will be learned is promised to be a function.
    pub is_promised: bool,
    /// Whether it is nearly a function, and is to be taken for one.
    pub is_near: bool,
    /// Whether its numbers must stay visible.
    is_visible: bool,
    /// The number of entries of the CPT, and for each number that is left its place there, if it
    /// must stay visible.
    size: usize,
    entries: Vec<u32>,
}

impl Candidate {
    fn new(cpt: &Cpt, cards: &[usize], question: &Question) -> Self {
        let is_selected = cpt
            .child()
            .is_some_and(|child| question.selected.contains_key(&child));
        let is_trainable = is_selected
            || cpt
                .child()
                .is_some_and(|child| question.trainable.contains(child));
        let table = Factor {
            scope: cpt.scope().to_vec(),
            values: cpt.table(cards),
        };
        let is_near = |child: VarId| is_nearly(&table, cards[child.index()], question.near);
        Candidate {
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
    pub fn restrict(&mut self, cards: &[usize], domains: &[Vec<usize>]) {
        if self.is_visible {
            let places = (0..self.table.values.len())
                .map(|place| place as f64)
                .collect();
            let places = restrict(
                &Factor {
                    scope: self.table.scope.clone(),
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

    pub fn origin(&self) -> Option<Origin> {
        let child = self.child.filter(|_| self.is_visible)?;
        Some(Origin {
            child,
            size: self.size,
            entries: self.entries.clone(),
        })
    }

    /// Whether it is the CPT of a variable that has one value, whatever its parents are.
    pub fn is_trivial(&self, cards: &[usize], domains: &[Vec<usize>]) -> bool {
        let is_closed = |child: &VarId| domains[child.index()].len() == 1;
        let is_known = |child: VarId| !self.is_learned || cards[child.index()] == 1;
        self.child.filter(is_closed).is_some_and(is_known)
            && self.table.values.iter().all(|&p| p == 1.0)
    }

    /// Whether its numbers are zeros and ones, at most a single one for each state of the parents,
    /// and stay so.
    ///
    /// Evidence leaves rows of zeros in a function; Theorems 3 and 4 hold all
    /// the same.
    pub fn is_function(&self, card: usize) -> bool {
        let is_hot = |row: &[f64]| {
            row.iter().all(|&p| p == 0.0 || p == 1.0)
                && row.iter().filter(|&&p| p == 1.0).count() <= 1
        };
        !self.is_learned && self.table.values.chunks_exact(card).all(is_hot)
    }
}

/// The factors that are not barren.
pub(super) fn relevant(net: &FactorModel, question: &Question) -> Vec<Candidate> {
    let cards = net.cards();
    let needed = needed(net, question);
    let cpts = net
        .cpts()
        .iter()
        .enumerate()
        .filter(|(index, _)| needed.get(*index).is_none_or(|n| *n));
    cpts.map(|(_, cpt)| Candidate::new(cpt, &cards, question))
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
pub(super) fn unmentioned(net: &FactorModel) -> Vec<Candidate> {
    if !net.is_markov() {
        return vec![];
    }
    let mut mentioned = vec![false; net.variables().len()];
    net.cpts()
        .iter()
        .flat_map(Cpt::scope)
        .for_each(|v| mentioned[v.index()] = true);
    let ones = |v: VarId| Candidate {
        child: None,
        table: Factor {
            scope: vec![v],
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

/// Whether each row of a CPT has an entry of at least one less `eps`.
fn is_nearly(table: &Factor, card: usize, eps: f64) -> bool {
    table
        .values
        .chunks_exact(card)
        .all(|row| row.iter().any(|&p| p >= 1.0 - eps))
}
