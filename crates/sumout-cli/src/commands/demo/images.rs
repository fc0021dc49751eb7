//! Noisy images, the cost of a circuit for them, and its answers.

use std::io::Write;

use serde_json::{Value, json};
use sumout::internals::Count;
use sumout::{Network, Options, Query, Report};
use sumout_paper::scenes::{self, Scenes};

use crate::output::Result;
use crate::text::{Align, table};

/// How many images of a kind are shown, side by side.
const IMAGES: usize = 4;

/// The width of a bar for certainty.
const BAR: usize = 30;

/// Images of one kind.
pub struct Story {
    model: &'static str,
    question: &'static str,
    report: Report,
    values: Vec<String>,
    /// For each image the positions of its pixels' values, and of its label.
    images: Vec<Vec<u32>>,
    posteriors: Vec<Vec<f64>>,
}

impl Story {
    pub fn rectangles() -> sumout::Result<Self> {
        Self::new(
            "rect:10",
            "A rectangle in 10×10 pixels: is it tall or wide?",
            "label",
            "pixel_*",
        )
    }

    pub fn digits() -> sumout::Result<Self> {
        Self::new(
            "digits:10",
            "A seven-segment digit, anywhere: which one?",
            "d",
            "p_*",
        )
    }

    fn new(
        model: &'static str,
        question: &'static str,
        target: &str,
        inputs: &str,
    ) -> sumout::Result<Self> {
        let net = Network::read(model)?;
        let plan = net.plan(
            &Query::of(target).given([inputs]),
            &Options::default().with_effort(0.1),
        )?;
        let circuit = plan.circuit();
        let images = Scenes::test(model)?.examples(SEED)?.first(IMAGES)?;
        let answers = circuit.evaluate(&scenes::batch(&net, &circuit, &images)?)?;
        let name = |value: &String| value.strip_prefix('v').unwrap_or(value).to_owned();
        Ok(Story {
            model,
            question,
            report: plan.report().clone(),
            values: net
                .variable(net.find(target)?)
                .values
                .iter()
                .map(name)
                .collect(),
            images: (0..IMAGES).map(|at| images.row(at)).collect(),
            posteriors: (0..IMAGES).map(|at| answers.row(at).to_vec()).collect(),
        })
    }

    /// Draws the images.
    pub fn show(&self, out: &mut dyn Write) -> Result<()> {
        writeln!(out, "{}", self.question)?;
        let side = (self.images[0].len() - 1).isqrt();
        for row in 0..side {
            let line: Vec<String> = self
                .images
                .iter()
                .map(|image| pixels(&image[row * side..][..side]))
                .collect();
            writeln!(out, "  {}", line.join("   ").trim_end())?;
        }
        Ok(writeln!(out)?)
    }

    /// The most probable values of each image.
    pub fn believe(&self, out: &mut dyn Write) -> Result<()> {
        for (image, posterior) in self.images.iter().zip(&self.posteriors) {
            let truth = image[image.len() - 1] as usize;
            let best = (0..posterior.len())
                .max_by(|&a, &b| posterior[a].total_cmp(&posterior[b]))
                .unwrap_or(0);
            let mark = if best == truth { "✓" } else { "✗" };
            let bar = "█".repeat((posterior[best] * BAR as f64).round() as usize);
            let (truth, best, p) = (&self.values[truth], &self.values[best], posterior[best]);
            writeln!(
                out,
                "  {truth:<4}  is taken for {best:<4}  with probability {p:.4}  {mark}  {bar}"
            )?;
        }
        Ok(())
    }

    pub fn images_json(&self) -> Vec<Value> {
        let side = (self.images[0].len() - 1).isqrt();
        let rows = |image: &[u32]| -> Vec<String> {
            (0..side)
                .map(|row| {
                    image[row * side..][..side]
                        .iter()
                        .map(|&v| if v == 0 { '#' } else { '.' })
                        .collect()
                })
                .collect()
        };
        let posterior = |p: &[f64]| -> Value {
            self.values
                .iter()
                .cloned()
                .zip(p.iter().map(|p| json!(p)))
                .collect()
        };
        let image = |(image, p): (&Vec<u32>, &Vec<f64>)| {
            let label = &self.values[image[image.len() - 1] as usize];
            json!({"model": self.model, "label": label, "pixels": rows(image), "posterior": posterior(p)})
        };
        self.images
            .iter()
            .zip(&self.posteriors)
            .map(image)
            .collect()
    }

    pub fn cost_json(&self) -> Value {
        json!({"model": self.model, "report": self.report})
    }
}

/// The same images each time.
const SEED: u64 = 2;

/// A row of an image; a pixel is about as wide as it is high.
fn pixels(row: &[u32]) -> String {
    row.iter()
        .map(|&value| if value == 0 { "██" } else { "··" })
        .collect()
}

/// The cost of circuits without functions and with them.
pub fn compare(stories: &[Story], out: &mut dyn Write) -> Result<()> {
    let mut rows =
        vec![["", "", "largest table", "numbers for an image", "products"].map(String::from)];
    for Story { model, report, .. } in stories {
        for (name, kind, extent) in [
            (*model, "variable elimination", report.classical()),
            ("", "sumout", report.chosen()),
        ] {
            let [entries, products] =
                [extent.entries(), extent.multiply_adds()].map(|count| size(count.log2()));
            let rank = size(extent.max_cluster_binary_rank());
            rows.push([name.into(), kind.into(), rank, entries, products]);
        }
    }
    table(
        out,
        [
            Align::Left,
            Align::Left,
            Align::Right,
            Align::Right,
            Align::Right,
        ],
        &rows,
    )?;
    writeln!(
        out,
        "\nA row of a rectangle is on or off, and that is a function of where it begins and how high it is. Functions"
    )?;
    Ok(writeln!(
        out,
        "let variables be summed out sooner; and states that they exclude are never stored."
    )?)
}

/// A number, from its logarithm to base 2.
fn size(rank: f64) -> String {
    if rank < 30.0 {
        Count(rank.exp2().round()).to_string()
    } else {
        format!("2^{rank:.1}")
    }
}
