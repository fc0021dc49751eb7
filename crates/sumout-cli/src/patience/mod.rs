//! Tells who waits what is being done, and stops when a time limit is over.
//!
//! On a terminal a line on stderr changes until the work is done. Elsewhere `--progress` prints
//! lines, a few seconds apart. Work that is over within two seconds is not mentioned.

mod teller;

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use sumout::{Control, Error, ErrorKind, Remedy, Stage};

use self::teller::{Teller, left, predicted};
use crate::output::{Failure, Result};

/// Work is mentioned after this time.
const SILENCE: Duration = Duration::from_secs(2);

/// The minimum time between two progress reports, on a terminal and elsewhere.
const BETWEEN: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(5)];

/// The time between two looks at a time limit.
const TICK: Duration = Duration::from_millis(50);

/// Nothing that takes longer is waited for.
const MAX_WAIT: f64 = 30.0 * 86400.0;

/// Whether `--progress` was given.
static PROGRESS: AtomicBool = AtomicBool::new(false);

/// Takes over whether `--progress` was given.
pub fn always_tell(always: bool) {
    PROGRESS.store(always, Relaxed);
}

/// Where the progress of work is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// As a line of a terminal that changes.
    InPlace,
    /// As lines, one after the other.
    AsLines,
    /// Nowhere.
    Nowhere,
}

impl Shown {
    /// Where it is shown now.
    pub fn now() -> Self {
        match (io::stderr().is_terminal(), PROGRESS.load(Relaxed)) {
            (true, _) => Shown::InPlace,
            (false, true) => Shown::AsLines,
            (false, false) => Shown::Nowhere,
        }
    }
}

/// How long work may take, as it was given.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Computing")]
pub struct Limiting {
    /// Stop after this many seconds, which makes results depend on the machine: a search ends with
    /// its best plan so far, anything else without an answer.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub time_limit: Option<f64>,
}

fn seconds(text: &str) -> std::result::Result<f64, String> {
    match text.parse() {
        Ok(x) if f64::is_finite(x) && x > 0.0 && x <= 1e9 => Ok(x),
        _ => Err("give a number of seconds, such as 60".into()),
    }
}

/// Does work that may take long, and that nothing is known of but its name.
pub fn patiently<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    let control = Control::new();
    watched(what, &control, None, Shown::now(), work).0
}

impl Limiting {
    /// Does work that may take long under a control, until the limit is over.
    pub fn watch<T>(&self, work: impl FnOnce(Control) -> sumout::Result<T>) -> sumout::Result<T> {
        let control = Control::new();
        let begun = Instant::now();
        let limit = self.time_limit.map(Duration::from_secs_f64);
        let run = || work(control.clone());
        let (result, teller) = watched("computing", &control, limit, Shown::now(), run);
        let is_over = |error: &Error| error.kind() == ErrorKind::Interrupted;
        match (result, self.time_limit) {
            (Err(error), Some(limit)) if is_over(&error) => {
                let seconds = begun.elapsed().as_secs_f64();
                Err(over(
                    limit,
                    seconds,
                    teller.in_stage(seconds),
                    &control,
                    &error,
                ))
            }
            (result, _) => result,
        }
    }
}

impl Limiting {
    /// Does work that shows its progress itself and can be resumed, until the limit is over.
    pub fn resumable<T>(&self, work: impl FnOnce(Control) -> Result<T>) -> Result<T> {
        let control = Control::new();
        let limit = self.time_limit.map(Duration::from_secs_f64);
        let run = || work(control.clone());
        let (result, _) = watched("computing", &control, limit, Shown::Nowhere, run);
        result.map_err(|failure| match (failure, self.time_limit) {
            (Failure::Error(error), Some(limit)) if error.kind() == ErrorKind::Interrupted => {
                let message = format!("the time limit of {limit} s is over");
                let error = Error::new(ErrorKind::Interrupted, message);
                Failure::Error(error.hint("continue with `--resume`"))
            }
            (failure, _) => failure,
        })
    }
}

/// Lines of work that shows a bar on a terminal, where `--progress` asks for lines instead.
#[derive(Debug)]
pub struct Lines {
    shown: Shown,
    next: Instant,
}

impl Default for Lines {
    fn default() -> Self {
        Lines {
            shown: Shown::now(),
            next: Instant::now() + SILENCE,
        }
    }
}

impl Lines {
    /// Prints a line, if it is time for one.
    pub fn tell(&mut self, text: impl FnOnce() -> String) {
        let now = Instant::now();
        if self.shown == Shown::AsLines && now >= self.next {
            let _ = writeln!(io::stderr(), "{}", text());
            self.next = now + BETWEEN[1];
        }
    }
}

/// Does work while another thread tells of it and looks after the limit.
fn watched<T>(
    what: &'static str,
    control: &Control,
    limit: Option<Duration>,
    shown: Shown,
    work: impl FnOnce() -> T,
) -> (T, Teller) {
    let teller = Teller::new(what, shown);
    if shown == Shown::Nowhere && limit.is_none() {
        return (work(), teller);
    }
    thread::scope(|scope| {
        let (working, finished) = mpsc::channel();
        let watch = Watch {
            control,
            limit,
            teller,
        };
        let watching = scope.spawn(move || watch.until(&finished, &mut io::stderr()));
        let result = work();
        drop(working); // a panic drops it too, so the watch always ends
        let teller = watching.join().unwrap_or_else(|_| Teller::new(what, shown));
        (result, teller)
    })
}

/// Looks after some work.
struct Watch<'c> {
    control: &'c Control,
    limit: Option<Duration>,
    teller: Teller,
}

impl Watch<'_> {
    /// Tells until the other end of the channel is gone, and stops the work after its limit.
    fn until(mut self, finished: &Receiver<()>, out: &mut dyn Write) -> Teller {
        let begun = Instant::now();
        while finished.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            let elapsed = begun.elapsed();
            let progress = self.control.progress();
            if let Some(text) = progress.and_then(|progress| self.teller.tell(elapsed, progress)) {
                self.teller.write(&text, out);
            }
            if self.limit.is_some_and(|limit| elapsed >= limit) {
                self.control.stop();
            }
        }
        self.teller.clear(out);
        self.teller
    }
}

/// The error of a time limit that is over, with what can help.
fn over(limit: f64, seconds: f64, in_stage: f64, control: &Control, stopped: &Error) -> Error {
    let message = format!("the time limit of {limit} s is over: {}", stopped.message());
    let error = Error::new(ErrorKind::Interrupted, message);
    let Some(progress) = control.progress() else {
        return error;
    };
    let (more, is_searching) = match (progress.stage(), progress.best()) {
        (Stage::Running, _) => (left(in_stage, progress), false),
        (_, Some(best)) => (predicted(best), true),
        (_, None) => (seconds, true),
    };
    let needed = 1.2 * (seconds + more);
    let error = match is_searching && more < limit {
        true => error.or("shorten the search with `--effort 0.1`"),
        false => error,
    };
    match needed < MAX_WAIT {
        true => error.or(Remedy::MoreTime(rounded(needed))),
        false => error.or(Remedy::MoreEvidence),
    }
}

/// Up to two digits.
fn rounded(seconds: f64) -> f64 {
    let unit = 10_f64.powf(seconds.max(1.0).log10().floor() - 1.0).max(1.0);
    (seconds / unit).ceil() * unit
}

#[cfg(test)]
mod tests;
