//! Tables 1 and 3: how large circuits for the two case studies are, and how long it takes to
//! compile and to evaluate them.

use std::collections::BTreeSet;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sumout::internals::Count;
use sumout::internals::paper::{MAX_LEAVES, Size, structure};
use sumout::{Batch, Circuit, EvalOptions, Level, Network, Options, Query};

use super::Work;
use crate::Settings;
use crate::grid::{Grid, Table, key, ours, paper};
use crate::printed::{Image, TABLE_1, TABLE_3};
use crate::scenes::{self, Scenes};
use crate::text::duration;

/// The levels that are compared: the paper's own procedure, and ours.
const LEVELS: [Level; 3] = [Level::Paper, Level::Functional, Level::Support];

/// With `--quick` there are no larger images than this.
const QUICK: usize = 3;

/// The batch size, as in the paper; smaller for circuits with very many
/// entries.
const BATCH: usize = 64;
const LARGE: (f64, usize) = (1e7, 8);

pub fn rectangles(work: &Work<'_>) -> sumout::Result<Table> {
    compute(
        "rectangles; P(label | all pixels)",
        &TABLE_1,
        &Query::of("label").given(["pixel_*"]),
        work,
    )
}

pub fn digits(work: &Work<'_>) -> sumout::Result<Table> {
    compute(
        "digits; P(d | all pixels)",
        &TABLE_3,
        &Query::of("d").given(["p_*"]),
        work,
    )
}

fn compute(
    title: &str,
    printed: &'static [Image],
    query: &Query,
    work: &Work<'_>,
) -> sumout::Result<Table> {
    let printed = &printed[..if work.settings.quick {
        QUICK
    } else {
        printed.len()
    }];
    let chosen = work.rows(
        printed
            .iter()
            .map(|row| (row.model.to_owned(), row))
            .collect(),
    );
    work.expect(chosen.len());
    let (mut rows, mut machines) = (vec![], BTreeSet::new());
    for (name, printed) in chosen {
        let depends = json!({"effort": work.settings.effort(), "batch": BATCH, "as_printed": work.settings.as_printed});
        if let Some(cell) =
            work.cell(&name, depends, || Found::new(printed, query, work.settings))?
        {
            machines.insert(cell.machine);
            rows.push(Row {
                printed,
                found: cell.result,
            });
        }
    }
    let mut table = work.table(title, rows.iter().map(Row::to_json).collect(), machines);
    table.grids = vec![structures(&rows), sizes(&rows)];
    table.notes = NOTES.map(String::from).to_vec();
    Ok(table)
}

const NOTES: [&str; 2] = [
    "✗ one min-fill order, ✓ the same with functions replicated; printed are the paper's numbers. Entries: numbers \
     stored for each example, by the paper's procedure and by ours at two levels.",
    "Evaluating: one example of a batch, on all processors, in 32 bits. Compiling: from the network to the circuit.",
];

/// The results for an image model.
#[derive(Debug, Serialize, Deserialize)]
struct Found {
    /// ✗ and ✓: the nodes, the rank and the binary rank.
    sizes: [(usize, usize, f64); 2],
    /// For each level.
    circuits: Vec<Measured>,
}

/// The cost of a circuit for each example, and the time to compile it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Measured {
    entries: f64,
    multiply_adds: f64,
    compile_seconds: f64,
    eval_seconds: f64,
}

impl Found {
    fn new(printed: &Image, query: &Query, settings: &Settings) -> sumout::Result<Self> {
        let net = Network::read(printed.model)?;
        let structure = structure(&net, MAX_LEAVES);
        let sizes = [structure.classical, structure.functional]
            .map(|size| (size.nodes, size.rank, size.binary_rank));
        let measure = |level| Measured::new(&net, printed.model, query, level, settings);
        Ok(Found {
            sizes,
            circuits: LEVELS
                .into_iter()
                .map(measure)
                .collect::<sumout::Result<_>>()?,
        })
    }

    fn size(&self, at: usize) -> Size {
        let (nodes, rank, binary_rank) = self.sizes[at];
        Size {
            nodes,
            rank,
            binary_rank,
        }
    }
}

