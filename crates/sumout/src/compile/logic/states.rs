//! The states that factors get into while values are assigned.
//!
//! A state is what is left of a factor: the variables that it still depends on, the values that they
//! may have, and a table of symbols. Equal states are one, whatever the assignments were that led to
//! them: that is what makes the cache of components hit. A state has no axis with a single value, no
//! value without support, and no axis on which its table does not depend.

use rustc_hash::FxHashMap;

use crate::compile::logic::bits::{expand, positions, select};
use crate::compile::logic::symbols::{Symbol, SymbolId, Symbols, ZERO};

/// The values of a variable, a bit for each.
pub(super) type Mask = u64;

/// A state by its number.
pub(super) type StateId = u32;

/// A state of a factor.
#[derive(Debug)]
struct State {
    scope: Box<[u32]>,
    masks: Box<[Mask]>,
    table: Box<[SymbolId]>,
    /// Its outcome for each variable that was left with some values, by number.
    restricted: Vec<(u32, Mask, u32)>,
    /// The sum over each variable that was summed out; none if its numbers are not known.
    summed: Vec<(u32, Option<StateId>)>,
}

/// The content that tells states apart: variables, values and table.
type Content = (Box<[u32]>, Box<[Mask]>, Box<[SymbolId]>);

/// The result of leaving a variable only some values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    /// All of its numbers are zero.
    Nothing,
    /// Another state, which implies that some variables have only these values.
    State(StateId, Box<[(u32, Mask)]>),
}

/// The states of all factors.
#[derive(Debug)]
pub(super) struct States {
    pub symbols: Symbols,
    states: Vec<State>,
    known: FxHashMap<Content, StateId>,
    outcomes: Vec<Outcome>,
    entries: usize,
}

impl States {
    pub fn new() -> Self {
        States {
            symbols: Symbols::new(),
            states: vec![],
            known: FxHashMap::default(),
            outcomes: vec![],
            entries: 0,
        }
    }

    /// The variables that a state depends on.
    pub fn scope(&self, state: StateId) -> &[u32] {
        &self.states[state as usize].scope
    }

    /// The number that a state without variables is.
    pub fn constant(&self, state: StateId) -> SymbolId {
        self.states[state as usize].table[0]
    }

    /// How much memory states take, in numbers.
    pub fn size(&self) -> usize {
        self.entries + 32 * self.states.len() + 8 * self.outcomes.len()
    }

    /// The state of a table.
    pub fn reduce(&mut self, scope: Vec<u32>, masks: Vec<Mask>, table: Vec<SymbolId>) -> Outcome {
        let mut draft = Draft {
            scope,
            masks,
            table,
        };
        let Some(implied) = draft.drop_impossible() else {
            return Outcome::Nothing;
        };
        draft.drop_independent();
        Outcome::State(self.intern(draft), implied.into())
    }

    fn intern(&mut self, draft: Draft) -> StateId {
        let key: Content = (draft.scope.into(), draft.masks.into(), draft.table.into());
        if let Some(&id) = self.known.get(&key) {
            return id;
        }
        let id = self.states.len() as StateId;
        self.entries += 2 * key.2.len();
        self.states.push(State {
            scope: key.0.clone(),
            masks: key.1.clone(),
            table: key.2.clone(),
            restricted: vec![],
            summed: vec![],
        });
        self.known.insert(key, id);
        id
    }

    /// The outcome for a state if a variable has only these values; none if that changes nothing.
    pub fn restrict(&mut self, id: StateId, var: u32, values: Mask) -> Option<&Outcome> {
        let state = &self.states[id as usize];
        let axis = state.scope.iter().position(|&v| v == var)?;
        let mask = state.masks[axis] & values;
        if mask == state.masks[axis] {
            return None;
        }
        let known = |&&(v, m, _): &&(u32, Mask, u32)| v == var && m == mask;
        let at = match state.restricted.iter().find(known) {
            Some(&(_, _, at)) => at,
            None => self.new_restriction(id, axis, mask),
        };
        Some(&self.outcomes[at as usize])
    }

    fn new_restriction(&mut self, id: StateId, axis: usize, mask: Mask) -> u32 {
        let mut draft = self.draft(id);
        draft.keep(axis, positions(draft.masks[axis], mask));
        let var = draft.scope[axis];
        let outcome = self.reduce(draft.scope, draft.masks, draft.table);
        let at = self.outcomes.len() as u32;
        self.outcomes.push(outcome);
        self.states[id as usize].restricted.push((var, mask, at));
        at
    }

    /// The state with a variable summed out; none if its numbers are not known.
    pub fn sum_out(&mut self, id: StateId, var: u32) -> Option<StateId> {
        let state = &self.states[id as usize];
        if let Some((_, sum)) = state.summed.iter().find(|(v, _)| *v == var) {
            return *sum;
        }
        let sum = self.new_sum(id, var);
        self.states[id as usize].summed.push((var, sum));
        sum
    }

    fn new_sum(&mut self, id: StateId, var: u32) -> Option<StateId> {
        let mut draft = self.draft(id);
        let axis = draft.scope.iter().position(|&v| v == var)?;
        let (outer, extent, inner) = draft.around(axis);
        let mut sums = Vec::with_capacity(outer * inner);
        for o in 0..outer {
            for i in 0..inner {
                let row = (0..extent).map(|e| draft.table[(o * extent + e) * inner + i]);
                sums.push(self.symbols.sum(row)?);
            }
        }
        draft.scope.remove(axis);
        draft.masks.remove(axis);
        match self.reduce(draft.scope, draft.masks, sums) {
            Outcome::State(sum, _) => Some(sum),
            Outcome::Nothing => None,
        }
    }

