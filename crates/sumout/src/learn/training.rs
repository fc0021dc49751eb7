//! Learning from data: a network, what is asked of it, and how to make its numbers better.
//!
//! A [`Training`] is compiled once: for each target a circuit whose trainable tables are visible, or
//! one for the probability of the evidence alone. A [`Trainer`] goes through it with data, an epoch
//! at a time. All that it has reached is in its [`State`]: one that is saved and given back goes on
//! as if nothing had happened.

use crate::circuit::{Circuit, EvalOptions, Options, Precision, selection};
use crate::compile::{Question, Search};
use crate::error::{Error, ErrorKind, Result};
use crate::learn::{Decay, Loss, Params, Rule, Start};
use crate::model::{Cpt, Expanded, Network, Testing};
use crate::vars::{VarId, VarSet};

use serde::{Deserialize, Serialize};

pub use crate::learn::examples::Examples;
pub use crate::learn::learned::Difference;
pub use crate::learn::trainer::{Epoch, State, Trainer};

/// How parameters become better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Method {
    /// Steps down the gradient of the loss, each for some examples.
    Gradient {
        /// How a step follows from a gradient.
        rule: Rule,
        /// How steps become shorter.
        decay: Decay,
        /// The number of examples of a step.
        batch: usize,
        /// The least number of steps of an epoch: of few examples, each step takes fewer.
        steps: usize,
    },
    /// Expectation and maximisation: the likelihood of the evidence, labels included, never becomes
    /// less.
    Em,
}

/// Which of the numbers of an epoch says whether it was better than others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Watch {
    /// The share of examples whose most probable value is their label.
    Accuracy,
    /// The mean loss.
    Loss,
}

/// How to learn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitOptions {
    /// What should become small.
    pub loss: Loss,
    /// How it becomes small.
    pub method: Method,
    /// Where to start; the best after some epochs goes on. All of them, if there is only one.
    pub starts: Vec<Start>,
    /// The epochs after which starts are compared.
    pub look_ahead: usize,
    /// The most examples of an epoch before that.
    pub trial: usize,
    /// The most epochs after that.
    pub epochs: usize,
    /// So many epochs without a better one are the end.
    pub patience: usize,
    /// By so much an epoch must be better than the best before, to count as better.
    pub least: f64,
    /// An accuracy at which to stop.
    pub goal: Option<f64>,
    /// The share of the examples that are not learned from, but watched.
    pub validation: f64,
    /// What is watched.
    pub watch: Watch,
    /// Pseudo-counts: each number of a CPT is as if it had been seen so often already.
    pub prior: f64,
    /// Rows of CPTs that are declared functional become nearly one-hot: the temperature of the
    /// first epoch, and of the last.
    pub temperature: Option<(f64, f64)>,
    /// Sigmoids of tests become nearly steps: the slope of the first epoch, and of the last. Slopes
    /// that are learned are not concerned.
    #[serde(default)]
    pub slope: Option<(f64, f64)>,
    /// Seeds the choice of the examples that are watched, and their order.
    pub seed: u64,
}

impl FitOptions {
    /// What the paper does: Adam with a cubic decay from the best of five starts, 20 % of the
    /// examples being watched.
    ///
    /// The released program of the paper's authors takes 32 examples at a time. Of 25 examples, 20
    /// are learned from, which makes an epoch a single step, and patience ends before much is
    /// learned: the paper's accuracies are not reached with less than 250 examples. With at least
    /// five steps an epoch they are, and so that is what is done here.
    pub fn paper() -> Self {
        let starts = [Start::Uniform].into_iter().chain((1..5).map(Start::Alike));
        FitOptions {
            loss: Loss::default(),
            method: Method::Gradient {
                rule: Rule::Adam,
                decay: Decay::paper(),
                batch: 32,
                steps: 5,
            },
            starts: starts.collect(),
            look_ahead: 2,
            trial: usize::MAX,
            epochs: 500,
            patience: 20,
            least: 1e-4,
            goal: Some(0.9999),
            validation: 0.2,
            watch: Watch::Accuracy,
            prior: 0.0,
            temperature: None,
            slope: None,
            seed: 0,
        }
    }

