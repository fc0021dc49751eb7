//! What earlier tests have computed already.
//!
//! The part of the network *before* a test of X is what its posterior depends on: the ancestors of the parents U and of
//! the evidence that the test sees, as far as they are connected with U. If the rest of a larger part touches a smaller one in
//! U alone, all that the smaller one says to it is P(u | evidence), which its test has computed:
//!
//! ```text
//! Σ f_1 … f_m · g_1 … g_n  =  Σ P(U | evidence) · g_1 … g_n  · P(evidence)
//! ```
//!
//! where the f are the factors of the smaller part, and P(evidence) does not matter to a posterior. So the circuits of a
//! chain of n tests are of one size each, instead of as long as the chain before them.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

use crate::compile::{Question, prune};
use crate::model::{Expanded, Network, Testing, Variable};
use crate::vars::{VarId, VarSet};

/// What is before a test.
#[derive(Debug)]
struct Part {
    vars: VarSet,
    inputs: VarSet,
    /// The parents of the tested variable, in which others may touch it.
    parents: VarSet,
}

/// What is before each test of a network; none before tests of evidence.
#[derive(Debug)]
pub(super) struct Before<'e> {
    expanded: &'e Expanded,
    question: &'e Question,
    parts: Vec<Option<Part>>,
    /// The values that each variable can have, whatever is known.
    domains: Vec<Vec<usize>>,
    pub variables: Arc<[Variable]>,
}

impl<'e> Before<'e> {
    /// None if nothing is possible.
    pub fn new(expanded: &'e Expanded, question: &'e Question) -> Option<Self> {
        let net = &expanded.net;
        let children = children(net);
        let is_open = question.inputs.is_empty() && question.targets.len() != 1;
        let inputs = if is_open { &question.targets } else { &question.inputs };
        let part = |testing: &Testing| {
            testing.by_evidence().is_none().then(|| Part::new(net, &children, testing, &(inputs & &testing.sees)))
        };
        let tested = expanded.tests.iter().filter(|testing| testing.by_evidence().is_none());
        let everything = Question {
            targets: tested.flat_map(|testing| net.parents(testing.family)).copied().collect(),
            trainable: question.trainable.clone(),
            selected: question.selected.clone(),
            ..Question::default()
        };
        let domains = prune::prune(net, &everything)?.domains;
        let parts = expanded.tests.iter().map(part).collect();
        Some(Before { expanded, question, parts, domains, variables: net.variables().into() })
    }

    /// The network and the question for the posterior of a test, with the posteriors of earlier tests for what is before
    /// them. None for a test of evidence.
    pub fn question(&self, index: usize) -> Option<(Network, Question)> {
        let part = self.parts[index].as_ref()?;
        let mut net = self.expanded.net.clone();
        let mut question = Question {
            targets: VarSet::from_iter([self.expanded.tests[index].family]),
            inputs: part.inputs.clone(),
            trainable: self.question.trainable.clone(),
            selected: self.question.selected.clone(),
            ..Question::default()
        };
        for (earlier, known) in self.standing_in(index, part) {
            let family = self.expanded.tests[earlier].family;
            net.sum_up(&self.expanded.tests[earlier], &self.domains);
            question.inputs = &(&question.inputs - &known.vars) | &VarSet::from_iter([family]);
            question.trainable = &question.trainable - &known.vars;
        }
        question.hard = &self.question.hard & &question.inputs;
        Some((net, question))
    }

    /// The earlier tests whose posteriors say all that is before them: those that save most first, and none twice.
    fn standing_in(&self, index: usize, part: &Part) -> Vec<(usize, &Part)> {
        let earlier = self.parts[..index].iter().enumerate().filter_map(|(i, part)| Some((i, part.as_ref()?)));
        let is_needed = |(i, _): &(usize, &Part)| part.vars.contains(self.expanded.tests[*i].tested);
        let mut earlier: Vec<(usize, &Part)> = earlier.filter(is_needed).collect();
        earlier.sort_by_key(|(i, part)| Reverse((part.vars.len(), *i)));
        let mut chosen: Vec<(usize, &Part)> = vec![];
        for (i, candidate) in earlier {
            if chosen.iter().all(|(_, other)| candidate.is_apart(other)) && candidate.sums_up(&self.expanded.net, part)
            {
                chosen.push((i, candidate));
            }
        }
        chosen
    }
}

impl Part {
    fn new(net: &Network, children: &[Vec<VarId>], testing: &Testing, seen: &VarSet) -> Self {
        let parents: VarSet = net.parents(testing.family).iter().copied().collect();
        let kept = ancestors(net, &parents | seen);
        let vars = connected(net, children, &parents, &kept);
        Part { inputs: seen & &vars, vars, parents }
    }

    /// Whether nothing is part of both. What is before a test has all of its ancestors.
    fn is_apart(&self, other: &Part) -> bool {
        self.parents.iter().all(|v| !other.vars.contains(v)) && (&self.vars & &other.vars).is_empty()
    }

    /// Whether a larger part has all of this one, with the same evidence, and touches it in the parents alone.
    fn sums_up(&self, net: &Network, larger: &Part) -> bool {
        let is_inside = |v: &VarId| self.vars.contains(*v) && !self.parents.contains(*v);
        let rest = &larger.vars - &self.vars;
        !self.vars.is_subset(&self.parents)
            && self.vars.is_subset(&larger.vars)
            && &larger.inputs & &self.vars == self.inputs
            && !larger.parents.iter().any(|v| is_inside(&v))
            && !rest.iter().any(|v| net.parents(v).iter().any(is_inside))
    }
}

fn children(net: &Network) -> Vec<Vec<VarId>> {
    let mut children = vec![vec![]; net.variables().len()];
    for v in net.ids() {
        net.parents(v).iter().for_each(|p| children[p.index()].push(v));
    }
    children
}

/// Some variables, and all of their ancestors.
fn ancestors(net: &Network, of: VarSet) -> Vec<bool> {
    let mut found = vec![false; net.variables().len()];
    let mut waiting: Vec<VarId> = of.iter().collect();
    while let Some(v) = waiting.pop() {
        if !std::mem::replace(&mut found[v.index()], true) {
            waiting.extend(net.parents(v));
        }
    }
    found
}

/// What is kept and connected with some variables by CPTs that are kept.
fn connected(net: &Network, children: &[Vec<VarId>], with: &VarSet, kept: &[bool]) -> VarSet {
    let mut found = vec![false; kept.len()];
    let mut waiting: VecDeque<VarId> = with.iter().collect();
    while let Some(v) = waiting.pop_front() {
        if kept[v.index()] && !std::mem::replace(&mut found[v.index()], true) {
            waiting.extend(net.parents(v).iter().chain(&children[v.index()]));
        }
    }
    (0..found.len()).filter(|&v| found[v]).map(VarId::new).collect()
}
