//! Trees of products, each with one entry for every combination of its factors' entries that can
//! occur.
//!
//! Two joint states are in the same *class* of a node if all leaves below it have the same classes
//! in both. A class of an inner node is a pair of classes of its children. So the pairs of a node
//! say all there is to know about the nodes below it, and to change a tree needs no look at the
//! joint states themselves.

use crate::compile::plan::tree::Tree;
use crate::compile::support::states::Space;

/// A tree of products: nodes below `leaves` are leaves, children come in any order.
pub(crate) struct Products {
    pub leaves: usize,
    pub root: usize,
    pub children: Vec<[usize; 2]>,
    pub parent: Vec<usize>,
    /// The number of classes of each node.
    pub sizes: Vec<usize>,
    /// For each class of an inner node, the classes of its two children.
    pub pairs: Vec<Vec<[u32; 2]>>,
    /// The root's class in each joint state; none without leaves.
    pub column: Option<Vec<u32>>,
}

impl Products {
    /// The classes of all nodes of a tree, depth first so that few columns are in use at a time.
    pub fn new(space: &Space<'_>, tree: &Tree) -> Self {
        let nodes = tree.leaves + tree.joins.len();
        let mut products = Products {
            leaves: tree.leaves,
            root: nodes.saturating_sub(1),
            children: vec![[usize::MAX; 2]; nodes],
            parent: vec![usize::MAX; nodes],
            sizes: (0..tree.leaves)
                .map(|leaf| space.classes(leaf))
                .chain(tree.joins.iter().map(|_| 0))
                .collect(),
            pairs: vec![vec![]; nodes],
            column: None,
        };
        for (k, &(l, r)) in tree.joins.iter().enumerate() {
            products.children[tree.leaves + k] = [l, r];
            (products.parent[l], products.parent[r]) = (tree.leaves + k, tree.leaves + k);
        }
        products.classify(space);
        products
    }

    fn classify(&mut self, space: &Space<'_>) {
        let mut interner = Interner::default();
        let mut stack: Vec<Vec<u32>> = vec![];
        for node in self.postorder() {
            if node < self.leaves {
                stack.push(space.column(node, 0..space.count));
            } else if let (Some(b), Some(a)) = (stack.pop(), stack.pop()) {
                let [l, r] = self.children[node];
                stack.push(interner.columns((&a, self.sizes[l]), (&b, self.sizes[r])));
                self.pairs[node] = interner.pairs().to_vec();
                self.sizes[node] = self.pairs[node].len();
            }
        }
        self.column = stack.pop();
    }

    /// All nodes, children before their parents and left before right.
    pub fn postorder(&self) -> Vec<usize> {
        let mut order = vec![];
        let mut stack: Vec<usize> = if self.sizes.is_empty() {
            vec![]
        } else {
            vec![self.root]
        };
        while let Some(node) = stack.pop() {
            order.push(node);
            if node >= self.leaves {
                stack.extend(self.children[node]);
            }
        }
        order.reverse();
        order
    }

    /// The other child of a node's parent.
    pub fn sibling(&self, node: usize) -> usize {
        let [l, r] = self.children[self.parent[node]];
        if l == node { r } else { l }
    }
}

/// Numbers pairs in the order in which they are first met.
#[derive(Default)]
pub(crate) struct Interner {
    /// The time at which a slot was last written, and the number that it has.
    slots: Vec<[u32; 2]>,
    time: u32,
    pairs: Vec<[u32; 2]>,
    /// The number of second members if each pair has a slot of its own; otherwise slots are hashed.
    width: Option<usize>,
    mask: usize,
}

/// With at most this many possible pairs, each has a slot of its own.
const MAX_DENSE_PAIRS: usize = 1 << 20;

impl Interner {
    /// Forgets all pairs; the next come from `a` times `b` possible ones, and there are at most
    /// `most` of them.
    pub fn clear(&mut self, a: usize, b: usize, most: usize) {
        self.pairs.clear();
        self.time += 1;
        self.width = a
            .checked_mul(b)
            .is_some_and(|all| all <= MAX_DENSE_PAIRS)
            .then_some(b);
        let slots = self.width.map_or(2 * most.next_power_of_two(), |_| a * b);
        self.mask = slots.wrapping_sub(1);
        if self.slots.len() < slots {
            self.slots.resize(slots, [0, 0]);
        }
    }

    /// The number of a pair.
    pub fn number(&mut self, a: u32, b: u32) -> u32 {
        let slot = match self.width {
            Some(width) => a as usize * width + b as usize,
            None => self.probe(a, b),
        };
        if self.slots[slot][0] != self.time {
            self.slots[slot] = [self.time, self.pairs.len() as u32];
            self.pairs.push([a, b]);
        }
        self.slots[slot][1]
    }

    fn probe(&self, a: u32, b: u32) -> usize {
        let hash = (u64::from(a) << 32 | u64::from(b)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut slot = (hash >> 32) as usize & self.mask;
        while self.slots[slot][0] == self.time && self.pairs[self.slots[slot][1] as usize] != [a, b]
        {
            slot = (slot + 1) & self.mask;
        }
        slot
    }

    /// How many pairs were met.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// The pairs that were met.
    pub fn pairs(&self) -> &[[u32; 2]] {
        &self.pairs
    }

    /// Numbers the pairs of two columns, given with their numbers of classes.
    pub fn columns(
        &mut self,
        (a, a_size): (&[u32], usize),
        (b, b_size): (&[u32], usize),
    ) -> Vec<u32> {
        self.clear(a_size, b_size, a.len());
        a.iter().zip(b).map(|(&a, &b)| self.number(a, b)).collect()
    }

    /// The number of different pairs in two columns.
    pub fn count(&mut self, (a, a_size): (&[u32], usize), (b, b_size): (&[u32], usize)) -> usize {
        self.clear(a_size, b_size, a.len());
        a.iter().zip(b).for_each(|(&a, &b)| {
            self.number(a, b);
        });
        self.len()
    }
}