    /// Maximum likelihood by expectation and maximisation, from the numbers of the network.
    pub fn em() -> Self {
        FitOptions {
            loss: Loss {
                cross_entropy: 0.0,
                likelihood: 1.0,
                ..Loss::default()
            },
            method: Method::Em,
            starts: vec![Start::Network],
            look_ahead: 5,
            trial: usize::MAX,
            epochs: 200,
            patience: 1,
            least: 1e-6,
            goal: None,
            validation: 0.0,
            watch: Watch::Loss,
            prior: 0.0,
            temperature: None,
            slope: None,
            seed: 0,
        }
    }

    /// Refuses what nothing can be learned with.
    pub fn check(&self) -> Result<()> {
        let learning = self;
        let wrong = |what: &str, hint: &str| {
            Err(Error::new(ErrorKind::Evidence, what.to_owned()).hint(hint))
        };
        if !(0.0..1.0).contains(&learning.validation) {
            return wrong(
                "the share of examples to be watched is not in 0 to 1",
                "0.2 is a fifth of them",
            );
        }
        let Loss {
            cross_entropy,
            squared_error,
            likelihood,
        } = learning.loss;
        if [cross_entropy, squared_error, likelihood]
            .iter()
            .all(|weight| *weight == 0.0)
        {
            return wrong(
                "all weights of the loss are zero",
                "`cross_entropy` is the loss of the paper",
            );
        }
        if learning.epochs == 0 || learning.patience == 0 {
            return wrong(
                "nothing is learned in no epochs",
                "give at least one, and a patience of at least one",
            );
        }
        if learning.method == Method::Em
            && [cross_entropy, squared_error, likelihood] != [0.0, 0.0, 1.0]
        {
            return wrong(
                "expectation and maximisation is for the likelihood alone",
                "choose another method for other losses",
            );
        }
        if matches!(learning.method, Method::Gradient { decay, .. } if !(decay.first.is_finite() && decay.first > 0.0))
        {
            return wrong(
                "the length of steps is not positive",
                "0.05 is a good one for Adam",
            );
        }
        let is_unsteady =
            |rule| matches!(rule, Rule::Sgd { momentum } if !(0.0..1.0).contains(&momentum));
        if matches!(learning.method, Method::Gradient { rule, .. } if is_unsteady(rule)) {
            return wrong(
                "the momentum is not in 0 to less than 1",
                "0.9 is a good one, 0 is none",
            );
        }
        if learning.starts.is_empty() {
            return wrong("there is nothing to start from", "give at least one start");
        }
        if !(learning.prior >= 0.0 && learning.prior.is_finite()) {
            return wrong(
                "pseudo-counts are negative, or no number",
                "0 is for none, 1 for one of each",
            );
        }
        if matches!(learning.method, Method::Gradient { batch: 0, .. }) {
            return wrong("a step needs at least one example", "32 is a good number");
        }
        let is_off = |range| matches!(range, Some((from, to)) if !(from > 0.0 && to > 0.0 && f64::max(from, to).is_finite()));
        if is_off(learning.slope) {
            return wrong("slopes are positive", "8 is gentle, 64 nearly a step");
        }
        if is_off(learning.temperature) {
            return wrong(
                "temperatures are positive",
                "1 is what weights mean, 0.1 nearly a function",
            );
        }
        Ok(())
    }
}

impl Default for FitOptions {
    /// Adam on the cross entropy and a share of the likelihood, from the best of eight random
    /// starts; all examples are learned from.
    ///
    /// The likelihood of the evidence says much of a model of which few labels are known, and tells
    /// good starts from bad ones. A tenth of a pseudo-count keeps numbers from becoming zero.
    fn default() -> Self {
        FitOptions {
            loss: Loss {
                likelihood: 0.3,
                ..Loss::default()
            },
            starts: (1..=8).map(Start::Random).collect(),
            method: Method::Gradient {
                rule: Rule::Adam,
                decay: Decay {
                    over: 40,
                    ..Decay::paper()
                },
                batch: 32,
                steps: 1,
            },
            look_ahead: 5,
            trial: 256,
            epochs: 100,
            patience: 8,
            least: 1e-3,
            goal: None,
            validation: 0.0,
            watch: Watch::Loss,
            prior: 0.1,
            ..FitOptions::paper()
        }
    }
}

