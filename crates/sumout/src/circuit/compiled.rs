//! Circuits: compiled once, evaluated on any number of examples.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::circuit::Answer;
use crate::circuit::batch::{Answers, Batch};
use crate::circuit::explanations::{Explainer, Explanations};
use crate::circuit::joint::Joint;
use crate::circuit::posteriors::Evaluator;
use crate::circuit::run::EvalOptions;
use crate::compile::{Compiled, Completion, Goal, Question};
use crate::error::{Error, ErrorKind, Remedy, Result, did_you_mean, shortlist};
use crate::model::{Evidence, FactorModel, Variable};
use crate::tensor::{Graph, TableId};
use crate::vars::{VarId, VarSet};

const UNKNOWN: &str = "is not a variable of this circuit's network";

/// A query on a network, compiled: evaluates batches of evidence.
///
/// See [`Batch`] for an example. Clones share what is large, and cost little.
#[derive(Clone, Debug)]
pub struct Circuit {
    pub(crate) variables: Arc<Vec<Variable>>,
    /// The variable that is asked for alone.
    pub(crate) single: Option<VarId>,
    /// The variables whose posteriors are asked for side by side; if none, all but the hard inputs.
    pub(crate) several: VarSet,
    /// The variables that are asked for together.
    pub(crate) joint: Option<Arc<Joint>>,
    pub(crate) inputs: VarSet,
    /// The inputs in the order in which the query named them.
    pub(crate) order: Arc<[VarId]>,
    pub(crate) hard: VarSet,
    /// For each variable, the positions of the values that it can have.
    pub(crate) domains: Arc<Vec<Vec<usize>>>,
    pub(crate) graph: Arc<Graph>,
    /// How explanations are completed, if they are what the circuit is for.
    pub(crate) completion: Option<Arc<Completion>>,
    /// How many of the variables are the network's; those behind them belong to selections.
    pub(crate) visible: usize,
    /// Variables whose evidence is that on another one.
    pub(crate) aliases: BTreeMap<VarId, VarId>,
}

/// A network all of whose states have probability zero.
pub(crate) fn nothing_possible(net: &FactorModel) -> Error {
    let name = net.name();
    let message = format!("no state of network `{name}` has a positive probability");
    Error::new(ErrorKind::Model, message)
}

/// A circuit for explanations takes maxima, and has no sums.
pub(crate) fn no_posteriors() -> Error {
    let error = Error::new(
        ErrorKind::Unsupported,
        "the circuit is for explanations, and has no posteriors",
    );
    error.hint("ask it to explain, or compile another one for posteriors")
}

/// The inputs that were named in their order, and then the others.
fn in_order(named: &[VarId], inputs: &VarSet) -> Arc<[VarId]> {
    let others = inputs.iter().filter(|v| !named.contains(v));
    let named = named.iter().copied().filter(|&v| inputs.contains(v));
    named.chain(others).collect()
}

impl Circuit {
    pub(crate) fn new(net: &FactorModel, question: Question, compiled: Compiled) -> Self {
        let completion = question
            .goal
            .is_explanation()
            .then(|| Completion::new(&compiled).into());
        let Compiled { graph, pruned, .. } = compiled;
        let joint = match &question.goal {
            Goal::Joint(asked) => Some(Joint::new(net.variables(), asked, &pruned.domains).into()),
            _ => None,
        };
        let several = match &question.goal {
            Goal::Marginals(asked) => asked.clone(),
            _ => VarSet::default(),
        };
        Circuit {
            visible: net.variables().len(),
            variables: net.shared_variables(),
            order: in_order(&question.order, question.evidence()),
            single: question.goal.target(),
            several,
            joint,
            inputs: question.evidence().clone(),
            hard: question.hard,
            domains: pruned.domains.into(),
            graph: graph.into(),
            completion,
            aliases: BTreeMap::new(),
        }
    }

    /// All variables of the network that the circuit was compiled from.
    pub fn variables(&self) -> &[Variable] {
        &self.variables[..self.visible]
    }

    /// One of them; or the [target](Circuit::targets) that stands for several together.
    pub fn variable(&self, var: VarId) -> &Variable {
        match &self.joint {
            Some(joint) if Some(var) == self.target() => &joint.variable,
            _ => &self.variables[var.index()],
        }
    }

    /// The positions of the values that a variable can have; no other has a positive probability.
    pub fn possible(&self, var: VarId) -> &[usize] {
        match &self.joint {
            Some(joint) if Some(var) == self.target() => &joint.domain,
            _ => &self.domains[var.index()],
        }
    }

