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
//! Line breaks mean nothing. Names do not exist: variable i is called `x{i}` and its value k `s{k}`; the
//! network is called after its file.
//!
//! Evidence is a file of its own: the number of findings, then a variable and a value for each. Older files
//! begin with the number of such lists. The number of numbers tells which it is.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::lexer::{Dialect, Kind, Lexer, Token};
use super::{CptMarks, Format, Loss, Marks, ReadOptions, Source, cannot_carry, decompress, refuse_roles};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Builder, Cpt, Evidence, Finding, Network, Node};
use crate::vars::VarId;

static UAI: Dialect = Dialect { punctuation: "", line_comments: &[], block_comments: false };

/// A factor's table has at least as many numbers as its variables have values, so a file is longer than all
/// of its variables have values. Variables in no factor are the exception; they may have this many more.
const MAX_UNUSED_VALUES: usize = 1 << 16;

pub(super) fn read(source: &Source, options: &ReadOptions) -> Result<Network> {
    let mut lexer = Lexer::new(source, &UAI);
    let is_markov = is_markov(&mut lexer)?;
    let name = source.stem();
    let mut builder = if is_markov { Network::markov(name) } else { Network::builder(name) };
    builder.normalize(options.normalize);
    let mut reader = Reader { lexer, is_markov, announced: 0, cards: vec![], marks: Marks::default() };
    reader.file(&mut builder).map_err(|error| reader.explain(error))?;
    builder.build_at(|site| reader.marks.place(source, site))
}

fn is_markov(lexer: &mut Lexer<'_>) -> Result<bool> {
    let kind = lexer.next()?;
    match kind.text {
        "BAYES" | "bayes" => Ok(false),
        "MARKOV" | "markov" => Ok(true),
        _ => Err(lexer.expected(&kind, "`BAYES` or `MARKOV`", "at the beginning")),
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
            return Err(self.lexer.error(&token, format!("unexpected {} after the last table", token.shown())));
        }
        Ok(())
    }

    fn variables(&mut self, builder: &mut Builder) -> Result<()> {
        (self.announced, _) = self.lexer.count("of variables")?;
        let mut total = 0;
        for variable in 0..self.announced {
            let card = self.card(variable, &mut total)?;
            builder.variable(format!("x{variable}"), (0..card).map(|value| format!("s{value}")));
            self.cards.push(card);
        }
        Ok(())
    }

    /// The number of values of a variable. A short file must not ask for many.
    fn card(&mut self, variable: usize, total: &mut usize) -> Result<usize> {
        let (card, token) = self.lexer.count(&format!("of values for `x{variable}`"))?;
        *total = total.saturating_add(card);
        if card == 0 {
            return Err(self.lexer.error(&token, format!("variable `x{variable}` has no values")));
        }
        if *total > self.lexer.source.text.len() + MAX_UNUSED_VALUES {
            let message = format!("variable `x{variable}` would have {card} values, more than the file can hold");
            return Err(self.lexer.error(&token, message));
        }
        self.marks.variables.push(token.span);
        Ok(card)
    }

    fn scopes(&mut self) -> Result<Vec<Vec<usize>>> {
        let (count, _) = self.lexer.count("of factors")?;
        let mut scopes = vec![]; // without capacity: nothing vouches for the count yet
        while scopes.len() < count {
            scopes.push(self.scope(scopes.len())?);
        }
        Ok(scopes)
    }

    fn scope(&mut self, factor: usize) -> Result<Vec<usize>> {
        let (size, token) = self.lexer.count(&format!("of variables in factor {factor}"))?;
        if size > self.cards.len() {
            let message = format!("factor {factor} has {size} variables, but the network has {}", self.cards.len());
            return Err(self.lexer.error(&token, message));
        }
        if size == 0 && !self.is_markov {
            let error = self.lexer.error(&token, format!("factor {factor} has no variables"));
            return Err(error.hint("in a BAYES file, the last variable of a factor is the one that it is the CPT of"));
        }
        let context = format!("as a variable of factor {factor}");
        let mut scope = vec![];
        let mut whole = token.span;
        while scope.len() < size {
            let (variable, token) = self.lexer.count(&context)?;
            whole.end = token.span.end;
            scope.push(self.known(variable, &token)?);
        }
        self.marks.cpts.push(CptMarks { whole, ..CptMarks::default() });
        Ok(scope)
    }

    fn known(&self, variable: usize, token: &Token<'_>) -> Result<usize> {
        let count = self.cards.len();
        if variable < count { Ok(variable) } else { Err(no_variable(self.lexer.source, variable, token, count)) }
    }

    fn table(&mut self, factor: usize, scope: &[usize]) -> Result<Vec<f64>> {
        let (size, token) = self.lexer.count(&format!("of numbers in the table of factor {factor}"))?;
        let expected = scope.iter().try_fold(1usize, |size, &v| size.checked_mul(self.cards[v]));
        if expected != Some(size) {
            let expected = expected.map_or("more than 2^64".to_owned(), |n| n.to_string());
            let message = format!("the table of factor {factor} needs {expected} numbers, but {size} are announced");
            return Err(self.lexer.error(&token, message));
        }
        let context = format!("in the table of factor {factor}");
        let marks = &mut self.marks.cpts[factor];
        marks.width = scope.last().map_or(1, |&v| self.cards[v]);
        let mut table = vec![];
        while table.len() < size {
            let (number, token) = self.lexer.number(&context)?;
            table.push(number);
            marks.entries.push(token.span.start);
        }
        Ok(table)
    }

    /// A wrong number of variables shifts the meaning of all that follows, so that the mistake shows late.
    fn explain(&self, error: Error) -> Error {
        let Some(first) = self.marks.variables.first() else { return error };
        let text = &self.lexer.source.text;
        let start = text[..first.start].rfind('\n').map_or(0, |newline| newline + 1);
        let words = text[start..].lines().next().map_or(0, |line| line.split_whitespace().count());
        if !text[start..first.start].trim().is_empty() || words == self.announced {
            return error;
        }
        let announced = self.announced;
        error.hint(format!("{announced} variables are announced; the line after that has {words} numbers of values"))
    }
}

