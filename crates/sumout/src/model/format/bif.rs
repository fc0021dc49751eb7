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
//! Instead of rows, a probability block may have a `table`. There the *child* moves slowest, unlike in every
//! other format. A `default` row stands for all rows that are not given. Properties are skipped. Names that
//! are no plain words are quoted; BIF has no way to write a name with a quote in it.

use std::collections::HashMap;
use std::fmt::Write;

use super::lexer::{Dialect, Lexer, Token};
use super::spelling::Spelling;
use super::{CptMarks, Format, Loss, Marks, ReadOptions, Source, refuse_markov, refuse_roles};
use crate::error::{Error, Result, did_you_mean};
use crate::model::{Builder, Cpt, Network, Node};

static BIF: Dialect = Dialect { punctuation: "{}()[],;|", line_comments: &["//"], block_comments: true };

/// What stands for the name of a network that has none, unless it is quoted.
const NAMELESS: &str = "unknown";

pub(super) fn read(source: &Source, options: &ReadOptions) -> Result<Network> {
    let mut reader = Reader { lexer: Lexer::new(source, &BIF), variables: vec![], ids: HashMap::new(), blocks: vec![] };
    let name = reader.file()?;
    let mut builder = Network::builder(name.unwrap_or_else(|| source.stem()));
    builder.normalize(options.normalize);
    let marks = reader.build(&mut builder)?;
    builder.build_at(|site| marks.place(source, site))
}

struct Reader<'a> {
    lexer: Lexer<'a>,
    variables: Vec<Declared<'a>>,
    ids: HashMap<&'a str, usize>,
    blocks: Vec<Block<'a>>,
}

/// A `variable` block.
struct Declared<'a> {
    name: Token<'a>,
    values: Vec<&'a str>,
    positions: HashMap<&'a str, usize>,
}

