//! A program as an ONNX model, of operations that every runtime has.
//!
//! The batch is the last axis of every tensor inside, as in the engine: then lists of places read
//! whole rows of it. Tensors that do not depend on evidence are left to the runtime, which computes
//! constants when it loads a model.
//!
//! Sums that a list describes are not scattered, which some runtimes do from several threads at
//! once: states with equally many products are gathered together, and summed along an axis.

mod build;
mod collect;
mod join;
mod options;
mod proto;
mod select;

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::LN_2;

use serde_json::json;

use crate::circuit::export::Export;
use crate::circuit::export::program::{Call, Listing, Step, Value};
use crate::circuit::{Circuit, Precision};
use crate::error::{Error, ErrorKind, Remedy, Result};
use crate::tensor::{Map, TableId};
use crate::vars::VarId;

pub use options::Onnx;

use build::Build;
use proto::{Attribute, Parts, Type, value};

/// The version of the operations that are used.
const OPSET: i64 = 13;

/// The longest message that the format allows.
const MAX_MODEL_BYTES: usize = i32::MAX as usize;

impl Circuit {
    /// The circuit as an ONNX model.
    pub fn export_onnx(&self, options: &Onnx) -> Result<Export> {
        self.check_export()?;
        if let Some(hard) = self.hard.iter().next().filter(|_| options.likelihoods) {
            let message = format!(
                "`{}` needs values and takes no likelihoods",
                self.variable(hard).name
            );
            return Err(
                Error::new(ErrorKind::Unsupported, message).hint(Remedy::UseInstead {
                    option: "given",
                    instead_of: "hard",
                }),
            );
        }
        let program = Listing::new(self)?;
        let real = if options.precision == Precision::F32 {
            Type::F32
        } else {
            Type::F64
        };
        let parts = Writer::new(&program, real).write(options.likelihoods);
        let notes = [
            ("inputs", notes(self, self.inputs())),
            ("target", notes(self, self.target().into_iter())),
        ];
        let bytes = proto::model(&self.title(), parts, OPSET, &notes).0;
        if bytes.len() > MAX_MODEL_BYTES {
            let message = format!(
                "the model has {} bytes, and ONNX allows {MAX_MODEL_BYTES}",
                bytes.len()
            );
            return Err(
                Error::new(ErrorKind::Format, message).hint("export to numpy, jax or torch")
            );
        }
        let (numbers_of_example, numbers_of_all) =
            (program.numbers_of_example(), program.numbers_of_all());
        Ok(Export {
            program: bytes,
            numbers: None,
            numbers_of_example,
            numbers_of_all,
        })
    }
}

/// Variables and the names of their values, as JSON.
fn notes(circuit: &Circuit, vars: impl Iterator<Item = VarId>) -> String {
    let note = |v: VarId| {
        let variable = circuit.variable(v);
        json!({"name": variable.name, "values": variable.values, "hard": circuit.is_hard(v)})
    };
    json!(vars.map(note).collect::<Vec<_>>()).to_string()
}

struct Writer<'a> {
    program: &'a Listing<'a>,
    build: Build,
    /// The name of a tensor with a row of likelihoods for each value of each input.
    likelihoods: String,
    /// The tables whose numbers are not tensors.
    of_rules: BTreeSet<TableId>,
    /// The names of the program's variables in the model.
    values: BTreeMap<String, String>,
}

impl<'a> Writer<'a> {
    fn new(program: &'a Listing<'a>, real: Type) -> Self {
        let (likelihoods, of_rules) = (String::new(), program.graph.rule_tables().collect());
        Writer {
            program,
            build: Build::new(real),
            likelihoods,
            of_rules,
            values: BTreeMap::new(),
        }
    }

    fn write(mut self, takes_likelihoods: bool) -> Parts {
        self.read_evidence(takes_likelihoods);
        self.program.steps.iter().for_each(|step| self.step(step));
        self.finish();
        self.build.parts
    }

