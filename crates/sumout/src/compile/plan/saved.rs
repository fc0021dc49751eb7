//! Where a search may start: a plan that was saved, or a user's elimination order.
//!
//! A saved plan names what it is made of, so that it can be checked against any network and
//! question: a leaf is the factor over some variables, in their order, or a copy of it. Whatever is
//! read has to have the certificate of a right plan.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::compile::ask::{Level, Search};
use crate::compile::plan::Plan;
use crate::compile::plan::problem::{Leaf, Problem};
use crate::compile::plan::tree::{Cost, Tree};
use crate::compile::plan::{certificate, order};
use crate::compile::prune::Pruned;
use crate::error::{Error, ErrorKind, Remedy, Result, shortlist, shown};
use crate::model::{FactorModel, Network};
use crate::vars::{VarId, VarSet};

/// The version of the format of saved plans.
const VERSION: u32 = 1;

/// Where a search starts.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub enum PlanStart {
    /// From a plan that was saved.
    Plan(SavedPlan),
    /// From the plan that sums variables out in this order.
    Order(Vec<String>),
}

/// A plan by names, as it is written to a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedPlan {
    /// The version of the format.
    sumout_plan: u32,
    /// The name of the network, for people.
    network: String,
    /// Whether functions that several factors imply are used, with factors of their own.
    #[serde(default, skip_serializing_if = "is_false")]
    implied: bool,
    /// Whether the network was simplified before.
    #[serde(default, skip_serializing_if = "is_false")]
    simplified: bool,
    leaves: Vec<SavedLeaf>,
    /// The two children of each inner node: leaves are counted from 0, inner nodes go on from
    /// there.
    joins: Vec<(usize, usize)>,
    /// The separator of each node, leaves first.
    separators: Vec<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedLeaf {
    /// The variables of the factor, in its order.
    factor: Vec<String>,
    /// Which one, if several factors have the same variables in the same order.
    #[serde(default, skip_serializing_if = "is_zero")]
    nth: usize,
    #[serde(default, skip_serializing_if = "is_false")]
    copy: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl PlanStart {
    /// Whether it is a plan for a simplified network.
    pub(crate) fn is_simplified(&self) -> bool {
        matches!(self, PlanStart::Plan(plan) if plan.simplified)
    }
}

impl SavedPlan {
    /// The plan that was found for a question.
    pub(crate) fn new(net: &FactorModel, pruned: &Pruned, plan: &Plan) -> Self {
        let name = |v: VarId| net.variable(v).name.clone();
        let places = places(pruned);
        let leaf = |leaf: &Leaf| SavedLeaf {
            factor: pruned.factors[leaf.factor]
                .scope
                .iter()
                .map(|&v| name(v))
                .collect(),
            nth: places[&pruned.factors[leaf.factor].scope[..]]
                .iter()
                .position(|&f| f == leaf.factor)
                .unwrap_or(0),
            copy: leaf.is_copy,
        };
        SavedPlan {
            sumout_plan: VERSION,
            network: net.name().to_owned(),
            implied: pruned.implied,
            simplified: pruned.simplified,
            leaves: plan.leaves.iter().map(leaf).collect(),
            joins: plan.tree.joins.clone(),
            separators: plan
                .separators
                .iter()
                .map(|s| s.iter().map(name).collect())
                .collect(),
        }
    }

    /// The plan in a file's text; `file` names it in messages.
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        let fail =
            |message: String| Error::new(ErrorKind::Syntax, message).hint("save the plan again");
        let saved: SavedPlan = serde_json::from_str(text)
            .map_err(|e| fail(format!("`{file}` is not a saved plan: {e}")))?;
        match saved.sumout_plan {
            VERSION => Ok(saved),
            other => Err(fail(format!(
                "`{file}` has version {other} of saved plans, and this is version {VERSION}"
            ))),
        }
    }

    /// The text of a file.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a saved plan is numbers and names") + "\n"
    }

    fn plan(&self, net: &Network, pruned: &Pruned, problem: &Problem) -> Result<Plan> {
        let places = places(pruned);
        let leaves: Result<Vec<Leaf>> = self
            .leaves
            .iter()
            .map(|leaf| leaf.find(net, &places))
            .collect();
        let separator = |names: &Vec<String>| {
            names
                .iter()
                .map(|name| net.find(name))
                .collect::<Result<VarSet>>()
        };
        let separators: Result<Vec<VarSet>> = self.separators.iter().map(separator).collect();
        let (leaves, separators) = (leaves?, separators?);
        let tree = Tree {
            leaves: leaves.len(),
            joins: self.joins.clone(),
        };
        let plan = Plan {
            leaves,
            tree,
            separators,
            cost: Cost::default(),
        };
        certificate::check(problem, &plan).map_err(|wrong| self.stranger(net, &wrong))?;
        Ok(Plan::new(problem, plan.leaves, plan.tree, plan.separators))
    }

    fn stranger(&self, net: &Network, why: &str) -> Error {
        let message = format!(
            "the saved plan is not right for this query of network `{}`: {why}",
            net.name()
        );
        let hint = format!(
            "it is for network `{}`; save one for the same target and inputs",
            shown(&self.network)
        );
        Error::new(ErrorKind::Model, message).hint(hint)
    }
}

