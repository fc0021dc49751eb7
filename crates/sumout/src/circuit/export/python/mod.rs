//! A program as Python: a line for each tensor, the batch its first axis.
//!
//! Tensors that do not depend on evidence are computed once. A tensor is forgotten after its last use, so
//! that the program needs no more memory than it must.

mod finish;
mod names;

use safetensors::tensor::{Dtype, TensorView, serialize};

use crate::circuit::Circuit;
use crate::circuit::export::Export;
use crate::circuit::export::program::{Call, Listing, Step, Value};
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{List, ListId, NodeId, Op, PickId, RuleId, TableId, Weighing};
use crate::vars::VarId;
use names::{named_hard, named_inputs, named_target, quoted, target_note};

/// The library that a program computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    Torch,
    Numpy,
    Jax,
}

/// The parts of a program's text that depend on the library.
struct Text {
    name: &'static str,
    imports: &'static str,
    /// How a model is called.
    call: &'static str,
    /// The consequence for an example without a value of a hard input.
    hard_note: &'static str,
    /// How to train it, and with how many bits.
    usage: &'static str,
    /// The functions that the text that all libraries share needs, and the model.
    model: &'static str,
    /// The functions of tests.
    selections: &'static str,
}

/// The text that all libraries share; that of a library follows it.
const COMMON: &str = include_str!("common.py");

/// Why an example is refused.
const HARD_NOTE: &str = "those in HARD need a value in every example";

impl Library {
    const fn text(self) -> Text {
        match self {
            Library::Torch => Text {
                name: "PyTorch",
                imports: "import torch",
                call: "model({\"input\": [0, 1, -1]})",
                hard_note: HARD_NOTE,
                usage: "Model(trainable=True) has the tables as parameters. ",
                model: include_str!("torch.py"),
                selections: include_str!("select_torch.py"),
            },
            Library::Numpy => Text {
                name: "NumPy",
                imports: "import numpy as np",
                call: "model({\"input\": [0, 1, -1]})",
                hard_note: HARD_NOTE,
                usage: "",
                model: include_str!("numpy.py"),
                selections: include_str!("select_numpy.py"),
            },
            Library::Jax => Text {
                name: "JAX",
                imports: "import jax\nimport jax.numpy as jnp\nimport numpy as np",
                call: "jax.jit(model)({\"input\": jnp.array([0, 1, -1])})",
                hard_note: "an example without one value of each input in HARD is impossible",
                usage: JAX_USAGE,
                model: include_str!("jax.py"),
                selections: include_str!("select_jax.py"),
            },
        }
    }
}

