//! The states that can occur at each node of a plan.
//!
//! The entries of a factor that are not zero are a relation. Going up the plan, a node's relation
//! is the join of its children's, projected to its separator; the *triples* of a node say which
//! rows of the children make which row of its own. Going down, a row stays only if some triple of a
//! row that stayed needs it. After that each row is part of a joint state with a positive product,
//! except where a function was copied.

mod lower;

use std::collections::BTreeMap;

use crate::compile::ask::Level;
use crate::compile::factor::Factor;
use crate::compile::plan::Plan;
use crate::compile::prune::Pruned;
use crate::compile::support::relations::lower::RelationLowering;
use crate::compile::support::{Supported, cost};
use crate::tensor::{Graph, NodeId};
use crate::vars::{VarId, VarSet};

/// The most triples, unless told otherwise.
pub(crate) const MAX_TRIPLES: usize = 10_000_000;

/// The graph of a plan over its relations; none if they need more than `most` triples, or nothing
/// can occur.
pub(crate) fn lower(pruned: &Pruned, plan: &Plan, most: usize) -> Option<Supported> {
    let none = VarSet::default();
    let lowered = lowered(pruned, plan, most, &none)?;
    let cost = cost(&lowered.graph);
    Some(Supported {
        graph: lowered.graph,
        cost,
        decoders: lowered.decoders,
        level: Level::Support,
    })
}

/// The same with maxima over some variables instead of sums; and the nodes that are maxima.
pub(crate) fn lower_maximising(
    pruned: &Pruned,
    plan: &Plan,
    most: usize,
    maximised: &VarSet,
) -> Option<(Graph, Vec<NodeId>)> {
    let lowered = lowered(pruned, plan, most, maximised)?;
    Some((lowered.graph, lowered.maxima))
}

fn lowered<'a>(
    pruned: &'a Pruned,
    plan: &'a Plan,
    most: usize,
    maximised: &'a VarSet,
) -> Option<RelationLowering<'a>> {
    let mut domains = pruned.domains.iter();
    if domains.any(|domain| domain.len() > usize::from(u16::MAX)) {
        return None; // states are kept in 16 bits
    }
    let mut relations = Relations {
        pruned,
        plan,
        cards: pruned.cards(),
        nodes: vec![],
        left: most,
    };
    (0..plan.separators.len()).try_for_each(|node| relations.add(node))?;
    relations.reduce();
    let mut lowering = RelationLowering {
        pruned,
        plan,
        maximised,
        graph: Graph::with_selected(pruned.cards(), &pruned.selected),
        nodes: vec![],
        decoders: vec![],
        maxima: vec![],
    };
    for at in 0..relations.nodes.len() {
        lowering.add(at, &relations.nodes);
    }
    let root = *lowering.nodes.last()?;
    lowering.graph.set_output(root);
    Some(lowering)
}

/// The states of some variables that can occur, with what each comes from.
struct Relation {
    vars: Vec<VarId>,
    /// Row by row, the states of the variables.
    states: Vec<u16>,
    rows: usize,
    /// Rows of this relation, with the rows of the left and right child; of a leaf, with entries of
    /// its factor.
    triples: Vec<[u32; 3]>,
    /// Of a leaf, the places of the entries in its factor's table.
    places: Vec<usize>,
}

impl Relation {
    fn row(&self, row: usize) -> &[u16] {
        &self.states[row * self.vars.len()..][..self.vars.len()]
    }

    /// Whether each row of a leaf is one entry of its factor, in the same order.
    fn is_whole(&self) -> bool {
        self.triples
            .iter()
            .enumerate()
            .all(|(row, t)| t[0] as usize == row && t[1] as usize == row)
    }
}

struct Relations<'a> {
    pruned: &'a Pruned,
    plan: &'a Plan,
    cards: Vec<usize>,
    nodes: Vec<Relation>,
    /// How many more triples there may be.
    left: usize,
}

