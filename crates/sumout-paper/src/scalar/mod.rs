//! A circuit as a graph of single numbers: the arithmetic circuit that a tensor graph stands for.
//!
//! The paper compares the two (its Table 6). In the *scalar graph* a node is a number, and examples
//! are evaluated one after the other. In the *scalar-batch graph* a node has a number for each
//! example of a batch. Both have the same nodes: a product for each pair of entries that are
//! multiplied, and a sum for each entry that is more than one product.
//!
//! Constants are folded, factors of zero and one disappear unless the graph is to be literal, and
//! so do nodes that nothing reads. Numbers share memory as soon as they are not needed any more: a
//! large circuit would not fit otherwise. Numbers are not rescaled, since that needs a whole
//! tensor: P(e) must be a number of 64 bits.

mod expand;
mod settle;

use sumout::internals::graph::{AxisSet, Graph, NodeId, Op};
use sumout::{Error, ErrorKind, Result, VarId};

/// A node of a [`ScalarGraph`]; what it reads stands before it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scalar {
    /// A constant, by its place among all of them.
    Constant(u32),
    /// The likelihood of a value, by its place among all inputs.
    Input(u32),
    Product(u32, u32),
    /// The sum of some terms, from one place to another.
    Sum(u32, u32),
}

/// A graph of single numbers.
#[derive(Clone, Debug)]
pub struct ScalarGraph {
    /// Each with the place in memory that its number gets. Products and terms are read from places,
    /// too.
    nodes: Vec<(Scalar, u32)>,
    constants: Vec<f64>,
    terms: Vec<u32>,
    inputs: Vec<(VarId, usize)>,
    outputs: Vec<u32>,
    places: usize,
}

/// The most nodes and terms that the scalar graph of a graph can have.
pub fn most_scalars(graph: &Graph) -> f64 {
    let size = |axes: &AxisSet| {
        axes.iter()
            .map(|v| graph.cards()[v.index()] as f64)
            .product::<f64>()
    };
    let cost = |(node, op): (NodeId, &Op)| match op {
        Op::Evidence(_) | Op::Table(_) => graph.size(node),
        Op::Contract(a, b, _) => 2.0 * size(&(graph.axes(*a) | graph.axes(*b))) + graph.size(node),
        Op::Project(a, _) => graph.size(*a) + graph.size(node),
        Op::Join(_, _, list) => {
            2.0 * graph.lists()[list.index()].outs.len() as f64 + graph.size(node)
        }
        Op::Gather(..) | Op::Select(..) => 1.0,
        Op::Collect(..) | Op::Rescale(_) => 0.0,
    };
    graph.ops().map(cost).sum()
}

impl ScalarGraph {
    /// Expands a graph, unless that could need more bytes than the limit.
    pub fn new(graph: &Graph, limit: u64) -> Result<Self> {
        Self::expanded(graph, limit, false)
    }

    /// The same with all that the tensor graph computes: zeros and ones are numbers like others, as
    /// the paper has it.
    pub fn literal(graph: &Graph, limit: u64) -> Result<Self> {
        Self::expanded(graph, limit, true)
    }

