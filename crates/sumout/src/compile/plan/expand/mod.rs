//! Builds a plan by joining tensors and by *expanding* functional axes, whichever saves most.
//!
//! Expanding X in a tensor multiplies it with a fresh copy of f_X and sums X out at once, so that
//! the axis X is replaced by the parents of X (Theorems 3 and 4). Axes that are functions of the
//! same parents are expanded together: their copies are multiplied into one constant first. In the
//! rectangles model this is what turns (r_1, …, r_k, col, width) into (row, height, col, width).
//!
//! Rules that keep it valid: X is never expanded where a copy of f_X is connected already, because
//! others may rely on that copy; a joined tensor may drop X before all mentions of X are joined
//! only if it holds a copy and the rest does too; a variable that has been summed out everywhere
//! never returns.

mod axes;
mod candidates;

use std::collections::{BTreeSet, BinaryHeap};

use rand_chacha::ChaCha8Rng;

use crate::compile::plan::expand::axes::Expansion;
use crate::compile::plan::expand::candidates::{Action, Candidate};
use crate::compile::plan::problem::{Leaf, Problem};
use crate::compile::plan::skeleton::{Skeleton, SkeletonNode, numbered};
use crate::vars::{VarId, VarSet};

/// How a run scores its actions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taste {
    /// The share of the old sizes that is taken off.
    pub saving: f64,
    /// How much the size of the cluster counts.
    pub cluster: f64,
    /// A tensor should not have more axes than this that could be expanded.
    pub width: usize,
    /// How much noise is added, on the scale of logarithms.
    pub noise: f64,
    /// Whether to expand to the ancestors that are not functions, not only to the parents.
    pub deep: bool,
}

/// No plan with more leaves than this is built.
const MAX_LEAVES: usize = 20_000;

/// Builds a plan; none if it becomes more expensive than `limit`, or has too many leaves.
pub(crate) fn expand(
    problem: &Problem,
    taste: Taste,
    limit: f64,
    rng: &mut ChaCha8Rng,
) -> Option<Skeleton> {
    let mut search = Expander::new(problem, taste, rng);
    while let Some(candidate) = search.heap.pop() {
        search.consider(candidate);
        if search.cost > limit || search.nodes.len() > 4 * MAX_LEAVES {
            return None;
        }
    }
    search.finish()
}

/// A tensor of the plan that is being built.
#[derive(Clone, Debug)]
struct OpenTensor {
    axes: VarSet,
    /// The functional axes of which a copy of the definer is connected.
    defined: VarSet,
    varies: bool,
    node: usize,
}

struct Expander<'a> {
    problem: &'a Problem,
    taste: Taste,
    rng: &'a mut ChaCha8Rng,
    nodes: Vec<(SkeletonNode, VarSet)>,
    tensors: Vec<Option<OpenTensor>>,
    /// The live tensors that have each variable.
    holders: Vec<BTreeSet<usize>>,
    /// How many live tensors have each variable defined.
    defined: Vec<usize>,
    /// The variables that have been summed out everywhere.
    gone: Vec<bool>,
    /// Which factors have been copied.
    copied: Vec<bool>,
    children_first: Vec<VarId>,
    heap: BinaryHeap<Candidate>,
    pushed: usize,
    /// The cost of the joins so far.
    cost: f64,
}

impl<'a> Expander<'a> {
    fn new(problem: &'a Problem, taste: Taste, rng: &'a mut ChaCha8Rng) -> Self {
        let n = problem.cards.len();
        let mut search = Expander {
            problem,
            taste,
            rng,
            nodes: vec![],
            tensors: vec![],
            holders: vec![BTreeSet::new(); n],
            defined: vec![0; n],
            gone: vec![false; n],
            copied: vec![false; problem.factors.len()],
            children_first: problem.children_first(),
            heap: BinaryHeap::new(),
            pushed: 0,
            cost: 0.0,
        };
        for factor in 0..problem.factors.len() {
            search.add_leaf(Leaf {
                factor,
                is_copy: false,
            });
        }
        (0..n).for_each(|v| search.settle(VarId::new(v)));
        (0..search.tensors.len()).for_each(|t| search.push_actions(t, true));
        search
    }

