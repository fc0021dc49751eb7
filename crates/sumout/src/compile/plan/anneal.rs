//! Improves a tree by rotations, at first accepting some that make it worse.
//!
//! A rotation at node i = (a, b) with a = (x, y) makes it i = ((y, b), x). Only one separator
//! changes, that of a: it becomes (sep y ∪ sep b) ∩ (sep x ∪ sep i). Only two clusters change,
//! those of a and of i.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::compile::plan::tree::{Leaves, Tree};
use crate::control::Control;

/// A tree with its separators, in a form that is fast to change.
pub(crate) struct Annealer<'a> {
    leaves: usize,
    problem: &'a Leaves,
    /// Whether each node differs between examples, and so counts in full.
    varies: Vec<bool>,
    children: Vec<[usize; 2]>,
    parent: Vec<usize>,
    separators: Vec<Vec<u32>>,
    /// The sizes of the separators, and of the clusters.
    sizes: Vec<f64>,
    clusters: Vec<f64>,
    total: f64,
    control: &'a Control,
}

/// After this many steps, annealing looks whether it was stopped.
const STEPS_BETWEEN_CHECKS: u64 = 1024;

/// A rotation that could be made.
struct Rotation {
    i: usize,
    a: usize,
    b: usize,
    x: usize,
    y: usize,
    size: f64,
    varies: bool,
    cluster_a: f64,
    cluster_i: f64,
}

impl<'a> Annealer<'a> {
    pub fn new(tree: &Tree, leaves: &'a Leaves, control: &'a Control) -> Self {
        let nodes = tree.leaves + tree.joins.len();
        let separators = tree.separators(leaves);
        let sizes: Vec<f64> = separators.iter().map(|s| leaves.size(s)).collect();
        let mut annealer = Annealer {
            leaves: tree.leaves,
            problem: leaves,
            varies: tree.varies(leaves),
            children: vec![[usize::MAX; 2]; nodes],
            parent: vec![usize::MAX; nodes],
            separators: separators
                .iter()
                .map(|s| s.iter().map(|v| v.index() as u32).collect())
                .collect(),
            sizes,
            clusters: vec![0.0; nodes],
            total: 0.0,
            control,
        };
        for (k, &(l, r)) in tree.joins.iter().enumerate() {
            let node = tree.leaves + k;
            annealer.children[node] = [l, r];
            annealer.parent[l] = node;
            annealer.parent[r] = node;
            annealer.clusters[node] = annealer.union_size(l, r);
        }
        annealer.total = (0..nodes).map(|node| annealer.cost(node)).sum();
        annealer
    }

    fn price(&self, varies: bool) -> f64 {
        self.problem.prices.of(varies)
    }

    fn cost(&self, node: usize) -> f64 {
        self.price(self.varies[node])
            * self
                .problem
                .prices
                .step(self.clusters[node], self.sizes[node])
    }

    /// The number of values that a variable adds after the one before it: none if both are clones
    /// of one.
    fn card(&self, v: u32, last: &mut u32) -> f64 {
        let original = self.problem.original[v as usize].index() as u32;
        if std::mem::replace(last, original) == original {
            1.0
        } else {
            self.problem.cards[v as usize] as f64
        }
    }

    fn union_size(&self, a: usize, b: usize) -> f64 {
        let (mut size, mut last) = (1.0, u32::MAX);
        self.each_in_union(a, b, |v| size *= self.card(v, &mut last));
        size
    }

    /// Takes this many steps, unless it is stopped, while the temperature falls from `from` to `to`.
    pub fn run(&mut self, steps: u64, (from, to): (f64, f64), rng: &mut ChaCha8Rng) {
        let nodes = self.children.len();
        if nodes < self.leaves + 2 {
            return;
        }
        for step in 0..steps {
            if step % STEPS_BETWEEN_CHECKS == 0 && self.control.is_stopped() {
                return;
            }
            let temperature = from * (to / from).powf(step as f64 / steps as f64);
            let a = rng.random_range(self.leaves..nodes);
            let swap = rng.random::<bool>();
            let Some(rotation) = self.rotation(a, swap) else {
                continue;
            };
            let change = self.change(&rotation);
            if change <= 0.0 || rng.random::<f64>() < (-change / (temperature * self.total)).exp() {
                self.apply(rotation, change);
            }
        }
    }

