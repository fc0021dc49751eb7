//! XDSL, the format of GeNIe and SMILE.
//!
//! ```text
//! <smile version="1.0" id="Asia"> <nodes>
//!   <cpt id="tub"> <state id="yes"/> <state id="no"/>
//!     <parents>asia</parents> <probabilities>0.05 0.95 0.01 0.99</probabilities> </cpt>
//!   <deterministic id="either"> <state id="yes"/> <state id="no"/>
//!     <parents>tub lung</parents> <resultingstates>yes yes yes no</resultingstates> </deterministic>
//! </nodes> </smile>
//! ```
//!
//! In all lists the last parent moves fastest, in `probabilities` the node's own states faster still. Other
//! kinds of nodes are refused, all other elements skipped: properties, costs, what GeNIe draws.
//!
//! A `noisymax` node is written out as a table. For each parent in turn, `strengths` are the positions of its
//! states from the strongest to the weakest; in that order `parameters` have a distribution over the node's
//! states for each, and the leak at the end. States of the node go from high to low. The node is the highest
//! of what the parents and the leak cause, so that below any state the probabilities multiply:
//!
//! ```text
//!     P(X ≤ x | u₁ … uₙ)  =  P₀(X ≤ x) · P₁(X ≤ x | u₁) · … · Pₙ(X ≤ x | uₙ)
//! ```
//!
//! The weakest state of a parent causes nothing: its distribution is 0 … 0 1.
//!
//! Lists have blanks between their members, so no id can contain one. GeNIe also wants the ids of nodes to
//! be letters, digits and underscores, beginning with a letter.

use std::collections::HashMap;
use std::fmt::Write;

use super::source::Span;
use super::spelling::Spelling;
use super::xml::{Content, Numbers, Tag, Variables, Word, Xml, digits, escaped, is_legal, shown};
use super::{CptMarks, Format, Loss, Marks, ReadOptions, Source, refuse_markov, refuse_roles};
use crate::error::{Error, Result, did_you_mean};
use crate::model::{Body, Builder, Cpt, Network, Node};

/// The parameters of a parent's state sum to one within this.
const TOLERANCE: f64 = 1e-6;

pub(super) fn read(source: &Source, options: &ReadOptions) -> Result<Network> {
    let mut reader = Reader { xml: Xml::new(source), variables: Variables::new(source), cpts: vec![] };
    let name = reader.file()?;
    let mut builder = Network::builder(name);
    builder.normalize(options.normalize);
    let marks = reader.build(&mut builder, options.normalize)?;
    builder.build_at(|site| marks.place(source, site))
}

struct Reader<'a> {
    xml: Xml<'a>,
    variables: Variables<'a>,
    /// Of each variable.
    cpts: Vec<Given>,
}

/// What is given of a CPT.
#[derive(Default)]
struct Given {
    span: Span,
    parents: Vec<Word>,
    probabilities: Option<Numbers>,
    resulting_states: Option<Content>,
    strengths: Option<Numbers>,
    parameters: Option<Numbers>,
}

impl<'a> Reader<'a> {
    /// The whole file; returns the network's name.
    fn file(&mut self) -> Result<String> {
        let root = self.xml.root("smile", Format::Xdsl)?;
        while let Some(tag) = self.xml.child()? {
            match tag.kind().as_str() {
                "nodes" => self.nodes()?,
                "dynamic" => return Err(self.xml.source.error(tag.span, "dynamic networks are not supported")),
                _ => self.xml.skip()?,
            }
        }
        self.xml.end()?;
        Ok(self.xml.attribute(&root, "id")?.map_or(String::new(), |id| id.text))
    }

    fn nodes(&mut self) -> Result<()> {
        while let Some(tag) = self.xml.child()? {
            match tag.kind().as_str() {
                "cpt" | "deterministic" | "noisymax" => self.node(&tag)?,
                "property" => self.xml.skip()?,
                _ => {
                    let name = self.id(&tag)?;
                    let message = format!("node `{}` is of a kind that is not supported: `<{}>`", name.text, tag.name);
                    let error = self.xml.source.error(tag.span, message);
                    return Err(error.hint("`<cpt>`, `<deterministic>` and `<noisymax>` are supported"));
                }
            }
        }
        Ok(())
    }

