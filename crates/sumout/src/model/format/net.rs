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
//! In `data` the child moves fastest, then the last parent. The parentheses may be left out; where they are,
//! they must agree with the nodes' states. A potential without data is uniform. All this may stand in one
//! `class NAME { … }`. Attributes not shown here are skipped. `\"` and `\\` in a string are a quote and a
//! backslash; any other backslash is itself.
//!
//! NET also has continuous nodes, decisions, utilities, functions, distributions given by expressions and
//! instances of classes. They are refused.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;

use super::lexer::{Dialect, Kind, Lexer, Token};
use super::{CptMarks, Format, Loss, Marks, ReadOptions, Source, cannot_carry, refuse_markov, refuse_roles};
use crate::error::{Error, Result, did_you_mean};
use crate::model::{Builder, Network, Node};

/// `%` is punctuation so that it ends a word; a comment it is before that.
static NET: Dialect = Dialect { punctuation: "{}()=;|%", line_comments: &["%"], block_comments: false };

/// Words that begin blocks, which Hugin does not take for names.
const KEYWORDS: &str = "net class node potential discrete continuous utility decision function instance";

/// Potentials without data may have this many numbers together. A short file must not ask for huge tables.
const MAX_UNIFORM: usize = 1 << 24;

pub(super) fn read(source: &Source, options: &ReadOptions) -> Result<Network> {
    let lexer = Lexer::new(source, &NET).with_escapes();
    let mut reader = Reader { lexer, name: None, nodes: vec![], ids: HashMap::new(), potentials: vec![] };
    reader.file()?;
    let mut builder = Network::builder(reader.name.clone().unwrap_or_else(|| source.stem()));
    builder.normalize(options.normalize);
    let marks = reader.build(&mut builder)?;
    builder.build_at(|site| marks.place(source, site))
}

struct Reader<'a> {
    lexer: Lexer<'a>,
    name: Option<String>,
    nodes: Vec<Declared<'a>>,
    ids: HashMap<&'a str, usize>,
    potentials: Vec<Potential<'a>>,
}

/// A `node` block.
struct Declared<'a> {
    name: Token<'a>,
    states: Vec<String>,
}

/// A `potential` block.
struct Potential<'a> {
    child: Token<'a>,
    parents: Vec<Token<'a>>,
    data: Option<Data>,
}

/// Numbers with the places where they begin.
#[derive(Default)]
struct Data {
    values: Vec<f64>,
    starts: Vec<usize>,
    /// How many numbers groups in parentheses have, and where the first of each size opens.
    groups: BTreeMap<usize, usize>,
}

impl<'a> Reader<'a> {
    /// All blocks, whether or not a class is around them.
    fn file(&mut self) -> Result<()> {
        let (mut had_class, mut in_class) = (false, false);
        loop {
            let token = self.lexer.next()?;
            match token.text {
                "net" => self.net()?,
                "class" if !had_class => (had_class, in_class) = (true, self.class()?),
                "}" if in_class => in_class = false,
                "discrete" if self.lexer.peek()?.is_word("node") => {}
                "node" => self.node()?,
                "potential" => self.potential()?,
                "" if token.kind == Kind::End && !in_class => return Ok(()),
                _ if in_class && self.lexer.accept("=")? => self.skip_value()?,
                _ => return Err(self.no_block(&token)),
            }
        }
    }

    fn no_block(&self, token: &Token<'a>) -> Error {
        match token.text {
            "continuous" | "utility" | "decision" | "function" => self.unsupported(token, "discrete nodes"),
            "class" | "instance" => self.unsupported(token, "single classes without instances"),
            _ => self.lexer.expected(token, "`net`, `node` or `potential`", "to begin a block"),
        }
    }

    fn unsupported(&self, token: &Token<'a>, instead: &str) -> Error {
        self.lexer.error(token, format!("{} is not supported", token.shown())).hint(format!("only {instead} are"))
    }

    /// The beginning of a class; its end comes after its blocks.
    fn class(&mut self) -> Result<bool> {
        self.name = Some(self.lexer.name("after `class`")?.text.to_owned());
        self.lexer.expect("{", "after the class's name")?;
        Ok(true)
    }

    fn net(&mut self) -> Result<()> {
        self.lexer.expect("{", "after `net`")?;
        while let Some(attribute) = self.attribute()? {
            if attribute.is_word("name") {
                self.name = Some(self.lexer.name("of the network")?.unescaped());
            }
            self.skip_value()?;
        }
        Ok(())
    }

