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

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::compile::plan::problem::{Leaf, Problem};
use crate::compile::plan::skeleton::{Node, Skeleton, numbered};
use crate::vars::{VarId, VarSet};

/// How a run scores its moves.
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
    /// Whether to expand to the ancestors that are no functions, not only to the parents.
    pub deep: bool,
}

/// No plan with more leaves than this is built.
const MAX_LEAVES: usize = 20_000;

/// An axis is not expanded through more functions than this.
const MAX_SOURCES: usize = 64;

/// With more tensors than this around a variable, only some of them are paired.
const CROWD: usize = 24;

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
struct Tensor {
    axes: VarSet,
    /// The functional axes of which a copy of the definer is connected.
    defined: VarSet,
    varies: bool,
    node: usize,
}

#[derive(Clone, Copy, Debug)]
enum Move {
    Join(usize, usize),
    Expand(usize, VarId),
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    score: f64,
    noise: f64,
    order: usize,
    what: Move,
}

struct Expander<'a> {
    problem: &'a Problem,
    taste: Taste,
    rng: &'a mut ChaCha8Rng,
    nodes: Vec<(Node, VarSet)>,
    tensors: Vec<Option<Tensor>>,
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
    /// What the joins so far cost.
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
        (0..search.tensors.len()).for_each(|t| search.push_moves(t, true));
        search
    }

    fn add_leaf(&mut self, leaf: Leaf) {
        let axes = self.problem.factors[leaf.factor].clone();
        let defined = self.problem.defines(leaf.factor).into_iter().collect();
        self.nodes.push((Node::Leaf(leaf), axes.clone()));
        let varies = self.problem.varies[leaf.factor] && !leaf.is_copy;
        self.add(Tensor {
            axes,
            defined,
            varies,
            node: self.nodes.len() - 1,
        });
    }

    fn add(&mut self, tensor: Tensor) -> usize {
        self.tensors.push(None);
        self.put(self.tensors.len() - 1, tensor)
    }

    fn put(&mut self, id: usize, tensor: Tensor) -> usize {
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

    fn take(&mut self, id: usize) -> Tensor {
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

    /// What joining two tensors keeps.
    fn joined_axes(&self, a: usize, b: usize) -> Option<(VarSet, VarSet)> {
        let (x, y) = (self.tensors[a].as_ref()?, self.tensors[b].as_ref()?);
        let cluster = &x.axes | &y.axes;
        let keeps = |v: &VarId| {
            if !self.is_needed(*v, &[a, b]) {
                return false;
            }
            let inside = usize::from(x.defined.contains(*v)) + usize::from(y.defined.contains(*v));
            inside == 0 || self.defined[v.index()] == inside
        };
        let kept = cluster.iter().filter(keeps).collect();
        Some((cluster, kept))
    }

    /// What expanding an axis takes out of a tensor, puts in, and multiplies with.
    fn expansion(&self, a: usize, x: VarId) -> Option<Expansion> {
        let tensor = self.tensors[a].as_ref()?;
        if !self.can_expand(tensor, x) {
            return None;
        }
        let mut sources: VarSet = self.sources(x)?;
        let others = tensor.axes.iter().filter(|&v| !self.can_expand(tensor, v));
        let known: VarSet = others.chain(sources.iter()).collect();
        let mut out = VarSet::from_iter([x]);
        let mut copies: BTreeSet<VarId> = self.between(x, &sources);
        for y in tensor
            .axes
            .iter()
            .filter(|&y| y != x && self.can_expand(tensor, y))
        {
            let Some(needs) = self.sources(y).filter(|needs| needs.is_subset(&known)) else {
                continue;
            };
            out.insert(y);
            copies.extend(self.between(y, &needs));
            sources = &sources | &needs;
        }
        Some(Expansion {
            kept: &(&tensor.axes - &out) | &sources,
            out,
            copies,
        })
    }

    fn can_expand(&self, tensor: &Tensor, x: VarId) -> bool {
        self.problem.definer[x.index()].is_some()
            && tensor.axes.contains(x)
            && !tensor.defined.contains(x)
            && !self.problem.output.contains(x)
    }

    /// The variables that x is expanded to; none if one of them is gone.
    fn sources(&self, x: VarId) -> Option<VarSet> {
        let mut sources = VarSet::default();
        let mut seen = BTreeSet::new();
        let mut stack: Vec<VarId> = self.problem.parents(x).collect();
        while let Some(u) = stack.pop() {
            if self.gone[u.index()] || seen.len() > MAX_SOURCES {
                return None;
            }
            if !seen.insert(u) {
                continue;
            }
            if self.taste.deep && self.problem.definer[u.index()].is_some() {
                stack.extend(self.problem.parents(u));
            } else {
                sources.insert(u);
            }
        }
        Some(sources)
    }

    /// The variables from the sources down to x whose definers are copied.
    fn between(&self, x: VarId, sources: &VarSet) -> BTreeSet<VarId> {
        let mut between = BTreeSet::new();
        let mut stack = vec![x];
        while let Some(v) = stack.pop() {
            if between.insert(v) {
                stack.extend(self.problem.parents(v).filter(|u| !sources.contains(*u)));
            }
        }
        between
    }

    fn push_moves(&mut self, id: usize, is_start: bool) {
        let Some(tensor) = self.tensors[id].clone() else {
            return;
        };
        let mut others: BTreeSet<usize> = BTreeSet::new();
        for v in tensor.axes.iter() {
            let holders = &self.holders[v.index()];
            others.extend(
                holders
                    .iter()
                    .rev()
                    .take(CROWD)
                    .chain(holders.range(id..).take(CROWD)),
            );
        }
        for other in others
            .into_iter()
            .filter(|&o| o != id && (!is_start || o > id))
        {
            self.push(Move::Join(other.min(id), other.max(id)));
        }
        let functional = tensor.axes.iter().filter(|&x| self.can_expand(&tensor, x));
        functional
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|x| self.push(Move::Expand(id, x)));
    }

    fn push(&mut self, what: Move) {
        let u: f64 = self.rng.random::<f64>().max(1e-300);
        let noise = self.taste.noise * -(-u.ln()).ln();
        let Some(score) = self.score(&what) else {
            return;
        };
        self.pushed += 1;
        self.heap.push(Candidate {
            score: score - noise,
            noise,
            order: self.pushed,
            what,
        });
    }

    /// The price of a move on a scale of logarithms, with its sign; none if it is not possible.
    fn score(&self, what: &Move) -> Option<f64> {
        let (cluster, kept, old, varies, wide) = match *what {
            Move::Join(a, b) => {
                let (cluster, kept) = self.joined_axes(a, b)?;
                let (x, y) = (self.tensors[a].as_ref()?, self.tensors[b].as_ref()?);
                let free = |v: &VarId| {
                    self.problem.definer[v.index()].is_some()
                        && !x.defined.contains(*v)
                        && !y.defined.contains(*v)
                };
                let wide = kept.iter().filter(free).count() > self.taste.width;
                let old = self.size(&x.axes) + self.size(&y.axes);
                (cluster, kept, old, x.varies || y.varies, wide)
            }
            Move::Expand(a, x) => {
                let tensor = self.tensors[a].as_ref()?;
                let expansion = self.expansion(a, x)?;
                let cluster = &tensor.axes | &expansion.kept;
                (
                    cluster,
                    expansion.kept,
                    self.size(&tensor.axes),
                    tensor.varies,
                    false,
                )
            }
        };
        let price = self.problem.prices.of(varies);
        let score =
            self.size(&kept) + self.taste.cluster * self.size(&cluster) - self.taste.saving * old;
        let scaled = price
            * if wide && score > 0.0 {
                1e3 * score
            } else if wide {
                1e3 * self.size(&kept)
            } else {
                score
            };
        Some(scaled.signum() * (1.0 + scaled.abs()).ln())
    }

    /// Makes a move, unless it has become impossible or more expensive.
    fn consider(&mut self, candidate: Candidate) {
        let Some(score) = self.score(&candidate.what) else {
            return;
        };
        let score = score - candidate.noise;
        if score > candidate.score + 1e-9 {
            self.heap.push(Candidate { score, ..candidate });
            return;
        }
        let made = match candidate.what {
            Move::Join(a, b) => self.join(a, b),
            Move::Expand(a, x) => self.expand_axis(a, x),
        };
        self.push_moves(made, false);
    }

    fn join(&mut self, a: usize, b: usize) -> usize {
        let (cluster, kept) = self.joined_axes(a, b).expect("both are live");
        let (x, y) = (self.take(a), self.take(b));
        self.pay(x.varies || y.varies, &cluster, &kept);
        let defined = &(&x.defined | &y.defined) & &kept;
        self.nodes.push((Node::Join(x.node, y.node), kept.clone()));
        let all = &x.axes | &y.axes;
        let tensor = Tensor {
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
        let Expansion { out, kept, copies } = self.expansion(a, x).expect("the move was scored");
        let constant = self.constant(&copies, &(&out | &kept));
        let tensor = self.take(a);
        self.pay(tensor.varies, &(&tensor.axes | &kept), &kept);
        self.nodes
            .push((Node::Join(tensor.node, constant), kept.clone()));
        let node = self.nodes.len() - 1;
        let defined = &tensor.defined & &kept;
        let made = self.add(Tensor {
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
            let leaf = Node::Leaf(Leaf {
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
                    self.nodes.push((Node::Join(node, leaf), axes));
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
            Some(Node::Leaf(leaf)) => {
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

struct Expansion {
    /// The axes that are summed out.
    out: VarSet,
    /// The axes of the result.
    kept: VarSet,
    /// The variables whose definers are copied.
    copies: BTreeSet<VarId>,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .score
            .total_cmp(&self.score)
            .then(other.order.cmp(&self.order))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}
