//! Asks a network, and gets answers.
//!
//! Posteriors come in two ways. Of one target, the circuit's output is P(target, e). Of several,
//! its output is P(e), and one backward pass gives all of them: P(x, e) = λ_x · ∂P(e)/∂λ_x.

mod answer;
pub(crate) mod batch;
pub(crate) mod compiled;
mod derivatives;
mod explanations;
mod export;
mod families;
mod file;
mod machine;
pub(crate) mod near;
pub(crate) mod plan;
mod posteriors;
mod ready;
pub(crate) mod run;
pub(crate) mod selection;

use std::collections::BTreeMap;

use crate::compile::{self, Compiled, Completion, Level, Objective, Query, Question, Search};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Evidence, Finding, Network};
use crate::tensor::careful::Run;
use crate::tensor::layout::Program;
use crate::tensor::schedule::{Schedule, Want};
use crate::vars::{VarId, VarSet};

pub use answer::{Answer, Explanation};
pub use batch::{Answers, Batch, Column};
pub use compiled::Circuit;
pub use derivatives::{Derivatives, Differentiator, LossGradient};
pub use explanations::{Explainer, Explanations};
pub use export::{Export, Language, Onnx};
pub use families::{Families, FamilyEvaluator};
pub use machine::Machine;
pub use plan::Compilation;
pub use posteriors::Evaluator;
pub use run::{EvalOptions, Precision};
pub use selection::Selected;

use ready::{Ready, likelihood};

/// How to compile.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the planner may know.
    pub level: Level,
    /// What the plan should have little of.
    pub objective: Objective,
    /// Seeds the search for a good plan; the same seed gives the same plan.
    pub seed: u64,
    /// Scales the steps that the search may take; 1 is about a second on a hard network.
    pub effort: f64,
    /// The number of bytes that an answer may need; three quarters of the free memory if none is
    /// given.
    pub memory: Option<u64>,
    /// If not zero, tables whose rows each have an entry of at least one less this count as
    /// functions. That is an approximation, and comes with an estimate of its error. A single
    /// question is answered exactly if that fits; explanations always are exact.
    pub near: f64,
}

impl Default for Options {
    fn default() -> Self {
        let (level, objective) = (Level::default(), Objective::default());
        Options {
            level,
            objective,
            seed: 0,
            effort: 1.0,
            memory: None,
            near: 0.0,
        }
    }
}

impl Network {
    /// The posterior of each target given the evidence; of all variables if there are no targets.
    /// Of a testing network, in the network that the evidence selects.
    ///
    /// ```
    /// use sumout::{Evidence, Network, Options};
    ///
    /// let asia = Network::read("asia")?;
    /// let evidence = Evidence::new().observe(&asia, "xray", "yes")?.observe(&asia, "dysp", "no")?;
    /// let answer = asia.query(&[asia.find("lung")?], &evidence, &Options::default())?;
    /// assert!((answer.probability("lung", "yes")? - 0.2523).abs() < 1e-4);
    /// assert!((answer.log_evidence().exp() - 0.03962).abs() < 1e-5);
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn query(
        &self,
        targets: &[VarId],
        evidence: &Evidence,
        options: &Options,
    ) -> Result<Answer> {
        check_ids(
            self,
            targets
                .iter()
                .copied()
                .chain(evidence.iter().map(|(v, _)| v)),
        )?;
        if self.is_testing() {
            let selected = self.selected(evidence, options)?;
            return match selected {
                Some(net) => net.query(targets, evidence, options),
                None => Ok(Answer::impossible(self.shared_variables())),
            };
        }
        let asked: Vec<VarId> = if targets.is_empty() {
            self.ids().collect()
        } else {
            targets.to_vec()
        };
        let question = Question {
            targets: asked.iter().copied().collect(),
            ..question(evidence)
        };
        if options.near != 0.0 {
            near::check(options.near)?;
            return near::query(self, &question, asked, evidence, options);
        }
        let Some(compiled) = compile::compile(self, &question, &options.search()) else {
            return Ok(Answer::impossible(self.shared_variables()));
        };
        Ok(Ready::new(self, &question, asked, compiled, options)?.answer(evidence))
    }

