//! `sumout bench`: how fast a circuit runs here.

use std::io::Write;
use std::time::Instant;

use serde_json::json;
use sumout::internals::Machine;
use sumout::tensor::TableId;
use sumout::{Batch, Circuit, Column, EvalOptions, Evaluator, Evidence, Network, Precision, Query};

use crate::args::{Asking, Computing, Reading, Using};
use crate::output::{Failure, Outcome, Result};
use crate::patience::{Limiting, patiently};
use crate::text::{duration, grouped};

const EXAMPLES: &str = "\
Examples:
  sumout bench rect:10 label --given 'pixel_*'
  sumout bench rect:10 label --given 'pixel_*' --level functional --batch 1
  sumout bench alarm.bif --given HRBP HREKG --precision f64";

/// Measure how fast a circuit runs here, forward and backward, against the machine's peaks.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    asking: Asking,

    /// Batch size.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,

    /// Measure the forward pass alone.
    #[arg(long)]
    forward_only: bool,

    #[command(flatten)]
    using: Using,

    #[command(flatten)]
    computing: Computing,

    #[command(flatten)]
    reading: Reading,
}

/// The measurements take about this many seconds at first.
const SECONDS: f64 = 0.5;

/// The median of this many measurements counts.
const REPEATS: usize = 5;

/// Of fewer, if all of them would take more seconds than this.
const LONG: f64 = 10.0;

/// If noise makes a whole step look faster than its half, both are measured for twice as long, at
/// most this many times.
const PATIENCE: u32 = 4;

pub fn run(args: &Args, json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let net = args.reading.network(&args.asking.model)?;
    let query = args.asking.query();
    let plan = Limiting::default()
        .watch(|control| net.plan(&query, &args.computing.options().with_control(control)))?;
    let circuit = plan.circuit();
    let batch = sampled(&net, &circuit, &query, args)?;
    let running = args.using.running(args.computing.options().memory());
    let forward = circuit.evaluator(&running)?;
    let rows = batch.len() as f64;
    let (seconds, backward) = patiently("measuring", || {
        Ok::<_, Failure>(match args.forward_only {
            true => (median(SECONDS, || forward.run(&batch).map(drop))?, None),
            false => measured(&circuit, &forward, &batch, &running)?,
        })
    })?;
    let report = plan.report();
    let found = Found {
        seconds: seconds / rows,
        has_output: circuit.targets().len() == 1,
        backward: backward.map(|time| time / rows),
        evaluator: (forward.threads(), forward.block(batch.len())),
        multiply_adds: report.chosen().multiply_adds(),
        entries: report.chosen().entries(),
        precision: forward.precision(),
        machine: Machine::measure(forward.precision(), args.using.threads)?,
    };
    match json {
        true => writeln!(out, "{}", found.json(args, report.level().name()))?,
        false => found.print(args, report.level().name(), out)?,
    }
    Ok(Outcome::Done)
}

/// Evidence that the network itself generates, on all inputs.
fn sampled(net: &Network, circuit: &Circuit, query: &Query, args: &Args) -> Result<Batch> {
    let rows = args.batch as usize;
    let options = args.computing.options();
    // A testing network generates nothing; what it is without evidence does.
    let ordinary = net.selected(&Evidence::new(), &options)?;
    let data = ordinary
        .as_ref()
        .unwrap_or(net)
        .sample(rows, options.seed())?;
    let mut batch = Batch::new(rows);
    for input in query.inputs(net)? {
        let column = data
            .columns()
            .iter()
            .position(|&v| v == input)
            .unwrap_or_default();
        let values = data
            .rows()
            .map(|row| row[column].map_or(-1, |value| value as i32))
            .collect();
        batch.insert(circuit, input, Column::Values(values))?;
    }
    Ok(batch)
}

/// Seconds of an answer, and those that the backward pass of a training step adds: a step is
/// forward, and backward with respect to all tables. None if noise hides what it adds, however long
/// it is measured.
///
/// Answers of a circuit without a target take a backward pass of their own: what a step adds to its
/// forward pass counts.
fn measured(
    circuit: &Circuit,
    forward: &Evaluator,
    batch: &Batch,
    running: &EvalOptions,
) -> Result<(f64, Option<f64>)> {
    let tables: Vec<TableId> = circuit
        .graph()
        .ops()
        .filter_map(|(_, op)| op.table())
        .collect();
    let (half, step) = (
        circuit.differentiator(&[], &[], running)?,
        circuit.differentiator(&tables, &[], running)?,
    );
    let has_target = circuit.targets().len() == 1;
    let mut answer = 0.0;
    for seconds in (0..PATIENCE).map(|again| SECONDS * f64::from(1 << again)) {
        answer = median(seconds, || forward.run(batch).map(drop))?;
        let once = match has_target {
            true => answer,
            false => median(seconds, || half.run(batch, &cross_entropy).map(drop))?,
        };
        let both = median(seconds, || step.run(batch, &cross_entropy).map(drop))?;
        if both > once {
            return Ok((answer, Some(both - once)));
        }
    }
    Ok((answer, None))
}

