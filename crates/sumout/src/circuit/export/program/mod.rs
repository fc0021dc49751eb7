//! A circuit as the steps of a program in any language.
//!
//! There is a step for each operation of the graph, in the graph's order, and the order of each
//! tensor's axes is decided here: what both factors of a product have, what the first has, what the
//! second has. Where the axis of the batch is, languages decide.
//!
//! Rescaling costs two passes over a tensor. The engine, where it is free, rescales after every
//! product; here it is done where the numbers that were multiplied since the last time could have
//! become small.

mod live;

use std::collections::BTreeMap;

use crate::circuit::Circuit;
use crate::error::{Error, ErrorKind, Remedy, Result};
use crate::tensor::select::Selector;
use crate::tensor::{
    AxisId, AxisSet, Graph, ListId, Map, MapId, NodeId, Op, PickId, RuleId, TableId, Weighing,
};
use crate::vars::VarId;

/// The letters of axes, and last of all that of the batch.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXY";

/// Numbers that may have lost this many bits are rescaled. A number of 32 bits can lose 126.
const MAX_LOST_BITS: f64 = 40.0;

/// The number of bits that a likelihood counts as.
const EVIDENCE_BITS: f64 = 4.0;

/// A tensor of a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Value {
    /// Its number, which names it.
    number: usize,
    /// Its axes in their order, without the batch.
    pub axes: Vec<AxisId>,
    /// Whether it differs between examples.
    pub varies: bool,
    /// The number that names its exponent.
    exponent: Option<usize>,
    /// How many bits its numbers may have lost since they were rescaled.
    lost: f64,
}

impl Value {
    /// The variable of the program that has it.
    pub fn name(&self) -> String {
        format!("t{}", self.number)
    }

    /// The node of the graph that it is.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The variable of the program that has its exponent.
    pub fn exponent(&self) -> Option<String> {
        self.exponent.map(|number| format!("e{number}"))
    }
}

/// How a tensor is computed.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    /// The likelihoods of the values that an input can have.
    Given(VarId),
    /// A table.
    Table(TableId),
    /// A product of two tensors, summed to the axes that the result has.
    Einsum,
    /// A sum over the axes at these places.
    Sum(Vec<usize>),
    /// Products that a list pairs.
    Join(ListId),
    /// The entries that a list of places, with this number, points to.
    Gather(usize),
    /// Entries of several tensors side by side, with the largest of their exponents.
    Collect(PickId),
    /// A power of two moves into the exponent.
    Rescale,
    /// The weights of copies, from tensors up to a factor; the tables of the rule come last.
    Select(RuleId),
}

/// A tensor, and what it is computed from.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub to: Value,
    pub of: Vec<Value>,
    pub call: Call,
}

/// The steps that compute a circuit's output.
#[derive(Debug)]
pub(crate) struct Listing<'a> {
    pub circuit: &'a Circuit,
    pub graph: &'a Graph,
    pub steps: Vec<Step>,
    pub output: Value,
    /// For each entry of what gathers give, its place in the tensor that is read, or
    /// [`Map::NOWHERE`].
    pub places: Vec<Vec<u32>>,
    known: BTreeMap<(MapId, Vec<AxisId>), usize>,
}

impl<'a> Listing<'a> {
    pub fn new(circuit: &'a Circuit) -> Result<Self> {
        let graph = &circuit.graph;
        let (steps, output, places) = (vec![], Value::default(), vec![]);
        let mut program = Listing {
            circuit,
            graph,
            steps,
            output,
            places,
            known: BTreeMap::new(),
        };
        let used = used(graph);
        let mut tensors = vec![Value::default(); graph.len()];
        for (node, op) in graph.ops().filter(|(node, _)| used[node.index()]) {
            let of: Vec<Value> = op
                .inputs()
                .map(|input| tensors[input.index()].clone())
                .collect();
            tensors[node.index()] = program.step(node, op, of)?;
        }
        program.output = tensors.swap_remove(graph.output().index());
        Ok(program)
    }