impl Measured {
    fn new(
        net: &Network,
        model: &str,
        query: &Query,
        level: Level,
        settings: &Settings,
    ) -> sumout::Result<Self> {
        let options = Options::default()
            .with_level(level)
            .with_seed(settings.seed)
            .with_effort(settings.effort());
        let plan = net.plan(query, &options)?;
        let start = Instant::now();
        let circuit = plan.circuit();
        let compile_seconds = plan.report().compile_seconds() + start.elapsed().as_secs_f64();
        let (entries, multiply_adds) = (
            plan.report().chosen().entries(),
            plan.report().chosen().multiply_adds(),
        );
        let rows = if entries < LARGE.0 { BATCH } else { LARGE.1 };
        let images = Scenes {
            noise: settings.noise(),
            ..Scenes::test(model)?
        }
        .examples(settings.seed)?
        .first(rows)?;
        let eval_seconds = evaluated(&circuit, &scenes::batch(net, &circuit, &images)?)?;
        Ok(Measured {
            entries,
            multiply_adds,
            compile_seconds,
            eval_seconds,
        })
    }
}

/// Seconds for an example of a batch: the median of several evaluations after a first one.
fn evaluated(circuit: &Circuit, batch: &Batch) -> sumout::Result<f64> {
    let evaluator = circuit.evaluator(&EvalOptions::default())?;
    evaluator.run(batch)?;
    let (begun, mut times) = (Instant::now(), vec![]);
    while times.len() < 3 || (times.len() < 100 && begun.elapsed().as_secs_f64() < 0.3) {
        let start = Instant::now();
        evaluator.run(batch)?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2] / batch.len() as f64)
}

/// The paper's numbers for an image, and ours.
struct Row {
    printed: &'static Image,
    found: Found,
}

impl Row {
    fn to_json(&self) -> Value {
        let Image {
            model,
            classical,
            functional,
            entries,
            eval_seconds,
            compile_seconds,
        } = self.printed;
        let by_level = |number: fn(&Measured) -> Value| -> Value {
            LEVELS
                .iter()
                .zip(&self.found.circuits)
                .map(|(level, c)| (level.name().to_owned(), number(c)))
                .collect()
        };
        json!({
            "row": model,
            "model": model,
            "network_nodes": self.found.size(0).nodes,
            "replicated_nodes": self.found.size(1).nodes,
            "classical": clusters(&self.found.size(0)),
            "functional": clusters(&self.found.size(1)),
            "entries": by_level(|circuit| json!(Count(circuit.entries))),
            "multiply_adds": by_level(|circuit| json!(Count(circuit.multiply_adds))),
            "compile_seconds": by_level(|circuit| json!(circuit.compile_seconds)),
            "eval_seconds": by_level(|circuit| json!(circuit.eval_seconds)),
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

fn clusters(size: &Size) -> Value {
    json!({"max_cluster_rank": size.rank, "max_cluster_binary_rank": size.binary_rank})
}

/// Ours and the paper's numbers of nodes and clusters.
fn structures(rows: &[Row]) -> Grid {
    let numbers = [
        ours("nodes"),
        paper("nodes"),
        ours("rank"),
        paper("rank"),
        ours("binary rank"),
        paper("binary rank"),
    ];
    let mut grid = Grid::new([&[key("model"), key("")][..], &numbers].concat());
    for Row { printed, found } in rows {
        let mut push = |name: &str, mark: &str, ours: Size, printed: &Size| {
            let numbers =
                [ours.nodes, printed.nodes, ours.rank, printed.rank].map(|n| n.to_string());
            let ranks = [ours.binary_rank, printed.binary_rank].map(|rank| format!("{rank:.1}"));
            grid.push([&[name.to_owned(), mark.to_owned()][..], &numbers, &ranks].concat());
        };
        push(printed.model, "✗", found.size(0), &printed.classical);
        push("", "✓", found.size(1), &printed.functional);
    }
    grid
}

/// Ours and the paper's entries and times.
fn sizes(rows: &[Row]) -> Grid {
    let names = [
        [
            paper("entries"),
            ours("entries: paper"),
            ours("functional"),
            ours("support"),
        ],
        [
            paper("evaluating"),
            ours("evaluating: paper"),
            ours("functional"),
            ours("support"),
        ],
        [
            paper("compiling"),
            ours("compiling: paper"),
            ours("functional"),
            ours("support"),
        ],
    ];
    let mut grid = Grid::new([&[key("model")][..], &names.concat()].concat());
    for Row { printed, found } in rows {
        let mut cells = vec![
            printed.model.to_owned(),
            Count(printed.entries as f64).to_string(),
        ];
        cells.extend(
            found
                .circuits
                .iter()
                .map(|circuit| Count(circuit.entries).to_string()),
        );
        cells.push(duration(printed.eval_seconds));
        cells.extend(
            found
                .circuits
                .iter()
                .map(|circuit| duration(circuit.eval_seconds)),
        );
        cells.push(duration(printed.compile_seconds));
        cells.extend(
            found
                .circuits
                .iter()
                .map(|circuit| duration(circuit.compile_seconds)),
        );
        grid.push(cells);
    }
    grid
}
