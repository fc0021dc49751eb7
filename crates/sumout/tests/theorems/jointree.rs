//! Views of jointrees as text: `"D <- (E (C (B A)))"` has the host of D on top.
//!
//! A letter is the leaf with the CPT of that variable, in the network of the paper's Figure 2. A
//! letter that occurs again is a replica.

use std::collections::{BTreeMap, BTreeSet};

use sumout::internals::graph::{AxisSet, Graph, NodeId, Op};
use sumout::internals::lower::lower;
use sumout::internals::paper::{View, shrink_sep};
use sumout::internals::plan::Plan;
use sumout::internals::plan::problem::{Leaf, Problem};
use sumout::internals::plan::tree::Tree;
use sumout::internals::prune::{Pruned, prune};
use sumout::internals::{Goal, Question};
use sumout::{Network, Objective, VarId, VarSet};

/// The variables of Figure 2, each before its parents.
pub const FAMILIES: [&str; 5] = ["A", "BA", "CA", "DBC", "EC"];

/// A view of a jointree with its separators.
#[derive(Clone)]
pub struct Jointree {
    pruned: Pruned,
    problem: Problem,
    leaves: Vec<Leaf>,
    tree: Tree,
    separators: Vec<VarSet>,
    /// The text of each node.
    texts: Vec<String>,
}

impl Jointree {
    /// Reads a view of a jointree for the network in which these variables have functional CPTs,
    /// given evidence on others.
    pub fn new(text: &str, functional: &str, evidence: &str) -> Self {
        let letters = text.chars().filter(|c| c.is_alphabetic());
        let letters: Vec<char> = letters.collect();
        let pruned = prune(
            figure_2(functional).model(),
            &question(letters[0], evidence),
        );
        let pruned = pruned.expect("no evidence is impossible");
        let problem = Problem::new(&pruned, Objective::default());
        let mut reader = Reader::new(&letters);
        let below = text.split("<-").nth(1).expect("there is an arrow").trim();
        let root = reader.node(below).0;
        reader.join(0, root, text.to_owned());
        let leaves = leaves(&letters, &pruned);
        Jointree {
            separators: reader.tree.separators(&problem.leaves(&leaves)),
            tree: reader.tree,
            texts: reader.texts,
            pruned,
            problem,
            leaves,
        }
    }

    /// The view after the paper's algorithm.
    pub fn shrunk(&self) -> Self {
        let mut shrunk = self.clone();
        let view = View {
            tree: self.tree.clone(),
            ages: (0..self.texts.len()).collect(),
            has_host: true,
        };
        shrink_sep(&self.problem, &self.leaves, &view, &mut shrunk.separators);
        shrunk
    }

    /// The separator between a node, by its text, and its parent.
    pub fn sep(&self, node: &str) -> String {
        let is_it = |text: &String| text == node;
        let at = self.texts.iter().position(is_it);
        letters(&self.separators[at.unwrap_or_else(|| panic!("there is no {node}"))]).collect()
    }

    /// The separators of all edges, from the host's on.
    pub fn separators(&self) -> Vec<BTreeSet<char>> {
        let below_host = &self.separators[1..self.texts.len() - 1];
        let mut all: Vec<BTreeSet<char>> =
            below_host.iter().map(|s| letters(s).collect()).collect();
        all.sort();
        all
    }

    /// The leaves with their variables, and whether each is a replica.
    pub fn leaves(&self) -> impl Iterator<Item = (char, bool)> + '_ {
        let leaf = |(leaf, text): (&Leaf, &String)| (text.chars().next().unwrap(), leaf.is_copy);
        self.leaves.iter().zip(&self.texts).map(leaf)
    }

    /// The children of each inner node, and its separator, from the leaves to the host.
    pub fn joins(&self) -> impl Iterator<Item = ((usize, usize), BTreeSet<char>)> + '_ {
        let separators = &self.separators[self.leaves.len()..];
        let set = |separator: &VarSet| letters(separator).collect();
        self.tree
            .joins
            .iter()
            .copied()
            .zip(separators.iter().map(set))
    }

    /// The separator of a leaf.
    pub fn sep_of_leaf(&self, leaf: usize) -> BTreeSet<char> {
        letters(&self.separators[leaf]).collect()
    }

    /// The circuit that the library makes of it, as an f-expression.
    pub fn f_expression(&self) -> String {
        let plan = Plan::new(
            &self.problem,
            self.leaves.clone(),
            self.tree.clone(),
            self.separators.clone(),
        );
        let graph = lower(&self.pruned, &self.problem, &plan);
        expression(&graph, graph.output())
    }
}

