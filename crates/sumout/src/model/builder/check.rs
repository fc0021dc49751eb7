//! Checks of a network, and their error messages.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use crate::error::{Error, ErrorKind, Place, Remedy, shown};
use crate::model::builder::Builder;
use crate::model::cpt::{Body, as_function};
use crate::model::factors::Variable;

/// Where in a network a mistake is, by the order of the builder's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Site {
    /// A variable.
    Variable(usize),
    /// A CPT as a whole.
    Cpt(usize),
    /// One variable of a CPT's scope, by position: a parent, or the child at the end.
    Scope(usize, usize),
    /// All numbers of a CPT.
    Numbers(usize),
    /// One row of a CPT.
    Row(usize, usize),
    /// One number of a CPT.
    Entry(usize, usize),
    /// A part of the selection of a CPT, by its name in files.
    Selection(usize, &'static str),
}

/// The file that the builder's calls come from.
pub(crate) trait Origin {
    /// Where something is.
    fn place(&self, site: Site) -> Option<Place>;

    /// By how much the sum of a row can be off because its numbers were rounded when they were
    /// printed.
    fn rounding(&self, cpt: usize, row: usize) -> f64;
}

/// The origin of a network that comes from no file.
pub(super) struct Nowhere;

impl Origin for Nowhere {
    fn place(&self, _: Site) -> Option<Place> {
        None
    }

    fn rounding(&self, _: usize, _: usize) -> f64 {
        0.0
    }
}

/// A mistake and where it is.
#[derive(Debug)]
pub(super) struct Mistake {
    site: Site,
    error: Error,
    /// Where the first is of two things of which there can be only one.
    other: Option<Site>,
}

impl Mistake {
    pub fn new(site: Site, message: impl Into<String>) -> Self {
        Mistake {
            site,
            error: Error::new(ErrorKind::Model, message),
            other: None,
        }
    }

    pub fn hint(self, hint: impl Into<Remedy>) -> Self {
        Mistake {
            error: self.error.hint(hint),
            ..self
        }
    }

    /// Adds the hint for a row with this sum; `is_unscaled` if its numbers need not be
    /// probabilities.
    pub fn row_hint(self, sum: f64, is_unscaled: bool) -> Self {
        let correction = match sum {
            0.0 => "give it a positive number".into(),
            _ if sum < 1.0 => format!("add the missing {}", rounded(1.0 - sum)),
            _ => "correct the row".into(),
        };
        let error = self.error.hint(correction);
        let error = if is_unscaled && sum > 0.0 {
            error.or(NORMALIZE)
        } else {
            error
        };
        Mistake { error, ..self }
    }

    /// The error with its place in a file.
    pub fn at(self, origin: &dyn Origin) -> Error {
        let error = self.error.at(origin.place(self.site));
        match self.other.and_then(|site| origin.place(site)) {
            Some(other) => error.hint(format!("the other one is in line {}", other.line())),
            None => error,
        }
    }
}

impl Builder {
    pub(super) fn check_variables(&self) -> Result<(), Mistake> {
        let mut names = BTreeMap::new();
        for (index, Variable { name, values }) in self.variables.iter().enumerate() {
            let mistake = |message| Mistake::new(Site::Variable(index), message);
            let first = names.insert(name, index);
            let name = shown(name);
            if let Some(first) = first {
                let mistake = mistake(format!("variable `{name}` is declared twice"));
                return Err(Mistake {
                    other: Some(Site::Variable(first)),
                    ..mistake
                });
            }
            if values.is_empty() {
                return Err(mistake(format!("variable `{name}` has no values")));
            }
            let mut seen = BTreeSet::new();
            if let Some(value) = values.iter().find(|value| !seen.insert(*value)) {
                return Err(mistake(format!(
                    "variable `{name}` has the value `{}` twice",
                    shown(value)
                )));
            }
        }
        Ok(())
    }

    pub(super) fn check_draft(&mut self, index: usize, origin: &dyn Origin) -> Result<(), Mistake> {
        let draft = &self.drafts[index];
        if draft.scope.iter().any(|&v| v >= self.variables.len()) {
            return Err(Mistake::new(
                Site::Cpt(index),
                format!("factor {index} uses a variable of another network"),
            ));
        }
        if draft.scope.is_empty() && !self.is_markov {
            return Err(Mistake::new(
                Site::Cpt(index),
                format!("factor {index} has no variable, so it is not a CPT"),
            ));
        }
        self.check_scope(index)?;
        let cards: Vec<usize> = draft.scope.iter().map(|&v| self.card(v)).collect();
        let (axes, found) = match &draft.body {
            Body::Table(table) => (&cards[..], table.len()),
            Body::Function(values) => (&cards[..cards.len() - 1], values.len()),
            Body::Selected(_) => return self.check_selected(index, &cards),
        };
        if let Some(message) = miscount(&self.title(index), axes, "numbers", found) {
            return Err(Mistake::new(Site::Numbers(index), message));
        }
        self.check_numbers(index, cards.last().copied().unwrap_or(1), origin)
    }

