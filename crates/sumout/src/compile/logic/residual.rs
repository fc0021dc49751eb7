//! The rest of a network while values are assigned: the values that variables may still have,
//! and the states of factors.
//!
//! An assignment is propagated until every value left has support in every factor. Two kinds of
//! hidden variables then go at once, without being assigned: those in no state any more count their
//! values, and those in a single state are summed out of it. The second is barren pruning wherever
//! evidence cuts a part off, and networks of gates stand or fall with it.
//!
//! Everything is undone in reverse order.

use crate::compile::logic::states::{Mask, Outcome, StateId, States};
use crate::compile::logic::symbols::SymbolId;

/// A factor of the product that an assignment contributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaf {
    /// The likelihood of a value, by its position among the values of the variable.
    Likelihood(u32, u32),
    /// A number of a factor.
    Symbol(SymbolId),
}

/// How a variable takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// It is summed out.
    Hidden,
    /// It is summed out, and its likelihood is an input.
    Live,
    /// The output has it for an axis.
    Output,
}

#[derive(Debug)]
enum Change {
    Domain(u32, Mask),
    State(u32, StateId),
}

/// The network under an assignment.
#[derive(Debug)]
pub(super) struct Residual {
    pub states: States,
    pub parts: Vec<Part>,
    /// The live variables whose likelihood counts though they are in the output as well.
    has_likelihood: Vec<bool>,
    domains: Vec<Mask>,
    current: Vec<StateId>,
    of_var: Vec<Vec<u32>>,
    /// How many states depend on each variable.
    counts: Vec<u32>,
    trail: Vec<Change>,
    queue: Vec<u32>,
    /// Variables that may be in one state at most.
    loose: Vec<u32>,
    leaves: Vec<Leaf>,
}

impl Residual {
    /// A network of nothing but variables.
    pub fn new(cards: &[usize], parts: Vec<Part>, has_likelihood: Vec<bool>) -> Self {
        let full = |&card: &usize| Mask::MAX >> (Mask::BITS as usize - card);
        let is_closed = |v: &u32| cards[*v as usize] == 1 && has_likelihood[*v as usize];
        let closed = (0..cards.len() as u32).filter(is_closed);
        Residual {
            leaves: closed.map(|v| Leaf::Likelihood(v, 0)).collect(),
            states: States::new(),
            parts,
            has_likelihood,
            domains: cards.iter().map(full).collect(),
            current: vec![],
            of_var: vec![vec![]; cards.len()],
            counts: vec![0; cards.len()],
            trail: vec![],
            queue: vec![],
            loose: (0..cards.len() as u32).collect(),
        }
    }

    /// Adds a factor; whether something is still possible.
    pub fn add(&mut self, scope: Vec<u32>, table: Vec<SymbolId>) -> bool {
        let masks = scope.iter().map(|&v| self.domains[v as usize]).collect();
        let everything = self.states.reduce(scope.clone(), masks, table);
        let Outcome::State(state, implied) = everything else {
            return false;
        };
        let factor = self.current.len() as u32;
        for &v in &scope {
            self.of_var[v as usize].push(factor);
        }
        for &v in self.states.scope(state) {
            self.counts[v as usize] += 1;
        }
        self.current.push(state);
        self.note_constant(state);
        implied.iter().all(|&(v, values)| self.narrow(v, values))
    }

    /// Marks the hidden variables that no factor mentions as done: they were pruned.
    pub fn close_unmentioned(&mut self) {
        for v in 0..self.parts.len() as u32 {
            let is_pruned = self.of_var[v as usize].is_empty();
            if is_pruned && self.parts[v as usize] == Part::Hidden && self.is_open(v) {
                self.close(v);
            }
        }
    }

    /// Whether a variable still has several values.
    pub fn is_open(&self, v: u32) -> bool {
        self.domains[v as usize].count_ones() > 1
    }

    /// The values that a variable may have.
    pub fn domain(&self, v: u32) -> Mask {
        self.domains[v as usize]
    }

    /// How many states depend on a variable.
    pub fn count(&self, v: u32) -> u32 {
        self.counts[v as usize]
    }

    /// The factors that a variable was in.
    pub fn factors(&self, v: u32) -> &[u32] {
        &self.of_var[v as usize]
    }

    /// The number of factors.
    pub fn len(&self) -> usize {
        self.current.len()
    }

    /// The state of a factor.
    pub fn state(&self, factor: u32) -> StateId {
        self.current[factor as usize]
    }

    /// The variables that the state of a factor depends on.
    pub fn scope(&self, factor: u32) -> &[u32] {
        self.states.scope(self.current[factor as usize])
    }