    /// Adds the step of an operation, if it needs one.
    fn step(&mut self, node: NodeId, op: &Op, of: Vec<Value>) -> Result<Value> {
        let mut to = combined(node.index(), &of);
        let call = match op {
            Op::Evidence(v) => {
                (to.axes, to.varies, to.lost) = (vec![(*v).into()], true, EVIDENCE_BITS);
                Call::Given(*v)
            }
            Op::Table(t) => self.table(*t, &mut to),
            Op::Contract(_, _, keep) => self.contract(&of, keep, &mut to)?,
            Op::Project(_, keep) => project(&of[0], keep, &mut to),
            Op::Join(_, _, list) => {
                to.axes = self.graph.lists()[list.index()].axis.into_iter().collect();
                Call::Join(*list)
            }
            Op::Gather(_, map) => self.gather(&of[0], *map, &mut to),
            Op::Collect(_, pick) => {
                to = collected(node.index(), &of);
                to.axes = vec![self.graph.picks()[pick.index()].axis];
                Call::Collect(*pick)
            }
            Op::Select(_, rule) => {
                to = Value {
                    exponent: None,
                    lost: least_weight(&Selector::of(self.graph, node)),
                    ..to
                };
                to.axes = vec![self.graph.rules()[rule.index()].axis];
                Call::Select(*rule)
            }
            Op::Rescale(_) if to.lost <= MAX_LOST_BITS => return Ok(of[0].clone()),
            Op::Rescale(_) => {
                to = Value {
                    axes: of[0].axes.clone(),
                    exponent: Some(node.index()),
                    lost: 0.0,
                    ..to
                };
                Call::Rescale
            }
        };
        self.steps.push(Step {
            to: to.clone(),
            of,
            call,
        });
        Ok(to)
    }

    fn table(&self, id: TableId, to: &mut Value) -> Call {
        let table = &self.graph.tables()[id.index()];
        let smallest = table
            .values
            .iter()
            .copied()
            .filter(|&x| x > 0.0)
            .fold(1.0, f64::min);
        (to.axes, to.lost) = (table.axes.clone(), -smallest.log2());
        Call::Table(id)
    }

    fn contract(&self, of: &[Value], keep: &AxisSet, to: &mut Value) -> Result<Call> {
        let [a, b] = [&of[0].axes, &of[1].axes];
        let kept = |v: &&AxisId| keep.contains(**v);
        let both = a.iter().filter(kept).filter(|v| b.contains(v));
        let first = a.iter().filter(kept).filter(|v| !b.contains(v));
        let second = b.iter().filter(kept).filter(|v| !a.contains(v));
        to.axes = both.chain(first).chain(second).copied().collect();
        let axes = all_axes(of).len();
        if axes > LETTERS.len() {
            let message = format!(
                "a product has {axes} axes, and a program can name {}",
                LETTERS.len()
            );
            let error = Error::new(ErrorKind::Unsupported, message);
            return Err(error.hint(Remedy::MoreEffort(None)));
        }
        Ok(Call::Einsum)
    }

    fn gather(&mut self, a: &Value, id: MapId, to: &mut Value) -> Call {
        let map = &self.graph.maps()[id.index()];
        let rest = a
            .axes
            .iter()
            .filter(|v| !map.from.contains(v) && !map.over.contains(v));
        to.axes = map.over.iter().chain(rest).copied().collect();
        let key = (id, a.axes.clone());
        if !self.known.contains_key(&key) {
            self.places.push(self.read_places(map, &a.axes, &to.axes));
        }
        Call::Gather(*self.known.entry(key).or_insert(self.places.len() - 1))
    }

    /// For each entry of what a map gives, its place in the tensor that is read.
    fn read_places(&self, map: &Map, axes: &[AxisId], to: &[AxisId]) -> Vec<u32> {
        let cards = self.graph.cards();
        let mut states = vec![0; cards.len()];
        let place = |states: &[usize], axes: &[AxisId]| {
            axes.iter()
                .fold(0, |at, v| at * cards[v.index()] + states[v.index()])
        };
        let read = |entry: usize| {
            decide(&mut states, cards, to, entry);
            let from = map.index[place(&states, &map.over)];
            if from == Map::NOWHERE {
                return Map::NOWHERE;
            }
            decide(&mut states, cards, &map.from, from as usize);
            place(&states, axes) as u32
        };
        (0..self.shape(to).iter().product()).map(read).collect()
    }