impl Relations<'_> {
    fn add(&mut self, node: usize) -> Option<()> {
        let relation = match node.checked_sub(self.plan.tree.leaves) {
            None => self.leaf(node)?,
            Some(k) => self.join(node, self.plan.tree.joins[k])?,
        };
        self.nodes.push(relation);
        (!self.nodes[node].triples.is_empty()).then_some(())
    }

    /// A row of the result is found by its states; the root's rows are the output's values.
    fn rows(&self, node: usize) -> Rows {
        let is_root = node + 1 == self.plan.separators.len();
        Rows {
            known: BTreeMap::new(),
            states: vec![],
            is_root,
        }
    }

    fn leaf(&mut self, node: usize) -> Option<Relation> {
        let factor = self.plan.leaves[node].factor;
        let table = &self.pruned.factors[factor];
        let vars: Vec<VarId> = self.plan.separators[node].iter().collect();
        let places: Vec<usize> = (0..table.values.len())
            .filter(|&place| self.pruned.is_possible(factor, place))
            .collect();
        self.left = self.left.checked_sub(places.len())?;
        let mut rows = self.rows(node);
        let mut triples = vec![];
        for (entry, &place) in places.iter().enumerate() {
            let states = states_at(table, &self.cards, place);
            let kept = vars
                .iter()
                .map(|v| states[table.scope.iter().position(|x| x == v).unwrap_or(0)])
                .collect();
            triples.push([rows.number(kept), entry as u32, 0]);
        }
        Some(rows.finish(vars, triples, places))
    }

    fn join(&mut self, node: usize, (l, r): (usize, usize)) -> Option<Relation> {
        let vars: Vec<VarId> = self.plan.separators[node].iter().collect();
        let (left, right) = (&self.nodes[l], &self.nodes[r]);
        let shared: Vec<VarId> = left
            .vars
            .iter()
            .copied()
            .filter(|v| right.vars.contains(v))
            .collect();
        let matches = matches(right, &shared);
        let [key, from_left, from_right] = [
            places(&left.vars, &shared),
            places(&left.vars, &vars),
            places(&right.vars, &vars),
        ];
        let mut rows = self.rows(node);
        let mut triples = vec![];
        for i in 0..left.rows {
            let states = left.row(i);
            let key: Vec<u16> = key.iter().flatten().map(|&at| states[at]).collect();
            for &j in matches.get(&key).into_iter().flatten() {
                let other = right.row(j as usize);
                let kept = from_left.iter().zip(&from_right);
                let state = |(l, r): (&Option<usize>, &Option<usize>)| {
                    l.map_or_else(|| other[r.unwrap_or(0)], |l| states[l])
                };
                triples.push([rows.number(kept.map(state).collect()), i as u32, j]);
            }
            if triples.len() > self.left {
                return None;
            }
        }
        self.left -= triples.len();
        Some(rows.finish(vars, triples, vec![]))
    }

    /// Removes rows that nothing above needs, from the root downward.
    fn reduce(&mut self) {
        let leaves = self.plan.tree.leaves;
        let mut alive: Vec<Vec<bool>> = self
            .nodes
            .iter()
            .map(|node| vec![false; node.rows])
            .collect();
        if let Some(root) = alive.last_mut() {
            root.fill(true);
        }
        for node in (0..self.nodes.len()).rev() {
            let is_root = node + 1 == self.nodes.len();
            let numbers = self.nodes[node].keep(&alive[node], is_root);
            self.nodes[node]
                .triples
                .retain(|t| alive[node][t[0] as usize]);
            self.nodes[node]
                .triples
                .iter_mut()
                .for_each(|t| t[0] = numbers[t[0] as usize]);
            if let Some(k) = node.checked_sub(leaves) {
                let (l, r) = self.plan.tree.joins[k];
                self.nodes[node].triples.iter().for_each(|t| {
                    alive[l][t[1] as usize] = true;
                    alive[r][t[2] as usize] = true;
                });
                let (left, right) = (numbers_of(&alive[l]), numbers_of(&alive[r]));
                self.nodes[node].triples.iter_mut().for_each(|t| {
                    (t[1], t[2]) = (left[t[1] as usize], right[t[2] as usize]);
                });
            } else {
                self.nodes[node].keep_entries();
            }
            self.nodes[node].triples.sort_unstable();
        }
    }
}

