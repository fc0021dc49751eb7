//! The case studies against their scenes: every rectangle, and every digit in every place, drawn
//! and scored directly.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::{
    Batch, Circuit, Column, EvalOptions, Level, Network, Objective, Options, Precision, Query,
};
use sumout_paper::scenes::{Noise, Scenes};

const NOISE: f64 = 0.1;

/// The possible scenes: probability, label and pixels that are on.
struct Scene {
    prior: f64,
    answer: Vec<f64>,
    pixels: Vec<bool>,
}

fn draw(n: usize, is_on: impl Fn(usize, usize) -> bool) -> Vec<bool> {
    (0..n * n).map(|at| is_on(at / n, at % n)).collect()
}

/// All rectangles: tall if they are higher than wide, wide if wider than high, either of them if
/// square.
fn rectangles(n: usize) -> Vec<Scene> {
    let mut scenes = vec![];
    for (row, col) in (0..n).flat_map(|row| (0..n).map(move |col| (row, col))) {
        for (height, width) in (1..=n - row).flat_map(|h| (1..=n - col).map(move |w| (h, w))) {
            let tall = if height == width {
                0.5
            } else {
                f64::from(u8::from(height > width))
            };
            let covers = |i, j| (row..row + height).contains(&i) && (col..col + width).contains(&j);
            let prior = 1.0 / (n * n * (n - row) * (n - col)) as f64;
            scenes.push(Scene {
                prior,
                answer: vec![tall, 1.0 - tall],
                pixels: draw(n, covers),
            });
        }
    }
    scenes
}

const SEGMENTS_OF: [&str; 10] = [
    "012345", "12", "01346", "01236", "1256", "02356", "023456", "012", "0123456", "012356",
];

/// Rows and columns of the segments' corners.
const CORNERS: [(usize, usize); 7] = [(0, 0), (0, 3), (3, 3), (6, 0), (3, 0), (0, 0), (3, 0)];

/// All digits in all places, with segments of all lengths that fit to the right.
fn digits(n: usize) -> Vec<Scene> {
    let mut scenes = vec![];
    for (d, segments) in SEGMENTS_OF.iter().enumerate() {
        for (r, c) in (0..=n - 7).flat_map(|r| (0..=n - 4).map(move |c| (r, c))) {
            let lengths: Vec<usize> = (4..=n - c).step_by(4).collect();
            for &length in &lengths {
                let covers = |k: usize, i: usize, j: usize| {
                    let (down, right) = (r + CORNERS[k].0, c + CORNERS[k].1);
                    match k {
                        0 | 3 | 6 => i == down && (right..right + length).contains(&j),
                        _ => j == right && (down..down + length).contains(&i),
                    }
                };
                let is_on = |i, j| segments.bytes().any(|k| covers((k - b'0') as usize, i, j));
                let prior = 0.1 / ((n - 6) * (n - 3) * lengths.len()) as f64;
                let answer = (0..10)
                    .map(|value| f64::from(u8::from(value == d)))
                    .collect();
                scenes.push(Scene {
                    prior,
                    answer,
                    pixels: draw(n, is_on),
                });
            }
        }
    }
    scenes
}

/// P(image), and P(answer, image) for each answer.
fn score(scenes: &[Scene], image: &[bool]) -> (f64, Vec<f64>) {
    let mut joint = vec![0.0; scenes[0].answer.len()];
    for scene in scenes {
        let wrong = scene
            .pixels
            .iter()
            .zip(image)
            .filter(|(a, b)| a != b)
            .count() as i32;
        let p = scene.prior * NOISE.powi(wrong) * (1.0 - NOISE).powi(image.len() as i32 - wrong);
        joint
            .iter_mut()
            .zip(&scene.answer)
            .for_each(|(joint, answer)| *joint += p * answer);
    }
    (joint.iter().sum(), joint)
}

/// Images of random scenes with noise, and images of nothing but noise.
fn images(scenes: &[Scene], rng: &mut ChaCha8Rng) -> Vec<Vec<bool>> {
    let mut images = vec![];
    for noise in [0.0, NOISE, NOISE, 0.5, 0.5] {
        let scene = &scenes[rng.random_range(0..scenes.len())];
        images.push(
            scene
                .pixels
                .iter()
                .map(|on| on ^ (rng.random::<f64>() < noise))
                .collect(),
        );
    }
    images
}

/// Images as a batch for a circuit whose inputs are the pixels, in this order.
fn batch(circuit: &Circuit, images: &[Vec<bool>]) -> Batch {
    let mut batch = Batch::new(images.len());
    for (at, pixel) in circuit.inputs().enumerate() {
        let column = images.iter().map(|image| i32::from(!image[at])).collect();
        batch
            .insert(circuit, pixel, Column::Values(column))
            .unwrap();
    }
    batch
}