    /// The number of values of each axis.
    pub fn shape(&self, axes: &[AxisId]) -> Vec<usize> {
        axes.iter().map(|v| self.graph.cards()[v.index()]).collect()
    }

    /// The inputs of which one value is left. Evidence on them is not a tensor, but multiplies into
    /// P(e).
    pub fn closed(&self) -> impl Iterator<Item = VarId> + '_ {
        self.circuit
            .inputs()
            .filter(|&v| self.graph.find(&Op::Evidence(v)).is_none())
    }
}

impl Step {
    /// The equation of a product; a term gives the places of a tensor's letters and of the batch's.
    pub fn equation(&self, term: impl Fn(&Value, String) -> String) -> String {
        let all = all_axes(&self.of);
        let letter = |v: &AxisId| {
            LETTERS.as_bytes()[all.as_slice().binary_search(v).unwrap_or_default()] as char
        };
        let term = |t: &Value| term(t, t.axes.iter().map(letter).collect());
        format!(
            "{},{}->{}",
            term(&self.of[0]),
            term(&self.of[1]),
            term(&self.to)
        )
    }

    /// The exponents of what it is computed from; tests divide by sums, and have none.
    pub fn exponents(&self) -> Vec<String> {
        let of = if matches!(self.call, Call::Select(_)) {
            &[]
        } else {
            &self.of[..]
        };
        of.iter().filter_map(Value::exponent).collect()
    }
}

/// A tensor's properties that follow from its inputs: whether it varies, and its exponent.
fn combined(number: usize, of: &[Value]) -> Value {
    let mut exponents = of.iter().filter_map(|input| input.exponent);
    let exponent = match (exponents.next(), exponents.next()) {
        (Some(_), Some(_)) => Some(number),
        (one, _) => one,
    };
    let varies = of.iter().any(|input| input.varies);
    let lost = of.iter().map(|input| input.lost).sum();
    Value {
        number,
        axes: vec![],
        varies,
        exponent,
        lost,
    }
}

/// The same for a collection, whose exponent is the largest of all.
fn collected(number: usize, of: &[Value]) -> Value {
    let has_exponent = of.iter().any(|input| input.exponent.is_some());
    Value {
        exponent: has_exponent.then_some(number),
        lost: of.iter().map(|input| input.lost).fold(0.0, f64::max),
        ..combined(number, of)
    }
}

/// How many bits the weights of a test may be below one.
fn least_weight(selector: &Selector) -> f64 {
    match selector.weighing {
        Weighing::Step { .. } => 0.0,
        Weighing::Sigmoid => selector.slope * std::f64::consts::LOG2_E,
        Weighing::Linear => 2.0 * MAX_LOST_BITS,
        Weighing::Softmax => {
            let largest = selector.tables[0]
                .iter()
                .map(|x| x.abs())
                .fold(0.0, f64::max);
            2.0 * largest * (1 + selector.parts.len()) as f64 * std::f64::consts::LOG2_E
        }
    }
}

fn project(a: &Value, keep: &AxisSet, to: &mut Value) -> Call {
    to.axes = a
        .axes
        .iter()
        .copied()
        .filter(|v| keep.contains(*v))
        .collect();
    let summed = a
        .axes
        .iter()
        .enumerate()
        .filter(|(_, v)| !keep.contains(**v));
    Call::Sum(summed.map(|(place, _)| place).collect())
}

fn all_axes(of: &[Value]) -> AxisSet {
    of.iter().flat_map(|tensor| &tensor.axes).copied().collect()
}

/// Gives some variables the states that a place in a tensor with these axes stands for.
fn decide(states: &mut [usize], cards: &[usize], axes: &[AxisId], mut place: usize) {
    for v in axes.iter().rev() {
        states[v.index()] = place % cards[v.index()];
        place /= cards[v.index()];
    }
}

/// Whether the output needs each node.
fn used(graph: &Graph) -> Vec<bool> {
    let mut used = vec![false; graph.len()];
    used[graph.output().index()] = true;
    let ops: Vec<(NodeId, &Op)> = graph.ops().collect();
    for (node, op) in ops.into_iter().rev() {
        if used[node.index()] {
            op.inputs().for_each(|input| used[input.index()] = true);
        }
    }
    used
}
