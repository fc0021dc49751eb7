//! Evidence in a file of its own.
//!
//! The content tells the format: SamIam's instantiations are XML, JSON begins with `{`, UAI's
//! evidence is numbers alone, and the rest is a CSV file with one row.

use std::fs;
use std::path::Path;

use crate::error::{Error, Result, many};
use crate::model::format::source::Span;
use crate::model::format::xml::Xml;
use crate::model::format::{Source, decompress, json, uai};
use crate::model::{Evidence, Finding, Network};
use crate::vars::VarId;

/// Words for a missing cell, whatever their case, unless they are names of values.
const MISSING: [&str; 5] = ["", "NA", "NaN", "null", "?"];

impl Evidence {
    /// Reads evidence: SamIam's `.inst`, JSON such as `{"xray": "yes", "dysp": [0.7, 0.1]}`, a CSV file
    /// with one row, or the numbers of the UAI competitions; compressed or not.
    ///
    /// In UAI's format, variable i is the one called `x{i}` in a network with UAI's names; in others, the
    /// one with that id.
    pub fn read(path: impl AsRef<Path>, net: &Network) -> Result<Evidence> {
        read_evidence(path.as_ref(), net)
    }
}

/// [`Evidence::read`], as a function.
pub fn read_evidence(path: &Path, net: &Network) -> Result<Evidence> {
    let shown = path.display().to_string();
    let bytes = fs::read(path).map_err(|e| Error::io(format_args!("cannot read `{shown}`"), e))?;
    let source = Source::new(&shown, decompress(&shown, &bytes)?)?;
    let text = source.text.trim_start();
    let is_numbers = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("evid"));
    match text.chars().next() {
        Some('<') => instantiation(&source, net),
        Some('{') => json::evidence(&source, net),
        Some(c) if !is_numbers && !c.is_ascii_digit() && c != '#' => row(&source, net),
        _ => uai::evidence(&source, net),
    }
}

/// A name and a value as they stand in a file; none if the value is missing.
pub(super) fn observe(
    evidence: &mut Evidence,
    net: &Network,
    source: &Source,
    (name, at): (&str, Span),
    finding: impl FnOnce(VarId) -> Result<Option<Finding>>,
) -> Result<()> {
    let var = net
        .find(name)
        .map_err(|error| error.at(source.place(at.clone())))?;
    match finding(var)? {
        Some(finding) => {
            let inserted = evidence.insert(net, var, finding);
            inserted.map_err(|error| error.at(source.place(at)))
        }
        None => Ok(()),
    }
}

/// `<instantiation> <inst id="xray" value="yes"/> … </instantiation>`
fn instantiation(source: &Source, net: &Network) -> Result<Evidence> {
    let mut xml = Xml::new(source);
    let mut evidence = Evidence::new();
    let root = xml.child()?;
    if let Some(root) = root.filter(|root| root.kind() != "instantiation") {
        let error = source.error(root.span, "expected `<instantiation>`");
        return Err(error.hint("evidence in XML is read only as SamIam writes it (`.inst`)"));
    }
    while let Some(tag) = xml.child()? {
        let (name, value) = (xml.attribute(&tag, "id")?, xml.attribute(&tag, "value")?);
        let (Some(name), Some(value)) = (name, value) else {
            let error = source.error(tag.span, "this element has no `id` and `value`");
            return Err(error.hint("write for example `<inst id=\"xray\" value=\"yes\"/>`"));
        };
        observe(&mut evidence, net, source, (&name.text, name.span), |var| {
            let position = net.value(var, &value.text);
            let position = position.map_err(|error| error.at(source.place(value.span)))?;
            Ok(Some(Finding::Hard(position)))
        })?;
        xml.skip()?;
    }
    xml.end()?;
    Ok(evidence)
}

/// A line of names, and a line of values.
fn row(source: &Source, net: &Network) -> Result<Evidence> {
    let mut start = 0;
    let mut lines = vec![];
    for line in source.text.split_inclusive('\n') {
        if !line.trim().is_empty() {
            lines.push((start, line));
        }
        start += line.len();
    }
    let [titles, values] = lines[..] else {
        let rows = many(lines.len() - 1, "row");
        let error = source.error(
            0..0,
            format!("the file has {rows}, but evidence is one row"),
        );
        return Err(error.hint("give one row, or compile a circuit and evaluate all of them"));
    };
    let known = |&d: &char| {
        titles
            .1
            .split(d)
            .filter(|t| net.find(unquoted(t)).is_ok())
            .count()
    };
    let delimiter = ['|', '\t', ';', ',']
        .into_iter()
        .max_by_key(known)
        .unwrap_or(',');
    let (titles, values) = (cells(titles, delimiter), cells(values, delimiter));
    if titles.len() != values.len() {
        let (names, cells) = (many(titles.len(), "name"), many(values.len(), "cell"));
        return Err(source.error(0..0, format!("there are {names}, but {cells}")));
    }
    let mut evidence = Evidence::new();
    for (title, (value, at)) in titles.into_iter().zip(values) {
        observe(&mut evidence, net, source, title, |var| {
            match net.value(var, value) {
                Err(_) if MISSING.iter().any(|m| m.eq_ignore_ascii_case(value)) => Ok(None),
                found => {
                    let position = found.map_err(|error| error.at(source.place(at)))?;
                    Ok(Some(Finding::Hard(position)))
                }
            }
        })?;
    }
    Ok(evidence)
}

/// The cells of a line, with their places.
fn cells((start, line): (usize, &str), delimiter: char) -> Vec<(&str, Span)> {
    let mut at = start;
    let cell = |part| {
        let cell = unquoted(part);
        let begins = at + part.find(cell).unwrap_or(0);
        at += part.len() + delimiter.len_utf8();
        (cell, begins..begins + cell.len())
    };
    line.split(delimiter).map(cell).collect()
}

fn unquoted(cell: &str) -> &str {
    let cell = cell.trim();
    let inside = cell.strip_prefix('"').and_then(|c| c.strip_suffix('"'));
    inside.unwrap_or(cell)
}
