//! Errors on the command line: remedies are flags here, and `--json` wants errors as JSON.

use serde_json::{Value, json};
use sumout::{Error, ErrorKind, Remedy};

/// The error with its remedies as they are typed in a shell.
pub fn worded(error: Error) -> Error {
    error.reworded(typed)
}

fn typed(remedy: &Remedy) -> String {
    match remedy {
        Remedy::ListVariables => "`sumout show` lists the variables".into(),
        Remedy::MoreEffort(None) => "compile again with more `--effort`".into(),
        Remedy::MoreEffort(Some(effort)) => format!("search longer with `--effort {effort}`"),
        Remedy::RaiseMemory => "raise the limit with `--memory`".into(),
        Remedy::MoreTime(seconds) => {
            format!("allow more time with `--time-limit {}`", seconds.ceil())
        }
        Remedy::TurnOn { option, purpose } => format!("pass `{}` {purpose}", flag(option)),
        Remedy::Set { option, value } => format!("pass `{} {value}`", flag(option)),
        Remedy::UseInstead { option, instead_of } => {
            let (option, other) = (flag(option), flag(instead_of));
            format!("compile with `{option}` instead of `{other}`")
        }
        Remedy::LeaveOut(option) => format!("leave out `{}`", flag(option)),
        Remedy::CompileAgain => "compile the circuit again with `sumout compile … -o FILE`".into(),
        Remedy::CompileToExplain => "compile it with `--mpe`".into(),
        other => other.to_string(),
    }
}

/// The command-line option for an option of the library.
fn flag(option: &str) -> String {
    format!("--{}", option.replace('_', "-"))
}

/// An error as JSON.
pub fn to_json(error: &Error) -> Value {
    let place = error
        .place()
        .map(|p| json!({"file": p.file(), "line": p.line(), "column": p.column()}));
    json!({
        "kind": error.kind().name(),
        "message": error.message(),
        "hint": error.advice(),
        "place": place,
    })
}

/// A usage error. Clap prints paragraphs: the message, tips, usage.
pub fn misuse(usage: &clap::Error) -> Error {
    let text = usage.render().to_string();
    let mut paragraphs = text.split("\n\n").map(one_line);
    let message = paragraphs.next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    let tip = paragraphs.find_map(|text| text.strip_prefix("tip: ").map(str::to_owned));
    let error = Error::new(ErrorKind::Options, message);
    tip.into_iter().fold(error, Error::hint)
}

fn one_line(paragraph: &str) -> String {
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::commands::Cli;

    #[test]
    fn remedies_are_flags() {
        let error = Error::new(ErrorKind::Memory, "too large")
            .hint("give more evidence")
            .or(Remedy::MoreEffort(Some(20.0)))
            .or(Remedy::RaiseMemory);
        assert_eq!(
            worded(error).advice().as_deref(),
            Some(
                "give more evidence, search longer with `--effort 20`, or raise the limit with `--memory`"
            )
        );
        let lossy = Remedy::TurnOn {
            option: "save_plan",
            purpose: "to save it",
        };
        assert_eq!(typed(&lossy), "pass `--save-plan` to save it");
    }

    #[test]
    fn wrong_use_has_a_message_and_a_tip() {
        let usage = Cli::try_parse_from(["sumout", "query", "asia", "--gievn", "x=y"]).unwrap_err();
        let error = misuse(&usage);
        assert_eq!(error.message(), "unexpected argument '--gievn' found");
        assert_eq!(error.kind(), ErrorKind::Options);
        let tip = error.advice().unwrap();
        assert!(tip.contains("'--given'"), "{tip}");
    }
}
