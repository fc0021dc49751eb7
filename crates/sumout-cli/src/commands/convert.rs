//! `sumout convert`: writes a network in another file format.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;
use sumout::model::format::WriteOptions;
use sumout::{Error, ErrorKind, Format, Network};

use crate::args::{Reading, format_parser};
use crate::output::{Outcome, Result, talk};
use crate::text::counted;

const EXAMPLES: &str = "\
Examples:
  sumout convert model.xdsl model.bif.gz           the names tell the formats
  sumout convert model.net model.txt --to bif      or `--to` does
  sumout convert model.net - --to bif              to standard output
  sumout convert model.bif model.uai --lossy       without names: .uai has none";

/// Write a network in another file format.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The network to read: a file, `-` for standard input, or `asia`.
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The file to write, compressed if it ends in `.gz`; `-` for standard output.
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// The format to write; by default that of OUT's extension.
    #[arg(long, value_name = "FORMAT", value_parser = format_parser(), ignore_case = true)]
    to: Option<Format>,

    /// Drop information that the format cannot represent, instead of refusing.
    #[arg(long)]
    lossy: bool,

    #[command(flatten)]
    reading: Reading,
}

pub fn run(args: &Args, json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let format = args.target()?;
    let net = args.reading.network(&args.input)?;
    let options = WriteOptions::default()
        .with_format(format)
        .with_lossy(args.lossy);
    if args.is_stdout() {
        let text = net.to_text(&options)?;
        if json {
            report(args, format, &net, Some(text), out)?
        } else {
            out.write_all(text.as_bytes())?
        }
    } else {
        net.write_with(&args.output, &options)?;
        let variables = counted(net.variables().len(), "variable");
        match json {
            true => report(args, format, &net, None, out)?,
            false => talk(&format!(
                "wrote {} ({}, {variables})",
                args.output.display(),
                format.name()
            )),
        }
    }
    Ok(Outcome::Done)
}

/// The path and format written; with the text itself if both it and the report go to stdout.
fn report(
    args: &Args,
    format: Format,
    net: &Network,
    text: Option<String>,
    out: &mut dyn Write,
) -> Result<()> {
    let mut report = json!({
        "input": args.input.display().to_string(),
        "output": args.output.display().to_string(),
        "format": format.extensions()[0],
        "variables": net.variables().len(),
    });
    if let Some(text) = text {
        report["text"] = text.into();
    }
    Ok(writeln!(out, "{report}")?)
}

impl Args {
    fn is_stdout(&self) -> bool {
        self.output == Path::new("-")
    }

    /// The format to write: the requested one, or else that of the file's extension.
    fn target(&self) -> sumout::Result<Format> {
        let named = || {
            if self.is_stdout() {
                None
            } else {
                Format::of_path(&self.output)
            }
        };
        self.to.or_else(named).ok_or_else(|| {
            let message = match self.is_stdout() {
                true => "standard output has no format of its own".to_owned(),
                false => format!("`{}` does not name a format", self.output.display()),
            };
            Error::new(ErrorKind::Format, message).hint(format!("add {}", choices()))
        })
    }
}

fn choices() -> String {
    let [others @ .., last] = Format::ALL.map(|f| f.extensions()[0]);
    format!("`--to` with {} or {last}", others.join(", "))
}