    fn id(&self, tag: &Tag<'a>) -> Result<Word> {
        let missing = || self.xml.source.error(tag.span.clone(), format!("this `<{}>` has no `id`", tag.name));
        self.xml.attribute(tag, "id")?.ok_or_else(missing)
    }

    fn node(&mut self, node: &Tag<'a>) -> Result<()> {
        let name = self.id(node)?;
        let mut cpt = Given { span: name.span.clone(), ..Given::default() };
        let mut values = vec![];
        while let Some(tag) = self.xml.child()? {
            match tag.kind().as_str() {
                "state" => {
                    values.push(self.id(&tag)?.text);
                    self.xml.skip()?;
                }
                "parents" => cpt.parents = self.xml.names(&tag)?,
                "probabilities" => cpt.probabilities = Some(self.xml.numbers(&tag)?),
                "resultingstates" => cpt.resulting_states = Some(self.xml.content(&tag)?),
                "strengths" => cpt.strengths = Some(self.xml.numbers(&tag)?),
                "parameters" => cpt.parameters = Some(self.xml.numbers(&tag)?),
                _ => self.xml.skip()?,
            }
        }
        self.cpts.push(cpt);
        self.variables.declare(name, values)
    }

    /// Tells the builder all variables and CPTs.
    fn build(&mut self, builder: &mut Builder, normalize: bool) -> Result<Marks> {
        let mut marks = self.variables.build(builder);
        let mut room = (1 << 24) + self.xml.source.text.len();
        for (child, given) in std::mem::take(&mut self.cpts).into_iter().enumerate() {
            let parents = self.variables.find_all(&given.parents)?;
            let width = self.variables.values(child).len();
            let whole = given.span.clone();
            let entries = match given {
                Given { parameters: Some(parameters), strengths, .. } => {
                    let node = NoisyMax { reader: self, child, parents: &parents, width, parameters, normalize };
                    let table = node.table(strengths.as_ref(), &mut room)?;
                    builder.table(Node(child), parents.into_iter().map(Node), table);
                    vec![]
                }
                given => self.cpt(child, parents, given, builder)?,
            };
            marks.cpts.push(CptMarks { whole, entries, width });
        }
        Ok(marks)
    }

    /// Tells the builder a CPT that is given as a table or as a function; returns where its numbers begin.
    fn cpt(&self, child: usize, parents: Vec<usize>, given: Given, builder: &mut Builder) -> Result<Vec<usize>> {
        let rows = self.variables.states(&parents);
        let parents = parents.into_iter().map(Node);
        if let Some(Numbers { values, starts, span }) = given.probabilities {
            let size = rows.saturating_mul(self.variables.values(child).len());
            self.variables.expect(child, &span, "numbers", size, values.len())?;
            builder.table(Node(child), parents, values);
            return Ok(starts);
        }
        let Some(states) = given.resulting_states else {
            let message = format!("node `{}` has no `<probabilities>`", self.variables.name(child));
            return Err(self.xml.source.error(given.span, message));
        };
        let values = self.positions(child, &states)?;
        self.variables.expect(child, &states.span, "resulting states", rows, values.len())?;
        builder.mapping(Node(child), parents, values);
        Ok(vec![])
    }

    /// The positions of the states that are named.
    fn positions(&self, child: usize, states: &Content) -> Result<Vec<u32>> {
        let values = self.variables.values(child);
        let positions: HashMap<&str, u32> = values.iter().map(String::as_str).zip(0..).collect();
        let position = |(state, span): (&str, Span)| {
            positions.get(state).copied().ok_or_else(|| {
                let message = format!("node `{}` has no state {}", self.variables.name(child), shown(state));
                let hint = did_you_mean(state, values.iter().map(String::as_str));
                hint.into_iter().fold(self.xml.source.error(span, message), Error::hint)
            })
        };
        states.words().map(position).collect()
    }
}

