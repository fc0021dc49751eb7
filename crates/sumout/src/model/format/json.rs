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
//! Fields may come in any order. A network without a name is called after its file. The last parent moves fastest; in a row of a `table`, the child. A table may
//! be flat or a list of rows. A `function` has a value of the child, by name or by position, for each joint
//! state of the parents. A `constraint` has 0 or 1 for each joint state of the family, and stands for the
//! uniform distribution over what is allowed; it is only read. A Markov network has `factors` with a `scope`
//! instead; there a function gives the last variable of the scope.

mod text;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;

use super::{CptMarks, Loss, Marks, ReadOptions, Source};
use crate::error::{Error, ErrorKind, Result, did_you_mean};
use crate::model::{Body, Builder, Cpt, CptDraft, Network, Node, Role, Variable};
use crate::vars::VarId;
use text::{Object, Value, shortened};

/// The version that is written, and the only one so far.
const VERSION: u32 = 1;

/// Longer functions are written by position: by name they would be long without being readable.
const MAX_NAMED: usize = 64;

const FILE: [&str; 6] = ["sumout", "kind", "name", "variables", "cpts", "factors"];
const CPT: [&str; 9] =
    ["child", "parents", "table", "function", "constraint", "functional", "fixed", "keep_zeros", "tie"];
const FACTOR: [&str; 7] = ["scope", "table", "function", "functional", "fixed", "keep_zeros", "tie"];

pub(super) fn read(source: &Source, options: &ReadOptions) -> Result<Network> {
    let file = Value::of_file(source)?.object("`{` to begin a network")?;
    check_version(source, &file)?;
    file.only(&FILE)?;
    let reader = Reader::new(&file)?;
    let name = file.get("name").map(|name| name.string("a name for the network")).transpose()?;
    let name = name.map_or_else(|| source.stem(), Cow::into_owned);
    let mut builder = if reader.is_markov { Network::markov(name) } else { Network::builder(name) };
    builder.normalize(options.normalize);
    let marks = reader.build(&file, &mut builder)?;
    builder.build_at(|site| marks.place(source, site))
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
    let message = match version {
        0 => "there is no version 0 of this format".to_owned(),
        _ => format!("written by a newer sumout (version {version} of the format); this one reads version {VERSION}"),
    };
    Err(Error::new(ErrorKind::Format, message).at(source.place(value.span.clone())))
}

/// The variables that CPTs refer to.
struct Reader<'a> {
    is_markov: bool,
    variables: Vec<Declared<'a>>,
    ids: HashMap<Cow<'a, str>, usize>,
}

struct Declared<'a> {
    name: Cow<'a, str>,
    place: Value<'a>,
    values: Vec<Cow<'a, str>>,
    positions: HashMap<Cow<'a, str>, u32>,
}

/// Numbers, or positions of values, with the places where they are written.
struct Entries<T> {
    values: Vec<T>,
    starts: Vec<usize>,
}

impl<T> Entries<T> {
    fn new() -> Self {
        Entries { values: vec![], starts: vec![] }
    }

    fn push(&mut self, value: T, at: &Value<'_>) {
        self.values.push(value);
        self.starts.push(at.span.start);
    }
}

impl<'a> Reader<'a> {
    fn new(file: &Object<'a>) -> Result<Self> {
        let variables = file.need("variables", "the network")?.items("a list of variables")?;
        let variables: Vec<Declared<'a>> = variables.map(|v| declared(&v?)).collect::<Result<_>>()?;
        let mut ids = HashMap::new();
        for (index, variable) in variables.iter().enumerate() {
            ids.entry(variable.name.clone()).or_insert(index);
        }
        Ok(Reader { is_markov: is_markov(file)?, variables, ids })
    }

