//! `sumout mpe`: the most probable explanations of evidence.

use std::io::Write;
use std::path::PathBuf;

use sumout::{Evidence, Explanation, Finding, Network, VarId};

use crate::args::{Computing, Reading};
use crate::causal::Intervening;
use crate::commands::query::targets;
use crate::evidence::{Given, talk_of_impossible};
use crate::json;
use crate::output::{Outcome, Result, talk};
use crate::patience::Limiting;
use crate::text::{Align, counted, probability, significant, table};

const EXAMPLES: &str = "\
Examples:
  sumout mpe asia                                  the most probable case of all
  sumout mpe asia --given xray=yes dysp=no         the one that agrees with this
  sumout mpe asia lung tub -k 5 --given xray=yes   the five best, of which two variables are printed
  sumout mpe asia --given xray=yes --json";

/// The most explanations that can be asked for.
const MAX_COUNT: i64 = 100_000;

/// The most probable values of all variables together, given evidence.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The network: a file, `-` for standard input, or `asia`.
    model: PathBuf,

    /// The variables to print, by name or by pattern; all if none is named. The values of the others
    /// are as probable as possible, too, and not summed out.
    #[arg(value_name = "VAR")]
    variables: Vec<String>,

    /// Print this many explanations, the most probable first, each with its probability given the
    /// evidence.
    #[arg(short = 'k', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_COUNT))]
    count: Option<u32>,

    #[command(flatten)]
    given: Given,

    #[command(flatten)]
    intervening: Intervening,

    #[command(flatten)]
    computing: Computing,

    #[command(flatten)]
    limiting: Limiting,

    #[command(flatten)]
    reading: Reading,
}

pub fn run(args: &Args, as_json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let net = args.reading.network(&args.model)?;
    let texts = args.variables.iter().map(String::as_str);
    let net = args
        .intervening
        .network(net, texts.chain(args.given.texts()))?;
    let shown = targets(&net, &args.variables)?;
    let evidence = args.given.evidence(&net)?;
    let found = args.limiting.watch(|control| {
        let options = args.computing.options().with_control(control);
        match args.count {
            Some(count) => net.explanations(count as usize, &evidence, &options),
            None => net.mpe(&evidence, &options).map(|best| vec![best]),
        }
    })?;
    let is_impossible = found.iter().all(Explanation::is_impossible);
    let printing = Printing {
        net: &net,
        evidence: &evidence,
        shown: if shown.is_empty() {
            net.ids().collect()
        } else {
            shown
        },
    };
    match (args.count, as_json) {
        (None, true) => writeln!(out, "{}", printing.json(&found[0]))?,
        (Some(_), true) => writeln!(out, "{}", printing.all_json(&found))?,
        _ if is_impossible => talk_of_impossible(&net, &evidence, &args.computing.options()),
        (None, false) => printing.one(&found[0], out)?,
        (Some(_), false) => printing.all(&found, out)?,
    }
    Ok(if is_impossible {
        Outcome::Impossible
    } else {
        Outcome::Done
    })
}

/// Prints the values of some variables.
struct Printing<'a> {
    net: &'a Network,
    evidence: &'a Evidence,
    shown: Vec<VarId>,
}

