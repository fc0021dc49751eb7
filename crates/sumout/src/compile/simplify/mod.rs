//! Removes what the zeros of factors decide.
//!
//! Pruning looks at one factor at a time. Many variables of networks full of functions are decided
//! by several factors together: they are constant, or equal to another variable up to the names of
//! values. The joint distribution of the variables that matter is the same without them.
//!
//! * *Probing* (`probe`) assumes each value of each variable in turn, and removes values without
//!   support in some factor until nothing changes (`relations`).
//! * Variables that determine one another, and equal functions (`functions`), become one
//!   (`classes`, `substitute`). One that takes evidence or is asked for stays as a leaf, a function
//!   of the variable that stands for it: its evidence counts once, and its posterior is read as any
//!   other.
//! * Factors lose axes on which they do not depend, and factors that change nothing go (`reduce`).
//!
//! Only zeros that training cannot move are used, and numbers that must stay visible stay. What
//! holds on the support of all factors need not hold for some of them: a network is pruned first,
//! for one question, and simplified then.

mod classes;
mod draft;
mod finish;
mod functions;
mod needs;
mod probe;
mod reduce;
mod relations;
mod substitute;

use crate::compile::factor::Factor;
use crate::compile::prune::Pruned;
use crate::compile::simplify::draft::Draft;
use crate::compile::simplify::finish::finish;
use crate::compile::simplify::probe::{Implied, Probed, probe};
use crate::compile::simplify::relations::Relations;
use crate::compile::simplify::substitute::Substitution;

pub(crate) use needs::Needs;

/// How often probing is repeated on what is left.
const MAX_PASSES: usize = 3;

/// A network after simplification.
pub(crate) enum Simplified {
    /// It has no state of positive probability.
    Impossible,
    /// Nothing was found.
    Same,
    /// An equivalent one.
    Smaller(Box<Pruned>),
}

/// Simplifies a pruned network.
pub(crate) fn simplify(pruned: &Pruned) -> Simplified {
    let mut draft = Draft::new(pruned);
    let Some(implied) = passes(&mut draft) else {
        return Simplified::Impossible;
    };
    let is_changed = draft.is_changed(pruned);
    if !is_changed && implied.is_empty() {
        return Simplified::Same;
    }
    if is_changed {
        reduce::multiply_contained(&mut draft);
    }
    Simplified::Smaller(Box::new(finish(pruned, draft, implied)))
}

/// The variables that targets need, in a Markov network by the conditional distributions that are
/// recognised; none if nothing is possible.
pub(crate) fn needs(pruned: &Pruned) -> Option<Needs> {
    let mut draft = Draft::new(pruned);
    let parents = reduce::distributions(&mut draft)?;
    let factors: Vec<Factor> = draft.factors.into_iter().map(|part| part.table).collect();
    Some(Needs::new(&factors, parents))
}

/// Simplifies until nothing changes: the functions that probing found last. None if nothing is
/// possible.
fn passes(draft: &mut Draft) -> Option<Vec<Implied>> {
    reduce::reduce(draft)?;
    for _ in 0..MAX_PASSES {
        merge_functions(draft)?;
        let mut relations = Relations::new(draft);
        if relations.is_empty() {
            return Some(vec![]);
        }
        let Probed { classes, implied } = probe(&mut relations, &draft.cards).ok()?;
        let domain = |v: usize| relations.domain(v);
        let next = Substitution::new(&classes, &draft.cards, domain, |v| draft.rank[v.index()])?;
        let is_done = next.0 == Substitution::identity(&draft.cards).0;
        if is_done {
            return Some(implied);
        }
        draft.substitute(&next);
        reduce::reduce(draft)?;
    }
    Some(vec![])
}

/// Lets one variable stand for all that are equal functions.
fn merge_functions(draft: &mut Draft) -> Option<()> {
    if let Some(classes) = functions::equal(draft) {
        let all = |_: usize| relations::Mask::MAX;
        let next = Substitution::new(&classes, &draft.cards, all, |v| draft.rank[v.index()])?;
        draft.substitute(&next);
        reduce::reduce(draft)?;
    }
    Some(())
}
