//! A circuit as a graph of single numbers: the arithmetic circuit that a tensor graph stands for.
//!
//! The paper compares the two (its Table 6). In the *scalar graph* a node is a number, and examples are evaluated one after the
//! other. In the *scalar-batch graph* a node has a number for each example of a batch. Both have the same nodes: a product
//! for each pair of entries that are multiplied, and a sum for each entry that is more than one product.
//!
//! Constants are folded, and factors of zero and one disappear. Numbers are not rescaled, since that needs a whole tensor: P(e) must
//! be a number of 64 bits.

use super::graph::{Graph, List, Map, NodeId, Op, Table};
use crate::error::{Error, ErrorKind, Result};
use crate::vars::{VarId, VarSet};

/// A node of a [`ScalarGraph`]; what it reads stands before it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scalar {
    Constant(f64),
    /// The likelihood of a value, by its place among all inputs.
    Input(u32),
    Product(u32, u32),
    /// The sum of some terms, from one place to another.
    Sum(u32, u32),
}

/// A graph of single numbers.
#[derive(Clone, Debug)]
pub struct ScalarGraph {
    nodes: Vec<Scalar>,
    terms: Vec<u32>,
    inputs: Vec<(VarId, usize)>,
    outputs: Vec<u32>,
}

/// The most nodes and terms that the scalar graph of a graph can have.
pub fn most_scalars(graph: &Graph) -> f64 {
    let size = |vars: &VarSet| vars.iter().map(|v| graph.cards()[v.index()] as f64).product::<f64>();
    let cost = |(node, op): (NodeId, &Op)| match op {
        Op::Evidence(_) | Op::Table(_) => graph.size(node),
        Op::Contract(a, b, _) => 2.0 * size(&(graph.axes(*a) | graph.axes(*b))) + graph.size(node),
        Op::Project(a, _) => graph.size(*a) + graph.size(node),
        Op::Join(_, _, list) => 2.0 * graph.lists()[list.index()].outs.len() as f64 + graph.size(node),
        Op::Gather(..) | Op::Rescale(_) => 0.0,
    };
    graph.ops().map(cost).sum()
}

impl ScalarGraph {
    /// Expands a graph, unless that could need more bytes than the limit.
    pub fn new(graph: &Graph, limit: u64) -> Result<Self> {
        let entries: f64 = graph.ops().map(|(node, _)| graph.size(node)).sum();
        let bytes = most_scalars(graph) * size_of::<Scalar>() as f64 + entries * 4.0;
        if bytes > limit as f64 {
            let message = format!("the scalar graph could need {bytes:.3e} bytes, and the limit is {limit}");
            return Err(Error::new(ErrorKind::Memory, message).hint("the tensor graph is much smaller"));
        }
        Ok(Expansion::new(graph).expand())
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// What has to be given: variables, each with the number of its values that are left.
    pub fn inputs(&self) -> &[(VarId, usize)] {
        &self.inputs
    }

    /// The output's numbers for one example. `likelihoods` are those of all inputs, one after the other; `memory` is used
    /// again by the next example.
    pub fn evaluate(&self, likelihoods: &[f64], memory: &mut Vec<f64>) -> Vec<f64> {
        memory.clear();
        for node in &self.nodes {
            memory.push(match *node {
                Scalar::Constant(x) => x,
                Scalar::Input(place) => likelihoods[place as usize],
                Scalar::Product(a, b) => memory[a as usize] * memory[b as usize],
                Scalar::Sum(from, to) => {
                    self.terms[from as usize..to as usize].iter().map(|&term| memory[term as usize]).sum()
                }
            });
        }
        self.outputs.iter().map(|&output| memory[output as usize]).collect()
    }

    /// The same for a batch: each likelihood, and each number of the output, is a row of numbers, one for each example.
    pub fn evaluate_batch(&self, likelihoods: &[f64], batch: usize, memory: &mut Vec<f64>) -> Vec<f64> {
        memory.resize(self.nodes.len() * batch, 0.0);
        for (place, node) in self.nodes.iter().enumerate() {
            let (before, rest) = memory.split_at_mut(place * batch);
            let row = |node: u32| &before[node as usize * batch..][..batch];
            let to = &mut rest[..batch];
            match *node {
                Scalar::Constant(x) => to.fill(x),
                Scalar::Input(place) => to.copy_from_slice(&likelihoods[place as usize * batch..][..batch]),
                Scalar::Product(a, b) => {
                    to.iter_mut().zip(row(a)).zip(row(b)).for_each(|((to, a), b)| *to = a * b);
                }
                Scalar::Sum(from, end) => {
                    to.fill(0.0);
                    for &term in &self.terms[from as usize..end as usize] {
                        to.iter_mut().zip(row(term)).for_each(|(to, x)| *to += x);
                    }
                }
            }
        }
        self.outputs.iter().flat_map(|&output| memory[output as usize * batch..][..batch].to_vec()).collect()
    }
}

/// A graph while it is expanded.
struct Expansion<'a> {
    graph: &'a Graph,
    scalars: ScalarGraph,
    /// For each tensor, the scalar nodes of its entries, axes in the order of the variables, the last fastest.
    entries: Vec<Vec<u32>>,
    given: u32,
}

