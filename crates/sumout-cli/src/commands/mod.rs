//! The command line: the commands, one module each with what it takes and what it does.

pub mod bench;
pub mod compile;
pub mod completions;
pub mod convert;
pub mod counterfactual;
pub mod data;
pub mod demo;
pub mod eval;
pub mod explore;
pub mod export;
pub mod fit;
pub mod map;
pub mod mpe;
pub mod next;
pub mod paper;
pub mod query;
pub mod sample;
pub mod sensitivity;
pub mod show;

use std::io::Write;

use clap::{Parser, Subcommand};

use crate::output::{Outcome, Result};

const EXAMPLES: &str = "\
Examples:
  sumout demo                                      the whole story, in less than a minute
  sumout show asia                                 what is in a network
  sumout query asia lung --given xray=yes dysp=no  P(lung | xray=yes, dysp=no)
  sumout mpe asia --given xray=yes                 the most probable explanation
  sumout query asia lung --do smoke=no             if nobody smoked
  sumout map asia lung tub --given xray=yes        marginal MAP
  sumout next asia lung --given dysp=yes           what to observe next
  sumout sensitivity asia lung=yes                 which numbers of the network matter
  sumout compile rect:8 label --given 'pixel_*'    what a query costs, and why it is cheap
  sumout eval lung.sumout cases.csv                posteriors for every row of a file
  sumout fit rect:10 train.csv --target label -o learned.json
  sumout convert model.xdsl model.bif              another file format
  sumout explore digits:10                         look at it in the browser

A MODEL is a file (.bif, .xmlbif, .uai, .net, .xdsl or .json, also with .gz),
`-` for standard input, or a network that is built in: asia.

Exit code: 0 done, 1 the evidence is impossible, 2 wrong use or input,
70 a defect in sumout.";

/// Exact answers from Bayesian networks.
#[derive(Debug, Parser)]
#[command(name = "sumout", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,

    /// Print JSON instead of text.
    #[arg(long, global = true)]
    pub json: bool,

    /// Print the progress of long work on stderr even where that is not a terminal.
    #[arg(long, global = true)]
    pub progress: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Demo(demo::Args),
    Show(show::Args),
    Query(query::Args),
    Mpe(mpe::Args),
    Map(map::Args),
    Next(next::Args),
    Sensitivity(sensitivity::Args),
    Counterfactual(counterfactual::Args),
    Compile(compile::Args),
    Eval(eval::Args),
    Export(export::Args),
    Fit(fit::Args),
    Bench(bench::Args),
    Sample(sample::Args),
    Data(data::Args),
    Convert(convert::Args),
    Paper(paper::Args),
    Explore(explore::Args),
    Completions(completions::Args),
}

impl Command {
    /// Whether it prints what other programs read, even without `--json`: names as they are.
    pub fn prints_data(&self) -> bool {
        use Command::{Completions, Convert, Data, Eval, Export, Paper, Sample};
        matches!(
            self,
            Completions(_) | Convert(_) | Data(_) | Eval(_) | Export(_) | Paper(_) | Sample(_)
        )
    }
}

/// Runs the command; data goes to `out`.
pub fn run(cli: &Cli, out: &mut dyn Write) -> Result<Outcome> {
    match &cli.command {
        Command::Demo(_) => demo::run(cli.json, out),
        Command::Show(args) => show::run(args, cli.json, out),
        Command::Query(args) => query::run(args, cli.json, out),
        Command::Mpe(args) => mpe::run(args, cli.json, out),
        Command::Map(args) => map::run(args, cli.json, out),
        Command::Next(args) => next::run(args, cli.json, out),
        Command::Sensitivity(args) => sensitivity::run(args, cli.json, out),
        Command::Counterfactual(args) => counterfactual::run(args, cli.json, out),
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
