//! The plots: reductions of ranks, accuracies, times, and functions that tests approximate.

mod testing;

use serde_json::Value;

use super::plot::{Axis, Line, Look, Mark, Panel, Spread, figure};
use crate::grid::{TAC, Table};
use crate::text::duration;

const PRINTED: Look = Look {
    colour: "grey",
    dashes: "5 4",
    mark: Mark::Circle,
};
const AS_PAPER: Look = Look {
    colour: "orange",
    dashes: "",
    mark: Mark::Square,
};
const BETTER: Look = Look {
    colour: "blue",
    dashes: "8 3",
    mark: Mark::Triangle,
};
const BEST: Look = Look {
    colour: "green",
    dashes: "",
    mark: Mark::Diamond,
};

/// The plots that the tables have numbers for.
pub fn figures(tables: &[Table]) -> String {
    let of = |number: u32| {
        tables
            .iter()
            .find(|table| table.number == number)
            .map_or(&[][..], |table| &table.rows)
    };
    let plots = [
        ranks(of(5)),
        accuracies(of(2), of(4)),
        times(of(1), of(3)),
        testing::functions(of(TAC)),
    ];
    if plots.iter().all(Option::is_none) {
        return String::new();
    }
    format!(
        "<section id=\"plots\">\n<h2>Plots</h2>\n{}</section>\n",
        plots.into_iter().flatten().collect::<String>()
    )
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// A point with a mean and a standard deviation.
fn point(x: &Value, mean: &Value) -> (f64, f64, f64) {
    let deviation = mean["stdev"].as_f64().unwrap_or(0.0); // that of a single run is not known
    (number(x), number(&mean["mean"]), deviation)
}

/// By how much the largest cluster shrinks, by the share of functions, for each size of networks.
fn ranks(rows: &[Value]) -> Option<String> {
    let mut sizes: Vec<u64> = rows
        .iter()
        .filter_map(|row| row["nodes"].as_u64())
        .collect();
    sizes.dedup();
    let panels: Vec<Panel> = sizes.iter().map(|nodes| rank(*nodes, rows)).collect();
    let explanation = "How many times the largest cluster can be halved, random networks of Table 5; bars are standard deviations.";
    (!panels.is_empty()).then(|| {
        figure(
            "plot-ranks",
            "Rank reduction by share of functional nodes",
            explanation,
            &panels,
        )
    })
}

/// The networks with this many nodes.
fn rank(nodes: u64, rows: &[Value]) -> Panel {
    let rows: Vec<&Value> = rows
        .iter()
        .filter(|row| row["nodes"].as_u64() == Some(nodes))
        .collect();
    let best = |row: &Value| number(&row["original"]["mean"]) - number(&row["ours"]["mean"]);
    let line = |name: &str, look: Look, point: &dyn Fn(&Value) -> (f64, f64, f64)| {
        let points = rows.iter().map(|row| point(row)).collect();
        Line {
            name: name.into(),
            look,
            points,
        }
    };
    let share = |row: &Value| number(&row["functional_percent"]);
    let highest = rows
        .iter()
        .map(|row| best(row) + number(&row["paper"]["reduction"]["stdev"]))
        .fold(1.0, f64::max);
    let step = if highest > 20.0 { 10.0 } else { 5.0 };
    let ticks = rows
        .iter()
        .map(|row| (share(row), share(row).to_string()))
        .collect();
    Panel {
        title: format!("{nodes} nodes, up to {} parents", rows[0]["max_parents"]),
        x: Axis {
            label: "functional nodes, per cent",
            low: 20.0,
            high: 85.0,
            is_log: false,
            ticks,
        },
        y: linear(
            "reduction of the binary rank",
            0.0,
            (highest / step).ceil() * step,
            step,
        ),
        spread: Spread::Bars,
        lines: vec![
            line("printed", PRINTED, &|row| {
                point(&row["functional_percent"], &row["paper"]["reduction"])
            }),
            line("replicated, min-fill", AS_PAPER, &|row| {
                point(&row["functional_percent"], &row["reduction"])
            }),
            line("best plan found", BEST, &|row| (share(row), best(row), 0.0)),
        ],
    }
}

/// Accuracies by number of examples, with bands.
fn accuracies(rectangles: &[Value], digits: &[Value]) -> Option<String> {
    let titles = [
        ("rectangles, 10 × 10", rectangles),
        ("digits, 10 × 10", digits),
    ];
    let panels: Vec<Panel> = titles
        .into_iter()
        .filter(|(_, rows)| !rows.is_empty())
        .map(|(t, r)| accuracy(t, r))
        .collect();
    let explanation = "Functions fixed; bands are a standard deviation of the runs on each side.";
    (!panels.is_empty()).then(|| {
        figure(
            "plot-accuracy",
            "Accuracy by number of training examples",
            explanation,
            &panels,
        )
    })
}

fn accuracy(title: &str, rows: &[Value]) -> Panel {
    let lines: Vec<Line> = rows.iter().flat_map(curves).collect();
    let lowest = lines
        .iter()
        .flat_map(|line| &line.points)
        .map(|(_, y, spread)| y - spread)
        .fold(90.0, f64::min);
    let low = (lowest / 10.0).floor().max(0.0) * 10.0;
    let ticks = [25, 50, 100, 250, 500, 1000]
        .map(|n| (f64::from(n), n.to_string()))
        .to_vec();
    let x = Axis {
        label: "training examples",
        low: 22.0,
        high: 1120.0,
        is_log: true,
        ticks,
    };
    Panel {
        title: title.into(),
        x,
        y: linear("accuracy, per cent", low, 100.0, 10.0),
        spread: Spread::Band,
        lines,
    }
}

/// The printed accuracies and ours; of the default preset, nothing is printed.
fn curves(row: &Value) -> Vec<Line> {
    let mut lines = vec![];
    let found = row["accuracies"].as_array().map_or(&[][..], Vec::as_slice);
    let is_trainable = row["model"]
        .as_str()
        .is_some_and(|model| model.ends_with(",trainable"));
    let kind = if is_trainable {
        ", functions unknown"
    } else {
        ""
    };
    let is_default = row["preset"] == "default";
    if !is_default {
        let look = if is_trainable {
            Look {
                dashes: "2 3",
                ..PRINTED
            }
        } else {
            PRINTED
        };
        let points = found
            .iter()
            .map(|at| point(&at["examples"], &at["paper"]))
            .collect();
        lines.push(Line {
            name: format!("printed{kind}"),
            look,
            points,
        });
    }
    let look = match (is_default, is_trainable) {
        (false, false) => AS_PAPER,
        (true, false) => BEST,
        (false, true) => Look {
            dashes: "2 3",
            ..AS_PAPER
        },
        (true, true) => Look {
            dashes: "2 3",
            ..BEST
        },
    };
    let name = if is_default {
        "default preset"
    } else {
        "paper's preset"
    };
    let points = found.iter().map(|at| point(&at["examples"], at)).collect();
    lines.push(Line {
        name: format!("{name}{kind}"),
        look,
        points,
    });
    lines
}

/// Times by size of images.
fn times(rectangles: &[Value], digits: &[Value]) -> Option<String> {
    let titles = [("rectangles", rectangles), ("digits", digits)];
    let panels: Vec<Panel> = titles
        .into_iter()
        .filter(|(_, rows)| !rows.is_empty())
        .map(|(t, r)| time(t, r))
        .collect();
    let explanation =
        "Forward, in a batch; the printed times are of another machine, and of TensorFlow.";
    (!panels.is_empty()).then(|| {
        figure(
            "plot-time",
            "Time per example by image size",
            explanation,
            &panels,
        )
    })
}

fn time(title: &str, rows: &[Value]) -> Panel {
    let size = |row: &Value| -> f64 {
        row["model"]
            .as_str()
            .and_then(|model| model.split(':').nth(1)?.parse().ok())
            .unwrap_or(f64::NAN)
    };
    let line = |name: &str, look: Look, time: &dyn Fn(&Value) -> f64| {
        let points = rows.iter().map(|row| (size(row), time(row), 0.0)).collect();
        Line {
            name: name.into(),
            look,
            points,
        }
    };
    let level = |name: &'static str| move |row: &Value| number(&row["eval_seconds"][name]);
    let sizes: Vec<f64> = rows.iter().map(size).collect();
    let (first, last) = (sizes[0], sizes[sizes.len() - 1]);
    let ticks = sizes.iter().map(|n| (*n, format!("{n}²"))).collect();
    let x = Axis {
        label: "pixels",
        low: first - 0.7,
        high: last + 0.7,
        is_log: false,
        ticks,
    };
    let decades = (-7..=0)
        .map(|power| {
            (
                10f64.powi(power),
                duration(10f64.powi(power)).replace(".00", ""),
            )
        })
        .collect();
    let y = Axis {
        label: "an example",
        low: 1e-7,
        high: 1.0,
        is_log: true,
        ticks: decades,
    };
    let lines = vec![
        line("printed", PRINTED, &|row| {
            number(&row["paper"]["eval_seconds"])
        }),
        line("the paper's plan", AS_PAPER, &level("paper")),
        line("functional level", BETTER, &level("functional")),
        line("support level", BEST, &level("support")),
    ];
    Panel {
        title: title.into(),
        x,
        y,
        spread: Spread::None,
        lines,
    }
}

fn linear(label: &'static str, low: f64, high: f64, step: f64) -> Axis {
    let count = ((high - low) / step).round() as usize;
    let ticks = (0..=count)
        .map(|k| low + step * k as f64)
        .map(|y| (y, y.to_string()))
        .collect();
    Axis {
        label,
        low,
        high,
        is_log: false,
        ticks,
    }
}
