//! Circuits in files.
//!
//! A `.sumout` file is a [safetensors](https://github.com/huggingface/safetensors) file: numbers
//! that any tool can read, and one entry of metadata, `sumout`, which is JSON: the version, the
//! variables, the query, and the operations of the graph. A checksum covers all of it.
//! docs/formats.md describes every field.
//!
//! A file is checked as if a stranger had written it: every operation is added anew, so its axes
//! are derived, and the graph must pass the check that all graphs must pass.

mod completing;
mod numbers;
mod origins;
mod read;

use std::collections::HashMap;
use std::path::Path;

use safetensors::tensor::{SafeTensors, TensorView, serialize};
use serde::{Deserialize, Serialize};

use crate::circuit::Circuit;
use crate::error::{Error, ErrorKind, Remedy, Result};
use crate::files;
use crate::model::Variable;
use crate::tensor::{AxisId, NodeId, Op, Pick, Rule};
use crate::vars::{VarId, VarSet};
use completing::Completing;
use numbers::Numbers;
use origins::Origins;
use read::Reader;

/// The newest version of the format, of circuits for some of the variables, or some together.
const VERSION: u32 = 6;

/// The version of circuits that are compiled from logic.
const VERSION_OF_LOGIC: u32 = 5;

/// The version of circuits with tests, and of all others, which older programs read.
const VERSION_WITH_TESTS: u32 = 4;
const VERSION_OF_MOST: u32 = 1;

/// The entry of the metadata.
const KEY: &str = "sumout";

/// The description of a circuit: everything but its numbers.
#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    checksum: u32,
    variables: Vec<Named>,
    target: Option<usize>,
    /// The variables that are asked for side by side, if these are not all but the hard inputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    targets: Vec<usize>,
    /// The variables that are asked for together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    joint: Vec<usize>,
    inputs: Vec<usize>,
    hard: Vec<usize>,
    domains: Vec<Vec<usize>>,
    /// The numbers of values of all axes; those of the variables come first.
    axes: Vec<usize>,
    /// The axes of each table, whose numbers are the tensor `table.N`.
    tables: Vec<Vec<AxisId>>,
    /// The axis of each list, whose columns are the tensor `list.N`.
    lists: Vec<Option<AxisId>>,
    /// The axes that each map reads, and those that it has, with the tensor `map.N`.
    maps: Vec<(Vec<AxisId>, Vec<AxisId>)>,
    /// The axis that each pick makes, and how many places of each tensor it reads, with the tensor
    /// `pick.N`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    picks: Vec<(AxisId, Vec<usize>)>,
    operations: Vec<Op>,
    output: NodeId,
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
    rules: Vec<Rule>,
}

#[derive(Serialize, Deserialize)]
struct Named {
    name: String,
    values: Vec<String>,
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
        let bytes = std::fs::read(path)
            .map_err(|e| Error::io(format_args!("cannot read `{}`", path.display()), e))?;
        Circuit::from_bytes(&bytes)
            .map_err(|error| error.within(format_args!("`{}`", path.display())))
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
            .ok_or_else(|| damaged("it is not a circuit"))?;
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
        // A fuzzer would never get past the checksum.
        if header.checksum == expected || cfg!(fuzzing) {
            Ok(circuit)
        } else {
            Err(damaged("its checksum is wrong"))
        }
    }

    fn version(&self) -> u32 {
        if self.joint.is_some() || !self.some().is_empty() {
            VERSION
        } else if !self.graph.picks().is_empty() {
            VERSION_OF_LOGIC
        } else if self.visible < self.variables.len() {
            VERSION_WITH_TESTS
        } else {
            VERSION_OF_MOST
        }
    }

    /// The variables whose posteriors are asked for side by side; none if these are all but the hard
    /// inputs.
    fn some(&self) -> VarSet {
        let others = (0..self.visible).map(VarId::new);
        let mut others = others.filter(|&v| !self.hard.contains(v) && !self.several.contains(v));
        if others.next().is_none() {
            VarSet::default()
        } else {
            self.several.clone()
        }
    }

    fn header(&self) -> Header {
        let indices = |vars: &VarSet| vars.iter().map(VarId::index).collect();
        let named = |v: &Variable| Named {
            name: v.name.clone(),
            values: v.values.clone(),
        };
        let graph = &self.graph;
        Header {
            version: self.version(),
            checksum: 0,
            variables: self.variables.iter().map(named).collect(),
            target: self.single.map(VarId::index),
            targets: indices(&self.some()),
            joint: self.together().iter().map(|v| v.index()).collect(),
            inputs: self.order.iter().map(|v| v.index()).collect(),
            hard: indices(&self.hard),
            domains: self.domains.to_vec(),
            axes: graph.cards().to_vec(),
            tables: graph.tables().iter().map(|t| t.axes.clone()).collect(),
            lists: graph.lists().iter().map(|l| l.axis).collect(),
            maps: graph
                .maps()
                .iter()
                .map(|m| (m.from.clone(), m.over.clone()))
                .collect(),
            picks: graph.picks().iter().map(counted).collect(),
            operations: graph.ops().map(|(_, op)| op.clone()).collect(),
            output: graph.output(),
            completion: self.completion.as_deref().map(Completing::new),
            origins: origins::origins(graph),
            visible: (self.visible < self.variables.len()).then_some(self.visible),
            aliases: self
                .aliases
                .iter()
                .map(|(alias, of)| (alias.index(), of.index()))
                .collect(),
            rules: graph.rules().to_vec(),
        }
    }

    /// All tensors of the file.
    fn numbers(&self) -> Vec<Numbers> {
        let mut all = numbers::of_parts(&self.graph);
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

/// The axis of a pick, and how many places of each tensor it reads.
fn counted(pick: &Pick) -> (AxisId, Vec<usize>) {
    (pick.axis, pick.places.iter().map(Vec::len).collect())
}

/// A checksum of the whole content of a file.
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
        VERSION_OF_MOST | VERSION_WITH_TESTS | VERSION_OF_LOGIC | VERSION => return Ok(()),
        2 | 3 => {
            let message = format!(
                "the circuit has version {version}, which used a different encoding for tests"
            );
            let error = Error::new(ErrorKind::Format, message);
            return Err(error.hint(Remedy::CompileAgain));
        }
        _ => {}
    }
    let message = format!(
        "the circuit has version {version}, and this program reads up to version {VERSION}"
    );
    Err(Error::new(ErrorKind::Format, message)
        .hint("update sumout")
        .or(Remedy::CompileAgain))
}

fn damaged(what: &str) -> Error {
    let error = Error::new(
        ErrorKind::Format,
        format!("the file is damaged, or not a circuit: {what}"),
    );
    error.hint(Remedy::CompileAgain)
}
