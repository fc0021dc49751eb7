//! Draws the learning curve: two panels, one above the other.
//!
//! Epochs of the start that went on are counted from 1. Before them, from 0 down, stand the epochs
//! of all starts, in grey, so that the one that went on meets the curve that it became. A dot is
//! the epoch whose parameters were kept.

use std::fmt::Write;

use sumout::Epoch;

use crate::text::significant;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = WIDTH - 20.0;
/// The minimum ratio of losses for a logarithmic axis.
const WIDE: f64 = 20.0;

const TRAINING: &str = "#0072b2";
const VALIDATION: &str = "#d55e00";
const ACCURACY: &str = "#009e73";
const TRIED: &str = "#bbb";

/// Draws a history, of which an epoch was kept.
pub fn draw(history: &[Epoch], kept: Option<usize>) -> String {
    let time = Time::new(history);
    let has_validation = history
        .iter()
        .any(|epoch| epoch.loss != epoch.validation_loss);
    let has_accuracy = history.iter().any(|epoch| epoch.accuracy.is_some());
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let (top, bottom) = (40.0, if has_accuracy { 250.0 } else { HEIGHT - 48.0 });
    let mut curves = vec![Curve {
        colour: TRAINING,
        dashes: "",
        of: |epoch| Some(epoch.loss),
    }];
    let mut names = vec![("training loss", TRAINING)];
    if has_validation {
        curves.push(Curve {
            colour: VALIDATION,
            dashes: "6 3",
            of: |epoch| Some(epoch.validation_loss),
        });
        names.push(("validation loss", VALIDATION));
    }
    let losses = Scale::of_losses(history, &curves, top, bottom);
    Panel {
        time: &time,
        scale: losses,
        curves,
        kept,
    }
    .draw(history, &mut svg);
    if has_accuracy {
        let scale = Scale::of_accuracies(history, bottom + 36.0, HEIGHT - 48.0);
        let curves = vec![Curve {
            colour: ACCURACY,
            dashes: "",
            of: |epoch| epoch.accuracy.map(|a| 100.0 * a),
        }];
        Panel {
            time: &time,
            scale,
            curves,
            kept,
        }
        .draw(history, &mut svg);
        names.push(("accuracy in per cent", ACCURACY));
    }
    if time.tried > 0 {
        names.push(("starts", TRIED));
    }
    legend(&names, &mut svg);
    time.draw_axis(&mut svg);
    svg + "</svg>\n"
}

/// The labels of epochs, and their positions.
struct Time {
    /// The epochs of each start, and of the one that went on.
    tried: usize,
    run: usize,
}

impl Time {
    fn new(history: &[Epoch]) -> Self {
        let run = history.iter().filter(|epoch| epoch.start.is_none()).count();
        let tried = |start| {
            history
                .iter()
                .filter(|epoch| epoch.start == Some(start))
                .count()
        };
        let starts = history
            .iter()
            .filter_map(|epoch| epoch.start)
            .max()
            .map_or(0, |last| last + 1);
        Time {
            tried: (0..starts).map(tried).max().unwrap_or(0),
            run,
        }
    }

    /// Places are of epochs from 1 - tried to run.
    fn x(&self, epoch: f64) -> f64 {
        let first = 1.0 - self.tried as f64;
        let width = (self.run as f64 - first).max(1.0);
        LEFT + (RIGHT - LEFT) * (epoch - first) / width
    }

    /// The number of an epoch in the picture.
    fn number(&self, history: &[Epoch], at: usize) -> f64 {
        let same = |epoch: &&Epoch| epoch.start == history[at].start;
        let before = history[..at].iter().filter(same).count() as f64;
        match history[at].start {
            Some(_) => before + 1.0 - self.tried as f64,
            None => before + 1.0,
        }
    }

    fn draw_axis(&self, svg: &mut String) {
        for epoch in ticks(1.0 - self.tried as f64, self.run as f64, 8) {
            text(
                svg,
                (self.x(epoch), HEIGHT - 32.0),
                "middle",
                &epoch.to_string(),
            );
        }
        text(
            svg,
            ((LEFT + RIGHT) / 2.0, HEIGHT - 12.0),
            "middle",
            "epoch",
        );
    }
}

/// Round numbers between two.
fn ticks(low: f64, high: f64, most: usize) -> Vec<f64> {
    let rough = ((high - low) / most as f64).max(f64::MIN_POSITIVE);
    let unit = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|k| k * unit)
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or(unit);
    let step = if high - low >= 1.0 && high.fract() == 0.0 && low.fract() == 0.0 {
        step.max(1.0)
    } else {
        step
    };
    let count = ((high / step).floor() - (low / step).ceil()).max(0.0) as usize;
    (0..=count)
        .map(|k| ((low / step).ceil() + k as f64) * step)
        .filter(|x| *x <= high)
        .collect()
}

/// From numbers to places on a vertical axis.
struct Scale {
    low: f64,
    high: f64,
    is_logarithmic: bool,
    top: f64,
    bottom: f64,
}

