//! The XML Bayesian Interchange Format, version 0.3.
//!
//! ```text
//! <BIF VERSION="0.3"> <NETWORK> <NAME>asia</NAME>
//!   <VARIABLE TYPE="nature"> <NAME>tub</NAME> <OUTCOME>yes</OUTCOME> <OUTCOME>no</OUTCOME> </VARIABLE>
//!   <DEFINITION> <FOR>tub</FOR> <GIVEN>asia</GIVEN> <TABLE> 0.05 0.95 0.01 0.99 </TABLE> </DEFINITION>
//! </NETWORK> </BIF>
//! ```
//!
//! In a table the variable itself moves fastest, and of the `GIVEN` ones the last. Definitions may
//! come before the variables that they name. Tags may be in lower case; properties, and elements
//! that are not known, are skipped. `VALUE`, the older word for `OUTCOME`, is accepted; the
//! `PROBABILITY` of older versions is refused.

use std::fmt::Write;

use crate::error::{Error, Result};
use crate::model::format::source::{CptMarks, Marks, Numbers};
use crate::model::format::spelling::Spelling;
use crate::model::format::variables::{Variables, Word};
use crate::model::format::xml::{Tag, Xml, digits, escaped, is_legal, is_padded};
use crate::model::format::{Format, Loss, ReadOptions, Source, refuse_markov, refuse_roles};
use crate::model::{Builder, Cpt, Network, Node};

pub(super) fn read(source: &Source, options: &ReadOptions) -> Result<Network> {
    let mut reader = Reader {
        xml: Xml::new(source),
        variables: Variables::new(source),
        definitions: vec![],
    };
    let name = reader.file()?;
    let mut builder = Network::builder(name);
    builder.normalize(options.normalize);
    let marks = reader.build(&mut builder)?;
    builder.build_at(|site| marks.place(source, site))
}

struct Reader<'a> {
    xml: Xml<'a>,
    variables: Variables<'a>,
    definitions: Vec<Definition<'a>>,
}

/// A `DEFINITION`.
struct Definition<'a> {
    child: Word<'a>,
    parents: Vec<Word<'a>>,
    table: Numbers,
}

impl<'a> Reader<'a> {
    /// The whole file; returns the network's name.
    fn file(&mut self) -> Result<String> {
        let root = self.xml.root("BIF", Format::Xmlbif)?;
        let mut name = None;
        while let Some(tag) = self.xml.child()? {
            match tag.kind().as_str() {
                "network" if name.is_none() => name = Some(self.network()?),
                "network" => {
                    return Err(self
                        .xml
                        .source
                        .error(tag.span, "a second network in the same file"));
                }
                _ => self.xml.skip()?,
            }
        }
        self.xml.end()?;
        name.ok_or_else(|| {
            self.xml
                .source
                .error(root.span, "there is no `<NETWORK>` in the file")
        })
    }

    fn network(&mut self) -> Result<String> {
        let mut name = String::new();
        while let Some(tag) = self.xml.child()? {
            match tag.kind().as_str() {
                "name" => name = self.xml.name(&tag)?.text.into_owned(),
                "variable" => self.variable(&tag)?,
                "definition" => self.definition(&tag)?,
                "probability" => {
                    let error = self.xml.source.error(
                        tag.span,
                        "`<PROBABILITY>` belongs to an older version of XMLBIF",
                    );
                    return Err(
                        error.hint("only version 0.3 is supported, which has `<DEFINITION>`")
                    );
                }
                _ => self.xml.skip()?,
            }
        }
        Ok(name)
    }

    fn variable(&mut self, variable: &Tag<'a>) -> Result<()> {
        self.check_type(variable)?;
        let mut name = None;
        let mut values = vec![];
        while let Some(tag) = self.xml.child()? {
            match tag.kind().as_str() {
                "name" => name = Some(self.xml.name(&tag)?),
                "outcome" | "value" => values.push(self.xml.name(&tag)?),
                _ => self.xml.skip()?,
            }
        }
        let name = name.ok_or_else(|| self.missing(variable, "NAME"))?;
        self.variables.declare(name, values)
    }

