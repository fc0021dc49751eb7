//! Exact answers from Bayesian networks: a question is compiled into a tensor circuit, and the
//! circuit is evaluated.
//!
//! ```
//! use sumout::{Evidence, Network, Options};
//!
//! let mut b = Network::builder("house");
//! let fire = b.variable("fire", ["yes", "no"]);
//! let test = b.variable("test", ["yes", "no"]);
//! let alarm = b.variable("alarm", ["yes", "no"]);
//! b.table(fire, [], [0.01, 0.99]);
//! b.table(test, [], [0.10, 0.90]);
//! b.function(alarm, [fire, test], |u| u[0].min(u[1])); // "yes", value 0, if one of them is
//! let net = b.build()?;
//!
//! let evidence = Evidence::new().observe(&net, "alarm", "yes")?;
//! let answer = net.query(&[net.find("fire")?], &evidence, &Options::default())?;
//! assert!((answer.probability("fire", "yes")? - 0.01 / 0.109).abs() < 1e-12);
//! assert!((answer.log_evidence() - 0.109_f64.ln()).abs() < 1e-12);
//! println!("{answer}");
//! # Ok::<(), sumout::Error>(())
//! ```
//!
//! # The idea
//!
//! The answer to a question is a sum over all variables that nobody asked for, of a product of all
//! factors. Done literally it takes a number for every joint state. But a variable can be summed
//! out of a part of the product as soon as nothing else mentions it, so the order in which factors
//! are multiplied decides how large the tables in between become. Finding a good order is hard, and
//! does not depend on the numbers: it is worth doing once, before there are any.
//!
//! Many variables of real models are functions of others. A CPT is known to be one if each of its
//! rows has a single 1, and can be declared one before its numbers are known: see [`Cpt`]. Such a
//! variable may be summed out sooner than others. The representation of models and questions is
//! made for that.
//!
//! # How a query is answered
//!
//! ```text
//! file ──format──▶ Network ┐
//! Evidence, targets ───────┴─▶ prune ─▶ plan ─▶ lower ─▶ Graph ─▶ layout ─▶ execute ─▶ Answer
//! ```
//!
//! Variables and values that cannot matter are pruned. A plan is a tree in which the factors that
//! are left are multiplied and summed out; it is lowered to a graph of tensor operations. A circuit
//! is a graph with a place in memory for every number, ready to be evaluated.
//!
//! # Where to start
//!
//! | for | there is |
//! |---|---|
//! | networks | [`Network::read`], or [`Network::builder`]; [files in six formats](model::format) |
//! | one question | [`Network::query`] and [`Network::mpe`], given [`Evidence`] and [`Options`] |
//! | a question asked often | [`Network::compile`], which makes a [`Circuit`] of a [`Query`]; a [`Batch`] of examples for its [`Evaluator`], [`Explainer`], [`Differentiator`] or [`FamilyEvaluator`] |
//! | the cost, before anything is computed | [`Network::plan`] and its [`Report`] |
//! | learning from data | [`Network::fit`] and the module [`learn`] |
//! | programs without this crate | [`Circuit::export`] |
//! | work that takes long | a [`Control`] in the options, to watch and to stop it |
//!
//! # Guarantees
//!
//! * Answers are exact, up to rounding. Nothing underflows: ln P(evidence) may be -5000.
//! * Impossible evidence is an [answer](Answer::is_impossible), never NaN.
//! * An answer that would need more memory than [allowed](Options::memory) is refused before it is
//!   begun.
//! * The same seed gives the same plan, on every machine.
//! * Mistakes in files and questions are [`Error`]s that say what, where and what to do.

// The crate's surface is this page and the modules `learn` and `model`. Everything else is public
// for the crates of this repository alone, and changes without notice.
#[doc(hidden)]
pub mod circuit;
#[doc(hidden)]
pub mod compile;
#[doc(hidden)]
pub mod control;
#[doc(hidden)]
pub mod draw;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod files;
pub mod learn;
pub mod model;
#[doc(hidden)]
pub mod tensor;
#[doc(hidden)]
pub mod vars;

pub use circuit::{
    Answer, Answers, Batch, Causation, Circuit, Column, Compilation, Derivatives, Differentiator,
    EvalOptions, Evaluator, Explainer, Explanation, Explanations, Export, Families,
    FamilyEvaluator, Information, Language, MarginalMap, Onnx, Options, Precision, Selected,
    Sensitivity,
};
pub use compile::plan::saved::SavedPlan;
pub use compile::report::{Extent, Near};
pub use compile::{Level, Objective, Query, Report};
pub use control::{Control, Progress, Stage};
pub use draw::Jointree;
pub use error::{Error, ErrorKind, Place, Remedy, Result};
pub use learn::{Difference, Epoch, Examples, FitEvent, FitOptions, Fitted, Task};
#[doc(hidden)]
pub use learn::{Method, Monitor, State, Trainer, Training, TrainingOptions};
pub use model::{Builder, Cpt, Dataset, Evidence, Finding, Format, Network, Variable};
pub use vars::{VarId, VarSet};

/// Internals of the compiler and the executors, for the project's own tests, benchmarks and the
/// reproduction of the paper. No promises: they change without notice.
#[doc(hidden)]
pub mod internals {
    pub use crate::circuit::Machine;
    pub use crate::compile::report::Count;
    pub use crate::compile::{Goal, Question, Runs, Search, lower, paper, plan, prune};
    pub use crate::error::defect::{contained, keep_panics};
    pub use crate::model::paper::{HEIGHT, WIDTH, covers, number, within};
    pub use crate::model::random;
    pub use crate::tensor::graph;
    use crate::vars::VarId;

    /// The variable at a position of a network.
    pub fn var(index: usize) -> VarId {
        VarId::new(index)
    }
}

/// The README's Rust is run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctest;
