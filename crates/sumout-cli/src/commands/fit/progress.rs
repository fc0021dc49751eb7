//! How a fit goes, on a terminal: a bar with epochs, losses, and the time that is left at most.

use std::io::{IsTerminal, stderr};
use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use sumout::{Epoch, FitEvent};

use crate::output::talk;
use crate::patience::Lines;

const TRAINING: &str = "{bar:20} epoch {pos} of {len} at most, {msg}, {eta} left";

/// A bar on a terminal, and nothing elsewhere.
pub struct Bar {
    bar: ProgressBar,
    lines: Lines,
    resume: bool,
}

impl Bar {
    /// A bar that counts the seconds of compiling; a checkpoint that is there is mentioned.
    pub fn new(checkpoint: &Path, resume: bool) -> Self {
        match (resume, checkpoint.exists()) {
            (true, false) => talk("no checkpoint found; starting from scratch"),
            (false, true) => talk(&format!(
                "starting from scratch; `--resume` would continue from {}",
                checkpoint.display()
            )),
            _ => {}
        }
        let bar = if stderr().is_terminal() {
            ProgressBar::new_spinner().with_style(style("compiling … {elapsed}"))
        } else {
            ProgressBar::hidden()
        };
        bar.enable_steady_tick(Duration::from_secs(1));
        Bar {
            bar,
            lines: Lines::default(),
            resume,
        }
    }

    /// Shows an event.
    pub fn show(&mut self, event: &FitEvent<'_>) {
        match *event {
            FitEvent::Started {
                epochs_done,
                max_epochs,
                ..
            } => self.start(epochs_done, max_epochs),
            FitEvent::Epoch {
                epoch,
                epochs_done,
                max_epochs,
            } => {
                let text = || {
                    let words = message(epoch);
                    format!("epoch {epochs_done} of {max_epochs} at most, {words}")
                };
                self.lines.tell(text);
                self.bar.set_message(message(epoch));
                self.bar.set_position(epochs_done as u64);
            }
            _ => {}
        }
    }

    fn start(&self, epochs_done: usize, max_epochs: usize) {
        if self.resume && epochs_done > 0 {
            let told = format!("resuming after {epochs_done} epochs");
            self.bar.suspend(|| talk(&told));
        }
        self.bar.disable_steady_tick();
        self.bar.set_style(style(TRAINING));
        self.bar.set_length(max_epochs as u64);
        self.bar.set_position(epochs_done as u64);
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn message(epoch: &Epoch) -> String {
    let mut text = format!(
        "loss {:.4}, validation {:.4}",
        epoch.loss, epoch.validation_loss
    );
    if let Some(accuracy) = epoch.accuracy {
        text += &format!(", accuracy {:.1} %", 100.0 * accuracy);
    }
    if epoch.rate > 0.0 {
        text += &format!(", rate {:.4}", epoch.rate);
    }
    text
}
