//! A table of the paper as it came out, in a form that text, CSV, Markdown and HTML are made of.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::tac::TAC;
use crate::text::{Align, table};

/// The number of a table, or a word for one that the paper does not have.
pub fn label(number: u32) -> String {
    if number == TAC {
        "tac".to_owned()
    } else {
        number.to_string()
    }
}

/// The same for JSON.
pub fn number(number: u32) -> Value {
    if number == TAC {
        json!(label(TAC))
    } else {
        json!(number)
    }
}

/// A table as it came out.
#[derive(Debug)]
pub struct Table {
    pub number: u32,
    /// What it is about.
    pub title: String,
    /// The rows, each with the paper's numbers.
    pub rows: Vec<Value>,
    /// The same for people.
    pub grids: Vec<Grid>,
    /// What its columns mean, and what came out.
    pub notes: Vec<String>,
    /// Where the paper's text, and the program of its author, do not say the same.
    pub differences: Vec<&'static str>,
    /// The machines that computed it.
    pub machines: BTreeSet<String>,
}

/// Columns with names, and rows of text.
#[derive(Debug)]
pub struct Grid {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<String>>,
}

/// Whose numbers a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// It says what a row is.
    Key,
    /// It has a number that the paper has, too, or nobody else has.
    Ours,
    /// It has what the paper prints.
    Paper,
}

#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub name: &'static str,
    pub whose: Whose,
}

/// A column that says what a row is.
pub const fn key(name: &'static str) -> Column {
    Column {
        name,
        whose: Whose::Key,
    }
}

/// A column with our numbers.
pub const fn ours(name: &'static str) -> Column {
    Column {
        name,
        whose: Whose::Ours,
    }
}

/// A column with the paper's numbers.
pub const fn paper(name: &'static str) -> Column {
    Column {
        name,
        whose: Whose::Paper,
    }
}

impl Column {
    fn align(&self) -> Align {
        if self.whose == Whose::Key {
            Align::Left
        } else {
            Align::Right
        }
    }
}

impl Grid {
    pub fn new(columns: impl Into<Vec<Column>>) -> Self {
        Grid {
            columns: columns.into(),
            rows: vec![],
        }
    }

    pub fn push(&mut self, row: impl Into<Vec<String>>) {
        let row = row.into();
        assert_eq!(
            row.len(),
            self.columns.len(),
            "a row has a cell for each column"
        );
        self.rows.push(row);
    }

    fn text(&self) -> String {
        let header = self.columns.iter().map(|column| match column.whose {
            Whose::Paper => "printed".to_owned(),
            _ => column.name.to_owned(),
        });
        let rows: Vec<Vec<String>> = [header.collect()]
            .into_iter()
            .chain(self.rows.iter().cloned())
            .collect();
        let align: Vec<Align> = self.columns.iter().map(Column::align).collect();
        let mut text = vec![];
        table(&mut text, align, &rows).expect("memory takes what is written");
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Table {
    pub fn to_json(&self) -> Value {
        json!({
            "table": number(self.number),
            "title": self.title,
            "rows": self.rows,
            "differences": self.differences,
            "machines": self.machines,
        })
    }

    /// What it is called.
    pub fn name(&self) -> String {
        if self.number == TAC {
            "Testing circuits".to_owned()
        } else {
            format!("Table {}", self.number)
        }
    }

    pub fn text(&self) -> String {
        let mut text = format!("{}: {}\n", self.name(), self.title);
        for grid in &self.grids {
            text += "\n";
            text += &grid.text();
        }
        text += "\n";
        for note in &self.notes {
            text += &wrapped(note, "");
        }
        if !self.differences.is_empty() {
            text += "Where the paper's text and its author's program differ:\n";
            self.differences
                .iter()
                .for_each(|difference| text += &wrapped(difference, "- "));
        }
        text
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
