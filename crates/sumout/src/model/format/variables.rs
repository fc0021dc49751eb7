//! The variables of a file: each is declared once, then found by name.
//!
//! All formats with names use this, so that the same mistake reads the same in each of them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::error::{Remedy, Result, did_you_mean, shortlist, shown};
use crate::model::format::source::{Marks, Source, Span};
use crate::model::{Builder, miscount};

/// A short file must not ask for huge tables: those that it does not spell out have this many
/// numbers together, and as many more as the file has bytes.
const MAX_UNWRITTEN: usize = 1 << 24;

/// A name in a file.
#[derive(Clone, Debug)]
pub(super) struct Word<'a> {
    pub text: Cow<'a, str>,
    pub span: Span,
}

impl Word<'_> {
    /// How messages name it.
    pub fn shown(&self) -> String {
        format!("`{}`", shown(&self.text))
    }
}

pub(super) struct Variables<'a> {
    source: &'a Source,
    names: Vec<Word<'a>>,
    ids: HashMap<Cow<'a, str>, usize>,
    values: Vec<Vec<Cow<'a, str>>>,
    /// Of each variable, where its values are among them.
    positions: Vec<HashMap<Cow<'a, str>, usize>>,
}

impl<'a> Variables<'a> {
    pub fn new(source: &'a Source) -> Self {
        Variables {
            source,
            names: vec![],
            ids: HashMap::new(),
            values: vec![],
            positions: vec![],
        }
    }

    pub fn declare(&mut self, name: Word<'a>, values: Vec<Word<'a>>) -> Result<()> {
        if let Some(first) = self.ids.insert(name.text.clone(), self.names.len()) {
            let error = self.source.error(
                name.span.clone(),
                format!("variable {} is declared twice", name.shown()),
            );
            return Err(error.hint(self.source.other(&self.names[first].span)));
        }
        if values.is_empty() {
            return Err(self.source.error(
                name.span.clone(),
                format!("variable {} has no values", name.shown()),
            ));
        }
        let mut positions = HashMap::new();
        for (position, value) in values.iter().enumerate() {
            if positions.insert(value.text.clone(), position).is_some() {
                let message = format!(
                    "variable {} has the value {} twice",
                    name.shown(),
                    value.shown()
                );
                return Err(self
                    .source
                    .error(value.span.clone(), message)
                    .hint("give each value a name of its own"));
            }
        }
        self.names.push(name);
        self.values
            .push(values.into_iter().map(|value| value.text).collect());
        self.positions.push(positions);
        Ok(())
    }

    pub fn find(&self, name: &Word<'_>) -> Result<usize> {
        self.ids.get(&name.text).copied().ok_or_else(|| {
            let names = || self.names.iter().map(|name| name.text.as_ref());
            let hint = match did_you_mean(&name.text, names()) {
                _ if name
                    .text
                    .split(',')
                    .any(|part| part != name.text && self.ids.contains_key(part)) =>
                {
                    "names have blanks between them, not commas".into()
                }
                Some(hint) => hint,
                None if self.names.is_empty() => "declare it, too".into(),
                None => format!("declare it, or use one of {}", shortlist(names())).into(),
            };
            self.source
                .error(
                    name.span.clone(),
                    format!("variable {} is not declared", name.shown()),
                )
                .hint(hint)
        })
    }

    /// The parents and then the child.
    pub fn family(&self, parents: &[Word<'_>], child: &Word<'_>) -> Result<Vec<usize>> {
        let scope = parents
            .iter()
            .chain([child])
            .map(|name| self.find(name))
            .collect::<Result<Vec<_>>>()?;
        let mut seen = HashSet::new();
        for (&id, name) in scope.iter().zip(parents) {
            let message = match id {
                _ if id == scope[parents.len()] => {
                    format!("variable {} is its own parent", name.shown())
                }
                _ if seen.insert(id) => continue,
                _ => format!(
                    "variable {} is a parent of {} twice",
                    name.shown(),
                    child.shown()
                ),
            };
            return Err(self
                .source
                .error(name.span.clone(), message)
                .hint("remove it from the parents"));
        }
        Ok(scope)
    }

    /// The position of a value.
    pub fn position(&self, variable: usize, value: &Word<'_>) -> Result<usize> {
        self.positions[variable]
            .get(&value.text)
            .copied()
            .ok_or_else(|| {
                let message = format!(
                    "variable `{}` has no value {}",
                    self.name(variable),
                    value.shown()
                );
                let values = || self.values[variable].iter().map(Cow::as_ref);
                let listed = || Remedy::Text(format!("its values are {}", shortlist(values())));
                let hint = did_you_mean(&value.text, values()).unwrap_or_else(listed);
                self.source.error(value.span.clone(), message).hint(hint)
            })
    }

    /// The name as messages show it.
    pub fn name(&self, variable: usize) -> String {
        shown(&self.names[variable].text)
    }

    pub fn values(&self, variable: usize) -> &[Cow<'a, str>] {
        &self.values[variable]
    }

    /// The number of values.
    pub fn card(&self, variable: usize) -> usize {
        self.values[variable].len()
    }

    /// The number of joint states.
    pub fn states(&self, variables: &[usize]) -> usize {
        variables
            .iter()
            .fold(1usize, |size, &v| size.saturating_mul(self.card(v)))
    }

    /// Makes sure that the list at `span` has a member for each joint state; `what` says what they
    /// are.
    pub fn expect(
        &self,
        child: usize,
        axes: &[usize],
        what: &str,
        found: usize,
        span: &Span,
    ) -> Result<()> {
        let cards: Vec<usize> = axes.iter().map(|&v| self.card(v)).collect();
        let title = format!("the CPT of `{}`", self.name(child));
        miscount(&title, &cards, what, found)
            .map_or(Ok(()), |m| Err(self.source.error(span.clone(), m)))
    }

    /// How many numbers tables may have that the file does not spell out.
    pub fn room(&self) -> usize {
        MAX_UNWRITTEN + self.source.text.len()
    }

    /// Takes the room for a table; `name` is where its variable is named.
    pub fn take(&self, room: &mut usize, scope: &[usize], name: &Span) -> Result<()> {
        let size = self.states(scope);
        let left = room.checked_sub(size);
        *room = left.ok_or_else(|| {
            let size = if size == usize::MAX {
                "more than 2^64".to_owned()
            } else {
                size.to_string()
            };
            let child = self.name(scope[scope.len() - 1]);
            let message = format!(
                "the CPT of `{child}` would have {size} numbers, more than the file can ask for"
            );
            self.source
                .error(name.clone(), message)
                .hint("give it fewer parents, or parents with fewer values")
        })?;
        Ok(())
    }

    /// Tells the builder all of them.
    pub fn build(&self, builder: &mut Builder) -> Marks {
        for (name, values) in self.names.iter().zip(&self.values) {
            builder.variable(name.text.as_ref(), values.iter().map(Cow::as_ref));
        }
        Marks {
            variables: self.names.iter().map(|n| n.span.clone()).collect(),
            cpts: vec![],
        }
    }
}
