//! Circuits in files.
//!
//! A `.sumout` file is a [safetensors](https://github.com/huggingface/safetensors) file: numbers
//! that any tool can read, and one entry of metadata, `sumout`, which is JSON: the version, the
//! variables, the query, and the operations of the graph. A checksum covers all of it.
//! docs/formats.md describes every field.
//!
//! A file is checked as if a stranger had written it: every operation is added anew, so its axes
//! are derived, and whatever it refers to must be there.

mod completing;
mod origins;
mod rules;

use std::collections::HashMap;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde::{Deserialize, Serialize};

use crate::circuit::Circuit;
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::model::Variable;
use crate::tensor::{Graph, List, Map, NodeId, Op, Table};
use crate::vars::{VarId, VarSet};
use completing::Completing;
use origins::Origins;
use rules::Ruled;

/// The newest version of the format. What is of a network without tests is written as version 1,
/// which older programs read.
const VERSION: u32 = 4;

/// The entry of the metadata.
const KEY: &str = "sumout";

/// What is not numbers.
#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    checksum: u32,
    variables: Vec<Named>,
    target: Option<usize>,
    inputs: Vec<usize>,
    hard: Vec<usize>,
    domains: Vec<Vec<usize>>,
    /// The numbers of values of all axes; those of the variables come first.
    axes: Vec<usize>,
    /// The axes of each table, whose numbers are the tensor `table.N`.
    tables: Vec<Vec<usize>>,
    /// The axis of each list, whose columns are the tensor `list.N`.
    lists: Vec<Option<usize>>,
    /// The axes that each map reads, and those that it has, with the tensor `map.N`.
    maps: Vec<(Vec<usize>, Vec<usize>)>,
    operations: Vec<Operation>,
    output: usize,
    /// How explanations are completed, if they are what the circuit is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    completion: Option<Completing>,
    /// The tables that can be trained, with the tensor `origin.N`.
    #[serde(default, skip_serializing_if = "Origins::is_empty")]
    origins: Origins,
    /// How many of the variables are the network's; none if all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    visible: Option<usize>,
    /// Variables whose evidence is that on another one, each with that one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<(usize, usize)>,
    /// The rules of tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rules: Vec<Ruled>,
}

#[derive(Serialize, Deserialize)]
struct Named {
    name: String,
    values: Vec<String>,
}

/// An operation, with the numbers of what it refers to.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Evidence(usize),
    Table(usize),
    Contract(usize, usize, Vec<usize>),
    Project(usize, Vec<usize>),
    Join(usize, usize, usize),
    Gather(usize, usize),
    Rescale(usize),
    /// What is tested with the tables of a rule, and the rule.
    Select(Vec<usize>, usize),
}

