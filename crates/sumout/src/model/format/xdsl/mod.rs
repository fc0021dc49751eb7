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
//! In all lists the last parent moves fastest, in `probabilities` the node's own states faster
//! still. Other kinds of nodes are refused, all other elements skipped: properties, costs, what
//! GeNIe draws.
//!
//! A `noisymax` node is written out as a table.
//!
//! Lists have blanks between their members, so no id can contain one. GeNIe also wants the ids of
//! nodes to be letters, digits and underscores, beginning with a letter.

mod noisymax;

use std::fmt::Write;

use crate::error::{Result, shown};
use crate::model::format::source::{CptMarks, Marks, Numbers, Span};
use crate::model::format::spelling::Spelling;
use crate::model::format::variables::{Variables, Word};
use crate::model::format::xml::{Content, Tag, Xml, digits, escaped, is_legal};
use crate::model::format::{Format, Loss, ReadOptions, Source, refuse_markov, refuse_roles};
use crate::model::{Body, Builder, Cpt, Network, Node};
use noisymax::NoisyMax;

pub(super) fn read(source: &Source, options: &ReadOptions) -> Result<Network> {
    let mut reader = Reader {
        xml: Xml::new(source),
        variables: Variables::new(source),
        cpts: vec![],
    };
    let name = reader.file()?;
    let mut builder = Network::builder(name);
    builder.normalize(options.normalize);
    let marks = reader.build(&mut builder, options.normalize)?;
    builder.build_from(&marks.of(source))
}

struct Reader<'a> {
    xml: Xml<'a>,
    variables: Variables<'a>,
    /// Of each variable.
    cpts: Vec<Given<'a>>,
}

/// The parts of a CPT that are given.
struct Given<'a> {
    child: Word<'a>,
    parents: Vec<Word<'a>>,
    probabilities: Option<Numbers>,
    resulting_states: Option<Content>,
    strengths: Option<Numbers>,
    parameters: Option<Numbers>,
}

impl<'a> Given<'a> {
    fn new(child: Word<'a>) -> Self {
        let (probabilities, resulting_states, strengths, parameters) = (None, None, None, None);
        Given {
            child,
            parents: vec![],
            probabilities,
            resulting_states,
            strengths,
            parameters,
        }
    }

    fn marks(&self) -> CptMarks {
        let parents = self.parents.iter().map(|p| p.span.clone()).collect();
        CptMarks {
            child: self.child.span.clone(),
            parents,
            ..CptMarks::default()
        }
    }
}

impl<'a> Reader<'a> {
    /// The whole file; returns the network's name.
    fn file(&mut self) -> Result<String> {
        let root = self.xml.root("smile", Format::Xdsl)?;
        while let Some(tag) = self.xml.child()? {
            match tag.kind().as_str() {
                "nodes" => self.nodes()?,
                "dynamic" => {
                    return Err(self
                        .xml
                        .source
                        .error(tag.span, "dynamic networks are not supported"));
                }
                _ => self.xml.skip()?,
            }
        }
        self.xml.end()?;
        Ok(self
            .xml
            .attribute(&root, "id")?
            .map_or(String::new(), |id| id.text.into_owned()))
    }

    fn nodes(&mut self) -> Result<()> {
        while let Some(tag) = self.xml.child()? {
            match tag.kind().as_str() {
                "cpt" | "deterministic" | "noisymax" => self.node(&tag)?,
                "property" => self.xml.skip()?,
                _ => {
                    let name = self.id(&tag)?;
                    let message = format!(
                        "`<{}>` nodes such as {} are not supported",
                        shown(tag.name),
                        name.shown()
                    );
                    let error = self.xml.source.error(tag.span, message);
                    return Err(error.hint("only `<cpt>`, `<deterministic>` and `<noisymax>` are"));
                }
            }
        }
        Ok(())
    }

