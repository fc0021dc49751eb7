//! Evidence as it is typed: `--given xray=yes 'pixel_*=f'`, `--soft xray=0.7,0.1`,
//! `--evidence FILE`.
//!
//! Names may contain `=`. So a finding is split at the `=` that leaves a known variable on its
//! left, or else a pattern that matches some; if several do, at the first that also leaves one of
//! its values on the right.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use sumout::{Error, ErrorKind, Evidence, Finding, Network, Options, Result, VarId, Variable};

use crate::output::talk;

/// The options that give evidence.
#[derive(Args, Debug)]
#[command(next_help_heading = "Evidence")]
pub struct Given {
    /// Observed values, such as `xray=yes dysp=no`. A pattern such as `pixel_*=f` stands for all
    /// variables that match it.
    #[arg(long, value_name = "X=V", num_args = 1..)]
    given: Vec<String>,

    /// Likelihoods of what was observed, one for each value, such as `xray=0.7,0.1`.
    #[arg(long, value_name = "X=P0,P1,…", num_args = 1..)]
    soft: Vec<String>,

    /// Findings from a file: .evid of the UAI competitions, SamIam's .inst, .json such as
    /// `{"xray": "yes"}`, or .csv with one row.
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,
}

impl Given {
    /// The findings on the command line.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.given.iter().chain(&self.soft).map(String::as_str)
    }

    /// All evidence, for a network.
    pub fn evidence(&self, net: &Network) -> Result<Evidence> {
        let mut all = match &self.evidence {
            Some(path) => Evidence::read(path, net)?,
            None => Evidence::new(),
        };
        for text in &self.given {
            add(&mut all, net, &Typed { kind: &HARD, text })?;
        }
        for text in &self.soft {
            add(&mut all, net, &Typed { kind: &SOFT, text })?;
        }
        Ok(all)
    }
}

/// Variables and their values, as an option takes them.
pub fn settings<'t>(
    net: &Network,
    option: &'static str,
    texts: impl IntoIterator<Item = &'t String>,
) -> Result<Vec<(VarId, usize)>> {
    let kind = Kind { option, ..HARD };
    let mut all = vec![];
    for text in texts {
        let (vars, right) = split(net, &Typed { kind: &kind, text })?;
        for var in vars {
            all.push((var, net.value(var, right)?));
        }
    }
    Ok(all)
}

/// A kind of finding: what it is called, and how the right of its `=` is read.
struct Kind {
    option: &'static str,
    noun: &'static str,
    read: fn(&Network, VarId, &str) -> Result<Finding>,
    example: fn(&Variable) -> String,
}

const HARD: Kind = Kind {
    option: "--given",
    noun: "value",
    read: |net, var, text| net.value(var, text).map(Finding::Hard),
    example: |variable| variable.values[0].clone(),
};

const SOFT: Kind = Kind {
    option: "--soft",
    noun: "likelihoods",
    read: likelihood,
    example: |variable| vec!["0.5"; variable.values.len()].join(","),
};

/// One finding as it was typed.
struct Typed<'a> {
    kind: &'a Kind,
    text: &'a str,
}

fn add(all: &mut Evidence, net: &Network, typed: &Typed) -> Result<()> {
    let (vars, right) = split(net, typed)?;
    for var in vars {
        all.insert(net, var, (typed.kind.read)(net, var, right)?)?;
    }
    Ok(())
}

/// Variables that are meant, and what is said about them.
type Split<'a> = (Vec<VarId>, &'a str);

fn split<'a>(net: &Network, typed: &Typed<'a>) -> Result<Split<'a>> {
    let splits: Vec<(&str, &str)> = typed
        .text
        .match_indices('=')
        .map(|(at, _)| (&typed.text[..at], &typed.text[at + 1..]))
        .collect();
    match by_name(net, typed.kind, &splits).or_else(|| by_pattern(net, &splits)) {
        Some((vars, "")) => Err(typed.no_value(net, vars[0])),
        Some(found) => Ok(found),
        None => Err(typed.not_understood(net, splits.first().map(|&(left, _)| left))),
    }
}

