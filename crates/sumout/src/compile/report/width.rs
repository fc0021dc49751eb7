//! How hard a network is if nothing but its graph is known.
//!
//! The graph connects two variables if a factor has both. Summing variables out in min-fill order
//! makes clusters; the largest bounds the cost of a classical answer, whatever the question.
//! Functions, zeros and evidence can make a question much easier.

use crate::compile::plan::order;
use crate::compile::plan::order::Heuristic;
use crate::compile::plan::tree::{Leaves, Prices};
use crate::model::Network;
use crate::vars::VarSet;

/// The largest clusters of a network in min-fill order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Width {
    /// The largest number of variables in a cluster: one more than the width of the order.
    pub rank: usize,
    /// The base-2 logarithm of the largest number of joint states of a cluster.
    pub binary_rank: f64,
}

/// The width of a network; none if it has more than [`order::MAX_VARIABLES`] variables.
///
/// ```
/// use sumout::{Network, compile};
///
/// let width = compile::width(&Network::read("asia")?).expect("a small network");
/// assert_eq!((width.rank, width.binary_rank), (3, 3.0));
/// # Ok::<(), sumout::Error>(())
/// ```
pub fn width(net: &Network) -> Option<Width> {
    if net.variables().len() > order::MAX_VARIABLES {
        return None;
    }
    let order = order::order(&leaves(net), Heuristic::MinFill, None);
    Some(Width {
        rank: order.rank,
        binary_rank: order.binary_rank,
    })
}

/// The factors of a network as leaves, without any question.
pub(crate) fn leaves(net: &Network) -> Leaves {
    let factors = net
        .cpts()
        .iter()
        .map(|cpt| cpt.scope().iter().copied().collect());
    let alone = net.ids().map(|v| VarSet::from_iter([v])); // a Markov network may have variables without factors
    let axes: Vec<VarSet> = factors.chain(alone).collect();
    Leaves {
        varies: vec![false; axes.len()],
        axes,
        output: VarSet::default(),
        cards: net.cards(),
        original: net.ids().collect(),
        known: vec![],
        prices: Prices::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Markov network with a factor over each pair of neighbours.
    fn markov(cards: &[usize], edges: &[(usize, usize)]) -> Network {
        let mut b = Network::markov("test");
        let values = |card: usize| (0..card).map(|value| value.to_string());
        let nodes: Vec<_> = cards
            .iter()
            .enumerate()
            .map(|(i, &card)| b.variable(format!("x{i}"), values(card)))
            .collect();
        for &(i, j) in edges {
            b.potential([nodes[i], nodes[j]], vec![1.0; cards[i] * cards[j]]);
        }
        b.build().unwrap()
    }

    fn width_of(cards: &[usize], edges: &[(usize, usize)]) -> (usize, f64) {
        let width = width(&markov(cards, edges)).unwrap();
        (width.rank, width.binary_rank)
    }

    #[test]
    fn trees_have_pairs_and_circles_have_triples() {
        assert_eq!(width_of(&[2; 4], &[(0, 1), (0, 2), (0, 3)]), (2, 2.0));
        assert_eq!(
            width_of(&[2; 4], &[(0, 1), (1, 2), (2, 3), (3, 0)]),
            (3, 3.0)
        );
        assert_eq!(
            width_of(&[2; 4], &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]),
            (4, 4.0)
        );
    }

    #[test]
    fn the_binary_rank_counts_states() {
        assert_eq!(width_of(&[8, 4, 2], &[(0, 1), (1, 2)]), (2, 5.0));
        assert_eq!(width_of(&[1, 4], &[(0, 1)]), (2, 2.0));
    }

    #[test]
    fn variables_without_factors_are_clusters_too() {
        assert_eq!(width_of(&[4], &[]), (1, 2.0));
        assert_eq!(width_of(&[], &[]), (0, 0.0));
    }

    #[test]
    fn there_is_a_largest_network_to_measure() {
        let n = order::MAX_VARIABLES;
        assert_eq!(width(&markov(&vec![2; n + 1], &[])), None);
        assert!(width(&markov(&vec![2; n], &[])).is_some());
    }
}
