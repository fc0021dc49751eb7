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
    builder.build_from(&marks.of(source))
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
mod tests;
