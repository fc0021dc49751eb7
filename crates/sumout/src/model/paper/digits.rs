//! Seven-segment digits: which one, where, how long its segments are, and which pixels they cover.

use crate::error::Result;
use crate::model::builder::{Builder, Node};
use crate::model::network::Network;
use crate::model::paper::{MAX_ROWS, Variant, values, within};

/// The segments of each digit.
const DIGITS: [&[usize]; 10] = [
    &[0, 1, 2, 3, 4, 5],
    &[1, 2],
    &[0, 1, 3, 4, 6],
    &[0, 1, 2, 3, 6],
    &[1, 2, 5, 6],
    &[0, 2, 3, 5, 6],
    &[0, 2, 3, 4, 5, 6],
    &[0, 1, 2],
    &[0, 1, 2, 3, 4, 5, 6],
    &[0, 1, 2, 3, 5, 6],
];

/// A segment: how far it starts below and to the right of the digit's corner, and its direction.
struct Segment {
    below: usize,
    right: usize,
    is_vertical: bool,
}

const SEGMENTS: [Segment; 7] = [
    Segment {
        below: 0,
        right: 0,
        is_vertical: false,
    },
    Segment {
        below: 0,
        right: 3,
        is_vertical: true,
    },
    Segment {
        below: 3,
        right: 3,
        is_vertical: true,
    },
    Segment {
        below: 6,
        right: 0,
        is_vertical: false,
    },
    Segment {
        below: 3,
        right: 0,
        is_vertical: true,
    },
    Segment {
        below: 0,
        right: 0,
        is_vertical: true,
    },
    Segment {
        below: 3,
        right: 0,
        is_vertical: false,
    },
];

/// A digit is at least this high.
pub const HEIGHT: usize = 7;

/// A digit is at least this wide.
pub const WIDTH: usize = 4;

/// Whether a digit, with its corner at the first pixel and as small as can be, covers a pixel.
pub fn covers(digit: usize, i: usize, j: usize) -> bool {
    DIGITS[digit].iter().any(|&k| {
        let Segment {
            below,
            right,
            is_vertical,
        } = SEGMENTS[k];
        let (height, width) = if is_vertical { (WIDTH, 1) } else { (1, WIDTH) };
        (below..below + height).contains(&i) && (right..right + width).contains(&j)
    })
}

/// A variable whose values are numbers.
struct Number {
    node: Node,
    numbers: Vec<usize>,
}

impl Number {
    fn uniform(b: &mut Builder, name: &str, numbers: impl Iterator<Item = usize> + Clone) -> Self {
        Number {
            node: b.uniform(name, numbers.clone()),
            numbers: numbers.collect(),
        }
    }

    fn of(b: &mut Builder, name: &str, numbers: Vec<usize>) -> Self {
        Number {
            node: b.variable(name, values(numbers.iter().copied())),
            numbers,
        }
    }

    /// The variable that is this one plus a constant. It has the values that occur, or those below
    /// `all`.
    fn plus(&self, b: &mut Builder, name: &str, constant: usize, all: Option<usize>) -> Self {
        let sums = self.numbers.iter().map(|number| number + constant);
        let sum = Number::of(
            b,
            name,
            all.map_or_else(|| sums.collect(), |n| (0..n).collect()),
        );
        let position = |u: &[usize]| self.numbers[u[0]] + constant - sum.numbers[0];
        b.function(sum.node, [self.node], position)
            .fixed()
            .functional();
        sum
    }
}

/// An n × n image of a seven-segment digit: which one, where, how long its segments are, and its
/// noisy pixels.
pub fn digits(n: usize, variant: Variant) -> Result<Network> {
    within(format!("digits:{n}"), "rows of pixels", n, HEIGHT, MAX_ROWS)?;
    variant.check()?;
    let mut b = Network::builder(format!("digits{n}"));
    let all = variant.trainable.then_some(n);
    let d = b.uniform("d", 0..10);
    let r = Number::uniform(&mut b, "r", 0..n - HEIGHT + 1);
    let c = Number::uniform(&mut b, "c", 0..n - WIDTH + 1);
    let w = length(&mut b, n, &c, all);
    let active: Vec<Node> = (0..7)
        .map(|k| b.switch(format!("s{k}"), &[d], |u| DIGITS[u[0]].contains(&k)))
        .collect();
    let [sr3, sr6] = [3, 6].map(|below| r.plus(&mut b, &format!("sr{below}"), below, all));
    let sc3 = c.plus(&mut b, "sc3", 3, all);
    let lines = lines(&mut b, n, [&r, &sr3, &sr6], [&c, &sc3], &w);
    let mut shown = vec![];
    for (k, &s) in active.iter().enumerate() {
        for (i, j) in pixels(n) {
            let parents = [s, lines[k * n + i].0, lines[k * n + j].1];
            shown.push(b.switch(format!("p{k}_{i}_{j}"), &parents, |u| u == [0, 0, 0]));
        }
    }
    for (at, (i, j)) in pixels(n).enumerate() {
        let parents: Vec<Node> = shown.iter().copied().skip(at).step_by(n * n).collect();
        b.pixel(format!("p_{i}_{j}"), &parents, variant.noise, |u| {
            u.contains(&0)
        });
    }
    if variant.trainable {
        b.forget();
    }
    b.build()
}

/// How long the segments are: a multiple of the width that fits to the right of the digit's corner.
fn length(b: &mut Builder, n: usize, c: &Number, all: Option<usize>) -> Number {
    let multiples = (WIDTH..=n).step_by(WIDTH);
    let w = Number::of(
        b,
        "w",
        all.map_or_else(|| multiples.collect(), |n| (1..=n).collect()),
    );
    let fits = |s: &[usize]| {
        w.numbers[s[1]].is_multiple_of(WIDTH) && c.numbers[s[0]] + w.numbers[s[1]] <= n
    };
    b.constraint(w.node, [c.node], fits).keep_zeros();
    w
}

/// For each segment and each line, whether a row and a column is inside the segment.
fn lines(
    b: &mut Builder,
    n: usize,
    rows: [&Number; 3],
    cols: [&Number; 2],
    w: &Number,
) -> Vec<(Node, Node)> {
    let mut lines = vec![];
    for (k, segment) in SEGMENTS.iter().enumerate() {
        let (row, col) = (rows[segment.below / 3], cols[segment.right / 3]);
        let (down, across) = if segment.is_vertical {
            (Some(w), None)
        } else {
            (None, Some(w))
        };
        for i in 0..n {
            let in_r = inside(b, format!("in_r{k}_{i}"), i, row, down);
            let in_c = inside(b, format!("in_c{k}_{i}"), i, col, across);
            lines.push((in_r, in_c));
        }
    }
    lines
}

fn pixels(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |i| (0..n).map(move |j| (i, j)))
}

/// Whether line `i` is inside a segment: many lines in its own direction, as `w` says, and one
/// across.
fn inside(b: &mut Builder, name: String, i: usize, start: &Number, along: Option<&Number>) -> Node {
    let first = |u: &[usize]| start.numbers[u[0]];
    match along {
        None => b.switch(name, &[start.node], |u| first(u) == i),
        Some(w) => {
            let covers = |u: &[usize]| (first(u)..first(u) + w.numbers[u[1]]).contains(&i);
            b.switch(name, &[start.node, w.node], covers)
        }
    }
}
