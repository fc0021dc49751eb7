//! Known functions become look-ups.
//!
//! A part of a plan's tree whose leaves are all known functions is a function itself: what it
//! carries and defines is determined by what else it carries. Where all that it defines is summed
//! out as it meets another tensor, there is no product to form. The other tensor is read where the
//! function leads, and a 0/1 table never exists.

use std::collections::BTreeMap;

use crate::compile::factor::Factor;
use crate::compile::plan::Plan;
use crate::compile::plan::problem::Problem;
use crate::compile::plan::tree::{Leaves, Tree};
use crate::compile::prune::Pruned;
use crate::tensor::Map;
use crate::vars::{VarId, VarSet};

/// No map has more entries than this.
const MAX_ENTRIES: f64 = (1 << 24) as f64;

/// How a node of a plan is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As a tensor: a leaf, or the product of the two children.
    Dense,
    /// By reading a child where the other child, a function, leads.
    Gather(Gather),
    /// Not at all: it is part of a function.
    Mapped,
}

/// A look-up in a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gather {
    /// The child that is a function.
    pub function: usize,
    /// The child that is read.
    pub tensor: usize,
    /// The axes that the function defines and the tensor has.
    pub from: VarSet,
    /// Its arguments.
    pub over: VarSet,
    /// The axes of the result, before others are summed out.
    pub all: VarSet,
}

/// How each node is computed.
pub(crate) fn ways(tree: &Tree, leaves: &Leaves, separators: &[VarSet]) -> Vec<Way> {
    let mut ways = vec![Way::Dense; separators.len()];
    if leaves.known.iter().all(Option::is_none) {
        return ways;
    }
    let defined = defined(tree, leaves, separators);
    for node in (tree.leaves..separators.len()).rev() {
        let (l, r) = tree.joins[node - tree.leaves];
        if ways[node] == Way::Mapped {
            (ways[l], ways[r]) = (Way::Mapped, Way::Mapped);
            continue;
        }
        let both = [(l, r), (r, l)].into_iter();
        let mut gathers = both
            .filter_map(|(f, t)| gather(leaves, separators, defined[f].as_ref()?, [node, f, t]));
        if let Some(gather) = gathers.next() {
            ways[gather.function] = Way::Mapped;
            ways[node] = Way::Gather(gather);
        }
    }
    ways
}

/// The axes that each node carries and defines; none if it is not made of known functions alone, or no
/// function.
fn defined(tree: &Tree, leaves: &Leaves, separators: &[VarSet]) -> Vec<Option<VarSet>> {
    let mut defined: Vec<Option<VarSet>> = Vec::with_capacity(separators.len());
    let carried = |all: VarSet, axes: &VarSet, separator: &VarSet| {
        (axes - separator).is_subset(&all).then(|| &all & separator)
    };
    for (node, separator) in separators.iter().enumerate() {
        let found = match node.checked_sub(tree.leaves).map(|k| tree.joins[k]) {
            None => leaves.known[node]
                .and_then(|x| carried(VarSet::from_iter([x]), &leaves.axes[node], separator)),
            Some((l, r)) => match (&defined[l], &defined[r]) {
                (Some(a), Some(b)) => carried(a | b, &(&separators[l] | &separators[r]), separator),
                _ => None,
            },
        };
        defined.push(found);
    }
    defined
}

/// The look-up at a node by a function in a tensor, if all that the function defines is summed out
/// there.
fn gather(
    leaves: &Leaves,
    separators: &[VarSet],
    defined: &VarSet,
    [node, function, tensor]: [usize; 3],
) -> Option<Gather> {
    let over = &separators[function] - defined;
    let all = &(&separators[tensor] - defined) | &over;
    let from = defined & &separators[tensor];
    let is_summed = defined.iter().all(|v| !separators[node].contains(v));
    let gather = Gather {
        function,
        tensor,
        from,
        over,
        all,
    };
    (is_summed && leaves.size(&gather.over) <= MAX_ENTRIES && gather.pays(leaves, separators, node))
        .then_some(gather)
}

impl Gather {
    /// Whether reading costs less than a product, which sums more out at once.
    fn pays(&self, leaves: &Leaves, separators: &[VarSet], node: usize) -> bool {
        if self.all == separators[node] {
            return leaves.size(&self.from) <= f64::from(u32::MAX - 1);
        }
        let cluster = leaves.size(&(&separators[self.function] | &separators[self.tensor]));
        let all = leaves.size(&self.all);
        leaves.prices.step(2.0 * all, all) < leaves.prices.step(cluster, 0.0)
    }
}

/// A factor that is a known function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its arguments.
    pub inputs: Vec<VarId>,
    /// Its value.
    pub output: VarId,
    /// For each joint state of the inputs, the last fastest, the state of the output, if there is
    /// one.
    pub values: Vec<Option<u32>>,
}

impl Function {
    /// The function that a table of zeros and ones is.
    pub(crate) fn new(table: &Factor, output: VarId, cards: &[usize]) -> Self {
        let inputs: Vec<VarId> = table
            .scope
            .iter()
            .copied()
            .filter(|&v| v != output)
            .collect();
        let mut values = vec![None; inputs.iter().map(|v| cards[v.index()]).product()];
        let mut states = vec![0; cards.len()];
        for (place, _) in table.values.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            split(place, &table.scope, cards, |v, state| {
                states[v.index()] = state
            });
            let input = inputs
                .iter()
                .fold(0, |at, v| at * cards[v.index()] + states[v.index()]);
            values[input] = Some(states[output.index()] as u32);
        }
        Function {
            inputs,
            output,
            values,
        }
    }
}

