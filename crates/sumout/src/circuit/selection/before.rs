//! Results of earlier selections, for reuse.
//!
//! The *region* before a selection of X is the part of the network that its posterior depends on:
//! the ancestors of the parents U and of the evidence that the test sees, as far as they are
//! connected with U. If the rest of a larger region touches a smaller one in U alone, the smaller
//! one counts in it by P(u, evidence) alone, which its selection has computed:
//!
//! ```text
//! Σ f_1 … f_m · g_1 … g_n  =  Σ P(U, evidence) · g_1 … g_n
//! ```
//!
//! where the f are the factors of the smaller region. So the selections of a chain of n are of one
//! size each, instead of as long as the chain before them; and so is the part that answers, if it
//! asks for nothing inside of the others.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

use crate::compile::{Goal, Question, prune};
use crate::model::{Expanded, FactorModel, SelectionNode};
use crate::vars::{VarId, VarSet};

/// The region before a selection; or before the answer, which others may touch in the targets.
#[derive(Debug)]
struct Region {
    vars: VarSet,
    inputs: VarSet,
    /// The parents of the selected variable, in which others may touch it.
    parents: VarSet,
}

/// The regions before each selection of a network, and before the answer to a question; none where
/// evidence selects.
#[derive(Debug)]
pub(crate) struct Before<'e> {
    expanded: &'e Expanded,
    question: &'e Question,
    regions: Vec<Option<Region>>,
    answer: Region,
    /// The values that each variable can have, under any evidence.
    pub domains: Vec<Vec<usize>>,
}

