//! Targets in groups, each answered by itself.
//!
//! All marginals together come from one pass over every variable that any of them needs. Where each
//! target alone needs little, and together they need far more, they are answered in groups: the
//! targets among the variables that one of them needs.

use crate::compile::{self, Goal, Level, Planned, Question, Search};
use crate::model::FactorModel;
use crate::vars::{VarId, VarSet};

/// Fewer targets stay together.
const MIN_TARGETS_TO_GROUP: usize = 100;

/// Targets whose common plan costs no more than this stay together.
const MIN_COST_TO_GROUP: f64 = 1e8;

/// Plans that cost no more than this are run without looking for better ones.
const MAX_COST_TO_RUN: f64 = 1e6;

/// Targets are grouped only if each needs less than this share of what all need.
const MAX_SHARE_OF_VARIABLES: f64 = 0.5;

/// Groups must cost less than this share of the common plan.
const MAX_SHARE_OF_COMMON: f64 = 0.1;

/// The share of the search that estimates costs.
const EFFORT_TO_ESTIMATE: f64 = 0.02;

/// Some of the targets of a question, with a hasty plan for them. None if the evidence is
/// impossible.
pub(crate) struct Group {
    pub question: Question,
    pub planned: Option<Planned>,
}

impl Group {
    fn cost(&self) -> f64 {
        self.planned.as_ref().map_or(0.0, Planned::total)
    }

    /// Whether running the plan takes less time than looking for a better one.
    pub fn is_cheap(&self) -> bool {
        self.cost() <= MAX_COST_TO_RUN
    }
}

/// Groups of a question's targets that cost far less than all together. None if there are no such
/// groups.
pub(crate) fn groups(
    model: &FactorModel,
    question: &Question,
    search: &Search,
) -> Option<Vec<Group>> {
    let targets = question.goal.targets();
    if targets.len() < MIN_TARGETS_TO_GROUP {
        return None;
    }
    let grouping = Grouping {
        model,
        question,
        search: hasty(search),
    };
    let needs = grouping.needs(&targets)?;
    let cost = grouping.group(targets.clone()).cost();
    if cost <= MIN_COST_TO_GROUP {
        return None;
    }
    grouping.split(targets, needs, MAX_SHARE_OF_COMMON * cost)
}

/// A search that estimates costs. Finding supports takes longer than it is worth here.
fn hasty(search: &Search) -> Search {
    let level = if search.level.knows_zeros() {
        Level::Tables
    } else {
        search.level
    };
    Search {
        level,
        effort: EFFORT_TO_ESTIMATE * search.effort,
        ..search.clone()
    }
}

struct Grouping<'a> {
    model: &'a FactorModel,
    question: &'a Question,
    search: Search,
}

impl Grouping<'_> {
    fn group(&self, targets: VarSet) -> Group {
        let question = Question {
            goal: Goal::posteriors(targets),
            ..self.question.clone()
        };
        let planned = compile::plan(self.model, &question, &self.search);
        Group { question, planned }
    }

    /// The variables that each target needs, those that need most last. None if one needs nearly
    /// all, or if the evidence is impossible.
    fn needs(&self, targets: &VarSet) -> Option<Vec<(VarId, VarSet)>> {
        let needs = compile::needs(self.model, self.question)?;
        let mut needs: Vec<(VarId, VarSet)> = targets.iter().map(|t| (t, needs.of(t))).collect();
        needs.sort_by_key(|(_, needed)| needed.len());
        let most = needs.last().map_or(0, |(_, needed)| needed.len());
        let is_small = (most as f64) < MAX_SHARE_OF_VARIABLES * targets.len() as f64;
        is_small.then_some(needs)
    }

    /// Groups that cost no more than this in sum; none if there are no such groups.
    fn split(
        &self,
        mut left: VarSet,
        mut needs: Vec<(VarId, VarSet)>,
        most: f64,
    ) -> Option<Vec<Group>> {
        let (mut groups, mut spent) = (vec![], 0.0);
        while let Some((target, needed)) = needs.pop() {
            if !left.contains(target) {
                continue;
            }
            let alone = VarSet::from_iter([target]);
            let group = self.cheaper(&alone | &(&left & &needed), alone);
            spent += group.cost();
            if spent > most {
                return None;
            }
            left = &left - &group.question.goal.targets();
            groups.push(group);
        }
        Some(groups)
    }

    /// A group, unless it costs much and one of its targets alone costs far less.
    fn cheaper(&self, targets: VarSet, alone: VarSet) -> Group {
        let several = targets.len() > 1;
        let group = self.group(targets);
        if group.cost() <= MIN_COST_TO_GROUP || !several {
            return group;
        }
        let single = self.group(alone);
        if single.cost() < MAX_SHARE_OF_COMMON * group.cost() {
            single
        } else {
            group
        }
    }
}
