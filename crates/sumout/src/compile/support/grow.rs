//! Builds a tree of products from the leaves, always joining the two nodes that grow least by it.
//!
//! The growth is how many classes more the product has than the larger of its factors. To subtract
//! the sizes of both gives a tree four times as large for 16 × 16 digits, before it is improved.
//!
//! Numbers of classes are estimated on a sample of the joint states: a small one while there are
//! many nodes to choose from, a larger one for the last joins, which are the large ones.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::SeedableRng;
use rand::seq::index::sample;
use rand_chacha::ChaCha8Rng;

use crate::compile::ask::Search;
use crate::compile::plan::tree::Tree;
use crate::compile::support::classes::Interner;
use crate::compile::support::states::Space;

/// How many pairs of classes a stage looks at.
const MAX_LOOKS: usize = 60_000_000;

/// With at most this many nodes left, a larger sample is affordable.
const MAX_NODES_OF_LARGE_SAMPLE: usize = 48;

/// The most joint states in a sample.
const MAX_SAMPLE: usize = 12_000;

/// A tree of products over all leaves of a space.
pub(crate) fn grow(space: &Space<'_>, search: &Search) -> Tree {
    let leaves = space.leaves.len();
    let mut rng = ChaCha8Rng::seed_from_u64(search.seed);
    let mut trees = Trees {
        joins: vec![],
        roots: (0..leaves).collect(),
        leaves,
    };
    for few in [MAX_NODES_OF_LARGE_SAMPLE, 1] {
        if trees.roots.len() > few {
            let most = (MAX_LOOKS / (trees.roots.len() * trees.roots.len())).clamp(100, MAX_SAMPLE);
            let count = most.min(space.count);
            let mut states = sample(&mut rng, space.count, count).into_vec();
            states.sort_unstable();
            Stage::new(space, &trees, &states).run(&mut trees, few);
        }
    }
    Tree {
        leaves,
        joins: trees.joins,
    }
}

/// The trees so far.
struct Trees {
    leaves: usize,
    joins: Vec<(usize, usize)>,
    roots: Vec<usize>,
}

/// One run on a fixed sample.
struct Stage {
    /// The classes of each node in the sample, with their number; none for a node that was joined.
    columns: Vec<Option<(Vec<u32>, usize)>>,
    interner: Interner,
    /// The joins that are possible, by their growth.
    queue: BinaryHeap<Reverse<(i64, usize, usize)>>,
}

impl Stage {
    fn new(space: &Space<'_>, trees: &Trees, states: &[usize]) -> Self {
        let mut stage = Stage {
            columns: vec![],
            interner: Interner::default(),
            queue: BinaryHeap::new(),
        };
        for leaf in 0..trees.leaves {
            stage.columns.push(Some((
                space.column(leaf, states.iter().copied()),
                space.classes(leaf),
            )));
        }
        trees.joins.iter().for_each(|&(a, b)| stage.join(a, b));
        for (i, &a) in trees.roots.iter().enumerate() {
            trees.roots[i + 1..]
                .iter()
                .for_each(|&b| stage.consider(a, b));
        }
        stage
    }

    fn join(&mut self, a: usize, b: usize) {
        let (Some((a, a_size)), Some((b, b_size))) =
            (self.columns[a].take(), self.columns[b].take())
        else {
            unreachable!("a node is joined once")
        };
        let column = self.interner.columns((&a, a_size), (&b, b_size));
        self.columns.push(Some((column, self.interner.len())));
    }

    fn consider(&mut self, a: usize, b: usize) {
        if let (Some((x, x_size)), Some((y, y_size))) = (&self.columns[a], &self.columns[b]) {
            let size = self.interner.count((x, *x_size), (y, *y_size));
            let growth = size as i64 - *x_size.max(y_size) as i64;
            self.queue.push(Reverse((growth, a.min(b), a.max(b))));
        }
    }

    /// Joins until at most `few` trees are left.
    fn run(&mut self, trees: &mut Trees, few: usize) {
        while trees.roots.len() > few {
            let Some(Reverse((_, a, b))) = self.queue.pop() else {
                unreachable!("any two trees can be joined")
            };
            if self.columns[a].is_none() || self.columns[b].is_none() {
                continue;
            }
            self.join(a, b);
            let joined = self.columns.len() - 1;
            trees.roots.retain(|&root| root != a && root != b);
            trees
                .roots
                .iter()
                .for_each(|&root| self.consider(root, joined));
            trees.roots.push(joined);
            trees.joins.push((a, b));
        }
    }
}
