//! `sumout show`: what a network is.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};
use sumout::compile::{self, Width};
use sumout::model::{SelectedCpt, SelectionKind};
use sumout::{Cpt, Network, VarId};

use crate::args::Reading;
use crate::output::{Outcome, Result};
use crate::patience::patiently;
use crate::text::{Align, abridged, counted, grouped, table};

const EXAMPLES: &str = "\
Examples:
  sumout show asia
  sumout show model.uai.gz --variables             all variables, however many
  sumout show model.bif --json";

/// The number of variables that are listed by default.
const LISTED: usize = 40;

/// Lists of names are cut off at this many characters.
const NAMES: usize = 32;

/// Summarise a network: its variables, functions, zeros and width.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The network: a file, `-` for standard input, or `asia`.
    model: PathBuf,

    /// List all variables, not only the first 40.
    #[arg(long)]
    variables: bool,

    #[command(flatten)]
    reading: Reading,
}

pub fn run(args: &Args, json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let net = args.reading.network(&args.model)?;
    let summary = patiently("looking", || Summary::new(&net));
    if json {
        writeln!(out, "{}", to_json(&net, &summary))?;
        return Ok(Outcome::Done);
    }
    let count = net.variables().len();
    writeln!(
        out,
        "{} network `{}`\n",
        if net.is_markov() {
            "Markov"
        } else {
            "Bayesian"
        },
        net.name()
    )?;
    table(out, [Align::Left; 2], &summary.lines(&net))?;
    writeln!(out)?;
    let listed = if args.variables {
        count
    } else {
        count.min(LISTED)
    };
    if net.is_markov() {
        list_markov(&net, listed, out)?
    } else {
        list_bayesian(&net, listed, out)?
    }
    if listed < count {
        writeln!(
            out,
            "… and {} more; `--variables` lists all",
            grouped(count - listed)
        )?;
    }
    Ok(Outcome::Done)
}

/// A network in numbers.
struct Summary {
    edges: usize,
    max_values: usize,
    parameters: usize,
    zeros: usize,
    known_functions: usize,
    declared_functions: usize,
    /// The position of the largest CPT, and its size.
    largest: Option<(usize, usize)>,
    directed: Option<Directed>,
    /// None if the network is too large.
    width: Option<Width>,
}

/// Statistics of Bayesian networks only.
struct Directed {
    roots: usize,
    leaves: usize,
    max_parents: usize,
}

/// The numbers of a CPT, in all of its copies.
fn numbers(cpt: &Cpt, cards: &[usize]) -> usize {
    let copies = cpt
        .selected()
        .filter(|it| !it.is_direct())
        .map_or(1, |it| it.selection.copies);
    copies * cpt.size(cards)
}

/// Whether all but the roots are known functions, and there are some.
fn is_structural(net: &Network) -> bool {
    let has_functions = net.ids().any(|v| !net.parents(v).is_empty());
    has_functions && net.not_structural().next().is_none()
}

impl Summary {
    fn new(net: &Network) -> Self {
        let cards = net.cards();
        let count = |is: fn(&Cpt) -> bool| net.cpts().iter().filter(|cpt| is(cpt)).count();
        let sizes = net.cpts().iter().map(|cpt| cpt.size(&cards));
        Summary {
            edges: edges(net),
            max_values: cards.iter().copied().max().unwrap_or(0),
            parameters: net.cpts().iter().map(|cpt| numbers(cpt, &cards)).sum(),
            zeros: net.cpts().iter().map(|cpt| cpt.zeros(&cards)).sum(),
            known_functions: count(Cpt::is_functional),
            declared_functions: count(|cpt| cpt.role().functional && !cpt.is_functional()),
            largest: sizes.enumerate().rev().max_by_key(|&(_, size)| size),
            directed: (!net.is_markov()).then(|| Directed::new(net)),
            width: compile::width(net),
        }
    }

    /// The share of parameters that are zero.
    fn zero_share(&self) -> f64 {
        self.zeros as f64 / self.parameters.max(1) as f64
    }

