//! Keeps the library in order: dependencies point one way, and files stay short.
//!
//! ```text
//! learn ──▶ circuit ──▶ model, tensor ──▶ vars
//!              └──────▶ compile ──▶ model, tensor::graph (never the executor)
//! ```
//!
//! The sources are read as text: every path that begins with `crate` or `super` is followed to
//! where it leads. Comments may mention anything, and tests may use anything.

use std::fs;
use std::path::{Path, PathBuf};

/// The parts of the library, each with the others that it may use.
const PARTS: [(&str, &[&str]); 8] = [
    ("vars", &[]),
    ("error", &[]),
    ("files", &["error"]),
    ("model", &["error", "files", "vars"]),
    ("tensor", &["error", "vars"]),
    ("compile", &["error", "model", "tensor", "vars"]),
    (
        "circuit",
        &["compile", "error", "files", "model", "tensor", "vars"],
    ),
    (
        "learn",
        &[
            "circuit", "compile", "error", "files", "model", "tensor", "vars",
        ],
    ),
];

/// These know what is computed, and must not know how.
const NEVER_EXECUTE: [&str; 2] = ["compile", "tensor::graph"];

/// Over this many lines a file is two files.
const MOST_LINES: usize = 500;

#[test]
fn dependencies_point_one_way() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = vec![];
    for file in sources(&src) {
        let module = module_of(file.strip_prefix(&src).unwrap());
        if !module.is_empty() && module.last().unwrap() != "tests" {
            let found = violations(&module, &fs::read_to_string(&file).unwrap());
            wrong.extend(
                found
                    .into_iter()
                    .map(|what| format!("{}: {what}", file.display())),
            );
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn files_are_short() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = fs::read_dir(crates)
        .unwrap()
        .map(|entry| entry.unwrap().path().join("src"));
    let files: Vec<PathBuf> = folders
        .filter(|src| src.is_dir())
        .flat_map(|src| sources(&src))
        .collect();
    assert!(files.len() > 40, "only {} files", files.len());
    for file in files {
        let lines = fs::read_to_string(&file).unwrap().lines().count();
        assert!(
            lines <= MOST_LINES,
            "{} has {lines} lines, more than {MOST_LINES}",
            file.display()
        );
    }
}

/// All Rust files in a folder and its folders.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = vec![];
    for path in fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The module that a file is, from the root of the library; the root itself is empty.
fn module_of(file: &Path) -> Vec<String> {
    let parts = file.with_extension("");
    let parts = parts.iter().map(|part| part.to_str().unwrap().to_owned());
    parts
        .filter(|part| part != "mod" && part != "lib")
        .collect()
}

/// What a module uses that it should not.
fn violations(module: &[String], text: &str) -> Vec<String> {
    let own = module[0].as_str();
    let Some((_, others)) = PARTS.iter().find(|(part, _)| *part == own) else {
        return vec![format!("say in PARTS what `{own}` may use")];
    };
    let here = module.join("::");
    let never_executes = NEVER_EXECUTE.iter().any(|part| is_within(&here, part));
    let is_wrong = |path: &String| {
        let part = path.split("::").next().unwrap();
        (part != own && !others.contains(&part)) || (never_executes && is_executor(path))
    };
    let wrong = paths(module, &code(text)).into_iter().filter(is_wrong);
    wrong
        .map(|path| format!("`{here}` must not use `{path}`"))
        .collect()
}

fn is_within(path: &str, part: &str) -> bool {
    path.strip_prefix(part)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Whether a path leads into a module of `tensor` that is not the graph.
fn is_executor(path: &str) -> bool {
    let inside = path.strip_prefix("tensor::").unwrap_or_default();
    inside.starts_with(|c: char| c.is_lowercase()) && !is_within(inside, "graph")
}

/// The text without comments and without the bodies of test modules.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let opens = |next: &&str| next.starts_with("mod ") && next.ends_with('{');
        if line == "#[cfg(test)]" && lines.peek().is_some_and(opens) {
            lines.by_ref().find(|line| *line == "}");
        } else {
            code.push_str(line.split("//").next().unwrap());
            code.push('\n');
        }
    }
    code
}

