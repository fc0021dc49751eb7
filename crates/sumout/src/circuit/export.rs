//! Writes a circuit as a program in another language, to be read, changed and trained there.
//!
//! The program is plain: a line for each operation of the graph, in the graph's order. What does not depend on evidence
//! is computed once. A tensor is forgotten after its last use, so that the program needs no more memory than it must.
//! Axes keep the order in which a product has them: the batch, what both factors have, what the first has, and the second.
//!
//! Rescaling costs two passes over a tensor. The engine, where it is free, rescales after every product; here it is done
//! where the numbers that were multiplied since the last time could have become small.

mod emit;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use safetensors::tensor::{Dtype, TensorView, serialize};

use super::Circuit;
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::vars::VarId;

use emit::Emitter;

/// The languages that circuits are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Python, with PyTorch.
    Torch,
    /// Python, with NumPy.
    Numpy,
}

impl Language {
    /// Both.
    pub const ALL: [Language; 2] = [Language::Torch, Language::Numpy];

    /// A name for options.
    pub const fn name(self) -> &'static str {
        match self {
            Language::Torch => "torch",
            Language::Numpy => "numpy",
        }
    }

    const fn template(self) -> &'static str {
        match self {
            Language::Torch => include_str!("export/torch.py"),
            Language::Numpy => include_str!("export/numpy.py"),
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Language {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Language::ALL.into_iter().find(|language| language.name() == name);
        found.ok_or_else(|| {
            let error = Error::new(ErrorKind::Name, format!("circuits are not written in `{name}`"));
            error.hint("use torch or numpy")
        })
    }
}

/// A circuit as a program, with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Export {
    /// The text of the program.
    pub source: String,
    /// The bytes of the safetensors file that it reads; the file has the program's name.
    pub numbers: Vec<u8>,
    /// How many numbers an example of a batch needs at once.
    pub numbers_of_example: usize,
    /// How many numbers the examples share.
    pub numbers_of_all: usize,
}

impl Export {
    /// Writes the program, and its numbers beside it.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        files::save(&path.with_extension("safetensors"), |to| to.write_all(&self.numbers))?;
        files::save(path, |to| to.write_all(self.source.as_bytes()))
    }
}

/// A tensor of the numbers' file.
struct Numbers {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Circuit {
    /// The circuit as a program in another language.
    ///
    /// ```
    /// use sumout::circuit::Language;
    /// use sumout::{Network, Options, Query};
    ///
    /// let asia = Network::read("asia")?;
    /// let circuit = asia.compile(&Query::of("lung").given(["xray"]), &Options::default())?;
    /// let program = circuit.export(Language::Torch)?.source;
    /// assert!(program.contains("import torch"));
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn export(&self, language: Language) -> Result<Export> {
        self.check_posteriors()?;
        let emitted = Emitter::new(self, language).emit()?;
        let parts = [
            ("title", self.title()),
            ("version", env!("CARGO_PKG_VERSION").into()),
            ("target_note", self.target_note().into()),
            ("peak", emitted.peak.to_string()),
            ("shared", emitted.shared.to_string()),
            ("inputs", self.named_inputs()),
            ("target", self.named_target()),
            ("constants", emitted.constants.join("\n")),
            ("forward", emitted.forward.join("\n")),
        ];
        let fill = |text: String, (key, part): &(&str, String)| text.replace(&format!("{{{key}}}"), part);
        let source = parts.iter().fold(language.template().to_owned(), fill);
        let (numbers_of_example, numbers_of_all) = (emitted.peak, emitted.shared);
        Ok(Export { source, numbers: serialized(&emitted.numbers)?, numbers_of_example, numbers_of_all })
    }

    fn title(&self) -> String {
        let target = self.target.map_or("all variables", |t| &self.variable(t).name);
        let names: Vec<&str> = self.inputs().take(4).map(|v| &*self.variable(v).name).collect();
        let more = if self.inputs.len() > 4 { format!(", … {} more", self.inputs.len() - 4) } else { String::new() };
        format!("P({target} | {}{more})", names.join(", ")).replace(['\\', '"', '\n'], "_")
    }

    fn target_note(&self) -> &'static str {
        match self.target {
            Some(_) => "",
            None => " The circuit has no single target, so that `posterior` is None.",
        }
    }

    fn named_target(&self) -> String {
        let named = |t: VarId| format!("({}, [{}])", quoted(&self.variable(t).name), self.values(t));
        self.target.map_or("None".into(), named)
    }