/// A `noisymax` node with a column of parameters for every state of every parent, and one for the leak.
struct NoisyMax<'r, 'a> {
    reader: &'r Reader<'a>,
    child: usize,
    parents: &'r [usize],
    /// The number of states of the child.
    width: usize,
    parameters: Numbers,
    normalize: bool,
}

impl NoisyMax<'_, '_> {
    /// The table, built up parent by parent; `room` is how many numbers the file's tables may still have.
    fn table(&self, strengths: Option<&Numbers>, room: &mut usize) -> Result<Vec<f64>> {
        let leak: usize = self.cards().sum();
        let columns = self.columns(strengths, leak)?;
        self.take(room)?;
        let below = self.below()?;
        let column = |at: usize| &below[at * self.width..(at + 1) * self.width];
        let mut table = column(leak).to_vec();
        let mut first = 0;
        for (&parent, card) in self.parents.iter().zip(self.cards()) {
            self.check_weakest(parent, first + card - 1, column(first + card - 1))?;
            let mut longer = Vec::with_capacity(table.len() * card);
            for row in table.chunks(self.width) {
                for &at in &columns[first..first + card] {
                    longer.extend(row.iter().zip(column(at)).map(|(p, q)| p * q));
                }
            }
            table = longer;
            first += card;
        }
        for row in table.chunks_mut(self.width) {
            (1..self.width).for_each(|x| row[x - 1] -= row[x]);
        }
        Ok(table)
    }

    fn cards(&self) -> impl Iterator<Item = usize> {
        self.parents.iter().map(|&p| self.reader.variables.values(p).len())
    }

    /// For each parent the columns of its states, in the order of the states.
    fn columns(&self, strengths: Option<&Numbers>, count: usize) -> Result<Vec<usize>> {
        let none = Numbers { values: vec![], starts: vec![], span: self.parameters.span.clone() };
        let strengths = strengths.unwrap_or(&none);
        let size = (count + 1).saturating_mul(self.width);
        for (list, what, needed) in [(strengths, "strengths", count), (&self.parameters, "parameters", size)] {
            self.reader.variables.expect(self.child, &list.span, what, needed, list.values.len())?;
        }
        let mut columns = vec![usize::MAX; count];
        let mut first = 0;
        for (&parent, card) in self.parents.iter().zip(self.cards()) {
            for column in first..first + card {
                let state = strengths.values[column];
                let slot = columns[first..first + card].get_mut(state as usize);
                match slot.filter(|slot| state >= 0.0 && state.fract() == 0.0 && **slot == usize::MAX) {
                    Some(slot) => *slot = column,
                    None => return Err(self.bad_strength(parent, strengths.starts[column])),
                }
            }
            first += card;
        }
        Ok(columns)
    }

    fn bad_strength(&self, parent: usize, at: usize) -> Error {
        let (name, card) = (self.reader.variables.name(parent), self.reader.variables.values(parent).len());
        let message = format!("the strengths for `{name}` must name each of its states once, from 0 to {}", card - 1);
        self.reader.xml.source.error(at..at + 1, message)
    }

    /// Refuses a table that is too large. A short file must not ask for a huge one.
    fn take(&self, room: &mut usize) -> Result<()> {
        let rows = self.reader.variables.states(self.parents);
        let left = room.checked_sub(rows.saturating_mul(self.width));
        *room = left.ok_or_else(|| {
            let name = self.reader.variables.name(self.child);
            let message = format!("the table of `{name}` would have {rows} rows, more than the file can ask for");
            let error = self.reader.xml.source.error(self.parameters.span.clone(), message);
            error.hint("give it fewer parents, or smaller ones")
        })?;
        Ok(())
    }