    fn lines(&self, net: &Network) -> Vec<[String; 2]> {
        let factors = if net.is_markov() { "factor" } else { "CPT" };
        let mut lines = vec![
            [
                "variables".into(),
                format!(
                    "{}, at most {} each",
                    grouped(net.ids().len()),
                    counted(self.max_values, "value")
                ),
            ],
            ["edges".into(), self.edge_line()],
            [
                "parameters".into(),
                self.parameter_line(net.cpts().len(), factors),
            ],
        ];
        if !net.is_markov() {
            let (known, declared) = (
                grouped(self.known_functions),
                grouped(self.declared_functions),
            );
            let all = grouped(net.cpts().len());
            lines.push([
                "functional CPTs".into(),
                format!("{known} of {all} known, {declared} only declared"),
            ]);
        }
        if is_structural(net) {
            let line = "every variable with parents is a function of them".into();
            lines.push(["structural".into(), line]);
        }
        let tested = net
            .cpts()
            .iter()
            .filter(|cpt| cpt.selected().is_some())
            .count();
        if tested > 0 {
            let (tested, all) = (grouped(tested), grouped(net.cpts().len()));
            lines.push([
                "tested CPTs".into(),
                format!(
                    "{tested} of {all}; tests see evidence by the {} rule",
                    net.sight()
                ),
            ]);
        }
        if let Some((index, size)) = self.largest {
            let scope = abridged_names(net, net.cpts()[index].scope(), 2 * NAMES);
            lines.push([
                format!("largest {factors}"),
                format!("{} over {scope}", counted(size, "number")),
            ]);
        }
        if let Some(Width { rank, binary_rank }) = self.width {
            let rank = counted(rank, "variable");
            lines.push([
                "largest cluster".into(),
                format!("{rank}, 2^{binary_rank:.1} states, in min-fill order"),
            ]);
        }
        lines
    }

    fn edge_line(&self) -> String {
        match &self.directed {
            None => format!(
                "{} between variables that share a factor",
                grouped(self.edges)
            ),
            Some(Directed {
                roots,
                leaves,
                max_parents,
            }) => format!(
                "{}, at most {} each; {}, {}",
                grouped(self.edges),
                counted(*max_parents, "parent"),
                counted(*roots, "root"),
                if *leaves == 1 {
                    "1 leaf".into()
                } else {
                    format!("{} leaves", grouped(*leaves))
                },
            ),
        }
    }

    fn parameter_line(&self, count: usize, factors: &str) -> String {
        let (all, factors, zeros) = (
            grouped(self.parameters),
            counted(count, factors),
            grouped(self.zeros),
        );
        format!(
            "{all} in {factors}, {zeros} of them zero ({:.1} %)",
            100.0 * self.zero_share()
        )
    }
}

impl Directed {
    fn new(net: &Network) -> Self {
        let parents: BTreeSet<VarId> = net
            .ids()
            .flat_map(|var| net.parents(var))
            .copied()
            .collect();
        Directed {
            roots: net.ids().filter(|&var| net.parents(var).is_empty()).count(),
            leaves: net.variables().len() - parents.len(),
            max_parents: net
                .ids()
                .map(|var| net.parents(var).len())
                .max()
                .unwrap_or(0),
        }
    }
}

/// Arrows; in a Markov network, pairs of variables in a common factor.
fn edges(net: &Network) -> usize {
    if !net.is_markov() {
        return net.ids().map(|var| net.parents(var).len()).sum();
    }
    let ordered = |a: VarId, b: VarId| if a < b { (a, b) } else { (b, a) };
    let pairs = |scope: &[VarId]| {
        let pair = |i: usize, j: usize| ordered(scope[i], scope[j]);
        (0..scope.len())
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .map(|(i, j)| pair(i, j))
            .collect::<Vec<_>>()
    };
    net.cpts()
        .iter()
        .flat_map(|cpt| pairs(cpt.scope()))
        .collect::<BTreeSet<_>>()
        .len()
}

fn names<'a>(net: &'a Network, vars: &[VarId]) -> Vec<&'a str> {
    vars.iter()
        .map(|&v| net.variable(v).name.as_str())
        .collect()
}

fn abridged_names(net: &Network, vars: &[VarId], width: usize) -> String {
    abridged(names(net, vars).into_iter(), width)
}

fn abridged_values(net: &Network, var: VarId) -> String {
    abridged(net.variable(var).values.iter().map(String::as_str), NAMES)
}

fn list_bayesian(net: &Network, count: usize, out: &mut dyn Write) -> std::io::Result<()> {
    let cards = net.cards();
    let mut rows =
        vec![["variable", "values", "parents", "CPT", "entries", "zeros"].map(str::to_owned)];
    rows.extend(net.ids().take(count).map(|var| {
        let cpt = &net.cpts()[var.index()];
        let parents = abridged_names(net, cpt.parents(), NAMES);
        let entries = match cpt.selected().filter(|it| !it.is_direct()) {
            None => grouped(cpt.size(&cards)),
            Some(tested) => format!(
                "{} × {}",
                tested.selection.copies,
                grouped(cpt.size(&cards))
            ),
        };
        let zeros = grouped(cpt.zeros(&cards));
        [
            net.variable(var).name.clone(),
            abridged_values(net, var),
            parents,
            kind(cpt),
            entries,
            zeros,
        ]
    }));
    use Align::{Left, Right};
    table(out, [Left, Left, Left, Left, Right, Right], &rows)
}

