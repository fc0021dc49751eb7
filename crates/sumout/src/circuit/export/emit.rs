//! The lines of a program, one operation after the other.

mod finish;

use std::collections::{BTreeMap, BTreeSet};

use safetensors::tensor::Dtype;

use super::{Language, Numbers, quoted};
use crate::circuit::Circuit;
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{Graph, List, ListId, Map, MapId, NodeId, Op, TableId};
use crate::vars::{VarId, VarSet};

/// The letters of axes; the batch has one of its own.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXY";

/// Numbers that may have lost this many bits are rescaled. A number of 32 bits can lose 126.
const BITS: f64 = 40.0;

/// A likelihood counts as so many bits.
const EVIDENCE_BITS: f64 = 4.0;

/// The parts of a program.
pub(super) struct Emitted {
    pub constants: Vec<String>,
    pub forward: Vec<String>,
    pub numbers: Vec<Numbers>,
    /// The most numbers that an example needs at once.
    pub peak: usize,
    /// How many numbers all examples share.
    pub shared: usize,
}

/// A line of the function that depends on evidence.
struct Line {
    text: String,
    /// The variable of the program that gets a tensor.
    tensor: String,
    /// The variables of the program that are mentioned, tensors and exponents.
    mentioned: BTreeSet<String>,
}

/// What is known of a tensor of the program.
#[derive(Clone, Default)]
struct Known {
    /// The variable of the program that has it.
    name: String,
    /// Its axes in their order, without the batch.
    axes: Vec<VarId>,
    varies: bool,
    /// The variable of the program that has its exponent.
    exponent: Option<String>,
    /// How many bits its numbers may have lost since they were rescaled.
    lost: f64,
}

impl Known {
    /// The variables of the program that have it.
    fn variables(&self) -> impl Iterator<Item = String> + use<> {
        [Some(self.name.clone()), self.exponent.clone()].into_iter().flatten()
    }
}

pub(super) struct Emitter<'a> {
    circuit: &'a Circuit,
    graph: &'a Graph,
    language: Language,
    known: Vec<Known>,
    emitted: Emitted,
    lines: Vec<Line>,
    /// The places that a map reads in a tensor whose axes have some order.
    places: BTreeMap<(MapId, Vec<VarId>), String>,
}

impl<'a> Emitter<'a> {
    pub fn new(circuit: &'a Circuit, language: Language) -> Self {
        let emitted = Emitted { constants: vec![], forward: vec![], numbers: vec![], peak: 0, shared: 0 };
        let known = vec![Known::default(); circuit.graph.len()];
        Emitter { circuit, graph: &circuit.graph, language, known, emitted, lines: vec![], places: BTreeMap::new() }
    }

    pub fn emit(mut self) -> Result<Emitted> {
        let used = used(self.graph);
        for (node, op) in self.graph.ops().filter(|(node, _)| used[node.index()]) {
            let (known, text) = self.operation(node, op)?;
            match (text, known.varies) {
                (None, _) => {}
                (Some(text), true) => {
                    let inputs = op.inputs().map(|input| &self.known[input.index()]);
                    let mentioned = inputs.chain([&known]).flat_map(Known::variables).collect();
                    self.lines.push(Line { text, tensor: known.name.clone(), mentioned });
                }
                (Some(text), false) => self.emitted.constants.push(format!("        {text}")),
            }
            self.known[node.index()] = known;
        }
        self.share_constants();
        self.forget_dead();
        self.finish();
        Ok(self.emitted)
    }

