//! The models of the paper (section 5), by name.
//!
//! | name | what it is |
//! |---|---|
//! | `rect:N` | an N × N image of one rectangle; `label` says whether it is tall or wide |
//! | `digits:N` | an N × N image of one seven-segment digit `d` |
//! | `random:N,K,F,SEED` | N variables with up to 3 values and K parents; F per cent of them are functions |
//!
//! A scene says where things are. Functions of the scene say which rows and columns, and so which pixels, are on.
//! The pixels themselves are noisy: each shows what it should with probability 0.9, or 1 − p in `rect:N,noise=p`.
//! Their CPTs are trainable and tied, the functions are fixed, and the scene is trainable but keeps its zeros.
//! Value 0 of a binary variable is `t`, "on".

use std::fmt::Display;
use std::str::FromStr;

use super::builder::{Builder, Node};
use super::network::Network;
use super::random;
use crate::error::{Error, ErrorKind, Result};

/// How often a pixel is not what it should be, unless the name says otherwise.
pub const NOISE: f64 = 0.1;

/// An image of more rows than this has tables that are of no use to anybody.
const MAX_ROWS: usize = 128;

/// A random network of more variables or parents than this is no longer one of the paper.
const MAX_NODES: usize = 100_000;
const MAX_PARENTS: usize = 12;

/// The positions of `t` and `f` in binary variables.
const BINARY: [&str; 2] = ["t", "f"];

/// How the names are written, for hints.
pub(super) const NAMES: [&str; 3] = ["rect:N", "digits:N", "random:N,K,F,SEED"];

/// The network that a name such as `rect:8` stands for; none if it is no such name.
pub(super) fn named(name: &str) -> Option<Result<Network>> {
    let (family, parameters) = name.split_once(':')?;
    match family {
        "rect" => Some(image(name, parameters).and_then(|(n, noise)| rect(n, noise))),
        "digits" => Some(image(name, parameters).and_then(|(n, noise)| digits(n, noise))),
        "random" => Some(random(name, parameters)),
        _ => None,
    }
}

/// Reads `N` or `N,noise=P`.
fn image(name: &str, parameters: &str) -> Result<(usize, f64)> {
    let family = name.split(':').next().unwrap_or_default();
    let form = format!("`{family}:N` or `{family}:N,noise=P`, such as `{family}:8,noise=0`");
    let (n, noise) = match parameters.split_once(',') {
        None => (parameters, None),
        Some((n, option)) => (n, Some(option)),
    };
    let noise = match noise.map(|option| option.trim().strip_prefix("noise=").ok_or(option)) {
        None => NOISE,
        Some(Ok(p)) => number(name, p, "a number", &form)?,
        Some(Err(other)) => return Err(wrong(format!("`{name}` has the unknown option `{other}`"), &form)),
    };
    Ok((number(name, n, "a whole number", &form)?, noise))
}

/// Reads `N,K,F,SEED` and makes that random network.
fn random(name: &str, parameters: &str) -> Result<Network> {
    let form = "`random:N,K,F,SEED`, such as `random:75,4,50,1` for 75 variables, 4 parents, 50 % functions, seed 1";
    let parts: Vec<&str> = parameters.split(',').collect();
    let [n, k, f, seed] = parts[..] else {
        return Err(wrong(format!("`{name}` has {} parameters, not 4", parts.len()), form));
    };
    let nodes = number(name, n, "a whole number", form)?;
    let max_parents = number(name, k, "a whole number", form)?;
    let percent: f64 = number(name, f, "a number", form)?;
    within(name, "variables", nodes, 1, MAX_NODES)?;
    within(name, "parents", max_parents, 0, MAX_PARENTS)?;
    if !(0.0..=100.0).contains(&percent) {
        return Err(wrong(format!("`{name}` asks for {percent} per cent functions, which is not in 0 to 100"), form));
    }
    let shape = random::Shape { nodes, max_values: 3, max_parents, functional: percent / 100.0 };
    random::network(&shape, number(name, seed, "a whole number", form)?)
}

