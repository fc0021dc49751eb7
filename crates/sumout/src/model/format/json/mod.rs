//! The own format, version 1: JSON that carries all that a network holds.
//!
//! ```json
//! {
//!   "sumout": 1,
//!   "kind": "bayes",
//!   "name": "sprinkler",
//!   "variables": [
//!     {"name": "rain", "values": ["yes", "no"]},
//!     {"name": "wet", "values": ["yes", "no"]}
//!   ],
//!   "cpts": [
//!     {"child": "rain", "parents": [], "table": [0.2, 0.8]},
//!     {"child": "wet", "parents": ["rain"], "function": ["yes", "no"], "fixed": true}
//!   ]
//! }
//! ```
//!
//! Fields may come in any order. A network without a name is called after its file. The last parent
//! moves fastest; in a row of a `table`, the child. A table may be flat or a list of rows. A
//! `function` has a value of the child, by name or by position, for each joint state of the
//! parents. A `constraint` has 0 or 1 for each joint state of the family, and stands for the
//! uniform distribution over what is allowed; it is only read. A Markov network has `factors` with
//! a `scope` instead; there a function gives the last variable of the scope. A CPT that a test
//! selects has `copies` and a `test` (see `selection`).

mod evidence;
mod selection;
mod text;
mod write;

use std::borrow::Cow;

use crate::error::{Error, ErrorKind, Result, many, shown};
use crate::model::format::source::{CptMarks, Marks};
use crate::model::format::variables::{Variables, Word};
use crate::model::format::{ReadOptions, Source};
use crate::model::{Builder, CptDraft, Network, Node, Role};
use text::{Object, Value};

pub(super) use evidence::evidence;
pub(super) use write::write;

/// The version that is written, and the only one so far.
const VERSION: u32 = 1;

const FILE: [&str; 7] = [
    "sumout",
    "kind",
    "name",
    "sight",
    "variables",
    "cpts",
    "factors",
];
const CPT: [&str; 11] = [
    "child",
    "parents",
    "table",
    "function",
    "constraint",
    "copies",
    "test",
    "functional",
    "fixed",
    "keep_zeros",
    "tie",
];
const SELECTED_CPT: [&str; 4] = ["child", "parents", "copies", "test"];
const FACTOR: [&str; 7] = [
    "scope",
    "table",
    "function",
    "functional",
    "fixed",
    "keep_zeros",
    "tie",
];

pub(super) fn read(source: &Source, options: &ReadOptions) -> Result<Network> {
    let file = Value::of_file(source)?.object("`{` to begin a network")?;
    check_version(source, &file)?;
    file.only(&FILE)?;
    let reader = Reader::new(source, &file)?;
    let name = file
        .get("name")
        .map(|name| name.string("a name for the network"))
        .transpose()?;
    let name = name.map_or_else(|| source.stem(), Cow::into_owned);
    let mut builder = if reader.is_markov {
        Network::markov(name)
    } else {
        Network::builder(name)
    };
    builder.normalize(options.normalize);
    builder.sight(selection::sight(&file)?);
    let marks = reader.build(&file, &mut builder)?;
    builder.build_from(&marks.of(source))
}

fn check_version(source: &Source, file: &Object<'_>) -> Result<()> {
    let Some(value) = file.get("sumout") else {
        let error = file.error("the version of the format is missing");
        return Err(error.hint("a network in sumout's format begins with `\"sumout\": 1`"));
    };
    let version = value.count("a version number")?;
    if version == VERSION {
        return Ok(());
    }
    let (message, hint) = match version {
        0 => (
            "there is no version 0 of this format".to_owned(),
            "the version is 1",
        ),
        _ => (
            format!("version {version} of this format is from a newer sumout; this one reads 1"),
            "update sumout",
        ),
    };
    Err(Error::new(ErrorKind::Format, message)
        .at(source.place(value.span.clone()))
        .hint(hint))
}

/// The variables that CPTs refer to.
struct Reader<'a> {
    is_markov: bool,
    variables: Variables<'a>,
}

/// Numbers, or positions of values, with the places where they are written.
struct Entries<T> {
    values: Vec<T>,
    starts: Vec<usize>,
}

impl<T> Entries<T> {
    fn new() -> Self {
        Entries {
            values: vec![],
            starts: vec![],
        }
    }

    fn push(&mut self, value: T, at: &Value<'_>) {
        self.values.push(value);
        self.starts.push(at.span.start);
    }
}