/// What is to be learned, by names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subject {
    /// The variables that are to be predicted.
    pub targets: Vec<VarId>,
    /// The variables that they are predicted from.
    pub given: VarSet,
    /// The variables whose CPTs are learned; if none are named, all whose
    /// [roles](crate::model::Role) do not say otherwise.
    pub trainable: Option<VarSet>,
    /// Of these, those whose CPTs stay what they are.
    pub frozen: VarSet,
    /// Whether a tie of CPTs that are not alike is an error.
    pub strict_ties: bool,
}

/// A network, compiled to be trained.
#[derive(Debug)]
pub struct Training {
    pub(crate) net: Network,
    /// The same with explicit selectors, if it is a testing network, and its tests.
    pub(crate) expanded: Option<Expanded>,
    pub(crate) heads: Vec<Head>,
    pub(crate) params: Params,
    pub(crate) learning: FitOptions,
    pub(crate) running: EvalOptions,
}

/// A circuit for a target, or for the probability of the evidence.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) circuit: Circuit,
    pub(crate) target: Option<VarId>,
}

impl Network {
    /// Compiles what is needed to learn.
    pub fn course(
        &self,
        subject: &Subject,
        learning: FitOptions,
        options: &Options,
        running: &EvalOptions,
    ) -> Result<Training> {
        learning.check()?;
        let trainable = subject.trainable(self);
        let labels: VarSet = subject.targets.iter().copied().collect();
        let targets: Vec<Option<VarId>> = match learning.loss.needs_labels() {
            true if labels.is_empty() => return Err(no_target()),
            true => labels.iter().map(Some).collect(),
            false => vec![None],
        };
        let heads: Vec<Head> = targets
            .into_iter()
            .map(|target| Head::new(self, subject, target, &trainable, options))
            .collect::<Result<_>>()?;
        let expanded = self.expanded();
        let params = self.params(expanded.as_ref(), &heads, &trainable, subject.strict_ties)?;
        refuse_promises(&learning, &params)?;
        refuse_tests(&learning, self)?;
        if learning.slope.is_some() && !params.has_annealed() {
            let error = Error::new(
                ErrorKind::Model,
                "there is no sigmoid of a test whose slope could be given",
            );
            return Err(error.hint(
                "leave out the slopes: those that are learned find their own, and fixed ones stay",
            ));
        }
        let precision = if learning.method == Method::Em {
            Precision::F64
        } else {
            running.precision
        };
        let running = EvalOptions {
            precision,
            ..*running
        };
        Ok(Training {
            net: self.clone(),
            expanded,
            heads,
            params,
            learning,
            running,
        })
    }

    /// The parameters that the circuits depend on.
    fn params(
        &self,
        expanded: Option<&Expanded>,
        heads: &[Head],
        trainable: &VarSet,
        strict: bool,
    ) -> Result<Params> {
        let circuits: Vec<&Circuit> = heads.iter().map(|head| &head.circuit).collect();
        let of_tests = expanded
            .iter()
            .flat_map(|expanded| &expanded.tests)
            .flat_map(|t| [t.selector, t.input])
            .collect();
        let children: VarSet = circuits
            .iter()
            .flat_map(|circuit| circuit.children())
            .collect();
        let children = &children - &of_tests;
        let net = expanded.map_or(self, |expanded| &expanded.net);
        let is_run = |test: &&Testing| {
            heads
                .iter()
                .any(|head| head.circuit.tested().any(|v| v == test.tested))
        };
        let is_open = |test: &&Testing| !test.is_fixed && trainable.contains(test.tested);
        let tests: Vec<&Testing> = expanded
            .iter()
            .flat_map(|expanded| &expanded.tests)
            .filter(is_run)
            .filter(is_open)
            .collect();
        if children.is_empty() && tests.is_empty() {
            let error = Error::new(
                ErrorKind::Model,
                "there is nothing to learn: no CPT that is not fixed matters",
            );
            return Err(error.hint("name CPTs to be trained, or inputs that depend on them"));
        }
        let mut domains = heads[0].circuit.domains.to_vec();
        for child in children.iter() {
            if let Some(circuit) = circuits
                .iter()
                .find(|circuit| circuit.children().any(|v| v == child))
            {
                for v in net.cpts()[child.index()].scope() {
                    domains[v.index()].clone_from(&circuit.domains[v.index()]);
                }
            }
        }
        let others: Vec<VarId> = (trainable - &children).iter().collect();
        let mut params = Params::new(
            net,
            &children.iter().collect::<Vec<_>>(),
            &others,
            &domains,
            strict,
        )?;
        if !tests.is_empty() {
            params.add_tests(net, tests, strict)?;
        }
        if params.is_empty() && expanded.is_some() {
            let error = Error::new(
                ErrorKind::Model,
                "there is nothing to learn: all that matters is fixed",
            );
            return Err(
                error.hint("fix fewer copies, or use sigmoids, whose thresholds can be learned")
            );
        }
        Ok(params)
    }
}