fn no_variable(source: &Source, variable: usize, token: &Token<'_>, count: usize) -> Error {
    let error = source.error(token.span.clone(), format!("there is no variable {variable}"));
    error.hint(format!("the network has {count} variables, counted from 0"))
}

/// Reads evidence in the UAI competitions' format, compressed or not.
///
/// Variable i is the one called `x{i}` in a network with UAI's names; in others, the one with that id.
pub fn read_evidence(path: &Path, net: &Network) -> Result<Evidence> {
    let shown = path.display().to_string();
    let bytes = fs::read(path).map_err(|e| Error::new(ErrorKind::Io, format!("cannot read `{shown}`: {e}")))?;
    evidence(&Source::new(&shown, decompress(&shown, &bytes)?)?, net)
}

fn evidence(source: &Source, net: &Network) -> Result<Evidence> {
    let mut lexer = Lexer::new(source, &UAI);
    let mut numbers = vec![];
    while lexer.peek()?.kind != Kind::End {
        numbers.push(lexer.count("in the evidence")?);
    }
    let order = numbering(net).unwrap_or_else(|| net.ids().collect());
    let mut evidence = Evidence::new();
    for pair in findings(source, &numbers)?.chunks_exact(2) {
        let ((variable, token), (value, place)) = (&pair[0], &pair[1]);
        let Some(&id) = order.get(*variable) else {
            return Err(no_variable(source, *variable, token, order.len()));
        };
        let place = source.place(place.span.clone());
        evidence.insert(net, id, Finding::Hard(*value)).map_err(|error| error.at(place))?;
    }
    Ok(evidence)
}

/// A number of a file of evidence.
type Number<'a> = (usize, Token<'a>);

/// The variables and values, in turn.
fn findings<'n, 'a>(source: &Source, numbers: &'n [Number<'a>]) -> Result<&'n [Number<'a>]> {
    let Some(((count, token), rest)) = numbers.split_first() else { return Ok(&[]) };
    let error = |message| source.error(token.span.clone(), message);
    match *count {
        n if n.checked_mul(2) == Some(rest.len()) => Ok(rest),
        1 if are_sets(1, rest) => Ok(&rest[1..]),
        n if are_sets(n, rest) => {
            let error = error(format!("the file has {n} sets of evidence; one is supported"));
            Err(error.hint("make a file of each set"))
        }
        n => Err(error(format!("{n} findings need two numbers each, but {} numbers follow", rest.len()))),
    }
}

