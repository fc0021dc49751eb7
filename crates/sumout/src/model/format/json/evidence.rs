//! Evidence as an object: of each variable the name of a value, or likelihoods.

use crate::error::Result;
use crate::model::format::evidence::observe;
use crate::model::format::json::text::Value;
use crate::model::format::source::Source;
use crate::model::{Evidence, Finding, Network};
use crate::vars::VarId;

/// Reads evidence such as `{"xray": "yes", "dysp": [0.7, 0.1]}`; null is missing.
pub(in crate::model::format) fn evidence(source: &Source, net: &Network) -> Result<Evidence> {
    let mut evidence = Evidence::new();
    let object = Value::of_file(source)?.object("`{` to begin the evidence")?;
    for (name, at, value) in object.entries() {
        observe(&mut evidence, net, source, (name, at), |var| {
            finding(source, net, var, value)
        })?;
    }
    Ok(evidence)
}

fn finding(
    source: &Source,
    net: &Network,
    var: VarId,
    value: &Value<'_>,
) -> Result<Option<Finding>> {
    if value.is_null() {
        return Ok(None);
    }
    if value.is_list() {
        let numbers = value.items("likelihoods")?;
        let numbers: Result<Vec<f64>> = numbers.map(|x| x?.number("a likelihood")).collect();
        return Ok(Some(Finding::Soft(numbers?)));
    }
    let word = value.word("the name of a value, or a list of likelihoods")?;
    let position = net.value(var, &word.text);
    let position = position.map_err(|error| error.at(source.place(word.span)))?;
    Ok(Some(Finding::Hard(position)))
}
