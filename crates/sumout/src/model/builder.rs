//! Builds networks, and refuses wrong ones.
//!
//! Mistakes are kept until [`Builder::build`], so that a network reads as a list of statements. Each
//! mistake knows its [`Site`], which the file formats turn into a line and a caret.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::cpt::{Body, Cpt, Role, as_function};
use super::network::{Network, Variable};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::vars::VarId;

/// Rows of a CPT sum to one within this; published networks print few digits.
const ROW_TOLERANCE: f64 = 1e-6;

/// A function or a constraint over more joint states than this is refused instead of tabulated.
const MAX_TABULATED: usize = 1 << 28;

/// A variable of a network that is being built: its position in the order of declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node(pub(crate) usize);

/// Where in a network a mistake is, by the order of the builder's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Site {
    /// A variable.
    Variable(usize),
    /// A CPT as a whole.
    Cpt(usize),
    /// One row of a CPT.
    Row(usize, usize),
    /// One number of a CPT.
    Entry(usize, usize),
}

/// Collects variables and CPTs, and makes a [`Network`] of them.
///
/// ```
/// use sumout::Network;
///
/// let mut b = Network::builder("sprinkler");
/// let rain = b.variable("rain", ["yes", "no"]);
/// let wet = b.variable("wet", ["yes", "no"]);
/// b.table(rain, [], [0.2, 0.8]);
/// b.function(wet, [rain], |u| u[0]).fixed();
/// let net = b.build()?;
/// assert!(net.cpts()[1].is_functional());
/// # Ok::<(), sumout::Error>(())
/// ```
#[derive(Debug)]
pub struct Builder {
    name: String,
    is_markov: bool,
    normalize: bool,
    variables: Vec<Variable>,
    drafts: Vec<CptDraft>,
    mistakes: Vec<(Option<Site>, Error)>,
}

/// A CPT that was just added; its methods say what is known about it.
#[derive(Debug)]
pub struct CptDraft {
    scope: Vec<usize>,
    body: Body,
    role: Role,
}

impl CptDraft {
    /// Declares it a function of the parents, whatever its numbers are until it is trained.
    pub fn functional(&mut self) -> &mut Self {
        self.role.functional = true;
        self
    }

    /// Keeps its numbers from being trained.
    pub fn fixed(&mut self) -> &mut Self {
        self.role.fixed = true;
        self
    }

    /// Keeps its zeros when the rest is trained.
    pub fn keep_zeros(&mut self) -> &mut Self {
        self.role.keep_zeros = true;
        self
    }

    /// Shares its parameters with all CPTs of the same tie.
    pub fn tie(&mut self, name: impl Into<String>) -> &mut Self {
        self.role.tie = Some(name.into());
        self
    }

    /// Sets all that is known about it at once.
    pub fn role(&mut self, role: Role) -> &mut Self {
        self.role = role;
        self
    }
}

impl Builder {
    pub(super) fn new(name: String, is_markov: bool) -> Self {
        Builder { name, is_markov, normalize: false, variables: vec![], drafts: vec![], mistakes: vec![] }
    }

    /// Rescales rows that do not sum to one instead of refusing them.
    pub fn normalize(&mut self, on: bool) -> &mut Self {
        self.normalize = on;
        self
    }

    /// Adds a variable with its values.
    pub fn variable<S: Into<String>>(&mut self, name: impl Into<String>, values: impl IntoIterator<Item = S>) -> Node {
        let values = values.into_iter().map(Into::into).collect();
        self.variables.push(Variable { name: name.into(), values });
        Node(self.variables.len() - 1)
    }

    /// Gives a variable its CPT: a row for every joint state of the parents, the last parent fastest; in a
    /// row, a probability for every value.
    pub fn table(
        &mut self,
        child: Node,
        parents: impl IntoIterator<Item = Node>,
        table: impl Into<Vec<f64>>,
    ) -> &mut CptDraft {
        let scope = parents.into_iter().chain([child]).map(|n| n.0).collect();
        self.draft(scope, Body::Table(table.into()))
    }

    /// Gives a variable its value as a function of the positions of the parents' values.
    pub fn function(
        &mut self,
        child: Node,
        parents: impl IntoIterator<Item = Node>,
        function: impl Fn(&[usize]) -> usize,
    ) -> &mut CptDraft {
        let parents: Vec<usize> = parents.into_iter().map(|n| n.0).collect();
        let values = self.tabulate(&parents, |states| function(states) as u32);
        self.draft(parents.into_iter().chain([child.0]).collect(), Body::Function(values))
    }

