//! A table of the paper as text.

use sumout_paper::{Column, Grid, Table, Whose};

use crate::text::{Align, table};

/// The grids of a table, its notes, and where the paper and its author's program differ.
pub fn of(table: &Table) -> String {
    let mut text = format!("{}: {}\n", table.name(), table.title);
    for grid in &table.grids {
        text += &format!("\n{}", columns(grid));
    }
    text += "\n";
    for note in &table.notes {
        text += &wrapped(note, "");
    }
    if !table.differences.is_empty() {
        text += "Where the paper's text and its author's program differ:\n";
    }
    for difference in &table.differences {
        text += &wrapped(difference, "- ");
    }
    text
}

fn columns(grid: &Grid) -> String {
    let header = grid.columns.iter().map(title).collect();
    let rows: Vec<Vec<String>> = [header]
        .into_iter()
        .chain(grid.rows.iter().cloned())
        .collect();
    let align: Vec<Align> = grid.columns.iter().map(align).collect();
    let mut text = vec![];
    table(&mut text, align, &rows).expect("memory takes what is written");
    String::from_utf8_lossy(&text).into_owned()
}

fn title(column: &Column) -> String {
    match column.whose {
        Whose::Paper => "printed".to_owned(),
        _ => column.name.to_owned(),
    }
}

fn align(column: &Column) -> Align {
    match column.whose {
        Whose::Key => Align::Left,
        _ => Align::Right,
    }
}

/// Lines are about this long.
const LINE: usize = 118;

/// A paragraph in lines; the first begins with a mark, and the others are indented as much.
fn wrapped(text: &str, mark: &str) -> String {
    let indent = " ".repeat(mark.len());
    let (mut out, mut line) = (String::new(), mark.to_owned());
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > LINE {
            out += &format!("{line}\n");
            line.clone_from(&indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line += word;
        is_empty = false;
    }
    out + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_wrapped_and_marked() {
        let text = wrapped(&"word ".repeat(50), "- ");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("- word") && lines[1].starts_with("  word"));
        assert!(lines.iter().all(|line| line.len() <= LINE));
        assert_eq!(wrapped("a  b", ""), "a b\n");
    }
}
