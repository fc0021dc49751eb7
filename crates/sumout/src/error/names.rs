//! Names and numbers in messages.

use super::Remedy;

/// The known name that is closest to what was written, if it is close.
pub(crate) fn did_you_mean<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<Remedy> {
    let is_short = |name: &str| name.len() <= 100; // comparing takes quadratic time
    let lower = Some(written).filter(|name| is_short(name))?.to_lowercase();
    let score = |name: &str| strsim::jaro_winkler(&lower, &name.to_lowercase());
    let best = known
        .into_iter()
        .filter(|name| is_short(name))
        .map(|name| (score(name), name))
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.8).then(|| Remedy::DidYouMean(best.1.to_owned()))
}

/// Names in backticks with commas, the first dozen of them.
pub(crate) fn shortlist<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names = names.into_iter();
    let quoted: Vec<String> = names
        .by_ref()
        .take(12)
        .map(|name| format!("`{}`", shown(name)))
        .collect();
    let more = if names.next().is_some() { ", …" } else { "" };
    quoted.join(", ") + more
}

/// As much of a name as a message can show, on one line.
pub(crate) fn shown(name: &str) -> String {
    let visible = |c: char| {
        if c.is_control() {
            c.escape_debug().to_string()
        } else {
            c.to_string()
        }
    };
    let rest = if name.chars().nth(40).is_some() {
        "…"
    } else {
        ""
    };
    name.chars().take(40).map(visible).collect::<String>() + rest
}

/// A number of things, in words.
pub(crate) fn many(count: usize, thing: &str) -> String {
    if count == 1 {
        format!("1 {thing}")
    } else {
        format!("{count} {thing}s")
    }
}