fn number<T: FromStr>(name: &str, text: &str, kind: &str, form: &str) -> Result<T> {
    text.trim().parse().map_err(|_| wrong(format!("`{text}` in `{name}` is not {kind}"), form))
}

fn wrong(message: String, form: &str) -> Error {
    Error::new(ErrorKind::Model, message).hint(format!("write {form}"))
}

fn within(name: impl Display, what: &str, found: usize, least: usize, most: usize) -> Result<()> {
    if (least..=most).contains(&found) {
        return Ok(());
    }
    let message = format!("`{name}` asks for {found} {what}");
    Err(Error::new(ErrorKind::Model, message).hint(format!("choose a number from {least} to {most}")))
}

fn check_noise(noise: f64) -> Result<()> {
    if (0.0..=1.0).contains(&noise) {
        return Ok(());
    }
    let error = Error::new(ErrorKind::Model, format!("the noise {noise} is no probability"));
    Err(error.hint("choose a number from 0 to 1; 0 is for pixels without noise"))
}

/// The names of numbers that are values.
fn values(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(|i| format!("v{i}")).collect()
}

impl Builder {
    fn uniform(&mut self, name: &str, numbers: impl IntoIterator<Item = usize>) -> Node {
        let values = values(numbers);
        let table = vec![1.0 / values.len() as f64; values.len()];
        let node = self.variable(name, values);
        self.table(node, [], table);
        node
    }

    /// A binary variable that is on where `is_on` says so, given the positions of the parents' values.
    fn switch(&mut self, name: String, parents: &[Node], is_on: impl Fn(&[usize]) -> bool) -> Node {
        let node = self.variable(name, BINARY);
        self.function(node, parents.iter().copied(), |u| usize::from(!is_on(u))).fixed().functional();
        node
    }

    /// A pixel that shows, up to noise, what `is_on` says of its binary parents.
    fn pixel(&mut self, name: String, parents: &[Node], noise: f64, is_on: impl Fn(&[usize]) -> bool) {
        let node = self.variable(name, BINARY);
        let states = (0..1usize << parents.len()).map(|row| (0..parents.len()).rev().map(|i| row >> i & 1).collect());
        let row = |u: Vec<usize>| if is_on(&u) { [1.0 - noise, noise] } else { [noise, 1.0 - noise] };
        let table: Vec<f64> = states.flat_map(row).collect();
        self.table(node, parents.iter().copied(), table).tie("pixel");
    }
}

/// An n × n image of a rectangle: where it is, how large, whether it is tall or wide, and its noisy pixels.
pub fn rect(n: usize, noise: f64) -> Result<Network> {
    within(format!("rect:{n}"), "rows of pixels", n, 2, MAX_ROWS)?;
    check_noise(noise)?;
    let mut b = Network::builder(format!("rect{n}"));
    let origins = ["row", "col"].map(|name| b.uniform(name, 0..n));
    let mut sizes = ["height", "width"].map(|name| b.variable(name, values(1..=n)));
    for (size, origin) in sizes.iter_mut().zip(origins) {
        b.constraint(*size, [origin], |s| s[0] + s[1] < n).keep_zeros();
    }
    let label = b.variable("label", ["tall", "wide"]);
    b.constraint(label, sizes, |s| if s[2] == 0 { s[0] >= s[1] } else { s[1] >= s[0] }).fixed();
    let mut lines = vec![];
    for i in 0..n {
        let covers = |u: &[usize]| (u[0]..=u[0] + u[1]).contains(&i);
        lines.push([0, 1].map(|k| b.switch(format!("{}_{i}", ["r", "c"][k]), &[origins[k], sizes[k]], covers)));
    }
    for i in 0..n {
        for j in 0..n {
            b.pixel(format!("pixel_{i}_{j}"), &[lines[i][0], lines[j][1]], noise, |u| u == [0, 0]);
        }
    }
    b.build()
}

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
    Segment { below: 0, right: 0, is_vertical: false },
    Segment { below: 0, right: 3, is_vertical: true },
    Segment { below: 3, right: 3, is_vertical: true },
    Segment { below: 6, right: 0, is_vertical: false },
    Segment { below: 3, right: 0, is_vertical: true },
    Segment { below: 0, right: 0, is_vertical: true },
    Segment { below: 3, right: 0, is_vertical: false },
];

