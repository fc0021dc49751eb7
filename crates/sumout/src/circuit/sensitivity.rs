//! How an answer depends on the numbers of the network.
//!
//! If one number θ of a row varies, and the others of the row in proportion, then P(e) and P(y, e)
//! are linear functions of θ. The marginals of the families given e, and given y and e, have all of
//! their coefficients: so two examples are enough for the functions of all numbers.

use crate::circuit::batch::{Batch, Column};
use crate::circuit::once::question;
use crate::circuit::refuse::Refusal;
use crate::circuit::run::EvalOptions;
use crate::circuit::{Circuit, Families, Options, admit};
use crate::compile::{self, Goal, Planned, Question, Runs};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Evidence, Finding, Network};
use crate::tensor::schedule::Want;
use crate::vars::{VarId, VarSet};

/// A denominator below this is zero, but for rounding: the evidence is impossible there.
const ZERO: f64 = 1e-13;

/// How a probability P(y | e) depends on single numbers of the CPTs, those that matter most first.
/// The other numbers of the row vary in proportion. Numbers that are 0 or 1 stay. See
/// [`Network::sensitivity`].
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    probability: f64,
    parameters: Vec<Parameter>,
}

/// A number of a CPT, and P(y | e) as a function of it.
#[derive(Clone, Debug, PartialEq)]
struct Parameter {
    child: VarId,
    entry: usize,
    value: f64,
    /// a, b, c and d.
    function: [f64; 4],
}

impl Parameter {
    /// At the present value the denominator is 1.
    fn derivative(&self) -> f64 {
        let [a, b, c, d] = self.function;
        (a * d - b * c) / (c * self.value + d).powi(2)
    }

    fn at(&self, x: f64) -> f64 {
        let [a, b, c, d] = self.function;
        let below = c * x + d;
        let ratio = if below.abs() < ZERO {
            a / c
        } else {
            (a * x + b) / below
        };
        ratio.clamp(0.0, 1.0)
    }
}

impl Sensitivity {
    /// P(y | e).
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// The number of parameters. Each has a place in the order of the size of its derivative.
    pub fn len(&self) -> usize {
        self.parameters.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.parameters.is_empty()
    }

    /// A parameter: the variable of its CPT, and its entry in the [dense table](crate::Cpt::table).
    ///
    /// # Panics
    /// If there is no such place, as the other methods.
    pub fn parameter(&self, place: usize) -> (VarId, usize) {
        let it = &self.parameters[place];
        (it.child, it.entry)
    }

    /// The value that a parameter has in the network.
    pub fn value(&self, place: usize) -> f64 {
        self.parameters[place].value
    }

    /// The derivative of P(y | e) with respect to a parameter, at its value.
    pub fn derivative(&self, place: usize) -> f64 {
        self.parameters[place].derivative()
    }

    /// P(y | e) = (a θ + b) / (c θ + d) as a function of a parameter θ: a, b, c and d.
    pub fn function(&self, place: usize) -> [f64; 4] {
        self.parameters[place].function
    }

    /// P(y | e) if a parameter has another value; where that makes the evidence impossible, the
    /// limit.
    pub fn at(&self, place: usize, value: f64) -> f64 {
        self.parameters[place].at(value)
    }

    /// P(y | e) at the ends of a parameter's range, 0 and 1: all that it can be lies between.
    pub fn range(&self, place: usize) -> (f64, f64) {
        (self.at(place, 0.0), self.at(place, 1.0))
    }

    /// The value of a parameter that makes P(y | e) a wanted probability; none if none does.
    pub fn reaching(&self, place: usize, wanted: f64) -> Option<f64> {
        let (low, high) = self.range(place);
        let [a, b, c, d] = self.function(place);
        let is_between = low.min(high) <= wanted && wanted <= low.max(high);
        let value = (wanted * d - b) / (a - wanted * c);
        (is_between && value.is_finite()).then(|| value.clamp(0.0, 1.0))
    }
}

impl Network {
    /// How the probability of a target's value given the evidence depends on each number of the
    /// CPTs. None if the evidence is impossible.
    ///
    /// ```
    /// use sumout::{Evidence, Network, Options};
    ///
    /// let asia = Network::read("asia")?;
    /// let evidence = Evidence::new().observe(&asia, "xray", "yes")?;
    /// let found = asia.sensitivity(asia.find("lung")?, 0, &evidence, &Options::default())?.unwrap();
    /// let (child, entry) = found.parameter(0);
    /// assert_eq!((&*asia.variable(child).name, entry), ("xray", 2)); // P(xray=yes | either=no)
    /// let wanted = found.reaching(0, 0.6).unwrap();
    /// assert!((found.at(0, wanted) - 0.6).abs() < 1e-12);
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn sensitivity(
        &self,
        target: VarId,
        value: usize,
        evidence: &Evidence,
        options: &Options,
    ) -> Result<Option<Sensitivity>> {
        self.check_ids([target].into_iter())?;
        self.check_target(target, value, evidence)?;
        let mut question = question(Goal::Evidence, evidence);
        question.families = true;
        question.inputs.insert(target);
        let Some(circuit) = self.families_circuit(question, options)? else {
            return Ok(None);
        };
        let batch = self.two_rows(&circuit, (target, value), evidence)?;
        let running = EvalOptions::precise().with_memory(options.memory);
        let families = circuit.family_evaluator(&running)?.run(&batch)?;
        Ok(self.sensitivities(&families))
    }