    fn check_type(&self, variable: &Tag<'a>) -> Result<()> {
        match self.xml.attribute(variable, "type")? {
            Some(kind)
                if !["nature", "discrete"].contains(&kind.text.to_ascii_lowercase().as_str()) =>
            {
                let error = self.xml.source.error(
                    kind.span.clone(),
                    format!("type {} is not supported", kind.shown()),
                );
                Err(error.hint("only variables of type `nature` are"))
            }
            _ => Ok(()),
        }
    }

    fn definition(&mut self, definition: &Tag<'a>) -> Result<()> {
        let (mut child, mut table, mut parents) = (None, None, vec![]);
        while let Some(tag) = self.xml.child()? {
            let twice = match tag.kind().as_str() {
                "for" => child.replace(self.xml.name(&tag)?).is_some(),
                "table" => table.replace(self.xml.numbers(&tag)?).is_some(),
                "given" => {
                    parents.push(self.xml.name(&tag)?);
                    false
                }
                _ => self.xml.skip().map(|()| false)?,
            };
            if twice {
                let message = format!("a second `<{}>` in the same definition", tag.name);
                return Err(self
                    .xml
                    .source
                    .error(tag.span, message)
                    .hint("a definition is for one variable"));
            }
        }
        let child = child.ok_or_else(|| self.missing(definition, "FOR"))?;
        let table = table.ok_or_else(|| self.missing(definition, "TABLE"))?;
        self.definitions.push(Definition {
            child,
            parents,
            table,
        });
        Ok(())
    }

    fn missing(&self, tag: &Tag<'a>, what: &str) -> Error {
        self.xml.source.error(
            tag.span.clone(),
            format!("this `<{}>` has no `<{what}>`", tag.name),
        )
    }

    /// Tells the builder all variables and CPTs.
    fn build(self, builder: &mut Builder) -> Result<Marks> {
        let mut marks = self.variables.build(builder);
        for Definition {
            child,
            parents,
            table,
        } in self.definitions
        {
            let scope = self.variables.family(&parents, &child)?;
            let width = self.variables.card(scope[parents.len()]);
            builder.potential(scope.into_iter().map(Node), table.values);
            let parents = parents.into_iter().map(|p| p.span).collect();
            marks.cpts.push(CptMarks {
                child: child.span,
                parents,
                list: table.span,
                entries: table.starts,
                width,
                test: vec![],
            });
        }
        Ok(marks)
    }
}

/// The names that come back when they are read.
const NAMES: Spelling = Spelling {
    format: Format::Xmlbif,
    fits: |name| !is_padded(name) && name.chars().all(is_legal),
    mend: |name| name.replace(|c| !is_legal(c), "_").trim().to_owned(),
    complaint: "which begins or ends with a blank or contains a control character",
};