    /// The columns as probabilities of each state or a lower one.
    fn below(&self) -> Result<Vec<f64>> {
        let mut below = self.parameters.values.clone();
        for (index, column) in below.chunks_mut(self.width).enumerate() {
            if let Some(at) = column.iter().position(|p| !p.is_finite() || *p < 0.0) {
                return Err(
                    self.error(index, format!("these parameters contain {}, which is no probability", column[at]))
                );
            }
            (1..self.width).rev().for_each(|x| column[x - 1] += column[x]);
            let sum = column[0];
            if !(self.normalize && sum > 0.0 && sum.is_finite()) && (sum - 1.0).abs() > TOLERANCE {
                let error = self.error(index, format!("these parameters sum to {}, not 1", (sum * 1e9).round() / 1e9));
                return Err(error.hint("correct them, or pass `--normalize` to rescale such parameters"));
            }
            column.iter_mut().for_each(|p| *p /= sum);
        }
        Ok(below)
    }

    /// The weakest state of a parent leaves the child in its lowest state.
    fn check_weakest(&self, parent: usize, column: usize, below: &[f64]) -> Result<()> {
        if below.iter().all(|p| (p - 1.0).abs() <= TOLERANCE) {
            return Ok(());
        }
        let name = self.reader.variables.name(parent);
        let error = self.error(column, format!("the parameters for the weakest state of `{name}` must be 0 … 0 1"));
        Err(error.hint("it is the state that the last of its strengths names"))
    }

    /// A mistake in a column of the parameters.
    fn error(&self, column: usize, message: String) -> Error {
        let starts = &self.parameters.starts[column * self.width..(column + 1) * self.width];
        self.reader.xml.source.error(starts[0]..starts[self.width - 1] + 1, message)
    }
}

/// The names that GeNIe takes for nodes.
const IDS: Spelling = Spelling {
    format: Format::Xdsl,
    fits: is_identifier,
    mend: |name| {
        let plain = name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        if is_identifier(&plain) { plain } else { format!("x{plain}") }
    },
    complaint: "which is not a letter followed by letters, digits and underscores",
};

/// The names that can be members of a list.
const STATES: Spelling = Spelling {
    format: Format::Xdsl,
    fits: |name| !name.is_empty() && name.chars().all(is_solid),
    mend: |name| if name.is_empty() { "_".to_owned() } else { name.replace(|c| !is_solid(c), "_") },
    complaint: "which is empty or contains a blank or a control character",
};

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_solid(c: char) -> bool {
    is_legal(c) && !c.is_whitespace()
}

pub(super) fn write(net: &Network, loss: Loss) -> Result<String> {
    refuse_markov(net, Format::Xdsl)?;
    refuse_roles(net, Format::Xdsl, loss)?;
    let title = Some(net.name()).filter(|name| !name.is_empty());
    let ids = IDS.apply(net.variables().iter().map(|v| v.name.as_str()), loss)?;
    let title: String = IDS.apply(title.into_iter(), loss)?.iter().map(|id| format!(" id=\"{id}\"")).collect();
    let mut out = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<smile version=\"1.0\"{title}>\n  <nodes>\n");
    let cards = net.cards();
    for var in net.ids() {
        let states = STATES.apply(net.variable(var).values.iter().map(String::as_str), loss)?;
        write_node(&mut out, &net.cpts()[var.index()], &ids, &states, &cards);
    }
    out.push_str("  </nodes>\n</smile>\n");
    Ok(out)
}