    /// Gives a variable its value for every joint state of the parents, the last parent fastest.
    pub fn mapping(
        &mut self,
        child: Node,
        parents: impl IntoIterator<Item = Node>,
        values: impl Into<Vec<u32>>,
    ) -> &mut CptDraft {
        let scope = parents.into_iter().chain([child]).map(|n| n.0).collect();
        self.draft(scope, Body::Function(values.into()))
    }

    /// Gives a variable the uniform distribution over the values that `allowed` accepts, given the positions
    /// of the parents' values followed by its own.
    pub fn constraint(
        &mut self,
        child: Node,
        parents: impl IntoIterator<Item = Node>,
        allowed: impl Fn(&[usize]) -> bool,
    ) -> &mut CptDraft {
        let scope: Vec<usize> = parents.into_iter().chain([child]).map(|n| n.0).collect();
        let mut table = self.tabulate(&scope, |states| f64::from(u8::from(allowed(states))));
        for row in table.chunks_mut(self.card(child.0).max(1)) {
            let allowed: f64 = row.iter().sum();
            row.iter_mut().for_each(|p| *p /= allowed.max(1.0));
        }
        self.draft(scope, Body::Table(table))
    }

    /// Adds a potential of a Markov network: a number for every joint state, the last variable fastest.
    pub fn potential(&mut self, scope: impl IntoIterator<Item = Node>, table: impl Into<Vec<f64>>) -> &mut CptDraft {
        let scope = scope.into_iter().map(|n| n.0).collect();
        self.draft(scope, Body::Table(table.into()))
    }

    fn draft(&mut self, scope: Vec<usize>, body: Body) -> &mut CptDraft {
        self.drafts.push(CptDraft { scope, body, role: Role::default() });
        self.drafts.last_mut().expect("just pushed")
    }

    fn card(&self, node: usize) -> usize {
        self.variables[node].values.len()
    }

    /// `f` at every joint state of `scope`, the last fastest.
    fn tabulate<T>(&mut self, scope: &[usize], f: impl Fn(&[usize]) -> T) -> Vec<T> {
        let cards: Vec<usize> = scope.iter().map(|&n| self.card(n)).collect();
        let size = cards.iter().try_fold(1usize, |size, &card| size.checked_mul(card));
        let Some(size) = size.filter(|&size| size <= MAX_TABULATED) else {
            let message = format!("a function over {} variables has too many joint states to tabulate", scope.len());
            let error = Error::new(ErrorKind::Model, message).hint("split it into a chain of smaller functions");
            self.mistakes.push((Some(Site::Cpt(self.drafts.len())), error));
            return vec![];
        };
        let mut states = vec![0; scope.len()];
        (0..size)
            .map(|_| {
                let value = f(&states);
                advance(&mut states, &cards);
                value
            })
            .collect()
    }

    /// The network, or the first mistake.
    pub fn build(self) -> Result<Network> {
        self.build_at(|_| None)
    }

    /// The network, or the first mistake with its place in a file.
    pub(crate) fn build_at(mut self, place: impl Fn(Site) -> Option<Place>) -> Result<Network> {
        self.check().map_err(|(site, error)| error.at(site.and_then(place)))
    }

    fn check(&mut self) -> Result<Network, (Option<Site>, Error)> {
        if !self.mistakes.is_empty() {
            return Err(self.mistakes.remove(0));
        }
        self.check_variables()?;
        for index in 0..self.drafts.len() {
            self.check_draft(index)?;
        }
        let order = if self.is_markov { (0..self.variables.len()).collect() } else { self.topological_order()? };
        Ok(self.assemble(&order))
    }

    fn check_variables(&self) -> Result<(), (Option<Site>, Error)> {
        let mut names = BTreeSet::new();
        for (index, Variable { name, values }) in self.variables.iter().enumerate() {
            let mistake = |message| Err((Some(Site::Variable(index)), Error::new(ErrorKind::Model, message)));
            if !names.insert(name) {
                return mistake(format!("variable `{name}` is declared twice"));
            }
            if values.is_empty() {
                return mistake(format!("variable `{name}` has no values"));
            }
            let mut seen = BTreeSet::new();
            if let Some(value) = values.iter().find(|value| !seen.insert(*value)) {
                return mistake(format!("variable `{name}` has the value `{value}` twice"));
            }
        }
        Ok(())
    }