impl Circuit {
    /// Writes the circuit to a file, all of it or nothing.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let bytes = self.to_bytes()?;
        files::save(path.as_ref(), |to| to.write_all(&bytes))
    }

    /// Reads a circuit from a file.
    pub fn load(path: impl AsRef<Path>) -> Result<Circuit> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|e| {
            Error::new(
                ErrorKind::Io,
                format!("cannot read `{}`: {e}", path.display()),
            )
        })?;
        Circuit::from_bytes(&bytes).map_err(|error| {
            let message = format!("`{}`: {}", path.display(), error.message());
            Error::new(error.kind(), message).hint(error.advice().unwrap_or_default())
        })
    }

    /// The circuit as the bytes of a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let numbers = self.numbers();
        let mut header = self.header();
        header.checksum = checksum(&header, &numbers);
        let text = serde_json::to_string(&header)
            .map_err(|e| Error::new(ErrorKind::Format, e.to_string()))?;
        let views = numbers
            .iter()
            .map(|t| TensorView::new(t.dtype, t.shape.clone(), &t.bytes).map(|v| (&t.name, v)));
        let views: std::result::Result<Vec<_>, _> = views.collect();
        let written = views
            .and_then(|views| serialize(views, Some(HashMap::from([(KEY.to_string(), text)]))));
        written.map_err(|e| {
            Error::new(
                ErrorKind::Format,
                format!("the circuit cannot be written: {e}"),
            )
        })
    }

    /// A circuit from the bytes of a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Circuit> {
        let (_, metadata) =
            SafeTensors::read_metadata(bytes).map_err(|e| damaged(&e.to_string()))?;
        let text = metadata
            .metadata()
            .as_ref()
            .and_then(|m| m.get(KEY))
            .ok_or_else(|| damaged("it is no circuit"))?;
        check_version(text)?;
        let header: Header = serde_json::from_str(text).map_err(|e| damaged(&e.to_string()))?;
        let tensors = SafeTensors::deserialize(bytes).map_err(|e| damaged(&e.to_string()))?;
        let circuit = Reader {
            header: &header,
            tensors: &tensors,
        }
        .circuit()?;
        let expected = checksum(
            &Header {
                checksum: 0,
                ..circuit.header()
            },
            &circuit.numbers(),
        );
        if header.checksum == expected {
            Ok(circuit)
        } else {
            Err(damaged("its checksum is wrong"))
        }
    }

    fn header(&self) -> Header {
        let indices =
            |vars: &mut dyn Iterator<Item = VarId>| vars.map(VarId::index).collect::<Vec<_>>();
        let named = |v: &Variable| Named {
            name: v.name.clone(),
            values: v.values.clone(),
        };
        let graph = &self.graph;
        Header {
            version: if self.visible == self.variables.len() {
                1
            } else {
                VERSION
            },
            checksum: 0,
            variables: self.variables.iter().map(named).collect(),
            target: self.target.map(VarId::index),
            inputs: indices(&mut self.inputs.iter()),
            hard: indices(&mut self.hard.iter()),
            domains: self.domains.to_vec(),
            axes: graph.cards().to_vec(),
            tables: graph
                .tables()
                .iter()
                .map(|t| indices(&mut t.axes.iter().copied()))
                .collect(),
            lists: graph
                .lists()
                .iter()
                .map(|l| l.axis.map(VarId::index))
                .collect(),
            maps: graph
                .maps()
                .iter()
                .map(|m| {
                    (
                        indices(&mut m.from.iter().copied()),
                        indices(&mut m.over.iter().copied()),
                    )
                })
                .collect(),
            operations: graph.ops().map(|(_, op)| operation(op)).collect(),
            output: graph.output().index(),
            completion: self.completion.as_deref().map(Completing::new),
            origins: origins::origins(graph),
            visible: (self.visible < self.variables.len()).then_some(self.visible),
            aliases: self
                .aliases
                .iter()
                .map(|(alias, of)| (alias.index(), of.index()))
                .collect(),
            rules: rules::rules(graph),
        }
    }

    /// All tensors of the file.
    fn numbers(&self) -> Vec<Numbers> {
        let mut all = numbers(&self.graph);
        all.extend(origins::numbers(&self.graph));
        all.extend(
            self.completion
                .as_deref()
                .into_iter()
                .flat_map(completing::numbers),
        );
        all
    }
}

fn operation(op: &Op) -> Operation {
    let keep = |vars: &VarSet| vars.iter().map(VarId::index).collect();
    match op {
        Op::Evidence(x) => Operation::Evidence(x.index()),
        Op::Table(t) => Operation::Table(t.index()),
        Op::Contract(a, b, kept) => Operation::Contract(a.index(), b.index(), keep(kept)),
        Op::Project(a, kept) => Operation::Project(a.index(), keep(kept)),
        Op::Join(a, b, list) => Operation::Join(a.index(), b.index(), list.index()),
        Op::Gather(a, map) => Operation::Gather(a.index(), map.index()),
        Op::Rescale(a) => Operation::Rescale(a.index()),
        Op::Select(inputs, rule) => {
            Operation::Select(inputs.iter().map(|i| i.index()).collect(), rule.index())
        }
    }
}

