//! Shrinks separators by exploiting functional dependencies: the paper's `shrink_sep`, and what
//! follows it.
//!
//! Let f be the functional CPT of X. If f ∈ G and f ∈ H then (Theorem 3)
//!
//! ```text
//!     G · H  =  G · Σ_X H
//! ```
//!
//! At node i of a view, G and H are the factors below its two children. Dropping X from one child's
//! separator *is* the early sum on the right. The child with more numbers stored below it is
//! chosen; of equal ones, the older. Both children are shrunk before either is entered, so that
//! what is dropped reaches the grandchildren.
//!
//! Afterwards a replica whose own variable is not in its separator is *dead*: it sums to one, and
//! is removed.

use crate::compile::plan::paper::dtree::View;
use crate::compile::plan::problem::{Leaf, Problem};
use crate::compile::plan::tree::{Leaves, Tree};
use crate::vars::VarSet;

/// Shrinks the classical separators of a view, once, from the root to the leaves.
pub fn shrink_sep(problem: &Problem, leaves: &[Leaf], view: &View, separators: &mut [VarSet]) {
    let tree = &view.tree;
    let fvars = fvars(problem, leaves, tree, separators);
    let weights = weights(&problem.leaves(&[]), tree, separators);
    for (k, &(c1, c2)) in tree.joins.iter().enumerate().rev() {
        let is_first = (weights[c1], view.ages[c2]) > (weights[c2], view.ages[c1]);
        let hangs_from_host = view.has_host && k + 1 == tree.joins.len();
        let c = if is_first && !hangs_from_host { c1 } else { c2 };
        separators[c].retain(|v| !(fvars[c1].contains(v) && fvars[c2].contains(v)));
        tighten_children(separators, tree.leaves + k, (c1, c2));
    }
}

/// A variable in only one of the separators around a node is summed out below.
fn tighten_children(separators: &mut [VarSet], node: usize, (c1, c2): (usize, usize)) {
    keep_shared(separators, c1, [c2, node]);
    keep_shared(separators, c2, [c1, node]);
}

/// Drops from one separator what is in neither of two others.
fn keep_shared(separators: &mut [VarSet], node: usize, [a, b]: [usize; 2]) {
    let mut separator = std::mem::take(&mut separators[node]);
    separator.retain(|v| separators[a].contains(v) || separators[b].contains(v));
    separators[node] = separator;
}

/// Of each separator, the variables that have a functional CPT at or below its node.
fn fvars(problem: &Problem, leaves: &[Leaf], tree: &Tree, separators: &[VarSet]) -> Vec<VarSet> {
    let own = |leaf: &Leaf| problem.defines(leaf.factor).into_iter().collect::<VarSet>();
    let mut fvars: Vec<VarSet> = leaves
        .iter()
        .zip(separators)
        .map(|(leaf, s)| &own(leaf) & s)
        .collect();
    for (&(l, r), separator) in tree.joins.iter().zip(&separators[tree.leaves..]) {
        let mut below = separator.clone();
        below.retain(|v| fvars[l].contains(v) || fvars[r].contains(v));
        fvars.push(below);
    }
    fvars
}

/// The numbers stored strictly below each node.
fn weights(sizes: &Leaves, tree: &Tree, separators: &[VarSet]) -> Vec<f64> {
    let mut weights = vec![0.0; tree.leaves];
    for &(l, r) in &tree.joins {
        weights.push(
            weights[l] + weights[r] + sizes.size(&separators[l]) + sizes.size(&separators[r]),
        );
    }
    weights
}

/// Removes dead replicas until there are none.
pub fn remove_dead(
    problem: &Problem,
    leaves: &mut Vec<Leaf>,
    tree: &mut Tree,
    separators: &mut Vec<VarSet>,
) {
    loop {
        let is_dead = dead(problem, leaves, separators);
        if !is_dead.contains(&true) {
            return;
        }
        (*tree, *separators) = without(tree, std::mem::take(separators), &is_dead);
        let mut is_dead = is_dead.into_iter();
        leaves.retain(|_| is_dead.next() == Some(false));
        promote(problem, leaves);
        tighten(tree, separators);
    }
}