    fn check_target(&self, target: VarId, value: usize, evidence: &Evidence) -> Result<()> {
        if self.is_markov() || self.has_selections() {
            let message = "sensitivity is of the numbers of a Bayesian network without tests";
            let error = Error::new(ErrorKind::Unsupported, message);
            return Err(error.hint("potentials have no rows, and tests select other numbers"));
        }
        let variable = self.variable(target);
        if value >= variable.values.len() {
            let message = format!("`{}` has no value {value}", variable.name);
            return Err(Error::new(ErrorKind::Name, message));
        }
        if matches!(evidence.get(target), Some(Finding::Hard(_))) {
            let message = format!("`{}` is asked for and given", variable.name);
            let error = Error::new(ErrorKind::Options, message);
            return Err(error.hint("ask for a variable whose value is not known"));
        }
        Ok(())
    }

    /// None if the evidence is impossible.
    fn families_circuit(&self, question: Question, options: &Options) -> Result<Option<Circuit>> {
        let model = self.model();
        let planned = compile::plan(model, &question, &options.search(Runs::Once));
        options.control.check()?;
        let Some(compiled) = planned.map(Planned::lower) else {
            return Ok(None);
        };
        let tables = compiled.graph.origins().keys().copied().collect();
        let refusal = Refusal {
            model,
            question: &question,
            options,
        };
        admit(
            &compiled,
            &Want::Gradients(VarSet::default(), tables),
            &refusal,
        )?;
        Ok(Some(Circuit::new(model, question, compiled)))
    }

    /// The evidence, and the evidence with the value of the target.
    fn two_rows(
        &self,
        circuit: &Circuit,
        (target, value): (VarId, usize),
        evidence: &Evidence,
    ) -> Result<Batch> {
        let mut batch = Batch::new(2);
        let cards = self.cards();
        for v in circuit.inputs() {
            let likelihood = match evidence.get(v) {
                Some(Finding::Soft(likelihood)) => likelihood.clone(),
                _ => vec![1.0; cards[v.index()]],
            };
            let mut rows = likelihood.repeat(2);
            if v == target {
                let second = rows[likelihood.len()..].iter_mut().enumerate();
                second
                    .filter(|(x, _)| *x != value)
                    .for_each(|(_, number)| *number = 0.0);
            }
            batch.insert(circuit, v, Column::Likelihoods(rows))?;
        }
        Ok(batch)
    }

    /// From the marginals of the families given e, and given y and e.
    fn sensitivities(&self, families: &Families) -> Option<Sensitivity> {
        let [all, part] = families.log_evidence[..] else {
            return None;
        };
        if all == f64::NEG_INFINITY {
            return None;
        }
        let probability = (part - all).exp().min(1.0);
        let cards = self.cards();
        let mut parameters = vec![];
        for (child, marginals) in &families.marginals {
            let table = self.cpts()[child.index()].table(&cards);
            let (given, with) = marginals.split_at(table.len());
            let card = cards[child.index()];
            let varies = |&(_, value): &(usize, &f64)| 0.0 < *value && *value < 1.0;
            parameters.extend(
                table
                    .iter()
                    .enumerate()
                    .filter(varies)
                    .map(|(entry, &value)| {
                        let row = entry / card * card..(entry / card + 1) * card;
                        let [c, d] = line(&given[row.clone()], given[entry], value);
                        let [a, b] = line(&with[row], with[entry], value).map(|x| x * probability);
                        Parameter {
                            child: *child,
                            entry,
                            value,
                            function: [a, b, c, d],
                        }
                    }),
            );
        }
        let size = |it: &Parameter| it.derivative().abs();
        parameters.sort_by(|x, y| size(y).total_cmp(&size(x)));
        Some(Sensitivity {
            probability,
            parameters,
        })
    }
}

/// The probability of the evidence as a linear function of a number of a row, as a multiple of the
/// present one: slope and constant. `row` has the marginals of the row's states, `own` that of the
/// number's.
fn line(row: &[f64], own: f64, value: f64) -> [f64; 2] {
    let total: f64 = row.iter().sum();
    let others = (total - own).max(0.0) / (1.0 - value);
    [own / value - others, 1.0 - total + others]
}