    /// The most probable assignment of values to all variables given the evidence.
    ///
    /// ```
    /// use sumout::{Evidence, Network, Options};
    ///
    /// let asia = Network::read("asia")?;
    /// let evidence = Evidence::new().observe(&asia, "xray", "yes")?;
    /// let explanation = asia.mpe(&evidence, &Options::default())?;
    /// assert_eq!(explanation.value("lung")?, "yes");
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn mpe(&self, evidence: &Evidence, options: &Options) -> Result<Explanation> {
        check_ids(self, evidence.iter().map(|(v, _)| v))?;
        let impossible = || Ok(Explanation::impossible(self.shared_variables()));
        if self.is_testing() {
            let selected = self.selected(evidence, options)?;
            return selected.map_or_else(impossible, |net| net.mpe(evidence, options));
        }
        let question = Question {
            explain: true,
            ..question(evidence)
        };
        let Some(compiled) = compile::compile(self, &question, &options.search()) else {
            return impossible();
        };
        let program = admit(&compiled, &Want::Everything, options)?;
        let domains = &compiled.pruned.domains;
        let run = Run::max(&compiled.graph, &program, |v| {
            likelihood(evidence, v, &domains[v.index()])
        });
        let log_probability = run.log_sum();
        if log_probability == f64::NEG_INFINITY {
            return impossible();
        }
        let mut states = run.trace();
        Completion::new(&compiled).complete(compiled.graph.cards(), &mut states);
        let value = |v: VarId| domains[v.index()][states[v.index()].unwrap_or(0)];
        let assignment = self.ids().map(value).collect();
        Ok(Explanation::new(
            self.shared_variables(),
            assignment,
            log_probability,
        ))
    }
}

/// What a query asks of a network. Explanations are exact.
fn asked(net: &Network, query: &Query, options: &Options) -> Result<Question> {
    near::check(options.near)?;
    let question = query.question(net)?;
    Ok(Question {
        near: if question.explain { 0.0 } else { options.near },
        ..question
    })
}

/// Refuses ids that another network gave.
fn check_ids(net: &Network, mut ids: impl Iterator<Item = VarId>) -> Result<()> {
    match ids.find(|v| v.index() >= net.variables().len()) {
        None => Ok(()),
        Some(stranger) => {
            let message = format!("{stranger:?} is no variable of network `{}`", net.name());
            Err(Error::new(ErrorKind::Name, message)
                .hint("an id belongs to the network that gave it"))
        }
    }
}

impl Options {
    pub(crate) fn search(&self) -> Search {
        Search {
            level: self.level,
            objective: self.objective,
            seed: self.seed,
            effort: self.effort,
            thorough: false,
        }
    }
}

/// Bytes that are free now, within what a container may use.
fn free_memory() -> u64 {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let container = system
        .cgroup_limits()
        .map_or(u64::MAX, |limits| limits.free_memory);
    system.available_memory().min(container)
}

/// Hard evidence is known when the question is compiled, soft evidence is an input.
fn question(evidence: &Evidence) -> Question {
    let hard = |(v, finding): (VarId, &Finding)| match finding {
        Finding::Hard(value) => Some((v, *value)),
        Finding::Soft(_) => None,
    };
    let is_soft = |finding: &Finding| matches!(finding, Finding::Soft(_));
    Question {
        targets: VarSet::default(),
        inputs: evidence
            .iter()
            .filter(|(_, f)| is_soft(f))
            .map(|(v, _)| v)
            .collect(),
        hard: VarSet::default(),
        known: evidence.iter().filter_map(hard).collect(),
        explain: false,
        families: false,
        trainable: VarSet::default(),
        selected: BTreeMap::new(),
        near: 0.0,
    }
}

