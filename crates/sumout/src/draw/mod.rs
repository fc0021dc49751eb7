//! Draws plans and networks.
//!
//! A node of a plan's tree shows the variables of its separator. Those that are *dropped*, which a
//! classical separator of the same tree would carry, but which functions allow to sum out sooner,
//! are red, as in the paper's Figure 3.

mod card;
mod dot;
mod graph;
mod layout;
mod svg;

use serde::Serialize;

use crate::compile::Planned;
use crate::compile::plan::problem::Leaf;
use crate::model::FactorModel;
use crate::vars::{VarId, VarSet};

pub use crate::draw::dot::network_dot;
pub use crate::draw::graph::graph_svg;

/// A plan's tree with names, to be drawn; as JSON, for those who draw it themselves.
#[derive(Clone, Debug, Serialize)]
pub struct Jointree {
    network: String,
    /// Children before their parents; the last is the root.
    nodes: Vec<Node>,
}

/// A node of a tree.
#[derive(Clone, Debug, Serialize)]
struct Node {
    /// The factor of a leaf, or what the root is.
    title: Option<String>,
    /// The variables whose evidence a leaf hosts.
    evidence: Vec<String>,
    /// The variables of the separator.
    kept: Vec<String>,
    /// Variables that a classical separator would also have.
    dropped: Vec<String>,
    /// The number of joint states of the separator.
    size: f64,
    /// The number of joint states of the cluster that the children make; of a leaf, none.
    cluster: f64,
    /// The largest separator in the tree below, this one included.
    #[serde(skip)]
    largest_below: f64,
    /// The sizes of all clusters below, its own included.
    work: f64,
    /// The nodes below.
    below: usize,
    /// Whether it differs between examples.
    varies: bool,
    /// Whether it is a leaf that sums nothing out, so that the title tells the separator.
    is_whole: bool,
    is_copy: bool,
    children: Option<(usize, usize)>,
}

impl Jointree {
    /// The tree of a plan.
    pub fn new(net: &FactorModel, planned: &Planned) -> Self {
        let Planned { problem, plan, .. } = planned;
        let leaves = problem.leaves(&plan.leaves);
        let (classical, varies) = (plan.tree.separators(&leaves), plan.tree.varies(&leaves));
        let mut nodes: Vec<Node> = Vec::with_capacity(plan.separators.len());
        for (index, separator) in plan.separators.iter().enumerate() {
            let leaf = plan.leaves.get(index);
            let children = index
                .checked_sub(plan.tree.leaves)
                .map(|k| plan.tree.joins[k]);
            let mut node = Node {
                title: leaf.map(|leaf| title(net, planned, leaf.factor)),
                evidence: leaf.map_or(vec![], |leaf| evidence(net, planned, leaf)),
                kept: names(net, separator),
                dropped: names(net, &(&classical[index] - separator)),
                size: leaves.size(separator),
                largest_below: leaves.size(separator),
                cluster: 0.0,
                work: 0.0,
                below: 0,
                varies: varies[index],
                is_whole: leaf.is_some_and(|leaf| *separator == problem.factors[leaf.factor]),
                is_copy: leaf.is_some_and(|leaf| leaf.is_copy),
                children,
            };
            if let Some((l, r)) = children {
                let cluster = leaves.size(&(&plan.separators[l] | &plan.separators[r]));
                node.add_children(cluster, &nodes[l], &nodes[r]);
            }
            nodes.push(node);
        }
        if let Some(root) = nodes.last_mut() {
            let asked: Vec<&str> = problem
                .output
                .iter()
                .map(|v| name(net, v))
                .chain(["e"])
                .collect();
            root.title
                .get_or_insert_with(|| format!("P({})", asked.join(", ")));
        }
        Jointree {
            network: net.name().to_owned(),
            nodes,
        }
    }

    /// The tree in the language of Graphviz.
    pub fn dot(&self) -> String {
        dot::jointree(self)
    }

    /// The tree as a picture. Of a large tree only the most expensive nodes are drawn.
    pub fn svg(&self) -> String {
        svg::jointree(self)
    }

    /// For each node, children before their parents, the numbers of states of its cluster and of
    /// its separator. The cluster of a leaf is its separator.
    pub fn profile(&self) -> Vec<(f64, f64)> {
        let work = |index: usize| self.nodes[index].work;
        let cluster = |node: &Node| {
            node.children
                .map_or(node.size, |(l, r)| node.work - work(l) - work(r))
        };
        self.nodes
            .iter()
            .map(|node| (cluster(node), node.size))
            .collect()
    }

    fn root(&self) -> usize {
        self.nodes.len() - 1
    }
}

impl Node {
    fn add_children(&mut self, cluster: f64, left: &Node, right: &Node) {
        self.cluster = cluster;
        self.work = cluster + left.work + right.work;
        self.below = 2 + left.below + right.below;
        self.largest_below = self.size.max(left.largest_below).max(right.largest_below);
    }
}

/// `X = f(U, V)` if the factor makes X a function, or else `f(U, V, X)`.
fn title(net: &FactorModel, planned: &Planned, factor: usize) -> String {
    let scope = planned.pruned.factors[factor].scope.iter().copied();
    let list = |vars: &mut dyn Iterator<Item = VarId>| {
        vars.map(|v| name(net, v)).collect::<Vec<_>>().join(", ")
    };
    match planned.problem.defines(factor) {
        Some(x) => format!(
            "{} = f({})",
            name(net, x),
            list(&mut scope.filter(|&v| v != x))
        ),
        None => format!("f({})", list(&mut scope.into_iter())),
    }
}

/// The variables whose evidence a leaf takes, or whose value it needs.
fn evidence(net: &FactorModel, Planned { pruned, .. }: &Planned, leaf: &Leaf) -> Vec<String> {
    let hosts = pruned
        .hosts
        .iter()
        .filter(|(_, host)| *host == leaf.factor && !leaf.is_copy)
        .map(|(v, _)| *v);
    let clamped = pruned.factors[leaf.factor]
        .scope
        .iter()
        .copied()
        .filter(|&v| pruned.clamped.contains(v));
    hosts
        .chain(clamped)
        .map(|v| name(net, v).to_owned())
        .collect()
}

fn name(net: &FactorModel, v: VarId) -> &str {
    &net.variable(v).name
}

fn names(net: &FactorModel, vars: &VarSet) -> Vec<String> {
    vars.iter().map(|v| name(net, v).to_owned()).collect()
}

/// A number of entries for people.
fn entries(size: f64) -> String {
    match size {
        1.0 => "1 entry".into(),
        n if n < 1e6 => format!("{} entries", crate::compile::report::Count(n)),
        n => format!("2^{:.1} entries", n.log2()),
    }
}

/// Text without the characters that mean something in XML, which Graphviz uses for labels, too.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
