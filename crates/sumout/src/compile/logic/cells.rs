//! Circuits as layers of cells: each a leaf, or a sum of products of two cells of lower layers.
//!
//! A product of many is split into products of two, those of the lowest layers first, so that the
//! layers stay few. Equal products are one cell; many share the product of their leaves.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use crate::compile::logic::Found;
use crate::compile::logic::nodes::{Kind, NodeId, ONE, ZERO};

/// A cell by its number.
pub(super) type CellId = u32;

/// A cell.
#[derive(Debug)]
pub(super) struct Cell {
    /// The layer that computes it; leaves are in layer zero.
    pub layer: u32,
    /// Its place in the layer.
    pub place: u32,
    pub of: Of,
}

/// The content of a cell.
#[derive(Debug)]
pub(super) enum Of {
    Leaf(Kind),
    Sum(Vec<[CellId; 2]>),
}

/// The cells that the outputs of a circuit need.
#[derive(Debug, Default)]
pub(super) struct Cells {
    pub cells: Vec<Cell>,
    /// The cells of each layer, in their places.
    pub layers: Vec<Vec<CellId>>,
    pairs: FxHashMap<[CellId; 2], CellId>,
}

impl Cells {
    /// The cells of a circuit, and those of its outputs; none for those that are zero.
    pub fn new(found: &Found) -> (Self, Vec<Option<CellId>>) {
        let mut cells = Cells::default();
        let is_used = used(found);
        let mut of_node = vec![CellId::MAX; found.nodes.len()];
        of_node[ONE as usize] = cells.add(Of::Leaf(Kind::Number(1.0)));
        for node in ONE + 1..found.nodes.len() as NodeId {
            if is_used[node as usize] {
                of_node[node as usize] = cells.cell(found, node, &of_node);
            }
        }
        let output = |&node: &NodeId| (node != ZERO).then(|| of_node[node as usize]);
        let outputs = found.outputs.iter().map(output).collect();
        (cells, outputs)
    }

    /// The cell that is one.
    pub fn one(&self) -> CellId {
        0
    }

    /// Gives leaves other places.
    pub fn order_leaves(&mut self, leaves: Vec<CellId>) {
        for (place, &leaf) in leaves.iter().enumerate() {
            self.cells[leaf as usize].place = place as u32;
        }
        self.layers[0] = leaves;
    }

    fn cell(&mut self, found: &Found, node: NodeId, of_node: &[CellId]) -> CellId {
        let inputs = found.nodes.inputs(node);
        match found.nodes.kind(node) {
            Kind::Product => {
                let pair = self.halves(inputs, of_node);
                self.pair(pair)
            }
            Kind::Sum => {
                let term = |cells: &mut Self, input: NodeId| match found.nodes.kind(input) {
                    Kind::Product => cells.halves(found.nodes.inputs(input), of_node),
                    _ => [of_node[input as usize], cells.one()],
                };
                let terms = inputs.iter().map(|&input| term(self, input)).collect();
                self.add(Of::Sum(terms))
            }
            leaf => self.add(Of::Leaf(leaf)),
        }
    }

    /// The two cells whose product is that of all inputs.
    fn halves(&mut self, inputs: &[NodeId], of_node: &[CellId]) -> [CellId; 2] {
        let cells = inputs.iter().map(|&input| of_node[input as usize]);
        let mut lowest: BinaryHeap<_> = cells.map(|cell| self.by_layer(cell)).collect();
        while lowest.len() > 2 {
            let (Some(Reverse((_, a))), Some(Reverse((_, b)))) = (lowest.pop(), lowest.pop())
            else {
                break;
            };
            let product = self.pair([a, b]);
            lowest.push(self.by_layer(product));
        }
        let mut next = || lowest.pop().map_or(self.one(), |Reverse((_, cell))| cell);
        [next(), next()]
    }

    fn by_layer(&self, cell: CellId) -> Reverse<(u32, CellId)> {
        Reverse((self.cells[cell as usize].layer, cell))
    }

    fn pair(&mut self, [a, b]: [CellId; 2]) -> CellId {
        let pair = [a.min(b), a.max(b)];
        if let Some(&cell) = self.pairs.get(&pair) {
            return cell;
        }
        let cell = self.add(Of::Sum(vec![pair]));
        self.pairs.insert(pair, cell);
        cell
    }

    fn add(&mut self, of: Of) -> CellId {
        let id = self.cells.len() as CellId;
        let layer = match &of {
            Of::Leaf(_) => 0,
            Of::Sum(terms) => {
                let layer = |cell: &CellId| self.cells[*cell as usize].layer + 1;
                terms.iter().flatten().map(layer).max().unwrap_or(1)
            }
        };
        if self.layers.len() <= layer as usize {
            self.layers.resize(layer as usize + 1, vec![]);
        }
        let members = &mut self.layers[layer as usize];
        members.push(id);
        let place = members.len() as u32 - 1;
        self.cells.push(Cell { layer, place, of });
        id
    }
}

/// Which nodes the outputs need, without products that only sums read.
fn used(found: &Found) -> Vec<bool> {
    let mut is_used = vec![false; found.nodes.len()];
    for &output in &found.outputs {
        is_used[output as usize] = true;
    }
    for node in (0..found.nodes.len() as NodeId).rev() {
        if !is_used[node as usize] {
            continue;
        }
        let is_sum = found.nodes.kind(node) == Kind::Sum;
        for &input in found.nodes.inputs(node) {
            if is_sum && found.nodes.kind(input) == Kind::Product {
                let inner = found.nodes.inputs(input);
                inner.iter().for_each(|&i| is_used[i as usize] = true);
            } else {
                is_used[input as usize] = true;
            }
        }
    }
    is_used
}
