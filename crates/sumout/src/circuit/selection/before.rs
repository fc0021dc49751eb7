//! What earlier tests have computed already.
//!
//! The part of the network *before* a test of X is what its posterior depends on: the ancestors of
//! the parents U and of the evidence that the test sees, as far as they are connected with U. If
//! the rest of a larger part touches a smaller one in U alone, all that the smaller one says to it
//! is P(u, evidence), which its test has computed:
//!
//! ```text
//! Σ f_1 … f_m · g_1 … g_n  =  Σ P(U, evidence) · g_1 … g_n
//! ```
//!
//! where the f are the factors of the smaller part. So the tests of a chain of n are of one size
//! each, instead of as long as the chain before them; and so is the part that answers, if it asks
//! for nothing inside of the others.

use std::cmp::Reverse;
use std::collections::VecDeque;

use crate::compile::{Question, prune};
use crate::model::{Expanded, Network, Testing};
use crate::vars::{VarId, VarSet};

/// What is before a test; or before the answer, where the targets are what others may touch it in.
#[derive(Debug)]
struct Part {
    vars: VarSet,
    inputs: VarSet,
    /// The parents of the tested variable, in which others may touch it.
    parents: VarSet,
}

/// What is before each test of a network; none before tests of evidence.
#[derive(Debug)]
pub(crate) struct Before<'e> {
    expanded: &'e Expanded,
    question: &'e Question,
    parts: Vec<Option<Part>>,
    answer: Part,
    /// The values that each variable can have, whatever is known.
    pub domains: Vec<Vec<usize>>,
}

impl<'e> Before<'e> {
    pub fn tests(&self) -> &'e [Testing] {
        &self.expanded.tests
    }

    /// None if nothing is possible.
    pub fn new(expanded: &'e Expanded, question: &'e Question) -> Option<Self> {
        let net = &expanded.net;
        let children = children(net);
        let is_open = question.inputs.is_empty() && question.targets.len() != 1;
        let inputs = if is_open {
            &question.targets
        } else {
            &question.inputs
        };
        let part = |testing: &Testing| {
            testing
                .by_evidence()
                .is_none()
                .then(|| Part::new(net, &children, testing, &(inputs & &testing.sees)))
        };
        let everything = Question {
            targets: net.ids().collect(),
            trainable: question.trainable.clone(),
            selected: question.selected.clone(),
            ..Question::default()
        };
        let domains = prune::prune(net, &everything)?.domains;
        let parts = expanded.tests.iter().map(part).collect();
        let answer = Part::of_answer(net, &question.targets, inputs);
        Some(Before {
            expanded,
            question,
            parts,
            answer,
            domains,
        })
    }

    /// The network and the question for the posterior of a test, with the posteriors of earlier
    /// tests for what is before them. None for a test of evidence.
    pub fn test(&self, index: usize) -> Option<(Network, Question)> {
        let part = self.parts[index].as_ref()?;
        let targets = VarSet::from_iter([self.expanded.tests[index].family]);
        let (trainable, selected) = (
            self.question.trainable.clone(),
            self.question.selected.clone(),
        );
        let question = Question {
            targets,
            inputs: part.inputs.clone(),
            trainable,
            selected,
            ..Question::default()
        };
        Some(self.summed_up(part, &self.parts[..index], question))
    }

    /// The same for the answer. Where all variables are asked for, the likelihood of each must be
    /// at hand, and nothing is summed up.
    pub fn answer(&self) -> (Network, Question) {
        let earlier = if self.question.targets.len() > 1 {
            &[]
        } else {
            &self.parts[..]
        };
        self.summed_up(&self.answer, earlier, self.question.clone())
    }

    fn summed_up(
        &self,
        part: &Part,
        earlier: &[Option<Part>],
        mut question: Question,
    ) -> (Network, Question) {
        let mut net = self.expanded.net.clone();
        for (earlier, known) in self.standing_in(part, earlier) {
            let family = self.expanded.tests[earlier].family;
            net.sum_up(&self.expanded.tests[earlier], &self.domains);
            question.inputs = &(&question.inputs - &known.vars) | &VarSet::from_iter([family]);
            question.trainable = &question.trainable - &known.vars;
        }
        question.hard = &self.question.hard & &question.inputs;
        (net, question)
    }

    /// The earlier tests whose posteriors say all that is before them: those that save most first,
    /// and none twice.
    fn standing_in<'p>(&self, part: &Part, earlier: &'p [Option<Part>]) -> Vec<(usize, &'p Part)> {
        let earlier = earlier
            .iter()
            .enumerate()
            .filter_map(|(i, part)| Some((i, part.as_ref()?)));
        let is_needed =
            |(i, _): &(usize, &Part)| part.vars.contains(self.expanded.tests[*i].tested);
        let mut earlier: Vec<(usize, &'p Part)> = earlier.filter(is_needed).collect();
        earlier.sort_by_key(|(i, part)| Reverse((part.vars.len(), *i)));
        let mut chosen: Vec<(usize, &'p Part)> = vec![];
        for (i, candidate) in earlier {
            if chosen.iter().all(|(_, other)| candidate.is_apart(other))
                && candidate.sums_up(&self.expanded.net, part)
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
        Part {
            inputs: seen & &vars,
            vars,
            parents,
        }
    }

    fn of_answer(net: &Network, targets: &VarSet, inputs: &VarSet) -> Self {
        let kept = ancestors(net, targets | inputs);
        Part {
            vars: all(&kept),
            inputs: inputs.clone(),
            parents: targets.clone(),
        }
    }

    /// Whether nothing is part of both. What is before a test has all of its ancestors.
    fn is_apart(&self, other: &Part) -> bool {
        (&self.vars & &other.vars).is_empty()
    }

    /// Whether a larger part has all of this one, with the same evidence, and touches it in the
    /// parents alone.
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
        net.parents(v)
            .iter()
            .for_each(|p| children[p.index()].push(v));
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
    all(&found)
}

fn all(is_in: &[bool]) -> VarSet {
    (0..is_in.len())
        .filter(|&v| is_in[v])
        .map(VarId::new)
        .collect()
}