/// Visits the states of some axes at a place, the last axis fastest.
fn split(mut place: usize, axes: &[VarId], cards: &[usize], mut visit: impl FnMut(VarId, usize)) {
    for &v in axes.iter().rev() {
        visit(v, place % cards[v.index()]);
        place /= cards[v.index()];
    }
}

/// Makes the maps of a plan's look-ups.
pub(crate) struct Mapper<'a> {
    pruned: &'a Pruned,
    problem: &'a Problem,
    plan: &'a Plan,
    functions: BTreeMap<usize, Function>,
}

/// A function between clones of variables: the factor, its inputs, its output.
struct Link {
    factor: usize,
    inputs: Vec<usize>,
    output: usize,
}

impl<'a> Mapper<'a> {
    pub fn new(pruned: &'a Pruned, problem: &'a Problem, plan: &'a Plan) -> Self {
        Mapper {
            pruned,
            problem,
            plan,
            functions: BTreeMap::new(),
        }
    }

    /// The map of a look-up.
    pub fn map(&mut self, gather: &Gather) -> Map {
        let (links, clones) = self.links(gather.function);
        let links = in_order(links, &gather.over);
        let (from, over): (Vec<VarId>, Vec<VarId>) =
            (gather.from.iter().collect(), gather.over.iter().collect());
        let cards = &self.problem.cards;
        let mut states = vec![0u32; clones];
        let value = |place: usize| {
            states.fill(Map::NOWHERE);
            split(place, &over, cards, |v, state| {
                states[v.index()] = state as u32
            });
            let is_somewhere = links.iter().all(|link| self.follow(link, &mut states));
            let joint = || {
                from.iter()
                    .fold(0, |at, v| at * cards[v.index()] as u32 + states[v.index()])
            };
            if is_somewhere { joint() } else { Map::NOWHERE }
        };
        let index = (0..over.iter().map(|v| cards[v.index()]).product())
            .map(value)
            .collect();
        let axes = |vars: Vec<VarId>| vars.into_iter().map(Into::into).collect();
        Map {
            from: axes(from),
            over: axes(over),
            index,
        }
    }

    /// Decides the output of a function; returns whether it has a value, the one that the output
    /// already has, if any.
    fn follow(&self, link: &Link, states: &mut [u32]) -> bool {
        let function = &self.functions[&link.factor];
        let inputs = function.inputs.iter().zip(&link.inputs);
        let at = inputs.fold(0, |at, (v, &clone)| {
            at * self.problem.cards[v.index()] + states[clone] as usize
        });
        let Some(value) = function.values[at] else {
            return false;
        };
        let before = std::mem::replace(&mut states[link.output], value);
        before == Map::NOWHERE || before == value
    }

    /// The functions below a node, and the number of clones: what the node carries by its own
    /// number, then one for each variable at each place where it is summed out.
    fn links(&mut self, node: usize) -> (Vec<Link>, usize) {
        let (tree, separators) = (&self.plan.tree, &self.plan.separators);
        let mut next = self.problem.cards.len();
        let mut links = vec![];
        let mut stack: Vec<(usize, BTreeMap<VarId, usize>)> = vec![(
            node,
            separators[node].iter().map(|v| (v, v.index())).collect(),
        )];
        while let Some((node, mut clones)) = stack.pop() {
            let below = match node.checked_sub(tree.leaves).map(|k| tree.joins[k]) {
                None => self.problem.factors[self.plan.leaves[node].factor].clone(),
                Some((l, r)) => &separators[l] | &separators[r],
            };
            for v in below.iter() {
                clones.entry(v).or_insert_with(|| {
                    next += 1;
                    next - 1
                });
            }
            let Some((l, r)) = node.checked_sub(tree.leaves).map(|k| tree.joins[k]) else {
                links.extend(self.link(self.plan.leaves[node].factor, &clones));
                continue;
            };
            let kept = |child: usize| separators[child].iter().map(|v| (v, clones[&v])).collect();
            stack.extend([(l, kept(l)), (r, kept(r))]);
        }
        (links, next)
    }

    fn link(&mut self, factor: usize, clones: &BTreeMap<VarId, usize>) -> Option<Link> {
        let output = self.problem.known[factor]?;
        let table = &self.pruned.factors[factor];
        let cards = &self.problem.cards;
        let function = self
            .functions
            .entry(factor)
            .or_insert_with(|| Function::new(table, output, cards));
        let inputs = function.inputs.iter().map(|v| clones[v]).collect();
        Some(Link {
            factor,
            inputs,
            output: clones[&function.output],
        })
    }
}

/// The same functions, each after those that decide its inputs.
fn in_order(mut links: Vec<Link>, over: &VarSet) -> Vec<Link> {
    let mut decided: std::collections::BTreeSet<usize> = over.iter().map(VarId::index).collect();
    let mut ordered = vec![];
    while !links.is_empty() {
        let (ready, rest): (Vec<Link>, Vec<Link>) = links
            .into_iter()
            .partition(|link| link.inputs.iter().all(|clone| decided.contains(clone)));
        assert!(!ready.is_empty(), "definers have no cycles");
        decided.extend(ready.iter().map(|link| link.output));
        ordered.extend(ready);
        links = rest;
    }
    ordered
}

#[cfg(test)]
mod tests;
