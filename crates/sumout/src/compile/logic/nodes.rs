//! The circuit that a search finds: sums and products of likelihoods and numbers.
//!
//! Equal nodes are one. A node without inputs and visible numbers is computed at once,
//! unless the number would become too small for that.

use rustc_hash::FxHashMap;

use crate::compile::logic::components::hash;
use crate::compile::logic::residual::Leaf;
use crate::compile::logic::symbols::{Symbol, SymbolId, Symbols};

/// A node; its inputs have smaller numbers.
pub(super) type NodeId = u32;

/// The node of the number zero.
pub(super) const ZERO: NodeId = 0;

/// The node of the number one.
pub(super) const ONE: NodeId = 1;

/// Products of numbers that are smaller are left to the circuit, which rescales.
const MIN_NUMBER: f64 = 1e-200;

/// Products and sums of numbers that are larger, too.
const MAX_NUMBER: f64 = 1e200;

/// The operation of a node, or the leaf that it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// A number.
    Number(f64),
    /// A number that stays visible.
    Symbol(SymbolId),
    /// The likelihood of a value.
    Likelihood(u32, u32),
    /// The product of its inputs.
    Product,
    /// The sum of its inputs.
    Sum,
}

impl Kind {
    fn hash(self) -> u128 {
        match self {
            Kind::Number(x) => hash(x.to_bits()),
            Kind::Symbol(id) => hash(u64::from(id)).rotate_left(7),
            Kind::Likelihood(v, value) => {
                hash(u64::from(v) << 32 | u64::from(value)).rotate_left(13)
            }
            Kind::Product => hash(1).rotate_left(29),
            Kind::Sum => hash(2).rotate_left(29),
        }
    }
}

/// All nodes, inputs before uses.
#[derive(Debug)]
pub(super) struct Nodes {
    kinds: Vec<Kind>,
    starts: Vec<u32>,
    inputs: Vec<NodeId>,
    known: FxHashMap<u128, NodeId>,
}

impl Nodes {
    pub fn new() -> Self {
        let mut nodes = Nodes {
            kinds: vec![],
            starts: vec![0],
            inputs: vec![],
            known: FxHashMap::default(),
        };
        nodes.number(0.0);
        nodes.number(1.0);
        nodes
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// The number of inputs of all nodes.
    pub fn edges(&self) -> usize {
        self.inputs.len()
    }

    pub fn kind(&self, node: NodeId) -> Kind {
        self.kinds[node as usize]
    }

    pub fn inputs(&self, node: NodeId) -> &[NodeId] {
        let at = node as usize;
        &self.inputs[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    pub fn number(&mut self, number: f64) -> NodeId {
        self.add(Kind::Number(number), &[])
    }

    pub fn leaf(&mut self, leaf: Leaf, symbols: &Symbols) -> NodeId {
        match leaf {
            Leaf::Likelihood(v, value) => self.add(Kind::Likelihood(v, value), &[]),
            Leaf::Symbol(id) => match symbols.get(id) {
                Symbol::Number(number) => self.number(number),
                Symbol::Entry { .. } => self.add(Kind::Symbol(id), &[]),
            },
        }
    }

    pub fn product(&mut self, inputs: Vec<NodeId>) -> NodeId {
        if inputs.contains(&ZERO) {
            return ZERO;
        }
        self.combine(Kind::Product, inputs, 1.0, |x, y| x * y)
    }

    pub fn sum(&mut self, inputs: Vec<NodeId>) -> NodeId {
        self.combine(Kind::Sum, inputs, 0.0, |x, y| x + y)
    }

    /// Combines numbers at once, and leaves out the one that changes nothing.
    fn combine(
        &mut self,
        kind: Kind,
        inputs: Vec<NodeId>,
        neutral: f64,
        of: impl Fn(f64, f64) -> f64,
    ) -> NodeId {
        let mut number = neutral;
        let mut rest = vec![];
        for input in inputs {
            match self.kind(input) {
                // A product of two numbers that are not zero may be too small for one.
                Kind::Number(x) if is_safe(of(number, x)) && (of(number, x) != 0.0 || x == 0.0) => {
                    number = of(number, x);
                }
                _ => rest.push(input),
            }
        }
        if number != neutral || rest.is_empty() {
            rest.push(self.number(number));
        }
        rest.sort_unstable();
        match rest[..] {
            [only] => only,
            _ => self.add(kind, &rest),
        }
    }

    fn add(&mut self, kind: Kind, inputs: &[NodeId]) -> NodeId {
        let key = inputs.iter().fold(kind.hash(), |key, &input| {
            let mixed = hash(key as u64 ^ u64::from(input));
            mixed ^ key.rotate_left(64)
        });
        let next = self.kinds.len() as NodeId;
        let id = *self.known.entry(key).or_insert(next);
        if id == next {
            self.kinds.push(kind);
            self.inputs.extend_from_slice(inputs);
            self.starts.push(self.inputs.len() as u32);
        }
        id
    }
}

fn is_safe(x: f64) -> bool {
    x == 0.0 || (MIN_NUMBER..MAX_NUMBER).contains(&x.abs())
}
