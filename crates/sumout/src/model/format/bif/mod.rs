//! The Bayesian Interchange Format, version 0.15, as the bnlearn repository has it.
//!
//! ```text
//! network asia { }
//! variable tub { type discrete [ 2 ] { yes, no }; }
//! probability ( tub | asia ) {
//!   (yes) 0.05, 0.95;
//!   (no) 0.01, 0.99;
//! }
//! ```
//!
//! Instead of rows, a probability block may have a `table`. There the *child* moves slowest, unlike
//! in every other format. A `default` row stands for all rows that are not given. Properties are
//! skipped. Names that are not plain words are quoted; BIF has no way to write a name with a quote
//! in it.

mod write;

use crate::error::{Error, Result, many};
use crate::model::format::bif::write::states;
use crate::model::format::lexer::{Dialect, Kind, Lexer, Token};
use crate::model::format::source::{CptMarks, Marks, Numbers, Span};
use crate::model::format::variables::{Variables, Word};
use crate::model::format::{ReadOptions, Source};
use crate::model::{Builder, Network, Node};

pub(super) use write::write;

static BIF: Dialect = Dialect {
    punctuation: "{}()[],;|",
    line_comments: &["//"],
    block_comments: true,
};

/// Words that begin blocks.
const BLOCKS: [&str; 3] = ["network", "variable", "probability"];

/// The name of a network without one, unless it is quoted.
const NAMELESS: &str = "unknown";

pub(super) fn read(source: &Source, options: &ReadOptions) -> Result<Network> {
    let mut reader = Reader {
        lexer: Lexer::new(source, &BIF),
        variables: Variables::new(source),
        blocks: vec![],
    };
    let name = reader.file()?;
    let mut builder = Network::builder(name.unwrap_or_else(|| source.stem()));
    builder.normalize(options.normalize);
    let marks = reader.build(&mut builder)?;
    builder.build_at(|site| marks.place(source, site))
}

struct Reader<'a> {
    lexer: Lexer<'a>,
    variables: Variables<'a>,
    blocks: Vec<Block<'a>>,
}

/// A `probability` block.
struct Block<'a> {
    child: Word<'a>,
    parents: Vec<Word<'a>>,
    rows: Vec<Row<'a>>,
    table: Option<Numbers>,
    default: Option<Numbers>,
}

/// A row of a CPT: the values of the parents, in parentheses, and the numbers.
struct Row<'a> {
    states: Vec<Word<'a>>,
    span: Span,
    numbers: Numbers,
}

impl<'a> Reader<'a> {
    /// All blocks; returns the network's name, if it has one.
    fn file(&mut self) -> Result<Option<String>> {
        let mut name = None;
        let mut is_blank = true;
        loop {
            let token = self.lexer.next()?;
            match token.text {
                "network" => name = self.network(&token)?,
                "variable" => self.variable(&token)?,
                "probability" => self.probability(&token)?,
                _ if token.kind == Kind::End && !is_blank => return Ok(name),
                _ => {
                    let what = "`network`, `variable` or `probability`";
                    return Err(self.lexer.expected_word(
                        &token,
                        &BLOCKS,
                        what,
                        "to begin a block",
                    ));
                }
            }
            is_blank = false;
        }
    }

    fn network(&mut self, opening: &Token<'a>) -> Result<Option<String>> {
        let name = self.lexer.name("after `network`")?;
        self.lexer.expect("{", "after the network's name")?;
        while !self.lexer.accept("}")? {
            self.skip_property(opening)?;
        }
        Ok(Some(name)
            .filter(|name| !name.is_word(NAMELESS))
            .map(|name| name.text.to_owned()))
    }

    fn skip_property(&mut self, opening: &Token<'a>) -> Result<()> {
        let token = self.lexer.next()?;
        if !token.is_word("property") {
            return Err(self.no_member(&token, opening));
        }
        while !self.lexer.accept(";")? {
            let token = self.lexer.peek()?;
            if token.is("{") {
                self.skip_braces()?;
                continue;
            }
            if token.is("}") || token.kind == Kind::End {
                self.lexer.expect(";", "after a property")?;
            }
            self.lexer.next()?;
        }
        Ok(())
    }

    /// A set, as pgmpy writes the roles of variables: `{'latents'}`.
    fn skip_braces(&mut self) -> Result<()> {
        self.lexer.next()?;
        while !self.lexer.accept("}")? {
            let token = self.lexer.peek()?;
            if token.is("{") || token.is(";") || token.kind == Kind::End {
                self.lexer.expect("}", "after the set of a property")?;
            }
            self.lexer.next()?;
        }
        Ok(())
    }

