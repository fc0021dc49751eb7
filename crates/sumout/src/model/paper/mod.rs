//! The models of the paper (section 5), by name.
//!
//! | name | what it is |
//! |---|---|
//! | `rect:N` | an N × N image of one rectangle; `label` is `tall` or `wide` |
//! | `digits:N` | an N × N image of one seven-segment digit `d` |
//! | `random:N,K,F,SEED` | N variables with up to 3 values and K parents; F per cent of them are functions |
//!
//! A scene has the positions of objects. Functions of the scene give the rows and columns, and so which
//! pixels, are on. The pixels themselves are noisy: each shows what it should with probability 0.9,
//! or 1 − p in `rect:N,noise=p`. Their CPTs are trainable and tied, the functions are fixed, and
//! the scene is trainable but keeps its zeros. Value 0 of a binary variable is `t`, "on".
//!
//! In `rect:N,trainable` nothing is known: all is trainable, zeros included, and only the pixels
//! are tied. Rows and columns are no longer declared functions, but in `digits:N,trainable` all
//! functions still are; there numbers have values for all lines of the image, whether they occur or
//! not. These are the networks without background knowledge of Tables 2 and 4.

mod digits;
mod rect;

use std::fmt::Display;
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Result};
use crate::model::builder::{Builder, Node};
use crate::model::network::Network;
use crate::model::random;

pub use digits::{HEIGHT, WIDTH, covers, digits};
pub use rect::rect;

/// How often a pixel is not what it should be, unless the name gives another probability.
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

/// The network that a name such as `rect:8` stands for; none if it is not such a name.
pub(super) fn named(name: &str) -> Option<Result<Network>> {
    let (family, parameters) = name.split_once(':')?;
    match family {
        "rect" => Some(image(name, parameters).and_then(|(n, variant)| rect(n, variant))),
        "digits" => Some(image(name, parameters).and_then(|(n, variant)| digits(n, variant))),
        "random" => Some(random(name, parameters)),
        _ => None,
    }
}

/// Reads `N`, with the options `noise=P` and `trainable`.
fn image(name: &str, parameters: &str) -> Result<(usize, Variant)> {
    let family = name.split(':').next().unwrap_or_default();
    let form = format!(
        "`{family}:N`, `{family}:N,noise=P` or `{family}:N,trainable`, such as `{family}:8,noise=0`"
    );
    let mut parts = parameters.split(',');
    let n = number(
        name,
        parts.next().unwrap_or_default(),
        "a whole number",
        &form,
    )?;
    let mut variant = Variant::default();
    for option in parts.map(str::trim) {
        match option.strip_prefix("noise=") {
            Some(p) => variant.noise = number(name, p, "a number", &form)?,
            None if option == "trainable" => variant.trainable = true,
            None => {
                return Err(wrong(
                    format!("`{name}` has the unknown option `{option}`"),
                    &form,
                ));
            }
        }
    }
    Ok((n, variant))
}

/// Reads `N,K,F,SEED` and makes that random network.
fn random(name: &str, parameters: &str) -> Result<Network> {
    let form = "`random:N,K,F,SEED`, such as `random:75,4,50,1` for 75 variables, 4 parents, 50 % functions, seed 1";
    let parts: Vec<&str> = parameters.split(',').collect();
    let [n, k, f, seed] = parts[..] else {
        return Err(wrong(
            format!("`{name}` has {} parameters, not 4", parts.len()),
            form,
        ));
    };
    let nodes = number(name, n, "a whole number", form)?;
    let max_parents = number(name, k, "a whole number", form)?;
    let percent: f64 = number(name, f, "a number", form)?;
    within(name, "variables", nodes, 1, MAX_NODES)?;
    within(name, "parents", max_parents, 0, MAX_PARENTS)?;
    if !(0.0..=100.0).contains(&percent) {
        return Err(wrong(
            format!("`{name}` asks for {percent} per cent functions, which is not in 0 to 100"),
            form,
        ));
    }
    let shape = random::Shape {
        nodes,
        max_values: 3,
        max_parents,
        functional: percent / 100.0,
    };
    random::network(&shape, number(name, seed, "a whole number", form)?)
}

/// Reads a part of the name of a model; `form` is how such names are written.
pub fn number<T: FromStr>(name: &str, text: &str, kind: &str, form: &str) -> Result<T> {
    text.trim()
        .parse()
        .map_err(|_| wrong(format!("`{text}` in `{name}` is not {kind}"), form))
}

fn wrong(message: String, form: &str) -> Error {
    Error::new(ErrorKind::Model, message).hint(format!("write {form}"))
}