const JAX_USAGE: &str = "\
`model(evidence, tables)` takes tables instead of `model.tables`, so that `jax.grad` trains them. 64 bits need
jax.config.update(\"jax_enable_x64\", True), and Model(jnp.float64). ";

/// A note in the text of a program with tests.
const TESTS_NOTE: &str = "

Tests compare posteriors with thresholds, and should be computed in 64 bits: in 32 bits what is less than 1e-6 apart counts as equal, and a
step may select another copy than `sumout eval` does.";

/// A tensor of the numbers' file.
struct Numbers {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

struct Writer<'a> {
    program: &'a Listing<'a>,
    library: Library,
    constants: Vec<String>,
    forward: Vec<String>,
    numbers: Vec<Numbers>,
}

/// Writes a circuit for a library of Python.
pub(crate) fn export(circuit: &Circuit, library: Library) -> Result<Export> {
    let program = Listing::new(circuit)?;
    let (constants, forward, numbers) = (vec![], vec![], vec![]);
    let mut writer = Writer {
        program: &program,
        library,
        constants,
        forward,
        numbers,
    };
    writer.write();
    let (numbers_of_example, numbers_of_all) =
        (program.numbers_of_example(), program.numbers_of_all());
    let is_tested = circuit.selected().next().is_some();
    let text = library.text();
    let parts = [
        ("library", text.name.into()),
        ("imports", text.imports.into()),
        ("call", text.call.into()),
        ("hard_note", text.hard_note.into()),
        ("usage", text.usage.into()),
        ("title", circuit.title().replace(['\\', '"', '\n'], "_")),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("target_note", target_note(circuit).into()),
        ("peak", numbers_of_example.to_string()),
        ("shared", numbers_of_all.to_string()),
        ("inputs", named_inputs(circuit)),
        ("hard", named_hard(circuit)),
        ("target", named_target(circuit)),
        (
            "dtype",
            if is_tested { "float64" } else { "float32" }.into(),
        ),
        ("tests_note", if is_tested { TESTS_NOTE } else { "" }.into()),
        (
            "selections",
            if is_tested {
                text.selections.into()
            } else {
                String::new()
            },
        ),
        ("constants", writer.constants.join("\n")),
        ("forward", writer.forward.join("\n")),
    ];
    let fill =
        |text: String, (key, part): &(&str, String)| text.replace(&format!("{{{key}}}"), part);
    let source = parts.iter().fold([COMMON, text.model].concat(), fill);
    let numbers = Some(serialized(&writer.numbers)?);
    Ok(Export {
        program: source.into_bytes(),
        numbers,
        numbers_of_example,
        numbers_of_all,
    })
}

impl Writer<'_> {
    fn write(&mut self) {
        let mut dead = self.program.dead().into_iter();
        let mut lines = vec![];
        for step in &self.program.steps {
            let line = self.line(step);
            if step.to.varies {
                let dead = dead.next().filter(|dead| !dead.is_empty());
                let del = dead.map_or(String::new(), |dead| format!("; del {}", dead.join(", ")));
                lines.push(format!("        {line}{del}"));
            } else {
                self.constants.push(format!("        {line}"));
            }
        }
        self.share_constants();
        self.forward.extend(lines);
        self.finish();
    }

    /// Hands what does not depend on evidence from one function to the other.
    fn share_constants(&mut self) {
        let names: String = self
            .program
            .shared()
            .iter()
            .map(|name| format!("{name}, "))
            .collect();
        let tuple = format!("({})", names.trim_end());
        self.constants.push(format!("        return {tuple}"));
        if !names.is_empty() {
            self.forward.push(format!("        {tuple} = constant"));
        }
    }

    /// The line that computes a tensor.
    fn line(&mut self, step: &Step) -> String {
        let name = step.to.name();
        let exponent = step.to.exponent().unwrap_or_default();
        let value = match &step.call {
            Call::Given(v) => self.given(*v),
            Call::Table(t) => self.table(*t) + &self.remark(*t),
            Call::Einsum => self.einsum(step),
            Call::Sum(places) => sum(&step.of[0], places),
            Call::Join(list) => self.join(&step.of[0], &step.of[1], *list),
            Call::Gather(places) => self.gather(step, *places),
            Call::Collect(pick) => return self.collect(step, *pick),
            Call::Select(rule) => self.select(step, *rule),
            Call::Rescale => {
                let line = format!(
                    "{name}, {exponent} = rescale({}, {})",
                    step.of[0].name(),
                    step.to.axes.len()
                );
                let earlier = step.of[0]
                    .exponent()
                    .map(|earlier| format!("; {exponent} = {exponent} + {earlier}"));
                return line + &earlier.unwrap_or_default();
            }
        };
        match &step.exponents()[..] {
            [a, b] => format!("{name} = {value}; {exponent} = {a} + {b}"),
            _ => format!("{name} = {value}"),
        }
    }

    fn given(&self, var: VarId) -> String {
        let variable = self
            .program
            .circuit
            .variable(self.program.circuit.source(var));
        let left = &self.program.circuit.domains[var.index()];
        format!(
            "given({}, {}, {left:?})",
            quoted(&variable.name),
            variable.values.len()
        )
    }

    fn table(&mut self, id: TableId) -> String {
        let table = &self.program.graph.tables()[id.index()];
        let name = format!("table_{}", id.index());
        let bytes = table.values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let shape = self.program.shape(&table.axes);
        self.numbers.push(Numbers {
            name: name.clone(),
            dtype: Dtype::F64,
            shape,
            bytes,
        });
        match self.library {
            Library::Torch | Library::Numpy => format!("self.{name}"),
            Library::Jax => format!("tables[\"{name}\"]"),
        }
    }

    /// A comment on the table of a test.
    fn remark(&self, id: TableId) -> String {
        let graph = self.program.graph;
        if graph.rules().is_empty() {
            return String::new();
        }
        let is_it = |node: &NodeId| graph.op(*node).table() == Some(id);
        let remark = |inputs: &[NodeId], rule: RuleId| {
            let place = graph.tested(inputs, rule).1.iter().position(is_it)?;
            let rule = &graph.rules()[rule.index()];
            let what = match (rule.weighing, place) {
                (Weighing::Softmax, _) => "W and b",
                (_, 0) => "gaps between 0, thresholds and 1",
                _ => "the logarithm of the slope",
            };
            let name = self
                .program
                .circuit
                .variable(rule.tested)
                .name
                .replace(|c: char| c.is_control(), " ");
            Some(format!("  # of the test of {name}: {what}"))
        };
        let mut found = graph.ops().filter_map(|(_, op)| match op {
            Op::Select(inputs, rule) => remark(inputs, *rule),
            _ => None,
        });
        found.next().unwrap_or_default()
    }

    fn einsum(&self, step: &Step) -> String {
        let term = |t: &Value, letters: String| {
            if t.varies {
                format!("Z{letters}")
            } else {
                letters
            }
        };
        let (equation, a, b) = (step.equation(term), step.of[0].name(), step.of[1].name());
        match self.library {
            Library::Torch => format!("torch.einsum(\"{equation}\", {a}, {b})"),
            Library::Numpy => format!("np.einsum(\"{equation}\", {a}, {b}, optimize=True)"),
            Library::Jax => format!("jnp.einsum(\"{equation}\", {a}, {b}, precision=\"highest\")"),
        }
    }

    fn join(&mut self, a: &Value, b: &Value, id: ListId) -> String {
        let List {
            axis,
            outs,
            a: of_a,
            b: of_b,
        } = &self.program.graph.lists()[id.index()];
        let name = format!("list_{}", id.index());
        let columns = [outs.as_slice(), of_a, of_b].concat();
        self.numbers
            .push(places(name.clone(), vec![3, outs.len()], &columns));
        let size = axis.map_or(1, |v| self.program.graph.cards()[v.index()]);
        let single = if axis.is_none() { "[..., 0]" } else { "" };
        format!(
            "join({}, {}, self.{name}, {size}){single}",
            flat_name(a),
            flat_name(b)
        )
    }

    /// Entries of several tensors, and the largest of their exponents.
    fn collect(&mut self, step: &Step, id: PickId) -> String {
        let all = &self.program.graph.picks()[id.index()].places;
        let name = format!("pick_{}", id.index());
        let flat = all.concat();
        self.numbers
            .push(places(name.clone(), vec![flat.len()], &flat));
        let counts: Vec<usize> = all.iter().map(Vec::len).collect();
        let tensors: Vec<String> = step.of.iter().map(flat_name).collect();
        let tensors = tensors.join(", ");
        let exponents = step.of.iter().map(Value::exponent);
        let exponents: Vec<String> = exponents.map(|e| e.unwrap_or("0".into())).collect();
        let exponents = exponents.join(", ");
        let collected = format!("collect([{tensors}], {counts:?}, self.{name}, [{exponents}])");
        match step.to.exponent() {
            Some(exponent) => format!("{}, {exponent} = {collected}", step.to.name()),
            None => format!("{}, _ = {collected}", step.to.name()),
        }
    }

    fn gather(&mut self, step: &Step, number: usize) -> String {
        let name = format!("map_{number}");
        if self.numbers.iter().all(|numbers| numbers.name != name) {
            let read = &self.program.places[number];
            self.numbers
                .push(places(name.clone(), vec![read.len()], read));
        }
        let shape: String = self
            .program
            .shape(&step.to.axes)
            .iter()
            .map(|n| format!("{n}, "))
            .collect();
        let a = &step.of[0];
        format!(
            "gather({}, {}, self.{name}, ({}))",
            a.name(),
            a.axes.len(),
            shape.trim_end()
        )
    }
}

