//! `sumout export`: a circuit as a program in another language.

use std::io::Write;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;
use sumout::circuit::{Export, Language, Onnx};
use sumout::{Circuit, Error, ErrorKind, Precision};

use crate::args::precision_parser;
use crate::output::{Outcome, Result};

const EXAMPLES: &str = "\
Examples:
  sumout compile asia lung --given xray dysp -o lung.sumout
  sumout export lung.sumout -o lung.py --to torch
  python -c 'import lung; print(lung.Model()({\"xray\": [0, 1], \"dysp\": [1, -1]}))'
  sumout export lung.sumout -o lung.onnx";

/// Write a circuit as a program for PyTorch, NumPy or JAX, or as an ONNX model.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The circuit: a file written by `sumout compile -o`.
    circuit: PathBuf,

    /// The program to write; its numbers go beside it, to a .safetensors file of the same name. An
    /// .onnx file contains them.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// The target library: `torch` and `jax` can train the program, `numpy` is widely available,
    /// `onnx` is a model for many runtimes [default: onnx if FILE ends in .onnx, torch otherwise]
    #[arg(long, value_parser = language_parser())]
    to: Option<Language>,

    /// The precision of an ONNX model [default: f32, and f64 if it has tests]. Programs choose
    /// theirs at run time.
    #[arg(long, value_parser = precision_parser())]
    precision: Option<Precision>,

    /// The ONNX model takes a likelihood for each value of each input, not the positions of values.
    #[arg(long)]
    likelihoods: bool,
}

pub fn run(args: &Args, json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let export = args.export(&Circuit::load(&args.circuit)?)?;
    export.save(&args.output)?;
    let numbers = export
        .numbers()
        .as_ref()
        .map(|_| args.output.with_extension("safetensors"));
    if json {
        let (peak, shared) = (export.numbers_of_example(), export.numbers_of_all());
        let report = json!({
            "program": args.output, "numbers": numbers, "numbers_per_example": peak, "shared_numbers": shared
        });
        writeln!(out, "{report}")?;
    } else {
        let numbers = numbers.map_or(String::new(), |path| format!(" and {}", path.display()));
        writeln!(out, "wrote {}{numbers}", args.output.display())?;
    }
    Ok(Outcome::Done)
}

impl Args {
    fn export(&self, circuit: &Circuit) -> sumout::Result<Export> {
        let is_onnx = self
            .output
            .extension()
            .is_some_and(|ending| ending == "onnx");
        let to = self.to.unwrap_or(if is_onnx {
            Language::Onnx
        } else {
            Language::Torch
        });
        if to == Language::Onnx {
            let precision = self.precision.unwrap_or(circuit.export_precision());
            return circuit.export_onnx(
                &Onnx::default()
                    .with_precision(precision)
                    .with_likelihoods(self.likelihoods),
            );
        }
        if self.precision.is_some() || self.likelihoods {
            let option = if self.likelihoods {
                "likelihoods"
            } else {
                "precision"
            };
            let error = Error::new(
                ErrorKind::Options,
                format!("`--{option}` is for ONNX models"),
            );
            return Err(error.hint(
                "leave it out: programs take any precision, positions of values and likelihoods",
            ));
        }
        circuit.export(to)
    }
}

/// Takes the languages by their names.
fn language_parser() -> impl TypedValueParser<Value = Language> {
    PossibleValuesParser::new(Language::ALL.map(Language::name))
        .try_map(|name| name.parse::<Language>())
}
