//! A network while it is being simplified.

use crate::compile::factor::Factor;
use crate::compile::prune::Pruned;
use crate::compile::simplify::substitute::Substitution;
use crate::tensor::Origin;
use crate::vars::{VarId, VarSet};

/// A factor, and what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub table: Factor,
    pub origin: Option<Origin>,
    pub is_learned: bool,
    /// The variable that it makes a function of its other variables.
    pub defines: Option<VarId>,
}

impl Part {
    /// A factor of numbers that nobody needs to see.
    pub fn plain(table: Factor) -> Self {
        Part {
            table,
            origin: None,
            is_learned: false,
            defines: None,
        }
    }

    /// Whether its numbers are known, and need not stay visible.
    pub fn is_plain(&self) -> bool {
        self.origin.is_none() && !self.is_learned
    }
}

/// Factors over variables that stand for those of a pruned network.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub factors: Vec<Part>,
    /// The number of values of each variable.
    pub cards: Vec<usize>,
    /// The replacement of each variable of the pruned network.
    pub stands: Substitution,
    /// Whether each variable must stay: its evidence or its value is asked for, or a variable that
    /// it stands for.
    pub is_kept: Vec<bool>,
    /// Whether maxima are asked for, and not sums.
    pub explain: bool,
    /// The smaller, the better a variable stands for others.
    pub rank: Vec<usize>,
    /// The variables whose definers are functions only by promise or nearly.
    loose: VarSet,
}

impl Draft {
    pub fn new(pruned: &Pruned) -> Self {
        let cards = pruned.cards();
        let mut factors: Vec<Part> = pruned.factors.iter().cloned().map(Part::plain).collect();
        for (index, part) in factors.iter_mut().enumerate() {
            part.origin = pruned.origins[index].clone();
            part.is_learned = pruned.learned[index];
        }
        for (v, definer) in pruned.definers.iter().enumerate() {
            if let Some(factor) = definer {
                factors[*factor].defines = Some(VarId::new(v));
            }
        }
        let mut draft = Draft {
            factors,
            stands: Substitution::identity(&cards),
            is_kept: vec![pruned.explain; cards.len()],
            explain: pruned.explain,
            rank: vec![3; cards.len()],
            loose: &pruned.promised | &pruned.near,
            cards,
        };
        draft.keep(pruned);
        draft
    }

    fn keep(&mut self, pruned: &Pruned) {
        let loose = self.loose.clone();
        let hosted: VarSet = pruned.hosts.iter().map(|(v, _)| *v).collect();
        let kept = [(&pruned.output, 0), (&pruned.clamped, 1), (&hosted, 3)];
        for (vars, rank) in kept {
            for v in vars.iter() {
                self.is_kept[v.index()] = true;
                self.rank[v.index()] = self.rank[v.index()].min(rank);
            }
        }
        for v in loose.iter() {
            self.rank[v.index()] = self.rank[v.index()].min(2);
        }
    }

    /// Whether factors or domains differ from those of the pruned network.
    pub fn is_changed(&self, pruned: &Pruned) -> bool {
        let axes = self.factors.iter().map(|part| &part.table.scope);
        self.cards != pruned.cards() || !axes.eq(pruned.factors.iter().map(|f| &f.scope))
    }

    /// Whether a table determines a variable by the others; of a loose one that is promised.
    fn is_function(&self, part: &Part, v: VarId) -> bool {
        self.loose.contains(v) || is_determined(&part.table, v, &self.cards)
    }

    /// The functions that are known, each after those of its arguments.
    pub fn functions(&self) -> Vec<(VarId, usize)> {
        let is_known = |v: &VarId| !self.loose.contains(*v);
        let order = arguments_first(&self.definers());
        let known = order.into_iter().filter(|(v, _)| is_known(v));
        known
            .filter(|(_, f)| !self.factors[*f].is_learned)
            .collect()
    }