/// A `probability` block.
struct Block<'a> {
    child: Token<'a>,
    parents: Vec<Token<'a>>,
    rows: Vec<(Vec<Token<'a>>, Numbers)>,
    table: Option<(Token<'a>, Numbers)>,
    default: Option<Numbers>,
}

/// Numbers with the places where they begin.
#[derive(Default)]
struct Numbers {
    values: Vec<f64>,
    starts: Vec<usize>,
}

impl<'a> Reader<'a> {
    /// All blocks; returns the network's name, if it has one.
    fn file(&mut self) -> Result<Option<String>> {
        let mut name = None;
        loop {
            let token = self.lexer.next()?;
            match token.text {
                "network" => name = self.network()?,
                "variable" => self.variable()?,
                "probability" => self.probability()?,
                _ if token.kind == super::lexer::Kind::End => return Ok(name),
                _ => {
                    let what = "`network`, `variable` or `probability`";
                    return Err(self.lexer.expected(&token, what, "to begin a block"));
                }
            }
        }
    }

    fn network(&mut self) -> Result<Option<String>> {
        let name = self.lexer.name("after `network`")?;
        self.lexer.expect("{", "after the network's name")?;
        while !self.lexer.accept("}")? {
            self.skip_property("network")?;
        }
        Ok(Some(name).filter(|name| !name.is_word(NAMELESS)).map(|name| name.text.to_owned()))
    }

    fn skip_property(&mut self, context: &str) -> Result<()> {
        self.lexer.keyword("property", &format!("or `}}` in the {context} block"))?;
        while !self.lexer.accept(";")? {
            let token = self.lexer.next()?;
            if token.kind == super::lexer::Kind::End {
                return Err(self.lexer.expected(&token, "`;`", "after a property"));
            }
        }
        Ok(())
    }

    fn variable(&mut self) -> Result<()> {
        let name = self.lexer.name("after `variable`")?;
        self.lexer.expect("{", "after the variable's name")?;
        let mut values = None;
        while !self.lexer.accept("}")? {
            if self.lexer.peek()?.is_word("type") {
                values = Some(self.values()?);
            } else {
                self.skip_property("variable")?;
            }
        }
        let Some(values) = values else {
            return Err(self.lexer.error(&name, format!("variable `{}` has no `type`", name.text)));
        };
        let positions = values.iter().enumerate().map(|(i, &v)| (v, i)).collect();
        self.ids.entry(name.text).or_insert(self.variables.len());
        self.variables.push(Declared { name, values, positions });
        Ok(())
    }

    /// `type discrete [ n ] { a, b, … };`
    fn values(&mut self) -> Result<Vec<&'a str>> {
        self.lexer.keyword("type", "")?;
        let kind = self.lexer.name("after `type`")?;
        if kind.text != "discrete" {
            let error = self.lexer.error(&kind, format!("a variable of type `{}`", kind.text));
            return Err(error.hint("only discrete variables are supported"));
        }
        self.lexer.expect("[", "before the number of values")?;
        let (count, place) = self.lexer.count("of values")?;
        self.lexer.expect("]", "after the number of values")?;
        self.lexer.expect("{", "before the values")?;
        let mut values = vec![];
        while !self.lexer.accept("}")? {
            values.push(self.lexer.name("of a value")?.text);
            self.lexer.accept(",")?;
        }
        self.lexer.expect(";", "after the values")?;
        if values.len() != count {
            let message = format!("{count} values are announced, but {} are named", values.len());
            return Err(self.lexer.error(&place, message));
        }
        Ok(values)
    }

    fn probability(&mut self) -> Result<()> {
        self.lexer.expect("(", "after `probability`")?;
        let child = self.lexer.name("of the variable")?;
        let mut parents = vec![];
        if !self.lexer.accept(")")? {
            self.lexer.expect("|", "or `)` after the variable")?;
            parents = self.names()?;
        }
        self.lexer.expect("{", "before the probabilities")?;
        let mut block = Block { child, parents, rows: vec![], table: None, default: None };
        while !self.lexer.accept("}")? {
            self.statement(&mut block)?;
        }
        self.blocks.push(block);
        Ok(())
    }

    /// Names with commas up to a closing parenthesis.
    fn names(&mut self) -> Result<Vec<Token<'a>>> {
        let mut names = vec![];
        while !self.lexer.accept(")")? {
            names.push(self.lexer.name("or `)` in a list of names")?);
            self.lexer.accept(",")?;
        }
        Ok(names)
    }

    /// A row, a table, a default or a property.
    fn statement(&mut self, block: &mut Block<'a>) -> Result<()> {
        if self.lexer.accept("(")? {
            let states = self.names()?;
            let numbers = self.numbers()?;
            block.rows.push((states, numbers));
        } else if self.lexer.peek()?.is_word("table") {
            let token = self.lexer.next()?;
            block.table = Some((token, self.numbers()?));
        } else if self.lexer.peek()?.is_word("default") {
            self.lexer.next()?;
            block.default = Some(self.numbers()?);
        } else {
            self.skip_property("probability")?;
        }
        Ok(())
    }

    fn numbers(&mut self) -> Result<Numbers> {
        let mut numbers = Numbers::default();
        while !self.lexer.accept(";")? {
            let (value, token) = self.lexer.number("or `;`")?;
            numbers.values.push(value);
            numbers.starts.push(token.span.start);
            self.lexer.accept(",")?;
        }
        Ok(numbers)
    }

    /// Tells the builder all variables and CPTs.
    fn build(&self, builder: &mut Builder) -> Result<Marks> {
        let mut marks = Marks::default();
        let mut budget = (1 << 24) + self.lexer.source.text.len();
        for variable in &self.variables {
            builder.variable(variable.name.text, variable.values.iter().copied());
            marks.variables.push(variable.name.span.clone());
        }
        for block in &self.blocks {
            let child = self.id(&block.child)?;
            let parents: Vec<usize> = block.parents.iter().map(|p| self.id(p)).collect::<Result<_>>()?;
            let rows = self.row_count(&block.child, &parents, self.variables[child].values.len(), &mut budget)?;
            let numbers = self.table(block, child, &parents, rows)?;
            builder.table(Node(child), parents.into_iter().map(Node), numbers.values);
            let width = self.variables[child].values.len();
            marks.cpts.push(CptMarks { whole: block.child.span.clone(), entries: numbers.starts, width });
        }
        Ok(marks)
    }

    fn id(&self, name: &Token<'a>) -> Result<usize> {
        self.ids.get(name.text).copied().ok_or_else(|| {
            let error = self.lexer.error(name, format!("variable `{}` is not declared", name.text));
            match did_you_mean(name.text, self.variables.iter().map(|v| v.name.text)) {
                Some(hint) => error.hint(hint),
                None => error.hint(format!("add a block `variable {} {{ … }}`", name.text)),
            }
        })
    }

    /// The number of joint states of the parents. A short file must not ask for huge tables.
    fn row_count(&self, at: &Token<'a>, parents: &[usize], width: usize, budget: &mut usize) -> Result<usize> {
        let sizes = parents.iter().map(|&p| self.variables[p].values.len());
        let rows = sizes.fold(1usize, |rows, card| rows.saturating_mul(card));
        match budget.checked_sub(rows.saturating_mul(width)) {
            Some(left) => *budget = left,
            None => {
                let message = format!("the CPT of `{}` would have {rows} rows, more than the file can hold", at.text);
                return Err(self.lexer.error(at, message).hint("give it fewer parents, or smaller ones"));
            }
        }
        Ok(rows)
    }

    /// The CPT of a block with the child fastest, from its table or its rows.
    fn table(&self, block: &Block<'a>, child: usize, parents: &[usize], rows: usize) -> Result<Numbers> {
        let width = self.variables[child].values.len();
        match &block.table {
            Some((token, numbers)) => self.transposed(token, numbers, width, rows),
            None => self.assembled(block, width, parents, rows),
        }
    }

    fn transposed(&self, at: &Token<'a>, numbers: &Numbers, width: usize, rows: usize) -> Result<Numbers> {
        if numbers.values.len() != rows * width {
            let message = format!("this table needs {} numbers, not {}", rows * width, numbers.values.len());
            return Err(self.lexer.error(at, message));
        }
        let order = (0..rows).flat_map(|row| (0..width).map(move |value| value * rows + row));
        let (values, starts) = order.map(|i| (numbers.values[i], numbers.starts[i])).unzip();
        Ok(Numbers { values, starts })
    }

    fn assembled(&self, block: &Block<'a>, width: usize, parents: &[usize], count: usize) -> Result<Numbers> {
        let mut rows: Vec<Option<&Numbers>> = vec![None; count];
        for (states, numbers) in &block.rows {
            let row = self.row(block, states, parents)?;
            let first = states.first().unwrap_or(&block.child);
            if numbers.values.len() != width {
                let message = format!("this row needs {width} numbers, not {}", numbers.values.len());
                return Err(self.lexer.error(first, message));
            }
            if rows[row].replace(numbers).is_some() {
                return Err(self.lexer.error(first, "this row is given twice"));
            }
        }
        let default = block.default.as_ref();
        if let Some(default) = default.filter(|d| d.values.len() != width) {
            let message = format!("the `default` row needs {width} numbers, not {}", default.values.len());
            let at = default.starts.first().copied().unwrap_or(block.child.span.start);
            return Err(self.lexer.source.error(at..at + 1, message));
        }
        let mut table = Numbers::default();
        for (row, numbers) in rows.into_iter().enumerate() {
            let numbers = numbers.or(default).ok_or_else(|| self.missing_row(block, row, parents))?;
            table.values.extend(&numbers.values);
            table.starts.extend(&numbers.starts);
        }
        Ok(table)
    }

    /// Which row the states of the parents name.
    fn row(&self, block: &Block<'a>, states: &[Token<'a>], parents: &[usize]) -> Result<usize> {
        if states.len() != parents.len() {
            let message = format!("a row for {} parents, but there are {}", states.len(), parents.len());
            return Err(self.lexer.error(states.first().unwrap_or(&block.child), message));
        }
        let mut row = 0;
        for (state, &parent) in states.iter().zip(parents) {
            let parent = &self.variables[parent];
            let Some(position) = parent.positions.get(state.text) else {
                let message = format!("variable `{}` has no value `{}`", parent.name.text, state.text);
                let error = self.lexer.error(state, message);
                let hint = did_you_mean(state.text, parent.values.iter().copied());
                return Err(hint.into_iter().fold(error, Error::hint));
            };
            row = row * parent.values.len() + position;
        }
        Ok(row)
    }

    fn missing_row(&self, block: &Block<'a>, row: usize, parents: &[usize]) -> Error {
        let states = states(parents.iter().map(|&p| self.variables[p].values.as_slice()), row);
        let message = match parents {
            [] => format!("the CPT of `{}` has no `table`", block.child.text),
            _ => format!("the CPT of `{}` has no row ({states})", block.child.text),
        };
        self.lexer.error(&block.child, message).hint("add the row, or a `default` row for all that are missing")
    }
}