/// The first split with a variable on the left, preferably one whose right side can be read.
fn by_name<'a>(net: &Network, kind: &Kind, splits: &[(&str, &'a str)]) -> Option<Split<'a>> {
    let known = splits
        .iter()
        .filter_map(|&(left, right)| Some((net.find(left).ok()?, right)));
    let (var, right) = known.min_by_key(|&(var, right)| (kind.read)(net, var, right).is_err())?;
    Some((vec![var], right))
}

fn by_pattern<'a>(net: &Network, splits: &[(&str, &'a str)]) -> Option<Split<'a>> {
    let mut patterns = splits
        .iter()
        .filter(|(left, _)| left.contains(['*', '?', '[', '{']));
    patterns.find_map(|&(left, right)| Some((net.matching(left).ok()?, right)))
}

impl Typed<'_> {
    fn error(&self, what: &str) -> Error {
        Error::new(
            ErrorKind::Evidence,
            format!("`{} {}` {what}", self.kind.option, self.text),
        )
    }

    fn no_value(&self, net: &Network, var: VarId) -> Error {
        self.error(&format!("gives no {}", self.kind.noun))
            .hint(format!("write `{}`", self.example(net, var)))
    }

    /// The error for text that does not begin with a variable and `=`.
    fn not_understood(&self, net: &Network, left: Option<&str>) -> Error {
        let first = || {
            net.ids()
                .next()
                .map_or("X=v".into(), |var| self.example(net, var))
        };
        match (left, net.find(left.unwrap_or(self.text))) {
            (Some(""), _) => self
                .error("names no variable")
                .hint(format!("write for example `{}`", first())),
            (Some(_), Err(unknown)) => unknown,
            (None, Ok(var)) => {
                let (example, option) = (self.example(net, var), self.kind.option);
                let hint =
                    format!("write `{example}`; variables to ask for are named before `{option}`");
                self.no_value(net, var).hint(hint)
            }
            _ => self
                .error("is not of the form X=v")
                .hint(format!("write for example `{}`", first())),
        }
    }

    /// How a finding for this variable could read.
    fn example(&self, net: &Network, var: VarId) -> String {
        let variable = net.variable(var);
        format!("{}={}", variable.name, (self.kind.example)(variable))
    }
}

fn likelihood(net: &Network, var: VarId, text: &str) -> Result<Finding> {
    let number = |part: &str| {
        part.trim().parse::<f64>().map_err(|_| {
            let name = &net.variable(var).name;
            let error = Error::new(
                ErrorKind::Evidence,
                format!("`{part}` is not a likelihood of `{name}`: not a number"),
            );
            error.hint(format!(
                "give a number for each value: {}",
                net.variable(var).values.join(", ")
            ))
        })
    };
    text.split(',')
        .map(number)
        .collect::<Result<_>>()
        .map(Finding::Soft)
}

/// Says on stderr that the evidence is impossible, and what it was.
pub fn talk_of_impossible(net: &Network, evidence: &Evidence, options: &Options) {
    talk("impossible evidence: P(evidence) = 0");
    let evidence = &conflict(net, evidence, options);
    talk(&match evidence.len() {
        0 => "hint: the factors of the network have no joint state in common".into(),
        1 => format!(
            "hint: {} has probability 0 in this network",
            listed(net, evidence)
        ),
        _ => format!(
            "hint: these cannot be true together: {}",
            listed(net, evidence)
        ),
    });
}

/// Findings are tried one by one for this long; each takes as long as the question did.
const CONFLICT_SEARCH_TIME: Duration = Duration::from_secs(2);

/// Findings of which none can be left out: without any of them, the others are possible. Those that
/// time is too short for stay.
pub fn conflict(net: &Network, evidence: &Evidence, options: &Options) -> Evidence {
    let begun = Instant::now();
    let mut left = evidence.clone();
    for (var, _) in evidence
        .iter()
        .take_while(|_| begun.elapsed() < CONFLICT_SEARCH_TIME)
    {
        let fewer = left.clone().without(var);
        let target = net.ids().next().into_iter().collect::<Vec<VarId>>();
        if net
            .query(&target, &fewer, options)
            .is_ok_and(|answer| answer.is_impossible())
        {
            left = fewer;
        }
    }
    left
}