    /// The factor that defines each variable, with the variables that it is a function of.
    fn definers(&self) -> Vec<Option<(usize, Vec<VarId>)>> {
        let mut definers = vec![None; self.cards.len()];
        for (index, part) in self.factors.iter().enumerate() {
            if let Some(v) = part.defines {
                let others = part.table.scope.iter().copied().filter(|u| *u != v);
                definers[v.index()] = Some((index, others.collect()));
            }
        }
        definers
    }

    /// Replaces variables by those that stand for them.
    pub fn substitute(&mut self, next: &Substitution) {
        for part in &mut self.factors {
            let (table, places) = next.apply(&part.table, &self.cards);
            part.table = table;
            part.origin = part.origin.take().map(|o| o.at(places.into_iter()));
        }
        self.stands = self.stands.then(next);
        self.cards = next.cards();
        for v in 0..self.cards.len() {
            let root = next.0[v].root().filter(|root| root.index() != v);
            if let Some(root) = root {
                self.is_kept[root.index()] |= self.is_kept[v];
            }
        }
        self.define(next);
    }

    /// Finds out which factors still define a variable; each variable has one definer at most, and
    /// none is a function of itself.
    fn define(&mut self, next: &Substitution) {
        let mut is_defined = vec![false; self.cards.len()];
        for index in 0..self.factors.len() {
            let part = &self.factors[index];
            let root = part.defines.and_then(|v| {
                let root = next.0[v.index()].root()?;
                (!self.loose.contains(v) || root == v).then_some(root)
            });
            let root = root.filter(|root| {
                part.table.scope.contains(root)
                    && !is_defined[root.index()]
                    && self.is_function(part, *root)
            });
            root.iter().for_each(|root| is_defined[root.index()] = true);
            self.factors[index].defines = root;
        }
        let definers = self.definers();
        let sound: Vec<usize> = arguments_first(&definers).iter().map(|(_, f)| *f).collect();
        let mut is_sound = vec![false; self.factors.len()];
        sound.into_iter().for_each(|f| is_sound[f] = true);
        for (part, is_sound) in self.factors.iter_mut().zip(is_sound) {
            part.defines = part.defines.filter(|_| is_sound);
        }
    }
}

/// The definitions, each after those of its arguments. Of a circle of definitions one is left out.
fn arguments_first(definers: &[Option<(usize, Vec<VarId>)>]) -> Vec<(VarId, usize)> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; definers.len()];
    let mut order = vec![];
    for start in 0..definers.len() {
        let mut stack = vec![(start, 0, true)];
        while let Some((v, next, is_sound)) = stack.pop() {
            let Some((factor, arguments)) = &definers[v] else {
                continue;
            };
            if next == 0 && state[v] != State::New {
                continue;
            }
            state[v] = State::Open;
            let Some(argument) = arguments.get(next) else {
                state[v] = State::Done;
                order.extend(is_sound.then_some((VarId::new(v), *factor)));
                continue;
            };
            let is_open = state[argument.index()] == State::Open;
            stack.push((v, next + 1, is_sound && !is_open));
            if state[argument.index()] == State::New {
                stack.push((argument.index(), 0, true));
            }
        }
    }
    order
}

/// Whether a table has at most one positive entry along a variable, and nothing but zeros and ones.
fn is_determined(table: &Factor, v: VarId, cards: &[usize]) -> bool {
    let Some(axis) = table.scope.iter().position(|u| *u == v) else {
        return false;
    };
    let inner: usize = table.scope[axis + 1..]
        .iter()
        .map(|u| cards[u.index()])
        .product();
    let card = cards[v.index()];
    let is_binary = table.values.iter().all(|&p| p == 0.0 || p == 1.0);
    let is_single = |block: &[f64]| {
        let ones = |i: usize| (0..card).filter(|k| block[k * inner + i] > 0.0).count();
        (0..inner).all(|i| ones(i) <= 1)
    };
    is_binary && table.values.chunks_exact(card * inner).all(is_single)
}
