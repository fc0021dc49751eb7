//! Writes a circuit as a program in another language, to be read, changed and trained there.
//!
//! A program is plain: a step for each operation of the graph, in the graph's order, as a line of
//! Python or as nodes of an ONNX model.

mod onnx;
mod program;
mod python;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::circuit::{Circuit, Precision};
use crate::error::{Error, ErrorKind, Remedy, Result};
use crate::files;

pub use onnx::Onnx;
use python::Library;

/// The most entries of a tensor in a program: files of ONNX hold two gigabytes.
const MAX_ENTRIES: f64 = (1_u64 << 28) as f64;

/// The languages that circuits are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    /// Python, with PyTorch.
    Torch,
    /// Python, with NumPy.
    Numpy,
    /// Python, with JAX.
    Jax,
    /// A model for the runtimes of ONNX.
    Onnx,
}

impl Language {
    /// All of them.
    pub const ALL: [Language; 4] = [
        Language::Torch,
        Language::Numpy,
        Language::Jax,
        Language::Onnx,
    ];

    /// A name for options.
    pub const fn name(self) -> &'static str {
        match self {
            Language::Torch => "torch",
            Language::Numpy => "numpy",
            Language::Jax => "jax",
            Language::Onnx => "onnx",
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
        let found = Language::ALL
            .into_iter()
            .find(|language| language.name() == name);
        found.ok_or_else(|| {
            let error = Error::new(
                ErrorKind::Options,
                format!("circuits are not written in `{name}`"),
            );
            error.hint("use torch, numpy, jax or onnx")
        })
    }
}

/// A circuit as a program, with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Export {
    /// The program: a text, or an ONNX model.
    pub(crate) program: Vec<u8>,
    /// The bytes of the safetensors file that it reads; the file has the program's name. A model
    /// has its numbers in it.
    pub(crate) numbers: Option<Vec<u8>>,
    /// How many numbers an example of a batch needs at once.
    pub(crate) numbers_of_example: usize,
    /// How many numbers the examples share.
    pub(crate) numbers_of_all: usize,
}

impl Export {
    /// The program: a text, or an ONNX model.
    pub fn program(&self) -> &[u8] {
        &self.program
    }

    /// The bytes of the safetensors file that the program reads; the file has the program's name. A
    /// model has its numbers in it.
    pub fn numbers(&self) -> Option<&[u8]> {
        self.numbers.as_deref()
    }

    /// How many numbers an example of a batch needs at once.
    pub fn numbers_of_example(&self) -> usize {
        self.numbers_of_example
    }

    /// How many numbers the examples share.
    pub fn numbers_of_all(&self) -> usize {
        self.numbers_of_all
    }

    /// The program, if it is a text.
    pub fn source(&self) -> Option<&str> {
        self.numbers
            .as_ref()
            .and_then(|_| std::str::from_utf8(&self.program).ok())
    }

    /// Writes the program, and its numbers beside it.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        if let Some(numbers) = &self.numbers {
            files::save(&path.with_extension("safetensors"), |to| {
                to.write_all(numbers)
            })?;
        }
        files::save(path, |to| to.write_all(&self.program))
    }
}

impl Circuit {
    /// The circuit as a program in another language.
    ///
    /// ```
    /// use sumout::{Language, Network, Options, Query};
    ///
    /// let asia = Network::read("asia")?;
    /// let circuit = asia.compile(&Query::of("lung").given(["xray"]), &Options::default())?;
    /// let program = circuit.export(Language::Torch)?;
    /// assert!(program.source().unwrap().contains("import torch"));
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn export(&self, language: Language) -> Result<Export> {
        self.check_export()?;
        match language {
            Language::Torch => python::export(self, Library::Torch),
            Language::Numpy => python::export(self, Library::Numpy),
            Language::Jax => python::export(self, Library::Jax),
            Language::Onnx => {
                let options = Onnx::default().with_precision(self.export_precision());
                self.export_onnx(&options)
            }
        }
    }

    /// The precision of programs and models if none is asked for: 32 bits, and 64 where tests
    /// compare numbers.
    pub fn export_precision(&self) -> Precision {
        if self.graph.rules().is_empty() {
            Precision::F32
        } else {
            Precision::F64
        }
    }

    /// Refuses circuits for explanations, and those that no program could hold.
    fn check_export(&self) -> Result<()> {
        self.check_posteriors()?;
        let largest = self.graph.ops().map(|(node, _)| self.graph.size(node));
        let largest = largest.fold(0.0, f64::max);
        if largest <= MAX_ENTRIES {
            return Ok(());
        }
        let message = format!(
            "a tensor of the circuit has {largest:.3e} entries, and a program holds at most {MAX_ENTRIES:.3e}"
        );
        Err(Error::new(ErrorKind::Memory, message).hint(Remedy::MoreEvidence))
    }

