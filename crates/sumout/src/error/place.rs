//! A place in a file, and the excerpt that shows it.

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Renderer, Snippet, Title};

/// A place in a file: one line of it, and which part of the line is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    file: String,
    line: usize,
    column: usize,
    excerpt: String,
    span: Range<usize>,
}

/// A line is shown up to this many characters before and after the caret.
const WINDOW: usize = 60;

impl Place {
    /// The place of `span` in `text`; of a span over several lines, its first.
    pub fn new(file: &str, text: &str, span: Range<usize>) -> Self {
        let start = floor_boundary(text, span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        let end = floor_boundary(text, span.end.clamp(start, line_end));
        let before = text[line_start..start]
            .char_indices()
            .rev()
            .nth(WINDOW)
            .map_or(line_start, |(i, _)| line_start + i);
        let after = text[start..line_end]
            .char_indices()
            .nth(WINDOW)
            .map_or(line_end, |(i, _)| start + i);
        let clean = |part: &str| part.replace(|c: char| c.is_control(), " ");
        let cut = |is_cut: bool| if is_cut { "…" } else { "" };
        let lead = cut(before > line_start).to_owned() + &clean(&text[before..start]);
        let marked = clean(&text[start..end.min(after)]);
        let rest = clean(&text[end.min(after)..after]) + cut(after < line_end);
        Place {
            file: file.to_owned(),
            line: text[..start].bytes().filter(|&b| b == b'\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            span: lead.len()..lead.len() + marked.len(),
            excerpt: lead + &marked + rest.trim_end(),
        }
    }

    /// The file, as the user named it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The column, counted in characters from 1.
    pub fn column(&self) -> usize {
        self.column
    }

    /// The title with the line and a caret below it.
    ///
    /// The renderer can only be told a line, and counts columns in it; of a long line it gets an
    /// excerpt, so that its column is too small. It has no option for another one (an `Origin`
    /// beside the snippet is a second place), so the text is corrected here, and only here.
    pub(super) fn render(&self, title: Title<'_>, renderer: &Renderer) -> String {
        let snippet: Snippet<'_, Annotation<'_>> = Snippet::source(self.excerpt.as_str())
            .line_start(self.line)
            .path(self.file.as_str())
            .annotation(AnnotationKind::Primary.span(self.span.clone()));
        let text = renderer.render(&[title.element(snippet)]);
        let shown = self.excerpt[..self.span.start].chars().count() + 1;
        let at = format!("{}:{}:", self.file, self.line);
        text.replacen(&format!("{at}{shown}"), &format!("{at}{}", self.column), 1)
    }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
