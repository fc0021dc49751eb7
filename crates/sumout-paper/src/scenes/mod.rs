//! The data sets of the paper: images of all rectangles or of all digits, clean and with noise.
//!
//! | | clean images | noisy copies of each | pixels that noise turns on |
//! |---|---|---|---|
//! | rectangles | all of an N × N image, but no squares | N to train on, 2N to test on | min(N, a − 1, ⌊2b/3⌋), to test on 2N for N |
//! | digits | all that fit, with segments of 4 pixels | 100 to train on, 200 to test on | N |
//!
//! Here a is the number of pixels that are on, and b of those that noise may turn on. Noise leaves
//! the pixels around a rectangle alone, and may choose a pixel twice; those of digits are any
//! pixels that are off, and different ones. A rectangle that leaves no room for noise has no
//! copies. Clean images are part of both sets. This is what the released program of the paper's
//! authors does. The paper's text says [otherwise](Noise::Printed) of rectangles.
//!
//! From 14 rows on the digits at the top occur twice, as in that program, which goes through
//! heights of digits that are not drawn.
//!
//! An image depends on nothing but the seed and its place in the set, so that a few of many images
//! are drawn at once.

mod columns;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::internals::{HEIGHT, WIDTH, covers, number, within};
use sumout::{Dataset, Error, ErrorKind, Network, Result, VarId};

pub use columns::{batch, examples};

/// With this many rows there are 18 million rectangle images to test on.
const MAX_ROWS: usize = 32;

/// The content of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A rectangle, which is tall or wide.
    Rectangles,
    /// One of ten digits.
    Digits,
}

/// The purpose of images: training or testing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// To learn from.
    Training,
    /// To see what was learned.
    Test,
}

/// How images are made noisy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// Not at all: there are only clean images.
    None,
    /// As the released program does it.
    Released,
    /// As in the paper's text: of all pixels around a rectangle, min(N, a − 1, ⌊b/2⌋) different
    /// ones.
    Printed,
}

/// A data set: which images there are.
///
/// ```
/// use sumout::Network;
/// use sumout_paper::scenes::Scenes;
///
/// let images = Scenes::training("rect:10")?.examples(1)?;
/// let data = images.first(1000)?.dataset(&Network::read("rect:10")?)?;
/// assert_eq!((data.len(), data.columns().len()), (1000, 101));
/// # Ok::<(), sumout::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scenes {
    /// The content of the images.
    pub subject: Subject,
    /// The number of rows and of columns.
    pub n: usize,
    /// Their purpose.
    pub split: Split,
    /// How they are made noisy.
    pub noise: Noise,
}

impl Scenes {
    /// The training data for `rect:N` or `digits:N`.
    pub fn training(model: &str) -> Result<Self> {
        let (subject, n) = match model.split_once(':') {
            Some(("rect", n)) => (Subject::Rectangles, n),
            Some(("digits", n)) => (Subject::Digits, n),
            _ => return Err(no_data(model)),
        };
        if n.contains(',') {
            return Err(no_data(model));
        }
        let n = number(
            model,
            n,
            "a whole number",
            "`rect:N` or `digits:N`, such as `rect:10`",
        )?;
        Ok(Scenes {
            subject,
            n,
            split: Split::Training,
            noise: Noise::Released,
        })
    }

    /// The test data for `rect:N` or `digits:N`.
    pub fn test(model: &str) -> Result<Self> {
        Ok(Scenes {
            split: Split::Test,
            ..Scenes::training(model)?
        })
    }

    /// All images, in order: each clean one, and then its noisy copies.
    pub fn examples(&self, seed: u64) -> Result<Examples> {
        let (name, least) = match self.subject {
            Subject::Rectangles => (format!("rect:{}", self.n), 2),
            Subject::Digits => (format!("digits:{}", self.n), HEIGHT),
        };
        within(name, "rows of pixels", self.n, least, MAX_ROWS)?;
        let scenes = self.scenes();
        let mut ends = vec![];
        for scene in &scenes {
            let copies = if self.strength(scene) == 0 {
                0
            } else {
                self.copies()
            };
            ends.push(ends.last().unwrap_or(&0) + 1 + copies);
        }
        let chosen = (0..*ends.last().unwrap_or(&0)).collect();
        Ok(Examples {
            set: *self,
            scenes,
            ends,
            chosen,
            seed,
        })
    }