    fn title(&self) -> String {
        let target = self
            .target()
            .map_or("all variables", |t| &self.variable(t).name);
        let names: Vec<&str> = self
            .inputs()
            .take(4)
            .map(|v| &*self.variable(v).name)
            .collect();
        let more = if self.inputs.len() > 4 {
            format!(", … {} more", self.inputs.len() - 4)
        } else {
            String::new()
        };
        format!("P({target} | {}{more})", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::compile::Query;
    use crate::model::{Network, Selection, SelectionKind};
    use crate::{Level, Options};

    fn exported(model: &str, query: &Query, level: Level, language: Language) -> Export {
        let options = Options {
            level,
            effort: 0.1,
            ..Options::default()
        };
        Network::read(model)
            .unwrap()
            .compile(query, &options)
            .unwrap()
            .export(language)
            .unwrap()
    }

    const PYTHON: [Language; 3] = [Language::Torch, Language::Numpy, Language::Jax];

    /// The lines of a function.
    fn body<'a>(source: &'a str, function: &str) -> Vec<&'a str> {
        let start = source.find(&format!("def {function}(")).unwrap();
        let lines = source[start..]
            .lines()
            .skip(1)
            .take_while(|line| line.is_empty() || line.starts_with("        "));
        lines
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect()
    }

    #[test]
    fn a_program_has_a_line_for_each_operation() {
        let query = Query::of("lung").given(["xray"]);
        let export = exported("asia", &query, Level::Functional, Language::Torch);
        let source = export.source().unwrap();
        let lines = body(source, "forward");
        let at = lines
            .iter()
            .position(|line| line.ends_with(" = constant"))
            .unwrap();
        let expected = [
            "(t5, t15,) = constant",
            "t6 = given(\"xray\", 2, [0, 1])",
            "t7 = torch.einsum(\"ab,Zb->Za\", t5, t6); del t6",
            "t17 = torch.einsum(\"ab,Zb->Za\", t15, t7); del t7",
            "output = t17",
        ];
        assert_eq!(lines[at..at + 5], expected, "{source}");
        assert_eq!(export.numbers_of_example, 4);
    }

    /// A tensor that is forgotten is not mentioned again, and nothing but the output is kept.
    #[test]
    fn every_tensor_is_forgotten_once_and_not_used_after_that() {
        for level in [
            Level::Paper,
            Level::Functional,
            Level::Tables,
            Level::Support,
            Level::Compiled,
        ] {
            for language in PYTHON {
                let export = exported(
                    "rect:4",
                    &Query::of("label").given(["pixel_*"]),
                    level,
                    language,
                );
                let source = export.source().unwrap();
                let function = if language == Language::Torch {
                    "forward"
                } else {
                    "__call__"
                };
                let mut dead = BTreeSet::new();
                let mut begun = BTreeSet::new();
                for line in body(source, function)
                    .into_iter()
                    .filter(|line| line.starts_with('t'))
                {
                    let (code, del) = line.split_once("; del ").unwrap_or((line, ""));
                    let word = |c: char| !c.is_alphanumeric() && c != '_';
                    assert!(
                        code.split(word).all(|name| !dead.contains(name)),
                        "{level}: {line}"
                    );
                    begun.insert(code.split([' ', ',']).next().unwrap());
                    dead.extend(del.split(", ").filter(|name| !name.is_empty()));
                }
                let kept = begun.iter().filter(|name| {
                    !dead.contains(**name) && *name.trim_matches(char::is_numeric) == *"t"
                });
                assert_eq!(kept.count(), 1, "{level}:\n{source}");
            }
        }
    }

    /// Steep sigmoids make small numbers, which programs must not multiply as they are.
    #[test]
    fn programs_rescale_behind_steep_tests() {
        let rescaled = |slope: f64| {
            let mut b = Network::builder("chain");
            let mut before = b.variable("x0", ["a", "b"]);
            b.table(before, [], [0.5, 0.5]);
            for i in 1..4 {
                let x = b.variable(format!("x{i}"), ["a", "b"]);
                let test = Selection::of_rows(
                    2,
                    &[0.3],
                    SelectionKind::Sigmoid {
                        slope,
                        is_learned: false,
                    },
                );
                b.selected(
                    x,
                    [before],
                    [[0.9, 0.1, 0.2, 0.8], [0.3, 0.7, 0.6, 0.4]],
                    test,
                );
                before = x;
            }
            let options = Options {
                level: Level::Classical,
                effort: 0.0,
                ..Options::default()
            };
            let circuit = b
                .build()
                .unwrap()
                .compile(&Query::of("x0").given(["x1", "x2", "x3"]), &options)
                .unwrap();
            circuit
                .export(Language::Numpy)
                .unwrap()
                .source()
                .unwrap()
                .matches(" = rescale(")
                .count()
        };
        assert!(
            rescaled(64.0) > rescaled(1.0),
            "{} {}",
            rescaled(64.0),
            rescaled(1.0)
        );
    }

    #[test]
    fn names_that_are_no_words_of_python_are_quoted() {
        let mut b = Network::builder("odd");
        let x = b.variable("a\"b\\", ["t1", "\n"]);
        b.table(x, [], [0.5, 0.5]);
        let y = b.variable("y", ["0", "1"]);
        b.table(y, [x], [0.1, 0.9, 0.8, 0.2]);
        let circuit = b
            .build()
            .unwrap()
            .compile(&Query::of("y").given(["a*"]), &Options::default())
            .unwrap();
        let export = circuit.export(Language::Numpy).unwrap();
        let source = export.source().unwrap();
        assert!(source.starts_with("\"\"\"P(y | a_b_)\n"), "{source}");
        assert!(source.contains(r#""a\"b\\": ["t1", "\n"],"#), "{source}");
    }
}