    fn named_inputs(&self) -> String {
        let line = |v: VarId| format!("    {}: [{}],\n", quoted(&self.variable(v).name), self.values(v));
        format!("{{\n{}}}", self.inputs().map(line).collect::<String>())
    }

    /// The names of a variable's values, in Python.
    fn values(&self, var: VarId) -> String {
        self.variable(var).values.iter().map(|value| quoted(value)).collect::<Vec<_>>().join(", ")
    }
}

/// A string of Python. What JSON escapes, Python understands.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn serialized(numbers: &[Numbers]) -> Result<Vec<u8>> {
    let views = numbers.iter().map(|t| TensorView::new(t.dtype, t.shape.clone(), &t.bytes).map(|v| (&t.name, v)));
    let views: std::result::Result<Vec<_>, _> = views.collect();
    let written = views.and_then(|views| serialize(views, None));
    written.map_err(|e| Error::new(ErrorKind::Format, format!("the circuit cannot be written: {e}")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::compile::Query;
    use crate::model::Network;
    use crate::{Level, Options};

    fn exported(model: &str, query: &Query, level: Level, language: Language) -> Export {
        let options = Options { level, effort: 0.1, ..Options::default() };
        Network::read(model).unwrap().compile(query, &options).unwrap().export(language).unwrap()
    }

    /// The lines of a function.
    fn body<'a>(source: &'a str, function: &str) -> Vec<&'a str> {
        let start = source.find(&format!("def {function}(")).unwrap();
        let lines = source[start..].lines().skip(1).take_while(|line| line.is_empty() || line.starts_with("        "));
        lines.map(str::trim).filter(|line| !line.is_empty()).collect()
    }

    #[test]
    fn a_program_has_a_line_for_each_operation() {
        let query = Query::of("lung").given(["xray"]);
        let Export { source, numbers_of_example, .. } = exported("asia", &query, Level::Functional, Language::Torch);
        let lines = body(&source, "forward");
        let at = lines.iter().position(|line| line.ends_with(" = constant")).unwrap();
        let expected = [
            "(t5, t15,) = constant",
            "t6 = given(\"xray\", 2, [0, 1])",
            "t7 = torch.einsum(\"ab,Zb->Za\", t5, t6); del t6",
            "t17 = torch.einsum(\"ab,Zb->Za\", t15, t7); del t7",
            "output = t17",
        ];
        assert_eq!(lines[at..at + 5], expected, "{source}");
        assert_eq!(numbers_of_example, 4);
    }

    /// What is forgotten is not mentioned again, and nothing but the output is kept.
    #[test]
    fn every_tensor_is_forgotten_once_and_not_used_after_that() {
        for level in [Level::Paper, Level::Functional, Level::Tables, Level::Support] {
            for language in Language::ALL {
                let source = exported("rect:4", &Query::of("label").given(["pixel_*"]), level, language).source;
                let function = if language == Language::Torch { "forward" } else { "__call__" };
                let mut dead = BTreeSet::new();
                let mut begun = BTreeSet::new();
                for line in body(&source, function).into_iter().filter(|line| line.starts_with('t')) {
                    let (code, del) = line.split_once("; del ").unwrap_or((line, ""));
                    let word = |c: char| !c.is_alphanumeric() && c != '_';
                    assert!(code.split(word).all(|name| !dead.contains(name)), "{level}: {line}");
                    begun.insert(code.split([' ', ',']).next().unwrap());
                    dead.extend(del.split(", ").filter(|name| !name.is_empty()));
                }
                let kept =
                    begun.iter().filter(|name| !dead.contains(**name) && *name.trim_matches(char::is_numeric) == *"t");
                assert_eq!(kept.count(), 1, "{level}:\n{source}");
            }
        }
    }

    #[test]
    fn names_that_are_no_words_of_python_are_quoted() {
        let mut b = Network::builder("odd");
        let x = b.variable("a\"b\\", ["t1", "\n"]);
        b.table(x, [], [0.5, 0.5]);
        let y = b.variable("y", ["0", "1"]);
        b.table(y, [x], [0.1, 0.9, 0.8, 0.2]);
        let circuit = b.build().unwrap().compile(&Query::of("y").given(["a*"]), &Options::default()).unwrap();
        let source = circuit.export(Language::Numpy).unwrap().source;
        assert!(source.starts_with("\"\"\"P(y | a_b_)\n"), "{source}");
        assert!(source.contains(r#""a\"b\\": ["t1", "\n"],"#), "{source}");
    }
}