/// Refuses a model that would be too small or too large.
pub fn within(
    name: impl Display,
    what: &str,
    found: usize,
    least: usize,
    most: usize,
) -> Result<()> {
    if (least..=most).contains(&found) {
        return Ok(());
    }
    let message = format!("`{name}` asks for {found} {what}");
    Err(Error::new(ErrorKind::Model, message)
        .hint(format!("choose a number from {least} to {most}")))
}

/// Which network of an image it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variant {
    /// How often a pixel is not what it should be.
    pub noise: f64,
    /// Whether nothing is known of its CPTs: all of them are to be learned, zeros included.
    pub trainable: bool,
}

impl Default for Variant {
    fn default() -> Self {
        Variant {
            noise: NOISE,
            trainable: false,
        }
    }
}

impl Variant {
    fn check(&self) -> Result<()> {
        let noise = self.noise;
        if (0.0..=1.0).contains(&noise) {
            return Ok(());
        }
        let error = Error::new(
            ErrorKind::Model,
            format!("the noise {noise} is not a probability"),
        );
        Err(error.hint("choose a number from 0 to 1; 0 is for pixels without noise"))
    }
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

    /// A binary variable that is on where `is_on` says so, given the positions of the parents'
    /// values.
    fn switch(&mut self, name: String, parents: &[Node], is_on: impl Fn(&[usize]) -> bool) -> Node {
        let node = self.variable(name, BINARY);
        self.function(node, parents.iter().copied(), |u| usize::from(!is_on(u)))
            .fixed()
            .functional();
        node
    }

    /// A pixel that shows, up to noise, what `is_on` says of its binary parents.
    fn pixel(
        &mut self,
        name: String,
        parents: &[Node],
        noise: f64,
        is_on: impl Fn(&[usize]) -> bool,
    ) {
        let node = self.variable(name, BINARY);
        let states = (0..1usize << parents.len())
            .map(|row| (0..parents.len()).rev().map(|i| row >> i & 1).collect());
        let row = |u: Vec<usize>| {
            if is_on(&u) {
                [1.0 - noise, noise]
            } else {
                [noise, 1.0 - noise]
            }
        };
        let table: Vec<f64> = states.flat_map(row).collect();
        self.table(node, parents.iter().copied(), table)
            .tie("pixel");
    }