/// A digit is at least this high and wide.
const HEIGHT: usize = 7;
const WIDTH: usize = 4;

/// Where segments start: a variable, and the number that its first value stands for.
type Start = (Node, usize);

/// An n × n image of a seven-segment digit: which one, where, how long its segments are, and its noisy pixels.
pub fn digits(n: usize, noise: f64) -> Result<Network> {
    within(format!("digits:{n}"), "rows of pixels", n, HEIGHT, MAX_ROWS)?;
    check_noise(noise)?;
    let mut b = Network::builder(format!("digits{n}"));
    let d = b.uniform("d", 0..10);
    let r = b.uniform("r", 0..=n - HEIGHT);
    let c = b.uniform("c", 0..=n - WIDTH);
    let w = b.variable("w", values((1..=n / WIDTH).map(|k| k * WIDTH)));
    b.constraint(w, [c], |s| s[0] + length(s[1]) <= n).keep_zeros();
    let active: Vec<Node> = (0..7).map(|k| b.switch(format!("s{k}"), &[d], |u| DIGITS[u[0]].contains(&k))).collect();
    let rows = [(r, 0), shifted(&mut b, "sr3", r, 3..n - 3), shifted(&mut b, "sr6", r, 6..n)];
    let cols = [(c, 0), shifted(&mut b, "sc3", c, 3..n)];
    let lines = lines(&mut b, n, rows, cols, w);
    let mut shown = vec![];
    for (k, &s) in active.iter().enumerate() {
        for (i, j) in pixels(n) {
            let parents = [s, lines[k * n + i].0, lines[k * n + j].1];
            shown.push(b.switch(format!("p{k}_{i}_{j}"), &parents, |u| u == [0, 0, 0]));
        }
    }
    for (at, (i, j)) in pixels(n).enumerate() {
        let parents: Vec<Node> = shown.iter().copied().skip(at).step_by(n * n).collect();
        b.pixel(format!("p_{i}_{j}"), &parents, noise, |u| u.contains(&0));
    }
    b.build()
}