    /// The inputs, each with the row of its first value.
    fn rows(&self) -> impl Iterator<Item = (VarId, usize)> + use<'a> {
        let circuit = self.program.circuit;
        circuit.inputs().scan(0, |next, v| {
            let row = *next;
            *next += circuit.variable(v).values.len();
            Some((v, row))
        })
    }

    fn read_evidence(&mut self, takes_likelihoods: bool) {
        let circuit = self.program.circuit;
        let values: usize = circuit
            .inputs()
            .map(|v| circuit.variable(v).values.len())
            .sum();
        let input = if takes_likelihoods {
            let doc = "likelihoods of all values of all inputs, in the order of the metadata; ones where nothing is known";
            value("evidence", self.build.real, Some(values), doc)
        } else {
            let doc = "positions of the values of the inputs, in the order of the metadata; -1 where nothing is known";
            value("evidence", Type::I64, Some(circuit.inputs.len()), doc)
        };
        self.build.parts.inputs.push(input);
        let rows = self.build.add("Transpose", &["evidence"], &[]);
        self.likelihoods = if takes_likelihoods {
            rows
        } else {
            self.compare(&rows)
        };
    }

    /// Likelihoods of positions: of each value, whether it is the one, or the input is missing.
    /// hard is always known.
    fn compare(&mut self, rows: &str) -> String {
        let circuit = self.program.circuit;
        let (mut owners, mut positions, mut unknown) = (vec![], vec![], vec![]);
        for (input, v) in circuit.inputs().enumerate() {
            let values = circuit.variable(v).values.len();
            owners.extend(vec![input as u32; values]);
            positions.extend(0..values as i64);
            unknown.extend(vec![if circuit.is_hard(v) { i64::MIN } else { 0 }; values]);
        }
        let build = &mut self.build;
        let given = build.gather(rows, true, &[owners.len()], &owners);
        let positions = build.longs(&[owners.len(), 1], &positions);
        let is_value = build.add("Equal", &[&given, &positions], &[]);
        let unknown = build.longs(&[owners.len(), 1], &unknown);
        let is_unknown = build.add("Less", &[&given, &unknown], &[]);
        let is_possible = build.add("Or", &[&is_value, &is_unknown], &[]);
        self.cast(&is_possible)
    }

    /// Truths as numbers.
    fn cast(&mut self, truths: &str) -> String {
        self.build.add(
            "Cast",
            &[truths],
            &[("to", Attribute::Int(self.build.real as i64))],
        )
    }

    /// Adds the nodes of a step, and remembers what its results are called.
    fn step(&mut self, step: &Step) {
        let of: Vec<String> = step
            .of
            .iter()
            .filter_map(|tensor| self.values.get(&tensor.name()).cloned())
            .collect();
        let mut exponents: Vec<String> = step
            .exponents()
            .iter()
            .map(|exponent| self.value(exponent))
            .collect();
        let result = match &step.call {
            Call::Given(v) => self.given(*v),
            Call::Table(table) if self.of_rules.contains(table) => return, // what is selected has its numbers
            Call::Table(table) => self.table(*table),
            Call::Einsum => {
                let term =
                    |t: &Value, letters: String| if t.varies { letters + "Z" } else { letters };
                let equation = Attribute::Text(spelled(&step.equation(term)));
                self.build
                    .add("Einsum", &[&of[0], &of[1]], &[("equation", equation)])
            }
            Call::Sum(places) => self.build.sum(
                &of[0],
                &places.iter().map(|&place| place as i64).collect::<Vec<_>>(),
            ),
            Call::Join(list) => self.join(step, &of, *list),
            Call::Gather(places) => self.gather(step, &of[0], *places),
            Call::Collect(pick) => return self.collect(step, &of, *pick),
            Call::Select(rule) => self.select(step, &of, *rule),
            Call::Rescale => {
                let (scaled, shift) = self.rescale(&of[0], step.to.axes.len());
                exponents.push(shift);
                scaled
            }
        };
        self.values.insert(step.to.name(), result);
        if let Some(name) = step.to.exponent() {
            let sum = match &exponents[..] {
                [a, b] => self.build.add("Add", &[a, b], &[]),
                _ => exponents.swap_remove(0),
            };
            self.values.insert(name, sum);
        }
    }

    /// The name of a variable of the program in the model.
    pub(crate) fn value(&self, variable: &str) -> String {
        self.values[variable].clone()
    }

    /// The likelihoods of an input. A variable whose posterior could be asked for, and that is not
    /// an input, has ones.
    fn given(&mut self, var: VarId) -> String {
        let left = &self.program.circuit.domains[var.index()];
        let source = self.program.circuit.source(var);
        let Some((_, first)) = self.rows().find(|(v, _)| *v == source) else {
            let ones = self.build.table(&[left.len(), 1], &vec![1.0; left.len()]);
            return self.across(&ones);
        };
        let rows: Vec<u32> = left.iter().map(|&value| (first + value) as u32).collect();
        self.build
            .gather(&self.likelihoods, true, &[rows.len()], &rows)
    }

    fn table(&mut self, id: TableId) -> String {
        let table = &self.program.graph.tables()[id.index()];
        self.build
            .table(&self.program.shape(&table.axes), &table.values)
    }

    fn gather(&mut self, step: &Step, x: &str, places: usize) -> String {
        let a = &step.of[0];
        let flat = match a.axes.len() {
            0 => self.build.unsqueeze(x, 0),
            1 => x.to_owned(),
            _ => {
                let size = self.program.shape(&a.axes).iter().product::<usize>() as i64;
                let shape = self.build.axes(&[size, -1][..1 + usize::from(a.varies)]);
                self.build.add("Reshape", &[x, &shape], &[])
            }
        };
        self.build.gather(
            &flat,
            a.varies,
            &self.program.shape(&step.to.axes),
            &self.program.places[places],
        )
    }

    /// A tensor less a power of two, that of its largest entry, and the power.
    fn rescale(&mut self, x: &str, axes: usize) -> (String, String) {
        let build = &mut self.build;
        let (low, high) = (build.real(2f64.powi(-120)), build.real(2f64.powi(120)));
        let (ln_2, two) = (build.real(LN_2), build.real(2.0));
        let over = Attribute::Ints((0..axes as i64).collect());
        let largest = match axes {
            0 => x.to_owned(),
            _ => build.add(
                "ReduceMax",
                &[x],
                &[("axes", over), ("keepdims", Attribute::Int(0))],
            ),
        };
        let largest = build.add("Clip", &[&largest, &low, &high], &[]);
        let log = build.add("Log", &[&largest], &[]);
        let bits = build.add("Div", &[&log, &ln_2], &[]);
        let shift = build.add("Floor", &[&bits], &[]);
        let back = build.add("Neg", &[&shift], &[]);
        let scale = build.add("Pow", &[&two, &back], &[]);
        (build.add("Mul", &[x, &scale], &[]), shift)
    }

    /// Makes answers of the output.
    fn finish(&mut self) {
        let output = self.output();
        let total = self.build.sum(&output, &[0]);
        let mut log = self.build.add("Log", &[&total], &[]);
        if let Some(exponent) = self.program.output.exponent() {
            let exponent = self.value(&exponent);
            let ln_2 = self.build.real(LN_2);
            let moved = self.build.add("Mul", &[&exponent, &ln_2], &[]);
            log = self.build.add("Add", &[&log, &moved], &[]);
        }
        self.weigh_closed(&log);
        self.build
            .named("impossible", "IsInf", &["log_evidence"], &[]);
        if let Some(target) = self.program.circuit.target() {
            self.posterior(target, &output, &total);
        }
        let outputs = &mut self.build.parts.outputs;
        outputs.push(value(
            "log_evidence",
            self.build.real,
            None,
            "ln P(evidence)",
        ));
        outputs.push(value(
            "impossible",
            Type::Bool,
            None,
            "whether the evidence has probability zero",
        ));
    }

    /// The output with an axis for the target, and one for the batch.
    fn output(&mut self) -> String {
        let Value { axes, varies, .. } = &self.program.output;
        let mut output = self.value(&self.program.output.name());
        if axes.is_empty() {
            output = self.build.unsqueeze(&output, 0);
        }
        if !varies {
            output = self.build.unsqueeze(&output, 1);
            output = self.across(&output);
        }
        output
    }

    /// A column for each example, all of them the same.
    pub(crate) fn across(&mut self, column: &str) -> String {
        let (zero, one) = (self.build.axes(&[0]), self.build.axes(&[1]));
        let shape = self.build.add("Shape", &["evidence"], &[]);
        let batch = self
            .build
            .add("Gather", &[&shape, &zero], &[("axis", Attribute::Int(0))]);
        let shape = self
            .build
            .add("Concat", &[&one, &batch], &[("axis", Attribute::Int(0))]);
        self.build.add("Expand", &[column, &shape], &[])
    }

    /// Evidence on a variable of which one value is left is not a tensor, but multiplies into P(e).
    fn weigh_closed(&mut self, log: &str) {
        let domains = &self.program.circuit.domains;
        let closed: Vec<VarId> = self.program.closed().collect();
        let rows = self.rows().filter(|(v, _)| closed.contains(v));
        let rows: Vec<u32> = rows
            .map(|(v, row)| (row + domains[v.index()][0]) as u32)
            .collect();
        if rows.is_empty() {
            return self.build.named("log_evidence", "Identity", &[log], &[]);
        }
        let weights = self
            .build
            .gather(&self.likelihoods, true, &[rows.len()], &rows);
        let logs = self.build.add("Log", &[&weights], &[]);
        let sum = self.build.sum(&logs, &[0]);
        self.build.named("log_evidence", "Add", &[log, &sum], &[]);
    }

    /// The target's posterior has all of its values, also those that are impossible.
    fn posterior(&mut self, target: VarId, output: &str, total: &str) {
        let circuit = self.program.circuit;
        let one = self.build.real(1.0);
        let total = self.build.add("Where", &["impossible", &one, total], &[]);
        let shares = self.build.add("Div", &[output, &total], &[]);
        let possible = self.build.add("Not", &["impossible"], &[]);
        let possible = self.cast(&possible);
        let shares = self.build.add("Mul", &[&shares, &possible], &[]);
        let (values, left) = (
            circuit.variable(target).values.len(),
            &circuit.domains[target.index()],
        );
        let place = |value: usize| {
            left.iter()
                .position(|&l| l == value)
                .map_or(Map::NOWHERE, |place| place as u32)
        };
        let places: Vec<u32> = (0..values).map(place).collect();
        let all = self.build.gather(&shares, true, &[values], &places);
        self.build.named("posterior", "Transpose", &[&all], &[]);
        let doc = format!(
            "the posterior of `{}`; zeros where the evidence is impossible",
            circuit.variable(target).name
        );
        self.build
            .parts
            .outputs
            .push(value("posterior", self.build.real, Some(values), &doc));
    }
}

/// An equation in small letters, which is all that ONNX promises, if they are enough.
fn spelled(equation: &str) -> String {
    let free = ('a'..='z').find(|&letter| !equation.contains(letter));
    free.map_or(equation.to_owned(), |letter| {
        equation.replace('Z', &letter.to_string())
    })
}