/// Whether the numbers are so many lists of findings, each with its length before it.
fn are_sets(count: usize, mut numbers: &[Number<'_>]) -> bool {
    let mut found = 0;
    while let Some(((length, _), rest)) = numbers.split_first() {
        let Some(after) = length.checked_mul(2).and_then(|length| rest.get(length..)) else { return false };
        numbers = after;
        found += 1;
    }
    found == count
}

/// The variables called `x0`, `x1`, …, if those are all and their values are called `s0`, `s1`, ….
fn numbering(net: &Network) -> Option<Vec<VarId>> {
    let is_plain = |values: &[String]| values.iter().enumerate().all(|(k, value)| *value == format!("s{k}"));
    if !net.variables().iter().all(|v| is_plain(&v.values)) {
        return None;
    }
    (0..net.variables().len()).map(|i| net.find(&format!("x{i}")).ok()).collect()
}

pub(super) fn write(net: &Network, loss: Loss) -> Result<String> {
    refuse_roles(net, Format::Uai, loss)?;
    let order = match numbering(net) {
        Some(order) => order,
        None if loss == Loss::Refuse => return Err(cannot_carry(Format::Uai, "the names of variables and values")),
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
    order.iter().enumerate().for_each(|(i, v)| number[v.index()] = i);
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
    numbers.into_iter().map(|n| format!("{n:?}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const COINS: &str = "BAYES 2  2 3  2  1 0  2 0 1   2 0.4 0.6   6 0.1 0.2 0.7  0.3 0.3 0.4";

    fn source(text: &str) -> Source {
        Source { name: "models/coins.uai.gz".to_owned(), text: text.to_owned() }
    }

    fn parse(text: &str) -> Result<Network> {
        read(&source(text), &ReadOptions::default())
    }

    /// Message, the text from the caret on, and hint of what is wrong with a file.
    fn mistake(text: &str) -> (String, String, String) {
        told(text, parse(text).expect_err(text))
    }

    fn told(text: &str, error: Error) -> (String, String, String) {
        let place = error.place().expect("a place");
        let line = text.lines().nth(place.line - 1).unwrap_or_default();
        let from = line.chars().skip(place.column - 1).collect();
        (error.message().to_owned(), from, error.advice().unwrap_or_default().to_owned())
    }

    #[test]
    fn the_last_variable_moves_fastest_and_is_the_child() -> Result<()> {
        let net = parse(COINS)?;
        assert_eq!(net.name(), "coins");
        assert_eq!(net.variables()[1].name, "x1");
        assert_eq!(net.variables()[1].values, ["s0", "s1", "s2"]);
        assert_eq!(net.parents(VarId::new(1)), [VarId::new(0)]);
        assert_eq!(net.cpts()[1].table(&net.cards()), [0.1, 0.2, 0.7, 0.3, 0.3, 0.4]);
        Ok(())
    }

    /// x0 is a child of x1, so their ids are in the other order than their numbers.
    #[test]
    fn factors_come_in_any_order_and_numbers_survive() -> Result<()> {
        let text = "BAYES 2 2 3 2  2 1 0  1 1   6 0 1 0.25 0.75 1 0   3 0.1 1e-300 0.9";
        let net = parse(text)?;
        assert_eq!(net.variables()[0].name, "x1");
        let written = write(&net, Loss::Refuse)?;
        assert!(written.starts_with("BAYES\n2\n2 3\n2\n2 1 0\n1 1\n\n6\n 0.0 1.0\n"), "{written}");
        assert_eq!(parse(&written)?, net);
        let evidence = evidence(&source("1 0 1"), &net)?;
        assert_eq!(evidence.get(net.find("x0")?), Some(&Finding::Hard(1)));
        Ok(())
    }

    #[test]
    fn a_markov_network_may_have_constants_and_unused_variables() -> Result<()> {
        let net = parse("MARKOV 2 2 50 3  0  1 0  1 0   1 7.5  2 3 4  2 0.5 0")?;
        assert_eq!(net.cpts().iter().map(|c| c.scope().len()).collect::<Vec<_>>(), [0, 1, 1]);
        assert_eq!(net.cpts()[0].table(&net.cards()), [7.5]);
        assert_eq!(parse(&write(&net, Loss::Refuse)?)?, net);
        assert!(parse("MARKOV 0 0").is_ok());
        Ok(())
    }

    #[test]
    fn names_are_lost_only_if_that_is_accepted() -> Result<()> {
        let mut b = Network::builder("coins");
        let (coin, copy) = (b.variable("coin", ["heads", "tails"]), b.variable("copy", ["heads", "tails"]));
        b.function(copy, [coin], |u| u[0]);
        b.table(coin, [], [0.5, 0.5]);
        let net = b.build()?;
        let refused = write(&net, Loss::Refuse).unwrap_err();
        assert_eq!(refused.message(), "UAI cannot carry the names of variables and values");
        let read = parse(&write(&net, Loss::Accept)?)?;
        assert_eq!((read.cpts(), read.name()), (net.cpts(), net.name()));
        let evidence = evidence(&source("1 1 0"), &net)?;
        assert_eq!(evidence.get(net.find("copy")?), Some(&Finding::Hard(0)));
        Ok(())
    }

    #[test]
    fn mistakes_are_shown_where_they_are() {
        let cases = [
            ("BAYS 1", "expected `BAYES` or `MARKOV` at the beginning, found `BAYS`", "BAYS 1"),
            ("", "expected `BAYES` or `MARKOV` at the beginning, found the end of the file", ""),
            ("BAYES -1", "expected a whole number of variables, found `-1`", "-1"),
            ("BAYES 2 2", "expected a whole number of values for `x1`, found the end of the file", ""),
            ("BAYES 2 2 0 1", "variable `x1` has no values", "0 1"),
            ("BAYES 1 2 1 1 1 2 .5 .5", "there is no variable 1", "1 2 .5 .5"),
            ("BAYES 1 2 1 2 0 0", "factor 0 has 2 variables, but the network has 1", "2 0 0"),
            ("BAYES 1 2 1 0 1 1", "factor 0 has no variables", "0 1 1"),
            ("BAYES 1 2 1 1 0 3 .5 .5", "the table of factor 0 needs 2 numbers, but 3 are announced", "3 .5 .5"),
            ("BAYES 1 2 1 1 0 2 .5", "expected a number in the table of factor 0, found the end of the file", ""),
            ("BAYES 1 2 1 1 0 2 .5 .5 7", "unexpected `7` after the last table", "7"),
            ("BAYES 1 2 2 1 0 1 0 2 1 0 2 .5 .5", "variable `x0` has two CPTs", "1 0 2 1 0 2 .5 .5"),
            ("BAYES 1 2 1 1 0 2 .5 .4", "row 1 of the CPT of `x0` sums to 0.9, not 1", ".5 .4"),
            ("MARKOV 1 2 1 1 0 2 .5 nan", "factor 0 contains NaN, which is no factor value", "nan"),
        ];
        for (text, message, caret) in cases {
            let (said, at, _) = mistake(text);
            assert_eq!((said.as_str(), at.as_str()), (message, caret), "{text}");
        }
    }

    #[test]
    fn a_short_file_cannot_ask_for_much_memory() {
        let (message, ..) = mistake("BAYES 1 1000000000000 1 1 0");
        assert_eq!(message, "variable `x0` would have 1000000000000 values, more than the file can hold");
        let many = "40000 ".repeat(50);
        assert!(mistake(&format!("MARKOV 50 {many}")).0.ends_with("more than the file can hold"));
        assert!(mistake("MARKOV 1000000000000 2 2").0.contains("for `x2`, found the end"));
        assert!(mistake("MARKOV 1 2 1000000000000 1 0").0.contains("of variables in factor 1, found the end"));
        let cards = "1024 ".repeat(7);
        let huge = format!("MARKOV 7 {cards} 1 7 0 1 2 3 4 5 6 18446744073709551615 1");
        assert!(mistake(&huge).0.contains("needs more than 2^64 numbers"));
    }

    #[test]
    fn a_wrong_number_of_cards_is_explained() {
        let text = COINS.replace("BAYES 2  2 3  2", "BAYES\n3\n2 3\n2\n");
        let (_, _, hint) = mistake(&text);
        assert_eq!(hint, "3 variables are announced; the line after that has 2 numbers of values");
    }

    #[test]
    fn evidence_comes_in_two_variants() -> Result<()> {
        let net = parse(COINS)?;
        let read = |text: &str| evidence(&source(text), &net);
        for text in ["", "0", "1 0", "\n0\n"] {
            assert_eq!(read(text)?, Evidence::new(), "{text}");
        }
        let expected = Evidence::new().observe(&net, "x1", "s2")?.observe(&net, "x0", "s0")?;
        assert_eq!(read("2 1 2 0 0")?, expected);
        assert_eq!(read("1\n2 1 2 0 0\n")?, expected);
        Ok(())
    }

    #[test]
    fn mistakes_in_evidence_are_shown_where_they_are() -> Result<()> {
        let net = parse(COINS)?;
        let cases = [
            ("1 2 0", "there is no variable 2", "2 0"),
            ("1 0 2", "`x0` has 2 values; there is no value 2", "2"),
            ("2 0 1 0 0", "two different findings for `x0`", "0"),
            ("1 0 -1", "expected a whole number in the evidence, found `-1`", "-1"),
            ("3 1 0 1 1", "3 findings need two numbers each, but 4 numbers follow", "3 1 0 1 1"),
            ("2 1 0 1 1 1 1", "the file has 2 sets of evidence; one is supported", "2 1 0 1 1 1 1"),
            ("18446744073709551615 0", "18446744073709551615 findings need two numbers each, but 1 numbers follow", ""),
        ];
        for (text, message, caret) in cases {
            let (said, at, _) = told(text, evidence(&source(text), &net).expect_err(text));
            assert_eq!(said, message, "{text}");
            assert!(at.starts_with(caret), "{text}: {at}");
        }
        Ok(())
    }
}
