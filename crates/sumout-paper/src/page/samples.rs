//! Some noisy images, and what is to be believed of them.

use sumout::{Network, Options, Query};

use crate::Settings;
use crate::scenes::{self, Scenes};

/// How many images there are of each kind.
const IMAGES: usize = 7;

/// Images of rectangles and of digits, with the posteriors of their labels.
pub fn figures(settings: &Settings) -> sumout::Result<String> {
    let rectangles = figure(
        "samples-rectangles",
        "Rectangles: tall or wide?",
        "rect:10",
        "label",
        "pixel_*",
        settings,
    )?;
    let digits = figure(
        "samples-digits",
        "Which digit?",
        "digits:10",
        "d",
        "p_*",
        settings,
    )?;
    Ok(format!(
        "<section id=\"samples\">\n<h2>Noisy images, and their posteriors</h2>\n{rectangles}{digits}</section>\n"
    ))
}

fn figure(
    id: &str,
    caption: &str,
    model: &str,
    target: &str,
    inputs: &str,
    settings: &Settings,
) -> sumout::Result<String> {
    let net = Network::read(model)?;
    let options = Options::default().with_seed(settings.seed).with_effort(0.1);
    let circuit = net.compile(&Query::of(target).given([inputs]), &options)?;
    let images = Scenes {
        noise: settings.noise(),
        ..Scenes::test(model)?
    }
    .examples(settings.seed)?
    .first(IMAGES)?;
    let rows: Vec<Vec<u32>> = (0..IMAGES).map(|at| images.row(at)).collect();
    let batch = scenes::batch(&net, &circuit, &images)?;
    let answers = circuit.evaluate(&batch)?;
    let values: Vec<&str> = net
        .variable(net.find(target)?)
        .values
        .iter()
        .map(|value| value.strip_prefix('v').unwrap_or(value))
        .collect();
    let drawn: String = rows
        .iter()
        .enumerate()
        .map(|(at, row)| image(row, answers.row(at), &values))
        .collect();
    Ok(format!(
        "<figure id=\"{id}\">\n<figcaption>{caption}<span>Images to test on, 10 × 10 pixels, with the noise of the paper; bars are \
         posteriors given all pixels, before anything is learned. The true label is marked.</span></figcaption>\n\
         <ul class=\"samples\">\n{drawn}</ul>\n</figure>\n"
    ))
}

/// The height of the bars below an image whose side is 100.
const BARS: f64 = 34.0;

/// Pixels row by row and then the label, and the probability of each value.
fn image(row: &[u32], posterior: &[f64], values: &[&str]) -> String {
    let (label, pixels) = row.split_last().expect("an image has a label");
    let side = pixels.len().isqrt();
    let cell = 100.0 / side as f64;
    let mut svg = format!(
        "<svg viewBox=\"0 0 100 {:.0}\" role=\"img\" aria-label=\"a noisy image\"><rect width=\"100\" height=\"100\" \
         fill=\"var(--off)\"/>",
        104.0 + BARS + 13.0
    );
    for (at, _) in pixels.iter().enumerate().filter(|(_, value)| **value == 0) {
        let (x, y) = ((at % side) as f64 * cell, (at / side) as f64 * cell);
        let size = cell - 0.6;
        svg += &format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{size:.1}\" height=\"{size:.1}\" fill=\"var(--on)\"/>"
        );
    }
    svg += &bars(posterior, values, *label as usize);
    let best = (0..posterior.len())
        .max_by(|&a, &b| posterior[a].total_cmp(&posterior[b]))
        .unwrap_or(0);
    let (class, mark) = if best == *label as usize {
        ("right", "✓")
    } else {
        ("wrong", "✗")
    };
    format!(
        "<li>{svg}</svg><span class=\"verdict {class}\"><span>{}</span><span>{:.3} {mark}</span></span></li>\n",
        values[best], posterior[best]
    )
}

fn bars(posterior: &[f64], values: &[&str], label: usize) -> String {
    let width = 100.0 / posterior.len() as f64;
    let bar = |(at, p): (usize, &f64)| {
        let (x, height) = (at as f64 * width, (BARS * p).max(0.6));
        let colour = if at == label { "green" } else { "grey" };
        let weight = if at == label {
            " font-weight=\"700\""
        } else {
            ""
        };
        format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\" fill=\"var(--{colour})\"/>\
             <text class=\"soft\" x=\"{:.1}\" y=\"{}\" style=\"font-size:9px\" text-anchor=\"middle\"{weight}>{}</text>",
            x + 0.8,
            104.0 + BARS - height,
            width - 1.6,
            x + width / 2.0,
            104.0 + BARS + 10.0,
            values[at]
        )
    };
    posterior.iter().enumerate().map(bar).collect()
}
