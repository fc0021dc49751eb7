//! Variables and factors in JSON.

use serde_json::{Value, json};
use sumout::model::{SelectedCpt, SelectionKind};
use sumout::{Cpt, Network, VarId};

use super::names;

pub(super) fn variable(net: &Network, var: VarId) -> Value {
    let variable = net.variable(var);
    json!({"name": variable.name, "values": variable.values, "parents": names(net, net.parents(var))})
}

fn selection(net: &Network, it: &SelectedCpt) -> Value {
    let by = &it.selection;
    let mut found = json!({
        "select": by.kind.name(), "copies": by.copies, "thresholds": by.thresholds, "fixed": it.is_fixed, "tie": it.tie,
    });
    match &by.kind {
        SelectionKind::Step(comparison) => found["compare"] = json!(comparison.sign()),
        SelectionKind::Sigmoid { slope, is_learned } => {
            (found["slope"], found["learn_slope"]) = (json!(slope), json!(is_learned));
        }
        SelectionKind::Softmax {
            of,
            weights,
            biases,
        } => {
            (found["of"], found["weights"], found["biases"]) =
                (json!(names(net, of)), json!(weights), json!(biases));
        }
        _ => {} // linear: there is nothing to tell
    }
    found
}

pub(super) fn factor(net: &Network, cards: &[usize], cpt: &Cpt) -> Value {
    json!({
        "child": cpt.child().map(|var| &net.variable(var).name),
        "scope": names(net, cpt.scope()),
        "kind": if cpt.selected().is_some() { "tested" } else if cpt.is_functional() { "function" } else { "table" },
        "test": cpt.selected().map(|it| selection(net, it)),
        "declared_functional": cpt.role().functional,
        "entries": cpt.size(cards),
        "zeros": cpt.zeros(cards),
    })
}
