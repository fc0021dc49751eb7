//! From an elimination order to a jointree, and the view of it from the host of the query.
//!
//! Eliminating a variable joins all trees that contain it, one after the other, in the order of
//! their age. The last join is not a node of the jointree: its two children are neighbours. In the
//! *view* from a leaf, the host, the tree hangs from the edge between the host and its neighbour;
//! all messages flow towards the host.

use crate::compile::plan::paper::Replicated;
use crate::compile::plan::tree::Tree;
use crate::vars::VarId;

/// The leaves of a replicated network in the order of their own variables' elimination.
pub fn leaf_order(replicated: &Replicated, order: &[VarId]) -> Vec<usize> {
    let mut position = vec![usize::MAX; replicated.network.cards.len()];
    order
        .iter()
        .enumerate()
        .for_each(|(at, v)| position[v.index()] = at);
    let mut leaves: Vec<usize> = (0..replicated.leaves.len()).collect();
    leaves.sort_by_key(|&leaf| replicated.own[leaf].map_or(usize::MAX, |v| position[v.index()]));
    leaves
}

/// The tree that an order gives, over these leaves of a replicated network.
pub fn dtree(replicated: &Replicated, leaves: &[usize], order: &[VarId]) -> Tree {
    let mut trees = DisjointTrees {
        above: (0..leaves.len()).collect(),
        tree: Tree {
            leaves: leaves.len(),
            joins: vec![],
        },
    };
    let mut users: Vec<Vec<usize>> = vec![vec![]; replicated.network.cards.len()];
    for (at, &leaf) in leaves.iter().enumerate() {
        replicated.network.axes[leaf]
            .iter()
            .for_each(|v| users[v.index()].push(at));
    }
    for v in order {
        trees.join_all(&users[v.index()]);
    }
    trees.join_all(&(0..leaves.len()).collect::<Vec<_>>());
    trees.tree
}

/// Trees that become one.
struct DisjointTrees {
    /// Leads from each node to the root of its tree.
    above: Vec<usize>,
    tree: Tree,
}

impl DisjointTrees {
    fn root(&mut self, mut node: usize) -> usize {
        while self.above[node] != node {
            self.above[node] = self.above[self.above[node]];
            node = self.above[node];
        }
        node
    }

    /// Joins the trees of these leaves, the oldest first.
    fn join_all(&mut self, leaves: &[usize]) {
        let mut roots: Vec<usize> = leaves.iter().map(|&leaf| self.root(leaf)).collect();
        roots.sort_unstable();
        roots.dedup();
        roots.into_iter().reduce(|a, b| self.join(a, b));
    }

    fn join(&mut self, a: usize, b: usize) -> usize {
        let joined = self.above.len();
        self.above.push(joined);
        (self.above[a], self.above[b]) = (joined, joined);
        self.tree.joins.push((a, b));
        joined
    }
}

/// A tree with the numbers that its nodes had before it was turned.
#[derive(Clone, Debug)]
pub struct View {
    /// The tree; if there is a host, it is the first child of the root.
    pub tree: Tree,
    /// The age of each node.
    pub ages: Vec<usize>,
    /// Whether there is a host.
    pub has_host: bool,
}

/// The view of a jointree from a host; without a host, from where the last trees were joined.
pub fn view(dtree: &Tree, host: Option<usize>) -> View {
    let mut children = dtree.joins.clone();
    if let Some(host) = host.filter(|_| !children.is_empty()) {
        turn(&mut children, dtree.leaves, host);
    }
    let mut ages: Vec<usize> = (0..dtree.leaves).collect();
    let mut place: Vec<usize> = (0..dtree.leaves + children.len()).collect();
    let mut tree = Tree {
        leaves: dtree.leaves,
        joins: vec![],
    };
    let mut stack = vec![(dtree.leaves + children.len() - 1, false)];
    while let Some((node, is_done)) = stack.pop() {
        let Some(k) = node.checked_sub(dtree.leaves) else {
            continue;
        };
        let (l, r) = children[k];
        if is_done {
            place[node] = ages.len();
            ages.push(node);
            tree.joins.push((place[l], place[r]));
        } else {
            stack.extend([(node, true), (r, false), (l, false)]);
        }
    }
    View {
        tree,
        ages,
        has_host: host.is_some(),
    }
}

/// Turns a tree so that the host is a child of the root: what was above it comes to be below its
/// neighbour.
fn turn(children: &mut [(usize, usize)], leaves: usize, host: usize) {
    let mut parent = vec![None; leaves + children.len()];
    for (k, &(l, r)) in children.iter().enumerate() {
        (parent[l], parent[r]) = (Some(leaves + k), Some(leaves + k));
    }
    let path: Vec<usize> = std::iter::successors(Some(host), |&node| parent[node]).collect();
    let [.., last, root] = path[..] else { return };
    let (l, r) = children[root - leaves];
    let across = if l == last { r } else { l };
    children[root - leaves] = (
        host,
        path.get(1)
            .copied()
            .filter(|&n| n != root)
            .unwrap_or(across),
    );
    for (k, step) in path.windows(2).enumerate().take(path.len() - 2) {
        let above = path
            .get(k + 2)
            .copied()
            .filter(|&n| n != root)
            .unwrap_or(across);
        let (l, r) = &mut children[step[1] - leaves];
        *(if *l == step[0] { l } else { r }) = above;
    }
}
