//! Replicates functional variables (Theorem 4).
//!
//! From children to parents, a functional variable that several factors use is replaced by as many
//! replicas, each used once. A replica has its own copy of the definer, and that copy uses a
//! replica of each parent. So along a chain of functions the numbers multiply, and are capped: a
//! variable whose replicas do not fit stays as it is.
//!
//! The first replica of a variable is the *master*: its leaf is the definer itself, with evidence.

use crate::compile::plan::problem::{Leaf, Problem};
use crate::compile::plan::tree::Leaves;
use crate::vars::{VarId, VarSet};

/// A network in which each functional variable is used only once.
#[derive(Clone, Debug)]
pub struct Replicated {
    /// The leaves: a factor, or one replica of a definer, each. Replicas are consecutive, the
    /// master first.
    pub leaves: Vec<Leaf>,
    /// The leaves over replicas of the variables. It has no output: that is a question of the view.
    pub network: Leaves,
    /// For each leaf, the replica that it defines; for a factor that is not a definer, its last axis.
    pub own: Vec<Option<VarId>>,
    /// Whether some variables were not replicated because there would have been too many leaves.
    pub is_capped: bool,
}

/// Replicates all functional variables, as long as there are at most `max_leaves` leaves.
pub fn replicate(problem: &Problem, max_leaves: usize) -> Replicated {
    let (copies, is_capped) = copies(problem, max_leaves);
    let mut replicas = Replicas::new(problem, &copies);
    let network = Leaves {
        original: replicas.original.clone(),
        ..problem.leaves(&[])
    };
    let mut out = Replicated {
        leaves: vec![],
        network,
        own: vec![],
        is_capped,
    };
    for (factor, &copies) in copies.iter().enumerate() {
        for copy in 0..copies {
            let leaf = Leaf {
                factor,
                is_copy: copy > 0,
            };
            out.leaves.push(leaf);
            let family = replicas.family(problem, factor, copy);
            out.own.push(
                problem
                    .defines(factor)
                    .map(|v| replicas.nth(v, copy))
                    .or(family.iter().next_back()),
            );
            out.network.axes.push(family);
            out.network.varies.push(problem.varies(&leaf));
        }
    }
    out.network.output = VarSet::default();
    out.network.cards = replicas
        .original
        .iter()
        .map(|v| problem.cards[v.index()])
        .collect();
    out
}

/// How many leaves each factor becomes, and whether there should have been more.
fn copies(problem: &Problem, max_leaves: usize) -> (Vec<usize>, bool) {
    let mut users: Vec<Vec<usize>> = vec![vec![]; problem.cards.len()];
    for (factor, axes) in problem.factors.iter().enumerate() {
        let used = axes
            .iter()
            .filter(|v| problem.definer[v.index()] != Some(factor));
        used.for_each(|v| users[v.index()].push(factor));
    }
    let (mut copies, mut total, mut is_capped) =
        (vec![1; problem.factors.len()], problem.factors.len(), false);
    for v in problem.children_first() {
        let wanted: usize = users[v.index()].iter().map(|&user| copies[user]).sum();
        if wanted > 1 && total + wanted - 1 > max_leaves {
            is_capped = true;
        } else if let Some(definer) = problem.definer[v.index()].filter(|_| wanted > 1) {
            copies[definer] = wanted;
            total += wanted - 1;
        }
    }
    (copies, is_capped)
}

/// The replicas of all variables, numbered in the order of the variables.
struct Replicas {
    original: Vec<VarId>,
    /// The master of each variable.
    first: Vec<usize>,
    /// The replica of each variable that was used last; they are used from the last to the first.
    used: Vec<usize>,
}

impl Replicas {
    fn new(problem: &Problem, copies: &[usize]) -> Self {
        let (mut original, mut first, mut used) = (vec![], vec![], vec![]);
        for (v, definer) in problem.definer.iter().enumerate() {
            first.push(original.len());
            original.extend(std::iter::repeat_n(
                VarId::new(v),
                definer.map_or(1, |factor| copies[factor]),
            ));
            used.push(original.len());
        }
        Replicas {
            original,
            first,
            used,
        }
    }

    fn nth(&self, v: VarId, n: usize) -> VarId {
        VarId::new(self.first[v.index()] + n)
    }

    /// The axes of one copy of a factor: the replica that it defines, and a new one of each other
    /// variable.
    fn family(&mut self, problem: &Problem, factor: usize, copy: usize) -> VarSet {
        let defined = problem.defines(factor);
        let axes = problem.factors[factor].iter();
        axes.map(|v| {
            if defined == Some(v) {
                self.nth(v, copy)
            } else {
                self.next(v)
            }
        })
        .collect()
    }

    /// A replica that is not used yet; a variable that is not replicated may be used again and
    /// again.
    fn next(&mut self, v: VarId) -> VarId {
        let used = &mut self.used[v.index()];
        *used = self.first[v.index()].max(used.saturating_sub(1));
        VarId::new(*used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(vars: &[usize]) -> VarSet {
        vars.iter().map(|&v| VarId::new(v)).collect()
    }

    /// U → X → Y → A, B, C, where X and Y are functions; U and X are used by D as well.
    fn chain() -> Problem {
        Problem {
            factors: [
                &[0][..],
                &[0, 1],
                &[1, 2],
                &[2, 3],
                &[2, 4],
                &[2, 5],
                &[0, 1, 6],
            ]
            .map(set)
            .to_vec(),
            varies: vec![true; 7],
            clamped: vec![false; 64],
            output: VarSet::default(),
            cards: vec![2; 7],
            definer: vec![None, Some(1), Some(2), None, None, None, None],
            known: vec![],
            prices: Default::default(),
        }
    }

    #[test]
    fn replicas_multiply_along_a_chain_and_each_is_used_once() {
        let replicated = replicate(&chain(), 100);
        let factors: Vec<usize> = replicated.leaves.iter().map(|leaf| leaf.factor).collect();
        assert_eq!(factors, [0, 1, 1, 1, 1, 2, 2, 2, 3, 4, 5, 6]);
        assert!(!replicated.is_capped);
        // U is 0; X is 1 to 4; Y is 5 to 7. Replicas are used from the last to the first.
        let axes = [
            &[0][..],
            &[0, 1],
            &[0, 2],
            &[0, 3],
            &[0, 4],
            &[4, 5],
            &[3, 6],
            &[2, 7],
            &[7, 8],
            &[6, 9],
            &[5, 10],
            &[0, 1, 11],
        ];
        assert_eq!(replicated.network.axes, axes.map(set));
        let masters = replicated
            .leaves
            .iter()
            .zip(&replicated.own)
            .filter(|(leaf, _)| !leaf.is_copy);
        let own: VarSet = masters.filter_map(|(_, own)| *own).collect();
        assert_eq!(own, set(&[0, 1, 5, 8, 9, 10, 11]));
    }

    #[test]
    fn replication_stops_at_the_cap() {
        for (max_leaves, leaves) in [(0, 7), (8, 8), (9, 9), (11, 9), (12, 12)] {
            let replicated = replicate(&chain(), max_leaves);
            assert_eq!(replicated.leaves.len(), leaves, "{max_leaves}");
            assert_eq!(replicated.is_capped, max_leaves < 12);
        }
    }
}
