//! Learns the CPTs of a network.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use sumout::learn::{Checkpoint, Loss};
use sumout::{Error, ErrorKind, Examples, FitEvent, Fitted, VarId};

use crate::batch::Batch;
use crate::circuit::Circuit;
use crate::error::Result;
use crate::network::Network;
use crate::options::{EvalOptions, Options};
use crate::work::{self, Watch};

/// Examples, what is predicted from what, and which CPTs are learned.
#[pyclass(frozen, skip_from_py_object, module = "sumout._sumout")]
#[derive(Clone, Debug)]
pub struct Task {
    examples: Examples,
    targets: Vec<usize>,
    given: Option<Vec<String>>,
    train: Option<Vec<String>>,
    freeze: Vec<String>,
    strict_ties: bool,
}

#[pymethods]
impl Task {
    #[new]
    fn new(
        examples: &mut Batch,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        targets: Vec<usize>,
        given: Option<Vec<String>>,
        train: Option<Vec<String>>,
        freeze: Vec<String>,
        strict_ties: bool,
    ) -> Result<Self> {
        let Batch { rows, columns } = examples.take();
        let mut examples = Examples::new(rows);
        for (v, column) in columns {
            examples.insert(sumout::internals::var(v), column);
        }
        if let Some(weights) = weights {
            examples.weigh(weights.as_array().to_vec())?;
        }
        Ok(Task {
            examples,
            targets,
            given,
            train,
            freeze,
            strict_ties,
        })
    }
}

impl Task {
    fn of(&self, net: &sumout::Network) -> sumout::Result<sumout::Task> {
        let targets: Vec<VarId> = self
            .targets
            .iter()
            .copied()
            .map(sumout::internals::var)
            .collect();
        let task = sumout::Task::of(&targets, &self.examples)
            .given(net, self.given.as_deref())?
            .train(net, self.train.as_deref())?
            .freeze(net, &self.freeze)?;
        Ok(task.strict_ties(self.strict_ties))
    }
}

/// How to learn: a preset, and the options that override it.
#[pyclass(frozen, skip_from_py_object, module = "sumout._sumout")]
#[derive(Clone, Debug)]
pub struct FitOptions {
    options: sumout::FitOptions,
    checkpoint: Option<Checkpoint>,
}

#[pymethods]
impl FitOptions {
    #[new]
    #[pyo3(signature = (
        *, preset, method=None, loss=None, start=None, starts=None, epochs=None, patience=None,
        batch=None, rate=None, schedule=None, decay=None, momentum=None, validation=None,
        prior=None, temperature=None, slope=None, snap=false, seed=0, checkpoint=None, resume=false
    ))]
    #[allow(clippy::too_many_arguments)] // the options of Python's `fit`
    fn new(
        preset: &str,
        method: Option<&str>,
        loss: Option<Vec<(String, f64)>>,
        start: Option<&str>,
        starts: Option<i64>,
        epochs: Option<i64>,
        patience: Option<i64>,
        batch: Option<i64>,
        rate: Option<(f64, Option<f64>)>,
        schedule: Option<&str>,
        decay: Option<i64>,
        momentum: Option<f64>,
        validation: Option<f64>,
        prior: Option<f64>,
        temperature: Option<(f64, f64)>,
        slope: Option<(f64, f64)>,
        snap: bool,
        seed: u64,
        checkpoint: Option<PathBuf>,
        resume: bool,
    ) -> Result<Self> {
        let loss = loss.as_ref().map(|loss| {
            let weights = loss.iter().map(|(name, weight)| (&**name, *weight));
            Loss::weighted(weights)
        });
        let checkpoint = checkpoint.map(|path| Checkpoint::new(path).resume(resume));
        let options = sumout::FitOptions::preset(preset)?
            .method(method.map(str::parse).transpose()?)
            .loss(loss.transpose()?)
            .start(start.map(str::parse).transpose()?)
            .starts(count("starts", starts)?.map(|n| n as u64))
            .epochs(count("epochs", epochs)?)
            .patience(count("patience", patience)?)
            .batch_size(count("batch", batch)?)
            .learning_rate(rate.map(|(first, _)| first))
            .final_learning_rate(rate.and_then(|(_, last)| last))
            .schedule(schedule.map(str::parse).transpose()?)
            .decay_epochs(count("decay", decay)?)
            .momentum(momentum)
            .validation(validation)
            .prior(prior)
            .temperature(temperature)
            .slope(slope)
            .snap(snap)
            .seed(seed)
            .checkpoint(checkpoint.clone());
        Ok(FitOptions {
            options,
            checkpoint,
        })
    }
}