    /// The error for something that cannot be in a block.
    fn no_member(&self, token: &Token<'a>, opening: &Token<'a>) -> Error {
        let (words, what): (&[&str], _) = match opening.text {
            "network" => (&["property"], "`property` or `}`"),
            "variable" => (&["type", "property"], "`type`, `property` or `}`"),
            _ => (
                &["table", "default", "property"],
                "a row, `table`, `default`, `property` or `}`",
            ),
        };
        let error = self.lexer.expected_word(
            token,
            words,
            what,
            &format!("in the {} block", opening.text),
        );
        match token.text {
            text if BLOCKS.contains(&text) => error.hint(self.lexer.unclosed(opening.span.start)),
            text if text.parse::<f64>().is_ok() => {
                error.hint("numbers have a decimal point; `;` ends a row")
            }
            _ => error,
        }
    }

    fn variable(&mut self, opening: &Token<'a>) -> Result<()> {
        let name = self.lexer.name("after `variable`")?;
        self.lexer.expect("{", "after the variable's name")?;
        let mut values = None;
        while !self.lexer.accept("}")? {
            let token = self.lexer.peek()?.clone();
            if !token.is_word("type") {
                self.skip_property(opening)?;
            } else if values.replace(self.values()?).is_some() {
                return Err(self
                    .lexer
                    .error(&token, format!("a second `type` for {}", name.shown())));
            }
        }
        let Some(values) = values else {
            let error = self
                .lexer
                .error(&name, format!("variable {} has no `type`", name.shown()));
            return Err(error.hint("write for example `type discrete [ 2 ] { yes, no };`"));
        };
        self.variables.declare(name.word(), values)
    }

