//! Circuits, by positions of variables and values.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sumout::Answers;

use crate::batch::Batch;
use crate::differentiate::{self, Cpts, Likelihoods, Upstream};
use crate::error::Result;
use crate::options::EvalOptions;
use crate::ready::Ready;
use crate::work::{self, Watch};

/// A compiled query.
#[pyclass(frozen, module = "sumout._sumout")]
pub struct Circuit(Arc<Ready>);

impl fmt::Debug for Circuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.circuit.fmt(f)
    }
}

impl Circuit {
    pub fn new(circuit: sumout::Circuit) -> Self {
        Circuit(Arc::new(Ready::new(circuit)))
    }
}

/// Posteriors and ln P(e).
type Found<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

/// Positions of values, and their ln P.
type Explained<'py> = (Bound<'py, PyArray2<i32>>, Bound<'py, PyArray1<f64>>);

/// Marginals by variable, and ln P(e).
type Families<'py> = (Arrays<'py>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl Circuit {
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> Result<Self> {
        Ok(Circuit::new(work::short(py, || {
            sumout::Circuit::load(path)
        })?))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> Result<Self> {
        Ok(Circuit::new(work::short(py, || {
            sumout::Circuit::from_bytes(bytes)
        })?))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(
            py,
            &work::short(py, || self.0.circuit.to_bytes())?,
        ))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> Result<()> {
        work::short(py, || self.0.circuit.save(path))
    }

    /// The names and the values of all variables of the network, and of one that stands for
    /// several together.
    fn variables(&self) -> Vec<(String, Vec<String>)> {
        let circuit = &self.0.circuit;
        let joint = circuit
            .targets()
            .into_iter()
            .take(circuit.together().len().min(1));
        let joint = joint.map(|target| circuit.variable(target));
        circuit
            .variables()
            .iter()
            .chain(joint)
            .map(|v| (v.name.clone(), v.values.clone()))
            .collect()
    }

    fn inputs(&self) -> Vec<usize> {
        self.0.circuit.inputs().map(|v| v.index()).collect()
    }

    fn hard(&self) -> Vec<usize> {
        self.0
            .circuit
            .inputs()
            .filter(|&v| self.0.circuit.is_hard(v))
            .map(|v| v.index())
            .collect()
    }

    fn targets(&self) -> Vec<usize> {
        self.0.circuit.targets().iter().map(|v| v.index()).collect()
    }

    /// The variables that are asked for together.
    fn together(&self) -> Vec<usize> {
        self.0
            .circuit
            .together()
            .iter()
            .map(|v| v.index())
            .collect()
    }

    /// Whether it asks for one variable.
    fn has_target(&self) -> bool {
        self.0.circuit.targets().len() == 1 && self.0.circuit.together().is_empty()
    }

    fn explains(&self) -> bool {
        self.0.circuit.explains()
    }

    /// Refuses a name that is not an input.
    fn input(&self, name: &str) -> Result<usize> {
        Ok(self.0.circuit.input(name)?.index())
    }

    /// The posteriors of each example, those of all targets side by side; and ln P(e).
    ///
    /// Of the inputs instead, if that is asked. Of many examples, `progress` is told how many are
    /// done.
    #[pyo3(signature = (batch, running, of_inputs, progress = None))]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        batch: &mut Batch,
        running: &EvalOptions,
        of_inputs: bool,
        progress: Option<Bound<'py, PyAny>>,
    ) -> Result<Found<'py>> {
        let (ready, batch, running) = (self.0.clone(), batch.take(), running.0);
        let running = running.with_of_inputs(of_inputs);
        let answers = match batch.rows <= FEW {
            true => work::short(py, || {
                ready.evaluator(&running)?.run(&batch.of(&ready.circuit)?)
            })?,
            false => work::long(py, progress.as_ref(), move |watch| {
                evaluate(&ready, batch, &running, watch)
            })?,
        };
        let (rows, width) = (answers.log_evidence.len(), answers.width());
        let posteriors =
            Array2::from_shape_vec((rows, width), answers.posteriors).expect("rows of this width");
        Ok((
            posteriors.into_pyarray(py),
            answers.log_evidence.into_pyarray(py),
        ))
    }

    /// For each example the positions of the most probable values of all targets; and ln P of them.
    fn explain<'py>(
        &self,
        py: Python<'py>,
        batch: &mut Batch,
        running: &EvalOptions,
    ) -> Result<Explained<'py>> {
        let (ready, batch, running) = (self.0.clone(), batch.take(), running.0);
        let width = ready.circuit.targets().len();
        let (values, logs) = work::long(py, None, move |watch| {
            explain(&ready, batch, &running, watch)
        })?;
        let values =
            Array2::from_shape_vec((logs.len(), width), values).expect("rows of this width");
        Ok((values.into_pyarray(py), logs.into_pyarray(py)))
    }

    /// For each place from the best on, what `explain` gives.
    fn explain_best<'py>(
        &self,
        py: Python<'py>,
        batch: &mut Batch,
        count: usize,
        running: &EvalOptions,
    ) -> Result<Vec<Explained<'py>>> {
        let (ready, batch, running) = (self.0.clone(), batch.take(), running.0);
        let width = ready.circuit.targets().len();
        let places = work::long(py, None, move |watch| {
            explain_best(&ready, batch, count, &running, watch)
        })?;
        let arrays = places.into_iter().map(|(values, logs)| {
            let values =
                Array2::from_shape_vec((logs.len(), width), values).expect("rows of this width");
            (values.into_pyarray(py), logs.into_pyarray(py))
        });
        Ok(arrays.collect())
    }

    /// For each family, the variable and side by side for all examples its marginal; and ln P(e).
    fn families<'py>(
        &self,
        py: Python<'py>,
        batch: &mut Batch,
        running: &EvalOptions,
    ) -> Result<Families<'py>> {
        let (ready, batch, running) = (self.0.clone(), batch.take(), running.0);
        let found = work::long(py, None, move |_| {
            ready.families(&running)?.run(&batch.of(&ready.circuit)?)
        })?;
        let families = found
            .marginals
            .into_iter()
            .map(|(v, numbers)| (v.index(), numbers.into_pyarray(py)));
        Ok((families.collect(), found.log_evidence.into_pyarray(py)))
    }

    /// Writes the circuit as a program in another language.
    fn export(&self, py: Python<'_>, path: PathBuf, language: &str) -> Result<()> {
        work::short(py, || self.0.circuit.export(language.parse()?)?.save(path))
    }

    /// Posteriors and ln P(e) of the likelihoods of all inputs side by side, with other CPTs.
    #[pyo3(signature = (likelihoods, cpts, running))]
    fn forward<'py>(
        &self,
        py: Python<'py>,
        likelihoods: PyReadonlyArray2<'py, f64>,
        cpts: Tables<'py>,
        running: &EvalOptions,
    ) -> Result<Found<'py>> {
        let (ready, running, given) = (&self.0, running.0, Likelihoods(likelihoods.as_array()));
        let cpts = vectors(&cpts);
        let (posteriors, logs) = work::short(py, || {
            let (circuit, kept) = (&ready.circuit, ready.differentiator(&running)?);
            let mut differentiator = kept.lock().unwrap_or_else(PoisonError::into_inner);
            differentiate::set_cpts(circuit, &mut differentiator, &cpts)?;
            let found = differentiator.evaluate(&given.batch(circuit)?)?;
            Ok(differentiate::whole(circuit, &found))
        })?;
        Ok((posteriors.into_pyarray(py), logs.into_pyarray(py)))
    }

    /// The derivatives of a number with respect to the likelihoods and the CPTs, from those with
    /// respect to the posteriors and to ln P(e).
    #[pyo3(signature = (likelihoods, cpts, posterior, log_evidence, running))]
    fn backward<'py>(
        &self,
        py: Python<'py>,
        likelihoods: PyReadonlyArray2<'py, f64>,
        cpts: Tables<'py>,
        posterior: Option<PyReadonlyArray2<'py, f64>>,
        log_evidence: Option<PyReadonlyArray1<'py, f64>>,
        running: &EvalOptions,
    ) -> Result<(Bound<'py, PyArray2<f64>>, Arrays<'py>)> {
        let (ready, running, given) = (&self.0, running.0, Likelihoods(likelihoods.as_array()));
        let cpts = vectors(&cpts);
        let above = Upstream {
            posterior: posterior.as_ref().map(|g| g.as_array()),
            log_evidence: log_evidence.as_ref().map(|c| c.as_array()),
        };
        let (evidence, tables) = work::short(py, || {
            let (circuit, kept) = (&ready.circuit, ready.differentiator(&running)?);
            let mut differentiator = kept.lock().unwrap_or_else(PoisonError::into_inner);
            differentiate::set_cpts(circuit, &mut differentiator, &cpts)?;
            let target = circuit.targets().first().copied();
            let domain = target.map_or(&[][..], |v| circuit.possible(v));
            let seed = |row: usize, p: &[f64], to: &mut [f64]| above.seed(domain, row, p, to);
            let found = differentiator.run(&given.batch(circuit)?, &seed)?;
            Ok((
                above.evidence(circuit, &given, &found),
                differentiate::of_cpts(circuit, &found),
            ))
        })?;
        Ok((evidence.into_pyarray(py), arrays(py, tables)))
    }

    /// The CPTs that it can be trained in, by variable, as dense tables; zero where nothing depends
    /// on a number.
    fn cpts<'py>(&self, py: Python<'py>) -> Arrays<'py> {
        arrays(py, differentiate::cpts(&self.0.circuit))
    }
}

