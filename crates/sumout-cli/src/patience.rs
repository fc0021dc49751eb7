//! Tells who waits what is being done, and stops when a time limit is over.
//!
//! On a terminal a line on stderr changes until the work is done. Elsewhere `--progress` prints
//! lines, a few seconds apart. Work that is over within two seconds is not mentioned.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::output::{Failure, Result};
use sumout::{Control, Error, ErrorKind, Progress, Remedy, Stage};

/// So many products a second are predicted before any were measured.
const PRODUCTS_PER_SECOND: f64 = 7e8;

/// Work is mentioned after this time.
const SILENCE: Duration = Duration::from_secs(2);

/// Runs that are predicted to take longer are mentioned at once.
const LONG_RUN: f64 = 3.0;

/// Who waits is told of changes after this time, on a terminal and elsewhere.
const BETWEEN: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(5)];

/// So often time limits are looked after.
const TICK: Duration = Duration::from_millis(50);

/// A prediction that is exceeded by more is mentioned.
const SLACK: f64 = 10.0;

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

/// Finds words for progress. It has no clock of its own.
struct Teller {
    what: &'static str,
    shown: Shown,
    /// The number of stages that had begun, and when the last of them did.
    stage: (u64, Duration),
    told: Option<Duration>,
    width: usize,
}

impl Teller {
    fn new(what: &'static str, shown: Shown) -> Self {
        Teller {
            what,
            shown,
            stage: (0, Duration::ZERO),
            told: None,
            width: 0,
        }
    }

    /// A text, if it is time for one.
    fn tell(&mut self, elapsed: Duration, progress: Progress) -> Option<String> {
        if progress.stages != self.stage.0 {
            self.stage = (progress.stages, elapsed);
        }
        let is_long =
            progress.stage == Stage::Running && predicted(progress.total as f64) > LONG_RUN;
        if self.shown == Shown::Nowhere || (elapsed < SILENCE && !is_long) {
            return None;
        }
        let between = BETWEEN[usize::from(self.shown == Shown::AsLines)];
        let is_new = self.told.is_some_and(|told| told < self.stage.1) && is_long;
        let is_due = self.told.is_none_or(|told| elapsed >= told + between);
        if !is_due && !is_new {
            return None;
        }
        self.told = Some(elapsed);
        Some(self.text(elapsed, progress))
    }

    fn text(&self, elapsed: Duration, progress: Progress) -> String {
        let seconds = elapsed.as_secs();
        let in_stage = (elapsed - self.stage.1).as_secs_f64();
        match (progress.stage, progress.share(), progress.best) {
            (Stage::Waiting, ..) => format!("{} … {seconds} s", self.what),
            (Stage::Searching, _, Some(best)) => {
                let run = About(predicted(best));
                format!("searching for a plan … {seconds} s; the best so far runs for {run}")
            }
            (Stage::Running, Some(share), _) => running(share, in_stage, progress),
            (stage, Some(share), _) => {
                format!("{stage}, {:.0} % done … {seconds} s", 100.0 * share)
            }
            (stage, ..) => format!("{stage} … {seconds} s"),
        }
    }

    fn write(&mut self, text: &str, out: &mut dyn Write) {
        let width = text.chars().count();
        let _ = match self.shown {
            Shown::InPlace => write!(out, "\r{text:0$}", self.width),
            _ => writeln!(out, "{text}"),
        };
        let _ = out.flush();
        self.width = self.width.max(width);
    }

    fn clear(&mut self, out: &mut dyn Write) {
        if self.shown == Shown::InPlace && self.width > 0 {
            let _ = write!(out, "\r{:1$}\r", "", self.width).and_then(|()| out.flush());
        }
    }

    /// The seconds of the last stage.
    fn in_stage(&self, seconds: f64) -> f64 {
        seconds - self.stage.1.as_secs_f64()
    }
}

