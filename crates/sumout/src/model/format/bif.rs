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
use super::{CptMarks, Format, Loss, Marks, ReadOptions, Source, cannot_carry, refuse_markov, refuse_roles};
use crate::error::{Error, Result, did_you_mean};
use crate::model::{Builder, Network, Node};

static BIF: Dialect = Dialect { punctuation: "{}()[],;|", line_comments: &["//"], block_comments: true };

pub(super) fn read(source: &Source, options: &ReadOptions) -> Result<Network> {
    let mut reader = Reader { lexer: Lexer::new(source, &BIF), variables: vec![], ids: HashMap::new(), blocks: vec![] };
    let name = reader.file()?;
    let name = if name.is_empty() || name == "unknown" { source.stem() } else { name };
    let mut builder = Network::builder(name);
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
    /// All blocks; returns the network's name.
    fn file(&mut self) -> Result<String> {
        let mut name = String::new();
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

    fn network(&mut self) -> Result<String> {
        let name = self.lexer.name("after `network`")?.text.to_owned();
        self.lexer.expect("{", "after the network's name")?;
        while !self.lexer.accept("}")? {
            self.skip_property("network")?;
        }
        Ok(name)
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

    fn missing_row(&self, block: &Block<'a>, mut row: usize, parents: &[usize]) -> Error {
        let mut states = vec![];
        for &parent in parents.iter().rev() {
            let values = &self.variables[parent].values;
            states.push(values[row % values.len()]);
            row /= values.len();
        }
        states.reverse();
        let message = match parents {
            [] => format!("the CPT of `{}` has no `table`", block.child.text),
            _ => format!("the CPT of `{}` has no row ({})", block.child.text, states.join(", ")),
        };
        self.lexer.error(&block.child, message).hint("add the row, or a `default` row for all that are missing")
    }
}

pub(super) fn write(net: &Network, loss: Loss) -> Result<String> {
    refuse_markov(net, Format::Bif)?;
    refuse_roles(net, Format::Bif, loss)?;
    let mut out = format!("network {} {{\n}}\n", quoted(net.name())?);
    for variable in net.variables() {
        let values: Vec<String> = variable.values.iter().map(|v| quoted(v)).collect::<Result<_>>()?;
        let (name, count) = (quoted(&variable.name)?, values.len());
        let _ = writeln!(out, "variable {name} {{\n  type discrete [ {count} ] {{ {} }};\n}}", values.join(", "));
    }
    let cards = net.cards();
    for var in net.ids() {
        write_cpt(&mut out, net, var.index(), &cards)?;
    }
    Ok(out)
}

fn write_cpt(out: &mut String, net: &Network, index: usize, cards: &[usize]) -> Result<()> {
    let cpt = &net.cpts()[index];
    let child = quoted(&net.variables()[index].name)?;
    let parents = cpt.parents();
    let table = cpt.table(cards);
    let rows = table.chunks_exact(cards[index]).map(numbers);
    if parents.is_empty() {
        let _ = writeln!(out, "probability ( {child} ) {{\n  table {};\n}}", rows.collect::<String>());
        return Ok(());
    }
    let names: Vec<String> = parents.iter().map(|&p| quoted(&net.variable(p).name)).collect::<Result<_>>()?;
    let _ = writeln!(out, "probability ( {child} | {} ) {{", names.join(", "));
    let values: Vec<Vec<String>> = parents
        .iter()
        .map(|&p| net.variable(p).values.iter().map(|v| quoted(v)).collect::<Result<_>>())
        .collect::<Result<_>>()?;
    for (row, numbers) in rows.enumerate() {
        let mut rest = row;
        let mut states: Vec<&str> = vec![];
        for values in values.iter().rev() {
            states.push(&values[rest % values.len()]);
            rest /= values.len();
        }
        states.reverse();
        let _ = writeln!(out, "  ({}) {numbers};", states.join(", "));
    }
    out.push_str("}\n");
    Ok(())
}

/// Numbers so that reading gives back the same bits.
fn numbers(row: &[f64]) -> String {
    row.iter().map(|p| format!("{p:?}")).collect::<Vec<_>>().join(", ")
}

/// A name as BIF writes it.
fn quoted(name: &str) -> Result<String> {
    if name.contains('"') {
        return Err(cannot_carry(Format::Bif, &format!("the name `{name}`, which contains a quote")));
    }
    let is_plain = |c: char| !c.is_whitespace() && !BIF.punctuation.contains(c);
    let is_word = !name.is_empty() && name.chars().all(is_plain) && !name.starts_with("//") && !name.starts_with("/*");
    Ok(if is_word { name.to_owned() } else { format!("\"{name}\"") })
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
