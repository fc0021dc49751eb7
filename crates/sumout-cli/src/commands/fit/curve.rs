//! How loss and accuracy went, as a picture.

use std::fmt::Write;

use sumout::Epoch;

use crate::text::significant;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
/// Around the curves: left, top, right, bottom.
const MARGIN: [f64; 4] = [56.0, 36.0, 48.0, 40.0];

/// A line, and what it shows.
struct Curve {
    name: &'static str,
    colour: &'static str,
    dashes: &'static str,
    points: Vec<(usize, f64)>,
}

/// Draws losses against the left axis, and accuracies against the right one. Starts that did not go on are grey.
pub fn draw(history: &[Epoch]) -> String {
    let points = |of: &dyn Fn(&Epoch) -> Option<f64>| {
        history.iter().enumerate().filter_map(|(i, epoch)| Some((i, of(epoch)?))).collect()
    };
    let mut losses = vec![
        Curve { name: "loss", colour: "#0072b2", dashes: "", points: points(&|e| Some(e.loss)) },
        Curve { name: "loss, watched", colour: "#d55e00", dashes: "6 3", points: points(&|e| Some(e.watched_loss)) },
    ];
    if losses[0].points == losses[1].points {
        losses.pop(); // nothing was watched but what was learned from
    }
    let accuracy = Curve { name: "accuracy", colour: "#009e73", dashes: "2 3", points: points(&|e| e.accuracy) };
    let values = || losses.iter().flat_map(|curve| curve.points.iter().map(|point| point.1)).filter(|y| y.is_finite());
    let (low, high) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), y| (a.min(y), b.max(y)));
    let (low, high) = if low < high { (low, high) } else { (low.min(0.0), low.max(0.0) + 1.0) };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    frame(&mut svg, history, (low, high), !accuracy.points.is_empty());
    for (index, curve) in losses.iter().enumerate() {
        curve.draw(&mut svg, history.len(), (low, high), index);
    }
    if !accuracy.points.is_empty() {
        accuracy.draw(&mut svg, history.len(), (0.0, 1.0), 2);
    }
    svg + "</svg>\n"
}

fn x(at: usize, count: usize) -> f64 {
    MARGIN[0] + (WIDTH - MARGIN[0] - MARGIN[2]) * at as f64 / (count.max(2) - 1) as f64
}

fn y(value: f64, (low, high): (f64, f64)) -> f64 {
    HEIGHT - MARGIN[3] - (HEIGHT - MARGIN[1] - MARGIN[3]) * (value - low) / (high - low)
}

/// Axes with their ends, and the starts that were tried.
fn frame(svg: &mut String, history: &[Epoch], (low, high): (f64, f64), has_accuracy: bool) {
    let (right, bottom) = (WIDTH - MARGIN[2], HEIGHT - MARGIN[3]);
    let tried = history.iter().take_while(|epoch| epoch.start.is_some()).count();
    if tried > 0 {
        let width = x(tried, history.len()).min(right) - MARGIN[0];
        let height = bottom - MARGIN[1];
        let _ = writeln!(
            svg,
            "<rect x=\"{}\" y=\"{}\" width=\"{width:.1}\" height=\"{height}\" fill=\"#eee\"/>",
            MARGIN[0], MARGIN[1]
        );
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{}\" fill=\"#666\">starts</text>", MARGIN[0] + 4.0, MARGIN[1] + 14.0);
    }
    let _ = writeln!(svg, "<path d=\"M{} {}V{bottom}H{right}\" fill=\"none\" stroke=\"#333\"/>", MARGIN[0], MARGIN[1]);
    let text = |svg: &mut String, x: f64, y: f64, anchor: &str, text: &str| {
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
    };
    text(svg, MARGIN[0] - 6.0, MARGIN[1] + 4.0, "end", &significant(high, 3));
    text(svg, MARGIN[0] - 6.0, bottom + 4.0, "end", &signed(low));
    text(svg, MARGIN[0], bottom + 18.0, "middle", "1");
    text(svg, right, bottom + 18.0, "middle", &history.len().to_string());
    text(svg, (MARGIN[0] + right) / 2.0, bottom + 32.0, "middle", "epoch");
    if has_accuracy {
        text(svg, right + 6.0, MARGIN[1] + 4.0, "start", "100 %");
        text(svg, right + 6.0, bottom + 4.0, "start", "0 %");
    }
}

fn signed(value: f64) -> String {
    format!("{}{}", if value < 0.0 { "-" } else { "" }, significant(value, 3))
}

impl Curve {
    fn draw(&self, svg: &mut String, count: usize, range: (f64, f64), index: usize) {
        let points: Vec<String> = self
            .points
            .iter()
            .filter(|point| point.1.is_finite())
            .map(|&(at, value)| format!("{:.1},{:.1}", x(at, count), y(value, range)))
            .collect();
        let (colour, dashes) = (self.colour, self.dashes);
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" stroke-dasharray=\"{dashes}\"/>",
            points.join(" ")
        );
        let left = MARGIN[0] + 130.0 * index as f64;
        let _ = writeln!(
            svg,
            "<path d=\"M{left} 18h22\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"/>"
        );
        let _ = writeln!(svg, "<text x=\"{}\" y=\"22\">{}</text>", left + 28.0, self.name);
    }
}
