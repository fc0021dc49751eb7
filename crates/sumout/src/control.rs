//! Work that can be watched and stopped.
//!
//! Whoever starts long work gives it a [`Control`] and keeps a clone. The work reports how far it
//! is, and asks now and then whether it was stopped: a search then ends with the best plan it has,
//! anything else with an error of kind [`ErrorKind::Interrupted`].
//!
//! There are no clocks here, and nothing depends on what is reported: a front end with a time limit
//! stops the work when the limit is over. Without a control nothing is reported, and asking costs a
//! comparison.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

use crate::error::{Error, ErrorKind, Result};

/// A handle on work: shows how far it is, and stops it. Clones are handles on the same work.
///
/// ```
/// use sumout::{Control, ErrorKind, Evidence, Network, Options};
///
/// let control = Control::new();
/// let options = Options::default().with_control(control.clone());
/// let asia = Network::read("asia")?;
/// control.stop(); // as another thread would
/// let stopped = asia.query(&[], &Evidence::new(), &options).unwrap_err();
/// assert_eq!(stopped.kind(), ErrorKind::Interrupted);
/// # Ok::<(), sumout::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Control(Option<Arc<State>>);

/// Numbers that other threads read while they change: no two of them belong to the same moment.
#[derive(Debug)]
struct State {
    is_stopped: AtomicBool,
    /// After this many questions it stops by itself.
    patience: AtomicU64,
    stage: AtomicU8,
    /// How many stages have begun.
    stages: AtomicU64,
    done: AtomicU64,
    total: AtomicU64,
    /// The bits of a number, which is not a number as long as there is no plan.
    best: AtomicU64,
    /// The bits of two numbers, of a search for a maximum: the largest value so far, and an upper
    /// bound.
    between: [AtomicU64; 2],
}

/// A part of the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum Stage {
    /// Nothing has begun.
    #[default]
    Waiting,
    /// A question is made smaller, before there are plans for it.
    Simplifying,
    /// Searching for a plan; the share that is done is not known.
    Searching,
    /// A circuit is built from a plan, or from logic.
    Compiling,
    /// Numbers are computed; what is done is counted in products.
    Running,
}

const STAGES: [Stage; 5] = [
    Stage::Waiting,
    Stage::Simplifying,
    Stage::Searching,
    Stage::Compiling,
    Stage::Running,
];

/// How far work is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    stage: Stage,
    stages: u64,
    done: u64,
    total: u64,
    best: Option<f64>,
    between: Option<[f64; 2]>,
}

impl Control {
    /// A control of nothing: the default one.
    #[doc(hidden)]
    pub const NONE: Control = Control(None);

    /// A control of work that has not begun.
    pub fn new() -> Self {
        Control::with_patience(u64::MAX)
    }

    /// Stops by itself when it has been asked this often: the same on every machine, for tests.
    #[doc(hidden)]
    pub fn with_patience(questions: u64) -> Self {
        Control(Some(Arc::new(State {
            is_stopped: AtomicBool::new(false),
            patience: AtomicU64::new(questions),
            stage: AtomicU8::new(0),
            stages: AtomicU64::new(0),
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
            best: AtomicU64::new(f64::NAN.to_bits()),
            between: [f64::NAN, f64::NAN].map(|x| AtomicU64::new(x.to_bits())),
        })))
    }

    /// Stops the work as soon as it asks. A default control has nothing to stop.
    pub fn stop(&self) {
        if let Some(state) = &self.0 {
            state.is_stopped.store(true, Relaxed);
        }
    }

    /// How far the work is; none of a default control.
    pub fn progress(&self) -> Option<Progress> {
        let state = self.0.as_deref()?;
        let best = f64::from_bits(state.best.load(Relaxed));
        let between = [0, 1].map(|end| f64::from_bits(state.between[end].load(Relaxed)));
        Some(Progress {
            stage: STAGES[usize::from(state.stage.load(Relaxed))],
            stages: state.stages.load(Relaxed),
            done: state.done.load(Relaxed),
            total: state.total.load(Relaxed),
            best: best.is_finite().then_some(best),
            between: between.iter().all(|x| !x.is_nan()).then_some(between),
        })
    }

    /// Whether the work was stopped.
    pub fn is_stopped(&self) -> bool {
        self.0.as_deref().is_some_and(State::is_stopped)
    }

    /// An error if the work was stopped.
    pub fn check(&self) -> Result<()> {
        if self.is_stopped() {
            Err(self.interrupted())
        } else {
            Ok(())
        }
    }

    /// The error of work that was stopped.
    pub fn interrupted(&self) -> Error {
        let message = match self.progress() {
            Some(progress) => format!("stopped {progress}"),
            None => "stopped".to_owned(),
        };
        Error::new(ErrorKind::Interrupted, message)
    }