/// A function of parents is a `deterministic` node.
fn write_node(out: &mut String, cpt: &Cpt, ids: &[String], states: &[String], cards: &[usize]) {
    let states: Vec<String> = states.iter().map(|s| escaped(s)).collect();
    let scope: Vec<&str> = cpt.scope().iter().map(|v| ids[v.index()].as_str()).collect();
    let (id, parents) = scope.split_last().expect("a CPT has a child");
    let (kind, list, members) = match cpt.body() {
        Body::Function(values) if !parents.is_empty() => {
            let names: Vec<&str> = values.iter().map(|&v| states[v as usize].as_str()).collect();
            ("deterministic", "resultingstates", names.join(" "))
        }
        _ => ("cpt", "probabilities", digits(&cpt.table(cards))),
    };
    let _ = writeln!(out, "    <{kind} id=\"{id}\">");
    for state in &states {
        let _ = writeln!(out, "      <state id=\"{state}\" />");
    }
    if !parents.is_empty() {
        let _ = writeln!(out, "      <parents>{}</parents>", parents.join(" "));
    }
    let _ = writeln!(out, "      <{list}>{members}</{list}>\n    </{kind}>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::random::{Shape, network};

    fn parse(text: &str) -> Result<Network> {
        read(&Source { name: "test.xdsl".to_owned(), text: text.to_owned() }, &ReadOptions::default())
    }

    /// A network with the binary node `a`, the node `b` of three states, and one more.
    fn with(node: &str) -> String {
        format!(
            "<smile version='1.0' id='n'><nodes>\n\
             <cpt id='a'><state id='y'/><state id='n'/><probabilities>0.5 0.5</probabilities></cpt>\n\
             <cpt id='b'><state id='r'/><state id='s'/><state id='t'/><probabilities>0.2 0.3 0.5</probabilities></cpt>\n\
             {node}\n</nodes><extensions><genie><node id='a'><name>A &unknown;</name></node></genie></extensions></smile>"
        )
    }

    /// A child of both with the states `high`, `low` and `none`.
    fn child(kind: &str, rest: &str) -> String {
        let states = "<state id='high'/><state id='low'/><state id='none'/><property id='p'>1</property>";
        with(&format!("<{kind} id='x'>{states}<parents>a b</parents>{rest}</{kind}>"))
    }

    #[test]
    fn the_own_states_move_fastest_and_then_the_last_parent() -> Result<()> {
        let numbers = "1 0 0  0.5 0.5 0  0 0.5 0.5  0.25 0.25 0.5  0.75 0.25 0  0.125 0.25 0.625";
        let net = parse(&child("cpt", &format!("<probabilities>{numbers}</probabilities>")))?;
        let table: Vec<f64> = numbers.split_whitespace().flat_map(str::parse).collect();
        assert_eq!(*net.cpts()[2].body(), Body::Table(table));
        assert_eq!(net.parents(net.find("x")?), [net.find("a")?, net.find("b")?]);
        assert_eq!(parse(&write(&net, Loss::Refuse)?)?, net);
        Ok(())
    }

    #[test]
    fn a_deterministic_node_is_a_function() -> Result<()> {
        let states = "<resultingstates>low low none high low none</resultingstates>";
        let net = parse(&child("deterministic", states))?;
        assert_eq!(*net.cpts()[2].body(), Body::Function(vec![1, 1, 2, 0, 1, 2]));
        let written = write(&net, Loss::Refuse)?;
        assert!(written.contains(states), "{written}");
        assert_eq!(parse(&written)?, net);
        Ok(())
    }

    /// Of `b`, state 2 is the strongest and state 1 the weakest. For a = y and b = r, below `high` is
    /// 0.5 · 0.9 · 1 = 0.45 and below `low` is 0.2 · 0.7 · 0.9 = 0.126.
    #[test]
    fn a_noisy_max_multiplies_what_is_below() -> Result<()> {
        let columns = "0.5 0.3 0.2  0 0 1   0.4 0.4 0.2  0.1 0.2 0.7  0 0 1   0 0.1 0.9";
        let given = format!("<strengths>0 1 2 0 1</strengths><parameters>{columns}</parameters>");
        let given_y = [0.55, 0.324, 0.126, 0.5, 0.32, 0.18, 0.7, 0.264, 0.036];
        let given_n = [0.1, 0.27, 0.63, 0.0, 0.1, 0.9, 0.4, 0.42, 0.18];
        let net = parse(&child("noisymax", &given))?;
        let table = net.cpts()[2].table(&net.cards());
        assert!(table.iter().zip(given_y.iter().chain(&given_n)).all(|(p, q)| (p - q).abs() < 1e-15), "{table:?}");
        assert_eq!(table[12], 0.0, "what nothing causes stays impossible");
        Ok(())
    }

    #[test]
    fn networks_come_back_as_they_were() -> Result<()> {
        for seed in 0..50 {
            let net = network(&Shape { nodes: 12, max_values: 4, max_parents: 3, functional: 0.4 }, seed)?;
            let back = parse(&write(&net, Loss::Accept)?)?;
            assert_eq!(back.name(), net.name().replace('-', "_"));
            assert!(back.variables() == net.variables() && back.cpts() == net.cpts(), "seed {seed}\n{net:?}");
        }
        let mut b = Network::builder("");
        let x = b.variable("x", ["<1", "λ&\"'", "5-10"]);
        b.table(x, [], [0.1, 1.0 / 3.0, 0.9 - 1.0 / 3.0]);
        let net = b.build()?;
        assert_eq!(parse(&write(&net, Loss::Refuse)?)?, net);
        Ok(())
    }

    #[test]
    fn names_that_are_no_ids_are_refused_or_mended() -> Result<()> {
        let mut b = Network::builder("n");
        for (name, values) in [("1 a", ["p q", "p\tq"]), ("x1_a", ["p_q", "r"]), ("1-a", ["", "s"])] {
            let x = b.variable(name, values);
            b.table(x, [], [0.5, 0.5]);
        }
        let net = b.build()?;
        let error = write(&net, Loss::Refuse).unwrap_err();
        assert!(error.message().starts_with("XDSL cannot carry the name `1 a`"), "{error}");
        let back = parse(&write(&net, Loss::Accept)?)?;
        let names: Vec<&str> = back.variables().iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names, ["x1_a_2", "x1_a", "x1_a_3"]);
        assert_eq!(back.variables()[0].values, ["p_q", "p_q_2"]);
        Ok(())
    }

    #[test]
    fn mistakes_have_a_place() {
        let noisy = |strengths: &str, parameters: &str| {
            child("noisymax", &format!("<strengths>{strengths}</strengths>\n<parameters>{parameters}</parameters>"))
        };
        let good = "1 0 0 0 0 1 1 0 0 1 0 0 0 0 1 0 0 1";
        let cpt = |rest: &str| child("cpt", rest);
        let mapping = |states| child("deterministic", &format!("\n<resultingstates>{states}</resultingstates>"));
        for (text, line, message) in [
            (cpt("\n<probabilities>1 0 0</probabilities>"), 5, "needs 18 numbers, not 3"),
            (cpt("\n<probabilities>1 O 0</probabilities>"), 5, "expected a number in `<probabilities>`, found `O`"),
            (cpt(""), 4, "node `x` has no `<probabilities>`"),
            (cpt("").replace("a b", "a bb"), 4, "variable `bb` is not declared"),
            (mapping("lo"), 5, "node `x` has no state `lo`"),
            (mapping("low"), 5, "needs 6 resulting states, not 1"),
            (with("<decision id='d'><state id='go'/></decision>"), 4, "node `d` is of a kind that is not supported"),
            (with("<cpt id='a'><state id='y'/></cpt>"), 4, "variable `a` is declared twice"),
            (with("<cpt><state id='y'/></cpt>"), 4, "this `<cpt>` has no `id`"),
            (with("<cpt id='&e;'></cpt>"), 4, "unknown entity `&e;`"),
            (with("<cpt id=x></cpt>"), 4, "malformed attributes"),
            (noisy("0 1 2 0", good), 4, "needs 5 strengths, not 4"),
            (noisy("0 1 2 2 1", good), 4, "the strengths for `b` must name each of its states once, from 0 to 2"),
            (noisy("0 1 2 0 1", "1 0 0"), 5, "needs 18 parameters, not 3"),
            (noisy("0 1 2 0 1", &good.replacen('1', "-1", 1)), 5, "contain -1, which is no probability"),
            (noisy("0 1 2 0 1", &good.replacen('1', "0.5", 1)), 5, "these parameters sum to 0.5, not 1"),
            (noisy("0 1 2 0 1", &good.replacen("0 0 1", "0 1 0", 1)), 5, "weakest state of `a` must be 0 … 0 1"),
            (noisy(&"0 1 ".repeat(40), &"0 0 1 ".repeat(81)).replace("a b", &"a ".repeat(40)), 5, "1099511627776 rows"),
        ] {
            let error = parse(&text).unwrap_err();
            assert!(error.message().contains(message), "{error}");
            assert_eq!(error.place().map(|p| p.line), Some(line), "{error}");
        }
    }
}
