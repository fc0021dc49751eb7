//! The format of the UAI competitions: Bayesian and Markov networks, and evidence.
//!
//! ```text
//! BAYES             or MARKOV
//! 2                 the number of variables
//! 2 3               how many values each has
//! 2                 the number of factors
//! 1 0               the scope of each factor: how many variables, and which, counted from 0;
//! 2 0 1             in BAYES the last one is the child
//!
//! 2  0.4 0.6        the table of each factor: how many numbers, and which,
//! 6  0.1 0.2 0.7    the last variable fastest
//!    0.3 0.3 0.4
//! ```
//!
//! Line breaks mean nothing. Names do not exist: variable i is called `x{i}` and its value k
//! `s{k}`; the network is called after its file.
//!
//! Evidence is a file of its own: the number of findings, then a variable and a value for each.
//! Older files begin with the number of such lists. The number of numbers tells which it is.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::error::{Error, Result, many};
use crate::model::format::lexer::{Dialect, Kind, Lexer, Token};
use crate::model::format::source::{CptMarks, Marks, Numbers};
use crate::model::format::{
    Format, Loss, ReadOptions, Source, cannot_carry, decompress, refuse_roles,
};
use crate::model::{Builder, Cpt, Evidence, Finding, Network, Node, miscount};
use crate::vars::VarId;

static UAI: Dialect = Dialect {
    punctuation: "",
    line_comments: &[],
    block_comments: false,
};

/// A factor's table has at least as many numbers as its variables have values, so a file is longer
/// than all of its variables have values. Variables in no factor are the exception; they may have
/// this many more.
const MAX_UNUSED_VALUES: usize = 1 << 16;

pub(super) fn read(source: &Source, options: &ReadOptions) -> Result<Network> {
    let mut lexer = Lexer::new(source, &UAI);
    let is_markov = is_markov(&mut lexer)?;
    let name = source.stem();
    let mut builder = if is_markov {
        Network::markov(name)
    } else {
        Network::builder(name)
    };
    builder.normalize(options.normalize);
    let mut reader = Reader {
        lexer,
        is_markov,
        announced: 0,
        cards: vec![],
        marks: Marks::default(),
    };
    reader
        .file(&mut builder)
        .map_err(|error| reader.explain(error))?;
    builder.build_at(|site| reader.marks.place(source, site))
}

fn is_markov(lexer: &mut Lexer<'_>) -> Result<bool> {
    let kind = lexer.next()?;
    match kind.text {
        "BAYES" | "bayes" => Ok(false),
        "MARKOV" | "markov" => Ok(true),
        _ => Err(lexer.expected_word(
            &kind,
            &["BAYES", "MARKOV"],
            "`BAYES` or `MARKOV`",
            "at the beginning",
        )),
    }
}

struct Reader<'a> {
    lexer: Lexer<'a>,
    is_markov: bool,
    announced: usize,
    cards: Vec<usize>,
    marks: Marks,
}