    /// A point to return to.
    pub fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Takes back what has changed since.
    pub fn undo(&mut self, mark: usize) {
        while self.trail.len() > mark {
            match self.trail.pop() {
                Some(Change::Domain(v, values)) => self.domains[v as usize] = values,
                Some(Change::State(factor, state)) => self.put_back(factor, state),
                None => {}
            }
        }
        self.loose.clear();
        self.leaves.clear();
    }

    fn put_back(&mut self, factor: u32, state: StateId) {
        let now = self.current[factor as usize];
        for &v in self.states.scope(now) {
            self.counts[v as usize] -= 1;
        }
        for &v in self.states.scope(state) {
            self.counts[v as usize] += 1;
        }
        self.current[factor as usize] = state;
    }

    /// Leaves a variable only some values, with all that follows; whether something is still
    /// possible.
    pub fn assign(&mut self, v: u32, values: Mask) -> bool {
        let is_possible = self.narrow(v, values) && self.propagate();
        if is_possible {
            self.sum_out_loose();
        }
        is_possible
    }

    /// The factors that assignments have contributed since the last call.
    pub fn take_leaves(&mut self) -> Vec<Leaf> {
        std::mem::take(&mut self.leaves)
    }

    /// Removes values without support; whether something is still possible.
    pub fn propagate(&mut self) -> bool {
        while let Some(v) = self.queue.pop() {
            for at in 0..self.of_var[v as usize].len() {
                if !self.restrict(self.of_var[v as usize][at], v) {
                    self.queue.clear();
                    return false;
                }
            }
        }
        true
    }

    fn restrict(&mut self, factor: u32, v: u32) -> bool {
        let state = self.current[factor as usize];
        let values = self.domains[v as usize];
        let (next, implied) = match self.states.restrict(state, v, values) {
            None => return true,
            Some(Outcome::Nothing) => return false,
            Some(Outcome::State(next, implied)) => (*next, implied.clone()),
        };
        self.set_state(factor, next);
        implied.iter().all(|&(u, values)| self.narrow(u, values))
    }

    fn narrow(&mut self, v: u32, values: Mask) -> bool {
        let before = self.domains[v as usize];
        let after = before & values;
        if after == before {
            return true;
        }
        if after == 0 {
            return false;
        }
        self.set_domain(v, after);
        self.queue.push(v);
        if after.count_ones() == 1 && self.has_likelihood[v as usize] {
            self.leaves
                .push(Leaf::Likelihood(v, after.trailing_zeros()));
        }
        true
    }

    fn set_domain(&mut self, v: u32, values: Mask) {
        self.trail.push(Change::Domain(v, self.domains[v as usize]));
        self.domains[v as usize] = values;
    }

    fn set_state(&mut self, factor: u32, next: StateId) {
        let before = self.current[factor as usize];
        self.trail.push(Change::State(factor, before));
        self.current[factor as usize] = next;
        for &v in self.states.scope(before) {
            if !self.states.scope(next).contains(&v) {
                self.counts[v as usize] -= 1;
                if self.counts[v as usize] <= 1 {
                    self.loose.push(v);
                }
            }
        }
        self.note_constant(next);
    }

    /// A state without variables contributes its number.
    fn note_constant(&mut self, state: StateId) {
        if self.states.scope(state).is_empty() {
            let number = self.states.constant(state);
            if self.states.counts(number) {
                self.leaves.push(Leaf::Symbol(number));
            }
        }
    }

    /// Sums out hidden variables that are in one state at most.
    pub fn sum_out_loose(&mut self) {
        while let Some(v) = self.loose.pop() {
            if self.parts[v as usize] != Part::Hidden || !self.is_open(v) {
                continue;
            }
            match self.counts[v as usize] {
                0 => self.count_values(v),
                1 => self.sum_out(v),
                _ => {}
            }
        }
    }

    fn count_values(&mut self, v: u32) {
        let values = self.domains[v as usize];
        let number = self.states.symbols.number(f64::from(values.count_ones()));
        self.leaves.push(Leaf::Symbol(number));
        self.close(v);
    }

    fn sum_out(&mut self, v: u32) {
        let depends = |f: &&u32| self.scope(**f).contains(&v);
        let Some(&factor) = self.of_var[v as usize].iter().find(depends) else {
            return;
        };
        if let Some(sum) = self.states.sum_out(self.current[factor as usize], v) {
            self.close(v);
            self.set_state(factor, sum);
        }
    }

    /// Marks a variable as done.
    fn close(&mut self, v: u32) {
        let values = self.domains[v as usize];
        self.set_domain(v, values & values.wrapping_neg());
    }
}
