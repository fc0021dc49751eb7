//! Independence that the structure of a network implies, whatever its numbers are.

use std::collections::BTreeSet;

use crate::model::network::Network;
use crate::vars::VarId;

impl Network {
    /// The Markov blanket of a variable, in the order of the network: given these variables, it is
    /// independent of all others. In a Bayesian network they are its parents, its children and their
    /// other parents.
    pub fn markov_blanket(&self, var: VarId) -> Vec<VarId> {
        let scopes = self.cpts().iter().map(|cpt| cpt.scope());
        let own = scopes.filter(|scope| scope.contains(&var)).flatten();
        let blanket: BTreeSet<VarId> = own.copied().filter(|v| *v != var).collect();
        blanket.into_iter().collect()
    }

    /// Whether some variables separate others in the graph (in a Bayesian network, d-separate), so
    /// that `a` and `b` are independent given `given`, whatever the numbers are.
    ///
    /// They do if every path is blocked in the moral graph of the ancestors of all of them.
    ///
    /// ```
    /// let asia = sumout::Network::read("asia")?;
    /// let [tub, lung, either] = ["tub", "lung", "either"].map(|name| asia.find(name).unwrap());
    /// assert!(asia.is_separated(&[tub], &[lung], &[]));
    /// assert!(!asia.is_separated(&[tub], &[lung], &[either]));
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn is_separated(&self, a: &[VarId], b: &[VarId], given: &[VarId]) -> bool {
        let kept = self.closed_upwards([a, b, given].concat());
        let is_kept = |scope: &[VarId]| self.is_markov() || scope.iter().all(|v| kept.contains(v));
        let scopes = self.cpts().iter().map(|cpt| cpt.scope());
        let scopes: Vec<&[VarId]> = scopes.filter(|scope| is_kept(scope)).collect();
        let mut reached: BTreeSet<VarId> = BTreeSet::new();
        let mut next: Vec<VarId> = a.to_vec();
        while let Some(v) = next.pop() {
            if given.contains(&v) || !reached.insert(v) {
                continue;
            }
            let touching = scopes.iter().filter(|scope| scope.contains(&v));
            next.extend(touching.flat_map(|scope| scope.iter().copied()));
        }
        !b.iter().any(|v| reached.contains(v))
    }

    /// Some variables, and those that they depend on.
    fn closed_upwards(&self, mut next: Vec<VarId>) -> BTreeSet<VarId> {
        let mut all = BTreeSet::new();
        while let Some(v) = next.pop() {
            if all.insert(v) {
                next.extend(self.parents(v));
            }
        }
        all
    }
}
