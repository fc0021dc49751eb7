//! Classical variable elimination, to compare with: one deterministic min-fill run, as in the
//! paper's ✗ rows.
//!
//! Impossible values are pruned, variables are not. The order becomes a tree, and the tree is
//! viewed from the CPT of the target, as a jointree may be from any of its nodes.

use crate::compile::ask::Question;
use crate::compile::plan::order;
use crate::compile::plan::order::Heuristic;
use crate::compile::plan::problem::Problem;
use crate::compile::plan::tree::{Leaves, Tree};
use crate::compile::report::Extent;
use crate::model::FactorModel;
use crate::vars::{VarId, VarSet};

/// The cost of a min-fill run; `problem` is `net` after value pruning.
pub(crate) fn min_fill(net: &FactorModel, question: &Question, problem: &Problem) -> Extent {
    let problem = asked(net, question, problem);
    let leaves = problem.leaves(&problem.originals());
    let whole = Leaves {
        output: VarSet::default(),
        ..leaves.clone()
    };
    let order = order::order(&whole, Heuristic::MinFill, None);
    let tree = order::tree(&whole, &order.vars);
    let tree = match problem
        .output
        .iter()
        .next()
        .and_then(|target| host(net, &problem, target))
    {
        Some(leaf) => viewed_from(&tree, leaf),
        None => tree,
    };
    let cost = tree.cost(&leaves, &tree.separators(&leaves));
    Extent {
        max_cluster_rank: order.rank,
        max_cluster_binary_rank: order.binary_rank,
        ..Extent::new(&cost, leaves.axes.len())
    }
}

/// The problem with the inputs and the target of a question, and without the axes of clamped
/// variables.
fn asked(net: &FactorModel, question: &Question, problem: &Problem) -> Problem {
    let mut problem = problem.clone();
    let selected = question.selected.keys().copied();
    for factor in question
        .likelihoods()
        .iter()
        .chain(selected)
        .filter_map(|v| host(net, &problem, v))
        .collect::<Vec<_>>()
    {
        problem.varies[factor] = true;
    }
    for (factor, axes) in problem.factors.iter_mut().enumerate() {
        problem.varies[factor] |= axes.iter().any(|v| question.hard.contains(v));
        *axes = &*axes - &question.hard;
    }
    problem.output = question.goal.output();
    problem
}

/// The factor that takes the evidence on a variable: its CPT, or else the first that mentions it.
fn host(net: &FactorModel, problem: &Problem, v: VarId) -> Option<usize> {
    if net.is_markov() {
        problem.factors.iter().position(|axes| axes.contains(v))
    } else {
        Some(v.index())
    }
}

/// The same tree without its root, seen from a leaf: that leaf is joined last.
fn viewed_from(tree: &Tree, leaf: usize) -> Tree {
    let path = path_to_root(tree, leaf);
    let (mut place, mut joins): (Vec<usize>, Vec<(usize, usize)>) =
        ((0..tree.leaves).collect(), vec![]);
    for (k, &(l, r)) in tree.joins.iter().enumerate() {
        place.push(tree.leaves + joins.len());
        if path.binary_search(&(tree.leaves + k)).is_err() {
            joins.push((place[l], place[r]));
        }
    }
    // The part above each node of the path, from the root down.
    let mut above = None;
    for pair in path.windows(2).rev() {
        let (l, r) = tree.joins[pair[1] - tree.leaves];
        let sibling = place[if l == pair[0] { r } else { l }];
        above = Some(above.map_or(sibling, |above| {
            joins.push((above, sibling));
            tree.leaves + joins.len() - 1
        }));
    }
    joins.extend(above.map(|above| (above, leaf)));
    Tree {
        leaves: tree.leaves,
        joins,
    }
}

/// A leaf and the nodes above it; they are in increasing order.
fn path_to_root(tree: &Tree, leaf: usize) -> Vec<usize> {
    let mut path = vec![leaf];
    for (k, &(l, r)) in tree.joins.iter().enumerate() {
        if path.last().is_some_and(|&last| l == last || r == last) {
            path.push(tree.leaves + k);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_can_be_viewed_from_any_leaf() {
        let tree = Tree {
            leaves: 5,
            joins: vec![(0, 1), (2, 3), (5, 6), (7, 4)],
        };
        assert_eq!(
            viewed_from(&tree, 2).joins,
            [(0, 1), (4, 5), (6, 3), (7, 2)]
        );
        assert_eq!(
            viewed_from(&tree, 4).joins,
            [(0, 1), (2, 3), (5, 6), (7, 4)]
        );
        let single = Tree {
            leaves: 1,
            joins: vec![],
        };
        assert_eq!(viewed_from(&single, 0), single);
    }
}