    fn check_scope(&self, index: usize) -> Result<(), Mistake> {
        let scope = &self.drafts[index].scope;
        let mut seen = BTreeMap::new();
        let twice = scope
            .iter()
            .enumerate()
            .find_map(|(at, v)| seen.insert(v, at).map(|first| (first, at)));
        let Some((first, at)) = twice else {
            return Ok(());
        };
        let name = |at: usize| self.name(scope[at]);
        let message = if self.is_markov {
            format!("factor {index} names `{}` twice", name(at))
        } else if at == scope.len() - 1 {
            format!("variable `{}` is its own parent", name(at))
        } else {
            let child = name(scope.len() - 1);
            format!("variable `{}` is a parent of `{child}` twice", name(at))
        };
        let site = if at == scope.len() - 1 { first } else { at };
        Err(Mistake::new(Site::Scope(index, site), message))
    }

    fn check_numbers(
        &mut self,
        index: usize,
        card: usize,
        origin: &dyn Origin,
    ) -> Result<(), Mistake> {
        match &self.drafts[index].body {
            Body::Function(values) => match values.iter().position(|&v| v as usize >= card) {
                Some(row) => Err(self.no_value(index, row, values[row], card)),
                None => Ok(()),
            },
            Body::Table(table) => match table.iter().position(|p| !p.is_finite() || *p < 0.0) {
                Some(at) => Err(self.no_number(index, at, table[at])),
                None => self.check_rows(index, card, origin),
            },
            Body::Selected(_) => Ok(()), // see `check_selected`
        }
    }

    fn no_value(&self, index: usize, row: usize, value: u32, card: usize) -> Mistake {
        let message = format!(
            "{} names value {value}, but there are only {card} values",
            self.row_title(index, row)
        );
        Mistake::new(Site::Row(index, row), message).hint("values are counted from 0")
    }

    pub(super) fn no_number(&self, index: usize, at: usize, number: f64) -> Mistake {
        let (kind, hint) = if self.is_markov {
            ("factor value", "factor values are finite and not negative")
        } else {
            ("probability", "probabilities are numbers from 0 to 1")
        };
        let message = format!(
            "{} contains {number}, which is not a {kind}",
            self.title(index)
        );
        Mistake::new(Site::Entry(index, at), message).hint(hint)
    }

    /// Checks or rescales the rows of a table, and makes it a function if it is one.
    fn check_rows(
        &mut self,
        index: usize,
        card: usize,
        origin: &dyn Origin,
    ) -> Result<(), Mistake> {
        let Body::Table(table) = &mut self.drafts[index].body else {
            return Ok(());
        };
        table.iter_mut().for_each(|p| *p += 0.0); // -0.0 becomes 0.0
        if self.is_markov {
            return Ok(());
        }
        let (normalize, rescaled) = (self.normalize, &mut self.rescaled);
        let mut rows = table.chunks_exact_mut(card).enumerate();
        let wrong = rows.find_map(|(at, row)| {
            let rounding = || origin.rounding(index, at);
            (!rescaled.settle(row, normalize, rounding)).then_some(at)
        });
        if let Some(row) = wrong {
            let numbers = &table[row * card..(row + 1) * card];
            let sum = numbers.iter().sum();
            let is_unscaled = self.is_unscaled || numbers.iter().any(|p| *p > 1.0);
            let message = format!(
                "{} sums to {}, not 1",
                self.row_title(index, row),
                rounded(sum)
            );
            let mistake = Mistake::new(Site::Row(index, row), message);
            return Err(mistake.row_hint(sum, is_unscaled));
        }
        if let Some(values) = as_function(table, card) {
            self.drafts[index].body = Body::Function(values);
        }
        Ok(())
    }

    /// How messages name a row: by the values of the parents.
    pub(super) fn row_title(&self, index: usize, mut row: usize) -> String {
        let scope = &self.drafts[index].scope;
        let mut states = vec![];
        for values in scope[..scope.len() - 1]
            .iter()
            .rev()
            .map(|&v| &self.variables[v].values)
        {
            states.push(shown(&values[row % values.len()]));
            row /= values.len();
        }
        states.reverse();
        match states.len() {
            0 => self.title(index),
            1..=8 => format!("row ({}) of {}", states.join(", "), self.title(index)),
            _ => format!(
                "row ({}, …) of {}",
                states[..8].join(", "),
                self.title(index)
            ),
        }
    }

