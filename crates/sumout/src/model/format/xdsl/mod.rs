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
    builder.build_at(|site| marks.place(source, site))
}

struct Reader<'a> {
    xml: Xml<'a>,
    variables: Variables<'a>,
    /// Of each variable.
    cpts: Vec<Given<'a>>,
}

/// What is given of a CPT.
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
mod tests {
    use super::*;
    use crate::model::random::{Shape, network};

    fn parse(text: &str) -> Result<Network> {
        read(
            &Source {
                name: "test.xdsl".to_owned(),
                text: text.to_owned(),
            },
            &ReadOptions::default(),
        )
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
        let states =
            "<state id='high'/><state id='low'/><state id='none'/><property id='p'>1</property>";
        with(&format!(
            "<{kind} id='x'>{states}<parents>a b</parents>{rest}</{kind}>"
        ))
    }

    #[test]
    fn the_own_states_move_fastest_and_then_the_last_parent() -> Result<()> {
        let numbers = "1 0 0  0.5 0.5 0  0 0.5 0.5  0.25 0.25 0.5  0.75 0.25 0  0.125 0.25 0.625";
        let net = parse(&child(
            "cpt",
            &format!("<probabilities>{numbers}</probabilities>"),
        ))?;
        let table: Vec<f64> = numbers.split_whitespace().flat_map(str::parse).collect();
        assert_eq!(*net.cpts()[2].body(), Body::Table(table));
        assert_eq!(
            net.parents(net.find("x")?),
            [net.find("a")?, net.find("b")?]
        );
        assert_eq!(parse(&write(&net, Loss::Refuse)?)?, net);
        Ok(())
    }

    #[test]
    fn a_deterministic_node_is_a_function() -> Result<()> {
        let states = "<resultingstates>low low none high low none</resultingstates>";
        let net = parse(&child("deterministic", states))?;
        assert_eq!(
            *net.cpts()[2].body(),
            Body::Function(vec![1, 1, 2, 0, 1, 2])
        );
        let written = write(&net, Loss::Refuse)?;
        assert!(written.contains(states), "{written}");
        assert_eq!(parse(&written)?, net);
        Ok(())
    }

    /// Of `b`, state 2 is the strongest and state 1 the weakest. For a = y and b = r, below `high`
    /// is 0.5 · 0.9 · 1 = 0.45 and below `low` is 0.2 · 0.7 · 0.9 = 0.126.
    #[test]
    fn a_noisy_max_multiplies_what_is_below() -> Result<()> {
        let columns = "0.5 0.3 0.2  0 0 1   0.4 0.4 0.2  0.1 0.2 0.7  0 0 1   0 0.1 0.9";
        let given = format!("<strengths>0 1 2 0 1</strengths><parameters>{columns}</parameters>");
        let given_y = [0.55, 0.324, 0.126, 0.5, 0.32, 0.18, 0.7, 0.264, 0.036];
        let given_n = [0.1, 0.27, 0.63, 0.0, 0.1, 0.9, 0.4, 0.42, 0.18];
        let net = parse(&child("noisymax", &given))?;
        let table = net.cpts()[2].table(&net.cards());
        assert!(
            table
                .iter()
                .zip(given_y.iter().chain(&given_n))
                .all(|(p, q)| (p - q).abs() < 1e-15),
            "{table:?}"
        );
        assert_eq!(table[12], 0.0, "what nothing causes stays impossible");
        Ok(())
    }

    #[test]
    fn networks_come_back_as_they_were() -> Result<()> {
        for seed in 0..50 {
            let net = network(
                &Shape {
                    nodes: 12,
                    max_values: 4,
                    max_parents: 3,
                    functional: 0.4,
                },
                seed,
            )?;
            let back = parse(&write(&net, Loss::Accept)?)?;
            assert_eq!(back.name(), net.name().replace('-', "_"));
            assert!(
                back.variables() == net.variables() && back.cpts() == net.cpts(),
                "seed {seed}\n{net:?}"
            );
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
        for (name, values) in [
            ("1 a", ["p q", "p\tq"]),
            ("x1_a", ["p_q", "r"]),
            ("1-a", ["", "s"]),
        ] {
            let x = b.variable(name, values);
            b.table(x, [], [0.5, 0.5]);
        }
        let net = b.build()?;
        let error = write(&net, Loss::Refuse).unwrap_err();
        assert!(
            error
                .message()
                .starts_with("XDSL cannot carry the name `1 a`"),
            "{error}"
        );
        let back = parse(&write(&net, Loss::Accept)?)?;
        let names: Vec<&str> = back.variables().iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names, ["x1_a_2", "x1_a", "x1_a_3"]);
        assert_eq!(back.variables()[0].values, ["p_q", "p_q_2"]);
        Ok(())
    }

    #[test]
    fn mistakes_have_a_place() {
        let noisy = |strengths: &str, parameters: &str| {
            child(
                "noisymax",
                &format!(
                    "<strengths>{strengths}</strengths>\n<parameters>{parameters}</parameters>"
                ),
            )
        };
        let good = "1 0 0 0 0 1 1 0 0 1 0 0 0 0 1 0 0 1";
        let cpt = |rest: &str| child("cpt", rest);
        let mapping = |states| {
            child(
                "deterministic",
                &format!("\n<resultingstates>{states}</resultingstates>"),
            )
        };
        for (text, line, message) in [
            (
                cpt("\n<probabilities>1 0 0</probabilities>"),
                5,
                "needs 18 numbers (2 × 3 × 3), not 3",
            ),
            (
                cpt("\n<probabilities>1 O 0</probabilities>"),
                5,
                "expected a number in `<probabilities>`, found `O`",
            ),
            (cpt(""), 4, "node `x` has no `<probabilities>`"),
            (
                cpt("").replace("a b", "a bb"),
                4,
                "variable `bb` is not declared",
            ),
            (mapping("lo"), 5, "variable `x` has no value `lo`"),
            (mapping("low"), 5, "needs 6 resulting states (2 × 3), not 1"),
            (
                with("<decision id='d'><state id='go'/></decision>"),
                4,
                "`<decision>` nodes such as `d` are not supported",
            ),
            (
                with("<cpt id='a'><state id='y'/></cpt>"),
                4,
                "variable `a` is declared twice",
            ),
            (
                with("<cpt><state id='y'/></cpt>"),
                4,
                "this `<cpt>` has no `id`",
            ),
            (with("<cpt id='&e;'></cpt>"), 4, "unknown entity `&e;`"),
            (with("<cpt id=x></cpt>"), 4, "malformed attributes"),
            (noisy("0 1 2 0", good), 4, "needs 5 strengths, not 4"),
            (
                noisy("0 1 2 2 1", good),
                4,
                "the strengths for `b` must name each of its states once, from 0 to 2",
            ),
            (noisy("0 1 2 0 1", "1 0 0"), 5, "needs 18 parameters, not 3"),
            (
                noisy("0 1 2 0 1", &good.replacen('1', "-1", 1)),
                5,
                "-1 is not a probability",
            ),
            (
                noisy("0 1 2 0 1", &good.replacen('1', "0.5", 1)),
                5,
                "these parameters sum to 0.5, not 1",
            ),
            (
                noisy("0 1 2 0 1", &good.replacen("0 0 1", "0 1 0", 1)),
                5,
                "weakest state of `a` must be `0 0 1`",
            ),
        ] {
            let error = parse(&text).unwrap_err();
            assert!(error.message().contains(message), "{error}");
            assert_eq!(error.place().map(|p| p.line), Some(line), "{error}");
        }
    }
}