impl Reader<'_> {
    fn file(&mut self, builder: &mut Builder) -> Result<()> {
        self.variables(builder)?;
        for (factor, scope) in self.scopes()?.iter().enumerate() {
            let table = self.table(factor, scope)?;
            match scope.split_last() {
                Some((&child, parents)) if !self.is_markov => {
                    builder.table(Node(child), parents.iter().copied().map(Node), table)
                }
                _ => builder.potential(scope.iter().copied().map(Node), table),
            };
        }
        let token = self.lexer.next()?;
        if token.kind != Kind::End {
            return Err(self.lexer.error(
                &token,
                format!("unexpected {} after the last table", token.shown()),
            ));
        }
        Ok(())
    }

    fn variables(&mut self, builder: &mut Builder) -> Result<()> {
        let (announced, token) = self.lexer.count("of variables")?;
        self.check_room(announced, &token, "variables")?;
        self.announced = announced;
        let mut total = 0;
        for variable in 0..self.announced {
            let card = self.card(variable, &mut total)?;
            builder.variable(
                format!("x{variable}"),
                (0..card).map(|value| format!("s{value}")),
            );
            self.cards.push(card);
        }
        Ok(())
    }

    /// A short file must not ask for many things: each takes at least two bytes.
    fn check_room(&self, announced: usize, token: &Token<'_>, what: &str) -> Result<()> {
        if announced > self.lexer.source.text.len() {
            return Err(self.lexer.error(
                token,
                format!("{announced} {what} are more than the file can hold"),
            ));
        }
        Ok(())
    }

    /// The number of values of a variable. A short file must not ask for many.
    fn card(&mut self, variable: usize, total: &mut usize) -> Result<usize> {
        let (card, token) = self.lexer.count(&format!("of values for `x{variable}`"))?;
        *total = total.saturating_add(card);
        if card == 0 {
            return Err(self
                .lexer
                .error(&token, format!("variable `x{variable}` has no values")));
        }
        if *total > self.lexer.source.text.len() + MAX_UNUSED_VALUES {
            let message = format!(
                "variable `x{variable}` would have {card} values, more than the file can hold"
            );
            return Err(self.lexer.error(&token, message));
        }
        self.marks.variables.push(token.span);
        Ok(card)
    }

    fn scopes(&mut self) -> Result<Vec<Vec<usize>>> {
        let (count, token) = self.lexer.count("of factors")?;
        self.check_room(count, &token, "factors")?;
        let variables = self.cards.len();
        if !self.is_markov && count != variables {
            let (variables, factors) = (many(variables, "variable"), many(variables, "factor"));
            let message = format!("a BAYES file with {variables} has {factors}, not {count}");
            return Err(self
                .lexer
                .error(&token, message)
                .hint("each variable has one factor: its CPT"));
        }
        let mut scopes = vec![];
        while scopes.len() < count {
            scopes.push(self.scope(scopes.len())?);
        }
        Ok(scopes)
    }

    fn scope(&mut self, factor: usize) -> Result<Vec<usize>> {
        let (size, token) = self
            .lexer
            .count(&format!("of variables in factor {factor}"))?;
        if size > self.cards.len() {
            let message = format!(
                "factor {factor} has {size} variables, but the network has {}",
                self.cards.len()
            );
            return Err(self.lexer.error(&token, message));
        }
        if size == 0 && !self.is_markov {
            let error = self
                .lexer
                .error(&token, format!("factor {factor} has no variables"));
            return Err(error.hint("in a BAYES file, a factor is the CPT of its last variable"));
        }
        let context = format!("as a variable of factor {factor}");
        let mut scope = vec![];
        let mut marks = CptMarks {
            child: token.span,
            ..CptMarks::default()
        };
        while scope.len() < size {
            let (variable, token) = self.lexer.count(&context)?;
            scope.push(self.known(variable, &token)?);
            marks.child.end = token.span.end;
            marks.parents.push(token.span);
        }
        self.marks.cpts.push(marks);
        Ok(scope)
    }

    fn known(&self, variable: usize, token: &Token<'_>) -> Result<usize> {
        let count = self.cards.len();
        if variable < count {
            Ok(variable)
        } else {
            Err(no_variable(self.lexer.source, variable, token, count))
        }
    }

    fn table(&mut self, factor: usize, scope: &[usize]) -> Result<Vec<f64>> {
        self.check_size(factor, scope)?;
        let context = format!("in the table of factor {factor}");
        let size = scope.iter().map(|&v| self.cards[v]).product();
        let mut numbers = Numbers::default();
        while numbers.values.len() < size {
            let (number, token) = self.lexer.number(&context)?;
            numbers.push(number, token.span);
        }
        let width = scope.last().map_or(1, |&v| self.cards[v]);
        let marks = std::mem::take(&mut self.marks.cpts[factor]);
        self.marks.cpts[factor] = CptMarks {
            list: numbers.span,
            entries: numbers.starts,
            width,
            ..marks
        };
        Ok(numbers.values)
    }

    /// Takes the number of numbers in a table.
    fn check_size(&mut self, factor: usize, scope: &[usize]) -> Result<()> {
        let token = self.lexer.next()?;
        let Ok(size) = token.text.parse() else {
            let error = self.lexer.expected(
                &token,
                &format!("the size of table {factor}"),
                "before its numbers",
            );
            return Err(self
                .table_before(factor)
                .into_iter()
                .fold(error, Error::hint));
        };
        let cards: Vec<usize> = scope.iter().map(|&v| self.cards[v]).collect();
        match miscount(
            &format!("the table of factor {factor}"),
            &cards,
            "numbers",
            size,
        ) {
            None => Ok(()),
            Some(message) => {
                let error = self.lexer.error(&token, message);
                Err(self
                    .table_before(factor)
                    .into_iter()
                    .fold(error, Error::hint))
            }
        }
    }

    /// Too few or too many numbers in one table show only in the next.
    fn table_before(&self, factor: usize) -> Option<String> {
        let CptMarks { list, entries, .. } = self.marks.cpts.get(factor.checked_sub(1)?)?;
        let line = self.lexer.source.place(list.end..list.end).line;
        Some(format!(
            "the table before has {} and ends in line {line}",
            many(entries.len(), "number")
        ))
    }

    /// A wrong number of variables shifts the meaning of all that follows, so that the mistake
    /// shows late.
    fn explain(&self, error: Error) -> Error {
        let Some(first) = self.marks.variables.first() else {
            return error;
        };
        let text = &self.lexer.source.text;
        let start = text[..first.start]
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        let line = text[start..].lines().next().unwrap_or_default();
        let cards = line
            .split_whitespace()
            .take_while(|word| word.parse::<f64>().is_ok())
            .count();
        if !text[start..first.start].trim().is_empty() || cards == self.announced {
            return error;
        }
        let (line, cards) = (
            self.lexer.source.place(first.clone()).line,
            many(cards, "number"),
        );
        let variables = many(self.announced, "variable");
        error.hint(format!(
            "there are {variables}, but line {line} has {cards} of values"
        ))
    }
}

