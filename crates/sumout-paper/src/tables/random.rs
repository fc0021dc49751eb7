//! Table 5: how much functions reduce the largest cluster, and the whole circuit, of random
//! networks.
//!
//! Nothing is asked and nothing is given, so that no variable is pruned, and all of a plan is
//! computed once.

use std::collections::BTreeSet;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sumout::internals::paper::{MAX_LEAVES, structure};
use sumout::internals::plan::tree::{Cost, Prices};
use sumout::internals::random::{Shape, network};
use sumout::internals::{self, Goal, Question, Runs, Search};
use sumout::{Error, ErrorKind, Level, Objective};

use super::Work;
use super::mean::{self, mean, standard_errors};
use crate::Settings;
use crate::grid::{Grid, Table, key, ours, paper};
use crate::printed::{Mean, Random, TABLE_5};

/// How many networks there are of each kind; with `--quick`, two.
const NETWORKS: usize = 10;

pub fn networks(work: &Work<'_>) -> sumout::Result<Table> {
    let each = if work.settings.quick { 2 } else { NETWORKS };
    let chosen = work.rows(
        TABLE_5
            .iter()
            .enumerate()
            .map(|(at, row)| (name(row).join("/"), (at, row)))
            .collect(),
    );
    work.expect(chosen.len() * each);
    let cases: Vec<(usize, usize)> = (0..chosen.len())
        .flat_map(|row| (0..each).map(move |k| (row, k)))
        .collect();
    let cells = cases.par_iter().map(|&(row, network)| {
        let (name, (at, printed)) = &chosen[row];
        let seed = work.settings.seed + (at * NETWORKS + network) as u64;
        let depends = json!({
            "network": network, "effort": work.settings.effort(), "objective": work.settings.objective.name()
        });
        Ok((row, work.cell(name, depends, || Compared::new(printed, seed, work.settings))?))
    });
    let cells: Vec<_> = cells.collect::<sumout::Result<_>>()?;
    let machines: BTreeSet<String> = cells
        .iter()
        .flat_map(|(_, cell)| cell)
        .map(|cell| cell.machine.clone())
        .collect();
    let of = |row: usize| {
        cells
            .iter()
            .filter(move |(of, _)| *of == row)
            .flat_map(|(_, cell)| cell)
            .map(|c| &c.result)
    };
    let rows: Vec<Row> = chosen
        .iter()
        .enumerate()
        .filter_map(|(at, (_, (_, row)))| Row::new(row, of(at)))
        .collect();
    let objective = work.settings.objective;
    let title = format!(
        "random networks; the plans have little {}",
        objective.name()
    );
    let mut table = work.table(
        &title,
        rows.iter().map(|row| row.to_json(objective)).collect(),
        machines,
    );
    table.grids = vec![ranks(&rows), sizes(&rows)];
    table.notes = notes(&rows);
    Ok(table)
}

/// One network, by several methods.
#[derive(Debug, Serialize, Deserialize)]
struct Compared {
    /// The binary rank of the largest cluster of a min-fill order, without functions.
    original: f64,
    /// The same with functions replicated.
    replicated: f64,
    /// Whether there would be too many replicas.
    is_capped: bool,
    /// The binary rank of the largest cluster of the paper's plan.
    shrunk: f64,
    /// The smallest of any plan found.
    ours: f64,
    /// The entries of the paper's plan, and of the best one found.
    entries: [f64; 2],
    /// Whether the best plan is worse than the paper's.
    is_worse: bool,
}

impl Compared {
    fn new(row: &Random, seed: u64, settings: &Settings) -> sumout::Result<Self> {
        let Random {
            nodes,
            max_parents,
            functional,
            ..
        } = *row;
        let net = network(
            &Shape {
                nodes,
                max_values: 3,
                max_parents,
                functional,
            },
            seed,
        )?;
        let structure = structure(&net, MAX_LEAVES);
        // Explanations prune no variable.
        let question = Question {
            goal: Goal::Explanation,
            ..Question::default()
        };
        let plan = |level: Level, objective: Objective| {
            let search = Search {
                level,
                objective,
                seed: settings.seed,
                effort: settings.effort(),
                runs: Runs::Many,
                control: Default::default(),
            };
            let plan = internals::plan(net.model(), &question, &search);
            plan.map(|plan| plan.cost())
                .ok_or_else(|| Error::new(ErrorKind::Model, "the network is impossible"))
        };
        let (paper, ours) = (
            plan(Level::Paper, settings.objective)?,
            plan(Level::Functional, settings.objective)?,
        );
        let narrow = plan(Level::Functional, Objective::LargestCluster)?;
        Ok(Compared {
            original: structure.classical.binary_rank,
            replicated: structure.functional.binary_rank,
            is_capped: structure.is_capped,
            is_worse: amount(settings.objective, &ours) > amount(settings.objective, &paper),
            shrunk: paper.largest_cluster.log2(),
            ours: narrow.largest_cluster.min(ours.largest_cluster).log2(),
            entries: [entries(&paper), entries(&ours)],
        })
    }
}