    /// Reports that a stage begins, and how much there is to be done; zero if that is not known.
    pub fn begin(&self, stage: Stage, total: u64) {
        if let Some(state) = &self.0 {
            state.done.store(0, Relaxed);
            state.total.store(total, Relaxed);
            state.stage.store(stage as u8, Relaxed);
            state.stages.fetch_add(1, Relaxed);
        }
    }

    /// Reports that more is done.
    pub fn advance(&self, done: u64) {
        if let Some(state) = &self.0 {
            state.done.fetch_add(done, Relaxed);
        }
    }

    /// Reports the cost of a plan that was found, if it is the best one since the search was begun.
    pub fn found(&self, cost: f64) {
        let Some(state) = &self.0 else { return };
        let best = f64::from_bits(state.best.load(Relaxed));
        if best.is_nan() || cost < best {
            state.best.store(cost.to_bits(), Relaxed);
        }
    }

    /// Reports the largest value that a search for a maximum has found, and an upper bound.
    pub(crate) fn between(&self, best: f64, bound: f64) {
        let Some(state) = &self.0 else { return };
        state.between[0].store(best.to_bits(), Relaxed);
        state.between[1].store(bound.to_bits(), Relaxed);
    }

    /// Forgets the plans of another question.
    pub fn forget(&self) {
        if let Some(state) = &self.0 {
            state.best.store(f64::NAN.to_bits(), Relaxed);
        }
    }
}

impl State {
    fn is_stopped(&self) -> bool {
        let is_patient = self.patience.load(Relaxed) == u64::MAX || self.wait();
        self.is_stopped.load(Relaxed) || !is_patient
    }

    /// Whether it may go on once more.
    fn wait(&self) -> bool {
        let less = |left: u64| left.checked_sub(1);
        self.patience.fetch_update(Relaxed, Relaxed, less).is_ok()
    }
}

impl Progress {
    /// The current stage.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// How many stages have begun, to tell a stage from an earlier one of the same name.
    pub fn stages(&self) -> u64 {
        self.stages
    }

    /// How much of the stage is done.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// All that has to be done in the stage; zero if that is not known.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The cost of the best plan so far, in products.
    pub fn best(&self) -> Option<f64> {
        self.best
    }

    /// The largest logarithm of a probability that a search for a maximum has found so far, and an
    /// upper bound.
    pub fn between(&self) -> Option<[f64; 2]> {
        self.between
    }

    /// The share of the stage that is done, if it is known.
    pub fn share(&self) -> Option<f64> {
        (self.total > 0).then(|| (self.done as f64 / self.total as f64).min(1.0))
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Stage::Waiting => "waiting",
            Stage::Simplifying => "simplifying",
            Stage::Searching => "searching for a plan",
            Stage::Compiling => "compiling",
            Stage::Running => "running",
        })
    }
}

/// `before anything began`, `while running, 12 % done`.
impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.stage, self.share(), self.best) {
            (Stage::Waiting, ..) => f.write_str("before anything began"),
            (Stage::Searching, _, Some(best)) => {
                write!(
                    f,
                    "while searching for a plan; the best so far takes {best:.1e} products"
                )
            }
            (stage, Some(share), _) => write!(f, "while {stage}, {:.0} % done", 100.0 * share),
            (stage, None, _) => write!(f, "while {stage}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_control_nothing_is_stopped_or_known() {
        let none = Control::default();
        none.stop();
        none.begin(Stage::Running, 10);
        assert!(none.check().is_ok() && none.progress().is_none());
    }

    #[test]
    fn clones_are_handles_on_the_same_work() {
        let control = Control::new();
        let work = control.clone();
        work.begin(Stage::Running, 200);
        work.advance(50);
        let progress = control.progress().unwrap();
        assert_eq!(
            (progress.stage, progress.share()),
            (Stage::Running, Some(0.25))
        );
        assert!(work.check().is_ok());
        control.stop();
        assert_eq!(
            work.check().unwrap_err().message(),
            "stopped while running, 25 % done"
        );
    }

    #[test]
    fn patience_is_counted_in_questions() {
        let control = Control::with_patience(2);
        let asked: Vec<bool> = (0..4).map(|_| control.is_stopped()).collect();
        assert_eq!(asked, [false, false, true, true]);
    }

    #[test]
    fn the_best_plan_is_part_of_the_message() {
        let control = Control::new();
        control.begin(Stage::Searching, 0);
        assert_eq!(
            control.interrupted().message(),
            "stopped while searching for a plan"
        );
        control.found(2.34e12);
        control.found(5e12);
        assert_eq!(
            control.interrupted().message(),
            "stopped while searching for a plan; the best so far takes 2.3e12 products"
        );
    }
}
