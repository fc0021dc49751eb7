//! Tables 1 and 3: how large circuits for the two case studies are, and how long it takes to compile them.

use std::time::Instant;

use indicatif::ProgressBar;
use serde_json::{Value, json};
use sumout::compile::paper::printed::{Image, TABLE_1, TABLE_3};
use sumout::compile::paper::{MAX_LEAVES, Size, Structure, structure};
use sumout::compile::report::Count;
use sumout::compile::{Question, Search, compile};
use sumout::{Error, ErrorKind, Level, Network, Objective, Query};

use super::{Args, Table};
use crate::text::{Align, table_text};

/// The levels that are compared: the paper's own procedure, and ours.
const LEVELS: [Level; 3] = [Level::Paper, Level::Functional, Level::Support];

/// With `--quick` there are no larger images than this.
const QUICK: usize = 3;

pub fn rectangles(args: &Args, bar: &ProgressBar) -> sumout::Result<Table> {
    compute("rectangles; P(label | all pixels)", &TABLE_1, &Query::of("label").given(["pixel_*"]), args, bar)
}

pub fn digits(args: &Args, bar: &ProgressBar) -> sumout::Result<Table> {
    compute("digits; P(d | all pixels)", &TABLE_3, &Query::of("d").given(["p_*"]), args, bar)
}

fn compute(what: &str, rows: &[Image], query: &Query, args: &Args, bar: &ProgressBar) -> sumout::Result<Table> {
    let rows = &rows[..if args.quick { QUICK } else { rows.len() }];
    bar.set_length((rows.len() * LEVELS.len()) as u64);
    let rows: Vec<Row> = rows.iter().map(|printed| Row::new(printed, query, args, bar)).collect::<Result<_, _>>()?;
    let text = format!("{what}\n\n{}\n{}{NOTES}", structures(&rows), sizes(&rows));
    Ok(Table { rows: rows.iter().map(Row::to_json).collect(), text })
}

/// What the paper prints of an image, and what we find.
struct Row<'a> {
    printed: &'a Image,
    structure: Structure,
    circuits: [Circuit; LEVELS.len()],
}

/// What a circuit needs for each example, and how long it took to compile.
#[derive(Clone, Copy, Default)]
struct Circuit {
    entries: f64,
    multiply_adds: f64,
    seconds: f64,
}

impl<'a> Row<'a> {
    fn new(printed: &'a Image, query: &Query, args: &Args, bar: &ProgressBar) -> sumout::Result<Self> {
        let net = Network::read(printed.model)?;
        let question = query.question(&net)?;
        let mut circuits = [Circuit::default(); LEVELS.len()];
        for (circuit, level) in circuits.iter_mut().zip(LEVELS) {
            let objective = Objective::default();
            let search = Search { level, objective, seed: args.seed, effort: args.effort(), thorough: true };
            *circuit = Circuit::new(&net, &question, &search)?;
            bar.inc(1);
        }
        Ok(Row { printed, structure: structure(&net, MAX_LEAVES), circuits })
    }

    fn to_json(&self) -> Value {
        let Image { model, classical, functional, entries, eval_seconds, compile_seconds } = self.printed;
        let circuits = || LEVELS.iter().zip(&self.circuits);
        let by_level = |number: fn(&Circuit) -> Value| -> Value {
            circuits().map(|(level, circuit)| (level.name().to_owned(), number(circuit))).collect()
        };
        json!({
            "model": model,
            "network_nodes": self.structure.classical.nodes,
            "replicated_nodes": self.structure.functional.nodes,
            "classical": clusters(&self.structure.classical),
            "functional": clusters(&self.structure.functional),
            "entries": by_level(|circuit| json!(Count(circuit.entries))),
            "multiply_adds": by_level(|circuit| json!(Count(circuit.multiply_adds))),
            "compile_seconds": by_level(|circuit| json!(circuit.seconds)),
            "paper": {
                "network_nodes": classical.nodes,
                "replicated_nodes": functional.nodes,
                "classical": clusters(classical),
                "functional": clusters(functional),
                "entries": entries,
                "compile_seconds": compile_seconds,
                "eval_seconds": eval_seconds,
            },
        })
    }
}

impl Circuit {
    fn new(net: &Network, question: &Question, search: &Search) -> sumout::Result<Self> {
        let start = Instant::now();
        let compiled = compile(net, question, search)
            .ok_or_else(|| Error::new(ErrorKind::Model, "the network is impossible: no state has a probability"))?;
        let seconds = start.elapsed().as_secs_f64();
        Ok(Circuit { entries: compiled.cost.entries, multiply_adds: compiled.cost.multiply_adds, seconds })
    }
}

fn clusters(size: &Size) -> Value {
    json!({"max_cluster_rank": size.rank, "max_cluster_binary_rank": size.binary_rank})
}

const NOTES: &str = "
✗ one min-fill order, ✓ the same with functions replicated; printed are the paper's numbers.
Entries: numbers stored for each example; the printed ones count transposed and rescaled tensors, too.
";

/// Ours and the paper's numbers of nodes and clusters.
fn structures(rows: &[Row]) -> String {
    let mut lines = vec![["", "", "nodes", "printed", "rank", "printed", "binary rank", "printed"].map(String::from)];
    for row in rows {
        let line = |name: &str, mark: &str, ours: &Size, printed: &Size| {
            let whole = |n: usize| n.to_string();
            let rank = |size: &Size| format!("{:.1}", size.binary_rank);
            let nodes = [whole(ours.nodes), whole(printed.nodes)];
            let ranks = [whole(ours.rank), whole(printed.rank), rank(ours), rank(printed)];
            let [nodes, printed_nodes] = nodes;
            let [a, b, c, d] = ranks;
            [name.to_owned(), mark.to_owned(), nodes, printed_nodes, a, b, c, d]
        };
        lines.push(line(row.printed.model, "✗", &row.structure.classical, &row.printed.classical));
        lines.push(line("", "✓", &row.structure.functional, &row.printed.functional));
    }
    let align = std::array::from_fn(|column| if column < 2 { Align::Left } else { Align::Right });
    table_text(align, &lines)
}

/// Ours and the paper's entries and compile times.
fn sizes(rows: &[Row]) -> String {
    let mut lines = vec![
        ["", "entries", "", "", "", "seconds to compile", "", "", ""].map(String::from),
        ["", "printed", "paper", "functional", "support", "printed", "paper", "functional", "support"]
            .map(String::from),
    ];
    for Row { printed, circuits, .. } in rows {
        let mut cells = vec![printed.model.to_owned(), Count(printed.entries as f64).to_string()];
        cells.extend(circuits.iter().map(|circuit| Count(circuit.entries).to_string()));
        cells.push(format!("{:.1}", printed.compile_seconds));
        cells.extend(circuits.iter().map(|circuit| format!("{:.2}", circuit.seconds)));
        lines.extend(<[String; 9]>::try_from(cells));
    }
    let align = std::array::from_fn(|column| if column == 0 { Align::Left } else { Align::Right });
    table_text(align, &lines)
}
