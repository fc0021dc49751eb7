//! The text in the box of a node.

use crate::draw::{Node, entries};

/// Maximum length of a line, in characters.
const MAX_LINE_CHARS: usize = 30;

/// Maximum number of lines of variables.
const MAX_LINES: usize = 4;

/// A box with lines of text.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    pub lines: Vec<Line>,
}

/// A line of words.
pub(crate) type Line = Vec<Word>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub text: String,
    pub style: Style,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Title,
    Evidence,
    Kept,
    Dropped,
    Note,
}

impl Card {
    /// The card of a node; `is_cut` if what is below it is not drawn.
    pub fn new(node: &Node, is_cut: bool) -> Self {
        let title = node
            .title
            .iter()
            .map(|title| Word::new(shortened(title), Style::Title));
        let evidence = node
            .evidence
            .iter()
            .map(|name| Word::new(shortened(&format!("λ({name})")), Style::Evidence));
        let mut lines: Vec<Line> = wrapped(title.chain(evidence));
        let kept = node
            .kept
            .iter()
            .map(|name| Word::new(shortened(name), Style::Kept));
        let dropped = node
            .dropped
            .iter()
            .map(|name| Word::new(shortened(name), Style::Dropped));
        if !node.is_whole || !node.dropped.is_empty() {
            lines.extend(wrapped(kept.chain(dropped)));
        }
        lines.push(vec![Word::new(entries(node.size), Style::Note)]);
        if is_cut {
            let largest = entries(node.largest_below);
            lines.push(vec![Word::new(
                format!("… {} nodes, up to {largest}", node.below),
                Style::Note,
            )]);
        }
        Card { lines }
    }

    /// The length of the longest line, in characters.
    pub fn columns(&self) -> usize {
        let length = |line: &Line| {
            line.iter()
                .map(|word| word.text.chars().count() + 1)
                .sum::<usize>()
        };
        self.lines.iter().map(length).max().unwrap_or(1) - 1
    }
}

impl Word {
    fn new(text: String, style: Style) -> Self {
        Word { text, style }
    }
}

/// A text that fits into a line.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_LINE_CHARS) {
        None => text.to_owned(),
        Some(_) => text.chars().take(MAX_LINE_CHARS - 1).chain(['…']).collect(),
    }
}

/// Words in lines; if there are too many, the last line counts the missing ones.
fn wrapped(words: impl Iterator<Item = Word>) -> Vec<Line> {
    let (mut lines, mut used, mut missing): (Vec<Line>, usize, usize) = (vec![], MAX_LINE_CHARS, 0);
    for word in words {
        let length = word.text.chars().count() + 1;
        if used + length > MAX_LINE_CHARS + 1 {
            if lines.len() == MAX_LINES {
                missing += 1;
                continue;
            }
            lines.push(vec![]);
            used = 0;
        }
        used += length;
        lines.last_mut().expect("a line was begun").push(word);
    }
    if missing > 0 {
        lines.push(vec![Word::new(
            format!("… and {missing} more"),
            Style::Note,
        )]);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_wrapped_and_those_that_do_not_fit_are_counted() {
        let words = (0..200).map(|i| Word::new(format!("x{i:03}"), Style::Kept));
        let lines = wrapped(words);
        assert_eq!(
            lines.iter().map(Vec::len).collect::<Vec<_>>(),
            [6, 6, 6, 6, 1]
        );
        assert_eq!(lines[4][0].text, "… and 176 more");
        assert!(wrapped(std::iter::empty()).is_empty());
    }
}
