//! `sumout data`: the images that the paper trains and tests on, one row each.

use std::io::Write;
use std::path::{Path, PathBuf};

use sumout::Network;
use sumout_paper::scenes::{Noise, Scenes, Split};

use crate::data::Cases;
use crate::output::{Outcome, Result, talk};
use crate::patience::patiently;
use crate::text::counted;

const EXAMPLES: &str = "\
Examples:
  sumout data rect:10 -n 1000 -o train.csv         1,000 noisy rectangles, with labels
  sumout data rect:10 -n 1000 --test -o test.csv   others, with more noise, to test what was learned
  sumout data digits:10 -n 1000 --seed 7 -o train.npy
  sumout data digits:10 --clean -o digits.parquet  all digits in all places, without noise

Columns are the pixels, row by row, and then the label: `pixel_i_j` and `label`, or `p_i_j` and `d`.";

/// Images of rectangles or digits with labels: the paper's data sets.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The model: `rect:N` or `digits:N`.
    model: String,

    /// The number of images, chosen at random; without it, all of them in order.
    #[arg(short = 'n', long, value_name = "N")]
    rows: Option<usize>,

    /// Test images instead of training images.
    #[arg(long)]
    test: bool,

    /// The same seed gives the same images.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Only images without noise.
    #[arg(long)]
    clean: bool,

    /// Use the noise for rectangles of the paper's text, not of its authors' program.
    #[arg(long, conflicts_with = "clean")]
    as_printed: bool,

    /// The file to write, .csv, .parquet or .npy; without it, CSV to standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(args: &Args, json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let images = args.scenes()?.examples(args.seed)?;
    let images = if let Some(count) = args.rows {
        images.first(count)?
    } else {
        images
    };
    let net = Network::read(&args.model)?;
    let (columns, rows) = (images.columns(&net)?, images.len());
    let mut order = 0..rows;
    let next = Box::new(move |to: &mut Vec<u32>| {
        to.extend(order.next().map(|at| images.row(at)).unwrap_or_default());
        Ok(())
    });
    let path = args
        .output
        .as_deref()
        .filter(|path| *path != Path::new("-"));
    let mut cases = Cases {
        net: &net,
        columns,
        rows: rows as u64,
        next,
    };
    match path {
        None => cases.write(path, json, out)?,
        Some(_) => patiently("drawing images", || cases.write(path, json, out))?,
    }
    if let Some(path) = path {
        talk(&format!(
            "wrote {} to {}",
            counted(rows, "image"),
            path.display()
        ));
    }
    Ok(Outcome::Done)
}

impl Args {
    fn scenes(&self) -> sumout::Result<Scenes> {
        let split = if self.test {
            Split::Test
        } else {
            Split::Training
        };
        let noise = match (self.clean, self.as_printed) {
            (true, _) => Noise::None,
            (_, true) => Noise::Printed,
            _ => Noise::Released,
        };
        Ok(Scenes {
            split,
            noise,
            ..Scenes::training(&self.model)?
        })
    }
}
