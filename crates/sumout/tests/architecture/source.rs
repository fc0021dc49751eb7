//! Sources as text: which modules there are, which paths they mention, and what they re-export.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// All Rust files in a folder and its folders.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = vec![];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The module that a file is, from the root of its crate; the root itself is empty.
pub fn module_of(file: &Path) -> String {
    let file = file.with_extension("");
    let parts = file.iter().map(|part| part.to_str().unwrap());
    parts
        .filter(|part| !["mod", "lib", "main"].contains(part))
        .collect::<Vec<_>>()
        .join("::")
}

/// Whether a path leads to a module or into it.
pub fn is_within(path: &str, module: &str) -> bool {
    path.strip_prefix(module)
        .is_some_and(|rest| module.is_empty() || rest.is_empty() || rest.starts_with("::"))
}

/// The text without comments and without the bodies of test modules.
pub fn code(text: &str) -> String {
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

/// The functions of formatted code that have a body, each with the number of its lines.
pub fn functions(code: &str) -> Vec<(&str, usize)> {
    let lines: Vec<&str> = code.lines().map(str::trim_end).collect();
    let mut found = vec![];
    for (at, line) in lines.iter().enumerate() {
        let words = line.trim_start();
        let indent = &line[..line.len() - words.len()];
        let is_head = words.starts_with("fn ") || words.starts_with("pub");
        let Some((_, name)) = line.split_once("fn ").filter(|_| is_head) else {
            continue;
        };
        let is_end = |line: &&str| line.strip_prefix(indent) == Some("}");
        let is_whole = line.ends_with(';') || line.ends_with('}');
        let body = lines[at..].iter().position(is_end).filter(|_| !is_whole);
        let name = name.split(['(', '<']).next().unwrap();
        found.push((name, body.unwrap_or(0) + 1));
    }
    found
}

/// Every path in the code that begins with `crate` or `super`, from the root of the crate.
pub fn paths(module: &str, code: &str) -> Vec<String> {
    let mut found = vec![];
    let words = code.match_indices("crate::");
    for (at, _) in words.chain(code.match_indices("super::")) {
        let before = &code[..at];
        let is_inside = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if !is_inside && !before.ends_with("super::") {
            expand_from(module, &code[at..], &mut found);
        }
    }
    found.into_iter().map(|(path, _)| path).collect()
}

/// The re-exports of a module: by the path that others may write, the path that it stands for.
///
/// An alias of a type is a re-export by another name.
pub fn reexports(module: &str, code: &str) -> BTreeMap<String, String> {
    let mut found = vec![];
    for statement in code.split_inclusive([';', '{', '}']).map(str::trim_start) {
        let Some(public) = statement.strip_prefix("pub") else {
            continue;
        };
        let scope = public.strip_prefix('(').and_then(|s| s.split_once(')'));
        let rest = scope.map_or(public, |(_, rest)| rest).trim_start();
        if rest.starts_with("use ") {
            let at = statement.as_ptr() as usize - code.as_ptr() as usize;
            let tree = code[at..].split_once("use ").unwrap().1;
            expand_from(module, tree, &mut found);
        } else if let Some((name, target)) = rest
            .strip_prefix("type ")
            .and_then(|rest| rest.split_once('='))
        {
            let mut targets = vec![];
            expand_from(module, target.trim_start(), &mut targets);
            let name = name.split('<').next().unwrap().trim().to_owned();
            found.extend(targets.into_iter().map(|(path, _)| (path, name.clone())));
        }
    }
    let own = |name: String| join(module, &name);
    found
        .into_iter()
        .map(|(path, name)| (own(name), path))
        .filter(|(name, path)| name != path)
        .collect()
}

/// Where a path leads once re-exports are followed.
pub fn resolved(path: &str, reexports: &BTreeMap<String, String>) -> String {
    let mut path = path.to_owned();
    for _ in 0..10 {
        let ends = path.match_indices("::").map(|(at, _)| at);
        let prefixes = ends.chain([path.len()]);
        let longest = prefixes
            .filter_map(|end| Some((reexports.get(&path[..end])?, end)))
            .last();
        match longest {
            Some((target, end)) => path = format!("{target}{}", &path[end..]),
            None => break,
        }
    }
    path
}

fn join(module: &str, name: &str) -> String {
    if module.is_empty() {
        name.to_owned()
    } else {
        format!("{module}::{name}")
    }
}

/// The paths of a tree that stands in a module, each with the name that it is used by.
fn expand_from(module: &str, tree: &str, found: &mut Vec<(String, String)>) {
    let (mut base, mut tree) = (module, tree);
    if let Some(rest) = tree.strip_prefix("crate::") {
        (base, tree) = ("", rest);
    }
    tree = tree.strip_prefix("self::").unwrap_or(tree);
    while let Some(rest) = tree.strip_prefix("super::") {
        base = base.rsplit_once("::").map_or("", |(above, _)| above);
        tree = rest;
    }
    let stem = join(base, "");
    expand(&stem, tree, found);
}

/// The paths of a tree such as `a::{b, c::d as e}`; returns what follows it.
fn expand<'a>(stem: &str, tree: &'a str, found: &mut Vec<(String, String)>) -> &'a str {
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
    let (word, rest) = word(tree);
    match rest.strip_prefix("::") {
        _ if word.is_empty() => rest, // after the last comma of a group
        Some(inner) if !inner.starts_with('<') => expand(&format!("{stem}{word}::"), inner, found),
        _ => {
            let path = match word {
                "self" => stem.trim_end_matches("::").to_owned(),
                _ => format!("{stem}{word}"),
            };
            let alias = rest.trim_start().strip_prefix("as ").map(self::word);
            let own = path.rsplit("::").next().unwrap().to_owned();
            let (name, rest) = alias.map_or((own, rest), |(name, rest)| (name.to_owned(), rest));
            found.push((path, name));
            rest
        }
    }
}

/// The word that a text begins with, and the rest.
fn word(text: &str) -> (&str, &str) {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '*';
    text.split_at(text.find(|c| !is_part(c)).unwrap_or(text.len()))
}
