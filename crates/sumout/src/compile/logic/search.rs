//! The search: decides a variable, splits what is left into components, and remembers them.
//!
//! ```text
//! component = Σ over the values of its first variable: leaves · Π of the components that are left
//! ```
//!
//! A component that was met before, in any context, is the same node. The depth of the search is the
//! number of variables, so that it keeps a stack of its own.

use rustc_hash::FxHashMap;

use crate::compile::logic::components::{Component, Components};
use crate::compile::logic::nodes::{NodeId, Nodes, ZERO};
use crate::compile::logic::rank::Rank;
use crate::compile::logic::residual::{Leaf, Residual};
use crate::compile::logic::states::{Mask, each};
use crate::control::Control;

/// How much a search may do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// Factors that are looked at.
    pub work: usize,
    /// Inputs of all nodes.
    pub edges: usize,
    /// Numbers in the tables of states.
    pub states: usize,
}

/// Decisions between two questions whether to go on.
const DECISIONS_TO_ASK: usize = 256;

/// A search is given up: it would exceed its budget, or was stopped.
#[derive(Debug)]
pub(super) struct Exhausted;

/// A search in progress.
#[derive(Debug)]
pub(super) struct Compiler {
    pub residual: Residual,
    pub nodes: Nodes,
    rank: Rank,
    components: Components,
    cache: FxHashMap<u128, NodeId>,
    budget: Budget,
    decisions: usize,
    control: Control,
}

/// A component on the stack.
#[derive(Debug)]
struct Frame {
    key: u128,
    vars: Vec<u32>,
    first: u32,
    /// The values that are to be tried.
    left: Mask,
    /// The nodes of the values that were tried.
    terms: Vec<NodeId>,
    branch: Option<Branch>,
}

/// The value that is being tried.
#[derive(Debug)]
struct Branch {
    mark: usize,
    factors: Vec<NodeId>,
    waiting: Vec<Component>,
}

impl Compiler {
    pub fn new(residual: Residual, rank: Rank, budget: Budget, control: &Control) -> Self {
        Compiler {
            components: Components::new(&residual),
            residual,
            nodes: Nodes::new(),
            rank,
            cache: FxHashMap::default(),
            budget,
            decisions: 0,
            control: control.clone(),
        }
    }

    /// The node of all variables, with what is known of them at once.
    pub fn everything(&mut self, known: &[Leaf]) -> Result<NodeId, Exhausted> {
        let vars: Vec<u32> = (0..self.residual.parts.len() as u32).collect();
        let mut branch = self.branch(0, &vars);
        let symbols = &self.residual.states.symbols;
        let leaves = known.iter().map(|&leaf| self.nodes.leaf(leaf, symbols));
        branch.factors.extend(leaves);
        while let Some(component) = branch.waiting.pop() {
            let node = match self.cache.get(&component.key) {
                Some(&node) => node,
                None => self.component(component)?,
            };
            branch.factors.push(node);
        }
        Ok(self.nodes.product(branch.factors))
    }

    /// The same, given the value of a variable.
    pub fn given(&mut self, v: u32, value: Mask, known: &[Leaf]) -> Result<NodeId, Exhausted> {
        let mark = self.residual.mark();
        let node = if self.residual.assign(v, value) {
            self.everything(known)
        } else {
            Ok(ZERO)
        };
        self.residual.undo(mark);
        node
    }

    fn component(&mut self, component: Component) -> Result<NodeId, Exhausted> {
        let mut stack = vec![self.frame(component)];
        loop {
            let Some(frame) = stack.last_mut() else {
                return Ok(ZERO); // not reached: the last frame returns
            };
            if let Some(component) = frame.next_component() {
                match self.cache.get(&component.key) {
                    Some(&node) => frame.include(node),
                    None => stack.push(self.frame(component)),
                }
                continue;
            }
            if let Some(branch) = frame.branch.take() {
                self.residual.undo(branch.mark);
                frame.terms.push(self.nodes.product(branch.factors));
            }
            if let Some(value) = frame.next_value() {
                frame.branch = self.decide(frame.first, value, &frame.vars)?;
                continue;
            }
            let node = self.nodes.sum(std::mem::take(&mut frame.terms));
            self.cache.insert(frame.key, node);
            stack.pop();
            match stack.last_mut() {
                Some(above) => above.include(node),
                None => return Ok(node),
            }
        }
    }

    fn frame(&self, component: Component) -> Frame {
        Frame {
            key: component.key,
            left: self.residual.domain(component.first),
            first: component.first,
            vars: component.vars,
            terms: vec![],
            branch: None,
        }
    }

    /// Tries a value; none if it is impossible.
    fn decide(&mut self, v: u32, value: Mask, vars: &[u32]) -> Result<Option<Branch>, Exhausted> {
        self.decisions += 1;
        if self.is_exhausted() || self.is_stopped() {
            return Err(Exhausted);
        }
        let mark = self.residual.mark();
        if self.residual.assign(v, value) {
            return Ok(Some(self.branch(mark, vars)));
        }
        self.residual.undo(mark);
        Ok(None)
    }

    fn branch(&mut self, mark: usize, vars: &[u32]) -> Branch {
        let leaves = self.residual.take_leaves();
        let symbols = &self.residual.states.symbols;
        let nodes = leaves
            .into_iter()
            .map(|leaf| self.nodes.leaf(leaf, symbols));
        Branch {
            mark,
            factors: nodes.collect(),
            waiting: self.components.split(&self.residual, &self.rank, vars),
        }
    }

    /// Asks now and then whether to go on.
    fn is_stopped(&self) -> bool {
        self.decisions.is_multiple_of(DECISIONS_TO_ASK) && self.control.is_stopped()
    }

    fn is_exhausted(&self) -> bool {
        self.components.work > self.budget.work
            || self.nodes.edges() > self.budget.edges
            || self.residual.states.size() > self.budget.states
    }
}

impl Frame {
    fn next_component(&mut self) -> Option<Component> {
        self.branch.as_mut()?.waiting.pop()
    }

    fn next_value(&mut self) -> Option<Mask> {
        let value = each(self.left).next()?;
        self.left ^= value;
        Some(value)
    }

    /// Multiplies the value that is being tried by a component. If that is impossible, so is the
    /// value.
    fn include(&mut self, node: NodeId) {
        if let Some(branch) = &mut self.branch {
            branch.factors.push(node);
            if node == ZERO {
                branch.waiting.clear();
            }
        }
    }
}
