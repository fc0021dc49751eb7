//! Tables 2 and 4: the accuracy of trained circuits by number of examples.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::time::Instant;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sumout::{EvalOptions, Network, Options, Task, Training, TrainingOptions};

use super::Work;
use super::mean::{self, mean};
use crate::Settings;
use crate::grid::{Grid, Table, key, ours, paper};
use crate::printed::{Accuracy, EXAMPLES, Mean, TABLE_2, TABLE_4};
use crate::scenes::{self, Noise, Scenes};

/// The examples that each run is tested with.
const TESTED: usize = 1000;

/// The runs that the paper's numbers are means of.
const PRINTED: usize = 25;

pub fn rectangles(work: &Work<'_>) -> sumout::Result<Table> {
    let title = "rectangles; accuracy in per cent by number of training examples";
    compute(
        title,
        &TABLE_2,
        &Asked {
            target: "label",
            inputs: "pixel_*",
        },
        work,
    )
}

pub fn digits(work: &Work<'_>) -> sumout::Result<Table> {
    let title = "digits; accuracy in per cent by number of training examples";
    compute(
        title,
        &TABLE_4,
        &Asked {
            target: "d",
            inputs: "p_*",
        },
        work,
    )
}

/// The target and the inputs.
struct Asked {
    target: &'static str,
    inputs: &'static str,
}

/// A row's model, and how it is learned.
struct Plan {
    printed: &'static Accuracy,
    preset: &'static str,
    learning: TrainingOptions,
    net: Network,
    training: OnceLock<Training>,
}

fn compute(
    title: &str,
    printed: &'static [Accuracy],
    asked: &Asked,
    work: &Work<'_>,
) -> sumout::Result<Table> {
    let settings = work.settings;
    let mut plans = vec![];
    for printed in &printed[..if settings.trainable { 2 } else { 1 }] {
        for (preset, learning) in [
            ("paper", TrainingOptions::paper()),
            ("default", TrainingOptions::default()),
        ] {
            let net = Network::read(printed.model)?;
            let name = format!("{}/{preset}", printed.model);
            plans.push((
                name,
                Plan {
                    printed,
                    preset,
                    learning,
                    net,
                    training: OnceLock::new(),
                },
            ));
        }
    }
    let plans = work.rows(plans);
    work.expect(plans.len() * settings.sizes().len() * settings.runs());
    let (mut rows, mut machines) = (vec![], BTreeSet::new());
    for (name, plan) in &plans {
        rows.extend(Row::new(name, plan, asked, work, &mut machines)?);
    }
    let mut table = work.table(title, rows.iter().map(Row::to_json).collect(), machines);
    table.grids = vec![grid(&rows)];
    table.notes = vec![NOTE.to_owned()];
    if settings.as_printed {
        table
            .notes
            .push("Rectangles have the noise of the paper's text.".into());
    }
    Ok(table)
}

const NOTE: &str = "Printed: the paper's numbers, means of 25 runs; ±: the standard deviation of runs, not the error of their mean; a single run has none. \
    Apart: by how many standard errors, of both means together, ours is above the paper's. Each run has training examples, a test set of 1,000 examples and a seed of its own. Seconds: one run, one thread. \
    The preset `paper` learns as the paper does, `default` as `sumout fit` does.";

impl Plan {
    /// The network, compiled to be trained, when it is needed first.
    fn course(&self, asked: &Asked, settings: &Settings) -> sumout::Result<&Training> {
        if let Some(training) = self.training.get() {
            return Ok(training);
        }
        let net = &self.net;
        let given = net.matching(asked.inputs)?.into_iter().collect();
        let task = Task::new(&[net.find(asked.target)?], given);
        let options = Options::default()
            .with_seed(settings.seed)
            .with_effort(settings.effort());
        let running = EvalOptions::default().with_threads(1);
        let training = Training::new(net, &task, self.learning.clone(), &options, &running)?;
        Ok(self.training.get_or_init(|| training))
    }
}

/// The accuracies of a preset.
struct Row<'a> {
    name: &'a str,
    printed: &'static Accuracy,
    preset: &'static str,
    parameters: usize,
    /// For each number of examples.
    found: Vec<Found>,
}

struct Found {
    examples: usize,
    runs: usize,
    accuracy: Mean,
    seconds: f64,
}

