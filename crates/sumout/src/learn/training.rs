//! A network compiled for training.
//!
//! A [`Training`] is compiled once: for each target a circuit whose trainable tables are visible, or
//! one for the probability of the evidence alone. A [`Trainer`](crate::learn::Trainer) runs it on
//! examples, an epoch at a time.

use crate::circuit::{Circuit, Compilation, EvalOptions, Options, Precision};
use crate::compile::{Goal, Question};
use crate::error::{Error, ErrorKind, Result};
use crate::learn::checkpoint::Resumable;
use crate::learn::fit::{FitEvent, Progress};
use crate::learn::{Epoch, Examples, Method, Params, Task, Trainer, TrainingOptions};
use crate::model::{Expanded, FactorModel, Network, Selection, SelectionNode};
use crate::vars::{VarId, VarSet};

/// A network, compiled for training.
#[derive(Debug)]
pub struct Training {
    pub(crate) net: Network,
    /// The same with explicit selectors.
    pub(crate) expanded: Expanded,
    pub(crate) heads: Vec<Head>,
    pub(crate) params: Params,
    pub(crate) options: TrainingOptions,
    pub(crate) eval: EvalOptions,
}

/// A circuit for a target, or for the probability of the evidence.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) circuit: Circuit,
    pub(crate) target: Option<VarId>,
}

/// The outcome of training.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Trained {
    /// The parameters of the best epoch.
    pub params: Params,
    /// All epochs.
    pub history: Vec<Epoch>,
    /// The position of the best epoch in the history.
    pub best: Option<usize>,
}

impl Training {
    /// Compiles the circuits of a task.
    pub fn new(
        net: &Network,
        task: &Task,
        options: TrainingOptions,
        compile: &Options,
        eval: &EvalOptions,
    ) -> Result<Self> {
        options.check()?;
        task.check()?;
        let trainable = task.trainable(net);
        let heads = heads(net, task, &options, &trainable, compile)?;
        let expanded = net.expanded();
        let params = params(&expanded, &heads, &trainable, task.strict_ties)?;
        refuse_em(&options, net, &params)?;
        refuse_slopes(&options, &params)?;
        let precision = match options.method {
            Method::Em => Precision::F64,
            Method::Gradient { .. } => eval.precision,
        };
        Ok(Training {
            net: net.clone(),
            expanded,
            heads,
            params,
            options,
            eval: EvalOptions { precision, ..*eval },
        })
    }

    /// Trains on examples until training ends, telling `progress` of each epoch. An error of
    /// `progress` cancels it.
    pub fn train(
        &self,
        examples: &Examples,
        seed: u64,
        progress: &mut Progress<'_>,
    ) -> Result<Trained> {
        self.train_resumable(examples, seed, None, progress)
    }

    pub(crate) fn train_resumable(
        &self,
        examples: &Examples,
        seed: u64,
        checkpoint: Option<&Resumable>,
        progress: &mut Progress<'_>,
    ) -> Result<Trained> {
        let mut trainer = self.trainer_with(examples, seed)?;
        if let Some(state) = checkpoint.map(Resumable::load).transpose()?.flatten() {
            trainer.restore(state)?;
        }
        progress(&FitEvent::Started {
            parameters: self.params.len(),
            epochs_done: trainer.progress().0,
            max_epochs: trainer.progress().1,
        })?;
        while !trainer.is_done() {
            trainer.epoch()?;
            if let Some(checkpoint) = checkpoint {
                checkpoint.save(trainer.state())?;
            }
            tell(&trainer, progress)?;
        }
        Ok(Trained {
            params: trainer.learned(),
            history: trainer.state().history.clone(),
            best: trainer.state().best_epoch(),
        })
    }

    /// The model that parameters belong to.
    pub(crate) fn parametrised(&self) -> &FactorModel {
        &self.expanded.model
    }

    /// The parameters before training.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// How it is trained.
    pub fn options(&self) -> &TrainingOptions {
        &self.options
    }

    /// The circuits that are trained, each with its target.
    pub fn circuits(&self) -> impl Iterator<Item = (&Circuit, Option<VarId>)> {
        self.heads.iter().map(|head| (&head.circuit, head.target))
    }

    /// The network with these parameters.
    pub fn network(&self, params: &Params) -> Network {
        let is_own = |(var, _): &(VarId, &[f64])| var.index() < self.net.variables().len();
        let net = self.net.with_tables(params.tables().filter(is_own));
        let nodes = self.expanded.nodes.iter();
        let tuned: Vec<(VarId, Selection)> = nodes
            .map(|node| (node.selected, params.tuned(node)))
            .collect();
        net.with_selections(tuned.iter().map(|(v, selection)| (*v, selection)))
    }

    /// The circuits with these parameters, each with its target.
    pub fn trained(&self, params: &Params) -> Vec<(Circuit, Option<VarId>)> {
        self.heads
            .iter()
            .map(|head| (head.with(params), head.target))
            .collect()
    }

    /// The mean loss of examples, which need not be those trained on, and the accuracy; none
    /// without labels.
    pub fn measure(&self, params: &Params, examples: &Examples) -> Result<(f64, Option<f64>)> {
        let mut trainer = self.trainer(examples)?;
        trainer.adopt(params);
        trainer.measure()
    }
}

fn tell(trainer: &Trainer<'_>, progress: &mut Progress<'_>) -> Result<()> {
    let (epochs_done, max_epochs) = trainer.progress();
    let Some(epoch) = trainer.state().history.last() else {
        return Ok(());
    };
    progress(&FitEvent::Epoch {
        epoch,
        epochs_done,
        max_epochs,
    })
}

