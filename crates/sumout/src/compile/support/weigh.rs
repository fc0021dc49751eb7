//! Turns a tree of products into a graph, and weighs its classes at the root.
//!
//! Joint states of the same class, and with the same value q of the output, differ in nothing that
//! evidence can tell apart: together they weigh W(q, k), the sum of their weights, or the largest
//! for explanations. With children a and b of the root, each class k a pair (i, j) of theirs, the
//! result is
//!
//! ```text
//!     out(q)  =  Σ_k W(q, k) · a(i) · b(j)  =  Σ_j b(j) · m(q, j),    m(q, j) = Σ_k W(q, k) · a(i)
//! ```
//!
//! so that the largest product of all, that of a and b, need not be stored if the sums m are fewer.

use crate::compile::ask::Level;
use crate::compile::support::classes::{Interner, Products};
use crate::compile::support::states::{FactorPart, ProductLeaf, Space};
use crate::compile::support::{Decoder, Supported, cost, join};
use crate::tensor::{AxisId, AxisSet, Graph, NodeId, Op, Table};
use crate::vars::VarId;

/// The graph of a tree of products over a space.
pub(crate) fn lower(space: &Space<'_>, products: &Products) -> Supported {
    let mut lowering = ClassLowering {
        space,
        products,
        graph: Graph::with_selected(space.pruned.cards(), &space.pruned.selected),
    };
    let mut nodes: Vec<Option<NodeId>> = vec![None; products.sizes.len()];
    for node in products
        .postorder()
        .into_iter()
        .filter(|&n| n < products.leaves || n != products.root)
    {
        nodes[node] = Some(if node < products.leaves {
            lowering.leaf(&space.leaves[node])
        } else {
            lowering.inner(node, &nodes)
        });
    }
    let weights = Weights::new(space, products);
    let (weight, decoders) = lowering.weights(&weights);
    let output = lowering.root(&weights, weight, &nodes);
    lowering.graph.set_output(output);
    let mut cost = cost(&lowering.graph);
    cost.constant_entries += weights.triples.len() as f64;
    cost.constant_multiply_adds += (space.count * space.pruned.factors.len()) as f64;
    Supported {
        graph: lowering.graph,
        cost,
        decoders,
        level: Level::Support,
    }
}

/// The weights W(q, k) that are not zero.
struct Weights {
    /// q, k, and a joint state that has them, the heaviest; in increasing order of q and k.
    triples: Vec<(u32, u32, usize)>,
    values: Vec<f64>,
    /// All joint states, each with the number of its triple.
    states: Vec<(usize, u32)>,
}

impl Weights {
    fn new(space: &Space<'_>, products: &Products) -> Self {
        let output = space.pruned.output.iter().next();
        let value = |at: usize| output.map_or(0, |q| space.columns[q.index()][at].into());
        let class = |at: usize| products.column.as_ref().map_or(0, |column| column[at]);
        let mut all: Vec<(u32, u32, usize)> = (0..space.count)
            .map(|at| (value(at), class(at), at))
            .collect();
        all.sort_unstable();
        let mut weights = Weights {
            triples: vec![],
            values: vec![],
            states: vec![],
        };
        for same in all.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)) {
            let triple = weights.triples.len() as u32;
            weights
                .states
                .extend(same.iter().map(|&(_, _, at)| (at, triple)));
            let numbers = same.iter().map(|&(_, _, at)| space.weights[at]);
            let heaviest = same
                .iter()
                .max_by(|x, y| space.weights[x.2].total_cmp(&space.weights[y.2]));
            weights.triples.extend(heaviest);
            weights.values.push(if space.pruned.explain {
                numbers.fold(0.0, f64::max)
            } else {
                numbers.sum()
            });
        }
        weights
    }
}

struct ClassLowering<'a> {
    space: &'a Space<'a>,
    products: &'a Products,
    graph: Graph,
}

/// Where products go, and which entries they are of.
type Triple = [u32; 3];