impl<'e> Before<'e> {
    pub fn nodes(&self) -> &'e [SelectionNode] {
        &self.expanded.nodes
    }

    /// None if nothing is possible.
    pub fn new(expanded: &'e Expanded, question: &'e Question) -> Option<Self> {
        let model = &expanded.model;
        let children = children(model);
        let inputs = question.evidence();
        let region = |node: &SelectionNode| {
            let is_by_posterior = node.by_evidence().is_none();
            is_by_posterior.then(|| Region::new(model, &children, node, &(inputs & &node.sees)))
        };
        Some(Before {
            expanded,
            question,
            regions: expanded.nodes.iter().map(region).collect(),
            answer: Region::of_answer(model, &question.goal.targets(), inputs),
            domains: domains(expanded, question)?,
        })
    }

    /// The model and the question for the posterior of a selection, with the posteriors of earlier
    /// ones for what is before them. None if evidence selects.
    pub fn selection(&self, index: usize) -> Option<(Arc<FactorModel>, Question)> {
        let region = self.regions[index].as_ref()?;
        let question = Question {
            goal: Goal::Posterior(self.expanded.nodes[index].family),
            inputs: region.inputs.clone(),
            trainable: self.question.trainable.clone(),
            selected: self.question.selected.clone(),
            ..Question::default()
        };
        Some(self.summed_up(region, &self.regions[..index], question))
    }

    /// The same for the answer. Where marginals are asked for, the likelihood of each variable must
    /// be at hand, and nothing is summed up.
    pub fn answer(&self) -> (Arc<FactorModel>, Question) {
        let earlier = match self.question.goal {
            Goal::Marginals(_) => &[],
            _ => &self.regions[..],
        };
        self.summed_up(&self.answer, earlier, self.question.clone())
    }

    fn summed_up(
        &self,
        region: &Region,
        earlier: &[Option<Region>],
        mut question: Question,
    ) -> (Arc<FactorModel>, Question) {
        let mut model = Arc::clone(&self.expanded.model);
        for (earlier, known) in self.standing_in(region, earlier) {
            let node = &self.expanded.nodes[earlier];
            Arc::make_mut(&mut model).sum_up(node, &self.domains);
            question.inputs = &(&question.inputs - &known.vars) | &VarSet::from_iter([node.family]);
            question.trainable = &question.trainable - &known.vars;
        }
        question.hard = &self.question.hard & &question.inputs;
        (model, question)
    }

    /// The earlier selections whose posteriors stand for all that is before them: those that save
    /// most first, and none twice.
    fn standing_in<'p>(
        &self,
        region: &Region,
        earlier: &'p [Option<Region>],
    ) -> Vec<(usize, &'p Region)> {
        let earlier = earlier
            .iter()
            .enumerate()
            .filter_map(|(i, region)| Some((i, region.as_ref()?)));
        let is_needed =
            |(i, _): &(usize, &Region)| region.vars.contains(self.expanded.nodes[*i].selected);
        let mut earlier: Vec<(usize, &'p Region)> = earlier.filter(is_needed).collect();
        earlier.sort_by_key(|(i, region)| Reverse((region.vars.len(), *i)));
        let mut chosen: Vec<(usize, &'p Region)> = vec![];
        for (i, candidate) in earlier {
            if chosen.iter().all(|(_, other)| candidate.is_apart(other))
                && candidate.sums_up(&self.expanded.model, region)
            {
                chosen.push((i, candidate));
            }
        }
        chosen
    }
}

impl Region {
    fn new(
        net: &FactorModel,
        children: &[Vec<VarId>],
        node: &SelectionNode,
        seen: &VarSet,
    ) -> Self {
        let parents: VarSet = net.parents(node.family).iter().copied().collect();
        let kept = ancestors(net, &parents | seen);
        let vars = connected(net, children, &parents, &kept);
        Region {
            inputs: seen & &vars,
            vars,
            parents,
        }
    }

    fn of_answer(net: &FactorModel, targets: &VarSet, inputs: &VarSet) -> Self {
        let kept = ancestors(net, targets | inputs);
        Region {
            vars: all(&kept),
            inputs: inputs.clone(),
            parents: targets.clone(),
        }
    }

    /// Whether nothing is part of both. A region has all ancestors of its variables.
    fn is_apart(&self, other: &Region) -> bool {
        (&self.vars & &other.vars).is_empty()
    }

    /// Whether a larger region has all of this one, with the same evidence, and touches it in the
    /// parents alone.
    fn sums_up(&self, net: &FactorModel, larger: &Region) -> bool {
        let is_inside = |v: &VarId| self.vars.contains(*v) && !self.parents.contains(*v);
        let rest = &larger.vars - &self.vars;
        !self.vars.is_subset(&self.parents)
            && self.vars.is_subset(&larger.vars)
            && &larger.inputs & &self.vars == self.inputs
            && !larger.parents.iter().any(|v| is_inside(&v))
            && !rest.iter().any(|v| net.parents(v).iter().any(is_inside))
    }
}

/// The values that each variable can have; nobody asks where nothing is selected. None if nothing
/// is possible.
fn domains(expanded: &Expanded, question: &Question) -> Option<Vec<Vec<usize>>> {
    if expanded.nodes.is_empty() {
        return Some(vec![]);
    }
    let everything = Question {
        goal: Goal::posteriors(expanded.model.ids().collect()),
        trainable: question.trainable.clone(),
        selected: question.selected.clone(),
        ..Question::default()
    };
    Some(prune::prune(&expanded.model, &everything)?.domains)
}

fn children(net: &FactorModel) -> Vec<Vec<VarId>> {
    let mut children = vec![vec![]; net.variables().len()];
    for v in net.ids() {
        net.parents(v)
            .iter()
            .for_each(|p| children[p.index()].push(v));
    }
    children
}

/// Some variables, and all of their ancestors.
fn ancestors(net: &FactorModel, of: VarSet) -> Vec<bool> {
    let mut found = vec![false; net.variables().len()];
    let mut waiting: Vec<VarId> = of.iter().collect();
    while let Some(v) = waiting.pop() {
        if !std::mem::replace(&mut found[v.index()], true) {
            waiting.extend(net.parents(v));
        }
    }
    found
}

/// The kept variables that are connected with some variables through kept CPTs.
fn connected(net: &FactorModel, children: &[Vec<VarId>], with: &VarSet, kept: &[bool]) -> VarSet {
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
