//! Checks that a plan computes what it should, whoever made it.
//!
//! The edge above node n of a plan's tree carries the variables of the separator of n; the edge
//! above the root is the output. For each variable v, the edges that carry it fall into connected
//! *components*: two edges are connected if they meet at an inner node. A leaf that mentions v
//! belongs to the component of its edge, or is a component of its own if its edge does not carry v.
//! Each component acts as one clone of v, so that a plan is right if
//!
//! * a variable has a single component, or each of its components has a leaf with its definer: then
//!   all clones are equal with probability one (Theorems 3 and 4);
//! * a separator carries only what is below it, and the root's is the output;
//! * each factor occurs once as itself, with its evidence; only definers have copies besides.

use crate::compile::plan::Plan;
use crate::compile::plan::problem::Problem;
use crate::vars::{VarId, VarSet};

/// Whether a plan is right for a problem; if not, what is wrong with it.
pub fn check(problem: &Problem, plan: &Plan) -> Result<(), String> {
    check_tree(plan)?;
    check_leaves(problem, plan)?;
    check_separators(problem, plan)?;
    check_components(problem, plan)
}

fn ensure(condition: bool, complaint: impl FnOnce() -> String) -> Result<(), String> {
    if condition { Ok(()) } else { Err(complaint()) }
}

/// Every node but the last is a child once, and comes before its parent.
fn check_tree(plan: &Plan) -> Result<(), String> {
    let (leaves, joins) = (plan.tree.leaves, &plan.tree.joins);
    ensure(leaves == plan.leaves.len(), || {
        format!("{} leaves in a tree for {}", leaves, plan.leaves.len())
    })?;
    ensure(joins.len() + 1 == leaves, || {
        format!("{} joins for {leaves} leaves", joins.len())
    })?;
    let nodes = leaves + joins.len();
    ensure(plan.separators.len() == nodes, || {
        format!("{} separators for {nodes} nodes", plan.separators.len())
    })?;
    let mut is_child = vec![false; nodes];
    for (k, &(l, r)) in joins.iter().enumerate() {
        for child in [l, r] {
            ensure(child < leaves + k, || {
                format!("node {} joins the later node {child}", leaves + k)
            })?;
            ensure(!std::mem::replace(&mut is_child[child], true), || {
                format!("node {child} has two parents")
            })?;
        }
    }
    Ok(())
}

/// Every factor occurs once as itself, and only definers have copies.
fn check_leaves(problem: &Problem, plan: &Plan) -> Result<(), String> {
    let mut originals = vec![0; problem.factors.len()];
    for leaf in &plan.leaves {
        let is_definer = problem.defines(leaf.factor).is_some();
        ensure(!leaf.is_copy || is_definer, || {
            format!("factor {} is copied, but defines nothing", leaf.factor)
        })?;
        originals[leaf.factor] += usize::from(!leaf.is_copy);
    }
    let wrong = originals.iter().position(|&count| count != 1);
    wrong.map_or(Ok(()), |factor| {
        Err(format!(
            "factor {factor} occurs {} times as itself",
            originals[factor]
        ))
    })
}

fn check_separators(problem: &Problem, plan: &Plan) -> Result<(), String> {
    for (node, separator) in plan.separators.iter().enumerate() {
        let below = match node
            .checked_sub(plan.tree.leaves)
            .map(|k| plan.tree.joins[k])
        {
            Some((l, r)) => &plan.separators[l] | &plan.separators[r],
            None => problem.factors[plan.leaves[node].factor].clone(),
        };
        ensure(separator.is_subset(&below), || {
            format!("node {node} keeps {separator:?}, but below is {below:?}")
        })?;
    }
    let root = plan.separators.last();
    ensure(root == Some(&problem.output), || {
        format!(
            "the root keeps {root:?}, not the output {:?}",
            problem.output
        )
    })
}