fn heads(
    net: &Network,
    task: &Task,
    options: &TrainingOptions,
    trainable: &VarSet,
    compile: &Options,
) -> Result<Vec<Head>> {
    if !options.loss.needs_labels() {
        return Ok(vec![Head::new(net, task, None, trainable, compile)?]);
    }
    if task.targets.is_empty() {
        let error = Error::new(
            ErrorKind::Options,
            "this loss needs labels, but no target is named",
        );
        return Err(error.hint("name a target, or learn the likelihood"));
    }
    task.labels()
        .iter()
        .map(|target| Head::new(net, task, Some(target), trainable, compile))
        .collect()
}

impl Head {
    fn new(
        net: &Network,
        task: &Task,
        target: Option<VarId>,
        trainable: &VarSet,
        compile: &Options,
    ) -> Result<Self> {
        let inputs = if target.is_some() {
            &task.given - &task.labels()
        } else {
            &task.given | &task.labels()
        };
        let question = Question {
            goal: target.map_or(Goal::Evidence, Goal::Posterior),
            inputs,
            order: task.order.clone(),
            trainable: trainable.clone(),
            ..Question::default()
        };
        Ok(Head {
            circuit: Compilation::new(net, question, compile, None)?.into_circuit(),
            target,
        })
    }

    /// The circuit with other parameters.
    pub(crate) fn with(&self, params: &Params) -> Circuit {
        let mut circuit = self.circuit.clone();
        for (table, numbers) in params.tables_of(circuit.graph()) {
            circuit.set_table(table, &numbers);
        }
        circuit
    }
}

/// The variables whose CPTs a circuit can train.
fn children(circuit: &Circuit) -> impl Iterator<Item = VarId> + '_ {
    circuit.graph.origins().values().map(|origin| origin.child)
}

/// The parameters that the circuits depend on.
fn params(expanded: &Expanded, heads: &[Head], trainable: &VarSet, strict: bool) -> Result<Params> {
    let Expanded { model, nodes } = expanded;
    let open = open_selections(nodes, heads, trainable);
    let of_selections = nodes
        .iter()
        .flat_map(|node| [node.selector, node.input])
        .collect();
    let all: VarSet = heads
        .iter()
        .flat_map(|head| children(&head.circuit))
        .collect();
    let own = &all - &of_selections;
    if own.is_empty() && open.is_empty() {
        let error = Error::new(
            ErrorKind::Options,
            "there is nothing to learn: every CPT that matters is fixed",
        );
        return Err(error.hint("name CPTs to be trained, or inputs that depend on them"));
    }
    let domains = domains(model, heads, &own);
    let others: Vec<VarId> = (trainable - &own).iter().collect();
    let own: Vec<VarId> = own.iter().collect();
    let mut params = Params::new(model, &own, &others, &domains, strict)?;
    if !open.is_empty() {
        params.add_selections(model, open, strict)?;
    }
    if params.is_empty() && !nodes.is_empty() {
        let error = Error::new(
            ErrorKind::Options,
            "there is nothing to learn: all parameters are fixed",
        );
        return Err(
            error.hint("fix fewer copies, or use sigmoids, whose thresholds can be learned")
        );
    }
    Ok(params)
}

/// The selections that circuits make, and whose parameters are trained.
fn open_selections<'n>(
    nodes: &'n [SelectionNode],
    heads: &[Head],
    trainable: &VarSet,
) -> Vec<&'n SelectionNode> {
    let is_made = |node: &SelectionNode| {
        heads
            .iter()
            .any(|head| head.circuit.selected().any(|v| v == node.selected))
    };
    nodes
        .iter()
        .filter(|node| is_made(node) && !node.is_fixed && trainable.contains(node.selected))
        .collect()
}

/// The values that are left of each variable: of a family, those in the first circuit with it.
fn domains(model: &FactorModel, heads: &[Head], own: &VarSet) -> Vec<Vec<usize>> {
    let mut domains = heads[0].circuit.domains.to_vec();
    for child in own.iter() {
        let has_it = |head: &&Head| children(&head.circuit).any(|v| v == child);
        if let Some(head) = heads.iter().find(has_it) {
            for v in model.cpts()[child.index()].scope() {
                domains[v.index()].clone_from(&head.circuit.domains[v.index()]);
            }
        }
    }
    domains
}

/// A circuit in which a learned function is copied is not a polynomial that expectations could be
/// read from; and what is selected by tests depends on the parameters, so that counting does not
/// maximise the expectation.
fn refuse_em(options: &TrainingOptions, net: &Network, params: &Params) -> Result<()> {
    let is_em = options.method == Method::Em;
    if is_em && params.has_promised() {
        let error = Error::new(
            ErrorKind::Unsupported,
            "CPTs that are declared functional cannot be learned by counting",
        );
        return Err(error.hint("learn them by gradients, or do not declare them functional"));
    }
    if is_em && net.has_selections() {
        let error = Error::new(
            ErrorKind::Unsupported,
            "the CPTs of testing networks cannot be learned by counting",
        );
        return Err(error.hint("learn them by gradients: leave out the method"));
    }
    Ok(())
}

fn refuse_slopes(options: &TrainingOptions, params: &Params) -> Result<()> {
    if options.slope.is_none() || params.has_annealed() {
        return Ok(());
    }
    let error = Error::new(
        ErrorKind::Options,
        "the network has no sigmoid test that takes a slope",
    );
    Err(error
        .hint("leave out the slopes: those that are learned find their own, and fixed ones stay"))
}