fn list_markov(net: &Network, count: usize, out: &mut dyn Write) -> std::io::Result<()> {
    let mut factors = vec![0; net.variables().len()];
    net.cpts()
        .iter()
        .flat_map(Cpt::scope)
        .for_each(|var| factors[var.index()] += 1);
    let mut rows = vec![["variable", "values", "factors"].map(str::to_owned)];
    rows.extend(net.ids().take(count).map(|var| {
        [
            net.variable(var).name.clone(),
            abridged_values(net, var),
            grouped(factors[var.index()]),
        ]
    }));
    table(out, [Align::Left, Align::Left, Align::Right], &rows)
}

fn kind(cpt: &Cpt) -> String {
    if let Some(tested) = cpt.selected() {
        return match tested.is_direct() {
            true => "softmax of evidence".to_owned(),
            false => format!(
                "{}, {} copies",
                tested.selection.kind.name(),
                tested.selection.copies
            ),
        };
    }
    let kind = match cpt.is_functional() {
        true => "function",
        false if cpt.role().functional => "table (declared a function)",
        false => "table",
    };
    kind.to_owned()
}

fn to_json(net: &Network, summary: &Summary) -> Value {
    let cards = net.cards();
    let largest = summary.largest.map(
        |(index, size)| json!({"scope": names(net, net.cpts()[index].scope()), "entries": size}),
    );
    let directed = summary.directed.as_ref();
    let mut report = json!({
        "name": net.name(),
        "kind": if net.is_markov() { "markov" } else { "bayesian" },
        "summary": {
            "variables": net.variables().len(),
            "edges": summary.edges,
            "factors": net.cpts().len(),
            "parameters": summary.parameters,
            "zeros": summary.zeros,
            "zero_share": summary.zero_share(),
            "structural": is_structural(net),
            "functional": {"known": summary.known_functions, "declared": summary.declared_functions},
            "largest_factor": largest,
            "max_values": summary.max_values,
            "roots": directed.map(|d| d.roots),
            "leaves": directed.map(|d| d.leaves),
            "max_parents": directed.map(|d| d.max_parents),
            "width": summary.width.map(|w| json!({"rank": w.rank, "binary_rank": w.binary_rank})),
        },
    });
    report["variables"] = net.ids().map(|var| variable_json(net, var)).collect();
    report["factors"] = net
        .cpts()
        .iter()
        .map(|cpt| factor_json(net, &cards, cpt))
        .collect();
    report
}

fn variable_json(net: &Network, var: VarId) -> Value {
    let variable = net.variable(var);
    json!({"name": variable.name, "values": variable.values, "parents": names(net, net.parents(var))})
}

fn selection_json(net: &Network, it: &SelectedCpt) -> Value {
    let by = &it.selection;
    let mut found = json!({
        "select": by.kind.name(), "copies": by.copies, "thresholds": by.thresholds, "fixed": it.is_fixed, "tie": it.tie,
    });
    match &by.kind {
        SelectionKind::Step(comparison) => found["compare"] = json!(comparison.sign()),
        SelectionKind::Sigmoid { slope, is_learned } => {
            (found["slope"], found["learn_slope"]) = (json!(slope), json!(is_learned));
        }
        SelectionKind::Softmax {
            of,
            weights,
            biases,
        } => {
            (found["of"], found["weights"], found["biases"]) =
                (json!(names(net, of)), json!(weights), json!(biases));
        }
        _ => {} // linear: there is nothing to tell
    }
    found
}

fn factor_json(net: &Network, cards: &[usize], cpt: &Cpt) -> Value {
    json!({
        "child": cpt.child().map(|var| &net.variable(var).name),
        "scope": names(net, cpt.scope()),
        "kind": if cpt.selected().is_some() { "tested" } else if cpt.is_functional() { "function" } else { "table" },
        "test": cpt.selected().map(|it| selection_json(net, it)),
        "declared_functional": cpt.role().functional,
        "entries": cpt.size(cards),
        "zeros": cpt.zeros(cards),
    })
}