/// A tensor of the file.
struct Numbers {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// Numbers as bytes.
fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn numbers(graph: &Graph) -> Vec<Numbers> {
    let tables = graph.tables().iter().enumerate().map(|(i, table)| Numbers {
        name: format!("table.{i}"),
        dtype: Dtype::F64,
        shape: vec![table.values.len()],
        bytes: table.values.iter().flat_map(|x| x.to_le_bytes()).collect(),
    });
    let lists = graph.lists().iter().enumerate().map(|(i, list)| Numbers {
        name: format!("list.{i}"),
        dtype: Dtype::U32,
        shape: vec![3, list.outs.len()],
        bytes: [words(&list.outs), words(&list.a), words(&list.b)].concat(),
    });
    let maps = graph.maps().iter().enumerate().map(|(i, map)| Numbers {
        name: format!("map.{i}"),
        dtype: Dtype::U32,
        shape: vec![map.index.len()],
        bytes: words(&map.index),
    });
    tables.chain(lists).chain(maps).collect()
}

/// A checksum of all that a file says.
fn checksum(header: &Header, numbers: &[Numbers]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(serde_json::to_string(header).unwrap_or_default().as_bytes());
    numbers.iter().for_each(|tensor| crc.update(&tensor.bytes));
    crc.sum()
}

/// A file of a newer program may have anything in it but its version.
fn check_version(text: &str) -> Result<()> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let Versioned { version } = serde_json::from_str(text).map_err(|e| damaged(&e.to_string()))?;
    match version {
        0 => return Err(damaged("there is no version 0")),
        1 | VERSION => return Ok(()),
        2 | 3 => {
            let message = format!(
                "the circuit is of version {version}, in which tests were written otherwise"
            );
            let error = Error::new(ErrorKind::Format, message);
            return Err(error.hint("compile the circuit again with `sumout compile … -o FILE`"));
        }
        _ => {}
    }
    let message = format!(
        "the circuit is of version {version}, and this program reads up to version {VERSION}"
    );
    Err(Error::new(ErrorKind::Format, message).hint("update sumout, or compile the circuit again"))
}

/// Whether an axis is there twice.
fn is_repeated(axes: &[VarId]) -> bool {
    (1..axes.len()).any(|i| axes[..i].contains(&axes[i]))
}

fn damaged(what: &str) -> Error {
    let error = Error::new(
        ErrorKind::Format,
        format!("the file is damaged, or no circuit: {what}"),
    );
    error.hint("compile the circuit again with `sumout compile … -o FILE`")
}

/// Makes a circuit of what a file says.
struct Reader<'a> {
    header: &'a Header,
    tensors: &'a SafeTensors<'a>,
}

