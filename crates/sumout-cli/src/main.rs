//! The `sumout` command: exact answers from Bayesian networks, in a shell.
//!
//! Data goes to stdout, talk to stderr. The exit code is 0 when done, 1 when the evidence is
//! impossible, 2 when the use or the input is wrong, 70 when the command itself is; with `--json`,
//! stdout then ends with the error as JSON. A reader that stops reading, such as `head`, is not an error.

mod args;
mod causal;
mod commands;
mod data;
mod errors;
mod evidence;
mod explore;
mod json;
mod output;
mod patience;
mod text;

use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use serde_json::json;
use sumout::internals::{contained, keep_panics};
use sumout::{Error, ErrorKind};

use commands::Cli;
use output::{Failure, Outcome};

/// The exit code of wrong use and wrong input.
const REFUSED: u8 = 2;

/// The exit code of a defect: `EX_SOFTWARE` of `sysexits.h`.
const DEFECT: u8 = 70;

fn main() -> ExitCode {
    keep_panics();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => return misuse(&usage),
    };
    patience::always_tell(cli.progress);
    match contained("command", || run(&cli)).unwrap_or_else(|defect| Err(defect.into())) {
        Ok(Outcome::Done) | Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Ok(Outcome::Impossible) => ExitCode::from(1),
        Err(Failure::Error(error)) => {
            let error = errors::worded(error);
            output::talk(&error.render(wants_colour()));
            refuse(&error, cli.json)
        }
    }
}

fn run(cli: &Cli) -> output::Result<Outcome> {
    let mut out = BufWriter::new(io::stdout().lock());
    let is_text = !cli.json && (!cli.command.prints_data() || io::stdout().is_terminal());
    let outcome = match is_text {
        true => commands::run(cli, &mut output::Visible(&mut out))?,
        false => commands::run(cli, &mut out)?,
    };
    out.flush()?;
    Ok(outcome)
}

/// Arguments that clap does not accept; help and versions are asked for, and not errors.
fn misuse(usage: &clap::Error) -> ExitCode {
    let is_help = !usage.use_stderr();
    let _ = usage.print();
    if is_help {
        return ExitCode::SUCCESS;
    }
    let mut words = std::env::args_os().skip(1).take_while(|word| word != "--");
    refuse(&errors::misuse(usage), words.any(|word| word == "--json"))
}

/// Ends with an error. Scripts that read JSON find it on stdout; people have read it on stderr.
fn refuse(error: &Error, json: bool) -> ExitCode {
    if json {
        let _ = writeln!(
            io::stdout(),
            "{}",
            json!({ "error": errors::to_json(error) })
        );
    }
    ExitCode::from(match error.kind() {
        ErrorKind::Defect => DEFECT,
        _ => REFUSED,
    })
}

/// Whether stderr shows colours, and the user has not asked for none.
fn wants_colour() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}