    /// `type discrete [ n ] { a, b, … };`
    fn values(&mut self) -> Result<Vec<Word<'a>>> {
        self.lexer.next()?;
        let kind = self.lexer.name("after `type`")?;
        if kind.text != "discrete" {
            let error = self
                .lexer
                .error(&kind, format!("type {} is not supported", kind.shown()));
            return Err(error.hint("only `discrete` variables are"));
        }
        self.lexer.expect("[", "before the number of values")?;
        let (count, place) = self.lexer.count("of values")?;
        self.lexer.expect("]", "after the number of values")?;
        self.lexer.expect("{", "before the values")?;
        let mut values = vec![];
        while !self.lexer.accept("}")? {
            values.push(self.lexer.name("of a value, or `}`")?.word());
            self.lexer.accept(",")?;
        }
        self.lexer.expect(";", "after the values")?;
        if values.len() != count {
            let error = self.lexer.error(
                &place,
                format!("{count} values are announced, but {} named", values.len()),
            );
            return Err(error.hint(format!(
                "write `[ {} ]`, or correct the values",
                values.len()
            )));
        }
        Ok(values)
    }

    fn probability(&mut self, opening: &Token<'a>) -> Result<()> {
        self.lexer.expect("(", "after `probability`")?;
        let child = self.lexer.name("of the variable")?.word();
        let mut parents = vec![];
        if !self.lexer.accept(")")? {
            self.lexer.expect("|", "or `)` after the variable")?;
            (parents, _) = self.names()?;
        }
        self.lexer.expect("{", "before the probabilities")?;
        let mut block = Block {
            child,
            parents,
            rows: vec![],
            table: None,
            default: None,
        };
        while !self.lexer.accept("}")? {
            self.statement(&mut block, opening)?;
        }
        self.blocks.push(block);
        Ok(())
    }

    /// Names with commas up to a closing parenthesis, and where that ends.
    fn names(&mut self) -> Result<(Vec<Word<'a>>, usize)> {
        let mut names = vec![];
        loop {
            let token = self.lexer.next()?;
            match token.kind {
                _ if token.is(")") => return Ok((names, token.span.end)),
                Kind::Word | Kind::Quoted => names.push(token.word()),
                _ => {
                    return Err(self
                        .lexer
                        .expected(&token, "a name or `)`", "in a list of names"));
                }
            }
            self.lexer.accept(",")?;
        }
    }

    /// A row, a table, a default or a property.
    fn statement(&mut self, block: &mut Block<'a>, opening: &Token<'a>) -> Result<()> {
        let token = self.lexer.peek()?.clone();
        if self.lexer.accept("(")? {
            let (states, end) = self.names()?;
            block.rows.push(Row {
                states,
                span: token.span.start..end,
                numbers: self.numbers()?,
            });
            return Ok(());
        }
        let twice = match token.text {
            "table" => block.table.replace(self.list()?).is_some(),
            "default" => block.default.replace(self.list()?).is_some(),
            _ => return self.skip_property(opening),
        };
        if twice {
            return Err(self.lexer.error(
                &token,
                format!("a second {} for {}", token.shown(), block.child.shown()),
            ));
        }
        Ok(())
    }

    /// Numbers with a word before them.
    fn list(&mut self) -> Result<Numbers> {
        self.lexer.next()?;
        self.numbers()
    }

    fn numbers(&mut self) -> Result<Numbers> {
        let mut numbers = Numbers {
            span: self.lexer.peek()?.span.clone(),
            ..Numbers::default()
        };
        while !self.lexer.accept(";")? {
            let (value, token) = self.lexer.number("or `;`")?;
            numbers.push(value, token.span);
            self.lexer.accept(",")?;
        }
        Ok(numbers)
    }

    /// Tells the builder all variables and CPTs.
    fn build(&self, builder: &mut Builder) -> Result<Marks> {
        let mut marks = self.variables.build(builder);
        let mut room = self.variables.room();
        for block in &self.blocks {
            let scope = self.variables.family(&block.parents, &block.child)?;
            self.variables.take(&mut room, &scope, &block.child.span)?;
            let Numbers {
                values,
                starts,
                span,
            } = self.table(block, &scope)?;
            builder.potential(scope.iter().copied().map(Node), values);
            let parents = block.parents.iter().map(|p| p.span.clone()).collect();
            let width = self.variables.card(scope[scope.len() - 1]);
            marks.cpts.push(CptMarks {
                child: block.child.span.clone(),
                parents,
                list: span,
                entries: starts,
                width,
                test: vec![],
            });
        }
        Ok(marks)
    }

    /// The CPT of a block with the child fastest, from its table or its rows.
    fn table(&self, block: &Block<'a>, scope: &[usize]) -> Result<Numbers> {
        match (&block.table, block.rows.first()) {
            (None, _) => self.assembled(block, scope),
            (Some(table), None) => self.transposed(table, scope),
            (Some(_), Some(row)) => {
                let message = format!("a row beside the `table` of {}", block.child.shown());
                Err(self
                    .lexer
                    .source
                    .error(row.span.clone(), message)
                    .hint("give either a `table` or rows"))
            }
        }
    }

    fn transposed(&self, numbers: &Numbers, scope: &[usize]) -> Result<Numbers> {
        let child = scope[scope.len() - 1];
        self.variables
            .expect(child, scope, "numbers", numbers.values.len(), &numbers.span)?;
        let width = self.variables.card(child);
        let rows = numbers.values.len() / width;
        let order = (0..rows).flat_map(|row| (0..width).map(move |value| value * rows + row));
        let (values, starts) = order
            .map(|i| (numbers.values[i], numbers.starts[i]))
            .unzip();
        Ok(Numbers {
            values,
            starts,
            span: numbers.span.clone(),
        })
    }

    fn assembled(&self, block: &Block<'a>, scope: &[usize]) -> Result<Numbers> {
        let (&child, parents) = scope.split_last().expect("a family has a child");
        let mut rows: Vec<Option<&Row<'a>>> = vec![None; self.variables.states(parents)];
        for row in &block.rows {
            self.check_width("this row", &row.numbers, child)?;
            if let Some(first) = rows[self.row(block, row, parents)?].replace(row) {
                let error = self
                    .lexer
                    .source
                    .error(row.span.clone(), "this row is given twice");
                return Err(error.hint(self.lexer.source.other(&first.span)));
            }
        }
        let default = block.default.as_ref();
        default.map_or(Ok(()), |numbers| {
            self.check_width("the `default` row", numbers, child)
        })?;
        let mut table = Numbers {
            span: block.child.span.clone(),
            ..Numbers::default()
        };
        for (row, given) in rows.into_iter().enumerate() {
            let numbers = given.map(|row| &row.numbers).or(default);
            let numbers = numbers.ok_or_else(|| self.missing_row(block, row, parents))?;
            table.values.extend(&numbers.values);
            table.starts.extend(&numbers.starts);
        }
        Ok(table)
    }

    fn check_width(&self, what: &str, numbers: &Numbers, child: usize) -> Result<()> {
        let (found, needed, name) = (
            numbers.values.len(),
            self.variables.card(child),
            self.variables.name(child),
        );
        if found == needed {
            return Ok(());
        }
        let message = format!(
            "{what} has {} for the {} of `{name}`",
            many(found, "number"),
            many(needed, "value")
        );
        Err(self.lexer.source.error(numbers.span.clone(), message))
    }

    /// Which row the states of the parents name.
    fn row(&self, block: &Block<'a>, row: &Row<'a>, parents: &[usize]) -> Result<usize> {
        if row.states.len() != parents.len() {
            let (named, count) = (
                many(row.states.len(), "value"),
                many(parents.len(), "parent"),
            );
            let message = format!(
                "this row names {named}, but {} has {count}",
                block.child.shown()
            );
            return Err(self.lexer.source.error(row.span.clone(), message));
        }
        row.states
            .iter()
            .zip(parents)
            .try_fold(0, |row, (state, &parent)| {
                Ok(row * self.variables.card(parent) + self.variables.position(parent, state)?)
            })
    }

    fn missing_row(&self, block: &Block<'a>, row: usize, parents: &[usize]) -> Error {
        let error = |message: String| self.lexer.source.error(block.child.span.clone(), message);
        if parents.is_empty() {
            return error(format!("the CPT of {} has no `table`", block.child.shown()));
        }
        let states = states(parents.iter().map(|&p| self.variables.values(p)), row);
        let error = error(format!(
            "the CPT of {} has no row ({states})",
            block.child.shown()
        ));
        error.hint("add the row, or a `default` row for all that are missing")
    }
}

#[cfg(test)]
mod tests;
