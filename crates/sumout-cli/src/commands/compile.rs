//! `sumout compile`: what a query costs, and what makes it cheap.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;
use sumout::compile::plan::saved::{PlanStart, SavedPlan};
use sumout::files::save;
use sumout::{Compilation, Error, ErrorKind, Format, Network, Objective, Options, Query};

use crate::args::{Approximating, Asking, Computing, Reading};
use crate::causal::Intervening;
use crate::output::{Outcome, Result, talk};
use crate::patience::{Limiting, patiently};

const EXAMPLES: &str = "\
Examples:
  sumout compile asia lung --given xray dysp       P(lung | xray, dysp)
  sumout compile asia lung tub --given xray        both posteriors, by one backward pass
  sumout compile asia --joint lung,tub --given xray
  sumout compile rect:8 label --given 'pixel_*'    inputs by a pattern
  sumout compile rect:8 label --hard 'pixel_*'     no pixel is ever missing
  sumout compile asia lung --given xray -o lung.sumout
  sumout compile asia --mpe --given xray -o case.sumout
  sumout compile asia lung --do smoke -o do.sumout an intervention as an input
  sumout compile asia --level classical            all posteriors, without functions
  sumout compile asia lung --given xray --svg tree.svg --network-dot asia.dot

Targets come before `--given`.";

/// Compile a query into a circuit and report its size.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    asking: Asking,

    /// Compute the most probable explanation instead of posteriors.
    #[arg(long, conflicts_with_all = ["targets", "joint", "trainable", "near"])]
    mpe: bool,

    /// Write the circuit to a file, for `sumout eval`.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The quantity that the planner minimises.
    #[arg(long, default_value_t = Objective::default(), value_parser = objective_parser(), help_heading = "Computing")]
    objective: Objective,

    /// The variables whose tables are to be learned, so that plans do not rely on their numbers;
    /// `none` for no variable. The default follows the roles of the tables in the model.
    #[arg(long, value_name = "NAME", num_args = 1.., help_heading = "Inputs")]
    trainable: Option<Vec<String>>,

    #[command(flatten)]
    intervening: Intervening,

    #[command(flatten)]
    starting: Starting,

    #[command(flatten)]
    drawing: Drawing,

    #[command(flatten)]
    computing: Computing,

    #[command(flatten)]
    limiting: Limiting,

    #[command(flatten)]
    approximating: Approximating,

    #[command(flatten)]
    reading: Reading,
}

/// Where the search starts, and where its plan goes.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Plans")]
struct Starting {
    /// Write the plan to a file.
    #[arg(long, value_name = "FILE")]
    save_plan: Option<PathBuf>,

    /// Start from a saved plan; with `--effort 0`, use it unchanged.
    #[arg(long, value_name = "FILE", conflicts_with = "order")]
    plan: Option<PathBuf>,

    /// Start from an elimination order: names separated by commas, or a file with a name on each
    /// line.
    #[arg(long, value_name = "FILE|NAMES")]
    order: Option<String>,
}

/// Drawings.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Drawing")]
struct Drawing {
    /// Draw the plan's jointree; variables that functions allow to sum out sooner are red.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Draw the circuit's tensors and their dependencies.
    #[arg(long, value_name = "FILE")]
    graph_svg: Option<PathBuf>,

    /// Write the jointree for Graphviz.
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,

    /// Write the network for Graphviz: functions have a double border, the target and the inputs a
    /// colour.
    #[arg(long, value_name = "FILE")]
    network_dot: Option<PathBuf>,
}

pub fn run(args: &Args, json: bool, out: &mut dyn Write) -> Result<Outcome> {
    args.refuse_overwriting()?;
    let net = args.reading.network(&args.asking.model)?;
    let (net, regimes) = args
        .intervening
        .network_and_regimes(net, args.asking.texts())?;
    let start = args.starting.start(&net)?;
    let (plan, is_stopped) = args.limiting.watch(|control| {
        let options = args.options().with_control(control.clone());
        let plan = args.plan(&net, &regimes, start.as_ref(), &options)?;
        plan.report();
        Ok((plan, control.is_stopped()))
    })?;
    if is_stopped {
        talk(
            "the time limit ended the search: this is the best plan so far, and another run may find another",
        );
    }
    if args.starting.save_plan.is_some() && net.has_selections() {
        let error = Error::new(
            ErrorKind::Unsupported,
            "plans for testing networks are not saved",
        );
        return Err(error.hint("save the circuit instead, with `-o`").into());
    }
    write_to(args.starting.save_plan.as_deref(), || {
        plan.saved().to_json()
    })?;
    args.drawing.draw(&plan)?;
    if let Some(path) = &args.output {
        patiently("writing the circuit", || plan.circuit().save(path))?;
        talk(&format!("wrote {}", path.display()));
    }
    if json {
        let mut report = json!({"report": plan.report()});
        if is_stopped {
            report["stopped"] = true.into();
        }
        writeln!(out, "{report}")?;
    } else {
        write!(out, "{}", plan.report())?;
    }
    Ok(Outcome::Done)
}