    fn check_draft(&mut self, index: usize) -> Result<(), (Option<Site>, Error)> {
        let draft = &self.drafts[index];
        let site = Some(Site::Cpt(index));
        let mistake = |message: String| Err((site, Error::new(ErrorKind::Model, message)));
        if draft.scope.iter().any(|&v| v >= self.variables.len()) {
            return mistake(format!("factor {index} uses a variable of another network"));
        }
        if draft.scope.is_empty() && !self.is_markov {
            return mistake(format!("factor {index} has no variable, and so is no CPT"));
        }
        let name = self.title(index);
        let mut seen = BTreeSet::new();
        if let Some(&twice) = draft.scope.iter().find(|v| !seen.insert(**v)) {
            return mistake(format!("{name} names `{}` twice", self.variables[twice].name));
        }
        let cards: Vec<usize> = draft.scope.iter().map(|&v| self.card(v)).collect();
        let axes = if matches!(draft.body, Body::Function(_)) { &cards[..cards.len() - 1] } else { &cards[..] };
        let expected = axes.iter().try_fold(1usize, |size, &card| size.checked_mul(card));
        let found = match &draft.body {
            Body::Table(t) => t.len(),
            Body::Function(t) => t.len(),
        };
        if expected != Some(found) {
            let expected = expected.map_or("more than 2^64".to_owned(), |n| n.to_string());
            let shape: Vec<String> = axes.iter().map(|c| c.to_string()).collect();
            return mistake(format!("{name} needs {expected} numbers ({}), not {found}", shape.join(" × ")));
        }
        self.check_numbers(index, &name, cards.last().copied().unwrap_or(1))
    }

    fn check_numbers(&mut self, index: usize, name: &str, card: usize) -> Result<(), (Option<Site>, Error)> {
        let mistake = |site, message, hint: &str| {
            let error = Error::new(ErrorKind::Model, message);
            Err((Some(site), if hint.is_empty() { error } else { error.hint(hint) }))
        };
        let kind = if self.is_markov { "factor value" } else { "probability" };
        match &mut self.drafts[index].body {
            Body::Function(values) => {
                if let Some(row) = values.iter().position(|&v| v as usize >= card) {
                    let value = values[row];
                    let message =
                        format!("row {} of {name} is value {value}, but there are only {card} values", row + 1);
                    return mistake(Site::Row(index, row), message, "values are counted from 0");
                }
            }
            Body::Table(table) => {
                if let Some(at) = table.iter().position(|p| !p.is_finite() || *p < 0.0) {
                    let message = format!("{name} contains {}, which is no {kind}", table[at]);
                    return mistake(Site::Entry(index, at), message, "");
                }
                table.iter_mut().for_each(|p| *p += 0.0); // -0.0 becomes 0.0
                if self.is_markov {
                    return Ok(());
                }
                for (row, numbers) in table.chunks_exact_mut(card).enumerate() {
                    let sum: f64 = numbers.iter().sum();
                    if self.normalize && sum > 0.0 && sum.is_finite() {
                        numbers.iter_mut().for_each(|p| *p /= sum);
                    } else if (sum - 1.0).abs() > ROW_TOLERANCE {
                        let sum = (sum * 1e9).round() / 1e9;
                        let message = format!("row {} of {name} sums to {sum}, not 1", row + 1);
                        return mistake(Site::Row(index, row), message, row_hint(sum));
                    }
                }
                if let Some(values) = as_function(table, card) {
                    self.drafts[index].body = Body::Function(values);
                }
            }
        }
        Ok(())
    }

    /// How messages name a CPT.
    fn title(&self, index: usize) -> String {
        let draft = &self.drafts[index];
        match draft.scope.last() {
            Some(&child) if !self.is_markov => format!("the CPT of `{}`", self.variables[child].name),
            _ => format!("factor {index}"),
        }
    }