/// CPTs from Python, by variable.
type Tables<'py> = Vec<(usize, PyReadonlyArray1<'py, f64>)>;

/// CPTs to Python.
type Arrays<'py> = Vec<(usize, Bound<'py, PyArray1<f64>>)>;

fn vectors(tables: &Tables<'_>) -> Cpts {
    tables
        .iter()
        .map(|(child, table)| (*child, table.as_array().to_vec()))
        .collect()
}

fn arrays(py: Python<'_>, cpts: Cpts) -> Arrays<'_> {
    cpts.into_iter()
        .map(|(child, table)| (child, table.into_pyarray(py)))
        .collect()
}

/// Batches up to this size are too short to be interrupted.
const FEW: usize = 64;

/// Examples are explained in parts of about this many, and interrupted between them.
const PART: usize = 4096;

/// The number of examples between two progress reports.
const TOLD: usize = 1 << 16;

fn evaluate(
    ready: &Ready,
    batch: Batch,
    running: &sumout::EvalOptions,
    watch: &Watch,
) -> sumout::Result<Answers> {
    let (evaluator, batch) = (ready.evaluator(running)?, batch.of(&ready.circuit)?);
    let run = |part: &sumout::Batch| {
        let answers = evaluator.run_unless(part, watch.control())?;
        answers.ok_or_else(|| watch.control().interrupted())
    };
    if batch.len() < 2 * TOLD {
        return run(&batch);
    }
    let mut all: Option<Answers> = None;
    for rows in parts(batch.len(), TOLD) {
        watch.tell(rows.start, batch.len(), String::new());
        join(
            &mut all,
            run(&batch.select(&ready.circuit, &rows.collect::<Vec<_>>()))?,
        );
    }
    Ok(all.expect("there is at least one part"))
}

/// A row's answer does not depend on the others.
fn join(all: &mut Option<Answers>, next: Answers) {
    match all {
        None => *all = Some(next),
        Some(all) => {
            all.posteriors.extend(next.posteriors);
            all.log_evidence.extend(next.log_evidence);
        }
    }
}

/// Ranges of rows, the last one longer than the others.
fn parts(rows: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    let count = (rows / size).max(1);
    (0..count).map(move |part| {
        part * size..if part + 1 == count {
            rows
        } else {
            (part + 1) * size
        }
    })
}

fn explain(
    ready: &Ready,
    batch: Batch,
    running: &sumout::EvalOptions,
    watch: &Watch,
) -> sumout::Result<(Vec<i32>, Vec<f64>)> {
    let (explainer, batch) = (ready.explainer(running)?, batch.of(&ready.circuit)?);
    let (mut values, mut logs) = (vec![], vec![]);
    for rows in parts(batch.len(), PART) {
        watch.go_on()?;
        let part = batch.select(&ready.circuit, &rows.collect::<Vec<_>>());
        let found = explainer.run(&part)?;
        values.extend(found.values);
        logs.extend(found.log_probability);
    }
    Ok((values, logs))
}

/// For each place, the values and logarithms of all examples.
fn explain_best(
    ready: &Ready,
    batch: Batch,
    count: usize,
    running: &sumout::EvalOptions,
    watch: &Watch,
) -> sumout::Result<Vec<(Vec<i32>, Vec<f64>)>> {
    let (explainer, batch) = (ready.explainer(running)?, batch.of(&ready.circuit)?);
    let mut places = vec![(vec![], vec![]); count];
    for rows in parts(batch.len(), FEW) {
        watch.go_on()?;
        let part = batch.select(&ready.circuit, &rows.collect::<Vec<_>>());
        for (place, found) in places.iter_mut().zip(explainer.run_best(&part, count)?) {
            place.0.extend(found.values);
            place.1.extend(found.log_probability);
        }
    }
    Ok(places)
}
