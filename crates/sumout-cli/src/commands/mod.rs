//! The commands, one file each: what it takes, and what it does.

pub mod bench;
pub mod compile;
pub mod completions;
pub mod convert;
pub mod data;
pub mod demo;
pub mod eval;
pub mod explore;
pub mod export;
pub mod fit;
pub mod mpe;
pub mod paper;
pub mod query;
pub mod sample;
pub mod show;

use std::io::Write;

use crate::args::{Cli, Command};
use crate::output::{Outcome, Result};

/// Does what the command line says; data goes to `out`.
pub fn run(cli: &Cli, out: &mut dyn Write) -> Result<Outcome> {
    match &cli.command {
        Command::Demo(_) => demo::run(cli.json, out),
        Command::Show(args) => show::run(args, cli.json, out),
        Command::Query(args) => query::run(args, cli.json, out),
        Command::Mpe(args) => mpe::run(args, cli.json, out),
        Command::Compile(args) => compile::run(args, cli.json, out),
        Command::Eval(args) => eval::run(args, cli.json, out),
        Command::Export(args) => export::run(args, cli.json, out),
        Command::Fit(args) => fit::run(args, cli.json, out),
        Command::Bench(args) => bench::run(args, cli.json, out),
        Command::Explore(args) => explore::run(args, cli.json, out),
        Command::Paper(args) => paper::run(args, cli.json, out),
        Command::Sample(args) => sample::run(args, cli.json, out),
        Command::Data(args) => data::run(args, cli.json, out),
        Command::Convert(args) => convert::run(args, cli.json, out),
        Command::Completions(args) => completions::run(args, cli.json, out),
    }
}