impl<'a> Expansion<'a> {
    fn new(graph: &'a Graph) -> Self {
        let scalars = ScalarGraph { nodes: vec![], terms: vec![], inputs: vec![], outputs: vec![] };
        Expansion { graph, scalars, entries: vec![], given: 0 }
    }

    fn expand(mut self) -> ScalarGraph {
        for (node, op) in self.graph.ops() {
            let entries = match op {
                Op::Evidence(v) => self.evidence(*v),
                Op::Table(t) => self.table(node, &self.graph.tables()[t.index()]),
                Op::Contract(a, b, _) => self.contract(node, &[*a, *b]),
                Op::Project(a, _) => self.contract(node, &[*a]),
                Op::Join(a, b, list) => self.join(node, *a, *b, &self.graph.lists()[list.index()]),
                Op::Gather(a, map) => self.gather(node, *a, &self.graph.maps()[map.index()]),
                Op::Rescale(a) => self.entries[a.index()].clone(),
            };
            self.entries.push(entries);
        }
        self.scalars.outputs = self.entries[self.graph.output().index()].clone();
        self.scalars
    }

    fn evidence(&mut self, var: VarId) -> Vec<u32> {
        let card = self.graph.cards()[var.index()];
        self.scalars.inputs.push((var, card));
        let first = self.given;
        self.given += card as u32;
        (first..self.given).map(|place| self.add(Scalar::Input(place))).collect()
    }

    fn table(&mut self, node: NodeId, table: &Table) -> Vec<u32> {
        let mut states = self.states();
        let axes = self.graph.axes(node).as_slice();
        let entry = |entry: usize| {
            self.decide(&mut states, axes, entry);
            table.values[self.place(&table.axes, &states)]
        };
        let values: Vec<f64> = (0..table.values.len()).map(entry).collect();
        values.into_iter().map(|x| self.add(Scalar::Constant(x))).collect()
    }

    fn contract(&mut self, out: NodeId, factors: &[NodeId]) -> Vec<u32> {
        let graph = self.graph;
        let all = factors.iter().fold(VarSet::default(), |all, &f| &all | graph.axes(f));
        let mut sums = vec![vec![]; graph.size(out) as usize];
        let mut states = self.states();
        for entry in 0..all.iter().map(|v| graph.cards()[v.index()]).product() {
            self.decide(&mut states, all.as_slice(), entry);
            let place = |node: NodeId| self.place(graph.axes(node).as_slice(), &states);
            let at = place(out);
            let read: Vec<u32> = factors.iter().map(|&f| self.entries[f.index()][place(f)]).collect();
            let term = if let [a, b] = read[..] { self.product(a, b) } else { read[0] };
            sums[at].push(term);
        }
        sums.into_iter().map(|terms| self.sum(&terms)).collect()
    }

    fn join(&mut self, out: NodeId, a: NodeId, b: NodeId, list: &List) -> Vec<u32> {
        let mut sums = vec![vec![]; self.graph.size(out) as usize];
        for ((&to, &x), &y) in list.outs.iter().zip(&list.a).zip(&list.b) {
            let (x, y) = (self.entries[a.index()][x as usize], self.entries[b.index()][y as usize]);
            let term = self.product(x, y);
            sums[to as usize].push(term);
        }
        sums.into_iter().map(|terms| self.sum(&terms)).collect()
    }

    fn gather(&mut self, out: NodeId, a: NodeId, map: &Map) -> Vec<u32> {
        let graph = self.graph;
        let zero = self.add(Scalar::Constant(0.0));
        let mut states = self.states();
        let read = |entry: usize| {
            self.decide(&mut states, graph.axes(out).as_slice(), entry);
            let from = map.index[self.place(&map.over, &states)];
            if from == Map::NOWHERE {
                return zero;
            }
            self.decide(&mut states, &map.from, from as usize);
            self.entries[a.index()][self.place(graph.axes(a).as_slice(), &states)]
        };
        (0..graph.size(out) as usize).map(read).collect()
    }

    fn add(&mut self, node: Scalar) -> u32 {
        self.scalars.nodes.push(node);
        self.scalars.nodes.len() as u32 - 1
    }

    fn product(&mut self, a: u32, b: u32) -> u32 {
        let node = |place: u32| self.scalars.nodes[place as usize];
        match (node(a), node(b)) {
            (Scalar::Constant(x), Scalar::Constant(y)) => self.add(Scalar::Constant(x * y)),
            (Scalar::Constant(0.0), _) | (_, Scalar::Constant(1.0)) => a,
            (_, Scalar::Constant(0.0)) | (Scalar::Constant(1.0), _) => b,
            _ => self.add(Scalar::Product(a, b)),
        }
    }

