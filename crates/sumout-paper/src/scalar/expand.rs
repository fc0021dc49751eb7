//! Writes the entries of all tensors as single numbers.

use sumout::VarId;
use sumout::internals::graph::{AxisId, AxisSet, Graph, List, Map, NodeId, Op, Pick, Table};

use crate::scalar::Scalar;

/// A graph in which each number has a place of its own: its position.
pub(super) struct Expanded {
    pub nodes: Vec<Scalar>,
    pub constants: Vec<f64>,
    pub terms: Vec<u32>,
    pub inputs: Vec<(VarId, usize)>,
    pub outputs: Vec<u32>,
}

/// Expands a graph; `is_literal` if zeros and ones are numbers like others.
pub(super) fn expand(graph: &Graph, is_literal: bool) -> Expanded {
    let expanded = Expanded {
        nodes: vec![],
        constants: vec![],
        terms: vec![],
        inputs: vec![],
        outputs: vec![],
    };
    Expansion {
        graph,
        is_literal,
        expanded,
        entries: vec![],
        given: 0,
    }
    .expand()
}

/// A graph while it is expanded.
struct Expansion<'a> {
    graph: &'a Graph,
    is_literal: bool,
    expanded: Expanded,
    /// For each tensor, the scalar nodes of its entries, axes in the order of the variables, the
    /// last fastest.
    entries: Vec<Vec<u32>>,
    given: u32,
}

impl Expansion<'_> {
    fn expand(mut self) -> Expanded {
        for (node, op) in self.graph.ops() {
            let entries = match op {
                Op::Evidence(v) => self.evidence(*v),
                Op::Table(t) => self.table(node, &self.graph.tables()[t.index()]),
                Op::Contract(a, b, _) => self.contract(node, &[*a, *b]),
                Op::Project(a, _) => self.contract(node, &[*a]),
                Op::Join(a, b, list) => self.join(node, *a, *b, &self.graph.lists()[list.index()]),
                Op::Gather(a, map) => self.gather(node, *a, &self.graph.maps()[map.index()]),
                Op::Collect(inputs, pick) => {
                    self.collect(inputs, &self.graph.picks()[pick.index()])
                }
                Op::Rescale(a) => self.entries[a.index()].clone(),
                Op::Select(..) => unreachable!("a graph with tests is not expanded"),
            };
            self.entries.push(entries);
        }
        self.expanded.outputs = self.entries[self.graph.output().index()].clone();
        self.expanded
    }

    fn collect(&self, inputs: &[NodeId], pick: &Pick) -> Vec<u32> {
        let all = inputs.iter().zip(&pick.places);
        let entries = all.flat_map(|(input, places)| {
            let of = &self.entries[input.index()];
            places.iter().map(|&place| of[place as usize])
        });
        entries.collect()
    }

    fn evidence(&mut self, var: VarId) -> Vec<u32> {
        let card = self.graph.cards()[var.index()];
        self.expanded.inputs.push((var, card));
        let first = self.given;
        self.given += card as u32;
        (first..self.given)
            .map(|place| self.add(Scalar::Input(place)))
            .collect()
    }

    fn table(&mut self, node: NodeId, table: &Table) -> Vec<u32> {
        let mut walk = Walk::new(
            self.graph,
            self.graph.axes(node).as_slice(),
            [&table.axes, &[]],
        );
        (0..table.values.len())
            .map(|_| self.constant(table.values[walk.step()[0]]))
            .collect()
    }

    /// An entry of the result after the other, so that its products are not needed for long.
    fn contract(&mut self, out: NodeId, factors: &[NodeId]) -> Vec<u32> {
        let graph = self.graph;
        let all = factors
            .iter()
            .fold(AxisSet::default(), |all, &f| &all | graph.axes(f));
        let order: Vec<AxisId> = graph
            .axes(out)
            .iter()
            .chain((&all - graph.axes(out)).iter())
            .collect();
        let axes = |factor: usize| {
            factors
                .get(factor)
                .map_or(&[][..], |&f| graph.axes(f).as_slice())
        };
        let mut walk = Walk::new(graph, &order, [axes(0), axes(1)]);
        let summed: usize = order[graph.axes(out).len()..]
            .iter()
            .map(|v| graph.cards()[v.index()])
            .product();
        let mut terms = Vec::with_capacity(summed);
        let mut entries = Vec::with_capacity(graph.size(out) as usize);
        for _ in 0..graph.size(out) as usize {
            terms.clear();
            for _ in 0..summed {
                let [a, b] = walk.step();
                let a = self.entries[factors[0].index()][a];
                terms.push(match factors.get(1) {
                    None => a,
                    Some(factor) => self.product(a, self.entries[factor.index()][b]),
                });
            }
            entries.push(self.sum(&terms));
        }
        entries
    }

    fn join(&mut self, out: NodeId, a: NodeId, b: NodeId, list: &List) -> Vec<u32> {
        let mut sums = vec![vec![]; self.graph.size(out) as usize];
        for ((&to, &x), &y) in list.outs.iter().zip(&list.a).zip(&list.b) {
            let (x, y) = (
                self.entries[a.index()][x as usize],
                self.entries[b.index()][y as usize],
            );
            let term = self.product(x, y);
            sums[to as usize].push(term);
        }
        sums.into_iter().map(|terms| self.sum(&terms)).collect()
    }

    fn gather(&mut self, out: NodeId, a: NodeId, map: &Map) -> Vec<u32> {
        let graph = self.graph;
        let zero = self.constant(0.0);
        let mut walk = Walk::new(
            graph,
            graph.axes(out).as_slice(),
            [&map.over, graph.axes(a).as_slice()],
        );
        let mut from_index = Walk::new(graph, &map.from, [graph.axes(a).as_slice(), &[]]);
        let places: Vec<usize> = (0..size(graph, &map.from))
            .map(|_| from_index.step()[0])
            .collect();
        let read = |_| {
            let [over, kept] = walk.step();
            match map.index[over] {
                Map::NOWHERE => zero,
                from => self.entries[a.index()][kept + places[from as usize]],
            }
        };
        (0..graph.size(out) as usize).map(read).collect()
    }

    fn add(&mut self, node: Scalar) -> u32 {
        self.expanded.nodes.push(node);
        u32::try_from(self.expanded.nodes.len() - 1)
            .expect("the limit of memory is below 2^32 nodes")
    }

    fn constant(&mut self, x: f64) -> u32 {
        self.expanded.constants.push(x);
        self.add(Scalar::Constant(self.expanded.constants.len() as u32 - 1))
    }

    fn value(&self, node: u32) -> Option<f64> {
        match self.expanded.nodes[node as usize] {
            Scalar::Constant(constant) => Some(self.expanded.constants[constant as usize]),
            _ => None,
        }
    }

    fn product(&mut self, a: u32, b: u32) -> u32 {
        match (self.value(a), self.value(b)) {
            (Some(x), Some(y)) => self.constant(x * y),
            _ if self.is_literal => self.add(Scalar::Product(a, b)),
            (Some(0.0), _) | (_, Some(1.0)) => a,
            (_, Some(0.0)) | (Some(1.0), _) => b,
            _ => self.add(Scalar::Product(a, b)),
        }
    }

    fn sum(&mut self, terms: &[u32]) -> u32 {
        if let Some(constants) = terms
            .iter()
            .map(|&term| self.value(term))
            .collect::<Option<Vec<f64>>>()
        {
            return self.constant(constants.iter().sum());
        }
        let from = self.expanded.terms.len();
        for &term in terms {
            if self.is_literal || self.value(term) != Some(0.0) {
                self.expanded.terms.push(term);
            }
        }
        if let [only] = self.expanded.terms[from..] {
            self.expanded.terms.truncate(from);
            return only;
        }
        self.add(Scalar::Sum(from as u32, self.expanded.terms.len() as u32))
    }
}