    /// Lets all numbers be learned, zeros included.
    fn forget(&mut self) {
        self.change_roles(|role| (role.fixed, role.keep_zeros) = (false, false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Cpt;
    use crate::vars::VarId;
    use std::path::Path;

    fn reference(name: &str) -> Network {
        Network::read(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../models/paper")
                .join(name),
        )
        .unwrap()
    }

    fn assert_same(ours: &Network, theirs: &Network) {
        assert_eq!(ours.variables(), theirs.variables());
        let cards = ours.cards();
        for (a, b) in ours.cpts().iter().zip(theirs.cpts()) {
            assert_eq!(a.scope(), b.scope());
            let (a, b) = (a.table(&cards), b.table(&cards));
            assert!(
                a.iter().zip(&b).all(|(p, q)| (p - q).abs() < 1e-12),
                "{a:?} {b:?}"
            );
        }
    }

    #[test]
    fn noise_free_models_are_the_reference_files() {
        for (name, file) in [
            ("rect:8,noise=0", "rect8.bif.gz"),
            ("digits:8,noise=0", "digits8.bif.gz"),
        ] {
            assert_same(&Network::read(name).unwrap(), &reference(file));
        }
    }

    #[test]
    fn sizes_are_the_papers() {
        for (n, nodes) in [(8, 85), (10, 125), (20, 445)] {
            assert_eq!(
                rect(n, Variant::default()).unwrap().variables().len(),
                nodes
            );
        }
        for (n, nodes) in [(8, 638), (10, 954), (16, 2286)] {
            assert_eq!(
                digits(n, Variant::default()).unwrap().variables().len(),
                nodes
            );
        }
        assert_eq!(
            digits(7, Variant::default())
                .unwrap()
                .card(crate::VarId::new(3)),
            1
        );
    }

    #[test]
    fn pixels_are_noisy_trainable_and_tied_and_the_rest_keeps_what_is_known() {
        let net = Network::read("rect:4").unwrap();
        let role = |name: &str| {
            let cpt = &net.cpts()[net.find(name).unwrap().index()];
            let role = cpt.role();
            (
                cpt.is_functional(),
                role.functional,
                role.fixed,
                role.keep_zeros,
                role.tie.as_deref(),
            )
        };
        assert_eq!(role("row"), (false, false, false, false, None));
        assert_eq!(role("height"), (false, false, false, true, None));
        assert_eq!(role("label"), (false, false, true, false, None));
        assert_eq!(role("c_3"), (true, true, true, false, None));
        assert_eq!(
            role("pixel_0_3"),
            (false, false, false, false, Some("pixel"))
        );
        let pixel = &net.cpts()[net.find("pixel_1_2").unwrap().index()];
        assert_eq!(
            pixel.table(&net.cards()),
            [0.9, 0.1, 0.1, 0.9, 0.1, 0.9, 0.1, 0.9]
        );
    }

    /// The numbers that can be learned: those of tied CPTs once, and none of those that are fixed.
    fn entries(net: &Network) -> usize {
        let mut ties = std::collections::BTreeSet::new();
        let is_first = |cpt: &&Cpt| {
            cpt.role()
                .tie
                .as_ref()
                .is_none_or(|tie| ties.insert(tie.clone()))
        };
        let trained = net
            .cpts()
            .iter()
            .filter(|cpt| !cpt.role().fixed)
            .filter(is_first);
        trained.map(|cpt| cpt.size(&net.cards())).sum()
    }

    #[test]
    fn without_knowledge_there_are_as_many_numbers_as_in_the_paper() {
        for (name, expected) in [
            ("rect:10,trainable", 4_428),
            ("digits:10,trainable", 22_797),
        ] {
            let net = Network::read(name).unwrap();
            assert_eq!(entries(&net), expected, "{name}");
            assert!(
                net.cpts()
                    .iter()
                    .all(|cpt| !cpt.role().fixed && !cpt.role().keep_zeros)
            );
            let is_pixel =
                |v: VarId| net.variable(v).name.starts_with("p") && net.parents(v).len() != 3;
            assert!(
                net.ids()
                    .all(|v| net.cpts()[v.index()].role().tie.is_some() == is_pixel(v))
            );
        }
    }

    #[test]
    fn without_knowledge_digits_still_declare_their_functions_and_rectangles_do_not() {
        let declared = |name: &str| {
            let net = Network::read(name).unwrap();
            net.cpts()
                .iter()
                .filter(|cpt| cpt.role().functional)
                .count()
        };
        assert_eq!(declared("rect:5,trainable"), 0);
        assert_eq!(declared("digits:8,trainable"), declared("digits:8"));
        assert_eq!(declared("digits:8"), 7 + 3 + 14 * 8 + 7 * 64);
    }

    #[test]
    fn options_come_in_any_order() {
        let [a, b] = [
            "rect:3,noise=0.25,trainable",
            "rect:3, trainable, noise=0.25",
        ]
        .map(Network::read);
        assert_eq!(a.unwrap(), b.unwrap());
        let net = Network::read("rect:3,trainable,noise=0.25").unwrap();
        assert_eq!(
            net.cpts()[net.find("pixel_0_0").unwrap().index()].table(&net.cards())[0],
            0.75
        );
    }

    #[test]
    fn random_networks_have_their_name() {
        let net = Network::read("random:100,5,57,3").unwrap();
        assert_eq!(
            net.cpts().iter().filter(|cpt| cpt.is_functional()).count(),
            57
        );
        assert!(
            net.ids()
                .all(|v| net.card(v) <= 3 && net.parents(v).len() <= 5)
        );
        assert_eq!(net, Network::read("random:100,5,57,3").unwrap());
    }

    #[test]
    fn wrong_parameters_are_explained() {
        let message = |name: &str| Network::read(name).unwrap_err().to_string();
        assert_eq!(
            message("rect:1"),
            "`rect:1` asks for 1 rows of pixels\nhint: choose a number from 2 to 128"
        );
        assert_eq!(
            message("digits:6"),
            "`digits:6` asks for 6 rows of pixels\nhint: choose a number from 7 to 128"
        );
        assert!(message("rect:100000").ends_with("choose a number from 2 to 128"));
        let form = "hint: write `rect:N`, `rect:N,noise=P` or `rect:N,trainable`, such as `rect:8,noise=0`";
        assert_eq!(
            message("rect:abc"),
            format!("`abc` in `rect:abc` is not a whole number\n{form}")
        );
        assert_eq!(
            message("rect:8,nose=1"),
            format!("`rect:8,nose=1` has the unknown option `nose=1`\n{form}")
        );
        assert_eq!(
            message("rect:8,noise=x"),
            format!("`x` in `rect:8,noise=x` is not a number\n{form}")
        );
        assert!(
            message("rect:8,noise=1.5").starts_with("the noise 1.5 is not a probability\nhint: ")
        );
        assert!(
            message("rect:8,noise=nan").starts_with("the noise NaN is not a probability\nhint: ")
        );
        assert!(
            message("random:8,2,50")
                .starts_with("`random:8,2,50` has 3 parameters, not 4\nhint: write `random:")
        );
        assert!(
            message("random:8,99,50,1")
                .starts_with("`random:8,99,50,1` asks for 99 parents\nhint: ")
        );
        assert!(message("random:8,2,101,1").contains("101 per cent"));
        assert!(message("rect").contains("rect:N"));
    }
}