impl ClassLowering<'_> {
    fn leaf(&mut self, leaf: &ProductLeaf) -> NodeId {
        match leaf {
            ProductLeaf::Evidence(v) => self.graph.add(Op::Evidence(*v)),
            ProductLeaf::Factor(part) => self.factor(part),
        }
    }

    /// A factor on the classes of its inner variables, times evidence on its private ones, which
    /// are summed out.
    fn factor(&mut self, part: &FactorPart) -> NodeId {
        let pruned = self.space.pruned;
        let axis = self.graph.axis(part.places.len());
        let numbers = &pruned.factors[part.factor].values;
        let values = part
            .places
            .iter()
            .flat_map(|place| part.offsets.iter().map(move |o| numbers[place + o]))
            .collect();
        let axes = std::iter::once(axis)
            .chain(part.private.iter().map(|&v| v.into()))
            .collect();
        let origin = pruned.origins[part.factor].as_ref().map(|origin| {
            origin.at(part
                .places
                .iter()
                .flat_map(|place| part.offsets.iter().map(move |o| place + o)))
        });
        let mut node = self.graph.table_from(Table { axes, values }, origin);
        for &v in part
            .private
            .iter()
            .filter(|v| pruned.hosts.iter().any(|(input, _)| input == *v))
        {
            let evidence = self.graph.add(Op::Evidence(v));
            let keep = self.graph.axes(node) - &AxisSet::from_iter([v.into()]);
            node = self.graph.add(Op::Contract(node, evidence, keep));
            node = self.graph.add(Op::Rescale(node));
        }
        let keep = AxisSet::from_iter([axis]);
        if self.graph.axes(node) == &keep {
            node
        } else {
            self.graph.add(Op::Project(node, keep))
        }
    }

    /// The products of the two children's entries, class by class.
    fn inner(&mut self, node: usize, nodes: &[Option<NodeId>]) -> NodeId {
        let [a, b] =
            self.products.children[node].map(|child| nodes[child].expect("children come first"));
        let axis = self.graph.axis(self.products.sizes[node]);
        let triples = self.products.pairs[node]
            .iter()
            .enumerate()
            .map(|(k, &[i, j])| [k as u32, i, j]);
        join(&mut self.graph, [a, b], Some(axis), triples)
    }

    /// The tensor of the weights, and what its entries stand for.
    fn weights(&mut self, weights: &Weights) -> (NodeId, Vec<Decoder>) {
        let axis = self.graph.axis(weights.values.len());
        let node = if self.space.visible.is_empty() {
            self.graph.table(Table {
                axes: vec![axis],
                values: weights.values.clone(),
            })
        } else {
            self.visible_weights(weights, axis)
        };
        let node = self.scaled(node, self.space.exponent);
        if !self.space.pruned.explain {
            return (node, vec![]);
        }
        let columns = &self.space.columns;
        let vars: Vec<VarId> = (0..columns.len())
            .filter(|&v| !columns[v].is_empty())
            .map(VarId::new)
            .collect();
        let states = weights
            .triples
            .iter()
            .flat_map(|t| vars.iter().map(|v| columns[v.index()][t.2]))
            .collect();
        (node, vec![Decoder { axis, vars, states }])
    }

    /// The weights as sums of products of the factors that must stay visible: a product for each
    /// joint state.
    fn visible_weights(&mut self, weights: &Weights, axis: AxisId) -> NodeId {
        let space = self.space;
        let states = &weights.states;
        let every = self.graph.axis(states.len());
        let values = states.iter().map(|&(at, _)| space.weights[at]).collect();
        let mut node = self.graph.table(Table {
            axes: vec![every],
            values,
        });
        for (i, part) in space.visible.iter().enumerate() {
            let numbers = space.pruned.factors[part.factor].values.clone();
            let entries = self.graph.axis(numbers.len());
            let table = Table {
                axes: vec![entries],
                values: numbers,
            };
            let table = self
                .graph
                .table_from(table, space.pruned.origins[part.factor].clone());
            let is_last = i + 1 == space.visible.len();
            let triples = states.iter().enumerate().map(|(s, &(at, triple))| {
                let to = if is_last { triple } else { s as u32 };
                [to, s as u32, space.place(part, at) as u32]
            });
            node = join(
                &mut self.graph,
                [node, table],
                Some(if is_last { axis } else { every }),
                triples,
            );
        }
        node
    }

    /// A tensor times a power of two that may not be representable itself.
    fn scaled(&mut self, node: NodeId, exponent: i64) -> NodeId {
        const MAX_EXPONENT: i64 = 1000;
        let mut scale = None;
        let mut left = exponent;
        while left != 0 {
            let power = left.clamp(-MAX_EXPONENT, MAX_EXPONENT);
            let next = self.graph.table(Table {
                axes: vec![],
                values: vec![2f64.powi(power as i32)],
            });
            scale = Some(scale.map_or(next, |scale| self.multiply(scale, next)));
            left -= power;
        }
        scale.map_or(node, |scale| self.multiply(node, scale))
    }

    fn multiply(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let product = self
            .graph
            .add(Op::Contract(a, b, self.graph.axes(a).clone()));
        self.graph.add(Op::Rescale(product))
    }

    /// The result: the product of the root's children, weighed.
    fn root(&mut self, weights: &Weights, weight: NodeId, nodes: &[Option<NodeId>]) -> NodeId {
        let Products {
            leaves,
            root,
            children,
            sizes,
            ..
        } = self.products;
        let output = self.space.pruned.output.iter().next().map(AxisId::from);
        if *leaves >= 2 {
            let sums = [0, 1].map(|side| Sums::new(weights, self.products, side));
            let (side, least) = if sums[0].pairs.len() < sums[1].pairs.len() {
                (0, &sums[0])
            } else {
                (1, &sums[1])
            };
            if least.pairs.len() < sizes[*root] {
                let [summed, kept] = [1 - side, side]
                    .map(|at| nodes[children[*root][at]].expect("children come first"));
                let axis = self.graph.axis(least.pairs.len());
                let sums = join(
                    &mut self.graph,
                    [summed, weight],
                    Some(axis),
                    least.triples.iter().copied(),
                );
                let pairs = least.pairs.iter().enumerate();
                return join(
                    &mut self.graph,
                    [sums, kept],
                    output,
                    pairs.map(|(m, &[q, j])| [q, m as u32, j]),
                );
            }
        }
        let product = match *leaves {
            0 => self.graph.table(Table {
                axes: vec![],
                values: vec![1.0],
            }),
            1 => nodes[*root].expect("the root is a leaf"),
            _ => self.inner(*root, nodes),
        };
        let triples = weights
            .triples
            .iter()
            .enumerate()
            .map(|(t, &(q, k, _))| [q, k, t as u32]);
        join(&mut self.graph, [product, weight], output, triples)
    }
}

/// The sums m(q, j) over one child of the root, for the classes j of the other.
struct Sums {
    pairs: Vec<[u32; 2]>,
    triples: Vec<Triple>,
}

impl Sums {
    /// The sums for the classes of the child on this side.
    fn new(weights: &Weights, products: &Products, side: usize) -> Self {
        let pairs = &products.pairs[products.root];
        let parts = |t: usize| {
            let (q, k, _) = weights.triples[t];
            let pair = pairs[k as usize];
            (q, pair[side], pair[1 - side], t as u32)
        };
        let mut all: Vec<(u32, u32, u32, u32)> = (0..weights.triples.len()).map(parts).collect();
        all.sort_unstable();
        let mut interner = Interner::default();
        interner.clear(usize::MAX, usize::MAX, all.len());
        let triples = all
            .into_iter()
            .map(|(q, j, i, t)| [interner.number(q, j), i, t])
            .collect();
        Sums {
            pairs: interner.pairs().to_vec(),
            triples,
        }
    }
}
