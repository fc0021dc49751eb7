//! Functions that tests approximate, and what tests learn.

use serde_json::Value;

use super::{BEST, PRINTED, linear, number};
use crate::page::plot::{Axis, Line, Look, Panel, Spread, figure};

/// Each function with its approximations.
pub fn functions(rows: &[Value]) -> Option<String> {
    let mut names: Vec<&str> = rows
        .iter()
        .filter(|row| row["points"].is_array())
        .map(function)
        .collect();
    names.dedup();
    let panels: Vec<Panel> = names
        .iter()
        .map(|name| panel(name, rows))
        .chain(markov(rows))
        .collect();
    let explanation = "Left: monotone functions of a probability, and testing networks with so many tests. Last: each point is a hidden \
        Markov model; above zero, tests predict better.";
    (!panels.is_empty()).then(|| figure("plot-tac", "Testing circuits", explanation, &panels))
}

fn function(row: &Value) -> &str {
    row["row"]
        .as_str()
        .and_then(|name| name.split('/').next())
        .unwrap_or_default()
}

fn unit(label: &'static str) -> Axis {
    let ticks = (0..=5)
        .map(|k| f64::from(k) / 5.0)
        .map(|x| (x, format!("{x}")))
        .collect();
    Axis {
        label,
        low: 0.0,
        high: 1.0,
        is_log: false,
        ticks,
    }
}

fn panel(name: &str, rows: &[Value]) -> Panel {
    let of = |row: &Value, column: usize| {
        let points = row["points"].as_array().map_or(&[][..], Vec::as_slice);
        points
            .iter()
            .map(|point| (number(&point[0]), number(&point[column]), 0.0))
            .collect::<Vec<_>>()
    };
    let rows: Vec<&Value> = rows
        .iter()
        .filter(|row| function(row) == name && row["points"].is_array())
        .collect();
    let coarse = rows.iter().min_by_key(|row| row["tests"].as_u64());
    let truth = coarse.map(|row| Line {
        name: "the function".into(),
        look: PRINTED,
        points: of(row, 1),
    });
    let found = coarse.map(|row| Line {
        name: format!("{} tests", row["tests"]),
        look: BEST,
        points: of(row, 2),
    });
    let lines = truth.into_iter().chain(found).collect();
    Panel {
        title: name.to_owned(),
        x: unit("x"),
        y: unit("f(x)"),
        spread: Spread::None,
        lines,
    }
}

/// The reduction of the cross entropy by tests, over the cross entropy without them.
fn markov(rows: &[Value]) -> Option<Panel> {
    let row = rows.iter().find(|row| row["row"] == "hmm")?;
    let saved = |pair: &Value| {
        (
            number(&pair[0]),
            1000.0 * (number(&pair[0]) - number(&pair[1])),
        )
    };
    let pairs: Vec<(f64, f64)> = row["pairs"].as_array()?.iter().map(saved).collect();
    let largest = pairs.iter().map(|(_, y)| y.abs()).fold(1.0, f64::max);
    let high = (largest / 5.0).ceil() * 5.0;
    let none = Look {
        dashes: "0 1000",
        ..BEST
    };
    let models = pairs.into_iter().map(|(x, y)| Line {
        name: "a model".into(),
        look: none,
        points: vec![(x, y, 0.0)],
    });
    let even = Line {
        name: "as good".into(),
        look: PRINTED,
        points: vec![(0.0, 0.0, 0.0), (0.8, 0.0, 0.0)],
    };
    let x = Axis {
        label: "cross entropy without tests",
        high: 0.8,
        ..unit("")
    };
    let x = Axis {
        ticks: x
            .ticks
            .into_iter()
            .filter(|(tick, _)| *tick < 0.9)
            .collect(),
        ..x
    };
    let y = linear("saved by tests, thousandths", -high, high, high);
    let lines = [even].into_iter().chain(models).collect();
    Some(Panel {
        title: "hidden Markov models".into(),
        x,
        y,
        spread: Spread::None,
        lines,
    })
}