    /// The inputs, in the order in which the query named them; those of a pattern, and those that
    /// it did not name, in the order of the network.
    pub fn inputs(&self) -> impl Iterator<Item = VarId> + '_ {
        self.order.iter().copied()
    }

    /// Whether an input must have a value in every example.
    pub fn is_hard(&self, var: VarId) -> bool {
        self.hard.contains(var)
    }

    /// Whether the circuit is for most probable explanations, and not for posteriors.
    pub fn explains(&self) -> bool {
        self.completion.is_some()
    }

    /// The variables that are asked for. If some are asked for together, it is one that stands for
    /// all of them: its name is `lung,tub`, and its values are `yes,yes` and so on.
    pub fn targets(&self) -> Vec<VarId> {
        let all = || (0..self.visible).map(VarId::new);
        match self.target() {
            Some(target) => vec![target],
            None if self.several.is_empty() => all().filter(|&v| !self.hard.contains(v)).collect(),
            None => self.several.iter().collect(),
        }
    }

    /// The variables that are asked for together, in the order of their values; none if each is
    /// asked for alone.
    pub fn together(&self) -> &[VarId] {
        self.joint.as_ref().map_or(&[], |joint| &joint.members)
    }

    /// The one variable that the output has: the target, or that which stands for several together.
    pub(crate) fn target(&self) -> Option<VarId> {
        let joint = self.joint.as_ref();
        joint.map_or(self.single, |_| Some(VarId::new(self.variables.len())))
    }

    /// All variables, and the one that stands for several together, by their ids.
    pub(crate) fn named(&self) -> Arc<Vec<Variable>> {
        let Some(joint) = &self.joint else {
            return self.variables.clone();
        };
        let own = self.variables.iter().chain([&joint.variable]);
        Arc::new(own.cloned().collect())
    }

    /// The variables whose CPTs are selected, in the order in which they are.
    pub fn selected(&self) -> impl Iterator<Item = VarId> + '_ {
        self.graph.rules().iter().map(|rule| rule.tested)
    }

    /// The variable that evidence on a variable of the graph comes from.
    pub(crate) fn source(&self, var: VarId) -> VarId {
        self.aliases.get(&var).copied().unwrap_or(var)
    }

    /// The operations of the circuit.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Changes the numbers of a table, in this clone alone.
    ///
    /// # Panics
    /// If the table has another number of entries.
    pub(crate) fn set_table(&mut self, table: TableId, values: &[f64]) {
        Arc::make_mut(&mut self.graph)
            .table_mut(table)
            .copy_from_slice(values);
    }

    /// An input by its name.
    pub fn input(&self, name: &str) -> Result<VarId> {
        let found = self.inputs().find(|&v| self.variable(v).name == name);
        found.ok_or_else(|| {
            let known = self
                .variables()
                .iter()
                .any(|variable| variable.name == name);
            let meant = did_you_mean(name, self.inputs().map(|v| &*self.variable(v).name))
                .filter(|_| !known);
            self.no_input(
                name,
                if known {
                    "is not an input of this circuit"
                } else {
                    UNKNOWN
                },
                meant,
            )
        })
    }

    /// An input by its id.
    pub(crate) fn check_input(&self, var: VarId) -> Result<&Variable> {
        match self.variables().get(var.index()) {
            Some(variable) if self.inputs.contains(var) => Ok(variable),
            Some(variable) => {
                Err(self.no_input(&variable.name, "is not an input of this circuit", None))
            }
            None => Err(self.no_input(&format!("{var:?}"), UNKNOWN, None)),
        }
    }

    fn no_input(&self, name: &str, what: &str, meant: Option<Remedy>) -> Error {
        let names = || shortlist(self.inputs().map(|v| &*self.variable(v).name));
        let inputs = || {
            Remedy::Text(format!(
                "inputs are named when a circuit is compiled; this one has {}",
                names()
            ))
        };
        Error::new(ErrorKind::Name, format!("`{name}` {what}")).hint(meant.unwrap_or_else(inputs))
    }

    /// Evaluates a batch with all processors, in double precision.
    pub fn evaluate(&self, batch: &Batch) -> Result<Answers> {
        self.evaluator(&EvalOptions::precise())?.run(batch)
    }

    /// The posteriors of one example, in double precision: of some evidence on the inputs. To ask
    /// often, prepare an [evaluator](Circuit::evaluator).
    ///
    /// ```
    /// use sumout::{Evidence, Network, Options, Query};
    ///
    /// let asia = Network::read("asia")?;
    /// let circuit = asia.compile(&Query::of("lung").given(["xray", "dysp"]), &Options::default())?;
    /// let evidence = Evidence::new().observe(&asia, "xray", "yes")?.observe(&asia, "dysp", "no")?;
    /// let answer = circuit.answer(&evidence)?;
    /// assert!((answer.probability("lung", "yes")? - 0.2523).abs() < 1e-4);
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn answer(&self, evidence: &Evidence) -> Result<Answer> {
        self.evaluator(&EvalOptions::precise())?.answer(evidence)
    }

    /// Prepares to evaluate batches.
    pub fn evaluator(&self, options: &EvalOptions) -> Result<Evaluator> {
        self.check_posteriors()?;
        Evaluator::new(self, options)
    }

    /// Explains the examples of a batch with all processors.
    pub fn explain(&self, batch: &Batch) -> Result<Explanations> {
        self.explainer(&EvalOptions::default())?.run(batch)
    }

    /// Prepares to explain batches, always in double precision.
    pub fn explainer(&self, options: &EvalOptions) -> Result<Explainer> {
        Explainer::new(self, options)
    }

    /// Refuses circuits for explanations.
    pub(crate) fn check_posteriors(&self) -> Result<()> {
        if self.explains() {
            Err(no_posteriors())
        } else {
            Ok(())
        }
    }
}
