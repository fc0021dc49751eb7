//! Numbers and tables for people.

use std::io::{self, Write};

pub use sumout_paper::text::{duration, significant};

/// A probability with four decimals; with four digits and an exponent if it is smaller than that
/// shows.
pub fn probability(p: f64) -> String {
    if 0.0 < p && p < 1e-4 {
        format!("{p:.3e}")
    } else {
        format!("{p:.4}")
    }
}

/// A count with commas between thousands.
pub fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 root`, `2 roots`.
pub fn counted(n: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// Names with commas, as many as fit into `width` characters; if some do not, how many there are.
pub fn abridged<'a>(names: impl ExactSizeIterator<Item = &'a str> + Clone, width: usize) -> String {
    let all: Vec<&str> = names.clone().collect();
    let text = all.join(", ");
    if text.chars().count() <= width {
        return text;
    }
    let mut used = 0;
    let fits = |name: &&str| {
        used += name.chars().count() + 2;
        used <= width
    };
    let first: Vec<&str> = names.take_while(fits).collect();
    format!(
        "{}{}… ({})",
        first.join(", "),
        if first.is_empty() { "" } else { ", " },
        all.len()
    )
}

/// Where the cells of a column stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Writes rows as columns with two spaces between them, and no space at the end of a line.
pub fn table(
    out: &mut dyn Write,
    align: impl AsRef<[Align]>,
    rows: &[impl AsRef<[String]>],
) -> io::Result<()> {
    let align = align.as_ref();
    let widths: Vec<usize> = (0..align.len())
        .map(|c| width(rows.iter().map(|row| &*row.as_ref()[c])))
        .collect();
    for row in rows {
        let cells: Vec<String> = (0..align.len())
            .map(|c| pad(&row.as_ref()[c], widths[c], align[c]))
            .collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

/// The number of characters of the longest text.
pub fn width<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}

fn pad(text: &str, width: usize, align: Align) -> String {
    match align {
        Align::Left => format!("{text:<width$}"),
        Align::Right => format!("{text:>width$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_show_four_decimals_and_small_ones_four_digits() {
        let shown = [0.0, 0.25231, 1.0, 0.0001, 0.00009876, 1.2341e-7].map(probability);
        assert_eq!(
            shown,
            [
                "0.0000", "0.2523", "1.0000", "0.0001", "9.876e-5", "1.234e-7"
            ]
        );
    }

    #[test]
    fn thousands_are_grouped_and_nouns_counted() {
        assert_eq!(
            [0, 999, 1000, 1234567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [counted(1, "root"), counted(2, "root")],
            ["1 root", "2 roots"]
        );
    }

    #[test]
    fn long_lists_are_abridged() {
        let names = ["alpha", "beta", "gamma"];
        assert_eq!(abridged(names.iter().copied(), 30), "alpha, beta, gamma");
        assert_eq!(abridged(names.iter().copied(), 14), "alpha, beta, … (3)");
        assert_eq!(abridged(names.iter().copied(), 3), "… (3)");
    }

    #[test]
    fn columns_line_up_and_lines_have_no_space_at_the_end() {
        let rows = [["a", "10", ""], ["long", "7", "x"]].map(|row| row.map(str::to_owned));
        let mut out = vec![];
        table(&mut out, [Align::Left, Align::Right, Align::Left], &rows).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a     10\nlong   7  x\n");
    }
}
