//! Fits a network to examples: the whole procedure, for every front end.
//!
//! Complete data are counted, if maximum likelihood is wanted: by EM, or without a target and without
//! an option of training. Otherwise circuits are compiled and
//! trained; CPTs that are declared functional are then made functions, if that is wanted, and the
//! circuits are checked against the network that was learned. A check that fails is a warning: what
//! was learned is not lost.
//!
//! The same network, examples, options and seed give the same numbers, bit for bit.

pub(crate) mod names;
mod options;

pub use options::FitOptions;

use crate::circuit::{Circuit, Options};
use crate::compile::Query;
use crate::error::Result;
use crate::learn::checkpoint::Resumable;
use crate::learn::count::count;
use crate::learn::{Difference, Epoch, Examples, Params, Task, Trained, Training};
use crate::model::Network;
use crate::vars::{VarId, VarSet};

/// Called with the progress of a fit; an error cancels the fit, which ends with that error.
pub(crate) type Progress<'p> = dyn FnMut(&FitEvent<'_>) -> Result<()> + 'p;

/// An event of a fit.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum FitEvent<'e> {
    /// The circuits are compiled, and training starts.
    Started {
        /// The number of parameters.
        parameters: usize,
        /// The number of epochs that were done before, if training is resumed.
        epochs_done: usize,
        /// The maximum number of epochs, trials included.
        max_epochs: usize,
    },
    /// An epoch is done.
    Epoch {
        /// Its outcome.
        epoch: &'e Epoch,
        /// The number of epochs until now.
        epochs_done: usize,
        /// The maximum number of epochs, trials included.
        max_epochs: usize,
    },
}

/// The outcome of a fit.
#[derive(Clone, Debug)]
pub struct Fitted {
    network: Network,
    params: Params,
    history: Vec<Epoch>,
    best: Option<usize>,
    declared: Option<Declared>,
    warnings: Vec<String>,
    circuits: Vec<(Circuit, VarId)>,
    inputs: VarSet,
    compile: Options,
}

/// Details on CPTs that are declared functional, and were trained.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Declared {
    /// The loss and the accuracy on all examples after snapping, if they were snapped.
    pub snapped: Option<(f64, Option<f64>)>,
    /// How far the circuits are from the network; none if that could not be checked.
    pub difference: Option<Difference>,
}

impl Network {
    /// Fits the CPTs of a task to examples. `progress` is told of each epoch, and may cancel.
    ///
    /// ```
    /// use sumout::learn::{FitOptions, Task};
    /// use sumout::{Examples, Network};
    ///
    /// let asia = Network::read("asia")?;
    /// let examples = Examples::from(&asia.sample(200, 1)?);
    /// let task = Task::of(&[asia.find("lung")?], &examples);
    /// let options = FitOptions::default().epochs(5).starts(1).seed(7);
    /// let fitted = asia.fit(&task, &examples, &options, &mut |_| Ok(()))?;
    /// assert!(fitted.best_epoch().unwrap().accuracy > Some(0.9));
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn fit(
        &self,
        task: &Task,
        examples: &Examples,
        options: &FitOptions,
        progress: &mut Progress<'_>,
    ) -> Result<Fitted> {
        let how = options.training(!task.targets.is_empty());
        how.check()?;
        task.check()?;
        if let Some(prior) = options.counting_prior(&how, !task.targets.is_empty())
            && let Some(params) = count(self, task, examples, prior)?
        {
            let network = self.with_tables(params.tables());
            return Ok(Fitted::new(network, params, task, options));
        }
        let training = Training::new(self, task, how, &options.compile, &options.eval)?;
        let checkpoint = options
            .checkpoint
            .as_ref()
            .map(|checkpoint| Resumable::new(checkpoint, &training, task, examples, options));
        let seed = training.options().seed;
        let trained = training.train_resumable(examples, seed, checkpoint.as_ref(), progress)?;
        finish(&training, trained, task, examples, options)
    }
}

/// Snaps and checks what was trained.
fn finish(
    training: &Training,
    trained: Trained,
    task: &Task,
    examples: &Examples,
    options: &FitOptions,
) -> Result<Fitted> {
    let Trained {
        mut params,
        history,
        best,
    } = trained;
    let snapped = snap(training, &mut params, examples)?;
    let network = training.network(&params);
    let mut fitted = Fitted::new(network, params, task, options);
    if fitted.params.has_promised() {
        let difference = fitted.check(training, examples);
        fitted.declared = Some(Declared {
            snapped,
            difference,
        });
    }
    fitted.circuits = training
        .trained(&fitted.params)
        .into_iter()
        .filter_map(|(circuit, target)| Some((circuit, target?)))
        .collect();
    fitted.history = history;
    fitted.best = best;
    Ok(fitted)
}

impl Fitted {
    fn new(network: Network, params: Params, task: &Task, options: &FitOptions) -> Self {
        Fitted {
            network,
            params,
            history: vec![],
            best: None,
            declared: None,
            warnings: vec![],
            circuits: vec![],
            inputs: &task.given - &task.labels(),
            compile: options.compile.clone(),
        }
    }

    fn check(&mut self, training: &Training, examples: &Examples) -> Option<Difference> {
        match training.difference(&self.params, examples, &self.compile) {
            Ok(difference) => Some(difference),
            Err(error) => {
                self.warnings.push(format!("{UNCHECKED}: {error}"));
                None
            }
        }
    }

    /// The network with the CPTs that were learned.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Its parameters.
    #[doc(hidden)]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// All epochs; none if complete data were counted.
    pub fn history(&self) -> &[Epoch] {
        &self.history
    }

    /// The position in the history of the epoch whose parameters these are.
    pub fn best(&self) -> Option<usize> {
        self.best
    }

    /// Details on CPTs that are declared functional, if some were trained.
    #[doc(hidden)]
    pub fn declared(&self) -> Option<Declared> {
        self.declared
    }

    /// Problems that did not stop the fit.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Whether complete data were counted, without training.
    pub fn is_counted(&self) -> bool {
        self.history.is_empty()
    }

    /// The epoch whose parameters these are; none if data were counted.
    pub fn best_epoch(&self) -> Option<&Epoch> {
        self.history.get(self.best?)
    }

    /// The circuit for a target: the one that was trained, or else one compiled from the network.
    pub fn circuit(&self, target: VarId) -> Result<Circuit> {
        if let Some((circuit, _)) = self.circuits.iter().find(|(_, of)| *of == target) {
            return Ok(circuit.clone());
        }
        let name = |v: VarId| self.network.variable(v).name.clone();
        let query = Query::of(name(target))
            .given(self.inputs.iter().map(name))
            .trainable(Vec::<String>::new());
        self.network.compile(&query, &self.compile)
    }
}

/// Makes CPTs that are declared functional functions, if that is wanted; then the loss and the
/// accuracy on all examples.
fn snap(
    training: &Training,
    params: &mut Params,
    examples: &Examples,
) -> Result<Option<(f64, Option<f64>)>> {
    if !(training.options().snap && params.has_promised()) {
        return Ok(None);
    }
    params.snap();
    training.measure(params, examples).map(Some)
}

const UNCHECKED: &str = "whether the network answers as the circuit does could not be checked";
