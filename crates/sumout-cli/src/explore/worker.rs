//! A thread that compiles a model once, and then answers from its circuit.
//!
//! Where the circuit does not fit in memory, each question is compiled on its own: with evidence it
//! may fit.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use axum::http::StatusCode;
use serde_json::{Value, json};
use sumout::internals::contained;
use sumout::{Answer, Circuit, Control, EvalOptions, Evidence, Network, Precision, Query};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use super::models::Shared;
use super::wire::Refusal;

/// The most questions that wait; more are told to come back.
const MAX_WAITING: usize = 1024;

/// The thread of a model. It ends when this is dropped, after what it is at.
pub struct Worker {
    jobs: mpsc::Sender<Job>,
    progress: Arc<Mutex<Progress>>,
}

struct Job {
    evidence: Evidence,
    reply: oneshot::Sender<sumout::Result<Answer>>,
    control: Control,
}

/// Stops a computation when nobody waits for it any more.
pub struct Waiting(pub Control);

impl Default for Waiting {
    fn default() -> Self {
        Waiting(Control::new())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.stop();
    }
}

#[derive(Clone, Copy, Debug)]
struct Progress {
    phase: &'static str,
    since: Instant,
}

impl Worker {
    /// Begins to compile.
    pub fn start(net: Arc<Network>, shared: Arc<Shared>) -> Self {
        let (jobs, waiting) = mpsc::channel(MAX_WAITING);
        let progress = Arc::new(Mutex::new(Progress {
            phase: "waiting",
            since: Instant::now(),
        }));
        let thread = Thread {
            net,
            shared,
            waiting,
            progress: progress.clone(),
            runtime: Handle::current(),
        };
        thread::spawn(move || thread.run());
        Worker { jobs, progress }
    }

    /// The posteriors of all variables. If nobody waits for them any more, their computation ends.
    pub async fn answer(&self, evidence: Evidence) -> Result<Answer, Refusal> {
        let (reply, answer) = oneshot::channel();
        let waiting = Waiting::default();
        self.jobs
            .try_send(Job {
                evidence,
                reply,
                control: waiting.0.clone(),
            })
            .map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => busy(),
                mpsc::error::TrySendError::Closed(_) => failed(),
            })?;
        Ok(answer.await.map_err(|_| failed())??)
    }

    /// Its state, and for how long.
    pub fn progress(&self) -> Value {
        let Progress { phase, since } =
            *self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = self.jobs.max_capacity() - self.jobs.capacity();
        json!({"phase": phase, "seconds": since.elapsed().as_secs_f64(), "waiting": waiting})
    }
}

fn busy() -> Refusal {
    Refusal::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "busy",
        "too many questions are waiting for this model",
    )
}

fn failed() -> Refusal {
    Refusal::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "failed",
        "the computation failed",
    )
}

struct Thread {
    net: Arc<Network>,
    shared: Arc<Shared>,
    waiting: mpsc::Receiver<Job>,
    progress: Arc<Mutex<Progress>>,
    runtime: Handle,
}

impl Thread {
    fn run(mut self) {
        let Some(circuit) = self.compile() else {
            return;
        };
        let running = EvalOptions::default()
            .with_precision(Precision::F64)
            .with_memory(self.shared.options.memory());
        let evaluator = circuit.and_then(|circuit| circuit.evaluator(&running)).ok();
        self.report("ready");
        while let Some(Job {
            evidence,
            reply,
            control,
        }) = self.waiting.blocking_recv()
        {
            if reply.is_closed() {
                continue;
            }
            self.report("computing");
            let answer = contained("answer", || match &evaluator {
                Some(evaluator) => evaluator.answer_unless(&evidence, &control),
                None => {
                    let options = self.shared.options.clone().with_control(control);
                    self.net.query(&[], &evidence, &options).map(Some)
                }
            })
            .and_then(|answer| answer);
            self.report("ready");
            if let Some(answer) = answer.transpose() {
                let _ = reply.send(answer); // whoever asked may have left; nobody waits for what was stopped
            }
        }
    }

    /// The circuit for all posteriors; none if nobody wants it any more.
    fn compile(&mut self) -> Option<sumout::Result<Circuit>> {
        let permit = self
            .runtime
            .block_on(self.shared.permits.clone().acquire_owned())
            .ok()?;
        if self.waiting.is_closed() {
            return None;
        }
        self.report("compiling");
        let query = Query::all().trainable([""; 0]); // the tables as they are, whatever may yet be learned
        let circuit = contained("compile", || self.net.compile(&query, &self.shared.options));
        let circuit = circuit.and_then(|circuit| circuit);
        drop(permit);
        Some(circuit)
    }

    fn report(&self, phase: &'static str) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Progress {
            phase,
            since: Instant::now(),
        };
    }
}
