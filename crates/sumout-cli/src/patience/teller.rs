//! Words for progress, and when it is time for them.

use std::fmt;
use std::io::Write;
use std::time::Duration;

use sumout::{Progress, Stage};

use super::{BETWEEN, SILENCE, Shown};

/// The speed that is predicted before any is measured.
pub const PRODUCTS_PER_SECOND: f64 = 7e8;

/// Runs that are predicted to take longer are mentioned at once.
const LONG_RUN: f64 = 3.0;

/// A prediction that is exceeded by more is mentioned.
const SLACK: f64 = 10.0;

/// Finds words for progress. It has no clock of its own.
pub struct Teller {
    what: &'static str,
    shown: Shown,
    /// The number of stages that had begun, and when the last of them did.
    stage: (u64, Duration),
    told: Option<Duration>,
    width: usize,
}

impl Teller {
    pub fn new(what: &'static str, shown: Shown) -> Self {
        Teller {
            what,
            shown,
            stage: (0, Duration::ZERO),
            told: None,
            width: 0,
        }
    }

    /// A text, if it is time for one.
    pub fn tell(&mut self, elapsed: Duration, progress: Progress) -> Option<String> {
        if progress.stages() != self.stage.0 {
            self.stage = (progress.stages(), elapsed);
        }
        let is_long =
            progress.stage() == Stage::Running && predicted(progress.total() as f64) > LONG_RUN;
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
        if let (Stage::Running, Some([best, bound])) = (progress.stage(), progress.between()) {
            return format!("searching … {seconds} s; ln P is between {best:.4} and {bound:.4}");
        }
        match (progress.stage(), progress.share(), progress.best()) {
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

    pub fn write(&mut self, text: &str, out: &mut dyn Write) {
        let width = text.chars().count();
        let _ = match self.shown {
            Shown::InPlace => write!(out, "\r{text:0$}", self.width),
            _ => writeln!(out, "{text}"),
        };
        let _ = out.flush();
        self.width = self.width.max(width);
    }

    pub fn clear(&mut self, out: &mut dyn Write) {
        if self.shown == Shown::InPlace && self.width > 0 {
            let _ = write!(out, "\r{:1$}\r", "", self.width).and_then(|()| out.flush());
        }
    }

    /// The seconds of the last stage.
    pub fn in_stage(&self, seconds: f64) -> f64 {
        seconds - self.stage.1.as_secs_f64()
    }
}

/// `running, 37 % done, about 3 min left`.
fn running(share: f64, seconds: f64, progress: Progress) -> String {
    let (left, first) = (left(seconds, progress), predicted(progress.total() as f64));
    let mut text = format!("running, {:.0} % done, {} left", 100.0 * share, About(left));
    if seconds > first + SLACK {
        text += &format!("; {} longer than predicted", About(seconds - first));
    }
    text
}

/// The seconds that some products take.
pub fn predicted(products: f64) -> f64 {
    products / PRODUCTS_PER_SECOND
}

/// The seconds that are left of a run: by the speed until now, and at first by the predicted one.
pub fn left(seconds: f64, progress: Progress) -> f64 {
    let done = progress.done() as f64;
    let speed = (done + PRODUCTS_PER_SECOND) / (seconds + 1.0);
    (progress.total() as f64 - done).max(0.0) / speed
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
