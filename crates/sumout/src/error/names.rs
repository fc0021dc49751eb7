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
    let rest = if name.chars().nth(40).is_some() {
        "…"
    } else {
        ""
    };
    let start: String = name.chars().take(40).collect();
    visible(&start).replace('\n', "\\n") + rest
}

/// Lines of text without characters that a terminal obeys: escapes in their place.
pub(super) fn visible(text: &str) -> String {
    let visible = |c: char| match c.is_control() && c != '\n' {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(visible).collect()
}

/// A number of things, in words.
pub(crate) fn many(count: usize, thing: &str) -> String {
    if count == 1 {
        format!("1 {thing}")
    } else {
        format!("{count} {thing}s")
    }
}
