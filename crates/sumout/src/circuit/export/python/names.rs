//! The names of variables and values, in Python.

use crate::circuit::Circuit;
use crate::vars::VarId;

pub(super) fn target_note(circuit: &Circuit) -> &'static str {
    match circuit.target() {
        Some(_) => "",
        None => " The circuit has no single target, so that `posterior` is None.",
    }
}

pub(super) fn named_target(circuit: &Circuit) -> String {
    let named = |t: VarId| {
        format!(
            "({}, [{}])",
            quoted(&circuit.variable(t).name),
            values(circuit, t)
        )
    };
    circuit.target().map_or("None".into(), named)
}

pub(super) fn named_inputs(circuit: &Circuit) -> String {
    let line = |v: VarId| {
        format!(
            "    {}: [{}],\n",
            quoted(&circuit.variable(v).name),
            values(circuit, v)
        )
    };
    format!("{{\n{}}}", circuit.inputs().map(line).collect::<String>())
}

pub(super) fn named_hard(circuit: &Circuit) -> String {
    let names: Vec<String> = circuit
        .hard
        .iter()
        .map(|v| quoted(&circuit.variable(v).name))
        .collect();
    format!("[{}]", names.join(", "))
}

/// The names of a variable's values, in Python.
fn values(circuit: &Circuit, var: VarId) -> String {
    circuit
        .variable(var)
        .values
        .iter()
        .map(|value| quoted(value))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A Python string literal; JSON escapes are valid in Python.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