/// The values of the parents in a row, the last parent fastest.
fn states<'v, S: AsRef<str> + 'v>(parents: impl DoubleEndedIterator<Item = &'v [S]>, mut row: usize) -> String {
    let mut states = vec![];
    for values in parents.rev() {
        states.push(values[row % values.len()].as_ref());
        row /= values.len();
    }
    states.reverse();
    states.join(", ")
}

/// The names that come back when they are read.
const NAMES: Spelling = Spelling {
    format: Format::Bif,
    fits: |name| !name.contains('"'),
    mend: |name| name.replace('"', "'"),
    complaint: "which contains a quote",
};

/// A variable as BIF writes it.
struct Spelled {
    name: String,
    values: Vec<String>,
}

pub(super) fn write(net: &Network, loss: Loss) -> Result<String> {
    refuse_markov(net, Format::Bif)?;
    refuse_roles(net, Format::Bif, loss)?;
    let title = spelled([net.name()].into_iter(), loss)?.concat();
    let title = if title == NAMELESS { format!("\"{title}\"") } else { title };
    let mut out = format!("network {title} {{\n}}\n");
    let mut variables = vec![];
    for (variable, name) in net.variables().iter().zip(spelled(net.variables().iter().map(|v| v.name.as_str()), loss)?)
    {
        let values = spelled(variable.values.iter().map(String::as_str), loss)?;
        let (count, list) = (values.len(), values.join(", "));
        let _ = writeln!(out, "variable {name} {{\n  type discrete [ {count} ] {{ {list} }};\n}}");
        variables.push(Spelled { name, values });
    }
    let cards = net.cards();
    net.cpts().iter().for_each(|cpt| write_cpt(&mut out, cpt, &variables, &cards));
    Ok(out)
}