/// The value of a plan's objective.
fn amount(objective: Objective, cost: &Cost) -> f64 {
    let Prices {
        store, multiply, ..
    } = objective.prices();
    match objective {
        Objective::LargestCluster => cost.largest_cluster,
        Objective::Entries => entries(cost),
        Objective::MultiplyAdds => cost.multiply_adds + cost.constant_multiply_adds,
        _ => store * entries(cost) + multiply * (cost.multiply_adds + cost.constant_multiply_adds),
    }
}

fn entries(cost: &Cost) -> f64 {
    cost.entries + cost.constant_entries
}

/// Networks of one kind. All means but that of the original networks are over those that are not
/// capped.
struct Row {
    printed: &'static Random,
    networks: usize,
    capped: usize,
    original: Mean,
    replicated: Mean,
    shrunk: Mean,
    ours: Mean,
    /// How much smaller the rank becomes when functions are replicated.
    reduction: Mean,
    /// The base-2 logarithms of geometric means of entries, of the paper's plans and ours.
    entries: [f64; 2],
    /// Plans that have more than the paper's of what they should have little of, and those with a
    /// larger cluster.
    worse: usize,
    wider: usize,
    /// How far the mean of the replicated networks is from the printed one.
    standard_errors: f64,
}

impl Row {
    /// None if there are no networks.
    fn new<'a>(
        printed: &'static Random,
        compared: impl Iterator<Item = &'a Compared>,
    ) -> Option<Self> {
        let compared: Vec<&Compared> = compared.collect();
        let free: Vec<&Compared> = compared.iter().copied().filter(|c| !c.is_capped).collect();
        if free.is_empty() {
            return None;
        }
        let over = |number: &dyn Fn(&Compared) -> f64| mean(free.iter().map(|c| number(c)));
        let replicated = over(&|c| c.replicated);
        Some(Row {
            printed,
            networks: compared.len(),
            capped: compared.len() - free.len(),
            original: mean(compared.iter().map(|c| c.original)),
            replicated,
            shrunk: over(&|c| c.shrunk),
            ours: over(&|c| c.ours),
            reduction: over(&|c| c.original - c.replicated),
            entries: [0, 1].map(|method| over(&|c| c.entries[method].log2()).mean),
            worse: free.iter().filter(|c| c.is_worse).count(),
            wider: free.iter().filter(|c| c.ours > c.shrunk + 1e-9).count(),
            standard_errors: standard_errors(&replicated, free.len(), &printed.shrunk),
        })
    }

    /// How many times as many entries the paper's plans have.
    fn ratio(&self) -> f64 {
        (self.entries[0] - self.entries[1]).exp2()
    }

    fn to_json(&self, objective: Objective) -> Value {
        let Random {
            nodes,
            max_parents,
            functional,
            original,
            shrunk,
            reduction,
        } = self.printed;
        let mean = mean::to_json;
        json!({
            "row": name(self.printed).join("/"),
            "nodes": nodes,
            "max_parents": max_parents,
            "functional_percent": (100.0 * functional).round(),
            "networks": self.networks,
            "capped": self.capped,
            "original": mean(&self.original),
            "replicated": mean(&self.replicated),
            "shrunk": mean(&self.shrunk),
            "ours": mean(&self.ours),
            "reduction": mean(&self.reduction),
            "standard_errors": self.standard_errors,
            "entries": {"paper": self.entries[0].exp2(), "ours": self.entries[1].exp2(), "ratio": self.ratio()},
            "objective": objective.name(),
            "worse": self.worse,
            "wider": self.wider,
            "paper": {"original": mean(original), "shrunk": mean(shrunk), "reduction": mean(reduction)},
        })
    }
}