/// For each segment and each line, whether a row and a column is inside the segment.
fn lines(b: &mut Builder, n: usize, rows: [Start; 3], cols: [Start; 2], w: Node) -> Vec<(Node, Node)> {
    let mut lines = vec![];
    for (k, segment) in SEGMENTS.iter().enumerate() {
        let (row, col) = (rows[segment.below / 3], cols[segment.right / 3]);
        let (down, across) = if segment.is_vertical { (Some(w), None) } else { (None, Some(w)) };
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

/// The length that the value of `w` at this position stands for.
fn length(position: usize) -> usize {
    WIDTH * (position + 1)
}

/// The variable that is `origin` plus a constant.
fn shifted(b: &mut Builder, name: &str, origin: Node, numbers: std::ops::Range<usize>) -> Start {
    let first = numbers.start;
    let node = b.variable(name, values(numbers));
    b.function(node, [origin], |u| u[0]).fixed().functional();
    (node, first)
}

/// Whether line `i` is inside a segment: many lines in its own direction, as `w` says, and one across.
fn inside(b: &mut Builder, name: String, i: usize, (start, first): Start, along: Option<Node>) -> Node {
    match along {
        None => b.switch(name, &[start], |u| first + u[0] == i),
        Some(w) => b.switch(name, &[start, w], |u| (first + u[0]..first + u[0] + length(u[1])).contains(&i)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn reference(name: &str) -> Network {
        Network::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/paper").join(name)).unwrap()
    }

    fn assert_same(ours: &Network, theirs: &Network) {
        assert_eq!(ours.variables(), theirs.variables());
        let cards = ours.cards();
        for (a, b) in ours.cpts().iter().zip(theirs.cpts()) {
            assert_eq!(a.scope(), b.scope());
            let (a, b) = (a.table(&cards), b.table(&cards));
            assert!(a.iter().zip(&b).all(|(p, q)| (p - q).abs() < 1e-12), "{a:?} {b:?}");
        }
    }

    #[test]
    fn noise_free_models_are_the_reference_files() {
        for (name, file) in [("rect:8,noise=0", "rect8.bif.gz"), ("digits:8,noise=0", "digits8.bif.gz")] {
            assert_same(&Network::read(name).unwrap(), &reference(file));
        }
    }

    #[test]
    fn sizes_are_the_papers() {
        for (n, nodes) in [(8, 85), (10, 125), (20, 445)] {
            assert_eq!(rect(n, NOISE).unwrap().variables().len(), nodes);
        }
        for (n, nodes) in [(8, 638), (10, 954), (16, 2286)] {
            assert_eq!(digits(n, NOISE).unwrap().variables().len(), nodes);
        }
        assert_eq!(digits(7, NOISE).unwrap().card(crate::VarId::new(3)), 1);
    }

    #[test]
    fn pixels_are_noisy_trainable_and_tied_and_the_rest_keeps_what_is_known() {
        let net = Network::read("rect:4").unwrap();
        let role = |name: &str| {
            let cpt = &net.cpts()[net.find(name).unwrap().index()];
            let role = cpt.role();
            (cpt.is_functional(), role.functional, role.fixed, role.keep_zeros, role.tie.as_deref())
        };
        assert_eq!(role("row"), (false, false, false, false, None));
        assert_eq!(role("height"), (false, false, false, true, None));
        assert_eq!(role("label"), (false, false, true, false, None));
        assert_eq!(role("c_3"), (true, true, true, false, None));
        assert_eq!(role("pixel_0_3"), (false, false, false, false, Some("pixel")));
        let pixel = &net.cpts()[net.find("pixel_1_2").unwrap().index()];
        assert_eq!(pixel.table(&net.cards()), [0.9, 0.1, 0.1, 0.9, 0.1, 0.9, 0.1, 0.9]);
    }

    #[test]
    fn random_networks_have_their_name() {
        let net = Network::read("random:100,5,57,3").unwrap();
        assert_eq!(net.cpts().iter().filter(|cpt| cpt.is_functional()).count(), 57);
        assert!(net.ids().all(|v| net.card(v) <= 3 && net.parents(v).len() <= 5));
        assert_eq!(net, Network::read("random:100,5,57,3").unwrap());
    }

    #[test]
    fn wrong_parameters_are_explained() {
        let message = |name: &str| Network::read(name).unwrap_err().to_string();
        assert_eq!(message("rect:1"), "`rect:1` asks for 1 rows of pixels\nhint: choose a number from 2 to 128");
        assert_eq!(message("digits:6"), "`digits:6` asks for 6 rows of pixels\nhint: choose a number from 7 to 128");
        assert!(message("rect:100000").ends_with("choose a number from 2 to 128"));
        let form = "hint: write `rect:N` or `rect:N,noise=P`, such as `rect:8,noise=0`";
        assert_eq!(message("rect:abc"), format!("`abc` in `rect:abc` is not a whole number\n{form}"));
        assert_eq!(message("rect:8,nose=1"), format!("`rect:8,nose=1` has the unknown option `nose=1`\n{form}"));
        assert_eq!(message("rect:8,noise=x"), format!("`x` in `rect:8,noise=x` is not a number\n{form}"));
        assert!(message("rect:8,noise=1.5").starts_with("the noise 1.5 is no probability\nhint: "));
        assert!(message("rect:8,noise=nan").starts_with("the noise NaN is no probability\nhint: "));
        assert!(message("random:8,2,50").starts_with("`random:8,2,50` has 3 parameters, not 4\nhint: write `random:"));
        assert!(message("random:8,99,50,1").starts_with("`random:8,99,50,1` asks for 99 parents\nhint: "));
        assert!(message("random:8,2,101,1").contains("101 per cent"));
        assert!(message("rect").contains("rect:N"));
    }
}