    fn add_leaf(&mut self, leaf: Leaf) {
        let axes = self.problem.factors[leaf.factor].clone();
        let defined = self.problem.defines(leaf.factor).into_iter().collect();
        self.nodes.push((SkeletonNode::Leaf(leaf), axes.clone()));
        let varies = self.problem.varies[leaf.factor] && !leaf.is_copy;
        self.add(OpenTensor {
            axes,
            defined,
            varies,
            node: self.nodes.len() - 1,
        });
    }

    fn add(&mut self, tensor: OpenTensor) -> usize {
        self.tensors.push(None);
        self.put(self.tensors.len() - 1, tensor)
    }

    fn put(&mut self, id: usize, tensor: OpenTensor) -> usize {
        tensor.axes.iter().for_each(|v| {
            self.holders[v.index()].insert(id);
        });
        tensor
            .defined
            .iter()
            .for_each(|v| self.defined[v.index()] += 1);
        self.tensors[id] = Some(tensor);
        id
    }

    fn take(&mut self, id: usize) -> OpenTensor {
        let tensor = self.tensors[id]
            .take()
            .expect("only live tensors are taken");
        tensor.axes.iter().for_each(|v| {
            self.holders[v.index()].remove(&id);
        });
        tensor
            .defined
            .iter()
            .for_each(|v| self.defined[v.index()] -= 1);
        tensor
    }

    fn card(&self, v: VarId) -> f64 {
        self.problem.cards[v.index()] as f64
    }

    fn size(&self, vars: &VarSet) -> f64 {
        vars.iter().map(|v| self.card(v)).product()
    }

    /// Whether tensors other than some need a variable.
    fn is_needed(&self, v: VarId, except: &[usize]) -> bool {
        let inside = except
            .iter()
            .filter(|id| self.holders[v.index()].contains(id))
            .count();
        self.problem.output.contains(v) || self.holders[v.index()].len() > inside
    }

    /// Takes an action, unless it has become impossible or more expensive.
    fn consider(&mut self, candidate: Candidate) {
        let Some(score) = self.score(&candidate.action) else {
            return;
        };
        let score = score - candidate.noise;
        if score > candidate.score + 1e-9 {
            self.heap.push(Candidate { score, ..candidate });
            return;
        }
        let made = match candidate.action {
            Action::Join(a, b) => self.join(a, b),
            Action::Expand(a, x) => self.expand_axis(a, x),
        };
        self.push_actions(made, false);
    }

    fn join(&mut self, a: usize, b: usize) -> usize {
        let (cluster, kept) = self.joined_axes(a, b).expect("both are live");
        let (x, y) = (self.take(a), self.take(b));
        self.pay(x.varies || y.varies, &cluster, &kept);
        let defined = &(&x.defined | &y.defined) & &kept;
        self.nodes
            .push((SkeletonNode::Join(x.node, y.node), kept.clone()));
        let all = &x.axes | &y.axes;
        let tensor = OpenTensor {
            axes: kept,
            defined,
            varies: x.varies || y.varies,
            node: self.nodes.len() - 1,
        };
        let made = self.add(tensor);
        all.iter().for_each(|v| self.settle(v));
        made
    }

    fn expand_axis(&mut self, a: usize, x: VarId) -> usize {
        let Expansion { out, kept, copies } = self.expansion(a, x).expect("the action was scored");
        let constant = self.constant(&copies, &(&out | &kept));
        let tensor = self.take(a);
        self.pay(tensor.varies, &(&tensor.axes | &kept), &kept);
        self.nodes
            .push((SkeletonNode::Join(tensor.node, constant), kept.clone()));
        let node = self.nodes.len() - 1;
        let defined = &tensor.defined & &kept;
        let made = self.add(OpenTensor {
            axes: kept,
            defined,
            varies: tensor.varies,
            node,
        });
        out.iter().for_each(|v| self.settle(v));
        made
    }

