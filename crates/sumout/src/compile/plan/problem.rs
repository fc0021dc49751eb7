//! The planning problem of a pruned network: factors, and which of them may be copied.
//!
//! The factor that makes X a function of other variables is the *definer* of X. It may occur in a
//! plan any number of times (Theorem 4): once as itself, hosting evidence, and as copies without
//! evidence.

use crate::compile::ask::Objective;
use crate::compile::factor::Factor;
use crate::compile::plan::tree::{Leaves, Prices};
use crate::compile::prune::Pruned;
use crate::vars::{VarId, VarSet};

/// The factors of a question, for planning.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The axes of each factor.
    pub factors: Vec<VarSet>,
    /// Whether each factor hosts evidence, so that what it is part of differs between examples.
    pub varies: Vec<bool>,
    /// Whether each factor is different for each value of a clamped variable, or given for each
    /// example; then its copies differ, too.
    pub clamped: Vec<bool>,
    /// The axes of the output.
    pub output: VarSet,
    /// The number of values of each variable.
    pub cards: Vec<usize>,
    /// The factor that defines each variable as a function, if one does.
    pub definer: Vec<Option<usize>>,
    /// The variable that each factor defines by a table that plans may know; empty if they may know
    /// none.
    pub known: Vec<Option<VarId>>,
    /// The prices that plans are compared by.
    pub prices: Prices,
}

/// A leaf of a plan: a factor with its evidence, or a copy of a definer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Which factor.
    pub factor: usize,
    /// Whether it is an additional copy, which hosts no evidence.
    pub is_copy: bool,
}

impl Problem {
    /// The problem that a pruned network poses.
    pub fn new(pruned: &Pruned, objective: Objective) -> Self {
        let clamped: Vec<bool> = (0..pruned.factors.len())
            .map(|factor| pruned.is_clamped(factor) || pruned.is_selected(factor))
            .collect();
        let mut varies = clamped.clone();
        for &(_, factor) in &pruned.hosts {
            varies[factor] = true;
        }
        let axes =
            |table: &Factor| &table.scope.iter().copied().collect::<VarSet>() - &pruned.clamped;
        let mut definer = pruned.definers.clone();
        for v in pruned.clamped.iter() {
            definer[v.index()] = None;
        }
        Problem {
            factors: pruned.factors.iter().map(axes).collect(),
            prices: prices(pruned, objective, varies.contains(&true)),
            varies,
            clamped,
            output: pruned.output.clone(),
            cards: pruned.cards(),
            definer,
            known: vec![],
        }
    }

    /// The same for plans that may know which functions the definers are, as far as that is known.
    pub fn with_tables(mut self, pruned: &Pruned) -> Self {
        let is_visible = |f: usize| pruned.origins[f].is_some();
        let is_known =
            |f: usize, v: &VarId| !self.clamped[f] && !is_visible(f) && pruned.is_function(*v);
        self.known = (0..self.factors.len())
            .map(|f| self.defines(f).filter(|v| is_known(f, v)))
            .collect();
        self
    }

    /// The same for plans that may not.
    pub fn without_tables(&self) -> Self {
        Problem {
            known: vec![],
            ..self.clone()
        }
    }

    /// The variable that a leaf is known to define, if it is the same function in all examples.
    pub fn known(&self, leaf: &Leaf) -> Option<VarId> {
        self.known
            .get(leaf.factor)
            .copied()
            .flatten()
            .filter(|_| !self.varies(leaf))
    }

    /// One leaf for each factor.
    pub fn originals(&self) -> Vec<Leaf> {
        (0..self.factors.len())
            .map(|factor| Leaf {
                factor,
                is_copy: false,
            })
            .collect()
    }

    /// Whether a leaf differs between examples.
    pub fn varies(&self, leaf: &Leaf) -> bool {
        if leaf.is_copy {
            self.clamped[leaf.factor]
        } else {
            self.varies[leaf.factor]
        }
    }

    /// The variable that a factor defines.
    pub fn defines(&self, factor: usize) -> Option<VarId> {
        let is_defined = |v: &VarId| self.definer[v.index()] == Some(factor);
        self.factors[factor].iter().find(is_defined)
    }

    /// The variables that define the variable `v`, if it is a function.
    pub fn parents(&self, v: VarId) -> impl Iterator<Item = VarId> + '_ {
        let definer = self.definer[v.index()];
        definer
            .into_iter()
            .flat_map(|f| self.factors[f].iter())
            .filter(move |&u| u != v)
    }

    /// The functional variables, each before those that it is a function of.
    pub fn children_first(&self) -> Vec<VarId> {
        let is_functional = |v: VarId| self.definer[v.index()].is_some();
        let functional: Vec<VarId> = (0..self.cards.len())
            .map(VarId::new)
            .filter(|&v| is_functional(v))
            .collect();
        let mut children = vec![0; self.cards.len()];
        functional
            .iter()
            .flat_map(|&v| self.parents(v))
            .for_each(|u| children[u.index()] += 1);
        let mut order: Vec<VarId> = functional
            .into_iter()
            .filter(|v| children[v.index()] == 0)
            .collect();
        let mut next = 0;
        while let Some(&v) = order.get(next) {
            next += 1;
            for u in self.parents(v) {
                children[u.index()] -= 1;
                if children[u.index()] == 0 && is_functional(u) {
                    order.push(u);
                }
            }
        }
        order
    }

    /// The leaves as tensors to contract, without regard to functions.
    pub fn leaves(&self, leaves: &[Leaf]) -> Leaves {
        Leaves {
            axes: leaves
                .iter()
                .map(|leaf| self.factors[leaf.factor].clone())
                .collect(),
            varies: leaves.iter().map(|leaf| self.varies(leaf)).collect(),
            output: self.output.clone(),
            cards: self.cards.clone(),
            original: (0..self.cards.len()).map(VarId::new).collect(),
            known: leaves.iter().map(|leaf| self.known(leaf)).collect(),
            prices: self.prices,
        }
    }
}

/// Prices of plans, by how often constant tensors are computed.
fn prices(pruned: &Pruned, objective: Objective, varies: bool) -> Prices {
    let is_learned = |v: VarId| !pruned.selected.contains_key(&v);
    if !varies {
        objective.prices_of_one_run() // everything counts
    } else if pruned.promised.iter().any(is_learned) {
        objective.prices_of_steps()
    } else {
        objective.prices()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::{Goal, Question, prune};
    use crate::model::Network;

    /// Constant tensors are computed once; if they are learned, once for each
    /// step.
    #[test]
    fn constants_are_dearer_where_functions_are_learned() {
        let mut b = Network::builder("learned");
        let [x, y, z] = ["x", "y", "z"].map(|name| b.variable(name, ["a", "b"]));
        b.table(x, [], [0.3, 0.7]);
        b.function(y, [x], |u| u[0]).functional();
        b.table(z, [y], [0.9, 0.1, 0.2, 0.8]);
        let net = b.build().unwrap();
        let [x, z] = ["x", "z"].map(|name| net.find(name).unwrap());
        let price = |trainable: VarSet| {
            let question = Question {
                goal: Goal::Posterior(x),
                inputs: VarSet::from_iter([z]),
                trainable,
                ..Question::default()
            };
            Problem::new(
                &prune::prune(net.model(), &question).unwrap(),
                Objective::Time,
            )
            .prices
            .constant
        };
        assert!(price([VarId::new(1)].into_iter().collect()) > 5.0 * price(VarSet::default()));
    }
}
