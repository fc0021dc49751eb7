//! All tables as one page that needs nothing else: no script, no font, no picture from elsewhere.
//!
//! Plots are drawn from the rows of the tables. Colours follow the reader's light or dark
//! preference, and lines differ in dashes and marks, too.

mod plot;
mod plots;
mod samples;

use std::collections::BTreeSet;

use crate::Settings;
use crate::grid::{Column, Grid, TAC, Table, Whose, label};

const STYLE: &str = include_str!("style.css");

/// The page.
pub fn page(settings: &Settings, tables: &[Table]) -> sumout::Result<String> {
    let about = About::new(tables);
    let samples = if about.has_images {
        samples::figures(settings)?
    } else {
        String::new()
    };
    let figures = plots::figures(tables) + &samples;
    let sections: String = tables.iter().map(section).collect();
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         {}<main>\n{figures}{sections}</main>\n</body>\n</html>\n",
        about.title,
        header(settings, tables, &about)
    ))
}

/// Whose tables they are.
struct About {
    title: &'static str,
    lead: &'static str,
    /// Whether images are what some of them are about.
    has_images: bool,
}

impl About {
    fn new(tables: &[Table]) -> Self {
        if tables.iter().all(|table| table.number == TAC) {
            let lead = "A. Choi and A. Darwiche (PGM 2018), and Y. Shen, H. Huang, A. Choi and A. Darwiche (ICML 2019)";
            return About {
                title: "Testing circuits, beside the literature",
                lead,
                has_images: false,
            };
        }
        let lead = "A. Darwiche, <cite>An Advance on Variable Elimination with Applications to Tensor-Based \
                    Computation</cite>, ECAI 2020";
        About {
            title: "The paper's tables, computed again",
            lead,
            has_images: true,
        }
    }
}

fn header(settings: &Settings, tables: &[Table], about: &About) -> String {
    let links: String = tables
        .iter()
        .map(|table| {
            format!(
                "<a href=\"#table-{}\">{}</a>\n",
                label(table.number),
                table.name()
            )
        })
        .collect();
    let facts: String = facts(settings, tables, about)
        .into_iter()
        .map(|(name, value)| format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", escaped(&value)))
        .collect();
    let About {
        title,
        lead,
        has_images,
    } = about;
    let images = if *has_images {
        "<a href=\"#samples\">Images</a>\n"
    } else {
        ""
    };
    format!(
        "<header>\n<h1>{title}</h1>\n\
         <p class=\"lead\">{lead}: what is printed, beside what <code>sumout</code> finds.</p>\n\
         <dl class=\"facts\">\n{facts}</dl>\n<nav>\n<a href=\"#plots\">Plots</a>\n{images}{links}</nav>\n</header>\n"
    )
}

/// Where the numbers come from.
fn facts(settings: &Settings, tables: &[Table], about: &About) -> Vec<(&'static str, String)> {
    let machines: BTreeSet<&str> = tables
        .iter()
        .flat_map(|table| &table.machines)
        .map(String::as_str)
        .collect();
    let noise = if settings.as_printed {
        "the paper's text"
    } else {
        "its author's program"
    };
    let mut facts = vec![
        ("sumout", env!("CARGO_PKG_VERSION").to_owned()),
        ("seed", settings.seed.to_string()),
        ("effort", settings.effort().to_string()),
        (
            "machine",
            machines.into_iter().collect::<Vec<_>>().join("; "),
        ),
    ];
    if about.has_images {
        facts.insert(3, ("noise of rectangles as in", noise.to_owned()));
    }
    if settings.quick {
        facts.insert(0, ("run", "quick: a part of each table".into()));
    }
    facts
}

fn section(table: &Table) -> String {
    let grids: String = table.grids.iter().map(grid).collect();
    let notes: String = table
        .notes
        .iter()
        .map(|note| format!("<p>{}</p>\n", marked(note)))
        .collect();
    let differences: String = table
        .differences
        .iter()
        .map(|difference| format!("<li>{}</li>\n", marked(difference)))
        .collect();
    let differences = match differences.is_empty() {
        true => String::new(),
        false => format!(
            "<details open>\n<summary>Where the paper's text and its author's program differ</summary>\n\
             <ul>\n{differences}</ul>\n</details>\n"
        ),
    };
    format!(
        "<section id=\"table-{}\">\n<h2>{}: {}</h2>\n{grids}<div class=\"notes\">\n{notes}</div>\n{differences}</section>\n",
        label(table.number),
        table.name(),
        escaped(&table.title)
    )
}

fn grid(grid: &Grid) -> String {
    let head: String = grid.columns.iter().map(heading).collect();
    let rows: String = grid.rows.iter().map(|row| self::row(grid, row)).collect();
    format!(
        "<div class=\"scroll\">\n<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    )
}

fn heading(column: &Column) -> String {
    let (class, name) = (class(column.whose), escaped(column.name));
    match column.whose {
        Whose::Paper => {
            format!("<th class=\"{class}\" scope=\"col\">{name}<small>paper</small></th>")
        }
        _ => format!("<th class=\"{class}\" scope=\"col\">{name}</th>"),
    }
}

fn row(grid: &Grid, row: &[String]) -> String {
    let begins = if row[0].is_empty() {
        ""
    } else {
        " class=\"begins\""
    };
    let cells = row.iter().zip(&grid.columns).map(|(cell, column)| {
        let class = class(column.whose);
        format!("<td class=\"{class}\">{}</td>", escaped(cell))
    });
    format!("<tr{begins}>{}</tr>\n", cells.collect::<String>())
}

fn class(whose: Whose) -> &'static str {
    match whose {
        Whose::Key => "key",
        Whose::Ours => "ours",
        Whose::Paper => "paper",
    }
}

/// Text in which `this` is code.
fn marked(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts
        .map(|(at, part)| {
            if at % 2 == 1 {
                format!("<code>{}</code>", escaped(part))
            } else {
                escaped(part)
            }
        })
        .collect()
}

/// Text without the characters that mean something in HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_marked_and_nothing_is_taken_for_a_tag() {
        assert_eq!(marked("a `--b` < c"), "a <code>--b</code> &lt; c");
    }
}
