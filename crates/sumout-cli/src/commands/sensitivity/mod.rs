//! `sumout sensitivity`: how a probability depends on the numbers of the network.

mod tornado;

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use sumout::{Error, ErrorKind, Network, Sensitivity, VarId};

use crate::args::{Computing, Reading};
use crate::evidence::{Given, settings, talk_of_impossible};
use crate::output::{Outcome, Result, talk};
use crate::patience::Limiting;
use crate::text::{Align, counted, probability, significant, table};

const EXAMPLES: &str = "\
Examples:
  sumout sensitivity asia lung=yes --given xray=yes                  which numbers matter most?
  sumout sensitivity asia lung=yes --given xray=yes --at-most 0.4    which change is enough?
  sumout sensitivity asia lung=yes --given xray=yes --svg tornado.svg

One number of a row varies from 0 to 1, and the others of the row in proportion. Numbers that are 0 or 1 stay.";

/// Lines of text if nobody asks for a number of them.
const LINES: usize = 20;

/// How a probability depends on each number of the CPTs.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The network: a file, `-` for standard input, or `asia`.
    model: PathBuf,

    /// The variable and value whose probability it is.
    #[arg(value_name = "X=V")]
    target: String,

    /// List the single changes that make the probability at most P, the smallest first.
    #[arg(long, value_name = "P", value_parser = share, conflicts_with = "at_least")]
    at_most: Option<f64>,

    /// List the single changes that make the probability at least P, the smallest first.
    #[arg(long, value_name = "P", value_parser = share)]
    at_least: Option<f64>,

    /// Print the first N numbers; 20 by default, with `--json` all.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,

    /// Draw the ranges of the numbers that are printed, as a tornado plot.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    #[command(flatten)]
    given: Given,

    #[command(flatten)]
    computing: Computing,

    #[command(flatten)]
    limiting: Limiting,

    #[command(flatten)]
    reading: Reading,
}

fn share(text: &str) -> std::result::Result<f64, String> {
    match text.parse() {
        Ok(x) if (0.0..=1.0).contains(&x) => Ok(x),
        _ => Err("give a probability, such as 0.2".into()),
    }
}

pub fn run(args: &Args, as_json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let net = args.reading.network(&args.model)?;
    let (target, value) = one_target(&net, &args.target)?;
    let evidence = args.given.evidence(&net)?;
    let found = args.limiting.watch(|control| {
        let options = args.computing.options().with_control(control);
        net.sensitivity(target, value, &evidence, &options)
    })?;
    let Some(found) = found else {
        match as_json {
            true => writeln!(out, "{}", json!({"impossible": true}))?,
            false => talk_of_impossible(&net, &evidence, &args.computing.options()),
        }
        return Ok(Outcome::Impossible);
    };
    let listing = Listing::new(args, &net, &found, as_json);
    if let Some(path) = &args.svg {
        let drawn = listing.tornado(&args.target);
        sumout::files::save(path, |file| file.write_all(drawn.as_bytes()))?;
    }
    match as_json {
        true => writeln!(out, "{}", listing.json(&args.target))?,
        false => listing.print(&args.target, out)?,
    }
    Ok(Outcome::Done)
}

fn one_target(net: &Network, text: &String) -> Result<(VarId, usize)> {
    if let Ok(var) = net.find(text) {
        let (name, values) = (text, &net.variable(var).values);
        let error = Error::new(ErrorKind::Options, format!("`{name}` is without a value"));
        return Err(error
            .hint(format!("write for example `{name}={}`", values[0]))
            .into());
    }
    match settings(net, "TARGET", [text])?[..] {
        [target] => Ok(target),
        _ => {
            let message = format!("`{text}` is more than one variable");
            let error = Error::new(ErrorKind::Options, message);
            Err(error.hint("ask for one value of one variable").into())
        }
    }
}

/// The numbers that are listed.
struct Listing<'a> {
    net: &'a Network,
    found: &'a Sensitivity,
    /// Places, with the value that is enough if a probability is wanted.
    rows: Vec<(usize, Option<f64>)>,
    /// How many more there are.
    more: usize,
    goal: Option<Goal>,
}

/// The probability that is wanted.
#[derive(Clone, Copy)]
struct Goal {
    share: f64,
    is_met: bool,
}

impl<'a> Listing<'a> {
    fn new(args: &Args, net: &'a Network, found: &'a Sensitivity, as_json: bool) -> Self {
        let p = found.probability();
        let most = args.at_most.map(|share| (share, p <= share));
        let least = args.at_least.map(|share| (share, p >= share));
        let goal = most.or(least).map(|(share, is_met)| Goal { share, is_met });
        let mut rows = places(found, goal);
        let few = if as_json { usize::MAX } else { LINES };
        let top = args.top.map_or(few, |top| top as usize);
        let more = rows.len().saturating_sub(top);
        rows.truncate(top);
        Listing {
            net,
            found,
            rows,
            more,
            goal,
        }
    }

