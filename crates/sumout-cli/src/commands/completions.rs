//! `sumout completions`: lets a shell complete commands and options.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;
use serde_json::json;

use crate::commands::Cli;
use crate::output::{Outcome, Result};

const EXAMPLES: &str = "\
Examples:
  source <(sumout completions bash)                for this shell
  sumout completions zsh > ~/.zfunc/_sumout        for all to come";

/// Print a script that lets a shell complete `sumout`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The shell.
    shell: Shell,
}

pub fn run(args: &Args, json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut Cli::command(), "sumout", &mut script);
    if json {
        let script = String::from_utf8_lossy(&script);
        writeln!(
            out,
            "{}",
            json!({"shell": args.shell.to_string(), "script": script})
        )?;
    } else {
        out.write_all(&script)?;
    }
    Ok(Outcome::Done)
}
