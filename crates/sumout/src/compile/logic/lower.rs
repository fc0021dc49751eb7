//! Turns cells into a graph: for each layer, what it reads of lower layers side by side, and a join
//! of that with itself.

use std::collections::BTreeMap;

use crate::compile::ask::Level;
use crate::compile::logic::Found;
use crate::compile::logic::cells::{CellId, Cells, Of};
use crate::compile::logic::nodes::Kind;
use crate::compile::logic::symbols::{Symbol, SymbolId};
use crate::compile::prune::Pruned;
use crate::compile::support::{Supported, cost, join};
use crate::tensor::{AxisId, Graph, NodeId, Op, Pick, Table};
use crate::vars::VarId;

/// Numbers whose exponents differ by less share a table.
const EXPONENTS_OF_TABLE: i32 = 32;

/// The graph of a circuit.
pub(super) fn lower(pruned: &Pruned, found: &Found) -> Supported {
    let (cells, outputs) = Cells::new(found);
    let mut lowering = Lowering {
        pruned,
        found,
        cells,
        graph: Graph::with_selected(pruned.cards(), &pruned.selected),
        layers: vec![],
    };
    let leaves = lowering.leaves();
    lowering.layers.push(leaves);
    for layer in 1..lowering.cells.layers.len() {
        lowering.layer(layer);
    }
    lowering.output(&outputs);
    Supported {
        cost: cost(&lowering.graph),
        graph: lowering.graph,
        decoders: vec![],
        level: Level::Compiled,
    }
}

/// The graph so far.
struct Lowering<'a> {
    pruned: &'a Pruned,
    found: &'a Found,
    cells: Cells,
    graph: Graph,
    /// The tensor of each layer.
    layers: Vec<NodeId>,
}

/// Where a leaf is read: a tensor by its kind and number, and a place in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Likelihood(u32),
    /// The numbers of a factor that stay visible.
    Factor(u32),
    /// Numbers of about the same size.
    Numbers(i32),
}

