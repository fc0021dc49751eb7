//! All tables as one document.

use std::collections::BTreeSet;

use crate::Settings;
use crate::grid::{Column, Grid, Table, Whose};

/// The document: how it was made, and the tables.
pub fn document(settings: &Settings, tables: &[Table]) -> String {
    let mut text = format!(
        "# The paper's tables, computed again\n\n{}\n",
        head(settings, tables)
    );
    for table in tables {
        text += &format!("\n## {}: {}\n", table.name(), table.title);
        for grid in &table.grids {
            text += &format!("\n{}", self::grid(grid));
        }
        for note in &table.notes {
            text += &format!("\n{note}\n");
        }
        if !table.differences.is_empty() {
            text += "\nWhere the paper's text and its author's program differ:\n\n";
            table
                .differences
                .iter()
                .for_each(|difference| text += &format!("- {difference}\n"));
        }
    }
    text
}

fn head(settings: &Settings, tables: &[Table]) -> String {
    let machines: BTreeSet<&str> = tables
        .iter()
        .flat_map(|table| &table.machines)
        .map(String::as_str)
        .collect();
    let machines = machines.into_iter().collect::<Vec<_>>().join("; ");
    let noise = if settings.as_printed {
        ", with the noise of the paper's text"
    } else {
        ""
    };
    let quick = if settings.quick { ", a quick run" } else { "" };
    format!(
        "The tables of A. Darwiche, \"An Advance on Variable Elimination with Applications to Tensor-Based Computation\", ECAI \
         2020, with the paper's numbers in *italics* beside ours. This page is written by `sumout paper`; numbers that are \
         not there were not run.\n\n\
         | | |\n|---|---|\n| version | {} |\n| seed, effort | {}, {}{noise}{quick} |\n| machine | {machines} |\n",
        env!("CARGO_PKG_VERSION"),
        settings.seed,
        settings.effort(),
    )
}

fn grid(grid: &Grid) -> String {
    let header = grid.columns.iter().map(|column| match column.whose {
        Whose::Paper => format!("*{}*", column.name),
        _ => column.name.to_owned(),
    });
    let align = grid.columns.iter().map(|column| {
        if column.whose == Whose::Key {
            "---"
        } else {
            "---:"
        }
        .to_owned()
    });
    let mut text = line(header) + &line(align);
    for row in &grid.rows {
        text += &line(
            row.iter()
                .zip(&grid.columns)
                .map(|(cell, column)| self::cell(cell, column)),
        );
    }
    text
}

fn cell(text: &str, column: &Column) -> String {
    if column.whose == Whose::Paper && !text.is_empty() {
        format!("*{text}*")
    } else {
        text.to_owned()
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}