    /// The name of the next attribute and its `=`; none at the end of the block.
    fn attribute(&mut self) -> Result<Option<Token<'a>>> {
        if self.lexer.accept("}")? {
            return Ok(None);
        }
        let name = self.lexer.name("of an attribute, or `}`")?;
        self.lexer.expect("=", "after the name of an attribute")?;
        Ok(Some(name))
    }

    /// Everything up to a semicolon.
    fn skip_value(&mut self) -> Result<()> {
        while !self.lexer.accept(";")? {
            let token = self.lexer.next()?;
            if token.is("{") || token.is("}") || token.kind == Kind::End {
                return Err(self.lexer.expected(&token, "`;`", "after an attribute"));
            }
        }
        Ok(())
    }

    fn node(&mut self) -> Result<()> {
        let name = self.lexer.name("after `node`")?;
        self.lexer.expect("{", "after the node's name")?;
        let mut states = vec![];
        while let Some(attribute) = self.attribute()? {
            match attribute.text {
                "states" => states = self.states()?,
                _ => self.skip_value()?,
            }
        }
        self.ids.entry(name.text).or_insert(self.nodes.len());
        self.nodes.push(Declared { name, states });
        Ok(())
    }

    fn states(&mut self) -> Result<Vec<String>> {
        self.lexer.expect("(", "before the states")?;
        let mut states = vec![];
        while !self.lexer.accept(")")? {
            states.push(self.lexer.name("of a state, or `)`")?.unescaped());
        }
        self.lexer.expect(";", "after the states")?;
        Ok(states)
    }

    fn potential(&mut self) -> Result<()> {
        self.lexer.expect("(", "after `potential`")?;
        let child = self.lexer.name("of a node")?;
        let parents = self.parents()?;
        self.lexer.expect("{", "before the data")?;
        let mut data = None;
        while let Some(attribute) = self.attribute()? {
            match attribute.text {
                "data" => data = Some(self.data()?),
                "model_data" | "model_nodes" => return Err(self.unsupported(&attribute, "`data` with numbers")),
                _ => self.skip_value()?,
            }
        }
        self.potentials.push(Potential { child, parents, data });
        Ok(())
    }

    /// What follows the child in a potential, up to the closing parenthesis.
    fn parents(&mut self) -> Result<Vec<Token<'a>>> {
        let mut parents = vec![];
        if self.lexer.accept(")")? {
            return Ok(parents);
        }
        let bar = self.lexer.next()?;
        if matches!(bar.kind, Kind::Word | Kind::Quoted) {
            let error = self.lexer.error(&bar, format!("a second child, {}, is not supported", bar.shown()));
            return Err(error.hint("give each node a potential of its own; parents stand behind `|`"));
        }
        if !bar.is("|") {
            return Err(self.lexer.expected(&bar, "`|` or `)`", "after the child"));
        }
        while !self.lexer.accept(")")? {
            parents.push(self.lexer.name("of a parent, or `)`")?);
        }
        Ok(parents)
    }

    fn data(&mut self) -> Result<Data> {
        let mut data = Data::default();
        let mut open = vec![];
        loop {
            let token = self.lexer.next()?;
            if token.is("(") {
                open.push((data.values.len(), token.span.start));
            } else if token.is(")")
                && let Some((before, opening)) = open.pop()
            {
                data.groups.entry(data.values.len() - before).or_insert(opening);
            } else if token.is(";") && open.is_empty() {
                return Ok(data);
            } else {
                data.values.push(self.number(&token)?);
                data.starts.push(token.span.start);
            }
        }
    }

    fn number(&self, token: &Token<'a>) -> Result<f64> {
        match token.text.parse() {
            _ if token.kind != Kind::Word => {
                Err(self.lexer.expected(token, "a number or a parenthesis", "in the data"))
            }
            Ok(number) => Ok(number),
            Err(_) => Err(self.unsupported(token, "numbers, with blanks between them,")),
        }
    }

    /// Tells the builder all variables and CPTs.
    fn build(&mut self, builder: &mut Builder) -> Result<Marks> {
        let mut marks = Marks::default();
        for node in &self.nodes {
            builder.variable(node.name.text, node.states.iter().map(String::as_str));
            marks.variables.push(node.name.span.clone());
        }
        let mut spare = MAX_UNIFORM;
        for Potential { child, parents, data } in std::mem::take(&mut self.potentials) {
            let scope = parents.iter().chain([&child]).map(|name| self.id(name)).collect::<Result<Vec<_>>>()?;
            let data = match data {
                Some(data) => self.checked(data, &scope)?,
                None => self.uniform(&child, &scope, &mut spare)?,
            };
            let node = scope[parents.len()];
            builder.table(Node(node), scope[..parents.len()].iter().copied().map(Node), data.values);
            marks.cpts.push(CptMarks { whole: child.span, entries: data.starts, width: self.card(node) });
        }
        Ok(marks)
    }

    fn card(&self, node: usize) -> usize {
        self.nodes[node].states.len()
    }

    fn id(&self, name: &Token<'a>) -> Result<usize> {
        self.ids.get(name.text).copied().ok_or_else(|| {
            let error = self.lexer.error(name, format!("node `{}` is not declared", name.text));
            let hint = did_you_mean(name.text, self.nodes.iter().map(|node| node.name.text));
            hint.into_iter().fold(error, Error::hint)
        })
    }

    /// A group is a row, or all rows for some states of the first parents. The builder checks the total.
    fn checked(&self, data: Data, scope: &[usize]) -> Result<Data> {
        let mut sizes = BTreeSet::new();
        let total = scope.iter().rev().fold(1usize, |size, &node| {
            sizes.insert(size.saturating_mul(self.card(node)));
            size.saturating_mul(self.card(node))
        });
        match data.groups.iter().find(|(size, _)| !sizes.contains(size)) {
            Some((size, &at)) if data.values.len() == total => {
                let Declared { name, states } = &self.nodes[scope[scope.len() - 1]];
                let message = format!("a group of {size} numbers, but a row of `{}` has {}", name.text, states.len());
                let error = self.lexer.source.error(at..at + 1, message);
                Err(error.hint("the states of the child move fastest, then those of the last parent"))
            }
            _ => Ok(data),
        }
    }

    fn uniform(&self, child: &Token<'a>, scope: &[usize], spare: &mut usize) -> Result<Data> {
        let size = scope.iter().fold(1usize, |size, &node| size.saturating_mul(self.card(node)));
        let Some(rest) = spare.checked_sub(size) else {
            let message = format!("the potential of `{}` has no data and would need {size} numbers", child.text);
            return Err(self.lexer.error(child, message).hint("give it fewer parents, or data"));
        };
        *spare = rest;
        let width = self.card(scope[scope.len() - 1]);
        Ok(Data { values: vec![1.0 / width as f64; size], ..Data::default() })
    }
}