impl Args {
    /// A circuit must not overwrite a network.
    fn refuse_overwriting(&self) -> Result<()> {
        let Some(path) = &self.output else {
            return Ok(());
        };
        let is_model = self
            .asking
            .model
            .canonicalize()
            .ok()
            .is_some_and(|m| path.canonicalize().ok() == Some(m));
        if !is_model && Format::of_path(path).is_none() {
            return Ok(());
        }
        let what = if is_model {
            "is the model"
        } else {
            "is the name of a network"
        };
        let error = Error::new(
            ErrorKind::Options,
            format!("`{}` {what}, and `-o` writes a circuit", path.display()),
        );
        Err(error
            .hint("give `-o` a name such as `query.sumout`; `sumout convert` writes networks")
            .into())
    }

    fn plan<'n>(
        &self,
        net: &'n Network,
        regimes: &[String],
        start: Option<&PlanStart>,
        options: &Options,
    ) -> sumout::Result<Compilation<'n>> {
        let query = self.query().hard(regimes);
        match start {
            None => net.plan(&query, options),
            Some(PlanStart::Plan(saved)) => net.plan_from(&query, options, saved),
            Some(PlanStart::Order(order)) => net.plan_in_order(&query, options, order),
        }
    }

    fn options(&self) -> Options {
        self.computing
            .options()
            .with_objective(self.objective)
            .with_near(self.approximating.near)
    }

    fn query(&self) -> Query {
        let query = if self.mpe {
            self.asking.inputs(Query::explain())
        } else {
            self.asking.query()
        };
        match self.trainable.as_deref() {
            None => query,
            Some([none]) if none == "none" => query.trainable([""; 0]),
            Some(names) => query.trainable(names),
        }
    }
}

impl Starting {
    fn start(&self, net: &Network) -> sumout::Result<Option<PlanStart>> {
        if let Some(path) = &self.plan {
            let text = read(path)?;
            return SavedPlan::parse(&path.display().to_string(), &text)
                .map(|saved| Some(PlanStart::Plan(saved)));
        }
        let Some(order) = &self.order else {
            return Ok(None);
        };
        let trimmed = |names: &mut dyn Iterator<Item = &str>| {
            names
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let path = Path::new(order);
        let is_file = path.is_file()
            || (order.contains(['.', '/', '\\'])
                && !order.contains(',')
                && net.find(order).is_err());
        let names = if is_file {
            trimmed(&mut read(path)?.lines())
        } else {
            trimmed(&mut order.split(','))
        };
        Ok(Some(PlanStart::Order(names)))
    }
}

fn read(path: &Path) -> sumout::Result<String> {
    fs::read_to_string(path)
        .map_err(|e| Error::io(format_args!("cannot read `{}`", path.display()), e))
}

/// Takes the objectives by their names.
fn objective_parser() -> impl TypedValueParser<Value = Objective> {
    PossibleValuesParser::new(Objective::names()).try_map(|name| name.parse::<Objective>())
}

impl Drawing {
    fn draw(&self, plan: &Compilation<'_>) -> Result<()> {
        write_to(self.svg.as_deref(), || plan.jointree().svg())?;
        write_to(self.graph_svg.as_deref(), || plan.graph_svg())?;
        write_to(self.dot.as_deref(), || plan.jointree().dot())?;
        write_to(self.network_dot.as_deref(), || plan.network_dot())
    }
}

fn write_to(path: Option<&Path>, text: impl FnOnce() -> String) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    save(path, |file| file.write_all(text().as_bytes()))?;
    talk(&format!("wrote {}", path.display()));
    Ok(())
}