fn write_cpt(out: &mut String, cpt: &Cpt, variables: &[Spelled], cards: &[usize]) {
    let scope: Vec<&Spelled> = cpt.scope().iter().map(|v| &variables[v.index()]).collect();
    let (Spelled { name, values }, parents) = scope.split_last().expect("a CPT has a child");
    let table = cpt.table(cards);
    let rows = table.chunks_exact(values.len()).map(numbers);
    if parents.is_empty() {
        let _ = writeln!(out, "probability ( {name} ) {{\n  table {};\n}}", rows.collect::<String>());
        return;
    }
    let names: Vec<&str> = parents.iter().map(|p| p.name.as_str()).collect();
    let _ = writeln!(out, "probability ( {name} | {} ) {{", names.join(", "));
    for (row, numbers) in rows.enumerate() {
        let _ = writeln!(out, "  ({}) {numbers};", states(parents.iter().map(|p| p.values.as_slice()), row));
    }
    out.push_str("}\n");
}

/// Numbers so that reading gives back the same bits.
fn numbers(row: &[f64]) -> String {
    row.iter().map(|p| format!("{p:?}")).collect::<Vec<_>>().join(", ")
}

/// Names as BIF writes them.
fn spelled<'n>(names: impl Iterator<Item = &'n str> + Clone, loss: Loss) -> Result<Vec<String>> {
    Ok(NAMES.apply(names, loss)?.into_iter().map(quoted).collect())
}

/// A plain word as it is, any other name in quotes.
fn quoted(name: String) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !BIF.punctuation.contains(c);
    let is_word = !name.is_empty() && name.chars().all(is_plain) && !name.starts_with("//") && !name.starts_with("/*");
    if is_word { name } else { format!("\"{name}\"") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::random::{Shape, network};

    fn parse(text: &str) -> Result<Network> {
        read(&Source { name: "test.bif".to_owned(), text: text.to_owned() }, &ReadOptions::default())
    }

    /// The dog problem of JavaBayes: P(light-on = yes | family-out = no) is 0.05, the *second* number.
    #[test]
    fn in_a_table_the_child_moves_slowest() -> Result<()> {
        let net = parse(
            "network dog { } variable f { type discrete [ 2 ] { yes, no }; } \
             variable light { type discrete [ 2 ] { yes, no }; } \
             probability ( f ) { table 0.15 0.85; } probability ( light | f ) { table 0.6 0.05 0.4 0.95; }",
        )?;
        assert_eq!(net.cpts()[1].table(&net.cards()), [0.6, 0.4, 0.05, 0.95]);
        Ok(())
    }

    #[test]
    fn networks_come_back_as_they_were() -> Result<()> {
        for seed in 0..50 {
            let net = network(&Shape { nodes: 12, max_values: 4, max_parents: 3, functional: 0.4 }, seed)?;
            assert_eq!(parse(&write(&net, Loss::Refuse)?)?, net, "seed {seed}");
        }
        let names = ["", "two\n\tand\r\nlines", "// no", "/*", "a//b", "table", "{(|", "\\", "unknown", "λ\u{a0}"];
        for title in names {
            let mut b = Network::builder(title);
            let nodes = names.map(|name| b.variable(name, names));
            b.table(nodes[0], [], [0.1; 10]);
            for pair in nodes.windows(2) {
                b.function(pair[1], [pair[0]], |u| u[0]);
            }
            let net = b.build()?;
            assert_eq!(parse(&write(&net, Loss::Refuse)?)?, net);
        }
        Ok(())
    }

    #[test]
    fn names_with_quotes_are_refused_or_mended() -> Result<()> {
        let mut b = Network::builder("\"n\"");
        let x = b.variable("5\"", ["\"", "'"]);
        let y = b.variable("5'", ["a", "b"]);
        b.table(x, [], [0.5, 0.5]);
        b.function(y, [x], |u| u[0]);
        let net = b.build()?;
        let error = write(&net, Loss::Refuse).unwrap_err();
        assert_eq!(error.message(), "BIF cannot carry the name `\"n\"`, which contains a quote");
        let back = parse(&write(&net, Loss::Accept)?)?;
        assert_eq!((back.name(), back.cpts()), ("'n'", net.cpts()));
        assert_eq!((back.variables()[0].name.as_str(), back.variables()[1].name.as_str()), ("5'_2", "5'"));
        assert_eq!(back.variables()[0].values, ["'_2", "'"]);
        Ok(())
    }
}