    /// A number of a CPT as a probability: `P(xray=yes | either=no)`.
    fn label(&self, place: usize) -> String {
        let (own, given) = self.states(place);
        let bar = if given.is_empty() { "" } else { " | " };
        let named = |(name, value): &(&str, &str)| format!("{name}={value}");
        let given: Vec<String> = given.iter().map(named).collect();
        format!("P({}{bar}{})", named(&own), given.join(", "))
    }

    /// The variable of a number and its parents, each with a value.
    #[allow(clippy::type_complexity)]
    fn states(&self, place: usize) -> ((&str, &str), Vec<(&str, &str)>) {
        let (child, mut rest) = self.found.parameter(place);
        let scope = self.net.cpts()[child.index()].scope();
        let state = |v: &VarId| {
            let variable = self.net.variable(*v);
            let value = rest % variable.values.len();
            rest /= variable.values.len();
            (&*variable.name, &*variable.values[value])
        };
        let mut states: Vec<(&str, &str)> = scope.iter().rev().map(state).collect();
        let own = states.remove(0);
        states.reverse();
        (own, states)
    }

    fn print(&self, target: &str, out: &mut dyn Write) -> Result<()> {
        let p = probability(self.found.probability());
        writeln!(out, "P({target} | evidence) = {p}")?;
        match self.goal {
            Some(goal) if goal.is_met => talk("nothing needs to change"),
            Some(_) if self.rows.is_empty() => talk("no single number is enough"),
            _ => self.print_rows(out)?,
        }
        if self.more > 0 {
            let more = counted(self.more, "number");
            talk(&format!("not printed: {more} (see `--top`)"));
        }
        Ok(())
    }

    fn print_rows(&self, out: &mut dyn Write) -> Result<()> {
        let head = match self.goal {
            Some(_) => ["", "is", "must be", "change"],
            None => ["", "is", "derivative", "range"],
        };
        let row = |&(place, enough): &(usize, Option<f64>)| {
            let value = self.found.value(place);
            let (low, high) = self.found.range(place);
            let [third, last] = match enough {
                Some(enough) => [significant(enough, 4), significant(enough - value, 4)],
                None => [
                    significant(self.found.derivative(place), 4),
                    format!("{} to {}", probability(low), probability(high)),
                ],
            };
            [self.label(place), significant(value, 4), third, last]
        };
        let mut lines = vec![head.map(str::to_owned)];
        lines.extend(self.rows.iter().map(row));
        let align = [Align::Left, Align::Right, Align::Right, Align::Right];
        Ok(table(out, align, &lines)?)
    }

    fn json(&self, target: &str) -> Value {
        let row = |&(place, enough): &(usize, Option<f64>)| {
            let ((name, value), given) = self.states(place);
            let given = given
                .iter()
                .map(|(name, value)| ((*name).into(), json!(value)));
            let (low, high) = self.found.range(place);
            let mut row = json!({
                "variable": name, "value": value, "given": given.collect::<Map<String, Value>>(),
                "number": self.found.value(place), "derivative": self.found.derivative(place),
                "function": self.found.function(place), "range": [low, high],
            });
            if let Some(enough) = enough {
                row["enough"] = json!(enough);
            }
            row
        };
        let rows: Vec<Value> = self.rows.iter().map(row).collect();
        let mut json = json!({"target": target, "probability": self.found.probability(), "parameters": rows, "impossible": false});
        if let Some(goal) = self.goal {
            json["met"] = json!(goal.is_met);
        }
        json
    }

    fn tornado(&self, target: &str) -> String {
        let bar = |&(place, _): &(usize, _)| (self.label(place), self.found.range(place));
        let bars: Vec<_> = self.rows.iter().map(bar).collect();
        tornado::svg(target, self.found.probability(), bars)
    }
}

/// The places of all numbers; if a probability is wanted, of those of which a change is enough.
fn places(found: &Sensitivity, goal: Option<Goal>) -> Vec<(usize, Option<f64>)> {
    let all = 0..found.len();
    let Some(goal) = goal else {
        return all.map(|place| (place, None)).collect();
    };
    if goal.is_met {
        return vec![];
    }
    let enough = |place| Some((place, Some(found.reaching(place, goal.share)?)));
    let mut rows: Vec<(usize, Option<f64>)> = all.filter_map(enough).collect();
    let change = |&(place, enough): &(usize, Option<f64>)| {
        enough.map_or(0.0, |enough| (enough - found.value(place)).abs())
    };
    rows.sort_by(|a, b| change(a).total_cmp(&change(b)));
    rows
}
