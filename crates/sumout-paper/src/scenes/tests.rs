use std::collections::BTreeSet;

use super::*;

/// All images of a set in order, as pixels that are on, with their labels.
fn images(set: Scenes, seed: u64) -> Vec<(Vec<bool>, u32)> {
    let examples = set.examples(seed).unwrap();
    let image = |at| {
        let mut row = examples.row(at);
        let label = row.pop().unwrap();
        (row.into_iter().map(|value| value == 0).collect(), label)
    };
    (0..examples.len()).map(image).collect()
}

fn clean(model: &str) -> Scenes {
    Scenes {
        noise: Noise::None,
        ..Scenes::training(model).unwrap()
    }
}

#[test]
fn there_are_as_many_clean_images_as_in_the_paper() {
    let count = |model: String| clean(&model).examples(0).unwrap().len();
    let sizes = [8, 10, 12, 14, 16];
    assert_eq!(
        sizes.map(|n| count(format!("rect:{n}"))),
        [1092, 2640, 5434, 10010, 17000]
    );
    assert_eq!(
        sizes.map(|n| count(format!("digits:{n}"))),
        [100, 280, 540, 990, 1690]
    );
}

/// The height and the width of the box around what is on, and whether it is full.
fn bounds(n: usize, pixels: &[bool]) -> (usize, usize, bool) {
    let on: Vec<(usize, usize)> = (0..n * n)
        .filter(|&at| pixels[at])
        .map(|at| (at / n, at % n))
        .collect();
    let length = |line: fn(&(usize, usize)) -> usize| {
        on.iter().map(line).max().unwrap() - on.iter().map(line).min().unwrap() + 1
    };
    let (height, width) = (length(|on| on.0), length(|on| on.1));
    (height, width, height * width == on.len())
}

#[test]
fn clean_rectangles_are_all_different_full_and_labelled() {
    let images = images(clean("rect:7"), 0);
    assert_eq!(images.iter().collect::<BTreeSet<_>>().len(), images.len());
    for (pixels, label) in images {
        let (height, width, is_full) = bounds(7, &pixels);
        assert!(is_full && height != width && label == u32::from(width > height));
    }
}

/// Digits as seen on a pocket calculator.
const FONT: [[&str; 7]; 10] = [
    ["####", "#  #", "#  #", "#  #", "#  #", "#  #", "####"],
    ["   #", "   #", "   #", "   #", "   #", "   #", "   #"],
    ["####", "   #", "   #", "####", "#   ", "#   ", "####"],
    ["####", "   #", "   #", "####", "   #", "   #", "####"],
    ["#  #", "#  #", "#  #", "####", "   #", "   #", "   #"],
    ["####", "#   ", "#   ", "####", "   #", "   #", "####"],
    ["####", "#   ", "#   ", "####", "#  #", "#  #", "####"],
    ["####", "   #", "   #", "   #", "   #", "   #", "   #"],
    ["####", "#  #", "#  #", "####", "#  #", "#  #", "####"],
    ["####", "#  #", "#  #", "####", "   #", "   #", "####"],
];

#[test]
fn clean_digits_look_as_they_should_in_every_place() {
    let (n, images) = (9, images(clean("digits:9"), 0));
    let mut expected = vec![];
    for (digit, rows) in FONT.iter().enumerate() {
        for (r, c) in (0..=n - 7).flat_map(|r| (0..=n - 4).map(move |c| (r, c))) {
            let mut pixels = vec![false; n * n];
            for (i, row) in rows.iter().enumerate() {
                row.bytes()
                    .enumerate()
                    .for_each(|(j, ink)| pixels[(r + i) * n + c + j] = ink == b'#');
            }
            expected.push((pixels, digit as u32));
        }
    }
    assert_eq!(images, expected);
}

/// The pixels that are off, and not beside one that is on if noise keeps away.
fn free(n: usize, pixels: &[bool], keeps_away: bool) -> BTreeSet<usize> {
    let beside = |at: usize| {
        let (i, j) = (at / n, at % n);
        let lines = |line: usize| line.saturating_sub(1)..n.min(line + 2);
        lines(i).any(|i| lines(j).any(|j| pixels[i * n + j]))
    };
    (0..n * n)
        .filter(|&at| !(pixels[at] || keeps_away && beside(at)))
        .collect()
}

/// Checks the copies of every clean image; how many pixels the noise turned on, and how many it
/// could have.
fn check(
    set: Scenes,
    expected: impl Fn(usize, usize) -> usize,
    copies: usize,
) -> Vec<(usize, usize)> {
    let keeps_away = set.subject == Subject::Rectangles && set.noise == Noise::Released;
    let mut images = images(set, 3).into_iter();
    let mut counts = vec![];
    for (clean, label) in self::images(
        Scenes {
            noise: Noise::None,
            ..set
        },
        0,
    ) {
        assert_eq!(images.next().unwrap(), (clean.clone(), label));
        let free = free(set.n, &clean, keeps_away);
        let strength = expected(clean.iter().filter(|on| **on).count(), free.len());
        for (noisy, of_copy) in images.by_ref().take(if strength == 0 { 0 } else { copies }) {
            let changed: BTreeSet<usize> = (0..clean.len())
                .filter(|&at| noisy[at] != clean[at])
                .collect();
            assert!(changed.is_subset(&free) && of_copy == label);
            counts.push((changed.len(), strength));
        }
    }
    assert_eq!(images.next(), None);
    counts
}

