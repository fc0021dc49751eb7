//! Evidence in a file of its own.

use std::fs;
use std::path::Path;

use crate::error::{Error, Result, many};
use crate::model::format::lexer::{Kind, Lexer, Token};
use crate::model::format::uai::{UAI, no_variable, numbering};
use crate::model::format::{Source, decompress};
use crate::model::{Evidence, Finding, Network};

impl Evidence {
    /// Reads evidence in the UAI competitions' format, compressed or not.
    ///
    /// Variable i is the one called `x{i}` in a network with UAI's names; in others, the one with
    /// that id.
    pub fn read(path: impl AsRef<Path>, net: &Network) -> Result<Evidence> {
        read_evidence(path.as_ref(), net)
    }
}

/// [`Evidence::read`], as a function.
#[doc(hidden)]
pub fn read_evidence(path: &Path, net: &Network) -> Result<Evidence> {
    let shown = path.display().to_string();
    let bytes = fs::read(path).map_err(|e| Error::io(format_args!("cannot read `{shown}`"), e))?;
    evidence(&Source::new(&shown, decompress(&shown, &bytes)?)?, net)
}

pub(super) fn evidence(source: &Source, net: &Network) -> Result<Evidence> {
    let mut lexer = Lexer::new(source, &UAI);
    let mut numbers = vec![];
    while lexer.peek()?.kind != Kind::End {
        let number = lexer.count("in the evidence");
        numbers.push(number.map_err(|error| {
            error.hint("variables and values are named by numbers, counted from 0")
        })?);
    }
    let order = numbering(net).unwrap_or_else(|| net.ids().collect());
    let mut evidence = Evidence::new();
    for pair in findings(source, &numbers)?.chunks_exact(2) {
        let ((variable, token), (value, place)) = (&pair[0], &pair[1]);
        let Some(&id) = order.get(*variable) else {
            return Err(no_variable(source, *variable, token, order.len()));
        };
        evidence
            .insert(net, id, Finding::Hard(*value))
            .map_err(|error| error.at(source.place(place.span.clone())))?; // takes as long as the file
    }
    Ok(evidence)
}

/// A number of a file of evidence.
type Number<'a> = (usize, Token<'a>);

/// The variables and values, in turn.
fn findings<'n, 'a>(source: &Source, numbers: &'n [Number<'a>]) -> Result<&'n [Number<'a>]> {
    let Some(((count, token), rest)) = numbers.split_first() else {
        return Ok(&[]);
    };
    let error = |message| source.error(token.span.clone(), message);
    match *count {
        n if n.checked_mul(2) == Some(rest.len()) => Ok(rest),
        1 if are_sets(1, rest) => Ok(&rest[1..]),
        n if are_sets(n, rest) => {
            let error = error(format!(
                "the file has {n} sets of evidence; one is supported"
            ));
            Err(error.hint("make a file of each set"))
        }
        n => {
            let needed = n
                .checked_mul(2)
                .map_or("more than 2^64".to_owned(), |needed| needed.to_string());
            let findings = many(n, "finding");
            let error = error(format!(
                "for {findings}, {needed} numbers must follow, not {}",
                rest.len()
            ));
            Err(error.hint("a finding is two numbers: a variable and a value"))
        }
    }
}

/// Whether the numbers are this many lists of findings, each preceded by its length.
fn are_sets(count: usize, mut numbers: &[Number<'_>]) -> bool {
    let mut found = 0;
    while let Some(((length, _), rest)) = numbers.split_first() {
        let Some(after) = length.checked_mul(2).and_then(|length| rest.get(length..)) else {
            return false;
        };
        numbers = after;
        found += 1;
    }
    found == count
}