    /// Tells the builder all variables and CPTs.
    fn build(&self, file: &Object<'a>, builder: &mut Builder) -> Result<Marks> {
        let mut marks = Marks::default();
        for Declared { name, place, values, .. } in &self.variables {
            builder.variable(name.as_ref(), values.iter().map(Cow::as_ref));
            marks.variables.push(place.span.clone());
        }
        let field = if self.is_markov { "factors" } else { "cpts" };
        for factor in file.need(field, "the network")?.items("a list of CPTs")? {
            let factor = factor?.object("`{` to begin a CPT")?;
            let marked = if self.is_markov { self.factor(&factor, builder) } else { self.cpt(&factor, builder) };
            marks.cpts.push(marked?);
        }
        Ok(marks)
    }

    fn cpt(&self, cpt: &Object<'a>, builder: &mut Builder) -> Result<CptMarks> {
        cpt.only(&CPT)?;
        let child = cpt.need("child", "this CPT")?;
        let mut scope = cpt.get("parents").map_or(Ok(vec![]), |parents| self.scope(parents, "a list of parents"))?;
        scope.push(self.id(child)?);
        let marks = self.body(cpt, &["table", "function", "constraint"], &scope, builder)?;
        Ok(CptMarks { whole: child.span.clone(), ..marks })
    }

    fn factor(&self, factor: &Object<'a>, builder: &mut Builder) -> Result<CptMarks> {
        factor.only(&FACTOR)?;
        let place = factor.need("scope", "this factor")?;
        let scope = self.scope(place, "a list of variables")?;
        let marks = self.body(factor, &["table", "function"], &scope, builder)?;
        Ok(CptMarks { whole: place.span.clone(), ..marks })
    }

    fn scope(&self, list: &Value<'a>, what: &str) -> Result<Vec<usize>> {
        list.items(what)?.map(|name| self.id(&name?)).collect()
    }

    fn id(&self, value: &Value<'a>) -> Result<usize> {
        let name = value.string("the name of a variable")?;
        self.ids.get(&name).copied().ok_or_else(|| {
            let error = value.error(format!("variable `{}` is not declared", shortened(&name)));
            let advice = || "add it to `variables`".to_owned();
            error.hint(did_you_mean(&name, self.variables.iter().map(|v| v.name.as_ref())).unwrap_or_else(advice))
        })
    }

    /// Tells the builder one CPT or factor, with its numbers and its role.
    fn body(&self, object: &Object<'a>, bodies: &[&str], scope: &[usize], to: &mut Builder) -> Result<CptMarks> {
        let (body, value) = only_one(object, bodies)?;
        let width = scope.last().map_or(1, |&v| self.variables[v].values.len());
        let (draft, entries, width) = match body {
            "function" => self.mapping(value, scope, to)?,
            "constraint" => potential(scope, constraint(value, width)?, width, to),
            _ => potential(scope, table(value, width)?, width, to),
        };
        draft.role(role(object)?);
        Ok(CptMarks { whole: 0..0, entries, width })
    }

    fn mapping<'b>(&self, value: &Value<'a>, scope: &[usize], to: &'b mut Builder) -> Result<Told<'b>> {
        let Some((&child, parents)) = scope.split_last() else {
            return Err(value.error("a function needs a variable in the `scope`"));
        };
        let Entries { values, starts } = function(value, &self.variables[child])?;
        Ok((to.mapping(Node(child), parents.iter().map(|&v| Node(v)), values), starts, 1))
    }
}

/// What the builder was told, where its entries are written, and how many make a row.
type Told<'b> = (&'b mut CptDraft, Vec<usize>, usize);

/// To the builder, the CPT of a variable is a potential over its family.
fn potential<'b>(scope: &[usize], entries: Entries<f64>, width: usize, to: &'b mut Builder) -> Told<'b> {
    (to.potential(scope.iter().map(|&v| Node(v)), entries.values), entries.starts, width)
}

