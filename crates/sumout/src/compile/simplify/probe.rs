//! Probing: each value of each variable is assumed, and what follows is remembered.
//!
//! * A value that leads to a contradiction is impossible. So is a value of another variable that
//!   no assumption leaves.
//! * If every value of v implies one value of u, then u is a function of v; if these values differ,
//!   the two are one variable with two names.

use crate::compile::simplify::classes::Classes;
use crate::compile::simplify::relations::{Contradiction, Mask, Relations, values};
use crate::vars::VarId;

/// A variable that is a function of another one wherever the network is positive.
#[derive(Clone, Debug)]
pub(super) struct Implied {
    pub child: VarId,
    pub parent: VarId,
    /// For each value of the parent that is possible, the child's.
    pub values: Vec<(usize, usize)>,
}

/// The result of probing.
pub(super) struct Probed {
    pub classes: Classes,
    pub implied: Vec<Implied>,
}

/// Passes over all variables.
const MAX_ROUNDS: usize = 4;

/// The work, in words of bit sets, that every network may take; in proportion to its size.
const WORDS_FOR_EACH: f64 = 30.0;
const MIN_WORDS: f64 = 1e5;

/// The work that each discovery adds.
const WORDS_FOR_DISCOVERY: f64 = 2e5;

/// Probes until nothing is found or the work allowed is done.
pub(super) fn probe(relations: &mut Relations, cards: &[usize]) -> Result<Probed, Contradiction> {
    relations.grant(MIN_WORDS + WORDS_FOR_EACH * relations.size());
    let mut probing = Probing {
        relations,
        cards,
        classes: Classes::new(cards.len()),
        implied: vec![],
        seen: vec![vec![]; cards.len()],
        found: false,
    };
    for _ in 0..MAX_ROUNDS {
        probing.round()?;
        if !std::mem::take(&mut probing.found) || probing.relations.is_exhausted() {
            break;
        }
    }
    Ok(Probed {
        classes: probing.classes,
        implied: probing.implied,
    })
}

struct Probing<'a> {
    relations: &'a mut Relations,
    cards: &'a [usize],
    classes: Classes,
    implied: Vec<Implied>,
    /// For each variable, the values that the assumptions so far leave, one mask for each.
    seen: Vec<Vec<Mask>>,
    found: bool,
}

impl Probing<'_> {
    fn round(&mut self) -> Result<(), Contradiction> {
        self.implied.clear();
        for v in 0..self.cards.len() {
            if self.relations.is_exhausted() {
                return Ok(());
            }
            let is_root = self.classes.root(VarId::new(v)).index() == v;
            if is_root && self.relations.is_open(v) {
                self.probe(v)?;
            }
        }
        Ok(())
    }

    fn probe(&mut self, v: usize) -> Result<(), Contradiction> {
        let domain: Vec<usize> = values(self.relations.domain(v)).collect();
        let touched = self.assume_each(v, &domain)?;
        for &u in &touched {
            let seen = std::mem::take(&mut self.seen[u]);
            // An assumption that leaves all values of u is not listed.
            if u != v && seen.len() == domain.len() {
                self.conclude(v, &domain, u, &seen)?;
            }
        }
        Ok(())
    }

    /// Assumes each value in turn: the variables that lose values.
    fn assume_each(&mut self, v: usize, domain: &[usize]) -> Result<Vec<usize>, Contradiction> {
        let mut touched = vec![];
        let mut impossible = 0;
        for &value in domain {
            let lost = self.relations.assume(v, 1 << value);
            let Ok(mut lost) = lost else {
                self.relations.undo();
                impossible |= 1 << value;
                continue;
            };
            lost.sort_unstable();
            lost.dedup();
            for u in lost {
                if self.seen[u].is_empty() {
                    touched.push(u);
                }
                self.seen[u].push(self.relations.domain(u));
            }
            self.relations.undo();
        }
        if impossible == 0 {
            return Ok(touched);
        }
        touched.iter().for_each(|&u| self.seen[u].clear());
        self.discover(v, !impossible)?;
        Ok(vec![])
    }

    /// Keeps some values of a variable for good.
    fn discover(&mut self, v: usize, values: Mask) -> Result<(), Contradiction> {
        self.found = true;
        self.relations.grant(WORDS_FOR_DISCOVERY);
        self.relations.restrict(v, values)
    }

    /// Draws conclusions from the values that each assumption about v leaves of u.
    fn conclude(
        &mut self,
        v: usize,
        domain: &[usize],
        u: usize,
        seen: &[Mask],
    ) -> Result<(), Contradiction> {
        let union = seen.iter().fold(0, |all, mask| all | mask);
        if union & self.relations.domain(u) != self.relations.domain(u) {
            self.discover(u, union)?;
        }
        if seen.iter().any(|mask| mask.count_ones() != 1) || union.count_ones() == 1 {
            return Ok(());
        }
        let [v, u] = [v, u].map(VarId::new);
        let of = |mask: &Mask| mask.trailing_zeros() as usize;
        let values = domain.iter().copied().zip(seen.iter().map(of)).collect();
        if union.count_ones() as usize == domain.len() {
            self.merge(u, v, values);
        } else {
            self.implied.push(Implied {
                child: u,
                parent: v,
                values,
            });
        }
        Ok(())
    }

    fn merge(&mut self, u: VarId, v: VarId, values: Vec<(usize, usize)>) {
        if self.classes.root(u) == self.classes.root(v) {
            return;
        }
        self.found = true;
        self.relations.grant(WORDS_FOR_DISCOVERY);
        let pairs: Vec<(usize, usize)> = values.into_iter().map(|(a, b)| (b, a)).collect();
        let card = self.cards[self.classes.root(u).index()];
        self.classes.join(u, v, card, &pairs);
    }
}
