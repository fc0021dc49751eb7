//! Learns the rectangles' model from few examples, and tells how it goes.

use std::time::Instant;

use serde_json::{Value, json};
use sumout::{Epoch, EvalOptions, FitOptions, Network, Options, Subject};
use sumout_paper::scenes::{self, Scenes};

use crate::output::Result;

/// So many images are learned from, and so many are looked at afterwards.
pub const EXAMPLES: usize = 100;
const TESTED: usize = 1000;

const MODEL: &str = "rect:10";

/// What was learned.
pub struct Lesson {
    parameters: usize,
    epochs: Vec<Epoch>,
    accuracy: f64,
    seconds: f64,
}

impl Lesson {
    /// Learns, and says so line by line.
    pub fn learn(tell: &mut dyn FnMut(&str) -> Result<()>) -> Result<Self> {
        let net = Network::read(MODEL)?;
        let given = net.matching("pixel_*")?.into_iter().collect();
        let subject = Subject {
            targets: vec![net.find("label")?],
            given,
            ..Subject::default()
        };
        let options = Options {
            effort: 0.1,
            ..Options::default()
        };
        let course = net.course(
            &subject,
            FitOptions::default(),
            &options,
            &EvalOptions::default(),
        )?;
        let parameters = course.params().len();
        tell(&format!(
            "  {parameters} numbers to learn; which pixels a rectangle covers is known. Several starts are tried:"
        ))?;
        let begun = Instant::now();
        let training = scenes::examples(
            &net,
            &Scenes::training(MODEL)?.examples(0)?.first(EXAMPLES)?,
        )?;
        let mut trainer = course.trainer_with(&training, 0)?;
        let mut epochs: Vec<Epoch> = vec![];
        while !trainer.is_done() {
            epochs.push(trainer.epoch()?.clone());
            if let Some(line) = line(&epochs, course.learning().look_ahead) {
                tell(&line)?;
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        let test = scenes::examples(&net, &Scenes::test(MODEL)?.examples(0)?.first(TESTED)?)?;
        let accuracy = course.measure(&trainer.learned(), &test)?.1.unwrap_or(0.0);
        tell(&format!(
            "\n  {TESTED} other images, twice as noisy: {:.1} % are recognised",
            100.0 * accuracy
        ))?;
        tell(&format!("  (learned in {seconds:.1} s)"))?;
        Ok(Lesson {
            parameters,
            epochs,
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

/// The width of a bar for all examples.
const BAR: f64 = 40.0;

/// What is said after an epoch: of each start when it is over, and then of ever fewer epochs.
fn line(epochs: &[Epoch], look_ahead: usize) -> Option<String> {
    let last = epochs.last()?;
    let accuracy = last.accuracy.unwrap_or(0.0);
    let bar = "█".repeat((accuracy * BAR).round() as usize);
    let numbers = format!(
        "loss {:7.3}  right {:3.0} %  {bar}",
        last.watched_loss,
        100.0 * accuracy
    );
    match last.start {
        Some(start) => {
            let count = epochs
                .iter()
                .filter(|epoch| epoch.start == Some(start))
                .count();
            (count == look_ahead).then(|| format!("  start {:<4} {numbers}", start + 1))
        }
        None => {
            let count = epochs.iter().filter(|epoch| epoch.start.is_none()).count();
            count
                .is_power_of_two()
                .then(|| format!("  epoch {count:<4} {numbers}"))
        }
    }
}
