//! Learns the numbers of a network.

use std::sync::Arc;

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use sumout::learn::Params;
use sumout::{
    Error, ErrorKind, Examples, FitOptions, Method, Query, Subject, Trainer, Training, VarId,
    VarSet,
};

use crate::batch::Batch;
use crate::circuit::Circuit;
use crate::error::Result;
use crate::network::Network;
use crate::options::{EvalOptions, Options};
use crate::work::{self, Watch};

/// What there is to learn from, and what for.
#[pyclass(frozen, skip_from_py_object, module = "sumout._sumout")]
#[derive(Clone, Debug)]
pub struct Lesson {
    examples: Examples,
    targets: Vec<usize>,
    given: Option<Vec<String>>,
    train: Option<Vec<String>>,
    freeze: Vec<String>,
    snap: bool,
}

#[pymethods]
impl Lesson {
    #[new]
    fn new(
        examples: &mut Batch,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        targets: Vec<usize>,
        given: Option<Vec<String>>,
        train: Option<Vec<String>>,
        freeze: Vec<String>,
        snap: bool,
    ) -> Result<Self> {
        let Batch { rows, columns } = examples.take();
        let mut all = Examples::new(rows);
        columns
            .into_iter()
            .for_each(|(v, column)| all.insert(VarId::new(v), column));
        if let Some(weights) = weights {
            all.weigh(weights.as_array().to_vec())?;
        }
        Ok(Lesson {
            examples: all,
            targets,
            given,
            train,
            freeze,
            snap,
        })
    }
}

/// What was learned.
#[pyclass(frozen, module = "sumout._sumout", get_all)]
#[derive(Debug)]
pub struct Learned {
    /// The network with the numbers that were learned.
    network: Py<Network>,
    /// The circuit that was trained, if there is one target.
    circuit: Option<Py<Circuit>>,
    /// All epochs, as JSON; none if the examples were complete and could be counted.
    history: String,
    /// The epoch that was best, as JSON.
    best: String,
    /// The number of weights, and the names of what shares them.
    parameters: usize,
    groups: Vec<String>,
    /// By how much posteriors of the network differ from those of the circuit, if functions were
    /// promised.
    difference: Option<f64>,
}

/// How to learn, as JSON: `default`, `paper` or `em`.
#[pyfunction]
pub fn learning(preset: &str) -> Result<String> {
    let learning = match preset {
        "default" => FitOptions::default(),
        "paper" => FitOptions::paper(),
        "em" => FitOptions::em(),
        _ => {
            let error = Error::new(ErrorKind::Options, format!("unknown preset `{preset}`"));
            return Err(error.hint("use `default`, `paper` or `em`").into());
        }
    };
    Ok(serde_json::to_string(&learning).expect("how to learn is JSON"))
}

/// Learns; after every epoch `progress` is called.
#[pyfunction]
pub fn fit(
    py: Python<'_>,
    network: &Network,
    lesson: &Lesson,
    learning: &str,
    options: &Options,
    running: &EvalOptions,
    progress: Option<Bound<'_, PyAny>>,
) -> Result<Learned> {
    let learning: FitOptions = serde_json::from_str(learning)
        .map_err(|e| Error::new(ErrorKind::Options, format!("invalid training options: {e}")))?;
    let (net, lesson) = (network.0.clone(), lesson.clone());
    let (options, running) = (options.0.clone(), running.0);
    let found = work::long(py, progress.as_ref(), move |watch| {
        learn(&net, &lesson, learning, &options, &running, watch)
    })?;
    Ok(Learned {
        network: Py::new(py, Network(Arc::new(found.network)))?,
        circuit: found
            .circuit
            .map(|circuit| Py::new(py, Circuit::new(circuit)))
            .transpose()?,
        history: found.history,
        best: found.best,
        parameters: found.params.len(),
        groups: found
            .params
            .groups()
            .iter()
            .map(|group| group.name.clone())
            .collect(),
        difference: found.difference,
    })
}

struct Found {
    network: sumout::Network,
    circuit: Option<sumout::Circuit>,
    params: Params,
    history: String,
    best: String,
    difference: Option<f64>,
}

fn learn(
    net: &sumout::Network,
    lesson: &Lesson,
    learning: FitOptions,
    options: &sumout::Options,
    running: &sumout::EvalOptions,
    watch: &Watch,
) -> sumout::Result<Found> {
    learning.check()?;
    let subject = subject(net, lesson)?;
    if learning.method == Method::Em
        && let Some(params) = net.count(&subject, &lesson.examples, learning.prior)?
    {
        let network = net.with_tables(params.tables());
        let circuit = compile(&network, &subject, options)?;
        return Ok(Found {
            network,
            circuit,
            params,
            history: "[]".into(),
            best: "null".into(),
            difference: None,
        });
    }
    let course = net.course(&subject, learning, options, running)?;
    let mut trainer = course.trainer(&lesson.examples)?;
    while !trainer.is_done() {
        watch.go_on()?;
        let epoch = json(trainer.epoch()?);
        let (done, most) = trainer.progress();
        watch.tell(done, most, epoch);
    }
    finish(&course, &subject, &trainer, lesson, options)
}

fn finish(
    course: &Training,
    subject: &Subject,
    trainer: &Trainer<'_>,
    lesson: &Lesson,
    options: &sumout::Options,
) -> sumout::Result<Found> {
    let mut params = trainer.learned();
    if lesson.snap {
        params.snap();
    }
    let is_promised = params.has_promised();
    let difference = is_promised
        .then(|| course.difference(&params, &lesson.examples, options))
        .transpose()?;
    let network = course.network(&params);
    let trained = course
        .trained(&params)
        .into_iter()
        .find(|(_, target)| target.is_some());
    let circuit = match trained.filter(|_| subject.targets.len() == 1) {
        Some((circuit, _)) => Some(circuit),
        None => compile(&network, subject, options)?,
    };
    let (history, best) = (
        json(&trainer.state().history),
        json(&trainer.state().best()),
    );
    Ok(Found {
        network,
        circuit,
        params,
        history,
        best,
        difference: difference.map(|found| found.largest),
    })
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("epochs are JSON")
}

/// The circuit for the one target of a network that was learned without it.
fn compile(
    net: &sumout::Network,
    subject: &Subject,
    options: &sumout::Options,
) -> sumout::Result<Option<sumout::Circuit>> {
    let [target] = subject.targets[..] else {
        return Ok(None);
    };
    let name = |v: VarId| net.variable(v).name.clone();
    let inputs: Vec<String> = subject
        .given
        .iter()
        .filter(|v| *v != target)
        .map(name)
        .collect();
    net.compile(
        &Query::of(name(target))
            .given(inputs)
            .trainable(Vec::<String>::new()),
        options,
    )
    .map(Some)
}

fn subject(net: &sumout::Network, lesson: &Lesson) -> sumout::Result<Subject> {
    let matching = |names: &[String]| -> sumout::Result<VarSet> {
        let found: sumout::Result<Vec<_>> = names.iter().map(|name| net.matching(name)).collect();
        Ok(found?.into_iter().flatten().collect())
    };
    let targets: Vec<VarId> = lesson.targets.iter().copied().map(VarId::new).collect();
    let subject = Subject::of(&targets, &lesson.examples);
    Ok(Subject {
        given: lesson
            .given
            .as_deref()
            .map(matching)
            .transpose()?
            .unwrap_or(subject.given),
        trainable: lesson.train.as_deref().map(matching).transpose()?,
        frozen: matching(&lesson.freeze)?,
        strict_ties: false,
        targets,
    })
}