/// The findings as they would be typed, the first dozen of them.
fn listed(net: &Network, evidence: &Evidence) -> String {
    let shown: Vec<String> = evidence
        .iter()
        .take(12)
        .map(|(var, finding)| typed(net, var, finding))
        .collect();
    let more = if evidence.len() > 12 { ", …" } else { "" };
    shown.join(", ") + more
}

fn typed(net: &Network, var: VarId, finding: &Finding) -> String {
    let variable = net.variable(var);
    match finding {
        Finding::Hard(value) => format!("{}={}", variable.name, variable.values[*value]),
        Finding::Soft(l) => {
            let numbers: Vec<String> = l.iter().map(f64::to_string).collect();
            format!("{}={}", variable.name, numbers.join(","))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Variables `a`, `a=b`, `p_1`, `p_2`, each with the values `t`, `f`, `b=t`.
    fn net() -> Network {
        let mut b = Network::builder("names");
        for name in ["a", "a=b", "p_1", "p_2"] {
            let var = b.variable(name, ["t", "f", "b=t"]);
            b.table(var, [], [0.5, 0.25, 0.25]);
        }
        b.build().unwrap()
    }

    fn given(findings: &[&str]) -> Result<String> {
        let net = net();
        let given = findings.iter().map(|s| s.to_string()).collect();
        Ok(listed(
            &net,
            &Given {
                given,
                soft: vec![],
                evidence: None,
            }
            .evidence(&net)?,
        ))
    }

    fn soft(finding: &str) -> Result<String> {
        let net = net();
        Ok(listed(
            &net,
            &Given {
                given: vec![],
                soft: vec![finding.into()],
                evidence: None,
            }
            .evidence(&net)?,
        ))
    }

    #[test]
    fn findings_are_split_where_the_names_say() {
        assert_eq!(given(&["a=t", "p_1=b=t"]).unwrap(), "a=t, p_1=b=t");
        assert_eq!(
            given(&["a=b=f"]).unwrap(),
            "a=b=f",
            "`a` has no value `b=f`, so `a=b` is meant"
        );
        assert_eq!(given(&["a=b=b=t"]).unwrap(), "a=b=b=t");
        assert_eq!(
            given(&["a=b=t"]).unwrap(),
            "a=b=t",
            "both readings are possible"
        );
    }

    #[test]
    fn patterns_stand_for_all_variables_that_match() {
        assert_eq!(given(&["p_*=f", "p_1=f"]).unwrap(), "p_1=f, p_2=f");
        assert_eq!(given(&["p_?=b=t"]).unwrap(), "p_1=b=t, p_2=b=t");
        assert!(given(&["p_*=f", "p_1=t"]).is_err());
        assert_eq!(given(&["q_*=f"]).unwrap_err().kind(), ErrorKind::Name);
    }

    #[test]
    fn wrong_forms_say_what_to_write() {
        let advice = |text| given(&[text]).unwrap_err().advice().unwrap();
        assert_eq!(
            advice("p_1"),
            "write `p_1=t`; variables to ask for are named before `--given`"
        );
        assert_eq!(advice("p_1="), "write `p_1=t`");
        assert_eq!(advice("p_*="), "write `p_1=t`");
        assert_eq!(advice("=t"), "write for example `a=t`");
        assert_eq!(advice("q"), "write for example `a=t`");
        assert_eq!(given(&["p_1=true"]).unwrap_err().kind(), ErrorKind::Name);
    }

    #[test]
    fn likelihoods_are_numbers_one_for_each_value() {
        assert_eq!(soft("p_1=0.5, 1,2e-1").unwrap(), "p_1=0.5,1,0.2");
        for wrong in [
            "p_1=1,2",
            "p_1=1,2,x",
            "p_1=1,2,NaN",
            "p_1=1,2,-1",
            "p_1=1,2,inf",
            "p_1=",
            "p_1=,,",
        ] {
            assert_eq!(
                soft(wrong).unwrap_err().kind(),
                ErrorKind::Evidence,
                "{wrong}"
            );
        }
    }
}
