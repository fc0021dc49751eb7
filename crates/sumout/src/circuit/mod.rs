//! Asks a network, and gets answers.
//!
//! Posteriors come in two ways. Of one target, the circuit's output is P(target, e). Of several,
//! its output is P(e), and one backward pass gives all of them: P(x, e) = λ_x · ∂P(e)/∂λ_x.

mod answer;
pub(crate) mod batch;
mod best;
mod causation;
pub(crate) mod compiled;
mod derivatives;
mod explanations;
mod export;
mod families;
mod file;
mod groups;
mod information;
mod joint;
mod machine;
mod map;
pub(crate) mod near;
mod network;
mod once;
pub(crate) mod plan;
mod posteriors;
mod ready;
mod refuse;
pub(crate) mod run;
mod samples;
pub(crate) mod selection;
mod sensitivity;

use crate::circuit::refuse::Refusal;
use crate::compile::{Compiled, Level, Objective, Runs, Search};
use crate::control::Control;
use crate::error::Result;
use crate::tensor::layout::Program;
use crate::tensor::schedule::{Schedule, Want};

pub use answer::{Answer, Explanation};
pub use batch::{Answers, Batch, Column};
pub use causation::Causation;
pub use compiled::Circuit;
pub use derivatives::{Derivatives, Differentiator};
pub use explanations::{Explainer, Explanations};
pub use export::{Export, Language, Onnx};
pub use families::{Families, FamilyEvaluator};
pub use information::Information;
pub use machine::Machine;
pub use map::MarginalMap;
pub use plan::Compilation;
pub use posteriors::Evaluator;
pub use run::{EvalOptions, Precision};
pub use selection::Selected;
pub use sensitivity::Sensitivity;

/// How to compile: level and objective are the default ones of [`Level`] and [`Objective`], the
/// seed is 0, the effort 1, memory has no limit but the machine's, and nothing is approximated.
///
/// ```
/// use sumout::{Level, Options};
///
/// let options = Options::default().with_level(Level::Classical).with_effort(0.1);
/// assert_eq!((options.level(), options.seed()), (Level::Classical, 0));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Options {
    pub(crate) level: Level,
    pub(crate) objective: Objective,
    pub(crate) seed: u64,
    pub(crate) effort: f64,
    pub(crate) memory: Option<u64>,
    pub(crate) near: f64,
    pub(crate) control: Control,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            level: Level::default(),
            objective: Objective::default(),
            seed: 0,
            effort: 1.0,
            memory: None,
            near: 0.0,
            control: Control::default(),
        }
    }
}

impl Options {
    /// With what the planner may know.
    pub fn with_level(self, level: Level) -> Self {
        Options { level, ..self }
    }

    /// With another cost to minimise.
    pub fn with_objective(self, objective: Objective) -> Self {
        Options { objective, ..self }
    }

    /// With another search for a plan; the same seed gives the same plan. It is 0 by default.
    pub fn with_seed(self, seed: u64) -> Self {
        Options { seed, ..self }
    }

    /// With a longer or shorter search: scales the steps that it may take. It is 1 by default, about
    /// a second on a hard network.
    pub fn with_effort(self, effort: f64) -> Self {
        Options { effort, ..self }
    }

    /// With the number of bytes that an answer may need; three quarters of the free memory by
    /// default.
    pub fn with_memory(self, memory: impl Into<Option<u64>>) -> Self {
        Options {
            memory: memory.into(),
            ..self
        }
    }

    /// With nearly functional tables as functions: those whose rows each have an entry of at least
    /// one less this. It is 0 by default, and nothing is approximated.
    ///
    /// An approximation comes with an estimate of its error. A single question is answered exactly
    /// if that fits; explanations always are exact.
    pub fn with_near(self, near: f64) -> Self {
        Options { near, ..self }
    }

    /// With a control, to watch the work from another thread and to stop it. A search that is
    /// stopped ends with its best plan so far; anything else ends with an error of kind
    /// [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted). There are no bounds of probabilities before an answer is exact.
    pub fn with_control(self, control: Control) -> Self {
        Options { control, ..self }
    }

    /// The structure that the planner may use.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The cost that the planner minimises.
    pub fn objective(&self) -> Objective {
        self.objective
    }

    /// The seed of the search.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The scale of the steps that the search may take.
    pub fn effort(&self) -> f64 {
        self.effort
    }

    /// The limit of memory, in bytes.
    pub fn memory(&self) -> Option<u64> {
        self.memory
    }

    /// How far from 1 the largest entry of a row may be in a table that counts as a function.
    pub fn near(&self) -> f64 {
        self.near
    }

    pub(crate) fn search(&self, runs: Runs) -> Search {
        Search {
            level: self.level,
            objective: self.objective,
            seed: self.seed,
            effort: self.effort,
            runs,
            control: self.control.clone(),
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

/// Below this many bytes the free memory is not queried: the query takes longer than the answer.
const SMALL: f64 = (64 << 20) as f64;

/// The program for a compiled question, if it fits in memory.
fn admit(compiled: &Compiled, want: &Want, refusal: &Refusal<'_>) -> Result<Program> {
    let schedule = Schedule::new(&compiled.graph, want);
    let needed = schedule.peak_bytes(&compiled.graph);
    let memory = refusal.options.memory;
    let limit = if memory.is_none() && needed <= SMALL {
        SMALL
    } else {
        memory_limit(memory)
    };
    if needed > limit {
        return Err(refusal.error(compiled, needed, limit));
    }
    Ok(Program::new(&compiled.graph, &schedule))
}

/// The bytes that may be used: by default three quarters of the free memory.
fn memory_limit(given: Option<u64>) -> f64 {
    given.unwrap_or_else(|| free_memory() / 4 * 3) as f64
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
    use crate::error::ErrorKind;
    use crate::model::{Evidence, Network};

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
        let options = |memory| {
            Options::default()
                .with_memory(Some(memory))
                .with_effort(2.0)
        };
        let evidence = Evidence::new();
        let refused = asia.query(&[], &evidence, &options(100)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Memory);
        let message = refused.message();
        assert!(
            message.contains(
                ", and the limit is 100 bytes (the largest cluster has 2^3.0 states of `"
            ),
            "{message}"
        );
        let advice = refused.advice().unwrap();
        assert!(advice.contains("raise the limit `memory`"), "{advice}");
        assert!(!advice.contains("effort"), "{advice}");
        let explanation = asia.mpe(&evidence, &options(100)).unwrap_err();
        assert!(!explanation.advice().unwrap().contains("targets"));
        assert!(asia.query(&[], &evidence, &options(1 << 20)).is_ok());
    }
}