fn is_markov(file: &Object<'_>) -> Result<bool> {
    let is_markov = match file.get("kind") {
        None => false,
        Some(kind) => match kind.string("`\"bayes\"` or `\"markov\"`")?.as_ref() {
            "bayes" => false,
            "markov" => true,
            other => {
                let error = kind.error(format!("unknown kind of network `{}`", shortened(other)));
                return Err(error.hint("kinds are `bayes` and `markov`"));
            }
        },
    };
    match (is_markov, file.get("cpts"), file.get("factors")) {
        (true, Some(cpts), _) => Err(cpts.error("a Markov network has `factors`, not `cpts`")),
        (false, _, Some(factors)) => Err(factors
            .error("a Bayesian network has `cpts`, not `factors`")
            .hint("a Markov network says `\"kind\": \"markov\"`")),
        _ => Ok(is_markov),
    }
}

fn declared<'a>(value: &Value<'a>) -> Result<Declared<'a>> {
    let object = value.object("`{` to begin a variable")?;
    object.only(&["name", "values"])?;
    let place = object.need("name", "this variable")?.clone();
    let name = place.string("a name for the variable")?;
    let values = object.need("values", "this variable")?.items("a list of values")?;
    let values: Vec<Cow<'a, str>> = values.map(|v| v?.string("the name of a value")).collect::<Result<_>>()?;
    let positions = (0..).zip(&values).map(|(position, value)| (value.clone(), position)).collect();
    Ok(Declared { name, place, values, positions })
}

fn role(object: &Object<'_>) -> Result<Role> {
    let tie = object.get("tie").map(|tie| tie.string("a name for the tie")).transpose()?;
    Ok(Role {
        functional: object.flag("functional")?,
        fixed: object.flag("fixed")?,
        keep_zeros: object.flag("keep_zeros")?,
        tie: tie.map(Cow::into_owned),
    })
}

/// The one of some fields that is there.
fn only_one<'o, 'a>(object: &'o Object<'a>, names: &[&'o str]) -> Result<(&'o str, &'o Value<'a>)> {
    let mut found = names.iter().filter_map(|&name| object.get(name).map(|value| (name, value)));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(object.error("there are no numbers here").hint(one_of(names))),
        (Some((first, _)), Some((second, value))) => {
            Err(value.error(format!("both a `{first}` and a `{second}`")).hint(one_of(names)))
        }
    }
}

fn one_of(names: &[&str]) -> String {
    format!("give one of `{}`", names.join("`, `"))
}

/// A table, flat or in rows.
fn table(value: &Value<'_>, width: usize) -> Result<Entries<f64>> {
    entries(value, width, |v| v.number("a number in the table"))
}

/// A value by name or by position for every joint state.
fn function(value: &Value<'_>, child: &Declared<'_>) -> Result<Entries<u32>> {
    let mut entries = Entries::new();
    for item in value.items("a list of values")? {
        let item = item?;
        let position = if item.is_string() {
            position(&item, child)?
        } else {
            item.count(&format!("a value of `{}`, by name or by position", child.name))?
        };
        entries.push(position, &item);
    }
    Ok(entries)
}

fn position(item: &Value<'_>, child: &Declared<'_>) -> Result<u32> {
    let value = item.string("the name of a value")?;
    child.positions.get(&value).copied().ok_or_else(|| {
        let error = item.error(format!("variable `{}` has no value `{}`", child.name, shortened(&value)));
        let hint = did_you_mean(&value, child.values.iter().map(Cow::as_ref));
        hint.into_iter().fold(error, Error::hint)
    })
}

/// The uniform distributions over what is allowed.
fn constraint(value: &Value<'_>, width: usize) -> Result<Entries<f64>> {
    let mut entries = entries(value, width, allowed)?;
    for (row, numbers) in entries.values.chunks_exact_mut(width.max(1)).enumerate() {
        let count: f64 = numbers.iter().sum();
        if count == 0.0 {
            return Err(value.error(format!("row {} of the constraint allows no value", row + 1)));
        }
        numbers.iter_mut().for_each(|p| *p /= count);
    }
    Ok(entries)
}