pub(super) fn write(net: &Network, loss: Loss) -> Result<String> {
    refuse_markov(net, Format::Net)?;
    refuse_roles(net, Format::Net, loss)?;
    let names = identifiers(net, loss)?;
    let mut out = format!("net\n{{\n  name = {};\n}}\n", quoted(net.name()));
    for (variable, name) in net.variables().iter().zip(&names) {
        let has_name = *name == variable.name;
        let label = if has_name { String::new() } else { format!("  label = {};\n", quoted(&variable.name)) };
        let states: Vec<String> = variable.values.iter().map(|value| quoted(value)).collect();
        let _ = writeln!(out, "node {name}\n{{\n{label}  states = ( {} );\n}}", states.join(" "));
    }
    let cards = net.cards();
    (0..cards.len()).for_each(|index| write_potential(&mut out, net, index, &names, &cards));
    Ok(out)
}

fn write_potential(out: &mut String, net: &Network, index: usize, names: &[String], cards: &[usize]) {
    let cpt = &net.cpts()[index];
    let parents: String = cpt.parents().iter().map(|p| format!(" {}", names[p.index()])).collect();
    let bar = if parents.is_empty() { "" } else { " |" };
    let _ = write!(out, "potential ( {}{bar}{parents} )\n{{\n  data = ", names[index]);
    // After how many rows a parenthesis closes: one for the row, and one for each parent.
    let mut periods = vec![1];
    for parent in cpt.parents().iter().rev() {
        periods.push(periods[periods.len() - 1] * cards[parent.index()]);
    }
    let count = |row: usize| periods.iter().filter(|&&period| row.is_multiple_of(period)).count();
    for (row, numbers) in cpt.table(cards).chunks_exact(cards[index]).enumerate() {
        let indent = if row == 0 { "" } else { "\n    " };
        let numbers: Vec<String> = numbers.iter().map(|p| format!("{p:?}")).collect();
        let (open, close) = ("(".repeat(count(row)), ")".repeat(count(row + 1)));
        let _ = write!(out, "{indent}{open} {} {close}", numbers.join(" "));
    }
    out.push_str(";\n}\n");
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The names of the variables, made into identifiers if that is accepted.
fn identifiers(net: &Network, loss: Loss) -> Result<Vec<String>> {
    let mut names: Vec<String> = net.variables().iter().map(|v| v.name.clone()).collect();
    let mut taken: HashSet<String> = names.iter().filter(|name| is_identifier(name)).cloned().collect();
    for (index, name) in names.iter_mut().enumerate().filter(|(_, name)| !is_identifier(name)) {
        if loss == Loss::Refuse {
            return Err(cannot_carry(Format::Net, &format!("the name `{name}`, which is no identifier")));
        }
        let plain = name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        let numbered = (index..).map(|number| format!("_{plain}_{number}"));
        let mut candidates = [plain.clone(), format!("_{plain}")].into_iter().chain(numbered);
        let is_free = |name: &String| is_identifier(name) && taken.insert(name.clone());
        *name = candidates.find(is_free).expect("numbers do not end");
    }
    Ok(names)
}

fn is_identifier(name: &str) -> bool {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let begins = name.starts_with(|c: char| !c.is_ascii_digit());
    is_plain && begins && KEYWORDS.split(' ').all(|word| word != name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Network> {
        read(&Source { name: "models/test.net".to_owned(), text: text.to_owned() }, &ReadOptions::default())
    }

    /// Message, and the text from the caret on.
    fn mistake(text: &str) -> (String, String) {
        let error = parse(text).expect_err(text);
        let place = error.place().expect(text);
        let line = text.lines().nth(place.line - 1).unwrap_or_default();
        (error.message().to_owned(), line.chars().skip(place.column - 1).collect())
    }

    /// The nodes `a` (two states) and `b` (three), and this after the potential of `a`.
    fn with(potential: &str) -> String {
        let nodes = r#"node a { states = ("0" "1"); } node b { states = ("x" "y" "z"); }"#;
        format!("{nodes}\npotential (a) {{ data = (0.2 0.8); }}\n{potential}")
    }

    #[test]
    fn the_child_moves_fastest_then_the_last_parent() -> Result<()> {
        let nested = "potential (b | a c) { data = (((1 0 0)(.9 .1 0))((0 0 1)(0 .5 .5))); }";
        let flat = "potential (b | a c) { data = (1 0 0 .9 .1 0 0 0 1 0 .5 .5); }";
        let more = "node c { states = (p q); } potential (c | ) { data = (0.5 0.5); }";
        let net = parse(&with(&format!("{more} {nested}")))?;
        let b = net.find("b")?;
        assert_eq!(net.parents(b), [net.find("a")?, net.find("c")?]);
        let expected = [1.0, 0.0, 0.0, 0.9, 0.1, 0.0, 0.0, 0.0, 1.0, 0.0, 0.5, 0.5];
        assert_eq!(net.cpts()[b.index()].table(&net.cards()), expected);
        assert_eq!(parse(&with(&format!("{more} {flat}")))?, net, "{flat}");
        Ok(())
    }

    #[test]
    fn the_rest_of_the_language_is_skipped() -> Result<()> {
        let plain = parse(&with("potential (b | a) { data = ((1 0 0)(0 .5 .5)); }"))?;
        let full = parse(
            r#"% made by hand
            class test { inputs = (); HR_Desc = "a } ; \" % (";
            discrete node a { label = "A; or \"a\"\\"; position = (1 2); states = ("0" "1"); HR_x = ((("(") 1)); }
            node b { subtype = number; state_values = (1 2 3); states = ("x" "y" "z"); }
            potential (a) { data = (0.2% comment
                0.8); }
            potential (b | a) { experience = (1 1); data = (( 1 0 0 )( 0 .5 .5 )); } }"#,
        )?;
        assert_eq!((full.name(), &full), ("test", &plain));
        Ok(())
    }

    #[test]
    fn a_potential_without_data_is_uniform_unless_that_is_huge() -> Result<()> {
        let net = parse(&with("potential (b | a) { }"))?;
        assert_eq!(net.cpts()[1].table(&net.cards()), [1.0 / 3.0; 6]);
        let nodes: String = (0..30).map(|i| format!("node n{i} {{ states = (s t); }}")).collect();
        let parents: String = (0..30).map(|i| format!(" n{i}")).collect();
        let (message, _) = mistake(&with(&format!("{nodes} potential (b | {parents}) {{ }}")));
        assert_eq!(message, "the potential of `b` has no data and would need 3221225472 numbers");
        Ok(())
    }

    #[test]
    fn writing_and_reading_gives_the_same_network() -> Result<()> {
        let mut b = Network::builder("a \"tricky\\\" name");
        let one = b.variable("one", ["yes", "", "\"", "\\", "\\\"", "% no", "(é)\n;", "\\n"]);
        let two = b.variable("_2", ["{", "}"]);
        let three = b.variable("three", ["x", "y", "z"]);
        b.table(one, [], [0.1, 0.2, 0.3, 0.1, 0.1, 0.1, 1e-17, 0.1]);
        b.table(two, [], [1.0 / 3.0, 2.0 / 3.0]);
        b.function(three, [two, one], |u| (u[0] + u[1]) % 3);
        let net = b.build()?;
        let text = write(&net, Loss::Refuse)?;
        assert_eq!(parse(&text)?, net, "{text}");
        assert!(text.contains("( three | _2 one )\n{\n  data = ((( 1.0 0.0 0.0 )\n    ( 0.0 1.0 0.0 )"), "{text}");
        Ok(())
    }

    #[test]
    fn names_that_are_no_identifiers_become_labels_if_that_is_accepted() -> Result<()> {
        let mut b = Network::builder("");
        for name in ["a b", "a_b", "a-b", "1", "", "node", "_node"] {
            let node = b.variable(name, ["s"]);
            b.table(node, [], [1.0]);
        }
        let net = b.build()?;
        let refused = write(&net, Loss::Refuse).unwrap_err();
        assert_eq!(refused.message(), "Hugin NET cannot carry the name `a b`, which is no identifier");
        let text = write(&net, Loss::Accept)?;
        let read = parse(&text)?;
        let names: Vec<&str> = read.variables().iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names, ["_a_b", "a_b", "_a_b_2", "_1", "_", "_node_5", "_node"]);
        assert!(text.contains("node _a_b_2\n{\n  label = \"a-b\";"), "{text}");
        Ok(())
    }

    #[test]
    fn mistakes_are_shown_where_they_are() {
        let no_block = "expected `net`, `node` or `potential` to begin a block, found";
        let no_number = "expected a number or a parenthesis in the data, found";
        let deep = "(".repeat(1 << 20);
        let cases = [
            (&*format!("net {{ x = {deep}"), "expected `;` after an attribute, found the end of the file", ""),
            (&format!("potential (b) {{ data = {deep}"), &format!("{no_number} the end of the file"), ""),
            ("nodes a { }", &format!("{no_block} `nodes`"), "nodes"),
            ("class c { node d { }", &format!("{no_block} the end of the file"), ""),
            ("net { a = \"b }", "this quote is never closed", "\"b"),
            ("net { a = ( }", "expected `;` after an attribute, found `}`", "}"),
            ("continuous node x { }", "`continuous` is not supported", "continuous"),
            ("utility u { }", "`utility` is not supported", "utility"),
            ("decision d { }", "`decision` is not supported", "decision"),
            ("function f { }", "`function` is not supported", "function"),
            ("class c { instance i : d(); }", "`instance` is not supported", "instance"),
            ("node c { }", "variable `c` has no values", "c {"),
            ("potential (a b | c) { }", "a second child, `b`, is not supported", "b |"),
            ("potential (c) { }", "node `c` is not declared", "c)"),
            ("potential (b) { model_nodes = (); }", "`model_nodes` is not supported", "model_nodes"),
            ("potential (b) { data = normal(0, 1); }", "`normal` is not supported", "normal"),
            ("potential (b) { data = ((1 0); }", &format!("{no_number} `;`"), ";"),
            ("potential (b) { data = 1 0 0); }", &format!("{no_number} `)`"), ")"),
            ("potential (b) { data = (1 0); }", "the CPT of `b` needs 3 numbers (3), not 2", "b)"),
            ("potential (b) { data = (1 0 1); }", "row 1 of the CPT of `b` sums to 2, not 1", "1 0 1"),
            ("potential (b | a) { data = ((1 0 0)(1)); }", "the CPT of `b` needs 6 numbers (2 × 3), not 4", "b |"),
            ("potential (b|a) { data = ((1 0)(0 1)(0 0)); }", "a group of 2 numbers, but a row of `b` has 3", "(1 0)"),
        ];
        for (text, message, caret) in cases {
            let (said, at) = mistake(&with(text));
            assert_eq!(said, message, "{text}");
            assert!(at.starts_with(caret), "{text}: {at}");
        }
    }
}
