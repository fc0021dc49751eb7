//! Hugin's NET language, its discrete part.
//!
//! ```text
//! net { name = "asia"; node_size = (80 40); }
//! node tub { label = "Tuberculosis?"; states = ( "yes" "no" ); }
//! potential ( tub | asia ) {
//!   data = (( 0.05 0.95 )      % asia = yes
//!           ( 0.01 0.99 ));    % asia = no
//! }
//! ```
//!
//! In `data` the child moves fastest, then the last parent. The parentheses may be left out; where
//! they are, they must agree with the nodes' states. A potential without data is uniform. All this
//! may stand in one `class NAME { … }`. Attributes not shown here are skipped. `\"` and `\\` in a
//! string are a quote and a backslash; any other backslash is itself.
//!
//! NET also has continuous nodes, decisions, utilities, distributions given by expressions and
//! instances of classes. They are refused. Functions of the network, which compute numbers from
//! posteriors, are left out.

mod write;

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, Result, many};
use crate::model::format::lexer::{Dialect, Kind, Lexer, Token};
use crate::model::format::source::{CptMarks, Marks, Numbers};
use crate::model::format::variables::{Variables, Word};
use crate::model::format::{ReadOptions, Source};
use crate::model::{Builder, Network, Node};

pub(super) use write::write;

/// `%` is punctuation so that it ends a word; a comment it is before that.
static NET: Dialect = Dialect {
    punctuation: "{}()=;|%",
    line_comments: &["%"],
    block_comments: false,
};

/// Words that begin blocks, which Hugin does not take for names.
const KEYWORDS: &str =
    "net class node potential discrete continuous utility decision function instance";

pub(super) fn read(source: &Source, options: &ReadOptions) -> Result<Network> {
    let lexer = Lexer::new(source, &NET).with_escapes();
    let mut reader = Reader {
        lexer,
        name: None,
        variables: Variables::new(source),
        potentials: vec![],
        functions: vec![],
    };
    reader.file()?;
    let mut builder = Network::builder(reader.name.clone().unwrap_or_else(|| source.stem()));
    builder.normalize(options.normalize);
    builder.unscaled();
    let marks = reader.build(&mut builder)?;
    builder.build_from(&marks.of(source))
}

struct Reader<'a> {
    lexer: Lexer<'a>,
    name: Option<String>,
    variables: Variables<'a>,
    potentials: Vec<Potential<'a>>,
    /// The names of functions, which are left out.
    functions: Vec<Word<'a>>,
}

/// A `potential` block.
struct Potential<'a> {
    child: Word<'a>,
    parents: Vec<Word<'a>>,
    data: Option<Data>,
}

#[derive(Default)]
struct Data {
    numbers: Numbers,
    /// How many numbers groups in parentheses have, and where the first of each size opens.
    groups: BTreeMap<usize, usize>,
}

impl<'a> Reader<'a> {
    /// All blocks, whether or not a class is around them.
    fn file(&mut self) -> Result<()> {
        let (mut is_blank, mut had_class, mut in_class) = (true, false, false);
        loop {
            let token = self.lexer.next()?;
            match token.text {
                "net" => self.net(&token)?,
                "class" if !had_class => (had_class, in_class) = (true, self.class()?),
                "}" if in_class => in_class = false,
                "discrete" if self.lexer.peek()?.is_word("node") => {}
                "node" => self.node(&token)?,
                "function" => self.function(&token)?,
                "potential" => self.potential(&token)?,
                "" if token.kind == Kind::End && !in_class && !is_blank => return Ok(()),
                _ if in_class && self.lexer.accept("=")? => self.skip_value()?,
                _ => return Err(self.no_block(&token)),
            }
            is_blank = false;
        }
    }

    fn no_block(&self, token: &Token<'a>) -> Error {
        let unsupported = |what: &str, hint: &str| {
            self.lexer
                .error(token, format!("{what} not supported"))
                .hint(hint)
        };
        match token.text {
            "continuous" | "utility" | "decision" => unsupported(
                &format!("`{}` nodes are", token.text),
                "only discrete nodes are",
            ),
            "class" => unsupported("a second `class` is", "a file is one network"),
            "instance" => unsupported("`instance` is", "only a class without instances is"),
            _ => {
                let what = "`net`, `node` or `potential`";
                self.lexer.expected_word(
                    token,
                    &["net", "node", "potential"],
                    what,
                    "to begin a block",
                )
            }
        }
    }

    /// The beginning of a class; its end comes after its blocks.
    fn class(&mut self) -> Result<bool> {
        self.name = Some(self.lexer.name("after `class`")?.text.to_owned());
        self.lexer.expect("{", "after the class's name")?;
        Ok(true)
    }

