//! Numbers and tables for people.

use std::io::{self, Write};

/// A probability with four decimals; with four digits and an exponent if it is smaller than that
/// shows.
pub fn probability(p: f64) -> String {
    if 0.0 < p && p < 1e-4 {
        format!("{p:.3e}")
    } else {
        format!("{p:.4}")
    }
}

/// A number with so many significant digits, and an exponent only if it is very small or large.
pub fn significant(x: f64, digits: usize) -> String {
    if x == 0.0 || !x.is_finite() {
        return x.abs().to_string();
    }
    let scientific = format!("{x:.*e}", digits - 1);
    let exponent: i32 = scientific
        .rsplit('e')
        .next()
        .and_then(|e| e.parse().ok())
        .unwrap_or(0);
    match exponent {
        -4..9 => format!("{x:.*}", (digits as i32 - 1 - exponent).max(0) as usize),
        _ => scientific,
    }
}

/// A duration in the unit that fits.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", 1e9 * s),
        s if s < 1e-3 => format!("{:.2} µs", 1e6 * s),
        s if s < 1.0 => format!("{:.2} ms", 1e3 * s),
        s => format!("{s:.2} s"),
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
    fn significant_digits_are_counted_from_the_first_that_is_not_zero() {
        let shown =
            [0.0396172, 0.5, 1.0, 0.99999, 12.345, 1.2341e-5, 0.0].map(|x| significant(x, 4));
        assert_eq!(
            shown,
            [
                "0.03962", "0.5000", "1.000", "1.000", "12.35", "1.234e-5", "0"
            ]
        );
        assert_eq!(significant(-5000.1234, 7), "-5000.123");
        assert_eq!(significant(-0.1234567, 6), "-0.123457");
        assert_eq!(significant(1.5e12, 7), "1.500000e12");
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