    fn id(&self, tag: &Tag<'a>) -> Result<Word<'a>> {
        self.xml.attribute(tag, "id")?.ok_or_else(|| {
            let name = shown(tag.name);
            let error = self
                .xml
                .source
                .error(tag.span.clone(), format!("this `<{name}>` has no `id`"));
            error.hint(format!("write for example `<{name} id=\"x\">`"))
        })
    }

    fn node(&mut self, node: &Tag<'a>) -> Result<()> {
        let name = self.id(node)?;
        let mut cpt = Given::new(name.clone());
        let mut values = vec![];
        while let Some(tag) = self.xml.child()? {
            match tag.kind().as_str() {
                "state" => {
                    values.push(self.id(&tag)?);
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
        let mut room = self.variables.room();
        for given in std::mem::take(&mut self.cpts) {
            let scope = self.variables.family(&given.parents, &given.child)?;
            let own = given.marks();
            marks.cpts.push(match given.parameters {
                Some(parameters) => {
                    let own = CptMarks {
                        list: parameters.span.clone(),
                        ..own
                    };
                    let node = NoisyMax::new(self, &scope, parameters, normalize);
                    let table = node.table(given.strengths.as_ref(), &mut room)?;
                    builder.potential(scope.into_iter().map(Node), table);
                    own
                }
                None => self.cpt(given, scope, own, builder)?,
            });
        }
        Ok(marks)
    }

    /// Tells the builder a CPT that is given as a table or as a function.
    fn cpt(
        &self,
        given: Given<'a>,
        mut scope: Vec<usize>,
        own: CptMarks,
        builder: &mut Builder,
    ) -> Result<CptMarks> {
        let child = scope[scope.len() - 1];
        if let Some(Numbers {
            values,
            starts,
            span,
        }) = given.probabilities
        {
            builder.potential(scope.into_iter().map(Node), values);
            return Ok(CptMarks {
                list: span,
                entries: starts,
                width: self.variables.card(child),
                ..own
            });
        }
        let Some(states) = given.resulting_states else {
            let message = format!("node {} has no `<probabilities>`", given.child.shown());
            return Err(self.xml.source.error(given.child.span, message));
        };
        let position = |(state, span): (&str, Span)| {
            let state = Word {
                text: state.into(),
                span,
            };
            self.variables
                .position(child, &state)
                .map(|position| position as u32)
        };
        let values = states.words().map(position).collect::<Result<Vec<u32>>>()?;
        scope.pop();
        self.variables.expect(
            child,
            &scope,
            "resulting states",
            values.len(),
            &states.inner(),
        )?;
        builder.mapping(Node(child), scope.into_iter().map(Node), values);
        Ok(CptMarks {
            list: states.inner(),
            ..own
        })
    }
}

/// The names that GeNIe takes for nodes.
const IDS: Spelling = Spelling {
    format: Format::Xdsl,
    fits: is_identifier,
    mend: |name| {
        let plain = name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        if is_identifier(&plain) {
            plain
        } else {
            format!("x{plain}")
        }
    },
    complaint: "which is not a letter followed by letters, digits and underscores",
};

/// The names that can be members of a list.
const STATES: Spelling = Spelling {
    format: Format::Xdsl,
    fits: |name| !name.is_empty() && name.chars().all(is_solid),
    mend: |name| {
        if name.is_empty() {
            "_".to_owned()
        } else {
            name.replace(|c| !is_solid(c), "_")
        }
    },
    complaint: "which is empty or contains a blank or a control character",
};

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_solid(c: char) -> bool {
    is_legal(c) && !c.is_whitespace()
}

pub(super) fn write(net: &Network, loss: Loss) -> Result<String> {
    refuse_markov(net, Format::Xdsl)?;
    refuse_roles(net, Format::Xdsl, loss)?;
    let title = Some(net.name()).filter(|name| !name.is_empty());
    let ids = IDS.apply(net.variables().iter().map(|v| v.name.as_str()), loss)?;
    let title: String = IDS
        .apply(title.into_iter(), loss)?
        .iter()
        .map(|id| format!(" id=\"{id}\""))
        .collect();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<smile version=\"1.0\"{title}>\n  <nodes>\n"
    );
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
    let scope: Vec<&str> = cpt
        .scope()
        .iter()
        .map(|v| ids[v.index()].as_str())
        .collect();
    let (id, parents) = scope.split_last().expect("a CPT has a child");
    let (kind, list, members) = match cpt.body() {
        Body::Function(values) if !parents.is_empty() => {
            let names: Vec<&str> = values
                .iter()
                .map(|&v| states[v as usize].as_str())
                .collect();
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
mod tests;
