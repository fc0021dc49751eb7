//! Trees that grow node by node, before their nodes have their final numbers.

use std::collections::BTreeSet;

use crate::compile::plan::problem::Leaf;
use crate::compile::plan::tree::Tree;
use crate::vars::VarSet;

/// Leaves, a tree over them, and its separators.
pub(crate) type Skeleton = (Vec<Leaf>, Tree, Vec<VarSet>);

/// A node of the tree, before its final number is known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SkeletonNode {
    Leaf(Leaf),
    Join(usize, usize),
}

/// The tree below a node, leaves first, children before parents.
pub(crate) fn numbered(nodes: &[(SkeletonNode, VarSet)], root: usize) -> Skeleton {
    let mut order = vec![];
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        order.push(node);
        if let SkeletonNode::Join(a, b) = nodes[node].0 {
            stack.extend([a, b]);
        }
    }
    order.reverse();
    let (mut leaves, mut joins) = (vec![], vec![]);
    let mut place = vec![usize::MAX; nodes.len()];
    let mut separators = vec![];
    for &node in &order {
        if let SkeletonNode::Leaf(leaf) = nodes[node].0 {
            place[node] = leaves.len();
            leaves.push(leaf);
            separators.push(nodes[node].1.clone());
        }
    }
    for &node in &order {
        if let SkeletonNode::Join(a, b) = nodes[node].0 {
            place[node] = leaves.len() + joins.len();
            joins.push((place[a], place[b]));
            separators.push(nodes[node].1.clone());
        }
    }
    restore_originals(&mut leaves);
    let tree = Tree {
        leaves: leaves.len(),
        joins,
    };
    (leaves, tree, separators)
}

/// Where only copies of a factor are left, one of them is the original.
fn restore_originals(leaves: &mut [Leaf]) {
    let mut present: BTreeSet<usize> = leaves
        .iter()
        .filter(|l| !l.is_copy)
        .map(|l| l.factor)
        .collect();
    for leaf in leaves {
        if present.insert(leaf.factor) {
            leaf.is_copy = false;
        }
    }
}