    /// What an operation gives, and the line that computes it.
    fn operation(&mut self, node: NodeId, op: &Op) -> Result<(Known, Option<String>)> {
        let name = format!("t{}", node.index());
        let inputs: Vec<Known> = op.inputs().map(|input| self.known[input.index()].clone()).collect();
        let mut known = self.combined(&name, &inputs);
        let value = match op {
            Op::Evidence(v) => self.evidence(*v, &mut known),
            Op::Table(t) => self.table(*t, &mut known),
            Op::Contract(_, _, keep) => self.contract(&inputs[0], &inputs[1], keep, &mut known)?,
            Op::Project(_, keep) => self.project(&inputs[0], keep, &mut known),
            Op::Join(_, _, list) => self.join(&inputs[0], &inputs[1], *list, &mut known),
            Op::Gather(_, map) => self.gather(&inputs[0], *map, &mut known),
            Op::Rescale(_) if inputs[0].lost <= BITS => return Ok((inputs[0].clone(), None)),
            Op::Rescale(_) => return Ok(self.rescale(&name, &inputs[0])),
        };
        let exponents: Vec<&str> = inputs.iter().filter_map(|input| input.exponent.as_deref()).collect();
        let mut line = format!("{name} = {value}");
        if let [a, b] = exponents[..] {
            line += &format!("; {} = {a} + {b}", known.exponent.as_deref().unwrap_or_default());
        }
        Ok((known, Some(line)))
    }

    /// What follows from the inputs: whether it varies, and its exponent.
    fn combined(&self, name: &str, inputs: &[Known]) -> Known {
        let mut exponents = inputs.iter().filter_map(|input| input.exponent.clone());
        let exponent = match (exponents.next(), exponents.next()) {
            (Some(_), Some(_)) => Some(name.replace('t', "e")),
            (one, _) => one,
        };
        let varies = inputs.iter().any(|input| input.varies);
        let lost = inputs.iter().map(|input| input.lost).sum();
        Known { name: name.to_owned(), axes: vec![], varies, exponent, lost }
    }

    fn evidence(&self, var: VarId, known: &mut Known) -> String {
        (known.axes, known.varies, known.lost) = (vec![var], true, EVIDENCE_BITS);
        let variable = self.circuit.variable(var);
        let left = &self.circuit.domains[var.index()];
        format!("given({}, {}, {left:?})", quoted(&variable.name), variable.values.len())
    }

    fn table(&mut self, id: TableId, known: &mut Known) -> String {
        let table = &self.graph.tables()[id.index()];
        known.axes = table.axes.clone();
        let smallest = table.values.iter().copied().filter(|&x| x > 0.0).fold(1.0, f64::min);
        known.lost = -smallest.log2();
        let name = format!("table_{}", id.index());
        let bytes = table.values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let numbers = Numbers { name: name.clone(), dtype: Dtype::F64, shape: self.shape(&table.axes), bytes };
        self.emitted.numbers.push(numbers);
        format!("self.{name}")
    }

    fn contract(&self, a: &Known, b: &Known, keep: &VarSet, known: &mut Known) -> Result<String> {
        let of_a = |v: &VarId| a.axes.contains(v);
        let of_b = |v: &VarId| b.axes.contains(v);
        let kept = |v: &&VarId| keep.contains(**v);
        let both = a.axes.iter().filter(kept).filter(|v| of_b(v));
        let first = a.axes.iter().filter(kept).filter(|v| !of_b(v));
        let second = b.axes.iter().filter(kept).filter(|v| !of_a(v));
        known.axes = both.chain(first).chain(second).copied().collect();
        let all: VarSet = a.axes.iter().chain(&b.axes).copied().collect();
        if all.len() > LETTERS.len() {
            let message = format!("a product has {} axes, and a program can name {}", all.len(), LETTERS.len());
            return Err(Error::new(ErrorKind::Memory, message).hint("compile again with more `--effort`"));
        }
        let letter = |v: &VarId| LETTERS.as_bytes()[all.as_slice().binary_search(v).unwrap_or_default()] as char;
        let term = |t: &Known| t.varies.then_some('Z').into_iter().chain(t.axes.iter().map(letter)).collect::<String>();
        let equation = format!("{},{}->{}", term(a), term(b), term(known));
        Ok(match self.language {
            Language::Torch => format!("torch.einsum(\"{equation}\", {}, {})", a.name, b.name),
            Language::Numpy => format!("np.einsum(\"{equation}\", {}, {}, optimize=True)", a.name, b.name),
        })
    }

