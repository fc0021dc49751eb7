//! The models that are open: a few, each with a circuit that is kept warm.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use sumout::internals::contained;
use sumout::model::format::{Format, ReadOptions, WriteOptions};
use sumout::{Control, Error, ErrorKind, Evidence, Explanation, Level, Network, Options, Query};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::tables::{self, Changes};
use super::wire::{self, Refusal};
use super::worker::{Waiting, Worker};
use crate::args::Reading;
use crate::evidence;

/// The maximum number of kept models, besides the one that the explorer was started with; the one used
/// longest ago goes first.
const MAX_MODELS: usize = 8;

/// The most bytes of a file, and of its text when it is decompressed.
pub const MAX_FILE_BYTES: usize = 32 << 20;
const MAX_TEXT_BYTES: u64 = 256 << 20;

/// A model with more variables is too large to look at.
const MAX_VARIABLES: usize = 20_000;

/// The most plans of a model that are remembered.
const MAX_PLANS: usize = 32;

/// The most computations that run at a time, besides evaluations of circuits.
const MAX_COMPUTATIONS: usize = 2;

/// The most files that are received and read at a time.
const MAX_OPENING: usize = 2;

/// The names of a model.
#[derive(Clone, Debug)]
pub struct Named {
    /// In addresses.
    pub id: String,
    /// For people.
    pub name: String,
    /// On the command line.
    pub command: String,
    /// In Python.
    pub python: String,
}

impl Named {
    pub fn new(id: String, name: &str, reading: &Reading) -> Self {
        let (command, python) = (
            reading.typed(Path::new(name)),
            reading.in_python(Path::new(name)),
        );
        Named {
            id,
            name: name.to_owned(),
            command,
            python,
        }
    }
}

/// A model that is open.
pub struct Model {
    pub named: Named,
    pub net: Arc<Network>,
    worker: Worker,
    plans: Mutex<Vec<(Planning, Arc<Value>)>>,
    shared: Arc<Shared>,
}

/// State shared by all models.
pub struct Shared {
    pub options: Options,
    pub permits: Arc<Semaphore>,
}

/// A query to be planned: for one target or all, given inputs by name or pattern, on some level.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Planning {
    target: Option<String>,
    given: Vec<String>,
    level: Option<String>,
}

/// The models that are open, the one used last at the end.
pub struct Models {
    pinned: Mutex<Option<Arc<Model>>>,
    kept: Mutex<Vec<Arc<Model>>>,
    opening: Semaphore,
    shared: Arc<Shared>,
}

impl Models {
    pub fn new(options: Options) -> Self {
        let shared = Arc::new(Shared {
            options,
            permits: Arc::new(Semaphore::new(MAX_COMPUTATIONS)),
        });
        Models {
            pinned: Mutex::default(),
            kept: Mutex::default(),
            opening: Semaphore::new(MAX_OPENING),
            shared,
        }
    }

    /// Keeps a model for good: the one to begin with.
    pub fn pin(&self, named: Named, net: Network) {
        *lock(&self.pinned) = Some(Arc::new(Model::new(named, net, &self.shared)));
    }

    /// All models, the one to begin with first.
    pub fn list(&self) -> Vec<Arc<Model>> {
        lock(&self.pinned)
            .iter()
            .chain(lock(&self.kept).iter())
            .cloned()
            .collect()
    }

    /// A model by its id.
    pub fn get(&self, id: &str) -> Result<Arc<Model>, Refusal> {
        if let Some(model) = lock(&self.pinned)
            .as_ref()
            .filter(|model| model.named.id == id)
        {
            return Ok(model.clone());
        }
        let mut kept = lock(&self.kept);
        let Some(at) = kept.iter().position(|model| model.named.id == id) else {
            let message = format!("no model `{id}` is open: open it again");
            return Err(Refusal::new(StatusCode::NOT_FOUND, "missing", &message));
        };
        kept[at..].rotate_left(1);
        Ok(kept[kept.len() - 1].clone())
    }