/// Every path in the code that begins with `crate` or `super`, from the root of the library.
fn paths(module: &[String], code: &str) -> Vec<String> {
    let mut found = vec![];
    for (at, word) in code
        .match_indices("crate::")
        .chain(code.match_indices("super::"))
    {
        let before = &code[..at];
        if before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
            || before.ends_with("super::")
        {
            continue;
        }
        let mut base = if word == "crate::" {
            &[]
        } else {
            &module[..module.len() - 1]
        };
        let mut rest = &code[at + word.len()..];
        while let Some(inner) = rest.strip_prefix("super::") {
            (base, rest) = (&base[..base.len() - 1], inner);
        }
        let stem: String = base.iter().map(|part| format!("{part}::")).collect();
        expand(&stem, rest, &mut found);
    }
    found
}

/// The paths of a tree such as `a::{b, c::d}`; returns what follows it.
fn expand<'a>(stem: &str, tree: &'a str, found: &mut Vec<String>) -> &'a str {
    let tree = tree.trim_start();
    if let Some(mut rest) = tree.strip_prefix('{') {
        loop {
            rest = expand(stem, rest, found).trim_start();
            match rest.chars().next() {
                Some(',') => rest = &rest[1..],
                Some('}') => return &rest[1..],
                _ => return rest,
            }
        }
    }
    let length = tree
        .find(|c: char| !c.is_alphanumeric() && c != '_' && c != '*')
        .unwrap_or(tree.len());
    let (word, rest) = tree.split_at(length);
    if word.is_empty() {
        return rest; // after the last comma of a group
    }
    match rest.strip_prefix("::") {
        Some(inner) if !inner.starts_with('<') => expand(&format!("{stem}{word}::"), inner, found),
        _ => {
            found.push(format!("{stem}{word}"));
            rest
        }
    }
}

/// What is wrong with a text, if it is the text of a module.
fn wrong(module: &str, text: &str) -> Vec<String> {
    violations(
        &module.split("::").map(str::to_owned).collect::<Vec<_>>(),
        text,
    )
}

#[test]
fn what_is_allowed_is_not_reported() {
    let none = Vec::<String>::new();
    assert_eq!(
        wrong(
            "circuit",
            "use crate::compile::{self, Compiled};\nuse crate::tensor::exec::Run;"
        ),
        none
    );
    assert_eq!(
        wrong(
            "compile::lower",
            "use super::plan::Plan;\nuse crate::tensor::{Graph, graph::Op};"
        ),
        none
    );
    assert_eq!(
        wrong(
            "model::format::bif",
            "use super::super::network::Network; use super::lexer;"
        ),
        none
    );
    assert_eq!(
        wrong(
            "model",
            "//! See [`crate::compile`].\nfn f() {} // as crate::circuit does"
        ),
        none
    );
    assert_eq!(
        wrong(
            "vars",
            "#[cfg(test)]\nmod tests {\n    use crate::model::Network;\n}\n"
        ),
        none
    );
}

#[test]
fn what_points_the_wrong_way_is_reported() {
    assert_eq!(
        wrong("model", "fn f() { crate::compile::width(&net) }"),
        ["`model` must not use `compile::width`"]
    );
    assert_eq!(
        wrong("model", "use crate::Options;"),
        ["`model` must not use `Options`"]
    );
    assert_eq!(
        wrong("model", "use crate::*;"),
        ["`model` must not use `*`"]
    );
    assert_eq!(
        wrong(
            "tensor::exec",
            "use crate::{\n    model::{Cpt, Network},\n    vars::VarId,\n};"
        ),
        [
            "`tensor::exec` must not use `model::Cpt`",
            "`tensor::exec` must not use `model::Network`"
        ]
    );
    assert_eq!(
        wrong(
            "compile::plan",
            "use crate::tensor::{Graph, layout::Program};"
        ),
        ["`compile::plan` must not use `tensor::layout::Program`"]
    );
    assert_eq!(
        wrong("tensor::graph", "use super::exec::Run;"),
        ["`tensor::graph` must not use `tensor::exec::Run`"]
    );
    assert_eq!(
        wrong("compile::plan", "use super::super::circuit::Options;"),
        ["`compile::plan` must not use `circuit::Options`"]
    );
    let after_tests = "#[cfg(test)]\nmod tests {\n    use super::*;\n}\nuse crate::model::Cpt;\n";
    assert_eq!(
        wrong("vars", after_tests),
        ["`vars` must not use `model::Cpt`"]
    );
    assert_eq!(
        wrong("brand_new", ""),
        ["say in PARTS what `brand_new` may use"]
    );
}
