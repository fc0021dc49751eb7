//! Tables 2 and 4: how accurate circuits are that were trained with so many examples.

use std::time::Instant;

use indicatif::ProgressBar;
use rayon::prelude::*;
use serde_json::{Value, json};
use sumout::compile::paper::printed::{Accuracy, EXAMPLES, Mean, TABLE_2, TABLE_4};
use sumout::model::paper::scenes::Scenes;
use sumout::{Course, Examples, Learning, Network, Options, Running, Subject, VarId};

use super::{Args, Table};
use crate::text::{Align, table_text};

/// The examples that each run is tested with.
const TESTED: usize = 1000;

/// The runs that the paper's numbers are means of.
const PRINTED: usize = 25;

/// With `--quick` there are only these numbers of examples.
const QUICK: [usize; 3] = [25, 100, 1000];

pub fn rectangles(args: &Args, bar: &ProgressBar) -> sumout::Result<Table> {
    compute("rectangles; accuracy in per cent by number of training examples", &TABLE_2, "label", "pixel_*", args, bar)
}

pub fn digits(args: &Args, bar: &ProgressBar) -> sumout::Result<Table> {
    compute("digits; accuracy in per cent by number of training examples", &TABLE_4, "d", "p_*", args, bar)
}

fn compute(
    what: &str,
    printed: &[Accuracy],
    target: &str,
    inputs: &str,
    args: &Args,
    bar: &ProgressBar,
) -> sumout::Result<Table> {
    let printed = &printed[..if args.trainable { 2 } else { 1 }];
    let presets = [("paper", Learning::paper()), ("default", Learning::default())];
    bar.set_length((printed.len() * presets.len() * args.sizes().len() * args.runs()) as u64);
    let mut rows = vec![];
    for printed in printed {
        for (name, learning) in &presets {
            rows.push(Row::new(printed, name, learning, [target, inputs], args, bar)?);
        }
    }
    Ok(Table { rows: rows.iter().map(Row::to_json).collect(), text: format!("{what}\n\n{}{NOTES}", text(&rows, args)) })
}

const NOTES: &str = "
printed: the paper's numbers, means of 25 runs; ±: the standard deviation of runs, not the error of their mean.
apart: by how many standard errors, of both means together, ours is above the paper's.
Each run has training examples, a test set of 1,000 examples and a seed of its own. Seconds: one run, one thread.
";

impl Args {
    fn runs(&self) -> usize {
        self.runs.unwrap_or(if self.quick { 4 } else { 25 }) as usize
    }

    fn sizes(&self) -> Vec<usize> {
        let all = if self.quick { &QUICK[..] } else { &EXAMPLES };
        if self.examples.is_empty() { all.to_vec() } else { self.examples.clone() }
    }
}

/// A number of examples that the paper has, too.
pub fn size(text: &str) -> Result<usize, String> {
    let known = text.parse().ok().filter(|n| EXAMPLES.contains(n));
    known.ok_or_else(|| format!("the paper has {}", EXAMPLES.map(|n| n.to_string()).join(", ")))
}

/// The accuracies of a preset.
struct Row<'a> {
    printed: &'a Accuracy,
    preset: &'static str,
    parameters: usize,
    runs: usize,
    /// For each number of examples.
    found: Vec<Found>,
}

struct Found {
    examples: usize,
    accuracy: Mean,
    seconds: f64,
}

impl<'a> Row<'a> {
    fn new(
        printed: &'a Accuracy,
        preset: &'static str,
        learning: &Learning,
        [target, inputs]: [&str; 2],
        args: &Args,
        bar: &ProgressBar,
    ) -> sumout::Result<Self> {
        let net = Network::read(printed.model)?;
        let given = net.matching(inputs)?.into_iter().collect();
        let subject = Subject { targets: vec![net.find(target)?], given, ..Subject::default() };
        let options = Options { seed: args.seed, effort: args.effort(), ..Options::default() };
        let running = Running { threads: 1, ..Running::default() };
        let course = net.course(&subject, learning.clone(), &options, &running)?;
        let mut found = vec![];
        for examples in args.sizes() {
            let run = |run: usize| {
                let seed = args.seed.wrapping_add((1000 * run + examples) as u64);
                let result = Run::new(&course, &net, printed.model, examples, seed);
                bar.inc(1);
                result
            };
            let runs: Vec<Run> = (0..args.runs()).into_par_iter().map(run).collect::<sumout::Result<_>>()?;
            let seconds = runs.iter().map(|run| run.seconds).sum::<f64>() / runs.len() as f64;
            let accuracy = mean(&runs.iter().map(|run| 100.0 * run.accuracy).collect::<Vec<_>>());
            found.push(Found { examples, accuracy, seconds });
        }
        Ok(Row { printed, preset, parameters: course.params().len(), runs: args.runs(), found })
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
        let error = (squared(found.accuracy, self.runs) + squared(paper, PRINTED)).sqrt();
        (found.accuracy.mean - paper.mean) / error
    }