impl<'a> Reader<'a> {
    fn new(source: &'a Source, file: &Object<'a>) -> Result<Self> {
        let mut variables = Variables::new(source);
        for variable in file
            .need("variables", "the network")?
            .items("a list of variables")?
        {
            let variable = variable?.object("`{` to begin a variable")?;
            variable.only(&["name", "values"])?;
            let name = variable
                .need("name", "this variable")?
                .word("a name for the variable")?;
            variables.declare(
                name,
                words(variable.need("values", "this variable")?, "value")?,
            )?;
        }
        Ok(Reader {
            is_markov: is_markov(file)?,
            variables,
        })
    }

    /// Tells the builder all variables and CPTs.
    fn build(&self, file: &Object<'a>, builder: &mut Builder) -> Result<Marks> {
        let mut marks = self.variables.build(builder);
        let field = if self.is_markov { "factors" } else { "cpts" };
        for factor in file.need(field, "the network")?.items("a list of CPTs")? {
            let factor = factor?.object("`{` to begin a CPT")?;
            let marked = if self.is_markov {
                self.factor(&factor, builder)
            } else {
                self.cpt(&factor, builder)
            };
            marks.cpts.push(marked?);
        }
        Ok(marks)
    }

    fn cpt(&self, cpt: &Object<'a>, builder: &mut Builder) -> Result<CptMarks> {
        let is_selected = cpt.get("copies").or(cpt.get("test")).is_some();
        cpt.only(if is_selected { &SELECTED_CPT } else { &CPT })?;
        let child = cpt
            .need("child", "this CPT")?
            .word("the name of a variable")?;
        let parents = cpt
            .get("parents")
            .map_or(Ok(vec![]), |parents| words(parents, "variable"))?;
        let scope = self.variables.family(&parents, &child)?;
        let marks = if is_selected {
            self.selected(cpt, &scope, builder)?
        } else {
            self.body(cpt, &["table", "function", "constraint"], &scope, builder)?
        };
        Ok(CptMarks {
            child: child.span,
            parents: parents.into_iter().map(|p| p.span).collect(),
            ..marks
        })
    }

    fn factor(&self, factor: &Object<'a>, builder: &mut Builder) -> Result<CptMarks> {
        factor.only(&FACTOR)?;
        let place = factor.need("scope", "this factor")?;
        let scope = words(place, "variable")?;
        let ids = scope
            .iter()
            .map(|name| self.variables.find(name))
            .collect::<Result<Vec<_>>>()?;
        let marks = self.body(factor, &["table", "function"], &ids, builder)?;
        Ok(CptMarks {
            child: place.span.clone(),
            parents: scope.into_iter().map(|v| v.span).collect(),
            ..marks
        })
    }

    /// Tells the builder one CPT or factor, with its numbers and its role.
    fn body(
        &self,
        object: &Object<'a>,
        bodies: &[&str],
        scope: &[usize],
        to: &mut Builder,
    ) -> Result<CptMarks> {
        let (body, value) = only_one(object, bodies)?;
        let width = scope.last().map_or(1, |&v| self.variables.card(v));
        let (draft, entries, width) = match body {
            "function" => self.mapping(value, scope, to)?,
            "constraint" => potential(scope, constraint(value, width)?, width, to),
            _ => potential(scope, table(value, width)?, width, to),
        };
        draft.role(role(object)?);
        Ok(CptMarks {
            list: value.span.clone(),
            entries,
            width,
            ..CptMarks::default()
        })
    }

    fn mapping<'b>(
        &self,
        value: &Value<'a>,
        scope: &[usize],
        to: &'b mut Builder,
    ) -> Result<Told<'b>> {
        let Some((&child, parents)) = scope.split_last() else {
            return Err(value.error("a function needs a variable in the `scope`"));
        };
        let Entries { values, starts } = self.function(value, child)?;
        Ok((
            to.mapping(Node(child), parents.iter().map(|&v| Node(v)), values),
            starts,
            1,
        ))
    }

    /// A value by name or by position for every joint state.
    fn function(&self, value: &Value<'a>, child: usize) -> Result<Entries<u32>> {
        let mut entries = Entries::new();
        for item in value.items("a list of values")? {
            let item = item?;
            let position = if item.is_string() {
                self.variables
                    .position(child, &item.word("the name of a value")?)? as u32
            } else {
                item.count(&format!(
                    "a value of `{}`, by name or by position",
                    self.variables.name(child)
                ))?
            };
            entries.push(position, &item);
        }
        Ok(entries)
    }
}