/// `75`, `4`, `25`: nodes, parents, and the percentage of functions.
fn name(row: &Random) -> [String; 3] {
    [
        row.nodes.to_string(),
        row.max_parents.to_string(),
        format!("{:.0}", 100.0 * row.functional),
    ]
}

fn notes(rows: &[Row]) -> Vec<String> {
    let near = rows.iter().filter(|row| row.standard_errors <= 3.0).count();
    let [worse, wider] =
        [|row: &Row| row.worse, |row: &Row| row.wider].map(|of| rows.iter().map(of).sum::<usize>());
    vec![
        "Ranks: the binary rank of the largest cluster, mean ± standard deviation. Original: a min-fill order without \
         functions. Replicated: the same with functions replicated, which is what the printed numbers fit; errors: how many \
         combined standard errors the two means are apart. Shrunk: the plan of the paper's procedure. Ours: the best plan for \
         this purpose."
            .to_owned(),
        "Entries: the geometric mean of all numbers that a plan stores. Capped: networks with too many replicas, which only \
         the original column counts. Worse: plans that have more than the paper's of what they should have little of; wider: \
         plans whose largest cluster is larger than the paper's."
            .to_owned(),
        format!(
            "The replicated rank is within three combined standard errors of the printed one in {near} of {} rows; {worse} of \
             our plans are worse than the paper's, and {wider} wider.",
            rows.len()
        ),
    ]
}

fn ranks(rows: &[Row]) -> Grid {
    let mut grid = Grid::new([
        key("nodes"),
        key("parents"),
        key("functions"),
        ours("original"),
        paper("original"),
        ours("replicated"),
        paper("shrunk"),
        ours("errors"),
        ours("reduction"),
        paper("reduction"),
        ours("shrunk"),
        ours("ours"),
    ]);
    for row in rows {
        let Random {
            original,
            shrunk,
            reduction,
            ..
        } = &row.printed;
        let text = |mean: &Mean| mean::text(mean, 1);
        let [nodes, parents, functions] = name(row.printed);
        let mut cells = vec![nodes, parents, functions + " %"];
        cells.extend([&row.original, original, &row.replicated, shrunk].map(text));
        cells.push(mean::apart(row.standard_errors));
        cells.extend([&row.reduction, reduction, &row.shrunk, &row.ours].map(text));
        grid.push(cells);
    }
    grid
}

fn sizes(rows: &[Row]) -> Grid {
    let numbers = [
        "entries: paper",
        "entries: ours",
        "ratio",
        "networks",
        "capped",
        "worse",
        "wider",
    ]
    .map(ours);
    let mut grid = Grid::new(
        [
            &[key("nodes"), key("parents"), key("functions")][..],
            &numbers,
        ]
        .concat(),
    );
    for row in rows {
        let [nodes, parents, functions] = name(row.printed);
        let [paper, ours] = row.entries.map(|log| format!("2^{log:.1}"));
        let counts = [row.networks, row.capped, row.worse, row.wider].map(|n| n.to_string());
        let first = [
            nodes,
            parents,
            functions + " %",
            paper,
            ours,
            format!("{:.2}", row.ratio()),
        ];
        grid.push([&first[..], &counts].concat());
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_plans_are_no_worse_than_the_papers() {
        let printed = &TABLE_5[3];
        for objective in Objective::names().map(|name| name.parse().unwrap()) {
            let settings = Settings {
                effort: Some(0.0),
                objective,
                ..Settings::default()
            };
            let compared: Vec<Compared> = (0..2)
                .map(|seed| Compared::new(printed, seed, &settings).unwrap())
                .collect();
            let row = Row::new(printed, compared.iter())
                .unwrap()
                .to_json(objective);
            let mean = |name: &str| row[name]["mean"].as_f64().unwrap();
            assert!(
                mean("ours") <= mean("shrunk") && mean("shrunk") < mean("original"),
                "{row}"
            );
            assert_eq!(
                [
                    &row["worse"],
                    &row["wider"],
                    &row["capped"],
                    &row["paper"]["shrunk"]["mean"]
                ],
                [&json!(0), &json!(0), &json!(0), &json!(11.1)]
            );
        }
    }
}
