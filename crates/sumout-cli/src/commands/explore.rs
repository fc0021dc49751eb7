//! `sumout explore`: a page that shows a network, and why it is small.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::json;
use sumout::Error;

use crate::args::{Computing, Reading};
use crate::explore::{Explorer, FirstModel};
use crate::output::{Outcome, Result, talk};

const EXAMPLES: &str = "\
Examples:
  sumout explore                                   the built-in network `asia`
  sumout explore model.bif --open                  a file, at once in the browser
  sumout explore digits:10                         paint digits, and see them recognised

The page is on this machine only, at an address that nobody can guess. Ctrl-C ends it.";

/// A port that is easy to remember; if it is taken, any other.
const PORT: u16 = 7878;

/// Serve a page that shows a network: click evidence, watch posteriors, see why the circuit is
/// small.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The network: a file, `-` for standard input, `asia`, or a model such as `rect:8`.
    #[arg(default_value = "asia")]
    model: PathBuf,

    /// Open the page in the browser.
    #[arg(long, help_heading = "Serving")]
    open: bool,

    /// The port; by default 7878, or another if that is taken.
    #[arg(long, value_name = "N", help_heading = "Serving")]
    port: Option<u16>,

    /// The address to listen on. Other machines can open the page if they can reach this address;
    /// traffic is not encrypted.
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), help_heading = "Serving")]
    host: IpAddr,

    #[command(flatten)]
    computing: Computing,

    #[command(flatten)]
    reading: Reading,
}

pub fn run(args: &Args, json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let net = args.reading.network(&args.model)?;
    let ports = args.port.map_or_else(|| vec![PORT, 0], |port| vec![port]);
    let explorer = Explorer::open(args.host, &ports).map_err(|e| cannot_listen(args, e))?;
    let url = explorer.url();
    match json {
        true => writeln!(out, "{}", json!({"url": url, "api": format!("{url}api")}))?,
        false => writeln!(out, "{url}")?,
    }
    out.flush()?;
    talk(&format!(
        "serving {} (Ctrl-C to stop)",
        args.model.display()
    ));
    if !args.host.is_loopback() {
        talk(
            "note: other machines can reach this page, and what they send and get is not encrypted",
        );
    }
    if args.open {
        open(&url);
    }
    let name = args.model.display().to_string();
    let first = FirstModel {
        name,
        reading: args.reading.clone(),
        net,
    };
    explorer
        .serve(first, &args.computing.options())
        .map_err(|e| cannot_listen(args, e))?;
    Ok(Outcome::Done)
}

fn cannot_listen(args: &Args, error: std::io::Error) -> Error {
    let port = args
        .port
        .map_or_else(String::new, |port| format!(", port {port}"));
    let error = Error::io(format_args!("cannot listen on {}{port}", args.host), error);
    error.hint("choose another address with `--host` or another port with `--port`")
}

/// Asks the desktop to show a page.
fn open(url: &str) {
    let (program, arguments) = match std::env::consts::OS {
        "macos" => ("open", vec![url]),
        "windows" => ("cmd", vec!["/C", "start", "", url]),
        _ => ("xdg-open", vec![url]),
    };
    let quiet = || Stdio::null();
    let started = Command::new(program)
        .args(arguments)
        .stdin(quiet())
        .stdout(quiet())
        .stderr(quiet())
        .spawn();
    if started.is_err() {
        talk(&format!(
            "note: `{program}` could not be started; open the address yourself"
        ));
    }
}
