//! Table 5: how much functions reduce the largest cluster, and the whole circuit, of random networks.
//!
//! Nothing is asked and nothing is given, so that no variable is pruned, and all of a plan is computed once.

use indicatif::ProgressBar;
use rayon::prelude::*;
use serde_json::{Value, json};
use sumout::compile::paper::printed::{Mean, Random, TABLE_5};
use sumout::compile::paper::{MAX_LEAVES, structure};
use sumout::compile::tree::{Cost, Prices};
use sumout::compile::{self, Question, Search};
use sumout::model::random::{Shape, network};
use sumout::{Error, ErrorKind, Level, Objective};

use super::{Args, Table};
use crate::text::{Align, table_text};

/// How many networks there are of each kind; with `--quick`, two.
const NETWORKS: usize = 10;

pub fn networks(args: &Args, bar: &ProgressBar) -> sumout::Result<Table> {
    let each = if args.quick { 2 } else { NETWORKS };
    bar.set_length((TABLE_5.len() * each) as u64);
    let cases: Vec<usize> = (0..TABLE_5.len() * each).collect();
    let compared = cases.par_iter().map(|&case| {
        let compared = Compared::new(&TABLE_5[case / each], args.seed + case as u64, args);
        bar.inc(1);
        compared
    });
    let compared: Vec<Compared> = compared.collect::<sumout::Result<_>>()?;
    let rows: Vec<Row> = TABLE_5.iter().zip(compared.chunks(each)).map(|(p, c)| Row::new(p, c)).collect();
    let objective = args.objective;
    let text = format!(
        "random networks; the plans have little {}\n\n{}\n{}{NOTES}",
        objective.name(),
        ranks(&rows),
        sizes(&rows)
    );
    Ok(Table { rows: rows.iter().map(|row| row.to_json(objective)).collect(), text })
}

/// One network, by several methods.
struct Compared {
    /// The binary rank of the largest cluster of a min-fill order, without functions.
    original: f64,
    /// The same with functions replicated.
    replicated: f64,
    /// Whether there would be too many replicas.
    is_capped: bool,
    /// The plan of the paper's procedure.
    paper: Cost,
    /// The best plan found.
    ours: Cost,
    /// The smallest largest cluster of any plan found.
    ours_cluster: f64,
    /// Whether the best plan is worse than the paper's.
    is_worse: bool,
}

impl Compared {
    fn new(row: &Random, seed: u64, args: &Args) -> sumout::Result<Self> {
        let Random { nodes, max_parents, functional, .. } = *row;
        let net = network(&Shape { nodes, max_values: 3, max_parents, functional }, seed)?;
        let structure = structure(&net, MAX_LEAVES);
        // Explanations prune no variable.
        let question = Question { explain: true, ..Question::default() };
        let plan = |level: Level, objective: Objective| {
            let search = Search { level, objective, seed: args.seed, effort: args.effort(), thorough: true };
            let plan = compile::plan(&net, &question, &search);
            plan.map(|plan| plan.cost()).ok_or_else(|| Error::new(ErrorKind::Model, "the network is impossible"))
        };
        let (paper, ours) = (plan(Level::Paper, args.objective)?, plan(Level::Functional, args.objective)?);
        let narrow = plan(Level::Functional, Objective::LargestCluster)?;
        Ok(Compared {
            original: structure.classical.binary_rank,
            replicated: structure.functional.binary_rank,
            is_capped: structure.is_capped,
            is_worse: amount(args.objective, &ours) > amount(args.objective, &paper),
            ours_cluster: narrow.largest_cluster.min(ours.largest_cluster),
            paper,
            ours,
        })
    }
}

/// What a plan has of what it should have little of.
fn amount(objective: Objective, cost: &Cost) -> f64 {
    let Prices { store, multiply, .. } = objective.prices();
    match objective {
        Objective::LargestCluster => cost.largest_cluster,
        Objective::Entries => entries(cost),
        Objective::MultiplyAdds => cost.multiply_adds + cost.constant_multiply_adds,
        Objective::Time => store * entries(cost) + multiply * (cost.multiply_adds + cost.constant_multiply_adds),
    }
}

fn entries(cost: &Cost) -> f64 {
    cost.entries + cost.constant_entries
}

/// Networks of one kind. All means but that of the original networks are over those that are not capped.
struct Row<'a> {
    printed: &'a Random,
    networks: usize,
    capped: usize,
    original: Mean,
    replicated: Mean,
    shrunk: Mean,
    ours: Mean,
    /// The base-2 logarithms of geometric means of entries, of the paper's plans and ours.
    entries: [f64; 2],
    worse: usize,
}

impl<'a> Row<'a> {
    fn new(printed: &'a Random, compared: &[Compared]) -> Self {
        let free: Vec<&Compared> = compared.iter().filter(|c| !c.is_capped).collect();
        let over = |number: &dyn Fn(&Compared) -> f64| mean(free.iter().map(|c| number(c)));
        Row {
            printed,
            networks: compared.len(),
            capped: compared.len() - free.len(),
            original: mean(compared.iter().map(|c| c.original)),
            replicated: over(&|c| c.replicated),
            shrunk: over(&|c| c.paper.largest_cluster.log2()),
            ours: over(&|c| c.ours_cluster.log2()),
            entries: [over(&|c| entries(&c.paper).log2()).mean, over(&|c| entries(&c.ours).log2()).mean],
            worse: free.iter().filter(|c| c.is_worse).count(),
        }
    }

