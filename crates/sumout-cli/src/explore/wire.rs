//! The wire format: networks, evidence and errors as JSON.

use std::collections::BTreeMap;

use axum::body::{Body, to_bytes};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use sumout::{Cpt, Error, ErrorKind, Evidence, Finding, Network, Remedy, VarId};
use tokio::time::{Duration, timeout};

use super::models::Model;
use crate::{errors, output};

/// A request that is not answered: why, and with which status.
#[derive(Debug)]
pub struct Refusal {
    status: StatusCode,
    error: Value,
}

impl Refusal {
    /// A refusal in words.
    pub fn new(status: StatusCode, kind: &str, message: &str) -> Self {
        let text = format!("error: {message}");
        Refusal {
            status,
            error: json!({"kind": kind, "message": message, "place": null, "hint": null, "text": text}),
        }
    }

    /// The status of the answer.
    #[cfg(test)]
    pub fn status(&self) -> StatusCode {
        self.status
    }
}

/// The error text of the command line. A defect is also shown where the server was started.
impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let actions: Vec<Value> = error.remedies().iter().filter_map(action).collect();
        let error = errors::worded(error);
        let mut json = errors::to_json(&error);
        json["text"] = error.render(false).into();
        json["actions"] = actions.into();
        let is_defect = error.kind() == ErrorKind::Defect;
        if is_defect {
            output::talk(&error.render(false));
        }
        let status = match is_defect {
            true => StatusCode::INTERNAL_SERVER_ERROR,
            false => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Refusal {
            status,
            error: json,
        }
    }
}

/// A remedy that the page can carry out at a press of a button.
fn action(remedy: &Remedy) -> Option<Value> {
    match remedy {
        Remedy::TurnOn { option, .. } if *option == "normalize" => Some(json!({"do": "normalize"})),
        Remedy::Observe(variable, _) => Some(json!({"do": "observe", "variable": variable})),
        _ => None,
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(json!({"error": self.error}))).into_response()
    }
}

/// A request that takes longer to arrive is refused.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The bytes that a client sends, if they are not too many.
pub async fn bytes(body: Body, most: usize) -> Result<Vec<u8>, Refusal> {
    let slow = |_| {
        Refusal::new(
            StatusCode::REQUEST_TIMEOUT,
            "slow",
            "the request did not arrive in time",
        )
    };
    let large = |_| {
        let message = format!(
            "the request is broken off, or has more than {} KiB",
            most >> 10
        );
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "large", &message)
    };
    timeout(REQUEST_TIMEOUT, to_bytes(body, most))
        .await
        .map_err(slow)?
        .map(|bytes| bytes.to_vec())
        .map_err(large)
}

/// The most bytes of a question.
const MAX_JSON_BYTES: usize = 1 << 20;

/// A client's query; an empty body is an empty query.
pub async fn read<T: DeserializeOwned>(body: Body) -> Result<T, Refusal> {
    let bytes = bytes(body, MAX_JSON_BYTES).await?;
    let text = if bytes.is_empty() { b"{}" } else { &bytes[..] };
    // An object: a list would pass for one whose fields are not named.
    let json = serde_json::from_slice::<Map<String, Value>>(text);
    json.and_then(|json| serde_json::from_value(Value::Object(json)))
        .map_err(|e| {
            let message = format!("the request is not the JSON that is expected: {e}");
            Refusal::new(StatusCode::BAD_REQUEST, "malformed", &message)
        })
}

/// Evidence, and what is asked of it; no targets are all of them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Question {
    /// Values of variables, by name or by pattern.
    given: BTreeMap<String, String>,
    /// Likelihoods of their values.
    soft: BTreeMap<String, Vec<f64>>,
    targets: Vec<String>,
}

impl Question {
    pub fn evidence(&self, net: &Network) -> sumout::Result<Evidence> {
        let mut evidence = Evidence::new();
        for (pattern, value) in &self.given {
            for var in net.matching(pattern)? {
                evidence.insert(net, var, Finding::Hard(net.value(var, value)?))?;
            }
        }
        for (pattern, likelihood) in &self.soft {
            for var in net.matching(pattern)? {
                evidence.insert(net, var, Finding::Soft(likelihood.clone()))?;
            }
        }
        Ok(evidence)
    }

    pub fn targets(&self, net: &Network) -> sumout::Result<Vec<VarId>> {
        let found: sumout::Result<Vec<_>> = self
            .targets
            .iter()
            .map(|pattern| net.matching(pattern))
            .collect();
        Ok(found?.concat())
    }
}

/// A model as the page draws it.
pub fn network(model: &Model) -> Value {
    let net = &model.net;
    let indices = |vars: &[VarId]| vars.iter().map(|v| v.index()).collect::<Vec<_>>();
    let cards = net.cards();
    let variable = |v: VarId| {
        let cpt = (!net.is_markov()).then(|| &net.cpts()[v.index()]);
        json!({
            "name": net.variable(v).name, "values": net.variable(v).values, "parents": indices(net.parents(v)),
            "functional": cpt.is_some_and(Cpt::is_functional),
            "declared": cpt.is_some_and(|cpt| cpt.role().functional),
            "entries": cpt.map(|cpt| cpt.size(&cards)),
        })
    };
    let scopes = |cpt: &Cpt| indices(cpt.scope());
    let factors: Vec<Vec<usize>> = if net.is_markov() {
        net.cpts().iter().map(scopes).collect()
    } else {
        vec![]
    };
    json!({
        "id": model.named.id, "name": model.named.name, "title": net.name(), "command": model.named.command,
        "python": model.named.python, "markov": net.is_markov(), "variables": net.ids().map(variable).collect::<Vec<_>>(), "factors": factors,
    })
}