    fn net(&mut self, opening: &Token<'a>) -> Result<()> {
        self.lexer.expect("{", "after `net`")?;
        while let Some(attribute) = self.attribute(opening)? {
            if attribute.is_word("name") {
                self.name = Some(self.lexer.name("of the network")?.unescaped().into_owned());
            }
            self.skip_value()?;
        }
        Ok(())
    }

    /// The name of the next attribute and its `=`; none at the end of the block.
    fn attribute(&mut self, opening: &Token<'a>) -> Result<Option<Token<'a>>> {
        if self.lexer.accept("}")? {
            return Ok(None);
        }
        let name = self.lexer.next()?;
        let is_block =
            KEYWORDS.split(' ').any(|word| name.is_word(word)) && !self.lexer.peek()?.is("=");
        if is_block || !matches!(name.kind, Kind::Word | Kind::Quoted) {
            let error = self.lexer.expected(
                &name,
                "an attribute or `}`",
                &format!("in the {} block", opening.text),
            );
            return Err(if is_block {
                error.hint(self.lexer.unclosed(opening.span.start))
            } else {
                error
            });
        }
        self.lexer.expect("=", &format!("after {}", name.shown()))?;
        Ok(Some(name))
    }

    /// Everything up to a semicolon.
    fn skip_value(&mut self) -> Result<()> {
        self.lexer.skip_statement("after an attribute")
    }

    fn node(&mut self, opening: &Token<'a>) -> Result<()> {
        let name = self.lexer.name("after `node`")?;
        self.lexer.expect("{", "after the node's name")?;
        let mut states = None;
        while let Some(attribute) = self.attribute(opening)? {
            if attribute.text != "states" {
                self.skip_value()?;
            } else if states.replace(self.states()?).is_some() {
                return Err(self.second(&attribute, &name.shown()));
            }
        }
        let Some(states) = states else {
            let error = self
                .lexer
                .error(&name, format!("node {} has no `states`", name.shown()));
            return Err(error.hint("write for example `states = ( \"yes\" \"no\" );`"));
        };
        self.variables.declare(name.word(), states)
    }

    fn second(&self, attribute: &Token<'a>, name: &str) -> Error {
        self.lexer.error(
            attribute,
            format!("a second {} for {name}", attribute.shown()),
        )
    }

    fn states(&mut self) -> Result<Vec<Word<'a>>> {
        self.lexer.expect("(", "before the states")?;
        let mut states = vec![];
        while !self.lexer.accept(")")? {
            let state = self.lexer.name("of a state, or `)`")?;
            states.push(Word {
                text: state.unescaped(),
                span: state.span,
            });
        }
        self.lexer.expect(";", "after the states")?;
        Ok(states)
    }

    fn function(&mut self, opening: &Token<'a>) -> Result<()> {
        let name = self.lexer.name("after `function`")?;
        self.lexer.expect("{", "after the function's name")?;
        while self.attribute(opening)?.is_some() {
            self.skip_value()?;
        }
        self.functions.push(name.word());
        Ok(())
    }

    fn potential(&mut self, opening: &Token<'a>) -> Result<()> {
        self.lexer.expect("(", "after `potential`")?;
        let child = self.lexer.name("of a node")?.word();
        let parents = self.parents()?;
        self.lexer.expect("{", "before the data")?;
        let (mut data, mut model) = (None, None);
        let is_function = self.functions.iter().any(|name| name.text == child.text);
        while let Some(attribute) = self.attribute(opening)? {
            match attribute.text {
                _ if is_function => self.skip_value()?,
                "data" if data.is_none() => data = Some(self.data()?),
                "data" => return Err(self.second(&attribute, &child.shown())),
                "model_data" => {
                    self.skip_value()?;
                    model = Some(attribute);
                }
                _ => self.skip_value()?,
            }
        }
        if is_function {
            return Ok(());
        }
        if let (Some(model), None) = (model, &data) {
            let message = format!("{} has an expression instead of numbers", child.shown());
            let error = self.lexer.error(&model, message);
            return Err(error.hint("give the numbers themselves, as `data`"));
        }
        self.potentials.push(Potential {
            child,
            parents,
            data,
        });
        Ok(())
    }

