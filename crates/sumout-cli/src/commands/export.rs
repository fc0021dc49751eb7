//! `sumout export`: a circuit as a program in another language.

use std::io::Write;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;
use sumout::Circuit;
use sumout::circuit::Language;

use crate::output::{Outcome, Result};

const EXAMPLES: &str = "\
Examples:
  sumout compile asia lung --given xray dysp -o lung.sumout
  sumout export lung.sumout -o lung.py --to torch
  python -c 'import lung; print(lung.Model()({\"xray\": [0, 1], \"dysp\": [1, -1]}))'";

/// Write a circuit as a program for PyTorch or NumPy.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The circuit: a file that `sumout compile -o` has written.
    circuit: PathBuf,

    /// The program to write; its numbers go beside it, to a .safetensors file of the same name.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// What the program uses: `torch` can train it, `numpy` is everywhere.
    #[arg(long, default_value_t = Language::Torch, value_parser = language_parser())]
    to: Language,
}

pub fn run(args: &Args, json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let export = Circuit::load(&args.circuit)?.export(args.to)?;
    export.save(&args.output)?;
    let numbers = args.output.with_extension("safetensors");
    if json {
        let (peak, shared) = (export.numbers_of_example, export.numbers_of_all);
        let report = json!({
            "program": args.output, "numbers": numbers, "numbers_per_example": peak, "shared_numbers": shared
        });
        writeln!(out, "{report}")?;
    } else {
        writeln!(out, "wrote {} and {}", args.output.display(), numbers.display())?;
    }
    Ok(Outcome::Done)
}

/// Takes the languages by their names.
fn language_parser() -> impl TypedValueParser<Value = Language> {
    PossibleValuesParser::new(Language::ALL.map(Language::name)).try_map(|name| name.parse::<Language>())
}