    /// How messages name a variable.
    fn name(&self, variable: usize) -> String {
        shown(&self.variables[variable].name)
    }

    /// How messages name a CPT.
    pub(super) fn title(&self, index: usize) -> String {
        let draft = &self.drafts[index];
        match draft.scope.last() {
            Some(&child) if !self.is_markov => format!("the CPT of `{}`", self.name(child)),
            _ => format!("factor {index}"),
        }
    }

    /// Variables so that parents come before children, otherwise as declared.
    pub(super) fn topological_order(&self) -> Result<Vec<usize>, Mistake> {
        let cpt_of = self.cpt_of()?;
        let mut children = vec![vec![]; self.variables.len()];
        let mut missing: Vec<usize> = cpt_of
            .iter()
            .map(|&c| self.drafts[c].scope.len() - 1)
            .collect();
        for (child, &cpt) in cpt_of.iter().enumerate() {
            for &parent in &self.drafts[cpt].scope[..missing[child]] {
                children[parent].push(child);
            }
        }
        let mut ready: BinaryHeap<Reverse<usize>> = (0..missing.len())
            .filter(|&v| missing[v] == 0)
            .map(Reverse)
            .collect();
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
        if order.len() == missing.len() {
            Ok(order)
        } else {
            Err(self.cycle(&cpt_of, &missing))
        }
    }

    /// The position of each variable's CPT.
    pub(super) fn cpt_of(&self) -> Result<Vec<usize>, Mistake> {
        let mut cpt_of = vec![None; self.variables.len()];
        for (index, draft) in self.drafts.iter().enumerate() {
            let child = draft.scope[draft.scope.len() - 1];
            if let Some(first) = cpt_of[child].replace(index) {
                let message = format!("variable `{}` has two CPTs", self.name(child));
                return Err(Mistake {
                    other: Some(Site::Cpt(first)),
                    ..Mistake::new(Site::Cpt(index), message)
                });
            }
        }
        let none = |v: usize| {
            let message = format!("variable `{}` has no CPT", self.name(v));
            Mistake::new(Site::Variable(v), message)
                .hint("give it a conditional probability table, or remove it")
        };
        cpt_of
            .into_iter()
            .enumerate()
            .map(|(v, cpt)| cpt.ok_or_else(|| none(v)))
            .collect()
    }

    /// Names one cycle among the variables that still miss parents.
    fn cycle(&self, cpt_of: &[usize], missing: &[usize]) -> Mistake {
        let stuck_parent = |v: usize| {
            let scope = &self.drafts[cpt_of[v]].scope;
            scope
                .iter()
                .position(|&p| missing[p] > 0)
                .expect("a stuck variable has a stuck parent")
        };
        let before = |v: usize| self.drafts[cpt_of[v]].scope[stuck_parent(v)];
        let mut v = (0..missing.len())
            .find(|&v| missing[v] > 0)
            .expect("some variable is stuck");
        let mut seen = vec![false; missing.len()];
        while !std::mem::replace(&mut seen[v], true) {
            v = before(v); // walks back until it is on a cycle
        }
        let mut cycle = vec![v];
        while cycle.len() == 1 || cycle[cycle.len() - 1] != v {
            cycle.push(before(cycle[cycle.len() - 1]));
        }
        let mut names: Vec<String> = cycle.iter().rev().map(|&v| self.name(v)).collect();
        if names.len() > 12 {
            names.splice(6..names.len() - 6, ["…".to_owned()]);
        }
        let message = format!("the network has a cycle: {}", names.join(" → "));
        Mistake::new(Site::Scope(cpt_of[v], stuck_parent(v)), message)
            .hint("remove a parent from one of them")
    }
}

const NORMALIZE: Remedy = Remedy::TurnOn {
    option: "normalize",
    purpose: "to rescale rows",
};

/// A sum without the noise of adding.
pub(super) fn rounded(sum: f64) -> f64 {
    (sum * 1e9).round() / 1e9
}

/// The error for a list whose length is not the number of joint states of its axes.
pub(crate) fn miscount(title: &str, cards: &[usize], what: &str, found: usize) -> Option<String> {
    let needed = cards
        .iter()
        .try_fold(1usize, |size, &card| size.checked_mul(card));
    let shape: Vec<String> = cards.iter().map(usize::to_string).collect();
    let shape = if (2..=6).contains(&cards.len()) {
        format!(" ({})", shape.join(" × "))
    } else {
        String::new()
    };
    let shown = needed.map_or("more than 2^64".to_owned(), |size| size.to_string());
    (needed != Some(found)).then(|| format!("{title} needs {shown} {what}{shape}, not {found}"))
}