    fn to_json(&self) -> Value {
        let size = |found: &Found| {
            let Mean { mean, stdev } = self.paper(found.examples);
            json!({
                "standard_errors_apart": self.apart(found),
                "examples": found.examples,
                "mean": found.accuracy.mean,
                "stdev": found.accuracy.stdev,
                "seconds": found.seconds,
                "paper": {"mean": mean, "stdev": stdev},
            })
        };
        json!({
            "model": self.printed.model,
            "preset": self.preset,
            "runs": self.runs,
            "parameters": self.parameters,
            "accuracies": self.found.iter().map(size).collect::<Vec<_>>(),
            "paper": {"parameters": self.printed.parameters},
        })
    }
}

struct Run {
    accuracy: f64,
    seconds: f64,
}

impl Run {
    fn new(course: &Course, net: &Network, model: &str, count: usize, seed: u64) -> sumout::Result<Self> {
        let model = model.split(',').next().unwrap_or(model);
        let training = examples(net, Scenes::training(model)?, count, seed)?;
        let test = examples(net, Scenes::test(model)?, TESTED, seed)?;
        let start = Instant::now();
        let mut trainer = course.trainer_with(&training, seed)?;
        while !trainer.is_done() {
            trainer.epoch()?;
        }
        let seconds = start.elapsed().as_secs_f64();
        let (_, accuracy) = course.measure(&trainer.learned(), &test)?;
        Ok(Run { accuracy: accuracy.unwrap_or(f64::NAN), seconds })
    }
}

fn examples(net: &Network, scenes: Scenes, count: usize, seed: u64) -> sumout::Result<Examples> {
    let images = scenes.examples(seed)?.first(count)?;
    let columns: Vec<VarId> = images.columns(net)?;
    let mut examples = Examples::new(images.len());
    let rows: Vec<Vec<u32>> = (0..images.len()).map(|at| images.row(at)).collect();
    for (k, var) in columns.into_iter().enumerate() {
        let values = rows.iter().map(|row| row[k] as i32).collect();
        examples.insert(var, sumout::Column::Values(values));
    }
    Ok(examples)
}

fn mean(values: &[f64]) -> Mean {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    Mean { mean, stdev: (squares / (values.len() - 1) as f64).sqrt() }
}

fn text(rows: &[Row<'_>], args: &Args) -> String {
    let mut lines = vec![
        ["model", "preset", "parameters", "runs", "examples", "printed", "±", "ours", "±", "apart", "seconds"]
            .map(String::from),
    ];
    for row in rows {
        for (index, found) in row.found.iter().enumerate() {
            let printed = row.paper(found.examples);
            let numbers =
                [printed.mean, printed.stdev, found.accuracy.mean, found.accuracy.stdev].map(|x| format!("{x:.2}"));
            let [a, b, c, d] = numbers;
            let first = |text: String| if index == 0 { text } else { String::new() };
            let parameters = first(row.parameters.to_string());
            let heads = [first(row.printed.model.to_owned()), first(row.preset.to_owned()), parameters];
            let [model, preset, parameters] = heads;
            let seconds = format!("{:.2}", found.seconds);
            lines.push([
                model,
                preset,
                parameters,
                first(args.runs().to_string()),
                found.examples.to_string(),
                a,
                b,
                c,
                d,
                format!("{:+.1}", row.apart(found)),
                seconds,
            ]);
        }
    }
    let align = std::array::from_fn(|column| if column < 2 { Align::Left } else { Align::Right });
    table_text(align, &lines)
}