impl Head {
    fn new(
        net: &Network,
        subject: &Subject,
        target: Option<VarId>,
        trainable: &VarSet,
        options: &Options,
    ) -> Result<Self> {
        let (targets, labels): (VarSet, VarSet) = (
            target.into_iter().collect(),
            subject.targets.iter().copied().collect(),
        );
        let inputs = if target.is_some() {
            &subject.given - &labels
        } else {
            &subject.given | &labels
        };
        let question = Question {
            targets,
            inputs,
            trainable: trainable.clone(),
            ..Question::default()
        };
        let search = Search {
            thorough: true,
            ..options.search()
        };
        Ok(Head {
            circuit: selection::compile(net, question, &search)?,
            target,
        })
    }
}

impl Subject {
    /// The variables whose CPTs are learned.
    pub fn trainable(&self, net: &Network) -> VarSet {
        &self.trainable.clone().unwrap_or_else(|| trainable(net)) - &self.frozen
    }
}

/// The variables whose CPTs are learned if nobody says which: those that are not fixed; in a
/// network that says nothing about that, those that are not known functions.
fn trainable(net: &Network) -> VarSet {
    let is_meant = net.cpts().iter().any(Cpt::has_role);
    let is_open = |cpt: &&Cpt| {
        if is_meant {
            !cpt.role().fixed
        } else {
            !cpt.is_functional()
        }
    };
    net.cpts()
        .iter()
        .filter(is_open)
        .filter_map(Cpt::child)
        .collect()
}

fn no_target() -> Error {
    let error = Error::new(
        ErrorKind::Evidence,
        "the loss is one of labels, and there is no target",
    );
    error.hint("name a target, or learn the likelihood")
}

/// A circuit in which a learned function is copied is no polynomial that expectations could be read
/// from.
fn refuse_promises(learning: &FitOptions, params: &Params) -> Result<()> {
    if matches!(learning.method, Method::Em) && params.has_promised() {
        let error = Error::new(
            ErrorKind::Model,
            "CPTs that are declared functional cannot be learned by counting",
        );
        return Err(error.hint("learn them by gradients, or do not declare them functional"));
    }
    Ok(())
}

/// What is selected depends on the parameters, so no expectation is maximised by counting.
fn refuse_tests(learning: &FitOptions, net: &Network) -> Result<()> {
    if matches!(learning.method, Method::Em) && net.is_testing() {
        let error = Error::new(
            ErrorKind::Model,
            "the CPTs of testing networks cannot be learned by counting",
        );
        return Err(error.hint("learn them by gradients: leave out the method"));
    }
    Ok(())
}

impl Circuit {
    /// The variables whose CPTs can be trained.
    fn children(&self) -> impl Iterator<Item = VarId> + '_ {
        self.graph.origins().values().map(|origin| origin.child)
    }
}

impl Training {
    /// The network that parameters belong to.
    pub(crate) fn parametrised(&self) -> &Network {
        self.expanded
            .as_ref()
            .map_or(&self.net, |expanded| &expanded.net)
    }

    /// The parameters, as they are at the start.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// How it is learned.
    pub fn learning(&self) -> &FitOptions {
        &self.learning
    }

    /// The circuits that are trained, each with its target.
    pub fn circuits(&self) -> impl Iterator<Item = (&Circuit, Option<VarId>)> {
        self.heads.iter().map(|head| (&head.circuit, head.target))
    }
}
