//! The shapes of answers in JSON, the same on standard output and over the wire.

use serde_json::{Map, Value, json};
use sumout::{Answer, Explanation, MarginalMap, Network, VarId};

/// Posteriors and the probability of the evidence.
pub fn answer(net: &Network, answer: &Answer) -> Value {
    if answer.is_impossible() {
        return json!({"posteriors": {}, "log_evidence": null, "impossible": true});
    }
    let posterior = |(var, numbers): &(VarId, Vec<f64>)| {
        let variable = net.variable(*var);
        let values = variable
            .values
            .iter()
            .zip(numbers)
            .map(|(value, &p)| (value.clone(), json!(p)));
        (variable.name.clone(), Value::Object(values.collect()))
    };
    let posteriors: Map<String, Value> = answer.posteriors().iter().map(posterior).collect();
    let mut json = json!({"posteriors": posteriors, "log_evidence": answer.log_evidence() + 0.0, "impossible": false});
    if let Some(near) = &answer.near() {
        json["near"] = json!(near);
    }
    json
}

/// The most probable values of all variables.
pub fn explanation(net: &Network, explanation: &Explanation) -> Value {
    let Some(values) = explanation.assignment() else {
        return json!({"assignment": {}, "log_probability": null, "impossible": true});
    };
    let named = |(var, &value): (VarId, &usize)| {
        let variable = net.variable(var);
        (variable.name.clone(), json!(variable.values[value]))
    };
    let assignment: Map<String, Value> = net.ids().zip(values).map(named).collect();
    json!({"assignment": assignment, "log_probability": explanation.log_probability() + 0.0, "impossible": false})
}

/// The most probable values of some variables, the others summed out.
pub fn marginal_map(net: &Network, map: &MarginalMap) -> Value {
    let one = |(place, (values, log)): (usize, &(Vec<usize>, f64))| {
        let named = map.variables().iter().zip(values).map(|(&v, &value)| {
            let variable = net.variable(v);
            (variable.name.clone(), json!(variable.values[value]))
        });
        let assignment: Map<String, Value> = named.collect();
        json!({"assignment": assignment, "log_probability": log + 0.0, "probability": map.posterior(place)})
    };
    let finite = |log: f64| log.is_finite().then_some(log + 0.0);
    json!({
        "assignments": map.assignments().iter().enumerate().map(one).collect::<Vec<_>>(),
        "bound": finite(map.bound()),
        "proved": map.is_proved(),
        "nodes": map.nodes(),
        "log_evidence": finite(map.log_evidence()),
        "impossible": map.is_impossible(),
    })
}

/// The joint posterior of several variables: a row for each joint value.
pub fn joint(net: &Network, targets: &[VarId], answer: &Answer) -> Value {
    let names: Vec<&str> = targets.iter().map(|&v| &*net.variable(v).name).collect();
    if answer.is_impossible() {
        return json!({"variables": names, "joint": [], "log_evidence": null, "impossible": true});
    }
    let row = |(values, p)| json!({"values": values, "probability": p});
    let rows: Vec<Value> = joint_values(net, targets, answer).map(row).collect();
    let mut json = json!({"variables": names, "joint": rows, "log_evidence": answer.log_evidence() + 0.0, "impossible": false});
    if let Some(near) = &answer.near() {
        json["near"] = json!(near);
    }
    json
}

/// The values of several variables with their joint probability, the last variable fastest.
pub fn joint_values<'a>(
    net: &'a Network,
    targets: &'a [VarId],
    answer: &'a Answer,
) -> impl Iterator<Item = (Vec<&'a str>, f64)> {
    let all = answer.posteriors().iter().flat_map(|(_, numbers)| numbers);
    all.enumerate().map(move |(at, &p)| {
        let mut rest = at;
        let mut values = vec![""; targets.len()];
        for (to, &v) in values.iter_mut().zip(targets).rev() {
            let names = &net.variable(v).values;
            *to = &names[rest % names.len()];
            rest /= names.len();
        }
        (values, p)
    })
}
