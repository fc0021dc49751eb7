//! Zero patterns of factors as bit sets, and generalised arc consistency over them.

use std::collections::VecDeque;

use crate::compile::factor::Factor;
use crate::compile::simplify::draft::Draft;

/// The values that a variable may still have, a bit for each.
pub(super) type Mask = u64;

/// Variables with more values keep all of them.
const MAX_VALUES: usize = Mask::BITS as usize;

/// Factors with more entries constrain nothing.
const MAX_ENTRIES: usize = 1 << 18;

/// The constraints of a network, the values that they leave, and a trail to undo assumptions.
pub(super) struct Relations {
    relations: Vec<Relation>,
    /// The relations over each variable.
    of_var: Vec<Vec<u32>>,
    domains: Vec<Mask>,
    trail: Vec<(usize, Mask)>,
    queue: VecDeque<u32>,
    waiting: Vec<bool>,
    /// The words that may still be looked at.
    budget: f64,
}

/// A contradiction: no value is left.
#[derive(Debug)]
pub(super) struct Contradiction;

impl Relations {
    /// The constraints of all factors whose zeros are known.
    pub fn new(draft: &Draft) -> Self {
        let cards = &draft.cards;
        let known = draft.factors.iter().filter(|part| !part.is_learned);
        let relations: Vec<Relation> = known
            .filter_map(|part| Relation::new(&part.table, cards))
            .collect();
        let mut of_var = vec![vec![]; cards.len()];
        for (index, relation) in relations.iter().enumerate() {
            relation
                .vars
                .iter()
                .for_each(|&v| of_var[v].push(index as u32));
        }
        Relations {
            waiting: vec![false; relations.len()],
            relations,
            of_var,
            domains: cards.iter().map(|&card| full(card)).collect(),
            trail: vec![],
            queue: VecDeque::new(),
            budget: 0.0,
        }
    }

    /// Whether no factor has a known zero.
    pub fn is_empty(&self) -> bool {
        self.relations.is_empty()
    }

    /// Whether a variable can be probed: it is constrained, and has some values but not too many.
    pub fn is_open(&self, v: usize) -> bool {
        self.domains[v].count_ones() > 1 && !self.of_var[v].is_empty()
    }

    /// The values that a variable may have; all bits are set if it has too many to tell.
    pub fn domain(&self, v: usize) -> Mask {
        self.domains[v]
    }

    /// The words of all relations: what it takes to look at each once.
    pub fn size(&self) -> f64 {
        self.relations.iter().map(|r| r.alive.len() as f64).sum()
    }

    /// Allows some more work.
    pub fn grant(&mut self, words: f64) {
        self.budget += words;
    }

    /// Whether the work that was allowed is done.
    pub fn is_exhausted(&self) -> bool {
        self.budget <= 0.0
    }

    /// Keeps only some values for good, and removes what becomes impossible.
    pub fn restrict(&mut self, v: usize, values: Mask) -> Result<(), Contradiction> {
        let done = self.assume(v, values).map(|_| ());
        self.trail.clear();
        done
    }

    /// Keeps only some values until [`Relations::undo`]: the variables that lose values, once for
    /// each loss.
    pub fn assume(&mut self, v: usize, values: Mask) -> Result<Vec<usize>, Contradiction> {
        let from = self.trail.len();
        let done = self.narrow(v, values).and_then(|()| self.propagate());
        if done.is_err() {
            self.queue
                .drain(..)
                .for_each(|r| self.waiting[r as usize] = false);
        }
        done.map(|()| self.trail[from..].iter().map(|(v, _)| *v).collect())
    }

    /// Takes all assumptions back.
    pub fn undo(&mut self) {
        while let Some((v, values)) = self.trail.pop() {
            self.domains[v] = values;
        }
    }