impl Printing<'_> {
    /// A line for each variable, and one for the probability.
    fn one(&self, explanation: &Explanation, out: &mut dyn Write) -> Result<()> {
        let Some(values) = explanation.assignment() else {
            return Ok(());
        };
        table(out, [Align::Left; 3], &self.rows(values))?;
        let log = significant(explanation.log_probability(), 7);
        writeln!(out, "{} = {log}", measure(self.net))?;
        self.talk_of_hidden();
        Ok(())
    }

    /// Each variable with its value, and whether that was given.
    fn rows(&self, values: &[usize]) -> Vec<[String; 3]> {
        let row = |&var: &VarId| {
            let mark = match self.evidence.get(var) {
                Some(Finding::Hard(_)) => "(given)",
                Some(Finding::Soft(_)) => "(soft)",
                None => "",
            };
            let variable = self.net.variable(var);
            [
                variable.name.clone(),
                variable.values[values[var.index()]].clone(),
                mark.to_owned(),
            ]
        };
        self.shown.iter().map(row).collect()
    }

    /// A line for each explanation: its place, its probability and its values.
    fn all(&self, found: &[Explanation], out: &mut dyn Write) -> Result<()> {
        let titles = ["", "P(… | evidence)", measure(self.net), ""].map(str::to_owned);
        let mut rows = vec![titles];
        for explanation in found {
            rows.push([
                self.place(explanation, found),
                probability(explanation.posterior().unwrap_or(0.0)),
                significant(explanation.log_probability(), 7),
                self.values(explanation, &found[0]),
            ]);
        }
        let align = [Align::Left, Align::Right, Align::Right, Align::Left];
        table(out, align, &rows)?;
        if found.last().is_some_and(Explanation::is_tied_beyond) {
            writeln!(out, "others are as probable as the last one")?;
        }
        self.talk_of_hidden();
        Ok(())
    }

    /// `2.`, or `2. (tied)` if others have the same place.
    fn place(&self, explanation: &Explanation, all: &[Explanation]) -> String {
        let rank = explanation.rank();
        let alike = all.iter().filter(|other| other.rank() == rank).count();
        let is_tied = alike > 1 || explanation.is_tied_beyond();
        let tie = if is_tied { " (tied)" } else { "" };
        format!("{}.{tie}", rank.unwrap_or(1))
    }

    /// The values that are shown; if all are, only the first explanation has all of them.
    fn values(&self, explanation: &Explanation, first: &Explanation) -> String {
        let (Some(values), Some(best)) = (explanation.assignment(), first.assignment()) else {
            return String::new();
        };
        let is_whole = self.shown.len() < self.net.variables().len() || values == best;
        let is_listed = |v: &&VarId| is_whole || values[v.index()] != best[v.index()];
        let named = self.shown.iter().filter(is_listed).map(|v| {
            let variable = self.net.variable(*v);
            format!("{}={}", variable.name, variable.values[values[v.index()]])
        });
        let named: Vec<String> = named.collect();
        format!("{}{}", if is_whole { "" } else { "… " }, named.join(" "))
    }

    /// The other variables have values as well.
    fn talk_of_hidden(&self) {
        let hidden = self.net.variables().len() - self.shown.len();
        if hidden > 0 {
            talk(&format!(
                "not printed: {}, maximised together with these and not summed out (see `sumout map`)",
                counted(hidden, "variable")
            ));
        }
    }

    fn json(&self, explanation: &Explanation) -> serde_json::Value {
        let mut json = json::explanation(self.net, explanation);
        if let Some(assignment) = json["assignment"].as_object_mut() {
            let is_shown = |name: &String| {
                self.shown
                    .iter()
                    .any(|v| self.net.variable(*v).name == *name)
            };
            assignment.retain(|name, _| is_shown(name));
        }
        json
    }

    fn all_json(&self, found: &[Explanation]) -> serde_json::Value {
        let one = |explanation: &Explanation| {
            serde_json::json!({
                "rank": explanation.rank(),
                "assignment": self.json(explanation)["assignment"],
                "log_probability": explanation.log_probability() + 0.0,
                "probability": explanation.posterior(),
            })
        };
        serde_json::json!({
            "explanations": found.iter().map(one).collect::<Vec<_>>(),
            "tied_beyond": found.last().is_some_and(Explanation::is_tied_beyond),
            "impossible": found.is_empty(),
        })
    }
}

/// The label of the number after the assignment: without the constant Z, a Markov network has no
/// probability.
fn measure(net: &Network) -> &'static str {
    if net.is_markov() {
        "ln(P · Z)"
    } else {
        "ln P"
    }
}