    /// Opens a file that is being sent; if nothing is, the network that is built in by that name. A
    /// few at a time: what waits is not yet in memory.
    pub async fn open(
        self: Arc<Self>,
        name: String,
        normalize: bool,
        body: Body,
    ) -> Result<Arc<Model>, Refusal> {
        let failed = || {
            Refusal::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "failed",
                "the file could not be read",
            )
        };
        let _turn = self.opening.acquire().await.map_err(|_| failed())?;
        let bytes = wire::bytes(body, MAX_FILE_BYTES).await?;
        let models = self.clone();
        let read = move || contained("open", || models.read(&name, normalize, &bytes));
        spawn_blocking(read).await.map_err(|_| failed())??
    }

    fn read(&self, name: &str, normalize: bool, bytes: &[u8]) -> Result<Arc<Model>, Refusal> {
        if bytes.is_empty() && is_built_in(name) {
            self.open_named(name)
        } else {
            self.open_file(name, normalize, bytes)
        }
    }

    fn open_named(&self, name: &str) -> Result<Arc<Model>, Refusal> {
        if let Ok(model) = self.get(name) {
            return Ok(model);
        }
        self.keep(
            Named::new(id(name), name, &Reading::default()),
            Network::read(name)?,
        )
    }

    fn open_file(&self, name: &str, normalize: bool, bytes: &[u8]) -> Result<Arc<Model>, Refusal> {
        let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
        let mut hasher = DefaultHasher::new();
        (bytes, normalize).hash(&mut hasher);
        let id = format!("{}-{:016x}", id(name), hasher.finish());
        if let Ok(model) = self.get(&id) {
            return Ok(model);
        }
        let options = ReadOptions::default()
            .with_normalize(normalize)
            .with_max_bytes(MAX_TEXT_BYTES);
        let net = Network::parse(name, bytes, &options)?;
        self.keep(Named::new(id, name, &Reading::of_file(normalize)), net)
    }

    /// A model with other numbers in some tables. Elsewhere it is read from the file that the page
    /// saves.
    pub fn change(&self, model: &Model, changes: &Changes) -> Result<Arc<Model>, Refusal> {
        let net = tables::changed(&model.net, changes)?;
        let json = WriteOptions::default().with_format(Format::Json);
        let text = net.to_text(&json)?;
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let id = format!("{}-{:016x}", id(net.name()), hasher.finish());
        if let Ok(model) = self.get(&id) {
            return Ok(model);
        }
        let name = format!("{}-changed.json", net.name());
        self.keep(Named::new(id, &name, &Reading::default()), net)
    }

    fn keep(&self, named: Named, net: Network) -> Result<Arc<Model>, Refusal> {
        if net.variables().len() > MAX_VARIABLES {
            let (count, most) = (net.variables().len(), MAX_VARIABLES);
            let error = Error::new(
                ErrorKind::Unsupported,
                format!("{count} variables are too many to look at"),
            );
            return Err(error
                .hint(format!("open a network of at most {most} variables"))
                .into());
        }
        let model = Arc::new(Model::new(named, net, &self.shared));
        let mut kept = lock(&self.kept);
        kept.retain(|other| other.named.id != model.named.id);
        kept.push(model.clone());
        let spare = kept.len().saturating_sub(MAX_MODELS);
        kept.drain(..spare);
        Ok(model)
    }
}

/// Whether a name is that of a network, and not of a file.
fn is_built_in(name: &str) -> bool {
    let is_plain = |rest: &str| {
        rest.bytes()
            .all(|b| b.is_ascii_alphanumeric() || b",.=".contains(&b))
    };
    let families = ["rect:", "digits:", "random:"];
    name == "asia"
        || families
            .iter()
            .any(|family| name.strip_prefix(family).is_some_and(is_plain))
}

