//! A table of the paper as it came out, in a form that text, CSV, Markdown and HTML are made of.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// The number that stands for testing circuits, of which the paper has no table.
pub const TAC: u32 = u32::MAX;

/// The number of a table, or a word for one that the paper does not have.
pub fn label(number: u32) -> String {
    if number == TAC {
        "tac".to_owned()
    } else {
        number.to_string()
    }
}

/// The same for JSON.
pub(crate) fn number(number: u32) -> Value {
    if number == TAC {
        json!(label(TAC))
    } else {
        json!(number)
    }
}

/// A table as it came out.
#[derive(Debug)]
pub struct Table {
    /// The paper's number of it, or [`TAC`].
    pub number: u32,
    /// Its subject.
    pub title: String,
    /// The rows, each with the paper's numbers.
    pub rows: Vec<Value>,
    /// The same for people.
    pub grids: Vec<Grid>,
    /// The meaning of its columns, and the results.
    pub notes: Vec<String>,
    /// Where the paper's text, and the program of its author, do not say the same.
    pub differences: Vec<&'static str>,
    /// The machines that computed it.
    pub machines: BTreeSet<String>,
}

/// Columns with names, and rows of text.
#[derive(Debug)]
pub struct Grid {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with a cell for each column.
    pub rows: Vec<Vec<String>>,
}

/// Whose numbers a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// It identifies a row.
    Key,
    /// It has a number that the paper has, too, or nobody else has.
    Ours,
    /// It has what the paper prints.
    Paper,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its title.
    pub name: &'static str,
    /// Whose numbers it has.
    pub whose: Whose,
}

/// A column that identifies a row.
pub(crate) const fn key(name: &'static str) -> Column {
    Column {
        name,
        whose: Whose::Key,
    }
}

/// A column with our numbers.
pub(crate) const fn ours(name: &'static str) -> Column {
    Column {
        name,
        whose: Whose::Ours,
    }
}

/// A column with the paper's numbers.
pub(crate) const fn paper(name: &'static str) -> Column {
    Column {
        name,
        whose: Whose::Paper,
    }
}

impl Grid {
    pub(crate) fn new(columns: impl Into<Vec<Column>>) -> Self {
        Grid {
            columns: columns.into(),
            rows: vec![],
        }
    }

    pub(crate) fn push(&mut self, row: impl Into<Vec<String>>) {
        let row = row.into();
        assert_eq!(
            row.len(),
            self.columns.len(),
            "a row has a cell for each column"
        );
        self.rows.push(row);
    }
}

impl Table {
    /// The rows and where they come from.
    pub fn to_json(&self) -> Value {
        json!({
            "table": number(self.number),
            "title": self.title,
            "rows": self.rows,
            "differences": self.differences,
            "machines": self.machines,
        })
    }

    /// Its name.
    pub fn name(&self) -> String {
        if self.number == TAC {
            "Testing circuits".to_owned()
        } else {
            format!("Table {}", self.number)
        }
    }
}