/// The derivative of the cross-entropy, if the first value of the target is the right one.
fn cross_entropy(_: usize, posterior: &[f64], to: &mut [f64]) {
    to.copy_from_slice(posterior);
    to[0] -= 1.0;
    if let [only] = to {
        *only = -1.0; // without a target it is the likelihood that is trained
    }
}

/// Seconds for some work: the median of several measurements, which take `seconds` together.
fn median(seconds: f64, mut work: impl FnMut() -> sumout::Result<()>) -> Result<f64> {
    let first = Instant::now();
    work()?;
    let repeats = (LONG / first.elapsed().as_secs_f64()).clamp(1.0, REPEATS as f64) as usize;
    let mut times = vec![];
    for _ in 0..repeats {
        let (start, mut runs) = (Instant::now(), 0.0);
        while runs == 0.0 || start.elapsed().as_secs_f64() < seconds / REPEATS as f64 {
            work()?;
            runs += 1.0;
        }
        times.push(start.elapsed().as_secs_f64() / runs);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[repeats / 2])
}

/// The measurements.
struct Found {
    seconds: f64,
    /// Whether answers are the circuit's output, and no derivatives.
    has_output: bool,
    /// None if it is lost in noise.
    backward: Option<f64>,
    evaluator: (usize, usize),
    multiply_adds: f64,
    entries: f64,
    precision: Precision,
    machine: Machine,
}

impl Found {
    fn flops(&self) -> f64 {
        2.0 * self.multiply_adds / self.seconds
    }

    /// Every entry is written once and read once.
    fn bytes(&self) -> f64 {
        2.0 * self.entries * self.precision.bytes() as f64 / self.seconds
    }

    fn json(&self, args: &Args, level: &str) -> serde_json::Value {
        json!({
            "seconds_per_example": self.seconds,
            "backward_seconds_per_example": self.backward,
            "threads": self.evaluator.0,
            "batch": args.batch,
            "block": self.evaluator.1,
            "entries": self.entries as u64,
            "multiply_adds": self.multiply_adds as u64,
            "level": level,
            "precision": self.precision.name(),
            "instructions": self.machine.instructions,
            "flops": self.flops(),
            "peak_flops": self.machine.flops,
            "bytes_per_second": self.bytes(),
            "peak_bytes_per_second": self.machine.bytes,
        })
    }

    fn print(&self, args: &Args, level: &str, out: &mut dyn Write) -> Result<()> {
        let share = |x: f64, peak: f64| {
            format!(
                "{:.1} of {:.1} ({:.0} %)",
                x / 1e9,
                peak / 1e9,
                100.0 * x / peak
            )
        };
        let (threads, block) = self.evaluator;
        let precision = self.precision.name();
        writeln!(out, "level             {level}")?;
        writeln!(out, "entries           {}", grouped(self.entries as usize))?;
        writeln!(
            out,
            "multiply-adds     {}",
            grouped(self.multiply_adds as usize)
        )?;
        writeln!(
            out,
            "batch             {} examples, {block} at a time on {threads} threads",
            args.batch
        )?;
        writeln!(
            out,
            "numbers           {precision}, {} instructions",
            self.machine.instructions
        )?;
        match self.has_output {
            true => writeln!(
                out,
                "forward           {} an example",
                duration(self.seconds)
            )?,
            false => writeln!(
                out,
                "both passes       {} an example",
                duration(self.seconds)
            )?,
        }
        if !args.forward_only {
            let backward = self.backward.map_or("hidden by noise".into(), |time| {
                duration(time) + " an example"
            });
            writeln!(out, "backward          {backward}, to all tables")?;
        }
        writeln!(
            out,
            "throughput        {} examples a second",
            grouped((1.0 / self.seconds).round() as usize)
        )?;
        writeln!(
            out,
            "GFLOP/s           {}",
            share(self.flops(), self.machine.flops)
        )?;
        writeln!(
            out,
            "GB/s              {}",
            share(self.bytes(), self.machine.bytes)
        )?;
        Ok(())
    }
}