    fn narrow(&mut self, v: usize, values: Mask) -> Result<(), Contradiction> {
        let left = self.domains[v] & values;
        if left == self.domains[v] {
            return Ok(());
        }
        self.trail.push((v, self.domains[v]));
        self.domains[v] = left;
        for &r in &self.of_var[v] {
            if !std::mem::replace(&mut self.waiting[r as usize], true) {
                self.queue.push_back(r);
            }
        }
        if left == 0 {
            Err(Contradiction)
        } else {
            Ok(())
        }
    }

    fn propagate(&mut self) -> Result<(), Contradiction> {
        let mut alive = vec![];
        while let Some(r) = self.queue.pop_front() {
            self.waiting[r as usize] = false;
            let relation = &self.relations[r as usize];
            relation.select(&self.domains, &mut alive);
            self.budget -= (alive.len() * relation.vars.len()) as f64;
            for axis in 0..self.relations[r as usize].vars.len() {
                let relation = &self.relations[r as usize];
                let v = relation.vars[axis];
                let left = relation.supported(axis, self.domains[v], &alive);
                self.narrow(v, left)?;
            }
        }
        Ok(())
    }
}

/// All values of a variable.
pub(super) fn full(card: usize) -> Mask {
    if card >= MAX_VALUES {
        Mask::MAX
    } else {
        (1 << card) - 1
    }
}

/// The values in a mask.
pub(super) fn values(mut mask: Mask) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let value = (mask != 0).then_some(mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        value
    })
}

/// The entries of a factor that are not zero.
struct Relation {
    vars: Vec<usize>,
    /// A bit for each entry.
    alive: Vec<u64>,
    /// For each axis and value, the entries with that value; none if the axis has too many.
    with: Vec<Option<Vec<Vec<u64>>>>,
}

impl Relation {
    /// None if it excludes nothing, or is too large.
    fn new(table: &Factor, cards: &[usize]) -> Option<Self> {
        let vars: Vec<usize> = table.scope.iter().map(|v| v.index()).collect();
        let numbers = &table.values;
        if numbers.len() > MAX_ENTRIES || !numbers.contains(&0.0) {
            return None;
        }
        let mut stride = numbers.len();
        let mut with = vec![];
        for &v in &vars {
            let outer = stride;
            stride /= cards[v];
            with.push((cards[v] <= MAX_VALUES).then(|| having(numbers.len(), outer, stride)));
        }
        let mut alive = vec![0u64; numbers.len().div_ceil(64)];
        for (at, _) in numbers.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            alive[at / 64] |= 1 << (at % 64);
        }
        Some(Relation { vars, alive, with })
    }

    /// The entries that the domains leave.
    fn select(&self, domains: &[Mask], alive: &mut Vec<u64>) {
        alive.clear();
        alive.extend_from_slice(&self.alive);
        for (v, with) in self.vars.iter().zip(&self.with) {
            let Some(with) = with.as_ref().filter(|w| domains[*v] != full(w.len())) else {
                continue;
            };
            for (at, word) in alive.iter_mut().enumerate() {
                let allowed = values(domains[*v]).fold(0, |all, value| all | with[value][at]);
                *word &= allowed;
            }
        }
    }

    /// The values of an axis that some entry has.
    fn supported(&self, axis: usize, domain: Mask, alive: &[u64]) -> Mask {
        let Some(with) = &self.with[axis] else {
            return domain;
        };
        let is_met = |value: &usize| alive.iter().zip(&with[*value]).any(|(a, b)| a & b != 0);
        values(domain)
            .filter(is_met)
            .fold(0, |mask, value| mask | 1 << value)
    }
}

/// For each value of an axis, the entries that have it.
fn having(entries: usize, outer: usize, stride: usize) -> Vec<Vec<u64>> {
    let mut sets = vec![vec![0u64; entries.div_ceil(64)]; outer / stride];
    for start in (0..entries).step_by(stride) {
        let set = &mut sets[start % outer / stride];
        (start..start + stride).for_each(|at| set[at / 64] |= 1 << (at % 64));
    }
    sets
}