/// A non-functional variable has one component; each component of a functional one has a definer.
fn check_components(problem: &Problem, plan: &Plan) -> Result<(), String> {
    let mut regions = Regions::new(plan);
    // The first component that was met of each variable, and the components without a definer so
    // far.
    let mut first: Vec<Option<Component>> = vec![None; problem.cards.len()];
    let mut is_defined = vec![false; regions.parent.len()];
    let mut met: Vec<(VarId, Component)> = vec![];
    for (node, leaf) in plan.leaves.iter().enumerate() {
        for v in problem.factors[leaf.factor].iter() {
            let component = regions.component(&plan.separators, node, v);
            let defines = problem.definer[v.index()] == Some(leaf.factor);
            match component {
                Component::Edges(edge) => is_defined[edge] |= defines,
                Component::Leaf(_) if problem.definer[v.index()].is_some() && !defines => {
                    return Err(format!(
                        "leaf {node} sums out {v:?}, which it does not define"
                    ));
                }
                Component::Leaf(_) => {}
            }
            met.push((v, component));
        }
    }
    for (v, component) in met {
        let undefined = matches!(component, Component::Edges(edge) if !is_defined[edge]);
        if problem.definer[v.index()].is_some() {
            ensure(!undefined, || {
                format!("a component of {v:?} has no definer")
            })?;
        } else {
            let first = *first[v.index()].get_or_insert(component);
            ensure(component == first, || {
                format!("{v:?} is not a function, but has several components")
            })?;
        }
    }
    Ok(())
}

/// A clone of a variable: connected edges, by one of them; or a single leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Component {
    Edges(usize),
    Leaf(usize),
}

/// Which pairs of an edge and a variable that it carries are connected.
struct Regions {
    /// Where the variables of each node's separator start.
    offsets: Vec<usize>,
    /// Leads from each pair to the one that stands for its component.
    parent: Vec<usize>,
}

impl Regions {
    fn new(plan: &Plan) -> Self {
        let mut offsets = vec![0];
        plan.separators
            .iter()
            .for_each(|s| offsets.push(offsets[offsets.len() - 1] + s.len()));
        let parent = (0..offsets[plan.separators.len()]).collect();
        let mut regions = Regions { offsets, parent };
        for (k, &(l, r)) in plan.tree.joins.iter().enumerate() {
            let node = plan.tree.leaves + k;
            for (a, b) in [(l, r), (l, node), (r, node)] {
                (&plan.separators[a] & &plan.separators[b])
                    .iter()
                    .for_each(|v| regions.connect(&plan.separators, (a, b), v));
            }
        }
        regions
    }

    fn connect(&mut self, separators: &[VarSet], (a, b): (usize, usize), v: VarId) {
        if let (Some(a), Some(b)) = (self.pair(separators, a, v), self.pair(separators, b, v)) {
            let (a, b) = (self.find(a), self.find(b));
            self.parent[a] = b;
        }
    }

    fn pair(&self, separators: &[VarSet], node: usize, v: VarId) -> Option<usize> {
        separators[node]
            .as_slice()
            .binary_search(&v)
            .ok()
            .map(|at| self.offsets[node] + at)
    }

    fn find(&mut self, mut pair: usize) -> usize {
        while self.parent[pair] != pair {
            self.parent[pair] = self.parent[self.parent[pair]];
            pair = self.parent[pair];
        }
        pair
    }