    /// How many times as many entries the paper's plans have.
    fn ratio(&self) -> f64 {
        (self.entries[0] - self.entries[1]).exp2()
    }

    fn to_json(&self, objective: Objective) -> Value {
        let Random { nodes, max_parents, functional, original, shrunk, reduction } = self.printed;
        let mean = |mean: &Mean| json!({"mean": mean.mean, "stdev": mean.stdev});
        json!({
            "nodes": nodes,
            "max_parents": max_parents,
            "functional_percent": (100.0 * functional).round(),
            "networks": self.networks,
            "capped": self.capped,
            "original": mean(&self.original),
            "replicated": mean(&self.replicated),
            "shrunk": mean(&self.shrunk),
            "ours": mean(&self.ours),
            "entries": {"paper": self.entries[0].exp2(), "ours": self.entries[1].exp2(), "ratio": self.ratio()},
            "objective": objective.name(),
            "worse": self.worse,
            "paper": {"original": mean(original), "shrunk": mean(shrunk), "reduction": mean(reduction)},
        })
    }

    /// `75 nodes`, `4 parents`, `25 %`.
    fn name(&self) -> [String; 3] {
        let Random { nodes, max_parents, functional, .. } = self.printed;
        [nodes.to_string(), max_parents.to_string(), format!("{:.0} %", 100.0 * functional)]
    }
}

/// The mean and the standard deviation of some numbers.
fn mean(numbers: impl Iterator<Item = f64>) -> Mean {
    let numbers: Vec<f64> = numbers.collect();
    let n = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    let squares: f64 = numbers.iter().map(|x| (x - mean).powi(2)).sum();
    Mean { mean, stdev: (squares / (n - 1.0).max(1.0)).sqrt() }
}

const NOTES: &str = "
Ranks: the binary rank of the largest cluster, mean ± standard deviation. Original: a min-fill order without
functions. Replicated: the same with functions replicated, which is what the printed numbers fit. Shrunk: the plan
of the paper's procedure. Ours: the best plan for this purpose. Entries: the geometric mean of all numbers that a
plan stores. Capped: networks with too many replicas, which only the original column counts. Worse: plans that
have more than the paper's of what they should have little of.
";

fn ranks(rows: &[Row]) -> String {
    let header = ["nodes", "parents", "functions", "original", "printed", "replicated", "printed", "shrunk", "ours"];
    let mut lines = vec![header.map(String::from)];
    for row in rows {
        let [nodes, parents, functions] = row.name();
        let means =
            [&row.original, &row.printed.original, &row.replicated, &row.printed.shrunk, &row.shrunk, &row.ours];
        let [a, b, c, d, e, f] = means.map(|m| format!("{:.1} ± {:.1}", m.mean, m.stdev));
        lines.push([nodes, parents, functions, a, b, c, d, e, f]);
    }
    table_text([Align::Right; 9], &lines)
}

fn sizes(rows: &[Row]) -> String {
    let header = ["nodes", "parents", "functions", "entries: paper", "ours", "ratio", "networks", "capped", "worse"];
    let mut lines = vec![header.map(String::from)];
    for row in rows {
        let [nodes, parents, functions] = row.name();
        let [paper, ours] = row.entries.map(|log| format!("2^{log:.1}"));
        let [networks, capped, worse] = [row.networks, row.capped, row.worse].map(|n| n.to_string());
        lines.push([nodes, parents, functions, paper, ours, format!("{:.2}", row.ratio()), networks, capped, worse]);
    }
    table_text([Align::Right; 9], &lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_have_the_standard_deviation_of_a_sample() {
        assert_eq!(mean([1.0, 2.0, 6.0].into_iter()), Mean { mean: 3.0, stdev: 7f64.sqrt() });
        assert_eq!(mean([4.0].into_iter()), Mean { mean: 4.0, stdev: 0.0 });
    }

    #[test]
    fn our_plans_are_no_worse_than_the_papers() {
        let printed = &TABLE_5[3];
        for objective in Objective::names().map(|name| name.parse().unwrap()) {
            let args = Args {
                tables: vec![],
                quick: true,
                runs: None,
                examples: vec![],
                trainable: false,
                seed: 0,
                effort: Some(0.0),
                objective,
            };
            let compared: Vec<Compared> = (0..2).map(|seed| Compared::new(printed, seed, &args).unwrap()).collect();
            let row = Row::new(printed, &compared).to_json(objective);
            let mean = |name: &str| row[name]["mean"].as_f64().unwrap();
            assert!(mean("ours") <= mean("shrunk") && mean("shrunk") < mean("original"), "{row}");
            assert_eq!(
                (&row["worse"], &row["capped"], &row["paper"]["shrunk"]["mean"]),
                (&json!(0), &json!(0), &json!(11.1))
            );
        }
    }
}