fn no_variable(source: &Source, variable: usize, token: &Token<'_>, count: usize) -> Error {
    let error = source.error(
        token.span.clone(),
        format!("there is no variable {variable}"),
    );
    error.hint(format!("the network has {count} variables, counted from 0"))
}

/// Reads evidence in the UAI competitions' format, compressed or not.
///
/// Variable i is the one called `x{i}` in a network with UAI's names; in others, the one with that
/// id.
pub fn read_evidence(path: &Path, net: &Network) -> Result<Evidence> {
    let shown = path.display().to_string();
    let bytes = fs::read(path).map_err(|e| Error::io(format_args!("cannot read `{shown}`"), e))?;
    evidence(&Source::new(&shown, decompress(&shown, &bytes)?)?, net)
}

fn evidence(source: &Source, net: &Network) -> Result<Evidence> {
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
        let place = source.place(place.span.clone());
        evidence
            .insert(net, id, Finding::Hard(*value))
            .map_err(|error| error.at(place))?;
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

/// Whether the numbers are so many lists of findings, each with its length before it.
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

/// The variables called `x0`, `x1`, …, if those are all and their values are called `s0`, `s1`, ….
fn numbering(net: &Network) -> Option<Vec<VarId>> {
    let is_plain = |values: &[String]| {
        values
            .iter()
            .enumerate()
            .all(|(k, value)| *value == format!("s{k}"))
    };
    if !net.variables().iter().all(|v| is_plain(&v.values)) {
        return None;
    }
    (0..net.variables().len())
        .map(|i| net.find(&format!("x{i}")).ok())
        .collect()
}

pub(super) fn write(net: &Network, loss: Loss) -> Result<String> {
    refuse_roles(net, Format::Uai, loss)?;
    let order = match numbering(net) {
        Some(order) => order,
        None if loss == Loss::Refuse => {
            return Err(cannot_carry(
                Format::Uai,
                "the names of variables and values",
            ));
        }
        None => net.ids().collect(),
    };
    let cpts: Vec<&Cpt> = match net.is_markov() {
        true => net.cpts().iter().collect(),
        false => order.iter().map(|v| &net.cpts()[v.index()]).collect(),
    };
    let kind = if net.is_markov() { "MARKOV" } else { "BAYES" };
    let ordered_cards = joined(order.iter().map(|&v| net.card(v)));
    let mut out = format!("{kind}\n{}\n{ordered_cards}\n{}\n", order.len(), cpts.len());
    write_scopes(&mut out, &cpts, &order);
    write_tables(&mut out, &cpts, &net.cards());
    Ok(out)
}

fn write_scopes(out: &mut String, cpts: &[&Cpt], order: &[VarId]) {
    let mut number = vec![0; order.len()];
    order
        .iter()
        .enumerate()
        .for_each(|(i, v)| number[v.index()] = i);
    for cpt in cpts {
        let scope = cpt.scope().iter().map(|v| number[v.index()]);
        let _ = writeln!(out, "{}", joined([scope.len()].into_iter().chain(scope)));
    }
}

fn write_tables(out: &mut String, cpts: &[&Cpt], cards: &[usize]) {
    for cpt in cpts {
        let table = cpt.table(cards);
        let width = cpt.scope().last().map_or(1, |v| cards[v.index()]);
        let _ = writeln!(out, "\n{}", table.len());
        for row in table.chunks_exact(width) {
            let _ = writeln!(out, " {}", joined(row));
        }
    }
}

/// Numbers so that reading gives back the same bits.
fn joined<T: std::fmt::Debug>(numbers: impl IntoIterator<Item = T>) -> String {
    numbers
        .into_iter()
        .map(|n| format!("{n:?}"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests;
