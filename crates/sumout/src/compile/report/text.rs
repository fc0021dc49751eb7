//! A report as a table.

use std::fmt;

use crate::compile::ask::Level;
use crate::compile::report::{Count, Extent, Report};
use crate::error::shortlist;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_table(f)?;
        writeln!(f)?;
        for (name, text) in self.remarks() {
            writeln!(f, "{name:<10} {text}")?;
        }
        Ok(())
    }
}

impl Report {
    /// The extents of plans side by side.
    fn write_table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = vec![
            column("classical", &self.classical),
            column("best classical", &self.classical_best),
        ];
        if self.level != Level::Classical {
            columns.push(column(self.level.name(), &self.chosen()));
        }
        let names = [
            "",
            "jointree leaves",
            "largest cluster",
            "  variables in it",
            "entries",
            "multiply-adds",
        ];
        for (row, name) in names.into_iter().enumerate() {
            write!(f, "{name:<17}")?;
            for column in &columns {
                let width = column
                    .iter()
                    .map(|cell| cell.chars().count())
                    .max()
                    .unwrap_or(0);
                write!(f, "  {:>width$}", column[row])?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    /// The savings of each step, and the needs of the plan.
    /// The remarks that every report has.
    fn sizes(&self) -> Vec<(&'static str, String)> {
        let capped = if self.replicas_capped {
            "at least "
        } else {
            ""
        };
        let (nodes, left) = (
            Count(self.network_nodes as f64),
            Count(self.steps.nodes_left as f64),
        );
        let (functions, copies) = (
            Count(self.steps.functional_variables as f64),
            Count(self.steps.copies as f64),
        );
        let values = Count(self.steps.values_pruned as f64);
        let replicated = Count(self.replicated_nodes as f64);
        let folded = self.constant_entries;
        let (memory, time) = (bytes(self.bytes.0), seconds(self.predicted_seconds));
        vec![
            (
                "pruning",
                format!("{nodes} variables, {left} of them matter; {values} values are impossible"),
            ),
            (
                "functions",
                format!(
                    "{functions}; the plan copies {copies}, full replication {capped}{replicated} nodes"
                ),
            ),
            (
                "constants",
                format!("{folded} entries are computed once for all examples"),
            ),
            (
                "running",
                format!("{memory} of memory and about {time} for each example (an estimate)"),
            ),
            (
                "compiling",
                format!("took {}", seconds(self.compile_seconds)),
            ),
        ]
    }

    fn remarks(&self) -> Vec<(&'static str, String)> {
        let mut remarks = self.sizes();
        if self.level_is_automatic {
            remarks.push(("level", format!("{}, chosen automatically", self.level)));
        }
        if self.plan_dependent {
            remarks.insert(2, ("learning", self.dependence()));
        }
        if let Some(selections) = &self.selections {
            let super::SelectionCost {
                count,
                entries,
                multiply_adds,
            } = selections;
            let of = format!(
                "{entries} of the entries and {multiply_adds} of the multiply-adds are theirs"
            );
            remarks.insert(
                2,
                (
                    "tests",
                    format!("{count}, each with a plan of its own; {of}"),
                ),
            );
        }
        if let Some(near) = &self.near {
            remarks.insert(2, ("near", near.to_string()));
        }
        remarks
    }

    /// The promises that answers wait for.
    fn dependence(&self) -> String {
        let names = shortlist(self.promised_functions.iter().map(String::as_str));
        let are = if self.promised_functions.len() == 1 {
            "is a function"
        } else {
            "are functions"
        };
        format!("until {names} {are}, answers depend on this plan")
    }
}

fn column(name: &str, extent: &Extent) -> [String; 6] {
    [
        name.to_owned(),
        Count(extent.leaves as f64).to_string(),
        format!("2^{:.1}", extent.max_cluster_binary_rank),
        extent.max_cluster_rank.to_string(),
        extent.entries.to_string(),
        extent.multiply_adds.to_string(),
    ]
}

/// A number of bytes for people.
fn bytes(n: f64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let power = (n.max(1.0).log2() / 10.0) as usize;
    match power.checked_sub(1).map(|unit| UNITS.get(unit)) {
        None => format!("{n} bytes"),
        Some(Some(unit)) => format!("{:.1} {unit}", n / 2f64.powi(10 * power as i32)),
        Some(None) => format!("2^{:.1} bytes", n.log2()),
    }
}

/// A time for people.
fn seconds(s: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms")];
    match UNITS.iter().find(|(unit, _)| s < 999.5 * unit) {
        Some((unit, name)) => format!("{:.3} {name}", Digits(s / unit)),
        None if s < 1e6 => format!("{:.3} s", Digits(s)),
        None => format!("2^{:.1} s", s.log2()),
    }
}

/// A number below 1000 with as many significant digits as the precision.
struct Digits(f64);

impl fmt::Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = if self.0 < 1.0 {
            0
        } else {
            self.0.log10() as usize + 1
        };
        write!(
            f,
            "{:.*}",
            f.precision().unwrap_or(3).saturating_sub(before.max(1)),
            self.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_seconds_have_units() {
        assert_eq!(
            [0.0, 1000.0, 2048.0, 3e9].map(bytes),
            ["0 bytes", "1000 bytes", "2.0 KiB", "2.8 GiB"]
        );
        assert_eq!(bytes(2f64.powi(70)), "2^70.0 bytes");
        let shown = [2.5e-9, 0.0000123, 0.045, 1.0, 12.34, 123.4, 1e30].map(seconds);
        assert_eq!(
            shown,
            [
                "2.50 ns", "12.3 µs", "45.0 ms", "1.00 s", "12.3 s", "123 s", "2^99.7 s"
            ]
        );
    }
}