/// The error of a time limit that is over, with what can help.
fn over(limit: f64, seconds: f64, in_stage: f64, control: &Control, stopped: &Error) -> Error {
    let message = format!("the time limit of {limit} s is over: {}", stopped.message());
    let error = Error::new(ErrorKind::Interrupted, message);
    let Some(progress) = control.progress() else {
        return error;
    };
    let (more, is_searching) = match (progress.stage, progress.best) {
        (Stage::Running, _) => (left(in_stage, progress), false),
        (_, Some(best)) => (predicted(best), true),
        (_, None) => (seconds, true),
    };
    let needed = 1.2 * (seconds + more);
    let error = match is_searching && more < limit {
        true => error.or("search shorter with `--effort 0.1`"),
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

/// `running, 37 % done, about 3 min left`.
fn running(share: f64, seconds: f64, progress: Progress) -> String {
    let (left, first) = (left(seconds, progress), predicted(progress.total as f64));
    let mut text = format!("running, {:.0} % done, {} left", 100.0 * share, About(left));
    if seconds > first + SLACK {
        text += &format!("; {} longer than predicted", About(seconds - first));
    }
    text
}

/// The seconds that some products take.
fn predicted(products: f64) -> f64 {
    products / PRODUCTS_PER_SECOND
}

/// The seconds that are left of a run: by the speed until now, and at first by the predicted one.
fn left(seconds: f64, progress: Progress) -> f64 {
    let done = progress.done as f64;
    let speed = (done + PRODUCTS_PER_SECOND) / (seconds + 1.0);
    (progress.total as f64 - done).max(0.0) / speed
}

/// A time, roughly.
struct About(f64);

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            s if s < 1.0 => f.write_str("less than a second"),
            s if s < 90.0 => write!(f, "about {s:.0} s"),
            s if s < 90.0 * 60.0 => write!(f, "about {:.0} min", s / 60.0),
            s if s < 36.0 * 3600.0 => write!(f, "about {:.0} h", s / 3600.0),
            s if s < 1000.0 * 86400.0 => write!(f, "about {:.0} days", s / 86400.0),
            _ => f.write_str("years"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(control: &Control, seconds: f64, teller: &mut Teller) -> Option<String> {
        teller.tell(
            Duration::from_secs_f64(seconds),
            control.progress().unwrap(),
        )
    }

    fn told(control: &Control, seconds: f64, teller: &mut Teller) -> String {
        at(control, seconds, teller).unwrap()
    }

    #[test]
    fn who_waits_is_told_after_two_seconds_and_then_now_and_then() {
        let (control, mut teller) = (Control::new(), Teller::new("looking", Shown::AsLines));
        let times = (0..100).map(|tenths| f64::from(tenths) / 10.0);
        let when: Vec<f64> = times
            .filter(|&t| at(&control, t, &mut teller).is_some())
            .collect();
        assert_eq!(when, [2.0, 7.0]);
        assert_eq!(told(&control, 20.0, &mut teller), "looking … 20 s");
        let mut nowhere = Teller::new("looking", Shown::Nowhere);
        assert_eq!(at(&control, 20.0, &mut nowhere), None);
    }

    #[test]
    fn each_stage_has_its_words() {
        let (control, mut teller) = (Control::new(), Teller::new("computing", Shown::AsLines));
        control.begin(Stage::Simplifying, 0);
        assert_eq!(told(&control, 2.0, &mut teller), "simplifying … 2 s");
        control.begin(Stage::Searching, 0);
        assert_eq!(
            told(&control, 8.0, &mut teller),
            "searching for a plan … 8 s"
        );
        control.found(60.0 * PRODUCTS_PER_SECOND);
        let text = told(&control, 15.0, &mut teller);
        assert_eq!(
            text,
            "searching for a plan … 15 s; the best so far runs for about 60 s"
        );
        control.begin(Stage::Compiling, 10);
        control.advance(4);
        assert_eq!(
            told(&control, 21.0, &mut teller),
            "compiling, 40 % done … 21 s"
        );
    }

    #[test]
    fn long_runs_are_predicted_at_once_and_then_measured() {
        let (control, mut teller) = (Control::new(), Teller::new("computing", Shown::AsLines));
        let second = PRODUCTS_PER_SECOND as u64;
        control.begin(Stage::Running, 40 * second);
        let text = told(&control, 0.1, &mut teller);
        assert_eq!(text, "running, 0 % done, about 40 s left");
        control.advance(10 * second);
        let text = told(&control, 40.1, &mut teller);
        assert_eq!(
            text,
            "running, 25 % done, about 112 s left".replace("112 s", "2 min")
        );
        let text = told(&control, 60.1, &mut teller);
        assert!(
            text.ends_with("; about 20 s longer than predicted"),
            "{text}"
        );
    }

    #[test]
    fn short_runs_are_not_mentioned() {
        let (control, mut teller) = (Control::new(), Teller::new("computing", Shown::InPlace));
        control.begin(Stage::Running, 1000);
        assert_eq!(at(&control, 0.1, &mut teller), None);
    }

    #[test]
    fn the_line_of_a_terminal_is_cleared() {
        let (mut teller, mut out) = (Teller::new("looking", Shown::InPlace), vec![]);
        teller.write("looking … 12 s", &mut out);
        teller.write("looking", &mut out);
        teller.clear(&mut out);
        let text = String::from_utf8(out).unwrap();
        let blank = " ".repeat(14);
        assert_eq!(text, format!("\rlooking … 12 s\rlooking       \r{blank}\r"));
    }

    #[test]
    fn a_limit_that_is_over_has_a_remedy_that_can_work() {
        let control = Control::new();
        let second = PRODUCTS_PER_SECOND as u64;
        control.begin(Stage::Running, 100 * second);
        control.advance(9 * second);
        let error = over(10.0, 10.0, 9.0, &control, &control.interrupted());
        assert_eq!(
            error.message(),
            "the time limit of 10 s is over: stopped while running, 9 % done"
        );
        assert_eq!(error.remedies(), [Remedy::MoreTime(130.0)]);
        control.begin(Stage::Searching, 0);
        control.found(1e30);
        let error = over(10.0, 10.0, 9.0, &control, &control.interrupted());
        assert_eq!(error.remedies(), [Remedy::MoreEvidence]);
    }

    #[test]
    fn work_without_news_gives_its_result() {
        let control = Control::new();
        let limit = Some(Duration::from_secs(3600));
        assert_eq!(
            watched("computing", &control, limit, Shown::InPlace, || 7).0,
            7
        );
    }
}