/// A list of names; `what` is their kind.
fn words<'a>(list: &Value<'a>, what: &str) -> Result<Vec<Word<'a>>> {
    let items = list.items(&format!("a list of {what}s"))?;
    items
        .map(|name| name?.word(&format!("the name of a {what}")))
        .collect()
}

/// The calls to the builder, the places of the entries, and the length of a row.
type Told<'b> = (&'b mut CptDraft, Vec<usize>, usize);

/// To the builder, the CPT of a variable is a potential over its family.
fn potential<'b>(
    scope: &[usize],
    entries: Entries<f64>,
    width: usize,
    to: &'b mut Builder,
) -> Told<'b> {
    (
        to.potential(scope.iter().map(|&v| Node(v)), entries.values),
        entries.starts,
        width,
    )
}

fn is_markov(file: &Object<'_>) -> Result<bool> {
    let is_markov = match file.get("kind") {
        None => false,
        Some(kind) => match kind.string("`\"bayes\"` or `\"markov\"`")?.as_ref() {
            "bayes" => false,
            "markov" => true,
            other => {
                let error = kind.error(format!("unknown kind of network `{}`", shown(other)));
                return Err(error.hint("kinds are `bayes` and `markov`"));
            }
        },
    };
    let (wrong, message, hint) = if is_markov {
        (
            "cpts",
            "a Markov network has `factors`, not `cpts`",
            "a Bayesian network has `\"kind\": \"bayes\"`",
        )
    } else {
        (
            "factors",
            "a Bayesian network has `cpts`, not `factors`",
            "a Markov network has `\"kind\": \"markov\"`",
        )
    };
    file.key(wrong)
        .map_or(Ok(is_markov), |key| Err(key.error(message).hint(hint)))
}

fn role(object: &Object<'_>) -> Result<Role> {
    let tie = object
        .get("tie")
        .map(|tie| tie.string("a name for the tie"))
        .transpose()?;
    Ok(Role {
        functional: object.flag("functional")?,
        fixed: object.flag("fixed")?,
        keep_zeros: object.flag("keep_zeros")?,
        tie: tie.map(Cow::into_owned),
    })
}

/// The one of some fields that is there.
fn only_one<'o, 'a>(object: &'o Object<'a>, names: &[&'o str]) -> Result<(&'o str, &'o Value<'a>)> {
    let mut found = names
        .iter()
        .filter_map(|&name| object.get(name).map(|value| (name, value)));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(object.error("this CPT has no numbers").hint(one_of(names))),
        (Some((first, _)), Some((second, value))) => Err(value
            .error(format!("both a `{first}` and a `{second}`"))
            .hint(one_of(names))),
    }
}

fn one_of(names: &[&str]) -> String {
    format!("give one of `{}`", names.join("`, `"))
}

/// A table, flat or in rows.
fn table(value: &Value<'_>, width: usize) -> Result<Entries<f64>> {
    entries(value, width, |v| v.number("a number in the table"))
}

/// The uniform distributions over what is allowed.
fn constraint(value: &Value<'_>, width: usize) -> Result<Entries<f64>> {
    let mut entries = entries(value, width, allowed)?;
    for row in entries.values.chunks_exact_mut(width) {
        let count: f64 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= count.max(1.0)); // the builder refuses rows of zeros
    }
    Ok(entries)
}

fn allowed(value: &Value<'_>) -> Result<f64> {
    let what = "0, 1, `true` or `false` in the constraint";
    match value
        .count(what)
        .or_else(|_| value.flag(what).map(u32::from))?
    {
        number @ (0 | 1) => Ok(number.into()),
        other => Err(value.error(format!("expected {what}, found `{other}`"))),
    }
}

/// The entries of a flat list, or of a list of rows.
fn entries<'a, T>(
    list: &Value<'a>,
    width: usize,
    get: impl Fn(&Value<'a>) -> Result<T>,
) -> Result<Entries<T>> {
    let mut entries = Entries::new();
    let mut in_rows = None;
    for item in list.items("a list of numbers, or of rows")? {
        let item = item?;
        if !*in_rows.get_or_insert(item.is_list()) {
            entries.push(get(&item)?, &item);
            continue;
        }
        let before = entries.values.len();
        for number in item.items("a row in `[` and `]`")? {
            let number = number?;
            entries.push(get(&number)?, &number);
        }
        let count = entries.values.len() - before;
        if count != width {
            return Err(item.error(format!(
                "this row needs {}, not {count}",
                many(width, "number")
            )));
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests;
