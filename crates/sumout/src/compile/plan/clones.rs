//! Plans with copies of functions, as ordinary contractions of a network with clones.
//!
//! Give every copy of f_X its own clone of X, and let every other mention of X choose one of the
//! clones. The clones are functions of the same things, so they are equal with probability one, and
//! any contraction of this larger network gives the same answers (Theorem 4). Contracting it in the
//! usual way *is* summing X out sooner (Theorem 3): each clone leaves the separators as soon as its
//! own mentions are joined. Where two clones of X meet they are one axis.

use crate::compile::plan::problem::{Leaf, Problem};
use crate::compile::plan::tree::{Leaves, Tree};
use crate::vars::{VarId, VarSet};

/// A variable, and which of its clones.
type VarClone = (VarId, u32);

/// One clone for each mention of the chosen functional variables, and one copy of its definer for
/// each clone.
///
/// Children come first, so that copies of a child count as mentions of its parents. Stops making
/// clones when there would be more than `cap` leaves.
pub(crate) fn replicate(
    problem: &Problem,
    chosen: impl Fn(VarId) -> bool,
    cap: usize,
) -> (Vec<Leaf>, Leaves) {
    let mut leaves = problem.originals();
    let mut clones: Vec<Vec<VarClone>> = problem
        .factors
        .iter()
        .map(|axes| axes.iter().map(|v| (v, 0)).collect())
        .collect();
    for &x in problem.children_first().iter().filter(|&&x| chosen(x)) {
        let Some(definer) = problem.definer[x.index()] else {
            continue;
        };
        let mentions: Vec<usize> = (0..leaves.len())
            .filter(|&leaf| {
                leaves[leaf].factor != definer && problem.factors[leaves[leaf].factor].contains(x)
            })
            .collect();
        let first = usize::from(!problem.output.contains(x)); // the output takes the original, if it has x
        if leaves.len() + mentions.len() > cap {
            break;
        }
        for (clone, &leaf) in (1u32..).zip(&mentions[first.min(mentions.len())..]) {
            rename(&mut clones[leaf], x, clone);
            leaves.push(Leaf {
                factor: definer,
                is_copy: true,
            });
            let mut axes: Vec<VarClone> = problem.factors[definer].iter().map(|v| (v, 0)).collect();
            rename(&mut axes, x, clone);
            clones.push(axes);
        }
    }
    let output: Vec<VarClone> = problem.output.iter().map(|v| (v, 0)).collect();
    let numbered = number(problem, &leaves, &clones, &output);
    (leaves, numbered)
}

fn rename(axes: &mut [VarClone], x: VarId, clone: u32) {
    axes.iter_mut()
        .filter(|(v, _)| *v == x)
        .for_each(|axis| axis.1 = clone);
}

/// The clones that a plan's separators imply: one for each connected part of the tree that carries
/// X.
pub(crate) fn of_plan(
    problem: &Problem,
    leaves: &[Leaf],
    tree: &Tree,
    separators: &[VarSet],
) -> Leaves {
    let mut next: Vec<u32> = vec![0; problem.cards.len()];
    let mut fresh = |v: VarId| {
        next[v.index()] += 1;
        (
            v,
            if problem.definer[v.index()].is_some() {
                next[v.index()] - 1
            } else {
                0
            },
        )
    };
    let mut above: Vec<Vec<VarClone>> = vec![vec![]; separators.len()];
    let root = separators.len() - 1;
    above[root] = separators[root].iter().map(&mut fresh).collect();
    let output = above[root].clone();
    for node in (tree.leaves..separators.len()).rev() {
        let (l, r) = tree.joins[node - tree.leaves];
        let carried = |v: VarId, fresh: &mut dyn FnMut(VarId) -> VarClone| {
            above[node]
                .iter()
                .copied()
                .find(|(x, _)| *x == v)
                .unwrap_or_else(|| fresh(v))
        };
        let both: Vec<VarClone> = (&separators[l] | &separators[r])
            .iter()
            .map(|v| carried(v, &mut fresh))
            .collect();
        for child in [l, r] {
            above[child] = both
                .iter()
                .copied()
                .filter(|(v, _)| separators[child].contains(*v))
                .collect();
        }
    }
    let clones: Vec<Vec<VarClone>> = leaves
        .iter()
        .zip(&above)
        .map(|(leaf, above)| {
            let clone = |v: VarId| {
                above
                    .iter()
                    .copied()
                    .find(|(x, _)| *x == v)
                    .unwrap_or_else(|| fresh(v))
            };
            problem.factors[leaf.factor].iter().map(clone).collect()
        })
        .collect();
    number(problem, leaves, &clones, &output)
}

/// Numbers the clones, those of one variable one after the other.
fn number(
    problem: &Problem,
    leaves: &[Leaf],
    clones: &[Vec<VarClone>],
    output: &[VarClone],
) -> Leaves {
    let mut all: Vec<VarClone> = clones.iter().flatten().chain(output).copied().collect();
    all.sort_unstable();
    all.dedup();
    let id =
        |clone: &VarClone| VarId::new(all.binary_search(clone).expect("every clone is numbered"));
    let known = |(leaf, axes): (&Leaf, &Vec<VarClone>)| {
        let x = problem.known(leaf)?;
        axes.iter().find(|(v, _)| *v == x).map(id)
    };
    Leaves {
        axes: clones
            .iter()
            .map(|axes| axes.iter().map(id).collect())
            .collect(),
        varies: leaves.iter().map(|leaf| problem.varies(leaf)).collect(),
        output: output.iter().map(id).collect(),
        cards: all.iter().map(|(v, _)| problem.cards[v.index()]).collect(),
        original: all.iter().map(|(v, _)| *v).collect(),
        known: leaves.iter().zip(clones).map(known).collect(),
        prices: problem.prices,
    }
}