    /// The component of a variable at a leaf that mentions it.
    fn component(&mut self, separators: &[VarSet], leaf: usize, v: VarId) -> Component {
        match self.pair(separators, leaf, v) {
            Some(pair) => Component::Edges(self.find(pair)),
            None => Component::Leaf(leaf),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::plan::problem::Leaf;
    use crate::compile::plan::tree::{Cost, Tree};

    const U: usize = 0;
    const X: usize = 1;
    const Y: usize = 2;
    const Z: usize = 3;

    fn set(vars: &[usize]) -> VarSet {
        vars.iter().map(|&v| VarId::new(v)).collect()
    }

    /// f(U) · f(X | U) · g(X, Y) · h(X, Z), where X is a function of U.
    fn problem(output: &[usize]) -> Problem {
        Problem {
            factors: vec![set(&[U]), set(&[U, X]), set(&[X, Y]), set(&[X, Z])],
            varies: vec![false; 4],
            clamped: vec![false; 4],
            output: set(output),
            cards: vec![2; 4],
            definer: vec![None, Some(1), None, None],
            known: vec![],
            prices: Default::default(),
        }
    }

    /// ((f(X | U) · g) · (f(X | U) · h)) · f(U), with the separators of the three inner nodes below
    /// the root.
    fn plan(first: &[usize], second: &[usize], both: &[usize]) -> Plan {
        let leaf = |factor, is_copy| Leaf { factor, is_copy };
        let inner = [first, second, both, &[]].map(set);
        let leaves = [set(&[U, X]), set(&[X]), set(&[U, X]), set(&[X]), set(&[U])];
        Plan {
            leaves: vec![
                leaf(1, false),
                leaf(2, false),
                leaf(1, true),
                leaf(3, false),
                leaf(0, false),
            ],
            tree: Tree {
                leaves: 5,
                joins: vec![(0, 1), (2, 3), (5, 6), (7, 4)],
            },
            separators: leaves.into_iter().chain(inner).collect(),
            cost: Cost::default(),
        }
    }

    #[test]
    fn a_functional_variable_may_be_summed_out_wherever_each_part_has_its_definer() {
        let problem = problem(&[]);
        assert_eq!(check(&problem, &plan(&[U, X], &[U, X], &[U])), Ok(()));
        assert_eq!(check(&problem, &plan(&[U], &[U, X], &[U])), Ok(()));
        assert_eq!(check(&problem, &plan(&[U], &[U], &[U])), Ok(()));
    }

    #[test]
    fn a_component_needs_a_definer() {
        let (problem, mut plan) = (problem(&[]), plan(&[U], &[U], &[U]));
        plan.separators[2] = set(&[U]);
        assert_eq!(
            check(&problem, &plan),
            Err("a component of v1 has no definer".into())
        );
        plan.separators[3] = set(&[]);
        assert_eq!(
            check(&problem, &plan),
            Err("leaf 3 sums out v1, which it does not define".into())
        );
    }

    #[test]
    fn a_variable_that_is_no_function_has_one_component() {
        let plan = plan(&[], &[U, X], &[U]);
        assert_eq!(
            check(&problem(&[]), &plan),
            Err("v0 is not a function, but has several components".into())
        );
    }

    #[test]
    fn a_separator_has_only_what_is_below_and_the_root_has_the_output() {
        let mut plan = plan(&[U, Z], &[U, X], &[U]);
        assert_eq!(
            check(&problem(&[]), &plan),
            Err("node 5 keeps {v0, v3}, but below is {v0, v1}".into())
        );
        plan.separators[5] = set(&[U]);
        assert_eq!(
            check(&problem(&[X]), &plan),
            Err("the root keeps Some({}), not the output {v1}".into())
        );
        plan.separators[7] = set(&[U, X]);
        plan.separators[8] = set(&[X]);
        assert_eq!(check(&problem(&[X]), &plan), Ok(()));
    }

    #[test]
    fn factors_occur_once_and_only_definers_have_copies() {
        let mut plan = plan(&[U], &[U], &[U]);
        plan.leaves[2].is_copy = false;
        assert_eq!(
            check(&problem(&[]), &plan),
            Err("factor 1 occurs 2 times as itself".into())
        );
        plan.leaves[2] = Leaf {
            factor: 2,
            is_copy: true,
        };
        assert_eq!(
            check(&problem(&[]), &plan),
            Err("factor 2 is copied, but defines nothing".into())
        );
    }

    #[test]
    fn a_tree_has_every_node_once() {
        let mut plan = plan(&[U], &[U], &[U]);
        plan.tree.joins[1] = (2, 2);
        assert_eq!(
            check(&problem(&[]), &plan),
            Err("node 2 has two parents".into())
        );
    }
}