impl Writer<'_> {
    /// How much of each copy; each tensor that is tested is divided by its sum.
    fn select(&self, step: &Step, rule: RuleId) -> String {
        let rule = &self.program.graph.rules()[rule.index()];
        let (of, tables) = step.of.split_at(step.of.len() - rule.weighing.tables());
        let shares = of.iter().map(|tensor| format!("share({})", tensor.name()));
        let mut arguments: Vec<String> = match rule.weighing {
            Weighing::Softmax => vec![format!("[{}]", shares.collect::<Vec<_>>().join(", "))],
            _ => shares.collect(),
        };
        arguments.extend(tables.iter().map(Value::name));
        let truth = |is: bool| if is { "True" } else { "False" };
        let (name, more) = match rule.weighing {
            Weighing::Step { larger, equal } => (
                "step",
                format!(", {}, {}, {}", rule.copies, truth(larger), truth(equal)),
            ),
            Weighing::Sigmoid => ("sigmoid", format!(", {}", rule.copies)),
            Weighing::Linear => ("linear", String::new()),
            Weighing::Softmax => (
                "softmax",
                format!(
                    ", {}, {}",
                    rule.copies,
                    self.program.graph.cards()[rule.axis.index()]
                ),
            ),
        };
        format!("{name}({}{more})", arguments.join(", "))
    }
}

/// A tensor with one axis, besides the batch.
fn flat_name(t: &Value) -> String {
    let axis = if t.axes.is_empty() { "[..., None]" } else { "" };
    t.name() + axis
}

fn sum(a: &Value, places: &[usize]) -> String {
    let places: Vec<String> = places
        .iter()
        .map(|place| (place + usize::from(a.varies)).to_string())
        .collect();
    format!("{}.sum(({},))", a.name(), places.join(", "))
}

/// Places as numbers; nowhere is -1.
fn places(name: String, shape: Vec<usize>, places: &[u32]) -> Numbers {
    Numbers {
        name,
        dtype: Dtype::I32,
        shape,
        bytes: places.iter().flat_map(|x| x.to_le_bytes()).collect(),
    }
}

fn serialized(numbers: &[Numbers]) -> Result<Vec<u8>> {
    let views = numbers
        .iter()
        .map(|t| TensorView::new(t.dtype, t.shape.clone(), &t.bytes).map(|v| (&t.name, v)));
    let views: std::result::Result<Vec<_>, _> = views.collect();
    let written = views.and_then(|views| serialize(views, None));
    written.map_err(|e| {
        Error::new(
            ErrorKind::Format,
            format!("the circuit cannot be written: {e}"),
        )
    })
}