/// Which replicas do not carry the variable that they define. Of each definer, one leaf stays in
/// any case.
fn dead(problem: &Problem, leaves: &[Leaf], separators: &[VarSet]) -> Vec<bool> {
    let is_live: Vec<bool> = leaves
        .iter()
        .zip(separators)
        .map(|(leaf, separator)| {
            problem
                .defines(leaf.factor)
                .is_none_or(|v| separator.contains(v))
        })
        .collect();
    let mut has_live = vec![false; problem.factors.len()];
    leaves
        .iter()
        .zip(&is_live)
        .for_each(|(leaf, is_live)| has_live[leaf.factor] |= is_live);
    let may_go = |leaf: &Leaf| leaf.is_copy || has_live[leaf.factor];
    leaves
        .iter()
        .zip(is_live)
        .map(|(leaf, is_live)| !is_live && may_go(leaf))
        .collect()
}

/// If a definer itself was removed, its first copy takes its place, and its evidence.
fn promote(problem: &Problem, leaves: &mut [Leaf]) {
    let mut is_present = vec![false; problem.factors.len()];
    leaves
        .iter()
        .filter(|leaf| !leaf.is_copy)
        .for_each(|leaf| is_present[leaf.factor] = true);
    for leaf in leaves {
        leaf.is_copy = std::mem::replace(&mut is_present[leaf.factor], true) && leaf.is_copy;
    }
}

/// A tree without some of its leaves; a node with one child left is that child.
fn without(tree: &Tree, mut separators: Vec<VarSet>, is_dead: &[bool]) -> (Tree, Vec<VarSet>) {
    let inner = separators.split_off(tree.leaves);
    let (mut place, mut kept) = (vec![], vec![]);
    for (separator, &is_dead) in separators.into_iter().zip(is_dead) {
        place.push((!is_dead).then_some(kept.len()));
        kept.extend((!is_dead).then_some(separator));
    }
    let mut out = Tree {
        leaves: kept.len(),
        joins: vec![],
    };
    for (&(l, r), separator) in tree.joins.iter().zip(inner) {
        place.push(match (place[l], place[r]) {
            (Some(l), Some(r)) => {
                out.joins.push((l, r));
                kept.push(separator);
                Some(kept.len() - 1)
            }
            (Some(only), None) | (None, Some(only)) => {
                kept[only].retain(|v| separator.contains(v));
                Some(only)
            }
            (None, None) => None,
        });
    }
    (out, kept)
}

/// Drops from each separator what is not below or not above it any more.
fn tighten(tree: &Tree, separators: &mut [VarSet]) {
    for (k, &(l, r)) in tree.joins.iter().enumerate() {
        keep_shared(separators, tree.leaves + k, [l, r]);
    }
    for (k, &children) in tree.joins.iter().enumerate().rev() {
        tighten_children(separators, tree.leaves + k, children);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vars::VarId;

    const A: usize = 0;
    const B: usize = 1;

    fn set(vars: &[usize]) -> VarSet {
        vars.iter().map(|&v| VarId::new(v)).collect()
    }

    #[test]
    fn a_dead_replica_is_removed_with_what_it_alone_kept() {
        // f_B(A, B) · (f_A · f_B'(A, B)), where B is in no separator of the copy.
        let problem = Problem {
            factors: [&[A][..], &[A, B]].map(set).to_vec(),
            varies: vec![false; 2],
            clamped: vec![false; 2],
            output: set(&[B]),
            cards: vec![2; 2],
            definer: vec![None, Some(1)],
            known: vec![],
            prices: Default::default(),
        };
        let mut leaves: Vec<Leaf> = [(1, true), (0, false), (1, false)]
            .map(|(factor, is_copy)| Leaf { factor, is_copy })
            .to_vec();
        let mut tree = Tree {
            leaves: 3,
            joins: vec![(1, 2), (0, 3)],
        };
        let mut separators = [&[A, B][..], &[A], &[A], &[A], &[B]].map(set).to_vec();
        remove_dead(&problem, &mut leaves, &mut tree, &mut separators);
        // The live copy takes the place of the definer itself.
        assert_eq!(
            leaves,
            [
                Leaf {
                    factor: 1,
                    is_copy: false
                },
                Leaf {
                    factor: 0,
                    is_copy: false
                }
            ]
        );
        assert_eq!(
            tree,
            Tree {
                leaves: 2,
                joins: vec![(0, 1)]
            }
        );
        assert_eq!(separators, [&[A, B][..], &[A], &[B]].map(set));
    }
}