/// A name as a part of an address.
pub fn id(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.,:=".contains(c);
    name.chars()
        .map(|c| if is_plain(c) { c } else { '-' })
        .take(80)
        .collect()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Model {
    fn new(named: Named, net: Network, shared: &Arc<Shared>) -> Self {
        let net = Arc::new(net);
        let worker = Worker::start(net.clone(), shared.clone());
        Model {
            named,
            net,
            worker,
            plans: Mutex::default(),
            shared: shared.clone(),
        }
    }

    /// All posteriors, from the circuit that is kept.
    pub async fn answer(&self, evidence: Evidence) -> Result<sumout::Answer, Refusal> {
        self.worker.answer(evidence).await
    }

    /// The state of the circuit.
    pub fn progress(&self) -> Value {
        self.worker.progress()
    }

    /// The most probable explanation.
    pub async fn explain(&self, evidence: Evidence) -> Result<Explanation, Refusal> {
        let (net, options) = (self.net.clone(), self.shared.options.clone());
        let work = move |control| net.mpe(&evidence, &options.with_control(control));
        self.compute(work).await
    }

    /// Findings that cannot be true together, of evidence that is impossible.
    pub async fn conflict(&self, evidence: Evidence) -> Result<Evidence, Refusal> {
        let (net, options) = (self.net.clone(), self.shared.options.clone());
        let work = move |control| {
            Ok(evidence::conflict(
                &net,
                &evidence,
                &options.with_control(control),
            ))
        };
        self.compute(work).await
    }

    /// The cost of a query, and its tree; cached.
    pub async fn plan(&self, planning: Planning) -> Result<Arc<Value>, Refusal> {
        if let Some(plan) = self.remembered(&planning) {
            return Ok(plan);
        }
        let (net, shared, asked) = (self.net.clone(), self.shared.clone(), planning.clone());
        let found = self
            .compute(move |control| {
                let options = shared.options.clone().with_control(control);
                plan(&net, &asked, &options)
            })
            .await?;
        let found = self
            .remembered(&planning)
            .unwrap_or_else(|| Arc::new(found));
        let mut plans = lock(&self.plans);
        plans.retain(|(other, _)| *other != planning);
        plans.push((planning, found.clone()));
        let spare = plans.len().saturating_sub(MAX_PLANS);
        plans.drain(..spare);
        Ok(found)
    }

    fn remembered(&self, planning: &Planning) -> Option<Arc<Value>> {
        lock(&self.plans)
            .iter()
            .find(|(other, _)| other == planning)
            .map(|(_, plan)| plan.clone())
    }

    /// Computes in a thread of its own, when there is a permit; until it is done, or nobody waits
    /// for it any more.
    async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce(Control) -> sumout::Result<T> + Send + 'static,
    ) -> Result<T, Refusal> {
        let failed = || {
            Refusal::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "failed",
                "the computation failed",
            )
        };
        let permit = self
            .shared
            .permits
            .clone()
            .acquire_owned()
            .await
            .map_err(|_| failed())?;
        let waiting = Waiting::default();
        let control = waiting.0.clone();
        let work = move || {
            let _permit = permit; // held until the work is done, even if nobody waits for it any more
            contained("compute", || work(control)).and_then(|found| found)
        };
        Ok(spawn_blocking(work).await.map_err(|_| failed())??)
    }
}

fn plan(net: &Network, asked: &Planning, options: &Options) -> sumout::Result<Value> {
    let level = asked
        .level
        .as_deref()
        .map(str::parse::<Level>)
        .transpose()?
        .unwrap_or_default();
    let query = asked
        .target
        .as_ref()
        .map_or_else(Query::all, Query::of)
        .given(&asked.given);
    let plan = net.plan(&query, &options.clone().with_level(level))?;
    Ok(json!({"report": plan.report(), "tree": plan.jointree()}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_networks_are_opened_by_name() {
        for name in ["asia", "rect:8", "digits:10,noise=0.2", "random:75,4,50,1"] {
            assert!(is_built_in(name), "{name}");
        }
        for name in [
            "asia.bif",
            "/etc/passwd",
            "rect:/../x",
            "rect",
            "digits:..\\x",
            "",
        ] {
            assert!(!is_built_in(name), "{name}");
        }
    }

    #[test]
    fn ids_are_parts_of_addresses() {
        assert_eq!(id("rect:8,noise=0"), "rect:8,noise=0");
        assert_eq!(id("models/my model?.bif"), "models-my-model-.bif");
    }
}
