//! The order in which variables are decided.
//!
//! An elimination order gives a tree of clusters. Those in the middle of the tree separate the rest
//! into parts, and so do those in the middle of a part: a variable is decided the earlier, the
//! closer to the middle it is found.

use std::collections::BTreeSet;

use rand_chacha::ChaCha8Rng;

use crate::compile::logic::residual::{Part, Residual};
use crate::compile::plan::order::{Heuristic, order};
use crate::compile::plan::tree::{Leaves, Prices};
use crate::vars::{VarId, VarSet};

/// How early each variable is decided.
#[derive(Debug)]
pub(super) struct Rank(Vec<u32>);

impl Rank {
    /// The smaller, the earlier.
    pub fn of(&self, v: u32) -> u32 {
        self.0[v as usize]
    }

    /// The ranks of what is left of a network.
    pub fn new(residual: &Residual, rng: Option<&mut ChaCha8Rng>) -> Rank {
        let scopes: Vec<&[u32]> = (0..residual.len() as u32)
            .map(|factor| residual.scope(factor))
            .filter(|scope| scope.len() > 1)
            .collect();
        let order = elimination_order(residual, &scopes, rng);
        let mut ranks = middle_first(residual.parts.len(), &scopes, &order);
        for (rank, part) in ranks.iter_mut().zip(&residual.parts) {
            if *part == Part::Output {
                *rank = 0;
            }
        }
        Rank(ranks)
    }
}

fn elimination_order(
    residual: &Residual,
    scopes: &[&[u32]],
    rng: Option<&mut ChaCha8Rng>,
) -> Vec<u32> {
    let ids = |scope: &&[u32]| scope.iter().map(|&v| VarId::new(v as usize)).collect();
    let variables = residual.parts.len();
    let leaves = Leaves {
        axes: scopes.iter().map(ids).collect(),
        varies: vec![true; scopes.len()],
        output: VarSet::default(),
        cards: (0..variables as u32)
            .map(|v| residual.domain(v).count_ones() as usize)
            .collect(),
        original: (0..variables).map(VarId::new).collect(),
        known: vec![None; scopes.len()],
        prices: Prices::default(),
    };
    let vars = order(&leaves, Heuristic::MinFill, rng).vars;
    vars.into_iter().map(|v| v.index() as u32).collect()
}

/// The depth of each variable in the tree of clusters, from the middle of the tree.
fn middle_first(variables: usize, scopes: &[&[u32]], order: &[u32]) -> Vec<u32> {
    let clusters = Clusters::new(variables, scopes, order);
    let depths = clusters.depths();
    let mut ranks = vec![u32::MAX; variables];
    for (cluster, depth) in clusters.members.iter().zip(depths) {
        for &v in cluster {
            ranks[v as usize] = ranks[v as usize].min(depth);
        }
    }
    ranks
}

/// The clusters of an elimination order, each with the next one that shares its rest.
struct Clusters {
    members: Vec<Vec<u32>>,
    parents: Vec<Option<usize>>,
}

impl Clusters {
    fn new(variables: usize, scopes: &[&[u32]], order: &[u32]) -> Self {
        let mut position = vec![usize::MAX; variables];
        for (at, &v) in order.iter().enumerate() {
            position[v as usize] = at;
        }
        let first = |scope: &[u32]| scope.iter().map(|&v| position[v as usize]).min();
        let mut waiting: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); order.len()];
        for scope in scopes {
            if let Some(at) = first(scope) {
                waiting[at].extend(scope.iter());
            }
        }
        let mut parents = vec![None; order.len()];
        for at in 0..order.len() {
            let rest: Vec<u32> = waiting[at]
                .iter()
                .copied()
                .filter(|&v| v != order[at])
                .collect();
            parents[at] = first(&rest);
            if let Some(parent) = parents[at] {
                waiting[parent].extend(rest);
            }
        }
        let members = waiting.into_iter().map(|set| set.into_iter().collect());
        Clusters {
            members: members.collect(),
            parents,
        }
    }

    /// The distance of each cluster from the middle of its tree.
    fn depths(&self) -> Vec<u32> {
        let mut depths = vec![u32::MAX; self.members.len()];
        let neighbours = self.neighbours();
        let mut next = self.middles();
        next.iter().for_each(|&at| depths[at] = 0);
        let mut done = 0;
        while done < next.len() {
            let at = next[done];
            for &other in &neighbours[at] {
                if depths[other] == u32::MAX {
                    depths[other] = depths[at] + 1;
                    next.push(other);
                }
            }
            done += 1;
        }
        depths
    }

    fn neighbours(&self) -> Vec<Vec<usize>> {
        let mut neighbours = vec![vec![]; self.members.len()];
        for (at, parent) in self.parents.iter().enumerate() {
            if let Some(parent) = *parent {
                neighbours[at].push(parent);
                neighbours[parent].push(at);
            }
        }
        neighbours
    }

    /// The cluster in each tree whose removal leaves no part with more than half of the clusters.
    fn middles(&self) -> Vec<usize> {
        let mut below = vec![1usize; self.members.len()];
        let mut largest_child = vec![0usize; self.members.len()];
        for (at, parent) in self.parents.iter().enumerate() {
            if let Some(parent) = *parent {
                below[parent] += below[at];
                largest_child[parent] = largest_child[parent].max(below[at]);
            }
        }
        let mut total = below.clone();
        for at in (0..self.parents.len()).rev() {
            if let Some(parent) = self.parents[at] {
                total[at] = total[parent];
            }
        }
        let is_middle = |&at: &usize| {
            let above = total[at] - below[at];
            2 * above < total[at] && 2 * largest_child[at] <= total[at]
        };
        (0..below.len()).filter(is_middle).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of nine variables is first cut in the middle.
    #[test]
    fn the_middle_of_a_chain_is_decided_first() {
        let pairs: Vec<[u32; 2]> = (0..8).map(|i| [i, i + 1]).collect();
        let scopes: Vec<&[u32]> = pairs.iter().map(|pair| &pair[..]).collect();
        let order: Vec<u32> = (0..9).collect();
        let ranks = middle_first(9, &scopes, &order);
        let first: Vec<usize> = (0..9).filter(|&v| ranks[v] == 0).collect();
        assert!(first.contains(&4), "{ranks:?}");
        assert!(ranks[0] > 2 && ranks[8] > 2, "{ranks:?}");
    }
}