    fn draft(&self, id: StateId) -> Draft {
        let state = &self.states[id as usize];
        Draft {
            scope: state.scope.to_vec(),
            masks: state.masks.to_vec(),
            table: state.table.to_vec(),
        }
    }

    /// Whether a symbol is a number other than one, or stays visible.
    pub fn counts(&self, symbol: SymbolId) -> bool {
        self.symbols.get(symbol) != Symbol::Number(1.0)
    }
}

/// A state that is being made.
struct Draft {
    scope: Vec<u32>,
    masks: Vec<Mask>,
    table: Vec<SymbolId>,
}

impl Draft {
    /// The number of joint states before an axis, of the axis, and behind it.
    fn around(&self, axis: usize) -> (usize, usize, usize) {
        let size = |masks: &[Mask]| masks.iter().map(|m| m.count_ones() as usize).product();
        let extent = self.masks[axis].count_ones() as usize;
        (
            size(&self.masks[..axis]),
            extent,
            size(&self.masks[axis + 1..]),
        )
    }

    /// Keeps some positions of an axis.
    fn keep(&mut self, axis: usize, kept: Mask) {
        let (outer, extent, inner) = self.around(axis);
        let mut table = Vec::with_capacity(self.table.len());
        for o in 0..outer {
            for e in (0..extent).filter(|e| kept >> e & 1 == 1) {
                let at = (o * extent + e) * inner;
                table.extend_from_slice(&self.table[at..at + inner]);
            }
        }
        self.table = table;
        self.masks[axis] = select(self.masks[axis], kept);
    }

    fn remove(&mut self, axis: usize) {
        self.keep(axis, 1);
        self.scope.remove(axis);
        self.masks.remove(axis);
    }

    /// The positions of an axis that have support.
    fn support(&self, axis: usize) -> Mask {
        let (_, extent, inner) = self.around(axis);
        let blocks = self.table.chunks_exact(inner).enumerate();
        let alive = blocks.filter(|(_, block)| block.iter().any(|&s| s != ZERO));
        alive.fold(0, |mask, (at, _)| mask | 1 << (at % extent))
    }

    /// Removes values without support, and axes with one value; the values that are left of them.
    /// None if nothing is.
    fn drop_impossible(&mut self) -> Option<Vec<(u32, Mask)>> {
        if self.table.iter().all(|&s| s == ZERO) {
            return None;
        }
        let mut implied = vec![];
        for axis in (0..self.scope.len()).rev() {
            let support = self.support(axis);
            if support.count_ones() < self.masks[axis].count_ones() {
                self.keep(axis, support);
                implied.push((self.scope[axis], self.masks[axis]));
            }
            if self.masks[axis].count_ones() == 1 {
                self.remove(axis);
            }
        }
        Some(implied)
    }

    /// Removes axes on which the table does not depend.
    fn drop_independent(&mut self) {
        for axis in (0..self.scope.len()).rev() {
            let (_, extent, inner) = self.around(axis);
            let mut rounds = self.table.chunks_exact(extent * inner);
            let is_same = |round: &[SymbolId]| {
                let (first, rest) = round.split_at(inner);
                rest.chunks_exact(inner).all(|block| block == first)
            };
            if rounds.all(is_same) {
                self.remove(axis);
            }
        }
    }
}

/// The values of a variable one by one.
pub(super) fn each(mask: Mask) -> impl Iterator<Item = Mask> {
    expand(mask)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::logic::symbols::ONE;

    fn state(outcome: Outcome) -> (StateId, Vec<(u32, Mask)>) {
        match outcome {
            Outcome::State(id, implied) => (id, implied.into_vec()),
            Outcome::Nothing => panic!("something is left"),
        }
    }

    /// x = y and z: with x = 1, both have one value; with y = 0, so has x.
    #[test]
    fn assignments_imply_others() {
        let mut states = States::new();
        let table = vec![ONE, ZERO, ONE, ZERO, ONE, ZERO, ZERO, ONE];
        let (gate, implied) = state(states.reduce(vec![0, 1, 2], vec![3; 3], table));
        assert_eq!(
            (states.scope(gate), &implied[..]),
            (&[0, 1, 2][..], &[][..])
        );
        let (one, implied) = state(states.restrict(gate, 2, 0b10).unwrap().clone());
        assert_eq!(states.scope(one).len(), 0);
        assert_eq!(implied, [(1, 0b10), (0, 0b10)]);
        let (low, implied) = state(states.restrict(gate, 1, 0b01).unwrap().clone());
        assert_eq!(
            (states.scope(low).len(), &implied[..]),
            (0, &[(2, 0b01)][..])
        );
        assert_eq!(states.restrict(gate, 1, 0b11), None);
    }

    #[test]
    fn axes_on_which_nothing_depends_are_dropped() {
        let mut states = States::new();
        let p = states.symbols.number(0.25);
        let (id, _) = state(states.reduce(vec![3, 5], vec![3, 3], vec![p, p, ONE, ONE]));
        assert_eq!(states.scope(id), [3]);
        assert_eq!(states.restrict(id, 5, 1), None);
    }

    #[test]
    fn a_complete_row_sums_to_nothing_that_counts() {
        let mut states = States::new();
        let [p, q] = [0.25, 0.75].map(|x| states.symbols.number(x));
        let (id, _) = state(states.reduce(vec![3, 5], vec![3, 3], vec![p, q, q, p]));
        let sum = states.sum_out(id, 5).unwrap();
        assert_eq!((states.scope(sum).len(), states.constant(sum)), (0, ONE));
        let other = states.sum_out(id, 3).unwrap();
        assert_eq!(other, sum);
    }
}