/// Readers that validate want the grammar.
const HEAD: &str = "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!DOCTYPE BIF [
  <!ELEMENT BIF (NETWORK)*>
  <!ATTLIST BIF VERSION CDATA #REQUIRED>
  <!ELEMENT NETWORK (NAME, (PROPERTY | VARIABLE | DEFINITION)*)>
  <!ELEMENT NAME (#PCDATA)>
  <!ELEMENT VARIABLE (NAME, (OUTCOME | PROPERTY)*)>
  <!ATTLIST VARIABLE TYPE (nature | decision | utility) \"nature\">
  <!ELEMENT OUTCOME (#PCDATA)>
  <!ELEMENT DEFINITION (FOR | GIVEN | TABLE | PROPERTY)*>
  <!ELEMENT FOR (#PCDATA)>
  <!ELEMENT GIVEN (#PCDATA)>
  <!ELEMENT TABLE (#PCDATA)>
  <!ELEMENT PROPERTY (#PCDATA)>
]>
";

pub(super) fn write(net: &Network, loss: Loss) -> Result<String> {
    refuse_markov(net, Format::Xmlbif)?;
    refuse_roles(net, Format::Xmlbif, loss)?;
    let title = NAMES.apply([net.name()].into_iter(), loss)?.concat();
    let names = NAMES.apply(net.variables().iter().map(|v| v.name.as_str()), loss)?;
    let mut out = format!(
        "{HEAD}<BIF VERSION=\"0.3\">\n<NETWORK>\n<NAME>{}</NAME>\n",
        escaped(&title)
    );
    for (variable, name) in net.variables().iter().zip(&names) {
        let _ = write!(
            out,
            "<VARIABLE TYPE=\"nature\">\n  <NAME>{}</NAME>\n",
            escaped(name)
        );
        for value in NAMES.apply(variable.values.iter().map(String::as_str), loss)? {
            let _ = writeln!(out, "  <OUTCOME>{}</OUTCOME>", escaped(&value));
        }
        out.push_str("</VARIABLE>\n");
    }
    let cards = net.cards();
    for index in 0..names.len() {
        write_cpt(&mut out, &net.cpts()[index], index, &names, &cards);
    }
    out.push_str("</NETWORK>\n</BIF>\n");
    Ok(out)
}

fn write_cpt(out: &mut String, cpt: &Cpt, index: usize, names: &[String], cards: &[usize]) {
    let _ = write!(
        out,
        "<DEFINITION>\n  <FOR>{}</FOR>\n",
        escaped(&names[index])
    );
    for parent in cpt.parents() {
        let _ = writeln!(out, "  <GIVEN>{}</GIVEN>", escaped(&names[parent.index()]));
    }
    out.push_str("  <TABLE>\n");
    for row in cpt.table(cards).chunks_exact(cards[index]) {
        let _ = writeln!(out, "    {}", digits(row));
    }
    out.push_str("  </TABLE>\n</DEFINITION>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::random::{Shape, network};

    fn parse(text: &str) -> Result<Network> {
        read(
            &Source {
                name: "test.xml".to_owned(),
                text: text.to_owned(),
            },
            &ReadOptions::default(),
        )
    }

    /// The network `n` with the binary variables `a` and `b`, where a definition is in line 4.
    fn with(definition: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?> <!DOCTYPE BIF [ <!ENTITY e \"&e;&e;\"> <!-- > ' --> ]>\n\
             <BIF VERSION=\"0.3\"><NETWORK><NAME>n</NAME><PROPERTY>by <b>hand</b> &e;</PROPERTY>\n\
             <DEFINITION><FOR>a</FOR><TABLE>0.2 0.8</TABLE></DEFINITION>\n\
             {definition}\n\
             <VARIABLE><NAME>a</NAME><OUTCOME>y</OUTCOME><OUTCOME>n</OUTCOME></VARIABLE>\n\
             <VARIABLE TYPE=\"nature\"><NAME> b </NAME><VALUE>y</VALUE><VALUE>n</VALUE></VARIABLE>\n\
             </NETWORK></BIF>\n"
        )
    }

    const OF_B: &str = "<definition><for>b</for><given>a</given><table> 0.1 0.9 <!-- a = n --> 0.3 0.7 </table></definition>";

    #[test]
    fn the_variable_moves_fastest_and_then_the_last_given() -> Result<()> {
        let net = parse(&with(OF_B))?;
        assert_eq!(net.cpts()[1].table(&net.cards()), [0.1, 0.9, 0.3, 0.7]);
        let more = "<VARIABLE><NAME>c</NAME><OUTCOME>u</OUTCOME><OUTCOME>v</OUTCOME></VARIABLE>\
                    <DEFINITION><TABLE>1 0 0.5 0.5 0.25 0.75 0 1</TABLE><FOR>c</FOR><GIVEN>b</GIVEN><GIVEN>a</GIVEN></DEFINITION>";
        let net = parse(&with(&format!("{OF_B}{more}")))?;
        assert_eq!(
            net.cpts()[2].table(&net.cards()),
            [1.0, 0.0, 0.5, 0.5, 0.25, 0.75, 0.0, 1.0]
        );
        assert_eq!(
            net.parents(net.find("c")?),
            [net.find("b")?, net.find("a")?]
        );
        Ok(())
    }

    #[test]
    fn entities_and_cdata_are_text() -> Result<()> {
        let text = with(OF_B).replace(
            "<NAME>n<",
            "<NAME> &lt;&#955;&#x3bb; <![CDATA[&<]]>&apos;<!-- x -->&quot; <",
        );
        assert_eq!(parse(&text)?.name(), "<λλ &<'\"");
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
            assert_eq!(parse(&write(&net, Loss::Refuse)?)?, net, "seed {seed}");
        }
        let mut b = Network::builder("a < b && \"c\" ]]> 'd'");
        let names = [
            "",
            "-->",
            "&amp;",
            "two  words\n\tand\r\nlines",
            "Größe/µ😀",
            "\u{a0}x",
            "<!--",
        ];
        for name in names {
            let x = b.variable(name, names);
            b.table(x, [], [1.0 / 7.0; 7]);
        }
        let net = b.build()?;
        assert_eq!(parse(&write(&net, Loss::Refuse)?)?, net);
        Ok(())
    }

    #[test]
    fn names_that_xml_cannot_carry_are_refused_or_mended() -> Result<()> {
        let mut b = Network::builder(" n");
        for name in ["x", " x", "x\n", "\u{1}"] {
            let x = b.variable(name, ["y", "y "]);
            b.table(x, [], [0.5, 0.5]);
        }
        let net = b.build()?;
        let error = write(&net, Loss::Refuse).unwrap_err();
        assert!(
            error
                .message()
                .starts_with("XMLBIF cannot carry the name ` n`"),
            "{error}"
        );
        let back = parse(&write(&net, Loss::Accept)?)?;
        let names: Vec<&str> = back.variables().iter().map(|v| v.name.as_str()).collect();
        assert_eq!((back.name(), names), ("n", vec!["x", "x_2", "x_3", "_"]));
        assert_eq!(back.variables()[0].values, ["y", "y_2"]);
        Ok(())
    }

    #[test]
    fn mistakes_have_a_place_and_a_hint() {
        let of_b = |from: &str, to: &str| with(&OF_B.replace(from, to));
        let variable = |tag: &str, rest: &str| with(&format!("{OF_B}<{tag}>{rest}</VARIABLE>"));
        for (text, at, message, hint) in [
            (
                of_b("0.7", ""),
                "0.1 0.9",
                "the CPT of `b` needs 4 numbers (2 × 2), not 3",
                "",
            ),
            (
                of_b("0.7", "0,7"),
                "0,7",
                "expected a number in `<table>`, found `0,7`",
                "decimal point",
            ),
            (
                of_b("0.7", "0.6"),
                "0.3 0.6",
                "row (n) of the CPT of `b` sums to 0.9, not 1",
                "`normalize`",
            ),
            (
                of_b("0.7", "-1"),
                "-1",
                "the CPT of `b` contains -1, which is not a probability",
                "",
            ),
            (
                of_b("0.7", "nan"),
                "nan",
                "the CPT of `b` contains NaN, which is not a probability",
                "",
            ),
            (
                of_b("0.7", "<b/>"),
                "<b/>",
                "expected text or `</table>`, found `<b>`",
                "of line 4",
            ),
            (
                of_b("<given>a", "<given>A1"),
                "A1<",
                "variable `A1` is not declared",
                "",
            ),
            (
                of_b("<given>a", "<given>b"),
                "b</given>",
                "variable `b` is its own parent",
                "",
            ),
            (
                of_b("</for>", "</for><for>a</for>"),
                "for>a",
                "a second `<for>` in the same definition",
                "one variable",
            ),
            (
                of_b("<for>b</for>", ""),
                "definition>",
                "this `<definition>` has no `<FOR>`",
                "",
            ),
            (
                of_b("</given>", "</gven>"),
                "</gven>",
                "expected `</given>`, found `</gven>`",
                "of line 4",
            ),
            (
                of_b("<given>", "<given>&e;"),
                "&e;",
                "unknown entity `&e;`",
                "&amp;",
            ),
            (
                of_b("<given>", "<given>&#0;"),
                "&#0;",
                "unknown entity `&#0;`",
                "",
            ),
            (
                of_b("<given>", "<given>R & D"),
                "& D",
                "this `&` begins no entity",
                "`&amp;`",
            ),
            (
                of_b("<given>", " text <given>"),
                "text",
                "expected an element, found text",
                "",
            ),
            (with(""), "b </NAME>", "variable `b` has no CPT", ""),
            (
                with(&OF_B.repeat(2)),
                "b</for>",
                "variable `b` has two CPTs",
                "",
            ),
            (
                variable("VARIABLE TYPE='utility'", ""),
                "utility",
                "type `utility` is not supported",
                "`nature`",
            ),
            (
                variable("VARIABLE", "<NAME>c</NAME>"),
                "c</NAME>",
                "variable `c` has no values",
                "",
            ),
            (
                variable("VARIABLE", "<VALUE>c</VALUE>"),
                "VARIABLE>",
                "this `<VARIABLE>` has no `<NAME>`",
                "",
            ),
            (
                variable("VARIABLE", "<NAME>a</NAME><VALUE>c</VALUE>"),
                "a</NAME>",
                "`a` is declared twice",
                "line 4",
            ),
            (
                with("<PROBABILITY>"),
                "PROBABILITY",
                "`<PROBABILITY>` belongs to an older version of XMLBIF",
                "0.3",
            ),
            (
                with("").replace("NETWORK", "NET"),
                "BIF VER",
                "there is no `<NETWORK>` in the file",
                "",
            ),
            (
                with(OF_B) + "<BIF/>",
                "BIF/>",
                "a second root, `<BIF>`",
                "one network",
            ),
            (
                "<smile/>".to_owned(),
                "smile",
                "expected `<BIF>`, found `<smile>`",
                "XMLBIF",
            ),
            (
                "network x {}".to_owned(),
                "network x",
                "expected an element, found text",
                "",
            ),
            (
                String::new(),
                "",
                "expected `<BIF>`, found an empty file",
                "",
            ),
        ] {
            let error = parse(&text).unwrap_err();
            assert!(error.message().contains(message), "{message}: {error}");
            assert!(error.advice().unwrap_or_default().contains(hint), "{error}");
            let place = error.place().expect("mistakes in files have a place");
            let line = text.lines().nth(place.line - 1).unwrap_or_default();
            let marked: String = line.chars().skip(place.column - 1).collect();
            assert!(marked.starts_with(at), "{error}");
        }
    }

    #[test]
    fn damaged_and_hostile_files_are_errors() {
        let text = with(OF_B);
        let end = text.len() - "\n".len();
        for (at, _) in text.char_indices().take_while(|&(at, _)| at < end) {
            assert!(parse(&text[..at]).is_err(), "cut at {at}");
            let _ = parse(&format!("{}{}", &text[..at], &text[at + 1..]));
        }
        let deep = "<a>".repeat(1_000_000);
        assert!(parse(&deep).is_err());
        assert!(parse(&with(&deep)).is_err());
        assert!(parse(&format!("\u{feff}\u{feff}{}", with("<GIVEN/>λ"))).is_err());
    }
}
