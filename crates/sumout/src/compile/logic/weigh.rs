//! Turns decision diagrams into sums of products.
//!
//! ```text
//! diagram = Σ over the values of the variable that it asks: likelihood · number · the diagram for it
//! ```
//!
//! A variable that is not asked on the way from a diagram to the next one counts with all of its
//! values: Σ likelihood · number, which is one where there is no likelihood.

use rustc_hash::FxHashMap;

use crate::compile::logic::diagram::{DiagramId, Diagrams, VALUES};
use crate::compile::logic::gates::{First, Gates};
use crate::compile::logic::nodes::{Kind, NodeId, Nodes, ONE, ZERO};
use crate::compile::logic::residual::Leaf;
use crate::compile::logic::symbols::Symbols;
use crate::compile::logic::{Found, MAX_EDGES, symbols_of};
use crate::compile::prune::Pruned;
use crate::control::Control;
use crate::vars::VarId;

/// Distributions sum to one but for this.
const ROUNDING: f64 = 1e-14;

/// The circuit of a network of gates; none if it is not one, or takes too many steps.
pub(super) fn compile(
    pruned: &Pruned,
    first: First,
    most: usize,
    control: &Control,
) -> Option<Found> {
    let gates = Gates::new(pruned, first)?;
    let (diagrams, outputs) = gates.diagrams(most, control).ok()?;
    let mut weighing = Weighing::new(pruned, &gates);
    let outputs = outputs.into_iter();
    let nodes = outputs.map(|(root, value)| weighing.output(&diagrams, root, value));
    let mut nodes: Vec<NodeId> = nodes.collect::<Option<_>>()?;
    let numbers = gates.numbers.iter().flat_map(|&f| weighing.numbers(f));
    let numbers: Vec<NodeId> = numbers.collect();
    for node in &mut nodes {
        *node = weighing.nodes.product([&[*node], &numbers[..]].concat());
    }
    let is_possible = nodes.iter().any(|&node| node != ZERO);
    is_possible.then_some(Found {
        outputs: nodes,
        nodes: weighing.nodes,
        symbols: weighing.symbols,
    })
}

struct Weighing<'a> {
    pruned: &'a Pruned,
    nodes: Nodes,
    symbols: Symbols,
    /// For each level and value, the likelihood and the numbers of the value.
    leaves: Vec<Vec<Vec<NodeId>>>,
    /// For each level, the sum over all values.
    sums: Vec<NodeId>,
    /// The products of these sums from one level to before another.
    spans: FxHashMap<(usize, usize), NodeId>,
}

impl<'a> Weighing<'a> {
    fn new(pruned: &'a Pruned, gates: &Gates<'_>) -> Self {
        let mut weighing = Weighing {
            pruned,
            nodes: Nodes::new(),
            symbols: Symbols::new(),
            leaves: vec![],
            sums: vec![],
            spans: FxHashMap::default(),
        };
        for &v in &gates.asked {
            let leaves = weighing.leaves_of(gates, v);
            let sum = weighing.sum(&leaves);
            weighing.sums.push(sum);
            weighing.leaves.push(leaves);
        }
        weighing
    }

    /// For each value of a variable, its numbers and its likelihood.
    fn leaves_of(&mut self, gates: &Gates<'_>, v: VarId) -> Vec<Vec<NodeId>> {
        let mut leaves = vec![vec![]; self.pruned.domains[v.index()].len()];
        for &factor in &gates.weights[v.index()] {
            let numbers = self.numbers(factor);
            leaves.iter_mut().zip(numbers).for_each(|(l, x)| l.push(x));
        }
        for (value, leaves) in leaves.iter_mut().enumerate() {
            if gates.has_likelihood[v.index()] {
                let likelihood = Leaf::Likelihood(v.index() as u32, value as u32);
                leaves.push(self.nodes.leaf(likelihood, &self.symbols));
            }
        }
        leaves
    }

    /// The numbers of a factor.
    fn numbers(&mut self, factor: usize) -> Vec<NodeId> {
        let symbols = symbols_of(self.pruned, factor, &mut self.symbols);
        let leaf = |id| self.nodes.leaf(Leaf::Symbol(id), &self.symbols);
        symbols.into_iter().map(leaf).collect()
    }

    fn sum(&mut self, leaves: &[Vec<NodeId>]) -> NodeId {
        let terms = leaves.iter();
        let terms = terms.map(|leaves| self.nodes.product(leaves.clone()));
        let terms = terms.collect();
        let sum = self.nodes.sum(terms);
        match self.nodes.kind(sum) {
            Kind::Number(x) if (x - 1.0).abs() < ROUNDING => ONE,
            _ => sum,
        }
    }

    /// The node of a diagram's having a value; none if there are too many nodes.
    fn output(&mut self, diagrams: &Diagrams, root: DiagramId, value: DiagramId) -> Option<NodeId> {
        let is_used = used(diagrams, root);
        let mut of = vec![ZERO; diagrams.len()];
        of[value as usize] = ONE;
        for id in (VALUES..=root).filter(|&id| is_used[id as usize]) {
            of[id as usize] = self.node(diagrams, id, &of);
            if self.nodes.edges() > MAX_EDGES {
                return None;
            }
        }
        let before = self.span(0, diagrams.level(root));
        Some(self.nodes.product(vec![before, of[root as usize]]))
    }

    fn node(&mut self, diagrams: &Diagrams, id: DiagramId, of: &[NodeId]) -> NodeId {
        let level = diagrams.level(id);
        let mut terms = vec![];
        for (value, &child) in diagrams.children(id).iter().enumerate() {
            let between = self.span(level + 1, diagrams.level(child));
            let mut inputs = self.leaves[level][value].clone();
            inputs.extend([between, of[child as usize]]);
            terms.push(self.nodes.product(inputs));
        }
        terms.retain(|&term| term != ZERO);
        self.nodes.sum(terms)
    }

    /// The product of the sums of the levels from one to before another, by halves that others share.
    fn span(&mut self, from: usize, to: usize) -> NodeId {
        if to - from <= 1 {
            return if from == to { ONE } else { self.sums[from] };
        }
        if let Some(&known) = self.spans.get(&(from, to)) {
            return known;
        }
        let middle = (from + 1..to).max_by_key(|at| at.trailing_zeros());
        let middle = middle.unwrap_or(from + 1);
        let halves = vec![self.span(from, middle), self.span(middle, to)];
        let product = self.nodes.product(halves);
        self.spans.insert((from, to), product);
        product
    }
}

/// The diagrams that one leads to.
fn used(diagrams: &Diagrams, root: DiagramId) -> Vec<bool> {
    let mut is_used = vec![false; diagrams.len()];
    is_used[root as usize] = true;
    for id in (VALUES..=root).rev() {
        if is_used[id as usize] {
            let children = diagrams.children(id).iter();
            children.for_each(|&child| is_used[child as usize] = true);
        }
    }
    is_used
}