    fn pay(&mut self, varies: bool, cluster: &VarSet, kept: &VarSet) {
        let prices = &self.problem.prices;
        self.cost += prices.of(varies) * prices.step(self.size(cluster), self.size(kept));
    }

    /// The product of copies of some definers, summed to `keep`; children first, so that sums come
    /// early.
    fn constant(&mut self, copies: &BTreeSet<VarId>, keep: &VarSet) -> usize {
        let order: Vec<VarId> = self
            .children_first
            .iter()
            .copied()
            .filter(|v| copies.contains(v))
            .collect();
        let scope = |v: VarId| self.problem.definer[v.index()].expect("copies are of functions");
        let mut built: Option<usize> = None;
        for (i, &v) in order.iter().enumerate() {
            let factor = scope(v);
            let later: VarSet = order[i + 1..]
                .iter()
                .flat_map(|&w| self.problem.factors[scope(w)].iter())
                .collect();
            let needed = keep | &later;
            self.copied[factor] = true;
            let leaf = SkeletonNode::Leaf(Leaf {
                factor,
                is_copy: true,
            });
            self.nodes
                .push((leaf, self.problem.factors[factor].clone()));
            let leaf = self.nodes.len() - 1;
            built = Some(match built {
                None => leaf,
                Some(node) => {
                    let axes = &(&self.nodes[node].1 | &self.nodes[leaf].1) & &needed;
                    self.nodes.push((SkeletonNode::Join(node, leaf), axes));
                    self.nodes.len() - 1
                }
            });
        }
        built.expect("an expansion copies at least one definer")
    }

    /// After a variable lost a holder: sums it out where it has become private.
    fn settle(&mut self, v: VarId) {
        if self.problem.output.contains(v) {
            return;
        }
        if self.holders[v.index()].is_empty() {
            self.gone[v.index()] = true;
            return;
        }
        let mut holders = self.holders[v.index()].iter();
        let (Some(&only), None) = (holders.next(), holders.next()) else {
            return;
        };
        if self.is_spent(only, v) {
            let tensor = self.take(only);
            self.gone[v.index()] = true;
            tensor.axes.iter().for_each(|u| self.settle(u));
            return;
        }
        let mut tensor = self.take(only);
        tensor.axes = tensor.axes.iter().filter(|&w| w != v).collect();
        tensor.defined = &tensor.defined & &tensor.axes;
        self.nodes[tensor.node].1 = tensor.axes.clone();
        self.gone[v.index()] = true;
        self.put(only, tensor);
    }

    /// Whether a tensor is a definer without evidence that only copies have a use for.
    fn is_spent(&self, id: usize, v: VarId) -> bool {
        let node = self.tensors[id].as_ref().map(|t| self.nodes[t.node].0);
        match node {
            Some(SkeletonNode::Leaf(leaf)) => {
                !self.problem.varies[leaf.factor]
                    && self.problem.defines(leaf.factor) == Some(v)
                    && self.copied[leaf.factor]
            }
            _ => false,
        }
    }

    /// Joins what is left, and numbers the nodes.
    fn finish(mut self) -> Option<Skeleton> {
        loop {
            let mut live: Vec<usize> = (0..self.tensors.len())
                .filter(|&t| self.tensors[t].is_some())
                .collect();
            if live.len() < 2 {
                break;
            }
            live.sort_by(|&a, &b| self.live_size(a).total_cmp(&self.live_size(b)));
            self.join(live[0], live[1]);
        }
        let root = self.tensors.iter().flatten().next()?.node;
        Some(numbered(&self.nodes, root))
    }

    fn live_size(&self, t: usize) -> f64 {
        self.tensors[t]
            .as_ref()
            .map_or(0.0, |tensor| self.size(&tensor.axes))
    }
}