impl Scale {
    fn of_losses(history: &[Epoch], curves: &[Curve], top: f64, bottom: f64) -> Self {
        let values = || {
            curves
                .iter()
                .flat_map(|c| history.iter().filter_map(c.of))
                .filter(|y| y.is_finite() && *y < f64::MAX)
        };
        let (low, high) = range(values());
        let is_logarithmic = low > 0.0 && high > WIDE * low;
        // Curves do not lie on the axis.
        let low = if is_logarithmic {
            0.8 * low
        } else {
            low - 0.05 * (high - low)
        };
        Scale {
            low,
            high,
            is_logarithmic,
            top,
            bottom,
        }
    }

    fn of_accuracies(history: &[Epoch], top: f64, bottom: f64) -> Self {
        let (low, _) = range(history.iter().filter_map(|epoch| epoch.accuracy));
        let low = (100.0 * low / 10.0).floor().min(9.0) * 10.0;
        Scale {
            low,
            high: 100.0,
            is_logarithmic: false,
            top,
            bottom,
        }
    }

    fn y(&self, value: f64) -> f64 {
        let share = match self.is_logarithmic {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        self.bottom - (self.bottom - self.top) * share.clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<f64> {
        if !self.is_logarithmic {
            return ticks(self.low, self.high, 5);
        }
        let decades = (self.low.log10().floor() as i32)..=(self.high.log10().ceil() as i32);
        let all = decades.flat_map(|k| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(k)));
        let all: Vec<f64> = all.filter(|x| (self.low..=self.high).contains(x)).collect();
        let every = all.len().div_ceil(6).max(1);
        all.into_iter().step_by(every).collect()
    }
}

/// The least and the largest, apart from each other.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), y| {
        (a.min(y), b.max(y))
    });
    match low.partial_cmp(&high) {
        Some(std::cmp::Ordering::Less) => (low, high),
        Some(std::cmp::Ordering::Equal) => (low - 0.5, high + 0.5),
        _ => (0.0, 1.0),
    }
}

/// A number of each epoch.
struct Curve {
    colour: &'static str,
    dashes: &'static str,
    of: fn(&Epoch) -> Option<f64>,
}

struct Panel<'a> {
    time: &'a Time,
    scale: Scale,
    curves: Vec<Curve>,
    kept: Option<usize>,
}

impl Panel<'_> {
    fn draw(&self, history: &[Epoch], svg: &mut String) {
        self.draw_grid(svg);
        let starts = history
            .iter()
            .filter_map(|epoch| epoch.start)
            .max()
            .map_or(0, |last| last + 1);
        for start in 0..starts {
            self.line(
                history,
                &self.curves[self.curves.len() - 1],
                Some(start),
                svg,
            );
        }
        for curve in &self.curves {
            self.line(history, curve, None, svg);
            let kept = self
                .kept
                .and_then(|at| Some((at, (curve.of)(&history[at])?)));
            if let Some((at, value)) = kept {
                let (x, y) = (
                    self.time.x(self.time.number(history, at)),
                    self.scale.y(value),
                );
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{}\"/>",
                    curve.colour
                );
            }
        }
    }

    /// The line of a start, or of what went on.
    fn line(&self, history: &[Epoch], curve: &Curve, start: Option<usize>, svg: &mut String) {
        let points: Vec<String> = (0..history.len())
            .filter(|&at| history[at].start == start)
            .filter_map(|at| Some((self.time.number(history, at), (curve.of)(&history[at])?)))
            .filter(|(_, value)| value.is_finite())
            .map(|(epoch, value)| format!("{:.1},{:.1}", self.time.x(epoch), self.scale.y(value)))
            .collect();
        let (colour, dashes) = if start.is_some() {
            (TRIED, "")
        } else {
            (curve.colour, curve.dashes)
        };
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" stroke-dasharray=\"{dashes}\"/>",
            points.join(" ")
        );
    }

    fn draw_grid(&self, svg: &mut String) {
        for value in self.scale.ticks() {
            let y = self.scale.y(value);
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {y:.1}H{RIGHT}\" stroke=\"#e6e6e6\"/>"
            );
            let sign = if value < 0.0 { "-" } else { "" };
            text(
                svg,
                (LEFT - 8.0, y + 4.0),
                "end",
                &format!("{sign}{}", short(value.abs())),
            );
        }
        let Scale { top, bottom, .. } = self.scale;
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {top}V{bottom}H{RIGHT}\" fill=\"none\" stroke=\"#333\"/>"
        );
        if self.time.tried > 0 {
            let x = self.time.x(0.5);
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} {top}V{bottom}\" stroke=\"#999\" stroke-dasharray=\"2 3\"/>"
            );
        }
    }
}

/// A round number without zeros at its end.
fn short(x: f64) -> String {
    let text = significant(x, 3);
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn legend(names: &[(&str, &str)], svg: &mut String) {
    let mut x = LEFT;
    for (name, colour) in names {
        let _ = writeln!(
            svg,
            "<path d=\"M{x} 18h22\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        );
        text(svg, (x + 28.0, 22.0), "start", name);
        x += 52.0 + 6.5 * name.len() as f64;
    }
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}