/// So few bytes are always there; to ask how many are free takes longer than to use them.
const SMALL: f64 = (64 << 20) as f64;

/// The program for a compiled question, if it fits in memory.
fn admit(compiled: &Compiled, want: &Want, options: &Options) -> Result<Program> {
    let schedule = Schedule::new(&compiled.graph, want);
    let needed = schedule.peak_bytes(&compiled.graph);
    let is_small = options.memory.is_none() && needed <= SMALL;
    let limit = if is_small {
        SMALL
    } else {
        memory_limit(options.memory)
    };
    if needed > limit {
        let cluster = format!(
            " (the largest cluster has 2^{:.1} states)",
            compiled.cost.largest_cluster.log2()
        );
        return Err(too_large(
            needed,
            limit,
            &cluster,
            &what_helps(want, options),
        ));
    }
    Ok(Program::new(&compiled.graph, &schedule))
}

/// The bytes that may be used: three quarters of what is free, if nothing else was said.
fn memory_limit(given: Option<u64>) -> f64 {
    given.unwrap_or_else(|| free_memory() / 4 * 3) as f64
}

/// Says how much too large something is.
fn too_large(needed: f64, limit: f64, why: &str, advice: &str) -> Error {
    let message = format!(
        "the answer needs {} of memory, and the limit is {}{why}",
        bytes(needed),
        bytes(limit)
    );
    Error::new(ErrorKind::Memory, message).hint(advice)
}

/// What to do about an answer that does not fit.
fn what_helps(want: &Want, options: &Options) -> String {
    let fewer = if matches!(want, Want::Gradients(..)) {
        "ask for fewer targets, "
    } else {
        ""
    };
    let effort = 10.0 * options.effort.max(0.1);
    format!(
        "{fewer}give more evidence, search longer with `--effort {effort}`, or raise the limit with `--memory`"
    )
}

/// A number of bytes for people.
fn bytes(n: f64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let power = UNITS.len().min((n.max(1.0).log2() / 10.0) as usize);
    match power {
        0 => format!("{n} bytes"),
        _ if n >= 1024_f64.powi(5) => format!("2^{:.1} bytes", n.log2()),
        _ => format!(
            "{:.1} {}",
            n / 1024_f64.powi(power as i32),
            UNITS[power - 1]
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_in_the_unit_that_fits() {
        let shown = [
            0.0,
            1000.0,
            1024.0,
            1e6,
            2e6,
            270_637_466.0,
            8.5e9,
            3e13,
            1e30,
        ]
        .map(bytes);
        let expected = [
            "0 bytes",
            "1000 bytes",
            "1.0 KiB",
            "976.6 KiB",
            "1.9 MiB",
            "258.1 MiB",
            "7.9 GiB",
            "27.3 TiB",
        ];
        assert_eq!(shown[..8], expected);
        assert_eq!(shown[8], "2^99.7 bytes");
    }

    #[test]
    fn an_answer_that_does_not_fit_is_refused_with_numbers_and_advice() {
        let asia = Network::read("asia").unwrap();
        let options = |memory| Options {
            memory: Some(memory),
            effort: 2.0,
            ..Options::default()
        };
        let evidence = Evidence::new();
        let refused = asia.query(&[], &evidence, &options(100)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Memory);
        assert!(
            refused
                .message()
                .ends_with(", and the limit is 100 bytes (the largest cluster has 2^3.0 states)")
        );
        assert!(
            refused
                .advice()
                .unwrap()
                .starts_with("ask for fewer targets, give more evidence")
        );
        assert!(refused.advice().unwrap().contains("`--effort 20`"));
        let explanation = asia.mpe(&evidence, &options(100)).unwrap_err();
        assert!(
            explanation
                .advice()
                .unwrap()
                .starts_with("give more evidence")
        );
        assert!(asia.query(&[], &evidence, &options(1 << 20)).is_ok());
    }
}