impl Lowering<'_> {
    /// All leaves side by side, those of a tensor one after the other.
    fn leaves(&mut self) -> NodeId {
        let mut sources: BTreeMap<Source, Vec<(CellId, u32)>> = BTreeMap::new();
        for &cell in &self.cells.layers[0] {
            let (source, value) = self.source(cell);
            sources.entry(source).or_default().push((cell, value));
        }
        let cells = sources.values().flatten().map(|(cell, _)| *cell);
        self.cells.order_leaves(cells.collect());
        let (mut inputs, mut places) = (vec![], vec![]);
        for (source, leaves) in sources {
            let (input, read) = self.input(source, &leaves);
            inputs.push(input);
            places.push(read);
        }
        self.collect(inputs, places)
    }

    /// The tensor that a leaf is read from, and what of it.
    fn source(&self, cell: CellId) -> (Source, u32) {
        match &self.cells.cells[cell as usize].of {
            Of::Leaf(Kind::Likelihood(v, value)) => (Source::Likelihood(*v), *value),
            Of::Leaf(Kind::Symbol(id)) => match self.found.symbols.get(*id) {
                Symbol::Entry { factor, place } => (Source::Factor(factor), place),
                Symbol::Number(number) => (bucket(number), cell),
            },
            Of::Leaf(Kind::Number(number)) => (bucket(*number), cell),
            _ => unreachable!("the lowest layer has leaves"),
        }
    }

    /// The tensor of some leaves, and the places of each.
    fn input(&mut self, source: Source, leaves: &[(CellId, u32)]) -> (NodeId, Vec<u32>) {
        let values = || leaves.iter().map(|(_, value)| *value);
        let all = || (0..leaves.len() as u32).collect();
        match source {
            Source::Likelihood(v) => {
                let v = VarId::new(v as usize);
                let likelihood = self.graph.add(Op::Evidence(v));
                (likelihood, values().collect())
            }
            Source::Factor(factor) => (self.entries(factor as usize, values()), all()),
            Source::Numbers(_) => (self.numbers(leaves), all()),
        }
    }

    /// Some numbers of a factor as a table.
    fn entries(&mut self, factor: usize, places: impl Iterator<Item = u32>) -> NodeId {
        let places: Vec<usize> = places.map(|place| place as usize).collect();
        let values = &self.pruned.factors[factor].values;
        let table = Table {
            axes: vec![self.graph.axis(places.len())],
            values: places.iter().map(|&place| values[place]).collect(),
        };
        let origin = self.pruned.origins[factor].as_ref();
        let origin = origin.map(|origin| origin.at(places.iter().copied()));
        self.graph.table_from(table, origin)
    }

    fn numbers(&mut self, leaves: &[(CellId, u32)]) -> NodeId {
        let number = |(cell, _): &(CellId, u32)| match &self.cells.cells[*cell as usize].of {
            Of::Leaf(Kind::Number(number)) => *number,
            Of::Leaf(Kind::Symbol(id)) => self.known(*id),
            _ => 0.0,
        };
        let values: Vec<f64> = leaves.iter().map(number).collect();
        let axes = vec![self.graph.axis(values.len())];
        self.graph.table(Table { axes, values })
    }

    fn known(&self, id: SymbolId) -> f64 {
        match self.found.symbols.get(id) {
            Symbol::Number(number) => number,
            Symbol::Entry { .. } => 0.0,
        }
    }

    fn collect(&mut self, inputs: Vec<NodeId>, places: Vec<Vec<u32>>) -> NodeId {
        let entries = places.iter().map(Vec::len).sum();
        let axis = self.graph.axis(entries);
        self.graph.collect(inputs, Pick { axis, places })
    }

    /// The sums of a layer.
    fn layer(&mut self, layer: usize) {
        let members = &self.cells.layers[layer];
        let terms = members.iter().enumerate().flat_map(|(place, &cell)| {
            let pairs = match &self.cells.cells[cell as usize].of {
                Of::Sum(pairs) => &pairs[..],
                Of::Leaf(_) => &[],
            };
            pairs.iter().map(move |&pair| (place as u32, pair))
        });
        let terms: Vec<(u32, [CellId; 2])> = terms.collect();
        let axis = self.graph.axis(members.len());
        let node = self.sums(&terms, Some(axis));
        self.layers.push(node);
    }

    /// The output: the values of its axis, or a single number.
    fn output(&mut self, outputs: &[Option<CellId>]) {
        let axis = self.pruned.output.iter().next().map(AxisId::from);
        let one = self.cells.one();
        let term = |(k, cell): (usize, &Option<CellId>)| Some((k as u32, [(*cell)?, one]));
        let terms: Vec<_> = outputs.iter().enumerate().filter_map(term).collect();
        let node = self.sums(&terms, axis);
        self.graph.set_output(node);
    }

    /// Sums of products, each with the place of the sum that it is part of.
    fn sums(&mut self, terms: &[(u32, [CellId; 2])], axis: Option<AxisId>) -> NodeId {
        let mut read: BTreeMap<u32, BTreeMap<u32, u32>> = BTreeMap::new();
        for &cell in terms.iter().flat_map(|(_, pair)| pair) {
            let cell = &self.cells.cells[cell as usize];
            read.entry(cell.layer).or_default().insert(cell.place, 0);
        }
        let places = read.values_mut().flat_map(BTreeMap::values_mut);
        (0..).zip(places).for_each(|(at, place)| *place = at);
        let inputs = read.keys().map(|&layer| self.layers[layer as usize]);
        let inputs = inputs.collect();
        let of = self.collect(
            inputs,
            read.values().map(|r| r.keys().copied().collect()).collect(),
        );
        let place = |cell: CellId| {
            let cell = &self.cells.cells[cell as usize];
            read[&cell.layer][&cell.place]
        };
        let triples = terms.iter().map(|&(out, [a, b])| [out, place(a), place(b)]);
        join(&mut self.graph, [of, of], axis, triples)
    }
}

/// The table of a number: those of a table are not too far apart.
fn bucket(number: f64) -> Source {
    let exponent = if number > 0.0 {
        number.log2() as i32
    } else {
        0
    };
    Source::Numbers(exponent.div_euclid(EXPONENTS_OF_TABLE))
}
