//! The JSON interface of the page; docs/explorer.md documents it.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Json, Redirect};
use axum::routing::{get, post};
use axum::{Router, response::Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sumout::model::format::{Format, WriteOptions};

use super::guard::{self, Guard};
use super::models::{self, Models, Planning};
use super::page;
use super::tables;
use super::wire::{self, Question, Refusal};

type Answered = Result<Json<Value>, Refusal>;
type Open = State<Arc<Models>>;

/// All that is served, under a token.
pub fn router(token: &str, models: Arc<Models>, guard: Arc<Guard>) -> Router {
    let at = |path: &str| format!("/{token}{path}");
    let home = at("/");
    Router::new()
        .route(&at(""), get(|| async move { Redirect::permanent(&home) }))
        .route(&at("/"), get(|| async { page::file("index.html") }))
        .route(&at("/{file}"), get(file))
        .route(&at("/api"), get(about))
        .route(&at("/api/models"), post(open))
        .route(&at("/api/models/{id}"), get(network))
        .route(&at("/api/models/{id}/progress"), get(progress))
        .route(&at("/api/models/{id}/query"), post(ask))
        .route(&at("/api/models/{id}/conflict"), post(conflict))
        .route(&at("/api/models/{id}/mpe"), post(explain))
        .route(&at("/api/models/{id}/plan"), post(plan))
        .route(&at("/api/models/{id}/sample"), get(sample))
        .route(&at("/api/models/{id}/table"), get(table))
        .route(&at("/api/models/{id}/tables"), post(change))
        .route(&at("/api/models/{id}/file"), get(download))
        .fallback(|| async { missing("there is nothing at this address") })
        .method_not_allowed_fallback(|| async {
            Refusal::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "method",
                "this address takes another method",
            )
        })
        .with_state(models)
        .layer(from_fn_with_state(guard, guard::guard))
}

fn missing(message: &str) -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "missing", message)
}

fn malformed(message: &str) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, "malformed", message)
}

async fn file(Path(name): Path<String>) -> Response {
    page::file(&name)
}

async fn about(State(models): Open) -> Json<Value> {
    let models: Vec<Value> = models
        .list()
        .iter()
        .map(|m| json!({"id": m.named.id, "name": m.named.name, "title": m.net.name()}))
        .collect();
    Json(
        json!({"version": env!("CARGO_PKG_VERSION"), "models": models, "most_bytes": models::MAX_FILE_BYTES}),
    )
}

/// `?name=asia` opens what is built in; with a body, the name is that of the file that is sent.
#[derive(Deserialize)]
struct Opening {
    name: String,
    /// Rescale rows that do not sum to 1.
    #[serde(default)]
    normalize: bool,
}

async fn open(
    State(models): Open,
    opening: Result<Query<Opening>, QueryRejection>,
    body: Body,
) -> Answered {
    let Ok(Query(Opening { name, normalize })) = opening else {
        return Err(malformed("name the model with `?name=…`"));
    };
    Ok(Json(wire::network(
        &*models.open(name, normalize, body).await?,
    )))
}

async fn network(State(models): Open, Path(id): Path<String>) -> Answered {
    Ok(Json(wire::network(&*models.get(&id)?)))
}

async fn progress(State(models): Open, Path(id): Path<String>) -> Answered {
    Ok(Json(models.get(&id)?.progress()))
}

async fn ask(State(models): Open, Path(id): Path<String>, body: Body) -> Answered {
    let model = models.get(&id)?;
    let question: Question = wire::read(body).await?;
    let (evidence, targets) = (
        question.evidence(&model.net)?,
        question.targets(&model.net)?,
    );
    let begun = Instant::now();
    let mut answer = model.answer(evidence).await?;
    if !targets.is_empty() {
        answer = answer.only(&targets);
    }
    let mut answered = crate::json::answer(&model.net, &answer);
    answered["seconds"] = json!(begun.elapsed().as_secs_f64());
    Ok(Json(answered))
}

async fn conflict(State(models): Open, Path(id): Path<String>, body: Body) -> Answered {
    let model = models.get(&id)?;
    let evidence = wire::read::<Question>(body).await?.evidence(&model.net)?;
    let conflict = model.conflict(evidence).await?;
    let names: Vec<&str> = conflict
        .iter()
        .map(|(var, _)| &model.net.variable(var).name[..])
        .collect();
    Ok(Json(json!({"conflict": names})))
}

/// `?variable=xray`: whose table is shown.
#[derive(Deserialize)]
struct Table {
    variable: String,
}

async fn table(
    State(models): Open,
    Path(id): Path<String>,
    table: Result<Query<Table>, QueryRejection>,
) -> Answered {
    let model = models.get(&id)?;
    let Ok(Query(Table { variable })) = table else {
        return Err(malformed("name the variable with `?variable=…`"));
    };
    Ok(Json(tables::shown(&model.net, &variable)?))
}

async fn change(State(models): Open, Path(id): Path<String>, body: Body) -> Answered {
    let model = models.get(&id)?;
    let changes = wire::read(body).await?;
    Ok(Json(wire::network(&*models.change(&model, &changes)?)))
}

/// The network as a file, in the format that loses nothing.
async fn download(State(models): Open, Path(id): Path<String>) -> Result<Response, Refusal> {
    let json = WriteOptions::default().with_format(Format::Json);
    let text = models.get(&id)?.net.to_text(&json)?;
    Ok(([(CONTENT_TYPE, "application/json")], text).into_response())
}

async fn explain(State(models): Open, Path(id): Path<String>, body: Body) -> Answered {
    let model = models.get(&id)?;
    let evidence = wire::read::<Question>(body).await?.evidence(&model.net)?;
    let explanation = model.explain(evidence).await?;
    Ok(Json(crate::json::explanation(&model.net, &explanation)))
}

async fn plan(State(models): Open, Path(id): Path<String>, body: Body) -> Answered {
    let model = models.get(&id)?;
    let planning: Planning = wire::read(body).await?;
    Ok(Json((*model.plan(planning).await?).clone()))
}

#[derive(Default, Deserialize)]
struct Sampling {
    #[serde(default)]
    seed: u64,
}

async fn sample(
    State(models): Open,
    Path(id): Path<String>,
    sampling: Result<Query<Sampling>, QueryRejection>,
) -> Answered {
    let net = models.get(&id)?.net.clone();
    let mut sampler = net.sampler(sampling.map_or(0, |Query(sampling)| sampling.seed))?;
    let case = net.ids().zip(sampler.draw()).map(|(var, &value)| {
        let variable = net.variable(var);
        (
            variable.name.clone(),
            json!(variable.values[value as usize]),
        )
    });
    Ok(Json(json!({"assignment": case.collect::<Map<_, _>>()})))
}
