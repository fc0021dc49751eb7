//! Improves a tree of products by rotations, at first accepting some that make it worse.
//!
//! A rotation at node i = (a, b) with a = (x, y) makes it i = ((y, b), x). Only the classes of a
//! change. Each class of i is a class of a with one of b, and so a class of x with one of y and one
//! of b: the new classes of a are the different pairs of the last two, and to count them takes as
//! long as i has classes.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::compile::ask::Search;
use crate::compile::support::classes::{Interner, Products};
use crate::compile::support::states::Space;
use crate::control::Control;

/// At effort 1 no search looks at more pairs of classes than this, which is about a second.
const MAX_LOOKS: f64 = 6e7;

/// Nor does it look at more pairs than this for each class of the first tree.
const LOOKS_PER_CLASS: f64 = 5e3;

/// Rotates for as long as the search may.
pub(crate) fn climb(products: &mut Products, space: &Space<'_>, search: &Search) {
    if products.leaves < 3 {
        return;
    }
    let worth = if search.is_for_many() {
        MAX_LOOKS
    } else {
        3.0 * (space.count * space.leaves.len()) as f64
    };
    let classes: usize = products.sizes.iter().sum();
    let looks = search.effort * worth.min(MAX_LOOKS).min(LOOKS_PER_CLASS * classes as f64);
    let values = space
        .pruned
        .output
        .iter()
        .map(|v| space.pruned.domains[v.index()].len())
        .product();
    let rng = ChaCha8Rng::seed_from_u64(search.seed);
    let mut climber = Climber {
        products,
        values,
        rng,
        interner: Interner::default(),
        control: &search.control,
    };
    climber.run(0.9 * looks, |done| START_HEAT * 0.01f64.powf(done));
    climber.run(0.1 * looks, |_| 0.0);
}

/// How much worse a rotation may make a tree at first, as a share of an average node.
const START_HEAT: f64 = 0.05;

struct Climber<'a> {
    products: &'a mut Products,
    /// The number of values of the output.
    values: usize,
    rng: ChaCha8Rng,
    interner: Interner,
    control: &'a Control,
}

/// A rotation: y and b become children of a, and x its sibling.
#[derive(Clone, Copy)]
struct ClassRotation {
    a: usize,
    b: usize,
    /// The places of x and y below a, and of a below its parent.
    x_at: usize,
    a_at: usize,
}

impl Climber<'_> {
    /// Makes rotations until this many pairs were looked at, or until it is stopped.
    fn run(&mut self, looks: f64, heat: impl Fn(f64) -> f64) {
        let (leaves, nodes) = (self.products.leaves, self.products.sizes.len());
        let mut total: usize = self.products.sizes.iter().sum();
        let mut looked = 0.0;
        while looked < looks && !self.control.is_stopped() {
            let a = self.rng.random_range(leaves..nodes);
            let (x_at, luck) = (self.rng.random_range(0..2), self.rng.random::<f64>());
            looked += 10.0;
            if a == self.products.root {
                continue;
            }
            let average = total as f64 / (nodes - leaves) as f64;
            let slack = (-luck.ln() * heat(looked / looks) * average) as usize;
            let before = self.products.sizes[a];
            looked += self.try_rotation(a, x_at, slack) as f64;
            total = total + self.products.sizes[a] - before;
        }
    }

    /// Rotates if that costs at most `slack` entries; returns how many pairs were looked at.
    fn try_rotation(&mut self, a: usize, x_at: usize, slack: usize) -> usize {
        let i = self.products.parent[a];
        let a_at = usize::from(self.products.children[i][1] == a);
        let rotation = ClassRotation {
            a,
            b: self.products.sibling(a),
            x_at,
            a_at,
        };
        let most = (self.products.sizes[a] + slack) as i64 - self.extra_at_root(rotation, 0);
        let (is_within, looked) = self.count(rotation, most);
        let now = self.interner.len() as i64 + self.extra_at_root(rotation, self.interner.len());
        if is_within && now <= (self.products.sizes[a] + slack) as i64 {
            self.apply(rotation);
        }
        looked
    }

    /// How much more the root costs after a rotation that gives a so many classes; none below the
    /// root.
    ///
    /// At the root one child is summed out against the weights, which leaves one entry for each
    /// class of the other and each value of the output.
    fn extra_at_root(&self, ClassRotation { a, b, x_at, .. }: ClassRotation, size: usize) -> i64 {
        let Products {
            root,
            parent,
            sizes,
            children,
            ..
        } = &*self.products;
        if parent[a] != *root {
            return 0;
        }
        let cost = |l: usize, r: usize| (self.values * l.min(r)).min(sizes[*root]) as i64;
        cost(size, sizes[children[a][x_at]]) - cost(sizes[a], sizes[b])
    }

    /// Numbers the pairs of classes of y and b; stops if there are more than `most`.
    fn count(
        &mut self,
        ClassRotation { a, b, x_at, a_at }: ClassRotation,
        most: i64,
    ) -> (bool, usize) {
        let Products {
            sizes,
            children,
            parent,
            pairs,
            ..
        } = &*self.products;
        let (i, y_at) = (parent[a], 1 - x_at);
        self.interner
            .clear(sizes[children[a][y_at]], sizes[b], pairs[i].len());
        for (looked, pair) in pairs[i].iter().enumerate() {
            self.interner
                .number(pairs[a][pair[a_at] as usize][y_at], pair[1 - a_at]);
            if self.interner.len() as i64 > most {
                return (false, looked + 1);
            }
        }
        (true, pairs[i].len())
    }

    /// Rotates; the interner has just counted the new pairs of a.
    fn apply(&mut self, ClassRotation { a, b, x_at, a_at }: ClassRotation) {
        let products = &mut *self.products;
        let (i, y_at) = (products.parent[a], 1 - x_at);
        let (x, y) = (products.children[a][x_at], products.children[a][y_at]);
        let mut above = std::mem::take(&mut products.pairs[i]);
        for pair in &mut above {
            let below = products.pairs[a][pair[a_at] as usize];
            *pair = [
                self.interner.number(below[y_at], pair[1 - a_at]),
                below[x_at],
            ];
        }
        products.pairs[i] = above;
        products.pairs[a] = self.interner.pairs().to_vec();
        products.sizes[a] = products.pairs[a].len();
        (products.children[a], products.children[i]) = ([y, b], [a, x]);
        (products.parent[b], products.parent[x]) = (a, i);
    }
}