    fn sum(&mut self, terms: &[u32]) -> u32 {
        let constant = |term: u32| match self.scalars.nodes[term as usize] {
            Scalar::Constant(x) => Some(x),
            _ => None,
        };
        if let Some(constants) = terms.iter().map(|&term| constant(term)).collect::<Option<Vec<f64>>>() {
            return self.add(Scalar::Constant(constants.iter().sum()));
        }
        let counted: Vec<u32> = terms.iter().copied().filter(|&term| constant(term) != Some(0.0)).collect();
        if let [only] = counted[..] {
            return only;
        }
        let from = self.scalars.terms.len() as u32;
        self.scalars.terms.extend(counted);
        self.add(Scalar::Sum(from, self.scalars.terms.len() as u32))
    }

    /// Room for a state of every axis.
    fn states(&self) -> Vec<usize> {
        vec![0; self.graph.cards().len()]
    }

    /// Gives some axes the states that an entry of a tensor with these axes stands for.
    fn decide(&self, states: &mut [usize], axes: &[VarId], mut entry: usize) {
        for v in axes.iter().rev() {
            states[v.index()] = entry % self.graph.cards()[v.index()];
            entry /= self.graph.cards()[v.index()];
        }
    }

    /// The place of a joint state in a tensor with these axes.
    fn place(&self, axes: &[VarId], states: &[usize]) -> usize {
        axes.iter().fold(0, |at, v| at * self.graph.cards()[v.index()] + states[v.index()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::Level;
    use crate::{Batch, Circuit, Column, Network, Options, Query};

    fn circuit(model: &str, query: &Query, level: &str) -> Circuit {
        let options = Options { level: level.parse().unwrap(), effort: 0.1, ..Options::default() };
        Network::read(model).unwrap().compile(query, &options).unwrap()
    }

    /// Three examples; of some inputs nothing is known.
    fn value(example: usize, input: usize) -> i32 {
        [0, 1, -1, 1, 0, 0, 1][(5 * example + input) % 7]
    }

    fn answers(circuit: &Circuit) -> Vec<Vec<f64>> {
        let mut batch = Batch::new(3);
        for (k, v) in circuit.inputs().enumerate() {
            batch.insert(circuit, v, Column::Values((0..3).map(|example| value(example, k)).collect())).unwrap();
        }
        let answers = circuit.evaluate(&batch).unwrap();
        let joint = |row: usize| answers.row(row).iter().map(|p| p * answers.log_evidence[row].exp()).collect();
        (0..3).map(joint).collect()
    }

    fn likelihoods(circuit: &Circuit, scalars: &ScalarGraph, example: usize) -> Vec<f64> {
        let given = |v: VarId| circuit.inputs().position(|input| input == v).map_or(-1, |k| value(example, k));
        let of = |&(v, card): &(VarId, usize)| {
            (0..card).map(move |k| f64::from(u8::from(given(v) < 0 || given(v) == k as i32))).collect::<Vec<_>>()
        };
        scalars.inputs().iter().flat_map(of).collect()
    }

    #[test]
    fn scalars_answer_as_tensors_do() {
        let questions =
            [("asia", Query::of("lung").given(["xray", "dysp"])), ("rect:4", Query::of("label").given(["pixel_*"]))];
        for (model, query) in questions {
            for level in Level::names() {
                let circuit = circuit(model, &query, level);
                let scalars = ScalarGraph::new(circuit.graph(), 1 << 30).unwrap();
                assert!((scalars.len() as f64) <= most_scalars(circuit.graph()));
                let expected = answers(&circuit);
                let rows: Vec<Vec<f64>> = (0..3).map(|example| likelihoods(&circuit, &scalars, example)).collect();
                let columns: Vec<f64> = (0..rows[0].len()).flat_map(|k| rows.iter().map(move |row| row[k])).collect();
                let mut memory = vec![];
                let together = scalars.evaluate_batch(&columns, 3, &mut memory);
                for (example, row) in rows.iter().enumerate() {
                    let alone = scalars.evaluate(row, &mut memory);
                    for (k, &x) in alone.iter().enumerate() {
                        assert!((x - expected[example][k]).abs() < 1e-9 * expected[example][k].max(1e-300), "{level}");
                        assert_eq!(x, together[3 * k + example]);
                    }
                }
            }
        }
    }

    #[test]
    fn a_graph_that_could_be_too_large_is_refused_before_it_is_expanded() {
        let circuit = circuit("rect:16", &Query::of("label").given(["pixel_*"]), "paper");
        let refused = ScalarGraph::new(circuit.graph(), 1 << 20).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Memory);
        assert!(refused.message().starts_with("the scalar graph could need"));
    }
}
