//! `sumout convert`: writes a network in another file format.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;
use sumout::model::format::{self, Loss};
use sumout::{Error, ErrorKind, Format, Network};

use crate::args::{Reading, format_parser};
use crate::output::{Outcome, Result, talk};
use crate::text::counted;

const EXAMPLES: &str = "\
Examples:
  sumout convert model.xdsl model.bif.gz           the names tell the formats
  sumout convert model.net - --to bif              to standard output
  sumout convert model.bif model.uai --lossy       without names: .uai has none";

/// Write a network in another file format.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The network to read: a file, `-` for standard input, or `asia`.
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The file to write, in the format that its extension names; `-` for standard output.
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// The format to write to standard output.
    #[arg(long, value_name = "FORMAT", value_parser = format_parser(), ignore_case = true)]
    to: Option<Format>,

    /// Leave out what the format cannot carry instead of refusing.
    #[arg(long)]
    lossy: bool,

    #[command(flatten)]
    reading: Reading,
}

pub fn run(args: &Args, json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let format = args.target()?;
    let net = args.reading.network(&args.input)?;
    if args.is_stdout() {
        let text = format::to_string(&net, format, args.loss())?;
        if json { report(args, format, &net, Some(text), out)? } else { out.write_all(text.as_bytes())? }
    } else {
        format::write(&net, &args.output, args.loss())?;
        let variables = counted(net.variables().len(), "variable");
        match json {
            true => report(args, format, &net, None, out)?,
            false => talk(&format!("wrote {} ({}, {variables})", args.output.display(), format.name())),
        }
    }
    Ok(Outcome::Done)
}

/// What was written where; with the text itself if it was to go to stdout, where the report is.
fn report(args: &Args, format: Format, net: &Network, text: Option<String>, out: &mut dyn Write) -> Result<()> {
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

    fn loss(&self) -> Loss {
        if self.lossy { Loss::Accept } else { Loss::Refuse }
    }

    /// The format to write.
    fn target(&self) -> sumout::Result<Format> {
        let shown = self.output.display();
        let wrong = |message: String, hint: String| Err(Error::new(ErrorKind::Format, message).hint(hint));
        match (self.is_stdout(), self.to, Format::of_path(&self.output)) {
            (true, Some(format), _) | (false, None, Some(format)) => Ok(format),
            (true, None, _) => wrong("standard output has no format of its own".into(), format!("add {}", choices())),
            (false, Some(format), found) if found == Some(format) => Ok(format),
            (false, Some(format), _) => wrong(
                format!("`{shown}` does not have an extension of {}", format.name()),
                format!("name it `.{}`, or write to `-`", format.extensions()[0]),
            ),
            (false, None, None) => wrong(
                format!("`{shown}` does not name a format"),
                format!("use one of the extensions {}", extensions().join(", ")),
            ),
        }
    }
}

fn extensions() -> [&'static str; Format::ALL.len()] {
    Format::ALL.map(|f| f.extensions()[0])
}

fn choices() -> String {
    let (last, others) = (extensions()[Format::ALL.len() - 1], &extensions()[..Format::ALL.len() - 1]);
    format!("`--to` with {} or {last}", others.join(", "))
}