    fn expanded(graph: &Graph, limit: u64, is_literal: bool) -> Result<Self> {
        if !graph.rules().is_empty() {
            let error = Error::new(
                ErrorKind::Unsupported,
                "tests are not sums of products, so they have no scalar graph",
            );
            return Err(error.hint("evaluate the tensor graph"));
        }
        let entries: f64 = graph.ops().map(|(node, _)| graph.size(node)).sum();
        let bytes = most_scalars(graph) * size_of::<(Scalar, u32)>() as f64 + entries * 4.0;
        if bytes > limit as f64 {
            let message =
                format!("the scalar graph could need {bytes:.3e} bytes, and the limit is {limit}");
            return Err(
                Error::new(ErrorKind::Memory, message).hint("the tensor graph is much smaller")
            );
        }
        Ok(settle::settle(expand::expand(graph, is_literal)))
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How many numbers are in memory for an example.
    pub fn places(&self) -> usize {
        self.places
    }

    /// The inputs: variables, each with the number of its values that are left.
    pub fn inputs(&self) -> &[(VarId, usize)] {
        &self.inputs
    }

    /// The output's numbers for one example. `likelihoods` are those of all inputs, one after the
    /// other; `memory` is used again by the next example.
    pub fn evaluate(&self, likelihoods: &[f64], memory: &mut Vec<f64>) -> Vec<f64> {
        memory.resize(self.places, 0.0);
        for &(node, to) in &self.nodes {
            memory[to as usize] = match node {
                Scalar::Constant(constant) => self.constants[constant as usize],
                Scalar::Input(input) => likelihoods[input as usize],
                Scalar::Product(a, b) => memory[a as usize] * memory[b as usize],
                Scalar::Sum(from, to) => self.terms[from as usize..to as usize]
                    .iter()
                    .map(|&term| memory[term as usize])
                    .sum(),
            };
        }
        self.outputs
            .iter()
            .map(|&output| memory[output as usize])
            .collect()
    }

    /// The same for a batch: each likelihood, and each number of the output, is a row of numbers,
    /// one for each example.
    pub fn evaluate_batch(
        &self,
        likelihoods: &[f64],
        batch: usize,
        memory: &mut Vec<f64>,
    ) -> Vec<f64> {
        memory.resize(self.places * batch, 0.0);
        let mut found = vec![0.0; batch];
        for &(node, to) in &self.nodes {
            let row = |place: u32| &memory[place as usize * batch..][..batch];
            match node {
                Scalar::Constant(constant) => found.fill(self.constants[constant as usize]),
                Scalar::Input(input) => {
                    found.copy_from_slice(&likelihoods[input as usize * batch..][..batch])
                }
                Scalar::Product(a, b) => {
                    found
                        .iter_mut()
                        .zip(row(a))
                        .zip(row(b))
                        .for_each(|((to, a), b)| *to = a * b);
                }
                Scalar::Sum(from, end) => {
                    found.fill(0.0);
                    for &term in &self.terms[from as usize..end as usize] {
                        found.iter_mut().zip(row(term)).for_each(|(to, x)| *to += x);
                    }
                }
            }
            memory[to as usize * batch..][..batch].copy_from_slice(&found);
        }
        self.outputs
            .iter()
            .flat_map(|&output| memory[output as usize * batch..][..batch].to_vec())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sumout::{Batch, Circuit, Column, Level, Network, Options, Query};

    fn circuit(model: &str, query: &Query, level: &str) -> Circuit {
        let options = Options::default()
            .with_level(level.parse().unwrap())
            .with_effort(0.1);
        Network::read(model)
            .unwrap()
            .compile(query, &options)
            .unwrap()
    }

    /// Three examples; of some inputs nothing is known.
    fn value(example: usize, input: usize) -> i32 {
        [0, 1, -1, 1, 0, 0, 1][(5 * example + input) % 7]
    }

    fn answers(circuit: &Circuit) -> Vec<Vec<f64>> {
        let mut batch = Batch::new(3);
        for (k, v) in circuit.inputs().enumerate() {
            batch
                .insert(
                    circuit,
                    v,
                    Column::Values((0..3).map(|example| value(example, k)).collect()),
                )
                .unwrap();
        }
        let answers = circuit.evaluate(&batch).unwrap();
        let joint = |row: usize| {
            answers
                .row(row)
                .iter()
                .map(|p| p * answers.log_evidence[row].exp())
                .collect()
        };
        (0..3).map(joint).collect()
    }

    fn likelihoods(circuit: &Circuit, scalars: &ScalarGraph, example: usize) -> Vec<f64> {
        let given = |v: VarId| {
            circuit
                .inputs()
                .position(|input| input == v)
                .map_or(-1, |k| value(example, k))
        };
        let of = |&(v, card): &(VarId, usize)| {
            (0..card)
                .map(move |k| f64::from(u8::from(given(v) < 0 || given(v) == k as i32)))
                .collect::<Vec<_>>()
        };
        scalars.inputs().iter().flat_map(of).collect()
    }

    #[test]
    fn scalars_answer_as_tensors_do() {
        let questions = [
            ("asia", Query::of("lung").given(["xray", "dysp"])),
            ("rect:4", Query::of("label").given(["pixel_*"])),
        ];
        for (model, query) in questions {
            for level in Level::names() {
                let circuit = circuit(model, &query, level);
                let folded = ScalarGraph::new(circuit.graph(), 1 << 30).unwrap();
                let literal = ScalarGraph::literal(circuit.graph(), 1 << 30).unwrap();
                assert!(
                    folded.len() <= literal.len()
                        && literal.len() as f64 <= most_scalars(circuit.graph())
                );
                for scalars in [folded, literal] {
                    assert!(
                        scalars.places() < scalars.len(),
                        "{level}: memory is not shared"
                    );
                    assert_answers(&circuit, &scalars, level);
                }
            }
        }
    }

    fn assert_answers(circuit: &Circuit, scalars: &ScalarGraph, level: &str) {
        let expected = answers(circuit);
        let rows: Vec<Vec<f64>> = (0..3)
            .map(|example| likelihoods(circuit, scalars, example))
            .collect();
        let columns: Vec<f64> = (0..rows[0].len())
            .flat_map(|k| rows.iter().map(move |row| row[k]))
            .collect();
        let mut memory = vec![];
        let together = scalars.evaluate_batch(&columns, 3, &mut memory);
        for (example, row) in rows.iter().enumerate() {
            let alone = scalars.evaluate(row, &mut memory);
            for (k, &x) in alone.iter().enumerate() {
                assert!(
                    (x - expected[example][k]).abs() < 1e-9 * expected[example][k].max(1e-300),
                    "{level}"
                );
                assert_eq!(x, together[3 * k + example]);
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
