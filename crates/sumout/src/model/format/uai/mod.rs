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
//! Line breaks mean nothing, and `#` begins a comment. In a CAUSAL file, a structural causal model,
//! the last variable of a factor may also be a function of the others, with its value for each of
//! their joint states; and the table of a root may be empty, if its probabilities are not known.
//!
//! Names do not exist: variable i is called `x{i}` and its value k
//! `s{k}`; the network is called after its file.
//!
//! Evidence is a file of its own: the number of findings, then a variable and a value for each.
//! Older files begin with the number of such lists. The number of numbers tells which it is.

mod evidence;
mod write;

use crate::error::{Error, Result, many};
use crate::model::format::lexer::{Dialect, Kind as TokenKind, Lexer, Token};
use crate::model::format::source::{CptMarks, Marks, Numbers};
use crate::model::format::{ReadOptions, Source};
use crate::model::{Builder, Network, Node, miscount};
use crate::vars::VarId;

pub(super) use evidence::evidence;
pub(super) use write::write;

static UAI: Dialect = Dialect {
    punctuation: "",
    line_comments: &["#"],
    block_comments: false,
};

/// A factor's table has at least as many numbers as its variables have values, so a file is longer
/// than all of its variables have values. Variables in no factor are the exception; they may have
/// this many more.
const MAX_UNUSED_VALUES: usize = 1 << 16;

pub(super) fn read(source: &Source, options: &ReadOptions) -> Result<Network> {
    let mut lexer = Lexer::new(source, &UAI);
    let kind = kind(&mut lexer)?;
    let name = source.stem();
    let mut builder = if kind == Kind::Markov {
        Network::markov(name)
    } else {
        Network::builder(name)
    };
    builder.normalize(options.normalize);
    let mut reader = Reader {
        lexer,
        kind,
        announced: 0,
        unknown: 0,
        cards: vec![],
        marks: Marks::default(),
    };
    reader
        .file(&mut builder)
        .map_err(|error| reader.explain(error))?;
    builder.build_from(&reader.marks.of(source))
}

/// The kind of network.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bayes,
    Causal,
    Markov,
}

fn kind(lexer: &mut Lexer<'_>) -> Result<Kind> {
    let kind = lexer.next()?;
    match kind.text {
        "BAYES" | "bayes" => Ok(Kind::Bayes),
        "CAUSAL" | "causal" => Ok(Kind::Causal),
        "MARKOV" | "markov" => Ok(Kind::Markov),
        _ => Err(lexer.expected_word(
            &kind,
            &["BAYES", "CAUSAL", "MARKOV"],
            "`BAYES`, `CAUSAL` or `MARKOV`",
            "at the beginning",
        )),
    }
}

struct Reader<'a> {
    lexer: Lexer<'a>,
    kind: Kind,
    announced: usize,
    /// How many tables are empty.
    unknown: usize,
    cards: Vec<usize>,
    marks: Marks,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Bayes => "BAYES",
            Kind::Causal => "CAUSAL",
            Kind::Markov => "MARKOV",
        }
    }
}

impl Reader<'_> {
    fn file(&mut self, builder: &mut Builder) -> Result<()> {
        self.variables(builder)?;
        for (factor, scope) in self.scopes()?.iter().enumerate() {
            self.factor(factor, scope, builder)?;
        }
        if self.unknown > 0 {
            let tables = many(self.unknown, "empty table");
            builder.note(format!("{tables}: those variables are uniform"));
        }
        let token = self.lexer.next()?;
        if token.kind != TokenKind::End {
            return Err(self.lexer.error(
                &token,
                format!("unexpected {} after the last table", token.shown()),
            ));
        }
        Ok(())
    }

    fn factor(&mut self, factor: usize, scope: &[usize], builder: &mut Builder) -> Result<()> {
        let size = self.size(factor, scope)?;
        let numbers = self.table(factor, scope, size)?;
        let nodes = |scope: &[usize]| scope.iter().copied().map(Node).collect::<Vec<_>>();
        match scope.split_last() {
            _ if self.kind == Kind::Markov => builder.potential(nodes(scope), numbers),
            Some((&child, [])) if size == 0 => {
                self.unknown += 1;
                let card = self.cards[child];
                builder.table(Node(child), [], vec![1.0 / card as f64; card])
            }
            Some((&child, parents)) if size < self.states(scope) => {
                let values = self.values(factor, child, &numbers)?;
                builder.mapping(Node(child), nodes(parents), values)
            }
            _ => builder.potential(nodes(scope), numbers),
        };
        Ok(())
    }

    /// The values of a function, which are written as numbers.
    fn values(&self, factor: usize, child: usize, numbers: &[f64]) -> Result<Vec<u32>> {
        let card = self.cards[child];
        let is_value = |x: &f64| x.fract() == 0.0 && (0.0..card as f64).contains(x);
        let Some(wrong) = numbers.iter().position(|x| !is_value(x)) else {
            return Ok(numbers.iter().map(|&x| x as u32).collect());
        };
        let source = self.lexer.source;
        let span = source.word(self.marks.cpts[factor].entries[wrong]);
        let message = format!("`x{child}` has no value {}", numbers[wrong]);
        let error = source.error(span, message);
        Err(error.hint(format!("it has {}, counted from 0", many(card, "value"))))
    }

    fn states(&self, scope: &[usize]) -> usize {
        let sizes = scope.iter().map(|&v| self.cards[v]);
        sizes.fold(1, usize::saturating_mul)
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
        if self.kind != Kind::Markov && count != variables {
            let (variables, factors) = (many(variables, "variable"), many(variables, "factor"));
            let message = format!(
                "a {} file with {variables} has {factors}, not {count}",
                self.kind.name()
            );
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
        if size == 0 && self.kind != Kind::Markov {
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

    fn table(&mut self, factor: usize, scope: &[usize], size: usize) -> Result<Vec<f64>> {
        let context = format!("in the table of factor {factor}");
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
    fn size(&mut self, factor: usize, scope: &[usize]) -> Result<usize> {
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
        let parents = &scope[..scope.len().saturating_sub(1)];
        let is_function = size == self.states(parents) && !parents.is_empty();
        if self.kind == Kind::Causal && (is_function || parents.is_empty() && size == 0) {
            return Ok(size);
        }
        match miscount(
            &format!("the table of factor {factor}"),
            &cards,
            "numbers",
            size,
        ) {
            None => Ok(size),
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
