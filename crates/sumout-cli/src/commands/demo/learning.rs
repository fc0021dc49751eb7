//! Learns the rectangles' model from few examples, and reports progress.

use std::time::Instant;

use serde_json::{Value, json};
use sumout::learn::Trained;
use sumout::{
    Epoch, Error, ErrorKind, EvalOptions, Examples, FitEvent, Network, Options, Task, Training,
    TrainingOptions,
};
use sumout_paper::scenes::{self, Scenes};

use crate::output::Result;

/// The number of images to learn from, and of images to test with.
pub const EXAMPLES: usize = 100;
const TESTED: usize = 1000;

const MODEL: &str = "rect:10";

/// The result of learning.
pub struct Lesson {
    parameters: usize,
    epochs: Vec<Epoch>,
    accuracy: f64,
    seconds: f64,
}

impl Lesson {
    /// Learns, and reports progress line by line.
    pub fn learn(tell: &mut dyn FnMut(&str) -> Result<()>) -> Result<Self> {
        let net = Network::read(MODEL)?;
        let given = net.matching("pixel_*")?.into_iter().collect();
        let task = Task::new(&[net.find("label")?], given);
        let compile = Options::default().with_effort(0.1);
        let how = TrainingOptions::default();
        let training = Training::new(&net, &task, how, &compile, &EvalOptions::default())?;
        let parameters = training.params().len();
        tell(&format!(
            "  {parameters} numbers to learn; which pixels a rectangle covers is known. Several starts are tried:"
        ))?;
        let begun = Instant::now();
        let images = Scenes::training(MODEL)?.examples(0)?.first(EXAMPLES)?;
        let trained = train(&training, &scenes::examples(&net, &images)?, tell)?;
        let seconds = begun.elapsed().as_secs_f64();
        let images = Scenes::test(MODEL)?.examples(0)?.first(TESTED)?;
        let (_, accuracy) = training.measure(&trained.params, &scenes::examples(&net, &images)?)?;
        let accuracy = accuracy.unwrap_or(0.0);
        tell(&format!(
            "\n  {TESTED} other images, twice as noisy: {:.1} % are recognised",
            100.0 * accuracy
        ))?;
        tell(&format!("  (learned in {seconds:.1} s)"))?;
        Ok(Lesson {
            parameters,
            epochs: trained.history,
            accuracy,
            seconds,
        })
    }

    pub fn to_json(&self) -> Value {
        json!({
            "model": MODEL,
            "examples": EXAMPLES,
            "parameters": self.parameters,
            "epochs": self.epochs,
            "tested": TESTED,
            "accuracy": self.accuracy,
            "seconds": self.seconds,
        })
    }
}

/// Trains, and reports some epochs. Training ends if the output is closed.
fn train(
    training: &Training,
    examples: &Examples,
    tell: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<Trained> {
    let (mut epochs, mut failed) = (vec![], None);
    let trained = training.train(examples, 0, &mut |event| {
        if let FitEvent::Epoch { epoch, .. } = event {
            epochs.push((*epoch).clone());
            let line = line(&epochs, training.options().trial_epochs);
            failed = line.and_then(|line| tell(&line).err());
        }
        if failed.is_some() {
            return Err(Error::new(ErrorKind::Io, "cancelled"));
        }
        Ok(())
    });
    failed.map_or(Ok(trained), Err)?.map_err(Into::into)
}

/// The width of a bar for all examples.
const BAR: f64 = 40.0;

/// The report after an epoch: each start when it ends, and then ever fewer epochs.
fn line(epochs: &[Epoch], trial_epochs: usize) -> Option<String> {
    let last = epochs.last()?;
    let accuracy = last.accuracy.unwrap_or(0.0);
    let bar = "█".repeat((accuracy * BAR).round() as usize);
    let numbers = format!(
        "loss {:7.3}  right {:3.0} %  {bar}",
        last.validation_loss,
        100.0 * accuracy
    );
    match last.start {
        Some(start) => {
            let count = epochs
                .iter()
                .filter(|epoch| epoch.start == Some(start))
                .count();
            (count == trial_epochs).then(|| format!("  start {:<4} {numbers}", start + 1))
        }
        None => {
            let count = epochs.iter().filter(|epoch| epoch.start.is_none()).count();
            count
                .is_power_of_two()
                .then(|| format!("  epoch {count:<4} {numbers}"))
        }
    }
}
