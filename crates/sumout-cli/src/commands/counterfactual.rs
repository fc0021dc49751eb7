//! `sumout counterfactual`: variables of other worlds, and probabilities of causation.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};
use sumout::{Answer, Causation, Error, ErrorKind, Evidence, Network, Options};

use crate::args::{Computing, Reading};
use crate::causal::Intervening;
use crate::commands::query;
use crate::evidence::{Given, settings, talk_of_impossible};
use crate::output::{Outcome, Result};
use crate::patience::Limiting;
use crate::text::{Align, table};

const EXAMPLES: &str = "\
Examples:
  sumout counterfactual net.bif 'y[x=0]' --given x=1 y=1    would y have been 1 without x?
  sumout counterfactual net.bif 'y[x=0]' 'y[x=1]'           two worlds
  sumout counterfactual net.bif 'y[x=1,z=z[x=0]]'           z as it would be in another world
  sumout counterfactual net.bif --cause x=1 --effect y=1    necessary? sufficient?

`sumout query` and `sumout compile` take variables such as `y[x=0]`, too.";

/// Posteriors in other worlds, and probabilities of causation.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The network: a file, `-` for standard input, or `asia`. The variables that interventions
    /// reach must be functions of their parents.
    model: PathBuf,

    /// Variables of other worlds: `y[x=0]` is `y` if `x` were set to `0` from outside.
    #[arg(value_name = "TARGET", required_unless_present = "cause")]
    targets: Vec<String>,

    #[command(flatten)]
    causing: Causing,

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

/// A cause and an effect.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Causation")]
struct Causing {
    /// A cause: print how probable it is that it was necessary and sufficient for the effect.
    #[arg(long, value_name = "X=V", requires = "effect")]
    cause: Option<String>,

    /// The effect.
    #[arg(long, value_name = "Y=V", requires = "cause")]
    effect: Option<String>,

    /// The value to compare the cause with, if its variable has more than two.
    #[arg(long, value_name = "V", requires = "cause")]
    instead: Option<String>,
}

pub fn run(args: &Args, as_json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let net = args.reading.network(&args.model)?;
    let texts = args.targets.iter().map(String::as_str);
    let net = args
        .intervening
        .network(net, texts.chain(args.given.texts()))?;
    let evidence = args.given.evidence(&net)?;
    let mut printed = json!({});
    let mut outcome = Outcome::Done;
    if !args.targets.is_empty() {
        let answer = args.answer(&net, &evidence)?;
        printed = crate::json::answer(&net, &answer);
        if answer.is_impossible() {
            outcome = Outcome::Impossible;
        } else if !as_json {
            query::print(&net, &answer, out)?;
            query::print_evidence(&net, &evidence, &answer, out)?;
        }
    }
    if let Some(causation) = args.causation(&net, &evidence)? {
        printed["causation"] = to_json(&causation);
        if causation.effect().is_none() {
            outcome = Outcome::Impossible;
        } else if !as_json {
            table(out, [Align::Left; 3], &args.causing.rows(&net, &causation)?)?;
        }
    }
    match (as_json, outcome) {
        (true, _) => writeln!(out, "{printed}")?,
        (false, Outcome::Impossible) => talk_of_impossible(&net, &evidence, &args.options()),
        _ => {}
    }
    Ok(outcome)
}

impl Args {
    fn options(&self) -> Options {
        self.computing.options()
    }

    fn answer(&self, net: &Network, evidence: &Evidence) -> Result<Answer> {
        let targets = query::targets(net, &self.targets)?;
        let answer = self.limiting.watch(|control| {
            net.query(&targets, evidence, &self.options().with_control(control))
        })?;
        Ok(answer)
    }

    fn causation(&self, net: &Network, evidence: &Evidence) -> Result<Option<Causation>> {
        let (Some(cause), Some(effect)) = (&self.causing.cause, &self.causing.effect) else {
            return Ok(None);
        };
        let (cause, effect) = (one(net, "--cause", cause)?, one(net, "--effect", effect)?);
        let instead = self.causing.instead.as_deref();
        let found = self.limiting.watch(|control| {
            let options = self.options().with_control(control);
            net.causation(cause, instead, effect, evidence, &options)
        })?;
        Ok(Some(found))
    }
}

/// The variable and the value that a text names.
fn one<'n>(net: &'n Network, option: &'static str, text: &String) -> Result<(&'n str, &'n str)> {
    let [(v, value)] = settings(net, option, [text])?[..] else {
        return Err(several(option, text).into());
    };
    let variable = net.variable(v);
    Ok((&variable.name, &variable.values[value]))
}

fn several(option: &str, text: &str) -> Error {
    let message = format!("`{option} {text}` names several variables");
    Error::new(ErrorKind::Options, message).hint("name one")
}

impl Causing {
    /// The measures, with their definitions.
    fn rows(&self, net: &Network, of: &Causation) -> Result<Vec<[String; 3]>> {
        let (Some(x), Some(y)) = (&self.cause, &self.effect) else {
            return Ok(vec![]);
        };
        let ((x_name, _), (y_name, y_value)) = (one(net, "--cause", x)?, one(net, "--effect", y)?);
        let with = format!("{y_name}[{x}]={y_value}");
        let not = match &self.instead {
            Some(value) => format!("{x_name}={value}"),
            None => format!("not {x}"),
        };
        let without = format!("{y_name}[{not}]={y_value}");
        let row = |name: &str, value: Option<f64>, definition: String| {
            let value = value.map_or("impossible".to_owned(), |p| format!("{p:.4}"));
            [name.to_owned(), value, definition]
        };
        Ok(vec![
            row(
                "necessity",
                of.necessity(),
                format!("P(not {without} | {x}, {y})"),
            ),
            row(
                "sufficiency",
                of.sufficiency(),
                format!("P({with} | {not}, not {y})"),
            ),
            row(
                "necessity and sufficiency",
                of.necessity_and_sufficiency(),
                format!("P({with}, not {without})"),
            ),
            row(
                "effect on the treated",
                of.effect_on_treated(),
                format!("P({with} | {x}) - P({without} | {x})"),
            ),
            row(
                "average effect",
                of.effect(),
                format!("P({with}) - P({without})"),
            ),
        ])
    }
}

fn to_json(of: &Causation) -> Value {
    json!({
        "necessity": of.necessity(),
        "sufficiency": of.sufficiency(),
        "necessity_and_sufficiency": of.necessity_and_sufficiency(),
        "effect_on_treated": of.effect_on_treated(),
        "effect": of.effect(),
    })
}