    /// The rest of a potential after the child, up to the closing parenthesis.
    fn parents(&mut self) -> Result<Vec<Word<'a>>> {
        let mut parents = vec![];
        if self.lexer.accept(")")? {
            return Ok(parents);
        }
        let bar = self.lexer.next()?;
        if matches!(bar.kind, Kind::Word | Kind::Quoted) {
            let error = self.lexer.error(
                &bar,
                format!("a second child, {}, is not supported", bar.shown()),
            );
            return Err(
                error.hint("give each node a potential of its own; parents stand behind `|`")
            );
        }
        if !bar.is("|") {
            return Err(self.lexer.expected(&bar, "`|` or `)`", "after the child"));
        }
        while !self.lexer.accept(")")? {
            parents.push(self.lexer.name("of a parent, or `)`")?.word());
        }
        Ok(parents)
    }

    fn data(&mut self) -> Result<Data> {
        let mut data = Data::default();
        data.numbers.span = self.lexer.peek()?.span.clone();
        let mut open = vec![];
        loop {
            let token = self.lexer.next()?;
            match (token.text, open.last()) {
                _ if token.is("(") => open.push((data.numbers.values.len(), token.span.start)),
                (")", Some(&(before, opening))) if token.is(")") => {
                    open.pop();
                    data.groups
                        .entry(data.numbers.values.len() - before)
                        .or_insert(opening);
                }
                (";", None) if token.is(";") => return Ok(data),
                (";", Some((_, at))) if token.is(";") => {
                    return Err(self
                        .lexer
                        .source
                        .error(*at..at + 1, "this `(` is never closed"));
                }
                _ => data.numbers.push(self.number(&token)?, token.span),
            }
        }
    }

    fn number(&self, token: &Token<'a>) -> Result<f64> {
        match token.text.parse() {
            _ if token.is(")") => Err(self.lexer.error(token, "this `)` closes nothing")),
            _ if token.kind != Kind::Word => {
                Err(self
                    .lexer
                    .expected(token, "a number, a parenthesis or `;`", "in the data"))
            }
            Ok(number) => Ok(number),
            Err(_) if token.text.chars().all(char::is_alphabetic) => Err(self
                .lexer
                .expected(token, "a number", "in the data")
                .hint("expressions are not supported")),
            Err(_) => Err(self.lexer.no_number(token, "in the data")),
        }
    }

    /// Tells the builder all variables and CPTs.
    fn build(&mut self, builder: &mut Builder) -> Result<Marks> {
        let mut marks = self.variables.build(builder);
        let mut room = self.variables.room();
        if !self.functions.is_empty() {
            builder.note(format!(
                "left out {}",
                many(self.functions.len(), "function")
            ));
        }
        for Potential {
            child,
            parents,
            data,
        } in std::mem::take(&mut self.potentials)
        {
            let is_function = |name: &Word<'_>| self.functions.iter().any(|f| f.text == name.text);
            let parents: Vec<Word<'a>> = parents.into_iter().filter(|p| !is_function(p)).collect();
            let scope = self.variables.family(&parents, &child)?;
            let Numbers {
                values,
                starts,
                span,
            } = match data {
                Some(data) => self.checked(data, &scope)?,
                None => self.uniform(&child, &scope, &mut room)?,
            };
            let width = self.variables.card(scope[parents.len()]);
            builder.potential(scope.into_iter().map(Node), values);
            let parents = parents.into_iter().map(|p| p.span).collect();
            marks.cpts.push(CptMarks {
                child: child.span,
                parents,
                list: span,
                entries: starts,
                width,
                test: vec![],
            });
        }
        Ok(marks)
    }

    /// A group is a row, or all rows for some states of the first parents. The builder checks the
    /// total.
    fn checked(&self, data: Data, scope: &[usize]) -> Result<Numbers> {
        let mut sizes = BTreeSet::new();
        let total = scope.iter().rev().fold(1usize, |size, &node| {
            sizes.insert(size.saturating_mul(self.variables.card(node)));
            size.saturating_mul(self.variables.card(node))
        });
        match data.groups.iter().find(|(size, _)| !sizes.contains(size)) {
            Some((&size, &at)) if data.numbers.values.len() == total => {
                let child = scope[scope.len() - 1];
                let (name, values) = (
                    self.variables.name(child),
                    many(self.variables.card(child), "value"),
                );
                let message = format!(
                    "a group of {}, but `{name}` has {values}",
                    many(size, "number")
                );
                let error = self.lexer.source.error(at..at + 1, message);
                Err(error
                    .hint("the values of the child move fastest, then those of the last parent"))
            }
            _ => Ok(data.numbers),
        }
    }

    fn uniform(&self, child: &Word<'a>, scope: &[usize], room: &mut usize) -> Result<Numbers> {
        self.variables.take(room, scope, &child.span)?;
        let width = self.variables.card(scope[scope.len() - 1]);
        let values = vec![1.0 / width as f64; self.variables.states(scope)];
        Ok(Numbers {
            values,
            starts: vec![],
            span: child.span.clone(),
        })
    }
}

#[cfg(test)]
mod tests;