#[test]
fn noise_of_rectangles_keeps_away_from_them_and_may_choose_pixels_twice() {
    let n = 8;
    let [training, test] = [Scenes::training, Scenes::test].map(|set| set("rect:8").unwrap());
    let rule = |most: usize| move |a: usize, b: usize| most.min(a - 1).min(2 * b / 3);
    for counts in [check(training, rule(n), n), check(test, rule(2 * n), 2 * n)] {
        assert!(
            counts
                .iter()
                .all(|(count, strength)| 0 < *count && count <= strength)
        );
        assert!(counts.iter().any(|(count, strength)| count < strength));
    }
}

#[test]
fn noise_as_printed_is_as_many_pixels_around_rectangles_as_the_text_says() {
    let n = 8;
    let rule = |most: usize| move |a: usize, b: usize| most.min(a - 1).min(b / 2);
    for (set, times) in [(Scenes::training("rect:8"), 1), (Scenes::test("rect:8"), 2)] {
        let counts = check(
            Scenes {
                noise: Noise::Printed,
                ..set.unwrap()
            },
            rule(times * n),
            times * n,
        );
        assert!(counts.iter().all(|(count, strength)| count == strength));
    }
}

#[test]
fn noise_of_digits_is_as_many_pixels_as_there_are_rows() {
    for (set, copies) in [
        (Scenes::training("digits:8"), 100),
        (Scenes::test("digits:8"), 200),
    ] {
        let counts = check(set.unwrap(), |_, _| 8, copies);
        assert!(counts.iter().all(|(count, _)| *count == 8));
    }
}

/// All that noise may turn on it turns on, about equally often.
#[test]
fn noise_is_everywhere() {
    let images = images(Scenes::training("digits:7").unwrap(), 1);
    let mut counts = vec![0; 49];
    for (pixels, label) in images.iter().skip(1).take(100) {
        assert_eq!(*label, 0);
        pixels
            .iter()
            .zip(&mut counts)
            .for_each(|(on, count)| *count += usize::from(*on));
    }
    let noisy: Vec<usize> = counts.into_iter().filter(|count| *count < 100).collect();
    let mean = 700.0 / noisy.len() as f64;
    assert_eq!(noisy.iter().sum::<usize>(), 700);
    assert!(
        noisy
            .iter()
            .all(|&count| (count as f64 - mean).abs() < 5.0 * mean.sqrt()),
        "{noisy:?}"
    );
}

#[test]
fn a_seed_gives_the_same_images_in_the_same_order() {
    let set = Scenes::training("rect:10").unwrap();
    let rows = |set: Scenes, seed: u64, count: usize| -> Vec<Vec<u32>> {
        let examples = set.examples(seed).unwrap().first(count).unwrap();
        (0..examples.len()).map(|at| examples.row(at)).collect()
    };
    let some = rows(set, 1, 100);
    assert_eq!(some[..60], rows(set, 1, 60));
    assert_ne!(some, rows(set, 2, 100));
    assert_ne!(
        some,
        rows(
            Scenes {
                split: Split::Test,
                ..set
            },
            1,
            100
        )
    );
    let all = set.examples(1).unwrap();
    let whole: BTreeSet<Vec<u32>> = (0..all.len()).map(|at| all.row(at)).collect();
    assert!(some.iter().all(|row| whole.contains(row)));
    let tall = some.iter().filter(|row| row[100] == 0).count();
    assert!((30..=70).contains(&tall), "{tall} of 100 are tall");
}

#[test]
fn every_image_is_chosen_once() {
    let examples = Scenes::training("rect:5").unwrap().examples(7).unwrap();
    let count = examples.len();
    let chosen = examples.first(count).unwrap().chosen;
    assert!(
        chosen
            .iter()
            .copied()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .eq(0..count as u32)
    );
    assert!(!chosen.is_sorted());
}

#[test]
fn a_data_set_has_the_pixels_and_then_the_label() {
    let net = Network::read("digits:8,trainable").unwrap();
    let examples = Scenes::test("digits:8")
        .unwrap()
        .examples(0)
        .unwrap()
        .first(5)
        .unwrap();
    let data = examples.dataset(&net).unwrap();
    let names: Vec<&str> = data
        .columns()
        .iter()
        .map(|&v| &*net.variable(v).name)
        .collect();
    assert_eq!(
        (names[0], names[9], names[63], names[64]),
        ("p_0_0", "p_1_1", "p_7_7", "d")
    );
    let row: Vec<u32> = data
        .rows()
        .nth(4)
        .unwrap()
        .iter()
        .map(|cell| cell.unwrap())
        .collect();
    assert_eq!((data.len(), row), (5, examples.row(4)));
    let error = examples
        .dataset(&Network::read("rect:8").unwrap())
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("no variable `p_0_0` in network `rect8`")
    );
}

#[test]
fn mistakes_say_which_data_there_are() {
    let message = |model: &str| {
        let examples = Scenes::training(model).and_then(|set| set.examples(0));
        examples.unwrap_err().to_string()
    };
    let hint = "hint: the paper's data sets are those of `rect:N` and `digits:N`; cases can be sampled from any network";
    for model in ["asia", "random:9,2,50,1", "rect:8,noise=0"] {
        assert_eq!(message(model), format!("`{model}` has no data set\n{hint}"));
    }
    assert!(
        message("rect:ten").starts_with("`ten` in `rect:ten` is not a whole number\nhint: write ")
    );
    assert_eq!(
        message("rect:33"),
        "`rect:33` asks for 33 rows of pixels\nhint: choose a number from 2 to 32"
    );
    assert_eq!(
        message("digits:6"),
        "`digits:6` asks for 6 rows of pixels\nhint: choose a number from 7 to 32"
    );
    let examples = Scenes::training("rect:2").unwrap().examples(0).unwrap();
    assert_eq!(
        examples.first(5).unwrap_err().to_string(),
        "5 images are asked for, but the data set has 4\nhint: ask for fewer"
    );
}