fn size(graph: &Graph, axes: &[AxisId]) -> usize {
    axes.iter().map(|v| graph.cards()[v.index()]).product()
}

/// Goes through all joint states of some axes, the last fastest, and tells where each stands in two
/// tensors.
struct Walk {
    cards: Vec<usize>,
    states: Vec<usize>,
    /// For each axis, how far apart neighbouring states are in each tensor.
    strides: Vec<[usize; 2]>,
    next: [usize; 2],
}

impl Walk {
    fn new(graph: &Graph, order: &[AxisId], tensors: [&[AxisId]; 2]) -> Self {
        let cards: Vec<usize> = order.iter().map(|v| graph.cards()[v.index()]).collect();
        let stride = |axes: &[AxisId], v: &AxisId| match axes.iter().position(|axis| axis == v) {
            Some(at) => size(graph, &axes[at + 1..]),
            None => 0,
        };
        let strides = order
            .iter()
            .map(|v| tensors.map(|axes| stride(axes, v)))
            .collect();
        Walk {
            states: vec![0; cards.len()],
            cards,
            strides,
            next: [0; 2],
        }
    }

    /// The places of the next state.
    fn step(&mut self) -> [usize; 2] {
        let found = self.next;
        for axis in (0..self.cards.len()).rev() {
            self.states[axis] += 1;
            let is_over = self.states[axis] == self.cards[axis];
            for (next, stride) in self.next.iter_mut().zip(self.strides[axis]) {
                *next = if is_over {
                    *next - stride * (self.cards[axis] - 1)
                } else {
                    *next + stride
                };
            }
            if !is_over {
                break;
            }
            self.states[axis] = 0;
        }
        found
    }
}
