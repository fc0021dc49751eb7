//! The `sumout` command: exact answers from Bayesian networks, in a shell.
//!
//! Data goes to stdout, talk to stderr. The exit code is 0 when done, 1 when the evidence is
//! impossible, 2 when the use or the input is wrong. A reader that stops reading, such as `head`,
//! is not an error.

mod args;
mod commands;
mod data;
mod evidence;
mod explore;
mod json;
mod output;
mod text;

use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;

use commands::Cli;
use output::{Failure, Outcome};

fn main() -> ExitCode {
    match run() {
        Ok(Outcome::Done) | Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Ok(Outcome::Impossible) => ExitCode::from(1),
        Err(Failure::Error(error)) => {
            output::talk(&error.render(wants_colour()));
            ExitCode::from(2)
        }
    }
}

fn run() -> output::Result<Outcome> {
    let mut out = BufWriter::new(io::stdout().lock());
    let outcome = commands::run(&Cli::parse(), &mut out)?;
    out.flush()?;
    Ok(outcome)
}

/// Whether stderr shows colours, and the user has not asked for none.
fn wants_colour() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}