    fn rotation(&self, a: usize, swap: bool) -> Option<Rotation> {
        let i = self.parent[a];
        if i == usize::MAX {
            return None;
        }
        let b = if self.children[i][0] == a {
            self.children[i][1]
        } else {
            self.children[i][0]
        };
        let [x, y] = self.children[a];
        let (x, y) = if swap { (y, x) } else { (x, y) };
        let (mut size, mut cluster_a) = (1.0, 1.0);
        let (mut last_size, mut last_cluster) = (u32::MAX, u32::MAX);
        self.each_in_union(y, b, |v| {
            cluster_a *= self.card(v, &mut last_cluster);
            if self.is_kept(v, x, i) {
                size *= self.card(v, &mut last_size);
            }
        });
        let varies = self.varies[y] || self.varies[b];
        let cluster_i = self.cluster_after(x, y, b, i);
        Some(Rotation {
            i,
            a,
            b,
            x,
            y,
            size,
            varies,
            cluster_a,
            cluster_i,
        })
    }

    /// Whether a variable of y or b is still needed above them, once x is joined later.
    fn is_kept(&self, v: u32, x: usize, i: usize) -> bool {
        self.separators[x].binary_search(&v).is_ok() || self.separators[i].binary_search(&v).is_ok()
    }

    /// The size of the new separator of y and b joined with that of x.
    fn cluster_after(&self, x: usize, y: usize, b: usize, i: usize) -> f64 {
        let (mut size, mut last) = (1.0, u32::MAX);
        let (sep_x, mut at) = (&self.separators[x], 0);
        self.each_in_union(y, b, |v| {
            while at < sep_x.len() && sep_x[at] < v {
                size *= self.card(sep_x[at], &mut last);
                at += 1;
            }
            if sep_x.get(at) != Some(&v) && self.separators[i].binary_search(&v).is_ok() {
                size *= self.card(v, &mut last);
            }
        });
        sep_x[at..]
            .iter()
            .for_each(|&v| size *= self.card(v, &mut last));
        size
    }

    fn each_in_union(&self, a: usize, b: usize, mut visit: impl FnMut(u32)) {
        let (a, b) = (&self.separators[a], &self.separators[b]);
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let (x, y) = (
                a.get(i).copied().unwrap_or(u32::MAX),
                b.get(j).copied().unwrap_or(u32::MAX),
            );
            visit(x.min(y));
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
    }

    fn change(&self, rotation: &Rotation) -> f64 {
        let new_a = self.price(rotation.varies)
            * self.problem.prices.step(rotation.cluster_a, rotation.size);
        let new_i = self.price(self.varies[rotation.i])
            * self
                .problem
                .prices
                .step(rotation.cluster_i - self.clusters[rotation.i], 0.0);
        new_a + new_i - self.cost(rotation.a)
    }

    fn apply(&mut self, rotation: Rotation, change: f64) {
        let mut separator = Vec::with_capacity(self.separators[rotation.a].len() + 4);
        self.each_in_union(rotation.y, rotation.b, |v| {
            if self.is_kept(v, rotation.x, rotation.i) {
                separator.push(v);
            }
        });
        self.separators[rotation.a] = separator;
        self.sizes[rotation.a] = rotation.size;
        self.varies[rotation.a] = rotation.varies;
        (self.clusters[rotation.a], self.clusters[rotation.i]) =
            (rotation.cluster_a, rotation.cluster_i);
        self.children[rotation.a] = [rotation.y, rotation.b];
        self.children[rotation.i] = [rotation.a, rotation.x];
        (self.parent[rotation.b], self.parent[rotation.x]) = (rotation.a, rotation.i);
        self.total += change;
    }

    /// The tree as it is now.
    pub fn tree(&self) -> Tree {
        let mut joins = vec![];
        let mut place: Vec<usize> = (0..self.children.len()).collect();
        let root = (0..self.children.len())
            .find(|&n| self.parent[n] == usize::MAX)
            .unwrap_or(0);
        let mut stack = vec![(root, false)];
        while let Some((node, is_done)) = stack.pop() {
            if node < self.leaves {
                continue;
            }
            let [l, r] = self.children[node];
            if is_done {
                joins.push((place[l], place[r]));
                place[node] = self.leaves + joins.len() - 1;
            } else {
                stack.extend([(node, true), (r, false), (l, false)]);
            }
        }
        Tree {
            leaves: self.leaves,
            joins,
        }
    }
}