impl<'a> Row<'a> {
    /// None if there are no runs.
    fn new(
        name: &'a str,
        plan: &Plan,
        asked: &Asked,
        work: &Work<'_>,
        machines: &mut BTreeSet<String>,
    ) -> sumout::Result<Option<Self>> {
        let (settings, printed) = (work.settings, plan.printed);
        let (mut found, mut parameters) = (vec![], 0);
        for examples in settings.sizes() {
            let run = |run: usize| {
                let seed = settings.seed.wrapping_add((1000 * run + examples) as u64);
                let depends = json!({
                    "examples": examples, "run": run, "effort": settings.effort(), "as_printed": settings.as_printed,
                    "learning": plan.learning,
                });
                work.cell(name, depends, || {
                    Run::new(
                        plan.course(asked, settings)?,
                        plan,
                        examples,
                        seed,
                        settings.noise(),
                    )
                })
            };
            let cells: Vec<_> = (0..settings.runs())
                .into_par_iter()
                .map(run)
                .collect::<sumout::Result<_>>()?;
            machines.extend(cells.iter().flatten().map(|cell| cell.machine.clone()));
            let runs: Vec<Run> = cells
                .into_iter()
                .flatten()
                .map(|cell| cell.result)
                .collect();
            let Some(first) = runs.first() else { continue };
            parameters = first.parameters;
            let seconds = runs.iter().map(|run| run.seconds).sum::<f64>() / runs.len() as f64;
            let accuracy = mean(runs.iter().map(|run| 100.0 * run.accuracy));
            found.push(Found {
                examples,
                runs: runs.len(),
                accuracy,
                seconds,
            });
        }
        Ok((!found.is_empty()).then_some(Row {
            name,
            printed,
            preset: plan.preset,
            parameters,
            found,
        }))
    }

    /// The paper's accuracy for a number of examples.
    fn paper(&self, examples: usize) -> Mean {
        let at = EXAMPLES.iter().position(|&n| n == examples).unwrap_or(0);
        self.printed.accuracies[at]
    }

    /// By how many standard errors our mean is above the paper's, both of which have one.
    fn apart(&self, found: &Found) -> f64 {
        let paper = self.paper(found.examples);
        let squared = |mean: Mean, runs: usize| mean.stdev.powi(2) / runs as f64;
        let error = (squared(found.accuracy, found.runs) + squared(paper, PRINTED)).sqrt();
        (found.accuracy.mean - paper.mean) / error
    }

    fn to_json(&self) -> Value {
        let size = |found: &Found| {
            json!({
                "standard_errors_apart": self.apart(found),
                "examples": found.examples,
                "runs": found.runs,
                "mean": found.accuracy.mean,
                "stdev": found.accuracy.stdev,
                "seconds": found.seconds,
                "paper": mean::to_json(&self.paper(found.examples)),
            })
        };
        json!({
            "row": self.name,
            "model": self.printed.model,
            "preset": self.preset,
            "runs": self.found.iter().map(|found| found.runs).max(),
            "parameters": self.parameters,
            "accuracies": self.found.iter().map(size).collect::<Vec<_>>(),
            "paper": {"parameters": self.printed.parameters},
        })
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Run {
    parameters: usize,
    accuracy: f64,
    seconds: f64,
}

impl Run {
    fn new(
        training: &Training,
        plan: &Plan,
        count: usize,
        seed: u64,
        noise: Noise,
    ) -> sumout::Result<Self> {
        let model = plan.printed.model.split(',').next().unwrap_or_default();
        let examples = scenes::examples(
            &plan.net,
            &Scenes {
                noise,
                ..Scenes::training(model)?
            }
            .examples(seed)?
            .first(count)?,
        )?;
        let test = scenes::examples(
            &plan.net,
            &Scenes {
                noise,
                ..Scenes::test(model)?
            }
            .examples(seed)?
            .first(TESTED)?,
        )?;
        let start = Instant::now();
        let trained = training.train(&examples, seed, &mut |_| Ok(()))?;
        let seconds = start.elapsed().as_secs_f64();
        let (_, accuracy) = training.measure(&trained.params, &test)?;
        Ok(Run {
            parameters: training.params().len(),
            accuracy: accuracy.unwrap_or(f64::NAN),
            seconds,
        })
    }
}

/// A number of standard errors, with its sign; nothing if there is a single run.
fn signed(apart: f64) -> String {
    if apart.is_nan() {
        String::new()
    } else {
        format!("{apart:+.1}")
    }
}

fn grid(rows: &[Row<'_>]) -> Grid {
    let mut grid = Grid::new([
        key("model"),
        key("preset"),
        ours("parameters"),
        paper("parameters"),
        ours("runs"),
        ours("examples"),
        ours("accuracy"),
        paper("accuracy"),
        ours("apart"),
        ours("seconds"),
    ]);
    for row in rows {
        for (index, found) in row.found.iter().enumerate() {
            let first = |text: String| if index == 0 { text } else { String::new() };
            grid.push([
                first(row.printed.model.to_owned()),
                first(row.preset.to_owned()),
                first(row.parameters.to_string()),
                first(row.printed.parameters.to_string()),
                found.runs.to_string(),
                found.examples.to_string(),
                mean::text(&found.accuracy, 2),
                mean::text(&row.paper(found.examples), 2),
                signed(row.apart(found)),
                format!("{:.2}", found.seconds),
            ]);
        }
    }
    grid
}