/// The network of Figure 2. Its functions are one-to-one, so that all values are possible.
fn figure_2(functional: &str) -> Network {
    let mut b = Network::builder("figure 2");
    let mut nodes = BTreeMap::new();
    for family in FAMILIES {
        let child = &family[..1];
        let node = b.variable(child, ["0", "1"]);
        let parents: Vec<_> = family[1..].chars().map(|parent| nodes[&parent]).collect();
        if functional.contains(child) {
            b.function(node, parents, |u| u[0]);
        } else {
            let rows = 1 << parents.len();
            let table =
                (0..rows).flat_map(|row| [0.3 + 0.1 * f64::from(row), 0.7 - 0.1 * f64::from(row)]);
            b.table(node, parents, table.collect::<Vec<f64>>());
        }
        nodes.insert(child.chars().next().unwrap(), node);
    }
    b.build().expect("the network is well formed")
}

fn question(query: char, evidence: &str) -> Question {
    Question {
        goal: Goal::Posterior(var(query)),
        inputs: evidence.chars().map(var).collect(),
        ..Question::default()
    }
}

fn var(letter: char) -> VarId {
    sumout::internals::var(letter as usize - 'A' as usize)
}

fn letter(var: VarId) -> char {
    char::from(b'A' + var.index() as u8)
}

fn letters(vars: &VarSet) -> impl Iterator<Item = char> + '_ {
    vars.iter().map(letter)
}

/// The letters of some axes, all of them variables.
fn letters_of<'g>(graph: &'g Graph, axes: &'g AxisSet) -> impl Iterator<Item = char> + 'g {
    axes.iter()
        .filter_map(|axis| graph.variable(axis))
        .map(letter)
}

/// The factor of each leaf; of equal letters, the first is no replica.
fn leaves(letters: &[char], pruned: &Pruned) -> Vec<Leaf> {
    let is_cpt = |f: usize, c: char| pruned.factors[f].scope.last() == Some(&var(c));
    let factor = |c: char| (0..pruned.factors.len()).find(|&f| is_cpt(f, c)).unwrap();
    let leaf = |(at, &c): (usize, &char)| Leaf {
        factor: factor(c),
        is_copy: letters[..at].contains(&c),
    };
    letters.iter().enumerate().map(leaf).collect()
}

/// Reads a tree; leaf 0 is the host.
struct Reader {
    tree: Tree,
    texts: Vec<String>,
    next_leaf: usize,
}

impl Reader {
    fn new(letters: &[char]) -> Self {
        Reader {
            tree: Tree {
                leaves: letters.len(),
                joins: vec![],
            },
            texts: letters.iter().map(char::to_string).collect(),
            next_leaf: 1,
        }
    }

    /// Reads a node at the beginning of a text; what follows it is returned.
    fn node<'t>(&mut self, text: &'t str) -> (usize, &'t str) {
        let Some(inner) = text.strip_prefix('(') else {
            self.next_leaf += 1;
            return (self.next_leaf - 1, &text[1..]);
        };
        let (left, rest) = self.node(inner);
        let (right, rest) = self.node(rest.trim_start());
        let rest = rest.strip_prefix(')').expect("what is opened is closed");
        let own = &text[..text.len() - rest.len()];
        (self.join(left, right, own.to_owned()), rest)
    }

    fn join(&mut self, left: usize, right: usize, text: String) -> usize {
        self.tree.joins.push((left, right));
        self.texts.push(text);
        self.texts.len() - 1
    }
}

/// A node of a graph as the paper writes it: `Σ=AB` sums out everything except A and B.
fn expression(graph: &Graph, node: NodeId) -> String {
    match graph.op(node) {
        Op::Evidence(v) => format!("λ{}", letter(*v)),
        Op::Table(table) => {
            let child = graph.tables()[table.index()].axes.last();
            format!("f{}", letter(graph.variable(*child.unwrap()).unwrap()))
        }
        Op::Contract(a, b, keep) => {
            let sum: String = letters_of(graph, keep).collect();
            let [a, b] = [a, b].map(|part| bracketed(expression(graph, *part)));
            format!("Σ={sum} {a} {b}")
        }
        Op::Project(a, keep) => {
            let sum: String = letters_of(graph, keep).collect();
            format!("Σ={sum} {}", bracketed(expression(graph, *a)))
        }
        Op::Rescale(a) => expression(graph, *a),
        op => unreachable!("{op:?} is in no f-expression of the paper"),
    }
}

fn bracketed(text: String) -> String {
    if text.contains(' ') {
        format!("[{text}]")
    } else {
        text
    }
}