    fn scenes(&self) -> Vec<Scene> {
        let mut scenes = vec![];
        let mut add = |label, row, col, height, width| {
            scenes.push(Scene {
                label,
                row,
                col,
                height,
                width,
            })
        };
        match self.subject {
            Subject::Rectangles => each_rectangle(self.n, |row, col, height, width| {
                if height != width {
                    add(u32::from(width > height), row, col, height, width);
                }
            }),
            Subject::Digits => each_digit(self.n, |digit, row, col| {
                add(digit, row, col, HEIGHT, WIDTH)
            }),
        }
        scenes
    }

    /// How many noisy copies a clean image has, if there is room for noise.
    fn copies(&self) -> u32 {
        let (rectangle, digit) = match self.split {
            Split::Training => (self.n as u32, 100),
            Split::Test => (2 * self.n as u32, 200),
        };
        match (self.noise, self.subject) {
            (Noise::None, _) => 0,
            (_, Subject::Rectangles) => rectangle,
            (_, Subject::Digits) => digit,
        }
    }

    /// How many pixels noise chooses.
    fn strength(&self, scene: &Scene) -> usize {
        let (all, area) = (self.n * self.n, scene.height * scene.width);
        let most = if self.split == Split::Test {
            2 * self.n
        } else {
            self.n
        };
        match (self.subject, self.noise) {
            (_, Noise::None) => 0,
            (Subject::Digits, _) => self.n,
            (Subject::Rectangles, Noise::Released) => {
                most.min(area - 1).min(2 * (all - scene.reach(self.n)) / 3)
            }
            (Subject::Rectangles, Noise::Printed) => most.min(area - 1).min((all - area) / 2),
        }
    }

    fn is_on(&self, scene: &Scene, i: usize, j: usize) -> bool {
        match (
            self.subject,
            i.checked_sub(scene.row),
            j.checked_sub(scene.col),
        ) {
            (Subject::Rectangles, Some(i), Some(j)) => i < scene.height && j < scene.width,
            (Subject::Digits, Some(i), Some(j)) => covers(scene.label as usize, i, j),
            _ => false,
        }
    }

    /// Whether noise leaves pixels beside a rectangle alone, and may choose others twice.
    fn keeps_away(&self) -> bool {
        self.subject == Subject::Rectangles && self.noise == Noise::Released
    }

    /// Whether noise may turn a pixel on.
    fn is_free(&self, scene: &Scene, i: usize, j: usize) -> bool {
        if self.keeps_away() {
            !scene.is_near(i, j)
        } else {
            !self.is_on(scene, i, j)
        }
    }

    /// The pixels of a clean image, row by row.
    fn draw(&self, scene: &Scene) -> Vec<bool> {
        (0..self.n * self.n)
            .map(|at| self.is_on(scene, at / self.n, at % self.n))
            .collect()
    }

    /// Turns pixels on.
    fn spoil(&self, scene: &Scene, pixels: &mut [bool], rng: &mut ChaCha8Rng) {
        let is_free = |at: &usize| self.is_free(scene, at / self.n, at % self.n);
        let mut free: Vec<usize> = (0..pixels.len()).filter(is_free).collect();
        let strength = self.strength(scene);
        if self.keeps_away() {
            (0..strength).for_each(|_| pixels[free[rng.random_range(0..free.len())]] = true);
        } else {
            free.partial_shuffle(rng, strength)
                .0
                .iter()
                .for_each(|&at| pixels[at] = true);
        }
    }
}

fn no_data(model: &str) -> Error {
    let error = Error::new(ErrorKind::Model, format!("`{model}` has no data set"));
    error.hint(
        "the paper's data sets are those of `rect:N` and `digits:N`; cases can be sampled from any network",
    )
}

fn each_rectangle(n: usize, mut visit: impl FnMut(usize, usize, usize, usize)) {
    for (row, col) in (0..n).flat_map(|row| (0..n).map(move |col| (row, col))) {
        for (height, width) in (1..=n - row).flat_map(|h| (1..=n - col).map(move |w| (h, w))) {
            visit(row, col, height, width);
        }
    }
}