/// Compares posteriors and ln P(image) at one level, with whatever objective and seed.
fn check(model: &str, query: &Query, scenes: &[Scene], level: Level) {
    let rng = &mut ChaCha8Rng::seed_from_u64(scenes.len() as u64);
    let names: Vec<&str> = Objective::names().collect();
    let objective = names[rng.random_range(0..names.len())].parse().unwrap();
    let options = Options::default()
        .with_level(level)
        .with_objective(objective)
        .with_seed(rng.random())
        .with_effort(0.02);
    let circuit = Network::read(model)
        .unwrap()
        .compile(query, &options)
        .unwrap();
    let evaluator = circuit
        .evaluator(
            &EvalOptions::default()
                .with_precision(Precision::F64)
                .with_threads(1),
        )
        .unwrap();
    let images = images(scenes, rng);
    let answers = evaluator.run(&batch(&circuit, &images)).unwrap();
    for (row, image) in images.iter().enumerate() {
        let (p, joint) = score(scenes, image);
        let (log, posterior) = (answers.log_evidence[row], answers.row(row));
        let context = || format!("{model}, {level}, {objective}: {posterior:?}, not {joint:?}");
        assert!((log - p.ln()).abs() < 1e-9 * p.ln().abs(), "{}", context());
        assert!(
            posterior
                .iter()
                .zip(&joint)
                .all(|(a, b)| (a - b / p).abs() < 1e-9),
            "{}",
            context()
        );
    }
}

fn levels() -> impl Iterator<Item = Level> {
    Level::names().map(|name| name.parse().unwrap())
}

#[test]
fn rectangles_agree_with_their_scenes() {
    for n in 2..=12 {
        let (query, scenes) = (Query::of("label").given(["pixel_*"]), rectangles(n));
        // Without functions, larger images need clusters of 2^17 states and more.
        for level in levels().filter(|level| n < 10 || *level != Level::Classical) {
            check(&format!("rect:{n}"), &query, &scenes, level);
        }
    }
}

#[test]
fn digits_agree_with_their_scenes() {
    let (query, scenes) = (Query::of("d").given(["p_*"]), digits(8));
    for level in levels().filter(|level| *level != Level::Classical) {
        check("digits:8", &query, &scenes, level);
    }
}

/// Plans do not rely on trainable numbers, and before training the answers are the same.
#[test]
fn networks_without_knowledge_agree_with_the_same_scenes() {
    let (query, scenes) = (Query::of("label").given(["pixel_*"]), rectangles(5));
    levels().for_each(|level| check("rect:5,trainable", &query, &scenes, level));
    let (query, scenes) = (Query::of("d").given(["p_*"]), digits(7));
    check("digits:7,trainable", &query, &scenes, Level::Functional);
}

#[test]
fn without_knowledge_only_declarations_make_functions_and_no_value_is_impossible() {
    for (model, query, functions) in [
        (
            "rect:10,trainable",
            Query::of("label").given(["pixel_*"]),
            0,
        ),
        (
            "digits:8,trainable",
            Query::of("d").given(["p_*"]),
            7 + 3 + 14 * 8 + 7 * 64,
        ),
    ] {
        let net = Network::read(model).unwrap();
        let report = net
            .plan(&query, &Options::default().with_effort(0.01))
            .unwrap()
            .report()
            .clone();
        let found = (report.functional_variables(), report.values_pruned());
        assert_eq!(found, (functions, 0), "{model}");
        assert_eq!(report.nodes_left(), net.variables().len(), "{model}");
    }
}

/// Without noise, an image of the paper's data sets can be nothing else than what its label says.
#[test]
fn clean_images_of_the_papers_data_are_what_their_labels_say() {
    for (model, query) in [
        ("rect:8", Query::of("label").given(["pixel_*"])),
        ("digits:8", Query::of("d").given(["p_*"])),
    ] {
        let net = Network::read(format!("{model},noise=0")).unwrap();
        let set = Scenes {
            noise: Noise::None,
            ..Scenes::training(model).unwrap()
        };
        let data = set.examples(0).unwrap().dataset(&net).unwrap();
        let circuit = net
            .compile(&query, &Options::default().with_effort(0.02))
            .unwrap();
        let pixels = data.columns().len() - 1;
        let images: Vec<Vec<bool>> = data
            .rows()
            .map(|row| row[..pixels].iter().map(|cell| *cell == Some(0)).collect())
            .collect();
        let running = EvalOptions::default()
            .with_precision(Precision::F64)
            .with_threads(1);
        let answers = circuit
            .evaluator(&running)
            .unwrap()
            .run(&batch(&circuit, &images))
            .unwrap();
        for (row, cells) in data.rows().enumerate() {
            let label = cells[pixels].unwrap() as usize;
            assert!(
                (answers.row(row)[label] - 1.0).abs() < 1e-12,
                "{model}, image {row}: {:?}",
                answers.row(row)
            );
        }
    }
}