impl SavedLeaf {
    fn find(&self, net: &Network, places: &BTreeMap<&[VarId], Vec<usize>>) -> Result<Leaf> {
        let axes: Vec<VarId> = self
            .factor
            .iter()
            .map(|name| net.find(name))
            .collect::<Result<_>>()?;
        let found = places.get(&axes[..]).and_then(|same| same.get(self.nth));
        found
            .map(|&factor| Leaf {
                factor,
                is_copy: self.copy,
            })
            .ok_or_else(|| {
                let names = self.factor.iter().map(String::as_str);
                let message = format!(
                    "the saved plan has a factor over {}, and the query has none",
                    shortlist(names)
                );
                Error::new(ErrorKind::Model, message)
                    .hint("a plan fits the network, target and inputs that it was saved for")
            })
    }
}

/// The factors with the same variables in the same order.
fn places(pruned: &Pruned) -> BTreeMap<&[VarId], Vec<usize>> {
    let mut places: BTreeMap<&[VarId], Vec<usize>> = BTreeMap::new();
    for (index, factor) in pruned.factors.iter().enumerate() {
        places.entry(&factor.scope).or_default().push(index);
    }
    places
}

impl PlanStart {
    /// The factors that the search looks at, with the plan that it starts from: first those that
    /// the plan is made of, and with some effort the others.
    pub(crate) fn begin(
        &self,
        net: &Network,
        (plain, implied): (Pruned, Option<Pruned>),
        search: &Search,
    ) -> Result<Vec<(Pruned, Option<Plan>)>> {
        let (pruned, other) = if self.is_implied() {
            (implied.ok_or_else(nothing_implied)?, Some(plain))
        } else {
            (plain, implied)
        };
        let given = self.plan(net, &pruned, search)?;
        let other = other.filter(|_| search.effort > 0.0);
        let first = (pruned, Some(given));
        Ok([first]
            .into_iter()
            .chain(other.map(|pruned| (pruned, None)))
            .collect())
    }

    /// Whether it needs the functions that factors imply.
    fn is_implied(&self) -> bool {
        matches!(self, PlanStart::Plan(saved) if saved.implied)
    }

    /// The plan to start from.
    fn plan(&self, net: &Network, pruned: &Pruned, search: &Search) -> Result<Plan> {
        let fail = |message: &str| {
            Error::new(ErrorKind::Options, message).hint(Remedy::Set {
                option: "level",
                value: "functional",
            })
        };
        if search.level == Level::Paper {
            return Err(fail(
                "level `paper` has a plan of its own, and starts from no other",
            ));
        }
        let problem = Problem::new(pruned, search.objective);
        let plan = match self {
            PlanStart::Plan(saved) => saved.plan(net, pruned, &problem)?,
            PlanStart::Order(names) => ordered(net, &problem, names)?,
        };
        if search.level == Level::Classical && plan.leaves.iter().any(|leaf| leaf.is_copy) {
            return Err(fail(
                "the saved plan copies functions, which level `classical` does not use",
            ));
        }
        Ok(plan)
    }
}

fn nothing_implied() -> Error {
    let message = "the saved plan uses implied functions, and the query has none";
    Error::new(ErrorKind::Model, message)
        .hint("a plan fits the network, target and inputs that it was saved for")
}

/// The plan that sums variables out in an order. Variables that are pruned, or asked for, do not
/// matter to it.
fn ordered(net: &Network, problem: &Problem, names: &[String]) -> Result<Plan> {
    let mut vars: Vec<VarId> = names
        .iter()
        .map(|name| net.find(name))
        .collect::<Result<_>>()?;
    let given: VarSet = vars.iter().copied().collect();
    if given.len() < vars.len() {
        let twice = names
            .iter()
            .enumerate()
            .find(|(i, name)| names[..*i].contains(name));
        let message = format!(
            "the order has `{}` twice",
            twice.map_or("", |(_, name)| name)
        );
        return Err(Error::new(ErrorKind::Name, message).hint("name each variable once"));
    }
    let all: VarSet = problem.factors.iter().flat_map(VarSet::iter).collect();
    let missing = &(&all - &problem.output) - &given;
    if !missing.is_empty() {
        let names = shortlist(missing.iter().map(|v| net.variable(v).name.as_str()));
        let error = Error::new(ErrorKind::Name, format!("the order lacks {names}"));
        return Err(error.hint("name every variable that matters to the query, but not the target"));
    }
    vars.retain(|&v| !problem.output.contains(v));
    let leaves = problem.originals();
    let plain = problem.leaves(&leaves);
    let tree = order::tree(&plain, &vars);
    let separators = tree.separators(&plain);
    Ok(Plan::new(problem, leaves, tree, separators))
}