    /// Variables so that parents come before children, otherwise as declared.
    fn topological_order(&self) -> Result<Vec<usize>, (Option<Site>, Error)> {
        let cpt_of = self.cpt_of()?;
        let mut children = vec![vec![]; self.variables.len()];
        let mut missing: Vec<usize> = cpt_of.iter().map(|&c| self.drafts[c].scope.len() - 1).collect();
        for (child, &cpt) in cpt_of.iter().enumerate() {
            for &parent in &self.drafts[cpt].scope[..missing[child]] {
                children[parent].push(child);
            }
        }
        let mut ready: BinaryHeap<Reverse<usize>> =
            (0..missing.len()).filter(|&v| missing[v] == 0).map(Reverse).collect();
        let mut order = Vec::with_capacity(missing.len());
        while let Some(Reverse(v)) = ready.pop() {
            order.push(v);
            for &child in &children[v] {
                missing[child] -= 1;
                if missing[child] == 0 {
                    ready.push(Reverse(child));
                }
            }
        }
        if order.len() == missing.len() { Ok(order) } else { Err(self.cycle(&cpt_of, &missing)) }
    }

    /// The position of each variable's CPT.
    fn cpt_of(&self) -> Result<Vec<usize>, (Option<Site>, Error)> {
        let mut cpt_of = vec![None; self.variables.len()];
        for (index, draft) in self.drafts.iter().enumerate() {
            let child = draft.scope[draft.scope.len() - 1];
            if cpt_of[child].replace(index).is_some() {
                let message = format!("variable `{}` has two CPTs", self.variables[child].name);
                return Err((Some(Site::Cpt(index)), Error::new(ErrorKind::Model, message)));
            }
        }
        let none = |v: usize| {
            let message = format!("variable `{}` has no CPT", self.variables[v].name);
            (Some(Site::Variable(v)), Error::new(ErrorKind::Model, message))
        };
        cpt_of.into_iter().enumerate().map(|(v, cpt)| cpt.ok_or_else(|| none(v))).collect()
    }

    /// Names one cycle among the variables that still miss parents.
    fn cycle(&self, cpt_of: &[usize], missing: &[usize]) -> (Option<Site>, Error) {
        let stuck_parent = |v: usize| {
            let scope = &self.drafts[cpt_of[v]].scope;
            *scope[..scope.len() - 1].iter().find(|&&p| missing[p] > 0).expect("a stuck variable has a stuck parent")
        };
        let mut v = (0..missing.len()).find(|&v| missing[v] > 0).expect("some variable is stuck");
        let mut seen = vec![false; missing.len()];
        while !std::mem::replace(&mut seen[v], true) {
            v = stuck_parent(v); // walks back until it is on a cycle
        }
        let mut cycle = vec![v];
        while cycle.len() == 1 || cycle[cycle.len() - 1] != v {
            cycle.push(stuck_parent(cycle[cycle.len() - 1]));
        }
        let mut names: Vec<&str> = cycle.iter().rev().map(|&v| self.variables[v].name.as_str()).collect();
        if names.len() > 12 {
            names.splice(6..names.len() - 6, ["…"]);
        }
        let message = format!("the network has a cycle: {}", names.join(" → "));
        (Some(Site::Cpt(cpt_of[v])), Error::new(ErrorKind::Model, message))
    }

    fn assemble(&mut self, order: &[usize]) -> Network {
        let mut id_of = vec![VarId::new(0); order.len()];
        order.iter().enumerate().for_each(|(position, &v)| id_of[v] = VarId::new(position));
        let is_potential = self.is_markov;
        let mut cpts: Vec<Cpt> = std::mem::take(&mut self.drafts)
            .into_iter()
            .map(|CptDraft { scope, body, role }| {
                let scope = scope.into_iter().map(|v| id_of[v]).collect();
                Cpt { scope, is_potential, body, role }
            })
            .collect();
        cpts.sort_by_key(Cpt::child); // potentials have none, and stay as they are
        let variables: Vec<Variable> =
            order.iter().map(|&v| std::mem::replace(&mut self.variables[v], blank())).collect();
        let ids: BTreeMap<String, VarId> =
            variables.iter().enumerate().map(|(i, v)| (v.name.clone(), VarId::new(i))).collect();
        Network { name: std::mem::take(&mut self.name), is_markov: self.is_markov, variables, cpts, ids }
    }
}

fn blank() -> Variable {
    Variable { name: String::new(), values: vec![] }
}

fn row_hint(sum: f64) -> &'static str {
    if sum == 0.0 { "give it a positive number" } else { "correct the row, or pass `--normalize` to rescale such rows" }
}

/// The next joint state, the last variable fastest.
fn advance(states: &mut [usize], cards: &[usize]) {
    for (state, &card) in states.iter_mut().zip(cards).rev() {
        *state += 1;
        if *state < card {
            return;
        }
        *state = 0;
    }
}