fn each_digit(n: usize, mut visit: impl FnMut(u32, usize, usize)) {
    for (digit, row) in (0..10).flat_map(|digit| (0..=n - HEIGHT).map(move |row| (digit, row))) {
        let heights = (n - row) / HEIGHT; // which are not drawn, so that images occur several times
        (0..heights)
            .flat_map(|_| 0..=n - WIDTH)
            .for_each(|col| visit(digit, row, col));
    }
}

/// The objects of a scene, and their places.
#[derive(Clone, Debug)]
struct Scene {
    label: u32,
    row: usize,
    col: usize,
    height: usize,
    width: usize,
}

impl Scene {
    /// Whether a pixel is in a rectangle or beside it.
    fn is_near(&self, i: usize, j: usize) -> bool {
        let is_near =
            |at: usize, first: usize, length: usize| at + 1 >= first && at <= first + length;
        is_near(i, self.row, self.height) && is_near(j, self.col, self.width)
    }

    /// The number of pixels in a rectangle and beside it.
    fn reach(&self, n: usize) -> usize {
        let reach =
            |first: usize, length: usize| n.min(first + length + 1) - first.saturating_sub(1);
        reach(self.row, self.height) * reach(self.col, self.width)
    }
}

/// Images of a data set, in an order.
#[derive(Clone, Debug)]
pub struct Examples {
    set: Scenes,
    scenes: Vec<Scene>,
    /// For each scene, how many images there are up to its last copy.
    ends: Vec<u32>,
    /// The images, by their places in the set.
    chosen: Vec<u32>,
    seed: u64,
}

impl Examples {
    /// The number of images.
    pub fn len(&self) -> usize {
        self.chosen.len()
    }

    /// Whether there are no images.
    pub fn is_empty(&self) -> bool {
        self.chosen.is_empty()
    }

    /// Chooses some images at random: the first of a random order of all.
    pub fn first(mut self, count: usize) -> Result<Self> {
        if count > self.len() {
            let message = format!(
                "{count} images are asked for, but the data set has {}",
                self.len()
            );
            return Err(Error::new(ErrorKind::Model, message).hint("ask for fewer"));
        }
        let mut rng = self.random(0);
        self.chosen.shuffle(&mut rng);
        self.chosen.truncate(count);
        Ok(self)
    }

    /// An image: the positions of the values of its pixels, row by row, and then of its label.
    pub fn row(&self, at: usize) -> Vec<u32> {
        let place = self.chosen[at];
        let index = self.ends.partition_point(|&end| end <= place);
        let scene = &self.scenes[index];
        let mut pixels = self.set.draw(scene);
        if index.checked_sub(1).map_or(0, |before| self.ends[before]) < place {
            self.set
                .spoil(scene, &mut pixels, &mut self.random(u64::from(place) + 1));
        }
        pixels
            .into_iter()
            .map(|is_on| u32::from(!is_on))
            .chain([scene.label])
            .collect()
    }

    /// The variables of a row in a network: the pixels, and then the label.
    pub fn columns(&self, net: &Network) -> Result<Vec<VarId>> {
        let (pixel, label) = match self.set.subject {
            Subject::Rectangles => ("pixel", "label"),
            Subject::Digits => ("p", "d"),
        };
        let n = self.set.n;
        let pixels = (0..n * n).map(|at| format!("{pixel}_{}_{}", at / n, at % n));
        pixels
            .chain([label.to_owned()])
            .map(|name| net.find(&name))
            .collect()
    }

    /// All images, as data for a network with such pixels and such a label.
    pub fn dataset(&self, net: &Network) -> Result<Dataset> {
        let mut data = Dataset::new(self.columns(net)?);
        for at in 0..self.len() {
            let row: Vec<Option<u32>> = self.row(at).into_iter().map(Some).collect();
            data.push(net, &row)?;
        }
        Ok(data)
    }

    /// The random numbers of one use; those of training and of test data are different ones.
    fn random(&self, stream: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(stream | u64::from(self.set.split == Split::Test) << 63);
        rng
    }
}

#[cfg(test)]
mod tests;