fn allowed(value: &Value<'_>) -> Result<f64> {
    let what = "0, 1, `true` or `false` in the constraint";
    match value.count(what).or_else(|_| value.flag(what).map(u32::from))? {
        number @ (0 | 1) => Ok(number.into()),
        other => Err(value.error(format!("expected {what}, found `{other}`"))),
    }
}

/// The entries of a flat list, or of a list of rows.
fn entries<'a, T>(list: &Value<'a>, width: usize, get: impl Fn(&Value<'a>) -> Result<T>) -> Result<Entries<T>> {
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
            return Err(item.error(format!("this row needs {width} numbers, not {count}")));
        }
    }
    Ok(entries)
}

pub(super) fn write(net: &Network, _loss: Loss) -> Result<String> {
    let kind = if net.is_markov() { "markov" } else { "bayes" };
    let mut out = format!("{{\n  \"sumout\": {VERSION},\n  \"kind\": \"{kind}\",\n");
    let _ = writeln!(out, "  \"name\": {},", quoted(net.name()));
    let variables = net.variables().iter().map(variable);
    let _ = writeln!(out, "  \"variables\": {},", lines(variables, "    ", "  "));
    let cpts = net.cpts().iter().map(|cpt| factor(net, cpt));
    let field = if net.is_markov() { "factors" } else { "cpts" };
    let _ = writeln!(out, "  \"{field}\": {}\n}}", lines(cpts, "    ", "  "));
    Ok(out)
}

/// A list with one item in each line.
fn lines(items: impl Iterator<Item = String>, indent: &str, outer: &str) -> String {
    let lines: Vec<String> = items.map(|item| format!("{indent}{item}")).collect();
    if lines.is_empty() { "[]".to_owned() } else { format!("[\n{}\n{outer}]", lines.join(",\n")) }
}

fn variable(variable: &Variable) -> String {
    format!("{{\"name\": {}, \"values\": {}}}", quoted(&variable.name), names(&variable.values))
}

fn factor(net: &Network, cpt: &Cpt) -> String {
    let scope = |vars: &[VarId]| names(vars.iter().map(|&v| &net.variable(v).name));
    let head = match cpt.child() {
        None => format!("\"scope\": {}", scope(cpt.scope())),
        Some(child) => {
            format!("\"child\": {}, \"parents\": {}", quoted(&net.variable(child).name), scope(cpt.parents()))
        }
    };
    let last = cpt.scope().last().map(|&v| net.variable(v));
    let body = match cpt.body() {
        Body::Table(table) => format!("\"table\": {}", rows(table, last.map_or(1, |v| v.values.len()))),
        Body::Function(values) => {
            let named = last.filter(|_| values.len() <= MAX_NAMED);
            let names = |last: &Variable| names(values.iter().map(|&v| &last.values[v as usize]));
            format!("\"function\": {}", named.map_or_else(|| positions(values), names))
        }
    };
    format!("{{{head}, {body}{}}}", roles(cpt.role()))
}

/// One row as it is; several in a line each.
fn rows(table: &[f64], width: usize) -> String {
    let rows = table.chunks_exact(width).map(|row| format!("{row:?}"));
    if table.len() == width { rows.collect() } else { lines(rows, "      ", "    ") }
}

/// A long function, in lines that a difference between two files can name.
fn positions(values: &[u32]) -> String {
    let line = |values: &[u32]| values.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    lines(values.chunks(MAX_NAMED).map(line), "      ", "    ")
}

fn roles(role: &Role) -> String {
    let flags = [("functional", role.functional), ("fixed", role.fixed), ("keep_zeros", role.keep_zeros)];
    let mut out: String = flags.iter().filter(|flag| flag.1).map(|(name, _)| format!(", \"{name}\": true")).collect();
    if let Some(tie) = &role.tie {
        let _ = write!(out, ", \"tie\": {}", quoted(tie));
    }
    out
}

fn names<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    format!("[{}]", names.into_iter().map(|n| quoted(n)).collect::<Vec<_>>().join(", "))
}

fn quoted(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}

#[cfg(test)]
mod tests;