impl Relation {
    /// Keeps the rows that are alive; returns their new numbers. Those of the root stay as they
    /// are.
    fn keep(&mut self, alive: &[bool], is_root: bool) -> Vec<u32> {
        if is_root {
            return (0..alive.len() as u32).collect();
        }
        let width = self.vars.len();
        let rows = self.states.chunks_exact(width.max(1)).zip(alive);
        let kept = rows.filter(|(_, is_alive)| **is_alive);
        self.states = kept.flat_map(|(row, _)| row.to_vec()).collect();
        self.rows = alive.iter().filter(|&&is_alive| is_alive).count();
        numbers_of(alive)
    }

    /// Keeps the entries of a leaf that are in a triple.
    fn keep_entries(&mut self) {
        let mut used = vec![false; self.places.len()];
        self.triples.iter().for_each(|t| used[t[1] as usize] = true);
        let numbers = numbers_of(&used);
        self.triples
            .iter_mut()
            .for_each(|t| t[1] = numbers[t[1] as usize]);
        let mut at = used.into_iter();
        self.places.retain(|_| at.next() == Some(true));
    }
}

/// For each member, how many members that are alive come before it.
fn numbers_of(alive: &[bool]) -> Vec<u32> {
    let count = |next: &mut u32, &is_alive: &bool| {
        let this = *next;
        *next += u32::from(is_alive);
        Some(this)
    };
    alive.iter().scan(0, count).collect()
}

/// Rows by their states.
struct Rows {
    known: BTreeMap<Vec<u16>, u32>,
    states: Vec<u16>,
    is_root: bool,
}

impl Rows {
    fn number(&mut self, states: Vec<u16>) -> u32 {
        if self.is_root {
            return states.first().copied().unwrap_or(0).into();
        }
        let next = self.known.len() as u32;
        *self.known.entry(states).or_insert_with_key(|states| {
            self.states.extend(states);
            next
        })
    }

    fn finish(self, vars: Vec<VarId>, triples: Vec<[u32; 3]>, places: Vec<usize>) -> Relation {
        let most = triples.iter().map(|t| t[0] as usize + 1).max().unwrap_or(0);
        Relation {
            vars,
            states: self.states,
            rows: most,
            triples,
            places,
        }
    }
}

/// The rows of a relation with the same states of the shared variables.
fn matches(relation: &Relation, shared: &[VarId]) -> BTreeMap<Vec<u16>, Vec<u32>> {
    let places = places(&relation.vars, shared);
    let mut matches: BTreeMap<Vec<u16>, Vec<u32>> = BTreeMap::new();
    for row in 0..relation.rows {
        let key = places
            .iter()
            .flatten()
            .map(|&at| relation.row(row)[at])
            .collect();
        matches.entry(key).or_default().push(row as u32);
    }
    matches
}

/// Where some variables are in a list of variables.
fn places(list: &[VarId], vars: &[VarId]) -> Vec<Option<usize>> {
    vars.iter()
        .map(|v| list.iter().position(|x| x == v))
        .collect()
}

/// The states of a table's variables at a place.
fn states_at(table: &Factor, cards: &[usize], mut place: usize) -> Vec<u16> {
    let mut states = vec![0; table.scope.len()];
    for (state, v) in states.iter_mut().zip(&table.scope).rev() {
        *state = (place % cards[v.index()]) as u16;
        place /= cards[v.index()];
    }
    states
}