fn count(name: &str, number: Option<i64>) -> sumout::Result<Option<usize>> {
    let wrong = |n: i64| {
        let error = Error::new(ErrorKind::Evidence, format!("`{name}` is {n}"));
        error.hint("it is a number of things, and not negative")
    };
    number
        .map(|n| usize::try_from(n).map_err(|_| wrong(n)))
        .transpose()
}

/// The result of learning.
#[pyclass(frozen, module = "sumout._sumout", get_all)]
#[derive(Debug)]
pub struct Learned {
    /// The network with the CPTs that were learned.
    network: Py<Network>,
    /// The circuit of the target, if there is one target.
    circuit: Option<Py<Circuit>>,
    /// All epochs, as JSON; none if the examples were complete and could be counted.
    history: String,
    /// The best epoch, as JSON.
    best: String,
    /// The number of parameters, and the names of the groups that share them.
    parameters: usize,
    groups: Vec<String>,
    /// By how much posteriors of the network differ from those of the circuit, if CPTs are declared
    /// functional and that could be checked.
    difference: Option<f64>,
    /// Problems that did not stop the fit.
    warnings: Vec<String>,
}

/// Learns; after every epoch `progress` is called.
#[pyfunction]
pub fn fit(
    py: Python<'_>,
    network: &Network,
    task: &Task,
    fit_options: &FitOptions,
    options: &Options,
    running: &EvalOptions,
    progress: Option<Bound<'_, PyAny>>,
) -> Result<Learned> {
    let (net, task) = (network.0.clone(), task.clone());
    let (how, options) = (
        fit_options.options.clone().eval(running.0),
        options.0.clone(),
    );
    let (fitted, circuit) = work::long(py, progress.as_ref(), move |watch| {
        let how = how.compile(watch.over(&options));
        let asked = task.of(&net)?;
        let fitted = net.fit(&asked, &task.examples, &how, &mut |event| {
            tell(watch, event)
        })?;
        let circuit = match asked.targets() {
            [target] => Some(fitted.circuit(*target)?),
            _ => None,
        };
        Ok((fitted, circuit))
    })?;
    if let Some(checkpoint) = &fit_options.checkpoint {
        checkpoint.remove();
    }
    learned(py, fitted, circuit)
}

fn tell(watch: &Watch, event: &FitEvent<'_>) -> sumout::Result<()> {
    if let FitEvent::Epoch {
        epoch,
        epochs_done,
        max_epochs,
    } = event
    {
        watch.tell(*epochs_done, *max_epochs, json(epoch));
    }
    watch.go_on()
}

fn learned(py: Python<'_>, fitted: Fitted, circuit: Option<sumout::Circuit>) -> Result<Learned> {
    let groups = fitted.params().groups();
    let difference = fitted.declared().and_then(|declared| declared.difference);
    Ok(Learned {
        circuit: circuit
            .map(|circuit| Py::new(py, Circuit::new(circuit)))
            .transpose()?,
        history: json(&fitted.history()),
        best: json(&fitted.best_epoch()),
        parameters: fitted.params().len(),
        groups: groups.iter().map(|group| group.name.clone()).collect(),
        difference: difference.map(|found| found.largest()),
        warnings: fitted.warnings().to_vec(),
        network: Py::new(py, Network(Arc::new(fitted.network().clone())))?,
    })
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("epochs are JSON")
}
