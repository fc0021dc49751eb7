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

mod evidence;
mod write;

use crate::error::{Error, Result, many};
use crate::model::format::lexer::{Dialect, Kind, Lexer, Token};
use crate::model::format::source::{CptMarks, Marks, Numbers};
use crate::model::format::{ReadOptions, Source};
use crate::model::{Builder, Network, Node, miscount};
use crate::vars::VarId;

pub use evidence::read_evidence;
pub(super) use write::write;

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
        let line = self.lexer.source.place(list.end..list.end).line();
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
            self.lexer.source.place(first.clone()).line(),
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

#[cfg(test)]
mod tests;
