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