    fn project(&self, a: &Known, keep: &VarSet, known: &mut Known) -> String {
        known.axes = a.axes.iter().copied().filter(|v| keep.contains(*v)).collect();
        let summed = a.axes.iter().enumerate().filter(|(_, v)| !keep.contains(**v));
        let places: Vec<String> = summed.map(|(i, _)| (i + usize::from(a.varies)).to_string()).collect();
        format!("{}.sum(({},))", a.name, places.join(", "))
    }

    fn join(&mut self, a: &Known, b: &Known, id: ListId, known: &mut Known) -> String {
        let List { axis, outs, a: of_a, b: of_b } = &self.graph.lists()[id.index()];
        known.axes = axis.iter().copied().collect();
        let name = format!("list_{}", id.index());
        let columns = [outs.as_slice(), of_a, of_b].concat();
        self.emitted.numbers.push(places(name.clone(), vec![3, outs.len()], columns));
        let flat = |t: &Known| if t.axes.is_empty() { format!("{}[..., None]", t.name) } else { t.name.clone() };
        let size = axis.map_or(1, |v| self.graph.cards()[v.index()]);
        let single = if axis.is_none() { "[..., 0]" } else { "" };
        format!("join({}, {}, self.{name}, {size}){single}", flat(a), flat(b))
    }

    fn gather(&mut self, a: &Known, id: MapId, known: &mut Known) -> String {
        let map = &self.graph.maps()[id.index()];
        let rest = a.axes.iter().filter(|v| !map.from.contains(v) && !map.over.contains(v));
        known.axes = map.over.iter().chain(rest).copied().collect();
        let shape = self.shape(&known.axes);
        let count = self.places.len();
        let key = (id, a.axes.clone());
        if !self.places.contains_key(&key) {
            let read = self.read_places(map, &a.axes, &known.axes);
            self.emitted.numbers.push(places(format!("map_{count}"), vec![read.len()], read));
        }
        let name = self.places.entry(key).or_insert_with(|| format!("map_{count}"));
        let shape: String = shape.iter().map(|n| format!("{n}, ")).collect();
        format!("gather({}, {}, self.{name}, ({}))", a.name, a.axes.len(), shape.trim_end())
    }

    /// For each entry of what a map gives, its place in the tensor that is read.
    fn read_places(&self, map: &Map, axes: &[VarId], to: &[VarId]) -> Vec<u32> {
        let cards = self.graph.cards();
        let mut states = vec![0; cards.len()];
        let place =
            |states: &[usize], axes: &[VarId]| axes.iter().fold(0, |at, v| at * cards[v.index()] + states[v.index()]);
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

    fn rescale(&self, name: &str, a: &Known) -> (Known, Option<String>) {
        let exponent = name.replace('t', "e");
        let mut line = format!("{name}, {exponent} = rescale({}, {})", a.name, a.axes.len());
        if let Some(earlier) = &a.exponent {
            line += &format!("; {exponent} = {exponent} + {earlier}");
        }
        (Known { name: name.to_owned(), exponent: Some(exponent), lost: 0.0, ..a.clone() }, Some(line))
    }

    fn shape(&self, axes: &[VarId]) -> Vec<usize> {
        axes.iter().map(|v| self.graph.cards()[v.index()]).collect()
    }
}

/// Gives some variables the states that a place in a tensor with these axes stands for.
fn decide(states: &mut [usize], cards: &[usize], axes: &[VarId], mut place: usize) {
    for v in axes.iter().rev() {
        states[v.index()] = place % cards[v.index()];
        place /= cards[v.index()];
    }
}

/// Places as numbers; nowhere is -1.
fn places(name: String, shape: Vec<usize>, places: Vec<u32>) -> Numbers {
    Numbers { name, dtype: Dtype::I32, shape, bytes: places.iter().flat_map(|x| x.to_le_bytes()).collect() }
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