impl Reader<'_> {
    fn circuit(&self) -> Result<Circuit> {
        let Header {
            variables,
            target,
            inputs,
            hard,
            domains,
            axes,
            ..
        } = self.header;
        let is_whole = variables.len() == domains.len()
            && axes.len() >= domains.len()
            && domains
                .iter()
                .zip(axes)
                .all(|(domain, &card)| domain.len() == card && card > 0)
            && variables
                .iter()
                .zip(domains)
                .all(|(v, domain)| domain.iter().all(|&d| d < v.values.len()));
        let visible = self
            .header
            .visible
            .unwrap_or(variables.len())
            .min(variables.len());
        let is_known = |&v: &usize| v < visible;
        let is_increasing = domains
            .iter()
            .all(|domain| domain.is_sorted_by(|a, b| a < b));
        let are_inputs =
            hard.iter().all(|v| inputs.contains(v)) && !target.is_some_and(|t| hard.contains(&t));
        if !is_whole
            || !is_increasing
            || !are_inputs
            || !inputs.iter().chain(hard).chain(target).all(is_known)
        {
            return Err(damaged("its variables do not fit together"));
        }
        if axes.contains(&0) || !self.header.aliases.iter().all(|alias| self.is_alias(alias)) {
            return Err(damaged("its axes do not fit its variables"));
        }
        let var = |v: &usize| VarId::new(*v);
        let graph = self.graph()?;
        Ok(Circuit {
            completion: self
                .header
                .completion
                .as_ref()
                .map(|c| self.completion(c, &graph))
                .transpose()?
                .map(Into::into),
            variables: self.named().into(),
            target: target.as_ref().map(var),
            inputs: inputs.iter().map(var).collect(),
            hard: hard.iter().map(var).collect(),
            domains: domains.clone().into(),
            graph: graph.into(),
            aliases: self
                .header
                .aliases
                .iter()
                .map(|(alias, of)| (var(alias), var(of)))
                .collect(),
            visible,
        })
    }

    /// Whether a variable that is no variable of the network can stand for an input, with all of
    /// its values.
    fn is_alias(&self, &(alias, of): &(usize, usize)) -> bool {
        let Header {
            variables,
            domains,
            inputs,
            visible,
            ..
        } = self.header;
        let is_hidden = alias < variables.len()
            && visible.is_some_and(|visible| alias >= visible && of < visible);
        is_hidden
            && inputs.contains(&of)
            && variables[alias].values == variables[of].values
            && domains[alias].len() == variables[of].values.len()
    }

    fn named(&self) -> Vec<Variable> {
        let named = |v: &Named| Variable {
            name: v.name.clone(),
            values: v.values.clone(),
        };
        self.header.variables.iter().map(named).collect()
    }

    fn graph(&self) -> Result<Graph> {
        let mut graph = Graph::new(self.header.axes.clone());
        for (index, operation) in self.header.operations.iter().enumerate() {
            let node = self.add(&mut graph, operation)?;
            if node.index() != index {
                return Err(damaged("an operation is there twice"));
            }
        }
        let output = self.node(&graph, self.header.output)?;
        let open = self.header.target.filter(|&t| {
            self.header
                .domains
                .get(t)
                .is_some_and(|domain| domain.len() > 1)
        });
        if graph.axes(output) != &open.into_iter().map(VarId::new).collect() {
            return Err(damaged("its output is not over the target"));
        }
        graph.set_output(output);
        self.check_tables(&graph)?;
        let is_asked =
            |v: &usize| self.header.domains[*v].len() > 1 && !self.header.hard.contains(v);
        let is_read = |v: usize| graph.find(&Op::Evidence(VarId::new(v))).is_some();
        let is_other = self.header.target.is_some() || self.header.completion.is_some();
        let visible = self
            .header
            .visible
            .unwrap_or(usize::MAX)
            .min(self.header.domains.len());
        match is_other || (0..visible).filter(is_asked).all(is_read) {
            true => Ok(graph),
            false => Err(damaged("a variable that is asked for is not there")),
        }
    }

    fn add(&self, graph: &mut Graph, operation: &Operation) -> Result<NodeId> {
        Ok(match operation {
            Operation::Evidence(v) => {
                let is_variable = *v < self.header.variables.len();
                let var = is_variable
                    .then(|| VarId::new(*v))
                    .ok_or_else(|| damaged("evidence on no variable"))?;
                graph.add(Op::Evidence(var))
            }
            Operation::Table(t) => {
                let table = self.table(*t, graph.tables().len())?;
                let origin = self.origin(*t, &table)?;
                graph.table_from(table, origin)
            }
            Operation::Contract(a, b, keep) => {
                let (a, b) = (self.node(graph, *a)?, self.node(graph, *b)?);
                graph.add(Op::Contract(a, b, self.axes(keep)?.into_iter().collect()))
            }
            Operation::Project(a, keep) => {
                let a = self.node(graph, *a)?;
                graph.add(Op::Project(a, self.axes(keep)?.into_iter().collect()))
            }
            Operation::Join(a, b, list) => {
                let (a, b) = (self.node(graph, *a)?, self.node(graph, *b)?);
                let list = self.list(*list, graph, a, b)?;
                graph.join(a, b, list)
            }
            Operation::Gather(a, map) => {
                let a = self.node(graph, *a)?;
                let map = self.map(*map, graph, a)?;
                graph.gather(a, map)
            }
            Operation::Rescale(a) => {
                let a = self.node(graph, *a)?;
                graph.add(Op::Rescale(a))
            }
            Operation::Select(inputs, rule) => self.select(graph, inputs, *rule)?,
        })
    }

    fn node(&self, graph: &Graph, index: usize) -> Result<NodeId> {
        if index < graph.len() {
            Ok(NodeId::new(index))
        } else {
            Err(damaged("an operation reads what is not there"))
        }
    }

    fn axis(&self, index: usize) -> Result<VarId> {
        if index < self.header.axes.len() {
            Ok(VarId::new(index))
        } else {
            Err(damaged("an axis is not there"))
        }
    }

    fn axes(&self, indices: &[usize]) -> Result<Vec<VarId>> {
        indices.iter().map(|&index| self.axis(index)).collect()
    }

    /// The number of joint states of some axes; none if there are too many to count.
    fn size(&self, axes: &[VarId]) -> Option<usize> {
        axes.iter().try_fold(1usize, |size, v| {
            size.checked_mul(self.header.axes[v.index()])
        })
    }

    fn table(&self, index: usize, next: usize) -> Result<Table> {
        let axes = self.header.tables.get(index).filter(|_| index == next);
        let axes = self.axes(axes.ok_or_else(|| damaged("a table is out of order"))?)?;
        let bytes = self.tensor(&format!("table.{index}"), Dtype::F64)?;
        let values: Vec<f64> = bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|&x| f64::from_le_bytes(x))
            .collect();
        let is_number = values.iter().all(|x| x.is_finite());
        match self.size(&axes) == Some(values.len()) && is_number && !is_repeated(&axes) {
            true => Ok(Table { axes, values }),
            false => Err(damaged("a table does not fit its axes")),
        }
    }

    fn list(&self, index: usize, graph: &Graph, a: NodeId, b: NodeId) -> Result<List> {
        let axis = self
            .header
            .lists
            .get(index)
            .filter(|_| index == graph.lists().len());
        let axis = axis
            .ok_or_else(|| damaged("a list is out of order"))?
            .map(|v| self.axis(v))
            .transpose()?;
        let words = self.words(&format!("list.{index}"))?;
        let length = words.len() / 3;
        let [outs, of_a, of_b] =
            [0, 1, 2].map(|column| words[column * length..(column + 1) * length].to_vec());
        let size = axis.map_or(1, |v| self.header.axes[v.index()]);
        let is_below = |column: &[u32], size: f64| column.iter().all(|&i| f64::from(i) < size);
        let is_flat = graph.axes(a).len() <= 1 && graph.axes(b).len() <= 1;
        let fits = is_below(&outs, size as f64)
            && is_below(&of_a, graph.size(a))
            && is_below(&of_b, graph.size(b));
        match is_flat && fits && outs.is_sorted() && words.len() == 3 * length {
            true => Ok(List {
                axis,
                outs,
                a: of_a,
                b: of_b,
            }),
            false => Err(damaged("a list does not fit its tensors")),
        }
    }

    fn map(&self, index: usize, graph: &Graph, a: NodeId) -> Result<Map> {
        let (from, over) = self
            .header
            .maps
            .get(index)
            .ok_or_else(|| damaged("a map is not there"))?;
        let map = Map {
            from: self.axes(from)?,
            over: self.axes(over)?,
            index: self.words(&format!("map.{index}"))?,
        };
        let is_read = map
            .from
            .iter()
            .all(|v| graph.axes(a).contains(*v) && !map.over.contains(v));
        let is_read = is_read && !is_repeated(&map.from) && !is_repeated(&map.over);
        let is_below = |size: usize| {
            map.index
                .iter()
                .all(|&i| i == Map::NOWHERE || (i as usize) < size)
        };
        match is_read
            && self.size(&map.over) == Some(map.index.len())
            && self.size(&map.from).is_some_and(is_below)
        {
            true => Ok(map),
            false => Err(damaged("a map does not fit its tensor")),
        }
    }

    fn words(&self, name: &str) -> Result<Vec<u32>> {
        let bytes = self.tensor(name, Dtype::U32)?;
        Ok(bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|&x| u32::from_le_bytes(x))
            .collect())
    }

    fn tensor(&self, name: &str, dtype: Dtype) -> Result<&[u8]> {
        let tensor = self
            .tensors
            .tensor(name)
            .map_err(|e| damaged(&e.to_string()))?;
        if tensor.dtype() == dtype {
            Ok(tensor.data())
        } else {
            Err(damaged(&format!("`{name}` has numbers of another kind")))
        }
    }
}
